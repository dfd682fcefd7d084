"""Remove the echo of played audio, and leave the user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from realtime.audio.far_end import FarEnd
from realtime.audio.pcm import from_float32, to_float32
from realtime.audio.resample import Resampler

BLOCKS_PER_S = 31.25
"""Blocks of 32 ms: half as many as of 16 cost half as much, and the echo is as quiet."""
PARTS = 16
"""Blocks of the echo path: 512 ms hold the longest way through the client, and a room."""
_KEPT = 0.999
"""How much of the known path holds in the next block: rooms change slowly."""
_FIRST_VARIANCE = 0.1
"""Uncertainty of the path at first, as a power gain."""
_SMOOTH = 0.5
"""Share of the past in the spectrum of what is no echo."""
_FIRST_REST = 100.0
"""That spectrum before anything is known: the first blocks change little."""
_TINY = 1e-3

Samples = NDArray[np.float32]
Spectrum = NDArray[np.complex64]


class EchoFilter:
    """Estimates the path from loudspeaker to microphone, and subtracts the echo.

    A Kalman filter per frequency, in blocks (Enzner and Vary, "Frequency-domain adaptive Kalman filter for acoustic
    echo control", 2006; the path in parts). It learns slowly while a user talks, whom it leaves as they are.
    """

    def __init__(self, block: int) -> None:
        self.block = block
        n_bins = block + 1
        self._played = np.zeros(2 * block, np.float32)
        self._spectra: Spectrum = np.zeros((PARTS, n_bins), np.complex64)
        """Of the newest played blocks, the newest first."""
        self._powers = np.zeros((PARTS, n_bins), np.float32)
        """Of these."""
        self._silent_blocks = 0
        self._path: Spectrum = np.zeros((PARTS, n_bins), np.complex64)
        self._variance = np.full((PARTS, n_bins), _FIRST_VARIANCE, np.float32)
        self._rest = np.full(n_bins, _FIRST_REST, np.float32)

    def subtract(self, near: Samples, far: Samples) -> Samples:
        """Take a block of the microphone and of what is played; return the first without the second's echo."""
        self._silent_blocks = 0 if far.any() else self._silent_blocks + 1
        if self._silent_blocks > PARTS + 1:
            return near  # nothing was played for as long as the path remembers: nothing comes back
        size = self.block
        self._played = np.concatenate([self._played[size:], far])
        newest = np.fft.rfft(self._played)[None].astype(np.complex64)
        self._spectra = np.concatenate([newest, self._spectra[:-1]])
        self._powers = np.concatenate([_power(newest), self._powers[:-1]])
        self._variance *= np.float32(_KEPT**2)
        self._variance += np.float32(1 - _KEPT**2) * _power(self._path)
        self._path *= np.float32(_KEPT)
        echo = np.fft.irfft((self._spectra * self._path).sum(0))[size:]
        left = near - echo.astype(np.float32)
        self._learn(left)
        return left

    def _learn(self, left: Samples) -> None:
        size = self.block
        error = np.fft.rfft(np.concatenate([np.zeros(size, np.float32), left])).astype(np.complex64)
        self._rest = _SMOOTH * self._rest + (1 - _SMOOTH) * _power(error)
        expected = np.einsum("ij,ij->j", self._powers, self._variance)
        gain = self._variance / (0.5 * expected + self._rest + _TINY)
        path = np.fft.irfft(self._path + gain * self._spectra.conj() * error)
        # A part is as long as a block: what stands behind it comes from the circular convolution.
        path[:, size:] = 0
        self._path = np.fft.rfft(path).astype(np.complex64)
        self._variance *= 1 - np.float32(0.5) * gain * self._powers


class EchoCanceller:
    """Removes what `far_end` plays from one microphone.

    It takes 32 ms at a time: up to as much is held back. It needs 2 s of echo until most of it is gone. Costs 0.4 % of
    a core at 16 kHz.
    """

    def __init__(self, far_end: Callable[[], FarEnd | None]) -> None:
        self._far_end = far_end
        self._rates_hz = (0, 0)
        self._near = bytearray()
        self._far = bytearray()

    def clean(self, pcm: bytes, rate_hz: int) -> bytes:
        """Take the microphone's next audio; return what is left of it, in whole blocks of 32 ms."""
        far_end = self._far_end()
        far_hz = far_end.rate_hz if far_end is not None else rate_hz
        if (rate_hz, far_hz) != self._rates_hz:
            self._begin(rate_hz, far_hz)
        self._near += pcm
        # As much as has come, not whole blocks: how the two lie to each other must not change.
        played = bytes(len(pcm) // 2 * far_hz // rate_hz * 2)
        self._far += self._resampler.push(far_end.follow(len(played) // 2) if far_end is not None else played)
        missing = len(self._near) - len(self._far)
        if missing > 0:
            # The filter of the resampler holds some ms back: from here on the far end is that much later.
            self._far[:0] = bytes(missing)
        block_bytes = self._filter.block * 2
        n_bytes = len(self._near) // block_bytes * block_bytes
        if not n_bytes:
            return b""
        near, far = _taken(self._near, n_bytes), _taken(self._far, n_bytes)
        heard, source = to_float32(near), to_float32(far)
        step = self._filter.block
        left = [self._filter.subtract(heard[at:][:step], source[at:][:step]) for at in range(0, len(heard), step)]
        return from_float32(np.concatenate(left))

    def _begin(self, rate_hz: int, far_hz: int) -> None:
        self._rates_hz = (rate_hz, far_hz)
        self._filter = EchoFilter(round(rate_hz / BLOCKS_PER_S))
        self._resampler = Resampler(far_hz, rate_hz)
        self._near.clear()
        self._far.clear()


def _power(spectrum: NDArray[np.complexfloating]) -> Samples:
    return np.asarray(spectrum.real**2 + spectrum.imag**2, np.float32)


def _taken(kept: bytearray, n_bytes: int) -> bytes:
    taken = bytes(kept[:n_bytes])
    del kept[:n_bytes]
    return taken
