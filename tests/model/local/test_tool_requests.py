"""The keyless model calls the tools of an agent of the user's own, as they are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.toolbox import Context, request_in
from realtime.model.local.keyless.utterance import Utterance
from realtime.model.local.keyless.words import each
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.tool import Toolkit
from tests.model.local.test_conversationalist import called, message

FRIDAY = date(2026, 11, 27)


def book_table(people: int, day: str) -> None:
    """Book a table."""


def reserve(date: date, people: int, name: str, smoking: bool = False) -> None:
    """Reserve a table."""


def set_alarm(time: str, days: list[Literal["monday", "friday"]]) -> None:
    """Set an alarm."""


def set_timer(minutes: int) -> None:
    """Set a kitchen timer."""


def get_time(city: str) -> None:
    """Tell the time in a city."""


def translate(text: str, target_language: str) -> None:
    """Translate a text."""


def search_products(query: str, max_price: float | None = None) -> None:
    """Search the shop."""


def call_taxi(pickup: str, destination: str, time: str = "now") -> None:
    """Call a taxi."""


def create_ticket(title: str, priority: Literal["low", "high"] = "low") -> None:
    """Open a support ticket."""


def send_email(to: str, subject: str, body: str) -> None:
    """Send an email."""


def find_order(number: int) -> None:
    """Look up an order of the shop."""


def order_status(order_id: str) -> None:
    """Look up an order."""


def schedule_call(name: str, phone: str, when: str) -> None:
    """Schedule a call."""


def hang_up() -> None:
    """End the call."""


def switch_lights(room: Literal["kitchen", "hall"], on: bool) -> None:
    """Switch the lights of a room."""


@dataclass
class Address:
    """Where something goes."""

    street: str
    city: str


def ship(address: Address, express: bool = False) -> None:
    """Ship the parcel."""


def declared(*functions: Callable[..., Any]) -> tuple[ToolDeclaration, ...]:
    return Toolkit(functions).declarations()


def talk(tools: tuple[ToolDeclaration, ...], *turns: str) -> list[Reply]:
    """The reply to the last of the user's turns; the model's own words stand between them."""
    history: list[Item] = []
    replies: list[Reply] = []
    for number, turn in enumerate(turns):
        history.append(Item(id=f"u{number}", role="user", content=(ContentPart(type="text", text=turn),)))
        replies = respond_to(Prompt(history=list(history), tools=tools, today=FRIDAY))
        history += [message("assistant", reply.text) for reply in replies if isinstance(reply, ReplyText)]
    return replies


def said(replies: list[Reply]) -> str:
    return " ".join(reply.text for reply in replies if isinstance(reply, ReplyText))


@pytest.mark.parametrize(
    ("tool", "turn", "arguments"),
    [
        (book_table, "book a table for four people on Friday", {"people": 4, "day": "Friday"}),
        (book_table, "Reserve us a table next Friday, we are six.", {"people": 6, "day": "next Friday"}),
        (book_table, "make a reservation tomorrow night for a party of nine", {"people": 9, "day": "tomorrow night"}),
        (book_table, "a table for my wife and me on June 5th please", {"people": 2, "day": "June 5th"}),
        (book_table, "book a table for two adults and three kids today", {"people": 5, "day": "today"}),
        (book_table, "table for to on sunday", {"people": 2, "day": "Sunday"}),
        (book_table, "book a table on friday at 8 for four", {"people": 4, "day": "Friday"}),
        (book_table, "it's my birthday book a table for ten on sunday", {"people": 10, "day": "Sunday"}),
        (book_table, "book a table for four on friday, no, five", {"people": 5, "day": "Friday"}),
        (book_table, "book a table for four on friday no saturday", {"people": 4, "day": "Saturday"}),
        (reserve, "reserve a table for two tomorrow for Bob", {"people": 2, "date": "2026-11-28", "name": "Bob"}),
        (
            reserve,
            "reserve a table for two on december 24th under the name Miller, non smoking",
            {"people": 2, "date": "2026-12-24", "name": "Miller", "smoking": False},
        ),
        (set_alarm, "set an alarm for 7 am on Mondays and Fridays", {"time": "7 am", "days": ["monday", "friday"]}),
        (set_timer, "set a timer for half an hour", {"minutes": 30}),
        (get_time, "what time is it in Tokyo", {"city": "Tokyo"}),
        (translate, "translate good morning into Spanish", {"text": "good morning", "target_language": "Spanish"}),
        (search_products, "search for red shoes", {"query": "red shoes"}),
        (call_taxi, "call me a taxi from the station to the airport", {"pickup": "station", "destination": "airport"}),
        (
            create_ticket,
            "create a high priority ticket called printer broken",
            {"title": "printer broken", "priority": "high"},
        ),
        (
            send_email,
            "send an email to bob@example.com with the subject lunch saying let's meet at noon",
            {"to": "bob@example.com", "subject": "lunch", "body": "let's meet at noon"},
        ),
        (find_order, "where is my order 4711?", {"number": 4711}),
        (order_status, "what's the status of my order A-17", {"order_id": "A-17"}),
        (order_status, "how is order four seven one one doing", {"order_id": "4711"}),
        (
            schedule_call,
            "schedule a call with Anna tomorrow at 5 pm, her number is 555 123 456",
            {"name": "Anna", "phone": "555 123 456", "when": "tomorrow at 5 pm"},
        ),
        (hang_up, "please hang up", {}),
        (hang_up, "end the call", {}),
        (switch_lights, "turn off the lights in the hall", {"room": "hall", "on": False}),
    ],
)
def test_an_argument_gets_what_was_said_for_it(tool: Callable[..., Any], turn: str, arguments: dict[str, Any]) -> None:
    assert called(talk(declared(tool), turn)) == [(tool.__name__, arguments)]


@pytest.mark.parametrize(
    "turn",
    [
        "don't book a table for four on friday",
        "I booked a table for four on Friday",
        "my sister books a table for four every Friday",
        "why should I book a table for four on Friday",
        "how do I book a table for four on Friday?",
        "if I book a table for four on Friday, is it cheaper?",
        "we never book a table for four on a Friday",
        "I forgot to book a table for four on Friday",
        "the table for four on Friday was great",
        "what time do you close on Friday",
        "four people on Friday",
        "hello, how are you?",
    ],
)
def test_what_only_speaks_of_a_deed_calls_nothing(turn: str) -> None:
    assert called(talk(declared(book_table), turn)) == []


def test_what_is_missing_is_asked_for_and_the_answer_fills_it() -> None:
    tools = declared(book_table)
    assert said(talk(tools, "book a table")) == "For how many people, and for which day?"
    assert said(talk(tools, "book a table", "four people")) == "For which day?"
    for turns in (("four people", "friday"), ("for four people on friday",), ("on friday", "four, please")):
        assert called(talk(tools, "book a table", *turns)) == [("book_table", {"people": 4, "day": "Friday"})]


def test_a_question_that_was_cut_by_its_answer_is_answered_all_the_same() -> None:
    history = [
        message("user", "Book a table on Friday."),
        message("assistant", "For how many"),
        message("user", "Six."),
    ]
    replies = respond_to(Prompt(history=history, tools=declared(book_table)))
    assert called(replies) == [("book_table", {"people": 6, "day": "Friday"})]


@pytest.mark.parametrize("turn", ["never mind", "no thanks", "what can you do", "hello", "tell me a joke"])
def test_anything_else_than_an_answer_goes_on_without_a_call(turn: str) -> None:
    replies = talk(declared(book_table), "book a table on friday", turn)
    assert called(replies) == []
    assert "For how many people?" not in said(replies)
    assert called(talk(declared(book_table), "book a table on friday", turn, "four")) == []


def test_who_asks_whether_it_can_be_done_is_told_and_asked_and_nothing_is_called() -> None:
    tools = declared(book_table)
    assert said(talk(tools, "can you book tables?")) == "Yes, I can. For how many people, and for which day?"
    asked = ("can you book tables?", "for four on friday")
    assert called(talk(tools, *asked)) == [("book_table", {"people": 4, "day": "Friday"})]
    assert called(talk(tools, "can you book a table for four on friday")) == called(talk(tools, *asked))


@pytest.mark.parametrize(
    ("tool", "turn", "question"),
    [
        (find_order, "where is my order", "Which number?"),
        (order_status, "where is my order", "What is the order id?"),
        (set_timer, "set a kitchen timer", "For how long?"),
        (call_taxi, "get me a taxi to the airport", "From where?"),
        (send_email, "email Anna", "What is the subject, and what should it say?"),
        (switch_lights, "turn the lights on", "Which room: hall or kitchen?"),
        (reserve, "reserve a table for four on friday", "Under which name?"),
        (set_alarm, "set an alarm on monday", "At what time?"),
    ],
)
def test_a_question_names_what_is_needed_in_plain_words(tool: Callable[..., Any], turn: str, question: str) -> None:
    assert said(talk(declared(tool), turn)) == question


def test_fields_of_an_object_are_filled_like_arguments() -> None:
    replies = talk(declared(ship), "ship the parcel to the city of Rome", "Via Appia")
    assert called(replies) == [("ship", {"address": {"city": "Rome", "street": "Via Appia"}})]


def test_what_is_forbidden_is_agreed_not_to_be_done() -> None:
    replies = talk(declared(book_table), "Please don't book a table for two tonight.")
    assert (said(replies), called(replies)) == ("All right, I won't.", [])


def test_of_several_tools_the_one_that_the_words_say_most_of_is_called() -> None:
    tools = declared(book_table, find_order, search_products, call_taxi, hang_up)
    assert called(talk(tools, "I need a taxi from Main Street to the museum")) == [
        ("call_taxi", {"pickup": "Main Street", "destination": "museum"})
    ]
    assert called(talk(tools, "search for lamps")) == [("search_products", {"query": "lamps"})]


def test_details_in_other_sentences_count_and_questions_beside_them_are_answered() -> None:
    tools = declared(book_table)
    replies = talk(tools, "We'd like to come on Tuesday, there are three of us. Please book a table.")
    assert called(replies) == [("book_table", {"people": 3, "day": "Tuesday"})]
    both = talk(tools, "book a table for four on friday and tell me a joke")
    assert called(both) == [("book_table", {"people": 4, "day": "Friday"})]
    assert said(both)
    met = talk(tools, "Hi, I'm Anna. Could you book a table for four on Friday?")
    assert said(met) == "Nice to meet you, Anna."
    assert len(called(met)) == 1


def test_the_user_is_named_where_a_tool_needs_their_name() -> None:
    (tool,) = declared(reserve)
    request = request_in("reserve a table for two on friday", [tool], Context("Anna", FRIDAY))
    assert request is not None
    assert request.arguments["name"] == "Anna"


def test_a_day_becomes_a_date_only_where_the_day_of_the_call_is_known() -> None:
    (tool,) = declared(reserve)
    request = request_in("reserve a table for two on friday for Bob", [tool], Context())
    assert request is not None
    assert [one.path for one in request.missing] == [("date",)]


def test_a_tool_of_the_name_of_a_built_in_one_gets_its_own_arguments() -> None:
    """A kitchen timer in minutes is none of the built-in timers in seconds."""
    assert called(talk(declared(set_timer), "set a timer for ten minutes")) == [("set_timer", {"minutes": 10})]


@given(st.text(max_size=120))
def test_any_words_are_read(words: str) -> None:
    for tool in declared(book_table, reserve, send_email, switch_lights, translate, call_taxi, set_alarm, ship):
        request_in(words, [tool], Context("Anna", FRIDAY))
        talk((tool,), "please do it", words)


WORDS = each("book a table for four two people on friday at noon no to with and 7 5th june")


@given(st.lists(st.sampled_from(WORDS)))
def test_what_nobody_said_is_in_no_call(words: list[str]) -> None:
    said_words = " ".join(words)
    request = request_in(said_words, declared(book_table), Context())
    if request is not None and not request.missing:
        assert request.arguments["day"].lower() in said_words
        spans = Utterance(said_words).numbers
        assert request.arguments["people"] <= sum(span.value for span in spans)
