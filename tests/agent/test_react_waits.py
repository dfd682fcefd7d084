"""A ReActAgent without a call waits for the user's consent, and goes on with the answer, in another process too."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from realtime.agent import ReActAgent
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.message import ConfirmResult, Msg, PermissionRule, ToolCallBlock, ToolResultBlock, UserMsg
from realtime.model.chat.base import ChatBlock
from realtime.tool import Toolkit
from tests.agent.thinking import HELLO, call, get_weather, react, remembered, requests_of, say, shape, types_of
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time

PAY, PAY_MORE = call("pay", "call_1", amount=5), call("pay", "call_2", amount=7)
OSLO = call("get_weather", "call_3", city="Oslo")


class Till:
    """Has a tool that needs consent."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def pay(self, amount: int) -> str:
        """Pays."""
        self.paid.append(amount)
        return f"Paid {amount}."

    def agent(self, *answers: Any, **options: Any) -> ReActAgent:
        return react(*answers, toolkit=Toolkit([get_weather], confirm=[self.pay]), **options)


async def part(agent: ReActAgent, given: Any, **options: Any) -> list[r.AgentEvent]:
    """The events of a reply, or of what follows an answer."""
    return [event async for event in agent.reply_stream(given, **options)]


def answer(reply_id: str, *results: tuple[ToolCallBlock, bool], rules: Any = None) -> r.UserConfirmResultEvent:
    confirmed = [ConfirmResult(confirmed=yes, tool_call=call, rules=rules) for call, yes in results]
    return r.UserConfirmResultEvent(reply_id=reply_id, confirm_results=confirmed)


async def parked(till: Till, *calls: ChatBlock, **options: Any) -> tuple[ReActAgent, list[r.AgentEvent]]:
    agent = till.agent([*calls], say("Done."), **options)
    return agent, await part(agent, HELLO)


async def test_the_reply_waits_and_goes_on_with_the_answer() -> None:
    """HITL-01: no tool body ran when the question is told; what needs no consent runs meanwhile."""
    till = Till()
    agent, first = await parked(till, PAY, OSLO)
    assert types_of(first)[-4:] == [
        "REQUIRE_USER_CONFIRM",
        *("TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"),
    ]
    asked = Msg.from_events(first)
    assert [block.state for block in asked.get_content_blocks("tool_call")] == ["asking", "finished"]
    assert (asked.finished_reason, asked.finished_at, till.paid) == (None, None, [])
    assert not agent.is_replying
    second = await part(agent, answer(asked.id, (PAY, True)))
    assert types_of(second)[:2] == ["USER_CONFIRM_RESULT", "TOOL_RESULT_START"]
    check_replies([*first, *second])
    folded = Msg.from_events([*first, *second])
    assert shape(folded.content)[-2:] == ["tool_result: success Paid 5.", "text: Done."]
    assert (folded.finished_reason, till.paid) == ("completed", [5])
    assert [msg.to_json() for msg in await remembered(agent)] == [HELLO.to_json(), folded.to_json()]


async def test_reply_returns_the_waiting_message_and_then_the_whole_one() -> None:
    till = Till()
    agent = till.agent([PAY], say("Done."))
    asked = await agent(HELLO)
    assert [block.state for block in asked.get_content_blocks("tool_call")] == ["asking"]
    whole = await agent(answer(asked.id, (PAY, True)))
    assert (whole.id, whole.get_text_content(), till.paid) == (asked.id, "Done.", [5])


async def test_another_process_goes_on_with_it() -> None:
    """The message that waits, and what was said before, are part of the agent's state."""

    class Found(BaseModel):
        sum: int

    gone, here = Till(), Till()
    agent, first = await parked(gone, PAY)
    state = json.loads(json.dumps(agent.state_dict()))
    again = here.agent([call("generate_response", "c", sum=5)], say("Paid."), max_iters=3)
    again.load_state_dict(state)
    second = await part(again, answer(first[0].reply_id, (PAY, True)), structured_model=Found)
    folded = Msg.from_events([*first, *second])
    assert (folded.structured_output, folded.get_text_content()) == ({"sum": 5}, "Paid.")
    assert (gone.paid, here.paid) == ([], [5])
    assert requests_of(again)[0].texts[:2] == ["Be brief.", "Hello"]


async def test_the_user_refuses_and_changes_and_leaves_calls_open() -> None:
    """A call without an answer goes on waiting; a changed input is what runs; the model reads of a refusal."""
    till = Till()
    agent, first = await parked(till, PAY, PAY_MORE)
    second = await part(agent, answer(first[0].reply_id, (PAY, False)))
    assert "REPLY_END" not in types_of(second)
    changed = ToolCallBlock(id="call_2", name="pay", input='{"amount": 6}')
    third = await part(agent, answer(first[0].reply_id, (changed, True)))
    check_replies([*first, *second, *third])
    results = Msg.from_events([*first, *second, *third]).get_content_blocks("tool_result")
    assert [(block.state, block.output_text()) for block in results] == [
        ("denied", "the user refused"),
        ("success", "Paid 6."),
    ]
    assert till.paid == [6]
    assert "the user refused" in str(requests_of(agent)[1].messages[-1]["content"])


