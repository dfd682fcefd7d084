"""A codec and the dialect of the same protocol share no frames: neither may hide a mistake of the other."""

import re
from pathlib import Path

import pytest

REALTIME = Path(__file__).parents[2] / "realtime"
FAMILIES = ("gemini", "openai_family")


@pytest.mark.parametrize("family", FAMILIES)
def test_dialects_import_nothing_of_a_codec(family: str) -> None:
    files = [*(REALTIME / "dialects").rglob("*.py")]
    assert len(files) > 20
    assert [file.name for file in files if f"realtime.model.{family}" in file.read_text("utf-8")] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_codecs_import_nothing_of_a_dialect(family: str) -> None:
    files = [*(REALTIME / "model" / family).glob("*.py")]
    assert len(files) > 5
    assert [
        file.name
        for file in files
        if re.search(r"\bimport realtime\.dialects|from realtime\.dialects", file.read_text("utf-8"))
    ] == []
