"""Cases as folders: what can be read, and what is said of one that cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from realtime.testing.cases.case import Case, Person, Returned, load_case, write_case
from realtime.testing.cases.expected import Expected, ToolUse
from realtime.testing.cases.stand_in import Call, HangUp, Hear, Nothing, Say, StandIn, WriteText
from realtime.testing.client import steps as do
from realtime.testing.errors import CaseError

EVERYTHING = Case(
    users=(
        Person(
            (
                do.Speak(
                    "a.wav", text="Hello.", from_ms=10, to_ms=900, gain_db=-3.0, noise="pink", snr_db=10.0, wait=False
                ),
                do.BargeIn(do.Speak("b.wav"), at_word="train"),
                do.Silence(300),
                do.Type("And now?"),
                do.WaitFor("agent_response_done", {"status": "completed"}, 5_000),
                do.WaitUntilHeard(),
                do.Drop(2_000, noticed=False),
                do.Network(0.1, 60, 20),
                do.Send({"type": "client_response_cancel"}),
                do.Leave(),
            ),
            name="Anna",
            client="json",
        ),
    ),
    name="everything",
    about="Each kind of step once.",
    config={"turn_detection": {"authority": "server"}},
    models={
        "*": StandIn(
            turns="positions",
            hears=(Hear("Hello.", 10, 900, 100, 1_400),),
            answers=(
                Say(text="Good morning."),
                Call(tools=(ToolUse("look_up", {"id": 7}),)),
                WriteText(text="Written."),
                HangUp(),
                Nothing(),
            ),
            otherwise=Say(text="Pardon?"),
        )
    },
    tools={"look_up": (Returned({"found": True}, {"id": 7}, "success", 120),)},
    costs={"transcribe": 0.2},
    seed=3,
    grace_s=5.0,
    limit_s=60.0,
    expect=Expected(user_said=("Hello.",), turns=1, wer_below=0.1, log=True),
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_case(tmp_path / "case", EVERYTHING)
    assert load_case(tmp_path / "case") == (EVERYTHING, tmp_path / "case")
    assert load_case(tmp_path / "case" / "case.json") == (EVERYTHING, tmp_path / "case")


def test_a_case_is_written_so_that_its_diff_can_be_read(tmp_path: Path) -> None:
    text = write_case(tmp_path, EVERYTHING).read_text()
    assert max(len(line) for line in text.splitlines()) < 100
    assert '"do": "barge_in"' in text
    assert text.endswith("}\n")


def test_a_case_without_a_name_is_called_like_its_folder(tmp_path: Path) -> None:
    write_case(tmp_path / "refund", Case(users=(Person((do.Type("Hi."),)),)))
    case, _ = load_case(tmp_path / "refund")
    assert case.name == "refund"


def test_an_audio_file_is_a_case_that_speaks_it(fixtures_dir: Path) -> None:
    case, folder = load_case(fixtures_dir / "audio" / "what_time.wav")
    assert case.users[0].steps == (do.Speak("what_time.wav"), do.WaitUntilHeard())
    assert (case.name, folder) == ("what_time", fixtures_dir / "audio")


def written(folder: Path, **fields: Any) -> Path:
    """A case with these fields, which nothing has looked at."""
    whole = {"users": [{"steps": [{"do": "type", "text": "Hi."}]}], **fields}
    (folder / "case.json").write_text(json.dumps(whole, indent=1))
    return folder


def test_a_case_that_cannot_be_run_names_the_place_and_the_remedy(tmp_path: Path) -> None:
    """Each line of the file: fields of a case, and what is said of them."""
    lines = Path(__file__).with_name("broken_cases.tsv").read_text(encoding="utf-8").splitlines()
    for fields, problem in (line.split("\t") for line in lines):
        with pytest.raises(CaseError, match=problem):
            load_case(written(tmp_path, **json.loads(fields)))


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text('{\n "users": [\n  {"steps": }\n ]\n}\n')
    with pytest.raises(CaseError, match=r"case.json, line 3: not JSON"):
        load_case(tmp_path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing", "there is no such file or folder"),
        ("empty", "there is no case.json. Write one, or export a call"),
        ("notes.txt", "neither a case's folder nor an audio file"),
    ],
)
def test_what_is_no_case_says_so(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(CaseError, match=problem):
        load_case(tmp_path / name)


@pytest.mark.parametrize("text", ["[]", "7", "null", '"x"', "{", ""])
def test_json_that_is_no_case_is_an_error_with_a_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "case.json").write_text(text)
    with pytest.raises(CaseError, match=r"case\.json"):
        load_case(tmp_path)
