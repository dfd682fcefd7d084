"""Interruptions of a ReActAgent: at every await, with every call answered, and its words cut to what was heard."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent import ReActAgent
from realtime.agent.played import cut_to_played
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.formatter import OpenAIChatFormatter
from realtime.message import AssistantMsg, Msg, TextBlock, ThinkingBlock, UserMsg
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.compression import COMPRESSED
from realtime.testing.clock import VirtualLoop
from realtime.tool import Toolkit
from tests.agent.thinking import (
    HELLO,
    PlainFormatter,
    ScriptedChat,
    SlowMemory,
    Steps,
    call,
    ends_in,
    get_weather,
    react,
    remembered,
    requests_of,
    say,
    shape,
    weather,
)
from tests.message.reply_grammar import check_replies
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time

OSLO = call("get_weather", city="Oslo")
ROUND = [
    ThinkingBlock(thinking="Two cities."),
    TextBlock(text="Let me see."),
    OSLO,
    call("get_weather", "call_2", city="Bergen"),
]


async def interrupted(agent: ReActAgent, after_s: float, within_s: float = 0.1) -> Msg:
    """The answer of a reply that is interrupted after so many seconds."""
    task = asyncio.create_task(agent(HELLO))
    await asyncio.sleep(after_s)
    await agent.interrupt()
    answer: Msg = await ends_in(within_s, task)
    return answer


async def test_the_model_is_interrupted_while_it_speaks() -> None:
    """REA-05, REA-06, REA-07: the original task has the answer of the handler, both are remembered."""
    agent = react(model=ScriptedChat(say("one two three"), piece_s=1.0))
    answer = await interrupted(agent, 2.5)
    assert answer.metadata["_is_interrupted"] is True
    assert answer.finished_reason == "interrupted"
    assert answer.get_text_content() == "You interrupted me. What can I do for you?"
    hello, partial, kept = await remembered(agent)
    assert (shape(partial.content), partial.finished_reason) == (["text: one two"], "interrupted")
    assert (hello, kept.to_json()) == (HELLO, answer.to_json())


@pytest.mark.parametrize("parallel", [False, True])
async def test_tools_are_interrupted(parallel: bool) -> None:
    """REA-05, REA-09: each call has a result, and the next reply works."""
    agent = react(ROUND, say("Again."), toolkit=weather(), parallel_tool_calls=parallel)
    await interrupted(agent, 0.1)
    partial = (await remembered(agent))[1]
    results = partial.get_content_blocks("tool_result")
    assert [(block.id, block.state) for block in results] == [("call_1", "interrupted"), ("call_2", "interrupted")]
    assert all("interrupted" in block.output_text() for block in results)
    payload = await OpenAIChatFormatter().format(await remembered(agent))
    assert [message["role"] for message in payload] == ["user", "assistant", "tool", "tool", "assistant"]
    assert (await agent(UserMsg("user", "Again?"))).get_text_content() == "Again."


async def test_the_agent_is_interrupted_between_rounds() -> None:
    """REA-05: the results of the round before stay."""
    agent = react([OSLO], say("never"), toolkit=weather())

    async def interrupt(self: Any, *_: Any) -> None:
        await self.interrupt()

    agent.register_instance_hook("post_acting", "interrupt", interrupt)
    answer = await agent(HELLO)
    assert answer.metadata["_is_interrupted"] is True
    assert shape((await remembered(agent))[1].content)[1:] == ["tool_result: success Oslo: rain"]
    assert len(requests_of(agent)) == 1


async def test_a_subclass_answers_an_interruption_in_its_own_way() -> None:
    """REA-08: here by asking the model."""

    class Asks(ReActAgent):
        async def handle_interrupt(self, msg: Any = None, structured_model: Any = None) -> Msg:
            chat = await self.model([{"text": "The user interrupted you. Say so."}])
            assert not isinstance(chat, ChatResponse)
            responses = [response async for response in chat]
            return AssistantMsg(self.name, [*responses[-1].content])

    agent = react(model=ScriptedChat(say("one two three"), say("Sorry, go ahead."), piece_s=1.0), agent_class=Asks)
    answer = await interrupted(agent, 1.5, 60)
    assert answer.get_text_content() == "Sorry, go ahead."
    assert (await remembered(agent))[-1].to_json() == answer.to_json()


async def test_what_was_never_said_is_not_remembered_of_an_interrupted_stream() -> None:
    """The reader of a stream, such as a voice, does not hear the words of the handler: only the end has them."""
    agent = react(model=ScriptedChat(say("one two three"), piece_s=1.0))
    events: list[r.AgentEvent] = []

    async def read() -> None:
        async for event in agent.reply_stream(HELLO):
            events.append(event)

    task = asyncio.create_task(read())
    await asyncio.sleep(1.5)
    await agent.interrupt(UserMsg("user", "Stop!"))
    await ends_in(0.1, task)
    check_replies(events)
    assert [event.delta for event in events if isinstance(event, r.TextBlockDeltaEvent)] == ["one"]
    assert Msg.from_events(events).get_text_content() == "You interrupted me. What can I do for you?"
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "one", "Stop!"]


async def test_a_tool_that_swallows_its_cancellation_does_not_hold_up_an_interruption() -> None:
    goes_on = asyncio.Event()

    async def stubborn() -> str:
        """Does not end."""
        while not goes_on.is_set():
            try:
                await goes_on.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    agent = react([call("stubborn"), OSLO], say("Fine."), toolkit=Toolkit([stubborn, get_weather]))
    assert (await interrupted(agent, 0.1, 1.5)).metadata["_is_interrupted"] is True
    partial = (await remembered(agent))[1]
    assert [block.state for block in partial.get_content_blocks("tool_result")] == ["interrupted", "interrupted"]
    before = partial.to_json()
    assert (await agent(UserMsg("user", "Now?"))).get_text_content() == "Fine."
    goes_on.set()
    await asyncio.sleep(1)
    assert (await remembered(agent))[1].to_json() == before, "the late result changes nothing"


async def test_a_model_that_swallows_its_cancellation_says_no_more() -> None:
    class Swallows(ScriptedChat):
        async def _pieces(self, whole: ChatResponse) -> Any:
            try:
                async for piece in super()._pieces(whole):
                    yield piece
            except asyncio.CancelledError:
                yield ChatResponse(say("and more, and more"))

    agent = react(model=Swallows(say("one two three"), piece_s=1.0))
    assert (await interrupted(agent, 1.5)).metadata["_is_interrupted"] is True
    assert shape((await remembered(agent))[1].content) == ["text: one"]


async def sleepy(self: Any, *_: Any) -> None:
    await asyncio.sleep(0.01)


class SlowFormatter(PlainFormatter):
    async def format(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        await asyncio.sleep(0.01)
        return await super().format(*args, **kwargs)


def busy_agent(parallel: bool) -> ReActAgent:
    """An agent that awaits wherever one can."""
    model = ScriptedChat(ROUND, say("It rains."), say("Yes."), piece_s=0.01)
    agent = react(model=model, toolkit=weather(), memory=SlowMemory(), parallel_tool_calls=parallel)
    agent.formatter = SlowFormatter()
    for hook_type in agent.supported_hook_types:
        agent.register_instance_hook(hook_type, "sleepy", sleepy)
    return agent


async def settled(agent: ReActAgent, tasks: set[asyncio.Task[Any]]) -> None:
    """Nothing runs, the memory fits together, and the next reply works."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    await loop.settle()
    assert asyncio.all_tasks() == tasks
    messages = await remembered(agent)
    assert messages[0] == HELLO
    for msg in messages:
        calls = [block.id for block in msg.get_content_blocks("tool_call")]
        assert calls == [block.id for block in msg.get_content_blocks("tool_result")]
        assert all(block.state != "running" for block in msg.get_content_blocks("tool_result"))
        assert msg.check_pairs() == []
    again = await agent(UserMsg("user", "Again?"))
    assert again.finished_reason == "completed"
    assert again.content


