"""Tools that report while they run, know their call and what was heard, and give much, nothing, or never end."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from realtime.agent.speakers import messages_of
from realtime.agent.tools import MAX_PROGRESS
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig
from realtime.message import Msg, ToolCallBlock, UserMsg
from realtime.model import base
from realtime.tool import ToolContext, Toolkit
from tests.agent.fakes import WORDS, call
from tests.agent.test_text_reply import started
from tests.agent.test_tools import ask_tools, results
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time


async def search(query: str) -> AsyncGenerator[str, None]:
    """Search."""
    for word in (f"{query}: ", "one ", "two"):
        await asyncio.sleep(1)
        yield word


def walk() -> Iterator[str]:
    """Walk."""
    yield "left, "
    yield "right"


async def look(context: ToolContext[dict[str, int]]) -> str:
    """Look."""
    context.progress("opening the register")
    await asyncio.sleep(1)
    context.state["n"] = context.state.get("n", 0) + 1
    return f"{context.agent_name}, {context.state['n']} of {context.call_id}"


SEARCH = ("call_1", "search", '{"query": "tea"}')


def reports(made: Any) -> list[tuple[str, str, str]]:
    return [(event.tool_call_id, event.delta, event.kind) for event in made.of(s.AgentToolProgressEvent)]


async def test_the_pieces_of_a_generator_are_events_and_together_its_result() -> None:
    async with call(toolkit=Toolkit([search, walk])) as made:
        ask_tools(made, SEARCH, ("call_2", "walk", "{}"))
        await asyncio.sleep(2.5)
        assert [one for one in reports(made) if one[0] == "call_1"] == [
            ("call_1", "tea: ", "result"),
            ("call_1", "one ", "result"),
        ]
        assert results(made) == [("call_2", "success", "left, right")]
        await asyncio.sleep(1)
        assert results(made)[1:] == [("call_1", "success", "tea: one two")]
        assert {event.agent_name for event in made.of(s.AgentToolProgressEvent)} == {"Friday"}
        assert len(made.link.got(base.ResponseCreate)) == 1
        made.check_heard_truth()


async def test_a_note_is_an_event_and_no_part_of_the_result_and_each_call_has_a_state_of_its_own() -> None:
    toolkit = Toolkit([look])
    for _ in range(2):
        async with call(toolkit=toolkit) as made:
            for number in (1, 2):
                ask_tools(made, (f"call_{number}", "look", "{}"))
                await asyncio.sleep(2)
            assert reports(made) == [(f"call_{number}", "opening the register", "note") for number in (1, 2)]
            said = [("call_1", "success", "Friday, 1"), ("call_2", "success", "Friday, 2")]
            assert [(call_id, state, text.split(" of ")[0]) for call_id, state, text in results(made)] == said
            assert {text.split(" of ")[1] for _, _, text in results(made)} == {made.session.call_id}


async def test_an_interruption_closes_the_generator_and_nothing_is_reported_after_it() -> None:
    ended: list[str] = []

    async def tick() -> AsyncGenerator[str, None]:
        """Tick."""
        try:
            while True:
                yield "tick "
                await asyncio.sleep(1)
        finally:
            ended.append("closed")

    async with call(toolkit=Toolkit([tick])) as made:
        ask_tools(made, ("call_1", "tick", "{}"))
        await asyncio.sleep(2.5)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(3)
        assert ended == ["closed"]
        assert len(reports(made)) == 3
        assert results(made) == [("call_1", "interrupted", "interrupted by the user")]


async def test_a_tool_that_swallows_its_cancellation_holds_nothing_up() -> None:
    release = asyncio.Event()

    async def stubborn() -> str:
        """Go on."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        return "late"

    async with call(toolkit=Toolkit([stubborn])) as made:
        ask_tools(made, ("call_1", "stubborn", "{}"))
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(1.5)
        assert results(made) == [("call_1", "interrupted", "interrupted by the user")]
        began = asyncio.get_running_loop().time()
        await made.session.end("test_over")
        assert asyncio.get_running_loop().time() - began < 1
    release.set()
    await asyncio.sleep(0.1)


async def test_a_tool_that_reports_without_end_is_bounded_and_its_result_is_cut() -> None:
    async def flood() -> AsyncGenerator[str, None]:
        """Flood."""
        while True:
            yield "x" * 50

    def dump() -> str:
        """Dump."""
        return "x" * 10_000_000

    async with call(toolkit=Toolkit([flood, dump])) as made:
        ask_tools(made, ("call_1", "flood", "{}"), ("call_2", "dump", "{}"))
        await asyncio.sleep(1)
        assert len(reports(made)) == MAX_PROGRESS
        texts = {call_id: text for call_id, state, text in results(made) if state == "success"}
        assert "The result is cut" in texts["call_1"][-200:]
        assert len(texts["call_2"]) < 101_000
        assert "the first 100,000 are here" in texts["call_2"]
        assert len(made.link.got(base.ResponseCreate)) == 1


async def events_of(*tools: Any, use: tuple[str, str, str], before_done: float = 0.0) -> list[r.AgentEvent]:
    """The events of a reply that uses a tool and then speaks. The tool has `before_done` s until its response ends."""
    async with started(toolkit=Toolkit(tools), answers=False) as (agent, link, _):

        def answer(_: base.ResponseCreate) -> None:
            response_id = link.begin()
            if len(link.got(base.ResponseCreate)) == 2:
                link.speak(response_id, 500, "Done.")
                link.finish(response_id, "Done.")
                return
            call_id, name, arguments = use
            block = ToolCallBlock(id=call_id, name=name, input=arguments)
            link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use", tool_use=block))
            done = m.ModelResponseDoneEvent(response_id=response_id)
            asyncio.get_running_loop().call_later(before_done, link.say, done)

        link.answer = answer
        events = [event async for event in agent.reply_stream(UserMsg("user", "Go"))]
    check_replies(events)
    return events


