"""A tool that asks on a card: it runs only when the user has agreed, and no question is left open."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from realtime.errors import ClientError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.event.reply import (
    AgentEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from realtime.message import ConfirmResult, Msg, PermissionBehavior, PermissionRule, ToolCallBlock, UserMsg
from realtime.model import base
from realtime.state.restore import restore
from realtime.tool import Toolkit
from tests.agent.fakes import WORDS, Call, FakeConnection, call
from tests.agent.test_text_reply import say, started
from tests.agent.test_tool_replies import follow
from tests.agent.test_tools import ask_tools, clock, results, use
from tests.message.reply_grammar import check_replies
from tests.state.test_replies import project, states

pytestmark = pytest.mark.virtual_time

PAY = ("call_1", "pay", '{"amount": 5}')


class Till:
    """Tools that must not run unasked, and what they did."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.tools = Toolkit([clock])
        self.tools.register(self.pay, consent="card")

    async def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        await asyncio.sleep(1)
        return f"paid {amount}"


def answer(confirmed: bool, call_id: str = "call_1", output: str = "") -> c.ClientToolResultEvent:
    return c.ClientToolResultEvent(id=call_id, name="pay", output=output, confirmed=confirmed)


def asked(made: Call) -> list[ToolCallBlock]:
    """The calls that the client was told to ask about."""
    told = [event.tool_use for event in made.of(s.AgentResponseToolUseDoneEvent)]
    return [one for one in told if one.state == "asking"]


def errors(made: Call) -> list[str]:
    return [event.code for event in made.of(s.AgentErrorEvent)]


def of_call(events: Sequence[AgentEvent], call_id: str = "call_1") -> list[tuple[str, str]]:
    """The states that a call and its result went through."""
    check_replies(events, complete=False)
    return states(events, "resp_1", call_id)


async def test_a_call_runs_when_the_user_has_agreed_and_not_before() -> None:
    """HITL-01, HITL-10: no body has run when the question is told; pending, asking, allowed, finished."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        assert [one.input for one in asked(made)] == ['{"amount": 5}']
        (question,) = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
        assert [(one.id, one.name, one.state) for one in question.tool_calls] == [("call_1", "pay", "asking")]
        await asyncio.sleep(20)
        assert (till.paid, results(made), made.link.got(base.ResponseCreate)[1:]) == ([], [], [])

        made.receive(answer(True))
        (allowed,) = [event.item for event in made.of(s.AgentItemDoneEvent) if event.item.tool_call is not None]
        assert allowed.tool_call is not None
        assert (allowed.id, allowed.tool_call.state) == ("use_call_1", "allowed")
        await asyncio.sleep(2)
        assert (till.paid, results(made)) == ([5], [("call_1", "success", "paid 5")])
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply(500, "Done.")
        await asyncio.sleep(2)
        made.check_heard_truth()
    assert of_call(events) == [
        ("pending", ""),
        ("asking", ""),
        ("allowed", ""),
        ("allowed", "running"),
        ("finished", "success"),
    ]


@pytest.mark.parametrize(("reason", "told"), [("", "the user refused"), ("too much", "the user refused: too much")])
async def test_a_refusal_is_a_result_that_the_model_reacts_to(reason: str, told: str) -> None:
    """HITL-09, HITL-11, HITL-18, MSG-75: asking, then finished and `denied`; the next model call contains it."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        made.receive(answer(False, output=reason))
        await asyncio.sleep(1)
        sent = [message for message in made.link.sent if isinstance(message, base.ToolResult | base.ResponseCreate)]
        assert isinstance(sent[-2], base.ToolResult)
        assert (sent[-2].result.state, sent[-2].result.output) == ("denied", told)
        assert isinstance(sent[-1], base.ResponseCreate)
        made.link.reply(500, "Then not.")
        await asyncio.sleep(2)
        made.check_heard_truth()
    assert till.paid == []
    walk = of_call(events)
    assert walk[:2] == [("pending", ""), ("asking", "")]
    assert walk[-1] == ("finished", "denied")
    assert "allowed" not in [state for state, _ in walk]


async def test_silence_is_a_refusal_after_a_time_that_can_be_set() -> None:
    """HITL-24: told in words; an answer that comes later is too late."""
    till = Till()
    async with call(toolkit=till.tools, client_timeout_s=200) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(199)
        assert results(made) == []
        await asyncio.sleep(2)
        ((_, state, text),) = results(made)
        assert (state, "did not answer within 200 s" in text) == ("denied", True)
        assert len(made.link.got(base.ResponseCreate)) == 1
        made.receive(answer(True))
        assert errors(made) == ["unknown_tool_call"]
    assert till.paid == []


