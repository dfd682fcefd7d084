"""OpenAI's chat completions: what only they have, and what servers do differently that claim to have them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pybase64
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.errors import ProviderError
from realtime.message import Base64Source, DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat import OpenAIChatModel
from realtime.model.chat.answer import Answer
from tests.model.chat.scripts import HELLO, JSON, PERSON, PROVIDERS, Person, Script, whole
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, calls, chunk, piece, words
from tests.volumes import volume

OPENAI = PROVIDERS["openai"]


def model_at(endpoint: ChatEndpoint, **settings: Any) -> Any:
    return OPENAI.model(endpoint.base_url, **settings)


async def test_the_settings_go_into_each_request_and_the_calls_own_above_them(endpoint: ChatEndpoint) -> None:
    """Also those that the SDK has no argument for."""
    endpoint.will(*words("Hi."))
    model = model_at(endpoint, reasoning_effort="high", generate_kwargs={"temperature": 0.7, "seed": 3})
    await whole(await model(HELLO, temperature=0.1, top_k=40, extra_body={"min_p": 0.1}))
    asked = await endpoint.request()
    settings = {"reasoning_effort": "high", "temperature": 0.1, "seed": 3, "top_k": 40, "min_p": 0.1}
    assert asked.body | settings == asked.body
    assert asked.body["stream_options"] == {"include_usage": True}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_another_server_needs_no_key_and_openai_does(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for says in ("wants a key: set OPENAI_API_KEY", "refused the key in OPENAI_API_KEY"):
        endpoint.will("{}", status=401, headers=JSON)
        model = OpenAIChatModel("qwen3", client_kwargs={"base_url": endpoint.base_url}, retries=0)
        with pytest.raises(ProviderError, match=says):
            await model(HELLO)
        await model.client.close()
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
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


async def test_sound_is_put_together_wherever_its_base64_was_cut(endpoint: ChatEndpoint) -> None:
    model = model_at(endpoint, generate_kwargs={"audio": {"voice": "alloy", "format": "pcm16"}})
    sound = bytes(range(15))
    encoded = pybase64.b64encode_as_string(sound)
    for cuts in ([0, 8, 16, 20], [0, 3, 8, 15, 20], [0, 20]):
        pieces = [encoded[start:end] for start, end in pairwise(cuts)]
        frames = [chunk({"audio": {"id": "audio_1", "data": data, "transcript": "la"}}) for data in pieces]
        endpoint.will(*frames, chunk({}, "stop"))
        content = (await whole(await model(HELLO))).content
        (heard,) = [block.source for block in content if isinstance(block, DataBlock)]
        assert heard == Base64Source(data=sound, media_type="audio/pcm16")
        assert [block.text for block in content if isinstance(block, TextBlock)] == ["la" * len(pieces)]
    endpoint.will(chunk({"audio": {"data": "????"}}), chunk({}, "stop"))
    with pytest.raises(ProviderError) as caught:
        await whole(await model(HELLO))
    assert caught.value.code == "malformed_answer"


# -- structured output -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refused", [True, False])
async def test_a_server_that_knows_no_schema_is_asked_by_a_tool_from_then_on(
    endpoint: ChatEndpoint, stream: bool, refused: bool
) -> None:
    if refused:
        endpoint.will(OPENAI.error("unknown field response_format", 400), status=400, headers=JSON)
    else:
        OPENAI.will(endpoint, Script(words=('{"message": "Hi!"}',)), stream=stream)
    model = model_at(endpoint, stream=stream)
    for _ in range(2):
        OPENAI.will(endpoint, PERSON, stream=stream)
        assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann", "age": 30}
    first, *others = endpoint.asked
    assert first.body["response_format"]["type"] == "json_schema"
    for asked in others:
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
    endpoint.will(*OPENAI.frames(PERSON))
    assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann", "age": 30}
    assert [OPENAI.choice(asked) == "auto" for asked in endpoint.asked] == [False, True]


async def test_other_failures_are_told_and_an_object_that_was_cut_by_its_length_is_none(endpoint: ChatEndpoint) -> None:
    async def failure() -> str:
        with pytest.raises(ProviderError) as caught:
            await model(HELLO, structured_model=Person)
        return caught.value.code

    model = model_at(endpoint)
    endpoint.will(OPENAI.error("busy", 500), status=500, headers=JSON)
    assert await failure() == "provider_failed"
    assert not model._structured_output_fallback
    for _ in range(2):
        endpoint.will(chunk({"content": '{"name": "An'}), chunk({}, "length"))
    assert await failure() == "invalid_structured_output"


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
