"""Keeps a client's unplayed audio, for resending after a lost socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.playback import PlaybackClock
from realtime.event.server import AgentResponseAudioDeltaEvent

MAX_UNPLAYED_BYTES = 4_000_000
"""For clients that never acknowledge: the newest 83 s at 24 kHz."""
_LOOK_EVERY = 4
"""Chunks between two checks of the played position: fewer cost time, more cost memory."""


class Chunk(NamedTuple):
    """Audio that begins at sample `start` of its item."""

    event: AgentResponseAudioDeltaEvent
    start: int


class UnplayedAudio:
    """The unplayed audio of one client, oldest first, at most `limit_bytes`.

    `clock` has the played positions; `now` is its time.
    """

    __slots__ = ("_chunks", "_clock", "_limit_bytes", "_look_at", "_now", "size_bytes")

    def __init__(self, clock: PlaybackClock, now: Callable[[], float], limit_bytes: int = MAX_UNPLAYED_BYTES) -> None:
        self._clock = clock
        self._now = now
        self._limit_bytes = limit_bytes
        self._chunks: list[tuple[AgentResponseAudioDeltaEvent, int]] = []
        self._look_at = _LOOK_EVERY
        self.size_bytes = 0

    def add(self, event: AgentResponseAudioDeltaEvent, start: int) -> None:
        """Add audio that is sent to the client; it begins at sample `start` of its item."""
        self._chunks.append((event, start))
        self.size_bytes += len(event.delta)
        if len(self._chunks) >= self._look_at:
            self._drop_played()
            while self.size_bytes > self._limit_bytes:
                self._drop_oldest()
            self._look_at = len(self._chunks) + _LOOK_EVERY

    def rest(self) -> list[Chunk]:
        """Return the unplayed audio in order; of a chunk, the unplayed rest."""
        self._drop_played()
        rest: list[Chunk] = []
        for event, start in self._chunks:
            played = self._clock.played_samples(event.item_id, self._now())
            if played is None:
                continue
            surplus = played - start
            if surplus <= 0:
                rest.append(Chunk(event, start))
            elif surplus * SAMPLE_BYTES < len(event.delta):
                cut = msgspec.structs.replace(event, delta=event.delta[surplus * SAMPLE_BYTES :])
                rest.append(Chunk(cut, played))
        return rest

    def clear(self) -> None:
        """Drop everything, as at a flush."""
        self._chunks.clear()
        self.size_bytes = 0
        self._look_at = _LOOK_EVERY

    def _drop_played(self) -> None:
        chunks = self._chunks
        while chunks:
            item_id = chunks[0][0].item_id
            played = self._clock.played_samples(item_id, self._now())
            while chunks:
                event, start = chunks[0]
                if event.item_id != item_id:
                    break
                if played is not None and played < start + len(event.delta) // SAMPLE_BYTES:
                    return
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        self.size_bytes -= len(self._chunks.pop(0)[0].delta)