async def test_speech_flows_both_ways_while_a_question_is_open() -> None:
    """HITL-24: audio of the agent between question and answer, and the user's audio reaches the model."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        response_id = made.link.begin()
        use(made, response_id, PAY)
        place, heard = len(made.seen), len(made.link.heard_bytes())
        made.link.speak(response_id, 2_000, WORDS)
        made.hear(200)
        await asyncio.sleep(2)
        assert "agent_response_audio_delta" in made.types(place)
        assert len(made.link.heard_bytes()) > heard
        assert results(made) == []
        made.receive(answer(True))
        made.link.finish(response_id, WORDS)
        await asyncio.sleep(2)
        assert results(made) == [("call_1", "success", "paid 5")]
        made.check_heard_truth()


async def test_the_question_comes_before_the_answer_also_where_the_model_still_talks() -> None:
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        response_id = made.link.begin()
        use(made, response_id, PAY)
        made.receive(answer(True))
        await asyncio.sleep(2)
        assert till.paid == [5]
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        made.link.reply(500, "Done.")
        await asyncio.sleep(2)
    assert [state for state, _ in of_call(events)] == ["pending", "asking", "allowed", "allowed", "finished"]


async def test_each_call_is_asked_for_and_the_others_run() -> None:
    """HITL-04: the call without an answer goes on asking; the model goes on after the last."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        ask_tools(made, PAY, ("call_2", "pay", '{"amount": 7}'), ("call_3", "clock", '{"zone": "UTC"}'))
        assert [one.id for one in asked(made)] == ["call_1", "call_2"]
        made.receive(answer(True, "call_2"))
        await asyncio.sleep(3)
        assert sorted(one for one, _, _ in results(made)) == ["call_2", "call_3"]
        assert made.link.got(base.ResponseCreate) == []
        made.receive(answer(False))
        await asyncio.sleep(1)
        assert till.paid == [7]
        assert len(made.link.got(base.ResponseCreate)) == 1


async def test_nobody_is_asked_about_arguments_that_are_wrong() -> None:
    """HITL-14: from pending to finished; the model is told what is wrong."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, ("call_1", "pay", '{"amount": "much"}'))
        await asyncio.sleep(1)
        assert (asked(made), till.paid) == ([], [])
        ((_, state, text),) = results(made)
        assert (state, "arguments" in text) == ("error", True)
        made.link.reply(500, "How much?")
        await asyncio.sleep(2)
    assert {state for state, _ in of_call(events)} == {"pending", "finished"}


@pytest.mark.parametrize(
    "event",
    [
        answer(True, "call_9"),
        c.ClientToolResultEvent(id="call_1", name="pay", output="paid 5"),
        c.ClientToolResultEvent(id="call_2", name="where", output="Oslo", confirmed=True),
        c.ClientToolResultEvent(id="call_3", name="clock", output="", confirmed=True),
    ],
    ids=["no-call", "a-result-of-its-own", "a-tool-of-the-client", "a-tool-that-does-not-ask"],
)
async def test_an_answer_that_nobody_waits_for_is_refused(event: c.ClientToolResultEvent) -> None:
    """HITL-20: a clear `agent_error`, and the question stays open."""
    till = Till()
    config = SessionConfig(tools=(ToolDeclaration(name="where"),))
    async with call(toolkit=till.tools, config=config) as made:
        ask_tools(made, PAY, ("call_2", "where", "{}"), ("call_3", "clock", '{"zone": "UTC"}'))
        made.receive(event)
        await asyncio.sleep(0.1)
        assert (errors(made), till.paid, results(made)) == (["unknown_tool_call"], [], [])
        made.receive(answer(False))
        await asyncio.sleep(0.1)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "denied")]


async def test_the_first_answer_counts() -> None:
    till = Till()
    async with call(toolkit=till.tools) as made:
        ask_tools(made, PAY)
        made.receive(answer(False), answer(True))
        await asyncio.sleep(2)
        assert (till.paid, errors(made)) == ([], ["unknown_tool_call"])
        assert [state for _, state, _ in results(made)] == ["denied"]


# -- withdrawn ---------------------------------------------------------------------------------------------------------


async def interrupt(made: Call, way: str) -> None:
    """The user wants something else."""
    match way:
        case "voice":
            made.link.hear_start("u2")
            made.link.hear_end("u2", text="Wait.")
        case "text":
            made.receive(c.ClientTextAppendEvent(text="Wait."))
        case _:
            made.receive(c.ClientResponseCancelEvent())
    await asyncio.sleep(0)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("way", ["voice", "text", "button"])
async def test_an_interruption_withdraws_the_question(way: str, at_once: bool) -> None:
    """HITL-15: the result is `interrupted`, the answer comes too late, and the tool never runs."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        if not at_once:
            await asyncio.sleep(1)
        await interrupt(made, way)
        made.receive(answer(True))
        await asyncio.sleep(5)
        assert errors(made) == ["unknown_tool_call"]
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "interrupted")]
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("tool")]
        made.check_heard_truth()
    assert till.paid == []
    assert of_call(events)[-1] == ("finished", "interrupted")


