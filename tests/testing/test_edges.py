"""The edges of a voice are those of its sound: a detector that is late, stuck or deaf for a while shows as time."""

import numpy as np
import pytest

from realtime.event import server as s
from realtime.testing.check.run import CheckFailed, Run
from realtime.testing.record import Lane, Spoken
from tests.testing.hand_made import Hand

HZ = 16_000


def lane(*voices: tuple[int, int], noise: float = 0.0, ms: int = 14_000) -> Lane:
    """Ann's sound: a tone wherever she speaks, in ms; noise throughout."""
    sound = np.random.default_rng(1).normal(0, noise, ms * 16) if noise else np.zeros(ms * 16)
    for from_ms, to_ms in voices:
        sound[from_ms * 16 : to_ms * 16] += 8_000 * np.sin(np.arange((to_ms - from_ms) * 16) / 5)
    return Lane("Ann", "human", HZ, sound.astype("<i2").tobytes())


def interrupted(began_ms: int, *, barge_in: bool = False) -> Hand:
    """Friday's long answer is stopped by a voice that the detector takes to begin at 5 s, 80 ms before it says so."""
    call = Hand()
    call.answers(1_000, "a b c d e f g h i j", response="r1", length_ms=10_000, heard_ms=4_100)
    call.speaks(5_000, 6_000, "stop it", item="u1", flush="speech_started")
    call.spoken = [Spoken("Ann", began_ms, 6_400, "stop it", barge_in=barge_in)]
    return call


def question(*, until_ms: int, spoken: tuple[int, int]) -> Hand:
    """A question from 1 s on that the detector takes to last until then, answered at once."""
    call = Hand()
    call.speaks(1_000, until_ms, "hello", item="u1")
    call.spoken = [Spoken("Ann", *spoken, "hello")]
    call.answers(until_ms + 700, "Hi", response="r1", length_ms=500)
    return call


def began_ms(run: Run) -> float:
    return run.barge_in(1).barge_in.began_ms


class TestLateDetector:
    @pytest.mark.parametrize(
        "voices", [[(2_000, 6_000)], [(2_000, 3_000), (3_300, 6_000)], [(2_000, 3_000), (4_500, 6_000)]]
    )
    def test_an_interruption_begins_with_the_voice(self, voices: list[tuple[int, int]]) -> None:
        run = interrupted(1_700).run(lanes=(lane(*voices),))
        assert began_ms(run) == 2_000
        with pytest.raises(CheckFailed, match="silent 3250 ms after it began"):
            run.barge_in(1).silence_within(ms=200)

    def test_where_it_is_meant_to_interrupt_all_of_it_counts(self) -> None:
        voices = lane((1_800, 2_000), (4_800, 6_000))
        assert began_ms(interrupted(1_700).run(lanes=(voices,))) == 4_800
        assert began_ms(interrupted(1_700, barge_in=True).run(lanes=(voices,))) == 1_800

    def test_one_that_is_quick_is_not_blamed(self) -> None:
        run = interrupted(4_700).run(lanes=(lane((4_970, 6_000)),))
        run.barge_in(1).silence_within(ms=300)
        assert began_ms(run) == 4_970

    def test_a_voice_in_silence_before_it_was_reported_is_looked_for_ahead(self) -> None:
        assert began_ms(interrupted(4_700).run(lanes=(lane((5_040, 6_000)),))) == 5_040


class TestStuckDetector:
    @pytest.mark.parametrize("spoken", [(700, 2_300), (0, 14_000)])
    def test_the_answer_is_as_late_as_the_voice_is_over(self, spoken: tuple[int, int]) -> None:
        run = question(until_ms=8_000, spoken=spoken).run(lanes=(lane((1_000, 2_000)),))
        assert run.user_turns[0].to_ms == 2_000
        assert run.response_latency.values_ms == [6_850]
        with pytest.raises(CheckFailed, match="6850 ms"):
            run.response_latency.p95_below(ms=1_000)
        with pytest.raises(CheckFailed, match="Nobody was to be heard for 6850 ms"):
            run.no_dead_air(longer_than_ms=2_000)

    def test_a_turn_that_never_ends_is_dead_air(self) -> None:
        call = question(until_ms=8_000, spoken=(700, 2_300))
        call.events = [one for one in call.events if one[0] < 3_000]
        call.played.clear()
        call.put(12_000, s.ServerSessionEndedEvent(session_id="s"))
        with pytest.raises(CheckFailed, match=r"from 2\.00 s to 12\.00 s"):
            call.run(lanes=(lane((1_000, 2_000)),)).no_dead_air(longer_than_ms=2_000)

    def test_one_that_ends_the_turn_in_a_pause_is_taken_at_its_word(self) -> None:
        run = question(until_ms=2_000, spoken=(700, 5_300)).run(lanes=(lane((1_000, 2_000), (3_000, 5_000)),))
        assert (run.user_turns[0].from_ms, run.user_turns[0].to_ms) == (1_000, 2_000)


