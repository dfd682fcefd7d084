"""What `play` does with a case: whose model, whose tools, which settings, what it notes, and how it fails."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from realtime import testing as kit
from realtime.agent import RealtimeAgent
from realtime.event import server as s
from realtime.model.base import Address, RealtimeModel
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.script import Speak, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.model.wire import Link, Receiver, WireLimits
from realtime.server.settings import ServerSettings
from realtime.testing.cases.case import write_case
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.stand_in import Call, Say
from realtime.testing.cases.stand_in import Hear as HearTurn
from realtime.testing.cases.tools import Tools
from realtime.testing.cassettes.format import FrameLine, read_cassette
from realtime.testing.cassettes.replay import CassetteDrift, Replay, Rules, recorded_model
from realtime.testing.client import steps as t
from realtime.tool import Toolkit

ROOT = Path(__file__).resolve().parents[2]
AUDIO = ROOT / "fixtures" / "audio"
ASK: tuple[t.Step, ...] = (kit.Type("Where is my order?"), kit.WaitUntilHeard())
STAND_IN = kit.StandIn(answers=(Say("The stand-in."),))


def speaking(text: str) -> RealtimeModel:
    """A model that always says this."""

    def react(message: object) -> list[Step]:
        return [Speak(text, 0.5)] if type(message).__name__ == "ResponseCreate" else []

    return ScriptedModel(react)


def an_agent() -> RealtimeAgent:
    return RealtimeAgent("Robin", "", speaking("The agent's own."))


def case_of(*steps: t.Step, models: dict[str, kit.StandIn] | None = None, **more: object) -> kit.Case:
    return kit.Case(users=(kit.Person(steps or ASK),), name="asked", models=models or {}, **more)  # type: ignore[arg-type]


def run(source: object, **options: object) -> kit.Run:
    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner:
        return runner.run(kit.voice_call(source, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("models", "options", "said"),
    [
        ({"*": STAND_IN}, {"agent": an_agent}, "The stand-in."),
        ({"Robin": STAND_IN}, {"agent": an_agent}, "The stand-in."),
        ({}, {"agent": an_agent}, "The agent's own."),
        ({"*": STAND_IN}, {"agent": an_agent, "model": "own"}, "The agent's own."),
        ({"*": STAND_IN}, {"agent": an_agent, "model": speaking("The given.")}, "The given."),
        ({"*": STAND_IN}, {}, "The stand-in."),
        ({}, {"model": speaking("The given.")}, "The given."),
    ],
    ids=["any", "by name", "none", "own", "given", "no agent", "no agent, given"],
)
def test_the_model_is_the_given_one_else_that_of_the_case_else_the_agent_s(
    models: dict[str, kit.StandIn], options: dict[str, object], said: str
) -> None:
    run(case_of(models=models), **options).agent_said(said)


def test_a_case_that_does_not_fit_the_agent_is_told_with_its_remedy() -> None:
    missing = kit.StandIn(answers=(Say("Nine.", audio="gone.flac"),))
    wrong: dict[str, object] = {
        r"there is no model for the agent 'Robin'\. Name it so, or \*: .* Anna": case_of(models={"Anna": STAND_IN}),
        r"gone\.flac: there is no such file\. Name one that exists": case_of(models={"*": missing}),
        # No real tool runs.
        r"tools\.cloak: there is no call of a tool 'cloak'": case_of(
            models={"*": STAND_IN}, tools={"cloak": (kit.Returned("nine"),)}
        ),
    }
    for told, case in wrong.items():
        with pytest.raises(kit.CaseError, match=told):
            run(case, agent=an_agent)
    with pytest.raises(kit.CaseError, match=r"case\.json, models: there is no model\. Give an agent, or models"):
        run(list(ASK))


def test_what_the_agent_s_own_function_raises_is_told_to_the_test_and_by_the_step_that_needs_the_agent() -> None:
    def broken() -> RealtimeAgent:
        raise KeyError("OFFICE")

    with pytest.raises(kit.ScriptFailure, match="agent_failed") as failed:
        run(case_of(), agent=broken)
    assert isinstance(failed.value.__cause__, KeyError)


@pytest.mark.parametrize("whose", ["given", "the agent's own"])
def test_a_cassette_that_is_not_followed_to_its_end_fails(whose: str) -> None:
    model = recorded_model(ROOT / "fixtures" / "cassettes" / "openai")
    options: dict[str, object] = {"agent": an_agent, "model": model}
    if whose != "given":
        options = {"agent": lambda: RealtimeAgent("Robin", "", model)}
    with pytest.raises(CassetteDrift) as drifted:
        run([kit.Silence(200)], **options)
    assert isinstance(drifted.value.record, kit.CallRecord)


def agent_with_a_tool(ran: list[str]) -> Callable[[], RealtimeAgent]:
    def lookup_order(id: str) -> str:
        """Look up an order."""
        ran.append(id)
        return f"{id} really"

    def tell_time() -> str:
        """Tell the time."""
        return ""

    return lambda: RealtimeAgent("Robin", "", speaking(""), toolkit=Toolkit([lookup_order, tell_time]))


LOOKUP = Call(tools=(ToolUse("lookup_order", {"id": "A-17"}),))
LOOKED_UP = {"*": kit.StandIn(answers=(LOOKUP, Say("It is on its way.")))}


@pytest.mark.parametrize(
    ("tools", "output", "ran"),
    [
        ("recorded", "from the case", []),
        ("run", "A-17 really", ["A-17"]),
        ({"lookup_order": lambda id: f"{id} by a stub"}, "A-17 by a stub", []),
        ({"tell_time": lambda: ""}, "from the case", []),
    ],
    ids=["recorded", "run", "stub", "stub of another"],
)
def test_a_tool_is_answered_by_the_case_run_or_stubbed(tools: Tools, output: str, ran: list[str]) -> None:
    really: list[str] = []
    case = case_of(models=LOOKED_UP, tools={"lookup_order": (kit.Returned("from the case", after_ms=700),)})
    called = run(case, agent=agent_with_a_tool(really), tools=tools).tool_called("lookup_order", id="A-17").once()
    assert (called.calls[0].output, really) == (output, ran)


def test_a_recorded_tool_takes_as_long_as_it_took_and_one_of_which_the_case_holds_nothing_runs() -> None:
    case = case_of(models=LOOKED_UP, tools={"lookup_order": (kit.Returned({"state": "sent"}, after_ms=700),)})
    calls = run(case, agent=agent_with_a_tool([])).tool_called("lookup_order").answered(within_ms=700).calls
    assert calls[0].answered_ms is not None
    assert calls[0].answered_ms - calls[0].asked_ms == 700
    assert json.loads(calls[0].output) == {"state": "sent"}
    really: list[str] = []
    run(case_of(models=LOOKED_UP), agent=agent_with_a_tool(really)).tool_called("lookup_order").answered()
    assert really == ["A-17"]


def test_a_call_for_which_no_result_is_left_fails_the_run_with_the_remedies() -> None:
    case = case_of(models=LOOKED_UP, tools={"lookup_order": (kit.Returned("x", arguments={"id": "B-2"}),)})
    told = r"case\.json, tools\.lookup_order: .* no result left for lookup_order\(.*A-17.*\)\. Add one, give a function"
    with pytest.raises(kit.CaseError, match=told) as failed:
        run(case, agent=agent_with_a_tool([]))
    assert failed.value.record is not None
    told = r"tools: the agent has no tool 'look_up_order'\. It has: lookup_order, tell_time\."
    with pytest.raises(kit.CaseError, match=told):
        run(case_of(models=LOOKED_UP), agent=agent_with_a_tool([]), tools={"look_up_order": lambda id: id})


def agent_of_a_cassette(folder: Path, ran: list[str], *, owns: bool) -> Callable[[], RealtimeAgent]:
    """An agent with the tool that is called in the fixtures' cassettes; `owns`: the cassette is its own model."""

    def get_time(city: str = "") -> str:
        """The time."""
        ran.append(city)
        return "ten"

    model = recorded_model(folder, strict=False, patience_s=1.0) if owns else speaking("")
    return lambda: RealtimeAgent("Robin", "", model, toolkit=Toolkit([get_time]))


