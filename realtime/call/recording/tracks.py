"""Place the audio of a call in its two files. Pure: `now_ms` is the ts_ms of the call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from realtime.audio.pcm import SAMPLE_BYTES, PcmCarry
from realtime.audio.resample import Resampler

MAX_INPUT_WAITING_MS = 10_000
"""The most client audio that waits for the disk; the excess is counted and becomes silence in the file."""
MAX_OUTPUT_BYTES = 8_000_000
"""The most sent speech that waits for its playback or the disk: 166 s at 24 kHz."""
MAX_HOLE_MS = 10_000
"""How far a gap in the client's count may pass the present.

A longer one ends at the present.
"""
MAX_AHEAD_MS = 600_000
"""How far a client may send ahead of the call; the excess is dropped."""
INPUT_PAUSE_MS = 1_000
"""A client whose audio stays late for this long has paused; one that catches up was stalled."""
ALIGNED_MS = 20
"""Audio at most this late keeps its place by the client's count: network jitter."""
OUTPUT_PAUSE_MS = 500
"""A client this far behind in an item has paused; less is jitter of its reports."""
DRY_JITTER_MS = 20
"""Speech parts with at most this gap, from late chunks, are joined."""
REVISION_MS = 500
"""How long the client may correct the played end before writing."""
MAX_ITEMS = 10_000
"""The most items listed; the latest stay."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pcm for one file: `pieces` are (first sample, pcm) in order, with silence between them and up to `end`."""

    name: str
    rate_hz: int
    pieces: list[tuple[int, bytes]]
    end: int


class _Track:
    """The audio that waits for one file. Positions are samples of the file."""

    def __init__(self, name: str, default_hz: int) -> None:
        self.name = name
        self.end = 0
        self.lost_samples = 0
        self._default_hz = default_hz
        self._rate_hz = 0
        self._source_hz = 0
        self._resampler: Resampler | None = None
        self._pieces: deque[tuple[int, bytes]] = deque()
        self._waiting_bytes = 0

    @property
    def waiting_ms(self) -> int:
        """The waiting audio."""
        return self._waiting_bytes * 1000 // (SAMPLE_BYTES * (self._rate_hz or self._default_hz))

    def take_settled(self, now_ms: int) -> Batch:
        """Return and drop the audio whose place is final by now."""
        return self.take()

    def take(self, until: int | None = None) -> Batch:
        """Return and drop the audio that ends at *until* or before; None means all."""
        taken: list[tuple[int, bytes]] = []
        while self._pieces:
            start, pcm = self._pieces[0]
            if until is not None and start + len(pcm) // SAMPLE_BYTES > until:
                break
            taken.append(self._pieces.popleft())
            self._waiting_bytes -= len(pcm)
        return Batch(self.name, self._rate_hz or self._default_hz, taken, self.end)

    def clear(self) -> None:
        """Drop the waiting audio."""
        self._pieces.clear()
        self._waiting_bytes = 0

    def _at(self, ms: int) -> int:
        return ms * self._rate_hz // 1000

    def _come_from(self, rate_hz: int) -> None:
        """Set the rate of the next audio."""
        if rate_hz != self._source_hz:
            self._source_hz = rate_hz
            self._rate_hz = self._rate_hz or rate_hz
            self._resampler = None if rate_hz == self._rate_hz else Resampler(rate_hz, self._rate_hz)

    def _converted(self, pcm: bytes) -> bytes:
        return pcm if self._resampler is None else self._resampler.push(pcm)

    def _put(self, start: int, pcm: bytes) -> None:
        self._pieces.append((start, pcm))
        self._waiting_bytes += len(pcm)


class _Piece(NamedTuple):
    """Audio that may still move: its `start` and all later audio are placed by the client's count alone."""

    start: int
    pcm: bytes
    late: int
    """How late its end was when it came, in samples."""
    came_ms: int


