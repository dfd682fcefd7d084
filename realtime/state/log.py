"""The event log of a call: each event has one place, a rising `seq` and a time in ms since the call began.

Everything that acts appends; everything that shows, stores or sends reads. Live readers get the audio payload, the log
does not keep it: an audio entry is (seq, ts_ms, item_id, offset, bytes), and neighbouring entries of one item are kept
as one run.
"""

from __future__ import annotations

import copy
import functools
import logging
import zlib
from collections.abc import Callable, Iterator
from typing import get_args

import msgspec

from realtime.event.base import ContentPart, Item
from realtime.event.server import AgentResponseAudioDeltaEvent, ServerEvent

logger = logging.getLogger(__name__)

DEFAULT_MAX_ENTRIES = 1_024
"""Over a minute of talk: 5 transcript and 25 audio deltas a second, about 40 kB."""
PACKED_AT_ONCE = 32
KEPT_UNPACKED = 16
"""The fewest latest entries kept as objects, for listeners and the store. An object takes 250 bytes, packed 25."""
MAX_COMPRESSED_BYTES = 256_000
"""Compressing more at once would delay all calls. Entries with long texts and pictures are not packed at all: the
conversation holds the same objects."""
MAX_PACKED_BYTES = 8_000_000
"""Beyond it the oldest entries are dropped: a thousand entries take 30 kB, unless a client sends books."""

FLOAT_ERROR = 1e-6
"""In ms. A difference of two times in seconds is slightly off: 2.18 s may come out as 2.1799999."""

Reader = Callable[[ServerEvent], None]
_AUDIO_ITEMS_AT_ONCE = 16
"""Items whose audio may be interleaved; the log forgets the position in the item that spoke longest ago."""
_stamp = msgspec.structs.force_setattr


class AudioRun(msgspec.Struct, gc=False, tag_field="type", tag="audio_run"):
    """Audio of one item, logged without its payload: `seq..last_seq` at `ts_ms..last_ts_ms`.

    `offset_bytes` is the position of the run in the item's pcm16 audio, `n_bytes` its length.
    """

    seq: int
    last_seq: int
    ts_ms: int
    last_ts_ms: int
    item_id: str
    offset_bytes: int
    n_bytes: int

    @property
    def type(self) -> str:
        """The type as in its JSON; every entry of a log has one."""
        return "audio_run"


Entry = ServerEvent | AudioRun

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[ServerEvent | AudioRun]).decode

_COMMON = b"".join(
    _encode([kind.__struct_config__.tag, *kind.__struct_fields__])
    for kind in (*get_args(ServerEvent), Item, ContentPart, AudioRun)
)
"""Compression dictionary: what blocks share, types and names of fields."""


class _Block:
    """Neighbouring entries that are rarely read again, packed. Those that would not come back equal stay objects."""

    __slots__ = ("_is_small", "_kept_bytes", "_packed", "first_seq", "last_seq")

    def __init__(self, entries: list[Entry]) -> None:
        self.first_seq, self.last_seq = entries[0].seq, last_seq_of(entries[-1])
        self._packed: bytes | list[Entry] = entries
        self._is_small = True
        self._kept_bytes = sum(map(_long_bytes, entries))
        if self._kept_bytes > MAX_COMPRESSED_BYTES:
            return
        try:
            encoded = _encode(entries)
            if _decode(encoded) != entries:
                return
        except Exception:
            # A config may hold any object of the embedding program, even a function.
            return
        self._is_small = len(encoded) <= MAX_COMPRESSED_BYTES
        self._packed = encoded
        if self._is_small:
            packer = zlib.compressobj(zdict=_COMMON)
            self._packed = packer.compress(encoded) + packer.flush()

    @property
    def n_bytes(self) -> int:
        """Its size; of an unpacked block, the size of its long texts and pictures."""
        return len(self._packed) if isinstance(self._packed, bytes) else self._kept_bytes

    def entries(self) -> list[Entry]:
        """The entries in order."""
        if not isinstance(self._packed, bytes):
            return [*self._packed]
        return _decode(zlib.decompressobj(zdict=_COMMON).decompress(self._packed) if self._is_small else self._packed)


