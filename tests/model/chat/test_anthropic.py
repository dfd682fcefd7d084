"""Anthropic: what only it has."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from unittest.mock import patch

import pytest
from pydantic import BaseModel

from realtime.errors import ProviderError
from realtime.message import ThinkingBlock, ToolCallBlock
from realtime.model.chat import AnthropicChatModel, ChatResponse
from tests.model.chat.scripts import PROVIDERS, Anthropic, Call, Script
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, Json

ANTHROPIC = PROVIDERS["anthropic"]
FRAMES = Anthropic("anthropic")
HELLO = [{"role": "user", "content": "Hello."}]
JSON = (("content-type", "application/json"),)


class Person(BaseModel):
    name: str
    age: int


async def whole(asked: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    return asked if isinstance(asked, ChatResponse) else [response async for response in asked][-1]


def test_the_client_is_made_of_the_arguments() -> None:
    with patch("anthropic.AsyncAnthropic") as client:
        AnthropicChatModel("claude-x", "key")
        client.assert_called_once_with(api_key="key")
    with patch("anthropic.AsyncAnthropic") as client:
        made = AnthropicChatModel("claude-x", "key", client_kwargs={"timeout": 30, "max_retries": 0})
        client.assert_called_once_with(api_key="key", timeout=30)
    assert (made.max_tokens, made.retries) == (2048, 0)
    assert "timeout" not in made._request(HELLO, [], None, {}), "the client has one"


TEXT = [{"type": "text", "text": "Be kind."}]


@pytest.mark.parametrize(
    ("contents", "system"),
    [(["Be kind."], "Be kind."), ([TEXT], TEXT), ([TEXT, "Be short."], [*TEXT, {"type": "text", "text": "Be short."}])],
)
async def test_the_first_system_messages_are_the_system_prompt(
    endpoint: ChatEndpoint, contents: list[object], system: object
) -> None:
    endpoint.will(*ANTHROPIC.frames(Script(words=("Hi.",))))
    model = ANTHROPIC.model(endpoint.base_url, max_tokens=99, generate_kwargs={"temperature": 0.7})
    payload: list[Json] = [*({"role": "system", "content": content} for content in contents), *HELLO]
    await whole(await model(payload, top_k=40))
    body = (await endpoint.request()).body
    assert (body["system"], body["messages"]) == (system, HELLO)
    assert (body["max_tokens"], body["temperature"], body["top_k"]) == (99, 0.7, 40)
    assert KEY in str((await endpoint.request()).headers)


async def test_without_a_system_message_there_is_no_prompt(endpoint: ChatEndpoint) -> None:
    endpoint.will(*ANTHROPIC.frames(Script(words=("Hi.",))))
    await whole(await ANTHROPIC.model(endpoint.base_url)(HELLO))
    assert "system" not in (await endpoint.request()).body


@pytest.mark.parametrize("stream", [True, False])
async def test_thoughts_keep_the_signature_that_must_come_back(endpoint: ChatEndpoint, stream: bool) -> None:
    script = Script(thoughts=("Let me", " see."), words=("Hi.",))
    if stream:
        endpoint.will(*ANTHROPIC.frames(script))
    else:
        endpoint.will(ANTHROPIC.whole(script), headers=JSON)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    response = await whole(await ANTHROPIC.model(endpoint.base_url, stream=stream, thinking=thinking)(HELLO))
    thoughts = response.content[0]
    assert isinstance(thoughts, ThinkingBlock)
    assert (thoughts.thinking, thoughts.extra) == ("Let me see.", {"signature": "sig-1"})
    assert (await endpoint.request()).body["thinking"] == thinking


def test_the_frames_of_these_tests_are_those_of_the_sdk() -> None:
    from anthropic.types import Message, RawMessageStreamEvent
    from pydantic import TypeAdapter

    script = Script(thoughts=("Let me see.",), words=("Hi.",), calls=(Call("call_1", "clock"),))
    events: TypeAdapter[object] = TypeAdapter(RawMessageStreamEvent)
    for frame in map(str, ANTHROPIC.frames(script)):
        if "event: ping" not in frame:
            events.validate_json(frame.partition("data: ")[2])
    Message.model_validate_json(ANTHROPIC.whole(script))


async def test_interleaved_thoughts_words_and_calls_stay_in_their_places(endpoint: ChatEndpoint) -> None:
    endpoint.will(
        FRAMES._event("message_start", message=FRAMES._message([], None, {"input_tokens": 5, "output_tokens": 1})),
        FRAMES._begin(0, {"type": "redacted_thinking", "data": "hidden"}),
        FRAMES._begin(1, {"type": "text", "text": ""}),
        FRAMES._delta(1, {"type": "text_delta", "text": "Let me look <"}),
        FRAMES._begin(2, {"type": "thinking", "thinking": "", "signature": ""}),
        FRAMES._delta(2, {"type": "thinking_delta", "thinking": "Which tool?"}),
        FRAMES._delta(2, {"type": "signature_delta", "signature": "sig-2"}),
        FRAMES._begin(3, {"type": "text", "text": ""}),
        FRAMES._delta(3, {"type": "text_delta", "text": "up."}),
        FRAMES._begin(4, {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}}),
        FRAMES._event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 9}),
        FRAMES._event("message_stop"),
    )
    response = await whole(await ANTHROPIC.model(endpoint.base_url)(HELLO))
    told = [
        (block.thinking or block.extra) if isinstance(block, ThinkingBlock)
        else block.input if isinstance(block, ToolCallBlock) else getattr(block, "text", "")
        for block in response.content
    ]  # fmt: skip
    assert told == [{"redacted_thinking": "hidden"}, "Let me look <", "Which tool?", "up.", "{}"]
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 9)
    assert response.usage.metadata == {"input_tokens": 5, "output_tokens": 9}


@pytest.mark.parametrize(
    ("thinking", "choice"),
    [
        (None, {"type": "tool", "name": "generate_structured_output"}),
        ({"type": "disabled"}, {"type": "tool", "name": "generate_structured_output"}),
        ({"type": "enabled", "budget_tokens": 1024}, {"type": "auto"}),
    ],
)
async def test_a_model_that_thinks_takes_no_tool_by_name(
    endpoint: ChatEndpoint, thinking: Json | None, choice: Json
) -> None:
    script = Script(calls=(Call("call_1", "generate_structured_output", ('{"name": "Ann", "age": 30}',)),))
    endpoint.will(*ANTHROPIC.frames(script))
    model = ANTHROPIC.model(endpoint.base_url, thinking=thinking)
    assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann", "age": 30}
    assert ANTHROPIC.choice(await endpoint.request()) == choice


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "provider_failed"),
        ("rate_limit_error", "rate_limit_exceeded"),
        ("authentication_error", "invalid_api_key"),
        ("invalid_request_error", "invalid_request"),
        ("timeout_error", "provider_timeout"),
    ],
)
async def test_errors_inside_a_stream_mean_what_their_type_says(endpoint: ChatEndpoint, kind: str, code: str) -> None:
    endpoint.will(FRAMES._event("error", error={"type": kind, "message": "the server's words"}))
    with pytest.raises(ProviderError) as caught:
        await whole(await ANTHROPIC.model(endpoint.base_url)(HELLO))
    assert caught.value.code == code
    assert "HTTP" not in caught.value.message
