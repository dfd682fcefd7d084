"""The tools of a thinking agent in a call: the call's hooks see them, and those that need consent ask the user."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.agent import Delegate, ReActAgent, RealtimeAgent
from realtime.event import ClientEvents, ServerEvents
from realtime.event import client as c
from realtime.event import reply as r
from realtime.event import server as s
from realtime.message import Msg, ToolCallBlock, ToolResultBlock
from realtime.state.replies import messages
from realtime.state.restore import restore
from realtime.tool import Toolkit, ToolResponse
from tests.agent.fakes import Call, alone
from tests.agent.fakes import call as voice_call
from tests.agent.office import ASK, NAME, desk
from tests.agent.test_confirmation import Till, answer, asked
from tests.agent.test_run_hooks import ask
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import call, get_weather, react, remembered, requests_of, say, shape, weather
from tests.agent.voice import COSTS, Talk, talk
from tests.message.reply_grammar import check_replies
from tests.model.local.stand_ins import silence, speech
from tests.state.test_replies import project

pytestmark = pytest.mark.virtual_time(costs=COSTS)

PAY = call("pay", amount=5)


def cashier(till: Till, *more: Any, **options: Any) -> ReActAgent:
    """An agent that pays five, which needs consent, and says so."""
    return react([PAY], *(more or (say("Done."),)), toolkit=till.tools, **options)


async def consent(one: Talk, confirmed: bool, **fields: Any) -> None:
    (question,) = questions(one)
    event = ClientEvents.ClientToolResultEvent(
        session_id="s", id=question.id, name=question.name, output="", confirmed=confirmed, **fields
    )
    await one.agent.handle_input(event)


def questions(one: Talk) -> list[ToolCallBlock]:
    told = [event.tool_use for event in one.all(ServerEvents.AgentResponseToolUseDoneEvent)]
    return [call for call in told if call.state == "asking"]


class Notes:
    """Hooks that note the tool calls that they see."""

    def __init__(self, agent: RealtimeAgent) -> None:
        self.seen: list[str] = []
        agent.register_instance_hook("pre_tool_call", "note", self.before)
        agent.register_instance_hook("post_tool_call", "note", self.after)

    async def before(self, agent: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        block = kwargs["tool_call"]
        self.seen.append(f"calls {block.name}({block.input})")

    async def after(self, agent: RealtimeAgent, kwargs: dict[str, Any], output: ToolResultBlock) -> None:
        self.seen.append(f"{output.state}: {output.output_text()}")


TO_OSLO = call("get_weather", city="Oslo")


async def asked_to(one: Talk, text: str, responses: int = 1) -> None:
    """A typed wish, and the end of so many responses of the call."""
    await one.ask(text, responses)


async def test_hooks_see_the_tools_of_the_agent_behind_the_embedded_voice() -> None:
    async with talk(react([TO_OSLO], say("It rains."), toolkit=weather())) as one:
        notes = Notes(one.agent)
        await asked_to(one, "How is the weather in Oslo?", 2)
    assert notes.seen == ['calls get_weather({"city": "Oslo"})', "success: Oslo: rain"]


async def test_hooks_see_the_tools_of_a_delegate_within_its_own_call() -> None:
    agent = react([TO_OSLO], say("It rains."), toolkit=weather())
    async with alone(toolkit=desk(agent, background=False)) as made:
        notes = Notes(made.agent)
        ask(made, ASK)
        await asyncio.sleep(2)
    inner = ['calls get_weather({"city": "Oslo"})', "success: Oslo: rain"]
    assert notes.seen == [f"calls {ASK[1]}({ASK[2]})", *inner, "success: It rains."]


async def test_hooks_change_a_call_of_the_agent_and_its_result() -> None:
    async def to_rome(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any]:
        block = kwargs["tool_call"]
        return {"tool_call": ToolCallBlock(id=block.id, name=block.name, input='{"city": "Rome"}')}

    async def shout(self: RealtimeAgent, kwargs: dict[str, Any], output: ToolResultBlock) -> ToolResultBlock:
        return ToolResultBlock(id=output.id, name=output.name, output=output.output_text().upper())

    agent = react([TO_OSLO], say("It rains."), toolkit=weather())
    async with talk(agent) as one:
        one.agent.register_instance_hook("pre_tool_call", "rome", to_rome)
        one.agent.register_instance_hook("post_tool_call", "shout", shout)
        await asked_to(one, "How is the weather in Oslo?", 2)
        assert [line for line in one.story if line.startswith("success")] == ["success: ROME: RAIN"]
    assert "tool_result: success ROME: RAIN" in shape((await remembered(agent))[-1].content)


async def test_with_hooks_a_tool_still_ends_the_reply() -> None:
    async def hang_up() -> ToolResponse:
        """Ends the talk."""
        return ToolResponse([], metadata={"stop_reply": "goodbye"})

    agent = react([call("hang_up")], say("Never said."), toolkit=Toolkit([hang_up]))
    async with talk(agent) as one:
        Notes(one.agent)
        await one.type("Bye!")
        await one.until(ServerEvents.AgentResponseToolResultEvent)
        await asyncio.sleep(2)
    assert (await remembered(agent))[-1].metadata["stop_requested"] == "acting"


async def test_a_turn_that_goes_on_after_a_pause_calls_no_hook_for_its_draft() -> None:
    """A reply that begins in a pause and is dropped never was."""
    toolkit = Toolkit()
    toolkit.register(get_weather, read_only=True)
    agent = react([TO_OSLO], [TO_OSLO], say("It rains."), toolkit=toolkit)
    async with talk(agent, "How is the weather", "How is the weather in Oslo?") as one:
        notes = Notes(one.agent)
        await one.speak(silence(400), speech(600), silence(420), speech(600), silence(1_500))
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        await asyncio.sleep(2)
    assert len(requests_of(agent)) == 3, "one of them for the draft that was dropped"
    assert len(notes.seen) == 2


CHANGED = ToolCallBlock(id="", name="pay", input='{"amount": 3}')


@pytest.mark.parametrize(
    ("after_s", "confirmed", "changed", "paid", "result"),
    [
        (10, True, None, [5], "success: paid 5"),
        (0, True, CHANGED, [3], "success: paid 3"),
        (0, False, None, [], "denied: the user refused"),
    ],
    ids=["agrees", "changes it", "refuses"],
)
async def test_a_tool_of_the_agent_that_needs_consent_asks_and_runs_once_the_user_agrees(
    after_s: int, confirmed: bool, changed: ToolCallBlock | None, paid: list[int], result: str
) -> None:
    """A refusal is the result that the agent reacts to. The hooks of the tool run after the consent."""
    till = Till()
    async with talk(cashier(till)) as one:
        notes = Notes(one.agent)
        await asked_to(one, "Pay five.")
        await asyncio.sleep(after_s)
        (question,) = questions(one)
        assert (question.name, question.input, till.paid, notes.seen) == ("pay", '{"amount": 5}', [], [])
        fields = {"tool_call": msgspec.structs.replace(changed, id=question.id)} if changed else {}
        await consent(one, confirmed, **fields)
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        answered = [event.item.tool_call for event in one.all(s.AgentItemDoneEvent) if event.item.tool_call is not None]
        assert [block.state for block in answered] == ["allowed"] * confirmed
        events = project(one.events)
    assert till.paid == paid
    assert one.story[-3:] == [result, "says Done.", "completed"]
    assert notes.seen[1:] == ([result] if confirmed else [])
    kinds = [event.type for event in events if isinstance(event, r.RequireUserConfirmEvent | r.UserConfirmResultEvent)]
    assert len(kinds) == 2


async def test_silence_counts_as_a_refusal_after_the_time_for_clients_and_alone_in_code_the_reply_waits() -> None:
    till = Till()
    async with talk(cashier(till, say("Then not.")), client_timeout_s=50) as one:
        await one.type("Pay five.")
        await one.until(ServerEvents.AgentResponseToolResultEvent)
        assert any("denied: the user did not answer within 50 s" in line for line in one.story)
    answered = await cashier(till, say("I may not."))(Msg("user", "Pay five.", "user"))
    assert [(block.type, getattr(block, "state", None)) for block in answered.content] == [("tool_call", "asking")]
    assert till.paid == []


async def test_what_the_user_says_meanwhile_withdraws_the_question() -> None:
    till = Till()
    async with talk(cashier(till, say("As you like."))) as one:
        await asked_to(one, "Pay five.")
        await asked_to(one, "No, wait.", 2)
        assert any(line.startswith("interrupted:") for line in one.story)
        await consent(one, True)
        assert [event.code for event in one.all(ServerEvents.AgentErrorEvent)] == ["unknown_tool_call"]
        await asyncio.sleep(5)
        assert "says As you like." in one.story
    assert till.paid == []


def card(made: Call) -> ToolCallBlock:
    """The question that is open."""
    done = [event.tool_result.id for event in made.of(s.AgentResponseToolResultEvent)]
    (question,) = [one for one in asked(made) if one.id not in done]
    return question


@pytest.mark.parametrize("background", [False, True])
async def test_a_tool_of_a_delegate_asks_and_runs_once_the_user_agrees(background: bool) -> None:
    """Readers of replies are asked, too."""
    till = Till()
    toolkit = Toolkit([Delegate(cashier(till), NAME, "Pays.", background)])
    async with voice_call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(5)
        question = card(made)
        assert (question.name, question.input, till.paid) == ("pay", '{"amount": 5}', [])
        made.receive(answer(True, question.id))
        await asyncio.sleep(2)
        assert till.paid == [5]
        told = {event.tool_result.id: event.tool_result for event in made.of(s.AgentResponseToolResultEvent)}
        assert (told[question.id].state, told[question.id].output_text()) == ("success", "paid 5")
        names = [call_id for call_id, _, _ in results(made)]
        assert names == ["call_1"], "the voice's model is told of the delegate alone"
        for items in (made.session.conversation.items(), restore(made.log).conversation.items()):
            assert [item.tool_call.name for item in items if item.tool_call is not None] == [NAME]
        made.link.reply(500, "Paid. ")
        await asyncio.sleep(5)
    events = project(made.log)
    check_replies(events)
    (asking,) = [event for event in events if isinstance(event, r.RequireUserConfirmEvent)]
    assert [one.name for one in asking.tool_calls] == ["pay"]
    calls = {block.name: str(block.state) for msg in messages(events) for block in msg.get_content_blocks("tool_call")}
    assert calls["pay"] == "finished"


async def test_a_refusal_to_a_delegate_is_what_its_agent_reacts_to() -> None:
    till = Till()
    toolkit = Toolkit([Delegate(cashier(till, say("Then not.")), NAME, "Pays.", False)])
    async with voice_call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        made.receive(answer(False, card(made).id, output="too much"))
        await asyncio.sleep(1)
        told = [(event.tool_result.name, event.tool_result.state) for event in made.of(s.AgentResponseToolResultEvent)]
        assert told == [("pay", "denied"), (NAME, "success")]
        assert results(made) == [("call_1", "success", "Then not.")]
    assert till.paid == []


async def test_the_question_of_a_delegate_ends_with_it() -> None:
    till = Till()
    toolkit = Toolkit([Delegate(cashier(till), NAME, "Pays.", False)])
    async with voice_call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        question = card(made)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(2)
        told = {event.tool_result.id: event.tool_result.state for event in made.of(s.AgentResponseToolResultEvent)}
        assert told == {"call_1": "interrupted", question.id: "interrupted"}
        made.receive(answer(True, question.id))
        assert [event.code for event in made.of(s.AgentErrorEvent)] == ["unknown_tool_call"]
    assert till.paid == []
