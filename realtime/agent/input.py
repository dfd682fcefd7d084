"""The user's audio on its way to the model: whole samples, one timeline, the model's rate, and our detector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

from realtime.audio.echo_canceller import EchoCanceller
from realtime.audio.endpoint import EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.audio.pcm import PcmCarry
from realtime.audio.resample import Resampler
from realtime.call.participant import Ears
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event.config import Expectation

DETECTOR_RATE_HZ = 16_000
MAX_GAP_MS = 10_000
"""A longer gap in the client's audio is not filled: no client re-sends more, and hours of silence are an attack."""
PIECE_MS = 100
"""A detector gets long audio in pieces of this length: what it finds in one applies from there on, not from the end."""
LONG_APPEND_BYTES = 6_400
"""0.2 s at 16 kHz: detecting, resampling and passing on this much takes a millisecond or two."""
HELD_MS = 20_000
"""The most audio kept of an undecided voice over a reply."""
RAW_MS = 800
"""Audio kept as it came while an echo is removed from it."""
PRE_ROLL_MS = 600
"""Audio before detected speech that the model gets, for its soft start: 300 ms and the detector's delay."""
KEPT_MS = 800
"""Audio kept before detected speech: what a look for an echo takes."""


class LongAppendPiece(c.ClientAudioAppendEvent, frozen=True, kw_only=True, tag="client_audio_append"):
    """Part of a long append; the model gets it as it would get the whole, even over a link that is full."""


def pieces_of(event: c.ClientEvent) -> Iterator[c.ClientEvent]:
    """Yield the event; a long append in pieces, so that other calls are served between them."""
    if not isinstance(event, c.ClientAudioAppendEvent) or len(event.audio) <= LONG_APPEND_BYTES:
        yield event
        return
    for at in range(0, len(event.audio), LONG_APPEND_BYTES):
        is_first = at == 0
        yield LongAppendPiece(
            session_id=event.session_id,
            event_id=event.event_id if is_first else None,
            audio=event.audio[at : at + LONG_APPEND_BYTES],
            format=event.format,
            offset=None if event.offset is None else event.offset + at // 2,
            played_item_id=event.played_item_id if is_first else None,
            played_ms=event.played_ms if is_first else None,
        )


class Detector(Protocol):
    """Finds speech in pcm16 at 16 kHz, as `realtime.audio.endpoint.Endpoint` does."""

    def push(self, pcm: bytes) -> list[EndpointEvent]:
        """Take audio; return what it shows, in order."""
        ...

    def reset(self) -> None:
        """Forget the open turn; positions go on."""
        ...

    def finish(self) -> list[EndpointEvent]:
        """End the open turn: no more audio comes for now."""
        ...

    def alert_while(self, is_alert: Callable[[], bool]) -> None:
        """Begin a voice sooner while `is_alert`."""
        ...

    def wait_for(self, silence_ms: int, expect: Expectation | None = None) -> None:
        """Set the silence that ends turns; at least 1 ms. `expect` is the kind of answer."""
        ...


