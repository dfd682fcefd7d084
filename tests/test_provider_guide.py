"""docs/add-a-provider.md, run as it is printed: its tests pass, its agent can be served, its provider is conformant."""

import asyncio
import importlib
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import serve

from realtime.event import ModelEvents
from realtime.event.base import AudioFormat
from realtime.model.base import ItemCreate, ResponseCreate
from realtime.model.services import SERVICES
from realtime.server.load import load_make_agent
from realtime.testing import clock
from realtime.testing.cassettes.record import RecordingModel
from realtime.testing.cassettes.replay import recorded_model
from tests.guides import ROOT, blocks, page
from tests.model.grammar import check_grammar
from tests.model.providers import OPENAI, Talk
from tests.testing.cassettes import run as run_session
from tests.testing.cassettes import text, timeless

GUIDE = page("add-a-provider.md") + "\n" + page("provider-without-ids.md")
BLOCKS = {block.partition("\n")[0].removeprefix("# "): block for block in blocks(GUIDE)}
WITH_TOY = """
from realtime.model.services import SERVICES
from tests.model import providers
from toy import SERVICE, logger
from toy_fake import ToyFake

SERVICES["toy"] = SERVICE
logger.setLevel("DEBUG")  # the tests ask it of `realtime`, where the provider is not yet
providers.FAKES = (*providers.FAKES, ToyFake())
"""
"""A plugin of pytest that registers the guide's provider, as step 6 does in the project."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with all files of the guide."""
    for name, block in BLOCKS.items():
        (tmp_path / name).write_text(block, encoding="utf-8")
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    """The exit code and the output of a Python module run in the folder."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(project)))},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_tests_of_the_guide_pass(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n", encoding="utf-8")
    printed = sum(block.count("\ndef test_") for block in BLOCKS.values())
    code, said = run(project, "pytest", "-q")
    assert (code, f"{printed} passed" in said) == (0, True), said


@pytest.mark.night
def test_its_fake_passes_what_holds_for_every_provider(project: Path) -> None:
    (project / "with_toy.py").write_text(WITH_TOY, encoding="utf-8")
    checks = [str(ROOT / "tests" / "model" / name) for name in ("test_any_provider.py", "test_bad_providers.py")]
    options = ["-p", "with_toy", "-p", "no:cacheprovider", "-n", "0"]
    options += ["--rootdir", str(ROOT), "-c", f"{ROOT}/pyproject.toml"]
    code, said = run(project, "pytest", "-q", *options, "-k", "toy", *checks)
    assert (code, " passed" in said) == (0, True), said


def test_the_agent_of_the_guide_is_one_that_can_be_served(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(project)
    agent = load_make_agent(f"{project / 'agent.py'}:make_agent")()
    assert (agent.name, agent.model.profile.provider) == ("Polly", "toy")
    assert sorted(agent.model.support_input_modalities) == ["audio", "text"]


@pytest.fixture
def modules(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The guide's modules, importable in this process, with its provider registered."""
    monkeypatch.syspath_prepend(project)
    names = ("toy", "service", "turns")
    for name in names:
        sys.modules.pop(name, None)
    found = {name: importlib.import_module(name) for name in names}
    monkeypatch.setitem(SERVICES, "toy", found["toy"].SERVICE)
    yield found
    for name in names:
        del sys.modules[name]


def test_a_session_of_its_model_is_recorded_and_replayed(modules: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "cassette"

    async def ask(made: Talk) -> None:
        made.connection.send(ItemCreate(text("item_1", "Hello")))
        made.connection.send(ResponseCreate())
        await made.until(ModelEvents.ModelResponseDoneEvent)

    async def record() -> list[Any]:
        async with serve(modules["service"].session, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            model = modules["toy"].ToyModel(api_key="a-key", base_url=f"http://127.0.0.1:{port}/")
            return await run_session(OPENAI, RecordingModel(model, folder), ask)

    recorded = asyncio.run(record())
    model = recorded_model(folder)
    assert timeless(clock.run(run_session(OPENAI, model, ask))) == timeless(recorded)
    model.check()


def test_its_ids_for_a_protocol_without_them_keep_the_order_of_events(modules: dict[str, Any]) -> None:
    count = itertools.count(1)
    turns = modules["turns"].Turns(lambda prefix: f"{prefix}_{next(count)}", AudioFormat.pcm16(24_000))
    events = [*turns.requested(), *turns.requested(), *turns.spoke("Hi", bytes(48_000)), *turns.spoke(" there", b"")]
    events += [*turns.ended(), *turns.ended(), *turns.requested(), *turns.cancelled("client_cancelled")]
    check_grammar(events, output_rate_hz=24_000)
    done = [event for event in events if isinstance(event, ModelEvents.ModelResponseDoneEvent)]
    assert [event.status for event in done] == ["cancelled", "completed", "cancelled"]


def test_every_printed_file_is_named_and_every_command_runs_one() -> None:
    run_by = {name for command in blocks(GUIDE, "sh") for name in re.findall(r"\w+\.py", command)}
    assert run_by == {"service.py", "agent.py", "test_codec.py", "test_call.py"}
    assert set(BLOCKS) == run_by | {"toy.py", "toy_fake.py", "turns.py"}
