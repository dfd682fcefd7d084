"""OpenAI's chat completions: what only they have, and what servers do differently that claim to have them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import patch

import pybase64
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from realtime.errors import ProviderError
from realtime.message import Base64Source, DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat import ChatResponse, OpenAIChatModel
from realtime.model.chat.answer import Answer
from tests.model.chat.scripts import PROVIDERS, Call, Script
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, calls, chunk, piece, words
from tests.volumes import volume

OPENAI = PROVIDERS["openai"]
HELLO = [{"role": "user", "content": "Hello."}]
JSON = (("content-type", "application/json"),)


class Person(BaseModel):
    name: str
    age: int


def model_at(endpoint: ChatEndpoint, **settings: Any) -> OpenAIChatModel:
    made = OPENAI.model(endpoint.base_url, **settings)
    assert isinstance(made, OpenAIChatModel)
    return made


async def whole(asked: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    return asked if isinstance(asked, ChatResponse) else [response async for response in asked][-1]


def test_the_client_is_made_of_the_arguments() -> None:
    with patch("openai.AsyncClient") as client:
        OpenAIChatModel("gpt-x", "key")
        client.assert_called_once_with(api_key="key", organization=None)
    with patch("openai.AsyncClient") as client:
        made = OpenAIChatModel("gpt-x", "key", organization="org", client_kwargs={"timeout": 30, "max_retries": 5})
        client.assert_called_once_with(api_key="key", organization="org", timeout=30)
    assert (made.retries, made.stream) == (5, True)


def test_the_frames_of_these_tests_are_those_of_the_sdk() -> None:
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    script = Script(thoughts=("Let me see.",), words=("Hi.",), calls=(Call("call_1", "clock"),))
    for frame in OPENAI.frames(script):
        if isinstance(frame, dict):
            ChatCompletionChunk.model_validate(frame)
    ChatCompletion.model_validate_json(OPENAI.whole(script))


async def test_the_settings_go_into_each_request_and_the_calls_own_above_them(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."))
    model = model_at(endpoint, reasoning_effort="high", generate_kwargs={"temperature": 0.7, "seed": 3})
    await whole(await model(HELLO, temperature=0.1))
    body = (await endpoint.request()).body
    assert (body["reasoning_effort"], body["temperature"], body["seed"]) == ("high", 0.1, 3)
    assert body["stream_options"] == {"include_usage": True}
    assert (await endpoint.request()).headers["authorization"] == f"Bearer {KEY}"


async def test_what_the_sdk_has_no_argument_for_goes_to_the_server(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."))
    await whole(await model_at(endpoint)(HELLO, top_k=40, extra_body={"min_p": 0.1}))
    body = (await endpoint.request()).body
    assert (body["top_k"], body["min_p"]) == (40, 0.1)


async def test_another_server_needs_no_key_and_openai_does(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    endpoint.will("{}", status=401, headers=JSON)
    model = OpenAIChatModel("qwen3", client_kwargs={"base_url": endpoint.base_url}, retries=0)
    with pytest.raises(ProviderError, match="wants a key: set OPENAI_API_KEY"):
        await model(HELLO)
    await model.client.close()
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    endpoint.will("{}", status=401, headers=JSON)
    model = OpenAIChatModel("qwen3", client_kwargs={"base_url": endpoint.base_url}, retries=0)
    with pytest.raises(ProviderError, match="refused the key in OPENAI_API_KEY"):
        await model(HELLO)
    await model.client.close()
    assert (await endpoint.request(2)).headers["authorization"] == "Bearer from-the-environment"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thoughts_have_one_of_two_names(endpoint: ChatEndpoint, field: str) -> None:
    endpoint.will(*[chunk({field: text}) for text in ("Let me", " see.")], *words("Hi."))
    response = await whole(await model_at(endpoint)(HELLO))
    thoughts, said = response.content
    assert isinstance(thoughts, ThinkingBlock)
    assert thoughts.thinking == "Let me see."
    assert isinstance(said, TextBlock)


async def test_arguments_may_be_an_object(endpoint: ChatEndpoint) -> None:
    endpoint.will(*calls(piece(0, "call_a", "get_weather", {"city": "Oslo"})))
    (call,) = (await whole(await model_at(endpoint)(HELLO))).content
    assert isinstance(call, ToolCallBlock)
    assert call.arguments == {"city": "Oslo"}


@pytest.mark.parametrize("sizes", [[8, 8, 4], [3, 5, 7, 5], [20]])
async def test_sound_is_put_together_wherever_its_base64_was_cut(endpoint: ChatEndpoint, sizes: list[int]) -> None:
    sound, at = bytes(range(15)), 0
    encoded, frames = pybase64.b64encode_as_string(sound), []
    for size in sizes:
        frames.append(chunk({"audio": {"id": "audio_1", "data": encoded[at : at + size], "transcript": "la"}}))
        at += size
    endpoint.will(*frames, chunk({}, "stop"))
    model = model_at(endpoint, generate_kwargs={"audio": {"voice": "alloy", "format": "pcm16"}})
    response = await whole(await model(HELLO))
    heard = next(block for block in response.content if isinstance(block, DataBlock))
    assert isinstance(heard.source, Base64Source)
    assert (heard.source.data, heard.source.media_type) == (sound, "audio/pcm16")
    assert [block.text for block in response.content if isinstance(block, TextBlock)] == ["la" * len(sizes)]


async def test_sound_that_is_no_base64_is_no_answer(endpoint: ChatEndpoint) -> None:
    endpoint.will(chunk({"audio": {"data": "????"}}), chunk({}, "stop"))
    with pytest.raises(ProviderError) as caught:
        await model_at(endpoint)(HELLO)
    assert caught.value.code == "malformed_answer"


# -- structured output -------------------------------------------------------------------------------------------------

BY_TOOL = Script(calls=(Call("call_1", "generate_structured_output", ('{"name": "Ann", "age": 30}',)),))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("refused", [True, False])
async def test_a_server_that_knows_no_schema_is_asked_by_a_tool_from_then_on(
    endpoint: ChatEndpoint, stream: bool, refused: bool
) -> None:
    def will(script: Script) -> None:
        endpoint.will(*(OPENAI.frames(script) if stream else [OPENAI.whole(script)]), headers=None if stream else JSON)

    if refused:
        endpoint.will(OPENAI.error("unknown field response_format", 400), status=400, headers=JSON)
    else:
        will(Script(words=('{"message": "Hi!"}',)))
    will(BY_TOOL)
    will(BY_TOOL)
    model = model_at(endpoint, stream=stream)
    for _ in range(2):
        assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann", "age": 30}
    first, second, third = endpoint.asked
    assert first.body["response_format"]["type"] == "json_schema"
    for asked in (second, third):
        assert "response_format" not in asked.body
        assert OPENAI.tools(asked) == ["generate_structured_output"]
        assert OPENAI.choice(asked)["function"]["name"] == "generate_structured_output"


@pytest.mark.parametrize("in_stream", [True, False])
async def test_a_model_that_takes_no_tool_by_name_may_choose_the_only_one(
    endpoint: ChatEndpoint, in_stream: bool
) -> None:
    said = "The tool_choice parameter does not support being set to required or object in thinking mode"
    model = model_at(endpoint)
    model._structured_output_fallback = True
    if in_stream:
        endpoint.will({"error": {"message": said, "type": "x"}})
    else:
        endpoint.will(OPENAI.error(said, 400), status=400, headers=JSON)
    endpoint.will(*OPENAI.frames(BY_TOOL))
    assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann", "age": 30}
    assert [OPENAI.choice(asked) == "auto" for asked in endpoint.asked] == [False, True]


async def test_a_failure_that_has_nothing_to_do_with_schemas_is_told(endpoint: ChatEndpoint) -> None:
    endpoint.will(OPENAI.error("busy", 500), status=500, headers=JSON)
    model = model_at(endpoint)
    with pytest.raises(ProviderError) as caught:
        await model(HELLO, structured_model=Person)
    assert caught.value.code == "provider_failed"
    assert not model._structured_output_fallback


async def test_an_object_that_was_cut_by_its_length_is_none(endpoint: ChatEndpoint) -> None:
    for _ in range(2):
        endpoint.will(chunk({"content": '{"name": "An'}), chunk({}, "length"))
    with pytest.raises(ProviderError) as caught:
        await model_at(endpoint)(HELLO, structured_model=Person)
    assert caught.value.code == "invalid_structured_output"


async def test_an_object_among_words_is_found(endpoint: ChatEndpoint) -> None:
    """Servers that know no schema answer with a code block."""
    endpoint.will(OPENAI.error("unknown field response_format", 400), status=400, headers=JSON)
    endpoint.will(*words('Here:\n```json\n{"name": "Ann", "age": 30}\n```'))
    response = await whole(await model_at(endpoint)(HELLO, structured_model=Person))
    assert response.metadata == {"name": "Ann", "age": 30}


# -- any shape ---------------------------------------------------------------------------------------------------------

FIELDS = ["choices", "delta", "content", "tool_calls", "function", "arguments", "name", "index", "id", "usage", "audio"]
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=volume(30, 300))
@given(st.lists(SHAPES, max_size=4))
def test_no_chunk_of_whatever_shape_does_harm(chunks: list[Any]) -> None:
    from openai._models import construct_type
    from openai.types.chat import ChatCompletionChunk

    model = OpenAIChatModel("model-x", KEY)
    answer = Answer(model.endpoint, lambda: 0.0, 1000)
    for shape in chunks:
        model._read(construct_type(type_=ChatCompletionChunk, value=shape), answer)
    model._read(construct_type(type_=ChatCompletionChunk, value=chunk({}, "stop")), answer)
    response = answer.finish()
    assert response is not None
    json.dumps([block.model_dump() for block in response.content])
