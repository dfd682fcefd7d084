"""Gemini: what only it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pybase64
import pytest
from pydantic import BaseModel

from realtime.errors import ProviderError
from realtime.formatter import GeminiChatFormatter
from realtime.message import AssistantMsg, Base64Source, DataBlock, ThinkingBlock, ToolCallBlock
from tests.model.chat.scripts import JSON, PROVIDERS, Script, whole
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, Json

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

GEMINI = PROVIDERS["gemini"]
HELLO = GEMINI.payload("Hello.")
SIGNATURE = pybase64.b64encode_as_string(b"signed")


def parts(*found: Json, reason: str | None = "STOP") -> Json:
    """A whole answer, or a chunk of one."""
    return {"candidates": [{"content": {"role": "model", "parts": [*found]}, "finishReason": reason, "index": 0}]}


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


async def test_a_signed_call_has_its_signature_before_it(endpoint: ChatEndpoint, stream: bool) -> None:
    """Gemini 3 refuses a call that comes back without it."""
    weather = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}, "thoughtSignature": SIGNATURE}
    clock = {"functionCall": {"name": "clock", "args": {}}}
    answer = parts(weather, clock)
    endpoint.will(*([answer] if stream else [json.dumps(answer)]), headers=None if stream else JSON)
    model = GEMINI.model(endpoint.base_url, stream=stream)
    signed, first, second = (await whole(await model(HELLO))).content
    assert isinstance(signed, ThinkingBlock)
    assert isinstance(first, ToolCallBlock)
    assert isinstance(second, ToolCallBlock)
    assert (signed.thinking, signed.extra) == ("", {"thought_signature": SIGNATURE, "tool_call_id": first.id})
    assert first.id != second.id
    assert second.input == "{}"
    endpoint.will(*([answer] if stream else [json.dumps(answer)]), headers=None if stream else JSON)
    assert first.id not in {block.id for block in (await whole(await model(HELLO))).content}, "Gemini sends none"


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


async def test_pictures_are_blocks(endpoint: ChatEndpoint) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": pybase64.b64encode_as_string(b"\x89PN")}}
    endpoint.will(parts({"text": "A door: "}, picture))
    _, shown = (await whole(await GEMINI.model(endpoint.base_url)(HELLO))).content
    assert isinstance(shown, DataBlock)
    assert shown.source == Base64Source(data=b"\x89PN", media_type="image/png")


async def test_schemas_are_written_without_references_or_as_plain_json_schema(endpoint: ChatEndpoint) -> None:
    model = GEMINI.model(endpoint.base_url)
    cases = json.loads(Path(__file__).with_name("schemas.json").read_text(encoding="utf-8"))
    for case in cases.values():
        function = {"name": "look", "description": "Looks."}
        tool = {"type": "function", "function": function | {"parameters": case["parameters"]}}
        declared = [{"function_declarations": [function | {case["field"]: case["written"]}]}]
        assert model._format_tools_json_schemas([tool]) == declared
        GEMINI.will(endpoint, Script(words=("Hi.",)))
        await whole(await model(HELLO, tools=[tool]))
        assert GEMINI.tools(endpoint.asked[-1]) == ["look"]


async def test_an_answer_that_gemini_does_not_give_is_a_failure(endpoint: ChatEndpoint) -> None:
    """A call that it cannot read itself may be asked for again."""
    for frame, means in (
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, ("content_refused", False)),
        (parts(reason="MALFORMED_FUNCTION_CALL"), ("malformed_answer", True)),
    ):
        endpoint.will(frame)
        with pytest.raises(ProviderError) as caught:
            await whole(await GEMINI.model(endpoint.base_url)(HELLO))
        assert (caught.value.code, caught.value.retryable) == means


async def test_a_wrong_key_is_told_although_gemini_says_400_and_a_setting_that_it_does_not_have_at_once(
    endpoint: ChatEndpoint,
) -> None:
    with pytest.raises(ValueError, match="no such setting: nonsense: extra_forbidden, temperature: float_parsing"):
        await GEMINI.model(endpoint.base_url)(HELLO, nonsense=3, temperature="hot")
    assert endpoint.asked == []
    body = GEMINI.error("API key not valid. Please pass a valid API key.", 400)
    endpoint.will(body, status=400, headers=JSON)
    with pytest.raises(ProviderError, match="refused the key"):
        await whole(await GEMINI.model(endpoint.base_url)(HELLO))


async def test_the_schema_of_an_answer_is_geminis_own(endpoint: ChatEndpoint) -> None:
    class Person(BaseModel):
        name: str

    endpoint.will(*GEMINI.frames(Script(words=('{"name": "Ann"}',))))
    model: Any = GEMINI.model(endpoint.base_url)
    assert (await whole(await model(HELLO, structured_model=Person))).metadata == {"name": "Ann"}
    config = (await endpoint.request()).body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"]["required"] == ["name"]
