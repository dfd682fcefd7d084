"""MCP servers that an OpenAI client names: which are reached, whose tools run, and what the client sees of them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from realtime.agent import RealtimeAgent
from realtime.cli import command_line
from realtime.errors import ToolError, UsageError
from realtime.model import base
from realtime.model.scripted import CallTools, ScriptedModel, Speak, Step
from realtime.server.settings import ServerSettings
from realtime.tool import Toolkit
from realtime.tool.mcp import of_client
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.tool.mcp.of_client import ClientServer, ClientServers
from tests.real_loop import settled
from tests.server.ears import asked, received
from tests.server.harness import Json, create, serving
from tests.server.openai_sdk import TOOL, Ear, sdk
from tests.tool.mcp.test_real_servers import serving as shop_server
from tests.volumes import HANG_S

ALLOWED = ServerSettings(drain_s=0, client_mcp_hosts=("127.0.0.1",))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with shop_server("http") as (_, port):
        yield port


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """How soon a server of tools starts is up to the machine."""
    monkeypatch.setattr(of_client, "DIAL_S", HANG_S)


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


def called(function: str, **arguments: Any) -> CallTools:
    return CallTools(((function, arguments),))


def declared(model: ScriptedModel) -> list[str]:
    """The tools that the model was told of last."""
    return [tool.name for tool in received(model, base.SessionUpdate)[-1].settings.tools]


async def call_of(ear: Ear) -> Json:
    """Ask for a response; the call it makes, once both are over, in whichever order."""
    await ear.do("respond")
    return await ended_call(ear)


async def ended_call(ear: Ear) -> Json:
    """The call that this response makes, once both are over."""
    begun = len(ear.frames)
    while True:
        await ear.next()
        ended = [one["item"] for one in ear.frames[begun:] if one["type"] == "response.output_item.done"]
        calls = [item for item in ended if item["type"] == "mcp_call"]
        if calls and "response.done" in ear.types[begun:]:
            return calls[0]


async def test_the_tools_of_a_named_server_run_and_are_told_as_items(port: int) -> None:
    async with talking(asked(), called("add", a=2, b=3), asked(), Speak("Five.", 0.4)) as (ear, model):
        await ear.do("update", tools=[shop(port, allowed_tools=["add", "delete"]), TOOL])
        assert (await ear.until("session.updated"))["session"]["tools"] == [TOOL]
        await ear.until("mcp_list_tools.completed")
        listed = (await ear.until("conversation.item.done"))["item"]
        assert (listed["type"], listed["server_label"]) == ("mcp_list_tools", "shop")
        assert {tool["name"] for tool in listed["tools"]} == {"add", "delete"}
        assert {*declared(model)} == {"add", "delete", "get_weather"}
        call = await call_of(ear)
        assert [item["type"] for item in ear.only("response.done")[0]["response"]["output"]] == ["mcp_call"]
        assert (call["server_label"], call["name"]) == ("shop", "add")
        assert json.loads(call["arguments"]) == {"a": 2, "b": 3}
        assert (json.loads(call["output"]), call["error"]) == (5, None)
        told = [kind for kind in ear.types if "mcp_call" in kind]
        assert told == [
            "response.mcp_call_arguments.delta",
            "response.mcp_call_arguments.done",
            "response.mcp_call.in_progress",
            "response.mcp_call.completed",
        ]
        answer = await ear.answered()
        assert [item["type"] for item in answer["output"]] == ["message"]
        assert len(received(model, base.ResponseCreate)) == 2, "the client asks for the answer, and nobody else does"
        assert "error" not in ear.types


async def test_the_items_of_a_server_can_be_retrieved(port: int) -> None:
    """The list of its tools, a request for approval and a call with its result: the SDK for agents asks for each."""
    async with talking(asked(), called("add", a=2, b=3)) as (ear, _):
        await ear.do("update", tools=[shop(port, require_approval="always")])
        await ear.until("mcp_list_tools.completed")
        listed = (await ear.until("conversation.item.done"))["item"]
        await ear.do("respond")
        request = await request_of(ear)
        await approval(ear, request, approve=True)
        while (call := (await ear.until("response.output_item.done"))["item"])["type"] != "mcp_call":
            pass
        assert json.loads(call["output"]) == 5
        for item in (listed, request, call):
            await ear.do("raw", json.dumps({"type": "conversation.item.retrieve", "item_id": item["id"]}))
            assert (await ear.until("conversation.item.retrieved"))["item"] == item


async def approval(ear: Ear, request: Json, *, approve: bool, **more: Any) -> None:
    item = {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve, **more}
    await ear.do("item", item)


async def request_of(ear: Ear) -> Json:
    """The item by which a call asks for approval, while its response is open."""
    while True:
        item: Json = (await ear.until("response.output_item.done"))["item"]
        if item["type"] == "mcp_approval_request":
            return item


async def test_a_call_waits_for_the_approval_of_the_client(port: int) -> None:
    """Which is what a client gets that says nothing of approval, as at the service."""
    script = (asked(), called("delete", name="a.txt"), asked(), Speak("Done.", 0.4))
    async with talking(*script) as (ear, model):
        await ear.do("update", tools=[shop(port, require_approval=None)])
        await ear.until("mcp_list_tools.completed")
        await ear.do("respond")
        request = await request_of(ear)
        assert (request["server_label"], request["name"]) == ("shop", "delete")
        assert json.loads(request["arguments"]) == {"name": "a.txt"}
        assert not [kind for kind in ear.types if "mcp_call" in kind]
        assert not received(model, base.ToolResult)
        done = (await ear.until("response.done"))["response"]
        assert [item["type"] for item in done["output"]] == ["mcp_approval_request"]
        await approval(ear, request, approve=True, id="item_yes")
        call = (await ear.until("response.output_item.done"))["item"]
        assert (call["approval_request_id"], call["output"]) == (request["id"], "a.txt is deleted")
        (answer,) = [one["item"] for one in ear.only("conversation.item.added") if one["item"]["id"] == "item_yes"]
        assert (answer["type"], answer["approve"]) == ("mcp_approval_response", True)
        await approval(ear, request, approve=False)
        assert (await ear.until("error"))["error"]["param"] == "item.approval_request_id"
        assert [item["type"] for item in (await ear.answered())["output"]] == ["message"]
        assert len(received(model, base.ResponseCreate)) == 2


async def test_a_call_that_is_refused_does_not_run(port: int) -> None:
    """No client asks for what follows, as no call was made: the agent speaks by itself."""
    script = (asked(), called("delete", name="a.txt"), asked(), Speak("I left it.", 0.4))
    async with talking(*script) as (ear, model):
        await ear.do("update", tools=[shop(port, require_approval="always")])
        await ear.until("mcp_list_tools.completed")
        await ear.do("respond")
        await approval(ear, await request_of(ear), approve=False, reason="I need it")
        for made in ("mcp_approval_request", "message"):
            done = (await ear.until("response.done"))["response"]
            assert [item["type"] for item in done["output"]] == [made]
        (result,) = received(model, base.ToolResult)
        assert "I need it" in str(result.result.output)


ALWAYS: Json = {"always": {"tool_names": ["add"]}}
NEVER: Json = {"never": {"tool_names": ["add"]}}
APPROVALS = [
    # allowed_tools, require_approval, the tools that the model gets of `add` (reads only) and `delete`, those that ask
    (["add"], None, ["add"], ["add"]),
    (["add", "no_such_tool"], "never", ["add"], []),
    ({"tool_names": ["delete"]}, "never", ["delete"], []),
    ({"read_only": True, "tool_names": ["add", "delete"]}, "always", ["add"], ["add"]),
    ({"read_only": False, "tool_names": ["add", "delete"]}, "always", ["delete"], ["delete"]),
    (["add", "delete"], NEVER, ["add", "delete"], ["delete"]),
    (["add", "delete"], {"never": {"read_only": True}}, ["add", "delete"], ["delete"]),
    (["add", "delete"], ALWAYS, ["add", "delete"], ["add", "delete"]),
    (["add", "delete"], ALWAYS | NEVER, ["add", "delete"], ["add", "delete"]),
    (["add", "delete"], {}, ["add", "delete"], ["add", "delete"]),
    ([], "never", [], []),
]


async def test_the_client_chooses_the_tools_and_which_of_them_ask(port: int) -> None:
    """All of a filter's conditions hold; what no filter excepts asks."""
    known = ClientServers(AllowedHosts(["127.0.0.1"]))
    for allowed, wanted, names, asking in APPROVALS:
        known.declare([("shop", shop(port, allowed_tools=allowed, require_approval=wanted))])
        server = known.find("shop")
        assert isinstance(server, ClientServer)
        async with server.client() as client:
            tools = server.allowed(await client.list_tools())
        assert [tool.name for tool in tools] == names, (allowed, wanted)
        assert [tool.name for tool in tools if server.asks(tool)] == asking, (allowed, wanted)


