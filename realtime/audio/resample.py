"""Streaming conversion between sample rates."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

LARGEST_TERM = 640
"""Of the ratio of two rates in lowest terms: 441:640 (11.025 to 16 kHz) is the largest of any two common rates."""

_INT16 = np.dtype("<i2")
_LOWEST, _HIGHEST = np.float64(-32_768), np.float64(32_767)
_REACH = 16
"""Samples of the lower rate, to each side, that an output sample is made of: 1 ms at 16 kHz is held back."""
_BETA = 7.86
"""Of the Kaiser window: what lies beyond the transition is damped by 80 dB."""
_CUTOFF = 0.9
"""Of the lower rate's highest frequency; there the filter is half way down."""
_STEPS = 2.0**24
_MIN_BLOCK = 24
"""Input samples that are multiplied at once, at least; fewer cost more than they hold back."""

Matrix = NDArray[np.float64]


class Resampler:
    """pcm16 at *in_hz* to pcm16 at *out_hz*, filtered across chunks, so that chunk edges are not heard.

    Any cutting of the input gives the same bytes, and every machine the same. Output sample n belongs to the moment of
    input sample n * in_hz / out_hz; of the input, `_REACH` samples of the lower rate are held back, and less than one
    block: 2 ms from 16 to 24 kHz in chunks of whole 10 ms, 3 ms the other way, 10 ms from 44.1 to 16 kHz, 40 ms from
    11.025. Equal rates pass through untouched. Memory is taken at the first push: who never speaks pays nothing.

    Own code where `soxr` would do, which holds back 20 ms and takes twice the time in small chunks (docs/decisions.md).

    Raises ValueError for a rate that is not positive, and for two whose ratio has a term beyond `LARGEST_TERM`.
    """

    __slots__ = (
        "_before",
        "_chunk_bytes",
        "_filter",
        "_in_hz",
        "_kept",
        "_n_in",
        "_n_out",
        "_new",
        "_out_hz",
        "_windows",
    )

    def __init__(self, in_hz: int, out_hz: int) -> None:
        if in_hz <= 0 or out_hz <= 0:
            raise ValueError(f"Sample rates have to be positive, not {in_hz} and {out_hz} Hz.")
        self._in_hz = in_hz
        self._out_hz = out_hz
        self._filter = _filter(in_hz, out_hz) if in_hz != out_hz else None
        self.clear()

    def push(self, pcm: bytes) -> bytes:
        """What is ready of the converted stream, perhaps nothing. Raises ValueError for half a sample."""
        if self._filter is None:
            if len(pcm) & 1:
                raise ValueError("The size of pcm16 has to be an even number of bytes.")
            return pcm
        new = np.frombuffer(pcm, _INT16)
        if len(pcm) == self._chunk_bytes:
            self._before[:] = self._kept
        else:
            self._make_room(self._filter, len(new))
        self._new[:] = new
        self._n_in += len(new)
        out = np.dot(self._windows, self._filter.matrix)
        self._n_out += out.size
        np.rint(out, out)
        out.clip(_LOWEST, _HIGHEST, out)
        converted: NDArray[np.int16] = out.astype(_INT16)
        return converted.tobytes()

    def flush(self) -> bytes:
        """What the filter still holds back; afterwards the next push begins a new stream."""
        if self._filter is None or not self._n_in:
            return b""
        missing = -(-self._n_in * self._out_hz // self._in_hz) - self._n_out
        silence = bytes(2 * (self._filter.reach + self._filter.block))
        tail = self.push(silence)[: 2 * missing]
        self.clear()
        return tail

    def clear(self) -> None:
        """Drop what is held back, as after an interruption; the next push begins a new stream."""
        reach = self._filter.reach if self._filter is not None else 0
        self._kept: Matrix = np.zeros(reach)
        """The samples of chunks before that later output needs."""
        self._chunk_bytes = -1
        """Chunks of this size find their memory ready, since as much is kept of each as was kept before it."""
        self._n_in = self._n_out = 0

    def _make_room(self, wanted: _Filter, n_new: int) -> None:
        n_before = len(self._kept)
        samples = np.empty(n_before + n_new)
        samples[:n_before] = self._kept
        n_blocks = max(0, len(samples) - 2 * wanted.reach) // wanted.block
        step = samples.itemsize
        self._windows = as_strided(samples, (n_blocks, len(wanted.matrix)), (wanted.block * step, step))
        self._before, self._new, self._kept = samples[:n_before], samples[n_before:], samples[n_blocks * wanted.block :]
        self._chunk_bytes = 2 * n_new if len(self._kept) == n_before else -1


@dataclass(frozen=True, slots=True)
class _Filter:
    """From `block` input samples, `reach` before them and `reach` behind them, the output samples of their time."""

    reach: int
    block: int
    matrix: Matrix


@functools.lru_cache(maxsize=32)
def _filter(in_hz: int, out_hz: int) -> _Filter:
    """A Kaiser-windowed sinc, one column for each output sample of a block.

    The weights are whole numbers of 2^-24, so that no sum of their products with pcm16 is ever rounded, in whatever
    order a machine adds them up.
    """
    common = math.gcd(in_hz, out_hz)
    n_in, n_out = in_hz // common, out_hz // common
    if max(n_in, n_out) > LARGEST_TERM:
        raise ValueError(f"Between {in_hz} and {out_hz} Hz nothing is converted: use one of the common rates.")
    block = _block(n_in, in_hz)
    lower_hz = min(in_hz, out_hz)
    reach = math.ceil(_REACH * in_hz / lower_hz)
    times = np.arange(-reach, block + reach)[:, None] - np.arange(block * n_out // n_in)[None, :] * (n_in / n_out)
    window = np.i0(_BETA * np.sqrt(np.clip(1 - (times / reach) ** 2, 0, None))) * (np.abs(times) <= reach)
    weights = np.sinc(_CUTOFF * lower_hz / in_hz * times) * window
    weights /= weights.sum(axis=0)
    return _Filter(reach, block, np.rint(weights * _STEPS) / _STEPS)


def _block(step: int, in_hz: int) -> int:
    """How many input samples to take at once: whole steps, and where possible so that 10 ms hold whole blocks."""
    ten_ms = in_hz // 100
    fitting = [n for n in range(step, ten_ms + 1, step) if ten_ms % n == 0 and n >= _MIN_BLOCK]
    return fitting[0] if fitting else step * math.ceil(_MIN_BLOCK / step)
