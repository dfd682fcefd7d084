"""The items of the reply to the last turn: how much of them was played, and the cut to that."""

from __future__ import annotations

from typing import Any

from realtime.agent.context import AgentContext
from realtime.agent.resumption import KeptSpeech, Played
from realtime.event.server import ServerEvent
from realtime.model import base
from realtime.state.truncation import Truncation, portion_played


class ReplyItems:
    """Items that reply to the last turn; cuts and withdraws them here, at the model and for every listener."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._ears = context.ears
        self._conversation = context.conversation
        self.spoken: dict[str, None] = {}
        """Spoken items in order, which can be cut."""
        self.written: dict[str, None] = {}
        """Written items in order, which cannot."""
        self._cut: set[str] = set()
        """Spoken items that the model was told to cut."""
        self._heard_ms: dict[str, int] | None = None
        """How much of each item was played when the call ended; None before that."""
        self.speech: KeptSpeech | None = None
        """Their speech, for a reply that may go on after a cut; None: it is not kept."""

    def clear(self) -> None:
        """What the model says from now on replies to something new."""
        self.spoken.clear()
        self.written.clear()
        self._cut.clear()
        if self.speech is not None:
            self.speech = KeptSpeech()

    def keep_speech(self, on: bool) -> None:
        """Keep the speech of the reply from now on, or none."""
        if on != (self.speech is not None):
            self.speech = KeptSpeech() if on else None

    def forget_speech(self) -> None:
        """Drop the speech that is kept: what is cut now never goes on."""
        if self.speech is not None:
            self.speech = KeptSpeech()

    def trim_speech(self) -> None:
        """Drop kept speech that was played."""
        if self.speech is not None:
            self.speech.trim(self._ears.played_ms, self._context.profile.output_rate_hz)

    def played_of(self, item_id: str) -> Played | None:
        """How much of an item of a cut reply was played; None for all of it."""
        if item_id not in self._conversation:
            return Played(0, 0)
        if not self._conversation.is_truncated(item_id):
            return None
        return Played(len(self._conversation.spoken_text(item_id)), self._ears.played_ms(item_id))

    def speak(self, item_id: str) -> None:
        """Add a spoken item."""
        self.spoken[item_id] = None

    def write(self, item_id: str) -> None:
        """Add a written item."""
        self.written[item_id] = None

    def played_ms(self) -> int:
        """How much of the spoken items was played."""
        return sum(self._ears.played_ms(item_id) for item_id in self.spoken)

    def playing(self) -> str | None:
        """The spoken item that is being played; None without one."""
        for item_id in self.spoken:
            if self._ears.played_ms(item_id) < int(self._conversation.audio_ms(item_id)):
                return item_id
        return next(reversed(self.spoken), None)

    @property
    def who(self) -> dict[str, Any]:
        """The fields of events that say whose reply it is."""
        return self._context.who

    def emit(self, event: ServerEvent) -> None:
        """Append an event to the call's log."""
        self._context.emit(event)

    def can_be_lowered(self) -> bool:
        """See `realtime.agent.interruptions.Reply`."""
        return self._ears.can_be_lowered()

    def unplayed_ms(self) -> int:
        """How much of the reply the user will still hear."""
        return self._ears.unplayed_ms()

    def played_text(self, item_id: str, ahead_ms: int = 0) -> str:
        """The words of an item played by now, or in `ahead_ms`; "" for an unknown one."""
        return self._conversation.played_text(item_id, self._ears.played_ms(item_id) + ahead_ms)

    def addressed(self, words: str, position_ms: int) -> bool | None:
        """Unknown: a call has no other participants."""
        return None

    def forget_piece(self, piece_id: str) -> None:
        """Delete, at the model, a voice that asked for nothing."""
        if self._context.profile.supports_item_delete:
            self._context.send(base.ItemDelete(piece_id))

    @property
    def is_known(self) -> bool:
        """Whether any of them is in the conversation."""
        return any(item_id in self._conversation for item_id in (*self.spoken, *self.written))

    def is_said(self, item_id: str) -> bool:
        """Whether all of the item has arrived."""
        return self._conversation.audio_is_complete(item_id) or item_id in self.written

    def is_settled(self, item_id: str) -> bool:
        """Whether the item was played to its end or cut; True for items of other replies."""
        return (
            item_id not in self.spoken
            or self._conversation.is_truncated(item_id)
            or portion_played(self._ears.played_ms(item_id), self._conversation.audio_ms(item_id)) == "all"
        )

    def withdraw_all(self) -> None:
        """Delete every item of the reply."""
        for item_id in (*self.spoken, *self.written):
            self.withdraw(item_id)

    def withdraw(self, item_id: str) -> None:
        """Delete the item, here and at the model; does nothing for an unknown id."""
        if item_id in self._conversation:
            self._forget(item_id)
            self._context.delete_item(item_id)

    def _forget(self, item_id: str) -> None:
        """Let the model forget the item."""
        if self._context.profile.supports_item_delete:
            self._context.send(base.ItemDelete(item_id))
        elif self._context.profile.supports_truncation:
            self._context.send(base.ItemTruncate(item_id, 0, ""))

    def cut_to_played(self, item_ids: list[str]) -> dict[str, int]:
        """Cut each item to what was played; return where each was cut, in ms.

        Items of which nothing was played are deleted.
        """
        cuts_ms: dict[str, int] = {}
        for item_id in item_ids:
            played_ms = self._ears.played_ms(item_id)
            portion = portion_played(played_ms, self._conversation.audio_ms(item_id))
            if portion == "none":
                self.withdraw(item_id)
            elif portion == "part":
                cuts_ms[item_id] = played_ms
                self.cut(item_id, played_ms)
        return cuts_ms

    def end(self) -> None:
        """The call is over: nothing more is heard of the reply from now on."""
        if self._heard_ms is None:
            self._heard_ms = {item_id: self._ears.played_ms(item_id) for item_id in self.spoken}

    def tell_heard(self) -> None:
        """Tell the model what was heard of an unfinished reply.

        A model may remember calls. The log has it already: it tells what was played.
        """
        for item_id in self.spoken:
            if item_id not in self._conversation or item_id in self._cut:
                continue
            heard_ms = self._ears.played_ms(item_id) if self._heard_ms is None else self._heard_ms.get(item_id, 0)
            words = self._conversation.played_text(item_id, heard_ms)
            if self._conversation.is_truncated(item_id):
                words = self._conversation.spoken_text(item_id)
            elif portion_played(heard_ms, self._conversation.audio_ms(item_id)) == "all":
                continue
            if words and self._context.profile.supports_truncation:
                self._context.send(base.ItemTruncate(item_id, heard_ms, words))
            elif not words:
                self._forget(item_id)

    def correct(self, cuts_ms: dict[str, int]) -> None:
        """Move cuts here to what a late client reports; the model has thrown away what was cut off."""
        for item_id, cut_ms in cuts_ms.items():
            played_ms = self._ears.played_ms(item_id)
            if played_ms != cut_ms and item_id in self._conversation:
                cuts_ms[item_id] = played_ms
                self._tell_cut(item_id, self._conversation.truncate(item_id, played_ms, anew=True))

    def cut(self, item_id: str, played_ms: int) -> None:
        """Cut the item to this much audio: here, at the model and for listeners."""
        cut = self._conversation.truncate(item_id, played_ms)
        self._cut.add(item_id)
        if self._context.profile.supports_truncation:
            self._context.send(base.ItemTruncate(item_id, cut.audio_end_ms, cut.transcript))
        self._tell_cut(item_id, cut)

    def _tell_cut(self, item_id: str, cut: Truncation) -> None:
        self._context.emit(cut.event(item_id, **self._context.who))
