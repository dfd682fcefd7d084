"""Each fact of a call has one writer in the product; everything else asks it (`tools/lint_writers.py`)."""

from pathlib import Path

import pytest

from tools import lint_writers


def test_another_writer_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("self._turn.state = 1\nmade = Turn()\nresponse.done = True")
    monkeypatch.setattr(lint_writers, "product_files", lambda: {"room/other.py": other})
    lint_writers.product_nodes.cache_clear()
    assert lint_writers.files_that_call("Turn") == {"room/other.py"}
    assert [*lint_writers.writes_of({"turn"}, {"state"})] == [("room/other.py", "self._turn.state")]
    assert len([*lint_writers.complaints()]) > 5
