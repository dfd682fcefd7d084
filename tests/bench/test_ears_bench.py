"""The clips that misheard words are counted on: the same each time, as loud as said, and fewer without recordings."""

import numpy as np
import pytest

from bench import ears
from bench.ears import GOALS_PERCENT, SNR_DB, Clip, clips, measure_ears, mixed, turns_of
from bench.near_voice import rms
from realtime.model.local.recognizer import Transcript
from realtime.model.local.weights import SpeechPartMissing


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> list[Clip]:
    monkeypatch.delenv("REALTIME_RECORDINGS", raising=False)
    return list(clips())


@pytest.mark.parametrize("condition", GOALS_PERCENT)
def test_a_clip_sounds_the_same_each_time_in_each_condition(ours: list[Clip], condition: str) -> None:
    clip = ours[0]
    assert mixed(clip, condition) == mixed(clip, condition)
    assert (mixed(clip, condition) == mixed(clip, "clean")) is (condition == "clean")


@pytest.mark.parametrize("condition", ["noise", "babble"])
def test_what_is_behind_a_voice_is_10_db_quieter(ours: list[Clip], condition: str) -> None:
    clip = max(ours, key=lambda one: len(one.sound))
    behind = np.frombuffer(mixed(clip, condition), "<i2") / 32767 - clip.sound
    level_db = 20 * np.log10(behind.std() / (rms(clip.sound * 32768) / 32768))
    assert level_db == pytest.approx(-SNR_DB, abs=0.5)


def test_a_clip_is_cut_into_the_turns_of_a_call(ours: list[Clip]) -> None:
    clip = next(one for one in ours if one.name == "dialog.flac")
    assert len(turns_of(mixed(clip, "clean"))) == 3


async def test_missing_recordings_and_ears_are_said(ours: list[Clip], monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf:
        def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
            return Transcript("", 1.0, 0)

    def only_fast(name: str) -> Deaf:
        if name == "better":
            raise SpeechPartMissing("no weights")
        return Deaf()

    monkeypatch.setattr(ears, "recognizer_of", only_fast)
    section = await measure_ears(lambda line: None)
    assert "REALTIME_RECORDINGS is not set" in section.how
    assert [row[1:3] for row in section.rows] == [
        *[(condition, "100.0 %") for condition in GOALS_PERCENT],
        ("skipped: no weights", ""),
    ]
    assert {check.limit for check in section.checks} == {None}