async def test_an_accepted_rule_lets_the_next_call_run() -> None:
    till = Till()
    agent = till.agent([PAY], [call("pay", "call_9", amount=5)], say("Done."))
    first = await part(agent, HELLO)
    (question,) = [event for event in first if isinstance(event, r.RequireUserConfirmEvent)]
    (asked,) = question.tool_calls
    foreign = PermissionRule(tool_name="pay")
    with pytest.raises(UsageError, match="a rule was accepted that was not suggested"):
        await agent(answer(question.reply_id, (asked, True), rules=[foreign]))
    await agent(answer(question.reply_id, (asked, True), rules=[asked.suggested_rules[0]]))
    assert till.paid == [5, 5]


async def test_an_answer_that_no_call_waits_for_is_refused_and_the_question_stays() -> None:
    till = Till()
    with pytest.raises(UsageError, match="no reply of Friday waits for an answer"):
        await till.agent(say("-"))(answer("r1", (PAY, True)))
    agent, first = await parked(till, PAY)
    reply_id = first[0].reply_id
    for wrong in (answer("other", (PAY, True)), answer(reply_id, (PAY_MORE, True)), r.UserInterruptEvent(reply_id="x")):
        with pytest.raises(UsageError) as error:
            await agent(wrong)
        assert error.value.code == "not_waiting"
    assert (await agent(answer(reply_id, (PAY, True)))).get_text_content() == "Done."


async def test_a_waiting_reply_is_cancelled_by_an_event_or_by_the_next_message() -> None:
    """Its calls get the result `interrupted`, and never run."""
    for stopped in (True, False):
        till = Till()
        agent, first = await parked(till, PAY)
        if stopped:
            last = await part(agent, r.UserInterruptEvent(reply_id=first[0].reply_id))
            check_replies([*first, *last])
            assert Msg.from_events([*first, *last]).finished_reason == "interrupted"
        else:
            assert (await agent(UserMsg("user", "Never mind."))).get_text_content() == "Done."
        kept = (await remembered(agent))[1]
        assert [block.state for block in kept.get_content_blocks("tool_result")] == ["interrupted"]
        assert (kept.check_pairs(), till.paid) == ([], [])
        with pytest.raises(UsageError, match="no reply of Friday waits"):
            await agent(answer(first[0].reply_id, (PAY, True)))


async def test_consent_is_for_the_call_that_was_asked_for() -> None:
    """A hook that changes it afterwards changes what the user has agreed to: that does not run."""
    till = Till()
    agent, first = await parked(till, PAY)
    other = {"tool_call": call("pay", "call_1", amount=500)}
    agent.register_instance_hook("pre_acting", "more", lambda self, kwargs: other)
    whole = await agent(answer(first[0].reply_id, (PAY, True)))
    assert [block.state for block in whole.get_content_blocks("tool_result")] == ["denied"]
    assert till.paid == []


def look(where: str) -> None:
    """Looks somewhere."""
    raise AssertionError("another program does that")


async def test_a_tool_of_another_program_is_submitted_and_its_result_goes_on() -> None:
    """HITL-13: allowed, submitted, finished, with the user's consent first; HITL-01: nothing has run by then."""
    toolkit = Toolkit()
    toolkit.register(look, external=True, confirm=True)
    agent = react([call("look", "call_1", where="there")], say("Empty."), toolkit=toolkit)
    events = await part(agent, HELLO)
    (question,) = [event for event in events if isinstance(event, r.RequireUserConfirmEvent)]
    reply_id = question.reply_id
    events += await part(agent, answer(reply_id, (question.tool_calls[0], True)))
    assert events[-1].type == "REQUIRE_EXTERNAL_EXECUTION"
    state = json.loads(json.dumps(agent.state_dict()))
    again = react(say("Empty."), toolkit=toolkit)
    again.load_state_dict(state)
    result = ToolResultBlock(id="call_1", name="look", output="nothing")
    events += await part(again, r.ExternalExecutionResultEvent(reply_id=reply_id, execution_results=[result]))
    check_replies(events)
    folds = [Msg.from_events(events[:end]) for end in range(1, len(events) + 1)]
    walk = [block.state for msg in folds for block in msg.get_content_blocks("tool_call")]
    assert [*dict.fromkeys(walk)] == ["pending", "asking", "allowed", "submitted", "finished"]
    assert shape(folds[-1].content)[1:] == ["tool_result: success nothing", "text: Empty."]
    assert (await remembered(again))[-1].to_json() == folds[-1].to_json()


async def test_a_tool_of_another_program_fails_where_that_cannot_be_reached() -> None:
    toolkit = Toolkit()
    toolkit.register(look, external=True)
    result = await toolkit.run(call("look", "call_1", where="there"))
    assert (result.state, "is run by another program" in result.output_text()) == ("error", True)
