"""Thinking agents in a room: what their background tools give, and what they remember when nobody hears on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import TextBlock
from realtime.room import Observer
from realtime.room.floor import addressed
from realtime.testing.clock import run
from realtime.tool import Toolkit
from tests.agent.fakes import ListSink, listener_into
from tests.agent.thinking import ScriptedChat, SlowMemory, Steps, call, react, remembered, requests_of, say
from tests.room.rooms import House, TalkModel, agent, anna_in
from tests.room.thinking import COSTS, salon
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

COUNT = "One is first. Two is second. Three is third. Four is last."


async def dig() -> str:
    """Dig."""
    await asyncio.sleep(10)
    return "a hole"


def digger(*further: Any, **options: Any) -> Any:
    toolkit = Toolkit()
    toolkit.register(dig, background=True, **options)
    return react([TextBlock(text="Let me dig."), call("dig")], say("I am digging."), *further, toolkit=toolkit)


def in_words(talk: list[tuple[Any, str]]) -> list[str]:
    return [f"{name}: {' '.join(text.split())}" for name, text in talk]


async def memory_of(friday: Any) -> list[tuple[Any, str]]:
    return [(one.name, one.get_text_content() or "") for one in await remembered(friday)]


async def test_the_result_of_a_background_tool_is_told_when_nobody_speaks() -> None:
    friday = digger(say("The hole is there."))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        await anna.writes("Dig a hole.")
        n_said = len(home.talk())
        await asyncio.sleep(12)
        await home.quiet()
        assert home.talk()[n_said:] == [("Friday", "The hole is there.")]
        assert "a hole" in str(requests_of(friday)[-1].messages)
        await asyncio.sleep(60)
        assert len(requests_of(friday)) == 3, "it is told once"
        assert anna.errors() == []


async def test_it_waits_while_a_human_speaks_and_while_another_agent_does() -> None:
    friday = digger(say("The hole is there."))
    alice = agent("Alice", TalkModel("I have a long story to tell to you all, and it goes on and on and on and on."))
    async with anna_in(salon(friday, alice, floor=addressed)) as (home, anna):
        await anna.writes("Friday, dig a hole.")
        await asyncio.sleep(6)
        await anna.writes("Alice, tell us something.")
        assert home.speakers()[-2:] == ["Alice", "Friday"]
        assert home.talk()[-1] == ("Friday", "The hole is there.")


async def test_a_silent_result_is_known_and_an_observer_does_not_speak_of_its_own() -> None:
    quiet = digger(say("It is there."), announce="silently")
    observer = digger(say("It is there."))
    for friday, one in ((quiet, quiet), (observer, Observer(observer))):
        async with anna_in(salon(agent("Alice", TalkModel("Fine.")), one, floor=addressed)) as (home, anna):
            await anna.writes("Friday, dig a hole.")
            n_speakers = len(home.speakers())
            await asyncio.sleep(30)
            assert len(home.speakers()) == n_speakers
            await anna.writes("Friday, is it there?")
            assert home.talk()[-1] == ("Friday", "It is there.")
            assert "a hole" in str(requests_of(friday)[-1].messages)


@pytest.mark.parametrize("ends", ["the last human leaves", "the room closes"])
async def test_a_room_that_ends_within_a_reply_leaves_what_was_played_in_the_memory(ends: str) -> None:
    friday = react(say(COUNT))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Count.")
        await asyncio.sleep(1.5)
        if ends == "the last human leaves":
            await anna.go()
        else:
            await home.room.close("over")
    assert home.talk() == await memory_of(friday)
    assert "One is first" in home.talk()[-1][1]
    assert "Four" not in home.talk()[-1][1]


async def near(home: House, name: str) -> tuple[Session, Any]:
    """A human whose client says what it has played."""
    human = home.room.make_human(name, home.runtime)
    session = Session(participant=human, runtime=home.runtime, session_id=name)
    listener = listener_into(ListSink(), home.runtime, clock=AcknowledgedPlayback(24_000))
    session.attach(listener)
    await session.start(SessionConfig())
    return session, listener


@pytest.mark.parametrize("played_ms", [700, 1_400, 2_600])
async def test_a_late_report_of_a_client_reaches_the_agent_as_it_reaches_the_page(played_ms: int) -> None:
    friday = react(say(COUNT), say("Yes?"))
    async with salon(friday, floor=addressed) as home:
        session, listener = await near(home, "Anna")
        session.receive(c.ClientTextAppendEvent(text="Count."), listener)
        await asyncio.sleep(1)
        item_id = home.of(s.AgentResponseAudioDeltaEvent)[-1].item_id
        session.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=600), listener)
        session.receive(c.ClientTextAppendEvent(text="Stop."), listener)
        early = home.of(s.AgentItemTruncatedEvent)[-1].transcript
        await asyncio.sleep(0.3)
        late = c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms, flushed=True)
        session.receive(late, listener)
        await asyncio.sleep(0.5)
        assert len(home.talk()[1][1]) >= len(early or "")
        answer = home.of(s.AgentResponseAudioDeltaEvent)[-1].item_id
        session.receive(c.ClientPlaybackAckEvent(item_id=answer, played_ms=100_000), listener)
        await home.quiet()
        assert in_words(await memory_of(friday)) == in_words(home.talk())
        await session.end("left")


async def _closes_at(step: int) -> int:
    """Let the last human leave after so many steps of the room's tasks; returns how many there were."""
    chat = ScriptedChat([TextBlock(text="Let me dig."), call("dig")], say(COUNT), say("Done."), piece_s=0.05)
    toolkit = Toolkit()
    toolkit.register(dig, background=True)
    friday = react(model=chat, toolkit=toolkit, memory=SlowMemory())
    before = asyncio.all_tasks()
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        leaving: list[asyncio.Task[None]] = []

        def leave() -> None:
            leaving.append(asyncio.get_running_loop().create_task(anna.go()))

        with Steps(step, leave) as steps:
            anna.write("Dig a hole, and count.")
            await asyncio.sleep(5)
        await asyncio.gather(*leaving)
    assert asyncio.all_tasks() == before
    assert friday.voice_call is None
    if step:
        heard = [line for line in in_words(home.talk()) if line.startswith("Friday")]
        words = [line.removeprefix("Friday: ") for line in heard]
        kept = [text for name, text in await memory_of(friday) if name == "Friday"]
        assert "".join("".join(kept).split()) == "".join("".join(words).split())
    return steps.count


def test_whenever_the_last_human_leaves_the_memory_holds_what_was_heard() -> None:
    n_steps = run(_closes_at(0), costs=COSTS)
    assert n_steps > 40
    for step in range(1, n_steps + 1, volume(7, 1)):
        run(_closes_at(step), costs=COSTS)
