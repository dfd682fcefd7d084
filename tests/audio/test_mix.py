"""Mixing: a saturating sum, and live voices as one stream: nothing wraps, nothing clicks, nothing comes too late."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from realtime.audio.mix import FADE_MS, FRAME_MS, LATE_MS, MAX_VOICES, TARGET_MS, TARGETS_MS, Mixer, mix

RATE_HZ = 8_000
FRAME = RATE_HZ * FRAME_MS // 1000
FADE = RATE_HZ * FADE_MS // 1000
FRAME_S = FRAME_MS / 1000

voices = st.lists(st.lists(st.integers(-32768, 32767), max_size=20), max_size=6)


def pcm(values: Any) -> bytes:
    return np.asarray(values).astype("<i2").tobytes()


def samples(data: bytes) -> NDArray[np.int64]:
    return np.frombuffer(data, "<i2").astype(np.int64)


def tone(hz: float, ms: int, peak: int = 8_000) -> bytes:
    return pcm(np.rint(peak * np.sin(2 * np.pi * hz * np.arange(ms * RATE_HZ // 1000) / RATE_HZ)))


def noise(seed: int, ms: int, peak: int = 3_000) -> bytes:
    return pcm(np.random.default_rng(seed).integers(-peak, peak, ms * RATE_HZ // 1000))


def pulled(mixer: Mixer, start_s: float = 0.0, most: int = 1_000) -> bytes:
    """All that it has to give, frame by frame in real time."""
    frames = []
    for number in range(most):
        if not mixer.active:
            break
        frames.append(mixer.pull(start_s + number * FRAME_S).pcm)
    return b"".join(frames)


# -- the sum -----------------------------------------------------------------------------------------------------------


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


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 2**31), min_size=2, max_size=6, unique=True))
def test_each_listener_gets_the_sum_of_the_others(seeds: list[int]) -> None:
    """Mix-minus: whoever speaks is left out of their own mix, and nobody else."""
    said = {seed: noise(seed, 120) for seed in seeds}
    alone = {}
    for seed, voice in said.items():
        mixer = Mixer(RATE_HZ)
        mixer.push(str(seed), voice, 0.0)
        alone[seed] = samples(pulled(mixer))
    for listener in seeds:
        mixer = Mixer(RATE_HZ)
        for seed, voice in said.items():
            if seed != listener:
                mixer.push(str(seed), voice, 0.0)
        others = sum(alone[seed] for seed in seeds if seed != listener)
        assert samples(pulled(mixer)).tolist() == np.asarray(others).tolist()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_voice_cut_anywhere_sounds_as_the_whole(data: st.DataObject) -> None:
    voice = noise(1, LATE_MS)
    cuts = data.draw(st.lists(st.integers(0, len(voice) // 2), max_size=12))
    edges = [0, *sorted(2 * cut for cut in cuts), len(voice)]
    whole, cut_up = Mixer(RATE_HZ), Mixer(RATE_HZ)
    whole.push("ada", voice, 0.0)
    for start, end in pairwise(edges):
        cut_up.push("ada", voice[start:end], 0.0)
    assert pulled(cut_up) == pulled(whole)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([-32_768, -32_767, 0, 32_767]), min_size=1, max_size=8))
def test_a_loud_sum_never_wraps_and_is_never_cut_off_flat(levels: list[int]) -> None:
    ramp = np.linspace(0, 1, FRAME)
    frames = [pcm(np.rint(level * ramp)) for level in levels]
    mixed = samples(Mixer(RATE_HZ).pull(0.0, frames).pcm)
    total = np.sum([samples(frame) for frame in frames], axis=0)
    assert np.all(mixed * total >= 0)
    assert np.all(np.abs(mixed) <= np.abs(total))
    if total.max() > 32_767 or total.min() < -32_768:
        loud = np.abs(total) > 26_214
        rising = np.diff(np.abs(mixed[loud]))
        assert rising.min() >= 0
        assert np.abs(mixed).max() < 32_767
    else:
        assert mixed.tolist() == total.tolist()


def test_a_sum_within_16_bits_is_the_plain_sum() -> None:
    frames = [noise(seed, FRAME_MS, 4_000) for seed in range(8)]
    mixed = samples(Mixer(RATE_HZ).pull(0.0, frames).pcm)
    assert mixed.tolist() == np.sum([samples(frame) for frame in frames], axis=0).tolist()


def test_one_sound_that_is_ready_goes_through_as_it_is_even_where_it_ends_early() -> None:
    mixer = Mixer(RATE_HZ)
    ready = noise(1, FRAME_MS, 32_767)
    assert mixer.pull(0.0, [ready, b""]) == (ready, False)
    assert mixer.pull(0.02, [ready[:100]]) == (ready[:100].ljust(len(ready), b"\0"), False)


def test_more_than_a_frame_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="320 bytes"):
        Mixer(RATE_HZ).pull(0.0, [bytes(322)])


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="even"):
        Mixer(RATE_HZ).push("ada", b"\0", 0.0)


def test_a_rate_without_room_for_a_fade_is_refused() -> None:
    with pytest.raises(ValueError, match="199 Hz"):
        Mixer(199)


# -- beginnings and ends -----------------------------------------------------------------------------------------------


def test_silence_costs_nothing() -> None:
    mixer = Mixer(RATE_HZ)
    assert not mixer.active
    assert mixer.pull(0.0) == (b"", False)
    mixer.push("ada", b"", 0.0)
    assert not mixer.active
    mixer.push("ada", noise(1, 100), 0.0)
    pulled(mixer)
    assert not mixer.active
    assert mixer.pull(9.0) == (b"", False)


def test_a_voice_in_the_middle_of_its_swing_begins_and_breaks_off_without_a_click() -> None:
    """Nowhere is the step between two samples larger than the fade of 5 ms makes it."""
    level = 20_000
    mixer = Mixer(RATE_HZ)
    mixer.push("ada", pcm([level] * (5 * FRAME + 30)), 0.0)
    heard = samples(b"".join([bytes(2), pulled(mixer), bytes(2)]))
    assert np.abs(np.diff(heard)).max() <= level / FADE + 1
    assert np.count_nonzero(heard == level) >= 5 * FRAME + 30 - FADE


def test_a_voice_that_ends_with_its_frame_fades_into_the_next() -> None:
    level = 20_000
    mixer = Mixer(RATE_HZ)
    mixer.push("ada", pcm([level] * 4 * FRAME), 0.0)
    heard = samples(pulled(mixer))
    assert len(heard) == 5 * FRAME
    assert np.abs(np.diff(heard)).max() <= level / FADE + 1
    assert not heard[4 * FRAME + FADE :].any()


def test_the_fade_of_a_voice_that_ends_late_in_a_frame_goes_on_in_the_next() -> None:
    level = 20_000
    mixer = Mixer(RATE_HZ)
    mixer.push("ada", pcm([level] * (5 * FRAME - 3)), 0.0)
    heard = samples(pulled(mixer))
    assert len(heard) == 6 * FRAME
    assert np.abs(np.diff(heard)).max() <= level / FADE + 1


def test_a_sound_that_is_cut_off_fades_under_what_goes_on() -> None:
    mixer = Mixer(RATE_HZ)
    mixer.fade_out(pcm([10_000] * FRAME))
    heard = samples(mixer.pull(0.0, [pcm([100] * FRAME)]).pcm)
    assert heard[0] > 9_000
    assert np.abs(np.diff(heard)).max() <= 10_000 / FADE + 1
    assert heard[FADE:].tolist() == [100] * (FRAME - FADE)
    mixer.fade_out(b"")
    assert not mixer.active


# -- the line ----------------------------------------------------------------------------------------------------------


def first_sound_s(mixer: Mixer, chunks: list[tuple[float, bytes]], until_s: float) -> float | None:
    """When the first frame comes out that is not empty."""
    for number in range(int(until_s / FRAME_S)):
        now = number * FRAME_S
        while chunks and chunks[0][0] <= now:
            mixer.push("ada", chunks.pop(0)[1], now)
        if mixer.pull(now).pcm:
            return now
    return None


def test_a_voice_is_held_back_until_jitter_cannot_break_it() -> None:
    chunks = [(number * FRAME_S, noise(number, FRAME_MS)) for number in range(10)]
    assert first_sound_s(Mixer(RATE_HZ), chunks, 1.0) == pytest.approx((TARGET_MS - FRAME_MS) / 1000)


def test_a_word_shorter_than_that_is_heard_all_the_same() -> None:
    chunks = [(0.0, noise(1, FRAME_MS))]
    assert first_sound_s(Mixer(RATE_HZ), chunks, 1.0) == pytest.approx(TARGET_MS / 1000)


def test_frames_that_come_late_by_less_than_it_is_held_back_leave_no_hole() -> None:
    late_s = [0.0, 0.035, 0.01, 0.039, 0.0, 0.02, 0.03, 0.0] * 6
    arrivals = sorted((number * FRAME_S + late, number) for number, late in enumerate(late_s))
    voice = noise(1, len(late_s) * FRAME_MS)
    mixer, place, out = Mixer(RATE_HZ), 0, []
    for tick in range(len(late_s) + 4):
        while place < len(arrivals) and arrivals[place][0] <= tick * FRAME_S:
            mixer.push("ada", voice[2 * FRAME * place : 2 * FRAME * (place + 1)], tick * FRAME_S)
            place += 1
        out.append(mixer.pull(tick * FRAME_S).pcm)
    heard = b"".join(out)
    assert heard[2 * FADE : len(voice)] == voice[2 * FADE :]
    assert mixer.dropped_bytes == 0


def test_what_waits_too_long_is_dropped_oldest_first_and_counted() -> None:
    mixer = Mixer(RATE_HZ)
    voice = noise(1, LATE_MS + FRAME_MS)
    mixer.push("ada", voice, 0.0)
    kept = TARGET_MS * RATE_HZ // 1000 * 2
    assert mixer.dropped_bytes == len(voice) - kept
    assert pulled(mixer)[2 * FADE : kept] == voice[len(voice) - kept + 2 * FADE :]


def test_a_cut_in_the_middle_of_a_voice_does_not_click() -> None:
    low, high = -10_000, 10_000
    mixer = Mixer(RATE_HZ)
    mixer.push("ada", pcm([low] * 6 * FRAME), 0.0)
    heard = [mixer.pull(0.0).pcm]
    mixer.push("ada", pcm([high] * 8 * FRAME), FRAME_S)
    assert mixer.dropped_bytes > 0
    heard += [mixer.pull(FRAME_S).pcm]
    both = samples(b"".join(heard))[FADE:]
    assert np.abs(np.diff(both)).max() <= (high - low) / FADE + 2
    assert both[-1] == high


def test_a_line_with_holes_is_given_more_time_and_a_calm_one_less() -> None:
    mixer = Mixer(RATE_HZ)
    now = 0.0

    def spurt(ms: int, start_s: float) -> float:
        """How long the voice is held back this time."""
        chunks = [(start_s + at / 1000, noise(at, FRAME_MS)) for at in range(0, ms, FRAME_MS)]
        held_s, place, tick = None, 0, 0
        while place < len(chunks) or mixer.active:
            at_s = start_s + tick * FRAME_S
            while place < len(chunks) and chunks[place][0] <= at_s + 1e-9:
                mixer.push("ada", chunks[place][1], at_s)
                place += 1
            if mixer.pull(at_s).has_voices and held_s is None:
                held_s = at_s - start_s
            tick += 1
        assert held_s is not None
        return held_s + FRAME_S

    holds = []
    for _ in range(8):
        holds.append(round(1000 * spurt(1_200, now)))
        now += 3.0
    assert holds[0] == TARGET_MS
    assert holds[-1] == TARGETS_MS[0]
    for _ in range(12):
        now += 0.4
        mixer.push("ada", noise(1, 100), now)
        for tick in range(8):
            mixer.pull(now + tick * FRAME_S)
        now += 0.2
        mixer.push("ada", noise(1, 100), now)
        for tick in range(12):
            mixer.pull(now + tick * FRAME_S)
        now += 0.24
    assert round(1000 * spurt(400, now + 3.0)) == TARGETS_MS[1]


def test_people_who_come_and_go_without_end_never_push_out_whoever_speaks() -> None:
    mixer = Mixer(RATE_HZ)
    voice, heard = noise(1, 3 * MAX_VOICES * FRAME_MS, 100), []
    frames = [voice[at : at + 2 * FRAME] for at in range(0, len(voice), 2 * FRAME)]
    for number, frame in enumerate(frames):
        now = number * FRAME_S
        mixer.push("speaks", frame, now)
        mixer.push(f"left {number}", bytes(2), now)
        heard.append(mixer.pull(now).pcm)
    heard.append(pulled(mixer, 9.0))
    assert b"".join(heard)[2 * FADE : len(voice)] == voice[2 * FADE :]