async def test_a_tool_that_fails_is_told_as_failed(port: int) -> None:
    script = (asked(), called("add", a="no number", b=1), asked(), Speak("It failed.", 0.4))
    async with talking(*script) as (ear, _):
        await ear.do("update", tools=[shop(port)])
        await ear.until("mcp_list_tools.completed")
        call = await call_of(ear)
        assert "response.mcp_call.failed" in ear.types
        assert (call["output"], call["error"]["type"]) == (None, "tool_execution_error")


async def test_where_a_name_is_taken_the_label_of_the_server_stands_before_it(port: int) -> None:
    """Of the agent's tools, of the client's, and of another server of the client."""

    def add(a: int, b: int) -> int:
        """Add differently."""
        return a - b

    mine = {"type": "function", "name": "delete", "parameters": {"type": "object", "properties": {}}}
    script = (asked(), called("the_shop_add", a=2, b=3), asked(), Speak("Five.", 0.4))
    async with talking(*script, tools=Toolkit([add])) as (ear, model):
        server = shop(port, server_label="the shop", allowed_tools=["add", "delete"])
        await ear.do("update", tools=[server, mine])
        await ear.until("mcp_list_tools.completed")
        assert {*declared(model)} == {"add", "delete", "the_shop_add", "the_shop_delete"}
        call = await call_of(ear)
        assert (call["server_label"], call["name"], json.loads(call["output"])) == ("the shop", "add", 5)


