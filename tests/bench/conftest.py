"""What the bench's tests share."""

import pytest

from bench import window
from tests.volumes import NIGHTLY, sampled

SHARE = 1 / 3
"""Of the tests marked `rotates`, by day."""
FEW = 6
"""No more than these all run, as when a bench is worked on."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rotates: runs a bench; a third of them by day, each night all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rotating = [item for item in items if item.get_closest_marker("rotates")]
    if NIGHTLY or len(rotating) <= FEW:
        return
    left_out = {*rotating} - {*sampled(rotating, SHARE)}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What disturbs a window is nothing to a test that looks at no time."""
    monkeypatch.setattr(window, "MAX_REPEATS", 0)