def _long_bytes(entry: Entry) -> int:
    """Size of the texts and pictures in the entry and its item."""
    if isinstance(entry, AudioRun):
        return 0
    item = getattr(entry, "item", None)
    parts = item.content if isinstance(item, Item) else ()
    return sum(_long_bytes_of(one) for one in (entry, *parts))


def _long_bytes_of(one: ServerEvent | ContentPart) -> int:
    found = 0
    for name in _long_fields(type(one)):
        value = getattr(one, name)
        if isinstance(value, str | bytes):
            found += len(value)
    return found


@functools.cache
def _long_fields(kind: type[ServerEvent | ContentPart]) -> tuple[str, ...]:
    """The fields that may hold a long text; ids and names are short."""
    return tuple(name for name in kind.__struct_fields__ if not name.endswith(("_id", "_name", "_ms", "_index", "seq")))


class _Entries:
    """The latest `max_entries`; the older ones are packed, in at most `MAX_PACKED_BYTES`."""

    __slots__ = ("_blocks", "_latest", "_n_entries", "_oldest", "_packed_bytes", "dropped", "max_entries")

    def __init__(self, max_entries: int) -> None:
        self.max_entries = max_entries
        self._n_entries = 0
        # In this order.
        self._oldest: list[Entry] = []
        self._blocks: list[_Block] = []
        self._latest: list[Entry] = []
        self._packed_bytes = 0
        self.dropped = 0

    @property
    def first_seq(self) -> int | None:
        if self._oldest:
            return self._oldest[0].seq
        if self._blocks:
            return self._blocks[0].first_seq
        return self._latest[0].seq if self._latest else None

    def append(self, entry: Entry) -> None:
        self._latest.append(entry)
        self._n_entries += 1
        if len(self._latest) >= KEPT_UNPACKED + PACKED_AT_ONCE:
            block = _Block(self._latest[:PACKED_AT_ONCE])
            del self._latest[:PACKED_AT_ONCE]
            self._blocks.append(block)
            self._packed_bytes += block.n_bytes
            while self._packed_bytes > MAX_PACKED_BYTES:
                self._drop(len(self._oldest))
                self._unpack_oldest()
        if self._n_entries > self.max_entries:
            if self._blocks and not self._oldest:
                self._unpack_oldest()
            self._drop(1)

    def _unpack_oldest(self) -> None:
        block = self._blocks.pop(0)
        self._packed_bytes -= block.n_bytes
        self._oldest = block.entries()

    def _drop(self, count: int) -> None:
        """Drop the first `count` entries."""
        del (self._oldest or self._latest)[:count]
        self._n_entries -= count
        self.dropped += count

    def after(self, seq: int) -> list[Entry]:
        """The entries that end later than `seq`, in order."""
        latest = self._latest
        at = len(latest)
        while at and last_seq_of(latest[at - 1]) > seq:
            at -= 1
        if at:
            return latest[at:]
        entries: list[Entry] = []
        for entry in self._backwards(seq):
            if last_seq_of(entry) <= seq:
                break
            entries.append(entry)
        entries.reverse()
        return entries

    def _backwards(self, seq: int) -> Iterator[Entry]:
        """Yield entries, last first: at least those that end later than `seq`."""
        yield from reversed(self._latest)
        for block in reversed(self._blocks):
            if block.last_seq <= seq:
                return
            yield from reversed(block.entries())
        yield from reversed(self._oldest)


