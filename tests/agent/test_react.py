"""ReActAgent: rounds of reasoning and acting, told as they come, kept as one message."""

import asyncio
import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent import ReActAgent, StopReply
from realtime.agent.reply_run import ReplyRun
from realtime.errors import ProviderError, UsageError
from realtime.event import reply as r
from realtime.formatter import OpenAIChatFormatter
from realtime.memory import InMemoryMemory
from realtime.message import (
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    URLSource,
    UserMsg,
    check_pairs,
)
from realtime.message.outcome import to_generate_reason
from realtime.model.chat.base import ChatBlock, ChatResponse, ChatUsage
from realtime.testing.clock import run
from realtime.tool import Toolkit, ToolResponse
from tests.agent.thinking import (
    HELLO,
    PlainFormatter,
    ScriptedChat,
    call,
    get_weather,
    react,
    remembered,
    requests_of,
    say,
    shape,
    stream,
    types_of,
    weather,
)
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time

OSLO = call("get_weather", city="Oslo")
PNG = DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"))


async def test_the_agent_reasons_acts_and_answers() -> None:
    """REA-01, REA-03, REA-39: one message holds the whole cycle, and the memory keeps it."""
    agent = react([TextBlock(text="Let me see."), OSLO], say("It rains in Oslo."), toolkit=weather())
    answer = await agent(HELLO)
    assert shape(answer.content) == [
        "text: Let me see.",
        'tool_call: get_weather({"city": "Oslo"})',
        "tool_result: success Oslo: rain",
        "text: It rains in Oslo.",
    ]
    assert (answer.name, answer.role, answer.finished_reason) == ("Friday", "assistant", "completed")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 10)
    first, second = requests_of(agent)
    assert (first.texts, first.tools) == (["Be brief.", "Hello"], ["get_weather"])
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant"]
    assert shape(second.messages[2]["content"]) == shape(answer.content[:3])
    assert [msg.to_json() for msg in await remembered(agent)] == [HELLO.to_json(), answer.to_json()]


async def test_the_plain_defaults_are_a_memory_and_a_toolkit() -> None:
    """REA-40; an empty prompt is no message, and unreported usage counts as zero."""
    empty = Toolkit()
    assert react(say("Hi."), toolkit=empty).toolkit is empty
    answers = ChatResponse(say("Hi.")), ChatResponse(say("Hi."), usage=ChatUsage(7, 3, 0.1))
    agent = ReActAgent("Friday", "", ScriptedChat(*answers), PlainFormatter())
    agent.set_console_output_enabled(False)
    assert isinstance(agent.memory, InMemoryMemory)
    assert isinstance(agent.toolkit, Toolkit)
    first, second = [await agent(HELLO) for _ in range(2)]
    assert requests_of(agent)[0].texts == ["Hello"]
    assert first.get_text_content() == "Hi."
    usage = [(msg.usage.input_tokens, msg.usage.output_tokens) for msg in (first, second) if msg.usage]
    assert usage == [(0, 0), (7, 3)]
    assert [msg.role for msg in await remembered(agent)] == ["user", "assistant", "assistant"]


THOUGHT: list[ChatBlock] = [ThinkingBlock(thinking="Hm.")]


@pytest.mark.parametrize("nothing", [[], THOUGHT, say("  \n"), say("\u200b\ufeff"), [*THOUGHT, *say("")]])
async def test_an_answer_without_words_is_asked_for_again_and_then_an_error(nothing: list[ChatBlock]) -> None:
    agent = react(nothing, say("Hi."))
    assert (await agent(HELLO)).get_text_content().strip(" \n\u200b\ufeff") == "Hi."
    assert "Answer now, in words." in requests_of(agent)[1].texts[-1]
    silent = react(nothing, max_iters=2)
    with pytest.raises(ProviderError, match="gave no answer") as caught:
        await silent(HELLO)
    assert caught.value.code == "empty_answer"
    assert len(requests_of(silent)) == 3


@pytest.mark.parametrize("text", ["...", "—", "?!"])
async def test_text_without_words_is_an_answer_where_no_voice_speaks_it(text: str) -> None:
    assert (await react(say(text), say("Hi."))(HELLO)).get_text_content() == text


