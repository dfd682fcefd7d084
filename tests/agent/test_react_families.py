"""A ReActAgent on the chat model of each family, asked through the provider's SDK by an endpoint on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from realtime import formatter as formatters
from realtime.agent import ReActAgent
from realtime.event import TextBlockDeltaEvent
from realtime.message import Base64Source, DataBlock, Msg, TextBlock, ThinkingBlock, UserMsg
from realtime.model.chat.families import FAMILIES
from realtime.tool import Toolkit
from tests.model.chat.scripts import PROVIDERS, Call, Provider, Script
from tests.model.local.chat_endpoint import Asked, ChatEndpoint, Hold, chat_endpoint
from tests.volumes import HANG_S

pytestmark = [
    pytest.mark.parametrize("family", [*FAMILIES]),
    # Google's SDK does that.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]

PICTURE = DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"))
CALLS = Script(
    thoughts=("Which one?",),
    words=("Let me see.",),
    calls=(Call("call_1", "find", ('{"name": ', '"tea"}')), Call("call_2", "find", ('{"name": "milk"}',))),
)


@pytest.fixture
async def endpoint() -> AsyncIterator[ChatEndpoint]:
    async with chat_endpoint() as made:
        yield made


@pytest.fixture
async def provider(family: str) -> AsyncIterator[Provider]:
    provider = PROVIDERS[family]
    yield provider
    while provider.made:
        await provider.close(provider.made.pop())


def thinker(provider: Provider, endpoint: ChatEndpoint, *, twin: str = "Chat", **settings: Any) -> ReActAgent:
    """A quiet agent of a family, with its formatter or the twin for several speakers."""
    model = provider.model(endpoint.base_url)
    formatter = getattr(formatters, FAMILIES[provider.name].formatter().__name__.replace("Chat", twin))()
    agent = ReActAgent("Friday", "You keep a shop.", model, formatter, **settings)
    agent.set_console_output_enabled(False)
    return agent


def shop(taken: list[str]) -> Toolkit:
    def find(name: str) -> str:
        """Find a good."""
        taken.append(name)
        return f"{name}: shelf {len(taken)}"

    return Toolkit([find])


def history(asked: Asked) -> list[dict[str, Any]]:
    """The messages of a request, in the family's own form."""
    body = asked.body
    given = body.get("messages") or body.get("contents") or body["input"]["messages"]
    return [*given]


def written(asked: Asked) -> str:
    return json.dumps(asked.body, ensure_ascii=False)


async def test_the_agent_thinks_calls_tools_and_answers(provider: Provider, endpoint: ChatEndpoint) -> None:
    """REA-01, FMT-05, FMT-06, FMT-11, FMT-12, FMT-13: the tools get objects, and the second request has both rounds."""
    taken: list[str] = []
    endpoint.will(*provider.frames(CALLS))
    endpoint.will(*provider.frames(Script(words=("Tea: shelf 1. ", "Milk: shelf 2."))))
    agent = thinker(provider, endpoint, toolkit=shop(taken))
    answer = await agent(UserMsg("user", "Where are tea and milk?"))
    assert taken == ["tea", "milk"]
    assert [block.type for block in answer.content] == [
        *("thinking", "text", "tool_call", "tool_call", "tool_result", "tool_result", "text")
    ]
    assert answer.get_text_content() == "Let me see.\nTea: shelf 1. Milk: shelf 2."
    first, second = endpoint.asked
    assert provider.tools(first) == provider.tools(second) == ["find"]
    assert "You keep a shop." in written(first)
    begun, *_ = history(first)
    assert begun["role"] in ("system", "user")
    for result in ("tea: shelf 1", "milk: shelf 2"):
        assert result in written(second)
    for call in answer.get_content_blocks("tool_call"):
        # Once where it is asked for, once where it is answered.
        assert written(second).count(json.dumps(call.id)) == 2
    (remembered,) = [msg for msg in await agent.memory.get_memory() if msg.role == "assistant"]
    assert [block.thinking for block in remembered.content if isinstance(block, ThinkingBlock)] == ["Which one?"]


