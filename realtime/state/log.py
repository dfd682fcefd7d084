"""The event log of a call: each thing that happens gets one place, a rising `seq` and a time in ms since the beginning.

Whoever acts appends; whoever shows, stores or sends reads. Audio payload is handed to the live readers but not kept: an
audio entry is (seq, ts_ms, item_id, offset, bytes), and neighbouring entries of one item are kept as one run.
"""

from __future__ import annotations

import copy
import functools
import logging
import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import get_args

import msgspec

from realtime.event.base import ContentPart, Item
from realtime.event.server import AgentResponseAudioDeltaEvent, ServerEvent

logger = logging.getLogger(__name__)

DEFAULT_MAX_ENTRIES = 1_024
"""At 5 transcript deltas and 25 audio deltas a second this is more than a minute of talk in about 40 kB."""
PACKED_AT_ONCE = 32
KEPT_UNPACKED = 16
"""At least so many: who listens or stores reads these. As objects each takes 250 bytes, packed 28."""
MAX_COMPRESSED_BYTES = 256_000
"""To compress more at once would hold up all calls. Entries that hold long texts and pictures are not even pickled, but
stay as they are: the conversation holds the same."""
MAX_PACKED_BYTES = 8_000_000
"""Beyond it the oldest are dropped too: a thousand entries are 30 kB, unless somebody sends books."""

FLOAT_ERROR = 1e-6
"""In ms. A difference of two times in seconds is a little off: 2.18 s may come out as 2.1799999."""

Reader = Callable[[ServerEvent], None]
_AUDIO_ITEMS_AT_ONCE = 16
"""Items whose audio may be interleaved; the position in those that spoke longest ago is forgotten."""
_stamp = msgspec.structs.force_setattr


