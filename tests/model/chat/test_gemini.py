"""Gemini: what only it has."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import patch

import pybase64
import pytest
from pydantic import BaseModel

from realtime.errors import ProviderError
from realtime.formatter import GeminiChatFormatter
from realtime.message import AssistantMsg, Base64Source, DataBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat import ChatResponse, GeminiChatModel
from tests.model.chat.scripts import PROVIDERS, Call, Script
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, Json

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

GEMINI = PROVIDERS["gemini"]
HELLO = GEMINI.payload("Hello.")
JSON = (("content-type", "application/json"),)
SIGNATURE = pybase64.b64encode_as_string(b"signed")


async def whole(asked: ChatResponse | AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    return asked if isinstance(asked, ChatResponse) else [response async for response in asked][-1]


def parts(*found: Json, reason: str | None = "STOP") -> Json:
    """A whole answer, or a chunk of one."""
    return {"candidates": [{"content": {"role": "model", "parts": [*found]}, "finishReason": reason, "index": 0}]}


def test_the_client_is_made_of_the_arguments() -> None:
    with patch("google.genai.Client") as client:
        GeminiChatModel("gemini-x", "key", client_kwargs={"http_options": {"timeout": 30}})
        client.assert_called_once_with(api_key="key", http_options={"timeout": 30})
    with patch("google.genai.Client") as client:
        GeminiChatModel("gemini-x", client_kwargs={"vertexai": True, "project": "p"})
        client.assert_called_once_with(vertexai=True, project="p")


async def test_the_settings_go_into_the_config_and_the_first_system_messages_are_the_instruction(
    endpoint: ChatEndpoint,
) -> None:
    endpoint.will(*GEMINI.frames(Script(words=("Hi.",))))
    thinking = {"include_thoughts": True, "thinking_budget": 1024}
    model = GEMINI.model(
        endpoint.base_url, thinking_config=thinking, generate_kwargs={"temperature": 0.7, "top_p": 0.9}
    )
    await whole(await model([{"role": "system", "parts": [{"text": "Be kind."}]}, *HELLO], top_k=40))
    body = (await endpoint.request()).body
    settings = {"temperature": 0.7, "topP": 0.9, "topK": 40, "thinkingConfig": thinking}
    assert body["generationConfig"] == settings
    assert body["systemInstruction"]["parts"] == [{"text": "Be kind."}]
    assert [content["role"] for content in body["contents"]] == ["user"]
    assert (await endpoint.request()).headers["x-goog-api-key"] == KEY


def test_the_frames_of_these_tests_are_those_of_the_sdk() -> None:
    from google.genai.types import GenerateContentResponse

    script = Script(thoughts=("Let me see.",), words=("Hi.",), calls=(Call("call_1", "clock"),))
    for frame in GEMINI.frames(script):
        GenerateContentResponse.model_validate(frame)
    GenerateContentResponse.model_validate_json(GEMINI.whole(script))


@pytest.mark.parametrize("stream", [True, False])
async def test_a_signed_call_has_its_signature_before_it(endpoint: ChatEndpoint, stream: bool) -> None:
    """Gemini 3 refuses a call that comes back without it."""
    weather = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}, "thoughtSignature": SIGNATURE}
    clock = {"functionCall": {"name": "clock", "args": {}}}
    answer = parts(weather, clock)
    endpoint.will(*([answer] if stream else [json.dumps(answer)]), headers=None if stream else JSON)
    signed, first, second = (await whole(await GEMINI.model(endpoint.base_url, stream=stream)(HELLO))).content
    assert isinstance(signed, ThinkingBlock)
    assert isinstance(first, ToolCallBlock)
    assert isinstance(second, ToolCallBlock)
    assert (signed.thinking, signed.extra) == ("", {"thought_signature": SIGNATURE, "tool_call_id": first.id})
    assert first.id != second.id
    assert second.input == "{}"


@pytest.mark.parametrize("stream", [True, False])
async def test_signed_words_come_back_with_their_signature(endpoint: ChatEndpoint, stream: bool) -> None:
    """A stream has the signature in a last part without text, a whole answer in the part with the text."""
    alone = {"text": "", "thoughtSignature": SIGNATURE}
    frames = [parts({"text": "Hi "}, reason=None), parts({"text": "there."}, reason=None), parts(alone)]
    answer = parts({"text": "Hi there.", "thoughtSignature": SIGNATURE})
    endpoint.will(*(frames if stream else [json.dumps(answer)]), headers=None if stream else JSON)
    content = (await whole(await GEMINI.model(endpoint.base_url, stream=stream)(HELLO))).content
    contents = await GeminiChatFormatter().format([AssistantMsg("Friday", content)])
    signed = {"thought_signature": b"signed"}
    apart, together = [{"text": "Hi there."}, {"text": "", **signed}], [{"text": "Hi there.", **signed}]
    assert contents == [{"role": "model", "parts": apart if stream else together}]


async def test_calls_of_two_answers_have_different_ids(endpoint: ChatEndpoint) -> None:
    """Gemini sends none."""
    ids = set()
    for _ in range(2):
        endpoint.will(parts({"functionCall": {"name": "clock", "args": {}}}))
        ids |= {block.id for block in (await whole(await GEMINI.model(endpoint.base_url)(HELLO))).content}
    assert len(ids) == 2


async def test_pictures_are_blocks(endpoint: ChatEndpoint) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": pybase64.b64encode_as_string(b"\x89PN")}}
    endpoint.will(parts({"text": "A door: "}, picture))
    _, shown = (await whole(await GEMINI.model(endpoint.base_url)(HELLO))).content
    assert isinstance(shown, DataBlock)
    assert shown.source == Base64Source(data=b"\x89PN", media_type="image/png")


def tool(parameters: Json) -> Json:
    return {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": parameters}}


PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NESTED = {"type": "object", "properties": {"who": {"$ref": "#/$defs/Person"}}, "$defs": {"Person": PERSON}}
TREE = {
    "type": "object",
    "properties": {"child": {"$ref": "#/$defs/Tree"}},
    "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
}
SEVERAL = {"type": "object", "properties": {"age": {"type": ["integer", "null"]}}}
BETWEEN = {"type": "object", "properties": {"age": {"type": "integer", "exclusiveMinimum": 0}}}


@pytest.mark.parametrize(
    ("parameters", "field", "written"),
    [
        (PERSON, "parameters", PERSON),
        (NESTED, "parameters", {"type": "object", "properties": {"who": PERSON}}),
        (TREE, "parameters_json_schema", TREE),
        (BETWEEN, "parameters_json_schema", BETWEEN),
        (SEVERAL, "parameters_json_schema", SEVERAL),
        ({"$ref": "#/nowhere"}, "parameters_json_schema", {"$ref": "#/nowhere"}),
    ],
)
async def test_schemas_are_written_without_references_or_as_plain_json_schema(
    endpoint: ChatEndpoint, parameters: Json, field: str, written: Json
) -> None:
    model = GEMINI.model(endpoint.base_url)
    assert isinstance(model, GeminiChatModel)
    assert model._format_tools_json_schemas([tool(parameters)]) == [
        {"function_declarations": [{"name": "look", "description": "Looks.", field: written}]}
    ]
    endpoint.will(*GEMINI.frames(Script(words=("Hi.",))))
    await whole(await model(HELLO, tools=[tool(parameters)]))
    assert GEMINI.tools(await endpoint.request()) == ["look"]


async def test_a_blocked_prompt_is_a_refused_answer(endpoint: ChatEndpoint) -> None:
    endpoint.will({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    with pytest.raises(ProviderError) as caught:
        await whole(await GEMINI.model(endpoint.base_url)(HELLO))
    assert caught.value.code == "content_refused"


async def test_a_call_that_gemini_cannot_read_itself_may_be_asked_for_again(endpoint: ChatEndpoint) -> None:
    endpoint.will(parts(reason="MALFORMED_FUNCTION_CALL"))
    with pytest.raises(ProviderError) as caught:
        await whole(await GEMINI.model(endpoint.base_url)(HELLO))
    assert (caught.value.code, caught.value.retryable) == ("malformed_answer", True)


async def test_a_wrong_key_is_told_although_gemini_says_400(endpoint: ChatEndpoint) -> None:
    body = GEMINI.error("API key not valid. Please pass a valid API key.", 400)
    endpoint.will(body, status=400, headers=JSON)
    with pytest.raises(ProviderError, match="refused the key"):
        await whole(await GEMINI.model(endpoint.base_url)(HELLO))


async def test_a_setting_that_gemini_does_not_have_is_refused_at_once(endpoint: ChatEndpoint) -> None:
    with pytest.raises(ValueError, match="no such setting: nonsense: extra_forbidden, temperature: float_parsing"):
        await GEMINI.model(endpoint.base_url)(HELLO, nonsense=3, temperature="hot")
    assert endpoint.asked == []


async def test_the_schema_of_an_answer_is_geminis_own(endpoint: ChatEndpoint) -> None:
    class Person(BaseModel):
        name: str

    endpoint.will(*GEMINI.frames(Script(words=('{"name": "Ann"}',))))
    model: Any = GEMINI.model(endpoint.base_url)
    assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann"}
    config = (await endpoint.request()).body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"]["required"] == ["name"]
