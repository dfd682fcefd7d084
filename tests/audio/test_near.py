"""The near voice ends the turn: quieter voices behind it delay the end by half a second at most, and begin no turn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.labelled_turns import turns_of_fixtures
from realtime.audio.endpoint import Endpoint, EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.audio.near import MARGIN_DB, NearVoice
from realtime.audio.vad import FRAME_BYTES, FRAME_MS, shared_silero
from tests.audio.test_endpoint import QUIET, VOICE, ScriptedVad, kinds

NEAR_DB, FAR_DB, ROOM_DB = 65.0, 52.0, 15.0
SAMPLES = FRAME_MS * 16
Part = tuple[int, float, float]
"""Frames, their probability of voice, their level."""
NEAR: Part = (40, VOICE, NEAR_DB)
SILENCE: Part = (60, QUIET, ROOM_DB)


def far(frames: int) -> Part:
    return frames, VOICE, FAR_DB


def frames_of(parts: list[Part]) -> list[bytes]:
    rng = np.random.default_rng(1)
    return [
        (rng.standard_normal(SAMPLES) * 10 ** (level_db / 20)).astype("<i2").tobytes()
        for frames, _, level_db in parts
        for _ in range(frames)
    ]


def heard(parts: list[Part], chunk_bytes: int = 1_000) -> list[tuple[int, EndpointEvent]]:
    """Each event with the position at which it came, to one chunk."""
    endpoint = Endpoint(ScriptedVad([probability for frames, probability, _ in parts for _ in range(frames)]))
    pcm = b"".join(frames_of(parts))
    return [
        (endpoint.position_ms, event)
        for start in range(0, len(pcm), chunk_bytes)
        for event in endpoint.push(pcm[start : start + chunk_bytes])
    ]


def events(parts: list[Part]) -> list[EndpointEvent]:
    return [event for _, event in heard(parts)]


def end_of(parts: list[Part]) -> tuple[int, TurnEnded]:
    return next((at_ms, event) for at_ms, event in heard(parts) if isinstance(event, TurnEnded))


def test_a_voice_behind_the_speaker_does_not_keep_the_turn_open() -> None:
    at_ms, ended = end_of([NEAR, far(200)])
    without_ms, _ = end_of([NEAR, SILENCE])
    assert 0 < at_ms - without_ms <= 700
    assert abs(ended.end_ms - 40 * FRAME_MS) <= 200


@pytest.mark.parametrize("gap", [1, 5, 10, 14])
def test_a_second_speaker_right_after_delays_the_end_by_at_most_700_ms(gap: int) -> None:
    at_ms, _ = end_of([NEAR, (gap, QUIET, ROOM_DB), far(100), SILENCE])
    without_ms, _ = end_of([NEAR, SILENCE])
    assert 0 <= at_ms - without_ms <= 700


def test_the_voice_behind_begins_no_turn_and_the_speaker_does() -> None:
    behind = [NEAR, far(100), (30, QUIET, ROOM_DB), far(100)]
    assert kinds(events(behind)) == ["SpeechStarted", "SpeechPaused", "TurnEnded"]
    assert kinds(events([*behind, NEAR])) == ["SpeechStarted", "SpeechPaused", "TurnEnded", "SpeechStarted"]


@pytest.mark.parametrize("before_db", [ROOM_DB, FAR_DB - 10])
def test_a_speaker_whose_first_words_are_loud_is_heard_to_the_end(before_db: float) -> None:
    """The turn ends behind them; what goes on stands out from the room, so it begins the next turn at once."""
    before: Part = (60, QUIET, before_db)
    turns = [event for event in events([before, NEAR, far(300)]) if isinstance(event, SpeechStarted)]
    ended = [event for event in events([before, NEAR, far(300)]) if isinstance(event, TurnEnded)]
    assert len(turns) >= 2
    assert turns[1].start_ms - ended[0].end_ms <= 1_000


def test_a_voice_that_was_there_before_the_turn_begins_none_after_it() -> None:
    before: Part = (60, QUIET, FAR_DB)
    assert kinds(events([before, NEAR, far(300)])).count("SpeechStarted") == 1


def test_a_quiet_voice_begins_a_turn_once_the_room_was_silent() -> None:
    parts = [NEAR, far(100), (70, QUIET, ROOM_DB), far(40), SILENCE]
    assert kinds(events(parts)) == ["SpeechStarted", "SpeechPaused", "TurnEnded"] * 2


@pytest.mark.parametrize("quiet", [3, 8, 20, 28])
def test_quiet_words_at_the_end_belong_to_the_turn(quiet: int) -> None:
    _, ended = end_of([NEAR, far(quiet), SILENCE])
    assert -282 <= ended.end_ms - (40 + quiet) * FRAME_MS <= 0


def test_the_speaker_who_goes_on_over_other_voices_resumes_the_turn() -> None:
    came = events([NEAR, far(28), NEAR, SILENCE])
    assert kinds(came) == ["SpeechStarted", "SpeechPaused", "SpeechResumed", "SpeechPaused", "TurnEnded"]


def test_quiet_words_void_the_recognition_that_began_without_them() -> None:
    came = events([NEAR, far(28), SILENCE])
    assert [type(event) for event in came[1:4]] == [SpeechPaused, SpeechResumed, SpeechPaused]
    assert isinstance(came[1], SpeechPaused)
    assert isinstance(came[-1], TurnEnded)
    assert came[1].end_ms < came[-1].end_ms


def test_a_turn_without_a_louder_voice_is_whole() -> None:
    assert kinds(events([far(200), SILENCE])) == ["SpeechStarted", "SpeechPaused", "TurnEnded"]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([QUIET, VOICE]), st.sampled_from([NEAR_DB, FAR_DB])), max_size=6
    ),
    st.integers(1, 5_000),
)
def test_chunks_of_any_length_give_the_same_events(parts: list[Part], chunk_bytes: int) -> None:
    whole = [*parts, SILENCE]
    assert [event for _, event in heard(whole, chunk_bytes)] == [event for _, event in heard(whole, 1 << 24)]


def test_each_turn_is_judged_by_its_own_voice() -> None:
    came = events([NEAR, SILENCE, SILENCE, far(40), SILENCE])
    assert [type(event) for event in came if isinstance(event, SpeechStarted | TurnEnded)] == [
        SpeechStarted,
        TurnEnded,
    ] * 2


def test_a_busy_background_narrows_the_margin() -> None:
    """A level between the two margins is near in a silent room, and not before babble that fills the gaps."""

    def is_near(gap_db: float) -> bool:
        voice = NearVoice()
        for frame in frames_of([(30, VOICE, NEAR_DB), (4, VOICE, gap_db), (30, VOICE, NEAR_DB)]):
            voice.hear(frame)
            voice.learn()
        for frame in frames_of([(8, VOICE, NEAR_DB - MARGIN_DB + 1)]):
            voice.hear(frame)
        return voice.is_near

    assert is_near(ROOM_DB)
    assert not is_near(FAR_DB)


def test_clean_labelled_turns_begin_and_end_as_without_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = turns_of_fixtures()
    probabilities = []
    for turn in turns:
        vad = shared_silero().stream()
        frames = [turn.pcm[at : at + FRAME_BYTES] for at in range(0, len(turn.pcm) - FRAME_BYTES + 1, FRAME_BYTES)]
        probabilities.append([vad.probability(frame) for frame in frames])

    def starts_and_ends() -> list[list[EndpointEvent]]:
        return [
            [one for one in Endpoint(ScriptedVad(known)).push(turn.pcm) if isinstance(one, SpeechStarted | TurnEnded)]
            for turn, known in zip(turns, probabilities, strict=True)
        ]

    with_margin = starts_and_ends()
    monkeypatch.setattr(NearVoice, "is_near", True)
    assert with_margin == starts_and_ends()
    assert len(turns) >= 70