async def test_the_model_knows_that_a_question_was_withdrawn_before_it_answers() -> None:
    till = Till()
    async with call(toolkit=till.tools) as made:
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        made.receive(c.ClientTextAppendEvent(text="Wait."))
        kinds = (base.ToolResult, base.ItemCreate, base.ResponseCreate)
        assert [type(one) for one in made.link.sent if isinstance(one, kinds)] == [*kinds]


async def test_a_tool_that_is_cancelled_before_its_first_step_is_answered_too() -> None:
    """Nothing of it ran; the model still gets a result, and may be asked again."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(2)
        assert [(one, state) for one, state, _ in results(made)] == [("call_1", "interrupted")]


async def test_a_call_that_the_user_let_run_is_not_asked_again_by_an_interruption() -> None:
    """It runs on, as any tool does: what is done is done."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        ask_tools(made, PAY)
        made.receive(answer(True))
        await asyncio.sleep(0.5)
        await interrupt(made, "voice")
        await asyncio.sleep(2)
        assert results(made) == [("call_1", "success", "paid 5")]


async def test_the_end_of_the_call_leaves_no_question() -> None:
    till = Till()
    async with call(toolkit=till.tools) as made:
        events = follow(made)
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        await made.session.end("client_end")
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("tool")]
    assert till.paid == []
    check_replies(events)
    assert of_call(events)[-1] == ("finished", "interrupted")


async def test_a_question_that_outlives_its_server_is_closed_when_the_call_is_restored() -> None:
    """The model's history has a result for the call, and whoever reads the log sees that nobody waits any more."""
    till = Till()
    async with call(toolkit=till.tools) as made:
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        await asyncio.sleep(1)
        stored = [*made.log]
    events = project(stored)
    assert of_call(events)[-1] == ("asking", "")
    restored = restore(stored)
    events = project([*stored, *restored.closing])
    assert of_call(events)[-1] == ("finished", "interrupted")
    items = restored.conversation.items()
    assert [item.tool_result.state for item in items if item.tool_result is not None] == ["interrupted"]


async def test_a_consent_that_outlives_its_server_is_told_too() -> None:
    till = Till()
    async with call(toolkit=till.tools) as made:
        made.receive(c.ClientTextAppendEvent(text="Pay five."))
        ask_tools(made, PAY)
        made.receive(answer(True))
        stored = [*made.log]
    restored = restore(stored)
    calls = [item.tool_call.state for item in restored.conversation.items() if item.tool_call is not None]
    assert calls == ["allowed"]
    assert of_call(project([*stored, *restored.closing]))[-1] == ("finished", "interrupted")


# -- by events ---------------------------------------------------------------------------------------------------------


def pays_once(link: FakeConnection) -> None:
    """A model that pays, then talks."""

    def respond(message: base.ResponseCreate) -> None:
        if len(link.got(base.ResponseCreate)) == 2:
            say(link, "All right.")
            return
        response_id = link.begin()
        use_pay = ToolCallBlock(id="call_1", name="pay", input='{"amount": 5}')
        link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=use_pay),
            m.ModelResponseDoneEvent(response_id=response_id),
        )

    link.answer = respond


async def reply_with(till: Till, confirm: Any) -> tuple[Msg, list[AgentEvent]]:
    """The reply of an agent that asks once; `confirm` answers for the user."""
    async with started(toolkit=till.tools, answers=False) as (agent, link, _):
        pays_once(link)
        events = []
        async for event in agent.reply_stream(UserMsg("user", "Pay five.")):
            events.append(event)
            if isinstance(event, RequireUserConfirmEvent):
                parked = Msg.from_events(events)
                assert (parked.finished_at, parked.finished_reason) == (None, None)
                assert till.paid == []
                await agent.send(confirm(event))
    assert {event.reply_id for event in events} == {"resp_1"}
    return Msg.from_events(events), events


