"""The documents name files, options, variables, measurements, classes and methods that exist (`tools/lint_docs.py`)."""

import pytest

from tools import lint_docs


def test_what_is_not_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # In two parts: this file is one of those in which names are looked for.
    variable, option = "_".join(("REALTIME", "NONE")), "--" + "none-such"
    text = f"`tests/none.py` [x](none.md) RealtimeAgent.fly `python -m bench none` {variable} `{option}` room/no.py"
    monkeypatch.setattr(lint_docs, "text_of", lambda page: text)
    found = [name for check in lint_docs.CHECKS for name in check(lint_docs.HAS_PARTS)]
    assert found == ["tests/none.py", "none.md", "RealtimeAgent.fly", "none", variable, option, "room/no.py"]
