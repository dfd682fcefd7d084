"""Drafts of an agent's reply in a pause: kept, or dropped without a trace; only reading tools run before that."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realtime.event import model as m
from realtime.event.config import TurnDetection
from realtime.message import HintBlock, TextBlock
from realtime.model.base import ItemTruncate, ResponseCreate, Settings
from realtime.model.chat.compression import CompressionConfig
from realtime.testing.clock import run
from realtime.tool import Toolkit
from tests.agent.thinking import ScriptedChat, WordCounter, call, react, remembered, requests_of, say
from tests.agent.voice import COSTS, memory_of, voice_call
from tests.model.local.stand_ins import silence, speech, typed
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

PAUSE = silence(420)
"""Long enough for a draft, too short for the end of a turn."""
END = silence(1_000)
TEA = "You would like tea. Anything else?"


async def test_a_kept_draft_is_sooner_and_remembered_once() -> None:
    waits_s = {}
    for mode in ("off", "speech"):
        agent = react(model=ScriptedChat(say(TEA), piece_s=0.1))
        async with voice_call(agent, "tea please", mode=mode) as one:
            await one.say(silence(400), speech(600), END)
            await one.until(m.ModelResponseDoneEvent)
            waits_s[mode] = one.first_sound_s()
        assert await memory_of(agent) == ["user: tea please", f"assistant: {TEA}"]
        assert len(requests_of(agent)) == 1
    assert (one.drafts.started, one.drafts.kept, one.drafts.dropped) == (1, 1, 0)
    assert waits_s["off"] - waits_s["speech"] == pytest.approx(0.16, abs=0.05)


@pytest.mark.parametrize(
    ("drafted", "piece_s"),
    [(say("You would what?"), 0.0), (say("You would what?"), 0.2), ([call("order", "b")], 0.0)],
    ids=["complete", "half done", "an order"],
)
async def test_a_dropped_draft_leaves_no_trace_and_has_run_no_tool_with_effects(drafted: Any, piece_s: float) -> None:
    kitchen = Kitchen()
    chat = ScriptedChat(drafted, say(TEA), piece_s=piece_s)
    agent = react(model=chat, toolkit=kitchen.toolkit())
    before = agent.state_dict()
    async with voice_call(agent, "I would", "I would like tea") as one:
        await one.say(silence(400), speech(600), PAUSE, speech(120))
        assert one.drafts.dropped == 1
        await asyncio.sleep(0)
        assert len(chat.requests) == 1
        assert not agent.is_replying
        assert agent.state_dict() == before
        await one.say(speech(480), END)
        await one.until(m.ModelResponseDoneEvent)
        assert one.said == [TEA]
    assert kitchen.done == []
    assert await memory_of(agent) == ["user: I would like tea", f"assistant: {TEA}"]
    assert chat.requests[-1].texts[1:] == ["I would like tea"]


async def test_a_call_that_ends_in_a_pause_drops_its_draft() -> None:
    agent = react(model=ScriptedChat(say(TEA), piece_s=0.05))
    before = asyncio.all_tasks()
    async with voice_call(agent, "tea") as one:
        await one.say(silence(400), speech(600), PAUSE)
        assert one.drafts.started == 1
    assert asyncio.all_tasks() == before
    assert await memory_of(agent) == []


class Kitchen:
    """Tools that note when they ran."""

    def __init__(self) -> None:
        self.done: list[tuple[str, float]] = []

    def note(self, name: str) -> None:
        self.done.append((name, asyncio.get_running_loop().time()))

    async def look_up(self) -> str:
        """Looks what there is."""
        self.note("look_up")
        return "tea"

    async def order(self) -> str:
        """Orders it."""
        self.note("order")
        return "ordered"

    def toolkit(self) -> Toolkit:
        toolkit = Toolkit([self.order])
        toolkit.register(self.look_up, read_only=True)
        return toolkit


async def test_a_tool_with_effects_waits_until_the_turn_is_decided() -> None:
    kitchen = Kitchen()
    agent = react([call("look_up", "a"), call("order", "b")], say("It comes."), toolkit=kitchen.toolkit())
    async with voice_call(agent, "tea please") as one:
        one.wait_for_silence(1_500)
        await one.say(silence(400), speech(600), silence(1_400))
        assert [name for name, _ in kitchen.done] == ["look_up"]
        assert one.all(m.ModelResponseToolUseDoneEvent) == []
        await one.say(silence(600))
        await one.until(m.ModelResponseToolUseDoneEvent, 2)
        await asyncio.sleep(0.1)
        decided_s = one.at(one.all(m.ModelInputDoneEvent)[0])
        (_, looked_s), (_, ordered_s) = kitchen.done
        assert looked_s < decided_s <= ordered_s
        assert {event.tool_use.state for event in one.all(m.ModelResponseToolUseDoneEvent)} == {"submitted"}
        results = [event.item.tool_result for event in one.all(m.ModelItemDoneEvent)]
        assert [result and result.output_text() for result in results] == ["tea", "ordered"]
        one.send(ResponseCreate())
        await one.until(m.ModelResponseDoneEvent, 2)
        assert one.said == ["It comes."]
    assert len(requests_of(agent)) == 2


async def test_what_a_tool_reports_in_a_draft_is_told_once_it_is_kept() -> None:
    """The tool has run before anybody knows of its call."""
    kitchen = Kitchen()
    agent = react([call("look_up", "a")], say("There is tea."), toolkit=kitchen.toolkit())
    async with voice_call(agent, "what is there") as one:
        await one.say(silence(400), speech(600), END)
        used = await one.until(m.ModelResponseToolUseDoneEvent)
        result = await one.until(m.ModelItemDoneEvent)
        assert kitchen.done[0][1] < one.at(one.all(m.ModelInputDoneEvent)[0]) <= one.at(used) <= one.at(result)
        assert result.item.tool_result.id == used.tool_use.id


async def test_a_hint_that_a_dropped_draft_has_read_is_read_again() -> None:
    agent = react(say("What?"), say("Your parcel is there."))
    await agent.hint(HintBlock(hint="The parcel is there."))
    async with voice_call(agent, "so", "so tell me") as one:
        await one.say(silence(400), speech(600), PAUSE, speech(120))
        await agent.hint(HintBlock(hint="It is heavy."))
        await one.say(speech(480), END)
        await one.until(m.ModelResponseDoneEvent)
    hints = [block.hint for block in (await remembered(agent))[-1].get_content_blocks("hint")]
    assert hints == ["The parcel is there.", "It is heavy."]


async def test_no_draft_begins_while_a_tool_runs() -> None:
    async def slow() -> str:
        """Takes its time."""
        await asyncio.sleep(20)
        return "done"

    agent = react([call("slow")], say("Never mind."), toolkit=Toolkit([slow]))
    leaves_it_alone = Settings(turn_detection=TurnDetection(interrupt_response=False))
    async with voice_call(agent, "never mind", settings=leaves_it_alone) as one:
        await one.ask("go")
        await one.say(silence(400), speech(600), END)
        await one.until(m.ModelResponseDoneEvent, 2)
        assert one.drafts.started == 0
        assert one.said == ["Never mind."]
        await asyncio.sleep(3)
        await one.say(speech(600), END)
        await one.until(m.ModelResponseDoneEvent, 3)
        assert one.drafts.started == 1


async def test_a_draft_in_the_middle_of_a_cut_reply_knows_what_was_heard() -> None:
    agent = react(model=ScriptedChat(say("Once there was a lighthouse. It shone."), say("Fine."), piece_s=0.3))
    async with voice_call(agent, "please stop") as one:
        one.send(typed("Tell me a story"), ResponseCreate())
        reply = await one.until(m.ModelResponseAudioDeltaEvent)
        await one.say(speech(600))
        one.send(ItemTruncate(reply.item_id, 300, "Once there"))
        await one.say(END)
        await one.until(m.ModelResponseDoneEvent, 2)
    assert (one.drafts.started, one.drafts.kept) == (1, 1)
    assert await memory_of(agent) == [
        "user: Tell me a story",
        "assistant: Once there",
        "user: please stop",
        "assistant: Fine.",
    ]


async def test_an_interruption_of_a_kept_draft_interrupts_the_agent() -> None:
    agent = react(model=ScriptedChat(say(TEA), say("Coffee then."), piece_s=0.3))
    async with voice_call(agent, "tea please", "no coffee") as one:
        await one.say(silence(400), speech(600), silence(700))
        assert one.drafts.kept == 1
        assert agent.is_replying
        await one.say(speech(600))
        assert not agent.is_replying
        await one.say(END)
        await one.until(m.ModelResponseDoneEvent, 2)
    assert one.said[-1] == "Coffee then."


def test_compression_that_a_turn_waits_for_rules_drafts_out() -> None:
    config: dict[str, Any] = {"enable": True, "agent_token_counter": WordCounter(), "trigger_threshold": 9}
    assert react(say("")).may_draft
    assert react(say(""), compression_config=CompressionConfig(**config, background=True)).may_draft
    assert not react(say(""), compression_config=CompressionConfig(**config, background=False)).may_draft


STEPS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([250, 420]), max_size=3),
        st.sampled_from(["tea", "order", "look", "order and look"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
Steps = list[tuple[list[int], str, bool]]


class Waitress(ScriptedChat):
    """Answers by the last words that it reads."""

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        words = args[0][-1]["text"]
        tools = [call(name, f"{name}{len(args[0])}") for name in ("look_up", "order") if name[:4] in words]
        answered = any(block.type == "tool_result" for block in args[0][-1]["content"])
        self.answers = [[TextBlock(text=f"You said {words[-9:]}. Yes."), *([] if answered else tools)]]
        return await super().__call__(*args, **kwargs)


async def _run(mode: Any, steps: Steps) -> tuple[list[m.ModelEvent], list[str], list[str]]:
    """The events of a call, what the agent remembers of it, and the tools that ran for good.

    Without how long words waited for their sound, which is what drafts change.
    """
    kitchen = Kitchen()
    agent = react(model=Waitress(piece_s=0.05), toolkit=kitchen.toolkit())
    async with voice_call(agent, mode=mode) as one:
        responses = 0

        def go_on(event: m.ModelEvent) -> None:
            if isinstance(event, m.ModelItemDoneEvent):
                used, done = one.all(m.ModelResponseToolUseDoneEvent), one.all(m.ModelItemDoneEvent)
                if len(used) == len(done):
                    asyncio.get_running_loop().call_soon(one.send, ResponseCreate())

        one.on_event = go_on
        for n, (pauses_ms, words, cuts) in enumerate(steps):
            one.recognizer.texts = [f"{words} {n}"]
            for pause_ms in pauses_ms:
                await one.say(speech(400), silence(pause_ms))
            await one.say(speech(400), END)
            await asyncio.sleep(10)
            sounds = one.all(m.ModelResponseAudioDeltaEvent)[responses:]
            responses += len(sounds)
            if cuts and sounds:
                one.send(ItemTruncate(sounds[0].item_id, 400, "You said"))
        await one.say(speech(400), END)
        await asyncio.sleep(10)
    events = [
        msgspec.structs.replace(event, ready_ms=None)
        if isinstance(event, m.ModelResponseAudioTranscriptDeltaEvent)
        else event
        for event in one.events
    ]
    return events, await memory_of(agent), [name for name, _ in kitchen.done if name == "order"]


@given(STEPS)
@settings(max_examples=volume(10, 30), suppress_health_check=[HealthCheck.too_slow])
def test_log_and_memory_with_drafts_are_those_without_them(steps: Steps) -> None:
    plain = run(_run("off", steps), costs=COSTS)
    drafted = run(_run("speech", steps), costs=COSTS)
    assert drafted[1:] == plain[1:]
    assert drafted[0] == plain[0]
