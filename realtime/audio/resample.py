"""Streaming conversion between sample rates."""

from typing import Literal

import numpy as np
import soxr
from numpy.typing import NDArray

Quality = Literal["QQ", "LQ", "MQ", "HQ", "VHQ"]

_INT16 = np.dtype("<i2")
_INT32 = np.dtype("<i4")
_HALF = -32_768
"""The lower half of 0x8000: half a step of pcm16."""
_NOTHING: NDArray[np.int32] = np.zeros((0, 1), _INT32)


class Resampler:
    """pcm at *in_hz* to pcm at *out_hz*, its filter state carried across chunks, so that chunk edges are not heard.

    ``LQ`` holds back at most 20 ms between 16 and 24 kHz, where ``MQ`` and ``HQ`` hold 37 ms; between 8 and 16 kHz it
    is 60 ms against 117. Equal rates pass through untouched. The stream is made at the first push: a call that never
    speaks pays nothing.

    Raises ValueError for a rate that is not positive.
    """

    __slots__ = ("_halves", "_in_hz", "_out_hz", "_quality", "_stream", "_wide")

    def __init__(self, in_hz: int, out_hz: int, quality: Quality = "LQ") -> None:
        if in_hz <= 0 or out_hz <= 0:
            raise ValueError(f"Sample rates have to be positive, not {in_hz} and {out_hz} Hz.")
        self._in_hz = in_hz
        self._out_hz = out_hz
        self._quality = quality
        self._stream: soxr.ResampleStream | None = None
        # Each sample as two halves, and the same memory as wide samples. The lower halves stay as they are.
        self._halves: NDArray[np.int16] = np.zeros((0, 2), _INT16)
        self._wide: NDArray[np.int32] = _NOTHING

    def push(self, pcm: bytes) -> bytes:
        """What is ready of the converted stream, perhaps nothing. Raises ValueError for half a sample."""
        if self._in_hz == self._out_hz:
            if len(pcm) & 1:
                raise ValueError("The size of pcm16 has to be an even number of bytes.")
            return pcm
        samples = np.frombuffer(pcm, _INT16)
        stream = self._stream
        if stream is None:
            stream = self._stream = soxr.ResampleStream(self._in_hz, self._out_hz, 1, "int32", self._quality)
        if len(samples) != len(self._halves):
            self._halves = np.full((len(samples), 2), _HALF, _INT16)
            self._wide = self._halves.view(_INT32)
        self._halves[:, 1] = samples
        return _to_pcm(stream.resample_chunk(self._wide))

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


def _to_pcm(wide: NDArray[np.int32]) -> bytes:
    """The upper halves of samples that soxr has clamped; they are rounded, since half a step was added on the way in.

    Not left to soxr: its int16 output is dithered from the time of day, so no two runs of the same recording would be
    alike. Nor to floats: every operation of numpy costs several microseconds in a server whose caches are cold.
    """
    return wide.view(_INT16)[:, 1].tobytes()