async def test_the_formatter_writes_the_prompts() -> None:
    """FMT-15"""
    agent = ReActAgent("Friday", "Be brief.", ScriptedChat([OSLO], say("Rain.")), OpenAIChatFormatter(), weather())
    agent.set_console_output_enabled(False)
    await agent(HELLO)
    first, second = requests_of(agent)
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert second.messages[2]["tool_calls"][0]["function"]["name"] == "get_weather"


async def test_several_messages_or_none_are_answered_and_what_is_observed_is_remembered() -> None:
    """AGT-11"""
    agent = react(say("Yes."))
    await agent([HELLO, UserMsg("user", "Are you there?")])
    assert requests_of(agent)[0].texts == ["Be brief.", "Hello", "Are you there?"]
    await agent.observe(UserMsg("user", "one"))
    await agent.observe([UserMsg("user", "two"), UserMsg("user", "And now?")])
    assert [msg.get_text_content() for msg in await remembered(agent)][2:] == ["Yes.", "one", "two", "And now?"]
    assert len(requests_of(agent)) == 1
    await agent()
    assert requests_of(agent)[1].texts[-4:] == ["Yes.", "one", "two", "And now?"]


async def test_the_events_of_a_reply_come_as_it_is_made() -> None:
    agent = react([ThinkingBlock(thinking="Which city?"), TextBlock(text="Let me see."), OSLO], say("It rains."))
    agent.toolkit = weather()
    events = await stream(agent, HELLO)
    assert types_of(events) == [
        "REPLY_START",
        "MODEL_CALL_START",
        *("THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END"),
        *("TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"),
        *("TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END"),
        "MODEL_CALL_END",
        *("TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"),
        "MODEL_CALL_START",
        *("TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"),
        "MODEL_CALL_END",
        "REPLY_END",
    ]
    deltas = [event.delta for event in events if isinstance(event, r.TextBlockDeltaEvent)]
    assert deltas == ["Let", " me", " see.", "It", " rains."]


async def test_words_are_told_before_the_model_has_said_the_next_ones_and_a_result_before_its_tool_runs() -> None:
    """However much the agent remembers: it adds no wait of its own."""
    agent = react(model=ScriptedChat([*say("one two three"), OSLO], say("Rain."), piece_s=1.0), toolkit=weather())
    await agent.observe([UserMsg("user", "some words " * 20) for _ in range(100)])
    loop = asyncio.get_running_loop()
    told = [(event, loop.time()) async for event in agent.reply_stream(HELLO)]
    words = [(event.delta, at) for event, at in told if isinstance(event, r.TextBlockDeltaEvent)]
    assert words[:3] == [("one", 1.0), (" two", 2.0), (" three", 3.0)]
    at_type = {event.type: at for event, at in told}
    assert at_type["TOOL_RESULT_END"] - at_type["TOOL_RESULT_START"] == pytest.approx(0.2)


BLOCKS = st.lists(
    st.one_of(
        st.text("ab \n", min_size=0, max_size=12).map(lambda text: TextBlock(text=text)),
        st.text("ab ", min_size=0, max_size=12).map(lambda text: ThinkingBlock(thinking=text)),
        st.sampled_from(["Oslo", "Bergen"]).map(lambda city: call("get_weather", city=city)),
        st.just(ToolCallBlock(id="call_1", name="get_weather", input="{broken")),
        st.just(ToolCallBlock(id="call_9", name="no_such_tool")),
        st.just(PNG),
    ),
    max_size=4,
)


@given(rounds=st.lists(BLOCKS, min_size=1, max_size=3), parallel=st.booleans(), streams=st.booleans())
def test_the_fold_of_the_stream_is_the_reply(rounds: list[list[ChatBlock]], parallel: bool, streams: bool) -> None:
    """REA-04: and what is remembered, whatever the model says."""

    async def both() -> None:
        answers = [*rounds, say("The end.")]
        agent = react(model=ScriptedChat(*answers, stream=streams), toolkit=weather(), parallel_tool_calls=parallel)
        runs: list[ReplyRun] = []
        agent.register_instance_hook("pre_reply", "look", lambda self, kwargs: runs.append(self._run))
        events = await stream(agent, HELLO)
        folded = Msg.from_events(events)
        assert runs[0].msg is not None
        assert folded.to_json() == runs[0].msg.to_json()
        if folded.content:
            assert (await remembered(agent))[-1].to_json() == folded.to_json()
        calls = {block.id for block in folded.get_content_blocks("tool_call")}
        assert calls == {block.id for block in folded.get_content_blocks("tool_result")}
        # Another agent that is asked for the message alone says the same.
        other = react(model=ScriptedChat(*answers, stream=streams), toolkit=weather(), parallel_tool_calls=parallel)
        assert shape((await other(HELLO)).content) == shape(folded.content)

    run(both())


