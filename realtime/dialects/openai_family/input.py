"""The user's side of a session: input audio buffer, detected turns and their words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from realtime.dialects.openai_family.client import EventRefusal
from realtime.dialects.openai_family.replies import MakeFrame
from realtime.event import server as s

MIN_COMMIT_MS = 100
KEPT_CLEARS = 64

Words = s.AgentInputTranscriptionDeltaEvent | s.AgentInputTranscriptionDoneEvent | s.AgentInputTranscriptionFailedEvent


class Input(ABC):
    """The input buffer, and the frames that say what became of it."""

    def __init__(self, frame: MakeFrame) -> None:
        self._frame = frame
        self.buffered_ms = 0.0
        """Audio that is not committed yet."""
        self.speaking = False
        """Whether the detector hears a voice."""
        self._clears: deque[float] = deque(maxlen=KEPT_CLEARS)
        """What the buffer held at each unanswered clear, in ms."""

    def commit(self, *, detects: bool) -> None:
        """End the turn. Raises EventRefusal if it is too short or a detector has ended it."""
        buffered_ms = 0.0 if detects and not self.speaking else round(self.buffered_ms, 3)
        if buffered_ms < MIN_COMMIT_MS:
            raise self._too_short(buffered_ms)
        # Audio appended from here on belongs to the next turn, though the model reports this one later.
        self.buffered_ms = 0.0

    def clear(self) -> None:
        """The client empties the buffer: what it appends from now on counts, whenever the call confirms that."""
        self._clears.append(self.buffered_ms)
        self.buffered_ms = 0.0

    def follow(self, event: s.ServerEvent, *, detects: bool) -> None:
        """Note what the next frame of the client may refer to."""
        match event:
            case s.AgentInputStartedEvent():
                self.speaking = True
            case s.AgentInputDoneEvent():
                self.speaking = False
            case s.AgentInputCommittedEvent() if not detects:
                self.speaking = False  # the client's own commit has emptied the buffer
            case s.AgentInputClearedEvent() if self._clears:
                self.speaking = False
                self._clears.popleft()
            case s.AgentInputCommittedEvent() | s.AgentInputClearedEvent():
                self.speaking = False
                self.buffered_ms = 0.0
            case s.AgentErrorEvent(code="unsupported_audio_clear") if self._clears:
                self.buffered_ms += self._clears.popleft()
            case _:
                pass

    def told(self, event: s.ServerEvent, *, transcribes: bool) -> list[str]:
        """The frames for an event of the user's voice; none for others.

        `transcribes`: the client wants the words. The model transcribes in any case, for the log of the call.
        """
        match event:
            case s.AgentInputStartedEvent(audio_start_ms=at_ms, item_id=item_id):
                return [self._frame("input_audio_buffer.speech_started", audio_start_ms=at_ms, item_id=item_id)]
            case s.AgentInputDoneEvent(audio_end_ms=at_ms, item_id=item_id):
                return [self._frame("input_audio_buffer.speech_stopped", audio_end_ms=at_ms, item_id=item_id)]
            case s.AgentInputCommittedEvent(item_id=item_id):
                return self._committed(item_id)
            case s.AgentInputClearedEvent():
                return [self._frame("input_audio_buffer.cleared")]
            case (
                s.AgentInputTranscriptionDeltaEvent()
                | s.AgentInputTranscriptionDoneEvent()
                | s.AgentInputTranscriptionFailedEvent()
            ):
                return self._transcribed(event) if transcribes else []
            case _:
                return []

    @abstractmethod
    def _too_short(self, buffered_ms: float) -> EventRefusal: ...

    @abstractmethod
    def _committed(self, item_id: str) -> list[str]: ...

    @abstractmethod
    def _transcribed(self, event: Words) -> list[str]: ...
