"""The built-in language model, through the interface of every language model."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.message.blocks import result_reminder
from realtime.model.base import CONTINUE_ANSWER
from realtime.model.local.keyless.clock import time_answer
from realtime.model.local.keyless.conversationalist import Conversationalist, respond_to
from realtime.model.local.keyless.names import learned_name, own_name
from realtime.model.local.keyless.product import Product
from realtime.model.local.language_model import Prompt, Reply, ReplyToolCall
from tests.model.local.keyless_chat import Chat, called, message, said
from tests.model.local.rows import assert_none, rows

TOOLS = tuple(ToolDeclaration(name=name) for name in ("get_time", "get_date", "calculate", "set_timer"))


def talk(*texts: str, tools: tuple[ToolDeclaration, ...] = TOOLS, instructions: str = "") -> list[Reply]:
    """The answer to the last of the user's and the agent's turns, given by turns."""
    history = [message("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)]
    return respond_to(Prompt(instructions, history, tools))


async def test_it_greets_where_nobody_has_said_anything() -> None:
    replies = [reply async for reply in Conversationalist().respond(Prompt(history=[message("user", "Hello.")]))]
    assert said(replies).startswith("Hello. I'm Heart.")
    for instructions, agent_name, name in (
        *(("", "", "Heart"), ("Your name is Friday. Be brief.", "", "Friday"), ("Be brief.", "Robin", "Robin")),
        *(("Your name is Otto.", "Robin", "Otto"), ("Be brief.", "agent", "Heart")),
    ):
        greeting = said(respond_to(Prompt(instructions, agent_name=agent_name)))
        assert greeting == f"Hello! I'm {name}. What can I do for you?"


def test_an_answer_that_was_broken_off_goes_on_behind_what_was_heard() -> None:
    asked = message("user", "Tell me a joke.")
    whole = said(respond_to(Prompt(history=[asked])))
    heard = whole[: whole.index(" ", 10)]
    rest = [asked, message("assistant", heard), message("system", CONTINUE_ANSWER)]
    assert said(respond_to(Prompt(history=rest))) == whole[len(heard) :].strip()
    other = [asked, message("assistant", "What was that?"), message("system", CONTINUE_ANSWER)]
    assert said(respond_to(Prompt(history=other))) == whole
    complete = [asked, message("assistant", whole), message("system", CONTINUE_ANSWER)]
    assert respond_to(Prompt(history=complete)) == []


def test_results_that_come_as_hints_are_told() -> None:
    """Those of tools in the background, and of tools that the talk has overtaken."""
    before = [
        message("user", "Look up tea."),
        message("assistant", "I am looking."),
        message("user", "Take your time."),
    ]
    for how, result, told in (
        ("is done. Tell the user now, in your own words.", "tea is green", "tea is green."),
        ("is done.", '{"stock": 3}', "stock: 3."),
        ("is done.", "the night train has failed to come", "the night train has failed to come."),
        ("has failed.", "no such tea", "That did not work, I'm afraid."),
    ):
        hint = result_reminder(f"The tool lookup (call c1) {how}", result)
        assert said(respond_to(Prompt(history=[*before, message("system", hint)]))) == told


def test_the_name_before_a_line_of_a_room_is_nobodys_word() -> None:
    assert "Ann" not in said(talk("[Ann]: The lamp is green.", tools=()))
    assert said(talk("[Ann]: (speaks)", "", "What is my name?", tools=())) == "Your name is Ann."
    lines = ["[Ann]: My name is Annabel.", "[Ben]: What is my name?", "[Ann]: What is my name?"]
    history = [message("user", line) for line in lines]
    assert said(respond_to(Prompt(history=history[:2]))) == "Your name is Ben."
    assert said(respond_to(Prompt(history=history))) == "Your name is Annabel."


def test_it_tells_of_a_better_mind_to_whom_it_can_be_given() -> None:
    assert "The operator of this server can give me a language model" in said(talk("Who are you?"))
    built_in = said(respond_to(Prompt(history=[message("user", "Who are you?")]), Product()))
    assert built_in.endswith("Ask me how to add a free language model.")
    asked = said(respond_to(Prompt(history=[message("user", "How do I add a free language model?")]), Product()))
    assert "REALTIME_LLM_BASE_URL" in asked


def test_names_are_told_from_states() -> None:
    learned = [(text, name, learned_name([text]) or "-") for text, name in rows("names")]
    assert_none(row for row in learned if row[1] != row[2])


def test_the_newest_name_counts_and_is_used() -> None:
    assert said(talk("I'm Pete.", "Nice to meet you.", "Sorry, my name is Paul.")).startswith("Nice to meet you, Paul.")
    assert said(talk("I'm Pete.", "Hello.", "What's my name?")) == "Your name is Pete."
    assert said(talk("What's my name?")) == "You have not told me yet. What is your name?"
    assert said(talk("I'm Pete.", "Hello.", "Thank you!")).startswith("You're welcome, Pete.")
    assert said(talk("I'm Pete.", "Hello.", "Goodbye.")).startswith("Goodbye, Pete.")


def test_its_own_name_and_words_come_from_the_instructions() -> None:
    asked = Prompt('Say exactly: "Your timer is done."', [message("user", "Hello")])
    assert said(respond_to(asked)) == "Your timer is done."
    assert own_name("You are Friday, a butler.") == "Friday"
    assert own_name("You are a helpful assistant.") == "Heart"
    assert said(talk("What's your name?", instructions="your name is otto")) == "I'm Otto. And you?"


def test_useful_things_are_done_through_tools() -> None:
    made = [
        (text, calls, [f"{name} {json.dumps(given)}" for name, given in called(talk(text))] or ["-"])
        for text, *calls in rows("built_in_tools")
    ]
    assert_none(row for row in made if row[1] != row[2])


def test_an_introduction_and_a_question_are_both_answered_also_without_the_tool() -> None:
    replies = talk("Hello, I'm Anna. What time is it?")
    assert (said(replies), called(replies)) == ("Nice to meet you, Anna.", [("get_time", {})])
    replies = talk("What time is it?", tools=())
    assert called(replies) == []
    assert "tool for the time" in said(replies)


def test_a_schema_that_is_none_is_no_mistake_of_the_call() -> None:
    no_schemas: list[dict[str, Any]] = [
        {"properties": ["city"], "required": "city"},
        {"properties": {"city": True, "level": None}, "required": ["city", 7]},
        {"properties": {"city": {"type": ["string"], "enum": None}}, "required": ["city", "level"]},
    ]
    for parameters in no_schemas:
        declared = ToolDeclaration(name="get_weather", parameters=parameters)
        assert talk("What's the weather in Paris?", tools=(declared,)) != []


def results(*results: tuple[str, str, str], state: Any = "success") -> list[Item]:
    """The history of tool calls (name, arguments, output) that have all returned."""
    calls, returned = [], []
    for at, (name, arguments, output) in enumerate(results):
        call = ToolCallBlock(id=f"c{at}", name=name, input=arguments)
        result = ToolResultBlock(id=f"c{at}", name=name, output=output, state=state)
        calls.append(Item(id=f"i{at}", type="tool_call", tool_call=call))
        returned.append(Item(id=f"r{at}", type="tool_result", tool_result=result))
    return [message("user", "please"), *calls, *returned]


def test_of_two_places_the_one_that_was_said_last_is_meant() -> None:
    assert "not that of Osaka:" in time_answer("what time is it in tokyo no osaka", "3:45 PM")


def test_what_was_asked_twice_is_answered_once() -> None:
    twice, other = ("get_balance", "{}", "120 euros"), ("get_limit", "{}", "120 euros")
    assert said(respond_to(Prompt(history=results(twice, twice, other)))) == "120 euros. 120 euros."


def test_results_are_told_in_sentences() -> None:
    told = [(*row, said(respond_to(Prompt(history=results((row[0], row[1], row[2])))))) for row in rows("tool_results")]
    assert_none(row for row in told if row[3] != row[4])


def test_several_results_are_told_in_order_and_failures_and_refusals_plainly() -> None:
    both = results(("get_time", "{}", "3:45 PM"), ("get_date", "{}", "Monday"))
    failed = results(("x", "{}", "trace"), state="error")
    refused = results(("book_table", "{}", "the user refused: No, thank you."), state="denied")
    begun = results(("x", "{}", "x runs in the background (task x_1)."), state="running")
    assert said(respond_to(Prompt(history=both))) == "It is 3:45 PM. Today is Monday."
    assert said(respond_to(Prompt(history=failed))) == "That did not work, I'm afraid."
    assert said(respond_to(Prompt(history=refused))) == "I have not done it."
    assert said(respond_to(Prompt(history=begun))) == "I'm on it.", "a tool in the background"


def test_small_talk() -> None:
    told = [(text, part, said(talk(text))) for text, part in [*rows("small_talk"), ["", "did not catch that"]]]
    assert_none(row for row in told if row[1] not in row[2])
    assert said(talk("Hi.", "It is 3:45 PM.", "Can you repeat that?")) == "It is 3:45 PM."
    assert said(talk("Repeat that.")) == "I have not said anything yet."


def test_what_it_has_no_rule_for_is_owned_up_to_without_an_echo() -> None:
    lamp = said(talk("Turn on the living room lamp."))
    assert "can't" in lamp
    assert "living" not in lamp
    assert "moonstone" not in said(talk("Who stole the moonstone?"))
    assert len(said(talk("word " * 100)).split()) < 30


@given(st.text(max_size=200), st.text(max_size=60))
def test_every_text_has_an_answer(text: str, instructions: str) -> None:
    replies = respond_to(Prompt(instructions, [message("user", text)], TOOLS))
    assert replies
    assert all(json.loads(reply.arguments) is not None for reply in replies if isinstance(reply, ReplyToolCall))


@pytest.mark.parametrize(
    ("heard", "rest_begins_at"),
    [((5,), 5), ((0,), 0), ((3, 4), 7), ((1, 1, 1), 3)],
    ids=["once", "nothing heard", "twice", "three times"],
)
def test_an_answer_that_was_broken_off_goes_on_behind_the_last_heard_word(
    heard: tuple[int, ...], rest_begins_at: int
) -> None:
    asked = message("user", "tell me a story")
    whole = said(respond_to(Prompt("", [asked]))).split()
    history, at = [asked], 0
    for number, count in enumerate(heard):
        if count:
            cut = message("assistant", " ".join(whole[at : at + count]))
            history.append(msgspec.structs.replace(cut, id=f"cut{number}"))
        at += count
    replies = respond_to(Prompt("", [*history, message("system", CONTINUE_ANSWER)]))
    assert said(replies).split() == whole[rest_begins_at:]


def test_nothing_is_said_where_all_of_a_broken_off_answer_was_heard() -> None:
    asked = message("user", "tell me a story")
    whole = said(respond_to(Prompt("", [asked])))
    assert respond_to(Prompt("", [asked, message("assistant", whole), message("system", CONTINUE_ANSWER)])) == []


def test_a_broken_off_answer_of_another_model_is_answered_whole() -> None:
    asked = message("user", "what can you do")
    history = [asked, message("assistant", "As a pirate, I"), message("system", CONTINUE_ANSWER)]
    assert said(respond_to(Prompt("", history))) == said(respond_to(Prompt("", [asked])))


def test_the_words_for_a_result_go_on_behind_the_heard_ones() -> None:
    chat = Chat()
    whole = chat.ask("what time is it").split()
    history = [*chat.history[:-1], message("assistant", " ".join(whole[:2])), message("system", CONTINUE_ANSWER)]
    assert said(respond_to(Prompt("", history))).split() == whole[2:]
