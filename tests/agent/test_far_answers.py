"""Whether an answer comes from afar: its first word may be in what the detector found no voice in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from realtime.agent.echo_watch import EchoWatch
from realtime.agent.interruptions import Interruptions

RATE_HZ = 16_000
REPLY: Any = None
"""Nothing is played."""


def voice(ms: int, level_db: float) -> bytes:
    """A tone so much louder than the user usually is."""
    at = np.arange(RATE_HZ * ms // 1000)
    return (3_000 * 10 ** (level_db / 20) * np.sin(at / 5)).astype("<i2").tobytes()


def silence(ms: int) -> bytes:
    return bytes(RATE_HZ * ms // 500)


def is_far(before: bytes, turn: bytes) -> bool:
    interruptions = Interruptions(REPLY, REPLY, RATE_HZ, None, EchoWatch())
    interruptions.learn(1_000, lambda ms: voice(1_000, 0))
    audio = silence(2_000) + before + turn
    return interruptions.is_far(len(turn) * 500 // RATE_HZ, lambda ms: audio[-(RATE_HZ * ms // 500) :])


@pytest.mark.parametrize(
    ("before", "turn", "expected"),
    [
        (b"", voice(600, 0), False),
        (b"", voice(600, -7), True),
        (voice(300, 0) + silence(80), voice(600, -7), False),
        (voice(300, 0) + silence(80), voice(600, -8.5), True),
        (voice(300, 0) + silence(400), voice(600, -7), True),
        (b"", voice(600, 0) + voice(600, -10), True),
    ],
)
def test_a_weak_end_is_the_users_where_a_near_word_comes_right_before_it(
    before: bytes, turn: bytes, expected: bool
) -> None:
    assert is_far(before, turn + silence(500)) is expected