async def test_two_servers_that_come_at_once_share_no_name(port: int) -> None:
    async with talking() as (ear, model):
        two = [shop(port, server_label=label, allowed_tools=["add"]) for label in ("one", "two")]
        await ear.do("update", tools=two)
        for _ in two:
            await ear.until("mcp_list_tools.completed")
        assert {*declared(model)} in ({"add", "one_add"}, {"add", "two_add"})
        assert "error" not in ear.types


async def test_a_server_that_is_named_no_more_takes_its_tools_with_it(port: int) -> None:
    async with talking() as (ear, model):
        for label in ("one", "two"):
            await ear.do("update", tools=[shop(port, server_label=label, allowed_tools=["add"])])
            await ear.until("mcp_list_tools.completed")
        await ear.do("update", tools=[shop(port, server_label="two", allowed_tools=["add"])])
        await ear.until("session.updated")
        await ear.do("update", instructions="Be brief.")
        await ear.until("session.updated")
        assert len(ear.only("mcp_list_tools.completed")) == 2, "what is the same is not connected again"
        await ear.do("update", tools=[])
        await ear.until("session.updated")
        await settled(lambda: not declared(model))
        assert "error" not in ear.types


async def test_a_secret_may_name_the_server(port: int) -> None:
    from openai import AsyncOpenAI

    model = ScriptedModel((asked(), called("add", a=2, b=3), asked(), Speak("Five.", 0.4)), strict=False)
    async with serving(lambda: RealtimeAgent("Friday", "", model), ALLOWED) as place:
        async with AsyncOpenAI(api_key="any", base_url=f"{place.url}/v1") as client:
            session: Any = {"type": "realtime", "tools": [shop(port, authorization="hush")]}
            made = await client.realtime.client_secrets.with_raw_response.create(session=session)
        assert "hush" not in made.text
        async with sdk(place, made.parse().value) as ear:
            await ear.until("mcp_list_tools.completed")
            # A page names the server by its label, as the SDK for agents does: it does not know the address.
            await ear.do("update", tools=[{"type": "mcp", "server_label": "shop", "require_approval": "always"}])
            await ear.until("session.updated")
            assert json.loads((await call_of(ear))["output"]) == 5
            assert "error" not in ear.types
            assert "hush" not in json.dumps(ear.frames)