async def test_a_picture_is_told_whole_a_reference_kept_and_a_signature_reaches_the_next_prompt() -> None:
    reference = DataBlock(source=URLSource(url="https://example.com/a.png", media_type="image/png"))
    answer = await react([PNG, reference])(HELLO)
    assert shape(answer.content) == ["data: image/png", "data: image/png"]
    data = [event for event in await stream(react([PNG]), HELLO) if event.type.startswith("DATA_BLOCK")]
    assert types_of(data) == ["DATA_BLOCK_START", "DATA_BLOCK_DELTA", "DATA_BLOCK_END"]
    agent = react([ThinkingBlock(thinking="Oslo it is.", signature="c2ln"), OSLO], say("Rain."), toolkit=weather())
    answer = await agent(HELLO)
    for blocks in (answer.content, requests_of(agent)[1].messages[2]["content"]):
        assert blocks[0].model_dump()["signature"] == "c2ln"


async def test_several_rounds_are_one_message_in_order_and_blocks_of_one_name_stay_apart() -> None:
    """REA-39, as the check of MSG-03"""
    same = TextBlock(text="Again.", id="t")
    agent = react([same, OSLO], [same, OSLO], [same], toolkit=weather())
    answer = await agent(HELLO)
    assert [block.type for block in answer.content] == ["text", "tool_call", "tool_result"] * 2 + ["text"]
    assert answer.check_pairs() == []
    assert [block.id for block in answer.get_content_blocks("text")] == ["t", "t_2", "t_3"]
    assert [block.id for block in answer.get_content_blocks("tool_result")] == ["call_1", "call_1_2"]


async def test_tools_of_one_round_run_at_the_same_time() -> None:
    """REA-32: two of 0.2 s take 0.2 s; one after the other unless the agent says so."""
    calls = [OSLO, call("get_weather", "call_2", city="Bergen")]
    loop = asyncio.get_running_loop()
    for parallel, seconds in ((True, 0.2), (False, 0.4)):
        agent = react(calls, say("Rain."), toolkit=weather(), parallel_tool_calls=parallel)
        began = loop.time()
        answer = await agent(HELLO)
        assert loop.time() - began == pytest.approx(seconds)
        assert shape(answer.content)[2:4] == ["tool_result: success Oslo: rain", "tool_result: success Bergen: rain"]
    assert react(say("-")).parallel_tool_calls is False


async def test_results_of_parallel_tools_interleave_and_rebuild() -> None:
    async def count(name: str, step_s: float) -> Any:
        """Counts to two."""
        for number in (1, 2):
            await asyncio.sleep(step_s)
            yield f"{name}{number} "

    calls = [call("count", "a", name="a", step_s=1), call("count", "b", name="b", step_s=1.5)]
    agent = react(calls, say("Done."), toolkit=Toolkit([count]), parallel_tool_calls=True)
    events = await stream(agent, HELLO)
    deltas = [event.delta for event in events if isinstance(event, r.ToolResultTextDeltaEvent)]
    assert deltas == ["a1 ", "b1 ", "a2 ", "b2 "]
    assert shape(Msg.from_events(events).content)[2:4] == ["tool_result: success a1 a2 ", "tool_result: success b1 b2 "]


