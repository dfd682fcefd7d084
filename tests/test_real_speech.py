"""The real speech parts by day: that they load, understand and speak here. All else by day looks their answers up."""

import re
from pathlib import Path

import pytest

from realtime.audio.files import read_pcm16
from realtime.model.local.engine import load_parts
from tests.calls.recordings import RATE_HZ

VOICED = 0.5


@pytest.mark.real_speech
def test_the_real_parts_understand_a_recorded_question_and_say_an_answer(fixtures_dir: Path) -> None:
    """Compared without case, punctuation and the spelling of numbers: they differ by processor."""
    parts = load_parts()
    assert parts.missing == ()
    assert parts.recognizer is not None
    assert parts.judge is not None
    question = read_pcm16(fixtures_dir / "audio" / "twelve_times_seven.wav", RATE_HZ)

    words = re.findall(r"\w+", parts.recognizer.transcribe(question).text.lower())
    assert ["twelve" if word == "12" else "seven" if word == "7" else word for word in words] == [
        *("what", "is", "twelve", "times", "seven")
    ]
    assert parts.judge.completeness(question) > VOICED
    assert len(parts.voices["heart"].synthesize("Twelve times seven is eighty-four.")) > RATE_HZ * 2
    assert parts.make_vad is not None
    detector = parts.make_vad()
    frames = [question[at : at + 1024] for at in range(0, len(question) - 1024, 1024)]
    assert max(map(detector.probability, frames)) > VOICED
