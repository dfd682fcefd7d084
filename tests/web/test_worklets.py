"""The built worklets in a real Chromium, on its real audio thread."""

import itertools
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.web.pages import script

pytestmark = pytest.mark.night

RATE_HZ = 24_000
QUANTUM = 128
FADE = 120  # 5 ms


def played(page: Page, address: str, plan: str) -> dict[str, Any]:
    """What was heard of two items, and told of them."""
    page.goto(address)
    result: dict[str, Any] = page.evaluate(script("playback.js"), {"rate": RATE_HZ, "plan": plan})
    return result


def of(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [message for message in messages if message["type"] == kind]


def test_items_are_played_to_their_last_sample_and_reported(page: Page, static_page: str) -> None:
    result = played(page, static_page, "play")
    assert result["heard"] == {"8000": RATE_HZ // 4, "4000": RATE_HZ // 8}
    finished = [(message["slot"], message["playedSamples"]) for message in of(result["messages"], "finished")]
    assert finished == [(0, RATE_HZ // 4), (1, RATE_HZ // 8)]
    counters = of(result["messages"], "flushed")[-1]["counters"]
    assert counters["rendered"] == counters["audible"] == RATE_HZ // 4 + RATE_HZ // 8


def test_a_flush_plays_at_most_two_quanta_and_the_fade_and_nothing_of_the_item_afterwards(
    page: Page, static_page: str
) -> None:
    result = played(page, static_page, "flush")
    first, second, last = of(result["messages"], "flushed")
    (flushed,) = first["slots"]
    assert flushed["slot"] == 0
    # Samples of the fade have values of their own: all that was heard, but the two plateaus.
    plateau = result["heard"]["8000"]
    assert flushed["playedSamples"] - plateau in (FADE, FADE - 1)
    assert [entry["slot"] for entry in second["slots"]] == [1]
    assert last["slots"] == []
    counters = last["counters"]
    assert FADE <= counters["afterFlush"] <= 2 * (2 * QUANTUM + FADE)
    assert counters["refused"] == 2 * RATE_HZ
    assert sum(result["heard"].values()) in range(counters["rendered"] - 4, counters["rendered"] + 1)
    assert result["quietFrames"] >= 8


def test_the_microphone_is_resampled_clamped_and_cut_into_frames_of_20_ms(page: Page, static_page: str) -> None:
    page.goto(static_page)
    for context_rate in (16_000, 48_000, 44_100):
        frames = page.evaluate(script("capture.js"), {"contextRate": context_rate, "seconds": 1})
        assert {len(frame["pcm"]) for frame in frames} == {320}
        samples = [sample for frame in frames[5:45] for sample in frame["pcm"]]
        assert max(samples) == 32767
        assert min(samples) == -32768
        rises = sum(1 for before, after in itertools.pairwise(samples) if before < 0 <= after)
        assert abs(rises - 400 * len(samples) / 16_000) <= 1
        assert 0.9 < frames[20]["rms"] < 1.1
