"""The live voice of a human: converted once for each rate, quiet left out, and nobody heard faster than they speak."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.audio.resample import Resampler
from realtime.audio.voice import HANGOVER_MS, MOST_AHEAD_MS, QUIET_PEAK, Voice, is_voice
from tests.volumes import volume

CHUNK_MS = 20


def sound(ms: int = CHUNK_MS, rate_hz: int = 16_000, peak: int = 5_000) -> bytes:
    return np.random.default_rng(1).integers(-peak, peak + 1, ms * rate_hz // 1000).astype("<i2").tobytes()


def test_it_is_told_as_an_item_of_no_response_of_whoever_speaks() -> None:
    voice = Voice("human_1", "Ada")
    assert voice.push(sound(), 16_000, 0.0)
    event, start = voice.chunk(16_000, 350)
    assert (event.item_id, event.response_id, event.agent_id, event.agent_name) == (
        "human_1.voice",
        "",
        "human_1",
        "Ada",
    )
    assert (event.delta, event.format.rate, event.ts_ms, start) == (sound(), 16_000, 350, 0)
    assert "seq" not in event.model_dump(), "it is in no log"
    assert is_voice(event.item_id)
    assert not is_voice("friday.reply_1")


@settings(deadline=None, max_examples=volume(10, 30))
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.sampled_from([8_000, 16_000, 24_000, 48_000]))
def test_however_it_is_cut_it_is_the_converted_stream_with_growing_places(lengths_ms: list[int], out_hz: int) -> None:
    voice, resampler, at = Voice("human_1"), Resampler(16_000, out_hz), 0
    for length_ms in lengths_ms:
        voice.push(sound(length_ms), 16_000, 0.0)
        event, start = voice.chunk(out_hz, 0)
        assert event.delta == resampler.push(sound(length_ms))
        assert start == at
        at += len(event.delta) // 2


def test_a_chunk_is_converted_once_however_many_hear_it() -> None:
    voice = Voice("human_1")
    voice.push(sound(), 16_000, 0.0)
    first = voice.chunk(24_000, 0).event.delta
    assert voice.chunk(24_000, 0).event.delta is first
    assert voice.chunk(16_000, 0).event.delta == sound()


def test_a_rate_that_nobody_listened_at_for_a_while_begins_anew_and_its_places_go_on() -> None:
    voice = Voice("human_1")
    for _ in range(2):
        voice.push(sound(), 16_000, 0.0)
    before = voice.chunk(24_000, 0)
    voice.push(sound(), 16_000, 0.0)
    voice.push(sound(), 16_000, 0.0)
    after = voice.chunk(24_000, 0)
    assert after.event.delta == before.event.delta
    assert after.start == len(before.event.delta) // 2


def test_a_microphone_that_changes_its_rate_goes_on_in_its_place() -> None:
    voice = Voice("human_1")
    voice.push(sound(), 16_000, 0.0)
    first = voice.chunk(24_000, 0)
    voice.push(sound(rate_hz=48_000), 48_000, 0.02)
    second = voice.chunk(24_000, 0)
    assert second.start == len(first.event.delta) // 2
    assert second.event.delta == Resampler(48_000, 24_000).push(sound(rate_hz=48_000))


def test_quiet_is_left_out_once_it_has_lasted() -> None:
    voice, quiet = Voice("human_1"), sound(peak=QUIET_PEAK)
    assert not voice.push(quiet, 16_000, 0.0), "nothing was said before"
    assert voice.push(sound(), 16_000, 0.02)
    heard = [voice.push(quiet, 16_000, 0.04 + number * 0.02) for number in range(50)]
    assert heard == [True] * (HANGOVER_MS // CHUNK_MS) + [False] * (50 - HANGOVER_MS // CHUNK_MS)
    assert voice.push(sound(peak=QUIET_PEAK + 300), 16_000, 2.0), "the first sound is heard at once"
    assert not voice.push(b"", 16_000, 2.0)


def test_whoever_sends_faster_than_they_can_speak_is_heard_no_faster() -> None:
    voice = Voice("human_1")
    passed = [voice.push(sound(), 16_000, 0.0) for _ in range(500)]
    most = MOST_AHEAD_MS // CHUNK_MS + 1
    assert sum(passed) == most
    assert voice.dropped_bytes == (500 - most) * len(sound())
    assert voice.push(sound(), 16_000, 5.0), "time has caught up"


@pytest.mark.parametrize("rate_hz", [8_000, 44_100, 48_000])
def test_whoever_speaks_in_time_is_heard_for_ever(rate_hz: int) -> None:
    voice = Voice("human_1")
    assert all(voice.push(sound(rate_hz=rate_hz), rate_hz, number * 0.02) for number in range(1_000))
    assert voice.dropped_bytes == 0