def mcp_tasks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if "MCP" in task.get_name()]


async def test_the_connection_ends_with_the_call(port: int) -> None:
    async with serving(lambda: RealtimeAgent("Friday", "", ScriptedModel([], strict=False)), ALLOWED) as place:
        async with sdk(place) as ear:
            await ear.do("update", tools=[shop(port)])
            await ear.until("mcp_list_tools.completed")
            assert mcp_tasks()
        await settled(lambda: not mcp_tasks())


async def test_a_call_whose_client_asks_for_the_next_response_is_given_up(port: int) -> None:
    """As with the functions of the client: it says by this that it waits no longer."""
    script = (asked(), called("wait"), asked(), Speak("Never mind.", 0.4))
    async with talking(*script) as (ear, _):
        await ear.do("update", tools=[shop(port)])
        await ear.until("mcp_list_tools.completed")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert [(item["type"], item["output"]) for item in done["output"]] == [("mcp_call", None)]
        answer = await ear.answered()
        assert "response.mcp_call.failed" in ear.types
        assert [item["type"] for item in answer["output"]] == ["message"]


async def test_the_next_agent_of_a_call_has_the_servers_too(port: int) -> None:
    answers = (Speak("Hello.", 0.4), asked(), called("add", a=2, b=3), asked(), Speak("Five.", 0.4))
    ben = RealtimeAgent("Ben", "You are Ben.", ScriptedModel((asked(), *answers), strict=False))
    first = ScriptedModel((asked(), called("transfer_to_ben"), asked(), Speak("Ben comes.", 0.4)), strict=False)
    ann = RealtimeAgent("Ann", "", first, transfers=[ben])
    async with serving(lambda: ann, ALLOWED) as place, sdk(place) as ear:
        await ear.do("update", tools=[shop(port, allowed_tools=["add"])])
        await ear.until("mcp_list_tools.completed")
        await ear.say("Ben, please.")
        await ear.do("respond")
        while len(ear.only("mcp_list_tools.completed")) < 2 or len(ear.only("response.done")) < 2:
            await ear.next()
        assert json.loads((await call_of(ear))["output"]) == 5


async def test_the_name_of_a_server_that_is_gone_is_free_for_a_function(port: int) -> None:
    mine = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}
    async with talking(asked(), called("add")) as (ear, model):
        await ear.do("update", tools=[shop(port, allowed_tools=["add"])])
        await ear.until("mcp_list_tools.completed")
        await ear.do("update", tools=[])
        await settled(lambda: not declared(model))
        await ear.do("update", tools=[mine])
        assert [item["type"] for item in (await ear.answered())["output"]] == ["function_call"]


async def test_the_store_has_no_keys(port: int, tmp_path: Path) -> None:
    settings = dataclasses.replace(ALLOWED, store=f"sqlite:{tmp_path / 'calls.db'}")
    async with talking(asked(), called("add", a=2, b=3), asked(), Speak("Five.", 0.4), settings=settings) as (ear, _):
        await ear.do("update", tools=[shop(port, authorization="hush", headers={"X-Key": "hush"})])
        await ear.until("mcp_list_tools.completed")
        assert json.loads((await call_of(ear))["output"]) == 5
    kept = await asyncio.to_thread(lambda: b"".join(file.read_bytes() for file in tmp_path.iterdir()))
    assert b"mcp_list_tools" in kept
    assert b"hush" not in kept


async def test_who_names_a_server_without_its_address_gets_none(port: int) -> None:
    """A client of another protocol, by the label that another client has given."""
    agent = RealtimeAgent("Friday", "", ScriptedModel([], strict=False))
    async with serving(lambda: agent, ALLOWED) as place, sdk(place) as ear, place.client() as client:
        await ear.do("update", tools=[shop(port)])
        await ear.until("mcp_list_tools.completed")
        await client.send(create(hosted_tools=[{"kind": "mcp", "name": "shop"}]))
        assert (await client.until("agent_error"))["code"] == "unsupported_tool"


