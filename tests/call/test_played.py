"""What the log tells of how far clients have played whose playback is estimated, and what finding it out costs."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from realtime.audio.playback import WallClockPlayback
from realtime.call.listener import Listener
from realtime.call.participant import CurrentParticipant
from realtime.call.played import Played
from realtime.event import server as s
from realtime.event.base import Item
from realtime.state.log import Log

pytestmark = pytest.mark.virtual_time

RATE_HZ = 24_000
CHUNK_MS = 40
CHUNK_BYTES = 2 * RATE_HZ * CHUNK_MS // 1000


async def test_speech_that_comes_as_fast_as_it_is_played_is_looked_at_a_few_times_a_second() -> None:
    loop = asyncio.get_running_loop()
    clock, log, looks = WallClockPlayback(RATE_HZ), Log(loop.time), 0
    listener = cast(Listener, SimpleNamespace(clock=clock, away=False))

    def listeners() -> list[Listener]:
        nonlocal looks
        looks += 1
        return [listener]

    current = cast(CurrentParticipant, SimpleNamespace(participant=SimpleNamespace(received_samples=0, received_ms=0)))
    played = Played(log, loop.time, listeners, current, tells=True)
    played.follow(s.AgentItemAddedEvent(item=Item(id="a", role="assistant", status="in_progress", content=())))
    where: dict[str, Any] = {"response_id": "r", "item_id": "a"}
    for _ in range(3_000 // CHUNK_MS):
        clock.sent("a", CHUNK_BYTES, loop.time())
        await asyncio.sleep(CHUNK_MS / 1000)
    played.follow(s.AgentResponseAudioDoneEvent(**where))
    await asyncio.sleep(1)
    told = [one.played_ms for one in log.read() if isinstance(one, s.ServerPlaybackEvent)]
    assert told == sorted(told)
    assert (len(told), told[-1]) == (4, 3_000)
    assert looks < 5 * 4
    played.close()
