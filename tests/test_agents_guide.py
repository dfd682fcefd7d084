"""The code of docs/agents.md runs as it is printed, against a scripted chat endpoint and the embedded model."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import ClientEvents
from realtime.event import server as s
from realtime.model.chat import OpenAIChatModel
from realtime.model.chat.families import FAMILIES
from realtime.model.local import LocalRealtimeModel
from realtime.model.local import model as local_model
from realtime.model.local.engine import SpeechEngine
from realtime.room import ChatRoom
from tests.model.chat.scripts import PROVIDERS, Call, Script
from tests.model.local.chat_endpoint import PATIENCE_S, ChatEndpoint, Hold, chat_endpoint
from tests.model.local.stand_ins import stand_in_parts

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
THINKING = [
    "An agent in 15 lines",
    "Hooks of a thinking agent",
    "An agent that reasons and acts",
    "Structured output",
    "Memory and compression",
    "State and sessions",
    "Chat models",
]
TALKING = ["With the embedded voice", "In a room"]
OPENAI = PROVIDERS["openai"]
SUMMARY = {
    "task_overview": "Ann likes long novels.",
    "current_state": "-",
    "important_discoveries": "-",
    "next_steps": "-",
    "context_to_preserve": "-",
}


def section(heading: str) -> str:
    """The part of the guide under a heading of the second level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def blocks_of(heading: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", section(heading), re.M | re.S)


async def run(headings: list[str], names: dict[str, Any]) -> None:
    """Execute the blocks of these sections, one after the other."""
    for heading in headings:
        for number, block in enumerate(blocks_of(heading)):
            code = compile(block, f"{heading}, block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            made = eval(code, names)
            if inspect.isawaitable(made):
                await made


@pytest.fixture
async def endpoint(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatEndpoint]:
    """OpenAI, here on loopback; the connections that its SDK keeps are closed at the end."""
    made: list[OpenAIChatModel] = []
    make = OpenAIChatModel.__init__

    def noted(self: OpenAIChatModel, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        made.append(self)

    async with chat_endpoint() as service:
        monkeypatch.setattr(OpenAIChatModel, "__init__", noted)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", service.base_url)
        yield service
        for model in made:
            await model.client.close()


def answers(endpoint: ChatEndpoint) -> None:
    """What the chat model says to the guide, in order."""
    order = json.dumps({"title": "Emma", "copies": 2})
    asked = (
        Call("call_1", "order_status", ('{"order_id": 7}',)),
        Call("call_2", "opening_hours", ('{"day": "Sunday"}',)),
    )
    for script in (
        Script(words=("Let me see.",), calls=asked),
        Script(words=("It is on its way. ", "We are closed then.")),
    ):
        endpoint.will(*OPENAI.frames(script))
    endpoint.will(*OPENAI.frames(Script(words=("We have Emma, ",), is_cut=True)), Hold())
    for script in (
        Script(words=("Two copies of Emma.",), calls=(Call("call_3", "generate_response", (order,)),)),
        Script(words=(json.dumps(SUMMARY),)),
        Script(words=("Middlemarch.",)),
    ):
        endpoint.will(*OPENAI.frames(script))


async def test_the_code_on_thinking_agents_runs(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answers(endpoint)
    names: dict[str, Any] = {"__name__": "guide"}
    await run(THINKING, names)
    assert len(endpoint.asked) == 6
    async with asyncio.timeout(PATIENCE_S):
        await endpoint.asked[2].left.wait()
    assert (tmp_path / "sessions" / "ann.json").exists()
    assert "We are closed then." in capsys.readouterr().out


def test_the_first_agent_has_15_lines() -> None:
    (block,) = blocks_of("An agent in 15 lines")
    assert len([line for line in block.splitlines() if line]) == 15


@pytest.fixture
async def talking(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[dict[str, Any]]:
    """The names of the guide up to the room; the embedded model has stand-ins of its speech parts."""
    monkeypatch.chdir(tmp_path)
    engine = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "shared_engine", lambda whisper_dir: engine)
    answers(endpoint)
    names: dict[str, Any] = {"__name__": "guide"}
    await run([*THINKING, *TALKING], names)
    endpoint.asked.clear()
    yield names
    engine.close()


async def said_by(call: RealtimeAgent | ChatRoom, text: str) -> tuple[str, str]:
    """Type something; the name of the agent that answers, and what it says aloud."""
    out: asyncio.Queue[Any] = asyncio.Queue()
    await call.start(out)
    await call.handle_input(ClientEvents.ClientTextAppendEvent(session_id="s", text=text))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not isinstance(event := await out.get(), s.AgentResponseAudioTranscriptDoneEvent):
                pass
    finally:
        await call.stop()
    return event.agent_name, event.transcript


async def test_the_voice_of_the_guide_uses_its_tools_and_speaks(
    talking: dict[str, Any], endpoint: ChatEndpoint
) -> None:
    endpoint.will(*OPENAI.frames(Script(calls=(Call("call_1", "order_status", ('{"order_id": 7}',)),))))
    endpoint.will(*OPENAI.frames(Script(words=("It is on its way.",))))
    assert await said_by(talking["make_voice"](), "Where is order 7?") == ("Friday", "It is on its way.")
    assert "Order 7 is on its way." in json.dumps(endpoint.asked[1].body)


async def test_each_call_may_have_an_agent_of_its_own(talking: dict[str, Any], endpoint: ChatEndpoint) -> None:
    model = LocalRealtimeModel(language_model=talking["make_friday"])
    for words in ("Hello, Ann.", "Hello, Ben."):
        endpoint.will(*OPENAI.frames(Script(words=(words,))))
        assert await said_by(RealtimeAgent("Friday", "", model), "Hello!") == ("Friday", words)
    assert [len(asked.said) for asked in endpoint.asked] == [2, 2]


async def test_in_the_room_of_the_guide_one_talks_and_one_answers_by_name(
    talking: dict[str, Any], endpoint: ChatEndpoint
) -> None:
    endpoint.will(*OPENAI.frames(Script(words=("Good morning.",))))
    assert await said_by(talking["office"](), "Good morning!") == ("Friday", "Good morning.")
    endpoint.will(*OPENAI.frames(Script(words=("Here I am.",))))
    assert await said_by(talking["office"](), "Saturday, are you there?") == ("Saturday", "Here I am.")


def test_every_family_is_in_the_table() -> None:
    rows = [line for line in section("Chat models").splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(FAMILIES)
    for family, row in zip(FAMILIES.values(), rows, strict=True):
        for name in (
            family.model().__name__,
            family.formatter().__name__,
            f"{family.name}:NAME",
            *family.key_variables,
        ):
            assert f"`{name}`" in row


def test_the_code_of_every_section_is_run_by_a_test() -> None:
    """By this one, or by one that names its heading."""
    others = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*guide.py") if path != Path(__file__)]
    headings = [heading for heading in re.findall(r"^## (.*)$", GUIDE, re.M) if blocks_of(heading)]
    for heading in headings:
        assert heading in [*THINKING, *TALKING] or any(heading in text for text in others)
