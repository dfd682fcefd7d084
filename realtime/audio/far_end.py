"""The audio that a listener plays, placed by its playback clock: the far end of an echo."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.playback import PlaybackClock

LEAD_MS = 150
"""How far the played position may be behind the truth: acknowledgements come every 100 ms, estimates err to "later"."""
KEPT_MS = 1_300
"""Played audio that is kept, as much as a comparison takes: 62 kB at 24 kHz for every listener."""
MAX_FAR_END_BYTES = 4_000_000
"""The most audio kept for a listener that does not acknowledge: 83 s at 24 kHz."""
AHEAD_MS = 80
"""Lead of `FarEnd.follow` over the reported position: it must not be behind the echo."""
JUMP_MS = 150
"""A reported position this far from the followed one is right: the client ran dry, or began again."""
_LOOK_EVERY = 8
"""Chunks between two checks of what is no longer needed."""


class _Chunk(NamedTuple):
    at: int
    """Its first sample, in playing order: all items and the rests between them count."""
    end: int
    """The first sample behind it."""
    item_id: str | None
    """None: a rest, in which the listener played nothing."""
    start: int
    """Its first sample in its item."""
    pcm: bytes
    """What the listener was sent, the same object; empty for a rest."""


class FarEnd:
    """What one listener plays. `clock` has the played positions, in time of `now`; audio is at `rate_hz`."""

    __slots__ = (
        "_chunks",
        "_clock",
        "_cursor",
        "_end",
        "_finish_s",
        "_look_at",
        "_moves",
        "_now",
        "_played",
        "_reported",
        "_rest_at",
        "rate_hz",
        "size_bytes",
    )

    def __init__(self, clock: PlaybackClock, now: Callable[[], float], rate_hz: int) -> None:
        self._clock = clock
        self._now = now
        self.rate_hz = rate_hz
        self._chunks: deque[_Chunk] = deque()
        self._end = 0
        self._finish_s: float | None = None
        """When the listener will have played everything, in time of `now`; None before the first audio."""
        self._rest_at: tuple[int, float] | None = None
        """Where the newest rest begins, in samples and in time of `now`."""
        self._played = 0
        self._look_at = _LOOK_EVERY
        self.size_bytes = 0
        """Of the audio that is kept."""
        self._cursor = 0
        self._moves = False
        self._reported = 0

    def sent(self, item_id: str, start: int, pcm: bytes) -> None:
        """Take audio that the clock has counted; it begins at sample `start` of its item."""
        now = self._now()
        finish_s = self._clock.finished_at(now) or now
        if self._finish_s is not None and now >= self._finish_s and self.played_samples() == self._end:
            self._rest(self._finish_s, finish_s - len(pcm) / (SAMPLE_BYTES * self.rate_hz))
        self._finish_s = finish_s
        at, self._end = self._end, self._end + len(pcm) // SAMPLE_BYTES
        self._chunks.append(_Chunk(at, self._end, item_id, start, pcm))
        self.size_bytes += len(pcm)
        if len(self._chunks) >= self._look_at:
            self._forget()

    def _rest(self, start_s: float, end_s: float) -> None:
        """Append the silence between two items, at most :data:`KEPT_MS`."""
        self._rest_at = self._end, start_s
        at, self._end = self._end, self._end + self._samples_in(end_s - start_s)
        self._chunks.append(_Chunk(at, self._end, None, 0, b""))

    def _samples_in(self, rest_s: float) -> int:
        return round(min(max(0.0, rest_s), KEPT_MS / 1000) * self.rate_hz)

    def flush(self) -> None:
        """Drop what was not played. Call it before the clock is flushed."""
        played = self.played_samples()
        if self._finish_s is not None and played < self._end:
            is_at_rest = self._rest_at is not None and played == self._rest_at[0]
            self._finish_s = self._rest_at[1] if is_at_rest and self._rest_at is not None else self._now()
        while self._chunks and self._chunks[-1].at >= played:
            self.size_bytes -= len(self._chunks.pop().pcm)
        if self._chunks:
            last = self._chunks[-1]
            kept = last.pcm[: (played - last.at) * SAMPLE_BYTES]
            self.size_bytes -= len(last.pcm) - len(kept)
            self._chunks[-1] = last._replace(end=min(last.end, played), pcm=kept)
        self._end = played
        self._moves = False

    def played_samples(self) -> int:
        """Return how much was played of everything sent, in samples; a rest counts once the item after it begins."""
        now = self._now()
        for chunk in self._chunks:
            end = chunk.end
            if end <= self._played or chunk.item_id is None:
                continue
            played = self._clock.played_samples(chunk.item_id, now)
            if played is None:
                continue  # Cut in the middle of others: it is not played any more.
            if played <= chunk.start:
                break
            self._played = max(self._played, min(end, chunk.at + played - chunk.start))
            if self._played < end:
                break
        return self._played

    def newest(self, ms: int) -> bytes:
        """Return the last `ms` of played audio and the next :data:`LEAD_MS`.

        It is silence where the listener played nothing.
        """
        position = self._position()
        start, end = position - ms * self.rate_hz // 1000, position + LEAD_MS * self.rate_hz // 1000
        audio = bytes(max(0, -start) * SAMPLE_BYTES) + self._between(start, end)
        return audio.ljust((end - start) * SAMPLE_BYTES, b"\0")

    def idle_ms(self) -> int | None:
        """Return how long the listener has played nothing; None while it plays, and before its first audio."""
        if self._finish_s is None or self.played_samples() < self._end:
            return None
        return max(0, round((self._now() - self._finish_s) * 1000))

    def _position(self) -> int:
        """Return the played position, which also moves while the listener plays nothing."""
        played, now = self.played_samples(), self._now()
        if played == self._end and self._finish_s is not None:
            return played + self._samples_in(now - self._finish_s)
        if self._rest_at is not None and played == self._rest_at[0]:
            return played + self._samples_in(now - self._rest_at[1])
        return played

    def follow(self, n_samples: int) -> bytes:
        """Return what is played during the next `n_samples` of a microphone; silence where nothing is.

        It goes on by that many samples per call, so that late reports do not tear it.
        """
        reported = self.played_samples()
        is_new, self._reported = reported > self._reported, reported
        goal = min(self._end, reported + AHEAD_MS * self.rate_hz // 1000)
        off = goal - self._cursor - n_samples
        jump = JUMP_MS * self.rate_hz // 1000
        if is_new and (not self._moves or abs(off) > jump):
            self._moves, self._cursor = True, max(0, goal - n_samples)
        elif off < -2 * jump:
            self._moves = False  # The client plays nothing more.
        if not self._moves:
            return bytes(n_samples * SAMPLE_BYTES)
        start, self._cursor = self._cursor, min(self._end, self._cursor + n_samples)
        self._moves = self._cursor < self._end
        return self._between(start, self._cursor).ljust(n_samples * SAMPLE_BYTES, b"\0")

    def _between(self, start: int, end: int) -> bytes:
        parts = []
        for chunk in self._chunks:
            if chunk.at >= end:
                break
            first, last = max(start, chunk.at), min(end, chunk.end)
            if chunk.item_id is None:
                parts.append(bytes(max(0, last - first) * SAMPLE_BYTES))
            else:
                parts.append(chunk.pcm[(first - chunk.at) * SAMPLE_BYTES : (last - chunk.at) * SAMPLE_BYTES])
        return b"".join(parts)

    def _forget(self) -> None:
        oldest = self.played_samples() - KEPT_MS * self.rate_hz // 1000
        chunks = self._chunks
        while chunks and (chunks[0].end <= oldest or self.size_bytes > MAX_FAR_END_BYTES):
            self.size_bytes -= len(chunks.popleft().pcm)
        self._look_at = len(chunks) + _LOOK_EVERY