@pytest.mark.parametrize("provider", ["openai", "gemini", "dashscope"])
@pytest.mark.parametrize("owns", [True, False], ids=["own", "given"])
def test_the_tools_of_a_cassette_return_what_they_returned(provider: str, owns: bool) -> None:
    folder = ROOT / "fixtures" / "cassettes" / provider
    for tools, output, times in (
        ("recorded", "nine", 0),
        ("run", "ten", 1),
        ({"get_time": lambda city: "stubbed"}, "stubbed", 0),
    ):
        ran: list[str] = []
        given = {} if owns else {"model": recorded_model(folder, strict=False, patience_s=1.0)}
        agent = agent_of_a_cassette(folder, ran, owns=owns)
        called = run([kit.Silence(5_000), *ASK, kit.Silence(5_000)], agent=agent, tools=tools, **given).tool_called(
            "get_time"
        )
        assert (called.calls[0].output, len(ran)) == (output, times)


def test_settings_are_added_to_those_of_the_case() -> None:
    known: list[tuple[str | None, str | None]] = []

    def make_agent(config: object) -> RealtimeAgent:
        known.append((config.user_name, config.voice))  # type: ignore[attr-defined]
        return an_agent()

    run(case_of(config={"user_name": "Ann", "voice": "low"}), agent=make_agent, config={"user_name": "Bob"})
    assert known == [("Bob", "low")]


