"""The user's audio on its way to the model: whole samples, one timeline, the model's rate, and our own detector."""

from __future__ import annotations

from typing import Protocol

from realtime.audio.endpoint import EndpointEvent
from realtime.audio.pcm import PcmCarry
from realtime.audio.resample import Resampler
from realtime.errors import ClientError

DETECTOR_RATE_HZ = 16_000
MAX_GAP_MS = 10_000
"""A longer hole in the client's audio is closed up: nobody re-sends more, and silence by the hour is an attack."""
PRE_ROLL_MS = 600
"""Kept before speech is noticed, so that its soft beginning reaches the model: 300 ms, and the detector's own delay."""


class Detector(Protocol):
    """Finds speech in pcm16 at 16 kHz; `realtime.audio.endpoint.Endpoint` is one."""

    def push(self, pcm: bytes) -> list[EndpointEvent]:
        """What the audio so far shows, in order."""
        ...


class AudioInput:
    """One client's audio stream. Positions are ms since its first sample."""

    __slots__ = (
        "_carry",
        "_detector",
        "_detector_resampler",
        "_kept",
        "_model_hz",
        "_open",
        "_position_ms",
        "_rate_hz",
        "_received",
        "_resampler",
        "uncommitted_ms",
    )

    def __init__(self, model_rate_hz: int, detector: Detector | None) -> None:
        self._model_hz = model_rate_hz
        self._detector = detector
        self._carry = PcmCarry()
        self._rate_hz = 0
        self._resampler: Resampler | None = None
        self._detector_resampler: Resampler | None = None
        self._received = 0
        self._position_ms = 0.0
        self._kept = bytearray()
        self._open = detector is None
        self.uncommitted_ms = 0.0
        """Audio handed to the model since the last commit."""

    @property
    def position_ms(self) -> int:
        """How much audio has arrived since the call began."""
        return int(self._position_ms)

    @property
    def received_samples(self) -> int:
        """How many samples, at the client's rate, have arrived since the call began."""
        return self._received

    def take(self, audio: bytes, rate_hz: int, offset: int | None) -> tuple[bytes, list[EndpointEvent]]:
        """The next audio of the client. Returns what the model gets now (its rate, maybe empty) and what the detector
        found.

        `offset` is where the audio begins, in samples since the call began: what is known already is dropped, a hole
        of up to 10 s is filled with silence. With a detector, the model gets only speech and the moment before it.
        Raises ClientError for a negative offset.
        """
        if rate_hz != self._rate_hz:
            self._change_rate(rate_hz)
        if offset is not None and offset != self._received:
            audio = self._placed(audio, offset)
        pcm = self._carry.push(audio)
        if not pcm:
            return b"", []
        n_samples = len(pcm) // 2
        self._received += n_samples
        length_ms = n_samples * 1000 / rate_hz
        self._position_ms += length_ms
        for_model = self._resampler.push(pcm) if self._resampler is not None else pcm
        if self._detector is None:
            self.uncommitted_ms += length_ms
            return for_model, []
        resampler = self._detector_resampler
        found = self._detector.push(resampler.push(pcm) if resampler is not None else pcm)
        if self._open:
            self.uncommitted_ms += length_ms
            return for_model, found
        self._kept += for_model
        surplus = len(self._kept) - PRE_ROLL_MS * self._model_hz // 1000 * 2
        if surplus > 0:
            del self._kept[:surplus]
        return b"", found

    def open_gate(self) -> bytes:
        """Speech began: the moment before it, for the model. From now on audio passes."""
        kept, self._kept = bytes(self._kept), bytearray()
        self._open = True
        self.uncommitted_ms += len(kept) / 2 * 1000 / self._model_hz
        return kept

    def close_gate(self) -> None:
        """The turn is over: with a detector, audio is held back until speech begins again."""
        self._open = self._detector is None
        self.uncommitted_ms = 0.0

    def flush(self) -> bytes:
        """What a change of rate still holds back, for the model: the turn ends here."""
        return self._resampler.flush() if self._resampler is not None else b""

    def clear(self) -> None:
        """The client wants everything not committed forgotten."""
        self.uncommitted_ms = 0.0
        self._kept.clear()
        self._carry.clear()

    def _change_rate(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._carry.clear()
        self._resampler = None if rate_hz == self._model_hz else Resampler(rate_hz, self._model_hz)
        if self._detector is not None and rate_hz != DETECTOR_RATE_HZ:
            self._detector_resampler = Resampler(rate_hz, DETECTOR_RATE_HZ)
        else:
            self._detector_resampler = None

    def _placed(self, audio: bytes, offset: int) -> bytes:
        if offset < 0:
            raise ClientError(f"audio offset {offset} is negative", code="invalid_audio_offset")
        ahead = offset - self._received
        self._carry.clear()
        if ahead < 0:
            return audio[-ahead * 2 :]
        if self._received and ahead * 1000 <= MAX_GAP_MS * self._rate_hz:
            return bytes(ahead * 2) + audio
        # A hole this long is not filled, nor what came before a call went on here; but it was time.
        self._position_ms += ahead * 1000 / self._rate_hz
        self._received = offset
        return audio
