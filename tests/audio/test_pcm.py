"""pcm16 helpers: no sample is lost or split, whatever the chunks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.pcm import (
    PcmCarry,
    bytes_of,
    from_float32,
    ms_of,
    to_float32,
)

ragged_chunks = st.lists(st.binary(max_size=50), max_size=30)


def test_durations_and_sizes_are_each_others_inverse_for_whole_ms() -> None:
    assert ms_of(48_000, 24_000) == 1000
    assert bytes_of(40, 16_000) == 1280
    assert bytes_of(0.1, 24_000) == 4
    for rate_hz in (8_000, 16_000, 24_000, 48_000):
        assert all(ms_of(bytes_of(ms, rate_hz), rate_hz) == ms for ms in range(200))


def test_duration_is_rounded_down() -> None:
    assert ms_of(1024 * 2, 24_000) == 42
    assert ms_of(2, 16_000) == 0


@given(ragged_chunks)
def test_carry_keeps_every_byte_and_yields_whole_samples(chunks: list[bytes]) -> None:
    carry = PcmCarry()
    pushed = [carry.push(chunk) for chunk in chunks]
    whole = b"".join(chunks)
    assert all(len(chunk) % 2 == 0 for chunk in pushed)
    assert b"".join(pushed) == whole[: len(whole) - len(whole) % 2]


def test_carry_can_be_cleared() -> None:
    carry = PcmCarry()
    assert carry.push(b"abc") == b"ab"
    carry.clear()
    assert carry.push(b"de") == b"de"


@given(st.lists(st.integers(-32768, 32767)))
def test_float_and_back_is_exact(samples: list[int]) -> None:
    pcm = np.array(samples, "<i2").tobytes()
    assert from_float32(to_float32(pcm)) == pcm


def test_floats_beyond_full_scale_are_clamped() -> None:
    loud = np.array([1.0, 3.5, -1.0, -3.5, 0.0], np.float32)
    assert np.frombuffer(from_float32(loud), "<i2").tolist() == [32767, 32767, -32768, -32768, 0]
