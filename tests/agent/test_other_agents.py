"""What other agents say, handed to an agent's `handle_input`."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.model import base
from tests.agent.fakes import FakeModel, alone, speech

pytestmark = pytest.mark.virtual_time

ANN: dict[str, Any] = {"agent_id": "agent_ann", "agent_name": "Ann"}
PART: dict[str, Any] = {"response_id": "resp_1", "item_id": "item_1", **ANN}
SOUND = s.AgentResponseAudioDeltaEvent(delta=speech(100, 24_000), format=AudioFormat.pcm16(24_000), **PART)


def answer(words: str, **done: Any) -> list[s.ServerEvent]:
    return [
        s.AgentResponseCreatedEvent(response_id="resp_1", **ANN),
        s.AgentResponseAudioTranscriptDeltaEvent(delta=words, **PART),
        SOUND,
        s.AgentResponseAudioDoneEvent(**PART),
        s.AgentResponseAudioTranscriptDoneEvent(transcript=words, **PART),
        s.AgentResponseDoneEvent(response_id="resp_1", **done, **ANN),
    ]


@pytest.mark.parametrize(("words", "done"), [("It is noon.", {}), ("It is", {"status": "cancelled"})])
async def test_an_agent_is_told_what_another_agent_said_and_answers_it(words: str, done: dict[str, Any]) -> None:
    """RTA-11: the events of another agent become one turn with its name on it, once, and a response follows.

    Of one that was interrupted only what was heard is told.
    """
    async with alone() as made:
        for event in answer(words, **done):
            await made.agent.handle_input(event)
        assert made.transcript() == [("user", f"[Ann]: {words}")]
        (told,) = made.link.got(base.ItemCreate)
        assert told.item.text == f"[Ann]: {words}"
        assert len(made.link.got(base.ResponseCreate)) == 1
        # Its words, not its sound as well: that is the stream of the human.
        assert made.link.heard_bytes() == b""
    with pytest.raises(UsageError, match="call start"):
        await RealtimeAgent("Friday", "", FakeModel()).handle_input(SOUND)


async def test_nobody_is_told_of_silence_of_asides_or_of_their_own_words() -> None:
    """RTA-11: no loop from an agent to itself."""
    async with alone(agent_id="agent_ann") as made:
        for event in answer("It is noon."):
            await made.agent.handle_input(event)
    async with alone() as other:
        aside = s.AgentResponseCreatedEvent(response_id="resp_1", conversation="none", **ANN)
        for event in (*answer("  "), aside, *answer("Beside the point.")[1:], s.ServerAudioFlushEvent()):
            await other.agent.handle_input(event)
        assert (made.transcript(), other.transcript()) == ([], [])


async def test_two_agents_talk_by_handing_each_other_their_events() -> None:
    """RTA-11: the queue of one is the input of the other."""
    ann, ben = FakeModel(), FakeModel()
    first = RealtimeAgent("Ann", "", ann)
    second = RealtimeAgent("Ben", "", ben)
    queue: asyncio.Queue[Any] = asyncio.Queue()
    await first.start(queue)
    await second.start(asyncio.Queue())
    try:
        ann.link.reply(200, "Good day, Ben.")
        while True:
            event = await queue.get()
            await second.handle_input(event)
            if isinstance(event, s.AgentResponseDoneEvent):
                break
        assert [message.item.text for message in ben.link.got(base.ItemCreate)] == ["[Ann]: Good day, Ben."]
    finally:
        await first.stop()
        await second.stop()