class TestWholeCallInOneRecording:
    def test_a_turn_in_silence_stays_where_it_was_reported(self) -> None:
        call = question(until_ms=2_000, spoken=(0, 14_000))
        call.speaks(8_000, 9_000, "two", item="u2")
        call.spoken.pop()
        turn = call.run(lanes=(lane((1_000, 2_000)),)).user_turns[1]
        assert (turn.from_ms, turn.to_ms) == (8_080, 9_080)

    def test_each_turn_has_its_own_voice(self) -> None:
        call = Hand()
        voices = [(1_000, 2_000), (4_000, 4_300), (7_000, 8_000), (8_300, 9_000)]
        call.speaks(1_200, 2_200, "one", item="u1")
        call.speaks(7_400, 9_300, "two", item="u2")
        call.spoken = [Spoken("Ann", 0, 14_000, "one two")]
        run = call.run(lanes=(lane(*voices),))
        assert [(turn.from_ms, turn.to_ms) for turn in run.user_turns] == [(1_000, 2_000), (7_000, 9_000)]

    def test_noise_of_the_line_is_no_voice(self) -> None:
        call = question(until_ms=8_000, spoken=(0, 14_000))
        run = call.run(lanes=(lane((1_000, 2_000), noise=300.0),))
        assert (run.user_turns[0].from_ms, run.user_turns[0].to_ms) == (1_000, 2_000)

    def test_an_edge_in_noise_as_loud_as_the_voice_stays(self) -> None:
        call = question(until_ms=3_000, spoken=(0, 14_000))
        run = call.run(lanes=(lane((0, 14_000)),))
        assert (run.user_turns[0].from_ms, run.user_turns[0].to_ms) == (1_080, 3_080)


def test_without_a_recording_a_detector_is_believed_but_for_its_lag() -> None:
    run = question(until_ms=8_000, spoken=(700, 2_300)).run(lanes=(lane((1_000, 2_000)),), spoken=())
    assert (run.user_turns[0].from_ms, run.user_turns[0].to_ms) == (1_000, 8_080)


class TestWhoStoppedTheAnswer:
    def test_a_recording_that_is_silent_there_is_no_human(self) -> None:
        call = interrupted(0)
        call.run(lanes=(lane((4_970, 6_000)),)).no_self_interruption()
        with pytest.raises(CheckFailed, match=r"stopped at 5\.08 s, though no human spoke, understood as \"stop it\""):
            call.run(lanes=(lane((1_000, 2_000)),)).no_self_interruption()

    def test_noise_that_hides_a_voice_is_not_taken_for_silence(self) -> None:
        interrupted(4_700).run(lanes=(lane((0, 14_000)),)).no_self_interruption()

    @pytest.mark.parametrize("words", ["b c d", "", "stop it"])
    @pytest.mark.parametrize("sound", [True, False])
    def test_in_one_recording_of_a_whole_call_the_words_decide(self, words: str, sound: bool) -> None:
        call = Hand()
        call.answers(1_000, "a b c d e f g h i j", response="r1", length_ms=10_000, heard_ms=4_100)
        call.speaks(5_000, 6_000, words, item="u1", flush="speech_started")
        call.spoken = [Spoken("Ann", 0, 30_000, "stop it")]
        run = call.run(lanes=(lane((5_000, 6_000), ms=30_000),) if sound else ())
        if words == "stop it":
            run.no_self_interruption()
        else:
            with pytest.raises(CheckFailed, match="though no human spoke"):
                run.no_self_interruption()
