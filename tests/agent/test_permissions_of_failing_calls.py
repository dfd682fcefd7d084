"""A call that was decided as one that fails runs nothing, whatever has changed by the time that it would run."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from realtime.event import ServerEvents
from realtime.event import client as c
from realtime.message import PermissionRule, ToolCallBlock
from realtime.permission import PermissionEngine
from realtime.tool import Toolkit, ToolResponse
from realtime.tool.groups import RESET_TOOLS
from tests.agent.fakes import alone, call
from tests.agent.test_confirmation import asked, errors
from tests.agent.test_permissions import ASK, DENY, accepts, rule
from tests.agent.test_run_hooks import ask as asks_alone
from tests.agent.test_run_hooks import results as results_alone
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import HELLO, react
from tests.agent.thinking import call as thinks
from tests.agent.thinking import say as says
from tests.agent.voice import COSTS, talk

pytestmark = pytest.mark.virtual_time(costs=COSTS)


class Bank:
    """A tool that waits for consent, in a group that the model switches on, and what it did."""

    def __init__(self, *rules: PermissionRule) -> None:
        self.paid: list[int] = []
        self.tools = Toolkit(permissions=PermissionEngine(rules))
        self.tools.create_tool_group("bank", "Money.")
        self.tools.register(self.pay, group="bank", confirm=True)
        self.tools.register_tool_function(self.tools.reset_equipped_tools)

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return "paid"


async def late(kwargs: dict[str, Any], handler: Callable[..., Awaitable[Any]]) -> AsyncGenerator[ToolResponse, None]:
    """Hold up a payment until the group is active."""
    if kwargs["tool_call"].name in ("pay", "wipe"):
        await asyncio.sleep(0.05)
    async for one in await handler(**kwargs):
        yield one


@pytest.mark.parametrize(("rules", "state"), [((), "error"), ((rule(DENY),), "denied"), ((rule(ASK),), "error")])
async def test_a_tool_that_becomes_active_meanwhile_does_not_run(rules: Any, state: str) -> None:
    bank = Bank(*rules)
    bank.tools.register_middleware(late)
    async with call(toolkit=bank.tools) as made:
        ask_tools(made, ("c1", RESET_TOOLS, '{"bank": true}'), ("c2", "pay", '{"amount": 5}'))
        await asyncio.sleep(2)
        assert {one: is_state for one, is_state, _ in results(made)} == {"c1": "success", "c2": state}
        assert asked(made) == []
        ask_tools(made, ("c3", "pay", '{"amount": 6}'))
        await asyncio.sleep(2)
        assert [one.id for one in asked(made)] == ([] if state == "denied" else ["c3"])
    assert bank.paid == []


async def test_a_tool_that_is_added_meanwhile_does_not_run() -> None:
    """As a server of tools adds one."""
    bank = Bank()
    bank.tools.register_middleware(late)
    wiped: list[str] = []

    def wipe() -> str:
        """Wipe."""
        wiped.append("all")
        return "gone"

    async with call(toolkit=bank.tools) as made:
        ask_tools(made, ("c1", "wipe", "{}"))
        await asyncio.sleep(0.02)
        bank.tools.register(wipe, confirm=True)
        await asyncio.sleep(2)
        ((_, state, text),) = results(made)
        assert (state, "There is no tool named 'wipe'" in text) == ("error", True)
    assert wiped == []


async def test_a_middleware_cannot_turn_a_failing_call_into_one_that_was_never_judged() -> None:
    async def repairs(kwargs: dict[str, Any], handler: Any) -> AsyncGenerator[ToolResponse, None]:
        repaired = ToolCallBlock(id="c1", name="pay", input='{"amount": 5}')
        async for one in await handler(tool_call=repaired):
            yield one

    bank = Bank()
    bank.tools.update_tool_groups(["bank"], True)
    bank.tools.register_middleware(repairs)
    async with call(toolkit=bank.tools) as made:
        ask_tools(made, ("c1", "pay", '{"amount": "much"}'))
        await asyncio.sleep(2)
        ((_, state, text),) = results(made)
        assert (state, "arguments of pay are wrong" in text) == ("error", True)
    assert bank.paid == []


@pytest.mark.parametrize("rules", [(), (rule(DENY),)])
async def test_a_thinking_agent_alone_runs_no_tool_that_becomes_active_meanwhile(rules: Any) -> None:
    bank = Bank(*rules)
    bank.tools.register_middleware(late)
    at_once = [thinks("reset_equipped_tools", bank=True), thinks("pay", amount=5)]
    agent = react(at_once, says("No."), toolkit=bank.tools, parallel_tool_calls=True)
    answer = await agent(HELLO)
    ended = [(one.name, one.state) for one in answer.get_content_blocks("tool_result")]
    assert sorted(ended) == [("pay", "denied" if rules else "error"), ("reset_equipped_tools", "success")]
    assert bank.paid == []


async def test_a_thinking_agent_in_a_call_runs_no_tool_that_becomes_active_meanwhile() -> None:
    bank = Bank()
    bank.tools.register_middleware(late)
    at_once = [thinks("reset_equipped_tools", bank=True), thinks("pay", amount=5)]
    async with talk(react(at_once, says("No."), toolkit=bank.tools, parallel_tool_calls=True)) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
    assert bank.paid == []


async def test_a_hook_that_waits_changes_nothing_about_that() -> None:
    bank = Bank()

    async def wait(agent: Any, kwargs: dict[str, Any]) -> None:
        if kwargs["tool_call"].name == "pay":
            await asyncio.sleep(0.05)

    async with alone(toolkit=bank.tools) as made:
        made.agent.register_instance_hook("pre_tool_call", "wait", wait)
        asks_alone(made, ("c1", RESET_TOOLS, '{"bank": true}'), ("c2", "pay", '{"amount": 5}'))
        await asyncio.sleep(2)
        assert ["FunctionInactiveError" in text for text in results_alone(made)] == [False, True]
    assert bank.paid == []


def change(name: str, **fields: Any) -> c.ClientToolResultEvent:
    return c.ClientToolResultEvent(
        id="call_1",
        name="pay",
        output="",
        confirmed=True,
        tool_call=ToolCallBlock(id="call_1", name=name, input="{}"),
        **fields,
    )


class Wiping:
    """A payment, which a client may want to change into something else."""

    def __init__(self, *rules: PermissionRule, confirm: bool = False) -> None:
        self.done: list[str] = []
        self.tools = Toolkit(permissions=PermissionEngine(rules))
        self.tools.register(self.pay, consent="card")
        self.tools.register(self.wipe, confirm=confirm)

    def pay(self, amount: int = 5) -> str:
        """Pay."""
        self.done.append("pay")
        return "paid"

    def wipe(self) -> str:
        """Wipe."""
        self.done.append("wipe")
        return "gone"


@pytest.mark.parametrize(
    "wiping", [Wiping(rule(ASK, tool="wipe")), Wiping(confirm=True)], ids=["a-rule-asks", "the-tool-asks"]
)
async def test_a_yes_to_one_tool_is_none_to_another_that_asks(wiping: Wiping) -> None:
    """The question stays open."""
    async with call(toolkit=wiping.tools) as made:
        ask_tools(made, ("call_1", "pay", "{}"))
        made.receive(change("wipe"))
        await asyncio.sleep(1)
        assert (errors(made), results(made), wiping.done) == (["other_tool"], [], [])
        made.receive(accepts(asked(made)[0]))
        await asyncio.sleep(1)
        assert [state for _, state, _ in results(made)] == ["success"]
    assert wiping.done == ["pay"]


async def test_rules_of_one_tool_are_not_accepted_with_a_call_of_another() -> None:
    wiping = Wiping()
    async with call(toolkit=wiping.tools) as made:
        ask_tools(made, ("call_1", "pay", "{}"))
        suggested = asked(made)[0].suggested_rules
        made.receive(change("wipe", rules=suggested[:1]))
        assert (errors(made), wiping.done) == (["unknown_rule"], [])
        made.receive(change("wipe"))
        await asyncio.sleep(1)
        assert wiping.done == ["wipe"]
        ask_tools(made, ("call_2", "pay", "{}"))
        assert [one.id for one in asked(made)] == ["call_1", "call_2"]


async def test_a_change_to_a_tool_that_is_not_there_fails() -> None:
    wiping = Wiping()
    async with call(toolkit=wiping.tools) as made:
        ask_tools(made, ("call_1", "pay", "{}"))
        made.receive(change("nothing"))
        await asyncio.sleep(1)
        assert [(state, "no tool named" in text) for _, state, text in results(made)] == [("error", True)]
    assert wiping.done == []