async def test_each_round_is_a_message_and_its_results(family: str, provider: Provider, endpoint: ChatEndpoint) -> None:
    """FMT-01, FMT-02, FMT-03, FMT-04: the roles of the history that a tool's result makes."""
    tea = Call("call_1", "find", ('{"name": "tea"}',))
    endpoint.will(*provider.frames(Script(words=("Let me see.",), calls=(tea,))))
    endpoint.will(*provider.frames(Script(words=("Shelf 1.",))))
    endpoint.will(*provider.frames(Script(words=("You are welcome.",))))
    agent = thinker(provider, endpoint, toolkit=shop([]))
    await agent(UserMsg("user", "Where is tea?"))
    await agent(UserMsg("user", "Thank you."))
    roles = {
        "openai": ["system", "user", "assistant", "tool", "assistant", "user"],
        "dashscope": ["system", "user", "assistant", "tool", "assistant", "user"],
        "gemini": ["user", "model", "user", "model", "user"],
        "anthropic": ["user", "assistant", "user", "assistant", "user"],
    }
    assert [message["role"] for message in history(endpoint.asked[2])] == roles[family]


async def test_participants_and_hints_stand_where_they_came(provider: Provider, endpoint: ChatEndpoint) -> None:
    """FMT-07, FMT-08, FMT-09: other speakers by their names, a hint between the rounds."""
    endpoint.will(*provider.frames(Script(words=("I agree with A.",))))
    agent = thinker(provider, endpoint, twin="MultiAgent")
    await agent.observe([Msg("AgentA", "View A", "assistant"), Msg("AgentB", "View B", "assistant")])
    await agent.hint("The shop closes soon.", source="clock")
    await agent(UserMsg("Ann", "What do you think?"))
    text = written(endpoint.asked[0])
    places = [text.index(one) for one in ("[AgentA]: View A", "[AgentB]: View B", "What do you think?", "closes soon")]
    assert places == sorted(places)


async def test_a_picture_reaches_the_provider(provider: Provider, endpoint: ChatEndpoint) -> None:
    """FMT-17"""
    endpoint.will(*provider.frames(Script(words=("A door.",))))
    agent = thinker(provider, endpoint)
    await agent(Msg("user", [TextBlock(text="What is this?"), PICTURE], "user"))
    assert base64.b64encode(b"\x89PNG").decode() in written(endpoint.asked[0])


class Person(BaseModel):
    name: str
    age: int


async def test_a_structured_answer_that_is_invalid_is_asked_for_again(
    provider: Provider, endpoint: ChatEndpoint
) -> None:
    """REA-28, REA-29, REA-31"""
    for arguments in ('{"name": "Ann"}', '{"name": "Ann", "age": 30}'):
        call = Call("call_1", "generate_response", (arguments,))
        endpoint.will(*provider.frames(Script(words=("That is Ann.",), calls=(call,))))
    agent = thinker(provider, endpoint)
    answer = await agent(UserMsg("user", "Who is that?"), structured_model=Person)
    assert answer.metadata == {"name": "Ann", "age": 30}
    assert "age" in written(endpoint.asked[1])


async def test_an_interruption_gives_the_request_up(provider: Provider, endpoint: ChatEndpoint) -> None:
    """REA-05, REA-07: while the model speaks."""
    begun = provider.frames(Script(words=("Once upon a time",), is_cut=True))
    endpoint.will(*begun, Hold())
    endpoint.will(*provider.frames(Script(words=("Yes?",))))
    agent = thinker(provider, endpoint)
    async for event in agent.reply_stream(UserMsg("user", "A story, please.")):
        if isinstance(event, TextBlockDeltaEvent):
            await agent.interrupt()
    async with asyncio.timeout(HANG_S):
        await endpoint.asked[0].left.wait()
    assert (await agent(UserMsg("user", "Stop."))).get_text_content() == "Yes?"
    assert "Once upon a time" in written(endpoint.asked[1])
