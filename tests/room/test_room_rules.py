"""What a room is and does where the documents leave it open: where it is found, who speaks, who is told as whom."""

from __future__ import annotations

import inspect

import pytest

import realtime
from realtime import agent as agent_package
from realtime import room as pipeline
from realtime.formatter import OpenAIMultiAgentFormatter
from realtime.message import AssistantMsg, UserMsg
from realtime.room import ChatRoom
from realtime.room.floor import MAX_AGENT_TURNS, Policy, addressed, broadcast, moderator, round_robin
from tests.room.rooms import TalkModel, agent, house

pytestmark = pytest.mark.virtual_time


def test_a_room_belongs_to_the_pipeline_and_is_found_at_the_top_level() -> None:
    """AMB-60: `realtime.room.ChatRoom`, re-exported at top level; it is no agent."""
    assert pipeline.ChatRoom is ChatRoom
    assert realtime.ChatRoom is ChatRoom
    assert "ChatRoom" in realtime.__all__
    assert not hasattr(agent_package, "ChatRoom")


async def test_without_a_policy_all_hear_everything_and_agents_answer_each_other_up_to_a_limit() -> None:
    """AMB-59: the default is plain broadcast with a loop guard, which a human starts anew."""
    assert inspect.signature(ChatRoom).parameters["floor"].default is broadcast
    alice, bob = TalkModel("One."), TalkModel("Two.")
    async with house(agent("Alice", alice), agent("Bob", bob)) as home:
        anna = await home.come("Anna")
        anna.say("Hello everyone!")
        await home.quiet()
        for model in (alice, bob):
            assert TalkModel.vocabulary.understand(model.heard) == "Hello everyone!"
        assert home.speakers() == ["Alice", "Bob"] * (MAX_AGENT_TURNS // 2)
        anna.write("Go on.")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"] * MAX_AGENT_TURNS


async def _bob(question: str) -> str:
    assert "[Anna]: Hello, Cleo!" in question
    return "Bob shall speak."


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [(addressed, "Cleo", "Cleo"), (round_robin, "Alice", "Bob"), (moderator(_bob), "Bob", "Bob")],
)
async def test_who_speaks_is_also_told_by_name_by_turns_or_by_a_moderator(
    policy: Policy, first: str, second: str
) -> None:
    """AMB-59: the optional policies: addressed by name, round robin, moderator."""
    agents = [agent(name, TalkModel("Yes.")) for name in ("Alice", "Bob", "Cleo")]
    async with house(*agents, floor=policy, max_agent_turns=1) as home:
        anna = await home.come("Anna")
        for line in ("Hello, Cleo!", "And now?"):
            anna.write(line)
            await home.quiet()
        assert home.speakers() == [first, second]


async def test_an_agent_is_told_each_of_the_others_by_name_and_its_own_words_stay_its_own() -> None:
    """AMB-41: one user message "[Name]: text" for each turn of another; the agent's own turns are the assistant's."""
    alice, bob = TalkModel("I am Alice."), TalkModel("And I am Bob.")
    async with house(
        agent("Alice", alice), agent("Bob", bob), max_agent_turns=2, listens={"Alice": "text", "Bob": "text"}
    ) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Hello!")
        await home.quiet()
        ben.write("Good morning.")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob", "Alice", "Bob"]
        others = {"Alice": "[Bob]: And I am Bob.", "Bob": "[Alice]: I am Alice."}
        for model, name in ((alice, "Alice"), (bob, "Bob")):
            assert [text for text in model.read if text != others[name]] == ["[Anna]: Hello!", "[Ben]: Good morning."]
            assert model.read.count(others[name]) == 2


async def test_by_default_all_participants_are_told_as_users_and_one_may_be_the_assistant() -> None:
    """AMB-41: "[Name]: text" is the default for all participants shown; `own_name` keeps that agent's turns as the
    assistant's."""
    talk = [UserMsg("Anna", "Hello."), AssistantMsg("Alice", "View A"), AssistantMsg("Bob", "View B")]
    assert await OpenAIMultiAgentFormatter().format(talk) == [
        {"role": "user", "content": "[Anna]: Hello."},
        {"role": "user", "content": "[Alice]: View A"},
        {"role": "user", "content": "[Bob]: View B"},
    ]
    assert await OpenAIMultiAgentFormatter(own_name="Bob").format(talk) == [
        {"role": "user", "content": "[Anna]: Hello."},
        {"role": "user", "content": "[Alice]: View A"},
        {"role": "assistant", "content": "View B"},
    ]
