"""Where the audio of a call belongs in its two files. Pure: time comes in as `now_ms`, the ts_ms of the call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from realtime.audio.pcm import SAMPLE_BYTES, PcmCarry
from realtime.audio.resample import Resampler

MAX_INPUT_WAITING_MS = 10_000
"""The client's audio that may wait for the disk; what comes on top is silence in the file, and counted."""
MAX_OUTPUT_BYTES = 8_000_000
"""Speech that was sent and is not written, most of it since it was not heard yet: 166 s at 24 kHz."""
MAX_HOLE_MS = 10_000
"""How far a hole in the client's count may lead beyond the present; a longer one ends at the present."""
MAX_AHEAD_MS = 600_000
"""How far a client that sends faster than it speaks may get ahead of the call; what comes on top is not kept."""
INPUT_PAUSE_MS = 1_000
"""A client whose audio is late, and stays so for this long, has paused. One that catches up had a stall."""
ALIGNED_MS = 20
"""Audio that is late by no more than this stays where the client's count has it: that is the jitter of networks."""
OUTPUT_PAUSE_MS = 500
"""A client that is this far behind in an item has paused; less is the jitter of what it reports."""
DRY_JITTER_MS = 20
"""Where speech came just too late, the parts before and behind are joined if no more than this is between them."""
REVISION_MS = 500
"""How long the end of what was heard may be corrected by the client before it is written."""
MAX_ITEMS = 10_000
"""Items that are listed; of more, the last."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pcm for one file: `pieces` are (first sample, pcm) in order; between them and up to `end` is silence."""

    name: str
    rate_hz: int
    pieces: list[tuple[int, bytes]]
    end: int


class _Track:
    """What waits to be written to one file. Positions are samples of the file."""

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
        """Audio that waits."""
        return self._waiting_bytes * 1000 // (SAMPLE_BYTES * (self._rate_hz or self._default_hz))

    def take_settled(self, now_ms: int) -> Batch:
        """Hand over what stands fast at this time."""
        raise NotImplementedError

    def take(self, until: int | None = None) -> Batch:
        """Hand over what ends at *until* or before; all where it is None."""
        taken: list[tuple[int, bytes]] = []
        while self._pieces:
            start, pcm = self._pieces[0]
            if until is not None and start + len(pcm) // SAMPLE_BYTES > until:
                break
            taken.append(self._pieces.popleft())
            self._waiting_bytes -= len(pcm)
        return Batch(self.name, self._rate_hz or self._default_hz, taken, self.end)

    def clear(self) -> None:
        """Forget what waits."""
        self._pieces.clear()
        self._waiting_bytes = 0

    def _at(self, ms: int) -> int:
        return ms * self._rate_hz // 1000

    def _come_from(self, rate_hz: int) -> None:
        """Audio comes at this rate from now on."""
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
    """Audio that may still move: `start` and what comes behind it are by the client's count alone."""

    start: int
    pcm: bytes
    late: int
    """How far behind the present it ended when it came, in samples."""
    came_ms: int


class InputTrack(_Track):
    """The client's audio, by the client's count of its samples.

    What comes late was held up on the way, where the client catches up, or was said late, where it does not: a piece is
    moved by as much as everything was late that came within `INPUT_PAUSE_MS`.
    """

    def __init__(self, name: str, default_hz: int) -> None:
        super().__init__(name, default_hz)
        self.from_ms: int | None = None
        """Where the first audio stands; None before it."""
        self._next: int | None = None
        self._carry = PcmCarry()
        self._open: deque[_Piece] = deque()
        self._least_late: deque[int] = deque()
        """Of the open pieces, how late each was that no later one was less late than, in order."""
        self._count_end = 0
        self._shift = 0
        """How much later than by the client's count the audio stands."""

    def hear(self, pcm: bytes, position: int | None, rate_hz: int, now_ms: int) -> None:
        """See `Recorder.hear`."""
        self.settle(now_ms)
        if rate_hz != self._source_hz:
            self._carry.clear()
            self._come_from(rate_hz)
        if self._next is None:
            self._next = position or 0
            # It has come when its last sample was said.
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
        """Give a place to what cannot move any more; None: to everything."""
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

    def take_settled(self, now_ms: int) -> Batch:
        """All but what may still move."""
        return self.take()

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
    """One item's speech: `said` and `heard` count its samples, `chunks` are what is not heard yet, by offset.

    `start` and `end` are where its heard part stands in the file. `queued`: more of it may be heard. `plays` is false
    before its beginning and after it ran dry; `since` is when it began or went on.
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
    """What was heard of each item, where it was heard. One item after the other, as a client plays them."""

    def __init__(self, name: str, default_hz: int, heard_ms: Callable[[str], int]) -> None:
        super().__init__(name, default_hz)
        self._heard_ms = heard_ms
        self._items: dict[str, _Item] = {}
        self._queue: deque[_Item] = deque()
        self._epoch = 0
        self._unheard_bytes = 0

    def items(self) -> list[dict[str, Any]]:
        """The items that were heard, for `recording.json`."""
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
        """Place what was heard since the last time: it has ended now."""
        if not self._queue:
            return
        begun: list[tuple[_Item, int]] = []
        for item in self._queue:
            heard = self._heard(item)
            if heard <= item.heard and begun:
                break
            begun.append((item, heard))
        # Behind one another, the last ends now. All but the last are over: heard, or passed over.
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
            # A newer one that has run dry plays on.
            item.epoch = self._epoch - 1
        too_much = item.heard - self._at(max(0, heard_ms))
        if too_much > 0:
            item.heard -= too_much
            self._cut(item.end - too_much, item.end)
            item.end -= too_much

    def take_settled(self, now_ms: int) -> Batch:
        """All but what the client may still correct."""
        return self.take(self._at(now_ms - REVISION_MS))

    def clear(self) -> None:
        """Forget what waits, heard or not."""
        super().clear()
        while self._queue:
            self._leave(self._queue[0])

    def _heard(self, item: _Item) -> int:
        heard_ms = self._heard_ms(item.item_id)
        if not heard_ms:
            return 0
        # Whole ms: the last one stands for the fraction behind it.
        return item.said if heard_ms >= item.said * 1000 // self._rate_hz else self._at(heard_ms)

    def _advance(self, item: _Item, fresh: int, start: int) -> None:
        """Place what was heard of the item since the last time; by the clock it begins at *start*."""
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
        """Of what was said of this item nothing more will be heard."""
        self._unheard_bytes -= sum(len(pcm) for _, pcm in item.chunks)
        item.chunks.clear()
        item.queued = False
        self._queue.remove(item)

    def _cut(self, start: int, end: int) -> None:
        """Silence instead of what waits between the two."""
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
