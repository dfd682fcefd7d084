"""What of the sent audio the user has heard, and the audio that waits to be sent.

A :class:`PlaybackClock` belongs to one listener. It counts samples per item and answers how much of each was heard:

- :class:`AcknowledgedPlayback`: what the client said it played;
- :class:`EstimatedPlayback`: what a client plays in real time that starts a moment after its first byte;
- :class:`WallClockPlayback`: the same without the moment.

A client plays what it gets in order and in real time, and what has been sent is the most it can have heard. Time comes
in as ``now``: seconds on any clock that does not go back.
"""

import math
from collections import deque
from typing import ClassVar

from realtime.audio.pcm import SAMPLE_BYTES, ms_of

KEPT_ITEMS = 32
"""Items a clock remembers; asking about an older one gives 0."""

PLAYOUT_LIMIT_BYTES = 4_000_000
"""Most that waits for one listener: 83 s at 24 kHz."""

AHEAD_MS = 350
"""How far ahead of real time a paced listener is fed: rides out a slow network, yet little to take back."""

MIN_CHUNK_MS = 40
MAX_CHUNK_MS = 100


class _Item:
    __slots__ = ("epoch", "heard", "item_id", "sent")

    def __init__(self, item_id: str, epoch: int) -> None:
        self.item_id = item_id
        self.epoch = epoch
        self.sent = 0
        self.heard = 0


