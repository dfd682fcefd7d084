"""Where a voice begins and ends in the sound of a lane: takes the lag out of what a detector reported."""

from __future__ import annotations

from realtime.testing.record import Lane

_HOP_MS = 10
_SEARCH_MS = 400
"""The most by which the reported edges of a voice are late."""
_BELOW_PEAK_DB = 35.0
"""Quieter than the loudest 10 ms of a voice by this much is silence."""
_PAUSE_HOPS = 20
"""So many hops of silence part two voices."""


def refine_voice(lane: Lane, from_ms: float, to_ms: float) -> tuple[float, float]:
    """The edges of the voice that a detector reported from `from_ms` to `to_ms` of the call, no more than 400 ms
    earlier than it said. An edge that cannot be seen, because of noise or since the lane is silent there, stays."""
    import numpy as np

    begin_ms = max(0.0, from_ms - _SEARCH_MS)
    samples_per_hop = lane.rate_hz * _HOP_MS // 1000
    first = int(begin_ms * lane.rate_hz / 1000)
    last = int((max(from_ms, to_ms) + _HOP_MS) * lane.rate_hz / 1000)
    pcm = np.frombuffer(lane.pcm[: len(lane.pcm) // 2 * 2], dtype="<i2")[first : max(first, last)]
    n_hops = len(pcm) // samples_per_hop if samples_per_hop else 0
    if not n_hops:
        return from_ms, to_ms
    hops = pcm[: n_hops * samples_per_hop].reshape(n_hops, samples_per_hop).astype(np.float64)
    rms = np.sqrt((hops**2).mean(axis=1))
    loud = rms > max(1.0, float(rms.max()) * 10 ** (-_BELOW_PEAK_DB / 20))

    def ms_of(hop: int) -> float:
        return begin_ms + hop * _HOP_MS

    start = min(n_hops - 1, int((from_ms - begin_ms) / _HOP_MS))
    reached, quiet = None, 0
    for hop in range(start, -1, -1):
        if loud[hop]:
            reached, quiet = hop, 0
        else:
            quiet += 1
            if quiet >= _PAUSE_HOPS:
                break
    if reached is not None and quiet:
        # Only where silence is seen before it: else it is noise, or an earlier voice.
        from_ms = ms_of(reached)
    near = range(n_hops - 1, max(-1, n_hops - 2 - _SEARCH_MS // _HOP_MS), -1)
    ended = next((hop for hop in near if loud[hop]), None)
    if ended is not None and ended < n_hops - 2:
        to_ms = min(to_ms, ms_of(ended + 1))
    return from_ms, to_ms
