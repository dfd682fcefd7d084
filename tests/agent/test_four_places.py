"""One thinking agent, alone, behind a voice, as a delegate and in a room: what it says and does is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.agent import ReActAgent
from realtime.event import reply as r
from realtime.event import server as s
from realtime.message import FinishedReason, HintBlock, Msg, TextBlock, ThinkingBlock, to_generate_reason
from realtime.model.chat.base import ChatBlock
from realtime.room.floor import addressed
from realtime.state.replies import ReplyProjection, messages
from realtime.testing.clock import run
from realtime.tool import Toolkit
from realtime.tool.response import ToolResponse
from tests.agent.fakes import call as voice_with
from tests.agent.office import NAME, desk
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import HELLO, ScriptedChat, call, react, remembered, say, shape
from tests.agent.voice import COSTS, talk
from tests.room.rooms import anna_in
from tests.room.thinking import salon
from tests.volumes import volume

TOLD = (r.CustomEvent, r.ExceedMaxItersEvent, r.RequestStopEvent)
NOT_OF_THE_AGENT = ("permission_updated", "team_updated", "error")


@dataclass(frozen=True)
class Round:
    """What the agent thinks, says and calls in one go, and the hint that it gets behind that."""

    thinks: bool
    speaks: bool
    tools: tuple[str, ...]
    is_hinted: bool


ROUNDS = st.lists(
    st.builds(
        Round,
        st.booleans(),
        st.booleans(),
        st.lists(st.sampled_from(["look", "fail", "tell"]), min_size=1, max_size=2).map(tuple),
        st.booleans(),
    ),
    max_size=3,
)
ENDS = st.sampled_from(["answers", "has no rounds left", "is stopped", "fails", "interrupts itself"])


async def look(number: int) -> str:
    """Looks something up.

    Args:
        number: Which.
    """
    await asyncio.sleep(0.2)
    return f"page {number}"


async def fail(number: int) -> str:
    """Fails.

    Args:
        number: Which.
    """
    raise ValueError(f"no page {number}")


def stop(number: int) -> ToolResponse:
    """Ends the reply.

    Args:
        number: Which.
    """
    return ToolResponse([TextBlock(text="Bye.")], metadata={"stop_reply": "it is late"})


def thinker(rounds: Sequence[Round], end: str) -> ReActAgent:
    """An agent that goes these rounds, and ends like that."""

    async def tell(number: int) -> str:
        """Tells its readers how far it is.

        Args:
            number: How far.
        """
        agent.emit_custom("tasks_context", {"done": number})
        await asyncio.sleep(0.2)
        return "told"

    async def give_up(number: int) -> str:
        """Interrupts the agent.

        Args:
            number: Which.
        """
        await agent.interrupt()
        await asyncio.sleep(1)
        return "never"

    hinted: list[str] = []

    async def hint(self: ReActAgent, *_: Any) -> None:
        if hinted:
            await self.hint(HintBlock(hint=hinted.pop(), source="team"))

    answers: list[Any] = []
    for place, one in enumerate(rounds):
        said: list[ChatBlock] = [ThinkingBlock(thinking=f"I need page {place}.")] if one.thinks else []
        said += say(f"I look at page {place}.") if one.speaks else []
        said += [call(name, f"call_{place}_{n}", number=place) for n, name in enumerate(one.tools)]
        answers.append(said)
        if one.is_hinted:
            hinted.insert(0, f"<system-reminder>Page {place} is new.</system-reminder>")
    last = {"is stopped": "stop", "interrupts itself": "give_up"}.get(end)
    answers.append([*say("Then I end."), call(last, "last", number=9)] if last else say("That is all. Good day."))
    if end == "fails":
        answers[-1] = ConnectionError("gone")
    limit = max(len(rounds), 1) if end == "has no rounds left" else 10
    if end == "has no rounds left" and not rounds:
        answers.insert(0, [call("look", "call_x", number=0)])
    toolkit = Toolkit([look, fail, tell, stop, give_up])
    agent = react(model=ScriptedChat(*answers), toolkit=toolkit, max_iters=limit)
    agent.register_instance_hook("post_acting", "hint", hint)
    return agent


Whole = tuple[list[str], FinishedReason | None, str | None, list[tuple[str, dict[str, Any]]]]


def whole(msg: Msg, events: Iterable[r.AgentEvent]) -> Whole:
    """What a reader has of the reply: blocks, the reason of its end, what else was told."""
    told = [event for event in events if isinstance(event, TOLD) and getattr(event, "name", "") not in NOT_OF_THE_AGENT]
    own = ("id", "created_at", "reply_id", "metadata")
    dumped = [(event.type, {key: one for key, one in event.model_dump().items() if key not in own}) for event in told]
    return shape(msg.content), msg.finished_reason, msg.error, dumped


def stored(log: Iterable[s.ServerEvent]) -> Whole:
    """The reply as the log of a call gives it."""
    projection = ReplyProjection("call", created_at_of=str)
    events = [reply for event in log for reply in projection.push(event)] + projection.settle()
    return whole(next(msg for msg in reversed(messages(events)) if msg.role == "assistant"), events)


async def alone(agent: ReActAgent) -> Whole:
    events: list[r.AgentEvent] = []
    task = agent.begin_reply(events.append, HELLO)
    await asyncio.wait({task})
    task.exception()
    end = events[-1]
    if isinstance(end, r.ReplyEndEvent) and "content" in end.message:
        # The words of `handle_interrupt`, which are played to no one, take the place of what was said.
        events[-1] = msgspec.structs.replace(end, message={})
    return whole(Msg.from_events(events), events)


async def behind_a_voice(agent: ReActAgent) -> Whole:
    async with talk(agent) as one:
        await one.type("Hello")
        await asyncio.sleep(30)
    return stored(one.events)


async def in_a_room(agent: ReActAgent) -> Whole:
    async with anna_in(salon(agent, floor=addressed)) as (_, anna):
        anna.write("Hello")
        await asyncio.sleep(30)
    return stored(anna.events)


async def as_delegate(agent: ReActAgent) -> tuple[list[str], str | None, str | None] | None:
    """The message that it remembers, whose words are the result of the tool; None if it remembers nothing."""
    async with voice_with(toolkit=desk(agent, background=False)) as made:
        ask_tools(made, ("call_1", NAME, '{"query": "Hello"}'))
        await asyncio.sleep(30)
        ((_, _, answer),) = results(made)
    *_, reply = await remembered(agent)
    if reply.role == "user":
        return None
    assert all(block.text in answer for block in reply.get_content_blocks("text"))
    return shape(reply.content), reply.finished_reason, reply.error


@settings(max_examples=volume(25, 500), deadline=None)
@given(ROUNDS, ENDS)
def test_an_agent_gives_the_same_messages_in_all_four_places(rounds: list[Round], end: str) -> None:
    """EVT-22, EVT-23, EVT-45, EVT-48, USE-11, USE-12: also behind a voice, in a room and of a delegate."""

    async def compare() -> None:
        expected = await alone(thinker(rounds, end))
        assert await behind_a_voice(thinker(rounds, end)) == expected
        assert await in_a_room(thinker(rounds, end)) == expected
        assert await as_delegate(thinker(rounds, end)) == (expected[:3] if expected[0] else None)

    run(compare(), costs=COSTS)


@pytest.mark.parametrize(
    ("end", "word"),
    [("answers", "MODEL_STOP"), ("has no rounds left", "MAX_ITERATIONS"), ("interrupts itself", "INTERRUPTED")],
)
def test_a_stored_message_of_a_call_gives_the_word_of_agentscope_java_for_its_end(end: str, word: str) -> None:
    """USE-06, USE-10, USE-11"""
    _, reason, _, _ = run(behind_a_voice(thinker([], end)), costs=COSTS)
    assert to_generate_reason(reason, {}) == word
