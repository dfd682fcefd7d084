"""The live voice of a human in a room, for those who hear it. Nobody keeps it: what is not heard at once is gone."""

from __future__ import annotations

import numpy as np

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.resample import Resampler
from realtime.audio.unplayed import Chunk
from realtime.event.base import AudioFormat
from realtime.event.server import AgentResponseAudioDeltaEvent

QUIET_PEAK = 32
"""60 dB below full scale: whoever is this quiet is not heard."""
HANGOVER_MS = 300
"""So much quiet still belongs to what was said before."""
MOST_AHEAD_MS = 1_000
"""A client that sends faster than it can speak is heard this far ahead of time, then not until time has caught up."""

_VOICE = ".voice"
_INT16 = np.dtype("<i2")


def is_voice(item_id: str) -> bool:
    """Whether an item that a client is told of is the live voice of a human, or a stretch of it."""
    return _VOICE in item_id


class _Converted:
    """The voice at one rate."""

    __slots__ = ("format", "number", "pcm", "resampler", "start")

    def __init__(self, in_hz: int, out_hz: int) -> None:
        self.resampler = Resampler(in_hz, out_hz)
        self.format = AudioFormat.pcm16(out_hz)
        self.number = 0
        """Which chunk of the voice was converted last."""
        self.pcm = b""
        self.start = 0
        """Where it begins, in samples that were heard before."""


class Voice:
    """What one human says, chunk by chunk, at each rate that somebody hears it at: converted once, however many hear.

    `name` is what they are called now. To clients it is an item of no response, called `<participant id>.voice`.
    """

    def __init__(self, participant_id: str, name: str = "") -> None:
        self.participant_id = participant_id
        self.name = name
        self.item_id = participant_id + _VOICE
        self.dropped_bytes = 0
        """Of what came too fast."""
        self._pcm = b""
        self._rate_hz = 0
        self._number = 0
        self._quiet_ms = float(HANGOVER_MS)
        self._ahead_ms = 0.0
        self._at = 0.0
        self._converted: dict[int, _Converted] = {}

    def push(self, pcm: bytes, rate_hz: int, now: float) -> bool:
        """The next chunk. False where there is nothing in it to hear: silence, or more than time allows."""
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
                # The place in the voice goes on.
                self._to(out_hz).start = one.start + len(one.pcm) // SAMPLE_BYTES
        self._pcm = pcm
        self._number += 1
        return True

    def chunk(self, rate_hz: int, ts_ms: int) -> Chunk:
        """The chunk at this rate, perhaps empty, as an event at this time of a call, outside its log."""
        one = self._converted.get(rate_hz) or self._to(rate_hz)
        if one.number != self._number:
            if one.number != self._number - 1:
                one.resampler.clear()  # what lies between was heard by nobody
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
        one = self._converted[rate_hz] = _Converted(self._rate_hz, rate_hz)
        return one
