"""Permissions of thinking agents: in a call its rules hold for their tools too; alone, those of their toolkit."""

import asyncio
from typing import Any

import pytest

from realtime.agent import Delegate
from realtime.event import ClientEvents, ServerEvents
from realtime.event import server as s
from realtime.message import Msg, PermissionBehavior, ToolCallBlock
from realtime.permission import PermissionEngine
from realtime.tool import Toolkit
from tests.agent.fakes import Call
from tests.agent.fakes import call as voice_call
from tests.agent.office import ASK, NAME
from tests.agent.test_confirmation import Till, answer
from tests.agent.test_permissions import accepts, rule, till, updates
from tests.agent.test_tools import ask_tools, results
from tests.agent.test_tools_of_agents import PAY, card, cashier, questions
from tests.agent.test_transfer import desk, until
from tests.agent.thinking import react, say
from tests.agent.voice import COSTS, talk
from tests.state.test_replies import project, states

pytestmark = pytest.mark.virtual_time(costs=COSTS)

ALLOW, DENY, ASK_FIRST = PermissionBehavior.ALLOW, PermissionBehavior.DENY, PermissionBehavior.ASK


def told(made: Call) -> list[tuple[str, str]]:
    """(name, state) of the results that listeners got."""
    return [(event.tool_result.name, event.tool_result.state) for event in made.of(s.AgentResponseToolResultEvent)]


# -- an agent that is the model ----------------------------------------------------------------------------------------


async def test_a_rule_of_the_call_lets_a_tool_of_the_agent_behind_the_voice_run() -> None:
    made_till = Till()
    voice = Toolkit(permissions=PermissionEngine([rule(ALLOW, "amount<=5")]))
    async with talk(cashier(made_till), toolkit=voice) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert questions(one) == []
        events = project(one.events)
    assert made_till.paid == [5]
    (call_id,) = {event.tool_call_id for event in events if event.type == "TOOL_CALL_START"}
    (reply_id,) = {event.reply_id for event in events if event.type == "TOOL_CALL_START"}
    walk = [state for state, _ in states(events, reply_id, call_id)]
    assert [*dict.fromkeys(walk)] == ["pending", "allowed", "finished"]


async def test_a_rule_of_the_call_denies_a_tool_of_the_agent_behind_the_voice() -> None:
    made_till = Till()
    voice = Toolkit(permissions=PermissionEngine([rule(DENY, "amount>=5")]))
    async with talk(cashier(made_till, say("I may not.")), toolkit=voice) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert questions(one) == []
        assert any(line.startswith("denied: this call is not allowed") for line in one.story)
    assert made_till.paid == []


async def test_the_agents_own_rules_hold_in_the_call_as_well() -> None:
    """The call allows it, the agent's toolkit denies it: deny wins."""
    made_till = till(rule(DENY))
    voice = Toolkit(permissions=PermissionEngine([rule(ALLOW)]))
    async with talk(cashier(made_till, say("I may not.")), toolkit=voice) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert questions(one) == []
    assert made_till.paid == []


async def test_a_rule_that_was_accepted_for_its_tool_lets_its_next_call_run() -> None:
    made_till = Till()
    agent = cashier(made_till, say("Done."), [PAY], say("Done again."))
    async with talk(agent) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent)
        (question,) = questions(one)
        assert [rule.rule_content for rule in question.suggested_rules] == ["amount=5", "amount<=5", None]
        await one.agent.handle_input(accepts(question, 0))
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        await asyncio.sleep(2)
        await one.type("Once more.")
        await one.until(ServerEvents.AgentResponseDoneEvent, 4)
        assert len(questions(one)) == 1
        assert [one.rule_content for one in one.agent.permissions.rules] == ["amount=5"]
    assert made_till.paid == [5, 5]


async def test_an_input_that_the_user_changed_to_what_is_denied_does_not_run_there_either() -> None:
    made_till = Till()
    voice = Toolkit(permissions=PermissionEngine([rule(DENY, "amount>100")]))
    async with talk(cashier(made_till, say("I may not.")), toolkit=voice) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseDoneEvent)
        (question,) = questions(one)
        changed = ToolCallBlock(id=question.id, name="pay", input='{"amount": 500}')
        consent = ClientEvents.ClientToolResultEvent(
            id=question.id, name="pay", output="", confirmed=True, tool_call=changed
        )
        await one.agent.handle_input(consent)
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert any(line.startswith("denied:") for line in one.story)
    assert made_till.paid == []


