"""What a model thinks: told to those who ask for events, kept with the call, never spoken and in no transcript."""

import asyncio
from typing import Any

import pytest

from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.reply import AgentEvent
from realtime.formatter import OpenAIChatFormatter
from realtime.message import Msg, ThinkingBlock
from realtime.runtime import Runtime
from realtime.state.replies import ReplyProjection, messages
from tests.agent.fakes import Call, call
from tests.message.reply_grammar import check_replies
from tests.state.test_replies import iso, types

pytestmark = pytest.mark.virtual_time

THOUGHT = "They greet. I greet back."


def think(made: Call, response_id: str, *, ends: bool = True) -> None:
    where: dict[str, Any] = {"response_id": response_id, "item_id": "thought_1"}
    for delta in ("They greet. ", "I greet back."):
        made.link.say(m.ModelResponseThinkingDeltaEvent(delta=delta, **where))
    if ends:
        made.link.say(m.ModelResponseThinkingDoneEvent(thinking=THOUGHT, **where))


def reply_events(made: Call) -> list[AgentEvent]:
    projection = ReplyProjection("session1", created_at_of=iso)
    return [event for one in made.log for event in projection.push(one)]


def told(made: Call) -> list[Msg]:
    events = reply_events(made)
    check_replies(events)
    return messages(events)


async def test_thoughts_stand_in_the_message_and_in_no_transcript() -> None:
    """FMT-11: a ThinkingBlock before the words; not in the text, not in the conversation, not in a payload.

    EVT-29, EVT-30, EVT-31: over a whole reply it begins, grows and ends.
    """
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id)
        made.link.speak(response_id, 500, "Good day.")
        made.link.finish(response_id, "Good day.")
        await asyncio.sleep(5)
        assert made.transcript() == [("assistant", "Good day.")]
    begun = ["REPLY_START", "MODEL_CALL_START"]
    thinking = ["THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END"]
    assert types(reply_events(made), response_id)[:5] == begun + thinking
    (message,) = told(made)
    assert [block.type for block in message.content] == ["thinking", "text"]
    (thought,) = message.get_content_blocks("thinking")
    assert (thought.thinking, thought.finished_at is not None) == (THOUGHT, True)
    assert message.get_text_content() == "Good day."
    assert Msg.from_json(message.to_json()) == message
    assert THOUGHT not in str(await OpenAIChatFormatter().format([message]))


async def test_thoughts_that_break_off_are_closed_with_what_was_thought() -> None:
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id, ends=False)
        made.receive(c.ClientResponseCancelEvent())
        made.link.say(m.ModelResponseThinkingDeltaEvent(response_id=response_id, item_id="thought_1", delta="late"))
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="cancelled"))
        (done,) = made.of(s.AgentResponseThinkingDoneEvent)
        assert done.thinking == THOUGHT
        assert made.types().index("agent_response_thinking_done") < made.types().index("agent_response_done")
        assert made.transcript() == []
    # An answer that was interrupted before its first word leaves no message behind.
    assert told(made) == []


async def test_a_reply_of_thoughts_alone_is_kept() -> None:
    """FMT-11: for whoever looks into why the agent said nothing."""
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id, ends=False)
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        await asyncio.sleep(5)
    (message,) = told(made)
    (thought,) = message.content
    assert isinstance(thought, ThinkingBlock)
    assert (thought.thinking, thought.finished_at is not None) == (THOUGHT, True)


THINKING: list[s.ServerEvent] = [
    s.AgentResponseThinkingDeltaEvent(response_id="r1", item_id="t1", delta=THOUGHT),
    s.AgentResponseThinkingDoneEvent(response_id="r1", item_id="t1", thinking=THOUGHT),
]


RUNTIME = Runtime.deterministic(lambda: 0.0)


def test_a_native_client_is_told_thoughts_and_one_of_another_vocabulary_none() -> None:
    others: list[ClientDialect] = [
        AgentScope1Dialect(),
        OpenAIDialect("gpt-realtime", RUNTIME),
        DashScopeDialect("qwen-omni", RUNTIME),
        GeminiDialect(RUNTIME, life_s=600.0, drain_s=0.0),
    ]
    assert [frame for dialect in others for event in THINKING for frame in dialect.encode(event)] == []
    frames = [frame for event in THINKING for frame in NativeDialect().encode(event)]
    assert [THOUGHT in str(frame) for frame in frames] == [True, True]
