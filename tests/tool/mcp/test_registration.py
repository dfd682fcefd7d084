"""Which functions of a server become tools: all, some, renamed, with consent, in a group; and out again."""

import asyncio
from typing import Any

import pytest

from realtime.errors import BadTool, UsageError, WrongTime
from realtime.message import ToolCallBlock
from realtime.tool import Toolkit, ToolResponse
from realtime.tool.mcp.stateful import FOLLOW_EVERY_S
from realtime.tool.output import Output
from tests.tool.mcp.scripted import ScriptedClient, ScriptedServer, tool, toolkit_of, tools_of

pytestmark = pytest.mark.virtual_time()

NAMES = ("read", "write", "wipe")
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "token": {"type": "string"}},
    "required": ["path", "token"],
}


def files() -> ScriptedServer:
    return ScriptedServer(
        [
            tool("read", SCHEMA, annotations={"readOnlyHint": True, "destructiveHint": True}, description="Reads."),
            tool("write", SCHEMA),
            tool("wipe", annotations={"destructiveHint": True}),
        ]
    )


async def run(toolkit: Toolkit, name: str, arguments: str = "{}") -> str:
    return (await toolkit.run(ToolCallBlock(id="1", name=name, input=arguments))).output_text()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, NAMES),
        ({"enable_funcs": ["read"]}, ("read",)),
        ({"disable_funcs": ["wipe", "no_such"]}, ("read", "write")),
        ({"prefix": "disk_"}, ("disk_read", "disk_write", "disk_wipe")),
        ({"renames": {"read": "look"}, "prefix": "d_"}, ("look", "d_write", "d_wipe")),
    ],
)
async def test_all_or_some_functions_are_tools_by_their_names_or_others(options: Any, names: tuple[str, ...]) -> None:
    server = files()
    async with tools_of(server, **options) as toolkit:
        assert tuple(toolkit.tools) == names
        first = toolkit.tools[names[0]]
        assert (first.source, first.mcp_name) == ("mcp_server", "scripted")
        assert [one["function"]["name"] for one in toolkit.json_schemas] == [*names]
        await run(toolkit, names[0], '{"path": "a", "token": "t"}')
    assert server.sent("tools/call")[0]["params"]["name"] == "read"


CHOICES: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({}, ["wipe"], ["read"]),
    ({"confirm": True}, [*NAMES], ["read"]),
    ({"confirm": False, "read_only": False}, [], []),
    ({"confirm": ["write"], "read_only": ["read", "wipe"]}, ["write"], ["read", "wipe"]),
]
EITHER = {"read": None, "write": None, "wipe": "either"}
CONSENTS: list[tuple[Any, dict[str, str | None]]] = [
    (None, EITHER),
    ("voice", {"read": "voice", "write": "voice", "wipe": "voice"}),
    ({"write": "voice"}, EITHER | {"write": "voice"}),
    ({"wipe": "card"}, EITHER | {"wipe": "card"}),
]


async def test_the_server_says_which_ask_and_which_change_nothing_unless_the_program_does() -> None:
    async with ScriptedClient(files()) as client:
        for options, confirm, read_only in CHOICES:
            tools = (await toolkit_of(client, **options)).tools.values()
            assert [one.name for one in tools if one.confirm] == confirm
            assert [one.name for one in tools if one.read_only] == read_only
            assert all(one.stops_with_reply for one in tools)
        for consent, asked in CONSENTS:
            toolkit = await toolkit_of(client, consent=consent)
            assert {one.name: one.consent for one in toolkit.tools.values()} == asked


async def test_in_a_group_with_presets_and_postprocessing() -> None:
    async def shout(call: ToolCallBlock, response: ToolResponse) -> ToolResponse:
        return Output().whole(response.text.upper())

    async with ScriptedClient(files()) as client:
        toolkit = Toolkit()
        toolkit.create_tool_group("disk", "Files.")
        presets = {"read": {"token": "secret"}}
        await toolkit.register_mcp_client(
            client, "disk", ["read"], preset_kwargs_mapping=presets, postprocess_func=shout
        )
        assert toolkit.json_schemas == []
        toolkit.update_tool_groups(["disk"], True)
        (schema,) = toolkit.json_schemas
        expected = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        assert schema["function"]["parameters"] == expected
        assert await run(toolkit, "read", '{"path": "a"}') == "{'PATH': 'A', 'TOKEN': 'SECRET'}"
        assert "missing required field `path`" in await run(toolkit, "read")


