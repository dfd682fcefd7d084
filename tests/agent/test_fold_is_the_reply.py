"""The events of a reply alone give the message that `reply` returns, whatever agents, hooks and users do to it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from realtime.agent import AgentBase, StopReply
from realtime.event import read_reply_event
from realtime.event import reply as r
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    URLSource,
)
from realtime.message.outcome import Usage, to_generate_reason
from realtime.model.chat.base import ChatBlock
from realtime.testing.clock import run
from realtime.tool import Toolkit, ToolResponse
from tests.agent.thinking import HELLO, ScriptedChat, call, get_weather, react, remembered, say
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time


class Found(BaseModel):
    """What a reply may have to give."""

    city: str


async def told(agent: AgentBase, *args: Any, **kwargs: Any) -> tuple[Msg, Msg, list[r.AgentEvent]]:
    """What one reply returns, what its events give once they were JSON, and the events."""
    events: list[r.AgentEvent] = []
    answer = await agent.begin_reply(events.append, *args, **kwargs)
    check_replies(events)
    assert len({event.reply_id for event in events if event.reply_id}) == 1
    return answer, Msg.from_events([read_reply_event(event.model_dump()) for event in events]), events


JSON = st.dictionaries(
    st.sampled_from(["a", "b", "city"]), st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.lists(st.text("xy")))
)
WORDS = st.text("ab \n", max_size=8)
TIME = st.sampled_from([None, "2026-01-01T00:00:00.000Z"])
SOURCE = st.sampled_from(
    [
        Base64Source(data=b"\x89PNG", media_type="image/png"),
        Base64Source(data=b"", media_type="image/png"),
        URLSource(url="https://example.com/a.png", media_type="image/png"),
    ]
)
NAME = st.sampled_from(["t1", "t2", "t3"])
PARTS = st.one_of(st.builds(TextBlock, text=WORDS, id=NAME), st.builds(DataBlock, source=SOURCE, id=NAME))
PAIR = st.builds(
    lambda call_id, output, state: [
        ToolCallBlock(id=call_id, name="look", input='{"a": 1}', state=state),
        ToolResultBlock(id=call_id, name="look", output=output),
    ],
    NAME,
    st.one_of(WORDS, st.lists(PARTS, max_size=2)),
    st.sampled_from(["pending", "finished"]),
)
ALONE = st.one_of(
    st.builds(TextBlock, text=WORDS, id=NAME, created_at=TIME, finished_at=TIME),
    st.builds(ThinkingBlock, thinking=WORDS, id=NAME, signature=st.sampled_from(["c2ln", "s"])),
    st.builds(DataBlock, source=SOURCE, id=NAME, name=st.sampled_from([None, "a.png"])),
    st.builds(HintBlock, hint=st.one_of(WORDS, st.lists(PARTS, max_size=2)), source=st.sampled_from([None, "team"])),
)
CONTENT: st.SearchStrategy[list[Block]] = st.lists(st.one_of(ALONE.map(lambda block: [block]), PAIR), max_size=4).map(
    lambda groups: [block for group in groups for block in group]
)
MESSAGE = st.builds(
    Msg,
    st.sampled_from(["Friday", "Other"]),
    CONTENT,
    st.just("assistant"),
    metadata=JSON,
    structured_output=st.one_of(st.none(), JSON),
    usage=st.sampled_from([None, Usage(input_tokens=3, output_tokens=4, cache_input_tokens=1)]),
    finished_reason=st.sampled_from([None, "completed", "interrupted", "exceed_max_iters"]),
    finished_at=TIME,
)


def put(other: Msg) -> Callable[..., Any]:
    return lambda self, kwargs, output: other.copy()


def prefix(self: Any, kwargs: Any, output: Msg) -> Msg:
    output.content = "[reviewed] " + output.content
    output.metadata["reviewed"] = True
    return output


def stop(self: Any, *_: Any) -> None:
    raise StopReply("enough")


async def interrupt(self: Any, *_: Any) -> None:
    await self.interrupt()
    await asyncio.sleep(1)


async def tell(self: Any, *_: Any) -> None:
    self.emit_custom("progress", {"done": 1})
    await self.hint("It is noon.", "clock")


POINTS = st.sampled_from(["pre_reply", "post_reply", "pre_reasoning", "post_reasoning", "pre_acting", "post_acting"])
HOOKS = st.lists(
    st.tuples(POINTS, st.sampled_from([stop, interrupt, tell]))
    | st.tuples(st.just("post_reply"), st.one_of(st.just(prefix), MESSAGE.map(put))),
    max_size=2,
)


def prepare(agent: AgentBase, hooks: list[tuple[str, Callable[..., Any]]], handled: Msg) -> None:
    async def handle_interrupt(*_: Any, **__: Any) -> Msg:
        return handled.copy()

    agent.handle_interrupt = handle_interrupt  # type: ignore[method-assign]
    agent.set_console_output_enabled(False)
    for place, (hook_type, hook) in enumerate(hooks):
        if hook_type in agent.supported_hook_types:
            agent.register_instance_hook(hook_type, f"hook_{place}", hook)


@given(made=MESSAGE, hooks=HOOKS, handled=MESSAGE)
def test_the_events_of_an_agent_of_ones_own_are_its_reply(
    made: Msg, hooks: list[tuple[str, Callable[..., Any]]], handled: Msg
) -> None:
    """REC-01, REC-02, REA-04: metadata, usage and outcome that it gives; hooks; the handler's message."""

    class Own(AgentBase):
        async def hint(self, *_: Any) -> None:
            pass

        async def reply(self, msg: Msg | None = None) -> Msg:
            return made.copy()

    async def both() -> None:
        agent = Own("Friday")
        prepare(agent, hooks, handled)
        answer, folded, _ = await told(agent, HELLO)
        assert folded.to_json() == answer.to_json()
        if not hooks:
            assert (answer.id, answer.name, answer.metadata) == (made.id, made.name, made.metadata)
            assert (answer.structured_output, answer.usage) == (made.structured_output, made.usage)
            assert [block.id for block in answer.content] == [block.id for block in made.content]

    run(both())