def test_audio_files_are_found_in_the_folder_of_the_case_or_the_one_that_is_given(tmp_path: Path) -> None:
    stand_in = kit.StandIn(turns="detector", hears=(HearTurn("What time is it?"),), answers=(Say("Nine."),))
    case = case_of(t.Speak("what_time.wav"), kit.WaitUntilHeard(), models={"*": stand_in})
    run(case, folder=AUDIO).user_said("What time is it?").agent_said("Nine")
    write_case(tmp_path / "asked", case)
    with pytest.raises(kit.CaseError, match=r"what_time\.wav"):
        run(tmp_path / "asked")
    assert run(tmp_path / "asked", folder=AUDIO).agent_said("Nine").record.folder == AUDIO


def test_the_seed_of_a_case_decides_the_noise_of_its_recordings() -> None:
    def voice(seed: int) -> bytes:
        spoken = t.Speak("what_time.wav", noise="white", snr_db=5)
        record = run(case_of(spoken, models={"*": kit.StandIn(turns="none")}, seed=seed), folder=AUDIO).record
        (part,) = record.spoken
        begin, end = (round(ms * 16) * 2 for ms in (part.from_ms, part.to_ms))
        return record.lanes[0].pcm[begin:end]

    assert voice(1) == voice(1)
    assert voice(1) != voice(2)


@pytest.mark.parametrize(("aligned", "heard_ms"), [(True, 1_000), (False, 320)])
def test_a_word_is_heard_where_the_model_lays_it_along_its_sound(aligned: bool, heard_ms: float) -> None:
    """`Yes!` takes the first second of two where words come right before their sound, else its share of the letters."""

    def react(message: object) -> list[Step]:
        return [Speak("Yes! internationalisation", 2.0, 1_000)] if type(message).__name__ == "ResponseCreate" else []

    model = ScriptedModel(react, profile=msgspec.structs.replace(PROFILE, aligns_transcript=aligned))
    steps = (kit.Type("Is it long?"), kit.BargeIn(t.Speak("barge_in.wav"), at_word="Yes"), kit.Silence(500))
    record = run(case_of(*steps), agent=lambda: RealtimeAgent("Robin", "", model), folder=AUDIO).record
    assert record.spoken[0].from_ms - record.played[0].from_ms == pytest.approx(heard_ms, abs=60)


