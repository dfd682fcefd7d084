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
    VirtualLoop,
    WaitFor,
    WaitUntilHeard,
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
TWICE = (TIME, WaitUntilHeard(), TIME, WaitUntilHeard())
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
    options.setdefault("agent", lambda: agent_with_turns(silence_ms))
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(play(source, **options))


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


def asked_the_time() -> CallRecord:
    return happened(TIME, WaitUntilHeard(), hears=("What time is it?",), answers=(Say("Nine."),))


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


def test_turns_that_the_model_found_are_found_where_they_were_and_the_case_says_how_to_unpin_them(
    tmp_path: Path,
) -> None:
    record = happened(*TWICE, hears=("What time is it?", "And now?"), answers=(Say("Nine."), Say("Ten.")))
    run = same_again(record, tmp_path / "case").turns(2)
    assert run.response_latency.values_ms == pytest.approx(Run(record).response_latency.values_ms, abs=60)
    case = read_case(tmp_path / "case")
    assert "Its turns are pinned" in case.about
    assert 'set "turns" to "detector"' in case.about
    unpinned = msgspec.structs.replace(case.models["*"], turns="detector")
    model = unpinned.model(tmp_path / "case")
    Run(played(tmp_path / "case", model=model)).turns(2).agent_said("Nine.", "Ten.")


def test_a_case_without_spoken_turns_does_not_call_them_pinned(tmp_path: Path) -> None:
    record = happened(Type("Hello."), WaitUntilHeard(), answers=(Say("Nine."),))
    assert "pinned" not in read_case(export_case(record, tmp_path / "case")).about


# -- what comes of it again --------------------------------------------------------------------------------------------


def test_turns_that_the_server_found_are_found_anew_in_the_sound(tmp_path: Path) -> None:
    record = happened(
        *TWICE,
        turns="none",
        silence_ms=400,
        hears=("What time is it?", "And now?"),
        answers=(Say("Nine."), Say("Ten.")),
    )
    case = export_case(record, tmp_path / "case")
    assert "turn_detection" not in read_case(case).config
    slower = Run(played(case, silence_ms=900)).turns(2)
    latencies = slower.response_latency.stage("turn_end").values_ms
    assert min(latencies) >= 900
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
    record = happened(
        TIME,
        BargeIn(Speak("barge_in.wav"), after_ms=1_500),
        WaitUntilHeard(),
        hears=("What time is it?", "Stop, please."),
        answers=(
            Say("It is nine in Berlin and eight in London, and ten in Athens and in Helsinki."),
            Say("All right."),
        ),
    )
    run = same_again(record, tmp_path / "case").barge_ins(1)
    run.barge_in().silence_within(ms=1_000).transcript_cut_at_heard_word().answered()
    assert words(record)[1][1] not in (
        "",
        "It is nine in Berlin and eight in London, and ten in Athens and in Helsinki.",
    )


def test_a_tool_answers_as_it_did_after_as_long_and_expectations_are_what_happened(tmp_path: Path) -> None:
    answers = (Call(tools=(ToolUse("clock"),)), Say("A quarter past nine."))
    record = happened(Type("What time is it?"), WaitUntilHeard(), answers=answers)
    folder = export_case(record, tmp_path / "case")
    expected = read_case(folder).expect
    assert (expected.user_said, expected.agent_said) == (("What time is it?",), ("A quarter past nine.",))
    assert expected.barge_ins == 0
    assert [use.name for use in expected.tools] == ["clock"]
    text = (folder / "case.json").read_text().replace("09:15", "from the case")
    (folder / "case.json").write_text(text)
    called = Run(played(folder)).tool_called("clock").once().answered()
    assert called.calls[0].output == "from the case"


def test_words_before_a_tool_are_said_again_before_it(tmp_path: Path) -> None:
    answers = (
        Call(tools=(ToolUse("clock"),), before=Say("Let me look at the clock.", ms=1_500), after_ms=200),
        Say("A quarter past nine."),
    )
    record = happened(Type("What time is it?"), WaitUntilHeard(), answers=answers)
    assert [text for role, text in words(record) if role == "assistant"] == [
        "Let me look at the clock.",
        "A quarter past nine.",
    ]
    run = same_again(record, tmp_path / "case")
    run.agent_said("Let me look at the clock").agent_said("A quarter past nine").tool_called("clock").once()
    assert responses(run.record) == responses(record) == ["completed", "completed"]
    before, now = (one.tool_called("clock").calls[0].asked_ms for one in (Run(record), run))
    assert now == pytest.approx(before, abs=60)


