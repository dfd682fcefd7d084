"""One open question: what a turn means to it, and when it is asked. Without a clock or an event loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.turn.answers import Answer, Reading
from realtime.turn.consent import (
    CONSENT_SILENCE_S,
    EARLY_S,
    MOST_ASKED,
    SETTLE_S,
    Allow,
    AnswerTurn,
    Change,
    Deny,
    Ignore,
    LetAnswer,
    NotTaken,
    OpenQuestion,
    Phase,
    Speak,
    Step,
)

READINGS = {
    "yes": Reading(Answer.YES),
    "always": Reading(Answer.YES, always=True),
    "no": Reading(Answer.NO),
    "three": Reading(Answer.CHANGE, changed={"people": 3}),
    "another": Reading(Answer.CHANGE),
    "how much": Reading(Answer.QUESTION),
    "weather": Reading(Answer.OTHER),
    "yes three": Reading(Answer.CHANGE, changed={"people": 3}),
}


def read(words: str, arguments: Mapping[str, object], schema: Mapping[str, object], question: str) -> Reading:
    return READINGS.get(words, Reading(Answer.OTHER))


def opened(**options: Any) -> OpenQuestion:
    return OpenQuestion("Four?", {"people": 4}, {}, read, **options)


def speaking() -> OpenQuestion:
    question = opened()
    assert question.may_speak() == Speak("first")
    question.begins()
    return question


def asked(position_ms: int = 1_000, now: float = 1.0) -> OpenQuestion:
    """A question that was heard to its end."""
    question = speaking()
    question.heard(position_ms, now)
    return question


def turn(words: str, start_ms: int = 2_000, **flags: bool) -> AnswerTurn:
    return AnswerTurn(words=words, start_ms=start_ms, end_ms=start_ms + 500, **flags)


def test_it_is_spoken_once_the_floor_is_free_and_not_again_while_it_is_spoken() -> None:
    question = opened()
    assert (question.phase, question.may_speak()) == (Phase.WAITING, Speak("first"))
    question.begins()
    assert (question.phase, question.may_speak()) == (Phase.SPEAKING, None)
    question.cut()
    assert question.may_speak() == Speak("again")


@pytest.mark.parametrize(("words", "rule"), [("yes", False), ("always", True)])
def test_a_yes_counts_when_the_voice_does_not_go_on(words: str, rule: bool) -> None:
    """One for always accepts a rule too."""
    question, said = asked(), turn(words)
    assert question.take(said, 3.0) is None
    assert question.look(3.0 + SETTLE_S - 0.1) is None
    assert question.look(3.0 + SETTLE_S) == Allow(said, rule=rule)
    assert not question.is_open


def test_a_yes_that_goes_on_is_read_with_what_follows() -> None:
    question = asked()
    question.take(turn("yes"), 3.0)
    question.voice_began()
    assert question.look(10.0) is None
    step = question.take(turn("three", 3_200), 4.0)
    assert isinstance(step, Change)
    assert (step.arguments, step.turn.words, step.turn.start_ms) == ({"people": 3}, "yes three", 2_000)


def test_a_noise_after_a_yes_lets_it_count() -> None:
    question, said = asked(), turn("yes")
    question.take(said, 3.0)
    question.voice_began()
    assert question.take(turn("", 3_200), 4.0) == Ignore(NotTaken.NO_WORDS, turn("", 3_200))
    assert question.look(4.0 + SETTLE_S) == Allow(said)


def test_a_yes_that_began_before_the_end_is_none_and_the_question_comes_again() -> None:
    for start_ms in (0, 999):
        question = asked()
        assert question.take(turn("yes", start_ms), 3.0) == Ignore(NotTaken.BEFORE_END, turn("yes", start_ms))
        assert question.look(100.0) is None
        assert question.may_speak() == Speak("again")


def test_whoever_agrees_within_the_question_is_asked_again_and_has_as_many_silences_as_others() -> None:
    question = opened()
    question.begins()
    assert isinstance(question.take(turn("yes", over=True), 1.0), Ignore)
    question.heard(1_000, 2.0)
    assert question.look(2.0 + EARLY_S) is None
    assert question.may_speak() == Speak("again")
    for now in (20.0, 40.0):
        question.begins()
        question.heard(5_000, now)
        step = question.look(now + CONSENT_SILENCE_S)
    assert step == Deny("silence")


def test_a_no_counts_at_any_time() -> None:
    for question in (opened(), speaking(), asked(5_000)):
        said = turn("no", 1_000)
        assert question.take(said, 2.0) == Deny("no", "no", said)


def test_what_the_asked_person_did_not_say_now_changes_nothing() -> None:
    for words in ("yes", "no", "three", "weather"):
        for said, why in (
            (turn(words, echo=True), NotTaken.ECHO),
            (turn(words, far=True), NotTaken.FAR_VOICE),
        ):
            question = asked()
            assert question.take(said, 3.0) == Ignore(why, said)
            assert (question.phase, question.look(3.0 + CONSENT_SILENCE_S - 0.1)) == (Phase.HEARD, None)


def test_a_change_is_asked_anew_and_nothing_of_it_was_heard() -> None:
    question, said = asked(), turn("three")
    assert question.take(said, 3.0) == Change({"people": 3}, said)
    question.changed("Three?", {"people": 3})
    assert (question.heard_whole, question.may_speak()) == (False, Speak("changed"))
    assert isinstance(question.take(turn("yes", 9_000), 4.0), Ignore)
    said = turn("another")
    assert asked().take(said, 3.0) == Deny("change", "another", said), "only the model can apply it"


@pytest.mark.parametrize("words", ["how much", "weather"])
def test_anything_else_is_for_the_model_and_a_yes_then_is_to_what_it_says(words: str) -> None:
    question = asked()
    assert question.take(turn(words), 3.0) == LetAnswer(turn(words))
    assert (question.phase, question.heard_whole) == (Phase.WAITING, False)
    assert question.take(turn("yes", 5_000), 6.0) == LetAnswer(turn("yes", 5_000))
    assert question.may_speak() == Speak("again")
    question.begins()
    question.heard(9_000, 9.0)
    question.take(turn("yes", 9_500), 10.0)
    assert isinstance(question.look(11.0), Allow)


def test_silence_is_asked_once_more_and_then_a_refusal() -> None:
    question = asked(now=1.0)
    assert question.look(1.0 + CONSENT_SILENCE_S - 0.01) is None
    assert question.look(1.0 + CONSENT_SILENCE_S) is None
    assert question.may_speak() == Speak("again")
    question.begins()
    question.heard(20_000, 20.0)
    assert question.look(20.0 + CONSENT_SILENCE_S) == Deny("silence")


def test_a_voice_is_no_silence() -> None:
    question = asked(now=1.0)
    question.voice_began()
    assert (question.due_at, question.look(100.0)) == (None, None)
    question.voice_passed(100.0)
    assert question.due_at == 100.0 + CONSENT_SILENCE_S


def test_it_is_asked_so_often_and_then_refused() -> None:
    question = opened()
    for _ in range(MOST_ASKED):
        assert isinstance(question.may_speak(), Speak)
        question.begins()
        question.cut()
    assert question.may_speak() == Deny("silence")


def test_after_its_answer_nothing_changes_it_and_a_silence_lasts() -> None:
    question = asked()
    question.close()
    assert question.take(turn("yes"), 3.0) is None
    assert (question.look(100.0), question.may_speak(), question.due_at) == (None, None, None)
    with pytest.raises(ValueError, match="more than 0 s"):
        opened(silence_s=0)


# -- whatever happens --------------------------------------------------------------------------------------------------

Happening = tuple[str, Any]
WORDS = st.sampled_from([*READINGS, "", "hm"])
TURNS = st.builds(
    AnswerTurn,
    words=WORDS,
    start_ms=st.integers(0, 20_000),
    echo=st.booleans(),
    far=st.booleans(),
    over=st.booleans(),
)
GOOD_TURNS = st.builds(AnswerTurn, words=WORDS, start_ms=st.integers(0, 20_000))
HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.one_of(TURNS, GOOD_TURNS)),
        st.tuples(st.just("heard"), st.integers(0, 20_000)),
        st.tuples(st.just("time"), st.floats(0.01, 10.0)),
        st.tuples(st.sampled_from(["begins", "cut", "voice", "passed", "aside", "speak"]), st.none()),
    ),
    max_size=60,
)


@dataclass
class Heard:
    """An account of its own of what was heard of the question as it stands."""

    speaking: bool = False
    at_ms: int | None = None
    n_asked: int = 0


def happen(question: OpenQuestion, seen: Heard, what: str, value: Any, now: float) -> Step:
    match what:
        case "turn":
            return question.take(value, now)
        case "heard":
            if seen.speaking:
                seen.at_ms, seen.speaking = value if seen.at_ms is None else seen.at_ms, False
            question.heard(value, now)
        case "begins" if question.phase is Phase.WAITING:
            seen.speaking, seen.n_asked = True, seen.n_asked + 1
            question.begins()
        case "cut":
            seen.speaking = False
            question.cut()
        case "voice":
            question.voice_began()
        case "passed":
            question.voice_passed(now)
        case "aside":
            question.set_aside()
            seen.at_ms = None
        case "speak":
            return question.may_speak()
        case "time":
            return question.look(now)
        case _:
            pass
    return None


@given(HAPPENINGS)
def test_no_call_is_allowed_but_by_a_near_yes_after_the_whole_question_and_silence_ends_it(
    happenings: list[Happening],
) -> None:
    question, seen, now = opened(), Heard(), 0.0
    for what, value in happenings:
        now += value if what == "time" else 0.1
        match happen(question, seen, what, value, now):
            case Allow(turn=said):
                assert seen.at_ms is not None
                assert said.start_ms >= seen.at_ms
                assert (said.echo, said.far, said.over) == (False, False, False)
                assert read(said.words, {}, {}, "").answer is Answer.YES
                assert not question.is_open
            case Change(arguments=arguments):
                question.changed("Changed?", arguments)
                seen.at_ms, seen.speaking = None, False
            case LetAnswer():
                seen.at_ms = None
            case _:
                pass
        assert question.n_asked == seen.n_asked
    question.voice_passed(now)
    for _ in range(40):
        now += 20.0
        question.look(now)
        if isinstance(question.may_speak(), Speak):
            question.begins()
        question.heard(99_000, now)
    assert not question.is_open