async def test_every_call_has_a_clear_result() -> None:
    """Two calls with one id, arguments that are not JSON, a tool that is not there, one that hangs, one that gives
    pictures and pieces."""

    async def hang() -> str:
        """Never returns."""
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                await asyncio.sleep(0.5)
                raise

    async def draw() -> Any:
        """Draws."""
        yield "Drawing. "
        yield PNG
        yield TextBlock(text="Done.")

    calls = [
        call("get_weather", "same", city="Oslo"),
        call("get_weather", "same", city="Bergen"),
        ToolCallBlock(id="broken", name="get_weather", input='{"city": "Os'),
        *[ToolCallBlock(id=name, name=name) for name in ("fly", "hang", "draw")],
    ]
    toolkit = Toolkit([get_weather, hang, draw])
    events = await stream(react(calls, say("Done."), toolkit=toolkit, parallel_tool_calls=True), HELLO)
    answer = Msg.from_events(events)
    results = {block.id: block for block in answer.get_content_blocks("tool_result")}
    told = {name: (block.state, block.output_text()) for name, block in results.items()}
    assert (told["same"], told["same_2"]) == (("success", "Oslo: rain"), ("success", "Bergen: rain"))
    for name, state, words in (
        ("broken", "error", "JSON"),
        ("fly", "error", "fly"),
        ("hang", "error", "within 600 s"),
    ):
        assert (told[name][0], words in told[name][1]) == (state, True)
    assert [block.type for block in results["draw"].output if not isinstance(block, str)] == ["text", "data", "text"]
    assert results["draw"].texts == ["Drawing. ", "Done."]
    assert answer.get_text_content() == "Done."


async def test_the_model_chooses_its_groups_of_tools() -> None:
    """REA-34: what it activates is declared in the next request."""
    toolkit = weather()
    toolkit.create_tool_group("maps", "Maps and routes.")

    def find_route(to: str) -> str:
        """Finds a route."""
        return f"north, to {to}"

    toolkit.register_tool_function(find_route, group_name="maps")
    agent = react([call("reset_equipped_tools", maps=True)], say("Ready."), toolkit=toolkit, enable_meta_tool=True)
    await agent(HELLO)
    assert [request.tools for request in requests_of(agent)] == [
        ["get_weather", "reset_equipped_tools"],
        ["get_weather", "find_route", "reset_equipped_tools"],
    ]
    react(say("-"), toolkit=toolkit, enable_meta_tool=True)
    assert "reset_equipped_tools" not in react(say("-"), toolkit=weather()).toolkit


@pytest.mark.parametrize("prints", [True, False])
async def test_a_reply_that_uses_all_its_rounds_ends_with_a_summary(prints: bool) -> None:
    """REA-38, EVT-21, EVT-22, USE-11: the event, the reason, and an answer without tools.

    The hint to the model is printed on request.
    """
    agent = react([OSLO], say("So far: rain."), toolkit=weather(), max_iters=1, print_hint_msg=prints)
    queue: asyncio.Queue[Any] = asyncio.Queue()
    agent.set_msg_queue_enabled(True, queue)
    events = await stream(agent, HELLO)
    exceeded = [event for event in events if isinstance(event, r.ExceedMaxItersEvent)]
    assert [event.name for event in exceeded] == ["Friday"]
    answer = Msg.from_events(events)
    assert (answer.get_text_content(), answer.finished_reason) == ("So far: rain.", "exceed_max_iters")
    assert to_generate_reason(answer.finished_reason, answer.metadata) == "MAX_ITERATIONS"
    last = requests_of(agent)[-1]
    assert last.tools == []
    assert "used all of its steps" in last.texts[-1]
    assert "used all of its steps" not in str([shape(msg.content) for msg in await remembered(agent)])
    printed = [queue.get_nowait()[0] for _ in range(queue.qsize())]
    assert any("used all of its steps" in (msg.get_text_content() or "") for msg in printed) is prints


async def test_a_reply_has_ten_rounds_by_default() -> None:
    """REA-38: a model that only calls tools, even when it may not."""
    agent = react([OSLO], toolkit=weather())
    with pytest.raises(ProviderError, match="gave no answer"):
        await agent(HELLO)
    assert len(requests_of(agent)) == 11
    answer = (await remembered(agent))[-1]
    assert len(answer.get_content_blocks("tool_call")) == 10
    assert answer.check_pairs() == []
    with pytest.raises(UsageError, match="max_iters is at least 1"):
        react(say("-"), max_iters=0)


