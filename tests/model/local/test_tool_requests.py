"""The keyless model calls the tools of an agent of the user's own, as they are meant."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.toolbox import Context, request_in
from realtime.model.local.keyless.utterance import Utterance
from realtime.model.local.keyless.words import each
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from tests.model.local.keyless_chat import called, message, said
from tests.model.local.rows import WORDS, assert_none, rows

FRIDAY = date(2026, 11, 27)
TOOLS = {
    declared["name"]: ToolDeclaration(**declared)
    for declared in json.loads((WORDS / "tools.json").read_text(encoding="utf-8"))
}
BUILT_IN = tuple(ToolDeclaration(name=name) for name in ("get_time", "get_date", "calculate", "set_timer"))


def tools(*names: str) -> tuple[ToolDeclaration, ...]:
    return tuple(TOOLS[name] for name in names)


def talk(tools: tuple[ToolDeclaration, ...], *turns: str) -> list[Reply]:
    """The reply to the last of the user's turns; the model's own words stand between them."""
    history: list[Item] = []
    replies: list[Reply] = []
    for turn in turns:
        history.append(message("user", turn))
        replies = respond_to(Prompt(history=list(history), tools=tools, today=FRIDAY))
        history += [message("assistant", reply.text) for reply in replies if isinstance(reply, ReplyText)]
    return replies


def test_a_tool_is_called_with_the_words_that_are_meant_also_beside_the_built_in_ones() -> None:
    wrong = []
    for name, arguments, *turns in rows("tool_calls"):
        beside = [one for one in BUILT_IN if one.name != name]
        made = [called(talk(offered, *turns)) for offered in (tools(name), (*beside, *tools(name)))]
        if made != [[(name, json.loads(arguments))]] * 2:
            wrong.append((turns, arguments, made))
    assert_none(wrong)


def test_several_numbers_are_heard_in_order() -> None:
    sums = tools("get-sum")
    assert called(talk(sums, "What is the sum of twelve and 30?")) == [("get-sum", {"a": 12, "b": 30})]
    assert called(talk(sums, "What is the sum of twelve?")) == []


def test_what_only_speaks_of_a_deed_or_a_tools_subject_calls_nothing() -> None:
    offered = tools("book_table", "change_colour", "turn_on_light", "add_to_list", "open_gate")
    assert_none(turn for (turn,) in rows("no_tool_calls") if called(talk(offered, turn)))


def test_what_a_tool_lacks_is_asked_for_in_plain_words_and_wins_over_a_refusal() -> None:
    wrong = []
    for name, question, *turns in rows("tool_questions"):
        asked, refused = said(talk(tools(name), *turns)), said(talk((), *turns))
        if asked != question or question in refused:
            wrong.append((turns, question, asked, refused))
    assert_none(wrong)


def test_a_question_that_was_cut_by_its_answer_is_answered_all_the_same() -> None:
    history = [
        message("user", "Book a table on Friday."),
        message("assistant", "For how many"),
        message("user", "Six."),
    ]
    replies = respond_to(Prompt(history=history, tools=tools("book_table")))
    assert called(replies) == [("book_table", {"people": 6, "day": "Friday"})]


def test_anything_else_than_an_answer_goes_on_without_a_call() -> None:
    for turn in ("never mind", "no thanks", "what can you do", "hello", "tell me a joke"):
        replies = talk(tools("book_table"), "book a table on friday", turn)
        assert called(replies) == []
        assert "For how many people?" not in said(replies)
        assert called(talk(tools("book_table"), "book a table on friday", turn, "four")) == []


def test_words_that_ask_for_something_else_are_no_answer_though_any_words_could_be_one() -> None:
    offered = tools("create_ticket", "set_timer", "send_email")
    assert called(talk(offered, "Create a ticket.", "Set a timer for ten minutes.")) == [("set_timer", {"minutes": 10})]
    assert called(talk(offered, "Create a ticket.", "The printer is on fire")) == [
        ("create_ticket", {"title": "printer is on fire"})
    ]
    asked = ("Send an email to Ann about lunch.",)
    assert called(talk(offered, *asked, "What time is it?")) == []
    assert [name for name, _ in called(talk(offered, *asked, "When are you coming home?"))] == ["send_email"]


def test_of_a_sum_the_number_that_was_said_last_counts() -> None:
    for said_words in ("What is 20 percent of 80, no, of 90?", "What is 20 percent of 80? Sorry, 90."):
        assert called(talk(BUILT_IN, said_words)) == [("calculate", {"expression": "20 % * 90"})]


def test_a_corrected_place_is_no_praise() -> None:
    replies = talk(text_tool("get_forecast", "city"), "What is the forecast for Lyon, sorry, Nice?")
    assert (called(replies), said(replies)) == ([("get_forecast", {"city": "Nice"})], "")


def text_tool(name: str, argument: str) -> tuple[ToolDeclaration, ...]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return (ToolDeclaration(name=name, description=f"{name.replace('_', ' ')}.".capitalize(), parameters=schema),)


@pytest.mark.parametrize(
    ("said_words", "recipient"),
    [
        ("Send flowers to whoever called this morning.", None),
        ("Send flowers to the person who sits next to me", None),
        ("Send flowers to my boss.", "my boss"),
        ("Send flowers to my wife Julia? No, to my mother Ingrid.", "my mother Ingrid"),
        ("Send flowers to Ann. Sorry, send flowers to Berta.", "Berta"),
    ],
)
def test_who_is_meant_is_a_name_that_was_said_last_and_else_asked_for(said_words: str, recipient: str | None) -> None:
    replies = talk(text_tool("send_flowers", "recipient"), said_words)
    assert called(replies) == ([] if recipient is None else [("send_flowers", {"recipient": recipient})])
    assert (said(replies) == "To whom?") is (recipient is None)


@pytest.mark.parametrize(
    ("said_words", "seconds"),
    [
        ("Set a timer for five minutes, no, eight minutes.", 480),
        ("Set a timer for five minutes. I mean eight.", 480),
        ("Set a timer for five minutes. No wait, eight minutes.", 480),
        ("Set a timer for two hours, sorry, ten seconds.", 10),
        ("No, set a timer for ten seconds.", 10),
    ],
)
def test_of_a_timer_the_length_that_was_said_last_counts(said_words: str, seconds: float) -> None:
    schema = {"type": "object", "properties": {"seconds": {"type": "number"}}}
    timer = ToolDeclaration(name="set_timer", description="Set a timer.", parameters=schema)
    assert called(talk((timer,), said_words)) == [("set_timer", {"seconds": seconds})]


def test_what_is_forbidden_is_agreed_not_to_be_done() -> None:
    replies = talk(tools("book_table"), "Please don't book a table for two tonight.")
    assert (said(replies), called(replies)) == ("All right, I won't.", [])


def test_of_several_tools_the_one_that_the_words_say_most_of_is_called() -> None:
    offered = tools("book_table", "find_order", "search_products", "call_taxi", "hang_up")
    assert called(talk(offered, "I need a taxi from Main Street to the museum")) == [
        ("call_taxi", {"pickup": "Main Street", "destination": "museum"})
    ]
    assert called(talk(offered, "search for lamps")) == [("search_products", {"query": "lamps"})]


def test_questions_and_introductions_beside_a_deed_are_answered() -> None:
    both = talk(tools("book_table"), "book a table for four on friday and tell me a joke")
    assert called(both) == [("book_table", {"people": 4, "day": "Friday"})]
    assert said(both)
    met = talk(tools("book_table"), "Hi, I'm Anna. Could you book a table for four on Friday?")
    assert (said(met), len(called(met))) == ("Nice to meet you, Anna.", 1)


def test_the_user_is_named_and_a_day_becomes_a_date_where_the_call_knows_them() -> None:
    (tool,) = tools("reserve")
    named = request_in("reserve a table for two on friday", [tool], Context("Anna", FRIDAY))
    assert named is not None
    assert named.arguments["name"] == "Anna"
    undated = request_in("reserve a table for two on friday for Bob", [tool], Context())
    assert undated is not None
    assert [one.path for one in undated.missing] == [("date",)]


@given(st.text(max_size=120))
def test_any_words_are_read(words: str) -> None:
    for tool in TOOLS.values():
        request_in(words, [tool], Context("Anna", FRIDAY))
        talk((tool,), "please do it", words)


WORDS = each("book a table for four two people on friday at noon no to with and 7 5th june")


@given(st.lists(st.sampled_from(WORDS)))
def test_what_nobody_said_is_in_no_call(words: list[str]) -> None:
    said_words = " ".join(words)
    request = request_in(said_words, tools("book_table"), Context())
    if request is not None and not request.missing:
        assert request.arguments["day"].lower() in said_words
        spans = Utterance(said_words).numbers
        assert request.arguments["people"] <= sum(span.value for span in spans)
