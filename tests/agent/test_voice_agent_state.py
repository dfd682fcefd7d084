"""The state of a RealtimeAgent: saved with what was heard, and what the next call begins with."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.heard import heard_items, items_from_json, items_to_json
from realtime.call.session import JSONSession, Session
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.message.outcome import Usage
from realtime.model import base
from realtime.module import StateModule
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from tests.agent.fakes import WORDS, FakeModel, ListSink, alone, fold, listener_into
from tests.agent.test_run_hooks import ask
from tests.agent.test_tools import TOOLS

pytestmark = pytest.mark.virtual_time


def text(item_id: str, role: str, words: str) -> Item:
    return msgspec.convert({"id": item_id, "role": role, "content": [{"type": "text", "text": words}]}, Item)


BEFORE = (text("i1", "user", "My name is Ann."), text("i2", "assistant", "Nice to meet you, Ann."))


def new_agent(model: FakeModel | None = None) -> RealtimeAgent:
    return RealtimeAgent("Friday", "Be nice.", model or FakeModel())


def lines(items: tuple[Item, ...]) -> list[tuple[str | None, str]]:
    return [(item.role, item.text) for item in items]


@asynccontextmanager
async def in_call(agent: RealtimeAgent, conversation: Conversation | None = None) -> AsyncIterator[Session]:
    """A server's call with this agent."""
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    session = Session(participant=agent.run(), runtime=runtime, session_id="s1", conversation=conversation)
    session.attach(listener_into(ListSink(), runtime))
    await session.start(SessionConfig())
    yield session
    await session.end("test_over")


def test_an_agent_is_a_state_module_whose_state_is_json() -> None:
    """SES-02, AMB-40: name, instructions, settings, tokens and conversation."""
    agent = RealtimeAgent(
        "Friday",
        "Be nice.",
        FakeModel(),
        voice="heart",
        greeting="Greet.",
        fillers=["Hang on."],
        idle_prompt_s=30,
        turn_detection=TurnDetection(silence_duration_ms=600),
    )
    agent.conversation = BEFORE
    assert isinstance(agent, StateModule)
    state = json.loads(json.dumps(agent.state_dict()))
    assert state["name"] == "Friday"
    assert [item["id"] for item in state["conversation"]] == ["i1", "i2"]
    other = RealtimeAgent("Nobody", "", FakeModel())
    other.load_state_dict(state)
    assert (other.name, other.sys_prompt, other.voice) == ("Friday", "Be nice.", "heart")
    assert (other.greeting, other.fillers, other.idle_prompt_s) == ("Greet.", ("Hang on.",), 30)
    assert other.turn_detection == TurnDetection(silence_duration_ms=600)
    assert other.conversation == BEFORE
    assert other.state_dict() == agent.state_dict()


async def test_what_was_said_is_saved_as_it_was_heard_and_primes_the_next_call() -> None:
    """RTA-26, AMB-40: played words, not those that were only generated."""
    async with alone() as made:
        await made.agent.handle_input(c.ClientTextAppendEvent(text="Count."))
        made.link.reply(10_000, WORDS)
        await asyncio.sleep(4)
        while_speaking = made.agent.state_dict()
        await made.agent.stop()
        after = made.agent.state_dict()
    (_, said) = items_from_json(while_speaking["conversation"])
    assert 0 < len(said.text) < len(WORDS.strip())
    assert WORDS.startswith(said.text)
    assert after["conversation"][0]["content"][0]["text"] == "Count."
    assert after["usage"]["input_tokens"] == 3
    assert after["usage"]["output_tokens"] == 4
    model = FakeModel()
    again = new_agent(model)
    again.load_state_dict(while_speaking)
    seen: list[s.ServerEvent] = []
    await again.start(seen.append)
    assert lines(tuple(model.histories[-1]())) == [("user", "Count."), ("assistant", said.text)]
    assert model.link.got(base.ResponseCreate) == []
    assert [words for _, _, words in fold(seen)] == ["Count.", said.text], "listeners get the same"
    await again.stop()


async def test_a_call_of_a_server_begins_with_it_too_unless_it_has_a_conversation_of_its_own() -> None:
    model, conversation = FakeModel(), Conversation()
    conversation.add(text("own", "user", "This call's words."))
    agent = new_agent(model)
    agent.conversation = BEFORE
    for goes_on, known in ((None, lines(BEFORE)), (conversation, [("user", "This call's words.")])):
        async with in_call(agent, goes_on) as session:
            assert lines(tuple(model.histories[-1]())) == known
            assert lines(session.conversation.items()) == known


