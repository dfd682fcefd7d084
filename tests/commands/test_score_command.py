"""`realtime score` as its users run it: one board for a source, a table for several."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from realtime.cli import cli
from realtime.errors import UsageError
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
from realtime.testing.cases.stored import record_of

CALLS = Path(__file__).resolve().parents[2] / "fixtures" / "calls"
LABELS = """[{"id": "t", "class": "turn", "on_ms": 400, "off_ms": 1314},
 {"id": "bc", "class": "backchannel", "on_ms": 3856, "off_ms": 4246}]"""


def says(*words: str) -> Result:
    return CliRunner().invoke(cli, ["score", *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The calls `stops` and `goes_on`, each with a backchannel over the reply."""
    for name, source in (("stops", "backchannel"), ("goes_on", "backchannel_let_on")):
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
    assert "S_BC backchannels ignored   not measurable" in says("call_1", "--store", url).output
    labels = str(folder / "stops" / "labels.json")
    assert "S_BC backchannels ignored   0.000 (0/1" in says("call_1", "--store", url, "--labels", labels).output


def test_what_cannot_be_scored_is_one_sentence(folder: Path) -> None:
    wrong = {
        "there is no folder": (str(folder / "none"),),
        "there is no call in it": (str(folder / "empty"),),
        "--labels belongs to one call": (str(folder), "--labels", str(folder / "stops" / "labels.json")),
    }
    (folder / "empty").mkdir()
    for sentence, words in wrong.items():
        error = says(*words).exception
        assert isinstance(error, UsageError)
        assert sentence in error.message