# -- an agent behind a tool --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "state", "paid"), [(ALLOW, "success", [5]), (DENY, "denied", []), (ASK_FIRST, "asking", [])]
)
async def test_rules_of_the_call_are_about_the_tools_of_a_delegate(
    wanted: PermissionBehavior, state: str, paid: list[int]
) -> None:
    made_till = till(confirm=wanted is not ASK_FIRST)
    toolkit = Toolkit(
        [Delegate(cashier(made_till), NAME, "Pays.", False)], permissions=PermissionEngine([rule(wanted)])
    )
    async with voice_call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(3)
        asked = [event.tool_use.name for event in made.of(s.AgentResponseToolUseDoneEvent)]
        assert asked == ([NAME, "pay"] if state == "asking" else [NAME])
        assert made_till.paid == paid


async def test_a_rule_that_was_accepted_for_a_delegates_tool_holds_for_the_rest_of_the_call() -> None:
    made_till = Till()
    agent = cashier(made_till, say("Done."), [PAY], say("Done again."))
    async with voice_call(toolkit=Toolkit([Delegate(agent, NAME, "Pays.", False)])) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        made.receive(accepts(card(made), 2))
        await asyncio.sleep(3)
        assert [one["by"] for one in updates(made)] == ["user"]
        ask_tools(made, ("call_2", *ASK[1:]))
        await asyncio.sleep(3)
        assert [state for _, state in told(made)] == ["success", "success", "success"]
    assert made_till.paid == [5, 5]


async def test_a_rule_of_the_program_withdraws_the_question_of_a_delegate() -> None:
    made_till = Till()
    toolkit = Toolkit([Delegate(cashier(made_till, say("Then not.")), NAME, "Pays.", False)])
    async with voice_call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        question = card(made)
        made.agent.permissions.mode = "explore"  # type: ignore[assignment]
        await asyncio.sleep(1)
        assert told(made)[0] == ("pay", "denied")
        made.receive(answer(True, question.id))
        assert results(made) == [("call_1", "success", "Then not.")]
    assert made_till.paid == []


# -- alone in code, and with another agent -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "mode", "state"),
    [
        ([rule(ALLOW, "amount<=5")], "default", "success"),
        ([rule(ALLOW, "amount<=4")], "default", "asking"),
        ([], "bypass", "success"),
        ([rule(DENY)], "bypass", "denied"),
    ],
)
async def test_alone_in_code_the_rules_of_its_toolkit_decide(rules: list[Any], mode: str, state: str) -> None:
    made_till = till(*rules, mode=mode)
    answered = await react([PAY], say("Done."), toolkit=made_till.tools)(Msg("user", "Pay five.", "user"))
    (told,) = answered.get_content_blocks("tool_result") or answered.get_content_blocks("tool_call")
    assert told.state == state
    assert made_till.paid == ([5] if state == "success" else [])


async def test_accepted_rules_go_with_the_call_to_another_agent_and_the_programs_stay() -> None:
    first, other = till(rule(DENY, "amount>100")), Till()
    async with desk(toolkit=other.tools, made={"toolkit": first.tools}) as made:
        ask_tools(made.call, ("call_1", "pay", '{"amount": 5}'))
        questions = [one.tool_use for one in made.call.of(s.AgentResponseToolUseDoneEvent)]
        made.call.receive(accepts(questions[0], 1))
        await asyncio.sleep(2)
        made.call.link.reply(500, "Paid.")
        await asyncio.sleep(2)
        made.hand_over()
        await until(lambda: bool(made.changes()))
        again = Call(made.call.session, made.call.agent, made.ben_model, made.call.listener, made.call.sink)
        ask_tools(again, ("call_8", "pay", '{"amount": 4}'), ("call_9", "pay", '{"amount": 101}'))
        await asyncio.sleep(2)
        asking = [
            one.tool_use.id for one in again.of(s.AgentResponseToolUseDoneEvent) if one.tool_use.state == "asking"
        ]
        assert asking == ["call_1", "call_9"]
        assert [one["by"] for one in updates(again)] == ["user"]
    assert (first.paid, other.paid) == ([5], [4])
