"""The endpoint's rules, with a detector that follows a script: one probability per frame of 32 ms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.audio.endpoint import (
    Endpoint,
    EndpointConfig,
    EndpointEvent,
    SpeechPaused,
    SpeechResumed,
    SpeechStarted,
    TurnEnded,
)
from realtime.audio.vad import FRAME_BYTES, FRAME_MS
from realtime.event.config import Expectation

VOICE, QUIET, MAYBE = 0.97, 0.02, 0.7
LAG_MS = EndpointConfig().onset_lag_ms


class ScriptedVad:
    """Judges frames by a script; quiet when it is over."""

    def __init__(self, probabilities: list[float]) -> None:
        self.probabilities = probabilities
        self.judged = 0
        self.resets = 0

    def probability(self, frame: bytes) -> float:
        assert len(frame) == FRAME_BYTES
        self.judged += 1
        return self.probabilities[self.judged - 1] if self.judged <= len(self.probabilities) else QUIET

    def reset(self) -> None:
        self.resets += 1


def sound(probabilities: list[float]) -> bytes:
    """Noise, loud where the script says voice; no two frames are alike."""
    rng = np.random.default_rng(1)
    levels = [3000 if probability >= 0.4 else 10 for probability in probabilities]
    return b"".join((rng.standard_normal(FRAME_BYTES // 2) * level).astype("<i2").tobytes() for level in levels)


def run(probabilities: list[float], config: EndpointConfig | None = None) -> list[EndpointEvent]:
    return Endpoint(ScriptedVad(probabilities), config).push(sound(probabilities))


def kinds(events: list[EndpointEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_one_turn_has_a_start_a_pause_and_an_end() -> None:
    script = [QUIET] * 20 + [VOICE] * 30 + [QUIET] * 30
    started, paused, ended = run(script)
    assert isinstance(started, SpeechStarted)
    assert isinstance(paused, SpeechPaused)
    assert isinstance(ended, TurnEnded)
    assert started.start_ms == ended.start_ms == 20 * FRAME_MS - LAG_MS
    assert paused.end_ms == ended.end_ms
    assert abs(ended.end_ms - 50 * FRAME_MS) <= 70


def test_silence_is_counted_from_the_end_of_voice() -> None:
    script = [QUIET] * 20 + [VOICE] * 30 + [QUIET] * 30
    endpoint = Endpoint(ScriptedVad(script))
    pcm = sound(script)
    came_ms: dict[str, int] = {}
    for start in range(0, len(pcm), FRAME_BYTES):
        for event in endpoint.push(pcm[start : start + FRAME_BYTES]):
            came_ms[type(event).__name__] = endpoint.position_ms
            if isinstance(event, TurnEnded):
                end_ms = event.end_ms
    assert came_ms["SpeechStarted"] == 22 * FRAME_MS
    assert 200 <= came_ms["SpeechPaused"] - end_ms <= 200 + LAG_MS + FRAME_MS
    assert 500 <= came_ms["TurnEnded"] - end_ms <= 500 + LAG_MS + FRAME_MS


def test_a_short_gap_is_nothing() -> None:
    assert kinds(run([VOICE] * 20 + [QUIET] * 3 + [VOICE] * 20)) == ["SpeechStarted"]


def test_speech_that_goes_on_before_the_timer_resumes_the_turn() -> None:
    events = run([VOICE] * 20 + [QUIET] * 12 + [VOICE] * 20 + [QUIET] * 30)
    assert kinds(events) == ["SpeechStarted", "SpeechPaused", "SpeechResumed", "SpeechPaused", "TurnEnded"]


def test_two_turns_are_two() -> None:
    events = run(([VOICE] * 20 + [QUIET] * 40) * 2)
    assert kinds(events) == ["SpeechStarted", "SpeechPaused", "TurnEnded"] * 2


def test_the_silence_timer_can_be_set() -> None:
    script = [VOICE] * 20 + [QUIET] * 30 + [VOICE] * 20 + [QUIET] * 80
    assert kinds(run(script, EndpointConfig(silence_ms=1500))).count("TurnEnded") == 1
    assert kinds(run(script, EndpointConfig(silence_ms=300))).count("TurnEnded") == 2


def test_a_timer_shorter_than_the_speculation_ends_without_a_pause() -> None:
    events = run([VOICE] * 20 + [QUIET] * 40, EndpointConfig(silence_ms=150))
    assert kinds(events) == ["SpeechStarted", "TurnEnded"]


def test_between_the_thresholds_voice_goes_on_but_does_not_begin() -> None:
    assert kinds(run([VOICE] * 10 + [0.4] * 40)) == ["SpeechStarted"]
    assert run([0.4] * 60) == []


def test_a_click_is_no_speech() -> None:
    assert run([QUIET] * 10 + [VOICE] + [QUIET] * 10 + [VOICE] + [QUIET] * 30) == []


def test_a_click_in_the_silence_neither_resumes_nor_lengthens_the_turn_by_more_than_itself() -> None:
    script = [VOICE] * 20 + [QUIET] * 9 + [VOICE] + [QUIET] * 30
    plain = run([VOICE] * 20 + [QUIET] * 40)
    clicked = run(script)
    assert kinds(clicked) == kinds(plain)
    assert isinstance(plain[-1], TurnEnded)
    assert isinstance(clicked[-1], TurnEnded)
    assert clicked[-1].end_ms == plain[-1].end_ms


def test_what_is_never_sure_is_taken_for_speech_only_when_it_lasts() -> None:
    """The abrupt start of music stays unsure for ten frames."""
    assert run([QUIET] * 10 + [MAYBE] * 11 + [QUIET] * 40) == []
    (started, *_) = run([QUIET] * 10 + [MAYBE] * 12 + [QUIET] * 40)
    assert started == SpeechStarted(10 * FRAME_MS - LAG_MS)


def test_the_timer_waits_for_a_sound_that_may_be_voice() -> None:
    script = [VOICE] * 20 + [QUIET] * 14 + [MAYBE] * 4 + [VOICE] * 10 + [QUIET] * 40
    assert kinds(run(script)) == ["SpeechStarted", "SpeechPaused", "SpeechResumed", "SpeechPaused", "TurnEnded"]


def test_a_turn_without_end_is_ended() -> None:
    events = run([VOICE] * 200, EndpointConfig(max_utterance_ms=2000))
    assert kinds(events) == ["SpeechStarted", "TurnEnded"] * 3 + ["SpeechStarted"]
    first = events[1]
    assert isinstance(first, TurnEnded)
    assert first.end_ms - first.start_ms in range(2000, 2000 + FRAME_MS)
    assert len(first.pcm) == FRAME_BYTES * (first.end_ms // FRAME_MS)


def test_the_audio_of_a_turn_begins_with_the_pre_roll_and_ends_where_recognition_could_start() -> None:
    script = [QUIET] * 40 + [MAYBE] * 6 + [VOICE] * 20 + [QUIET] * 40
    pcm = sound(script)
    paused, ended = run(script)[1:]
    assert isinstance(paused, SpeechPaused)
    assert isinstance(ended, TurnEnded)
    start = pcm.index(ended.pcm)
    assert start == (40 - 10) * FRAME_BYTES
    assert ended.pcm == paused.pcm
    assert len(ended.pcm) // FRAME_BYTES in range(36 + 200 // FRAME_MS, 36 + 300 // FRAME_MS)


def test_the_audio_of_a_resumed_turn_holds_all_of_it() -> None:
    script = [VOICE] * 20 + [QUIET] * 12 + [VOICE] * 20 + [QUIET] * 30
    pcm = sound(script)
    ended = run(script)[-1]
    assert isinstance(ended, TurnEnded)
    assert pcm.startswith(ended.pcm)
    assert len(ended.pcm) > 52 * FRAME_BYTES


def test_the_pre_roll_does_not_reach_into_the_turn_before() -> None:
    script = [VOICE] * 20 + [QUIET] * 6 + [VOICE] * 20 + [QUIET] * 20
    pcm = sound(script)
    turns = [event for event in run(script, EndpointConfig(silence_ms=100)) if isinstance(event, TurnEnded)]
    first, second = turns
    assert pcm.index(first.pcm) + len(first.pcm) <= pcm.index(second.pcm)


def test_audio_is_not_kept_where_nobody_wants_it() -> None:
    for event in run([VOICE] * 20 + [QUIET] * 40, EndpointConfig(keep_audio=False)):
        assert isinstance(event, SpeechStarted) or (isinstance(event, SpeechPaused | TurnEnded) and event.pcm == b"")


def test_speech_never_shows_in_a_repr() -> None:
    assert repr(TurnEnded(1, 2, b"secret")) == "TurnEnded(start_ms=1, end_ms=2, voice_ms=0, sure_ms=0)"


def test_reset_forgets_the_turn_but_not_the_position() -> None:
    vad = ScriptedVad([VOICE] * 10)
    endpoint = Endpoint(vad)
    assert kinds(endpoint.push(bytes(10 * FRAME_BYTES))) == ["SpeechStarted"]
    assert endpoint.in_turn
    endpoint.reset()
    assert (vad.resets, endpoint.in_turn) == (1, False)
    assert endpoint.push(bytes(40 * FRAME_BYTES)) == []
    assert endpoint.position_ms == 50 * FRAME_MS


scripts = st.lists(st.tuples(st.sampled_from([VOICE, QUIET, MAYBE, 0.4]), st.integers(1, 30)), max_size=12).map(
    lambda runs: [probability for probability, frames in runs for _ in range(frames)]
)


@given(scripts, st.lists(st.integers(1, 3000), min_size=1, max_size=8))
def test_chunked_equals_whole(script: list[float], sizes: list[int]) -> None:
    pcm = sound(script)
    endpoint = Endpoint(ScriptedVad(script))
    events: list[EndpointEvent] = []
    start = number = 0
    while start < len(pcm):
        size = sizes[number % len(sizes)]
        events += endpoint.push(pcm[start : start + size])
        start, number = start + size, number + 1
    assert events == run(script)


@given(scripts)
def test_events_come_in_order_whatever_the_sound(script: list[float]) -> None:
    """Per turn a start, pauses and resumptions in turn, an end; positions rise and turns do not overlap."""
    allowed = {
        "": {"SpeechStarted"},
        "SpeechStarted": {"SpeechPaused", "TurnEnded"},
        "SpeechPaused": {"SpeechResumed", "TurnEnded"},
        "SpeechResumed": {"SpeechPaused", "TurnEnded"},
        "TurnEnded": {"SpeechStarted"},
    }
    before, last_end_ms = "", 0
    for event in run(script):
        kind = type(event).__name__
        assert kind in allowed[before]
        before = kind
        match event:
            case SpeechStarted(start_ms):
                assert start_ms >= last_end_ms
            case TurnEnded(start_ms, end_ms):
                assert start_ms <= end_ms <= len(script) * FRAME_MS
                last_end_ms = end_ms
            case SpeechPaused(end_ms):
                assert end_ms <= len(script) * FRAME_MS
            case SpeechResumed():
                pass


@pytest.mark.parametrize(
    "settings",
    [{"threshold": 0.2}, {"sure_threshold": 0.4}, {"sure_threshold": 1.1}, {"silence_ms": 0}, {"max_utterance_ms": -1}],
)
def test_contradicting_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="have to"):
        EndpointConfig(**settings)  # type: ignore[arg-type]  # one table for int and float fields


class FixedEndpointing:
    """Waits as long as it was made to; notes what it was asked."""

    def __init__(self, wait_ms: int) -> None:
        self.waits_ms = wait_ms
        self.pauses = 0
        self.settings: list[tuple[int, Expectation | None]] = []

    def configure(self, silence_ms: int, expect: Expectation | None) -> None:
        self.settings.append((silence_ms, expect))

    def begin_pause(self) -> None:
        self.pauses += 1

    def wait_ms(self, voiced_ms: int) -> int:
        return self.waits_ms


def test_patience_decides_how_long_a_silence_may_be() -> None:
    script = [VOICE] * 20 + [QUIET] * 25 + [VOICE] * 20 + [QUIET] * 60
    assert kinds(run(script)).count("TurnEnded") == 2
    policy = FixedEndpointing(1_500)
    events = Endpoint(ScriptedVad(script), None, policy).push(sound(script))
    assert kinds(events) == ["SpeechStarted", "SpeechPaused", "SpeechResumed", "SpeechPaused", "TurnEnded"]
    assert policy.pauses == 2


def test_patience_takes_new_settings() -> None:
    policy = FixedEndpointing(500)
    Endpoint(ScriptedVad([]), None, policy).wait_for(700, "digits")
    assert policy.settings == [(700, "digits")]