class AudioRun(msgspec.Struct, gc=False, tag_field="type", tag="audio_run"):
    """Audio of one item, logged without its payload: `seq..last_seq` at `ts_ms..last_ts_ms`.

    `offset_bytes` is where the run begins in the item's pcm16 audio, `n_bytes` how long it is.
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
        """As in its JSON; every entry of a log has one."""
        return "audio_run"


Entry = ServerEvent | AudioRun

_ALIKE = pickle.dumps(
    [(kind, dict.fromkeys(kind.__struct_fields__)) for kind in (*get_args(ServerEvent), Item, ContentPart, AudioRun)],
    pickle.HIGHEST_PROTOCOL,
)
"""What blocks have in common, the names of classes and fields, which would be a quarter of each."""


class _Block:
    """Entries that are rarely read again, small. Pickled: they come back as they were, valid as JSON or not, and the
    bytes never leave the process."""

    __slots__ = ("_is_small", "_kept_bytes", "_packed", "first_seq", "last_seq")

    def __init__(self, entries: list[Entry]) -> None:
        self.first_seq, self.last_seq = entries[0].seq, last_seq_of(entries[-1])
        self._packed: bytes | list[Entry] = entries
        self._is_small = True
        self._kept_bytes = sum(map(_long_bytes, entries))
        if self._kept_bytes > MAX_COMPRESSED_BYTES:
            return
        try:
            pickled = pickle.dumps(entries, pickle.HIGHEST_PROTOCOL)
            self._is_small = len(pickled) <= MAX_COMPRESSED_BYTES
            self._packed = pickled
            if self._is_small:
                packer = zlib.compressobj(zdict=_ALIKE)
                self._packed = packer.compress(pickled) + packer.flush()
        except Exception:
            # A config may hold whatever a program gave, a function too: it then stays as it is.
            self._packed = entries

    @property
    def n_bytes(self) -> int:
        """How much it takes, as far as that is known where it is not packed."""
        return len(self._packed) if isinstance(self._packed, bytes) else self._kept_bytes

    def entries(self) -> list[Entry]:
        """In order."""
        if not isinstance(self._packed, bytes):
            return [*self._packed]
        pickled = zlib.decompressobj(zdict=_ALIKE).decompress(self._packed) if self._is_small else self._packed
        entries: list[Entry] = pickle.loads(pickled)
        return entries


def _long_bytes(entry: Entry) -> int:
    """What texts and pictures in the entry take: its own, and those of its item."""
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
    """The latest `max_entries`, those that came long ago packed, in at most `MAX_PACKED_BYTES`."""

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
        """So many of the first."""
        del (self._oldest or self._latest)[:count]
        self._n_entries -= count
        self.dropped += count

    def after(self, seq: int) -> list[Entry]:
        """Those that end later, in order."""
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
        """At least those that end later than `seq`, the last one first."""
        yield from reversed(self._latest)
        for block in reversed(self._blocks):
            if block.last_seq <= seq:
                return
            yield from reversed(block.entries())
        yield from reversed(self._oldest)


class Log:
    """An append-only, bounded list of server events in memory, with live readers.

    `now` is monotonic seconds. Past `max_entries` the oldest entries are dropped and counted in `dropped`.

    A log that goes on after a stored one begins at the stored one's `last_seq` and at `start_ms`, the time of the call
    in ms at which it goes on; it holds nothing of what came before.
    """

    __slots__ = (
        "_audio_readers",
        "_delivering",
        "_entries",
        "_item_bytes",
        "_now",
        "_readers",
        "_run",
        "_start",
        "_start_ms",
        "_undelivered",
        "last_seq",
    )

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
        """Those of them that are called with audio, too."""
        self._run: AudioRun | None = None
        """The last entry, where it is a run."""
        self._item_bytes: dict[str, int] = {}
        """Where the next run of an item begins in its audio. Of the present run's item it is not up to date."""
        self._undelivered: list[tuple[ServerEvent, tuple[Reader, ...]]] = []
        self._delivering = False
        self.last_seq = last_seq

    @property
    def dropped(self) -> int:
        """How many entries are not held any more."""
        return self._entries.dropped

    @property
    def max_entries(self) -> int:
        """How many are held."""
        return self._entries.max_entries

    def now_ms(self) -> int:
        """Milliseconds since the call began."""
        return self._start_ms + int((self._now() - self._start) * 1000 + FLOAT_ERROR)

    @property
    def first_seq(self) -> int:
        """The earliest `seq` that is still held; `last_seq + 1` where nothing is."""
        first_seq = self._entries.first_seq
        return self.last_seq + 1 if first_seq is None else first_seq

    def holds(self, after_seq: int) -> bool:
        """Whether everything later than `after_seq` can still be read here."""
        return after_seq + 1 >= self.first_seq

    def append(self, event: ServerEvent) -> None:
        """Give the event its `seq` and `ts_ms`, keep it, and hand it to every live reader, in order of subscription.

        A reader that raises is logged and does not keep the others from reading. What a reader appends is delivered
        once every reader has got the present event, so that all see the same order.
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
                continue  # it has unsubscribed meanwhile
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
        """Every kept entry with something later than `after_seq`; the time it takes grows with their number only.

        A reader that is too far behind sees the first kept entry's `seq` beyond `after_seq + 1` and knows what it
        missed. A run that began before and grew is read again whole. Without `growing` the run that still grows is left
        out.
        """
        entries = self._entries.after(after_seq)
        if entries and entries[-1] is self._run:
            if growing:
                entries[-1] = copy.copy(self._run)  # what was read does not change
            else:
                del entries[-1]
        return entries

    def subscribe(self, reader: Reader, *, audio: bool = True) -> Callable[[], None]:
        """Have `reader` called with each event from now on; the returned function ends that at once.

        Without `audio` it is not called with audio deltas, which then cost it nothing.
        """
        self._readers = (*self._readers, reader)
        if audio:
            self._audio_readers = (*self._audio_readers, reader)

        def unsubscribe() -> None:
            self._readers = tuple(one for one in self._readers if one is not reader)
            self._audio_readers = tuple(one for one in self._audio_readers if one is not reader)

        return unsubscribe


def last_seq_of(entry: Entry) -> int:
    """The last `seq` that the entry stands for; an event's own, and where a run ends."""
    return entry.last_seq if isinstance(entry, AudioRun) else entry.seq
