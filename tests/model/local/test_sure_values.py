"""The keyless model says, and gives to tools, only what was surely said."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.clock import date_answer, iso_date
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.names import learned_name
from realtime.model.local.keyless.utterance import MOST_WORDS, Utterance
from realtime.model.local.language_model import Prompt, ReplyThought
from tests.model.local.keyless_chat import Chat, called, message, said
from tests.model.local.test_tool_requests import FRIDAY, talk

UNSURE = "I am not sure which day you mean: say the month by its name, and the year in full."
NEW_YEAR_2026 = "Thursday, January 1, 2026"
TEXT = {"type": "string"}
COUNT = {"type": "integer"}
DATE = {"type": "string", "format": "date"}


def tool(name: str, description: str, needs: str, /, **properties: Any) -> ToolDeclaration:
    parameters = {"type": "object", "properties": properties, "required": needs.split()}
    return ToolDeclaration(name=name, description=description, parameters=parameters)


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": [*values]}


PLANT = tool("get_plant_status", "Tell how a plant is doing.", "plant", plant=TEXT)
WATER = tool("water_plant", "Water a plant.", "plant", plant=TEXT, minutes=COUNT)
BUS = tool("next_bus", "Tell when the next bus leaves.", "stop", stop=TEXT)
MEMBER = tool("look_up_member", "Look up a member of the club.", "member", member=TEXT)
SEARCH = tool("search_web", "Search the web.", "query", query=TEXT)
HIVE = tool("inspect_hive", "Inspect a bee hive.", "hive", hive=TEXT)
SONG = tool("play_song", "Play a song.", "title", title=TEXT)
BREAD = tool("order_bread", "Order bread.", "kind", kind=one_of("rye", "wheat", "sourdough"), loaves=COUNT)
CAKE = tool("order_cake", "Order a cake.", "flavour", flavour=one_of("chocolate", "lemon"))
COURT = tool("reserve_court", "Reserve a tennis court.", "day court", day=DATE, court=one_of("clay", "grass", "hard"))
PATIENT = tool("find_patient", "Find a patient.", "name", name=TEXT)


@pytest.mark.parametrize(
    ("offered", "words", "arguments"),
    [
        (PLANT, "How is my tomato plant doing?", {"plant": "tomato plant"}),
        (PLANT, "how is my tomato plant doing", {"plant": "tomato plant"}),
        (PLANT, "Tell me how my tomato plant is doing.", {"plant": "tomato plant"}),
        (PLANT, "What's the status of the tomato plant?", {"plant": "tomato plant"}),
        (PLANT, "Check the plant called Fred.", {"plant": "Fred"}),
        (BUS, "When does the next bus leave from Main Street?", {"stop": "Main Street"}),
        (SEARCH, "Search for how to repot a cactus.", {"query": "how to repot a cactus"}),
        (SEARCH, "Can you find out who won the cup in 1998?", {"query": "who won the cup in 1998"}),
        (SONG, "Play Who Let the Dogs Out.", {"title": "Who Let the Dogs Out"}),
        (PATIENT, "Find the patient Maria Lopez.", {"name": "Maria Lopez"}),
        (BUS, "When does the next bus leave?", "Which stop?"),
        (MEMBER, "Is my neighbour a member of the club?", "Which member?"),
        (HIVE, "Inspect the hive that swarmed last week.", "Which hive?"),
        (WATER, "Could you water whatever looks dry?", "Yes, I can. Which plant?"),
        (SONG, "Can you play what they played at our wedding?", "What is the title?"),
        (COURT, "Reserve a clay court on 3/5/2028.", "For which day?"),
        (COURT, "Reserve a clay court on 30 February 2028.", "For which day?"),
    ],
)
def test_a_question_or_a_clause_is_no_value(offered: ToolDeclaration, words: str, arguments: object) -> None:
    replies = talk((offered,), words)
    assert called(replies) == ([(offered.name, arguments)] if isinstance(arguments, dict) else [])
    assert said(replies) == (arguments if isinstance(arguments, str) else "")


@pytest.mark.parametrize(
    ("offered", "words", "arguments"),
    [
        (WATER, "Water the fern for five, no, ten minutes.", {"plant": "fern", "minutes": 10}),
        (COURT, "Reserve a clay court, no wait, a grass court on the 5th of March 2028.", ("grass", "2028-03-05")),
        (COURT, "Reserve a court on Monday. Sorry, I mean Tuesday, on clay.", ("clay", "2026-12-01")),
        (COURT, "Reserve a hard court on Christmas Eve 2028.", ("hard", "2028-12-24")),
        (HIVE, "Inspect the northern hive, sorry, the southern hive.", {"hive": "southern hive"}),
        (SONG, "Play Imagine, no wait, Yesterday.", {"title": "Yesterday"}),
    ],
)
def test_the_last_correction_counts_and_a_date_keeps_its_year(
    offered: ToolDeclaration, words: str, arguments: Any
) -> None:
    wanted = arguments if isinstance(arguments, dict) else {"court": arguments[0], "day": arguments[1]}
    assert called(talk((offered,), words)) == [(offered.name, wanted)]


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("A rye, please.", ("order_bread", {"kind": "rye"})),
        ("rye", ("order_bread", {"kind": "rye"})),
        ("I'd like two rye loaves.", ("order_bread", {"kind": "rye", "loaves": 2})),
        ("Three loaves of wheat, thanks.", ("order_bread", {"kind": "wheat", "loaves": 3})),
        ("Can I get a sourdough?", ("order_bread", {"kind": "sourdough"})),
        ("Lemon, please.", ("order_cake", {"flavour": "lemon"})),
        ("Chocolate, no, make that lemon.", ("order_cake", {"flavour": "lemon"})),
        ("Is rye healthy?", None),
        ("I hate rye.", None),
        ("rye or wheat?", None),
        ("My cat ate the rye.", None),
    ],
)
def test_a_value_that_one_tool_alone_takes_names_the_tool(words: str, call: object) -> None:
    assert called(talk((BREAD, CAKE), words)) == ([] if call is None else [call])


def test_a_value_that_two_tools_take_names_none() -> None:
    other = tool("grind_grain", "Grind grain.", "grain", grain=one_of("rye", "oats"))
    assert called(talk((BREAD, other), "rye, please")) == []


@pytest.mark.parametrize("words", ["Hm, let me think.", "I'm not sure which one.", "no idea", "You choose.", "um"])
def test_hesitation_is_no_value(words: str) -> None:
    assert called(talk((HIVE,), "Inspect a hive.", words)) == []


@pytest.mark.parametrize(
    ("offered", "words", "reason"),
    [
        (
            (BUS,),
            "When does the next bus leave?",
            "next_bus is not called: what was said gives no sure value for stop.",
        ),
        (
            (BUS, PLANT),
            "I like trains.",
            "No tool is called: the words name none of next_bus, get_plant_status, or ask for nothing.",
        ),
    ],
)
def test_a_builder_reads_why_no_tool_is_called(offered: tuple[ToolDeclaration, ...], words: str, reason: str) -> None:
    replies = respond_to(Prompt(history=[message("user", words)], tools=offered, today=FRIDAY))
    assert [reply.text for reply in replies if isinstance(reply, ReplyThought)] == [reason]
    without = respond_to(Prompt(history=[message("user", words)], today=FRIDAY))
    assert not [reply for reply in without if isinstance(reply, ReplyThought)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("what day was 20 july 1969", "It was on Sunday, July 20, 1969."),
        ("what day was the twentieth of july nineteen sixty nine", "It was on Sunday, July 20, 1969."),
        ("what day was july 4th 1976", "It was on Sunday, July 4, 1976."),
        ("what day was 1957-10-04", "It was on Friday, October 4, 1957."),
        ("which weekday was the first of january two thousand", "It was on Saturday, January 1, 2000."),
        ("what day is 24.12.2027", "It is on Friday, December 24, 2027."),
        ("what day was christmas", "It was on Thursday, December 25."),
        ("what day is christmas", "It is on Friday, December 25."),
        ("when is halloween next year", "It is on Sunday, October 31, 2027."),
        ("what day is february 29th", "It is on Tuesday, February 29, 2028."),
        ("what was the date last friday", "It was on Friday, December 26."),
        ("how many days until 1 may 2028", "851 days until Monday, May 1, 2028."),
        ("how many days since 1 december 2025", "31 days since Monday, December 1, 2025."),
        ("is 2028 a leap year", "Yes, 2028 is a leap year."),
        ("what year is next year", "It will be 2027."),
        ("what month was last month", "It was December."),
        ("what day was 31 june 2020", "There is no such day."),
        ("what day is 3/5/2028", UNSURE),
        (
            "what day was july 1969",
            "I am not sure which day you mean: say the month by its name, and the year in full.",
        ),
    ],
)
def test_a_date_is_answered_with_its_year_or_not_at_all(asked: str, answer: str) -> None:
    assert date_answer(asked, NEW_YEAR_2026) == answer


@pytest.mark.parametrize(
    "words",
    [
        "What year was Einstein born?",
        "What month is Ramadan?",
        "What day is Thanksgiving this year?",
        "What day is my dentist appointment?",
        "What's the date of the battle of Hastings?",
        "What is the time limit for the exam?",
        "What time is the train?",
        "On what day did the war end?",
    ],
)
def test_a_clock_answers_nothing_but_time_and_date(words: str) -> None:
    chat = Chat()
    chat.ask(words)
    assert chat.called == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("5 March 2028", "2028-03-05"),
        ("the fifth of March next year", "2027-03-05"),
        ("Friday the 3rd of March 2028", "2028-03-03"),
        ("Monday the 3rd of March 2028", None),
        ("13.5.2028", "2028-05-13"),
        ("3/5/2028", None),
        ("31 June 2027", None),
        ("Friday", "2026-12-04"),
    ],
)
def test_a_day_becomes_a_date_where_it_is_certain(text: str, day: str | None) -> None:
    assert iso_date(text, FRIDAY) == day


def test_a_whole_date_needs_no_today() -> None:
    assert iso_date("5 March 2028", None) == "2028-03-05"
    assert iso_date("5 March", None) is None
    assert iso_date("5 March next year", None) is None
    assert date(2028, 3, 5).isoformat() in json.dumps(called(_on_a_server_without_a_clock()))


def _on_a_server_without_a_clock() -> Any:
    words = message("user", "Reserve a clay court on 5 March 2028.")
    return respond_to(Prompt(history=[words], tools=(COURT,)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Robert", "Call me Bob. No wait, my name is Robert."),
        ("Robert", "Call me Bob. No wait, Robert."),
        ("Robert", "My name is Bob, sorry, Robert."),
        ("Robert", "My name isn't Bob, it's Robert."),
        ("Robert", "my name is bob no wait it's robert"),
        ("Hannah", "I'm Anna, actually Hannah."),
        ("Jo", "Call me Joanna - make that Jo."),
        ("Liz", "My name is Elizabeth but call me Liz."),
        ("Bob", "Call me Bob, not Robert."),
        ("Bob", "Call me Bob. No thanks."),
        ("Bob", "I'm Bob and I live in Rome. No, Milan."),
        ("Bob", "my name is bob no sugar please"),
        ("Ann", "Call me Ann. Actually, never mind."),
    ],
)
def test_the_name_that_was_said_last_counts(name: str, words: str) -> None:
    assert learned_name([words]) == name
    greeted = Chat().ask(words)
    assert greeted.startswith(f"Nice to meet you, {name}.")
    assert greeted.count("Nice to meet you") == 1


def test_a_name_is_corrected_in_the_next_turn() -> None:
    chat = Chat()
    chat.ask("I'm Bob.")
    chat.ask("Sorry, I meant Robert.")
    assert "Robert" in chat.ask("What is my name?")


def test_what_is_written_and_not_spelt_is_not_spelt() -> None:
    assert "spell" not in Chat().ask("How is the game going?")
    assert Chat().ask("How is rhythm spelled?") == "rhythm: R, H, Y, T, H, M."


TABLE = tool("book_table", "Book a table.", "people day", people=COUNT, day=TEXT)
MONEY = tool("send_money", "Send money to someone.", "to amount", to=TEXT, amount={"type": "number"})
ALARM = tool("set_alarm", "Set the alarm clock.", "time", time=TEXT)
TIMER = tool("start_countdown", "Start a countdown.", "minutes", minutes=COUNT)


@pytest.mark.parametrize(
    ("offered", "words", "arguments"),
    [
        (MONEY, "send Mike fifty or sixty euros", "How much?"),
        (MONEY, "send Ann between ten and twenty euros", "How much?"),
        (MONEY, "send 20 euros to Mike or Ann", "To whom?"),
        (MONEY, "send Ann 5 euros or so", {"to": "Ann", "amount": 5}),
        (TABLE, "book a table for four or maybe five on friday", "For how many people?"),
        (TABLE, "book a table for four on friday or on saturday", "For which day?"),
        (ALARM, "wake me up at six or seven", "At what time?"),
        (ALARM, "wake me at quarter to eight", {"time": "quarter to eight"}),
        (TIMER, "start a countdown of 5 or 10 minutes", "For how long?"),
    ],
)
def test_of_two_values_that_or_joins_none_is_sure(offered: ToolDeclaration, words: str, arguments: object) -> None:
    replies = talk((offered,), words)
    assert [given for _, given in called(replies)] == ([arguments] if isinstance(arguments, dict) else [])
    assert isinstance(arguments, dict) or said(replies) == arguments


@pytest.mark.parametrize(
    ("words", "people"),
    [
        ("I watched Ocean's Eleven with my two sisters, can you book us a table for friday", None),
        ("we are in room 12, book a table for friday", None),
        ("i have 3 kids, book a table for two on friday", 2),
        ("there are six of us, please book a table for friday", 6),
        ("we are four, can you book a table for friday", 4),
    ],
)
def test_a_number_of_another_clause_is_no_value_unless_it_counts_what_is_asked_for(
    words: str, people: int | None
) -> None:
    replies = talk((TABLE,), words)
    assert [given["people"] for _, given in called(replies)] == ([people] if people is not None else [])
    assert people is not None or said(replies) == "For how many people?"


@pytest.mark.parametrize("words", ["no rye for me thanks", "not the rye", "i don't want any rye", "without rye please"])
def test_a_choice_that_is_refused_is_not_ordered(words: str) -> None:
    assert called(talk((BREAD,), words)) == []


def test_a_choice_names_its_tool_beside_the_verb() -> None:
    assert called(talk((BREAD,), "order a rye loaf")) == [("order_bread", {"kind": "rye"})]


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (
            ["My dog is called Rex. Actually no, Rex is the cat, the dog is Bruno.", "what's my dog called"],
            "The dog is Bruno.",
        ),
        (["My car is red. No wait, my car is blue.", "what colour is my car"], "Your car is blue."),
        (["my cat is Tom", "no sorry my cat is called Tim", "what is my cat called"], "Your cat is called Tim."),
        (["my pin is 4417", "actually forget my pin", "what's my pin"], None),
        (["I live in Bonn", "forget that", "where do i live"], None),
        (["my locker is 12", "please forget what i said about my locker", "what is my locker"], None),
        (["my dog is Rex", "my cat is Tom", "forget about my dog", "what do you know about me"], "Tom"),
        (["my name is Ann", "forget my name", "what is my name"], None),
        (["don't forget that my bus is at nine", "when is my bus"], "nine"),
        (["call me tomorrow", "what's my name"], None),
        (["call me on friday", "what's my name"], None),
        (["call me at half past six", "what's my name"], None),
        (["My name is Friday", "what's my name"], "Your name is Friday."),
        (["call me Al", "what's my name"], "Your name is Al."),
    ],
)
def test_what_was_taken_back_or_is_no_name_is_not_told(lines: list[str], answer: str | None) -> None:
    chat = Chat()
    told = [chat.ask(line) for line in lines]
    if answer is None:
        assert "You have not told me" in told[-1] or "I don't know that yet" in told[-1], told
    else:
        assert answer in told[-1]
        assert "Rex" not in told[-1]


def test_what_an_utterance_corrects_is_not_agreed_to() -> None:
    assert "red" not in Chat().ask("My car is red. No wait, my car is blue.")


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("how many days from 28 february 2024 to 1 march 2024", "2 days from Wednesday, February 28, 2024,"),
        ("how many weeks from 1 january 2025 to 31 december 2025", "52 weeks and 0 days from Wednesday, January 1,"),
        ("how many days from 28 february to 1 march 2024", UNSURE),
        ("what's the date 100 days after january 1st 2000", "It was on Monday, April 10, 2000."),
        ("what's the date a week after 25 december 2027", "It is on Saturday, January 1, 2028."),
        ("what's the date ten days before march 3rd 2024", "It was on Thursday, February 22, 2024."),
        ("what day is a month after 31 january 2024", "I can count days and weeks from a day, nothing else."),
        ("what date was two days before yesterday", "It was on Monday, December 29, 2025."),
        ("what day is a week after 30 february 2024", "There is no such day."),
        ("christmas day 1914 what day of the week was that", "It was on Friday, December 25, 1914."),
        ("in 1945 what weekday was the 8th of may", "It was on Tuesday, May 8, 1945."),
        ("if tomorrow was the first of january 2030 what day would it be today", "I can't count from a day"),
        ("the day before yesterday what date was it", "The day before yesterday was Tuesday, December 30."),
    ],
)
def test_days_are_counted_from_the_day_that_is_named(asked: str, answer: str) -> None:
    assert date_answer(asked, NEW_YEAR_2026).startswith(answer)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("how many days are there in february 2028", "February 2028 has 29 days."),
        ("how many days has february in 1900", "February 1900 has 28 days."),
        ("how many days in february", "February has 28 days, and 29 in a leap year."),
        ("when does water boil", "Water boils at 100 degrees Celsius, or 212 Fahrenheit, at sea level."),
    ],
)
def test_a_small_fact_is_told_for_its_question(asked: str, answer: str) -> None:
    assert Chat(tools=False).ask(asked) == answer


@pytest.mark.parametrize(
    "asked",
    [
        "how long does it take to boil an egg",
        "how long does water take to boil",
        "what is the boiling point of iron",
        "how many days from 28 february 2024 to 1 march 2024",
    ],
)
def test_a_small_fact_answers_no_other_question(asked: str) -> None:
    answer = Chat(tools=False).ask(asked)
    assert "degrees" not in answer
    assert "28" not in answer


def test_what_is_long_past_is_not_said_to_change_by_the_day() -> None:
    chat = Chat()
    answers = {chat.ask(f"who won the world cup in {year}") for year in (1998, 2002, 2006)}
    assert not any("changes by the day" in one or "no news" in one for one in answers)


@pytest.mark.parametrize("fragment", ["½", "1 2 ", "-1", "$1,", "日本", "at 5 pm "])
def test_a_flood_of_values_is_read_for_so_many_words_only(fragment: str) -> None:
    """Each word may begin a day, a time or a number: how many are tried is bounded."""
    long = Utterance(f"book a table for four on friday {fragment * 1_500}")
    assert len(long) <= MOST_WORDS
    assert [span.text for span in long.days] == ["Friday"]
    assert long.numbers[0].value == 4


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("My cat is called Tom. No, wait, Tim.", "What is my cat called?", "Your cat is called Tim."),
        ("My favourite colour is red, no, blue.", "What is my favourite colour?", "Your favourite colour is blue."),
        ("I live in Oslo. Sorry, Bergen.", "Where do I live?", "You live in Bergen."),
        ("My sister is a nurse. Actually no, a doctor.", "What does my sister do?", "Your sister is a doctor."),
        ("I live in Oslo. No worries.", "Where do I live?", "You live in Oslo."),
        ("My dog is called Rex. Sorry, what?", "What is my dog called?", "Your dog is called Rex."),
        ("I take tea, no sugar", "What do I take?", "You take tea, no sugar."),
    ],
)
def test_the_last_value_of_a_fact_counts(told: str, asked: str, answer: str) -> None:
    chat = Chat()
    chat.ask(told)
    assert chat.ask(asked) == answer


FLIGHT = tool("find_flight", "Find a flight.", "origin destination day", origin=TEXT, destination=TEXT, day=TEXT)


@pytest.mark.parametrize(
    ("words", "origin", "destination"),
    [
        ("find me a flight from Oslo to Rome, sorry, to Milan on Friday", "Oslo", "Milan"),
        ("Find a flight to no, from Bergen to Rome on Friday", "Bergen", "Rome"),
        ("find a flight to Rome, no, to Milan, from Oslo on Friday", "Oslo", "Milan"),
    ],
)
def test_a_place_that_is_corrected_with_its_preposition_counts(words: str, origin: str, destination: str) -> None:
    told = {"origin": origin, "destination": destination, "day": "Friday"}
    assert called(talk((FLIGHT,), words)) == [("find_flight", told)]


@pytest.mark.parametrize("words", ["play it again", "play something", "could you play it", "play anything please"])
def test_a_word_that_stands_for_a_value_is_none(words: str) -> None:
    replies = talk((SONG,), words)
    assert called(replies) == []
    assert said(replies) == "What is the title?"
