"""What the bench's tests share."""

import pytest

from bench import window


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What disturbs a window is nothing to a test that looks at no time."""
    monkeypatch.setattr(window, "MAX_REPEATS", 0)
