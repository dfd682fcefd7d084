"""The formatters of all families, and the judge of each family's payloads: the provider's own SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from pydantic import TypeAdapter

from realtime import formatter
from realtime.formatter.family import ChatFormatter, SpeakersFormatter
from tests.server.harness import serving_app

Json = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """The two formatters of a family. `judge` raises for payloads that its SDK does not know."""

    chat: type[ChatFormatter]
    speakers: type[SpeakersFormatter]
    judge: Callable[[list[list[Json]]], Awaitable[None]]


def plain(value: Any) -> Any:
    """Read to the end what the types read on demand."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items()}
    return [plain(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


@cache
def messages_of(family: str) -> TypeAdapter[Any]:
    """The SDK's type of all messages of a request."""
    if family == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    from anthropic.types import MessageParam

    return TypeAdapter(list[MessageParam])


async def judge_openai(payloads: list[list[Json]], family: str = "openai") -> None:
    """What the types of the SDK read is what was written: they skip unknown fields."""
    for payload in payloads:
        assert plain(messages_of(family).validate_python(payload, strict=True)) == payload


async def judge_anthropic(payloads: list[list[Json]]) -> None:
    """As `judge_openai`."""
    await judge_openai(payloads, "anthropic")


async def judge_gemini(payloads: list[list[Json]]) -> None:
    """The types of the SDK, which refuse unknown fields; what was read is what was written."""
    from google.genai import types

    for content in [content for payload in payloads for content in payload]:
        assert types.Content.model_validate(content).model_dump(exclude_none=True) == content


async def judge_dashscope(payloads: list[list[Json]]) -> None:
    """Both calls of the SDK, for text and for media, send the messages as they are."""
    from dashscope import AioGeneration, AioMultiModalConversation
    from dashscope.api_entities.aio_session import get_shared_aio_session

    sent: list[Json] = []
    app = FastAPI()

    @app.post("/{path:path}")
    async def answer(request: Request) -> Json:
        sent.append(await request.json())
        return {"output": {}, "usage": {}, "request_id": "r1"}

    async with serving_app(app) as served:
        at: Json = {"api_key": "key", "base_address": served.url, "result_format": "message"}
        for payload in payloads:
            for call in (AioGeneration, AioMultiModalConversation):
                assert (await call.call("qwen", messages=payload, **at)).status_code == 200
        await (await get_shared_aio_session()).close()
    assert [one["input"]["messages"] for one in sent] == [payload for payload in payloads for _ in range(2)]


FAMILIES = {
    "openai": Family(formatter.OpenAIChatFormatter, formatter.OpenAIMultiAgentFormatter, judge_openai),
    "dashscope": Family(formatter.DashScopeChatFormatter, formatter.DashScopeMultiAgentFormatter, judge_dashscope),
    "gemini": Family(formatter.GeminiChatFormatter, formatter.GeminiMultiAgentFormatter, judge_gemini),
    "anthropic": Family(formatter.AnthropicChatFormatter, formatter.AnthropicMultiAgentFormatter, judge_anthropic),
}