async def test_a_name_that_is_taken_adds_nothing_unless_a_strategy_says_more() -> None:
    async def write(path: str) -> str:
        """Write."""
        return "mine"

    async with ScriptedClient(files()) as client:
        toolkit = Toolkit([write])
        with pytest.raises(BadTool, match="'write' already: use `prefix`"):
            await toolkit.register_mcp_client(client)
        assert [*toolkit.tools] == ["write"]
        await toolkit.register_mcp_client(client, namesake_strategy="skip")
        assert await run(toolkit, "write", '{"path": "a"}') == "mine"
        await toolkit.remove_mcp_clients(["scripted"])
        assert [*toolkit.tools] == ["write"], "what was skipped is not removed"
        await toolkit.register_mcp_client(client, enable_funcs=["write"], namesake_strategy="rename")
        assert [one.startswith("write_") for one in toolkit.tools] == [False, True]
        await toolkit.register_mcp_client(client, enable_funcs=["write"], namesake_strategy="override")
        assert await run(toolkit, "write", '{"path": "a", "token": "t"}') == "{'path': 'a', 'token': 't'}"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"enable_funcs": ["read", "fly"]}, BadTool, "has no tool 'fly'"),
        ({"renames": {"fly": "soar"}}, BadTool, "has no tool 'fly'"),
        ({"confirm": ["fly"]}, BadTool, "has no tool 'fly'"),
        ({"consent": {"fly": "voice"}}, BadTool, "has no tool 'fly'"),
        ({"enable_funcs": ["read"], "disable_funcs": ["read"]}, UsageError, "'read' is both in"),
        ({"enable_funcs": "read"}, UsageError, "a list of names"),
        ({"preset_kwargs_mapping": [1]}, TypeError, "is a dict, not list"),
        ({"group_name": "none"}, BadTool, "no group of tools named 'none'"),
        ({"renames": {"read": "a b"}}, BadTool, "cannot name a tool"),
    ],
)
async def test_a_choice_that_cannot_be_met_is_refused_and_adds_nothing(options: Any, error: Any, words: str) -> None:
    async with ScriptedClient(files()) as client:
        toolkit = Toolkit()
        with pytest.raises(error, match=words):
            await toolkit.register_mcp_client(client, **options)
        assert [*toolkit.tools] == []


async def test_removing_a_client_ends_its_tools_and_its_changes_also_in_calls() -> None:
    server = files()
    async with ScriptedClient(server) as client:
        toolkit = await toolkit_of(client)
        in_call = toolkit.for_call()
        assert [*in_call.tools] == [*NAMES]
        await toolkit.remove_mcp_clients(["other"])
        assert [*in_call.tools] == [*NAMES]
        await toolkit.remove_mcp_clients(["scripted"])
        assert [[*one.tools] for one in (toolkit, in_call)] == [[], []]
        server.tools = [tool("new")]
        await client.list_tools()
        assert [*toolkit.tools] == []
        with pytest.raises(TypeError):
            await toolkit.remove_mcp_clients("scripted")


async def test_changes_keep_the_choice_of_the_program() -> None:
    async def mine() -> str:
        """Mine."""
        return "mine"

    server = files()
    async with ScriptedClient(server) as client:
        toolkit = Toolkit()
        toolkit.register(mine, name="d_taken")
        await toolkit.register_mcp_client(client, disable_funcs=["wipe"], prefix="d_", confirm=True)
        before = toolkit.tools["d_read"]
        server.tools = [
            server.tools[0],
            tool("write", description="Another."),
            tool("wipe"),
            tool("new"),
            tool("taken"),
        ]
        await client.list_tools()
        assert [*toolkit.tools] == ["d_taken", "d_read", "d_write", "d_new"]
        assert toolkit.tools["d_read"] is before
        assert toolkit.tools["d_write"].json_schema["function"]["description"] == "Another."
        assert toolkit.tools["d_new"].confirm
        assert await run(toolkit, "d_taken") == "mine"


async def test_a_server_takes_back_no_consent_that_it_has_asked_for() -> None:
    """It may ask for more; also not by removing the function and adding it again."""
    server = files()
    harmless, dangerous = {"readOnlyHint": True, "destructiveHint": False}, {"destructiveHint": True}

    async def hints(client: ScriptedClient, **annotations: Any) -> list[tuple[str, bool, bool]]:
        server.tools = [tool(name, annotations=one) for name, one in annotations.items()]
        await client.list_tools()
        return [(one.name, one.confirm, one.read_only) for one in toolkit.tools.values()]

    async with ScriptedClient(server) as client:
        toolkit = await toolkit_of(client)
        assert await hints(client, wipe=harmless, write=harmless) == [("write", False, False), ("wipe", True, False)]
        assert await hints(client, write=dangerous) == [("write", True, False)]
        expected = [("write", True, False), ("wipe", True, False), ("new", False, True)]
        assert await hints(client, write=harmless, wipe=harmless, new=harmless) == expected