async def swept(act_of: Callable[[ReActAgent, asyncio.Task[Any]], Callable[[], Any]], parallel: bool) -> list[Any]:
    """The outcome of a reply for each await at which it is disturbed, up to the first that is behind its end."""
    outcomes: list[Any] = []
    tasks = asyncio.all_tasks()
    while True:
        agent = busy_agent(parallel)
        task = asyncio.get_running_loop().create_task(agent(HELLO))
        with Steps(len(outcomes) + 1, act_of(agent, task)) as steps:
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
        if steps.count <= len(outcomes):
            return outcomes
        outcomes.append(outcome)
        await settled(agent, tasks)


def finish(work: Any) -> None:
    """Run a coroutine that waits for nothing."""
    with pytest.raises(StopIteration):
        work.send(None)


each_order = pytest.mark.parametrize("parallel", [pytest.param(False, marks=pytest.mark.night), True])


@each_order
async def test_an_interruption_at_any_await_ends_with_the_handlers_answer(parallel: bool) -> None:
    """REA-05, REA-07, REA-09: in the model's stream, between rounds, inside tools, hooks, the memory."""
    outcomes = await swept(lambda agent, task: lambda: finish(agent.interrupt()), parallel)
    assert len(outcomes) > 60
    assert not [outcome for outcome in outcomes if not isinstance(outcome, Msg)]
    interrupted = [outcome.metadata.get("_is_interrupted", False) for outcome in outcomes]
    n_late = interrupted[::-1].index(True)
    assert all(interrupted[: len(outcomes) - n_late]), "each one before the end of the reply"
    assert n_late <= 3, "the last ones come when the answer is there"


@each_order
async def test_cancelling_the_caller_at_any_await_cancels_and_leaves_nothing(parallel: bool) -> None:
    outcomes = await swept(lambda agent, task: lambda: task.cancel(), parallel)
    assert len(outcomes) > 60
    cancelled = [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes]
    n_late = cancelled[::-1].index(True)
    assert all(cancelled[: len(outcomes) - n_late])
    assert n_late <= 3


