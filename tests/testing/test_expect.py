"""What a case expects, and what is judged by it."""

import shutil
from pathlib import Path

import pytest

from realtime.testing.call import voice_call
from realtime.testing.cases.case import Case, Person, write_case
from realtime.testing.cases.expected import Expected, ToolUse
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from realtime.testing.check.run import CheckFailed, Run, check_expectations
from realtime.testing.client.steps import Type, WaitUntilHeard
from realtime.testing.clock import run
from realtime.testing.errors import CaseError
from tests.testing.hand_made import Hand

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


class TestTools:
    def pays_two_then_one(self) -> Run:
        call = Hand()
        call.calls_tool(1_000, "pay", '{"n": 2, "to": "Bob"}', call="c1", response="r1")
        call.calls_tool(2_000, "pay", '{"n": 1}', call="c2", response="r2")
        return call.run()

    def test_each_call_is_the_expected_one(self) -> None:
        check_expectations(self.pays_two_then_one(), Expected(tools=(ToolUse("pay", {"n": 2}), ToolUse("pay"))))

    @pytest.mark.parametrize(
        ("amounts", "finding"),
        [
            ([1, 2], r"^Call 1 of a tool was to be pay\(n=1\); the calls are pay\("),
            ([2, 2], r"^Call 2 of a tool was to be pay\(n=2\)"),
            ([2], r"^There were 2 calls of tools, not 1: pay\("),
            ([2, 1, 1], r"^Call 3 of a tool was to be pay\(n=1\)"),
            ([2, True], r"^Call 2 of a tool was to be pay\(n=True\)"),
        ],
    )
    def test_other_arguments_another_order_or_number_is_found(self, amounts: list[int], finding: str) -> None:
        uses = tuple(ToolUse("pay", {"n": amount}) for amount in amounts)
        with pytest.raises(CheckFailed, match=finding):
            check_expectations(self.pays_two_then_one(), Expected(tools=uses))


CALLS = AUDIO.parent / "calls"


def test_a_score_is_expected_figure_by_figure() -> None:
    call = run(voice_call(CALLS / "clipped"))
    check_expectations(call, Expected(score={"R_R": 1.0, "EVA": 0.87}))
    with pytest.raises(CheckFailed, match=r"The score is \{'EVA': 0.87\}, not \{'EVA': 0.9\}"):
        check_expectations(call, Expected(score={"EVA": 0.9}))


def test_a_figure_that_cannot_be_measured_is_not_met() -> None:
    with pytest.raises(CheckFailed, match=r"The score is \{'S_BC': None\}, not \{'S_BC': 1.0\}"):
        check_expectations(run(voice_call(CALLS / "clipped")), Expected(score={"S_BC": 1.0}))
