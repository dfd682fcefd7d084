"""`ToolContext`: what a tool is given of its call, and what it may report."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from realtime.errors import BadTool
from realtime.message import ToolCallBlock
from realtime.tool import ToolContext, Toolkit
from realtime.tool.context import MAX_NOTES, NOTE_CHARS, ToolScope

pytestmark = pytest.mark.virtual_time()


@dataclass
class Cart:
    goods: list[str] = field(default_factory=list)


def put(good: str, shop: ToolContext[Cart]) -> str:
    """Put something into the cart."""
    shop.state.goods.append(good)
    return ", ".join(shop.state.goods)


async def count(context: ToolContext[Cart] | None = None) -> int:
    """Count what is in the cart."""
    assert context is not None
    return len(context.state.goods)


async def run(toolkit: Toolkit, name: str, text: str = "{}") -> Any:
    return (await toolkit.run(ToolCallBlock(id="call_1", name=name, input=text))).output


async def test_the_model_neither_sees_nor_gives_the_context() -> None:
    def annotated(context: Annotated[ToolContext, "the call"]) -> None: ...  # type: ignore[type-arg]

    toolkit = Toolkit([put, count, annotated])
    parameters = [tool.parameters for tool in toolkit.declarations()]
    assert parameters[0] == {"type": "object", "properties": {"good": {"type": "string"}}, "required": ["good"]}
    assert parameters[1] == parameters[2] == {"type": "object", "properties": {}}
    assert "unknown field `shop`" in await run(toolkit, "put", '{"good": "tea", "shop": {}}')


async def test_tools_of_a_call_share_a_typed_state_and_without_one_the_toolkit_has_it() -> None:
    toolkit = Toolkit([put, count])
    one, other = ToolScope(call_id="call_a"), ToolScope(call_id="call_b")
    for scope, good in ((one, "tea"), (one, "milk"), (other, "rice")):
        with scope.in_force():
            await run(toolkit, "put", f'{{"good": "{good}"}}')
    with one.in_force():
        assert await run(toolkit, "count") == "2"
    assert other.state_of(Cart).goods == ["rice"]
    await run(toolkit, "put", '{"good": "tea"}')
    assert (await run(toolkit, "count"), await run(toolkit.for_call(), "count")) == ("1", "0")


async def test_a_context_without_a_class_has_a_dict_as_its_state() -> None:
    def remember(context: ToolContext) -> str:  # type: ignore[type-arg]
        context.state["n"] = context.state.get("n", 0) + 1
        return f"{context.state['n']}"

    toolkit = Toolkit([remember])
    assert [await run(toolkit, "remember") for _ in range(2)] == ["1", "2"]


async def test_the_context_names_call_user_and_agent() -> None:
    def who(context: ToolContext[Any]) -> str:
        return f"{context.call_id} {context.user_id} {context.agent_name} {context.tool_call_id}"

    with ToolScope("call_a", "ann", "Friday").in_force():
        assert await run(Toolkit([who]), "who") == "call_a ann Friday call_1"
    assert await run(Toolkit([who]), "who") == "   call_1"


async def test_what_a_tool_says_and_reports_goes_to_the_call() -> None:
    said: list[str] = []
    reported: list[tuple[str, str]] = []

    async def look(context: ToolContext[Any]) -> AsyncGenerator[str, None]:
        context.say("One moment.")
        context.progress("opening the register")
        yield "found"

    with ToolScope(say=said.append, progress=lambda text, kind: reported.append((text, kind))).in_force():
        assert await run(Toolkit([look]), "look") == "found"
    assert said == ["One moment."]
    assert reported == [("opening the register", "note"), ("found", "result")]


async def test_without_a_call_notes_are_in_the_metadata_and_words_are_dropped() -> None:
    def look(context: ToolContext[Any]) -> str:
        context.say("One moment.")
        context.progress("opening the register")
        context.progress("")
        return "found"

    (response,) = [one async for one in Toolkit([look]).call_tool_function(ToolCallBlock(id="c1", name="look"))]
    assert (response.text, response.metadata) == ("found", {"progress": ["opening the register"]})


async def test_a_tool_that_reports_without_end_is_bounded() -> None:
    reported: list[str] = []

    def look(context: ToolContext[Any]) -> None:
        for _ in range(MAX_NOTES + 10):
            context.progress("x" * (NOTE_CHARS + 10))

    with ToolScope(progress=lambda text, _: reported.append(text)).in_force():
        await run(Toolkit([look]), "look")
    assert len(reported) == MAX_NOTES
    assert {len(text) for text in reported} == {NOTE_CHARS}


async def test_the_tools_of_an_agent_behind_a_tool_have_the_same_call() -> None:
    inner = Toolkit([put])

    async def ask_shop(context: ToolContext[Cart]) -> str:
        call = ToolCallBlock(id="inner", name="put", input='{"good": "tea"}')
        answers = [one.text async for one in inner.call_tool_function(call)]
        return f"{answers[-1]}: {len(context.state.goods)}"

    with ToolScope(call_id="call_a").in_force():
        assert await run(Toolkit([ask_shop]), "ask_shop") == "tea: 1"


def test_a_state_that_is_no_class_is_refused() -> None:
    def tool(context: ToolContext["Cart | None"]) -> None: ...

    with pytest.raises(BadTool, match="the state of a ToolContext is an object of a class"):
        Toolkit([tool])


async def test_a_given_schema_leaves_the_context_to_the_program() -> None:
    schema = {"type": "function", "function": {"name": "put", "parameters": {"properties": {"good": {}}}}}
    toolkit = Toolkit()
    toolkit.register_tool_function(put, json_schema=schema)
    assert await run(toolkit, "put", '{"good": "tea"}') == "tea"


def test_a_thread_reports_on_the_thread_of_the_loop() -> None:
    threads: list[str] = []

    def look(context: ToolContext[Any]) -> str:
        context.progress("a note")
        return threading.current_thread().name

    async def call() -> Any:
        with ToolScope(progress=lambda *_: threads.append(threading.current_thread().name)).in_force():
            return await run(Toolkit([look]), "look")

    assert asyncio.run(call()) == "tool look"
    assert threads == ["MainThread"]


async def test_until_a_call_may_act_only_tools_run_that_change_nothing() -> None:
    decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ran: list[str] = []

    async def look() -> None:
        """Look."""
        ran.append("look")

    async def order() -> None:
        """Order."""
        ran.append("order")

    toolkit = Toolkit([order])
    toolkit.register_tool_function(look, read_only=True)
    with ToolScope(may_act=lambda: asyncio.shield(decided)).in_force():
        running = [asyncio.create_task(toolkit.run(ToolCallBlock(id=name, name=name))) for name in ("order", "look")]
    await asyncio.sleep(1)
    assert ran == ["look"]
    decided.set_result(None)
    assert [(await one).state for one in running] == ["success", "success"]
    assert ran == ["look", "order"]


async def test_each_tool_call_may_have_a_scope_of_its_own() -> None:
    """What a tool reports, and the pieces of its result, go to the scope of its call."""
    reported: list[tuple[str, str, str]] = []

    async def look(context: ToolContext) -> AsyncGenerator[str, None]:
        """Look."""
        context.progress("the door opens")
        yield "a table"

    def of_call(tool_call: ToolCallBlock) -> ToolScope:
        return ToolScope(progress=lambda text, kind: reported.append((tool_call.id, kind, text)))

    toolkit = Toolkit([look])
    with ToolScope(of_call=of_call).in_force():
        async for _ in toolkit.call_tool_function(ToolCallBlock(id="call_1", name="look")):
            pass
    assert reported == [("call_1", "note", "the door opens"), ("call_1", "result", "a table")]