class AudioInput:
    """Audio stream of one client. Positions are in ms since its first sample."""

    def __init__(self, model_rate_hz: int, detector: Detector | None) -> None:
        self._model_hz = model_rate_hz
        self._detector = detector
        self._carry = PcmCarry()
        self._rate_hz = 0
        self._resampler: Resampler | None = None
        self._detector_resampler: Resampler | None = None
        self.received_samples = 0
        """Samples that have arrived in the call, at the client's rate."""
        self._position_ms = 0.0
        self._kept = bytearray()
        self._open = detector is None
        self._discards = False
        self._holds = False
        self._raw = bytearray()
        self.clean: Callable[[bytes, int], bytes] | None = None
        """Removes the echo from audio of a rate in Hz; None: the audio is taken as it is."""
        self.uncommitted_ms = 0.0
        """Audio sent to the model since the last commit."""
        self.skipped_ms = 0
        """Time without audio, which neither the model nor the detector has seen."""

    def remove_echo(self, ears: Ears, wanted: bool) -> bool:
        """Remove the echo of what is played, or leave it. Returns whether its removal begins."""
        if not wanted:
            self.clean = None
        elif self.clean is None:
            ears.keep_played_audio()
            self.clean = EchoCanceller(ears.far_end).clean
            return True
        return False

    def raw(self, ms: int) -> tuple[bytes, int]:
        """Return the newest audio, with its echo, and its rate in Hz.

        At most 0.8 s, and only while the echo is removed.
        """
        return bytes(self._raw[-ms * self._rate_hz // 1000 * 2 :]), self._rate_hz

    def go_on_from(self, before: AudioInput) -> None:
        """Go on where another input of the call has stopped: its positions and offsets are the call's."""
        heard_ms = self._position_ms
        self.received_samples, self._position_ms = before.received_samples, before._position_ms
        self.skipped_ms = int(before._position_ms - heard_ms)

    @property
    def position_ms(self) -> int:
        """How much audio has arrived since the call began, in ms."""
        return int(self._position_ms)

    def take(self, audio: bytes, rate_hz: int, offset: int | None) -> Iterator[tuple[bytes, list[EndpointEvent]]]:
        """Take audio of the client; yield what the model gets of each piece, and what the detector found.

        What the model gets is at its rate and may be empty. Open and close the gate before asking for the next piece.

        `offset` is where the audio begins, in samples since the call began: audio that has arrived before is dropped, a
        gap of up to 10 s is filled with silence. With a detector, the model gets only speech and the moment before it.
        Raises ClientError for a negative offset.
        """
        if rate_hz != self._rate_hz:
            self._change_rate(rate_hz)
        if offset is not None and offset != self.received_samples:
            audio = self._placed(audio, offset)
        return self._pieces(self._carry.push(audio), rate_hz)

    def _pieces(self, pcm: bytes, rate_hz: int) -> Iterator[tuple[bytes, list[EndpointEvent]]]:
        step = PIECE_MS * rate_hz // 1000 * 2
        if self._detector is None or len(pcm) <= step:
            if pcm:
                yield self._take(pcm, rate_hz)
            return
        for at in range(0, len(pcm), step):
            yield self._take(pcm[at : at + step], rate_hz)

    def _take(self, pcm: bytes, rate_hz: int) -> tuple[bytes, list[EndpointEvent]]:
        n_samples = len(pcm) // 2
        self.received_samples += n_samples
        length_ms = n_samples * 1000 / rate_hz
        self._position_ms += length_ms
        if self.clean is not None:
            self._raw += pcm
            del self._raw[: -RAW_MS * rate_hz // 1000 * 2]
            pcm = self.clean(pcm, rate_hz)
        for_model = self._resampler.push(pcm) if self._resampler is not None else pcm
        if self._detector is None:
            self.uncommitted_ms += length_ms
            return for_model, []
        resampler = self._detector_resampler
        found = self._detector.push(resampler.push(pcm) if resampler is not None else pcm)
        if found:
            found = self._counted(found)
        if self._open:
            self.uncommitted_ms += length_ms
            return for_model, found
        self._kept += for_model
        kept_ms = HELD_MS if self._holds else KEPT_MS
        surplus = len(self._kept) - kept_ms * self._model_hz // 1000 * 2
        if surplus > 0:
            del self._kept[:surplus]
        return b"", found

    def finish(self) -> list[EndpointEvent]:
        """Return what the detector makes of an open turn: the client has stopped sending."""
        return self._counted(self._detector.finish()) if self._detector is not None else []

    def _counted(self, found: list[EndpointEvent]) -> list[EndpointEvent]:
        """Return what belongs to turns that count, on the call's timeline."""
        if self._discards:
            end = next((at for at, one in enumerate(found) if isinstance(one, TurnEnded)), None)
            self._discards = end is None
            found = [] if end is None else found[end + 1 :]
        return [self._shifted(one) for one in found] if self.skipped_ms else found

    def _shifted(self, found: EndpointEvent) -> EndpointEvent:
        """Return the same on the timeline of the call: the detector counts the audio that it got."""
        match found:
            case SpeechStarted(start_ms=start_ms):
                return SpeechStarted(start_ms + self.skipped_ms)
            case SpeechPaused(end_ms=end_ms, pcm=pcm):
                return SpeechPaused(end_ms + self.skipped_ms, pcm)
            case TurnEnded(start_ms=start_ms, end_ms=end_ms):
                return replace(found, start_ms=start_ms + self.skipped_ms, end_ms=end_ms + self.skipped_ms)
            case SpeechResumed():
                return found

    def wait_for(self, silence_ms: int, expect: Expectation | None = None) -> None:
        """See `Detector.wait_for`."""
        if self._detector is not None:
            self._detector.wait_for(silence_ms, expect)

    def alert_while(self, is_alert: Callable[[], bool]) -> None:
        """Begin a voice sooner while `is_alert`; does nothing without a detector."""
        if self._detector is not None:
            self._detector.alert_while(is_alert)

    def end_turn(self) -> None:
        """End the turn without the detector: a voice that goes on begins a new one."""
        if self._detector is not None:
            self._detector.reset()
        self._discards = False
        self.close_gate()

    @property
    def is_open(self) -> bool:
        """Whether audio passes to the model as it arrives."""
        return self._open

    def hold(self, on: bool) -> None:
        """Keep all audio behind the closed gate, or only the newest."""
        if on and not self._holds:
            self._kept[:] = self.held(PRE_ROLL_MS)
        self._holds = on

    def held(self, ms: int) -> bytes:
        """Return the newest audio behind the closed gate, at most this much."""
        n_bytes = max(0, ms) * self._model_hz // 1000 * 2
        return bytes(self._kept[-n_bytes:]) if n_bytes else b""

    def open_gate(self, newest_ms: int | None = None) -> bytes:
        """Let audio pass from now on; return the moment before the speech, for the model.

        What is older than `newest_ms` is dropped; None: all that was held, or the pre-roll.
        """
        if newest_ms is None:
            newest_ms = HELD_MS if self._holds else PRE_ROLL_MS
        kept, self._kept = self.held(newest_ms), bytearray()
        self._open, self._holds = True, False
        self.uncommitted_ms += len(kept) / 2 * 1000 / self._model_hz
        return kept

    def close_gate(self) -> None:
        """The turn is over: with a detector, hold audio back until speech begins again."""
        self._open = self._detector is None
        self.uncommitted_ms = 0.0

    def flush(self) -> bytes:
        """Return what the change of rate still holds back: the turn ends here."""
        return self._resampler.flush() if self._resampler is not None else b""

    def clear(self) -> None:
        """Forget everything uncommitted; in the middle of speech, the rest of it as well."""
        self._discards = self._discards or (self._open and self._detector is not None)
        self.close_gate()
        self._kept.clear()
        self._carry.clear()

    def _change_rate(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._raw.clear()
        self._carry.clear()
        self._resampler = None if rate_hz == self._model_hz else Resampler(rate_hz, self._model_hz)
        if self._detector is not None and rate_hz != DETECTOR_RATE_HZ:
            self._detector_resampler = Resampler(rate_hz, DETECTOR_RATE_HZ)
        else:
            self._detector_resampler = None

    def _placed(self, audio: bytes, offset: int) -> bytes:
        if offset < 0:
            raise ClientError(f"audio offset {offset} is negative", code="invalid_audio_offset")
        ahead = offset - self.received_samples
        self._carry.clear()
        if ahead < 0:
            return audio[-ahead * 2 :]
        if self.received_samples and ahead * 1000 <= MAX_GAP_MS * self._rate_hz:
            return bytes(ahead * 2) + audio
        # A gap this long is not filled, nor the time before a call was resumed here; but the time has passed.
        self._position_ms += ahead * 1000 / self._rate_hz
        self.skipped_ms += ahead * 1000 // self._rate_hz
        self.received_samples = offset
        return audio