# -- what is not reached -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def closed_door() -> AsyncIterator[tuple[int, list[str]]]:
    """A port of loopback where HTTP lets no one in, and the heads that came there."""
    heads: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], heads


KEYS = [
    ({"authorization": "hush"}, "authorization: bearer hush"),
    ({"authorization": "Basic hush"}, "authorization: basic hush"),
    ({"headers": {"X-Key": "hush"}}, "x-key: hush"),
    ({"headers": {"Authorization": "Bearer hush"}}, "authorization: bearer hush"),
]


@pytest.mark.parametrize(("given", "sent"), KEYS)
async def test_the_keys_reach_the_server_alone(given: Json, sent: str, caplog: pytest.LogCaptureFixture) -> None:
    """Where it lets no one in, the tool is left out by name."""
    with caplog.at_level(logging.DEBUG):
        async with closed_door() as (port, heads), talking() as (ear, model):
            await ear.do("update", tools=[shop(port, **given), TOOL], instructions="Be brief.")
            error = (await ear.until("error"))["error"]
            assert (error["code"], "'shop'" in error["message"]) == ("unsupported_tool", True)
            assert heads
            assert all(f"\r\n{sent}\r\n" in head for head in heads)
            assert "mcp_list_tools.failed" in ear.types
            settings = received(model, base.SessionUpdate)[-1].settings
            assert (settings.instructions, [tool.name for tool in settings.tools]) == ("Be brief.", ["get_weather"])
            assert "hush" not in json.dumps(ear.frames)
    assert "hush" not in caplog.text


NOT_REACHED = [
    # hosts that are allowed, what the client says of the server, a word of why not
    ((), {}, "--allow-client-mcp"),
    (("mcp.example.org",), {}, "does not allow the host"),
    (("127.0.0.1:1",), {}, "does not allow the host"),
    (("mcp.example.org",), {"server_url": "http://mcp.example.org/mcp"}, "https"),
    (("mcp.example.org",), {"server_url": "https://mcp.example.org.evil.test/mcp"}, "does not allow the host"),
    (("mcp.example.org",), {"server_url": "https://mcp.example.org@evil.test/mcp"}, "does not allow the host"),
    (("mcp.example.org",), {"server_url": "https://evil.test\\@mcp.example.org/mcp"}, "no https address"),
    (("mcp.example.org",), {"server_url": "ftp://mcp.example.org/"}, "no https address"),
    (("mcp.example.org",), {"server_url": "mcp.example.org"}, "no https address"),
    (("mcp.example.org",), {"server_url": "https://[::1"}, "no https address"),
    (("mcp.example.org",), {"server_url": None}, "no server_url"),
    (("mcp.example.org",), {"server_url": None, "connector_id": "connector_gmail"}, "no server_url"),
    (("mcp.example.org",), {"server_url": 5}, "cannot be read"),
    (("127.0.0.1",), {"headers": "hush"}, "cannot be read"),
    (("127.0.0.1",), {"headers": {"X-Key": "hush\r\nHost: evil.test"}}, "headers"),
    (("127.0.0.1",), {"authorization": "h\u00fcsh"}, "headers"),
    (("127.0.0.1",), {"require_approval": "sometimes hush"}, "neither"),
    (("127.0.0.1",), {"allowed_tools": "hush"}, "cannot be read"),
    # Nothing listens there.
    (("127.0.0.1",), {"server_url": "http://127.0.0.1:9/mcp?key=hush"}, "reached"),
    (("no.such.host.invalid",), {"server_url": "https://no.such.host.invalid/mcp"}, ""),
]


@pytest.mark.parametrize(("hosts", "given", "why"), NOT_REACHED)
async def test_a_server_that_cannot_be_had_is_named_once_and_all_else_holds(
    hosts: tuple[str, ...], given: Json, why: str, port: int
) -> None:
    settings = ServerSettings(drain_s=0, client_mcp_hosts=hosts)
    async with talking(asked(), Speak("Yes.", 0.4), settings=settings) as (ear, model):
        for instructions in ("Be kind.", "Be brief."):
            await ear.do("update", tools=[shop(port, **given), TOOL], instructions=instructions)
            await ear.until("session.updated")
        while "error" not in ear.types:
            await ear.next()
        assert (await ear.answered())["status"] == "completed"
        (error,) = ear.only("error")
        assert error["error"]["code"] == "unsupported_tool"
        assert "'shop'" in error["error"]["message"]
        assert why in error["error"]["message"]
        settings_now = received(model, base.SessionUpdate)[-1].settings
        assert (settings_now.instructions, declared(model)) == ("Be brief.", ["get_weather"])
        told = json.dumps(ear.frames, ensure_ascii=False)
        assert not [secret for secret in ("hush", "h\u00fcsh") if secret in told]


