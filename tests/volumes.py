"""How much a test does, and with which chance: a little in `make test`, all of it in `make nightly`."""

import os
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T", int, float)
Item = TypeVar("Item")

HANG_S = 120.0
"""How long a test waits in real time for what has to happen. A guard against hanging, never a measure of speed."""
NIGHTLY = os.environ.get("REALTIME_NIGHTLY") == "1"
SEED = int(os.environ.get("REALTIME_SEED", "20261128")) if NIGHTLY else 20261128
"""Seed of everything random: by day always the same. `make nightly` draws another and prints it."""


def volume(quick: T, nightly: T) -> T:
    """`quick` in `make test`, `nightly` in `make nightly`."""
    return nightly if NIGHTLY else quick


def sampled(items: Sequence[Item], share: float = 0.1) -> list[Item]:
    """A share of the items in `make test`, at least one, always the same ones; all of them in `make nightly`."""
    if NIGHTLY:
        return [*items]
    wanted = min(len(items), max(1, round(len(items) * share)))
    chosen = Random(SEED).sample(range(len(items)), wanted)
    return [items[place] for place in sorted(chosen)]
