"""Turns found in whole recordings, against labelled edges: real speech where at hand, our own synthesis always."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from realtime.audio.endpoint import Endpoint, EndpointConfig, EndpointEvent, SpeechStarted, TurnEnded
from realtime.audio.files import read_pcm16
from realtime.audio.vad import RATE_HZ, shared_silero
from tests.volumes import NIGHTLY

BEFORE_MS = 500
AFTER_MS = 2000
CHUNK_BYTES = 1280
SILENCE_MS = EndpointConfig().silence_ms
NEAR_MS = 500
MERGE_WINDOW_MS = 800

# The detector's frames may fall anywhere on the speech: what holds has to hold for more than one place.
ALIGNMENTS = (0, 100, 200, 300, 400) if NIGHTLY else (0, 300)


@dataclass(frozen=True)
class Recording:
    name: str
    pcm: bytes
    speech_ms: list[tuple[int, int]]
    """Voiced stretches, in ms of the padded recording."""
    one_turn: bool
    """Whether all stretches belong to one speaker's turn."""


@dataclass(frozen=True)
class Heard:
    at_ms: int
    """Position of the stream when the event came."""
    event: EndpointEvent


def load(folder: Path) -> list[Recording]:
    """Every recording of the folder's manifest but those of echo, with faint noise before and behind."""
    rng = np.random.default_rng(5)
    recordings = []
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["file"].startswith("echo_"):
            continue
        pads = [rng.normal(0, 3, RATE_HZ * ms // 1000).astype("<i2").tobytes() for ms in (BEFORE_MS, AFTER_MS)]
        recordings.append(
            Recording(
                entry["file"],
                pads[0] + read_pcm16(folder / entry["file"], RATE_HZ) + pads[1],
                [(start + BEFORE_MS, end + BEFORE_MS) for start, end in entry["speech_ms"]],
                "/" not in entry["transcript"] and "two voices" not in entry["transcript"],
            )
        )
    return recordings


def listen(recording: Recording, skipped_samples: int) -> list[Heard]:
    endpoint = Endpoint(shared_silero().stream())
    heard: list[Heard] = []
    for start in range(2 * skipped_samples, len(recording.pcm), CHUNK_BYTES):
        for event in endpoint.push(recording.pcm[start : start + CHUNK_BYTES]):
            heard.append(Heard(endpoint.position_ms, event))
    return heard


def merged(speech_ms: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches parted by less than the silence timer are one."""
    segments: list[tuple[int, int]] = []
    for start, end in speech_ms:
        if segments and start - segments[-1][1] < SILENCE_MS:
            segments[-1] = (segments[-1][0], end)
        else:
            segments.append((start, end))
    return segments


def nearest(edge_ms: float, markers_ms: list[int]) -> float:
    return min((abs(marker - edge_ms) for marker in markers_ms), default=float("inf"))


def check_edges(recordings: list[Recording], skipped_samples: int) -> None:
    shift_ms = skipped_samples * 1000 / RATE_HZ
    errors_ms: list[float] = []
    segments = unmatched = 0
    for recording in recordings:
        turns = [heard.event for heard in listen(recording, skipped_samples) if isinstance(heard.event, TurnEnded)]
        if not recording.speech_ms:
            assert turns == [], f"a turn in {recording.name}"
        for start_ms, end_ms in merged(recording.speech_ms):
            start_error_ms = nearest(start_ms - shift_ms, [turn.start_ms for turn in turns])
            end_error_ms = nearest(end_ms - shift_ms, [turn.end_ms for turn in turns])
            segments += 1
            unmatched += max(start_error_ms, end_error_ms) > NEAR_MS
            errors_ms += [start_error_ms, end_error_ms]
    assert segments
    assert np.median(errors_ms) <= 100
    assert np.percentile(errors_ms, 90) <= 250
    assert unmatched * 20 <= segments


def pauses_kept_in_one_turn(recordings: list[Recording], window_ms: int) -> tuple[int, int]:
    """Of all pauses inside turns, (those not cut or undone, all); undone: voice again within *window_ms* of the cut."""
    kept = pauses = 0
    for recording in recordings:
        if not recording.one_turn:
            continue
        heard = listen(recording, 0)
        for (_, end_ms), (start_ms, _) in pairwise(recording.speech_ms):
            pauses += 1
            cut_ms = [
                h.at_ms for h in heard if isinstance(h.event, TurnEnded) and end_ms < h.at_ms < start_ms + NEAR_MS
            ]
            back_ms = [h.at_ms for h in heard if isinstance(h.event, SpeechStarted) and h.at_ms > start_ms]
            kept += not cut_ms or back_ms[0] - cut_ms[0] <= window_ms
    return kept, pauses


@pytest.fixture(scope="module")
def real(recordings_dir: Path) -> list[Recording]:
    return load(recordings_dir / "audio")


@pytest.fixture(scope="module")
def synthesised(fixtures_dir: Path) -> list[Recording]:
    return load(fixtures_dir / "audio")


@pytest.mark.parametrize("skipped_samples", ALIGNMENTS)
def test_edges_of_real_speech_lie_near_their_labels(real: list[Recording], skipped_samples: int) -> None:
    """CARD-06: a labelled recording's starts and ends, within tolerance; no turn without speech."""
    check_edges(real, skipped_samples)


@pytest.mark.parametrize("skipped_samples", ALIGNMENTS)
def test_edges_of_synthesised_speech_lie_near_their_labels(synthesised: list[Recording], skipped_samples: int) -> None:
    """CARD-06: the twin that never skips."""
    check_edges(synthesised, skipped_samples)


def test_pauses_of_real_turns_are_short_enough_to_be_undone(real: list[Recording]) -> None:
    kept, pauses = pauses_kept_in_one_turn(real, MERGE_WINDOW_MS)
    assert pauses >= 17
    assert kept >= pauses - 1


def test_pauses_of_synthesised_turns_are_short_enough_to_be_undone(synthesised: list[Recording]) -> None:
    kept, pauses = pauses_kept_in_one_turn(synthesised, MERGE_WINDOW_MS)
    assert kept == pauses == 5
