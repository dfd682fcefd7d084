"""G.711, the 8 kHz telephony audio of OpenAI realtime clients: `audio/pcmu` and `audio/pcma`.

One byte per sample. libsndfile knows both laws; its tables are asked for once per law.
"""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from realtime.audio.resample import Resampler

RATE_HZ = 8_000
SUBTYPES = {"audio/pcmu": "ULAW", "audio/pcma": "ALAW"}


@functools.cache
def _tables(law: str) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Of a law: the sample of each byte, and the byte of each sample (by its bits as an unsigned number)."""
    raw: dict[str, Any] = {"samplerate": RATE_HZ, "format": "RAW", "subtype": SUBTYPES[law]}
    samples, _ = soundfile.read(io.BytesIO(bytes(range(256))), dtype="int16", channels=1, **raw)
    written = io.BytesIO()
    soundfile.write(written, np.arange(65_536, dtype=np.uint16).view(np.int16), **raw)
    return samples.astype("<i2"), np.frombuffer(written.getvalue(), np.uint8)


def decode(encoded: bytes, law: str) -> bytes:
    """pcm16 at 8 kHz."""
    samples: NDArray[np.int16] = _tables(law)[0][np.frombuffer(encoded, np.uint8)]
    return samples.tobytes()


class Encoder:
    """Resamples and encodes pcm16 of one response at `rate_hz`. Any cutting of the input gives the same bytes."""

    def __init__(self, rate_hz: int, law: str) -> None:
        self._resampler = Resampler(rate_hz, RATE_HZ)
        self._bytes = _tables(law)[1]

    def push(self, pcm: bytes) -> bytes:
        """The bytes that are complete by now."""
        return self._encoded(self._resampler.push(pcm))

    def flush(self) -> bytes:
        """The rest."""
        return self._encoded(self._resampler.flush())

    def _encoded(self, pcm: bytes) -> bytes:
        encoded: NDArray[np.uint8] = self._bytes[np.frombuffer(pcm, "<u2")]
        return encoded.tobytes()