def test_the_frames_on_the_wire_are_noted_without_sound_and_without_tokens() -> None:
    case = kit.Case(
        users=(kit.Person((kit.Silence(400), *ASK, t.Drop(200), *ASK), client="json"),),
        models={"*": kit.StandIn(otherwise=Say("Here."))},
    )
    record = run(case).record
    assert {(frame.leg, frame.direction) for frame in record.frames} == {("client", "sent"), ("client", "received")}
    times = [frame.ts_ms for frame in record.frames]
    assert times == sorted(times)
    texts = [json.loads(frame.text) for frame in record.frames]
    tokens = [value for text in texts for name, value in text.items() if name in ("token", "resume_token") and value]
    assert {"<scrubbed>"} == {*tokens}
    kinds = [text.get("type", "binary") for text in texts]
    assert {"client_session_resume", "client_audio_append", "agent_response_audio_delta"} <= {*kinds}
    assert max(len(frame.text) for frame in record.frames) < 2_000


LIVE: dict[str, type[OpenAIRealtimeModel | GeminiRealtimeModel | DashScopeRealtimeModel]] = {
    "openai": OpenAIRealtimeModel,
    "gemini": GeminiRealtimeModel,
    "dashscope": DashScopeRealtimeModel,
}
SECRET = "abc-123-not-for-you"


def live(provider: str) -> RealtimeModel:
    """The model of a provider that says what it said in the cassette, and a secret."""
    cassette = read_cassette(ROOT / "fixtures" / "cassettes" / provider)
    lines = [
        msgspec.structs.replace(line, frame={**line.frame, "client_secret": {"value": SECRET}})
        if isinstance(line, FrameLine)
        else line
        for line in cassette.lines
    ]
    cassette = replace(cassette, lines=tuple(lines))

    async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        replay = Replay(cassette, Rules(strict=False, patience_s=1.0))
        return await replay.dial(address, receiver, limits)

    model = LIVE[provider]("live", "sk-test-0123456789abcdef")
    model.dial = dial
    return model


@pytest.mark.parametrize("provider", LIVE)
def test_the_frames_of_a_provider_are_noted_without_sound_and_without_secrets(provider: str) -> None:
    record = run([kit.Silence(2_000), *ASK], agent=lambda: RealtimeAgent("Robin", "", live(provider))).record
    frames = [frame for frame in record.frames if frame.leg == "model"]
    assert {frame.direction for frame in frames} == {"sent", "received"}
    whole = "\n".join(frame.text for frame in frames)
    assert SECRET not in whole
    assert "<scrubbed>" in whole
    told = [json.loads(frame.text) for frame in frames]
    assert all(isinstance(one, dict) and "binary" not in one for one in told)
    assert "characters)" in whole
    assert not re.search(r"[A-Za-z0-9+/]{80}", whole)


def test_a_model_that_is_used_again_is_noted_again_and_left_as_it_was() -> None:
    model: Any = live("openai")
    calls = [run(list(ASK), agent=lambda: RealtimeAgent("Robin", "", model)).record for _ in range(2)]
    counts = [sum(frame.leg == "model" for frame in record.frames) for record in calls]
    assert counts[0] == counts[1] > 0
    assert model.tap is None
    seen: list[str] = []
    model.tap = lambda direction, *_: seen.append(direction)
    record = run(list(ASK), agent=lambda: RealtimeAgent("Robin", "", model)).record
    assert [frame.direction for frame in record.frames if frame.leg == "model"] == seen, "a tap of ones own stays"
    assert run(list(ASK), agent=lambda: RealtimeAgent("Robin", "", model), frames=False).record.frames == ()


