"""What new users ask the keyless model is answered usefully, the product and earlier turns included."""

import re
from itertools import pairwise

import pytest

from realtime.model.local.keyless.product import Product
from realtime.model.local.keyless.requests import split
from realtime.server.builtin import INSTRUCTIONS, SUGGESTIONS
from tests.model.local.keyless_chat import Chat
from tests.model.local.new_users import LATEST, MORE, QUESTIONS, UNSEEN

KEPT = Product(store="disk")
LONGEST_WORDS = 75
"""Of the answer to one request."""
UNKNOWN = (
    "who wrote the book about the whale",
    "what is the population of china",
    "why do cats purr",
    "how do I fix a flat tyre",
    "who invented the zip",
    "is there life on mars",
)


def chat(**options: str) -> Chat:
    return Chat(INSTRUCTIONS, product=KEPT, **options)


@pytest.mark.parametrize(("turns", "useful"), [*QUESTIONS, *UNSEEN, *MORE, *LATEST], ids=lambda value: str(value)[:60])
def test_a_new_user_gets_a_useful_answer(turns: tuple[str, ...], useful: str) -> None:
    made = chat()
    answers = [made.ask(turn) for turn in turns]
    assert re.search(useful, answers[-1], re.DOTALL), answers


@pytest.mark.parametrize(
    "question",
    [
        "can you tell me how this thing works",
        "how does all of this work",
        "explain how you function",
        "do you know how it works",
    ],
)
def test_how_it_works_is_told_however_it_is_asked(question: str) -> None:
    assert "recogniser turns your speech into words" in chat().ask(question)


@pytest.mark.parametrize(
    "question",
    [
        "can more than one person talk at the same time here",
        "could someone else join us",
        "are several speakers allowed",
        "can two people speak with you",
    ],
)
def test_whoever_asks_for_more_people_hears_of_rooms(question: str) -> None:
    assert "--room demo" in chat().ask(question)


@pytest.mark.parametrize(
    "question", ["how fast are you", "how quick is your answer", "are you slow", "how long do you take to answer"]
)
def test_how_fast_it_is_the_page_shows_and_no_number_is_invented(question: str) -> None:
    assert chat().ask(question) == "The page shows for each answer how long it took."


def test_other_things_that_work_are_fast_or_are_several_are_no_questions_about_it() -> None:
    for question in ("how fast can a cheetah run", "explain how a car engine works", "two people walk into a bar"):
        assert not re.search("recogniser|page|--room", chat().ask(question)), question


@pytest.mark.parametrize("turns", [turns for turns, _ in (*QUESTIONS, *UNSEEN, *MORE, *LATEST)], ids=str)
def test_answers_are_short_enough_to_be_spoken(turns: tuple[str, ...]) -> None:
    made = chat()
    for turn in turns:
        assert len(made.ask(turn).split()) <= LONGEST_WORDS * len(split(turn))


def test_capitals_and_punctuation_change_no_answer() -> None:
    for turns, _ in QUESTIONS:
        if len(turns) == 1 and turns[0].split()[0] in (
            "what",
            "who",
            "how",
            "where",
            "can",
            "do",
            "is",
            "are",
            "which",
        ):
            bare = re.sub(r"[.?!,]", "", turns[0]).lower()
            assert chat().ask(bare).lower() == chat().ask(bare.capitalize() + "?").lower(), bare


def test_what_it_does_not_know_it_says_each_time_in_other_words_and_without_an_echo() -> None:
    made = chat()
    answers = [made.ask(question) for question in UNKNOWN]
    for question, answer in zip(UNKNOWN, answers, strict=True):
        assert re.search(r"don't know|more than my rules|no answer|can't", answer), answer
        assert not {"whale", "china", "cats", "tyre", "zip", "mars"} & set(answer.lower().split()), (question, answer)
        assert len(answer.split()) < 30
    assert all(before != after for before, after in pairwise(answers))


def test_jokes_riddles_and_stories_do_not_repeat_before_all_were_told() -> None:
    for ask in ("tell me a joke", "tell me a riddle", "tell me a story", "tell me something interesting"):
        made = chat()
        told = [made.ask(ask) for _ in range(3)]
        assert len({*told}) == 3


def test_a_story_that_was_cut_goes_on_where_it_stopped() -> None:
    made = chat()
    story = made.ask("tell me a story")
    made.history.pop()
    heard = " ".join(story.split()[:12])
    made._add("assistant", heard)
    assert f"{heard} {made.ask('go on')}" == story