async def test_an_error_of_the_model_is_raised_and_what_was_done_is_kept() -> None:
    failure = ProviderError("the model is overloaded", code="overloaded", retryable=True)
    agent = react([OSLO], failure, toolkit=weather())
    with pytest.raises(ProviderError, match="overloaded"):
        await agent(HELLO)
    hello, kept = await remembered(agent)
    assert hello == HELLO
    assert [block.type for block in kept.content] == ["tool_call", "tool_result"]
    assert (kept.finished_reason, kept.error) == ("error", "the model is overloaded")


class Breaks(ScriptedChat):
    """A chat model whose stream dies within a tool call."""

    async def _pieces(self, whole: ChatResponse) -> Any:
        yield ChatResponse([TextBlock(text="Let me see.", id="t")])
        yield ChatResponse([TextBlock(text="Let me see.", id="t"), ToolCallBlock(id="c", name="x", input='{"a')])
        raise ConnectionError("gone")


async def read(agent: ReActAgent, events: list[r.AgentEvent]) -> None:
    """Read a reply into this list: what was told before it failed is there."""
    async for event in agent.reply_stream(HELLO):
        events.append(event)


async def test_a_stream_that_dies_within_a_tool_call_leaves_no_call_behind() -> None:
    agent = react(model=Breaks(say("-")))
    events: list[r.AgentEvent] = []
    with pytest.raises(ConnectionError):
        await read(agent, events)
    folded = Msg.from_events(events)
    assert shape(folded.content) == ["text: Let me see."]
    assert (folded.finished_reason, folded.error) == ("error", "ConnectionError")
    assert shape((await remembered(agent))[-1].content) == shape(folded.content)


async def test_a_hook_stops_after_reasoning() -> None:
    """USE-08, EVT-23, AMB-22: what the model wants to call is not called."""

    def stop(self: Any, kwargs: dict[str, Any], output: Msg) -> None:
        if output.has_content_blocks("tool_call"):
            raise StopReply("no tools today")

    agent = react([TextBlock(text="Let me see."), OSLO], toolkit=weather())
    agent.register_instance_hook("post_reasoning", "guard", stop)
    answer = await agent(HELLO)
    assert shape(answer.content) == ["text: Let me see."]
    assert to_generate_reason(answer.finished_reason, answer.metadata) == "REASONING_STOP_REQUESTED"
    events = await stream(agent, HELLO)
    asked = [event for event in events if isinstance(event, r.RequestStopEvent)]
    assert [(event.source, event.reason) for event in asked] == [("guard", "no tools today")]
    assert (await remembered(agent))[1].to_json() == answer.to_json()


async def test_a_hook_stops_after_acting() -> None:
    """USE-09, EVT-23: the result stays, calls that did not run have one too."""

    def stop(self: Any, *_: Any) -> None:
        raise StopReply("enough")

    calls = [OSLO, call("get_weather", "call_2", city="Bergen")]
    for parallel in (False, True):
        agent = react(calls, say("never"), toolkit=weather(), parallel_tool_calls=parallel)
        agent.register_instance_hook("post_acting", "guard", stop)
        answer = await agent(HELLO)
        assert to_generate_reason(answer.finished_reason, answer.metadata) == "ACTING_STOP_REQUESTED"
        assert shape(answer.content)[2] == "tool_result: success Oslo: rain"
        assert answer.check_pairs() == []
        assert len(requests_of(agent)) == 1


@pytest.mark.parametrize("hook_type", ReActAgent.supported_hook_types)
@pytest.mark.parametrize("fails", [False, True])
async def test_a_hook_that_stops_or_fails_anywhere_leaves_a_whole_memory(hook_type: str, fails: bool) -> None:
    def end(self: Any, *_: Any) -> None:
        raise KeyError("x") if fails else StopReply("enough")

    agent = react([*say("Let me see."), OSLO], say("Rain."), toolkit=weather())
    agent.register_instance_hook(hook_type, "end", end)
    events: list[r.AgentEvent] = []
    raised = pytest.raises(UsageError, match="hook 'end'") if fails and "observe" not in hook_type else nullcontext()
    with raised:
        await read(agent, events)
    check_replies(events)
    asked = [event.source for event in events if isinstance(event, r.RequestStopEvent)]
    assert asked == ([] if fails or "observe" in hook_type else ["end"])
    agent.clear_instance_hooks()
    hello, *replies = await remembered(agent)
    assert hello == HELLO
    assert check_pairs(replies) == []
    assert (await agent(UserMsg("user", "Again?"))).finished_reason == "completed"


