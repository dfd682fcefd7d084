"""Delays in slices of a quarter second, separated by the host's interference.

A host that gives a core to other machines for 5 to 30 ms delays everything on it by as much, and a busy server by
several times as much, until it has caught up. Such a slice, and the next one, show the load of the host.
"""

from __future__ import annotations

from array import array

SLICE_S = 0.25
CALM_S = 0.015
"""Limit of stolen time of all cores in a slice and the one before; Linux reports hundredths, so this is one of them."""
MIN_CALM_PERCENT = 10.0
"""Share of the delays: with less, a window measures the host rather than the server."""


class Delays:
    """What one process measured. `add` each delay, `end_slice` every `SLICE_S`, then `report`."""

    def __init__(self, stolen_s: float) -> None:
        """`stolen_s`: what the host has withheld so far, as in `end_slice`."""
        self._stolen_s = stolen_s
        self._before_s = 0.0
        self._slice_us: array[int] = array("I")
        self._calm_us: array[int] = array("I")
        self._disturbed_us: array[int] = array("I")

    def add(self, delay_us: int) -> None:
        """One delay in microseconds."""
        self._slice_us.append(delay_us)

    def end_slice(self, stolen_s: float) -> None:
        """Begin the next slice; `stolen_s` is what the host has withheld since the machine started."""
        withheld_s = stolen_s - self._stolen_s
        calm = withheld_s + self._before_s <= CALM_S
        (self._calm_us if calm else self._disturbed_us).extend(self._slice_us)
        self._slice_us = array("I")
        self._stolen_s, self._before_s = stolen_s, withheld_s

    def report(self) -> dict[str, float]:
        """`p50_ms`, `p99_ms` and `max_ms` of the calm slices, or of all where fewer than `MIN_CALM_PERCENT` are calm;
        `calm_percent` of the delays; `p99_of_all_ms`. A slice that has not ended does not count."""
        every = sorted([*self._calm_us, *self._disturbed_us])
        calm_percent = 100 * len(self._calm_us) / len(every) if every else 0.0
        judged = sorted(self._calm_us) if calm_percent >= MIN_CALM_PERCENT else every
        return {
            "p50_ms": percentile(judged, 50) / 1000,
            "p99_ms": percentile(judged, 99) / 1000,
            "max_ms": (judged[-1] if judged else 0) / 1000,
            "p99_of_all_ms": percentile(every, 99) / 1000,
            "calm_percent": calm_percent,
        }


def percentile(ordered: list[int], share: int) -> int:
    """The value that `share` percent of the ordered values do not exceed; 0 for none."""
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0
