"""What comes from a user's microphone while an agent talks, for the load clients; and what that agent says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np

from bench.work import CHUNK_MS, DOWN_BYTES, DOWN_HZ
from realtime.audio.files import read_pcm16
from realtime.audio.resample import resampled

Sound = Literal["silence", "speech", "echo", "noise", "music"]
SOUNDS: tuple[Sound, ...] = get_args(Sound)
"""A silent room of -60 dB below full scale, a user who talks all the time, a loudspeaker, an office, music."""
ECHO_DB = -20.0
ECHO_MS = 120
LEVELS_DB = {"silence": -60.0, "speech": -20.0, "noise": -40.0, "music": -30.0}
FILES = {"speech": "dialog.flac", "noise": "noise_room.flac", "music": "music_synthetic.flac"}
FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "audio"
AGENT = "trip_pauses.flac"


def agent_deltas() -> list[bytes]:
    """The pcm of the deltas in which the agent speaks, in order; then it begins again."""
    pcm = _levelled(read_pcm16(FOLDER / AGENT, DOWN_HZ), -20.0)
    return [pcm[at : at + DOWN_BYTES] for at in range(0, len(pcm) - DOWN_BYTES + 1, DOWN_BYTES)]


def user_chunks(sound: Sound, rate_hz: int) -> list[bytes]:
    """The pcm of the user's chunks of 40 ms, in order; of an echo, that of each delta of the agent."""
    size = rate_hz * CHUNK_MS // 1000 * 2
    if sound == "echo":
        pcm = _levelled(resampled(b"".join(agent_deltas()), DOWN_HZ, rate_hz), -20.0 + ECHO_DB)
    elif sound == "silence":
        noise = np.random.default_rng(1).standard_normal(2 * rate_hz)
        pcm = _levelled((noise * 1_000).astype("<i2").tobytes(), LEVELS_DB[sound])
    else:
        pcm = _levelled(read_pcm16(FOLDER / FILES[sound], rate_hz), LEVELS_DB[sound])
    return [pcm[at : at + size] for at in range(0, len(pcm) - size + 1, size)]


def _levelled(pcm: bytes, db: float) -> bytes:
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    gain = 32_768 * 10 ** (db / 20) / np.sqrt(np.mean(samples * samples))
    return np.clip(np.rint(samples * gain), -32_768, 32_767).astype("<i2").tobytes()
