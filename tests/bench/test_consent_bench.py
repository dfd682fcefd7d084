"""The bench of consent plays what it says it plays, and the whole product is right about each kind of answer."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from bench.consent.answers import labelled_answers, tally
from bench.consent.calls import FOLDER, manifest, voices
from bench.consent.runs import KINDS, AnswerKind, generated_cases, play_case, spoken_cases
from realtime.audio.files import read_pcm16
from realtime.turn.answers import Answer
from tests.volumes import volume


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where transcripts are kept: the speech parts are loaded once for it."""
    return tmp_path_factory.mktemp("consent") / "words"


def test_the_manifest_names_each_file_with_its_sum() -> None:
    entries = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    assert {entry["file"] for entry in entries} == {path.name for path in FOLDER.glob("*.flac")}
    for entry in entries:
        assert hashlib.sha256(read_pcm16(FOLDER / entry["file"], 16_000)).hexdigest() == entry["sha256"], entry["file"]
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000


def test_six_voices_say_everything() -> None:
    assert len(voices()) == 6
    assert len({Counter(one.kind for one in manifest() if one.voice == voice).total() for voice in voices()}) == 1


def test_the_labelled_answers_have_both_sets_in_four_languages_and_all_classes() -> None:
    answers = [*labelled_answers()]
    counts = Counter((one.set, one.asked.language) for one in answers)
    assert {language for _, language in counts} == {"en", "de", "es", "zh"}
    assert counts["known", "en"] + counts["heldout", "en"] >= 300
    assert min(counts["known", one] + counts["heldout", one] for one in ("de", "es", "zh")) >= 60
    for set_ in ("known", "heldout"):
        assert {one.answers[0] for one in answers if one.set == set_} == {*Answer}


def test_held_out_answers_are_read_right_and_none_as_a_false_yes() -> None:
    counted = tally([one for one in labelled_answers() if one.set == "heldout"])
    assert counted.false_yes == 0
    assert counted.right / counted.answers > 0.9


def test_the_same_calls_are_generated_each_time() -> None:
    first, second = [*generated_cases(20)], [*generated_cases(20)]
    assert first == second
    assert {case.booked for case in first} == {()}
    assert {case.booked for case in generated_cases(3, consents=True)} == {((4, "Friday"),)}


def test_each_kind_of_answer_is_said_in_each_voice() -> None:
    assert get_args(AnswerKind) == KINDS
    assert all(len([*spoken_cases(kind)]) >= len(voices()) for kind in KINDS)


@pytest.mark.night
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_heard_through_the_whole_product(kind: AnswerKind, words: Path) -> None:
    for case in [*spoken_cases(kind)][: volume(1, 12)]:
        played = play_case(case, file=words)
        assert played.is_right, played.outcome


@pytest.mark.night
def test_nobody_consents_by_accident(words: Path) -> None:
    for case in generated_cases(volume(5, 50)):
        assert not play_case(case, file=words).is_false_consent, case.name
