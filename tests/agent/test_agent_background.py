"""Background tools of thinking agents in a call: told when the floor is free, listed and stopped like a voice's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.agent import Delegate, ReActAgent
from realtime.agent.run import AgentRun
from realtime.audio.playback import WallClockPlayback
from realtime.event import client as c
from realtime.event import server as s
from realtime.message import TextBlock, UserMsg
from realtime.message.msg import check_pairs
from realtime.testing.clock import run
from realtime.tool import ToolContext, Toolkit
from realtime.tool.background import left_open
from tests.agent.fakes import call as voice_with
from tests.agent.spoken import Spoken, spoken
from tests.agent.test_background_tools import asked, hints
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import ScriptedChat, SlowMemory, Steps, call, react, remembered, requests_of, say
from tests.agent.voice import COSTS, memory_of
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

ended: list[str] = []


async def dig(context: ToolContext[Any]) -> AsyncGenerator[str, None]:
    """Dig."""
    context.progress("digging")
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    yield "a hole"


def spade(**options: Any) -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(dig, background=True, **options)
    return toolkit


def digger(*further: Any, **options: Any) -> Any:
    return react(
        [TextBlock(text="Let me dig."), call("dig")],
        say("I am digging."),
        *(further or (say("The hole is there."),)),
        toolkit=spade(**options),
    )


def hears(clock: None = None) -> WallClockPlayback:
    return WallClockPlayback(24_000)


DONE = (
    "<system-reminder>\nThe background tool dig (task dig_1) is done. Tell the user now, in your own words. "
    "Its result:\na hole\n</system-reminder>"
)


def run_of(one: Spoken) -> AgentRun:
    participant = one.session.participant
    assert isinstance(participant, AgentRun)
    return participant


@asynccontextmanager
async def digging(agent: Any, after_s: float = 0.0, **options: Any) -> AsyncIterator[Spoken]:
    """A call whose agent digs in the background, so many seconds after it has said so."""
    ended.clear()
    async with spoken(agent, clock=hears(), **options) as one:
        one.type("Dig a hole")
        await one.until(s.AgentResponseDoneEvent, 2)
        await asyncio.sleep(after_s)
        yield one


async def test_the_result_starts_a_reply_when_the_floor_is_free() -> None:
    agent = digger()
    async with digging(agent) as one:
        (result,) = one.of(s.AgentResponseToolResultEvent)
        assert result.tool_result.state == "running"
        assert "will be given to you later" in result.tool_result.output_text()
        await asyncio.sleep(8)
        assert one.said() == ["Let me dig.", "I am digging."]
        await one.until(s.AgentResponseDoneEvent, 3)
        assert one.said()[-1] == "The hole is there."
        assert one.hints[-1] == DONE
        await asyncio.sleep(30)
        assert len(requests_of(agent)) == 3, "it is told once"
    memory = await memory_of(agent)
    assert memory[0] == "user: Dig a hole"
    assert memory[1].startswith("assistant: Let me dig. | tool_call: dig({}) | tool_result: running dig runs")
    assert memory[1].endswith("| I am digging.")
    assert memory[-1] == "assistant: The hole is there."
    assert sum("is done" in line for line in memory) == 1


async def test_a_silent_result_is_known_at_the_next_turn() -> None:
    agent = digger(say("Yes, it is there."), announce="silently")
    async with digging(agent, 18) as one:
        assert len(requests_of(agent)) == 2
        one.type("Is it there?")
        await asyncio.sleep(3)
    assert any("Its result:\na hole" in text for text in requests_of(agent)[-1].texts)
    assert one.said()[-1] == "Yes, it is there."


async def test_listeners_and_programs_see_it_and_can_stop_it() -> None:
    agent = digger()
    async with digging(agent) as one:
        notes = [event for event in one.of(s.AgentToolProgressEvent) if event.kind == "note"]
        assert [note.delta for note in notes] in (["digging"], [])
        (task,) = run_of(one).background_tools()
        assert task == {"id": "dig_1", "tool": "dig", "state": "running", "latest": "digging"}
        assert run_of(one).cancel_background_tool("dig_1")
        await asyncio.sleep(20)
        assert ended == ["cancelled"]
        assert "dig_1) was stopped: no result will come" in one.hints[-1]
        assert len(requests_of(agent)) == 2
        assert left_open(one.session.conversation.items()) == {}


async def test_the_agent_lists_and_stops_its_own_by_voice() -> None:
    stops = [call("list_background_tools", "b")], [call("cancel_background_tool", "c", task_id="dig_1")]
    async with digging(digger(*stops, say("No.")), 2) as one:
        one.type("Stop that")
        await asyncio.sleep(20)
        told = [event.tool_result.output_text() for event in one.of(s.AgentResponseToolResultEvent)]
        assert '"id":"dig_1"' in told[1]
        assert told[2] == "Task dig_1 has been cancelled."
        assert ended == ["cancelled"]
        assert one.said()[-1] == "No."
        assert not any("is done" in hint for hint in one.hints)


async def test_it_goes_on_while_the_client_is_away_and_is_told_to_it_after_its_return() -> None:
    async with digging(digger(), 5, grace_s=60) as one:
        one.session.detach(one.listener)
        await asyncio.sleep(20)
        assert not one.session.is_ending
        assert any("a hole" in hint for hint in one.hints)
        assert run_of(one).background_tools() == []


async def test_it_ends_with_the_call_and_the_history_says_so() -> None:
    agent = digger()
    before = asyncio.all_tasks()
    async with digging(agent, 3) as one:
        await one.session.end("client_end")
        assert ended == ["cancelled"]
        assert "was stopped: no result will come" in one.hints[-1]
        assert left_open(one.session.conversation.items()) == {}
    assert asyncio.all_tasks() == before
    assert agent.toolkit.background.running == {}


async def test_a_result_that_comes_in_the_middle_of_a_reply_leaves_the_memory_of_it_whole() -> None:
    """The hint stands between the items of one reply; the memory has one reply, and the hint behind it."""

    async def look() -> str:
        """Look."""
        await asyncio.sleep(15)
        return "nothing"

    agent = react(
        [TextBlock(text="Let me dig."), call("dig"), call("look", "call_2")],
        say("I have looked."),
        say("Fine."),
        toolkit=spade(announce="silently"),
    )
    agent.toolkit.register(look)
    async with digging(agent, 3, tool_timeout_s=60) as one:
        one.type("Good")
        await one.until(s.AgentResponseDoneEvent, 3)
        await asyncio.sleep(3)
    memory = await remembered(agent)
    assert check_pairs(memory) == []
    lines = [line for line in await memory_of(agent) if line.startswith("assistant")]
    assert len(lines) == 2
    assert lines[0].endswith("tool_result: success nothing | I have looked.")
    assert sum("is done" in (msg.get_text_content() or "") for msg in memory) == 1


ASK = ("call_1", "ask", '{"query": "Dig a hole"}')


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
async def test_behind_a_delegate_the_voice_tells_the_result_and_the_agent_knows_it(background: bool) -> None:
    agent = digger(say("It is round."))
    async with voice_with(toolkit=Toolkit([Delegate(agent, "ask", "Digs.", background=background)])) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        made.link.reply(500, "It is being dug.")
        await asyncio.sleep(3)
        begun = [hint for hint in hints(made) if "(task dig_" in hint]
        assert "has been started" in begun[0]
        (task,) = [one for one in made.agent.background_tools() if one["tool"] == "dig"]
        n_asked = asked(made)
        await asyncio.sleep(10)
        made.link.reply(500, "There is a hole.")
        await asyncio.sleep(5)
        assert f"The background tool dig (task {task['id']}) is done. Tell the user now" in hints(made)[-1]
        assert asked(made) > n_asked, "it has started a reply"
        assert left_open(made.session.conversation.items()) == {}
        ask_tools(made, ("call_2", "ask", '{"query": "What is it like?"}'))
        await asyncio.sleep(1)
    assert "a hole" in str(requests_of(agent)[2].messages)


async def test_what_an_agent_behind_a_delegate_runs_can_be_stopped_by_the_page_and_by_voice() -> None:
    ended.clear()
    agent = digger()
    async with voice_with(toolkit=Toolkit([Delegate(agent, "ask", "Digs.")])) as made:
        for number, stop in enumerate(("page", "voice"), 1):
            ask_tools(made, (f"call_{number}", "ask", '{"query": "Dig a hole"}'))
            await asyncio.sleep(1)
            agent.model.requests.clear()
            (task,) = [one for one in made.agent.background_tools() if one["tool"] == "dig"]
            if stop == "page":
                assert made.agent.cancel_background_tool(task["id"])
            else:
                ask_tools(made, ("stop", "cancel_background_tool", f'{{"task_id": "{task["id"]}"}}'))
            await asyncio.sleep(1)
            assert len(ended) == number
            assert [one for one in made.agent.background_tools() if one["tool"] == "dig"] == []


async def test_agents_with_one_toolkit_neither_see_nor_stop_each_others_tools() -> None:
    ended.clear()
    toolkit = spade()
    asks = [call("list_background_tools", "b"), call("cancel_background_tool", "c", task_id="dig_2")]
    one, other = (react([call("dig")], say("Begun."), asks, say("Tried."), toolkit=toolkit) for _ in range(2))
    await one(UserMsg("user", "Dig"))
    await asyncio.sleep(1)
    await other(UserMsg("user", "Dig"))
    await one(UserMsg("user", "What runs? Stop it."))
    told = str(requests_of(one)[-1].messages[-1]["content"])
    assert '"id":"dig_1"' in told.replace("\\", "")
    assert '"id":"dig_2"' not in told.replace("\\", "")
    assert "Cannot find async task with ID dig_2" in told
    assert ended == []
    await one.aclose()
    assert ended == ["cancelled"], "the other one digs on"
    await asyncio.sleep(12)
    await other(UserMsg("user", "And?"))
    assert any("(task dig_2) is done" in str(message) for message in requests_of(other)[-2].messages)
    await one(UserMsg("user", "And?"))
    assert not any("is done" in str(message) for message in requests_of(one)[-1].messages)


async def test_two_calls_with_one_toolkit_have_background_tools_of_their_own() -> None:
    toolkit = spade()
    agents = [react([call("dig")], say("Begun."), say("There."), toolkit=toolkit) for _ in range(2)]
    async with spoken(agents[0], clock=hears()) as one, spoken(agents[1], clock=hears()) as other:
        one.type("Dig")
        await one.until(s.AgentResponseDoneEvent, 2)
        assert len(run_of(one).background_tools()) == 1
        assert run_of(other).background_tools() == []
        await other.session.end("client_end")
        assert len(run_of(one).background_tools()) == 1
        await one.until(s.AgentResponseDoneEvent, 3)
        assert one.said()[-1] == "There."
    assert len(requests_of(agents[1])) == 0


async def test_a_voice_sees_all_that_runs_in_its_call_and_an_agent_its_own() -> None:
    toolkit = spade()
    asks = [call("list_background_tools", "b")]
    agents = [react([call("dig")], say("Begun."), asks, say("Listed."), toolkit=toolkit) for _ in range(2)]
    desks = Toolkit([Delegate(one, f"ask_{place}", "Digs.") for place, one in enumerate(agents)])
    async with voice_with(toolkit=desks) as made:
        for place in (0, 1):
            ask_tools(made, (f"call_{place}", f"ask_{place}", '{"query": "Dig"}'))
            await asyncio.sleep(1)
        ask_tools(made, ("all", "list_background_tools", "{}"))
        await asyncio.sleep(0.5)
        (listed,) = [text for call_id, _, text in results(made) if call_id == "all"]
        ask_tools(made, ("call_2", "ask_0", '{"query": "What runs?"}'))
        await asyncio.sleep(1)
    assert listed.count('"tool":"dig"') == 2
    assert str(requests_of(agents[0])[-1].messages[-1]).count('"tool":"dig"') == 1


async def hang() -> None:
    """Hang."""
    await asyncio.sleep(10_000)


def hanging() -> ReActAgent:
    return react([call("hang")], say("It does not answer."), toolkit=Toolkit([hang]))


@pytest.mark.parametrize("limit_s", [None, 5])
async def test_a_tool_of_the_agent_has_as_long_as_those_of_its_voice(limit_s: float | None) -> None:
    async with spoken(hanging(), clock=hears(), **({} if limit_s is None else {"tool_timeout_s": limit_s})) as one:
        one.type("Try")
        result = await one.until(s.AgentResponseToolResultEvent)
        took_s = asyncio.get_running_loop().time()
        await one.until(s.AgentResponseDoneEvent, 2)
    assert took_s == pytest.approx(limit_s or 30, abs=1)
    assert result.tool_result.output_text() == f"hang gave no result within {limit_s or 30:g} s"
    assert one.said() == ["It does not answer."]


@pytest.mark.parametrize("limit_s", [None, 5])
async def test_a_tool_of_a_delegate_s_agent_has_as_long_as_the_voice_s_or_what_the_delegate_says(
    limit_s: float | None,
) -> None:
    """Without a call it has ten minutes."""
    agent = hanging()
    async with voice_with(toolkit=Toolkit([Delegate(agent, "ask", "Tries.", tool_timeout_s=limit_s)])) as made:
        ask_tools(made, ASK)
        await asyncio.sleep((limit_s or 30) - 1)
        assert agent.is_replying
        await asyncio.sleep(2)
        assert not agent.is_replying
    assert f"hang gave no result within {limit_s or 30:g} s" in str(requests_of(agent)[-1].messages)
    alone = hanging()
    await alone(UserMsg("user", "Try"))
    assert "hang gave no result within 600 s" in str(requests_of(alone)[-1].messages)


async def _stopped_at(step: int, *, ends: bool) -> int:
    """Cancel the response, or end the call, after so many steps of its tasks; returns how many there were."""
    ended.clear()
    chat = ScriptedChat([TextBlock(text="Let me dig."), call("dig")], say("I am digging."), say("Done."), piece_s=0.05)
    agent = react(model=chat, toolkit=spade(), memory=SlowMemory())
    before = asyncio.all_tasks()
    async with spoken(agent, clock=hears()) as one:
        ending: list[asyncio.Task[None]] = []

        def act() -> None:
            if ends:
                ending.append(asyncio.get_running_loop().create_task(one.session.end("client_end")))
            else:
                one.receive(c.ClientResponseCancelEvent())

        with Steps(step, act) as steps:
            one.type("Dig a hole")
            await asyncio.sleep(13)
        if not ends:
            one.type("And?")
            await asyncio.sleep(25)
            assert run_of(one).background_tools() == []
            assert one.of(s.AgentResponseDoneEvent)[-1].status == "completed"
        await asyncio.gather(*ending)
        items = one.session.conversation.items()
    assert asyncio.all_tasks() == before, "nothing runs on"
    assert left_open(items) == {}
    assert agent.voice_call is None
    messages = await remembered(agent)
    assert check_pairs(messages) == []
    calls = [block.id for msg in messages for block in msg.get_content_blocks("tool_call")]
    assert len(calls) == sum(len(msg.get_content_blocks("tool_result")) for msg in messages)
    assert sum("(task dig_1) is done" in (msg.get_text_content() or "") for msg in messages) <= 1
    return steps.count


@pytest.mark.parametrize("ends", [False, True], ids=["cancelled", "call ends"])
def test_wherever_it_is_stopped_nothing_is_left_and_nothing_is_told_twice(ends: bool) -> None:
    """At every step of every task of the call and the agent; by day at each third."""
    n_steps = run(_stopped_at(0, ends=ends), costs=COSTS)
    assert n_steps > 40
    for step in range(1, n_steps + 1, volume(3, 1)):
        run(_stopped_at(step, ends=ends), costs=COSTS)
