"""How much a test does, and with which chance: a little in `make test`, all of it in `make nightly`."""

import os
from typing import TypeVar

T = TypeVar("T", int, float)

HANG_S = 120.0
"""How long a test waits in real time for what has to happen. A guard against hanging, never a measure of speed."""
NIGHTLY = os.environ.get("REALTIME_NIGHTLY") == "1"
SEED = int(os.environ.get("REALTIME_SEED", "20261128")) if NIGHTLY else 20261128
"""Seed of everything random: by day always the same. `make nightly` draws another and prints it."""


def volume(quick: T, nightly: T) -> T:
    """`quick` in `make test`, `nightly` in `make nightly`."""
    return nightly if NIGHTLY else quick