def deltas(events: list[r.AgentEvent]) -> list[str]:
    return [event.delta for event in events if isinstance(event, r.ToolResultTextDeltaEvent)]


@pytest.mark.parametrize(
    ("before_done", "told"),
    [(0.0, ["tea: ", "one ", "two"]), (2.5, ["tea: one ", "two"]), (5.0, ["tea: one two"])],
    ids=["at-once", "late", "after-the-result"],
)
async def test_a_streaming_tool_gives_its_result_in_several_deltas(before_done: float, told: list[str]) -> None:
    """EVT-39: a streaming tool gives several; those that come within the response are told when it is done."""
    events = await events_of(search, use=SEARCH, before_done=before_done)
    assert deltas(events) == told
    (_, result, _) = Msg.from_events(events).content
    assert (result.output, result.state) == ("tea: one two", "success")


async def test_a_result_that_ends_otherwise_than_its_pieces_follows_them() -> None:
    async def fails() -> AsyncGenerator[str, None]:
        """Fail."""
        yield "half"
        await asyncio.sleep(1)
        raise ValueError("broken")

    events = await events_of(fails, use=("call_1", "fails", "{}"))
    assert deltas(events) == ["half", "\nfails failed: ValueError: broken"]


async def test_a_note_is_a_custom_event_of_the_reply() -> None:
    events = await events_of(look, use=("call_1", "look", "{}"))
    (note,) = [event for event in events if isinstance(event, r.CustomEvent)]
    assert (note.name, note.value) == ("tool_progress", {"tool_call_id": "call_1", "text": "opening the register"})
    assert [text.split(" of ")[0] for text in deltas(events)] == ["Friday, 1"]


async def recall(context: ToolContext[Any]) -> str:
    """Tell what was said."""
    return " | ".join(f"{msg.name} ({msg.role}): {msg.get_text_content()}" for msg in context.heard())


async def test_a_tool_hears_what_was_played_by_the_names_of_the_speakers() -> None:
    async with call(toolkit=Toolkit([recall]), config=SessionConfig(user_name="Kay")) as made:
        made.receive(c.ClientTextAppendEvent(text="Count."))
        made.link.reply(10_000, WORDS)
        await asyncio.sleep(3)
        ask_tools(made, ("call_1", "recall", "{}"))
        await asyncio.sleep(0.5)
        assert results(made) == [("call_1", "success", "Kay (user): Count.")], "the answer is still being played"
        made.receive(c.ClientTextAppendEvent(text="Stop."))
        made.link.reply(500, "Never heard.")  # what was to follow the result
        ask_tools(made, ("call_2", "recall", "{}"))
        await asyncio.sleep(0.5)
        heard = results(made)[1][2].split(" | ")
        assert [heard[0], heard[2]] == ["Kay (user): Count.", "Kay (user): Stop."]
        assert heard[1].startswith("Friday (assistant): one two three")
        assert "nine" not in heard[1]
    outside = await Toolkit([recall]).run(ToolCallBlock(id="call_1", name="recall", input="{}"))
    assert outside.output_text() == ""


def test_in_a_room_the_speakers_are_those_of_the_words() -> None:
    def item(number: int, role: Any, text: str, **fields: Any) -> Item:
        words = () if not text else (ContentPart(type="text", text=text),)
        return Item(id=f"item_{number}", role=role, content=words, **fields)

    items = [
        item(1, "system", "<system-reminder>\nHush.\n</system-reminder>"),
        item(2, "user", "[Tom]: Good morning."),
        item(3, "assistant", "[Tom]: is how Tom begins."),
        item(4, "user", "Hello.", name="Ann"),
        item(5, "user", "Hello?"),
        item(6, "user", ""),
        item(7, "assistant", "I am", status="in_progress"),
        item(8, "assistant", "Not played."),
    ]
    messages = messages_of(items, lambda item_id: item_id != "item_8", "Emma")
    assert [(msg.id, msg.name, msg.get_text_content()) for msg in messages] == [
        ("item_2", "Tom", "Good morning."),
        ("item_3", "Emma", "[Tom]: is how Tom begins."),
        ("item_4", "Ann", "Hello."),
        ("item_5", "user", "Hello?"),
    ]


async def test_what_a_tool_leaves_for_the_end_is_done_when_the_call_is_over() -> None:
    done: list[str] = []

    async def open_door(name: str, context: ToolContext[Any]) -> None:
        """Open a door."""

        async def close() -> None:
            await asyncio.sleep(3_600 if name == "stuck" else 0.1)
            done.append(name)

        context.at_end(close)

    async with call(toolkit=Toolkit([open_door])) as made:
        for number, name in enumerate(["first", "stuck", "last"]):
            ask_tools(made, (f"call_{number}", "open_door", f'{{"name": "{name}"}}'))
        await asyncio.sleep(1)
        assert done == []
        began = asyncio.get_running_loop().time()
        await made.session.end("test_over")
        assert done == ["last", "first"], "in reverse order; the stuck one is given up"
        assert asyncio.get_running_loop().time() - began < 2
