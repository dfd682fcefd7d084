"""A call's audio for a report: the outline of every lane, and all lanes mixed."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.testing.record import Lane

MIN_BUCKET_MS = 10
MAX_BUCKETS = 60_000
"""10 minutes in steps of 10 ms; an hour in steps of 60 ms."""
MIX_HZ = 16_000
MAX_AUDIO_S = 1_800
"""Longer calls get no mix: it would take hundreds of megabytes."""


def bucket_ms(duration_ms: float) -> int:
    """Return the ms of one step of an outline."""
    return max(MIN_BUCKET_MS, math.ceil(duration_ms / MAX_BUCKETS))


def peaks(lane: Lane, step_ms: int) -> str:
    """Return the loudest sample of each step, one byte each in base64: 255 * sqrt(|sample| / 32768)."""
    samples = np.frombuffer(lane.pcm, "<i2")
    steps = math.ceil(len(samples) * 1000 / (lane.rate_hz * step_ms))
    if not steps:
        return ""
    edges = np.arange(steps) * lane.rate_hz * step_ms // 1000
    highest, lowest = np.maximum.reduceat(samples, edges), np.minimum.reduceat(samples, edges)
    loudest = np.maximum(highest, -lowest.astype(np.int32))
    outline = np.round(255 * np.sqrt(loudest / 32_768)).astype(np.uint8)
    return base64.b64encode(outline.tobytes()).decode()


def mixed_flac(lanes: Sequence[Lane], max_bytes: int) -> str | None:
    """Mix all lanes as base64 FLAC (16 kHz, 16 bits, mono); None for silence, and for long audio."""
    lengths = [len(lane.pcm) * MIX_HZ // (lane.rate_hz * SAMPLE_BYTES) for lane in lanes if lane.pcm]
    if not lengths or max(lengths) > MAX_AUDIO_S * MIX_HZ or max_bytes <= 0:
        return None
    total = np.zeros(max(lengths) + 1, np.int32)
    for lane in lanes:
        samples = _at_mix_rate(lane)[: len(total)]
        total[: len(samples)] += samples
    file = io.BytesIO()
    mixed = np.clip(total, -32_768, 32_767).astype(np.int16)
    soundfile.write(file, mixed, MIX_HZ, subtype="PCM_16", format="FLAC")
    return base64.b64encode(file.getvalue()).decode() if file.tell() <= max_bytes else None


def _at_mix_rate(lane: Lane) -> NDArray[np.int16]:
    samples = np.frombuffer(lane.pcm, "<i2")
    return samples if lane.rate_hz == MIX_HZ or not lane.pcm else soxr.resample(samples, lane.rate_hz, MIX_HZ, "HQ")
