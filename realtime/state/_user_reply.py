"""The user's open reply; text blocks and event factory of all replies.

Pure cores of `realtime.state.replies`. The words that count are those that were played, which is known later than the
words themselves: so the end of a text waits until nothing can be taken off it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from realtime.event import reply as r
from realtime.message import FinishedReason

HASTY_MS = 1_500
"""How long after a turn's end the user may continue it.

`realtime.turn.machine`: 800 ms, and at most 500 ms until the voice is detected.
"""
TRANSCRIPT_TIMEOUT_MS = 30_000
"""How long a reply waits for its words."""


class Outlet:
    """Makes reply events: ids from the place in the log that causes them, times from its `ts_ms`."""

    def __init__(self, session_id: str, created_at_of: Callable[[int], str]) -> None:
        self.session_id = session_id
        self.seq = 0
        self.ts_ms = 0
        self._created_at_of = created_at_of
        self._count = 0
        self._events: list[r.AgentEvent] = []

    def at(self, seq: int, ts_ms: int) -> None:
        """Set the place in the log that causes the next events."""
        if seq != self.seq:
            self._count = 0
        self.seq, self.ts_ms = seq, ts_ms

    def emit(self, event: type[Any], reply_id: str, *, ts_ms: int | None = None, **fields: Any) -> None:
        """Emit an event; `ts_ms` for one about an earlier time."""
        created_at = self._created_at_of(self.ts_ms if ts_ms is None else ts_ms)
        self._events.append(
            event(id=f"ev_{self.seq}_{self._count}", created_at=created_at, reply_id=reply_id, **fields)
        )
        self._count += 1

    def take(self) -> list[r.AgentEvent]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events


class Text:
    """The words of one item as a text block: the first words to `end`."""

    def __init__(self, out: Outlet, reply_id: str, block_id: str) -> None:
        self.block_id = block_id
        self.cut = False
        self._out = out
        self._reply_id = reply_id
        self._sent: list[str] = []
        self._started = False
        self._whole: str | None = None

    @property
    def words(self) -> str:
        """The words so far, or those that stay after a correction."""
        return "".join(self._sent) if self._whole is None else self._whole

    def add(self, delta: str) -> None:
        """Append words; ignored after a truncation."""
        if self.cut or not delta:
            return
        self._start()
        self._out.emit(r.TextBlockDeltaEvent, self._reply_id, block_id=self.block_id, delta=delta)
        if self._whole is not None:
            self._whole += delta
        self._sent.append(delta)

    def settle(self, whole: str, *, may_grow: bool = True) -> None:
        """Set all words so far: emits the new ones, or else corrects the text at the end of the block."""
        if self.cut or whole == self.words:
            return
        sent = "".join(self._sent)
        if may_grow and self._whole is None and whole.startswith(sent):
            self.add(whole[len(sent) :])
        else:
            self._whole = whole

    def truncate(self, played: str) -> None:
        """Keep only these words, which were played."""
        self.cut, self._whole = True, played

    def end(self, ts_ms: int) -> None:
        """End the block, if there are words; with the whole text if it differs from the emitted words."""
        if not self._started:
            if not self.words:
                return
            self._start()
        sent = "".join(self._sent)
        text = self._whole if self.cut or self._whole not in (None, sent) else None
        self._out.emit(r.TextBlockEndEvent, self._reply_id, ts_ms=ts_ms, block_id=self.block_id, text=text)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._out.emit(r.TextBlockStartEvent, self._reply_id, block_id=self.block_id)


class UserReply:
    """A spoken turn of the user. It ends when its words are complete and the turn can no longer continue."""

    def __init__(self, out: Outlet, reply_id: str, item_id: str, name: str) -> None:
        self.reply_id = reply_id
        self.item_id = item_id
        self.text = Text(out, reply_id, item_id)
        self.committed = False
        self._out = out
        self._speaking = False
        self._spoken_pieces = 0
        self._pieces = 0
        self._transcribed = 0
        self._quiet_ms = out.ts_ms
        out.emit(r.ReplyStartEvent, reply_id, session_id=out.session_id, name=name, role="user")

    def speaks(self) -> None:
        """The voice begins, perhaps again after a short pause."""
        self._speaking = True
        self._spoken_pieces += 1
        self._pieces = max(self._pieces, self._spoken_pieces)

    def is_quiet(self) -> None:
        """The voice ends."""
        if self._speaking:
            self._speaking = False
            self._quiet_ms = self._out.ts_ms

    def commit(self) -> None:
        """The turn is committed."""
        self.committed = True
        self._pieces = max(self._pieces, 1)
        self.is_quiet()

    def transcribed(self, transcript: str | None) -> None:
        """Take the words of one piece, joined to all before it; None if recognition failed."""
        self._pieces = max(self._pieces, 1)
        self._transcribed += 1
        if transcript is not None:
            self.text.settle(transcript)

    def is_complete(self, ts_ms: int) -> bool:
        """Whether no more words are expected."""
        if self._speaking:
            return False
        if ts_ms > self._quiet_ms + TRANSCRIPT_TIMEOUT_MS:
            return True
        return self._transcribed >= self._pieces and (not self._spoken_pieces or ts_ms > self._quiet_ms + HASTY_MS)

    def end(self) -> None:
        """End the reply; without a committed turn it is `interrupted`."""
        reason: FinishedReason = "completed" if self.committed and not self.text.cut else "interrupted"
        self.text.end(self._out.ts_ms)
        self._out.emit(r.ReplyEndEvent, self.reply_id, session_id=self._out.session_id, finished_reason=reason)
