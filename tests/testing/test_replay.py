"""`replay`: a recording or a case, played into an agent of one's own, a model by name or a cassette."""

import json
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.files import write_flac
from realtime.errors import UsageError
from realtime.event.server import AgentReadyEvent
from realtime.model.scripted import ScriptedModel, echo_bot
from realtime.server.builtin import NAME
from realtime.testing import Case, CaseError, Person, Run, Silence, StandIn, Type, WaitUntilHeard
from realtime.testing.cases.case import write_case
from realtime.testing.cases.stand_in import Say
from realtime.testing.replay import replay

ROOT = Path(__file__).resolve().parents[2]
QUESTION = ROOT / "fixtures" / "audio" / "what_time.wav"
CASSETTES = ROOT / "fixtures" / "cassettes"


def make_agent() -> RealtimeAgent:
    return RealtimeAgent("Robin", "", ScriptedModel(echo_bot("The agent's own.")))


@pytest.fixture
def case(tmp_path: Path) -> Path:
    made = Case(
        users=(Person((Type("Hello"), WaitUntilHeard())),), models={"*": StandIn(answers=(Say("The case's."),))}
    )
    write_case(tmp_path / "hello", made)
    return tmp_path / "hello"


def test_a_recording_is_spoken_to_the_embedded_model_and_its_answer_waited_for() -> None:
    pytest.importorskip("hibari", reason="the embedded model is not installed")
    record = replay(QUESTION, model="local")
    run = Run(record).turns(1).user_said("What time is it?")
    run.response_latency.max_below(ms=2_000)
    assert replay(QUESTION, model="local").log_bytes() == record.log_bytes()


def test_a_model_that_is_named_is_that_of_the_agent_of_the_server(tmp_path: Path) -> None:
    """With its name and its tools; its clock tells the time of the call."""
    pytest.importorskip("hibari", reason="the embedded model is not installed")
    steps = (Type("What time is it?"), WaitUntilHeard(), Type("Set a timer for ninety seconds."), WaitUntilHeard())
    write_case(tmp_path / "asked", Case(users=(Person((*steps, Silence(95_000))),)))
    run = Run(replay(tmp_path / "asked", model="local"))
    run.agent_said("12:00 AM").agent_said("Your timer is up").tool_called("get_time").once()
    assert {entry.agent_name for entry in run.record.entries if isinstance(entry, AgentReadyEvent)} == {NAME}


def test_a_case_runs_with_its_own_model_unless_another_is_named(case: Path) -> None:
    Run(replay(case)).agent_said("The case's")
    Run(replay(case, agent=make_agent)).agent_said("The case's")
    Run(replay(case, agent=make_agent, model="scripted")).agent_did_not_say("The case's").turns(1)


def test_an_audio_file_is_spoken_to_an_agent_of_ones_own(tmp_path: Path) -> None:
    write_flac(tmp_path / "silence.flac", bytes(32_000), 16_000)
    with pytest.raises(AssertionError, match=r"step 2 of user \(wait_until_heard\)"):
        replay(tmp_path / "silence.flac", agent=make_agent)


@pytest.mark.parametrize("provider", ["openai", "gemini", "dashscope"])
def test_a_cassette_stands_in_for_the_model_without_a_key(
    case: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    record = replay(case, model=str(CASSETTES / provider))
    Run(record).turns(1).agent_did_not_say("The case's")
    assert any(item.role == "assistant" or item.tool_call is not None for item in record.items)


def test_by_the_wall_clock_the_same_comes_of_it(case: Path) -> None:
    record = replay(case, real_time=True)
    Run(record).agent_said("The case's")
    assert record.wall_s > 0
    assert json.loads(record.log_bytes().splitlines()[0])["type"] == "server_session_created"


def test_a_folder_that_is_no_cassette_and_a_model_that_is_none_are_named(case: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no cassette\.jsonl in .*: name a cassette's folder, or a model"):
        replay(case, model=str(tmp_path))
    with pytest.raises(UsageError, match="no-such-model"):
        replay(case, model="no-such-model")


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"nothing\.wav: there is no such file or folder"):
        replay(tmp_path / "nothing.wav", agent=make_agent)