async def test_functions_beyond_those_that_are_remembered_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("realtime.tool.mcp.registration.MAX_HINTS", 1)
    server = ScriptedServer([tool(name, annotations={"readOnlyHint": True}) for name in ("one", "two")])
    async with tools_of(server) as toolkit:
        assert [(one.confirm, one.read_only) for one in toolkit.tools.values()] == [(False, True), (True, False)]


async def test_a_server_that_has_other_tools_again_and_again_is_not_remembered_whole() -> None:
    server = files()
    async with ScriptedClient(server) as client:
        toolkit = await toolkit_of(client)
        for number in range(5):
            server.tools = [tool("read"), tool(f"new.{number}")]
            await client.list_tools()
        assert [*toolkit.tools] == ["read", "new_4"]
        (registration,) = toolkit._mcp
        assert registration._names == {"read": "read", "new.4": "new_4"}


async def test_a_listener_that_fails_keeps_no_one_from_following(caplog: pytest.LogCaptureFixture) -> None:
    def fail(tools: Any) -> None:
        raise KeyError("a secret")

    server = files()
    async with ScriptedClient(server) as client:
        toolkit = Toolkit()
        client.on_tools(fail)
        await toolkit.register_mcp_client(client)
        caplog.clear()
        for name in ("one", "two"):
            server.tools = [tool(name)]
            await server.say("notifications/tools/list_changed")
            await asyncio.sleep(2 * FOLLOW_EVERY_S)
            assert [*toolkit.tools] == [name]
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told == ["a listener to tools of the MCP server scripted failed: KeyError"] * 2


async def test_a_client_is_used_between_connect_and_close_only() -> None:
    client = ScriptedClient(files())
    for use in (client.list_tools, client.close, lambda: Toolkit().register_mcp_client(client)):
        with pytest.raises(WrongTime, match="not connected"):
            await use()
    assert not client.is_connected
    await client.connect()
    assert client.is_connected
    with pytest.raises(WrongTime, match="already connected"):
        await client.connect()
    toolkit = await toolkit_of(client)
    await client.close()
    with pytest.raises(WrongTime, match="not connected"):
        await client.close()
    with pytest.raises(RuntimeError):
        await client.list_tools()
    assert "WrongTime" in await run(toolkit, "wipe")
    await client.connect()
    assert await run(toolkit, "wipe") == "{}"
    await client.close()
    assert client.server.n_dialled == 2


async def test_a_long_description_is_cut_for_models_unless_the_program_gives_one() -> None:
    server = ScriptedServer([tool("read", description="x" * 5_000)])
    async with ScriptedClient(server) as client:
        toolkit = await toolkit_of(client)
        read = await client.get_callable_function("read")
        assert len(read.description) == 5_000
        toolkit.register_tool_function(read, func_name="mine", func_description="y" * 2_000)
        assert [len(one["function"]["description"]) for one in toolkit.json_schemas] == [1_024, 2_000]


async def test_clients_close_in_any_order() -> None:
    first, second = ScriptedClient(files(), "first"), ScriptedClient(files(), "second")
    await first.connect()
    await second.connect()
    await first.close()
    assert len(await second.list_tools()) == 3
    await second.close(ignore_errors=False)


async def test_one_function_is_an_object_that_is_called_alone() -> None:
    async with ScriptedClient(files()) as client:
        read = await client.get_callable_function("read", execution_timeout=5)
        assert (read.name, read.description, read.mcp_name) == ("read", "Reads.", "scripted")
        response = await read(path="a", token="t", self=1, context=2)
        assert response.text == "{'path': 'a', 'token': 't', 'self': 1, 'context': 2}"
        raw = await (await client.get_callable_function("read", wrap_tool_result=False))(path="a")
        assert raw.content[0].text == "{'path': 'a'}"
        with pytest.raises(BadTool, match="has no tool 'fly'"):
            await client.get_callable_function("fly")
        toolkit = Toolkit([read])
        assert (toolkit.tools["read"].read_only, toolkit.tools["read"].mcp_name) == (True, "scripted")
        toolkit.register_tool_function(read, func_name="look")
        assert await run(toolkit, "look", '{"path": "b", "token": "t"}') == "{'path': 'b', 'token': 't'}"
