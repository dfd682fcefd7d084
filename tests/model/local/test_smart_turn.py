"""How complete a voice sounds: the features by another way, and the network on labelled voices."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from realtime.audio.files import read_pcm16
from realtime.audio.pcm import bytes_of
from realtime.model.local.smart_turn import RATE_HZ, SmartTurn, features
from realtime.model.local.weights import smart_turn_file

STIMULI = Path(__file__).parents[3] / "fixtures" / "audio" / "listening"
SILENCE_MS = 200


def sound(ms: int) -> bytes:
    """A sweep that swells: each frame differs from the one before."""
    time_s = np.arange(RATE_HZ * ms // 1000) / RATE_HZ
    return (np.sin(time_s * (900 + 2_500 * time_s)) * 6_000 * (0.2 + time_s % 0.7)).astype("<i2").tobytes()


def slaney_mel(hz: float) -> float:
    return hz * 3 / 200 if hz < 1_000 else 15 + 27 * math.log(hz / 1_000) / math.log(6.4)


def slaney_hz(mel: float) -> float:
    return mel * 200 / 3 if mel < 15 else 1_000 * 6.4 ** ((mel - 15) / 27)


def one_column(pcm: bytes, column: int) -> list[float]:
    """The logarithms of one frame by the definitions: no FFT, no matrix of filters, before the floor and the scale."""
    samples = [value / 32768 for value in np.frombuffer(pcm, "<i2")[-128_000:].tolist()]
    samples = [0.0] * (128_000 - len(samples)) + samples
    mean = sum(samples) / len(samples)
    deviation = math.sqrt(sum((one - mean) ** 2 for one in samples) / len(samples) + 1e-7)
    frame = [(samples[abs(column * 160 - 200 + at)] - mean) / deviation for at in range(400)]
    windowed = [one * (0.5 - 0.5 * math.cos(2 * math.pi * at / 400)) for at, one in enumerate(frame)]
    power = [
        abs(sum(one * complex(math.cos(angle * at), -math.sin(angle * at)) for at, one in enumerate(windowed))) ** 2
        for angle in (2 * math.pi * bin_ / 400 for bin_ in range(201))
    ]
    edges = [slaney_hz(slaney_mel(8_000) * at / 81) for at in range(82)]
    mels = []
    for low, centre, high in zip(edges, edges[1:], edges[2:], strict=False):
        total = 0.0
        for bin_, value in enumerate(power):
            hz = bin_ * 40
            if low < hz <= centre:
                total += value * (hz - low) / (centre - low)
            elif centre < hz < high:
                total += value * (high - hz) / (high - centre)
        mels.append(math.log10(max(total * 2 / (high - low), 1e-10)))
    return mels


@pytest.mark.parametrize("ms", [3_000, 9_500], ids=["shorter", "longer"])
def test_features_are_those_of_the_definitions(ms: int) -> None:
    pcm = sound(ms)
    found = features(pcm)
    assert found.shape == (80, 800)
    assert found.dtype == np.float32
    columns = {column: one_column(pcm, column) for column in (0, 510, 640, 790)}
    # The loudest value is 8 decades above the floor.
    highest = float(found.max()) * 4 - 4
    for column, wanted in columns.items():
        scaled = [(max(one, highest - 8) + 4) / 4 for one in wanted]
        np.testing.assert_allclose(found[:, column], scaled, atol=2e-3)


def test_only_the_last_eight_seconds_count_and_nothing_is_silence() -> None:
    assert np.array_equal(features(sound(3_000) + sound(8_000)), features(sound(8_000)))
    assert np.array_equal(features(b""), features(bytes(bytes_of(1_000, RATE_HZ))))
    assert np.isfinite(features(b"")).all()


@pytest.mark.night
def test_half_a_sentence_sounds_less_complete_than_the_whole() -> None:
    judge = SmartTurn(smart_turn_file())
    manifest = json.loads((STIMULI / "manifest.json").read_text(encoding="utf-8"))
    unfinished, finished = [], []
    for entry in manifest:
        if entry["voice"].startswith("heart") and entry["class"] in ("hold", "turn"):
            pcm = read_pcm16(STIMULI / entry["file"], RATE_HZ)
            from_ms = entry["on_ms"]
            for pause_ms, again_ms in entry["pauses_ms"]:
                unfinished.append(judge.completeness(heard(pcm, from_ms, pause_ms)))
                from_ms = again_ms
            finished.append(judge.completeness(heard(pcm, from_ms, entry["off_ms"])))
    assert len(unfinished) > 10 < len(finished)
    assert np.mean(np.array(unfinished) < 0.1) >= 2 * np.mean(np.array(finished) < 0.1)
    assert np.mean(finished) > np.mean(unfinished)


def heard(pcm: bytes, from_ms: int, to_ms: int) -> bytes:
    """A voice with what is around it, and silence behind."""
    begin, end = bytes_of(max(0, from_ms - 500), RATE_HZ), bytes_of(to_ms, RATE_HZ)
    return pcm[begin:end] + bytes(bytes_of(SILENCE_MS, RATE_HZ))
