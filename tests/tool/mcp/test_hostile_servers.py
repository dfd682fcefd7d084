"""MCP servers that misbehave: each ends as a clear error or a clear result, and the voice call goes on."""

from __future__ import annotations

import asyncio
import json
import re
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

HOSTILE = str(Path(__file__).with_name("hostile.py"))
TIMEOUT_S = 1.5
LONGEST_ERROR = 1_500
"""Characters of what a model reads of a server that failed."""


def client_of(behaviour: str, **options: Any) -> StdIOStatefulClient:
    """A client of a server that behaves so."""
    return StdIOStatefulClient(behaviour, sys.executable, ["-I", HOSTILE, behaviour], **options)


@asynccontextmanager
async def call_with(client: Any, **options: Any) -> AsyncIterator[Caller]:
    """A spoken call whose agent has the tools of this server."""
    await client.connect()
    try:
        toolkit = await toolkit_of(client, **{"execution_timeout": TIMEOUT_S} | options)
        async with spoken_call(toolkit) as caller:
            yield caller
    finally:
        await client.close()


async def goes_on(caller: Caller) -> bool:
    """Whether the same server still serves, or serves again, and the call goes on."""
    again = await caller.call_tool("echo", aloud=False, text="again")
    return (again.state, again.output_text()) == ("success", "again") and await caller.is_answered()


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("floods", "gave no result within"),
        ("floods_for_ever", "gave no result within"),
        ("reports_without_end", "gave no result within"),
        ("answers_late", "gave no result within"),
        ("wrong_id", "gave no result within"),
        ("never_answers", "gave no result within"),
        ("invalid_json", "gave no result within"),
        ("huge", "was lost: the connection broke off: it has sent a message of more than 4,000,000 bytes"),
        ("many_parts", "was lost: the connection broke off: it has sent a message of more than 100,000 parts"),
        ("never_reads", "gave no result within"),
        ("no_newline", "was lost"),
        ("dies", "was lost"),
        ("fails", "was refused: Ignore all"),
    ],
)
async def test_a_call_that_goes_wrong_is_an_error_that_says_what_happened(behaviour: str, told: str) -> None:
    async with call_with(client_of(behaviour)) as caller:
        result = await caller.call_tool("act")
        assert result.state == "error"
        assert told in result.output_text()
        assert len(result.output_text()) < LONGEST_ERROR
        assert await goes_on(caller)


@pytest.mark.parametrize(("behaviour", "said"), [("answers_twice", "first"), ("prints", "printed")])
async def test_what_can_be_understood_is_a_result(behaviour: str, said: str) -> None:
    async with call_with(client_of(behaviour), execution_timeout=None) as caller:
        result = await caller.call_tool("act")
        assert (result.state, result.output_text()) == ("success", said)
        assert await goes_on(caller)


async def test_results_of_wrong_types_are_errors_or_say_what_is_missing() -> None:
    async with call_with(client_of("echo")) as caller:
        told = {}
        for how in WRONG_RESULTS:
            result = await caller.call_tool("act", aloud=False, how=how)
            told[how] = (str(result.state), result.output_text())
            assert len(result.output_text()) < LONGEST_ERROR
        assert {how: said for how, (state, said) in told.items() if state == "success"} == {
            "a picture that is none": "[image/png, which is not valid base64, is left out]",
            "a picture without a kind": "",
            "no content at all": "done",
        }
        assert await goes_on(caller)


async def test_a_server_that_asks_again_and_again_is_given_up_after_ten_questions() -> None:
    async with call_with(client_of("elicits")) as caller:
        caller.answers = answering(True, really=True)
        result = await caller.call_tool("act")
        assert result.state == "error"
        assert "has asked more than 10 questions" in result.output_text()
        questions = [one for one in caller.of(s.AgentResponseToolUseDoneEvent) if one.tool_use.name == "elicitation"]
        assert len(questions) == 10
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


async def test_tools_that_change_every_moment_stay_callable_and_are_told_now_and_then() -> None:
    async with call_with(client_of("changes")) as caller:
        for _ in range(3):
            assert await goes_on(caller)
        updates = caller.of(s.AgentSessionUpdatedEvent)
        assert len(updates) <= 3


async def test_schemas_and_names_that_lie_are_mended_or_left_out_and_the_others_work() -> None:
    client = client_of("lies")
    async with call_with(client) as caller:
        declared = {tool.name: tool for tool in caller.agent.toolkit.declarations()}
        assert {"echo", "act", "lies_nowhere", "lies_itself", "lies_true"} <= {*declared}
        assert {"lies_string", "lies_wide", "no_schema", ""} & {*declared} == set()
        for name, tool in declared.items():
            assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name)
            assert tool.parameters["type"] == "object"
            assert all(isinstance(one, dict) for one in tool.parameters["properties"].values())
            assert {*tool.parameters.get("required", ())} <= {*tool.parameters["properties"]}
            assert "$ref" not in json.dumps(tool.parameters)
            assert len(tool.description) <= 8_000
        assert await goes_on(caller)


