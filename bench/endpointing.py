"""Cut turns against latency: the decision about the end of a turn beside the plain timer, on labelled pauses.

Offline and in the audio's own time, so the numbers are the same on each run: the detector and the recogniser are real,
words arrive `WORDS_MS` after the pause of which they are. Needs the extra `local`; recordings of real speakers join
where REALTIME_RECORDINGS is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench.process import ROOT
from bench.report import Check, Section
from realtime.audio.endpoint import Endpoint, EndpointConfig, TurnEnded
from realtime.audio.files import read_pcm16
from realtime.audio.pcm import ms_of
from realtime.audio.vad import shared_silero
from realtime.event.config import TurnDetection
from realtime.model.local.ears import RATE_HZ, Ears, Ended, Paused, endpoint_config
from realtime.model.local.recognizer import Recognizer
from realtime.model.local.weights import whisper_folder

SILENCES_MS = (300, 400, 500, 600, 700, 900, 1_200, 1_600)
DEFAULT_MS = 500
WORDS_MS = 160
"""Recognition of a clip takes 120 to 190 ms."""
CHUNK_BYTES = RATE_HZ // 50 * 2
TAIL_MS = 3_000
LEAD_MS = 500
EDGE_MS = 200
"""A turn that ends this close to its label is whole."""
NOISE_RMS = 3.0
WILSON_Z = 1.96


@dataclass(frozen=True, slots=True)
class Turn:
    """One labelled turn; `pauses` counts the silences of at least 0.2 s inside it."""

    speaker: str
    pcm: bytes
    end_ms: int
    pauses: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a turn: whether it was cut, and how long after its end it was found to be over."""

    turn: Turn
    cut: bool
    latency_ms: int | None


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


def replay(turn: Turn, silence_ms: int, words_of: Callable[[bytes], str] | None) -> Outcome:
    """Replay a turn; without `words_of` its end is a plain timer's."""
    if words_of is None:
        return _replay_with_timer(turn, silence_ms)
    ears = Ears(shared_silero().stream())
    ears.configure(endpoint_config(TurnDetection(silence_duration_ms=silence_ms)))
    due: tuple[int, int, str] | None = None
    ends: list[tuple[int, int]] = []
    for start in range(0, len(turn.pcm), CHUNK_BYTES):
        if due is not None and ears.position_ms >= due[0]:
            ears.take_words(due[1], due[2])
            due = None
        for heard in ears.push(turn.pcm[start : start + CHUNK_BYTES]):
            if isinstance(heard, Paused):
                due = (ears.position_ms + WORDS_MS, heard.number, words_of(heard.pcm))
            elif isinstance(heard, Ended):
                ends.append((heard.end_ms, heard.at_ms))
    return _outcome(turn, ends)


def _replay_with_timer(turn: Turn, silence_ms: int) -> Outcome:
    endpoint = Endpoint(shared_silero().stream(), EndpointConfig(silence_ms=silence_ms, keep_audio=False))
    ends: list[tuple[int, int]] = []
    for start in range(0, len(turn.pcm), CHUNK_BYTES):
        for event in endpoint.push(turn.pcm[start : start + CHUNK_BYTES]):
            if isinstance(event, TurnEnded):
                ends.append((event.end_ms, ms_of(start + CHUNK_BYTES, RATE_HZ)))
    return _outcome(turn, ends)


def _outcome(turn: Turn, ends: Sequence[tuple[int, int]]) -> Outcome:
    """Judge the (end, decision) positions of the turns that were found."""
    last = next((at_ms for end_ms, at_ms in ends if end_ms >= turn.end_ms - EDGE_MS), None)
    cut = any(end_ms < turn.end_ms - EDGE_MS for end_ms, _ in ends)
    return Outcome(turn, cut, None if last is None else last - turn.end_ms)


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    share, z2 = count / total, WILSON_Z**2
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = WILSON_Z * np.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return max(0.0, centre - half), min(1.0, centre + half)


async def measure_endpointing(silences_ms: Sequence[int] = SILENCES_MS) -> Section:
    """Replay every labelled turn with a timer and with the decision, at each configured silence."""
    turns = turns_of_fixtures()
    words_of = cache(Recognizer.load(whisper_folder()).transcribe)
    pauses = sum(turn.pauses for turn in turns)
    section = Section(
        "endpointing",
        "The end of a turn: cut turns against latency",
        f"{len(turns)} labelled turns of {len({turn.speaker for turn in turns})} speakers with {pauses} pauses inside, "
        "replayed in the audio's own time. Latency is from the labelled end of the voice to the decision.",
        ("silence", "timer: cut (95 %)", "mean", "median", "decision: cut (95 %)", "mean", "median"),
    )
    for silence_ms in silences_ms:
        arms = [
            [replay(turn, silence_ms, None) for turn in turns],
            [replay(turn, silence_ms, lambda pcm: words_of(pcm).text) for turn in turns],
        ]
        section.rows.append((f"{silence_ms} ms", *(cell for arm in arms for cell in _cells(arm))))
        cut = [sum(one.cut for one in arm) for arm in arms]
        section.data[str(silence_ms)] = {
            "cut": cut,
            "latencies_ms": [[one.latency_ms for one in arm] for arm in arms],
        }
        section.checks.append(Check(f"cut turns at {silence_ms} ms", cut[1], cut[0]))
        if silence_ms == DEFAULT_MS:
            whole = [_median([one for one in arm if not one.turn.pauses]) for arm in arms]
            section.checks.append(Check("median latency of turns without a pause", whole[1], whole[0], " ms"))
    return section


def _median(outcomes: Sequence[Outcome]) -> float:
    return float(np.median([one.latency_ms for one in outcomes if one.latency_ms is not None]))


def _cells(outcomes: Sequence[Outcome]) -> tuple[str, str, str]:
    cut = sum(one.cut for one in outcomes)
    low, high = wilson(cut, len(outcomes))
    mean_ms = np.mean([one.latency_ms for one in outcomes if one.latency_ms is not None])
    return f"{cut} ({low:.0%} to {high:.0%})", f"{mean_ms:.0f} ms", f"{_median(outcomes):.0f} ms"
