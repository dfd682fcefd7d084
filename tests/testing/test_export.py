"""A call that happened, as a case: it speaks the same sound, and the same words and turns come of it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.event import server as s
from realtime.event.config import TurnDetection
from realtime.model.scripted import ScriptedModel
from realtime.state.memory import MemoryStore
from realtime.state.store import CallInfo, Change
from realtime.testing import (
    BargeIn,
    CallRecord,
    Case,
    CaseError,
    Leave,
    Person,
    Returned,
    Run,
    Send,
    Silence,
    Speak,
    StandIn,
    Type,
    WaitFor,
    WaitUntilHeard,
    clock,
    play,
)
from realtime.testing.cases.case import read_case
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.export import INPUT_FILE, export_call, export_case
from realtime.testing.cases.stand_in import Call, Hear, Say, WriteText
from realtime.testing.cases.tape import OUTPUT_FILE
from realtime.testing.client.steps import Step
from realtime.tool import Toolkit

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
TIME = Speak("what_time.wav", text="What time is it?")
TRIP = Speak("trip_pauses.flac")
PARTS = ("I would like to plan", "a trip to the mountains", "and I need to know", "how cold it gets", "in October.")


def agent_with_turns(silence_ms: int | None) -> RealtimeAgent:
    """Turns by the server's detector, or where `silence_ms` is null by the model's."""
    detection = None if silence_ms is None else TurnDetection(authority="server", silence_duration_ms=silence_ms)

    def clock() -> str:
        """Tell the time."""
        return "09:15"

    return RealtimeAgent("Robin", "", ScriptedModel([]), toolkit=Toolkit([clock]), turn_detection=detection)


def played(source: Any, *, silence_ms: int | None = None, **options: Any) -> CallRecord:
    return clock.run(play(source, agent=lambda: agent_with_turns(silence_ms), **options))


def happened(
    *steps: Step,
    hears: Sequence[str] = (),
    answers: Sequence[Any] = (),
    turns: Any = "detector",
    silence_ms: int | None = None,
) -> CallRecord:
    """A call, as a recorded one: what the user sent and heard, nothing of what the script meant."""
    stand_in = StandIn(turns=turns, hears=tuple(map(Hear, hears)), answers=tuple(answers), otherwise=Say("Yes?"))
    case = Case(users=(Person(steps),), name="happened", models={"*": stand_in})
    return played(case, folder=AUDIO, silence_ms=silence_ms)


def words(record: CallRecord) -> list[tuple[str | None, str]]:
    return [(item.role, item.text) for item in record.items if item.type == "message"]


def responses(record: CallRecord) -> list[str]:
    """How they ended."""
    return [str(entry.status) for entry in record.entries if isinstance(entry, s.AgentResponseDoneEvent)]


def places(record: CallRecord) -> list[float]:
    """Where the turns begin and end."""
    return [ms for turn in Run(record).user_turns for ms in (turn.from_ms, turn.to_ms)]


def same_again(record: CallRecord, folder: Path, *, silence_ms: int | None = None) -> Run:
    """The run of the exported case, once it is seen to be like the call."""
    again = played(export_case(record, folder), silence_ms=silence_ms)
    assert words(again) == words(record)
    assert places(again) == pytest.approx(places(record), abs=60)
    return Run(again).meets_expectations()


NINE = Say("Nine.")
ASKED = (TIME, WaitUntilHeard())
GREETED = (Type("Hello"), WaitUntilHeard())


def asked_once(**options: Any) -> CallRecord:
    return happened(*ASKED, hears=("What time is it?",), answers=(NINE,), **options)


def asked_twice(**options: Any) -> CallRecord:
    return happened(*ASKED, *ASKED, hears=("What time is it?", "And now?"), answers=(NINE, Say("Ten.")), **options)


def test_an_exported_case_says_that_its_turns_are_pinned_and_how_to_unpin_them(tmp_path: Path) -> None:
    case = read_case(export_case(asked_twice(), tmp_path / "case"))
    assert "Its turns are pinned" in case.about
    assert 'set "turns" to "detector"' in case.about
    unpinned = msgspec.structs.replace(case.models["*"], turns="detector")
    model = unpinned.model(tmp_path / "case")
    Run(played(tmp_path / "case", model=model)).turns(2).agent_said("Nine.", "Ten.")
    assert "pinned" not in read_case(export_case(happened(*GREETED), tmp_path / "typed")).about


def test_turns_that_the_model_found_are_found_where_they_were(tmp_path: Path) -> None:
    record = asked_twice()
    run = same_again(record, tmp_path / "case").turns(2)
    assert run.response_latency.values_ms == pytest.approx(Run(record).response_latency.values_ms, abs=60)
    twice_exported = same_again(run.record, tmp_path / "again").record
    assert words(twice_exported) == words(record)


def test_turns_that_the_server_found_are_found_anew_in_the_sound(tmp_path: Path) -> None:
    record = asked_twice(turns="none", silence_ms=400)
    case = export_case(record, tmp_path / "case")
    assert "turn_detection" not in read_case(case).config
    slower = Run(played(case, silence_ms=900)).turns(2)
    assert min(slower.response_latency.stage("turn_end").values_ms) >= 900
    same_again(record, tmp_path / "again", silence_ms=400).turns(2)


def test_a_turn_in_several_parts_keeps_the_words_of_each_part(tmp_path: Path) -> None:
    """Whatever pieces it falls into: after a fix the words are those of the whole turn."""
    record = happened(TRIP, WaitUntilHeard(), turns="none", silence_ms=200, hears=PARTS)
    whole = " ".join(PARTS)
    assert " ".join(text for role, text in words(record) if role == "user") == whole
    same_again(record, tmp_path / "case", silence_ms=200)
    patient = Run(played(tmp_path / "case", silence_ms=1_200)).turns(1)
    assert patient.user_turns[0].transcript == whole
    assert [role for role, _ in words(patient.record)] == ["user", "assistant"]


def test_an_interruption_happens_again_at_the_same_word(tmp_path: Path) -> None:
    long = "It is nine in Berlin and eight in London, and ten in Athens and in Helsinki."
    record = happened(
        TIME,
        BargeIn(Speak("barge_in.wav"), after_ms=1_500),
        WaitUntilHeard(),
        hears=("What time is it?", "Stop, please."),
        answers=(Say(long), Say("All right.")),
    )
    run = same_again(record, tmp_path / "case").barge_ins(1)
    run.barge_in().silence_within(ms=1_000).transcript_cut_at_heard_word().answered()
    assert words(record)[1][1] not in ("", long)


def test_a_tool_answers_as_it_did_after_as_long(tmp_path: Path) -> None:
    answers = (Call(tools=(ToolUse("clock"),)), Say("A quarter past nine."))
    record = happened(Type("What time is it?"), WaitUntilHeard(), answers=answers)
    folder = export_case(record, tmp_path / "case")
    text = (folder / "case.json").read_text().replace("09:15", "from the case")
    (folder / "case.json").write_text(text)
    called = Run(played(folder)).tool_called("clock").once().answered()
    assert called.calls[0].output == "from the case"


@pytest.mark.parametrize("written", [False, True])
def test_words_before_a_tool_are_said_or_written_again_before_it(written: bool, tmp_path: Path) -> None:
    first: Any = WriteText("One moment.") if written else Say("Let me look at the clock.", ms=1_500)
    last: Any = WriteText("A quarter past nine.") if written else Say("A quarter past nine.")
    call = Call(tools=(ToolUse("clock"),), before=first, after_ms=200)
    record = happened(Type("What time is it?"), Silence(6_000), answers=(call, last))
    assert [text for role, text in words(record) if role == "assistant"] == [first.text, last.text]
    run = same_again(record, tmp_path / "case")
    run.agent_said(first.text).agent_said(last.text).tool_called("clock").once()
    assert responses(run.record) == responses(record) == ["completed", "completed"]
    before, now = (one.tool_called("clock").calls[0].asked_ms for one in (Run(record), run))
    assert now == pytest.approx(before, abs=60)


def placed(role: str, text: str) -> Send:
    item = {"id": text, "role": role, "content": [{"type": "text", "text": text}]}
    return Send({"type": "client_item_create", "item": item})


def test_a_history_that_the_client_brings_is_put_back_and_not_answered(tmp_path: Path) -> None:
    history = (
        placed("user", "My name is Anna."),
        placed("assistant", "Hello Anna."),
        placed("user", "I live in Oslo."),
    )
    record = happened(*history, Silence(500), *ASKED, hears=("What time is it?",), answers=(NINE,))
    assert len(responses(record)) == 1
    assert [text for _, text in words(record)][:3] == ["My name is Anna.", "Hello Anna.", "I live in Oslo."]
    run = same_again(record, tmp_path / "case")
    assert responses(run.record) == responses(record)


def test_typed_turns_come_when_they_came_and_so_does_one_that_nobody_answered(tmp_path: Path) -> None:
    record = happened(Silence(700), *GREETED, Silence(500), Type("Bye"), WaitUntilHeard(), Type("Anybody there?"))
    run = same_again(record, tmp_path / "case").turns(3)
    assert [turn.from_ms for turn in run.user_turns] == [turn.from_ms for turn in Run(record).user_turns]
    steps = read_case(tmp_path / "case").users[0].steps
    assert [step.text for step in steps if isinstance(step, Type)] == ["Hello", "Bye", "Anybody there?"]
    assert not (tmp_path / "case" / INPUT_FILE).exists()


def test_a_turn_that_the_user_ended_by_a_button_is_ended_by_one(tmp_path: Path) -> None:
    stand_in = StandIn(turns="none", hears=(Hear("What time is it?"),), answers=(Say("Nine."),))
    config = {"turn_detection": "none"}
    steps = (TIME, Send({"type": "client_audio_commit"}), WaitUntilHeard())
    record = played(Case(users=(Person(steps),), config=config, models={"*": stand_in}), folder=AUDIO)
    assert words(record) == [("user", "What time is it?"), ("assistant", "Nine.")]
    again = played(export_case(record, tmp_path / "case", config=config))
    assert words(again) == words(record)
    assert [turn.to_ms for turn in Run(again).user_turns] == [turn.to_ms for turn in Run(record).user_turns]


@pytest.mark.parametrize(("turns", "silence_ms"), [("detector", None), ("none", 400)], ids=["provider", "server"])
def test_a_user_who_hangs_up_in_the_middle_of_a_word_does_so_again(
    turns: str, silence_ms: int | None, tmp_path: Path
) -> None:
    steps = (*ASKED, Speak("trip_pauses.flac", to_ms=2_500), Leave())
    record = happened(*steps, turns=turns, silence_ms=silence_ms, hears=("What time is it?",), answers=(NINE,))
    assert Run(record).user_turns[-1].ended_ms is None
    run = same_again(record, tmp_path / "case", silence_ms=silence_ms)
    assert responses(run.record) == responses(record) == ["completed"]


def refunding(runs: list[str], *, asks: bool = False) -> RealtimeAgent:
    """An agent whose tool takes half a minute, or asks before it pays at once."""

    async def refund(order: str) -> str:
        """Pay back.

        Args:
            order: Its number.
        """
        runs.append(order)
        await asyncio.sleep(0 if asks else 30)
        return f"paid {order}"

    toolkit = Toolkit(confirm=[refund]) if asks else Toolkit([refund])
    return RealtimeAgent("Robin", "", ScriptedModel([]), toolkit=toolkit)


def refunded(source: Any, runs: list[str], **options: Any) -> CallRecord:
    return clock.run(play(source, agent=lambda: refunding(runs, **options)))


def tool_case(*steps: Step, tool: str = "refund", config: dict[str, Any] | None = None) -> Case:
    answers = (Call(tools=(ToolUse(tool, {"order": "A"}),)), Say("Done."))
    models = {"*": StandIn(turns="none", answers=answers)}
    return Case(users=(Person((Type("Refund A"), *steps)),), config=config or {}, models=models)


def answer_of_client(**answer: Any) -> tuple[Step, ...]:
    told = {"type": "client_tool_result", "id": "call_1", "output": "", **answer}
    return WaitFor("agent_response_tool_use_done"), Silence(500), Send(told), WaitUntilHeard()


def results(record: CallRecord) -> list[tuple[str, str]]:
    found = [one.tool_result for one in record.entries if isinstance(one, s.AgentResponseToolResultEvent)]
    return [(str(result.state), result.output_text()) for result in found]


@pytest.mark.parametrize(("confirmed", "output"), [(True, "paid A"), (False, "the user refused: too much")])
def test_the_user_s_consent_is_given_or_refused_again(confirmed: bool, output: str, tmp_path: Path) -> None:
    words_of_refusal = "" if confirmed else "too much"
    steps = answer_of_client(name="refund", output=words_of_refusal, confirmed=confirmed)
    record = refunded(tool_case(*steps), [], asks=True)
    assert [text for _, text in results(record)] == [output]
    again = refunded(export_case(record, tmp_path / "case"), [], asks=True)
    assert (words(again), results(again)) == (words(record), results(record))


def test_a_result_that_came_from_the_client_comes_from_it_again(tmp_path: Path) -> None:
    tool = {"name": "locate", "description": "Where?", "parameters": {"type": "object", "properties": {}}}
    config = {"tools": [tool]}
    case = tool_case(*answer_of_client(name="locate", output="Oslo"), tool="locate", config=config)
    record = played(case)
    assert results(record) == [("success", "Oslo")]
    folder = export_case(record, tmp_path / "case", config=config)
    assert read_case(folder).tools == {}
    again = played(folder)
    assert (words(again), results(again)) == (words(record), results(record))


def test_a_tool_that_still_ran_when_the_call_ended_is_not_run_by_the_test(tmp_path: Path) -> None:
    runs: list[str] = []
    steps = (WaitFor("agent_response_tool_use_done"), Silence(500), Leave())
    record = refunded(tool_case(*steps), runs)
    assert runs == ["A"]
    refunded(export_case(record, tmp_path / "case"), runs)
    assert runs == ["A"]


def test_settings_that_were_changed_in_the_call_are_changed_again(tmp_path: Path) -> None:
    asks = {"turn_detection": {"create_response": False}}
    change = Send({"type": "client_session_update", "config": {**asks, "instructions": "Be brief."}})
    record = happened(*ASKED, change, TIME, Silence(2_000), answers=(NINE,))
    assert responses(record) == ["completed"]
    run = same_again(record, tmp_path / "case")
    assert responses(run.record) == ["completed"]
    sent = [step.event for step in read_case(tmp_path / "case").users[0].steps if isinstance(step, Send)]
    assert sent == [{"type": "client_session_update", "config": asks}], "the test has its own words"


def test_a_response_beside_the_conversation_is_nothing_of_the_case(tmp_path: Path) -> None:
    record = happened(*GREETED, answers=(Say("Hi."),))
    beside = (
        s.AgentResponseCreatedEvent(response_id="b", conversation="none", ts_ms=5_000),
        s.AgentResponseTextDeltaEvent(response_id="b", item_id="ib", delta="A note.", ts_ms=5_000),
        s.AgentResponseDoneEvent(response_id="b", conversation="none", ts_ms=5_000),
    )
    case = read_case(export_case(replace(record, entries=(*record.entries, *beside)), tmp_path / "case"))
    assert len(case.models["*"].answers) == 1
    assert [step for step in case.users[0].steps if isinstance(step, Send)] == []


def test_what_gives_no_case_is_refused_with_the_reason(tmp_path: Path) -> None:
    record = happened(*GREETED)
    joined = s.ServerRoomJoinedEvent(participant_id="p1", name="Carl", kind="human", seq=1)
    with pytest.raises(CaseError, match="this was a participant's call in a room"):
        export_case(replace(record, entries=(joined, *record.entries)), tmp_path / "case")
    with pytest.raises(CaseError, match="this call contains no speech or text"):
        export_case(happened(Silence(500)), tmp_path / "case")
    assert not (tmp_path / "case").exists()
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(CaseError, match=r"the folder is not empty\. Name a new one\."):
        export_case(record, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    assert export_case(record, tmp_path / "empty") == tmp_path / "empty"


def test_an_answer_without_a_word_is_not_expected_as_words(tmp_path: Path) -> None:
    record = happened(*GREETED, answers=(WriteText("👍"),))
    assert read_case(export_case(record, tmp_path / "case")).expect.agent_said == ()
    Run(played(tmp_path / "case")).meets_expectations()


def test_the_sound_of_both_sides_lies_beside_the_case(tmp_path: Path) -> None:
    record = asked_once()
    folder = export_case(record, tmp_path / "case")
    human, agent = record.lanes
    assert read_pcm16(folder / INPUT_FILE, human.rate_hz) == human.pcm
    assert read_pcm16(folder / OUTPUT_FILE, agent.rate_hz) == agent.pcm
    said = read_case(folder).models["*"].answers[0]
    assert isinstance(said, Say)
    assert said.audio == OUTPUT_FILE


def test_what_belongs_to_the_call_alone_is_left_out_of_its_settings(tmp_path: Path) -> None:
    config = {"recording": True, "model": "x", "model_provider": "openai", "instructions": "y", "user_name": "Ann"}
    case = read_case(export_case(happened(*GREETED), tmp_path / "case", config=config))
    assert case.config == {"user_name": "Ann"}


def test_nothing_secret_stands_in_a_case(tmp_path: Path) -> None:
    """Not what only the page knows (`extra`), and no secret of a setting, an argument or a result."""
    use = ToolUse("log_in", {"user": "ann", "password": "s3cr3t-1"})
    answers = (Call(tools=(use,)), Say("You are in: https://x.org/?access_token=s3cr3t-2"))
    tools: dict[str, tuple[Returned, ...]] = {"log_in": (Returned({"session_token": "s3cr3t-3", "state": "in"}),)}
    models = {"*": StandIn(answers=answers)}
    case = Case(users=(Person((Type("Log me in"), WaitUntilHeard())),), models=models, tools=tools)
    config = {"user_name": "Ann", "extra": {"crm": "s3cr3t-4"}, "token_hash": "s3cr3t-5", "of_the_page": 1}
    folder = export_case(played(case), tmp_path / "case", config=config)
    text = (folder / "case.json").read_text()
    assert "s3cr3t" not in text
    exported = read_case(folder)
    assert exported.config == {"user_name": "Ann"}
    assert exported.tools["log_in"][0].arguments == {"user": "ann", "password": "<scrubbed>"}
    again = Run(played(folder)).meets_expectations().tool_called("log_in", user="ann").once()
    assert json.loads(again.calls[0].output) == {"session_token": "<scrubbed>", "state": "in"}


def test_expectations_are_what_happened(tmp_path: Path) -> None:
    record = happened(*GREETED, answers=(Call(tools=(ToolUse("clock"),)), NINE))
    expected = read_case(export_case(record, tmp_path / "case")).expect
    assert (expected.user_said, expected.agent_said, expected.barge_ins) == (("Hello",), ("Nine.",), 0)
    assert [use.name for use in expected.tools] == ["clock"]


def test_a_call_without_sound_hums_where_the_user_spoke_which_the_servers_detector_takes_for_no_voice(
    tmp_path: Path,
) -> None:
    record = asked_once()
    folder = export_case(replace(record, lanes=(), played=(), spoken=()), tmp_path / "case")
    again = played(folder)
    assert words(again) == words(record)
    assert places(again) == pytest.approx(places(record), abs=60)
    assert any(read_pcm16(folder / INPUT_FILE, 16_000))
    assert not (folder / OUTPUT_FILE).exists()
    by_server = replace(asked_once(turns="none", silence_ms=400), lanes=(), played=(), spoken=())
    assert words(played(export_case(by_server, tmp_path / "by_server"), silence_ms=400)) == []


def test_a_call_of_a_store_is_exported_with_its_settings(tmp_path: Path) -> None:
    record = happened(*GREETED)
    store = MemoryStore()
    info = CallInfo(call_id="call_1", agent_name="Robin", config={"user_name": "Ann", "recording": True})
    store.write([Change("call_1", info, record.entries)])
    folder = export_call(store, "call_1", tmp_path / "calls" / "hello")
    assert json.loads((folder / "case.json").read_text())["about"].startswith("Exported from the call call_1.")
    assert read_case(folder).config == {"user_name": "Ann"}
    assert words(played(folder)) == words(record)