async def test_a_list_that_never_ends_and_one_of_thousands_are_cut() -> None:
    for behaviour in ("endless_list", "thousands"):
        async with client_of(behaviour) as client:
            toolkit = await toolkit_of(client)
            assert 10 <= len(toolkit) <= 512


async def test_the_schemas_of_a_list_share_a_budget_and_few_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async with client_of("laughs") as client:
        taken = [*(await toolkit_of(client)).tools]
    assert taken == ["echo", *(f"laughs_{number}" for number in range(len(taken) - 1))]
    assert 10 < len(taken) < 50
    left_out = [one for one in caplog.messages if "left out" in one]
    assert left_out[0].endswith("the inputSchemas before it have 10,000 parts, which are the most")
    assert left_out[-1] == f"{501 - len(taken) - 10} more tools of the MCP server laughs are left out"
    assert len(left_out) == 11


async def test_a_list_that_does_not_come_is_an_error_and_the_calls_go_on() -> None:
    async with client_of("lists_nothing", timeout=1) as client:
        with pytest.raises(RealtimeError, match="the list of tools of the MCP server 'lists_nothing' did not come"):
            await Toolkit().register_mcp_client(client)


async def test_what_is_too_much_is_left_out_or_dropped() -> None:
    async with call_with(client_of("echo"), execution_timeout=None) as caller:
        blocks = await caller.call_tool("act", aloud=False, how="many_blocks")
        assert blocks.output_text().endswith("999\n[4,000 more blocks are left out]")
        assert (await caller.call_tool("act", aloud=False, how="huge_ids")).output_text() == "asked"
        assert await goes_on(caller)


async def test_what_a_server_has_started_ends_with_it() -> None:
    async with client_of("leaves_a_child") as client:
        child = int((await run(await toolkit_of(client), "act")).output_text())
        assert psutil.pid_exists(child)
    async with asyncio.timeout(10):
        while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("behaviour", ["list_is_a_word", "deep_list"])
async def test_a_list_that_is_none_is_an_error_that_names_the_server(behaviour: str) -> None:
    async with client_of(behaviour, timeout=2) as client:
        with pytest.raises(RealtimeError, match=behaviour):
            async with asyncio.timeout(20):
                await Toolkit().register_mcp_client(client, execution_timeout=2)


@pytest.mark.parametrize("behaviour", ["deaf", "exits_at_once", "initialize_is_wrong", "old"])
async def test_a_server_that_does_not_begin_is_an_error_that_names_it(behaviour: str) -> None:
    client = client_of(behaviour, timeout=1)
    with pytest.raises(RealtimeError, match=f"the MCP server '{behaviour}' cannot be reached"):
        await client.connect()
    assert not client.is_connected


async def test_what_is_printed_before_the_start_does_no_harm_and_one_that_stays_is_ended() -> None:
    for behaviour in ("prints_at_start", "stays"):
        async with client_of(behaviour) as client:
            toolkit = await toolkit_of(client)
            assert [*toolkit.tools] == ["echo", "act"]


async def test_a_command_that_is_not_there_is_an_error_that_says_so() -> None:
    with pytest.raises(RealtimeError, match="there is no such command"):
        await StdIOStatefulClient("ghost", "/no/such/program").connect()


async def test_servers_with_the_same_names_are_told_apart_by_a_prefix() -> None:
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


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HttpStatefulClient, HttpStatelessClient])
@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ("fails", ""),
        ("is_a_page", ""),
        ("wants_login", ""),
        ("cuts", ""),
        ("half_json", ""),
        ("huge", ""),
        ("redirects", "not followed"),
        ("interim_answers", "was lost: the connection broke off: more than 128,000 bytes before an answer"),
        ("short_lines", ""),
        ("ends_streams", ""),
        ("streams_for_ever", "gave no result within"),
        ("never_answers", "gave no result within"),
    ],
)
async def test_an_answer_over_http_that_is_none_is_an_error(kind: type[Any], behaviour: str, told: str) -> None:
    async with hostile(behaviour) as (server, url):
        client = kind("shop", "streamable_http", url)
        toolkit = Toolkit()
        if kind.stateful:
            await client.connect()
        try:
            await toolkit.register_mcp_client(client, execution_timeout=TIMEOUT_S)
            async with spoken_call(toolkit) as caller:
                result = await caller.call_tool("act")
                assert result.state == "error"
                assert told in result.output_text()
                assert len(result.output_text()) < LONGEST_ERROR
                assert await goes_on(caller)
        finally:
            if kind.stateful:
                await client.close()
        assert not server.fetched_elsewhere


async def test_a_session_that_the_server_has_forgotten_is_made_anew_and_the_call_repeated() -> None:
    async with hostile("loses_sessions") as (server, url):
        async with HttpStatefulClient("shop", "streamable_http", url) as client:
            toolkit = await toolkit_of(client)
            async with spoken_call(toolkit, tool_timeout_s=5) as caller:
                result = await caller.call_tool("act")
                assert result.state == "error"
                assert await goes_on(caller)
        assert 2 <= server.n_sessions <= 5
