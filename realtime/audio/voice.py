"""The live voice of a human in a room. It is not stored: a listener who misses it cannot get it again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.resample import Resampler
from realtime.audio.unplayed import Chunk
from realtime.event.base import AudioFormat
from realtime.event.server import AgentResponseAudioDeltaEvent

QUIET_PEAK = 32
"""60 dB below full scale: quieter audio counts as silence."""
HANGOVER_MS = 300
"""Silence of this length still belongs to the speech before it."""
MOST_AHEAD_MS = 1_000
"""How far a client may send ahead of real time; the excess is dropped."""

_VOICE = ".voice"
_INT16 = np.dtype("<i2")


def is_voice(item_id: str) -> bool:
    """Whether the item is (part of) the live voice of a human."""
    return _VOICE in item_id


@dataclass(slots=True)
class _Converted:
    """The voice at one rate."""

    resampler: Resampler
    format: AudioFormat
    number: int = 0
    """The number of the last converted chunk."""
    pcm: bytes = b""
    start: int = 0
    """Where it begins, in samples passed on before."""


class Voice:
    """The voice of one human, chunk by chunk; converted once per rate for any number of listeners.

    `name` is the human's current name. For clients the voice is an item without a response, `<participant id>.voice`.
    """

    def __init__(self, participant_id: str, name: str = "") -> None:
        self.participant_id = participant_id
        self.name = name
        self.item_id = participant_id + _VOICE
        self.dropped_bytes = 0
        """The audio dropped because it came too fast."""
        self._pcm = b""
        self._rate_hz = 0
        self._number = 0
        self._quiet_ms = float(HANGOVER_MS)
        self._ahead_ms = 0.0
        self._at = 0.0
        self._converted: dict[int, _Converted] = {}

    def push(self, pcm: bytes, rate_hz: int, now: float) -> bool:
        """Take the next chunk; returns False for silence and for audio too far ahead of time."""
        if not pcm:
            return False
        length_ms = len(pcm) * 1000 / (SAMPLE_BYTES * rate_hz)
        self._ahead_ms = max(0.0, self._ahead_ms - (now - self._at) * 1000)
        self._at = now
        if self._ahead_ms > MOST_AHEAD_MS:
            self.dropped_bytes += len(pcm)
            return False
        self._ahead_ms += length_ms
        samples = np.frombuffer(pcm, _INT16)
        if samples.max() > QUIET_PEAK or samples.min() < -QUIET_PEAK:
            self._quiet_ms = 0.0
        elif self._quiet_ms < HANGOVER_MS:
            self._quiet_ms += length_ms
        else:
            return False
        if rate_hz != self._rate_hz:
            before, self._converted = self._converted, {}
            self._rate_hz = rate_hz
            for out_hz, one in before.items():
                # The position in the voice continues.
                self._to(out_hz).start = one.start + len(one.pcm) // SAMPLE_BYTES
        self._pcm = pcm
        self._number += 1
        return True

    def chunk(self, rate_hz: int, ts_ms: int) -> Chunk:
        """Return the chunk at this rate as an event outside the log; perhaps empty."""
        one = self._converted.get(rate_hz) or self._to(rate_hz)
        if one.number != self._number:
            if one.number != self._number - 1:
                one.resampler.clear()  # no listener took the chunks in between
            one.number = self._number
            one.start += len(one.pcm) // SAMPLE_BYTES
            one.pcm = one.resampler.push(self._pcm)
        event = AgentResponseAudioDeltaEvent(
            response_id="",
            item_id=self.item_id,
            delta=one.pcm,
            format=one.format,
            agent_id=self.participant_id,
            agent_name=self.name,
            ts_ms=ts_ms,
        )
        return Chunk(event, one.start)

    def _to(self, rate_hz: int) -> _Converted:
        one = self._converted[rate_hz] = _Converted(Resampler(self._rate_hz, rate_hz), AudioFormat.pcm16(rate_hz))
        return one