class Log:
    """An append-only, bounded list of server events in memory, with live readers.

    `now` is monotonic seconds. Past `max_entries` the oldest entries are dropped and counted in `dropped`.

    A log that continues a stored one begins at the stored `last_seq` and at `start_ms`, the time of the call in ms at
    which it continues; it holds none of the earlier entries.
    """

    def __init__(
        self,
        now: Callable[[], float],
        *,
        max_entries: int = DEFAULT_MAX_ENTRIES,
        last_seq: int = 0,
        start_ms: int = 0,
    ) -> None:
        self._now = now
        self._start = now()
        self._start_ms = start_ms
        self._entries = _Entries(max_entries)
        self._readers: tuple[Reader, ...] = ()
        self._audio_readers: tuple[Reader, ...] = ()
        """The readers that are called with audio, too."""
        self._run: AudioRun | None = None
        """The last entry, if it is a run."""
        self._item_bytes: dict[str, int] = {}
        """Where the next run of each item begins in its audio; out of date for the item of the present run."""
        self._undelivered: list[tuple[ServerEvent, tuple[Reader, ...]]] = []
        self._delivering = False
        self.last_seq = last_seq

    @property
    def dropped(self) -> int:
        """The number of entries that were dropped."""
        return self._entries.dropped

    @property
    def max_entries(self) -> int:
        """The largest number of entries held."""
        return self._entries.max_entries

    def now_ms(self) -> int:
        """Return the milliseconds since the call began."""
        return self._start_ms + int((self._now() - self._start) * 1000 + FLOAT_ERROR)

    @property
    def first_seq(self) -> int:
        """The earliest `seq` still held; `last_seq + 1` for an empty log."""
        first_seq = self._entries.first_seq
        return self.last_seq + 1 if first_seq is None else first_seq

    def holds(self, after_seq: int) -> bool:
        """Whether everything later than `after_seq` can still be read."""
        return after_seq + 1 >= self.first_seq

    def append(self, event: ServerEvent) -> None:
        """Give the event its `seq` and `ts_ms`; keep it; call every live reader.

        Readers are called in order of subscription; the log reports one that raises and calls the rest. Events that a
        reader appends are delivered after every reader has the present one, so that all see the same order.
        """
        self.last_seq = seq = self.last_seq + 1
        ts_ms = self._start_ms + int((self._now() - self._start) * 1000 + FLOAT_ERROR)
        _stamp(event, "seq", seq)
        _stamp(event, "ts_ms", ts_ms)
        if type(event) is AgentResponseAudioDeltaEvent:
            readers = self._audio_readers
            run = self._run
            if run is None or run.item_id != event.item_id:
                run = self._begin_run(seq, ts_ms, event.item_id)
            run.last_seq, run.last_ts_ms = seq, ts_ms
            run.n_bytes += len(event.delta)
        else:
            readers = self._readers
            self._end_run()
            self._entries.append(event)
        if self._delivering:
            self._undelivered.append((event, readers))
            return
        self._delivering = True
        try:
            self._deliver(event, readers)
            while self._undelivered:
                self._deliver(*self._undelivered.pop(0))
        finally:
            self._delivering = False

    def _deliver(self, event: ServerEvent, readers: tuple[Reader, ...]) -> None:
        for reader in readers:
            if readers is not self._readers and readers is not self._audio_readers and reader not in self._readers:
                continue  # unsubscribed meanwhile
            try:
                reader(event)
            except Exception:
                logger.exception("a reader of the log failed at seq %d", event.seq)

    def _begin_run(self, seq: int, ts_ms: int, item_id: str) -> AudioRun:
        self._end_run()
        run = self._run = AudioRun(seq, seq, ts_ms, ts_ms, item_id, self._item_bytes.pop(item_id, 0), 0)
        self._entries.append(run)
        return run

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._item_bytes[run.item_id] = run.offset_bytes + run.n_bytes
            if len(self._item_bytes) > _AUDIO_ITEMS_AT_ONCE:
                del self._item_bytes[next(iter(self._item_bytes))]

    def read(self, after_seq: int = 0, *, growing: bool = True) -> list[Entry]:
        """Return every kept entry that ends later than `after_seq`, in linear time.

        If the first one's `seq` is beyond `after_seq + 1`, the entries between were dropped. A run that began earlier
        and grew is returned whole. Without `growing`, the run that still grows is left out.
        """
        entries = self._entries.after(after_seq)
        if entries and entries[-1] is self._run:
            if growing:
                entries[-1] = copy.copy(self._run)  # the caller's entry must not grow
            else:
                del entries[-1]
        return entries

    def subscribe(self, reader: Reader, *, audio: bool = True) -> Callable[[], None]:
        """Call `reader` with each event from now on; returns the function that ends this at once.

        Without `audio`, it is not called with audio deltas, which then cost it nothing.
        """
        self._readers = (*self._readers, reader)
        if audio:
            self._audio_readers = (*self._audio_readers, reader)

        def unsubscribe() -> None:
            self._readers = tuple(one for one in self._readers if one is not reader)
            self._audio_readers = tuple(one for one in self._audio_readers if one is not reader)

        return unsubscribe


def last_seq_of(entry: Entry) -> int:
    """Return the last `seq` of the entry: an event's own, or the end of a run."""
    return entry.last_seq if isinstance(entry, AudioRun) else entry.seq
