"""The embedded model's hearing, with a detector that reads the samples."""

import numpy as np
import pytest

from realtime.audio.vad import FRAME_BYTES
from realtime.event.config import TurnDetection
from realtime.model.local.ears import RATE_HZ, Ears, Ended, Heard, Paused, Resumed, Started, endpoint_config
from tests.model.local.stand_ins import LoudnessVad, silence, speech


def ears(detection: TurnDetection | None = None) -> Ears:
    made = Ears(LoudnessVad())
    made.configure(endpoint_config(detection))
    return made


def hear(listener: Ears, pcm: bytes, chunk: int = 640) -> list[Heard]:
    return [heard for start in range(0, len(pcm), chunk) for heard in listener.push(pcm[start : start + chunk])]


def seconds(pcm: bytes) -> float:
    return len(pcm) / 2 / RATE_HZ


def kinds(events: list[Heard]) -> list[type[Heard]]:
    return [type(event) for event in events]


def test_a_turn_is_started_paused_and_ended() -> None:
    events = hear(ears(), silence(1000) + speech(800) + silence(1000))
    assert kinds(events) == [Started, Paused, Ended]
    started, paused, ended = events
    assert isinstance(started, Started)
    assert isinstance(paused, Paused)
    assert isinstance(ended, Ended)
    assert abs(started.start_ms - 1000) < 80
    assert abs(ended.end_ms - 1800) < 80
    # The voice with half a second before and a fifth after.
    assert seconds(paused.pcm) == pytest.approx(1.5, abs=0.1)
    assert paused.pcm == ended.pcm


def test_a_turn_that_goes_on_makes_its_guess_worthless() -> None:
    events = hear(ears(), silence(1000) + speech(500) + silence(300) + speech(500) + silence(1000))
    assert kinds(events) == [Started, Paused, Resumed, Paused, Ended]
    assert isinstance(events[-1], Ended)
    assert seconds(events[-1].pcm) == pytest.approx(2.0, abs=0.1)


def test_a_pause_has_the_voice_since_the_pause_before() -> None:
    listener = ears()
    events = hear(listener, silence(1000) + speech(2_000) + silence(300) + speech(500) + silence(280))
    first, second = [event for event in events if isinstance(event, Paused)]
    assert first.newest == first.pcm
    assert second.newest == second.pcm[-len(second.newest) :]
    assert seconds(second.newest) == pytest.approx(0.5 + 0.2 + 0.3, abs=0.1)


def test_a_voice_that_sounds_unfinished_keeps_its_own_turn_open() -> None:
    listener = ears()
    events = hear(listener, silence(1000) + speech(800) + silence(280))
    assert isinstance(events[-1], Paused)
    listener.take_completeness(events[-1].number, 0.0)
    assert hear(listener, silence(850)) == []
    assert kinds(hear(listener, silence(200))) == [Ended]
    again = hear(listener, speech(800) + silence(280))
    listener.take_completeness(events[-1].number, 0.0)
    assert isinstance(again[-1], Paused)
    assert kinds(hear(listener, silence(400))) == [Ended], "an old pause counts no more"


def test_recognition_begins_earlier_where_the_timer_is_short_and_impossible_settings_are_an_error() -> None:
    config = endpoint_config(TurnDetection(silence_duration_ms=300, threshold=0.2))
    assert (config.silence_ms, config.speculative_ms, config.stop_threshold) == (300, 150, 0.2)
    with pytest.raises(ValueError, match="hreshold"):
        endpoint_config(TurnDetection(threshold=1.5))


