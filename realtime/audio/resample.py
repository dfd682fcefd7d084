"""Streaming conversion between sample rates."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

LARGEST_TERM = 640
"""The largest term of the reduced ratio of two rates: 441:640 (11.025 to 16 kHz) is the largest of common rates."""

_INT16 = np.dtype("<i2")
_ROUND = np.array(1.5 * 2.0**52)
"""Adding it leaves no bits for a fraction: the lowest bits are then the rounded number (IEEE 754)."""
_LOWEST, _HIGHEST = np.array(-32_768.0), np.array(32_767.0)
"""Arrays, which numpy compares faster than numbers."""
_REACH = 16
"""Samples of the lower rate on each side of an output sample: 1 ms at 16 kHz is held back."""
_BETA = 7.86
"""Of the Kaiser window: 80 dB of attenuation beyond the transition."""
_CUTOFF = 0.9
"""The cutoff at half gain: a share of the lower rate's Nyquist frequency."""
_STEPS = 2.0**24
_MIN_BLOCK = 24
"""The fewest input samples per multiplication; fewer would cost more than they save in delay."""
_MAX_KEPT_BYTES = 16_384
"""The largest prepared workspace: chunks of up to 170 ms at 48 kHz."""
_MAX_WORKSPACES = 16
"""Workspaces that a filter keeps per thread: clients send chunks of few sizes."""

Matrix = NDArray[np.float64]


class Resampler:
    """Converts pcm16 from *in_hz* to *out_hz*; the filter spans chunks, so that their edges are inaudible.

    The bytes are the same for any division of the input and on every machine. Output sample n is at the time of input
    sample n * in_hz / out_hz. `_REACH` samples of the lower rate and less than one block are held back: 2 ms from 16 to
    24 kHz in chunks of whole 10 ms, 3 ms the other way, 10 ms from 44.1 to 16 kHz, 40 ms from 11.025. Equal rates pass
    through unchanged. A stream keeps less than a block and twice the reach: about 0.1 kB.

    It replaces `soxr`, which holds back 20 ms and takes twice the time in small chunks (docs/decisions.md).

    Raises ValueError unless both rates are positive, and for a ratio with a term beyond `LARGEST_TERM`.
    """

    __slots__ = ("_filter", "_in_hz", "_kept", "_n_in", "_out_hz")

    def __init__(self, in_hz: int, out_hz: int) -> None:
        if in_hz <= 0 or out_hz <= 0:
            raise ValueError(f"Sample rates have to be positive, not {in_hz} and {out_hz} Hz.")
        self._in_hz = in_hz
        self._out_hz = out_hz
        self._filter = _filter(in_hz, out_hz) if in_hz != out_hz else None
        self._kept = b""
        self._n_in = 0
        self.clear()

    def push(self, pcm: bytes) -> bytes:
        """Add audio; returns the converted audio so far. Raises ValueError for half a sample."""
        if len(pcm) & 1:
            raise ValueError("The size of pcm16 has to be an even number of bytes.")
        if self._filter is None:
            return pcm
        self._n_in += len(pcm) >> 1
        kept = self._kept
        n_bytes = len(kept) + len(pcm)
        space = self._filter.workspaces.by_size.get(n_bytes) or self._filter.workspace(n_bytes)
        space.pcm[: len(kept)] = kept
        space.pcm[len(kept) :] = pcm
        self._kept = bytes(space.pcm[space.taken_bytes :])
        space.windows[...] = space.windows_of_pcm
        out = space.windows.dot(self._filter.matrix, space.out)
        out.clip(_LOWEST, _HIGHEST, out)
        np.add(out, _ROUND, out)
        return space.lowest_bits.tobytes()

    def flush(self) -> bytes:
        """Return the audio held back; the next push begins a new stream."""
        if self._filter is None or not self._n_in:
            return b""
        n_taken = self._n_in + self._filter.reach - len(self._kept) // 2
        missing = -(-self._n_in * self._out_hz // self._in_hz) - n_taken * self._out_hz // self._in_hz
        silence = bytes(2 * (self._filter.reach + self._filter.block))
        tail = self.push(silence)[: 2 * missing]
        self.clear()
        return tail

    def clear(self) -> None:
        """Drop the audio held back, as after an interruption; the next push begins a new stream."""
        self._kept = bytes(2 * self._filter.reach) if self._filter is not None else b""
        """The end of earlier chunks that later output needs: less than `block` and twice `reach` samples."""
        self._n_in = 0


def resampled(pcm: bytes, in_hz: int, out_hz: int) -> bytes:
    """Return a whole piece of audio at another rate."""
    if in_hz == out_hz:
        return pcm
    resampler = Resampler(in_hz, out_hz)
    return resampler.push(pcm) + resampler.flush()


class _Workspace:
    """Memory for one size of chunk; shared by a thread's streams to stay in the processor's cache."""

    __slots__ = ("lowest_bits", "out", "pcm", "taken_bytes", "windows", "windows_of_pcm")

    def __init__(self, wanted: _Filter, n_samples: int) -> None:
        n_blocks = max(0, n_samples - 2 * wanted.reach) // wanted.block
        n_weights, n_out = wanted.matrix.shape
        self.taken_bytes = 2 * n_blocks * wanted.block
        self.pcm = memoryview(bytearray(2 * n_samples))
        samples = np.frombuffer(self.pcm, _INT16)
        step = _INT16.itemsize
        self.windows_of_pcm = as_strided(samples, (n_blocks, n_weights), (wanted.block * step, step))
        self.windows: Matrix = np.empty((n_blocks, n_weights))
        self.out: Matrix = np.empty((n_blocks, n_out))
        self.lowest_bits = self.out.view(_INT16)[:, :: self.out.itemsize // step]
        """The rounded output as pcm16, on a little-endian machine."""


class _Workspaces(threading.local):
    """The workspaces of one filter in this thread."""

    def __init__(self) -> None:
        self.by_size: dict[int, _Workspace] = {}


@dataclass(frozen=True, slots=True)
class _Filter:
    """Converts `block` input samples with `reach` samples on each side."""

    reach: int
    block: int
    matrix: Matrix
    workspaces: _Workspaces = field(default_factory=_Workspaces)

    def workspace(self, n_bytes: int) -> _Workspace:
        """Make a workspace for this size of chunk; kept if such chunks are likely to recur."""
        made = _Workspace(self, n_bytes // 2)
        if n_bytes <= _MAX_KEPT_BYTES:
            if len(self.workspaces.by_size) >= _MAX_WORKSPACES:
                self.workspaces.by_size.clear()
            self.workspaces.by_size[n_bytes] = made
        return made


@functools.lru_cache(maxsize=32)
def _filter(in_hz: int, out_hz: int) -> _Filter:
    """Make a Kaiser-windowed sinc: one column per output sample of a block.

    The weights are multiples of 2^-24, so that no sum of their products with pcm16 is rounded, in any order of
    addition.
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
    """Return the input samples per block: whole steps, and if possible whole blocks in 10 ms."""
    ten_ms = in_hz // 100
    fitting = [n for n in range(step, ten_ms + 1, step) if ten_ms % n == 0 and n >= _MIN_BLOCK]
    return fitting[0] if fitting else step * math.ceil(_MIN_BLOCK / step)
