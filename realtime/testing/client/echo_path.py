"""The way from a page's loudspeaker to its microphone: a delay and a room. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from realtime.audio.resample import Resampler
from realtime.testing.client.steps import INPUT_HZ, Loudspeaker

_SIXTY_DB = 6.9
"""Nepers in 60 dB."""
_DIRECT = 6.0
"""The direct sound, relative to the first reflections."""

Samples = NDArray[np.float64]


class EchoPath:
    """Turns what is played into what the microphone hears of it.

    Equal steps make equal paths.
    """

    def __init__(self, step: Loudspeaker, played_hz: int) -> None:
        count = max(1, INPUT_HZ * step.decay_ms // 1000)
        room = np.random.default_rng(step.seed).standard_normal(count)
        room *= np.exp(-_SIXTY_DB * np.arange(count) / count)
        room[0] = _DIRECT
        room *= 10 ** (step.level_db / 20) / np.sqrt(np.dot(room, room))
        self._path = np.concatenate([np.zeros(INPUT_HZ * step.delay_ms // 1000), room])
        self._resampler = Resampler(played_hz, INPUT_HZ)
        self._played = np.zeros(len(self._path))
        self._lag = 0
        """Samples by which the resampler is behind: less than the delay."""

    def next_frame(self, played: bytes, length: int) -> Samples:
        """Return the next `length` samples at the microphone; `played` sounded in that time."""
        new = np.frombuffer(self._resampler.push(played), "<i2").astype(np.float64)
        self._lag += length - len(new)
        span = len(self._path) + length
        self._played = np.concatenate([self._played, new])[-span:]
        source = np.concatenate([np.zeros(max(0, span - len(self._played))), self._played, np.zeros(self._lag)])[-span:]
        size = 1 << (2 * span).bit_length()
        heard = np.fft.irfft(np.fft.rfft(source, size) * np.fft.rfft(self._path, size), size)
        return np.asarray(heard[span - length : span])
