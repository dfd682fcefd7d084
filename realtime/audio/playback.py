"""Track what a listener has played, and queue the audio to send.

A :class:`PlaybackClock` belongs to one listener. It counts samples per item and returns how much of each was played:

- :class:`AcknowledgedPlayback`: what the client has acknowledged;
- :class:`EstimatedPlayback`: what a client plays in real time that starts a moment after its first byte;
- :class:`WallClockPlayback`: the same without the moment.

A client plays audio in order and in real time, and cannot have played more than was sent. ``now`` is in seconds on any
clock that does not go back.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from realtime.audio.pcm import SAMPLE_BYTES, bytes_of, ms_of

KEPT_ITEMS = 32
"""Items that a clock remembers; for older ones it returns 0."""

AHEAD_MS = 350
"""How far ahead of real time a paced listener is fed: enough for a slow network, and little to flush."""

MIN_CHUNK_MS = 40
MAX_CHUNK_MS = 100


@dataclass(slots=True, eq=False)
class _Item:
    item_id: str
    epoch: int
    sent_at: float
    sent: int = 0
    played: int = 0


class PlaybackClock:
    """Counts the samples sent and played per item. Every call takes amortised constant time.

    The played part of an item never exceeds the sent part and never shrinks, except by :meth:`truncate`. Instantiate a
    subclass. Raises ValueError unless the rate is positive.
    """

    __slots__ = ("_epoch", "_items", "_queue", "_rate_hz", "_unplayed")
    estimates: ClassVar[bool] = True
    """Whether the played position is an estimate instead of the client's acknowledgement."""
    _runs: ClassVar[bool] = True
    """Whether time alone moves it; if not, the methods called for each chunk skip `_advance`."""

    def __init__(self, rate_hz: int) -> None:
        if rate_hz <= 0:
            raise ValueError(f"The sample rate has to be positive, not {rate_hz} Hz.")
        self._rate_hz = rate_hz
        self._items: dict[str, _Item] = {}
        # Items with unplayed audio, in playing order. Two that grow at once are assumed to play one after the other.
        self._queue: list[_Item] = []
        self._unplayed = 0
        # Items of an earlier epoch were flushed: their late audio is not played.
        self._epoch = 0

    def sent(self, item_id: str, n_bytes: int, now: float) -> int | None:
        """Count *n_bytes* of pcm sent of an item, unless it was flushed.

        Returns where they begin in the item, in samples; None if nothing was counted.
        """
        if self._runs:
            self._advance(now)
        item = self._items.get(item_id)
        if item is None:
            item = self._items[item_id] = _Item(item_id, self._epoch, now)
            if len(self._items) > KEPT_ITEMS:
                self._forget_oldest()
        elif item.epoch != self._epoch:
            return None
        samples = n_bytes // SAMPLE_BYTES
        if not samples:
            return None
        start = item.sent
        if start == item.played:
            self._queue.append(item)
        item.sent = start + samples
        self._started(samples, now)
        self._unplayed += samples
        return start

    @property
    def awaits_answer(self) -> bool:
        """Whether a flushed client still has to acknowledge how far it played."""
        return False

    def ack(self, item_id: str, played_ms: int, now: float, *, flushed: bool = False) -> None:
        """Take the client's acknowledgement: it played *played_ms* of the item, and all items before it.

        Only :class:`AcknowledgedPlayback` uses it. Unknown items and smaller positions change nothing. A flushed item
        is acknowledged up to the reply to the flush, which has `flushed`.
        """

    def flush(self, now: float) -> None:
        """Flush: no more of the present items will be played, even if more is sent."""
        self._advance(now)
        self._drop_unplayed()

    def truncate(self, item_id: str, played_ms: int, now: float) -> None:
        """Set the played part of this item (at most what was sent). Flushes it.

        If it is still unplayed, all later items are flushed, too; for an older or unknown one nothing else is. The
        client's position replaces a larger estimate.
        """
        self._advance(now)
        item = self._items.get(item_id)
        if item is None:
            return
        newest = next(reversed(self._items))
        if item in self._queue or (not self._queue and item_id == newest):
            self._drop_unplayed()
        else:
            # Other items play on, even one that ran dry; no more of this one will be played.
            item.epoch = self._epoch - 1
        item.played = min(item.sent, max(0, played_ms) * self._rate_hz // 1000)

    def played_ms(self, item_id: str, now: float) -> int:
        """Return the played part of an item in ms, rounded down; 0 for an unknown item."""
        self._advance(now)
        item = self._items.get(item_id)
        return 0 if item is None else item.played * 1000 // self._rate_hz

    def played_samples(self, item_id: str, now: float) -> int | None:
        """Return the played part of an item in samples; None for an unknown or flushed item."""
        if self._runs:
            self._advance(now)
        item = self._items.get(item_id)
        return item.played if item is not None and item.epoch == self._epoch else None

    def sent_at(self, item_id: str) -> float | None:
        """Return when the first audio of an item was sent.

        In seconds of `now`; None for an unknown item.
        """
        item = self._items.get(item_id)
        return None if item is None else item.sent_at

    def begun(self) -> set[str]:
        """Return the items of which audio was sent."""
        return {item.item_id for item in self._items.values() if item.sent}

    def unplayed_items(self, now: float) -> list[str]:
        """Return the items with unplayed audio, in playing order."""
        self._advance(now)
        return [item.item_id for item in self._queue]

    def sent_ms(self, item_id: str) -> int:
        """Return the sent part of an item in ms, rounded down; 0 for an unknown item."""
        item = self._items.get(item_id)
        return 0 if item is None else item.sent * 1000 // self._rate_hz

    def unplayed_ms(self, now: float) -> int:
        """Return the unplayed audio in ms, rounded up: 0 means silence at the client."""
        self._advance(now)
        return -(-self._unplayed * 1000 // self._rate_hz)

    def finished_at(self, now: float) -> float | None:
        """Return when the client will have played everything, in seconds of `now`; None if it has."""
        if self._runs:
            self._advance(now)
        return self._end(now) if self._unplayed else None

    def _advance(self, now: float) -> None:
        raise NotImplementedError

    def _started(self, samples: int, now: float) -> None:
        raise NotImplementedError

    def _end(self, now: float) -> float:
        raise NotImplementedError

    def _play(self, samples: int) -> None:
        """Count *samples* (at most the unplayed ones) as played, oldest item first."""
        self._unplayed -= samples
        queue = self._queue
        while samples:
            item = queue[0]
            open_samples = item.sent - item.played
            if open_samples > samples:
                item.played += samples
                return
            item.played = item.sent
            samples -= open_samples
            queue.pop(0)

    def _drop_unplayed(self) -> None:
        self._queue.clear()
        self._unplayed = 0
        self._epoch += 1

    def _forget_oldest(self) -> None:
        oldest = self._items.pop(next(iter(self._items)))
        if oldest.played < oldest.sent and oldest.epoch == self._epoch:
            self._queue.remove(oldest)
            self._unplayed -= oldest.sent - oldest.played


class AcknowledgedPlayback(PlaybackClock):
    """The played part is what the client acknowledged; nothing without acknowledgements."""

    __slots__ = ("_flushed", "_moved_at")
    estimates = False
    _runs = False

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz)
        self._moved_at = 0.0
        self._flushed: set[str] = set()
        """Items of the last flush whose played part is not acknowledged yet."""

    @property
    def awaits_answer(self) -> bool:
        return bool(self._flushed)

    def flush(self, now: float) -> None:
        self._flushed = {item.item_id for item in self._queue}
        super().flush(now)

    def ack(self, item_id: str, played_ms: int, now: float, *, flushed: bool = False) -> None:
        item = self._items.get(item_id)
        if item is None or played_ms < 0 or (item.epoch != self._epoch and item_id not in self._flushed):
            return
        samples = played_ms * self._rate_hz // 1000
        # A client counts whole ms: its last acknowledgement includes the fraction behind it.
        if samples >= item.sent or played_ms >= item.sent * 1000 // self._rate_hz:
            samples = item.sent
        if item_id in self._flushed:
            item.played = max(item.played, samples)
            if flushed or item.played == item.sent:
                self._flushed.discard(item_id)
            return
        if samples <= item.played:
            return
        self._moved_at = now
        queue = self._queue
        while queue[0] is not item:
            self._play(queue[0].sent - queue[0].played)
        self._play(samples - item.played)

    def _advance(self, now: float) -> None:
        pass

    def _started(self, samples: int, now: float) -> None:
        if not self._unplayed:
            self._moved_at = now

    def _end(self, now: float) -> float:
        return max(now, self._moved_at + self._unplayed / self._rate_hz)


class EstimatedPlayback(PlaybackClock):
    """The played part is estimated: real time that begins *start_delay_ms* after the first byte.

    A client that ran dry begins again, with the same delay. With audio sent at most :data:`AHEAD_MS` ahead of real time
    this is "sent minus the client's buffer". The default is the queue and sound device of a page; a somewhat long value
    errs towards "not played".
    """

    __slots__ = ("_play_end", "_start_delay_s")

    def __init__(self, rate_hz: int, start_delay_ms: int = 100) -> None:
        super().__init__(rate_hz)
        self._start_delay_s = start_delay_ms / 1000
        self._play_end = 0.0

    def _advance(self, now: float) -> None:
        unplayed = self._unplayed
        if not unplayed:
            return
        # Rounded up to a whole sample; the small term compensates the float error.
        left = max(0, math.ceil((self._play_end - now) * self._rate_hz - 1e-3))
        if left < unplayed:
            self._play(unplayed - left)

    def _started(self, samples: int, now: float) -> None:
        if not self._unplayed:
            self._play_end = now + self._start_delay_s
        self._play_end += samples / self._rate_hz

    def _end(self, now: float) -> float:
        return self._play_end


class WallClockPlayback(EstimatedPlayback):
    """The played part is the time since the first byte."""

    __slots__ = ()

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz, start_delay_ms=0)


