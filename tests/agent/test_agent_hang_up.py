"""A call that ends within a reply: the agent remembers what was played of it, and no word more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from realtime.agent import ReActAgent
from realtime.agent.run import AgentRun
from realtime.audio.playback import WallClockPlayback
from realtime.event import server as s
from realtime.message import TextBlock
from realtime.message.msg import check_pairs
from realtime.testing.clock import run
from tests.agent.spoken import Spoken, spoken
from tests.agent.thinking import ScriptedChat, SlowMemory, Steps, call, react, remembered, say, weather
from tests.agent.voice import COSTS, memory_of
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

STORY = "Once there was a lighthouse. It could not sleep. So it shone all night."


async def by_end(one: Spoken) -> None:
    await one.session.end("client_end")


async def by_leaving(one: Spoken) -> None:
    one.session.detach(one.listener, for_good=True)
    await one.session.settled()


async def by_lost_socket(one: Spoken) -> None:
    one.session.detach(one.listener)
    await asyncio.sleep(40)
    await one.session.settled()


async def by_shutdown(one: Spoken) -> None:
    await one.session.end("shutdown")


each_end = pytest.mark.parametrize("hang_up", [by_end, by_leaving, by_lost_socket, by_shutdown])
HangUp = Callable[[Spoken], Awaitable[None]]


@each_end
@pytest.mark.parametrize("grace_s", [0.0, 30.0], ids=["at once", "may return"])
@pytest.mark.parametrize("piece_s", [0.0, 0.3], ids=["all generated", "being generated"])
async def test_the_memory_holds_what_was_played(hang_up: HangUp, grace_s: float, piece_s: float) -> None:
    agent = react(model=ScriptedChat(say(STORY), piece_s=piece_s))
    async with spoken(agent, grace_s=grace_s) as one:
        one.type("Tell me a story")
        await one.until(s.AgentResponseAudioDeltaEvent, 6)
        one.play(1_300)
        played = one.session.conversation.played_text(one.of(s.AgentResponseAudioDeltaEvent)[0].item_id, 1_300)
        await hang_up(one)
    assert played
    assert played != STORY
    assert await memory_of(agent) == ["user: Tell me a story", f"assistant: {played}"]


@each_end
@pytest.mark.parametrize("played", [True, False])
async def test_a_reply_is_remembered_whole_or_not_at_all_where_it_was_played_so(hang_up: HangUp, played: bool) -> None:
    agent = react(say(STORY))
    async with spoken(agent) as one:
        one.type("Tell me a story")
        await one.until(s.AgentResponseDoneEvent)
        if played:
            one.play(1_000_000)
        await hang_up(one)
    assert await memory_of(agent) == ["user: Tell me a story", *[f"assistant: {STORY}"] * played]


async def test_words_that_a_client_would_have_played_after_the_end_do_not_count() -> None:
    """The end of the call takes a while: its client is taken to play in real time."""

    class Slow(ReActAgent):
        """Takes its time to end."""

        async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0.9)
            return await super().handle_interrupt(*args, **kwargs)

    agent = react(model=ScriptedChat(say(STORY * 3), piece_s=0.1), agent_class=Slow, memory=SlowMemory())
    async with spoken(agent, clock=WallClockPlayback(24_000)) as one:
        one.type("Tell me a story")
        await one.until(s.AgentResponseAudioDeltaEvent)
        await asyncio.sleep(1.0)
        item_id = one.of(s.AgentResponseAudioDeltaEvent)[0].item_id
        played = one.session.conversation.played_text(item_id, 1_000)
        await one.session.end("client_end")
    assert (await memory_of(agent))[-1] == f"assistant: {played}"


async def test_tools_stay_though_what_follows_them_was_not_heard() -> None:
    agent = react([TextBlock(text="Let me see."), call("get_weather", city="Oslo")], say("Rain."), toolkit=weather())
    async with spoken(agent) as one:
        one.type("Weather?")
        await one.until(s.AgentResponseDoneEvent, 2)
        one.play(1_000_000, 0)
        await one.session.end("client_end")
    assert await memory_of(agent) == [
        "user: Weather?",
        'assistant: Let me see. | tool_call: get_weather({"city": "Oslo"}) | tool_result: success Oslo: rain',
    ]


async def test_the_next_call_goes_on_from_what_was_heard() -> None:
    agent = react(say(STORY), say("It could not sleep."))
    async with spoken(agent, clock=WallClockPlayback(24_000)) as one:
        one.type("Tell me a story")
        await one.until(s.AgentResponseDoneEvent)
        await asyncio.sleep(1)
        await by_leaving(one)
    heard = await memory_of(agent)
    async with spoken(agent, clock=WallClockPlayback(24_000)) as one:
        one.type("And then?")
        await one.until(s.AgentResponseDoneEvent)
        await asyncio.sleep(5)
    assert await memory_of(agent) == [*heard, "user: And then?", "assistant: It could not sleep."]


async def _ends_at(step: int) -> int:
    """Hang up after so many steps of the call's tasks; returns how many there were."""
    chat = ScriptedChat([TextBlock(text="Let me see."), call("get_weather", city="Oslo")], say(STORY), piece_s=0.05)
    agent = react(model=chat, toolkit=weather(), memory=SlowMemory())
    before = asyncio.all_tasks()
    async with spoken(agent, clock=WallClockPlayback(24_000)) as one:
        ending: list[asyncio.Task[None]] = []

        heard: list[str] = []

        def hang_up() -> None:
            run = one.session.participant
            assert isinstance(run, AgentRun)
            heard.extend(item.text for item in run.heard() if item.role == "assistant")
            ending.append(asyncio.get_running_loop().create_task(one.session.end("client_end")))

        with Steps(step, hang_up) as steps:
            one.type("Weather?")
            await asyncio.sleep(4)
        await asyncio.gather(*ending)
    assert asyncio.all_tasks() == before
    assert agent.voice_call is None
    memory = await remembered(agent)
    assert check_pairs(memory) == []
    if step:
        said = "".join(msg.get_text_content() or "" for msg in memory if msg.role == "assistant")
        assert "".join(said.split()) == "".join("".join(heard).split())
    return steps.count


def test_wherever_it_ends_the_memory_holds_what_was_heard_until_then() -> None:
    """At every step of every task of the call and the agent; by day at each third."""
    n_steps = run(_ends_at(0), costs=COSTS)
    assert n_steps > 40
    for step in range(1, n_steps + 1, volume(3, 1)):
        run(_ends_at(step), costs=COSTS)
