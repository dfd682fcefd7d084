"""Every tool of MCP's reference server, called from a spoken turn, by each kind of client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from realtime.event import server as s
from realtime.mcp import HttpStatefulClient, HttpStatelessClient, MCPClientBase, StdIOStatefulClient
from realtime.message import DataBlock, ToolResultBlock
from realtime.tool import Toolkit
from realtime.tool.context import Sampling
from tests.tool.mcp.calls import answering, spoken_call
from tests.tool.mcp.judges import EVERYTHING, NODE, everything_over_http, needs_judges

pytestmark = needs_judges

HELLO = "data:text/plain;base64,aGVsbG8="
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "echo": ({"message": "good morning"}, "Echo: good morning"),
    "get-annotated-message": ({"messageType": "success", "includeImage": True}, "completed successfully"),
    "get-env": ({}, "PATH"),
    "get-resource-links": ({"count": 2}, "demo://resource/dynamic/"),
    "get-resource-reference": ({"resourceType": "Text", "resourceId": 1}, "Resource 1"),
    "get-structured-content": ({"location": "New York"}, "temperature"),
    "get-sum": ({"a": 12, "b": 30}, "is 42"),
    "get-tiny-image": ({}, "image"),
    "gzip-file-as-resource": ({"name": "a.gz", "data": HELLO, "outputType": "resource"}, "a.gz"),
    "toggle-simulated-logging": ({}, "Started simulated"),
    "toggle-subscriber-updates": ({}, "Started simulated"),
    "trigger-long-running-operation": ({"duration": 0.2, "steps": 4}, "operation completed"),
    "get-roots-list": ({}, "roots"),
    "trigger-elicitation-request": ({}, "Name: Ann"),
    "trigger-sampling-request": ({"prompt": "Say hello.", "maxTokens": 20}, "LLM sampling result"),
}
"""What each tool is given, and what its result says."""


ONLY_REFUSED = {
    "trigger-url-elicitation": ({"url": "https://example.org", "elicitationId": "e1"}, "declined"),
    "simulate-research-query": ({"topic": "tea"}, "requires task augmentation"),
}
"""What our client does not do (docs/mcp.md): the tool says so."""


async def write(asked: Sampling) -> str:
    """Write for a server."""
    return f"{len(asked.messages)} messages were read."


@asynccontextmanager
async def client_by(way: str, roots: Sequence[Path]) -> AsyncIterator[MCPClientBase]:
    """A client of the reference server."""
    if way == "stdio":
        async with StdIOStatefulClient("everything", NODE, [EVERYTHING], roots=roots, sampling=write) as client:
            yield client
        return
    async with everything_over_http() as url:
        if way == "stateless":
            yield HttpStatelessClient("everything", "streamable_http", url, roots=roots, sampling=write)
            return
        async with HttpStatefulClient("everything", "streamable_http", url, roots=roots, sampling=write) as kept:
            yield kept


@pytest.mark.night
@pytest.mark.parametrize("way", ["stdio", "stateful", "stateless"])
async def test_every_tool_is_called_from_a_spoken_turn(way: str, tmp_path: Path) -> None:
    """Its questions are cards of the call, and its reports are progress of it."""
    toolkit = Toolkit()
    async with client_by(way, [tmp_path]) as client:
        await toolkit.register_mcp_client(client)
        assert {*toolkit.tools} == CALLS.keys() | ONLY_REFUSED.keys()
        async with spoken_call(toolkit) as caller:
            caller.answers = answering(True, name="Ann")
            for name, (arguments, said) in (CALLS | ONLY_REFUSED).items():
                result = await caller.call_tool(name, **arguments)
                assert said in told(result), name
                assert result.state == "success" or name in ONLY_REFUSED
            reports = [event.delta for event in caller.of(s.AgentToolProgressEvent)]
            assert [one for one in reports if "of 4" in one] == [f"{step} of 4" for step in (1, 2, 3, 4)]
            assert await caller.is_answered()


def told(result: ToolResultBlock) -> str:
    """The words of a result, and the kinds of its data."""
    if isinstance(result.output, str):
        return result.output
    kinds = [f"{one.source.media_type} {one.name}" for one in result.output if isinstance(one, DataBlock)]
    return "\n".join([result.output_text(), *kinds])
