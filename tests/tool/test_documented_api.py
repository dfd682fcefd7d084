"""The toolkit's API as AgentScope documents it: registering, groups, the meta tool, middlewares, responses."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import pydantic
import pytest

from realtime.errors import BadTool, UsageError
from realtime.message import DataBlock, TextBlock, ToolCallBlock
from realtime.module import StateModule
from realtime.tool import Toolkit, ToolResponse

pytestmark = pytest.mark.virtual_time()


def search(query: str, limit: int = 3) -> ToolResponse:
    """Search the library.

    It knows books only.

    Args:
        query (`str`): What to look for.
        limit (`int`, defaults to `3`): How many.
    """
    return ToolResponse([TextBlock(text=f"{query}, at most {limit}")])


def collect(*words: str, **options: int) -> ToolResponse:
    """Collect."""
    return ToolResponse([TextBlock(text=f"{words} {options}")])


def call_of(name: str, text: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(id="call_1", name=name, input=text)


async def responses(toolkit: Toolkit, name: str, text: str = "{}") -> list[ToolResponse]:
    return [response async for response in await toolkit.call_tool_function(call_of(name, text))]


async def text_of(toolkit: Toolkit, name: str, text: str = "{}") -> str:
    return (await responses(toolkit, name, text))[-1].text


def schema(name: str, description: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties} | ({"required": [*required]} if required else {})
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


QUERY = {"type": "string", "description": "What to look for."}
LIMIT = {"type": "integer", "description": "How many.", "default": 3}
SEARCH = schema("search", "Search the library.\nIt knows books only.", {"query": QUERY, "limit": LIMIT}, "query")


async def test_a_tool_has_a_schema_for_chat_models_and_its_responses_are_read_with_and_without_await() -> None:
    toolkit = Toolkit()
    toolkit.register_tool_function(search)
    assert toolkit.get_json_schemas() == toolkit.json_schemas == [SEARCH]
    assert toolkit.tools["search"].json_schema == SEARCH
    call = call_of("search", '{"query": "tea"}')
    awaited = [one.text async for one in await toolkit.call_tool_function(call)]
    plain = [one.text async for one in toolkit.call_tool_function(call)]
    assert awaited == plain == ["tea, at most 3"]


async def test_preset_arguments_and_those_of_a_partial_are_hidden_and_cannot_be_given() -> None:
    toolkit = Toolkit()
    toolkit.register_tool_function(search, preset_kwargs={"limit": 7})
    toolkit.register_tool_function(partial(search, "tea"), func_name="tea")
    preset, filled_in = (one["function"]["parameters"]["properties"] for one in toolkit.json_schemas)
    assert (preset, [*filled_in]) == ({"query": QUERY}, ["limit"])
    assert await text_of(toolkit, "search", '{"query": "tea"}') == "tea, at most 7"
    assert "unknown field `limit`" in await text_of(toolkit, "search", '{"query": "tea", "limit": 1}')
    assert await text_of(toolkit, "tea", '{"limit": 1}') == "tea, at most 1"


def test_name_and_description_can_be_given() -> None:
    long = "Search the library.\nIt knows books only."
    cases: list[tuple[dict[str, Any], tuple[str, str]]] = [
        ({"func_name": "find"}, ("find", long)),
        ({"func_description": "Find."}, ("search", "Find.")),
        ({"include_long_description": False}, ("search", "Search the library.")),
    ]
    for options, (name, description) in cases:
        toolkit = Toolkit()
        toolkit.register_tool_function(search, **options)
        function = toolkit.json_schemas[0]["function"]
        assert (function["name"], function["description"]) == (name, description)
        assert toolkit.tools[name].original_name == ("search" if name == "find" else None)


async def test_variadic_arguments_are_left_out_or_an_array_and_an_object() -> None:
    def order(first: int, second: int = 2, *more: int) -> str:
        return f"{first} {second} {more}"

    toolkit = Toolkit()
    toolkit.register_tool_function(collect, func_name="nothing")
    toolkit.register_tool_function(collect, include_var_positional=True, include_var_keyword=True)
    nothing, everything = (one["function"]["parameters"]["properties"] for one in toolkit.json_schemas)
    assert nothing == {}
    assert everything == {
        "words": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    assert await text_of(toolkit, "collect", '{"words": ["a", "b"], "options": {"n": 1}}') == "('a', 'b') {'n': 1}"
    assert await text_of(toolkit, "nothing") == "() {}"
    toolkit.register_tool_function(order, include_var_positional=True)
    assert await text_of(toolkit, "order", '{"first": 1, "more": [3, 4]}') == "1 2 (3, 4)", "each in its place"
    assert await text_of(toolkit, "order", '{"first": 1}') == "1 2 ()"


async def test_a_given_schema_replaces_that_of_the_signature() -> None:
    given = schema("old", "Given.", {"query": {"type": "string"}, "limit": {"type": "integer"}}, "query", "limit")
    toolkit = Toolkit()
    toolkit.register_tool_function(search, json_schema=given, func_name="find", preset_kwargs={"limit": 1})
    assert toolkit.json_schemas == [schema("find", "Given.", {"query": {"type": "string"}}, "query")]
    assert given["function"]["name"] == "old"
    assert await text_of(toolkit, "find", '{"query": "tea"}') == "tea, at most 1"
    assert await text_of(toolkit, "find") == "The arguments of find are wrong: Object missing required field `query`"
    assert "not valid JSON" in await text_of(toolkit, "find", "{")
    assert "Expected `object`, got `list`" in await text_of(toolkit, "find", '["tea"]')
    assert "unknown field `town`" in await text_of(toolkit, "find", '{"query": "tea", "town": "Oslo"}')


def test_another_schema_is_refused() -> None:
    wrong: list[Any] = ["text", {"function": {}}, {"type": "function"}, {"type": "object", "function": {}}]
    for given in wrong:
        with pytest.raises(BadTool, match="json_schema is"):
            Toolkit().register_tool_function(search, json_schema=given)


def test_a_name_that_is_taken_is_refused_skipped_replaced_or_made_unique() -> None:
    def other() -> str:
        """Other."""
        return "other"

    toolkit = Toolkit([search])
    with pytest.raises(ValueError, match="there is a tool named 'search' already"):
        toolkit.register_tool_function(other, func_name="search")
    toolkit.register_tool_function(other, func_name="search", namesake_strategy="skip")
    assert toolkit.tools["search"].original_func is search
    toolkit.register_tool_function(other, func_name="search", namesake_strategy="rename")
    _, renamed = toolkit.tools
    assert renamed.startswith("search_")
    assert toolkit.json_schemas[1]["function"]["name"] == renamed
    assert toolkit.tools[renamed].original_name == "other"
    toolkit.register_tool_function(other, func_name="search", namesake_strategy="override")
    assert [*toolkit.tools] == ["search", renamed]
    assert toolkit.tools["search"].original_func is other
    with pytest.raises(BadTool, match="there is no strategy 'guess'"):
        toolkit.register_tool_function(other, func_name="search", namesake_strategy="guess")  # type: ignore[arg-type]


def test_a_tool_can_be_removed() -> None:
    toolkit = Toolkit([search])
    toolkit.remove_tool_function("search")
    toolkit.remove_tool_function("search")
    assert toolkit.tools == {}
    with pytest.raises(ValueError, match="there is no tool named 'search'"):
        toolkit.remove_tool_function("search", allow_not_exist=False)


class Place(pydantic.BaseModel):
    """Where."""

    city: str


class Summary(pydantic.BaseModel):
    text: str = pydantic.Field(description="The whole text.")
    place: Place | None = None


async def test_an_extended_model_adds_fields_that_the_function_gets_as_they_come() -> None:
    taken: list[dict[str, Any]] = []

    def finish(response: str, **fields: Any) -> str:
        """Finish."""
        taken.append(fields)
        return response

    toolkit = Toolkit()
    toolkit.register_tool_function(finish)
    toolkit.set_extended_model("finish", Summary)
    parameters = toolkit.json_schemas[0]["function"]["parameters"]
    assert parameters["required"] == ["response", "text"]
    assert parameters["properties"]["text"] == {"type": "string", "description": "The whole text."}
    assert "$ref" not in str(parameters)
    await responses(toolkit, "finish", '{"response": "ok", "text": "t", "place": {"city": "Oslo"}}')
    assert taken == [{"text": "t", "place": {"city": "Oslo"}}]
    toolkit.set_extended_model("finish", None)
    assert "text" not in toolkit.json_schemas[0]["function"]["parameters"]["properties"]
    assert "unknown field `text`" in await text_of(toolkit, "finish", '{"response": "ok", "text": "t"}')


def test_an_extended_model_has_to_fit() -> None:
    class Clash(pydantic.BaseModel):
        query: str

    toolkit = Toolkit([search])
    with pytest.raises(ValueError, match="tool 'search' has a parameter 'query' already"):
        toolkit.set_extended_model("search", Clash)
    with pytest.raises(ValueError, match="there is no tool named 'find'"):
        toolkit.set_extended_model("find", Summary)
    with pytest.raises(TypeError, match="a class of pydantic"):
        toolkit.set_extended_model("search", dict)
    text = "Search the library.\n\nIt knows books only."
    assert toolkit.json_schemas == [schema("search", text, {"query": QUERY, "limit": LIMIT}, "query")]


async def test_a_postprocessing_function_may_replace_the_response_or_fail() -> None:
    seen: list[str] = []

    def plain(call: ToolCallBlock, response: ToolResponse) -> ToolResponse | None:
        seen.append(call.name)
        return ToolResponse([*response.content, TextBlock(text="!")]) if len(seen) % 2 else None

    async def asynchronous(call: ToolCallBlock, response: ToolResponse) -> ToolResponse | None:
        return plain(call, response)

    def broken(call: ToolCallBlock, response: ToolResponse) -> None:
        raise ValueError("no")

    for function in (plain, asynchronous):
        toolkit = Toolkit()
        toolkit.register_tool_function(search, postprocess_func=function)
        texts = [await text_of(toolkit, "search", '{"query": "tea"}') for _ in range(2)]
        assert texts == ["tea, at most 3!", "tea, at most 3"]
    toolkit = Toolkit()
    toolkit.register_tool_function(search, postprocess_func=broken)
    (*_, last) = await responses(toolkit, "search", '{"query": "tea"}')
    assert (last.state, last.text) == ("error", "tea, at most 3search failed: ValueError: no")


def grouped() -> Toolkit:
    toolkit = Toolkit()
    toolkit.create_tool_group("books", "Tools for books.", notes="Ask for the title.")
    toolkit.create_tool_group("maps", "Tools for maps.", active=True)
    toolkit.register_tool_function(search, group_name="books")
    toolkit.register(collect_nothing, group="maps")
    return toolkit


def collect_nothing() -> str:
    """Collect."""
    return "nothing"


def names(toolkit: Toolkit) -> list[str]:
    assert [tool.name for tool in toolkit.declarations()] == [one["function"]["name"] for one in toolkit.json_schemas]
    return [tool.name for tool in toolkit.declarations()]


async def test_tools_of_a_group_are_there_while_it_is_active() -> None:
    toolkit = grouped()
    assert names(toolkit) == ["collect_nothing"]
    assert await text_of(toolkit, "search", '{"query": "tea"}') == (
        "FunctionInactiveError: The function 'search' is in the inactive group 'books'. Activate the tool group by "
        "calling 'reset_equipped_tools' first to use this tool."
    )
    toolkit.update_tool_groups(["books", "nowhere", "basic"], active=True)
    assert names(toolkit) == ["search", "collect_nothing"]
    toolkit.update_tool_groups(["maps"], active=False)
    assert names(toolkit) == ["search"]
    assert await text_of(toolkit, "search", '{"query": "tea"}') == "tea, at most 3"


def test_a_tool_of_an_inactive_group_asks_for_nothing() -> None:
    toolkit = Toolkit()
    toolkit.create_tool_group("pay", "Tools that pay.")
    toolkit.register(collect_nothing, group="pay", confirm=True)
    assert not toolkit.decide(call_of("collect_nothing")).asks
    toolkit.update_tool_groups(["pay"], active=True)
    assert toolkit.decide(call_of("collect_nothing")).asks


def test_a_group_is_removed_with_its_tools_and_all_of_them_are_cleared() -> None:
    toolkit = grouped()
    toolkit.remove_tool_groups("books")
    assert [*toolkit.tools] == ["collect_nothing"]
    toolkit.remove_tool_groups(["maps", "nowhere"])
    assert (toolkit.tools, toolkit.groups) == ({}, {})
    toolkit = grouped()
    toolkit.clear()
    assert (len(toolkit), toolkit.groups, toolkit.json_schemas) == (0, {}, [])


def test_a_single_group_may_be_named_by_its_text() -> None:
    toolkit = grouped()
    toolkit.update_tool_groups("books", active=True)
    toolkit.update_tool_groups("maps", active=True)
    assert toolkit.active_groups == ["books", "maps"]
    toolkit.update_tool_groups("books", active=False)
    assert toolkit.active_groups == ["maps"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda toolkit: toolkit.update_tool_groups(["bok"], True),
            "no group of tools named 'bok': is 'books' meant?",
        ),
        (
            lambda toolkit: toolkit.update_tool_groups("mps", False),
            "no group of tools named 'mps': is 'maps' meant?",
        ),
        (lambda toolkit: toolkit.remove_tool_groups(["books", "xyz"]), "no group of tools named 'xyz'"),
        (lambda toolkit: toolkit.remove_tool_function("serch"), "no tool named 'serch': is 'search' meant?"),
        (lambda toolkit: toolkit.remove_tool_function("xyz"), "no tool named 'xyz'"),
    ],
)
def test_a_name_that_names_nothing_is_in_the_log_once(
    change: Callable[[Toolkit], None], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    toolkit = grouped()
    in_call = toolkit.for_call()
    change(toolkit)
    assert caplog.messages == [f"there is {told}"]
    assert len(in_call) == len(toolkit)


@pytest.mark.parametrize("names", [[1], [None, "books"]])
def test_what_is_no_name_activates_no_group(names: Any) -> None:
    toolkit = grouped()
    before = toolkit.active_groups
    with pytest.raises(TypeError, match="group_names is a list of names"):
        toolkit.update_tool_groups(names, active=True)
    assert toolkit.active_groups == before


REFUSED: list[tuple[Callable[[Toolkit], object], type[Exception], str]] = [
    (lambda toolkit: toolkit.create_tool_group("books", ""), ValueError, "a group of tools named 'books' already"),
    (lambda toolkit: toolkit.create_tool_group("basic", ""), ValueError, "a group of tools named 'basic' already"),
    (lambda toolkit: toolkit.register_tool_function(print, group_name="x"), ValueError, "no group of tools"),
    (lambda toolkit: toolkit.remove_tool_groups(["basic"]), ValueError, "'basic' is always there"),
    (lambda toolkit: toolkit.remove_tool_groups([1]), TypeError, "a list of names"),  # type: ignore[list-item]
]


def test_what_groups_cannot_do_is_refused() -> None:
    for act, error, sentence in REFUSED:
        with pytest.raises(error, match=sentence):
            act(grouped())


async def test_the_meta_tool_sets_which_groups_are_active_and_tells_their_notes() -> None:
    toolkit = grouped()
    toolkit.register_tool_function(toolkit.reset_equipped_tools)
    meta = toolkit.json_schemas[-1]["function"]
    assert meta["parameters"]["properties"] == {
        "books": {"type": "boolean", "description": "Tools for books.", "default": False},
        "maps": {"type": "boolean", "description": "Tools for maps.", "default": False},
    }
    assert "absolute final state" in meta["description"]

    assert await text_of(toolkit, "reset_equipped_tools", '{"books": true}') == (
        "Now tool groups 'books' are activated. You MUST follow these notes to use these tools:\n"
        "<notes>## About Tool Group 'books'\nAsk for the title.</notes>"
    )
    assert names(toolkit) == ["search", "reset_equipped_tools"]
    assert await text_of(toolkit, "reset_equipped_tools", '{"maps": true, "books": false}') == (
        "Now tool groups 'maps' are activated."
    )
    assert names(toolkit) == ["collect_nothing", "reset_equipped_tools"]
    assert await text_of(toolkit, "reset_equipped_tools") == "All tool groups are now deactivated currently."
    assert names(toolkit) == ["reset_equipped_tools"]


async def test_each_call_has_active_groups_of_its_own_and_wrong_arguments_change_nothing() -> None:
    toolkit = grouped()
    toolkit.register_tool_function(toolkit.reset_equipped_tools)
    one, other = toolkit.for_call(), toolkit.for_call()
    assert "books is true or false, not str" in await text_of(one, "reset_equipped_tools", '{"books": "yes"}')
    assert "unknown field `ships`" in await text_of(one, "reset_equipped_tools", '{"ships": true}')
    assert one.active_groups == ["maps"]
    await responses(one, "reset_equipped_tools", '{"books": true}')
    assert [made.active_groups for made in (toolkit, one, other)] == [["maps"], ["books"], ["maps"]]


def test_the_state_is_which_groups_are_active() -> None:
    """SES-02: Toolkit is a StateModule."""
    toolkit = grouped()
    assert isinstance(toolkit, StateModule)
    assert toolkit.state_dict() == {"active_groups": ["maps"]}
    toolkit.load_state_dict({"active_groups": ["books", "long_gone"]})
    assert names(toolkit) == ["search"]
    assert toolkit.state_dict() == {"active_groups": ["books"]}


NextHandler = Callable[..., Any]


async def test_middlewares_wrap_the_call_the_first_one_outermost() -> None:
    def middleware(name: str) -> Any:
        async def wrap(kwargs: dict[str, Any], next_handler: NextHandler) -> AsyncGenerator[ToolResponse, None]:
            call = kwargs["tool_call"]
            changed = call.arguments["query"] + f"[before {name}]"
            kwargs["tool_call"] = ToolCallBlock(id=call.id, name=call.name, input=f'{{"query": "{changed}"}}')
            async for response in await next_handler(**kwargs):
                yield ToolResponse([TextBlock(text=f"{response.text}[after {name}]")])

        return wrap

    toolkit = Toolkit([search])
    toolkit.register_middleware(middleware("1"))
    toolkit.register_middleware(middleware("2"))
    text = "tea[before 1][before 2], at most 3[after 2][after 1]"
    assert await text_of(toolkit, "search", '{"query": "tea"}') == text
    result = await toolkit.run(call_of("search", '{"query": "tea"}'))
    assert result.output_text() == text


async def test_a_middleware_may_answer_by_itself_fail_or_give_nothing() -> None:
    called: list[str] = []

    def tool() -> None:
        called.append("tool")

    async def guard(kwargs: dict[str, Any], next_handler: NextHandler) -> AsyncGenerator[ToolResponse, None]:
        if kwargs["tool_call"].id == "bad":
            raise LookupError("no such user")
        if kwargs["tool_call"].id != "none":
            yield ToolResponse([TextBlock(text="not now")])

    toolkit = Toolkit([tool])
    toolkit.register_middleware(guard)
    results = [await toolkit.run(ToolCallBlock(id=one, name="tool")) for one in ("call_1", "bad", "none")]
    assert [(result.output_text(), str(result.state)) for result in results] == [
        ("not now", "success"),
        ("a middleware failed: LookupError: no such user", "error"),
        ("tool gave no result: a middleware dropped it", "error"),
    ]
    assert called == []


async def test_closing_the_responses_ends_a_tool_behind_a_middleware() -> None:
    ended: list[str] = []

    async def tool() -> AsyncGenerator[str, None]:
        try:
            while True:
                yield "more"
                await asyncio.sleep(1)
        finally:
            ended.append("tool")

    async def wrap(kwargs: dict[str, Any], next_handler: NextHandler) -> AsyncGenerator[ToolResponse, None]:
        async for response in await next_handler(**kwargs):
            yield response

    toolkit = Toolkit([tool])
    toolkit.register_middleware(wrap)
    stream = toolkit.call_tool_function(call_of("tool"))
    async for response in stream:
        if len(response.text) > 8:
            break
    await stream.aclose()
    await asyncio.get_running_loop().settle()  # type: ignore[attr-defined]
    assert ended == ["tool"]


def test_a_copy_follows_what_the_program_changes_and_changes_nothing_itself() -> None:
    toolkit = grouped()
    made = toolkit.for_call()
    changes: list[str] = []
    end = made.on_change(lambda: changes.append("change"))
    toolkit.register(collect_nothing, name="late")
    toolkit.create_tool_group("ships", "Tools for ships.")
    toolkit.update_tool_groups(["books"], active=True)
    assert len(changes) == 3
    assert names(made) == ["search", "collect_nothing", "late"]
    assert "ships" in made.groups
    toolkit.remove_tool_function("late")
    toolkit.remove_tool_groups("ships")
    toolkit.set_extended_model("search", Summary)
    assert names(made) == names(toolkit) == ["search", "collect_nothing"]
    assert "ships" not in made.groups
    assert made.json_schemas == toolkit.json_schemas

    made.register(collect_nothing, name="mine")
    made.remove_tool_function("search")
    assert names(toolkit) == ["search", "collect_nothing"]
    toolkit.register(collect_nothing, name="mine")
    end()
    told = len(changes)
    toolkit.clear()
    assert (names(made), len(changes)) == ([], told)


async def test_blocks_may_be_those_of_agentscope_1() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}}

    def show(day: str) -> ToolResponse:
        """Show a day."""
        return ToolResponse(content=[{"type": "text", "text": day}, picture])  # type: ignore[list-item]

    toolkit, call = Toolkit([show]), {"type": "tool_use", "id": "c", "name": "show", "input": {"day": "Friday"}}
    (response,) = [one async for one in toolkit.call_tool_function(call)]
    text, shown = response.content
    assert isinstance(text, TextBlock)
    assert text.text == "Friday"
    assert isinstance(shown, DataBlock)
    assert shown.source.media_type == "image/png"
    with pytest.raises(UsageError, match="not text"):
        toolkit.call_tool_function({"type": "text", "text": "x"})
    with pytest.raises(TypeError, match="text and data blocks"):
        ToolResponse(content=[{"type": "thinking", "thinking": "x"}])  # type: ignore[list-item]