def test_text_before_a_tool_is_written_again_before_it(tmp_path: Path) -> None:
    answers = (Call(tools=(ToolUse("clock"),), before=WriteText("One moment.")), WriteText("A quarter past nine."))
    record = happened(Type("What time is it?"), Silence(3_000), answers=answers)
    run = same_again(record, tmp_path / "case")
    run.tool_called("clock").once()
    assert responses(run.record) == responses(record) == ["completed", "completed"]


def placed(role: str, text: str) -> Send:
    item = {"id": text, "role": role, "content": [{"type": "text", "text": text}]}
    return Send({"type": "client_item_create", "item": item})


def test_a_history_that_the_client_brings_is_put_back_and_not_answered(tmp_path: Path) -> None:
    history = (
        placed("user", "My name is Anna."),
        placed("assistant", "Hello Anna."),
        placed("user", "I live in Oslo."),
    )
    record = happened(*history, Silence(500), *TWICE[:2], hears=("What time is it?",), answers=(Say("Nine."),))
    assert len(responses(record)) == 1
    assert [text for _, text in words(record)][:3] == ["My name is Anna.", "Hello Anna.", "I live in Oslo."]
    run = same_again(record, tmp_path / "case")
    assert responses(run.record) == responses(record)


def test_text_that_was_answered_or_comes_last_is_typed_again(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard(), Type("Anybody there?"), answers=(Say("Yes."),))
    steps = read_case(export_case(record, tmp_path / "case")).users[0].steps
    assert [step.text for step in steps if isinstance(step, Type)] == ["Hello", "Anybody there?"]


def test_the_greeting_of_ones_own_agent_is_given_once(tmp_path: Path) -> None:
    """The case asks for it at its moment; the agent does not greet a second time."""

    def greeter() -> RealtimeAgent:
        agent = agent_with_turns(None)
        agent.greeting = "Good morning."
        return agent

    stand_in = StandIn(turns="detector", answers=(Say("Good morning."), Say("Nine.")))
    steps = (WaitUntilHeard(), Type("What time is it?"), WaitUntilHeard())
    case = Case(users=(Person(steps),), name="happened", models={"*": stand_in})
    record = played(case, folder=AUDIO, agent=greeter)
    again = played(export_case(record, tmp_path / "case"), agent=greeter)
    assert words(again) == words(record) != []
    Run(again).meets_expectations()


def test_typed_turns_come_when_they_came(tmp_path: Path) -> None:
    record = happened(Silence(700), Type("Hello"), WaitUntilHeard(), Silence(500), Type("Bye"), WaitUntilHeard())
    run = same_again(record, tmp_path / "case").turns(2)
    assert [turn.from_ms for turn in run.user_turns] == [turn.from_ms for turn in Run(record).user_turns]
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
    record = happened(
        TIME,
        WaitUntilHeard(),
        Speak("trip_pauses.flac", to_ms=2_500),
        Leave(),
        turns=turns,
        silence_ms=silence_ms,
        hears=("What time is it?",),
        answers=(Say("Nine."),),
    )
    assert Run(record).user_turns[-1].ended_ms is None
    run = same_again(record, tmp_path / "case", silence_ms=silence_ms)
    assert responses(run.record) == responses(record) == ["completed"]


def refunding(runs: list[str]) -> RealtimeAgent:
    async def refund(order: str) -> str:
        """Pay back.

        Args:
            order: Its number.
        """
        runs.append(order)
        await asyncio.sleep(30)
        return "paid"

    return RealtimeAgent("Robin", "", ScriptedModel([]), toolkit=Toolkit([refund]))


def consenting() -> RealtimeAgent:
    def refund(order: str) -> str:
        """Pay back.

        Args:
            order: Its number.
        """
        return f"paid {order}"

    return RealtimeAgent("Robin", "", ScriptedModel([]), toolkit=Toolkit(confirm=[refund]))


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
    record = played(tool_case(*steps), agent=consenting)
    assert [text for _, text in results(record)] == [output]
    folder = export_case(record, tmp_path / "case")
    again = played(folder, agent=consenting)
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
    record = played(tool_case(*steps), agent=lambda: refunding(runs))
    assert runs == ["A"]
    folder = export_case(record, tmp_path / "case")
    played(folder, agent=lambda: refunding(runs))
    assert runs == ["A"]


