"""Agents that are saved and restored: by themselves, and together in a session."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import AgentBase, ReActAgent
from realtime.errors import ClientError, StoreError, UsageError
from realtime.memory import InMemoryMemory
from realtime.message import UserMsg
from realtime.session import JSONSession, SessionBase
from realtime.state.sessions import HasState
from tests.agent.thinking import HELLO, ScriptedChat, call, react, remembered, requests_of, say, weather

# Saving and loading a session take threads.
pytestmark = pytest.mark.virtual_time(guard=False)


class Notes(AgentBase):
    """An agent with a memory and an attribute of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.sys_prompt = "A helpful assistant."
        self.memory = InMemoryMemory()
        self.register_state("name")
        self.register_state("sys_prompt")

    async def observe(self, msg: Any) -> None:
        await self.memory.add(msg)


async def test_an_agent_goes_back_to_the_state_it_was_saved_in() -> None:
    """SES-09: the printed sample; the memory is empty again."""
    agent = react(say("Hi."), toolkit=weather())
    initial_state = json.loads(json.dumps(agent.state_dict()))
    await agent(HELLO)
    agent.name = "Changed"
    assert len(await remembered(agent)) == 2
    agent.load_state_dict(initial_state)
    assert (agent.name, await remembered(agent)) == ("Friday", [])


async def test_the_state_of_an_agent_has_its_memory_its_prompt_and_its_groups_of_tools() -> None:
    def with_maps() -> ReActAgent:
        toolkit = weather()
        toolkit.create_tool_group("maps", "Maps and routes.")
        return react(
            [call("reset_equipped_tools", maps=True)], say("Hi."), say("Again."), toolkit=toolkit, enable_meta_tool=True
        )

    agent, again = with_maps(), with_maps()
    agent._sys_prompt = "Be kind."
    await agent(HELLO)
    again.load_state_dict(json.loads(json.dumps(agent.state_dict())))
    assert again.sys_prompt == "Be kind."
    assert again.toolkit.active_groups == ["maps"]
    assert [msg.to_json() for msg in await remembered(again)] == [msg.to_json() for msg in await remembered(agent)]


async def test_a_state_is_not_loaded_into_a_reply() -> None:
    agent = react(model=ScriptedChat(say("one two"), piece_s=1.0))
    state = agent.state_dict()
    task = asyncio.create_task(agent(HELLO))
    await asyncio.sleep(0.5)
    with pytest.raises(UsageError, match="a reply is being given: load a state after its end"):
        agent.load_state_dict(state)
    await task
    agent.load_state_dict(state)


async def test_agents_are_saved_and_loaded_together(tmp_path: Path) -> None:
    """SES-10, SES-12, SES-13, SES-14: two agents and a notebook, by their keywords."""
    session = JSONSession(save_dir=tmp_path)
    one, two, notes = react(say("One.")), react(say("Two."), name="Saturday"), Notes()
    await one(HELLO)
    await two(UserMsg("user", "And you?"))
    await notes.observe(UserMsg("Alice", "Hi!"))
    await session.save_session_state(session_id="user_1", one=one, two=two, notes=notes)
    one_again, two_again, notes_again = react(say("Go on.")), react(say("-")), Notes()
    notes_again.sys_prompt = "Changed."
    await session.load_session_state(session_id="user_1", one=one_again, two=two_again, notes=notes_again)
    assert (two_again.name, notes_again.sys_prompt) == ("Saturday", "A helpful assistant.")
    assert [msg.get_text_content() for msg in await notes_again.memory.get_memory()] == ["Hi!"]
    await one_again(UserMsg("user", "And then?"))
    assert requests_of(one_again)[0].texts == ["Be brief.", "Hello", "One.", "And then?"]


async def test_keywords_are_the_same_for_saving_and_loading(tmp_path: Path) -> None:
    """SES-15"""
    session = JSONSession(save_dir=tmp_path)
    saved, other = react(say("Hi.")), react(say("Hi."), name="Other")
    await session.save_session_state("s", agent=saved)
    await session.load_session_state("s", assistant=other)
    assert other.name == "Other"
    with pytest.raises(StoreError, match="has no state of assistant"):
        await session.load_session_state("s", strict=True, assistant=other)


async def test_agents_can_be_kept_elsewhere() -> None:
    """SES-16"""

    class DictSession(SessionBase):
        def __init__(self) -> None:
            self.kept: dict[tuple[str, str], Any] = {}

        async def save_session_state(self, session_id: str, user_id: str = "", **modules: HasState) -> None:
            self.kept[user_id, session_id] = {name: module.state_dict() for name, module in modules.items()}

        async def load_session_state(self, session_id: str, user_id: str = "", *_: Any, **modules: Any) -> None:
            for name, module in modules.items():
                module.load_state_dict(self.kept[user_id, session_id][name])

    session, agent = DictSession(), react(say("Hi."))
    await session.save_session_state("s", agent=agent)
    await agent(HELLO)
    await session.load_session_state("s", agent=agent)
    assert await remembered(agent) == []


async def test_users_have_sessions_of_their_own_and_files_stay_in_their_folder(tmp_path: Path) -> None:
    """SES-17, SES-18"""
    session = JSONSession(tmp_path)
    alice, bob = react(say("Hi.")), react(say("Hi."))
    await alice(HELLO)
    await session.save_session_state("s", user_id="alice", agent=alice)
    await session.load_session_state("s", user_id="bob", agent=bob)
    assert await remembered(bob) == []
    with pytest.raises(StoreError):
        await session.load_session_state("s", user_id="bob", allow_not_exist=False, agent=bob)
    await session.load_session_state("s", user_id="alice", agent=bob)
    assert [msg.to_json() for msg in await remembered(bob)] == [msg.to_json() for msg in await remembered(alice)]
    assert session.path_of("s", "alice").is_relative_to(tmp_path)
    with pytest.raises(ClientError, match="cannot be a session id"):
        await session.save_session_state("../../x", agent=alice)
