"""MCP servers that misbehave: each ends as a clear error or a clear result, and the voice call goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from realtime.errors import RealtimeError
from realtime.event import server as s
from realtime.mcp import HttpStatefulClient, HttpStatelessClient, StdIOStatefulClient
from realtime.tool import Toolkit
from tests.tool.mcp.calls import Caller, answering, spoken_call
from tests.tool.mcp.hostile import WRONG_RESULTS
from tests.tool.mcp.hostile_http import hostile
from tests.tool.mcp.scripted import run, toolkit_of
from tests.volumes import HANG_S

HOSTILE = str(Path(__file__).with_name("hostile.py"))
TIMEOUT_S = 1.5
"""How long a call may take of which no result comes."""
NO_RESULT = "gave no result within"
LONGEST_ERROR = 1_500
"""Characters of what a model reads of a server that failed."""


def client_of(behaviour: str, **options: Any) -> StdIOStatefulClient:
    """A client of a server that behaves so."""
    return StdIOStatefulClient(behaviour, sys.executable, ["-I", HOSTILE, behaviour], **options)


async def tools_of(client: Any, told: str = "") -> Toolkit:
    """A toolkit with what the server lists; its `act` is given up early where no result is expected."""
    limit_s = TIMEOUT_S if told == NO_RESULT else HANG_S
    toolkit = await toolkit_of(client, enable_funcs=["act"], execution_timeout=limit_s)
    await toolkit.register_mcp_client(client, enable_funcs=["echo"], execution_timeout=5)
    return toolkit


@asynccontextmanager
async def call_with(client: Any, told: str = "") -> AsyncIterator[Caller]:
    """A spoken call whose agent has the tools of this server."""
    async with client, spoken_call(await tools_of(client, told), tool_timeout_s=HANG_S) as caller:
        yield caller


async def check_error(caller: Caller, told: str) -> None:
    """Call `act`, which fails and says so in few words, and go on."""
    result = await caller.call_tool("act")
    assert result.state == "error"
    assert told in result.output_text()
    assert len(result.output_text()) < LONGEST_ERROR
    assert await goes_on(caller)


async def goes_on(caller: Caller) -> bool:
    """Whether the server serves on, or serves again once it is known to hang, and the call goes on."""
    async with asyncio.timeout(HANG_S):
        while (await caller.call_tool("echo", aloud=False, text="again")).output_text() != "again":
            pass
    return await caller.is_answered()


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        pytest.param("floods", NO_RESULT, marks=pytest.mark.night),
        pytest.param("floods_for_ever", NO_RESULT, marks=pytest.mark.night),
        ("invalid_json", NO_RESULT),
        ("huge", "was lost: the connection broke off: it has sent a message of more than 4,000,000 bytes"),
        ("many_parts", "was lost: the connection broke off: it has sent a message of more than 100,000 parts"),
        ("never_reads", NO_RESULT),
        ("no_newline", "was lost"),
        ("dies", "was lost"),
    ],
)
async def test_a_call_that_goes_wrong_is_an_error_that_says_what_happened(behaviour: str, told: str) -> None:
    async with call_with(client_of(behaviour), told) as caller:
        await check_error(caller, told)


async def test_what_can_be_understood_is_a_result() -> None:
    async with call_with(client_of("prints")) as caller:
        result = await caller.call_tool("act")
        assert (result.state, result.output_text()) == ("success", "printed")
        assert await goes_on(caller)


async def test_results_of_wrong_types_are_errors() -> None:
    async with call_with(client_of("echo"), NO_RESULT) as caller:
        for how in WRONG_RESULTS:
            result = await caller.call_tool("act", aloud=False, how=how)
            assert result.state == "error", how
            assert len(result.output_text()) < LONGEST_ERROR
        assert await goes_on(caller)


async def test_a_hundred_questions_at_once_leave_the_call_alone() -> None:
    async with call_with(client_of("asks_at_once", allow_sampling=True)) as caller:
        caller.answers = answering(False)
        # It goes on asking, so its next call may be given up, too; the voice is not.
        for tool, said in (("act", "asked"), ("echo", "again")):
            told = (await caller.call_tool(tool, text="again")).output_text()
            assert told == said or "has asked more than 10 " in told
        questions = [one for one in caller.of(s.AgentResponseToolUseDoneEvent) if one.tool_use.name == "elicitation"]
        assert len(questions) <= 20
        assert await caller.is_answered()


async def test_what_a_server_has_started_ends_with_it() -> None:
    async with client_of("leaves_a_child") as client:
        child = int((await run(await toolkit_of(client), "act")).output_text())
        assert psutil.pid_exists(child)
    async with asyncio.timeout(HANG_S):
        while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_a_list_that_is_none_is_an_error_that_names_the_server() -> None:
    with pytest.raises(RealtimeError, match="deep_list"):
        async with client_of("deep_list", timeout=2) as client:
            await Toolkit().register_mcp_client(client)


@pytest.mark.parametrize("behaviour", ["deaf", "exits_at_once", "initialize_is_wrong", "old"])
async def test_a_server_that_does_not_begin_is_an_error_that_names_it(behaviour: str) -> None:
    client = client_of(behaviour, timeout=1)
    with pytest.raises(RealtimeError, match=f"the MCP server '{behaviour}' cannot be reached"):
        await client.connect()
    assert not client.is_connected


@pytest.mark.parametrize("behaviour", ["prints_at_start", "stays"])
async def test_what_is_printed_before_the_start_does_no_harm_and_one_that_stays_is_ended(behaviour: str) -> None:
    async with client_of(behaviour) as client:
        toolkit = await toolkit_of(client)
        assert [*toolkit.tools] == ["echo", "act"]


async def test_a_spoken_call_uses_servers_with_the_same_names_apart_by_a_prefix() -> None:
    async with client_of("first") as first, client_of("second") as second:
        toolkit = Toolkit()
        await toolkit.register_mcp_client(first)
        with pytest.raises(RealtimeError, match="there is a tool named 'echo' already"):
            await toolkit.register_mcp_client(second)
        assert [*toolkit.tools] == ["echo", "act"]
        await toolkit.register_mcp_client(second, prefix="second_")
        assert [*toolkit.tools] == ["echo", "act", "second_echo", "second_act"]
        async with spoken_call(toolkit) as caller:
            assert (await caller.call_tool("second_echo", text="hello")).output_text() == "hello"


@asynccontextmanager
async def connected(kind: type[Any], url: str) -> AsyncIterator[Any]:
    """A client of either kind."""
    client = kind("shop", "streamable_http", url)
    if not kind.stateful:
        yield client
        return
    async with client:
        yield client


@pytest.mark.parametrize("kind", [HttpStatefulClient, pytest.param(HttpStatelessClient, marks=pytest.mark.night)])
@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("fails", ""),
        ("wants_login", ""),
        ("cuts", ""),
        ("half_json", ""),
        ("huge", ""),
        ("redirects", "not followed"),
        ("interim_answers", "was lost: the connection broke off: more than 128,000 bytes before an answer"),
        pytest.param("short_lines", "", marks=pytest.mark.night),
        ("ends_streams", ""),
        ("streams_for_ever", NO_RESULT),
        ("never_answers", NO_RESULT),
    ],
)
async def test_an_answer_over_http_that_is_none_is_an_error(kind: type[Any], behaviour: str, told: str) -> None:
    async with hostile(behaviour) as (server, url), connected(kind, url) as client:
        async with spoken_call(await tools_of(client, told), tool_timeout_s=HANG_S) as caller:
            await check_error(caller, told)
        assert not server.fetched_elsewhere


async def test_a_session_that_the_server_has_forgotten_is_made_anew_and_the_call_repeated() -> None:
    async with hostile("loses_sessions") as (server, url), connected(HttpStatefulClient, url) as client:
        async with spoken_call(await toolkit_of(client), tool_timeout_s=5) as caller:
            await check_error(caller, "")
        assert 2 <= server.n_sessions <= 5