ADDRESSES = [
    # hosts that are allowed, the URL, what its name leads to, whether it is dialled
    (["mcp.example.org"], "https://mcp.example.org/mcp", ["93.184.215.14"], True),
    (["MCP.example.org."], "https://mcp.EXAMPLE.org/mcp", ["2606:2800:21f:cb07:6820:80da:af6b:8b2c"], True),
    (["mcp.example.org:8443"], "https://mcp.example.org:8443/mcp", ["93.184.215.14"], True),
    (["mcp.example.org:8443"], "https://mcp.example.org/mcp", ["93.184.215.14"], False),
    (["mcp.example.org"], "http://mcp.example.org/mcp", ["93.184.215.14"], False),
    (["mcp.example.org"], "https://other.example.org/mcp", ["93.184.215.14"], False),
    *(
        (["mcp.example.org"], "https://mcp.example.org/mcp", [private], False)
        for private in (
            *("127.0.0.1", "10.0.0.5", "192.168.1.4", "172.16.0.9", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
            *("::1", "fe80::1%eth0", "fd00::1", "::ffff:127.0.0.1", "224.0.0.1"),
        )
    ),
    (["mcp.example.org"], "https://mcp.example.org/mcp", ["93.184.215.14", "10.0.0.5"], False),
    (["mcp.example.org", "10.0.0.5"], "https://mcp.example.org/mcp", ["10.0.0.5"], True),
    (["10.0.0.5"], "https://10.0.0.5/mcp", ["10.0.0.5"], True),
    (["10.0.0.5"], "http://10.0.0.5/mcp", ["10.0.0.5"], False),
    (["127.0.0.1"], "http://127.0.0.1:8000/mcp", ["127.0.0.1"], True),
    (["localhost"], "http://localhost:8000/mcp", ["::1", "127.0.0.1"], True),
    (["localhost"], "http://localhost:8000/mcp", ["10.0.0.5"], False),
    (["[::1]:8000"], "http://[::1]:8000/mcp", ["::1"], True),
    (["127.0.0.1"], "http://2130706433/mcp", ["127.0.0.1"], False),
    (["127.0.0.1"], "http://127.1/mcp", ["127.0.0.1"], False),
]


@pytest.mark.parametrize(("hosts", "url", "found", "is_dialled"), ADDRESSES)
async def test_a_host_leads_to_public_addresses_or_to_named_ones(
    hosts: list[str], url: str, found: list[str], is_dialled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2

    async def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, 0)) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    if is_dialled:
        assert await AllowedHosts(hosts).addresses(httpx2.URL(url)) == found
        return
    with pytest.raises(ToolError):
        await AllowedHosts(hosts).addresses(httpx2.URL(url))


async def test_a_redirect_of_an_allowed_host_is_not_followed(port: int) -> None:
    async def lead_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{port}/mcp\r\ncontent-length: 0\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(lead_on, "127.0.0.1", 0) as server, talking() as (ear, _):
        await ear.do("update", tools=[shop(server.sockets[0].getsockname()[1])])
        assert (await ear.until("error"))["error"]["code"] == "unsupported_tool"


@pytest.mark.parametrize("host", ["https://mcp.example.org", "*", "*.example.org", "", "a b", "h/x", "h:0", "h:99999"])
def test_what_is_no_host_is_refused_where_it_is_written(host: str) -> None:
    with pytest.raises(UsageError, match="is no host"):
        ServerSettings(client_mcp_hosts=(host,))
    run = CliRunner().invoke(command_line(["serve"]), ["serve", "--allow-client-mcp", host])
    assert run.exit_code != 0
    assert "is no host" in run.output + str(run.exception)