async def test_closing_the_stream_after_any_event_leaves_nothing() -> None:
    tasks = asyncio.all_tasks()
    place = 0
    while True:
        agent = busy_agent(parallel=True)
        told: list[r.AgentEvent] = []
        async with aclosing(agent.reply_stream(HELLO)) as events:
            async for event in events:
                told.append(event)
                if len(told) > place:
                    break
        await settled(agent, tasks)
        if len(told) <= place:
            break
        place += volume(3, 1)
    assert place > 30


def reply(*texts: str) -> AssistantMsg:  # type: ignore[valid-type]
    return AssistantMsg("Friday", [TextBlock(text=text) for text in texts], finished_reason="completed")


CUTS = [
    (["One two three."], "One two three.", ["One two three."], "completed"),
    (["One two three."], "One two", ["One two"], "interrupted"),
    (["One two three."], "", [], "interrupted"),
    (["One two.", "Three four."], "One two. Three", ["One two.", "Three"], "interrupted"),
    (["One two.", "Three four."], "One two.", ["One two."], "interrupted"),
    (["One\n two."], "One   two.", ["One\n two."], "completed"),
    (["One two."], "Ein zwei", ["Ein zwei"], "interrupted"),
    (["One two."], "One two. And more", ["One two. And more"], "interrupted"),
    (["One", "two"], "Ein", ["Ein"], "interrupted"),
    ([], "", [], "completed"),
    ([], "One", ["One"], "interrupted"),
]


def test_a_message_keeps_the_words_that_were_played() -> None:
    for texts, played, left, reason in CUTS:
        whole = reply(*texts)
        cut = cut_to_played(whole, played)
        assert ([block.text for block in cut.get_content_blocks("text")], cut.finished_reason) == (left, reason)
        assert [block.text for block in whole.get_content_blocks("text")] == texts, "the message itself stays"


@given(st.lists(st.text("ab \n", max_size=8), max_size=4), st.integers(0, 30))
def test_every_beginning_can_be_cut_to(texts: list[str], place: int) -> None:
    played = " ".join(texts)[:place]
    cut = cut_to_played(reply(*texts), played)
    assert (cut.get_text_content(" ") or "").split() == played.split() or played.split()[-1:] != [""]
    assert "".join((cut.get_text_content("") or "").split()) == "".join(played.split())


async def test_the_memory_keeps_what_was_heard_of_an_interrupted_reply() -> None:
    agent = react(model=ScriptedChat(say("One two three four."), say("Yes."), piece_s=1.0))

    async def read() -> None:
        async for _ in agent.reply_stream(HELLO):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(3.5)
    with pytest.raises(UsageError, match="truncate it after its end"):
        await agent.truncate_last_reply("One")
    await agent.interrupt()
    await task
    cut = await agent.truncate_last_reply("One two")
    assert cut is not None
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "One two"]
    await agent(UserMsg("user", "And then?"))
    assert requests_of(agent)[1].texts == ["Be brief.", "Hello", "One two", "And then?"]


async def test_what_tools_did_stays_and_what_was_not_heard_at_all_goes() -> None:
    agent = react([*say("Let me see."), call("get_weather", city="Oslo")], say("Rain."), say("Hm."), toolkit=weather())
    await agent(HELLO)
    await agent.truncate_last_reply("Let me")
    assert shape((await remembered(agent))[1].content) == [
        "text: Let me",
        'tool_call: get_weather({"city": "Oslo"})',
        "tool_result: success Oslo: rain",
    ]
    await agent(UserMsg("user", "What?"))
    assert await agent.truncate_last_reply("") is None
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "Let me", "What?"]
    assert await agent.truncate_last_reply("") is None


async def test_the_reply_keeps_its_place_and_its_marks() -> None:
    agent = react(say("One two three."))
    assert await agent.truncate_last_reply("x") is None
    answer = await agent(HELLO)
    await agent.observe([UserMsg("user", "later"), UserMsg("user", "still later")])
    await agent.memory.update_messages_mark(COMPRESSED, msg_ids=[answer.id])
    unchanged = await agent.truncate_last_reply("One two three.")
    assert unchanged is not None
    assert unchanged.to_json() == answer.to_json()
    await agent.truncate_last_reply("One")
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "One", "later", "still later"]
    marked = await agent.memory.get_memory(mark=COMPRESSED, prepend_summary=False)
    assert [msg.get_text_content() for msg in marked] == ["One"]


async def test_the_last_reply_is_known_after_a_restart() -> None:
    agent, again = react(say("One two three.")), react(say("-"))
    await agent(HELLO)
    again.load_state_dict(agent.state_dict())
    await again.truncate_last_reply("One")
    assert [msg.get_text_content() for msg in await remembered(again)] == ["Hello", "One"]
