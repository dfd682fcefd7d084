"""The Python of docs/agents.md, run as it is printed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.run_hooks import HOOK_TYPES
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.message import ToolCallBlock
from realtime.tool import Toolkit
from tests.agent.fakes import FakeModel

pytestmark = pytest.mark.virtual_time

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    """The part of the guide under a heading of the second level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def scope() -> dict[str, Any]:
    """What all blocks of the section define, one after the other."""
    defined: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", section("An agent that speaks first"), re.DOTALL):
        exec(block, defined)
    return defined


def on_a_fake(agent: RealtimeAgent) -> FakeModel:
    """Give the agent a model that answers everything with these words."""
    model = FakeModel()
    agent.model = model
    return model


def says(model: FakeModel, words: str) -> None:
    model.link.reply(1_000, words)


async def test_the_agent_of_the_guide_greets_says_its_words_and_notes_those_of_the_user(scope: dict[str, Any]) -> None:
    agent: RealtimeAgent = scope["make_agent"]()
    model, seen = on_a_fake(agent), []
    await agent.start(seen.append)
    model.link.reply(1_000, "Good morning! ")
    model.link.answer = lambda message: says(model, "Free of charge. ")
    await asyncio.sleep(4)
    await agent.handle_input(c.ClientTextAppendEvent(text="Thank you."))
    await asyncio.sleep(2)
    await agent.stop()
    custom = [(event.name, event.value) for event in seen if isinstance(event, s.ServerCustomEvent)]
    assert custom == [("noted", {"words": "Thank you."})]
    marks = [
        (event.metadata or {}).get("initiative", "") for event in seen if isinstance(event, s.AgentResponseCreatedEvent)
    ]
    assert [mark.partition("_")[0] for mark in marks] == ["greeting", "say", ""]


async def test_an_announcement_that_is_interrupted_is_made_again(scope: dict[str, Any]) -> None:
    agent: RealtimeAgent = scope["make_agent"]()
    agent._on_enter, agent.greeting = None, ""
    model = on_a_fake(agent)
    await agent.start(lambda event: None)
    announcing = asyncio.create_task(scope["announce"](agent))
    await asyncio.sleep(1)
    await agent.handle_input(c.ClientTextAppendEvent(text="Wait."))
    says(model, "Never heard. ")  # the response that was interrupted before it began
    says(model, "Yes? ")
    model.link.answer = lambda message: says(model, "The taxi waits. ")
    assert await announcing == "The taxi waits."
    await agent.stop()


async def test_the_hooks_of_the_guide_see_a_call_and_shorten_its_result(scope: dict[str, Any]) -> None:
    agent: RealtimeAgent = scope["agent"]
    agent.toolkit = Toolkit()

    @agent.toolkit.register
    def read() -> str:
        """Read the book."""
        return "word " * 1_000

    model, seen = on_a_fake(agent), []
    agent.greeting, agent._on_enter = "", None
    await agent.start(seen.append)
    response_id = model.link.begin()
    call = ToolCallBlock(id="call_1", name="read", input="{}")
    model.link.say(
        m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=call),
        m.ModelResponseDoneEvent(response_id=response_id),
    )
    await asyncio.sleep(0.5)
    (result,) = [event.tool_result for event in seen if isinstance(event, s.AgentResponseToolResultEvent)]
    assert len(result.output_text()) == 500
    (told,) = [event for event in seen if isinstance(event, s.ServerCustomEvent)]
    assert (told.name, told.value) == ("tool_called", {"name": "read"})
    await agent.stop()


async def test_a_saved_agent_is_brought_back(
    scope: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent: RealtimeAgent = scope["make_agent"]()
    agent.greeting = "Greet in French."
    await scope["keep"](agent)
    again = await scope["bring_back"]()
    assert again.greeting == "Greet in French."


def test_every_type_of_hook_is_in_the_table() -> None:
    assert all(f"`{name}`" in section("An agent that speaks first") for name in HOOK_TYPES)
