"""The commands replay, export, report and record: what they print, and how they fail.

In this process, since most of a command's time goes into starting one; one replay and one recording are started.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from realtime.cli import main
from realtime.commands.serve import FACTORY, app_of_environment
from realtime.server.plan import PLAN, Plan
from realtime.server.settings import ServerSettings
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
from realtime.testing import Case, Person, StandIn, Type, WaitUntilHeard, load_case
from realtime.testing.cases.case import write_case
from realtime.testing.cases.stand_in import Say
from realtime.testing.replay import replay
from tests.server.harness import serving_app
from tests.tables import rows

ROOT = Path(__file__).resolve().parent.parent
QUESTION = ROOT / "fixtures" / "audio" / "what_time.wav"
AGENT = """
from realtime import RealtimeAgent, ScriptedModel
from realtime.model.scripted import echo_bot

def make_agent():
    return RealtimeAgent("Robin", "", ScriptedModel(echo_bot("The agent's own.")))
"""


Says = Callable[..., tuple[object, str, str]]
"""Runs the command of these words: its exit code, stdout and stderr."""


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Says:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(*words: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["realtime", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with an agent, the case `hello` and a store with the call `call_1`."""
    (tmp_path / "app.py").write_text(AGENT)
    made = Case(
        users=(Person((Type("Hello"), WaitUntilHeard())),), models={"*": StandIn(answers=(Say("The case's."),))}
    )
    write_case(tmp_path / "hello", made)
    store = open_store(f"sqlite:{tmp_path / 'calls.sqlite'}")
    store.write([Change("call_1", CallInfo(call_id="call_1"), replay(tmp_path / "hello").entries)])
    store.close()
    return tmp_path


