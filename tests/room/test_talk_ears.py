"""Whose ear counts where an agent is cut: nobody takes away what another has heard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.listener import EventDialect, Listener, QueueSink
from realtime.event import client as c
from realtime.event import server as s
from realtime.room.floor import addressed, broadcast
from tests.room.rooms import House, Human, TalkModel, anna_and_ben_in, anna_in, seconds, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown, and a daughter who wanted it."


async def come_with_acks(home: House, name: str) -> Human:
    """Somebody whose client says itself what it has played."""
    human = Human(home.room, name, home.runtime)
    (estimating,) = human.call.listeners
    dialect, sink, clock = EventDialect(), QueueSink(human.events.append), AcknowledgedPlayback(24_000)
    human.call.attach(Listener(sink=sink, dialect=dialect, runtime=home.runtime, clock=clock, lanes=dialect))
    human.call.detach(estimating)
    home.humans.append(human)
    return await human.come()


@asynccontextmanager
async def story(after_s: float) -> AsyncIterator[tuple[House, Human, Callable[[int], None]]]:
    """Alice tells Anna a story, for so long; Ben has come, who may say what he has played of it."""
    async with anna_in(two(TalkModel(STORY, "Yes, Ben."), floor=addressed)) as (home, anna):
        ben = await come_with_acks(home, "Ben")
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(after_s)

        def has_played(ms: int) -> None:
            item_id = home.of(s.AgentResponseAudioDeltaEvent)[0].item_id
            ben.call.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=ms), ben.call.listeners[0])

        yield home, ben, has_played
        await home.quiet()


def cut_of(home: House) -> tuple[str, float]:
    """What is left of Alice's story, and the seconds of it that were heard."""
    (said,) = [text for name, text in home.talk() if name == "Alice" and STORY.startswith(text)]
    (truncated,) = home.of(s.AgentItemTruncatedEvent)
    return said, (truncated.audio_end_ms or 0) / 1000


async def test_who_comes_in_the_middle_and_speaks_cuts_where_the_others_are() -> None:
    async with anna_in(two(TalkModel(STORY, "Yes, Carla."), floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(3.0)
        carla = await home.come("Carla")
        await asyncio.sleep(0.5)
        carla.begin("Hello everybody, I am here.")
        said, heard_s = cut_of(home)
        assert 3.0 < heard_s < 3.5
        assert 2.8 < seconds(said) <= heard_s
        carla.end()
        await home.quiet()


@pytest.mark.parametrize("after_s", [1.2, 4.0])
async def test_a_client_that_never_says_what_it_played_takes_nothing_from_the_others(after_s: float) -> None:
    async with story(after_s) as (home, ben, _):
        ben.write("Stop.")
        said, heard_s = cut_of(home)
        assert after_s - 0.3 < heard_s <= after_s
        assert seconds(said) <= heard_s


async def test_a_client_that_has_stopped_to_say_it_takes_nothing_from_the_others() -> None:
    async with story(1.0) as (home, ben, has_played):
        has_played(500)
        await asyncio.sleep(3.0)
        ben.write("Stop.")
        assert cut_of(home)[1] > 3.5


async def test_the_ear_of_whoever_interrupts_counts_where_it_is_a_little_behind() -> None:
    async with story(2.0) as (home, ben, has_played):
        has_played(1_000)
        ben.write("Stop.")
        assert cut_of(home)[1] == 1.0


async def test_a_client_that_never_says_what_it_played_holds_up_no_turn_longer_than_the_one_before() -> None:
    async with anna_in(two("This is what I think.", "And this is what I do.", floor=broadcast)) as (home, anna):
        await come_with_acks(home, "Ben")
        for number in range(5):
            await anna.writes(f"Question {number}.")
        floors = home.of(s.ServerRoomFloorEvent)
        took_ms = [then.ts_ms - now.ts_ms for now, then in pairwise(floors) if now.participant_id in ("alice", "bob")]
        assert len(took_ms) == 20
        assert max(took_ms) < 3_700
        assert home.of(s.ServerAudioFlushEvent) == []


async def test_each_human_is_told_what_they_waited_themselves() -> None:
    async with anna_and_ben_in(two("This is what I think.", floor=addressed)) as (home, anna, ben):
        await anna.says("Alice, what do you think?")
        (told,) = anna.of(s.ServerLatencyEvent)
        assert told.item_id in {item.item_id for item in home.of(s.AgentInputDoneEvent)}
        assert told.estimated, "such a client does not report playback"
        assert sum(told.stages_ms.values()) == told.latency_ms
        assert ben.of(s.ServerLatencyEvent) == []
        await ben.writes("Bob, and you?")
        assert (len(anna.of(s.ServerLatencyEvent)), len(ben.of(s.ServerLatencyEvent))) == (1, 1)


async def test_who_is_spoken_over_by_another_human_is_owed_no_answer() -> None:
    async with anna_and_ben_in(two("This is what I think.", floor=addressed)) as (_, anna, ben):
        anna.begin("Alice, what do you think?")
        anna.end(100)
        await ben.says("Bob, what do you think?")
        assert [len(human.of(s.ServerLatencyEvent)) for human in (anna, ben)] == [0, 1]
