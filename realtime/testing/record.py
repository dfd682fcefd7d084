"""The record of a whole call: log, audio of all participants, wire frames, user actions.

Checks, reports, exported cases and sweeps read this and nothing else, so they work alike on a run in virtual time and
on a call that was recorded in production. It supports any number of agents and humans.

Times are ms of the call (`ts_ms` of its log); floats where they come from positions of samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from realtime.event.base import Item
from realtime.event.server import AgentResponseAudioDeltaEvent, ServerEvent
from realtime.state.log import AudioRun, Entry
from realtime.state.store import encode_entry

if TYPE_CHECKING:
    from realtime.testing.cases.expected import Expected

E = TypeVar("E", bound=ServerEvent)


@dataclass(frozen=True, slots=True)
class Lane:
    """The audio of one speaker as pcm16 mono: sample n belongs to n * 1000 / `rate_hz` ms of the call.

    A human's is what was sent; an agent's is what was heard.
    """

    speaker: str
    kind: Literal["human", "agent"]
    rate_hz: int
    pcm: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class WireFrame:
    """One frame, seen from the server. `text` is its JSON with audio replaced by its size, so it is safe to show."""

    ts_ms: float
    leg: Literal["client", "model"]
    direction: Literal["sent", "received"]
    who: str
    """The user or the agent of the socket."""
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A human spoke from `from_ms` to `to_ms`: the whole recording, silence at its ends included.

    `text` is the words, None where they are unknown; `barge_in` whether it was meant to interrupt.
    """

    who: str
    from_ms: float
    to_ms: float
    text: str | None = None
    barge_in: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Another action or incident of a user: `typed` (text), `dropped`, `returned`, `flushed`, `left`."""

    ts_ms: float
    who: str
    what: Literal["typed", "dropped", "returned", "flushed", "left"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """A stretch of speech that a user heard without a gap.

    It starts at `offset_ms` of the item and `from_ms` of the call, and lasts `ms`.
    """

    who: str
    item_id: str
    offset_ms: float
    from_ms: float
    ms: float


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A whole call. Parts unknown to its source are empty: a call from a store has no frames and no marks."""

    name: str
    entries: tuple[Entry, ...] = field(repr=False)
    """The whole log in order."""
    items: tuple[Item, ...] = field(repr=False)
    """The conversation at the end: the words as they were heard."""
    lanes: tuple[Lane, ...] = ()
    spoken: tuple[Spoken, ...] = ()
    played: tuple[Played, ...] = field(default=(), repr=False)
    marks: tuple[Mark, ...] = ()
    frames: tuple[WireFrame, ...] = field(default=(), repr=False)
    late_samples: int = 0
    """Samples of items that a user got after their flush."""
    wall_s: float = 0.0
    """Real seconds of the run; 0 for a call of production."""
    folder: Path | None = None
    """The folder of the played case, or of the recording."""
    expected: Expected | None = field(default=None, repr=False)
    """The expectations of the played case; None without one."""
    notes: tuple[str, ...] = ()
    """Notes for a failure: answers of the case that were used up."""

    @property
    def duration_ms(self) -> int:
        """The `ts_ms` of the last entry."""
        last = self.entries[-1] if self.entries else None
        return 0 if last is None else getattr(last, "last_ts_ms", last.ts_ms)

    def events(self, kind: type[E]) -> list[E]:
        """Return the log's events of this kind, in order."""
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def log_bytes(self) -> bytes:
        """Return the log as JSON lines. Two runs of the same case give the same bytes."""
        return write_log(self.entries)


class WholeLog:
    """Keeps a whole log as it grows: the one in memory is bounded. Omits audio payloads, as the log does."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._n_bytes: dict[str, int] = {}

    def read(self, event: ServerEvent) -> None:
        """Read one entry; a subscriber of the log (`Log.subscribe`)."""
        if type(event) is not AgentResponseAudioDeltaEvent:
            self.entries.append(event)
            return
        item_id, n_bytes = event.item_id, len(event.delta)
        offset_bytes = self._n_bytes.get(item_id, 0)
        self._n_bytes[item_id] = offset_bytes + n_bytes
        run = self.entries[-1] if self.entries else None
        if type(run) is AudioRun and run.item_id == item_id:
            run.last_seq, run.last_ts_ms = event.seq, event.ts_ms
            run.n_bytes += n_bytes
        else:
            self.entries.append(
                AudioRun(event.seq, event.seq, event.ts_ms, event.ts_ms, item_id, offset_bytes, n_bytes)
            )


def write_log(entries: Iterable[Entry]) -> bytes:
    """Return a log as JSON lines, one entry each."""
    return b"".join(encode_entry(entry) + b"\n" for entry in entries)
