"""A codec and the dialect of the same protocol share no frames: neither may hide a mistake of the other."""

import re
from pathlib import Path

REALTIME = Path(__file__).parents[2] / "realtime"
FAMILIES = ("gemini", "openai_family")


def test_dialects_import_nothing_of_a_codec_and_codecs_nothing_of_a_dialect() -> None:
    dialects = {file: file.read_text("utf-8") for file in (REALTIME / "dialects").rglob("*.py")}
    assert len(dialects) > 20
    for family in FAMILIES:
        assert [file.name for file, text in dialects.items() if f"realtime.model.{family}" in text] == []
        codecs = {file: file.read_text("utf-8") for file in (REALTIME / "model" / family).glob("*.py")}
        assert len(codecs) > 5
        imports = r"\bimport realtime\.dialects|from realtime\.dialects"
        assert [file.name for file, text in codecs.items() if re.search(imports, text)] == []
