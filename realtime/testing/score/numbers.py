"""Measured values: rates with their interval, and times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median

Z_95 = 1.959964
"""The normal quantile of a 95 % interval."""
NOT_MEASURABLE = "not measurable"


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many. `total` is None where the call has no labels."""

    hits: int = 0
    total: int | None = None

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> Rate:
        """Count the outcomes that are true."""
        known = [*outcomes]
        return cls(sum(known), len(known))

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None without events."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval of the share; None without events."""
        if not self.total:
            return None
        share, n = self.hits / self.total, self.total
        centre = (share + Z_95**2 / (2 * n)) / (1 + Z_95**2 / n)
        half = Z_95 / (1 + Z_95**2 / n) * math.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n**2))
        return max(0.0, centre - half), min(1.0, centre + half)

    def __str__(self) -> str:
        """Return `.950 (19/20, .764 to .991)`; `none` without events."""
        if self.total is None:
            return NOT_MEASURABLE
        if (share := self.value) is None or (interval := self.interval) is None:
            return "none"
        return f"{share:.3f} ({self.hits}/{self.total}, {interval[0]:.3f} to {interval[1]:.3f})"


@dataclass(frozen=True, slots=True)
class Times:
    """Durations in ms. `values_ms` is None where the call has no labels."""

    values_ms: tuple[float, ...] | None = None

    @property
    def mean_ms(self) -> float | None:
        """The mean; None without values."""
        return fmean(self.values_ms) if self.values_ms else None

    @property
    def median_ms(self) -> float | None:
        """The median; None without values."""
        return median(self.values_ms) if self.values_ms else None

    @property
    def p90_ms(self) -> float | None:
        """The smallest value that 90 % of all do not exceed; None without values."""
        return sorted(self.values_ms)[math.ceil(len(self.values_ms) * 0.9) - 1] if self.values_ms else None

    def __str__(self) -> str:
        """Return `median 560, p90 640, mean 575 ms (n 12)`; `none` without values."""
        if self.values_ms is None:
            return NOT_MEASURABLE
        if not self.values_ms:
            return "none"
        return (
            f"median {self.median_ms:.0f}, p90 {self.p90_ms:.0f}, mean {self.mean_ms:.0f} ms (n {len(self.values_ms)})"
        )
