"""Live voices of a room: each sample once and in order although the network is late, and several at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from realtime.client.voices import JITTER_S, LiveVoices

PIECE = 480
"""20 ms."""


def piece(number: int, value: int = 0) -> bytes:
    """A piece that is like no other: its samples count on."""
    counted = (number * PIECE + np.arange(PIECE)) % 30_000 + 1
    return (np.full(PIECE, value) if value else counted).astype("<i2").tobytes()


def listen(voices: LiveVoices, until_s: float) -> np.ndarray:
    blocks = [voices.mix_into(bytes(960), at * 0.02, 20) for at in range(round(until_s / 0.02))]
    return np.frombuffer(b"".join(blocks), "<i2")


@given(late_ms=st.lists(st.integers(0, int(JITTER_S * 1000) - 20), min_size=1, max_size=50))
def test_a_voice_that_is_late_by_less_than_its_reserve_has_no_hole(late_ms: list[int]) -> None:
    voices = LiveVoices(0.0)
    sent = b""
    at_s = 0.0
    for number, late in enumerate(late_ms):
        # What was sent later does not overtake.
        at_s = max(at_s, number * 0.02 + late / 1000)
        voices.play("ann.voice", number * PIECE, piece(number), at_s)
        sent += piece(number)
    heard = listen(voices, len(late_ms) * 0.02 + 0.3)
    sounding = np.flatnonzero(heard)
    assert heard[sounding[0] : sounding[-1] + 1].tobytes() == sent


def test_two_voices_are_heard_at_once_and_one_that_left_no_more() -> None:
    voices = LiveVoices(0.0)
    voices.play("ann.voice", 0, piece(0, 1_000), 0.0)
    voices.play("ben.voice", 0, piece(0, 32_000), 0.0)
    assert max(listen(voices, 0.2)) == 32_767
    voices.leave("ben")
    assert max(listen(voices, 0.2)) == 1_000
    block = piece(0, 5)
    assert voices.mix_into(block, 10.0, 20) is block
