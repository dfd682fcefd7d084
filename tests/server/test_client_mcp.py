"""MCP servers that an OpenAI client names: which are reached, whose tools run, and what the client sees of them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from realtime.agent import RealtimeAgent
from realtime.cli import command_line
from realtime.errors import ToolError, UsageError
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.scripted import CallTools, ScriptedModel, Speak, Step
from realtime.server.settings import ServerSettings
from realtime.tool import Toolkit
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.tool.mcp.of_client import ClientServer, ClientServers
from tests.server.ears import asked, received
from tests.server.harness import Json, serving
from tests.server.openai_sdk import TOOL, Ear, sdk
from tests.tool.mcp.test_real_servers import serving as shop_server

ALLOWED = ServerSettings(drain_s=0, client_mcp_hosts=("127.0.0.1",))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with shop_server("http") as (_, port):
        yield port


def shop(port: int, **more: Any) -> Json:
    return {
        "type": "mcp",
        "server_label": "shop",
        "server_url": f"http://127.0.0.1:{port}/mcp",
        "require_approval": "never",
        **more,
    }


@asynccontextmanager
async def talking(
    *script: Step, tools: Toolkit | None = None, settings: ServerSettings = ALLOWED
) -> AsyncIterator[tuple[Ear, ScriptedModel]]:
    model = ScriptedModel(script, strict=False)
    agent = RealtimeAgent("Friday", "Be Friday.", model, toolkit=tools)
    async with serving(lambda: agent, settings) as place, sdk(place) as ear:
        await ear.until("session.created")
        yield ear, model


def called(name: str, **arguments: Any) -> CallTools:
    return CallTools(((name, arguments),))


async def declared(model: ScriptedModel) -> list[str]:
    """The tools that the model was told of last."""
    return [tool.name for tool in received(model, base.SessionUpdate)[-1].settings.tools]


async def test_the_tools_of_a_named_server_run_and_are_told_as_items() -> None:
    with shop_server("http") as (_, port):
        async with talking(asked(), called("add", a=2, b=3), asked(), Speak("Five.", 0.4)) as (ear, model):
            await ear.do("update", tools=[shop(port, allowed_tools=["add", "delete"]), TOOL])
            assert (await ear.until("session.updated"))["session"]["tools"] == [TOOL]
            await ear.until("mcp_list_tools.completed")
            listed = (await ear.until("conversation.item.done"))["item"]
            assert (listed["type"], listed["server_label"]) == ("mcp_list_tools", "shop")
            assert {tool["name"] for tool in listed["tools"]} == {"add", "delete"}
            assert {*await declared(model)} == {"add", "delete", "get_weather"}
            done = await ear.answered()
            assert [item["type"] for item in done["output"]] == ["mcp_call", "message"]
            call = done["output"][0]
            assert (call["server_label"], call["name"], json.loads(call["arguments"])) == ("shop", "add", {"a": 2, "b": 3})
            assert (json.loads(call["output"]), call["error"]) == (5, None)
            told = [kind for kind in ear.types if "mcp_call" in kind]
            assert told == [
                "response.mcp_call_arguments.delta",
                "response.mcp_call_arguments.done",
                "response.mcp_call.in_progress",
                "response.mcp_call.completed",
            ]
            assert "error" not in ear.types
