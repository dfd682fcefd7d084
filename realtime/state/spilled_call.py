"""One call on its way to the store: what is written, what waits and what is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from realtime.state.log import Entry, Log, last_seq_of
from realtime.state.store import CallInfo, Change

MAX_SET_ASIDE = 16_384
"""A call's entries that a burst may set aside: about 4 MB.

That is more than the limits on clients of a room allow.
"""


@dataclass(slots=True, eq=False)
class SpilledCall:
    """What the spill knows of one call."""

    info: CallInfo
    log: Log
    address: str
    info_due: bool = True
    written_seq: int = field(init=False)
    swept_seq: int = field(init=False)
    """The value of `written_seq` at the last sweep for audio."""
    n_bytes: int = 0
    queued: bool = False
    """It waits to be written."""
    known: bool = False
    """The store has it."""
    ended: bool = False
    """The call is over."""
    gone: bool = False
    """It is no longer written."""
    cut: bool = False
    """It has used its quota, and only its info is written."""
    audio_due: bool = False
    """The next write includes the run of audio that still grows."""
    set_aside: list[Entry] = field(default_factory=list)
    """Unwritten entries that the log may drop before the next write."""
    unsubscribe: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.written_seq = self.swept_seq = self.info.last_seq

    @property
    def read_seq(self) -> int:
        """The last `seq` that was read from the log."""
        return last_seq_of(self.set_aside[-1]) if self.set_aside else self.written_seq

    def keep_up(self) -> None:
        """Set aside unwritten entries that a burst would drop from the log."""
        if self.log.last_seq - self.read_seq >= self.log.max_entries // 4 and len(self.set_aside) < MAX_SET_ASIDE:
            self.set_aside += self.log.read(self.read_seq, growing=False)

    def wrote(self, last_seq: int) -> None:
        """Note that the store has all entries up to `last_seq`."""
        self.written_seq = last_seq
        self.set_aside = [entry for entry in self.set_aside if last_seq_of(entry) > last_seq]

    def unwritten(self, *, growing: bool = True) -> list[Entry]:
        """Return what memory holds beyond the store; without `growing`, not the run that still grows."""
        return [*self.set_aside, *self.log.read(self.read_seq, growing=growing)]

    def take(self) -> Change:
        """Return what is new; record as a gap what the log has dropped."""
        read_seq = self.read_seq
        entries = self.unwritten(growing=self.audio_due or self.ended)
        self.audio_due = False
        if self.cut:
            if self.ended and self.log.last_seq > self.written_seq:
                self._note_gap(self.written_seq + 1, self.log.last_seq)
                self.wrote(self.log.last_seq)
            entries = []
        else:
            if self.set_aside:
                self._note_gap(self.written_seq + 1, self.set_aside[0].seq - 1)
            self._note_gap(read_seq + 1, self.log.first_seq - 1)
        return Change(self.info.call_id, self.info if self.info_due else None, entries)

    def _note_gap(self, start: int, end: int) -> None:
        """Record the lost stretch from `start` to `end`, unless it is empty."""
        if end >= start:
            # A gap inside the new one has grown before it was written.
            gaps = [gap for gap in self.info.gaps if gap[0] < start or gap[1] > end]
            self.info = msgspec.structs.replace(self.info, gaps=(*gaps, (start, end)))
            self.info_due = True

    def lose(self) -> None:
        """The store has lost the call: everything in the log is due again."""
        self.set_aside = [entry for entry in self.set_aside if last_seq_of(entry) < self.log.first_seq]
        self.written_seq = self.swept_seq = 0
        self.known = False
        self.info_due = self.audio_due = True

    def is_due(self) -> bool:
        """Whether data of the call waits to be written."""
        return not self.gone and (self.info_due or self.log.last_seq > self.written_seq)
