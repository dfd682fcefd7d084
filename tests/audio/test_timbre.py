"""One speaker's voice is alike at any level, another's is not. The voices are those of the listening fixtures."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from realtime.audio.files import read_pcm16
from realtime.audio.timbre import LEAST_MS, Timbre, timbre_of

FOLDER = Path("fixtures/audio/listening")
RATE_HZ = 16_000
VOICES = ("heart", "heart-low", "en-us", "en+f3")


@cache
def turns(voice: str) -> tuple[bytes, ...]:
    """Five of a speaker's longer turns."""
    files = sorted(FOLDER.glob(f"[his]*-{voice}.flac"))
    sounds = [read_pcm16(file, RATE_HZ) for file in files]
    return tuple(pcm for pcm in sounds if len(pcm) > RATE_HZ * 2 * 1.3)[:5]


def quieter(pcm: bytes, db: float) -> bytes:
    return (np.frombuffer(pcm, "<i2") * 10 ** (db / 20)).astype("<i2").tobytes()


def usual(voice: str) -> Timbre:
    """What a speaker sounds like over three turns."""
    first, *others = [timbre_of(pcm, RATE_HZ) for pcm in turns(voice)[:3]]
    assert first is not None
    for other in others:
        assert other is not None
        first = first.nearer(other, 0.3)
    return first


@pytest.mark.parametrize("voice", VOICES)
def test_a_speaker_12_db_quieter_is_alike_and_another_one_is_not(voice: str) -> None:
    known = usual(voice)
    for pcm in turns(voice)[3:]:
        said = timbre_of(quieter(pcm, -12.0), RATE_HZ)
        assert said is not None
        assert known.unlike(said) <= 1
    others = [timbre_of(pcm, RATE_HZ) for other in VOICES if other != voice for pcm in turns(other)[3:]]
    apart = [known.unlike(other) for other in others if other is not None]
    assert sum(one > 1 for one in apart) >= 0.8 * len(apart)


def test_too_little_voice_has_no_timbre() -> None:
    pcm = turns("heart")[0]
    assert timbre_of(b"", RATE_HZ) is None
    assert timbre_of(pcm[: RATE_HZ * 2 * (LEAST_MS - 100) // 1000], RATE_HZ) is None


def test_a_whisper_is_compared_by_its_envelope_alone() -> None:
    hiss = np.random.default_rng(1).normal(0, 3_000, RATE_HZ).astype("<i2").tobytes()
    whisper = timbre_of(hiss, RATE_HZ)
    assert whisper is not None
    assert whisper.pitch is None
    assert usual("heart").unlike(whisper) == whisper.unlike(usual("heart")) > 1
    assert whisper.nearer(usual("heart"), 0.5).pitch == usual("heart").pitch