async def test_a_tool_stops_the_reply() -> None:
    """USE-09, EVT-23, AMB-22"""

    def hang_up() -> ToolResponse:
        """Ends the call."""
        return ToolResponse([TextBlock(text="Bye.")], metadata={"stop_reply": "the user said goodbye"})

    agent = react([call("hang_up")], say("never"), toolkit=Toolkit([hang_up]))
    events = await stream(agent, HELLO)
    asked = [event for event in events if isinstance(event, r.RequestStopEvent)]
    assert [(event.source, event.reason) for event in asked] == [("hang_up", "the user said goodbye")]
    answer = (await remembered(agent))[-1]
    assert shape(answer.content) == ["tool_call: hang_up({})", "tool_result: success Bye."]
    assert to_generate_reason(answer.finished_reason, answer.metadata) == "ACTING_STOP_REQUESTED"


async def test_a_hook_tells_readers_what_the_events_have_no_word_for() -> None:
    """EVT-48"""
    agent = react([OSLO], say("Rain."), toolkit=weather())

    def tell(self: Any, *_: Any) -> None:
        self.emit_custom("tasks_context", {"done": 1, "of": 2})

    agent.register_instance_hook("post_acting", "progress", tell)
    events = await stream(agent, HELLO)
    custom = [event for event in events if isinstance(event, r.CustomEvent)]
    assert [(event.name, event.value) for event in custom] == [("tasks_context", {"done": 1, "of": 2})]
    assert {event.reply_id for event in events} == {events[0].reply_id}
    agent.emit_custom("too_late", {})
    agent.register_instance_hook("pre_reasoning", "bad", lambda self, _: self.emit_custom("x", {"a": object()}))
    with pytest.raises(UsageError, match="has to be JSON"):
        await agent(HELLO)


async def test_a_hook_changes_words_and_takes_calls_out_and_another_what_the_tool_gets() -> None:
    """The stream has the hook's result, but a model's words stream before the hook runs."""

    def tidy(self: Any, kwargs: dict[str, Any], output: Msg) -> Msg:
        words = [TextBlock(text="(edited)", id=block.id) for block in output.get_content_blocks("text")]
        calls = [one for one in output.get_content_blocks("tool_call") if "Bergen" not in one.input]
        return Msg(output.name, [*words, *calls], "assistant")

    calls = [OSLO, call("get_weather", "call_2", city="Bergen")]
    agent = react([TextBlock(text="Let me see."), *calls], say("Rain."), toolkit=weather())
    agent.register_instance_hook("post_reasoning", "tidy", tidy)
    rome = {"tool_call": call("get_weather", city="Rome")}
    agent.register_instance_hook("pre_acting", "elsewhere", lambda self, kwargs: rome)
    events = await stream(agent, HELLO)
    expected = [
        "text: (edited)",
        'tool_call: get_weather({"city": "Oslo"})',
        "tool_result: success Rome: rain",
        "text: (edited)",
    ]
    assert shape(Msg.from_events(events).content) == expected
    assert shape((await remembered(agent))[-1].content) == expected


class OwnSteps(ReActAgent):
    """Reasons and acts without a model and without the toolkit."""

    async def _reasoning(self, tool_choice: Any = None) -> Msg:
        self.steps = getattr(self, "steps", 0) + 1
        blocks: list[Any] = [call("add", "same", a=1, b=2)] if self.steps == 1 else [TextBlock(text="Three.")]
        return Msg(self.name, blocks, "assistant")

    async def _acting(self, tool_call: ToolCallBlock) -> None:
        self.acted = tool_call.arguments


async def test_a_subclass_may_reason_and_act_in_its_own_way() -> None:
    agent = react(agent_class=OwnSteps)
    events = await stream(agent, HELLO)
    assert agent.acted == {"a": 1, "b": 2}  # type: ignore[attr-defined]
    expected = ['tool_call: add({"a": 1, "b": 2})', "tool_result: success ", "text: Three."]
    assert shape(Msg.from_events(events).content) == expected


