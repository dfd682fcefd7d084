"""Mixing: a saturating sum."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.mix import mix

voices = st.lists(st.lists(st.integers(-32768, 32767), max_size=20), max_size=6)


@given(voices)
def test_mix_is_the_clamped_sum_as_long_as_the_longest(frames: list[list[int]]) -> None:
    """CARD-05: the mix step: sum of frames of different lengths, saturating."""
    longest = max(map(len, frames), default=0)
    sums = [sum(frame[i] for frame in frames if i < len(frame)) for i in range(longest)]
    expected = [max(-32768, min(32767, value)) for value in sums]
    mixed = mix([np.array(frame, "<i2").tobytes() for frame in frames])
    assert np.frombuffer(mixed, "<i2").tolist() == expected


def test_nothing_mixed_is_nothing() -> None:
    assert mix([]) == b""