def leave() -> ToolResponse:
    """Ends the reply."""
    return ToolResponse([TextBlock(text="Bye.")], metadata={"stop_reply": "done"})


ROUND: st.SearchStrategy[list[ChatBlock]] = st.lists(
    st.one_of(
        st.builds(TextBlock, text=WORDS),
        st.builds(ThinkingBlock, thinking=WORDS, signature=st.sampled_from(["c2ln", "s"])),
        st.builds(DataBlock, source=SOURCE),
        st.sampled_from([call("get_weather", city="Oslo"), call("generate_response", city="Oslo"), call("leave")]),
        st.just(ToolCallBlock(id="call_1", name="get_weather", input="{broken")),
    ),
    max_size=4,
)


@given(rounds=st.lists(ROUND, min_size=1, max_size=3), hooks=HOOKS, handled=MESSAGE, asked=st.booleans())
def test_the_events_of_a_react_agent_are_its_reply(
    rounds: list[list[ChatBlock]], hooks: list[tuple[str, Callable[..., Any]]], handled: Msg, asked: bool
) -> None:
    """REC-01, REC-02, REA-04: structured output, `stop_requested`, hints, hooks, interruptions, the limit of rounds.

    What the memory has of the reply is byte for byte what its reader gets, unless a hook or the user changed it.
    EVT-22, USE-11, USE-12: the limit is an event and the reason. EVT-45: a hint that enters the context is told.
    EVT-48: a hook tells of its own, which changes no message.
    """

    async def both() -> None:
        agent = react(model=ScriptedChat(*rounds, say("The end.")), toolkit=Toolkit([get_weather, leave]), max_iters=3)
        prepare(agent, hooks, handled)
        answer, folded, events = await told(agent, HELLO, structured_model=Found if asked else None)
        assert folded.to_json() == answer.to_json()
        custom = [event for event in events if isinstance(event, r.CustomEvent)]
        assert {(event.name, event.value["done"]) for event in custom} <= {("progress", 1)}
        if answer.finished_reason != "interrupted" and all(hook in (stop, interrupt, tell) for _, hook in hooks):
            hints = [event.hint for event in events if isinstance(event, r.HintBlockEvent)]
            assert hints == [block.hint for block in answer.get_content_blocks("hint")]
        if not hooks:
            assert answer.structured_output in ([None, {"city": "Oslo"}] if asked else [None])
            assert (await remembered(agent))[-1].to_json() == answer.to_json()
            limits = [event for event in events if isinstance(event, r.ExceedMaxItersEvent)]
            assert bool(limits) is (answer.finished_reason == "exceed_max_iters")

    run(both())


@pytest.mark.parametrize(
    ("hook_type", "reason"),
    [
        ("pre_reasoning", "REASONING_STOP_REQUESTED"),
        ("post_reasoning", "REASONING_STOP_REQUESTED"),
        ("pre_acting", "ACTING_STOP_REQUESTED"),
        ("post_acting", "ACTING_STOP_REQUESTED"),
    ],
)
async def test_the_events_tell_why_a_reply_was_stopped(hook_type: str, reason: str) -> None:
    """USE-08, USE-09, EVT-23: a hook raises it, the reply stops with that reason; its reader can tell."""
    agent = react([call("get_weather", city="Oslo")], toolkit=Toolkit([get_weather]))
    agent.register_instance_hook(hook_type, "guard", stop)
    answer, folded, events = await told(agent, HELLO)
    assert to_generate_reason(folded.finished_reason, folded.metadata) == reason
    assert [(one.source, one.reason) for one in events if isinstance(one, r.RequestStopEvent)] == [("guard", "enough")]
    assert folded.to_json() == answer.to_json()


async def test_what_is_no_json_is_returned_and_left_out_of_the_events(caplog: pytest.LogCaptureFixture) -> None:
    class Own(AgentBase):
        async def reply(self, msg: Msg | None = None) -> Msg:
            return Msg(self.name, "Hi", "assistant", metadata={"rows": {1, 2}, "who": AgentBase, "sure": 0.5})

    answer, folded, _ = await told(Own("Friday"), HELLO)
    assert answer.metadata["who"] is AgentBase
    assert folded.metadata == {"rows": [1, 2], "sure": 0.5}
    assert "readers of its events do not get" in caplog.text
