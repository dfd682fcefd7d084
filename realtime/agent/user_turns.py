"""The user's spoken turns: which pieces of audio belong to which turn, and their words."""

from __future__ import annotations

from typing import assert_never

import msgspec

from realtime.agent.context import AgentContext
from realtime.agent.replay_buffer import ReplayBuffer, SpeechPiece
from realtime.agent.user_turn import UserTurn
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, Item

KEPT_USER_TURNS = 64
"""Turns whose transcripts may still arrive."""

TranscriptionEvent = (
    m.ModelInputTranscriptionDeltaEvent | m.ModelInputTranscriptionDoneEvent | m.ModelInputTranscriptionFailedEvent
)


class UserTurns:
    """Follows what the model reports of the user's speech."""

    def __init__(self, context: AgentContext, replay: ReplayBuffer) -> None:
        self._context = context
        self._conversation = context.conversation
        self._replay = replay
        self._by_piece: dict[str, UserTurn] = {}
        self.current: UserTurn | None = None
        self.commits: list[SpeechPiece] = []
        """What we ended and the model has not named yet, in order."""
        self.user_name: str | None = None
        """Name of the user, on every item of theirs."""

    def label_of(self, item_id: str) -> str | None:
        """Return the `event_id` of the client's commit that ended this turn; None if unknown."""
        return next((turn.label for turn in self._by_piece.values() if turn.item_id == item_id), None)

    def labelled(self, label: str) -> UserTurn | None:
        """Return the turn that the client's commit with this `event_id` ended."""
        return next((turn for turn in self._by_piece.values() if turn.label == label), None)

    def begin(self, piece_id: str, *, goes_on: bool) -> UserTurn:
        """Return the turn of a voice that begins; `goes_on` if it continues the current turn."""
        turn = self.current
        if turn is None or not goes_on:
            turn = self.current = UserTurn(piece_id)
        self.remember(turn, piece_id)
        return turn

    def remember(self, turn: UserTurn, piece_id: str) -> None:
        """Note that the piece belongs to the turn."""
        turn.add(piece_id)
        self._by_piece[piece_id] = turn
        while len(self._by_piece) > KEPT_USER_TURNS:
            del self._by_piece[next(iter(self._by_piece))]

    def turn_of(self, piece_id: str) -> UserTurn:
        """Return the turn of an input item, even without a reported start."""
        turn = self._by_piece.get(piece_id)
        if turn is None:
            if self.commits:
                piece = self.commits.pop(0)
            else:
                piece = self._replay.taken_up(piece_id) or self._replay.end_piece(committed=False)
            if piece.turn is None:
                piece.turn = self.current = UserTurn(piece_id)
            turn, piece.piece_id = piece.turn, piece_id
            turn.label, turn.end_ms = piece.label, piece.end_ms
            self.remember(turn, piece_id)
        return turn

    def tell_end(self, end_ms: int) -> None:
        """Report where the voice of the current turn ended."""
        item_id = self.current.item_id if self.current is not None else self._context.runtime.new_id("item")
        self._context.emit(s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=end_ms, **self._context.who))

    def commit(self, turn: UserTurn | None, *, label: str | None, end_ms: int | None) -> None:
        """End a piece here; the model names it later. Without a turn, it is one of its own."""
        stretch = self._replay.end_piece(turn, committed=True)
        stretch.label, stretch.end_ms = label, end_ms
        self.commits.append(stretch)

    def commit_refused(self) -> str | None:
        """The model takes the oldest open commit for empty; return the `event_id` of the client's."""
        return self.commits.pop(0).label if self.commits else None

    def committed(self, event: m.ModelInputCommittedEvent) -> None:
        """The model has made an item of a piece."""
        turn = self.turn_of(event.item_id)
        if turn.item_id in self._conversation:
            return
        words = ContentPart(type="audio", transcript=turn.transcript or None)
        self._context.add_item(Item(id=turn.item_id, role="user", name=self.user_name, content=(words,)))
        self._context.emit(
            s.AgentInputCommittedEvent(
                item_id=turn.item_id,
                previous_item_id=event.previous_item_id,
                audio_end_ms=turn.end_ms,
                **self._context.who,
            )
        )

    def transcribe(self, event: TranscriptionEvent) -> str | None:
        """The model reports words of a piece, or that it has none.

        Returns the words of the current turn once those of its last piece are settled; None before.
        """
        turn = self.turn_of(event.item_id)
        match event:
            case m.ModelInputTranscriptionDeltaEvent() if not event.delta and turn.has_words(event.item_id):
                return None  # a guess that comes too late
            case m.ModelInputTranscriptionDeltaEvent():
                delta = turn.caption(event.item_id, event.delta) if event.delta else ""
                if delta is not None:
                    self._context.forward(msgspec.structs.replace(event, item_id=turn.item_id, delta=delta))
                return None
            case m.ModelInputTranscriptionDoneEvent():
                transcript = turn.say(event.item_id, event.transcript)
                self._replay.settle(event.item_id)
                self._tell_words(turn, transcript, event)
            case m.ModelInputTranscriptionFailedEvent():
                self._replay.settle(event.item_id)
                self._context.forward(msgspec.structs.replace(event, item_id=turn.item_id))
            case _:
                assert_never(event)
        return turn.transcript if turn is self.current and turn.ends_with(event.item_id) else None

    def settle_words(self) -> None:
        """The model is gone: take the words reported so far as complete."""
        for turn in dict.fromkeys(self._by_piece.values()):
            if turn.is_unfinished:
                transcript = turn.finish()
                if turn.item_id not in self._conversation:
                    self._context.add_item(Item(id=turn.item_id, role="user", name=self.user_name))
                self._tell_words(turn, transcript)

    def _tell_words(
        self, turn: UserTurn, transcript: str, event: m.ModelInputTranscriptionDoneEvent | None = None
    ) -> None:
        """Report the words of the turn; `event` brought the last of them."""
        done = event or m.ModelInputTranscriptionDoneEvent(item_id=turn.item_id, transcript="")
        self._context.forward(msgspec.structs.replace(done, item_id=turn.item_id, transcript=transcript))
        if turn.item_id in self._conversation:
            self._conversation.set_transcript(turn.item_id, transcript)
            item = self._conversation.get(turn.item_id)
            if item is not None:
                self._context.item_done(item)
