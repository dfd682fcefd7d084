"""Tools that change during a call: by the model itself, by a tool, by the program; with each provider."""

import asyncio

import msgspec
import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.model import base
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, Call, call
from tests.agent.test_tools import ask_tools, results

pytestmark = pytest.mark.virtual_time


def book() -> str:
    """Book a room."""
    return "booked"


def pay() -> str:
    """Pay."""
    return "paid"


def hotel() -> Toolkit:
    toolkit = Toolkit([pay])
    toolkit.create_tool_group("rooms", "Tools for rooms.", notes="Ask for the date.")
    toolkit.register(book, group="rooms")
    toolkit.register_tool_function(toolkit.reset_equipped_tools)
    return toolkit


def declared(made: Call) -> list[list[str]]:
    """Names of the tools in each update of the model's settings."""
    return [[tool.name for tool in update.settings.tools] for update in made.link.got(base.SessionUpdate)]


async def test_the_model_activates_a_group_and_has_its_tools_before_it_goes_on() -> None:
    """REA-34: the model activates a group, and its next list of tools has it; another call's has not."""
    toolkit = hotel()
    async with call(toolkit=toolkit) as made, call(toolkit=toolkit) as other:
        assert [tool.name for tool in made.link.settings.tools] == ["pay", "reset_equipped_tools"]
        ask_tools(made, ("call_1", "book", "{}"))
        await asyncio.sleep(1)
        ask_tools(made, ("call_2", "reset_equipped_tools", '{"rooms": true}'))
        await asyncio.sleep(1)
        ask_tools(made, ("call_3", "book", "{}"))
        await asyncio.sleep(1)
        assert declared(made) == [["pay", "book", "reset_equipped_tools"]]
        kinds = [type(message).__name__ for message in made.link.sent]
        assert kinds[2:5] == ["SessionUpdate", "ToolResult", "ResponseCreate"]
        refused, activated, booked = results(made)
        assert refused[1] == "error"
        assert "Activate the tool group" in refused[2]
        assert "Ask for the date." in activated[2]
        assert booked == ("call_3", "success", "booked")
        assert declared(other) == []
    assert toolkit.active_groups == []


async def test_a_tool_may_add_and_remove_tools() -> None:
    toolkit = Toolkit([pay])

    def learn() -> str:
        """Learn to book."""
        toolkit.register(book)
        toolkit.remove_tool_function("pay")
        return "learned"

    toolkit.register(learn)
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "learn", "{}"))
        await asyncio.sleep(1)
        assert declared(made) == [["learn", "book"]]
        ask_tools(made, ("call_2", "book", "{}"))
        await asyncio.sleep(1)
        assert results(made)[-1] == ("call_2", "success", "booked")


async def test_what_the_program_changes_is_told_once_and_not_to_a_model_without_tools() -> None:
    toolkit = hotel()
    toolless = msgspec.structs.replace(PROFILE, supports_tools=False)
    async with call(toolkit=toolkit) as made, call(toolkit=toolkit, profile=toolless) as other:
        toolkit.register(book, name="reserve")
        toolkit.update_tool_groups(["rooms"], active=True)
        await asyncio.sleep(1)
        toolkit.update_tool_groups(["rooms"], active=True)
        await asyncio.sleep(1)
        assert declared(made) == [["pay", "book", "reset_equipped_tools", "reserve"]]
        assert declared(other) == []
    toolkit.register(book, name="later")
    assert len(declared(made)) == 1


async def test_an_update_of_the_client_keeps_what_has_changed() -> None:
    toolkit = hotel()
    async with call(toolkit=toolkit) as made:
        toolkit.update_tool_groups(["rooms"], active=True)
        await asyncio.sleep(1)
        made.receive(c.ClientSessionUpdateEvent(config={"tools": [{"name": "where"}]}))
        await asyncio.sleep(1)
        assert declared(made)[-1] == ["pay", "book", "reset_equipped_tools", "where"]
        assert len(declared(made)) == 2
        assert made.of(s.AgentErrorEvent) == []
