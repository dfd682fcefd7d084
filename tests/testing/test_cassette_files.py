"""Cassettes that cannot be played: a sentence that names the file, the line and what to do, never a hang."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from realtime.testing.cassettes.format import FrameLine, Scrubber, audio_places, dump, kind_of, read_cassette
from realtime.testing.cassettes.replay import recorded_model
from realtime.testing.errors import CaseError

Edit = Callable[[list[str]], list[str]]


@pytest.fixture
def cassette(fixtures_dir: Path, tmp_path: Path) -> Path:
    """A copy of a good one."""
    return Path(shutil.copytree(fixtures_dir / "cassettes" / "openai", tmp_path / "cassette"))


def edited(folder: Path, edit: Edit) -> None:
    file = folder / "cassette.jsonl"
    file.write_text("".join(f"{line}\n" for line in edit(file.read_text().splitlines())))


def changed(number: int, **fields: Any) -> Edit:
    """Other values in the line with this number."""
    return lambda lines: [
        json.dumps(json.loads(line) | fields) if n == number else line for n, line in enumerate(lines, 1)
    ]


EDITS = {
    "another version": (changed(1, version=2), "line 1", r"of version 2; this release reads 1"),
    "no version": (lambda lines: lines[1:], "line 1", "has no version"),
    "another provider": (changed(1, provider="acme"), "line 1", "no service is called 'acme'"),
    "options of nobody": (changed(1, options={"speed": 2}), "line 1", "options of the model do not fit"),
    "not JSON": (lambda lines: [*lines[:4], lines[4][:-7], *lines[5:]], "line 5", "this is not JSON"),
    "a typing error": (changed(4, dri="sent"), "line 4", "unknown field `dri`"),
    "a wrong type": (changed(4, at_ms="soon"), "line 4", "Expected `int`"),
    "neither frame nor text": (
        lambda lines: [*lines[:3], '{"at_ms":9000,"leg":1,"dir":"sent"}', *lines[4:]],
        "line 4",
        "one of `frame`",
    ),
    "time goes back": (changed(3, at_ms=1_000_000), "line 4", "at_ms goes back"),
    "a leg that never began": (changed(4, leg=3), "line 4", "leg 3 cannot stand here"),
    "no link": (lambda lines: [lines[0], *lines[2:]], "line 2", "leg 1 cannot stand here"),
    "more audio than there is": (
        lambda lines: [line.replace('"samples":9600', '"samples":96000000') for line in lines],
        "line",
        "received.flac ends before",
    ),
    "bytes that are none": (
        lambda lines: [*lines[:3], '{"at_ms":9000,"leg":1,"dir":"received","base64":"?"}', *lines[4:]],
        "line 4",
        "`base64` holds no base64",
    ),
    "a close without a code": (
        lambda lines: [*lines[:3], '{"at_ms":9000,"leg":1,"link":"close","by":"them","code":"gone"}', *lines[4:]],
        "line 4",
        "the code of a close is a number from 1000 to 4999",
    ),
    "a close by nobody": (
        lambda lines: [*lines[:3], '{"at_ms":9000,"leg":1,"link":"close","code":1000}', *lines[4:]],
        "line 4",
        "`by` says who closed",
    ),
    "a link before it was dialled": (changed(2, took_ms=-1), "line 2", "took_ms is less than 0"),
    "too deep to be a frame": (changed(4, frame=json.loads("[" * 200 + "]" * 200)), "line 4", "nested deeper than 100"),
    "too deep to be JSON": (
        lambda lines: [*lines[:3], "[" * 100_000, *lines[4:]],
        "line 4",
        "this is not JSON",
    ),
    "no rate": (changed(1, rates_hz={"sent": 0, "received": 24_000}), "line 1", "a rate is 1 Hz or more"),
    "a file of another folder": (
        lambda lines: [line.replace("received.flac", "../../secret.flac") for line in lines],
        "line",
        "no file of a cassette",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_makes_no_sense_is_named_with_its_line(cassette: Path, name: str) -> None:
    edit, place, problem = EDITS[name]
    edited(cassette, edit)
    with pytest.raises(CaseError, match=problem) as caught:
        recorded_model(cassette)
    assert caught.value.place.startswith(place)
    assert caught.value.file == cassette / "cassette.jsonl"
    assert caught.value.remedy


def test_what_is_no_cassette_is_refused(cassette: Path, tmp_path: Path) -> None:
    header = (cassette / "cassette.jsonl").read_bytes().splitlines(keepends=True)[0]
    contents = {b"": "is empty", b"\n": "not JSON", b"\xff\xfe": "not JSON", b"[]\n": "has no version"}
    for content, problem in {**contents, header: "holds no frame"}.items():
        (cassette / "cassette.jsonl").write_bytes(content)
        with pytest.raises(CaseError, match=problem):
            recorded_model(cassette)
    with pytest.raises(CaseError, match=r"nowhere.cassette\.jsonl: cannot be read"):
        recorded_model(tmp_path / "nowhere")


def test_damaged_and_foreign_speech_is_named(cassette: Path) -> None:
    (cassette / "received.flac").write_bytes(b"fLaC, or so it says")
    with pytest.raises(CaseError, match=r"received\.flac: the speech of the cassette is missing or damaged"):
        recorded_model(cassette)
    soundfile.write(cassette / "received.flac", np.zeros((100, 2), "<i2"), 8_000)
    with pytest.raises(CaseError, match=r"is 2 x 8000 Hz\. Put the original back: the header says 1 x 24000 Hz"):
        recorded_model(cassette)
    (cassette / "received.flac").unlink()
    with pytest.raises(CaseError, match="missing or damaged"):
        recorded_model(cassette)


def test_a_recorder_that_was_killed_leaves_a_readable_cassette(cassette: Path) -> None:
    whole = read_cassette(cassette)
    for name in ("sent", "received"):
        (cassette / f"{name}.pcm").write_bytes(whole.sound[f"{name}.flac"])
        (cassette / f"{name}.flac").unlink()
    assert read_cassette(cassette).sound == whole.sound


def test_an_edit_that_makes_sense_is_played(cassette: Path) -> None:
    edited(cassette, lambda lines: [line.replace("One moment please", "Wait a bit") for line in lines])
    frames = [line.frame for line in read_cassette(cassette).lines if isinstance(line, FrameLine)]
    assert any("Wait a bit" in str(frame) for frame in frames)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "audio", "delta", "id", "token", "handle", "data", "mimeType"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_frame_is_written_and_scrubbed_without_a_fault(frame: Any) -> None:
    clean = Scrubber(["secret-of-mine"]).clean(frame)
    assert json.loads(dump(clean)) == clean
    assert "\n" not in dump(clean)
    assert isinstance(kind_of(frame), str)
    assert all(key in holder for holder, key in audio_places(frame))
    assert Scrubber().clean(clean) == clean


@given(st.text(alphabet="ab-_ 1", max_size=20), st.text(alphabet="ab-_ 1", max_size=20))
def test_a_known_secret_is_found_anywhere(before: str, after: str) -> None:
    secret = "hunter2hunter2"
    clean = Scrubber([secret]).clean({"a": [f"{before}{secret}{after}", {f"{secret}": 1}]})
    assert secret not in dump(clean)


def test_secrets_are_known_by_their_look_and_by_how_their_names_end_wherever_they_stand() -> None:
    """Each line of the file: a frame, and what is kept of it."""
    lines = Path(__file__).with_name("scrubbed.jsonl").read_text(encoding="utf-8").splitlines()
    for frame, clean in map(json.loads, lines):
        assert Scrubber().clean(frame) == clean
        assert Scrubber().clean(clean) == clean
