"""Text files of people: in the encodings of their editors, wherever one is read."""

import asyncio
import base64
import codecs
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from realtime.call.session import JSONSession
from realtime.formatter.media import Media, part_of
from realtime.message import Base64Source, DataBlock
from realtime.module import StateModule
from realtime.server.load import load_make_agent
from realtime.server.runner import given_token
from realtime.testing.cases.case import load_case
from realtime.testing.cases.stored import read_log
from realtime.testing.cassettes.imported import import_cassette
from realtime.testing.errors import CaseError
from realtime.testing.report.diff import read_digest
from realtime.testing.score.labels import read_labels
from realtime.texts import as_utf8

TEXT = '{"name": "Köln – “Mitte”"}'
WRITTEN = {
    "utf-8": TEXT.encode(),
    "utf-8 with a mark": codecs.BOM_UTF8 + TEXT.encode(),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16, big end first": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "utf-16 without a mark": TEXT.encode("utf-16-le"),
    "utf-16, big end first, without a mark": TEXT.encode("utf-16-be"),
    "utf-32": TEXT.encode("utf-32"),
    "windows-1252": TEXT.encode("cp1252"),
}
EDITORS = ["utf-8", "utf-8-sig", "utf-16", "cp1252"]


@pytest.mark.parametrize("data", WRITTEN.values(), ids=WRITTEN)
def test_a_text_is_read_in_the_encoding_of_its_editor(data: bytes) -> None:
    assert as_utf8(data) == TEXT.encode()


@pytest.mark.parametrize("text", [TEXT, "caf\u00e9 na\u00efve", "Stra\u00dfe \u20ac 5"])
def test_a_byte_that_is_none_in_utf_8_costs_only_itself(text: str) -> None:
    for mark in (b"", codecs.BOM_UTF8):
        assert as_utf8(mark + text.encode() + b"\xff!").decode() == text + "\N{REPLACEMENT CHARACTER}!"


def test_bytes_that_windows_does_not_know_stay_characters() -> None:
    assert as_utf8(b"\x81\xe9").decode() == "\x81é"


@pytest.mark.parametrize("data", [b"fLaC\0\0\0\x22", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is no text"):
        as_utf8(data)


@pytest.mark.parametrize("encoding", EDITORS)
def test_a_case_is_read(encoding: str, tmp_path: Path) -> None:
    case = {"about": "Grüße", "users": [{"steps": [{"do": "type", "text": "Wie spät ist es?"}]}]}
    (tmp_path / "case.json").write_bytes(json.dumps(case, ensure_ascii=False).encode(encoding))
    assert load_case(tmp_path)[0].about == "Grüße"


def test_a_case_that_is_no_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_bytes(b"fLaC\0\0")
    with pytest.raises(CaseError, match=r"case\.json: it is no text"):
        load_case(tmp_path)


class Notes(StateModule):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.register_state("text")


@pytest.mark.parametrize("encoding", EDITORS)
def test_a_session_is_read(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_bytes('{"notes": {"text": "Grüße"}}'.encode(encoding))
    notes = Notes()
    asyncio.run(JSONSession(tmp_path).load_session_state("mine", notes=notes))
    assert notes.text == "Grüße"


SOURCE = 'GREETING = "Grüße"\ndef make_agent():\n    return GREETING\n'


@pytest.mark.parametrize(
    "data",
    [
        *(SOURCE.encode(one) for one in EDITORS),
        b"# -*- coding: cp1252 -*-\n" + SOURCE.encode("cp1252"),
        b"#!/usr/bin/python\n# coding=latin-1\n" + SOURCE.encode("latin-1"),
    ],
    ids=[*EDITORS, "with a cookie", "with a cookie in line 2"],
)
def test_an_agent_file_is_read(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["", *sys.path])
    monkeypatch.setattr("sys.modules", {**sys.modules})
    path = tmp_path / "agent_of_an_editor.py"
    path.write_bytes(data)
    make_agent: Any = load_make_agent(str(path))
    assert make_agent() == "Grüße"


@pytest.mark.parametrize("encoding", EDITORS)
def test_a_token_labels_a_digest_a_log_and_frames_are_read(encoding: str, tmp_path: Path) -> None:
    def written(text: str) -> Path:
        path = tmp_path / "file.jsonl"
        path.write_bytes(text.encode(encoding))
        return path

    assert given_token(None, written("4711\n"), {}) == "4711"
    (label,) = read_labels(written('[{"id": "ö", "class": "turn", "on_ms": 0, "off_ms": 9}]'))
    assert label.id == "ö"
    with pytest.raises(CaseError, match="this digest has version 0"):
        read_digest(written('{"version": 0, "title": "ö", "runs": []}'))
    with pytest.raises(CaseError, match="line 1"):
        read_log(written('{"type": "ö"}\n'))
    frame = {"type": "session.update", "session": {"model": "gpt-realtime", "instructions": "Grüße\u2028"}}
    text = json.dumps(frame, ensure_ascii=False)
    if encoding == "cp1252":
        text = text.replace("\u2028", "")
    assert import_cassette(written(text), tmp_path / "cassette").frames == 1


@pytest.mark.parametrize("encoding", EDITORS)
def test_a_text_file_in_a_message_is_read(encoding: str) -> None:
    source = Base64Source(data=base64.b64encode("Grüße".encode(encoding)).decode(), media_type="text/plain")
    part = part_of(DataBlock(source=source, name="a.txt"), {})
    assert not isinstance(part, Media)
    assert part == '<file name="a.txt">\nGrüße\n</file>'
