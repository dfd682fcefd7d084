"""Labelled recordings, and what their labels ask of a call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from realtime.audio.endpoint import EndpointConfig
from realtime.audio.files import read_pcm16

RATE_HZ = 16_000
BEFORE_MS = 500
AFTER_MS = 2000
SILENCE_MS = EndpointConfig().silence_ms
NEAR_MS = 500
MIN_PAUSE_MS = 240
"""Shorter gaps between labels are no pause."""


@dataclass(frozen=True)
class Recording:
    """`speech_ms` are the voiced stretches, in ms of the padded `pcm` (16 kHz)."""

    name: str
    pcm: bytes
    speech_ms: list[tuple[int, int]]
    transcript: str

    @property
    def one_turn(self) -> bool:
        """Whether nobody takes turns: the pauses between the stretches are inside a turn."""
        return "/" not in self.transcript

    def segments(self) -> list[tuple[int, int]]:
        """The stretches; those parted by less than the silence timer are one."""
        segments: list[tuple[int, int]] = []
        for start_ms, end_ms in self.speech_ms:
            if segments and start_ms - segments[-1][1] < SILENCE_MS:
                segments[-1] = (segments[-1][0], end_ms)
            else:
                segments.append((start_ms, end_ms))
        return segments

    def pauses(self) -> list[tuple[int, int]]:
        """(end of voice, start of voice) of each pause inside a turn."""
        if not self.one_turn:
            return []
        gaps = [(end_ms, start_ms) for (_, end_ms), (start_ms, _) in pairwise(self.speech_ms)]
        return [(end_ms, start_ms) for end_ms, start_ms in gaps if start_ms - end_ms >= MIN_PAUSE_MS]


def load(folder: Path) -> list[Recording]:
    """Every recording of the folder's manifest but those of echo, with faint noise before and behind."""
    rng = np.random.default_rng(5)
    recordings = []
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["file"].startswith("echo_"):
            continue
        pads = [rng.normal(0, 3, RATE_HZ * ms // 1000).astype("<i2").tobytes() for ms in (BEFORE_MS, AFTER_MS)]
        pcm = pads[0] + read_pcm16(folder / entry["file"], RATE_HZ) + pads[1]
        speech_ms = [(start + BEFORE_MS, end + BEFORE_MS) for start, end in entry["speech_ms"]]
        recordings.append(Recording(entry["file"], pcm, speech_ms, entry["transcript"]))
    return recordings
