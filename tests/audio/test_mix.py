"""Mixing: a saturating sum, and live voices as one stream: nothing wraps, nothing clicks, nothing comes too late."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from realtime.audio.mix import FADE_MS, FRAME_MS, JITTERY_MS, LATE_MS, MAX_VOICES, MOST_MS, QUIET_PEAK, Mixer, mix
from tests.volumes import volume

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


@settings(deadline=None, max_examples=volume(10, 40))
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


@settings(deadline=None, max_examples=volume(10, 60))
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


@settings(deadline=None, max_examples=volume(10, 60))
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
    mixer.push("ada", pcm([level] * (5 * FRAME - FADE - 1)), 0.0)
    mixer.push("ada", pcm([level] * (FADE - 2)), 0.0)
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


class Line:
    """What came out of a mixer for pieces of one voice that come when they come; a frame every 20 ms from `first_s` on.

    `delays_ms` says of each sample how much later it is in the frames than in the voice, whose first is said at 0.
    """

    def __init__(
        self, voice: bytes, pieces: list[tuple[float, int]], first_s: float, mixer: Mixer | None = None
    ) -> None:
        """`pieces`: when each comes, and its size in bytes."""
        self.mixer = mixer or Mixer(RATE_HZ)
        out, place, at, number = [], 0, 0, 0
        while place < len(pieces) or self.mixer.active:
            now = first_s + number * FRAME_S
            while place < len(pieces) and pieces[place][0] <= now:
                came_s, size = pieces[place]
                self.mixer.push("ada", voice[at : at + size], came_s)
                place, at = place + 1, at + size
            out.append(self.mixer.pull(now).pcm.ljust(2 * FRAME, b"\0"))
            number += 1
        self.heard = samples(b"".join(out))
        self.first_s = first_s

    def delays_ms(self, voice: bytes) -> list[float]:
        """For a voice that counts, so that each sample is found again; those that fade are left out."""
        found = {int(self.heard[index]): int(index) for index in np.flatnonzero(np.diff(self.heard) == 1)}
        return [
            1000 * (self.first_s + (found[value] - index) / RATE_HZ)
            for index, value in enumerate(samples(voice).tolist())
            if value in found
        ]

    @property
    def holes(self) -> int:
        """How often it was silent after it had begun and before it ended."""
        sounding = np.flatnonzero(self.heard)
        return int(np.count_nonzero(np.diff(sounding) > FADE))


def counted(ms: int) -> bytes:
    """A voice no two samples of which are the same, and none of which is quiet."""
    values = 8_000 + np.arange(ms * RATE_HZ // 1000)
    assert values[-1] <= 32_767
    return pcm(values)


def in_time(n_pieces: int, piece_ms: int = FRAME_MS) -> list[tuple[float, int]]:
    """Pieces that come as soon as they can be."""
    return [(number * piece_ms / 1000, 2 * piece_ms * RATE_HZ // 1000) for number in range(n_pieces)]


@given(phase_ms=st.integers(0, FRAME_MS - 1), n_frames=st.sampled_from([1, 2, 3, 5]))
def test_what_comes_in_time_is_held_back_by_less_than_a_frame(phase_ms: int, n_frames: int) -> None:
    """Wherever the frames of the stream lie, and also in pieces of several frames, which are one such piece late."""
    voice = counted(1_200)
    line = Line(voice, in_time(60 // n_frames, n_frames * FRAME_MS), phase_ms / 1000)
    assert max(line.delays_ms(voice)) == pytest.approx(phase_ms)
    assert line.holes == 0


@pytest.mark.parametrize("piece_ms", [7, 8, 10, 16, 25, 32, 50, 64, 85])
@pytest.mark.parametrize("phase_ms", [0.5, 3.5, 12.5, 19.5])
def test_pieces_that_are_no_whole_frames_leave_no_hole(piece_ms: int, phase_ms: float) -> None:
    voice = counted(piece_ms * 30)
    line = Line(voice, in_time(30, piece_ms), phase_ms / 1000)
    assert line.holes == 0
    assert max(line.delays_ms(voice)) <= 2 * FRAME_MS


def test_a_first_piece_of_which_a_filter_has_held_a_little_back_is_not_waited_with() -> None:
    voice = counted(1_200)
    pieces = in_time(60)
    pieces[0] = (0.0, pieces[0][1] - 32)
    line = Line(voice, pieces, 0.012)
    assert line.holes == 0
    assert max(line.delays_ms(voice)) == pytest.approx(12 + 2)


def test_a_word_shorter_than_a_frame_is_heard_all_the_same() -> None:
    voice = counted(10)
    line = Line(voice, in_time(1, 10), 0.001)
    assert line.heard[FRAME : 2 * FRAME][FADE : FRAME // 2].tolist() == samples(voice)[FADE:].tolist()
    assert not line.heard[:FRAME].any()


def late(lateness_ms: list[int]) -> list[tuple[float, int]]:
    """Frames that come late by so much, in order."""
    pieces, latest = [], 0.0
    for number, late_ms in enumerate(lateness_ms):
        latest = max(latest, number * FRAME_S + late_ms / 1000)
        pieces.append((latest, 2 * FRAME))
    return pieces


@settings(deadline=None, max_examples=volume(15, 150))
@given(
    lateness_ms=st.lists(st.integers(0, JITTERY_MS - FRAME_MS), min_size=1, max_size=60), phase_ms=st.integers(0, 19)
)
def test_jitter_of_a_usual_line_makes_one_hole_and_loses_nothing(lateness_ms: list[int], phase_ms: int) -> None:
    voice = counted(len(lateness_ms) * FRAME_MS)
    line = Line(voice, late(lateness_ms), phase_ms / 1000)
    assert line.holes <= 1
    assert line.mixer.dropped_bytes == 0
    lost = np.setdiff1d(samples(voice), line.heard)
    assert len(lost) <= FADE * (1 + line.holes), "but for what fades in"
    assert max(line.delays_ms(voice)) <= 2 * JITTERY_MS


@settings(deadline=None, max_examples=volume(10, 60))
@given(lateness_ms=st.lists(st.integers(0, MOST_MS - FRAME_MS), min_size=40, max_size=60), phase_ms=st.integers(0, 19))
def test_jitter_as_high_as_can_be_ridden_out_loses_nothing(lateness_ms: list[int], phase_ms: int) -> None:
    voice = counted(len(lateness_ms) * FRAME_MS)
    line = Line(voice, late(lateness_ms), phase_ms / 1000)
    assert line.mixer.dropped_bytes == 0
    assert line.holes <= 4
    assert len(np.setdiff1d(samples(voice), line.heard)) <= FADE * (1 + line.holes)


@settings(deadline=None, max_examples=volume(10, 60))
@given(data=st.data())
def test_frames_cut_anywhere_on_their_way_sound_as_whole_ones(data: st.DataObject) -> None:
    """What comes at once is the same in one piece or in several, also on a line with jitter."""
    lateness_ms = data.draw(st.lists(st.integers(0, 60), min_size=2, max_size=40))
    voice, cut_up = counted(len(lateness_ms) * FRAME_MS), list[tuple[float, int]]()
    for came_s, size in late(lateness_ms):
        cut = 2 * data.draw(st.integers(0, size // 2))
        cut_up += [(came_s, size - cut), (came_s, cut)]
    assert Line(voice, cut_up, 0.0).heard.tolist() == Line(voice, late(lateness_ms), 0.0).heard.tolist()


def test_what_waits_too_long_is_dropped_oldest_first_and_counted() -> None:
    mixer = Mixer(RATE_HZ)
    voice = noise(1, LATE_MS + FRAME_MS)
    mixer.push("ada", voice, 0.0)
    kept = JITTERY_MS * RATE_HZ // 1000 * 2
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


def spoken(times: int) -> bytes:
    """A second each of a loud voice and then of a quiet room."""
    return b"".join(noise(number, 1_000) + noise(number, 1_000, QUIET_PEAK // 2) for number in range(times))


def test_after_a_hole_a_voice_is_brought_near_again_by_leaving_out_what_is_quiet() -> None:
    voice = spoken(20)
    pieces = in_time(len(voice) // (2 * FRAME))
    pieces[2] = (pieces[2][0] + 0.035, pieces[2][1])
    line = Line(voice, pieces, 0.012)
    loud, at = [], 0
    for number in range(1, 20):
        word = samples(voice)[number * 2 * RATE_HZ :][:RATE_HZ]
        at = int(np.argmax(np.correlate(line.heard[number * 2 * RATE_HZ :][: 2 * RATE_HZ], word, "valid")))
        assert line.heard[number * 2 * RATE_HZ + at :][:RATE_HZ].tolist() == word.tolist(), "no word suffers"
        loud.append(at * 1000 // RATE_HZ + 12)
    assert loud[0] > FRAME_MS
    assert loud == sorted(loud, reverse=True)
    assert loud[-1] <= FRAME_MS
    assert line.mixer.dropped_bytes == 0


def test_what_is_left_out_makes_no_click() -> None:
    voice = pcm([QUIET_PEAK, -QUIET_PEAK][0] * np.ones(8 * RATE_HZ))
    pieces = in_time(len(voice) // (2 * FRAME))
    pieces[2] = (pieces[2][0] + 0.035, pieces[2][1])
    line = Line(voice, pieces, 0.012)
    assert len(voice) // 2 - np.count_nonzero(line.heard) >= FRAME
    assert np.abs(np.diff(line.heard)).max() <= QUIET_PEAK / FADE + 2


def test_a_line_that_is_bad_all_the_time_is_not_given_less() -> None:
    voice = spoken(20)
    lateness_ms = [35 if number % 50 == 10 else 0 for number in range(len(voice) // (2 * FRAME))]
    line = Line(voice, late(lateness_ms), 0.012)
    quiet = Line(voice, in_time(len(lateness_ms)), 0.012)
    assert len(np.flatnonzero(line.heard)) >= len(np.flatnonzero(quiet.heard)) - 4 * FRAME
    last = samples(voice)[-2 * RATE_HZ : -RATE_HZ]
    assert np.correlate(line.heard, last, "valid").max() == np.dot(last, last)


def test_each_hole_gives_a_line_more_time() -> None:
    """Words of 140 ms, 120 ms apart: how long the next is held back."""
    mixer, held_ms = Mixer(RATE_HZ), list[int]()
    for number in range(8):
        came_s = number * 13 * FRAME_S
        for tick in range(13):
            now = came_s + tick * FRAME_S
            if tick < 7:
                mixer.push("ada", noise(1, FRAME_MS), now)
            if mixer.pull(now).has_voices and len(held_ms) == number:
                held_ms.append(round(1000 * (now - came_s)) + FRAME_MS)
    assert held_ms == [FRAME_MS, JITTERY_MS, 80, 100, MOST_MS, MOST_MS, MOST_MS, MOST_MS]


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
