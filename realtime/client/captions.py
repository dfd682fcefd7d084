"""The words of a call in step with its sound: what was heard, what is still to come, what was cut. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from realtime.client.ear import Ear
from realtime.event import server as s


@dataclass(frozen=True, slots=True)
class Caption:
    """What one turn says. `text` begins with `heard`; the rest is not heard yet, or never where `cut`."""

    item_id: str
    role: Literal["user", "assistant"]
    name: str
    text: str
    heard: str
    cut: bool = False
    """An interruption cut it: the rest of `text` will not be heard."""
    done: bool = False
    """Nothing of it will change by itself."""


@dataclass(slots=True)
class _Turn:
    role: Literal["user", "assistant"]
    name: str = ""
    text: str = ""
    guess: str = ""
    is_spoken: bool = False
    cut_to: str | None = None
    is_complete: bool = False
    seq: int = field(default=0)


class Captions:
    """Follows the events of a call; `ear` knows what was heard."""

    def __init__(self, ear: Ear) -> None:
        self._ear = ear
        self._turns: dict[str, _Turn] = {}

    def all(self, now: float) -> list[Caption]:
        """Return the captions at the loop's time `now`, in order."""
        return [self._caption(item_id, turn, now) for item_id, turn in self._turns.items() if turn.text or turn.guess]

    def rewind(self, seq: int) -> None:
        """Forget the turns that began after `seq`."""
        self._turns = {item_id: turn for item_id, turn in self._turns.items() if turn.seq <= seq}

    def take(self, event: s.ServerEvent) -> None:
        """Take the next event."""
        match event:
            case s.AgentInputStartedEvent():
                self._turn(event.item_id, "user", event.seq)
            case s.AgentInputTranscriptionDeltaEvent():
                turn = self._turn(event.item_id, "user", event.seq)
                turn.guess = event.delta if event.interim else ""
                turn.text += "" if event.interim else event.delta
            case s.AgentInputTranscriptionDoneEvent():
                turn = self._turn(event.item_id, "user", event.seq)
                turn.text, turn.guess, turn.is_complete = event.transcript, "", True
            case s.AgentInputTranscriptionFailedEvent() | s.AgentItemDeletedEvent():
                self._turns.pop(event.item_id, None)
            case s.AgentItemAddedEvent() if event.item.role == "user":
                turn = self._turn(event.item.id, "user", event.seq)
                turn.name = event.item.name or turn.name
                if event.item.text:
                    turn.text, turn.is_complete = event.item.text, True
            case s.AgentResponseAudioTranscriptDeltaEvent():
                turn = self._turn(event.item_id, "assistant", event.seq)
                turn.name, turn.is_spoken = event.agent_name, True
                turn.text += event.delta
            case s.AgentResponseTextDeltaEvent():
                turn = self._turn(event.item_id, "assistant", event.seq)
                turn.name = event.agent_name
                turn.text += event.delta
            case s.AgentResponseAudioTranscriptDoneEvent():
                turn = self._turn(event.item_id, "assistant", event.seq)
                if turn.cut_to is None and not turn.text.startswith(event.transcript):
                    turn.text, turn.is_spoken = event.transcript, True
            case s.AgentResponseTextDoneEvent():
                turn = self._turn(event.item_id, "assistant", event.seq)
                turn.text, turn.is_complete = event.text, True
            case s.AgentItemTruncatedEvent():
                cut = self._turns.get(event.item_id)
                if cut is not None:
                    cut.cut_to = event.transcript or ""
            case _:
                pass

    def _turn(self, item_id: str, role: Literal["user", "assistant"], seq: int) -> _Turn:
        turn = self._turns.get(item_id)
        if turn is None:
            turn = self._turns[item_id] = _Turn(role, seq=seq)
        return turn

    def _caption(self, item_id: str, turn: _Turn, now: float) -> Caption:
        text = turn.text + turn.guess
        heard, done, is_stopped = text, turn.is_complete, turn.cut_to is not None
        if turn.cut_to is not None:
            # What was heard is the beginning of the words, except where the server has corrected them.
            text = text if text.startswith(turn.cut_to) else turn.cut_to
            heard, done = turn.cut_to, True
        elif turn.is_spoken:
            speech = self._ear.speech[item_id]
            heard = speech.words.played_text(self._ear.position_ms(item_id, now))
            is_stopped = speech.flushed
            done = speech.flushed or (speech.complete and self._ear.is_rendered(speech))
            if speech.complete and done and not speech.flushed:
                heard = text
        is_cut = is_stopped and len(heard) < len(text)
        return Caption(item_id, turn.role, turn.name, text, heard, is_cut, done)