@pytest.mark.parametrize(("confirmed", "state", "paid"), [(True, "success", [5]), (False, "denied", [])])
async def test_an_event_resumes_the_reply_that_waits(confirmed: bool, state: str, paid: list[int]) -> None:
    """HITL-03, HITL-19, HITL-20: parked without an end; the answer lets the same reply go on."""
    till = Till()

    def confirm(event: RequireUserConfirmEvent) -> UserConfirmResultEvent:
        answers = [ConfirmResult(confirmed=confirmed, tool_call=one) for one in event.tool_calls]
        return UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=answers)

    reply, _ = await reply_with(till, confirm)
    assert till.paid == paid
    assert [(block.state) for block in reply.get_content_blocks("tool_result")] == [state]
    assert (reply.get_text_content(), reply.finished_reason) == ("All right.", "completed")


async def test_the_user_may_change_the_input_of_a_call() -> None:
    """HITL-17: edit then approve: the changed input is what runs, and what the message tells."""
    till = Till()

    def confirm(event: RequireUserConfirmEvent) -> UserConfirmResultEvent:
        changed = ToolCallBlock(id="call_1", name="pay", input='{"amount": 4}')
        return UserConfirmResultEvent(
            reply_id=event.reply_id, confirm_results=[ConfirmResult(confirmed=True, tool_call=changed)]
        )

    reply, _ = await reply_with(till, confirm)
    assert till.paid == [4]
    assert [block.input for block in reply.get_content_blocks("tool_call")] == ['{"amount": 4}']
    assert [block.output for block in reply.get_content_blocks("tool_result")] == ["paid 4"]


async def test_the_user_may_change_the_tool_of_a_call() -> None:
    """HITL-17: the model still gets the result under the name that it gave."""
    till = Till()
    async with started(toolkit=till.tools, answers=False) as (agent, link, _):
        pays_once(link)
        async for event in agent.reply_stream(UserMsg("user", "Pay five.")):
            if isinstance(event, RequireUserConfirmEvent):
                other = ToolCallBlock(id="call_1", name="clock", input='{"zone": "UTC"}')
                results = [ConfirmResult(confirmed=True, tool_call=other)]
                await agent.send(UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=results))
        (told,) = link.got(base.ToolResult)
    assert (told.result.id, told.result.name, told.result.output) == ("call_1", "pay", "12:00 in UTC")
    assert till.paid == []


async def test_a_parked_reply_can_be_cancelled() -> None:
    """HITL-21: the call gets the result `interrupted`, then the reply ends."""
    till = Till()

    def stop(event: RequireUserConfirmEvent) -> UserInterruptEvent:
        return UserInterruptEvent(reply_id=event.reply_id)

    reply, events = await reply_with(till, stop)
    assert till.paid == []
    assert [event.type for event in events][-2:] == ["TOOL_RESULT_END", "REPLY_END"]
    assert [block.state for block in reply.get_content_blocks("tool_result")] == ["interrupted"]
    assert reply.finished_reason == "interrupted"


async def test_rules_that_were_not_suggested_are_refused_and_the_question_stays() -> None:
    """No client widens what its user was asked."""
    till = Till()
    async with started(toolkit=till.tools, answers=False) as (agent, link, _):
        pays_once(link)
        asking = asyncio.create_task(agent.reply(UserMsg("user", "Pay five.")))
        await asyncio.sleep(0.1)
        ask = ToolCallBlock(id="call_1", name="pay", input='{"amount": 5}')
        rule = PermissionRule(tool_name="pay", rule_content="amount<=1000", behavior=PermissionBehavior.ALLOW)
        ruled = ConfirmResult(confirmed=True, tool_call=ask, rules=[rule])
        with pytest.raises(ClientError, match="rules that were suggested"):
            await agent.send(UserConfirmResultEvent(reply_id="resp_1", confirm_results=[ruled]))
        refused = ConfirmResult(confirmed=False, tool_call=ask)
        await agent.send(UserConfirmResultEvent(reply_id="resp_1", confirm_results=[refused]))
        with pytest.raises(ClientError, match="asks for consent"):
            await agent.send(UserConfirmResultEvent(reply_id="resp_1", confirm_results=[refused]))
        assert (await asking).finished_reason == "completed"
    assert till.paid == []


async def test_an_agent_that_does_not_run_takes_no_answer() -> None:
    async with started(toolkit=Till().tools) as (agent, _, _):
        pass
    call_1 = ToolCallBlock(id="call_1", name="pay")
    with pytest.raises(UsageError, match="call start"):
        await agent.send(
            UserConfirmResultEvent(reply_id="r", confirm_results=[ConfirmResult(confirmed=True, tool_call=call_1)])
        )