def test_with_a_short_timer_no_turn_holds_the_end_of_the_one_before() -> None:
    listener = ears(TurnDetection(silence_duration_ms=200))
    events = hear(listener, silence(1000) + speech(800) + silence(280) + speech(800) + silence(1000))
    first, second = [event for event in events if isinstance(event, Ended)]
    assert seconds(first.pcm) == pytest.approx(1.55, abs=0.1)
    assert np.abs(np.frombuffer(second.pcm, "<i2"))[: RATE_HZ // 10].max() == 0, "it begins in the silence"
    assert seconds(second.pcm) == pytest.approx(1.2, abs=0.1)


def test_settings_that_change_while_somebody_speaks_hold_from_the_next_turn_on() -> None:
    listener = ears(TurnDetection(silence_duration_ms=500))
    events = hear(listener, silence(300) + speech(4_000))
    listener.configure(endpoint_config(TurnDetection(silence_duration_ms=1_000)))
    events += hear(listener, speech(500) + silence(700))
    assert kinds(events) == [Started, Paused, Ended]
    assert isinstance(events[-1], Ended)
    assert seconds(events[-1].pcm) > 4.5
    later = hear(listener, speech(500) + silence(700))
    assert Ended not in kinds(later)
    assert kinds(hear(listener, silence(500))) == [Ended]


def test_without_a_detector_everything_since_the_last_commit_is_the_turn() -> None:
    listener = Ears(LoudnessVad())
    listener.configure(None)
    assert hear(listener, speech(300) + silence(3000)) == []
    assert seconds(listener.commit() or b"") == pytest.approx(3.3)
    assert listener.commit() is None


def test_with_a_detector_a_commit_ends_the_turn_that_runs() -> None:
    listener = ears()
    assert listener.commit() is None
    hear(listener, silence(1000))
    assert listener.commit() is None
    hear(listener, silence(600) + speech(700))
    assert listener.in_turn
    assert seconds(listener.commit() or b"") == pytest.approx(1.2, abs=0.1)
    assert not listener.in_turn
    assert hear(listener, silence(1000)) == []


def test_positions_go_on_when_the_settings_change() -> None:
    listener = ears()
    hear(listener, silence(990))
    listener.configure(endpoint_config(TurnDetection(silence_duration_ms=300)))
    events = hear(listener, silence(1010) + speech(500) + silence(500))
    assert isinstance(events[0], Started)
    assert abs(events[0].start_ms - 2000) < 80
    assert listener.position_ms == 3000


def test_clearing_forgets_the_turn_and_the_rest_of_a_voice_that_was_cleared_is_none() -> None:
    listener = ears()
    hear(listener, silence(500) + speech(500))
    listener.clear()
    assert not listener.in_turn
    assert hear(listener, silence(1000)) == []
    hear(listener, silence(500) + speech(500))
    listener.clear()
    assert hear(listener, speech(500) + silence(1000)) == []
    assert kinds(hear(listener, speech(500) + silence(1000))) == [Started, Paused, Ended]


def test_a_voice_after_which_nothing_comes_is_a_turn() -> None:
    listener = ears()
    hear(listener, silence(500) + speech(500))
    (ended,) = listener.finish()
    assert isinstance(ended, Ended)
    assert abs(ended.end_ms - 1000) < 80
    assert seconds(ended.pcm) == pytest.approx(1.0, abs=0.1)
    assert listener.finish() == []


def test_memory_is_bounded_whether_somebody_speaks_or_not() -> None:
    quiet, endless, unheard = ears(), ears(), Ears(LoudnessVad())
    unheard.configure(None)
    for _ in range(150):
        hear(quiet, silence(1000), FRAME_BYTES)
        hear(endless, speech(1000), FRAME_BYTES)
        hear(unheard, speech(1000), FRAME_BYTES)
    assert len(quiet._kept) <= 2 * RATE_HZ * 2
    assert len(endless._kept) <= 62 * RATE_HZ * 2
    assert len(unheard._kept) <= 120 * RATE_HZ * 2


def paused_in(listener: Ears, pcm: bytes) -> Paused:
    [paused] = [event for event in hear(listener, pcm) if isinstance(event, Paused)]
    return paused


def test_words_that_cannot_end_a_turn_lengthen_its_pause() -> None:
    """Words of an earlier pause do not count."""
    unfinished = "I would like a table for two and"
    listener = ears()
    paused = paused_in(listener, silence(500) + speech(800) + silence(300))
    listener.take_words(paused.number, unfinished)
    assert hear(listener, silence(1_500)) == []
    assert kinds(hear(listener, silence(500))) == [Ended]
    earlier = paused_in(listener, speech(800) + silence(300))
    paused_in(listener, speech(500) + silence(300))
    listener.take_words(earlier.number, unfinished)
    assert kinds(hear(listener, silence(400))) == [Ended]
    listener.take_words(earlier.number + 1, unfinished)
    assert kinds(hear(listener, speech(800) + silence(900))) == [Started, Paused, Ended]


def test_dictated_digits_get_longer_pauses() -> None:
    digits = speech(600) + silence(1_200) + speech(600) + silence(1_800)
    assert kinds(hear(ears(), digits)).count(Ended) == 2
    assert [type(event) for event in hear(ears(TurnDetection(expect="digits")), digits)].count(Ended) == 1