async def test_the_agent_of_a_servers_call_has_that_calls_conversation_also_afterwards() -> None:
    inside: list[RealtimeAgent] = []

    async def enter(agent: RealtimeAgent) -> None:
        inside.append(agent)

    agent = RealtimeAgent("Friday", "", FakeModel(), on_enter=enter)
    async with in_call(agent) as session:
        session.receive(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(0.1)
        assert lines(inside[0].conversation) == [("user", "Hello")]
        with pytest.raises(UsageError, match="in a call"):
            inside[0].load_state_dict(agent.state_dict())
    assert lines(inside[0].conversation) == [("user", "Hello")]
    assert agent.conversation == (), "the agent that makes calls has none of its own"


async def test_loading_in_a_running_call_is_refused_with_a_sentence() -> None:
    async with alone() as made:
        before = made.agent.state_dict()
        with pytest.raises(UsageError, match="load its state before the call begins") as raised:
            made.agent.load_state_dict(before | {"name": "Other"})
        assert raised.value.code == "agent_running"
        assert made.agent.name == "Friday"


async def test_after_it_was_stopped_a_loaded_agent_may_be_started_again() -> None:
    model = FakeModel()
    agent = new_agent(model)
    initial = agent.state_dict()
    await agent.start(lambda event: None)
    await agent.handle_input(c.ClientTextAppendEvent(text="Hello"))
    await agent.stop()
    assert agent.state_dict() != initial
    agent.load_state_dict(initial)
    assert agent.state_dict() == initial
    await agent.start(lambda event: None)
    assert lines(tuple(model.histories[-1]())) == []
    await agent.stop()


def test_a_damaged_state_is_refused_and_one_that_lacks_a_name_unless_it_may() -> None:
    agent = new_agent()
    damaged = {"conversation": [{"role": "user"}], "turn_detection": {"silence_duration_ms": "long"}}
    for name, value in damaged.items():
        with pytest.raises(UsageError, match="this is no saved"):
            agent.load_state_dict(agent.state_dict() | {name: value})
    state = agent.state_dict() | {"usage": {"input_tokens": 7, "output_tokens": 9}}
    del state["greeting"]
    with pytest.raises(KeyError, match="greeting"):
        agent.load_state_dict(state)
    agent.load_state_dict(state, strict=False)
    assert agent.usage == Usage(input_tokens=7, output_tokens=9), "the tokens used go on counting"


async def test_two_agents_are_saved_together_and_found_by_their_names(tmp_path: Path) -> None:
    """SES-10: AgentScope's JSONSession keeps voice agents."""
    session = JSONSession(save_dir=str(tmp_path))
    friday, monday = new_agent(), RealtimeAgent("Monday", "Be brief.", FakeModel())
    friday.conversation = BEFORE
    await session.save_session_state(session_id="s1", friday=friday, monday=monday)
    others = RealtimeAgent("Nobody", "", FakeModel()), RealtimeAgent("Nobody", "", FakeModel())
    await session.load_session_state(session_id="s1", friday=others[0], monday=others[1])
    assert [one.name for one in others] == ["Friday", "Monday"]
    assert others[0].conversation == BEFORE
    assert others[1].conversation == ()


class _Ears:
    """Ears that have heard this much of each item."""

    def __init__(self, **played_ms: int) -> None:
        self._played_ms = played_ms

    def played_ms(self, item_id: str) -> int:
        return self._played_ms.get(item_id, 0)

    def unplayed_ms(self) -> int:
        return 0

    def after_flush(self, settle: object) -> None:
        raise AssertionError("nothing is flushed")

    def keep_played_audio(self) -> None:
        return

    def far_end(self) -> None:
        return


def spoken(conversation: Conversation, item_id: str, *, done: bool) -> None:
    """An item of ten words in ten seconds."""
    conversation.add(Item(id=item_id, role="assistant", status="in_progress"))
    conversation.add_text(item_id, WORDS)
    conversation.add_audio(item_id, 10_000)
    if done:
        conversation.audio_complete(item_id)
        conversation.complete(item_id)


def test_of_what_is_being_said_only_the_played_words_count() -> None:
    """A tool call without a result is left out; pictures stay, and sound does not."""
    conversation = Conversation()
    for item_id in ("whole", "half", "unheard"):
        spoken(conversation, item_id, done=True)
    spoken(conversation, "growing", done=False)
    conversation.add_tool_call("c1", ToolCallBlock(id="call_1", name="clock"))
    conversation.add_tool_result("r1", ToolResultBlock(id="call_1", name="clock", output="noon"))
    conversation.add_tool_call("c2", ToolCallBlock(id="call_2", name="clock"))
    picture = ContentPart(type="image", image=b"png", media_type="image/png")
    conversation.add(Item(id="i1", role="user", content=(picture,)))
    conversation.add(Item(id="i2", role="user", content=(ContentPart(type="audio", audio=b"\0\0", transcript="Hi"),)))
    ears = _Ears(whole=10_000, half=5_000, growing=2_000)
    heard = heard_items(conversation, ears, {"half", "unheard"})
    assert [item.id for item in heard] == ["whole", "half", "growing", "c1", "r1", "i1", "i2"]
    assert len(heard[0].text.split()) == 10
    assert [item.status for item in heard[:3]] == ["completed", "incomplete", "incomplete"]
    assert all(WORDS.startswith(item.text) for item in heard[:3])
    *_, shown, said = items_from_json(json.loads(json.dumps(items_to_json(heard))))
    assert shown.content[0].image == b"png"
    assert (said.text, said.content[0].audio) == ("Hi", None)


async def test_a_call_with_tools_is_saved_with_them() -> None:
    async with alone(toolkit=TOOLS) as made:
        ask(made, ("call_1", "clock", '{"zone": "UTC"}'))
        assert [item.type for item in made.agent.conversation] == [], "its result is not there yet"
        await asyncio.sleep(2)
        assert [item.type for item in made.agent.conversation] == ["tool_call", "tool_result"]
