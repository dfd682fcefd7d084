"""Labelled turns with pauses inside: recordings, and variations of them by seed. The same seed, the same sounds."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr

from bench import stimuli
from bench.process import ROOT
from bench.stimuli import Sound, Stimulus
from realtime.audio.files import read_pcm16
from realtime.model.local.ears import RATE_HZ

TAIL_MS = 3_000
LEAD_MS = 500
NOISE_RMS = 3.0
VARIATIONS = 3
"""Of each turn with pauses."""
JOINED = 4
"""Turns of two phrases, per voice."""
PACE = (0.9, 1.1)
PAUSE_MS = (300, 1_600)
SEED = 11


@dataclass(frozen=True, slots=True)
class Turn:
    """One labelled turn; `pauses` counts the silences of at least 0.2 s inside it."""

    speaker: str
    pcm: bytes
    end_ms: int
    pauses: int


def turns_of_fixtures() -> list[Turn]:
    """Return the labelled turns of the project and, where they are at hand, of real speakers."""
    turns = []
    for folder in (ROOT / "fixtures" / "audio" / "listening", *_label_folders()):
        for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
            if entry.get("class") in ("hold", "interruption", "turn"):
                label, pauses = entry["off_ms"], len(entry["pauses_ms"])
            elif entry.get("speech_ms") and _is_one_turn(entry):
                label, pauses = entry["speech_ms"][-1][1], len(entry["speech_ms"]) - 1
            else:
                continue
            speaker = entry.get("voice") or entry["file"].split("_")[0]
            pcm = _padded(read_pcm16(folder / entry["file"], RATE_HZ))
            turns.append(Turn(speaker, pcm, label + LEAD_MS, pauses))
    return turns


def _label_folders() -> list[Path]:
    recordings = os.environ.get("REALTIME_RECORDINGS")
    return [ROOT / "fixtures" / "audio", *([Path(recordings) / "audio"] if recordings else [])]


def _is_one_turn(entry: dict[str, str]) -> bool:
    is_mixed = entry["file"].startswith(("mix_", "echo_"))
    return not is_mixed and "/" not in entry["transcript"] and not entry["transcript"].startswith("(")


def _padded(pcm: bytes) -> bytes:
    rng = np.random.default_rng(5)
    lead, tail = (rng.normal(0, NOISE_RMS, RATE_HZ * ms // 1000).astype("<i2").tobytes() for ms in (LEAD_MS, TAIL_MS))
    return lead + pcm + tail


def varied_turns() -> list[Turn]:
    """Return turns with pauses of other lengths at another pace, and turns joined from two phrases of a voice."""
    chance = np.random.default_rng(SEED)
    holds = [one for one in stimuli.manifest() if one.kind == "hold"]
    turns = [_varied(one, chance) for one in holds for _ in range(VARIATIONS)]
    for voice in sorted({one.voice for one in holds}):
        phrases = [one for one in stimuli.manifest() if one.voice == voice and one.kind in ("turn", "interruption")]
        for _ in range(JOINED):
            first, second = (phrases[at] for at in chance.choice(len(phrases), 2, replace=False))
            turns.append(_turn(voice, [_voiced(first), _voiced(second)], chance))
    return turns


def _varied(stimulus: Stimulus, chance: np.random.Generator) -> Turn:
    """Return a turn whose pauses of at least 0.2 s have other lengths."""
    sound = _sound(stimulus)
    edges_ms = [stimulus.on_ms, *(edge for pause in stimulus.pauses_ms for edge in pause), stimulus.off_ms]
    parts = [_cut(sound, *edges_ms[at : at + 2]) for at in range(0, len(edges_ms), 2)]
    return _turn(stimulus.voice, parts, chance)


def _turn(voice: str, parts: list[Sound], chance: np.random.Generator) -> Turn:
    pace = chance.uniform(*PACE)
    sounds: list[Sound] = []
    for at, part in enumerate(parts):
        if at:
            length = int(chance.uniform(*PAUSE_MS) * RATE_HZ / 1000)
            sounds.append(chance.normal(0, NOISE_RMS, length))
        sounds.append(soxr.resample(part, RATE_HZ * pace, RATE_HZ, "VHQ"))
    pcm = np.clip(np.concatenate(sounds), -32768, 32767).astype("<i2").tobytes()
    return Turn(voice, _padded(pcm), len(pcm) // 2 * 1000 // RATE_HZ + LEAD_MS, len(parts) - 1)


def _voiced(stimulus: Stimulus) -> Sound:
    return _cut(_sound(stimulus), stimulus.on_ms, stimulus.off_ms)


def _sound(stimulus: Stimulus) -> Sound:
    return np.frombuffer(read_pcm16(stimuli.FOLDER / stimulus.file, RATE_HZ), "<i2").astype(np.float64)


def _cut(sound: Sound, from_ms: int, to_ms: int) -> Sound:
    return sound[from_ms * RATE_HZ // 1000 : to_ms * RATE_HZ // 1000]