def test_the_server_s_settings_may_be_given() -> None:
    settings = ServerSettings(drain_s=0, endpoints=(), token="letmein")
    with pytest.raises(ConnectionRefusedError):
        run(list(ASK), agent=an_agent, settings=settings)


def test_names_of_the_call_and_of_a_script_are_never_the_same() -> None:
    record = run([*ASK, *ASK, *ASK], agent=an_agent).record
    ids = [item.id for item in record.items]
    assert len({*ids}) == len(ids) == 6


def failure_of(source: object, **options: object) -> kit.ScriptFailure:
    with pytest.raises(kit.ScriptFailure) as failed:
        run(source, **options)
    return failed.value


def test_a_step_that_waits_in_vain_names_itself_and_keeps_the_call() -> None:
    in_vain = kit.WaitFor("agent_response_tool_use_done", timeout_ms=5_000)
    failure = failure_of([kit.Type("Hello"), in_vain], agent=an_agent)
    assert str(failure).startswith("step 2 of user (wait_for), at 5000 ms: ")
    assert isinstance(failure.record, kit.CallRecord)
    assert [item.text for item in failure.record.items] == ["Hello", "The agent's own."]
    assert any(isinstance(entry, s.AgentResponseDoneEvent) for entry in failure.record.entries)
    into_silence = kit.BargeIn(t.Speak("barge_in.wav"), after_ms=500, timeout_ms=2_000)
    silent = case_of(kit.Type("Hello"), into_silence, models={"*": kit.StandIn()})
    failure = failure_of(silent, folder=AUDIO)
    assert "step 2 of user (barge_in)" in str(failure)
    assert failure.record is not None


def test_a_case_that_does_not_end_in_its_time_fails() -> None:
    failure = failure_of(case_of(kit.Silence(600_000), models={"*": STAND_IN}, limit_s=30.0))
    assert str(failure) == "the case did not end within 30 s"
    assert failure.record is not None
    assert failure.record.duration_ms <= 30_000


def test_several_users_are_refused_by_name_of_the_file(tmp_path: Path) -> None:
    case = kit.Case(users=(kit.Person(ASK, name="Ann"), kit.Person(ASK, name="Bob")), models={"*": STAND_IN})
    write_case(tmp_path / "two", case)
    with pytest.raises(kit.CaseError) as refused:
        run(tmp_path / "two")
    assert str(refused.value) == f"{tmp_path / 'two' / 'case.json'}, users: a call has one user. Keep one of them."


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (kit.Case(users=(kit.Person(ASK, name="../ann"),)), r"users\[0\].name: '\.\./ann' cannot stand in the address"),
        (kit.Case(users=(kit.Person((t.Speak(),)),)), r"users\[0\].steps\[0\]: nothing to speak"),
        (kit.Case(users=(kit.Person(ASK),), costs={"transcribe": -1.0}), "costs.transcribe: a job cannot cost -1.0 s"),
        (kit.Case(users=(kit.Person(ASK),), config={"voice": 7}), "config: "),
    ],
)
def test_a_case_made_in_python_is_looked_at_as_one_of_a_folder(case: kit.Case, told: str) -> None:
    with pytest.raises(kit.CaseError, match=told):
        run(case, agent=an_agent)


async def test_by_the_wall_clock_the_same_call_is_played() -> None:
    record = await kit.play([kit.Type("Hello"), kit.Silence(50)], agent=an_agent)
    assert record.items[0].text == "Hello"


def test_a_cancelled_call_leaves_nothing_behind() -> None:
    async def cancelled() -> set[asyncio.Task[object]]:
        playing = asyncio.create_task(kit.play([kit.Silence(60_000)], agent=an_agent))
        await asyncio.sleep(1)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        return asyncio.all_tasks() - {asyncio.current_task()}

    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner:
        assert runner.run(cancelled()) == set()
