"""The Python of docs/rooms.md, run as it is printed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import ScriptedModel, echo_bot
from realtime.room.floor import FloorState, Said, with_turn
from realtime.room.participant import Participant, named_in
from tests.agent.thinking import react
from tests.server.harness import serving_app

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "rooms.md"


@pytest.fixture
def scope() -> dict[str, Any]:
    """What all blocks of the page define, one after the other."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    defined: dict[str, Any] = {}
    for block in blocks:
        exec(block, defined)
    return defined


def talk(*turns: tuple[str, str]) -> FloorState:
    """A room of Clara and Ben in which this was said, by whom."""
    state = FloorState((Participant("a1", "Clara", "agent"), Participant("a2", "Ben", "agent")))
    for name, text in turns:
        known = named_in(name, state.agents)
        state = with_turn(state, Said(known.id if known else "h1", name, "agent" if known else "human", text))
    return state


async def test_the_rooms_of_the_guide_are_served(scope: dict[str, Any]) -> None:
    async with serving_app(scope["app"]) as place:
        listed = (await place.get("/voice/api/rooms")).json()
        assert (listed["templates"], listed["agent_templates"], listed["rooms"]) == (["office"], ["Clara"], [])
        async with place.client("/voice/rooms/nowhere/ws?name=Ann") as ann:
            assert (await ann.next())["code"] == "no_such_room"
            assert (await ann.closed())[0] == 4404
    agents = scope["office"]().describe()["agents"]
    assert [one["name"] for one in agents] == ["Clara", "Ben"]
    assert all(isinstance(agent.model, LocalRealtimeModel) for agent in scope["office"]().agents)


def test_thinking_agents_are_in_a_room_as_the_guide_says(scope: dict[str, Any]) -> None:
    agents = scope["review"](react(name="Robin"), react(name="Friday")).describe()["agents"]
    assert [(one["name"], one["voice"], one["observes"]) for one in agents] == [
        ("Robin", "heart", False),
        ("Friday", "heart-low", True),
    ]


def test_the_policies_of_the_guide_decide_as_they_say(scope: dict[str, Any]) -> None:
    asked, clerk = scope["only_when_asked"], scope["the_clerk_first"]
    assert [asked(talk()), clerk(talk())] == [None, None]
    assert asked(talk(("Ann", "Hello."))) is None
    assert asked(talk(("Ann", "Clara?"), ("Clara", "Yes, Ben?"))) is None
    assert clerk(talk(("Ann", "Hello."))) == "Clara"
    assert clerk(talk(("Ann", "Hello."), ("Clara", "Hi."))) == "Ben"
    assert clerk(talk(("Ann", "Hello."), ("Clara", "Hi."), ("Ben", "Well."))) is None


async def test_an_agent_decides_as_the_guide_says(scope: dict[str, Any]) -> None:
    chair = RealtimeAgent("Chair", "", ScriptedModel(echo_bot("That is for Ben.", seconds=0.1)))
    await chair.start(asyncio.Queue())
    decided = scope["decided_by"](chair)(talk(("Ann", "Who pays?")))
    assert not isinstance(decided, str | None)
    assert await decided == "a2"
    await chair.stop()
