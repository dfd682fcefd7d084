"""Permissions in a call: what rules and modes make of tool calls, and what a user accepts for later ones."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.permissions import CallPermissions
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.event.reply import (
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
)
from realtime.message import ConfirmResult, PermissionBehavior, PermissionRule, ToolCallBlock, UserMsg
from realtime.model import base
from realtime.model.scripted import ScriptedModel
from realtime.permission import PermissionContext, PermissionDecision, PermissionEngine, ToolPermissions
from realtime.permission.accepted import AcceptedRules
from realtime.state.restore import restore
from realtime.tool import Toolkit
from tests.agent.fakes import Call, call
from tests.agent.test_confirmation import PAY, Till, answer, asked, errors, of_call, pays_once
from tests.agent.test_text_reply import started
from tests.agent.test_tool_replies import follow
from tests.agent.test_tools import ask_tools, clock, results
from tests.state.test_replies import project

pytestmark = pytest.mark.virtual_time

ALLOW, DENY, ASK = PermissionBehavior.ALLOW, PermissionBehavior.DENY, PermissionBehavior.ASK


def rule(behavior: PermissionBehavior, content: str | None = None, tool: str = "pay") -> PermissionRule:
    return PermissionRule(tool_name=tool, rule_content=content, behavior=behavior, source="test")


def till(*rules: PermissionRule, mode: str = "default", **options: Any) -> Till:
    """A till with rules of the program."""
    made = Till()
    made.tools = Toolkit([clock], permissions=PermissionEngine(rules, mode))
    made.tools.register(made.pay, **{"confirm": True, **options})
    return made


def pay(number: int, amount: Any) -> tuple[str, str, str]:
    return (f"call_{number}", "pay", f'{{"amount": {amount}}}')


def updates(made: Call) -> list[dict[str, Any]]:
    """The permission updates that listeners got."""
    return [one.value for one in made.of(s.ServerCustomEvent) if one.name == "permission_updated"]


def accepts(question: ToolCallBlock, *numbers: int, **fields: Any) -> c.ClientToolResultEvent:
    """A consent, with the suggested rules of these places."""
    rules = [question.suggested_rules[number] for number in numbers]
    return c.ClientToolResultEvent(id=question.id, name=question.name, output="", confirmed=True, rules=rules, **fields)


# -- rules of the program ----------------------------------------------------------------------------------------------


async def test_a_rule_that_allows_lets_a_call_run_without_a_question() -> None:
    """HITL-08: no question asked. HITL-12: pending, allowed, finished. MSG-62: allowed before its result."""
    made_till = till(rule(ALLOW, "amount<=20"))
    async with call(toolkit=made_till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(2)
        assert (asked(made), made_till.paid, results(made)) == ([], [5], [("call_1", "success", "paid 5")])
        made.link.reply(500, "Done.")
        await asyncio.sleep(2)
        made.check_heard_truth()
    assert not [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    walk = of_call(events)
    assert [state for state, _ in walk] == ["pending", "allowed", "allowed", "finished"]
    assert walk[-1] == ("finished", "success")


async def test_a_rule_that_denies_gives_the_model_the_reason_and_nobody_is_asked() -> None:
    """HITL-09: denied by a rule. HITL-14: from pending to finished. MSG-75: the model reacts to it."""
    made_till = till(rule(ALLOW), rule(DENY, "amount>100"))
    async with call(toolkit=made_till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay a lot."))
        ask_tools(made, pay(1, 101))
        await asyncio.sleep(1)
        assert asked(made) == []
        ((_, state, text),) = results(made)
        assert (state, "not allowed" in text, "amount>100" in text) == ("denied", True, True)
        assert isinstance(made.link.sent[-1], base.ResponseCreate)
        made.link.reply(500, "That is too much.")
        await asyncio.sleep(2)
        made.check_heard_truth()
    assert made_till.paid == []
    walk = of_call(events)
    assert {state for state, _ in walk} == {"pending", "finished"}
    assert walk[-1] == ("finished", "denied")


async def test_arguments_are_judged_as_the_function_gets_them() -> None:
    """A model may write a number as text."""
    made_till = till(rule(DENY, "amount>100"), confirm=False)
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, pay(1, '"101"'), pay(2, '"99"'))
        await asyncio.sleep(2)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "denied"), ("call_2", "success")]
    assert made_till.paid == [99]


async def test_defaults_count_as_arguments() -> None:
    sent = []

    def send(text: str, to: str = "everyone") -> str:
        """Send it."""
        sent.append((text, to))
        return "sent"

    toolkit = Toolkit([send], permissions=PermissionEngine([rule(DENY, "to=everyone", tool="send")]))
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "send", '{"text": "hi"}'), ("call_2", "send", '{"text": "hi", "to": "Anna"}'))
        await asyncio.sleep(1)
        assert {one: state for one, state, _ in results(made)} == {"call_1": "denied", "call_2": "success"}
    assert sent == [("hi", "Anna")]


async def test_a_rule_that_asks_makes_a_tool_ask_that_never_did_and_offers_no_rule() -> None:
    """A rule that were accepted would change nothing."""
    made_till = till(rule(ASK, "amount>20"), confirm=False)
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, pay(1, 20), pay(2, 21))
        await asyncio.sleep(2)
        (question,) = asked(made)
        assert (question.id, question.suggested_rules, made_till.paid) == ("call_2", [], [20])
        made.receive(answer(True, "call_2"))
        await asyncio.sleep(2)
    assert made_till.paid == [20, 21]


@pytest.mark.parametrize(
    ("mode", "confirm", "expected"),
    [
        ("default", False, "success"),
        ("default", True, "asking"),
        ("explore", False, "denied"),
        ("explore", True, "denied"),
        ("bypass", True, "success"),
        ("dont_ask", False, "success"),
        ("dont_ask", True, "denied"),
        ("accept_edits", True, "asking"),
    ],
)
async def test_the_mode_decides_where_no_rule_does(mode: str, confirm: bool, expected: str) -> None:
    made_till = till(mode=mode, confirm=confirm)
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(2)
        state = "asking" if asked(made) else results(made)[0][1]
        assert state == expected


async def test_what_only_reads_runs_in_explore() -> None:
    toolkit = Toolkit(permissions=PermissionEngine((), "explore"))
    toolkit.register(clock, read_only=True)
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(3)
        assert [state for _, state, _ in results(made)] == ["success"]


async def test_a_tool_may_say_itself_what_is_dangerous_and_how_its_rules_match() -> None:
    class Careful(ToolPermissions):
        def check_permissions(self, tool_input: Any, context: PermissionContext) -> PermissionDecision | None:
            if tool_input["amount"] > 50:
                return PermissionDecision(ASK, "a lot of money", bypass_immune=True)
            return PermissionDecision(ALLOW, "small money") if tool_input["amount"] < 2 else None

        def match_rule(self, rule_content: str | None, tool_input: Any, known: Any = None) -> bool:
            return rule_content == "small" and tool_input["amount"] < 10

        def suggest(self, tool_input: Any) -> list[str | None]:
            return ["small"]

    made_till = till(rule(ALLOW, "small"), permissions=Careful())
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, pay(1, 1), pay(2, 9), pay(3, 10), pay(4, 60))
        await asyncio.sleep(2)
        small = PermissionRule(tool_name="pay", rule_content="small", behavior=ALLOW, source="suggested")
        assert [(one.id, one.suggested_rules) for one in asked(made)] == [("call_3", [small]), ("call_4", [])]
    assert made_till.paid == [1, 9]


async def test_a_fault_in_a_tools_permissions_denies_the_call_and_the_talk_goes_on() -> None:
    class Broken(ToolPermissions):
        def match_rule(self, rule_content: str | None, tool_input: Any, known: Any = None) -> bool:
            raise ZeroDivisionError

    made_till = till(rule(ALLOW, "x"), permissions=Broken())
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        ((_, state, text),) = results(made)
        assert (state, "ZeroDivisionError" in text) == ("denied", True)
        assert len(made.link.got(base.ResponseCreate)) == 1


# -- rules that the user accepts ---------------------------------------------------------------------------------------


async def test_rules_are_suggested_with_the_question_from_the_narrowest_to_the_whole_tool() -> None:
    """MSG-65, HITL-16: present on the asking event, for clients of both vocabularies."""
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(0.1)
        (question,) = asked(made)
        contents = [(one.tool_name, one.rule_content, one.behavior) for one in question.suggested_rules]
        assert contents == [("pay", "amount=5", "allow"), ("pay", "amount<=5", "allow"), ("pay", None, "allow")]
        (told,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
        assert told.tool_calls[0].suggested_rules == question.suggested_rules
        made.check_heard_truth()


async def test_an_accepted_rule_lets_the_next_matching_call_run_and_no_other() -> None:
    """HITL-16: accepted rule auto-allows the next matching call. HITL-23: rule accepted -> custom event seen."""
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        (question,) = asked(made)
        made.receive(accepts(question, 1))
        await asyncio.sleep(2)
        (update,) = updates(made)
        accepted = {"tool_name": "pay", "rule_content": "amount<=5", "behavior": "allow", "source": "user"}
        assert update == {"mode": "default", "rules": [accepted], "added": [accepted], "removed": [], "by": "user"}
        ask_tools(made, pay(2, 4), pay(3, 6))
        await asyncio.sleep(2)
        assert made_till.paid == [5, 4]
        assert [one.id for one in asked(made)] == ["call_1", "call_3"]


async def test_a_rule_is_accepted_by_an_event_of_the_reply_vocabulary_too() -> None:
    made_till = till()
    async with started(toolkit=made_till.tools, answers=False) as (agent, link, _):
        pays_once(link)
        async for event in agent.reply_stream(UserMsg("user", "Pay five.")):
            if isinstance(event, RequireUserConfirmEvent):
                (question,) = event.tool_calls
                result = ConfirmResult(confirmed=True, tool_call=question, rules=question.suggested_rules[2:])
                await agent.send(UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=[result]))
        assert [one.rule_content for one in agent.permissions.rules] == [None]
    assert made_till.paid == [5]


@pytest.mark.parametrize(
    "wanted",
    [rule(ALLOW, "amount<=6"), rule(ALLOW, "*"), rule(ALLOW, None, "clock"), rule(DENY), rule(ALLOW, None, "*")],
    ids=["wider", "everything", "another-tool", "another-behavior", "all-tools"],
)
async def test_a_rule_that_was_not_suggested_is_refused_and_the_question_stays_open(wanted: PermissionRule) -> None:
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        (question,) = asked(made)
        rules = [question.suggested_rules[0], wanted]
        made.receive(c.ClientToolResultEvent(id="call_1", name="pay", output="", confirmed=True, rules=rules))
        await asyncio.sleep(2)
        assert (errors(made), made_till.paid, updates(made)) == (["unknown_rule"], [], [])
        made.receive(answer(True))
        await asyncio.sleep(2)
    assert made_till.paid == [5]


async def test_a_refusal_accepts_no_rules() -> None:
    async with call(toolkit=till().tools) as made:
        ask_tools(made, PAY)
        rules = asked(made)[0].suggested_rules
        made.receive(c.ClientToolResultEvent(id="call_1", name="pay", output="", confirmed=False, rules=rules))
        assert (errors(made), results(made)) == (["unknown_rule"], [])


async def test_a_second_answer_with_a_rule_changes_nothing() -> None:
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        (question,) = asked(made)
        made.receive(answer(False), accepts(question, 2))
        await asyncio.sleep(1)
        assert (errors(made), updates(made), made_till.paid) == (["unknown_tool_call"], [], [])


async def test_an_accepted_rule_answers_the_open_questions_that_it_is_about() -> None:
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY, pay(2, 4), pay(3, 6))
        made.receive(accepts(asked(made)[0], 1))
        await asyncio.sleep(2)
        assert sorted(made_till.paid) == [4, 5]
        allowed = [event.item.id for event in made.of(s.AgentItemDoneEvent) if event.item.tool_call is not None]
        assert allowed == ["use_call_1", "use_call_2"]
        made.receive(answer(True, "call_2"))
        assert errors(made) == ["unknown_tool_call"]


async def test_a_changed_input_that_a_rule_denies_does_not_run() -> None:
    made_till = till(rule(DENY, "amount>100"))
    async with call(toolkit=made_till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        changed = ToolCallBlock(id="call_1", name="pay", input='{"amount": 500}')
        made.receive(accepts(asked(made)[0], 0, tool_call=changed))
        await asyncio.sleep(1)
        assert [state for _, state, _ in results(made)] == ["denied"]
        made.link.reply(500, "No.")
        await asyncio.sleep(2)
    assert made_till.paid == []
    assert [state for state, _ in of_call(events)][:2] == ["pending", "asking"]
    assert "allowed" not in [state for state, _ in of_call(events)]


async def test_a_changed_input_runs_by_the_consent_and_the_rule_is_about_what_was_suggested() -> None:
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        changed = ToolCallBlock(id="call_1", name="pay", input='{"amount": 7}')
        made.receive(accepts(asked(made)[0], 1, tool_call=changed))
        await asyncio.sleep(2)
        ask_tools(made, pay(2, 7), pay(3, 5))
        await asyncio.sleep(2)
        assert made_till.paid == [7, 5]
        assert [one.id for one in asked(made)] == ["call_1", "call_2"]


async def test_accepted_rules_end_with_the_call_and_another_call_has_none() -> None:
    made_till = till()
    async with call(toolkit=made_till.tools) as one, call(toolkit=made_till.tools) as other:
        ask_tools(one, PAY)
        one.receive(accepts(asked(one)[0], 2))
        ask_tools(other, PAY)
        assert [question.id for question in asked(other)] == ["call_1"]
    assert made_till.tools.permissions.rules == []


async def test_accepted_rules_hold_in_a_call_that_outlives_its_server() -> None:
    """They are in the log, and told again."""
    made_till = till()
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        made.receive(accepts(asked(made)[0], 1))
        stored = [*made.log]
    restored = restore(stored)
    assert [one.rule_content for one in restored.accepted] == ["amount<=5"]
    permissions = CallPermissions(PermissionEngine())
    told: list[s.ServerCustomEvent] = []
    permissions.begin(AcceptedRules(restored.accepted), told.append, lambda: False)
    assert [(one.value["by"], len(one.value["added"])) for one in told] == [("session", 1)]
    assert permissions.of("").rules == [*restored.accepted]


# -- changed by the program --------------------------------------------------------------------------------------------


async def test_what_the_program_takes_from_the_user_is_told_and_its_own_rules_are_not() -> None:
    own = rule(DENY, "amount>1000")
    made_till = till(own)
    async with call(toolkit=made_till.tools) as made:
        ask_tools(made, PAY)
        made.receive(accepts(asked(made)[0], 1))
        (accepted,) = updates(made)[0]["rules"]
        permissions = made.agent.permissions
        permissions.add_rule(rule(DENY, "amount>500"))
        permissions.remove_rule(rule(ALLOW, "amount<=5"))
        told = updates(made)[1:]
        assert [(one["by"], one["rules"], one["added"], one["removed"]) for one in told] == [
            ("program", [accepted], [], []),
            ("program", [], [], [{**accepted, "source": "test"}]),
        ]
        assert not [event for event in made.of(s.ServerCustomEvent) if "1000" in str(event.value)]


async def test_the_program_changes_rules_and_mode_during_a_call() -> None:
    """HITL-23: listeners are told of each change; questions that are none any more are answered."""
    made_till = till()
    async with started(toolkit=made_till.tools, answers=False) as (agent, link, sink):
        pays_once(link)
        asking = asyncio.create_task(agent.reply(UserMsg("user", "Pay five.")))
        await asyncio.sleep(0.1)
        agent.permissions.add_rule(rule(DENY, "amount>3"))
        reply = await asking
        agent.permissions.mode = "explore"  # type: ignore[assignment]
        agent.permissions.mode = "explore"  # type: ignore[assignment]
        assert agent.permissions.remove_rule(rule(DENY, "amount>3"))
        assert not agent.permissions.remove_rule(rule(DENY, "amount>3"))
        told = [one.value for one in sink if isinstance(one, s.ServerCustomEvent) and one.name == "permission_updated"]
        assert [(one["by"], one["mode"]) for one in told] == [
            ("program", "default"),
            ("program", "explore"),
            ("program", "explore"),
        ]
        assert not any(one["rules"] or one["added"] or one["removed"] for one in told), "they are the program's own"
    assert [block.state for block in reply.get_content_blocks("tool_result")] == ["denied"]
    assert made_till.paid == []
    assert made_till.tools.permissions.rules == []


async def test_a_change_in_a_thread_reaches_the_call() -> None:
    made_till = till()

    def trust(agent: RealtimeAgent) -> None:
        agent.permissions.add_rule(rule(ALLOW))

    async with started(toolkit=made_till.tools, answers=False) as (agent, link, _):
        pays_once(link)
        asking = asyncio.create_task(agent.reply(UserMsg("user", "Pay five.")))
        await asyncio.sleep(0.1)
        await asyncio.get_running_loop().run_in_executor(None, trust, agent)
        assert (await asking).get_text_content() == "All right."
    assert made_till.paid == [5]


async def test_before_its_calls_an_agent_has_the_permissions_that_they_begin_with() -> None:
    made_till = till()
    agent = RealtimeAgent("Friday", "", ScriptedModel([]), toolkit=made_till.tools)
    agent.permissions.add_rule(rule(ALLOW))
    run = agent.run()
    agent.permissions.add_rule(rule(DENY))
    assert run.permissions.rules == [rule(ALLOW)]


# -- the client's tools ------------------------------------------------------------------------------------------------

IN_CLIENT = SessionConfig(tools=(ToolDeclaration(name="door", parameters={"properties": {"open": {}}}),))


async def test_a_tool_of_the_client_is_handed_over_only_when_the_user_has_agreed() -> None:
    """HITL-13: pending, asking, allowed, submitted, finished."""
    toolkit = Toolkit(permissions=PermissionEngine([rule(ASK, "open=true", "door")]))
    async with call(toolkit=toolkit, config=IN_CLIENT) as made:
        made.receive(c.ClientTextAppendEvent(text="Open the door."))
        ask_tools(made, ("call_1", "door", '{"open": true}'))
        made.receive(c.ClientToolResultEvent(id="call_1", name="door", output="opened"))
        assert errors(made) == ["unknown_tool_call"]
        made.receive(c.ClientToolResultEvent(id="call_1", name="door", output="", confirmed=True))
        told = [event.tool_use.state for event in made.of(s.AgentResponseToolUseDoneEvent)]
        assert told == ["asking", "allowed"]
        await asyncio.sleep(1)
        made.receive(c.ClientToolResultEvent(id="call_1", name="door", output="opened"))
        await asyncio.sleep(0)
        assert results(made) == [("call_1", "success", "opened")]
        made.link.reply(500, "It is open.")
        await asyncio.sleep(2)
    events = project(made.log, client_tools=["door"])
    assert [event for event in events if isinstance(event, RequireExternalExecutionEvent)]
    assert [state for state, _ in of_call(events)] == ["pending", "asking", "allowed", "submitted", "finished"]


async def test_a_tool_of_the_client_that_a_rule_denies_is_not_handed_over() -> None:
    toolkit = Toolkit(permissions=PermissionEngine([rule(DENY, "open=true", "door")]))
    async with call(toolkit=toolkit, config=IN_CLIENT) as made:
        made.receive(c.ClientTextAppendEvent(text="Open the door."))
        ask_tools(made, ("call_1", "door", '{"open": true}'), ("call_2", "door", "not json"))
        await asyncio.sleep(1)
        told = [event.tool_use for event in made.of(s.AgentResponseToolUseDoneEvent)]
        assert [(one.state, one.may_run) for one in told] == [("finished", False), ("finished", False)]
        assert [state for _, state, _ in results(made)] == ["denied", "denied"]
        made.link.reply(500, "No.")
        await asyncio.sleep(2)
    events = project(made.log, client_tools=["door"])
    assert not [event for event in events if isinstance(event, RequireExternalExecutionEvent)]
    assert of_call(events)[-1] == ("finished", "denied")


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_rule_that_the_program_takes_away_is_gone_for_later_calls_whatever_the_client_keeps(
    keeps: bool,
) -> None:
    saved: list[tuple[Any, Any]] = []
    accepted = AcceptedRules([rule(ALLOW, "amount=5")])
    accepted.save = lambda added, removed: saved.append((added, removed))
    permissions = CallPermissions(PermissionEngine())
    permissions.begin(accepted, lambda event: None, lambda: keeps)
    permissions.accept([rule(ALLOW, "amount=6")], "")
    assert len(saved) == keeps
    assert permissions.remove_rule(rule(ALLOW, "amount=5"))
    assert saved[-1] == ((), (rule(ALLOW, "amount=5"),))
