"""The keyless model calls the tools of an agent of the user's own, as they are meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.toolbox import Context, request_in
from realtime.model.local.keyless.utterance import Utterance
from realtime.model.local.keyless.words import each
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.tool import Toolkit
from tests.model.local.keyless_chat import called, message, said
from tests.model.local.rows import assert_none, rows

Json = dict[str, Any]
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
    for turn in turns:
        history.append(message("user", turn))
        replies = respond_to(Prompt(history=list(history), tools=tools, today=FRIDAY))
        history += [message("assistant", reply.text) for reply in replies if isinstance(reply, ReplyText)]
    return replies


def tool(name: str, **types: Any) -> ToolDeclaration:
    """A tool of a client, all of whose arguments are required."""
    return ToolDeclaration(name=name, parameters={"properties": types, "required": [*types]})


TEXT: Json = {"type": "string"}
BUILT_IN = tuple(ToolDeclaration(name=name) for name in ("get_time", "get_date", "calculate", "set_timer"))
OFFERED = {
    one.name: one
    for one in (
        *declared(book_table, reserve, set_alarm, set_timer, get_time, translate, search_products, call_taxi),
        *declared(create_ticket, send_email, find_order, order_status, schedule_call, hang_up, switch_lights),
        *(tool("change_colour", colour=TEXT), tool("setColor", color=TEXT), tool("turn_on_light", room=TEXT)),
        *(tool("add_to_list", item=TEXT), tool("get_weather", city=TEXT), tool("open_gate")),
        tool("setLights", level={"type": "integer"}, room={"enum": ["kitchen", "hall"]}),
    )
}


def test_a_tool_is_called_with_the_words_that_are_meant_also_beside_the_built_in_ones() -> None:
    wrong = []
    for name, turn, arguments in rows("tool_calls"):
        beside = [one for one in BUILT_IN if one.name != name]
        made = [called(talk(tools, turn)) for tools in ((OFFERED[name],), (*beside, OFFERED[name]))]
        if made != [[(name, json.loads(arguments))]] * 2:
            wrong.append((turn, arguments, made))
    assert_none(wrong)


def test_several_numbers_are_heard_in_order() -> None:
    sums = (tool("get-sum", a={"type": "number"}, b={"type": "integer"}),)
    assert called(talk(sums, "What is the sum of twelve and 30?")) == [("get-sum", {"a": 12, "b": 30})]
    assert called(talk(sums, "What is the sum of twelve?")) == []


def test_what_only_speaks_of_a_deed_or_a_tools_subject_calls_nothing() -> None:
    offered = [OFFERED[name] for name in ("book_table", "change_colour", "turn_on_light", "add_to_list", "open_gate")]
    assert_none(turn for (turn,) in rows("no_tool_calls") if called(talk(tuple(offered), turn)))


def test_what_a_tool_lacks_is_asked_for_in_plain_words_and_wins_over_a_refusal() -> None:
    told = [(*row, said(talk((OFFERED[row[0]],), row[1])), said(talk((), row[1]))) for row in rows("tool_questions")]
    assert_none(row for row in told if row[3] != row[2] or row[2] in row[4])


def test_what_is_missing_is_asked_for_and_the_answer_fills_it() -> None:
    tools = declared(book_table)
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


def test_anything_else_than_an_answer_goes_on_without_a_call() -> None:
    for turn in ("never mind", "no thanks", "what can you do", "hello", "tell me a joke"):
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