def test_settings_that_were_changed_in_the_call_are_changed_again(tmp_path: Path) -> None:
    asks = {"turn_detection": {"create_response": False}}
    change = Send({"type": "client_session_update", "config": {**asks, "instructions": "Be brief."}})
    record = happened(TIME, WaitUntilHeard(), change, TIME, Silence(2_000), answers=(Say("Nine."),))
    assert responses(record) == ["completed"]
    run = same_again(record, tmp_path / "case")
    assert responses(run.record) == ["completed"]
    sent = [step.event for step in read_case(tmp_path / "case").users[0].steps if isinstance(step, Send)]
    assert sent == [{"type": "client_session_update", "config": asks}], "the test has its own words"


def test_a_response_beside_the_conversation_is_nothing_of_the_case(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard(), answers=(Say("Hi."),))
    beside = (
        s.AgentResponseCreatedEvent(response_id="b", conversation="none", ts_ms=5_000),
        s.AgentResponseTextDeltaEvent(response_id="b", item_id="ib", delta="A note.", ts_ms=5_000),
        s.AgentResponseDoneEvent(response_id="b", conversation="none", ts_ms=5_000),
    )
    case = read_case(export_case(replace(record, entries=(*record.entries, *beside)), tmp_path / "case"))
    assert len(case.models["*"].answers) == 1
    assert [step for step in case.users[0].steps if isinstance(step, Send)] == []


def test_a_participants_call_in_a_room_is_no_call_between_two(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard())
    joined = s.ServerRoomJoinedEvent(participant_id="p1", name="Carl", kind="human", seq=1)
    with pytest.raises(CaseError, match="this was a participant's call in a room"):
        export_case(replace(record, entries=(joined, *record.entries)), tmp_path / "case")


def test_an_answer_without_a_word_is_not_expected_as_words(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard(), answers=(WriteText("👍"),))
    assert read_case(export_case(record, tmp_path / "case")).expect.agent_said == ()
    Run(played(tmp_path / "case")).meets_expectations()


# -- what is written ---------------------------------------------------------------------------------------------------


def test_the_sound_of_both_sides_lies_beside_the_case_and_an_exported_case_of_it_is_the_same(tmp_path: Path) -> None:
    record, folder = asked_the_time(), tmp_path / "case"
    first = same_again(record, folder).record
    second = same_again(first, tmp_path / "second").record
    assert words(second) == words(first)
    human, agent = record.lanes
    assert read_pcm16(folder / INPUT_FILE, human.rate_hz) == human.pcm
    assert read_pcm16(folder / OUTPUT_FILE, agent.rate_hz) == agent.pcm
    said = read_case(folder).models["*"].answers[0]
    assert isinstance(said, Say)
    assert said.audio == OUTPUT_FILE


def test_what_belongs_to_the_call_alone_is_left_out_of_its_settings(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard())
    config = {"recording": True, "model": "x", "model_provider": "openai", "instructions": "y", "user_name": "Ann"}
    assert read_case(export_case(record, tmp_path / "case", config=config)).config == {"user_name": "Ann"}


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


def test_a_call_without_sound_hums_where_the_user_spoke(tmp_path: Path) -> None:
    record = asked_the_time()
    unheard = replace(record, lanes=(), played=(), spoken=())
    folder = export_case(unheard, tmp_path / "case")
    again = played(folder)
    assert words(again) == words(record)
    assert places(again) == pytest.approx(places(record), abs=60)
    assert any(read_pcm16(folder / INPUT_FILE, 16_000))
    assert not (folder / OUTPUT_FILE).exists()


def test_the_server_s_detector_takes_no_hum_for_a_voice(tmp_path: Path) -> None:
    record = happened(TIME, WaitUntilHeard(), turns="none", silence_ms=400, hears=("What time is it?",))
    unheard = replace(record, lanes=(), played=(), spoken=())
    assert words(played(export_case(unheard, tmp_path / "case"), silence_ms=400)) == []


def test_a_call_of_a_store_is_exported_with_its_settings(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard())
    store = MemoryStore()
    info = CallInfo(call_id="call_1", agent_name="Robin", config={"user_name": "Ann", "recording": True})
    store.write([Change("call_1", info, record.entries)])
    folder = export_call(store, "call_1", tmp_path / "calls" / "hello")
    assert json.loads((folder / "case.json").read_text())["about"].startswith("Exported from the call call_1.")
    assert read_case(folder).config == {"user_name": "Ann"}
    assert words(played(folder)) == words(record)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    record = happened(Type("Hello"), WaitUntilHeard())
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(CaseError, match=r"the folder is not empty\. Name a new one\."):
        export_case(record, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    assert export_case(record, tmp_path / "empty") == tmp_path / "empty"


def test_a_call_in_which_nobody_said_anything_gives_no_case(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="this call contains no speech or text"):
        export_case(happened(Silence(500)), tmp_path / "case")
    assert not (tmp_path / "case").exists()