def test_chance_decides_by_the_turn_so_that_the_same_turn_has_the_same_answer() -> None:
    def coins() -> list[str]:
        return [chat(seed=str(seed)).ask("flip a coin") for seed in range(40)]

    assert coins() == coins()
    assert {*coins()} == {"It's heads.", "It's tails."}
    rolls = {chat(seed=str(seed)).ask("roll a die") for seed in range(100)}
    assert len(rolls) == 6


def test_what_is_forgotten_in_the_history_is_not_known() -> None:
    """Everything is read from the history: a restored or truncated conversation needs no special care."""
    made = chat()
    made.ask("my dog is called Rex")
    made.ask("what time is it")
    restored = chat()
    restored.history = [*made.history]
    assert "Rex" in restored.ask("what is my dog's name")
    truncated = chat()
    truncated.history = made.history[2:]
    assert "Rex" not in truncated.ask("what is my dog's name")
    assert "time" in truncated.ask("what did I ask first")


def test_a_fact_that_is_corrected_is_told_as_corrected() -> None:
    made = chat()
    made.ask("my dog is called Rex")
    made.ask("sorry, my dog is called Max")
    assert "Max" in made.ask("what is my dog called")


@pytest.mark.parametrize(
    "text", ["I give up", "I think so", "I'm fine", "I have a question", "I don't know", "I love it", "I see"]
)
def test_what_is_no_fact_is_not_kept(text: str) -> None:
    made = chat()
    assert "remember" not in made.ask(text)
    assert "told me" in made.ask("what is my favourite film") or "don't know" in made.ask("what is my favourite film")


def test_facts_are_told_in_the_second_person_with_the_capitals_of_the_user() -> None:
    made = chat()
    assert made.ask("My son lives in the US with me.") == "Okay, I'll remember that your son lives in the US with you."
    assert made.ask("remember that our meeting is at 10 am") == "Noted: your meeting is at 10 am."
    assert made.ask("where does my son live") == "Your son lives in the US with you."


def test_of_two_speakers_each_is_told_their_own() -> None:
    made = chat()
    made.ask("[Ann]: My dog is called Rex.")
    made.ask("[Ben]: My dog is called Max.")
    assert "Rex" in made.ask("[Ann]: What is my dog called?")


def test_two_requests_are_both_done_and_courtesies_beside_them_are_not_answered() -> None:
    made = chat()
    assert made.ask("what time is it and what is seven times eight") == "It is 12:00 PM. 7 times 8 is 56."
    assert made.called == ["get_time", "calculate"]
    assert made.ask("set a timer for ten seconds and who is elon musk").endswith("Your timer is set for 10 seconds.")
    assert chat().ask("Hello! What is two plus two?") == "2 plus 2 is 4."
    assert chat().ask("what is two and two plus three") == "2 plus 3 is 5."


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (("what is ten plus ten", "and double that", "now add five", "divided by nine"), "45 divided by 9 is 5."),
        (("set a timer", "five minutes"), "Your timer is set for 5 minutes."),
        (("tell me a riddle", "I give up"), "A clock."),
        (("tell me a joke", "flip a coin", "what was the second thing I said"), "Second, you said: flip a coin."),
        (("what time will it be in two hours",), "It will be 2:00 PM."),
        (("how many days are left in the year",), "364 days of 2026 are left after today."),
        (("I want to know what your name is",), "I'm Heart. And you?"),
        (("forget it",), "Okay."),
        (("start over",), "All right. What can I do for you?"),
    ],
)
def test_a_turn_may_go_on_from_the_one_before(turns: tuple[str, ...], answer: str) -> None:
    made = chat()
    assert [made.ask(turn) for turn in turns][-1] == answer


def test_a_timer_is_not_said_to_be_stopped() -> None:
    made = chat()
    made.ask("set a timer for ten seconds")
    assert made.timers == [10]
    assert "can't stop" in made.ask("stop the timer")


def test_the_built_in_agent_greets_and_its_suggestions_work() -> None:
    assert chat().greet() == "Hello! I'm Heart: ask me the time, a sum or a joke, or tell me your name."
    for suggestion in SUGGESTIONS:
        assert not re.search(r"don't know|can't|more than my rules|no answer", chat().ask(suggestion)), suggestion
