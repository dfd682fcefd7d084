"""The barge-in sweep: it interrupts everywhere, finds what breaks a rule, and refuses what it cannot sweep."""

from pathlib import Path

import pytest

from realtime.event import server as s
from realtime.testing.cases.case import Case, Person
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from realtime.testing.check.run import CheckFailed, Run
from realtime.testing.check.sweep import Sweep, barge_in_sweep
from realtime.testing.client.steps import BargeIn, Speak, Type, WaitUntilHeard
from realtime.testing.clock import run
from realtime.testing.errors import CaseError, ScriptFailure
from realtime.testing.record import CallRecord, Played
from tests.testing.hand_made import Hand

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
STOP = Speak("barge_in.wav", text="Stop, please. That is enough.", from_ms=300)


def question(model: StandIn | None = None) -> Case:
    """Ann asks for the time and is told at length."""
    said = Say("It is a quarter past ten in the morning.", ms=1_500)
    asks = Speak("what_time.wav", text="What time is it?")
    return Case(
        users=(Person((asks, WaitUntilHeard()), name="Ann"),),
        name="question",
        models={"*": model or StandIn(hears=(Hear("What time is it?"), Hear("Stop.")), answers=(said,))},
    )


class Stage:
    """Stands for `play`: an answer of 1 s that is interrupted where the case says, each time with this fault."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.places_ms: list[int] = []

    async def __call__(self, case: Case, folder: Path) -> CallRecord:
        call = Hand()
        call.speaks(1_000, 2_000, "What time is it?", item="u1")
        barge_in = next((step for step in case.users[0].steps if isinstance(step, BargeIn)), None)
        if barge_in is None:
            call.answers(2_600, "It is ten", response="r1", length_ms=1_000)
            return call.record()
        after_ms = barge_in.after_ms or 0
        self.places_ms.append(after_ms)
        if self.fault == "vanishes" and after_ms == 500:
            raise ScriptFailure("step 2 of Ann (barge_in), at 3250 ms: 500 ms of the answer were not heard\n  details")
        heard_ms = 1_000 if self.fault == "talks on" else min(1_000, after_ms + 80)
        began_ms = 2_750 + after_ms
        call.answers(2_600, "It is ten", response="r1", length_ms=1_000, heard_ms=heard_ms)
        flush = "" if self.fault == "talks on" else "speech_started"
        call.speaks(began_ms, began_ms + 1_000, "Stop", item="u2", flush=flush)
        words = ["", "It", "It is", "It is ten"][heard_ms * 3 // 1_000]
        if self.fault == "remembers" and after_ms >= 300:
            words, heard_ms = "It is ten", 1_000
        if self.fault != "talks on":
            call.cut(began_ms + 81, "r1", words, heard_ms)
        if self.fault == "sounds on" and after_ms == 700:
            call.played.append(Played("Ann", "item_r1", 780, began_ms + 100, 200))
        if self.fault == "leaves a tool":
            call.calls_tool(2_650, "clock", "{}", call="c1", response="r9", result=None)
        if self.fault != "is dead":
            call.answers(began_ms + 1_600, "Yes?", response="r2", length_ms=500)
        call.put(began_ms + 2_600, s.ServerSessionEndedEvent(session_id="s"))
        return call.record()


def swept(fault: str = "", every_ms: int = 100) -> tuple[Sweep, Stage]:
    stage = Stage(fault)
    return run(barge_in_sweep(question(), speech=STOP, every_ms=every_ms, play_once=stage)), stage


def test_a_reply_of_the_real_server_can_be_interrupted_anywhere() -> None:
    sweep = run(barge_in_sweep(question(), speech=STOP, every_ms=300, folder=AUDIO))
    assert sweep.length_ms == 1_500
    assert sweep.places_ms == (0, 300, 600, 900, 1_200)
    sweep.raise_for_failures()


def test_an_agent_that_is_set_to_talk_on_is_found() -> None:
    model = StandIn(
        hears=(Hear("What time is it?"), Hear("Stop.")),
        answers=(Say("It is a quarter past ten in the morning, and it will be so for a while.", ms=4_000),),
    )
    talks_on = {"turn_detection": {"authority": "server", "interrupt_response": False}}
    sweep = run(barge_in_sweep(question(model), speech=STOP, every_ms=2_000, folder=AUDIO, config=talks_on))
    assert [(failure.after_ms, failure.finding[:35]) for failure in sweep.failures] == [
        (0, "The voice did not stop the reply: i"),
        (2_000, "The voice did not stop the reply: i"),
    ]


def test_every_100_ms_of_the_reply_is_interrupted_once() -> None:
    sweep, stage = swept()
    assert stage.places_ms == list(range(0, 1_000, 100))
    assert sweep.raise_for_failures() is sweep


@pytest.mark.parametrize(
    ("fault", "places_ms", "finding"),
    [
        ("remembers", [300, 400, 500, 600, 700], "The conversation holds more than was heard"),
        ("sounds on", [700], "Ann heard the answer"),
        ("talks on", [*range(0, 700, 100)], "The voice did not stop the reply: it was heard for"),
        ("leaves a tool", [*range(0, 1_000, 100)], "The call of clock({}) never got a result."),
        ("is dead", [*range(0, 1_000, 100)], "The interruption was never answered."),
        ("vanishes", [500], "step 2 of Ann (barge_in), at 3250 ms: 500 ms of the answer were not heard"),
    ],
)
def test_a_broken_rule_is_found_where_it_breaks(fault: str, places_ms: list[int], finding: str) -> None:
    sweep, _ = swept(fault)
    found = [failure for failure in sweep.failures if failure.finding.startswith(finding)]
    assert [failure.after_ms for failure in found] == places_ms


def test_the_failure_lists_the_places_and_shows_the_first() -> None:
    sweep, _ = swept("is dead", every_ms=400)
    with pytest.raises(CheckFailed) as caught:
        sweep.raise_for_failures()
    lines = str(caught.value).splitlines()
    assert lines[:4] == [
        "3 of 3 interruptions of a reply of 1.0 s broke a rule.",
        "  after      0 ms: The interruption was never answered.",
        "  after    400 ms: The interruption was never answered.",
        "  after    800 ms: The interruption was never answered.",
    ]
    assert "The one after 0 ms:" in lines
    assert any(line.startswith(">") for line in lines)


def test_rules_of_ones_own_are_checked_too() -> None:
    def never_says_yes(run: Run) -> None:
        run.agent_did_not_say("yes")

    sweep = run(barge_in_sweep(question(), speech=STOP, every_ms=500, play_once=Stage(), checks=[never_says_yes]))
    assert [failure.after_ms for failure in sweep.failures] == [0, 500]


def test_a_sweep_is_no_truth_value() -> None:
    sweep, _ = swept(every_ms=500)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(sweep)


def test_a_reply_that_is_not_there() -> None:
    with pytest.raises(CaseError, match=r"there is no reply 2. Choose a reply from 0 to 1."):
        run(barge_in_sweep(question(), reply=2, play_once=Stage()))


def test_a_reply_that_nobody_hears() -> None:
    async def silent(case: Case, folder: Path) -> CallRecord:
        return Hand().record()

    with pytest.raises(CaseError, match="nothing is heard of reply 1"):
        run(barge_in_sweep(question(), play_once=silent))


def test_a_case_in_which_nobody_speaks_needs_speech() -> None:
    typed = Case(users=(Person((Type("Hello"),)),), name="typed")
    with pytest.raises(CaseError, match="it contains no speech"):
        run(barge_in_sweep(typed, play_once=Stage()))


def test_a_model_that_hears_at_fixed_positions_cannot_be_interrupted_elsewhere() -> None:
    with pytest.raises(CaseError, match='Set "turns" to "detector"'):
        run(barge_in_sweep(question(StandIn(turns="positions")), play_once=Stage()))


def test_the_step_is_positive() -> None:
    with pytest.raises(ValueError, match="every_ms has to be positive, not 0"):
        run(barge_in_sweep(question(), every_ms=0))