class PlaybackClock:
    """Samples sent and heard per item of one listener. Every call takes constant time, amortised over the items.

    For each item the heard part never exceeds the sent part and never shrinks, except by :meth:`truncate`. Make one of
    the subclasses. Raises ValueError for a rate that is not positive.
    """

    __slots__ = ("_epoch", "_items", "_queue", "_rate_hz", "_unheard")
    estimates: ClassVar[bool] = True
    """Whether what it takes for heard is an estimate, and not the client's word."""
    _runs: ClassVar[bool] = True
    """Whether time alone moves it: else the methods that are called with each chunk save themselves `_advance`."""

    def __init__(self, rate_hz: int) -> None:
        if rate_hz <= 0:
            raise ValueError(f"The sample rate has to be positive, not {rate_hz} Hz.")
        self._rate_hz = rate_hz
        self._items: dict[str, _Item] = {}
        # Items with unheard audio, in the order of playing. Two that grow at once are taken to be played one by one.
        self._queue: list[_Item] = []
        self._unheard = 0
        # Items of an earlier epoch were flushed: late audio for them is not played.
        self._epoch = 0

    def sent(self, item_id: str, n_bytes: int, now: float) -> int | None:
        """*n_bytes* of pcm of an item went to the client. Of an item that was flushed nothing is counted.

        Returns where in the item they begin, in samples; None where nothing was counted.
        """
        if self._runs:
            self._advance(now)
        item = self._items.get(item_id)
        if item is None:
            item = self._items[item_id] = _Item(item_id, self._epoch)
            if len(self._items) > KEPT_ITEMS:
                self._forget_oldest()
        elif item.epoch != self._epoch:
            return None
        samples = n_bytes // SAMPLE_BYTES
        if not samples:
            return None
        start = item.sent
        if start == item.heard:
            self._queue.append(item)
        item.sent = start + samples
        self._started(samples, now)
        self._unheard += samples
        return start

    @property
    def awaits_answer(self) -> bool:
        """Whether the client was told to be silent and has not said yet how far it had played."""
        return False

    def ack(self, item_id: str, heard_ms: int, now: float, *, flushed: bool = False) -> None:
        """The client says that it has played *heard_ms* of the item from its beginning, and so all items before it.

        Counts only for :class:`AcknowledgedPlayback`. Unknown items, and less than was known, change nothing. Of one
        that was flushed it counts up to the answer to that, which is `flushed`.
        """

    def flush(self, now: float) -> None:
        """The client was told to be silent: of the items so far nothing more will be heard, whatever is still sent."""
        self._advance(now)
        self._drop_unheard()

    def truncate(self, item_id: str, heard_ms: int, now: float) -> None:
        """The client heard *heard_ms* of this item (never more than sent). What is still to be heard is flushed with
        all that would be heard after it; of an older or unknown one nothing that plays now is.

        Where the clock had estimated more, the client's word replaces the estimate.
        """
        self._advance(now)
        item = self._items.get(item_id)
        if item is None:
            return
        newest = next(reversed(self._items))
        if item in self._queue or (not self._queue and item_id == newest):
            self._drop_unheard()
        else:
            # Others play on, one that has run dry as well; of this one nothing will be heard any more.
            item.epoch = self._epoch - 1
        item.heard = min(item.sent, max(0, heard_ms) * self._rate_hz // 1000)

    def heard_ms(self, item_id: str, now: float) -> int:
        """Heard part of an item in ms, rounded down; 0 for an item that had no audio or is forgotten."""
        self._advance(now)
        item = self._items.get(item_id)
        return 0 if item is None else item.heard * 1000 // self._rate_hz

    def heard_samples(self, item_id: str, now: float) -> int | None:
        """Heard part of an item in samples; None for one that is not known, or of which no more will be heard."""
        if self._runs:
            self._advance(now)
        item = self._items.get(item_id)
        return item.heard if item is not None and item.epoch == self._epoch else None

    def begun(self) -> set[str]:
        """The items of which some audio was sent."""
        return {item.item_id for item in self._items.values() if item.sent}

    def unheard_items(self, now: float) -> list[str]:
        """The items that will still be heard, in the order of playing."""
        self._advance(now)
        return [item.item_id for item in self._queue]

    def sent_ms(self, item_id: str) -> int:
        """Sent part of an item in ms, rounded down; 0 for an item that had no audio or is forgotten."""
        item = self._items.get(item_id)
        return 0 if item is None else item.sent * 1000 // self._rate_hz

    def unheard_ms(self, now: float) -> int:
        """What was sent and will still be heard, in ms, rounded up: 0 means silence at the client."""
        self._advance(now)
        return -(-self._unheard * 1000 // self._rate_hz)

    def finished_at(self, now: float) -> float | None:
        """When the client will have played all it has, in seconds of the caller's clock; None when nothing is left."""
        self._advance(now)
        return self._end(now) if self._unheard else None

    def _advance(self, now: float) -> None:
        raise NotImplementedError

    def _started(self, samples: int, now: float) -> None:
        raise NotImplementedError

    def _end(self, now: float) -> float:
        raise NotImplementedError

    def _hear(self, samples: int) -> None:
        """Count *samples* (at most the unheard ones) as heard, oldest item first."""
        self._unheard -= samples
        queue = self._queue
        while samples:
            item = queue[0]
            open_samples = item.sent - item.heard
            if open_samples > samples:
                item.heard += samples
                return
            item.heard = item.sent
            samples -= open_samples
            queue.pop(0)

    def _drop_unheard(self) -> None:
        self._queue.clear()
        self._unheard = 0
        self._epoch += 1

    def _forget_oldest(self) -> None:
        oldest = self._items.pop(next(iter(self._items)))
        if oldest.heard < oldest.sent and oldest.epoch == self._epoch:
            self._queue.remove(oldest)
            self._unheard -= oldest.sent - oldest.heard


class AcknowledgedPlayback(PlaybackClock):
    """Heard is what the client acknowledged. A client that never acknowledges has heard nothing."""

    __slots__ = ("_flushed", "_moved_at")
    estimates = False
    _runs = False

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz)
        self._moved_at = 0.0
        self._flushed: set[str] = set()
        """The items that the last flush met, and of which the client has not said how far it had played them."""

    @property
    def awaits_answer(self) -> bool:
        return bool(self._flushed)

    def flush(self, now: float) -> None:
        self._flushed = {item.item_id for item in self._queue}
        super().flush(now)

    def ack(self, item_id: str, heard_ms: int, now: float, *, flushed: bool = False) -> None:
        item = self._items.get(item_id)
        if item is None or heard_ms < 0 or (item.epoch != self._epoch and item_id not in self._flushed):
            return
        samples = heard_ms * self._rate_hz // 1000
        # A client counts whole ms: its last acknowledgement stands for the fraction behind it too.
        if samples >= item.sent or heard_ms >= item.sent * 1000 // self._rate_hz:
            samples = item.sent
        if item_id in self._flushed:
            item.heard = max(item.heard, samples)
            if flushed or item.heard == item.sent:
                self._flushed.discard(item_id)
            return
        if samples <= item.heard:
            return
        self._moved_at = now
        queue = self._queue
        while queue[0] is not item:
            self._hear(queue[0].sent - queue[0].heard)
        self._hear(samples - item.heard)

    def _advance(self, now: float) -> None:
        pass

    def _started(self, samples: int, now: float) -> None:
        if not self._unheard:
            self._moved_at = now

    def _end(self, now: float) -> float:
        return max(now, self._moved_at + self._unheard / self._rate_hz)


class EstimatedPlayback(PlaybackClock):
    """Heard is what a client plays in real time that begins *start_delay_ms* after its first byte.

    A client that has run dry begins anew, with the same delay. With audio sent at most :data:`AHEAD_MS` ahead of real
    time this is "sent minus the client's buffer". The default is what a page holds in its queue and sound device;
    taking it somewhat long errs towards "not heard".
    """

    __slots__ = ("_play_end", "_start_delay_s")

    def __init__(self, rate_hz: int, start_delay_ms: int = 100) -> None:
        super().__init__(rate_hz)
        self._start_delay_s = start_delay_ms / 1000
        self._play_end = 0.0

    def _advance(self, now: float) -> None:
        unheard = self._unheard
        if not unheard:
            return
        # Rounded up to a whole sample; the small term keeps float error from holding back a sample that was played.
        left = max(0, math.ceil((self._play_end - now) * self._rate_hz - 1e-3))
        if left < unheard:
            self._hear(unheard - left)

    def _started(self, samples: int, now: float) -> None:
        if not self._unheard:
            self._play_end = now + self._start_delay_s
        self._play_end += samples / self._rate_hz

    def _end(self, now: float) -> float:
        return self._play_end


class WallClockPlayback(EstimatedPlayback):
    """Heard is the time since the first byte, never more than was sent."""

    __slots__ = ()

    def __init__(self, rate_hz: int) -> None:
        super().__init__(rate_hz, start_delay_ms=0)


class PlayoutBuffer:
    """Audio that waits for one listener: first in, first out, at most *limit_bytes*.

    :meth:`pop` serves a listener that takes all it can, :meth:`pop_due` one that is fed in real time.
    """

    __slots__ = ("_byte_s", "_chunks", "_head_offset", "_limit_bytes", "_rate_hz", "ahead_until", "size_bytes")

    def __init__(self, rate_hz: int, limit_bytes: int = PLAYOUT_LIMIT_BYTES) -> None:
        self._rate_hz = rate_hz
        self._byte_s = 1 / (SAMPLE_BYTES * rate_hz)
        self._limit_bytes = limit_bytes
        self._chunks: deque[tuple[str, bytes]] = deque()
        self._head_offset = 0
        self.ahead_until = 0.0
        """Until when the client can play what it was given; whoever sends it other sound as well moves this on."""
        self.size_bytes = 0
        """Bytes that wait."""

    def push(self, item_id: str, pcm: bytes) -> bool:
        """Append audio of an item. False, with nothing kept, where it would pass the limit."""
        if self.size_bytes + len(pcm) > self._limit_bytes:
            return False
        if pcm:
            self._chunks.append((item_id, pcm))
            self.size_bytes += len(pcm)
        return True

    def pop(self) -> tuple[str, bytes] | None:
        """The oldest chunk as it was pushed (or what is left of it), None when empty."""
        if not self._chunks:
            return None
        item_id, pcm = self._chunks.popleft()
        pcm = pcm[self._head_offset :]
        self._head_offset = 0
        self.size_bytes -= len(pcm)
        return item_id, pcm

    def pop_due(self, now: float, ahead_ms: int = AHEAD_MS) -> list[tuple[str, bytes]]:
        """What may go out at *now*: chunks of one item each, all within *ahead_ms* (at least :data:`MIN_CHUNK_MS`).

        Chunks last :data:`MIN_CHUNK_MS` to :data:`MAX_CHUNK_MS`; only the end of an item, or of what is there, is
        shorter.
        """
        due: list[tuple[str, bytes]] = []
        start = max(self.ahead_until, now)
        most_bytes = self._bytes_of(MAX_CHUNK_MS)
        while self._chunks:
            room_bytes = int((now + ahead_ms / 1000 - start) / self._byte_s + 1e-3) & ~1
            want_bytes = min(room_bytes, most_bytes)
            if want_bytes < min(self._bytes_of(MIN_CHUNK_MS), self._run_bytes()):
                break
            chunk = self._take(want_bytes)
            start += len(chunk[1]) * self._byte_s
            due.append(chunk)
        if due:
            self.ahead_until = start
        return due

    def take(self, n_bytes: int) -> list[tuple[str, bytes]]:
        """The oldest *n_bytes* whenever they are due, or all where fewer wait: one chunk of each item, in order."""
        taken: list[tuple[str, bytes]] = []
        while n_bytes and self._chunks:
            taken.append(self._take(n_bytes))
            n_bytes -= len(taken[-1][1])
        return taken

    def next_due(self, ahead_ms: int = AHEAD_MS) -> float | None:
        """The earliest time at which :meth:`pop_due` has something, None when nothing waits. May lie in the past."""
        if not self._chunks:
            return None
        shortest_s = min(self._bytes_of(MIN_CHUNK_MS), self._run_bytes()) * self._byte_s
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
        """Duration of what waits, in ms."""
        return ms_of(self.size_bytes, self._rate_hz)

    def _bytes_of(self, ms: int) -> int:
        return ms * self._rate_hz // 1000 * SAMPLE_BYTES

    def _run_bytes(self) -> int:
        """Bytes of the head's item that lie together, counted no further than the shortest chunk needs."""
        head_id = self._chunks[0][0]
        enough_bytes = self._bytes_of(MIN_CHUNK_MS)
        run_bytes = -self._head_offset
        for item_id, pcm in self._chunks:
            if item_id != head_id:
                break
            run_bytes += len(pcm)
            if run_bytes >= enough_bytes:
                break
        return run_bytes

    def _take(self, want_bytes: int) -> tuple[str, bytes]:
        """Up to *want_bytes* from the head's item, small chunks joined, a large one cut."""
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