async def test_steps_belong_to_a_reply_and_a_reply_is_made_once() -> None:
    class Twice(ReActAgent):
        async def reply(self, msg: Any = None, structured_model: Any = None) -> Msg:
            await super().reply(msg)
            return await super().reply(msg)

    with pytest.raises(UsageError, match="Friday gives no reply now"):
        await react(say("-"))._reasoning()
    with pytest.raises(UsageError, match=r"calls `super\(\).reply\(...\)` once"):
        await react(say("-"), agent_class=Twice)(HELLO)


@pytest.mark.parametrize(
    ("hint", "source"),
    [
        ("<system-reminder>It is eight o'clock.</system-reminder>", "schedule"),
        ("<system-reminder>Alice: I am done.</system-reminder>", '{"team": "alice"}'),
        ("<system-reminder>The tool `research` returned: 42.</system-reminder>", "research"),
    ],
)
async def test_a_hint_reaches_the_model_with_the_next_reply(hint: str, source: str) -> None:
    """MSG-52: a scheduled trigger, a team message, the result of a background tool."""
    agent = react(say("I see."))
    await agent.hint(hint, source)
    events = await stream(agent)
    told = [event for event in events if isinstance(event, r.HintBlockEvent)]
    assert [(event.hint, event.source) for event in told] == [(hint, source)]
    assert types_of(events)[:3] == ["REPLY_START", "HINT_BLOCK", "MODEL_CALL_START"]
    assert shape(requests_of(agent)[0].messages[-1]["content"]) == [f"hint: {hint}"]
    assert shape((await remembered(agent))[-1].content) == [f"hint: {hint}", "text: I see."]


async def test_the_result_of_a_background_tool_reaches_the_model_as_a_hint() -> None:
    """MSG-52: the call has the result that the tool runs; what it gives comes with a later reply.

    Closing the agent ends those that run.
    """

    async def research(topic: str, seconds: float) -> str:
        """Looks something up."""
        await asyncio.sleep(seconds)
        return f"{topic}: 42"

    toolkit = Toolkit()
    toolkit.register(research, background=True)
    calls = [call("research", "a", topic="life", seconds=60), call("research", "b", topic="all", seconds=3600)]
    agent = react(calls, say("I am on it."), say("It is 42."), toolkit=toolkit)
    answer = await agent(HELLO)
    assert [block.state for block in answer.get_content_blocks("tool_result")] == ["running"] * 2
    await asyncio.sleep(61)
    events = await stream(agent)
    told = [event for event in events if isinstance(event, r.HintBlockEvent)]
    assert [event.source for event in told] == ["research"]
    assert "life: 42" in str(told[0].hint)
    assert len(toolkit.list_background_tools()) == 1
    await agent.aclose()
    assert toolkit.list_background_tools() == []


async def test_a_hint_during_a_reply_reaches_its_next_round_and_one_that_waits_is_part_of_the_state() -> None:
    agent = react([OSLO], say("Rain."), toolkit=weather())

    async def hint(self: Any, *_: Any) -> None:
        await self.hint(HintBlock(hint="Speak slowly.", source="care"))

    agent.register_instance_hook("post_acting", "hint", hint)
    answer = await agent(HELLO)
    assert [block.type for block in answer.content] == ["tool_call", "tool_result", "hint", "text"]
    agent, other = react(say("-")), react(say("I see."))
    await agent.hint("It is eight o'clock.", "schedule")
    other.load_state_dict(json.loads(json.dumps(agent.state_dict())))
    assert shape((await other()).content) == ["hint: It is eight o'clock.", "text: I see."]


async def test_what_is_said_and_done_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    agent = react([TextBlock(text="Let me see."), OSLO], say("It rains."), toolkit=weather())
    agent.set_console_output_enabled(True)
    await agent(HELLO)
    said, called, returned, answer = capsys.readouterr().out.splitlines()
    assert (said, answer) == ("Friday: Let me see.", "Friday: It rains.")
    assert '"name": "get_weather"' in called
    assert "Oslo: rain" in returned
