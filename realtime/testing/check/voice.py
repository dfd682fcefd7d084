"""Finds a voice's edges in a lane's audio, independent of detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from realtime.testing.record import Lane

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HOP_MS = 10
_SEARCH_MS = 400
"""Maximum delay of a voice's reported edges."""
_BELOW_PEAK_DB = 35.0
"""How much quieter than a voice's loudest 10 ms counts as silence."""
_PAUSE_HOPS = 20
"""Number of silent hops that separate two voices."""
_PARTING_MS = 400
"""A longer silence separates two turns in one recording."""
_FIRST_PARTING_MS = 2_000
"""The same before the first noticed turn: speech that the detector missed is its beginning."""
_AROUND_MS = 120
"""Accuracy of a recording's place in the lane."""
_ABOVE_NOISE = 2.0
"""Minimum ratio of a voice to its recording's quietest tenth.

It does not hold for a voice about as loud as its loudest 10 ms.
"""
_NEARLY = 0.25


class SpokenVoice:
    """The spoken voice from `from_ms` to `to_ms` of the call; silent ends included.

    `after_ms` is where the recording before it ended: earlier audio is ignored.
    """

    def __init__(self, lane: Lane, from_ms: float, to_ms: float, after_ms: float = 0.0) -> None:
        self._begin_ms = max(0.0, min(from_ms, max(after_ms, from_ms - _AROUND_MS)))
        rms = _hops(lane, self._begin_ms, to_ms + _AROUND_MS)
        inside = rms[int((from_ms - self._begin_ms) / _HOP_MS) : int((to_ms - self._begin_ms) / _HOP_MS)]
        self._loud: list[bool] = []
        self._first = 0
        if len(inside):
            peak, floor = float(inside.max()), float(sorted(inside)[len(inside) // 10])
            limit = max(1.0, peak * 10 ** (-_BELOW_PEAK_DB / 20), min(floor * _ABOVE_NOISE, peak * _NEARLY))
            self._loud = (rms > limit).tolist()
        self._hidden = bool(self._loud) and all(self._loud)
        if self._hidden:
            # There is no silence, only noise.
            self._loud = []
        elif self._begin_ms < from_ms and self._loud[0]:
            # Loud before it began: the first edge belongs to another sound.
            self._first = self._loud.index(False)

    def began_ms(
        self, near_ms: float, until_ms: float, *, since_ms: float, first: bool, all_of_it: bool
    ) -> float | None:
        """Return the start of a voice that a detector reported at `near_ms`; None if not found.

        The search begins at `since_ms`, and ends at `until_ms` if there is silence at `near_ms`. `first`: no turn of
        this recording came before it; `all_of_it`: then it begins with the first voice in it.
        """
        lowest = max(self._first, self._hop(since_ms) if since_ms > self._begin_ms else 0)
        parting = _FIRST_PARTING_MS if first else _PARTING_MS
        most_quiet = len(self._loud) if first and all_of_it else parting // _HOP_MS
        near = range(min(len(self._loud) - 1, self._hop(near_ms)), lowest - 1, -1)
        reached, _ = _first_loud(self._loud, near, most_quiet)
        if reached is None:
            ahead = range(max(lowest, self._hop(near_ms)), min(len(self._loud), self._hop(until_ms)))
            reached = next((hop for hop in ahead if self._loud[hop]), None)
        elif reached == lowest and lowest > 0:
            return None
        return None if reached is None else self._ms(reached)

    def ended_ms(self, near_ms: float) -> float | None:
        """Return the end of the last voice before `near_ms`; None if there is none or it continues there."""
        last = min(len(self._loud), self._hop(near_ms) + 1)
        ended = next((hop for hop in range(last - 1, self._first - 1, -1) if self._loud[hop]), None)
        return None if ended is None or ended >= self._hop(near_ms) - 1 else self._ms(ended + 1)

    def heard(self, from_ms: float, to_ms: float) -> bool:
        """Whether there is a voice in between, or noise that hides it."""
        return self._hidden or any(self._loud[max(0, self._hop(from_ms)) : max(0, self._hop(to_ms) + 1)])

    def _hop(self, ms: float) -> int:
        return int((ms - self._begin_ms) // _HOP_MS)

    def _ms(self, hop: int) -> float:
        return self._begin_ms + hop * _HOP_MS


def _first_loud(loud: Sequence[bool], backwards: range, most_quiet: int) -> tuple[int | None, int]:
    """Return the voice's first hop and the count of silent hops before.

    Walks back over at most `most_quiet` silent hops in a row.
    """
    reached, quiet = None, 0
    for hop in backwards:
        if loud[hop]:
            reached, quiet = hop, 0
        elif quiet == most_quiet:
            return reached, quiet + 1
        else:
            quiet += 1
    return reached, quiet


def _hops(lane: Lane, from_ms: float, to_ms: float) -> NDArray[np.float64]:
    """Return the level of each 10 ms."""
    import numpy as np

    samples_per_hop = lane.rate_hz * _HOP_MS // 1000
    first, last = int(from_ms * lane.rate_hz / 1000), int(to_ms * lane.rate_hz / 1000)
    pcm = np.frombuffer(lane.pcm[: len(lane.pcm) // 2 * 2], dtype="<i2")[first : max(first, last)]
    n_hops = len(pcm) // samples_per_hop if samples_per_hop else 0
    hops = pcm[: n_hops * samples_per_hop].reshape(n_hops, max(1, samples_per_hop)).astype(np.float64)
    loudness: NDArray[np.float64] = np.sqrt((hops**2).mean(axis=1))
    return loudness


def refine_voice(lane: Lane, from_ms: float, to_ms: float) -> tuple[float, float]:
    """Refine a reported voice's edges: at most 400 ms earlier than reported.

    `from_ms` and `to_ms` are ms of the call, for a call without known times of speech. An edge that cannot be found,
    because of noise or a silent lane, stays.
    """
    begin_ms = max(0.0, from_ms - _SEARCH_MS)
    rms = _hops(lane, begin_ms, max(from_ms, to_ms) + _HOP_MS)
    n_hops = len(rms)
    if not n_hops:
        return from_ms, to_ms
    loud: list[bool] = (rms > max(1.0, float(rms.max()) * 10 ** (-_BELOW_PEAK_DB / 20))).tolist()

    def ms_of(hop: int) -> float:
        return begin_ms + hop * _HOP_MS

    start = min(n_hops - 1, int((from_ms - begin_ms) / _HOP_MS))
    reached, quiet = _first_loud(loud, range(start, -1, -1), _PAUSE_HOPS - 1)
    if reached is not None and quiet:
        # Only with silence before it: otherwise it is noise, or an earlier voice.
        from_ms = ms_of(reached)
    near = range(n_hops - 1, max(-1, n_hops - 2 - _SEARCH_MS // _HOP_MS), -1)
    ended = next((hop for hop in near if loud[hop]), None)
    if ended is not None and ended < n_hops - 2:
        to_ms = min(to_ms, ms_of(ended + 1))
    return from_ms, to_ms
