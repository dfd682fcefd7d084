"""The sound of a call for a report: the outline of every lane, and all of it mixed in one file."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
import soundfile
import soxr

from realtime.audio.mix import mix
from realtime.audio.pcm import from_float32
from realtime.testing.record import Lane

MIN_BUCKET_MS = 10
MAX_BUCKETS = 60_000
"""10 minutes in steps of 10 ms; an hour in steps of 60 ms."""
MIX_HZ = 16_000


def bucket_ms(duration_ms: float) -> int:
    """How much of a call one step of an outline stands for."""
    return max(MIN_BUCKET_MS, math.ceil(duration_ms / MAX_BUCKETS))


def peaks(lane: Lane, step_ms: int) -> str:
    """The loudest sample of each step, one byte a step in base64: 255 * sqrt(|sample| / 32768)."""
    samples = np.frombuffer(lane.pcm, "<i2")
    step = lane.rate_hz * step_ms // 1000
    steps = math.ceil(len(samples) / step)
    if not steps:
        return ""
    loudest = np.zeros(steps, np.float64)
    whole = len(samples) // step
    if whole:
        blocks = samples[: whole * step].reshape(whole, step).astype(np.int32)
        loudest[:whole] = np.abs(blocks).max(axis=1)
    if whole < steps:
        loudest[whole] = np.abs(samples[whole * step :].astype(np.int32)).max()
    outline = np.round(255 * np.sqrt(loudest / 32_768)).astype(np.uint8)
    return base64.b64encode(outline.tobytes()).decode()


def mixed_flac(lanes: Sequence[Lane], max_bytes: int) -> str | None:
    """All lanes at once as FLAC (16 kHz, 16 bits, mono) in base64; None for silence, and for more than `max_bytes`."""
    # FLAC makes no less than a sixth of speech, so what is far too long is not even encoded.
    longest_s = max((len(lane.pcm) / 2 / lane.rate_hz for lane in lanes), default=0.0)
    if not longest_s or longest_s * MIX_HZ * 2 / 6 > max_bytes:
        return None
    file = io.BytesIO()
    pcm = mix([_at_mix_rate(lane) for lane in lanes])
    soundfile.write(file, np.frombuffer(pcm, "<i2"), MIX_HZ, subtype="PCM_16", format="FLAC")
    return base64.b64encode(file.getvalue()).decode() if file.tell() <= max_bytes else None


def _at_mix_rate(lane: Lane) -> bytes:
    if lane.rate_hz == MIX_HZ or not lane.pcm:
        return lane.pcm
    return from_float32(soxr.resample(np.frombuffer(lane.pcm, "<i2") / np.float32(32_768), lane.rate_hz, MIX_HZ, "HQ"))
