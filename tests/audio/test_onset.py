"""Where a sound begins: above what was there before, and again only if it is louder than one that was no voice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.onset import FRAME_MS, IGNORED_OVER_DB, Onset

RATE_HZ = 16_000


def noise(ms: int, level_db: float, seed: int = 0) -> bytes:
    """Noise of a level in dB below full scale."""
    samples = np.random.default_rng(seed).standard_normal(RATE_HZ * ms // 1000)
    return (samples * 10 ** (level_db / 20) * 32768).astype("<i2").tobytes()


def onsets_ms(onset: Onset, pcm: bytes) -> list[int]:
    """Return the ends of the frames in which a sound begins."""
    size = RATE_HZ * FRAME_MS // 1000 * 2
    return [
        at * FRAME_MS // size + FRAME_MS for at in range(0, len(pcm), size) if onset.hear(pcm[at : at + size], RATE_HZ)
    ]


@pytest.mark.parametrize("room_db", [-80, -60, -45])
def test_a_sound_begins_in_its_first_frame(room_db: float) -> None:
    assert onsets_ms(Onset(), noise(500, room_db) + noise(20, room_db + 35))[0] == 520


@pytest.mark.parametrize("room_db", [-90, -60, -45, -20])
def test_an_even_sound_does_not_begin(room_db: float) -> None:
    assert onsets_ms(Onset(), noise(10_000, room_db)) == []


def test_a_sound_below_the_least_level_does_not_begin() -> None:
    assert onsets_ms(Onset(), bytes(16_000) + noise(500, -56)) == []


def test_a_sound_that_was_no_voice_begins_again_only_if_it_is_louder() -> None:
    onset = Onset()
    assert onsets_ms(onset, noise(500, -70) + noise(100, -40) + noise(200, -70))
    onset.ignore()
    assert onsets_ms(onset, noise(100, -40) + noise(500, -70)) == []
    assert onsets_ms(onset, noise(100, -38 + IGNORED_OVER_DB))


def test_what_was_ignored_is_forgotten() -> None:
    onset = Onset()
    assert onsets_ms(onset, noise(500, -70) + noise(100, -40) + noise(200, -70))
    onset.ignore()
    assert onsets_ms(onset, noise(20_000, -70) + noise(100, -40))


def test_a_louder_room_is_known_after_some_seconds() -> None:
    onset = Onset()
    assert onsets_ms(onset, noise(500, -70) + noise(6_000, -50))
    assert onsets_ms(onset, noise(1_000, -50)) == []


@given(cuts=st.lists(st.integers(0, 40_000), max_size=20))
def test_the_length_of_the_pieces_changes_nothing(cuts: list[int]) -> None:
    pcm = noise(500, -70) + noise(500, -40) + noise(250, -70)
    at = sorted({0, len(pcm), *(cut for cut in cuts if cut < len(pcm))})
    pieces, whole = Onset(), Onset()
    begun = [pieces.hear(pcm[start:end], RATE_HZ) for start, end in pairwise(at)]
    assert any(begun) == whole.hear(pcm, RATE_HZ)
    pieces.ignore()
    whole.ignore()
    later = noise(500, -39, 1)
    assert pieces.hear(later, RATE_HZ) == whole.hear(later, RATE_HZ)
