"""Answers that a test has no more, or gave to a turn that was withdrawn: the failure names them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from realtime import testing as kit
from realtime.agent import RealtimeAgent
from realtime.event.config import TurnDetection
from realtime.model.scripted import ScriptedModel
from realtime.testing.cases.stand_in import Hear, Say
from realtime.testing.check.run import CheckFailed

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
ASK = (kit.Type("Hello."), kit.WaitUntilHeard())


def played(stand_in: kit.StandIn, *steps: Any) -> kit.Run:
    detection = TurnDetection(authority="server", silence_duration_ms=200)
    case = kit.Case(users=(kit.Person(steps),), name="case", models={"*": stand_in})
    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner:
        return runner.run(
            kit.voice_call(
                case,
                folder=AUDIO,
                agent=lambda: RealtimeAgent("Robin", "", ScriptedModel([]), turn_detection=detection),
            )
        )


def test_a_wait_for_an_answer_that_the_case_does_not_have_names_the_used_up_script() -> None:
    with pytest.raises(kit.ScriptFailure) as failed:
        played(kit.StandIn(answers=(Say("Nine."),)), *ASK, *ASK)
    assert "The case has 1 answers and was asked for 2" in str(failed.value)
    assert "Add to `answers`" in str(failed.value)


def test_a_check_of_a_call_names_a_script_that_was_used_up_and_says_nothing_of_one_that_was_not() -> None:
    with pytest.raises(CheckFailed, match="was asked for 2"):
        played(kit.StandIn(answers=(Say("Nine."),)), *ASK, kit.Type("And now?")).agent_said("Ten.")
    with pytest.raises(CheckFailed) as failed:
        played(kit.StandIn(answers=(Say("Nine."),)), *ASK).agent_said("Ten.")
    assert failed.value.details == ""


def test_an_answer_that_a_withdrawn_turn_used_up_is_named() -> None:
    answers = (Say("First.", ms=2_000), Say("Second.", ms=2_000))
    trip = kit.Speak("trip_pauses.flac", to_ms=4_500)
    run = played(kit.StandIn(turns="none", hears=(Hear("One."),), answers=answers, otherwise=Say("Yes?")), trip)
    with pytest.raises(CheckFailed) as failed:
        run.agent_said("First.")
    assert 'Answer 1 of the case, "First.", was used up by a turn that ended in haste' in failed.value.details
