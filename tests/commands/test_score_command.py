"""`realtime score` as its users run it: one board for a source, a table for several."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from realtime.audio.files import write_flac
from realtime.cli import command_line
from realtime.errors import UsageError
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
from realtime.testing.cases.stored import record_of
from realtime.testing.replay import replay

CALLS = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
LABELS = """[{"id": "t", "class": "turn", "on_ms": 400, "off_ms": 1314},
 {"id": "bc", "class": "backchannel", "on_ms": 3856, "off_ms": 4246}]"""


def says(*words: str) -> Result:
    return CliRunner().invoke(command_line(["score"]), ["score", *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The calls `stops` and `goes_on`, each with a backchannel over the reply."""
    for name, source in (("stops", "backchannel_immediate"), ("goes_on", "backchannel_let_on")):
        (tmp_path / name).mkdir()
        shutil.copy(CALLS / source / "log.jsonl", tmp_path / name)
        (tmp_path / name / "labels.json").write_text(LABELS)
    return tmp_path


def test_a_folder_is_scored_with_the_labels_beside_its_call(folder: Path) -> None:
    assert "S_BC backchannels ignored   0.000 (0/1" in says(str(folder / "stops")).output
    assert "S_BC backchannels ignored   1.000 (1/1" in says(str(folder / "goes_on")).output


def test_the_calls_of_a_folder_are_pooled(folder: Path) -> None:
    pooled = says(str(folder)).output
    assert "2 calls, 4 labels" in pooled
    assert "S_BC backchannels ignored   0.500 (1/2" in pooled


def test_several_sources_are_a_table(folder: Path) -> None:
    lines = says(str(folder / "stops"), str(folder / "goes_on")).output.splitlines()
    assert [line.split()[3] for line in lines[1:]] == ["0.000", "1.000"]


def test_a_stored_call_takes_its_labels_from_a_file(folder: Path) -> None:
    url = f"sqlite:{folder / 'calls.sqlite'}"
    store = open_store(url)
    store.write([Change("call_1", CallInfo(call_id="call_1"), record_of(folder / "stops").entries)])
    store.close()
    for given in ("call_1", "call_", "1"):  # a call is also named by the beginning of its id
        assert "S_BC backchannels ignored   not measurable" in says(given, "--store", url).output
    labels = str(folder / "stops" / "labels.json")
    assert "S_BC backchannels ignored   0.000 (0/1" in says("call_1", "--store", url, "--labels", labels).output


def test_a_case_is_decided_again_with_other_settings() -> None:
    printed = says(str(CALLS / "pauses_in_a_turn"), "--set", "silence_ms=400", "--set", "interruption=off").output
    assert printed == (
        "pauses_in_a_turn: the same until agent_input_done at 3,720 ms; in the call agent_input_done at 3,840 ms\n"
    )


def test_a_recorded_call_is_decided_again_from_its_sound(tmp_path: Path) -> None:
    record = replay(CALLS / "pauses_in_a_turn")
    url, sound = f"sqlite:{tmp_path / 'calls.sqlite'}", tmp_path / "call_1"
    store = open_store(url)
    store.write([Change("call_1", CallInfo(call_id="call_1"), record.entries)])
    store.close()
    sound.mkdir()
    for lane in record.lanes:
        side = "input" if lane.kind == "human" else "output"
        write_flac(sound / f"{side}.flac", lane.pcm, lane.rate_hz)
    about = {"call_id": "call_1", "input_hz": record.lanes[0].rate_hz, "output_hz": record.lanes[1].rate_hz}
    (sound / "recording.json").write_text(json.dumps(about))
    source = ("call_1", "--store", url, "--recordings", str(tmp_path))
    assert "call_1: the same" in says("call_", *source[1:], "--set", "silence_ms=400").output
    printed = says(*source, "--set", "silence_ms=400").output
    assert "call_1: the same until agent_input_done at 3,7" in printed
    assert "Not reliable" not in printed
    without_sound = says("call_1", "--store", url, "--set", "silence_ms=400").exception
    assert isinstance(without_sound, UsageError)
    assert "--recordings" in without_sound.message


def test_what_cannot_be_scored_is_one_sentence(folder: Path) -> None:
    wrong = {
        "there is no folder": (str(folder / "none"),),
        "there is no call in it": (str(folder / "empty"),),
        "the names are backchannels, ": (str(folder / "stops"), "--set", "silence=400"),
        "and it is not the id of a call": (str(folder / "none"), "--set", "silence_ms=400"),
        "there is no case.json": (str(folder / "stops"), "--set", "silence_ms=400"),
        "--labels belongs to one call": (str(folder), "--labels", str(folder / "stops" / "labels.json")),
    }
    (folder / "empty").mkdir()
    for sentence, words in wrong.items():
        error = says(*words).exception
        assert isinstance(error, UsageError)
        assert sentence in error.message
