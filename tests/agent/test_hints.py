"""`RealtimeAgent.hint`: what a program tells the model in the middle of a call."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import Base64Source, DataBlock, HintBlock, TextBlock
from realtime.model import base
from realtime.room.floor import addressed
from realtime.state.replies import ReplyProjection, messages
from tests.agent.fakes import WORDS, Alone, FakeConnection, FakeModel, alone
from tests.agent.thinking import react, requests_of, say, shape
from tests.agent.voice import COSTS, talk
from tests.message.reply_grammar import check_replies
from tests.room.rooms import TalkModel, agent, anna_in, house

pytestmark = pytest.mark.virtual_time(costs=COSTS)

EIGHT = "It is eight o'clock: remind the user of the train."
TOLD = f"<system-reminder>\n{EIGHT}\n</system-reminder>"


def told(link: FakeConnection) -> list[tuple[str | None, str]]:
    """(source, text) of each hint that the model was sent."""
    items = [message.item for message in link.got(base.ItemCreate)]
    return [(item.name, item.text) for item in items if item.role == "system"]


def n_asked(link: FakeConnection) -> int:
    return len(link.got(base.ResponseCreate))


def replies(log: list[s.ServerEvent]) -> list[r.AgentEvent]:
    projection = ReplyProjection("session1", created_at_of=lambda ts_ms: f"2026-01-01T00:00:{ts_ms / 1000:06.3f}Z")
    events = [event for entry in log for event in projection.push(entry)] + projection.settle()
    check_replies(events)
    return events


@pytest.mark.parametrize(
    ("hint", "source", "text"),
    [
        (EIGHT, "schedule", TOLD),
        ([TextBlock(text="Alice:"), TextBlock(text="I am done.")], '{"team": "alice"}', "Alice:\nI am done."),
        (HintBlock(hint="<system-reminder>\nresearch: 42\n</system-reminder>", source="research"), None, "42"),
        ("Nothing to see.", None, "Nothing to see."),
    ],
)
async def test_a_hint_enters_the_running_call_and_the_model_answers_it(
    hint: Any, source: str | None, text: str
) -> None:
    """MSG-52, EVT-45: a scheduled trigger, a team message, a background result; told, logged, and in the message."""
    async with alone() as made:
        await made.agent.hint(hint, source)
        await asyncio.sleep(0.5)
        ((name, sent),) = told(made.link)
        assert name == getattr(hint, "source", source)
        assert sent.startswith("<system-reminder>\n")
        assert sent.count("<system-reminder>") == 1
        assert text in sent
        assert n_asked(made.link) == 1
        made.link.reply(500, "Your train leaves soon.")
        await asyncio.sleep(5)
    events = replies(made.seen)
    (block,) = [event for event in events if isinstance(event, r.HintBlockEvent)]
    assert (block.hint, block.source) == (sent, name)
    (reply,) = messages(events)
    assert shape(reply.content) == [f"hint: {sent}", "text: Your train leaves soon."]


async def test_it_waits_until_nothing_is_said_and_a_silent_one_is_known_at_once_and_asks_for_nothing() -> None:
    async with alone() as made:
        await made.agent.handle_input(c.ClientTextAppendEvent(text="Hello"))
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(1)
        await made.agent.hint(EIGHT, "schedule")
        await made.agent.hint("The user is on a train.", announce="silently")
        await asyncio.sleep(1)
        assert [text for _, text in told(made.link)] == [
            "<system-reminder>\nThe user is on a train.\n</system-reminder>"
        ]
        assert n_asked(made.link) == 1
        await asyncio.sleep(5)
        assert told(made.link)[1:] == [("schedule", TOLD)]
        assert n_asked(made.link) == 2


async def test_a_client_that_says_when_the_agent_answers_gets_no_answer_to_a_hint() -> None:
    async with alone(config=SessionConfig(auto_response=False)) as made:
        await made.agent.hint(EIGHT, "schedule")
        await asyncio.sleep(1)
        assert (told(made.link), n_asked(made.link)) == ([("schedule", TOLD)], 0)


async def test_a_thinking_agent_behind_the_voice_reads_it() -> None:
    friday = react(say("Your train leaves soon."))
    async with talk(friday) as one:
        await one.agent.hint(EIGHT, "schedule")
        await asyncio.sleep(10)
    assert any(EIGHT in text for text in requests_of(friday)[0].texts)
    assert one.story == ["says Your train leaves soon.", "completed"]
    assert [block.type for block in messages(replies(one.events))[-1].content] == ["hint", "text"]


async def test_in_a_room_the_agent_asks_for_the_floor_and_answers_it_there() -> None:
    """The agent that hooks get takes it."""
    model = TalkModel("Hello.", "Your train leaves soon.")
    alice = agent("Alice", model)

    async def remind(self: RealtimeAgent, kwargs: dict[str, Any], output: Any) -> None:
        if isinstance(kwargs["event"], m.ModelResponseDoneEvent) and EIGHT not in "".join(model.read):
            await self.hint(EIGHT, "schedule")

    alice.register_instance_hook("post_model_event", "remind", remind)
    async with anna_in(house(alice, floor=addressed)) as (home, anna):
        await anna.writes("Hello Alice.")
        await asyncio.sleep(10)
        assert [text for _, text in home.talk()][-2:] == ["Hello.", "Your train leaves soon."]
    assert TOLD in model.read
    assert shape(messages(replies(anna.events))[-1].content) == [f"hint: {TOLD}", "text: Your train leaves soon."]


async def refused(made: Alone | None, hint: Any) -> str:
    agent = RealtimeAgent("Friday", "", FakeModel()) if made is None else made.agent
    with pytest.raises(UsageError) as raised:
        await agent.hint(hint)
    return raised.value.message


async def test_what_cannot_be_told_is_refused_with_a_sentence() -> None:
    """MSG-52: before, after and outside of a call; without words; a picture."""
    assert "the agent is in no call" in await refused(None, EIGHT)
    picture = DataBlock(source=Base64Source(data=b"png", media_type="image/png"))
    async with alone() as made:
        assert "has no words" in await refused(made, " ")
        assert "has no words" in await refused(made, [])
        assert "is text" in await refused(made, [TextBlock(text="Look:"), picture])
        assert told(made.link) == []
    assert "in no running call" in await refused(made, EIGHT)
