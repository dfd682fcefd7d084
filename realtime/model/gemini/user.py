"""The user of a Gemini Live connection: the turns of the voice that the service hears, with our ids and positions."""

from __future__ import annotations

from collections.abc import Callable

from realtime.audio.pcm import ms_of
from realtime.event import model as m
from realtime.model.gemini import frames as wire
from realtime.model.gemini.settings import SessionSettings


class UserTurn:
    """An item of the user: perhaps with markers of its voice, then its words, then their end. Events go to `events`."""

    __slots__ = ("_held", "_language", "_start_ms", "_words", "committed", "ended", "item_id", "speaking")

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self.speaking = False
        """Started by the provider's detector and not stopped yet."""
        self.committed = False
        self.ended = False
        self._start_ms = 0
        self._words: list[str] = []
        self._held = ""
        self._language: str | None = None

    @property
    def has_words(self) -> bool:
        return bool(self._words)

    def start(self, at_ms: int, events: list[m.ModelEvent]) -> None:
        self.speaking = True
        self._start_ms = at_ms
        events.append(m.ModelInputStartedEvent(item_id=self.item_id, audio_start_ms=at_ms))

    def stop(self, at_ms: int, events: list[m.ModelEvent]) -> None:
        self.speaking = False
        events.append(m.ModelInputDoneEvent(item_id=self.item_id, audio_end_ms=max(at_ms, self._start_ms)))
        self.commit(events)

    def commit(self, events: list[m.ModelEvent]) -> None:
        self.committed = True
        events.append(m.ModelInputCommittedEvent(item_id=self.item_id))
        if self._held:
            events.append(m.ModelInputTranscriptionDeltaEvent(item_id=self.item_id, delta=self._held))
            self._held = ""

    def say(self, words: str, events: list[m.ModelEvent]) -> None:
        """Hold back words of an unannounced item until its commit."""
        self._words.append(words)
        if not (self.speaking or self.committed):
            self._held += words
            return
        events.append(m.ModelInputTranscriptionDeltaEvent(item_id=self.item_id, delta=words))

    def guess(self, words: str, events: list[m.ModelEvent]) -> None:
        """What the words that follow may be: each guess replaces the one before."""
        if self.speaking or self.committed:
            events.append(m.ModelInputTranscriptionDeltaEvent(item_id=self.item_id, delta="", interim=words))

    def note_language(self, code: str | None) -> None:
        """The words are in this language; `None` tells nothing."""
        self._language = code or self._language

    def end(self, events: list[m.ModelEvent], *, told: bool) -> None:
        """The words are complete. Only the first call counts. `told`: they were asked for."""
        if self.ended or not self.committed:
            return
        self.ended = True
        if told or self._words:
            transcript = "".join(self._words).strip()
            events.append(
                m.ModelInputTranscriptionDoneEvent(item_id=self.item_id, transcript=transcript, language=self._language)
            )


class User:
    """The turns of the user, one after the other. Events go to `events`."""

    __slots__ = ("_new_id", "_rate_hz", "_settings", "heard_bytes", "turn")

    def __init__(self, new_id: Callable[[str], str], rate_hz: int, settings: SessionSettings) -> None:
        self._new_id = new_id
        self._settings = settings
        self._rate_hz = rate_hz
        self.turn: UserTurn | None = None
        """The latest."""
        self.heard_bytes = 0
        """The audio sent so far."""

    @property
    def speaking(self) -> bool:
        """Whether the provider's detector hears a voice."""
        return self.turn is not None and self.turn.speaking

    def begin(self, events: list[m.ModelEvent]) -> UserTurn:
        """A new item; the words of the one before are complete with it."""
        self.end_words(events)
        self.turn = UserTurn(self._new_id("item"))
        return self.turn

    def commit(self, events: list[m.ModelEvent]) -> None:
        """The turn is over."""
        if self.turn is not None:
            self.turn.commit(events)

    def started(self, events: list[m.ModelEvent], at_ms: int | None = None) -> None:
        """The provider's detector noticed a voice: now, if the position is unknown."""
        if not (self._settings.is_manual or self.speaking):
            self.begin(events).start(self._position_ms() if at_ms is None else at_ms, events)

    def stopped(self, events: list[m.ModelEvent], at_ms: int | None = None) -> None:
        """The voice ended, now if the position is not known."""
        if self.turn is not None and self.turn.speaking:
            self.turn.stop(self._position_ms() if at_ms is None else at_ms, events)

    def marked(self, message: wire.Message, events: list[m.ModelEvent]) -> None:
        """Markers of the detector, which Vertex and some accounts have."""
        activity, signal = message.voice_activity, message.voice_activity_detection_signal
        at_ms = _read_offset_ms(activity.audio_offset) if activity is not None else None
        kind = (activity.voice_activity_type if activity is not None else None) or (
            signal.vad_signal_type if signal is not None else None
        )
        if kind in ("ACTIVITY_START", "VAD_SIGNAL_TYPE_SOS"):
            self.started(events, at_ms)
        elif kind in ("ACTIVITY_END", "VAD_SIGNAL_TYPE_EOS"):
            self.stopped(events, at_ms)

    def speaker(self, events: list[m.ModelEvent], *, answered: bool) -> UserTurn:
        """The turn that words arriving now belong to. While it is `answered` they are late."""
        if not answered and (self.turn is None or self.turn.ended):
            self.started(events)
        if self.turn is None or self.turn.ended:
            self.turn = UserTurn(self._new_id("item"))
            self.turn.commit(events)
        return self.turn

    def end_words(self, events: list[m.ModelEvent]) -> None:
        """Complete the words of the turn, unless its voice is still heard."""
        if self.turn is not None and not self.turn.speaking:
            self.turn.end(events, told=self._settings.transcribes)

    def _position_ms(self) -> int:
        return ms_of(self.heard_bytes, self._rate_hz)


def _read_offset_ms(duration: str | None) -> int | None:
    """A duration such as "1.250s" in ms; `None` for anything else."""
    try:
        return round(float((duration or "").removesuffix("s")) * 1000)
    except (ValueError, OverflowError):
        return None
