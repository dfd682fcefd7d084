"""Streaming conversion between sample rates."""

from typing import Literal

import numpy as np
import soxr
from numpy.typing import NDArray

Quality = Literal["QQ", "LQ", "MQ", "HQ", "VHQ"]

_INT16 = np.dtype("<i2")
_NOTHING: NDArray[np.float32] = np.zeros(0, np.float32)
_LOWEST = np.float32(-32768)
_HIGHEST = np.float32(32767)


class Resampler:
    """pcm at *in_hz* to pcm at *out_hz*, its filter state carried across chunks, so that chunk edges are not heard.

    ``LQ`` holds back at most 20 ms between 16 and 24 kHz, where ``MQ`` and ``HQ`` hold 37 ms; between 8 and 16 kHz it
    is 60 ms against 117. Equal rates pass through untouched. The stream is made at the first push: a call that never
    speaks pays nothing.

    Raises ValueError for a rate that is not positive.
    """

    __slots__ = ("_in_hz", "_out_hz", "_quality", "_stream")

    def __init__(self, in_hz: int, out_hz: int, quality: Quality = "LQ") -> None:
        if in_hz <= 0 or out_hz <= 0:
            raise ValueError(f"Sample rates have to be positive, not {in_hz} and {out_hz} Hz.")
        self._in_hz = in_hz
        self._out_hz = out_hz
        self._quality = quality
        self._stream: soxr.ResampleStream | None = None

    def push(self, pcm: bytes) -> bytes:
        """What is ready of the converted stream, perhaps nothing. Raises ValueError for half a sample."""
        if self._in_hz == self._out_hz:
            if len(pcm) & 1:
                raise ValueError("The size of pcm16 has to be an even number of bytes.")
            return pcm
        samples = np.frombuffer(pcm, _INT16)
        stream = self._stream
        if stream is None:
            stream = self._stream = soxr.ResampleStream(self._in_hz, self._out_hz, 1, "float32", self._quality)
        return _to_pcm(stream.resample_chunk(samples.astype(np.float32)))

    def flush(self) -> bytes:
        """What the filter still holds back; afterwards the next push begins a new stream."""
        if self._stream is None:
            return b""
        tail = _to_pcm(self._stream.resample_chunk(_NOTHING, last=True))
        self._stream.clear()
        return tail

    def clear(self) -> None:
        """Drop what is held back, as after an interruption; the next push begins a new stream."""
        if self._stream is not None:
            self._stream.clear()


def _to_pcm(samples: NDArray[np.float32]) -> bytes:
    """Rounded and clamped in place. Not left to soxr: its int16 output is dithered from the time of day, so no two runs
    of the same recording would be alike."""
    np.rint(samples, out=samples)
    np.minimum(samples, _HIGHEST, out=samples)
    np.maximum(samples, _LOWEST, out=samples)
    return samples.astype(_INT16).tobytes()
