"""How much a test does: a little in `make test`, all of it in `make nightly`."""

import os
from typing import TypeVar

T = TypeVar("T", int, float)

NIGHTLY = os.environ.get("REALTIME_NIGHTLY") == "1"


def volume(quick: T, nightly: T) -> T:
    """`quick` in `make test`, `nightly` in `make nightly`."""
    return nightly if NIGHTLY else quick
