"""Loudspeaker-to-microphone paths made of seeded noise, and the voices that go through them."""

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from realtime.audio.files import read_pcm16

RATE_HZ = 16_000
AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
AGENT = ("trip_pauses.flac", "hello_anna.wav", "what_date.wav", "set_timer.wav")
USERS = ("barge_in.wav", "hello_robert.wav", "what_time.wav")

Samples = NDArray[np.float64]


@functools.cache
def voiced(name: str) -> Samples:
    """A fixture's speech without pauses and without silence around it, at -20 dB below full scale."""
    samples = np.frombuffer(read_pcm16(AUDIO / name, RATE_HZ), "<i2").astype(np.float64)
    frames = samples[: len(samples) // 160 * 160].reshape(-1, 160)
    power = np.einsum("ij,ij->i", frames, frames)
    loud = np.convolve(power > power.max() * 1e-3, np.ones(21), "same") > 0
    return at_level(frames[loud].reshape(-1), -20.0)


def at_level(samples: Samples, db: float) -> Samples:
    return samples * (32_768 * 10 ** (db / 20) / np.sqrt(np.mean(samples * samples)))


def agent_speech(seconds: float) -> Samples:
    """What an agent says, for this long."""
    once = np.concatenate([voiced(name) for name in AGENT])
    length = int(seconds * RATE_HZ)
    return np.tile(once, -(-length // len(once)))[:length]


def echo_of(played: Samples, *, delay_ms: int, gain_db: float, decay_s: float, seed: int = 1) -> Samples:
    """What a microphone hears of it: a room in which sound falls by 60 dB in `decay_s`."""
    chance = np.random.default_rng(seed)
    times = np.arange(int(decay_s * RATE_HZ)) / RATE_HZ
    path = chance.standard_normal(len(times)) * np.exp(-6.9 * times / decay_s)
    path[0] = 6.0
    path *= 10 ** (gain_db / 20) / np.sqrt(np.dot(path, path))
    path = np.concatenate([np.zeros(delay_ms * RATE_HZ // 1000), path])
    size = 1 << (len(played) + len(path)).bit_length()
    return np.fft.irfft(np.fft.rfft(played, size) * np.fft.rfft(path, size), size)[: len(played)]


def noise(length: int, db: float = -65.0, seed: int = 3) -> Samples:
    return np.random.default_rng(seed).standard_normal(length) * 32_768 * 10 ** (db / 20)


def pcm(samples: Samples) -> bytes:
    return np.clip(np.rint(samples), -32_768, 32_767).astype("<i2").tobytes()


def level_db(data: bytes) -> float:
    samples = np.frombuffer(data, "<i2").astype(np.float64)
    return float(10 * np.log10(np.mean(samples * samples) / 32_768**2 + 1e-12))