def test_replay_prints_the_events_of_a_case_as_lines_of_json(folder: Path, says: Says) -> None:
    code, printed, complaints = says("replay", "hello")
    assert (code, complaints) == (0, "")
    started = subprocess.run(
        [sys.executable, "-m", "realtime", "replay", "hello"], check=True, capture_output=True, text=True
    )
    assert (started.stdout, started.stderr) == (printed, ""), "the same bytes each time"
    events = [json.loads(line) for line in printed.splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("server_session_created", "server_session_ended")
    said = [event["transcript"] for event in events if event["type"] == "agent_response_audio_transcript_done"]
    assert said == ["The case's."]


def test_replay_takes_an_agent_and_a_model(folder: Path, says: Says) -> None:
    with_agent = ("replay", "hello", "--agent", "app.py:make_agent")
    for words, said in (((), "The case's."), (("--model", "scripted"), "I heard you.")):
        code, printed, _ = says(*with_agent, *words)
        assert (code, said in printed) == (0, True)


def test_replay_of_a_recording_speaks_to_the_embedded_model(folder: Path, says: Says) -> None:
    pytest.importorskip("hibari", reason="the embedded model is not installed")
    code, printed, _ = says("replay", str(QUESTION))
    assert code == 0
    events = [json.loads(line) for line in printed.splitlines()]
    heard = [event["transcript"] for event in events if event["type"] == "agent_input_transcription_done"]
    assert heard == ["What time is it?"]


def test_export_makes_a_case_and_prints_its_test(folder: Path, says: Says) -> None:
    code, printed, _ = says("export", "call_1", "cases/the-call", "--store", "sqlite:calls.sqlite")
    assert code == 0
    assert "async def test_the_call(voice_call):" in printed
    assert 'await voice_call("cases/the-call", agent=make_agent)' in printed
    assert load_case(folder / "cases" / "the-call")[0].expect.user_said == ("Hello",)
    assert says("replay", "cases/the-call")[0] == 0


def test_export_writes_the_messages_for_another_project(folder: Path, says: Says) -> None:
    where = ("--store", "sqlite:calls.sqlite")
    code, printed, _ = says("export", "call_1", *where, "--format", "java1")
    assert code == 0
    assert [(one["role"], one["content"][0]["text"]) for one in json.loads(printed)] == [
        ("USER", "Hello"),
        ("ASSISTANT", "The case's."),
    ]
    assert says("export", "call_1", "thread.json", *where, "--format", "java1") == (0, "", "")
    assert json.loads((folder / "thread.json").read_text(encoding="utf-8")) == json.loads(printed)
    code, _, told = says("export", "call_1", *where, "--format", "java3")
    assert (code, told.startswith("a format is one of ")) == (1, True)
    assert says("export", "call_9", *where, "--format", "java1") == (1, "", "there is no call call_9\n")
    assert says("export", "call_1", *where)[0] == 1


def test_a_recording_of_another_program_becomes_a_cassette_and_its_test_is_printed(tmp_path: Path, says: Says) -> None:
    frames = [{"setup": {"model": "models/gemini-live"}}, {"setupComplete": {}}]
    (tmp_path / "session.jsonl").write_text("\n".join(map(json.dumps, frames)))
    code, printed, _ = says("import-cassette", "session.jsonl", "cassettes/the-call")
    assert code == 0
    assert "async def test_the_call(voice_call, recorded_model):" in printed
    assert (tmp_path / "cassettes" / "the-call" / "cassette.jsonl").is_file()
    code, _, told = says("import-cassette", "session.jsonl", "cassettes/the-call")
    assert (code, told) == (1, "cassettes/the-call: there is a cassette already. Name a new folder.\n")


def test_report_draws_a_kept_call_a_case_and_the_folder_of_a_call(folder: Path, says: Says) -> None:
    store = open_store(f"file:{folder / 'calls'}")
    store.write([Change("call_2", CallInfo(call_id="call_2"), replay(folder / "hello").entries)])
    store.close()
    (log,) = (folder / "calls").rglob("events.jsonl")
    for source in (("call_1", "--store", "sqlite:calls.sqlite"), ("hello",), (str(log.parent),)):
        assert says("report", *source, "--to", "out.html") == (0, "out.html\n", "")
        drawn = (folder / "out.html").read_text(encoding="utf-8")
        assert "<!doctype html>" in drawn.lower()
        assert "The case" in drawn
        (folder / "out.html").unlink()


def test_report_draws_a_case_that_fails_with_its_failure_and_exit_code_1(folder: Path, says: Says) -> None:
    (folder / "waits").mkdir()
    steps = [{"do": "type", "text": "Hello"}, {"do": "wait_for", "event": "agent_error", "timeout_ms": 9_000}]
    waits = {"users": [{"steps": steps}], "models": {"*": {"answers": [{"do": "say", "text": "The case's."}]}}}
    (folder / "waits" / "case.json").write_text(json.dumps(waits))
    code, printed, complaints = says("report", "waits", "--to", "out.html")
    assert (code, printed) == (1, "out.html\n")
    assert "step 2 of user (wait_for), at 9000 ms" in complaints
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "step 2 of user (wait_for), at 9000 ms" in page
    assert "The case" in page
    assert "client_text_append" in page, "the frames on the wire"


@pytest.mark.parametrize("command", [("export", "call_1", "made"), ("report", "call_1", "--to", "out.html")])
def test_a_store_or_recordings_that_are_not_there_are_one_sentence_and_nothing_is_made(
    folder: Path, says: Says, command: tuple[str, ...]
) -> None:
    (folder / "empty").mkdir()
    before = {path.name for path in folder.iterdir()}
    code, _, complaints = says(*command, "--store", "sqlite:typo.sqlite")
    missing = "there is no store sqlite:typo.sqlite: name the --store that the server was given\n"
    assert (code, complaints) == (1, missing)
    for recordings in ("typo", "empty"):
        code, _, complaints = says(*command, "--store", "sqlite:calls.sqlite", "--recordings", recordings)
        assert (code, f"no recording of the call 'call_1' in {recordings}:" in complaints) == (1, True)
    assert {path.name for path in folder.iterdir()} - {"calls.sqlite-wal", "calls.sqlite-shm"} == before


def test_a_port_that_is_taken_is_one_sentence(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, complaints = says("record", "--provider", "openai", "--to", "tapes", "--port", port)
    assert code == 1
    assert port in complaints
    assert "Traceback" not in complaints


@pytest.mark.parametrize(("line", "sentence"), rows("mistakes.tsv", "mistake"))
def test_a_mistake_is_one_sentence_and_exit_code_1(folder: Path, says: Says, line: str, sentence: str) -> None:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "broken").mkdir()
    (folder / "broken" / "case.json").write_text('{\n"users": [}\n')
    (folder / "waits").mkdir()
    waits = {"users": [{"steps": [{"do": "wait_for", "event": "agent_error", "timeout_ms": 100}]}]}
    (folder / "waits" / "case.json").write_text(json.dumps(waits | {"models": {"*": {}}}))
    code, printed, complaints = says(*shlex.split(line))
    assert code == 1
    assert sentence in complaints.replace(os.sep, "/")
    assert "{" not in printed


@pytest.mark.skipif(sys.platform == "win32", reason="a console cannot be sent Ctrl+C there")
def test_record_tells_its_address_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    # A test run in the background ignores Ctrl+C, and so would what it starts.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "realtime", "record", "--provider", "openai", "--to", "tapes", "--port", "0"],
        cwd=tmp_path,
        env=dict(os.environ, PYTHONUNBUFFERED="1", NO_COLOR="1", OPENAI_API_KEY="not-a-key"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    signal.signal(signal.SIGINT, ours)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert re.fullmatch(r"ws://127\.0\.0\.1:\d+\n", lines[1])
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
        assert "Traceback" not in rest
    finally:
        process.kill()
        process.communicate()


async def test_a_reloaded_server_makes_cases_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{app_of_environment.__module__}:{app_of_environment.__name__}" == FACTORY
    monkeypatch.setenv(PLAN, "")
    Plan(target=f"{folder / 'app.py'}:make_agent", settings=ServerSettings(cases_to="cases")).put_into_environment()
    async with serving_app(app_of_environment()) as place:
        assert (await place.get("/api/calls/call_1/case?user=ann")).json()["code"] == "unknown_call"
        async with place.client() as client:
            created = await client.make_call()
            told = await place.get(f"/api/calls/{created['call_id']}?user=user1")
            assert told.json()["case"] == "save"
