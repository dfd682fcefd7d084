"""docs/testing.md is run as it is printed: the bad call over a real socket, the red test, the fix, the reference."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.cli import command_line
from realtime.model.open import open_model
from realtime.model.services import SERVICES
from realtime.testing import clock, voice_call
from tests.guides import ROOT, blocks, page
from tests.real_loop import moment
from tests.server.harness import Client, audio_append, create
from tests.volumes import HANG_S

GUIDE = page("testing.md")
AUDIO = ROOT / "fixtures" / "audio"
PAUSE_MS = 7_000
"""Where the speaker of `trip_pauses.flac` thinks, for 1 s."""
LONGER_MS = 300
"""So much longer that the end of the turn cannot be undone, however slow this machine is."""
FRAME = 1_280
REFERENCE = ("test_clock.py", "test_models.py", "test_tools.py", "test_own_check.py", "test_time.py")
REFERENCE += ("test_room.py", "test_sweep.py")
SECRETS = {name for service in SERVICES.values() for name in (*service.key_variables, service.base_url_variable)}


def python_file(name: str) -> str:
    return next(block for block in blocks(GUIDE, "python") if block.startswith(f"# {name}\n"))


def command(beginning: str) -> list[str]:
    """The words of the printed command that begins so."""
    lines = [line for block in blocks(GUIDE, "sh") for line in block.splitlines()]
    return shlex.split(next(line for line in lines if line.startswith(beginning)), comments=True)


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in SECRETS and name != "PYTEST_ADDOPTS"}
    return kept | {"PYTHONUNBUFFERED": "1", "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1"} | more


def run(words: list[str], folder: Path, **more: str) -> tuple[int, str]:
    """Exit code and output of a printed command. A project of its own: nothing of ours is in its settings."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    module = {"realtime": "realtime", "pytest": "pytest"}[words[0]]
    done = subprocess.run(
        [sys.executable, "-m", module, *words[1:]],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@asynccontextmanager
async def served(words: list[str], folder: Path) -> AsyncIterator[str]:
    """`realtime serve` on any free port: its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "realtime", *words[1:], "--port", "0"),
        cwd=folder,
        env=environment(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        line = b""
        async with asyncio.timeout(HANG_S):
            while not line.startswith(b"http://"):
                line = await process.stdout.readline()
                assert line, "the server ended"
        yield line.decode().strip()
    finally:
        process.terminate()
        await process.communicate()


async def speak(address: str, pcm: bytes) -> str:
    """Speak in real time over a socket, as a caller who agrees to be recorded; the id of the call."""
    async with connect(f"{address.replace('http', 'ws', 1)}/ws/ann/session1", compression=None) as connection:
        client = Client(connection)
        await client.send(create(recording=True))
        created = await client.until("server_session_created")
        await client.until("agent_ready")
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for number, at in enumerate(range(0, len(pcm), FRAME)):
            await moment(began_s + number * 0.04)
            await client.send(audio_append(pcm[at : at + FRAME]))
        await client.send({"type": "client_session_end"})
        await client.until("server_session_ended")
    call_id: str = created["call_id"]
    return call_id


def hesitating_caller() -> bytes:
    samples, rate_hz = soundfile.read(AUDIO / "trip_pauses.flac", dtype="int16")
    assert rate_hz == 16_000
    silence = np.zeros(16 * LONGER_MS, np.int16)
    after = np.zeros(16 * 3_000, np.int16)
    return np.concatenate([samples[: 16 * PAUSE_MS], silence, samples[16 * PAUSE_MS :], after]).tobytes()


@pytest.mark.night
async def test_a_bad_call_becomes_a_red_test_then_a_green_one(tmp_path: Path) -> None:
    pytest.importorskip("hibari", reason="the embedded model is not installed")
    (tmp_path / "support.py").write_text(python_file("support.py"), encoding="utf-8")
    (tmp_path / "test_support.py").write_text(python_file("test_support.py"), encoding="utf-8")
    async with served(command("realtime serve"), tmp_path) as address:
        call_id = await speak(address, hesitating_caller())
    export = [call_id if word == "CALL" else word for word in command("realtime export")]
    code, said = await asyncio.to_thread(run, export, tmp_path)
    assert code == 0, said
    test = command("pytest test_support.py")
    code, said = await asyncio.to_thread(run, test, tmp_path)
    finding = "CheckFailed: The user had 2 turns, not 1: "
    assert (code, finding in said, finding in GUIDE) == (1, True, True), said
    assert re.search(r">\s+\d+\.\d+ s +user +voice begins, turn 2", said)

    (fix,) = blocks(GUIDE, "diff")
    before, after = (next(line[1:] for line in fix.splitlines() if line.startswith(sign)) for sign in "-+")
    support = python_file("support.py")
    assert support.count(before) == 1
    (tmp_path / "support.py").write_text(support.replace(before, after), encoding="utf-8")
    code, said = await asyncio.to_thread(run, test, tmp_path)
    assert (code, "1 passed" in said) == (0, True), said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with all files of the guide."""
    pytest.importorskip("hibari", reason="the embedded model is not installed")
    for block in blocks(GUIDE, "python"):
        name = block.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(block, encoding="utf-8")
    case = tmp_path / "fixtures" / "calls" / "clock"
    case.mkdir(parents=True)
    (text,) = blocks(GUIDE, "json")
    (case / "case.json").write_text(text, encoding="utf-8")
    copied = re.findall(r"^cp (\S+) (\S+)$", GUIDE, re.MULTILINE)
    assert len(copied) == 2
    for sound, place in copied:
        shutil.copy(ROOT / sound, tmp_path / place)
    return tmp_path


def test_a_recording_of_a_telephone_call_is_spoken_side_by_side(tmp_path: Path) -> None:
    (text,) = [block for block in blocks(GUIDE, "text") if '"channel": 0' in block]
    (tmp_path / "case.json").write_text(text, encoding="utf-8")
    user, rate_hz = soundfile.read(ROOT / "fixtures/audio/what_time.wav")
    agent, _ = soundfile.read(ROOT / "fixtures/audio/barge_in.wav")
    sides = np.zeros((2_400 * rate_hz // 1_000 + len(agent), 2))
    sides[: len(user), 0], sides[-len(agent) :, 1] = user, agent
    soundfile.write(tmp_path / "call.wav", sides, rate_hz)
    run = clock.run(voice_call(tmp_path, agent=lambda: RealtimeAgent("Robin", "", open_model("local"))))
    run.turns(1)
    run.meets_expectations()


def check_reference(project: Path, *names: str) -> None:
    """Run these files of the guide, whose tests all pass."""
    printed = sum(python_file(name).count("async def test_") for name in names)
    code, said = run(["pytest", "-q", *names], project)
    assert (code, f"\n{printed} passed" in said) == (0, True), said


def test_the_first_test_of_the_reference_passes(project: Path) -> None:
    check_reference(project, REFERENCE[0])


@pytest.mark.night
def test_every_test_of_the_reference_passes(project: Path) -> None:
    check_reference(project, *REFERENCE)


@pytest.mark.night
def test_the_printed_report_and_replay_are_made(project: Path) -> None:
    code, said = run(command("pytest --voice-report"), project)
    assert code == 0, said
    assert "test_clock.py::test_the_agent_tells_the_time" in (project / "report.html").read_text(encoding="utf-8")
    code, said = run(command("realtime replay"), project)
    events = [json.loads(line)["type"] for line in said.splitlines()]
    assert (code, events[0], events[-1]) == (0, "server_session_created", "server_session_ended")


@pytest.mark.night
async def test_a_session_is_recorded_once_and_replayed_without_a_provider(project: Path) -> None:
    """The provider is this server's own OpenAI endpoint."""
    async with served(["realtime", "serve", "--model", "scripted", "--store", "none"], project) as address:
        live = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "sk-not-a-key-4711"}
        code, said = await asyncio.to_thread(run, command("pytest --voice-record"), project, **live)
        assert code == 0, said
    cassette = project / "fixtures" / "cassettes" / "hello" / "cassette.jsonl"
    assert "4711" not in cassette.read_text(encoding="utf-8")
    code, said = await asyncio.to_thread(run, command("pytest test_hello.py"), project)
    assert (code, "1 passed" in said) == (0, True), said


def test_every_printed_python_file_is_run() -> None:
    names = {block.partition("\n")[0].removeprefix("# ") for block in blocks(GUIDE, "python")}
    assert len(names) == len(blocks(GUIDE, "python"))
    assert names == {"support.py", "test_support.py", "test_hello.py", *REFERENCE}


def test_every_option_and_command_that_is_named_exists(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    _, pytest_help = run(["pytest", "--help"], tmp_path / "empty")
    for option in set(re.findall(r"--voice-\w+", GUIDE)):
        assert option in pytest_help
    assert "voice_allow" in pytest_help
    for name in ("replay", "export", "report", "record", "serve"):
        told = CliRunner().invoke(command_line([name]), [name, "--help"])
        assert told.exit_code == 0
        row = next((line for line in GUIDE.splitlines() if line.startswith(f"| `realtime {name} ")), "")
        for option in re.findall(r"--[a-z-]+", row):
            assert option in told.output, (name, option)
