"""The code of docs/agents.md runs as it is printed, against a scripted chat endpoint and the embedded model."""

from __future__ import annotations

import asyncio
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
from tests.guides import ROOT, blocks, page, run, section
from tests.model.chat.scripts import PROVIDERS, Call, Script
from tests.model.local.chat_endpoint import ChatEndpoint, Hold, chat_endpoint
from tests.model.local.stand_ins import stand_in_parts
from tests.volumes import HANG_S

GUIDE = page("agents.md")
THINKING = ["An agent in 15 lines", "Hooks of a thinking agent", "An agent that reasons and acts", "Structured output"]
THINKING += ["Memory and compression", "State and sessions", "Chat models"]
TALKING = ["With the embedded voice", "In a room"]
OPENAI = PROVIDERS["openai"]
SUMMARY = {"task_overview": "Ann likes long novels.", "current_state": "-", "important_discoveries": "-"}
SUMMARY |= {"next_steps": "-", "context_to_preserve": "-"}
ORDER = Call("call_1", "order_status", ('{"order_id": 7}',))


def printed(headings: list[str]) -> list[str]:
    """The blocks of these sections."""
    return [block for heading in headings for block in blocks(section(GUIDE, heading))]


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
    hours = Call("call_2", "opening_hours", ('{"day": "Sunday"}',))
    filled = Call("call_3", "generate_response", (json.dumps({"title": "Emma", "copies": 2}),))
    endpoint.will(*OPENAI.frames(Script(words=("Let me see.",), calls=(ORDER, hours))))
    endpoint.will(*OPENAI.frames(Script(words=("It is on its way. ", "We are closed then."))))
    endpoint.will(*OPENAI.frames(Script(words=("We have Emma, ",), is_cut=True)), Hold())
    endpoint.will(*OPENAI.frames(Script(words=("Two copies of Emma.",), calls=(filled,))))
    endpoint.will(*OPENAI.frames(Script(words=(json.dumps(SUMMARY),))))
    endpoint.will(*OPENAI.frames(Script(words=("Middlemarch.",))))


async def said_by(call: RealtimeAgent | ChatRoom, text: str) -> tuple[str, str]:
    """Type something; the name of the agent that answers, and what it says aloud."""
    out: asyncio.Queue[Any] = asyncio.Queue()
    await call.start(out)
    await call.handle_input(ClientEvents.ClientTextAppendEvent(session_id="s", text=text))
    try:
        async with asyncio.timeout(HANG_S):
            while not isinstance(event := await out.get(), s.AgentResponseAudioTranscriptDoneEvent):
                pass
    finally:
        await call.stop()
    return event.agent_name, event.transcript


async def test_the_code_of_the_guide_runs_and_its_agents_talk(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The embedded model has stand-ins of its speech parts."""
    monkeypatch.chdir(tmp_path)
    answers(endpoint)
    guide = await run(printed(THINKING))
    assert len(endpoint.asked) == 6
    async with asyncio.timeout(HANG_S):
        await endpoint.asked[2].left.wait()
    assert (tmp_path / "sessions" / "ann.json").exists()
    assert "We are closed then." in capsys.readouterr().out

    engine = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: engine)
    await run(printed(TALKING), guide)
    endpoint.asked.clear()
    endpoint.will(*OPENAI.frames(Script(calls=(ORDER,))))
    endpoint.will(*OPENAI.frames(Script(words=("It is on its way.",))))
    assert await said_by(guide["make_voice"](), "Where is order 7?") == ("Friday", "It is on its way.")
    assert "Order 7 is on its way." in json.dumps(endpoint.asked[1].body)

    endpoint.will(*OPENAI.frames(Script(words=("Good morning.",))))
    assert await said_by(guide["office"](), "Good morning!") == ("Friday", "Good morning.")
    endpoint.will(*OPENAI.frames(Script(words=("Here I am.",))))
    assert await said_by(guide["office"](), "Saturday, are you there?") == ("Saturday", "Here I am.")

    endpoint.asked.clear()
    model = LocalRealtimeModel(language_model=guide["make_friday"])
    for words in ("Hello, Ann.", "Hello, Ben."):
        endpoint.will(*OPENAI.frames(Script(words=(words,))))
        assert await said_by(RealtimeAgent("Friday", "", model), "Hello!") == ("Friday", words)
    assert [len(asked.said) for asked in endpoint.asked] == [2, 2], "each call has an agent of its own"
    engine.close()


def test_the_first_agent_has_15_lines() -> None:
    (block,) = printed(THINKING[:1])
    assert len([line for line in block.splitlines() if line]) == 15


def test_every_family_is_in_the_table() -> None:
    rows = [line for line in section(GUIDE, "Chat models").splitlines() if line.startswith("|")][2:]
    for family, row in zip(FAMILIES.values(), rows, strict=True):
        names = (family.model().__name__, family.formatter().__name__, f"{family.name}:NAME", *family.key_variables)
        assert [name for name in names if f"`{name}`" not in row] == []


def test_the_code_of_every_section_is_run_by_a_test() -> None:
    """By this one, or by one that names its heading."""
    others = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*guide.py") if path != Path(__file__)]
    headings = [heading for heading in re.findall(r"^## (.*)$", GUIDE, re.M) if printed([heading])]
    for heading in headings:
        assert heading in [*THINKING, *TALKING] or any(heading in text for text in others)