class PlayoutBuffer:
    """The audio queue of one listener: first in, first out, at most *limit_bytes*.

    :meth:`pop` serves a listener without pacing, :meth:`pop_due` one that is fed in real time.
    """

    __slots__ = ("_byte_s", "_chunks", "_head_offset", "_limit_bytes", "_rate_hz", "ahead_until", "size_bytes")

    def __init__(self, rate_hz: int, limit_bytes: int) -> None:
        self._rate_hz = rate_hz
        self._byte_s = 1 / (SAMPLE_BYTES * rate_hz)
        self._limit_bytes = limit_bytes
        self._chunks: deque[tuple[str, bytes]] = deque()
        self._head_offset = 0
        self.ahead_until = 0.0
        """Until when the client can play the audio it has; sending other audio moves this on."""
        self.size_bytes = 0
        """The bytes in the queue."""

    def push(self, item_id: str, pcm: bytes) -> bool:
        """Append audio of an item; returns False, and drops it, beyond the limit."""
        if self.size_bytes + len(pcm) > self._limit_bytes:
            return False
        if pcm:
            self._chunks.append((item_id, pcm))
            self.size_bytes += len(pcm)
        return True

    def pop(self) -> tuple[str, bytes] | None:
        """Return the oldest chunk as it was pushed, or its rest; None if empty."""
        if not self._chunks:
            return None
        item_id, pcm = self._chunks.popleft()
        pcm = pcm[self._head_offset :]
        self._head_offset = 0
        self.size_bytes -= len(pcm)
        return item_id, pcm

    def pop_due(self, now: float, ahead_ms: int = AHEAD_MS) -> list[tuple[str, bytes]]:
        """Return the chunks due at *now*: one item each, within *ahead_ms* (at least :data:`MIN_CHUNK_MS`).

        Chunks last :data:`MIN_CHUNK_MS` to :data:`MAX_CHUNK_MS`; only the end of an item, or of the queue, is shorter.
        """
        due: list[tuple[str, bytes]] = []
        start = max(self.ahead_until, now)
        most_bytes = bytes_of(MAX_CHUNK_MS, self._rate_hz)
        while self._chunks:
            room_bytes = int((now + ahead_ms / 1000 - start) / self._byte_s + 1e-3) & ~1
            want_bytes = min(room_bytes, most_bytes)
            if want_bytes < min(bytes_of(MIN_CHUNK_MS, self._rate_hz), self._run_bytes()):
                break
            chunk = self._take(self._whole_bytes(want_bytes))
            start += len(chunk[1]) * self._byte_s
            due.append(chunk)
        if due:
            self.ahead_until = start
        return due

    def take(self, n_bytes: int) -> list[tuple[str, bytes]]:
        """Return the oldest *n_bytes*, due or not, or all if fewer: one chunk per item, in order."""
        taken: list[tuple[str, bytes]] = []
        while n_bytes and self._chunks:
            taken.append(self._take(n_bytes))
            n_bytes -= len(taken[-1][1])
        return taken

    def next_due(self, ahead_ms: int = AHEAD_MS) -> float | None:
        """Return when :meth:`pop_due` next has audio, perhaps in the past; None if empty."""
        if not self._chunks:
            return None
        shortest_s = min(bytes_of(MIN_CHUNK_MS, self._rate_hz), self._run_bytes()) * self._byte_s
        return self.ahead_until + shortest_s - ahead_ms / 1000

    def clear(self) -> int:
        """Drop everything, as at a flush; the next audio is due at once. Returns the dropped bytes."""
        dropped_bytes = self.size_bytes
        self._chunks.clear()
        self._head_offset = 0
        self.ahead_until = 0.0
        self.size_bytes = 0
        return dropped_bytes

    def __len__(self) -> int:
        return len(self._chunks)

    def waiting_ms(self) -> int:
        """Return the duration of the queue in ms."""
        return ms_of(self.size_bytes, self._rate_hz)

    def _run_bytes(self) -> int:
        """Return the contiguous bytes of the first item, up to one chunk.

        The chunk is the shortest one that is sent.
        """
        head_id = self._chunks[0][0]
        enough_bytes = bytes_of(MIN_CHUNK_MS, self._rate_hz)
        run_bytes = -self._head_offset
        for item_id, pcm in self._chunks:
            if item_id != head_id:
                break
            run_bytes += len(pcm)
            if run_bytes >= enough_bytes:
                break
        return run_bytes

    def _whole_bytes(self, most_bytes: int) -> int:
        """Return the length of the first item's chunks that fit whole; *most_bytes* if that is too short to send.

        A chunk that is not cut is not copied: others that keep it share its bytes.
        """
        head_id = self._chunks[0][0]
        whole_bytes = -self._head_offset
        for item_id, pcm in self._chunks:
            if item_id != head_id or whole_bytes + len(pcm) > most_bytes:
                break
            whole_bytes += len(pcm)
        return whole_bytes if whole_bytes >= bytes_of(MIN_CHUNK_MS, self._rate_hz) else most_bytes

    def _take(self, want_bytes: int) -> tuple[str, bytes]:
        """Take up to *want_bytes* of the first item: joins small chunks, cuts a large one."""
        chunks = self._chunks
        head_id, pcm = chunks[0]
        offset = self._head_offset
        if len(pcm) - offset > want_bytes:
            self._head_offset = offset + want_bytes
            self.size_bytes -= want_bytes
            return head_id, pcm[offset : offset + want_bytes]
        parts: list[bytes] = []
        taken_bytes = 0
        while chunks and chunks[0][0] == head_id and taken_bytes < want_bytes:
            pcm = chunks[0][1]
            offset = self._head_offset
            part = pcm[offset : offset + want_bytes - taken_bytes]
            parts.append(part)
            taken_bytes += len(part)
            if offset + len(part) == len(pcm):
                chunks.popleft()
                self._head_offset = 0
            else:
                self._head_offset = offset + len(part)
        self.size_bytes -= taken_bytes
        return head_id, parts[0] if len(parts) == 1 else b"".join(parts)
