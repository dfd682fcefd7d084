"""The formatters of all families, and the judge of each family's payloads: the provider's own SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from anthropic.types import MessageParam
from dashscope import AioGeneration, AioMultiModalConversation
from dashscope.api_entities.aio_session import get_shared_aio_session
from fastapi import FastAPI, Request
from google.genai import types
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from realtime.formatter import (
    AnthropicChatFormatter,
    AnthropicMultiAgentFormatter,
    DashScopeChatFormatter,
    DashScopeMultiAgentFormatter,
    GeminiChatFormatter,
    GeminiMultiAgentFormatter,
    OpenAIChatFormatter,
    OpenAIMultiAgentFormatter,
)
from realtime.formatter.family import ChatFormatter, SpeakersFormatter
from tests.server.harness import serving_app

Json = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """The two formatters of a family. `judge` raises for a payload that its SDK does not know."""

    chat: type[ChatFormatter]
    speakers: type[SpeakersFormatter]
    judge: Callable[[list[Json]], Awaitable[None]]


OPENAI: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
ANTHROPIC: TypeAdapter[Any] = TypeAdapter(list[MessageParam])


def plain(value: Any) -> Any:
    """Read to the end what the types read on demand."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    return [plain(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


async def judge_openai(payload: list[Json]) -> None:
    """What the types of the SDK read is what was written: they skip unknown fields."""
    assert plain(OPENAI.validate_python(payload, strict=True)) == payload


async def judge_anthropic(payload: list[Json]) -> None:
    """What the types of the SDK read is what was written: they skip unknown fields."""
    assert plain(ANTHROPIC.validate_python(payload, strict=True)) == payload


async def judge_gemini(payload: list[Json]) -> None:
    """The types of the SDK, which refuse unknown fields; what was read is what was written."""
    for content in payload:
        read = types.Content.model_validate(content)
        assert read.model_dump(exclude_none=True) == content


async def judge_dashscope(payload: list[Json]) -> None:
    """Both calls of the SDK, for text and for media, send the messages as they are."""
    sent: list[Json] = []

    app = FastAPI()

    @app.post("/{path:path}")
    async def answer(request: Request) -> Json:
        sent.append(await request.json())
        return {"output": {}, "usage": {}, "request_id": "r1"}

    async with serving_app(app) as served:
        for call in (AioGeneration, AioMultiModalConversation):
            answered = await call.call(
                "qwen", messages=payload, api_key="key", base_address=served.url, result_format="message"
            )
            assert answered.status_code == 200
        await (await get_shared_aio_session()).close()
    assert [one["input"]["messages"] for one in sent] == [payload, payload]


FAMILIES = {
    "openai": Family(OpenAIChatFormatter, OpenAIMultiAgentFormatter, judge_openai),
    "dashscope": Family(DashScopeChatFormatter, DashScopeMultiAgentFormatter, judge_dashscope),
    "gemini": Family(GeminiChatFormatter, GeminiMultiAgentFormatter, judge_gemini),
    "anthropic": Family(AnthropicChatFormatter, AnthropicMultiAgentFormatter, judge_anthropic),
}
