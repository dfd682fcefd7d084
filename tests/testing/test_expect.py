"""What a case expects, and what is judged by it."""

import shutil
from pathlib import Path

import pytest

from realtime.testing.call import voice_call
from realtime.testing.case import Case, Expected, Person, write_case
from realtime.testing.checks import CheckFailed, Run
from realtime.testing.clock import run
from realtime.testing.errors import CaseError
from realtime.testing.stand_in import Hear, Say, StandIn
from realtime.testing.steps import Type, WaitUntilHeard

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"


def typed(expect: Expected) -> Case:
    """Somebody types a word and gets an answer."""
    return Case(
        users=(Person((Type("Hello"), WaitUntilHeard())),),
        name="typed",
        models={"*": StandIn(answers=(Say("Good morning.", ms=400),))},
        expect=expect,
    )


def played(case: Case, folder: Path) -> Run:
    return run(voice_call(case, folder=folder))


class TestWhatIsJudgedBy:
    def test_a_case_made_in_python_not_the_file_in_its_folder(self, tmp_path: Path) -> None:
        write_case(tmp_path, typed(Expected(turns=1)))
        played(typed(Expected(turns=1)), tmp_path).meets_expectations()
        with pytest.raises(CheckFailed, match="1 turn, not 7"):
            played(typed(Expected(turns=7)), tmp_path).meets_expectations()

    def test_the_case_as_it_was_when_it_was_run(self, tmp_path: Path) -> None:
        write_case(tmp_path, typed(Expected(turns=1)))
        call = run(voice_call(tmp_path))
        write_case(tmp_path, typed(Expected(turns=2)))
        call.meets_expectations()

    def test_an_audio_file_is_not_judged_by_the_case_beside_it(self, tmp_path: Path) -> None:
        shutil.copy(AUDIO / "what_time.wav", tmp_path)
        write_case(tmp_path, typed(Expected(turns=1)))
        model = StandIn(hears=(Hear("What time is it?"),), answers=(Say("Ten.", ms=500),)).model(tmp_path)
        call = run(voice_call(tmp_path / "what_time.wav", model=model)).turns(1)
        with pytest.raises(CaseError, match="nothing is expected of this call"):
            call.meets_expectations()

    def test_a_case_that_expects_nothing_is_not_met(self, tmp_path: Path) -> None:
        with pytest.raises(CaseError, match="nothing is expected of this call"):
            played(typed(Expected()), tmp_path).meets_expectations()
