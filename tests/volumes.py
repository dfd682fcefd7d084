"""How much a test does, and with which chance: a little in `make test`, all of it in `make nightly`."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import TypeVar

T = TypeVar("T", int, float)
Item = TypeVar("Item")

NIGHTLY = os.environ.get("REALTIME_NIGHTLY") == "1"
SEED = int(os.environ.setdefault("REALTIME_SEED", f"{datetime.now(UTC):%Y%m%d}"))
"""Seed of everything random: the day, unless REALTIME_SEED repeats another. Processes that tests start inherit it."""


def volume(quick: T, nightly: T) -> T:
    """`quick` in `make test`, `nightly` in `make nightly`."""
    return nightly if NIGHTLY else quick


def sampled(items: Sequence[Item], share: float = 0.1) -> list[Item]:
    """A share of the items in `make test`, at least one, chosen by SEED; all of them in `make nightly`."""
    if NIGHTLY:
        return [*items]
    wanted = min(len(items), max(1, round(len(items) * share)))
    chosen = Random(SEED).sample(range(len(items)), wanted)
    return [items[place] for place in sorted(chosen)]