class InputTrack(_Track):
    """The client's audio, placed by the client's count of its samples.

    Late audio was delayed on its way if the client catches up, or spoken late if it does not: a piece moves by the
    least lateness of all audio within `INPUT_PAUSE_MS`.
    """

    def __init__(self, name: str, default_hz: int) -> None:
        super().__init__(name, default_hz)
        self.from_ms: int | None = None
        """The place of the first audio; None before it."""
        self._next: int | None = None
        self._carry = PcmCarry()
        self._open: deque[_Piece] = deque()
        self._least_late: deque[int] = deque()
        """Lateness of open pieces that no later piece undercuts, in order."""
        self._count_end = 0
        self._shift = 0
        """The shift of the audio against the client's count."""

    def hear(self, pcm: bytes, position: int | None, rate_hz: int, now_ms: int) -> None:
        """See `Recorder.hear`."""
        self.settle(now_ms)
        if rate_hz != self._source_hz:
            self._carry.clear()
            self._come_from(rate_hz)
        if self._next is None:
            self._next = position or 0
            # It arrives when its last sample was spoken.
            self.from_ms = max(0, now_ms - len(pcm) * 1000 // (SAMPLE_BYTES * rate_hz))
            self._count_end = self.end = self._at(self.from_ms)
        ahead = 0 if position is None else position - self._next
        if ahead:
            self._carry.clear()
        if ahead > 0:
            self._leave_hole(ahead, now_ms)
            self._next += ahead
        elif ahead < 0:
            pcm = pcm[-ahead * SAMPLE_BYTES :]
        pcm = self._carry.push(pcm)
        self._next += len(pcm) // SAMPLE_BYTES
        pcm = self._converted(pcm)
        if pcm:
            self._place(pcm, now_ms)
            self.settle(now_ms)

    def settle(self, now_ms: int | None = None) -> None:
        """Fix the place of audio that can no longer move; None means all."""
        while self._open:
            piece, least_late, stands = self._open[0], self._least_late[0], self._shift + self._at(ALIGNED_MS)
            if piece.late > stands and now_ms is not None and now_ms - piece.came_ms < INPUT_PAUSE_MS:
                break
            self._open.popleft()
            if piece.late == least_late:
                self._least_late.popleft()
            if least_late > stands:
                self._shift = least_late
            start = piece.start + self._shift
            self._pieces.append((start, piece.pcm))
            self.end = start + len(piece.pcm) // SAMPLE_BYTES
        if not self._open:
            self.end = max(self.end, self._count_end + self._shift)

    def clear(self) -> None:
        """See `_Track.clear`."""
        super().clear()
        self._open.clear()
        self._least_late.clear()

    def _leave_hole(self, samples: int, now_ms: int) -> None:
        end = self._count_end + samples * self._rate_hz // self._source_hz
        if end + self._shift > self._at(now_ms + MAX_HOLE_MS):
            end = max(self._count_end, self._at(now_ms) - self._shift)
        self._count_end = end

    def _place(self, pcm: bytes, now_ms: int) -> None:
        now, start = self._at(now_ms), self._count_end
        n_samples = len(pcm) // SAMPLE_BYTES
        if start + self._shift + n_samples > now + self._at(MAX_AHEAD_MS):
            self.lost_samples += n_samples
            return
        self._count_end = start + n_samples
        if self._waiting_bytes + len(pcm) > self._at(MAX_INPUT_WAITING_MS) * SAMPLE_BYTES:
            self.lost_samples += n_samples
            return
        late = now - self._count_end
        while self._least_late and self._least_late[-1] > late:
            self._least_late.pop()
        self._least_late.append(late)
        self._open.append(_Piece(start, pcm, late, now_ms))
        self._waiting_bytes += len(pcm)


@dataclass(slots=True, eq=False)
class _Item:
    """The speech of one item: `said` and `heard` count sent and played samples, `chunks` are unplayed, by offset.

    `start` and `end` delimit its played part in the file. `queued`: more of it may be played. `plays` is false before
    its beginning and after it ran dry; `since` is when it began or continued.
    """

    item_id: str
    epoch: int
    said: int = 0
    heard: int = 0
    start: int | None = None
    end: int = 0
    since: int = 0
    plays: bool = False
    queued: bool = False
    chunks: deque[tuple[int, bytes]] = field(default_factory=deque)


class OutputTrack(_Track):
    """The played part of each item: in playing order, at its playback time."""

    def __init__(self, name: str, default_hz: int, heard_ms: Callable[[str], int]) -> None:
        super().__init__(name, default_hz)
        self._heard_ms = heard_ms
        self._items: dict[str, _Item] = {}
        self._queue: deque[_Item] = deque()
        self._epoch = 0
        self._unheard_bytes = 0

    def items(self) -> list[dict[str, Any]]:
        """The played items, for `recording.json`."""
        return [
            {
                "item_id": item.item_id,
                "start_ms": item.start * 1000 // self._rate_hz,
                "heard_ms": item.heard * 1000 // self._rate_hz,
            }
            for item in self._items.values()
            if item.start is not None
        ]

    def say(self, item_id: str, pcm: bytes, rate_hz: int, now_ms: int) -> None:
        """See `Recorder.say`."""
        self._come_from(rate_hz)
        self.follow(now_ms)
        item = self._items.get(item_id)
        if item is None:
            item = self._items[item_id] = _Item(item_id, self._epoch)
            if len(self._items) > MAX_ITEMS:
                self._forget_oldest()
        pcm = self._converted(pcm)
        n_samples = len(pcm) // SAMPLE_BYTES
        if item.epoch != self._epoch or not n_samples:
            return
        if not item.queued:
            item.since, item.plays, item.queued = self._at(now_ms), False, True
            self._queue.append(item)
        if self._unheard_bytes + self._waiting_bytes + len(pcm) > MAX_OUTPUT_BYTES:
            self.lost_samples += n_samples
        else:
            item.chunks.append((item.said, pcm))
            self._unheard_bytes += len(pcm)
        item.said += n_samples

    def follow(self, now_ms: int) -> None:
        """Place the audio that was played since the last call, ending now."""
        if not self._queue:
            return
        begun: list[tuple[_Item, int]] = []
        for item in self._queue:
            heard = self._heard(item)
            if heard <= item.heard and begun:
                break
            begun.append((item, heard))
        # One after the other, the last ends now. All others are over: played or skipped.
        start = self._at(now_ms) - sum(max(0, heard - item.heard) for item, heard in begun)
        for item, heard in begun:
            if heard > item.heard:
                fresh = heard - item.heard
                self._advance(item, fresh, start)
                start += fresh
            if item.heard == item.said or item is not begun[-1][0]:
                self._leave(item)

    def flush(self, now_ms: int) -> None:
        """See `Recorder.flush`."""
        self.follow(now_ms)
        while self._queue:
            self._leave(self._queue[0])
        self._epoch += 1

    def truncate(self, item_id: str, heard_ms: int, now_ms: int) -> None:
        """See `Recorder.truncated`."""
        item = self._items.get(item_id)
        if item is None:
            return
        newest = next(reversed(self._items))
        if item.queued or (not self._queue and item_id == newest):
            self.flush(now_ms)
        else:
            # A newer item that ran dry plays on.
            item.epoch = self._epoch - 1
        too_much = item.heard - self._at(max(0, heard_ms))
        if too_much > 0:
            item.heard -= too_much
            self._cut(item.end - too_much, item.end)
            item.end -= too_much

    def take_settled(self, now_ms: int) -> Batch:
        """Return the audio that the client can no longer correct."""
        return self.take(self._at(now_ms - REVISION_MS))

    def clear(self) -> None:
        """Drop all waiting audio, played or not."""
        super().clear()
        while self._queue:
            self._leave(self._queue[0])

    def _heard(self, item: _Item) -> int:
        heard_ms = self._heard_ms(item.item_id)
        if not heard_ms:
            return 0
        # Whole ms: the last one includes the fraction behind it.
        return item.said if heard_ms >= item.said * 1000 // self._rate_hz else self._at(heard_ms)

    def _advance(self, item: _Item, fresh: int, start: int) -> None:
        """Place the newly played audio of the item; by the clock it begins at *start*."""
        heard = item.heard + fresh
        start = max(start, item.since)
        slack_ms = OUTPUT_PAUSE_MS if item.plays else DRY_JITTER_MS if item.heard else 0
        if start - self.end <= self._at(slack_ms):
            start = self.end
        while item.chunks:
            offset, pcm = item.chunks[0]
            if offset >= heard:
                break
            item.chunks.popleft()
            wanted_bytes = (heard - offset) * SAMPLE_BYTES
            if wanted_bytes < len(pcm):
                item.chunks.appendleft((heard, pcm[wanted_bytes:]))
                pcm = pcm[:wanted_bytes]
            self._unheard_bytes -= len(pcm)
            self._put(start + offset - item.heard, pcm)
        item.start = start if item.start is None else item.start
        item.plays = True
        item.heard = heard
        item.end = self.end = start + fresh

    def _leave(self, item: _Item) -> None:
        """End the item: no more of it will be played."""
        self._unheard_bytes -= sum(len(pcm) for _, pcm in item.chunks)
        item.chunks.clear()
        item.queued = False
        self._queue.remove(item)

    def _cut(self, start: int, end: int) -> None:
        """Replace the waiting audio between the two places by silence."""
        pieces, self._pieces = self._pieces, deque()
        self._waiting_bytes = 0
        for at, pcm in pieces:
            before = pcm[: max(0, start - at) * SAMPLE_BYTES]
            behind = pcm[max(0, end - at) * SAMPLE_BYTES :]
            if before:
                self._put(at, before)
            if behind:
                self._put(max(at, end), behind)

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._items.values()))
        if oldest.queued:
            self._leave(oldest)
        del self._items[oldest.item_id]
