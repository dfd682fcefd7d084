"""The models of DashScope (Alibaba Cloud), by its own protocol."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from realtime.model.chat.answer import Answer
from realtime.model.chat.arguments import Json, StructuredModel, structured_tool
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.failures import Endpoint, Refusal, sdk, shown_address
from realtime.model.chat.families import FAMILIES
from realtime.model.chat.sdk_model import (
    SdkChatModel,
    check_no_query,
    closing_stream,
    count_of,
    from_first,
    key_of,
    only,
    part_of,
    plain,
)
from realtime.options import checked

logger = logging.getLogger(__name__)

_STATUS = {
    "InvalidApiKey": 401,
    "AccessDenied": 403,
    "Model.AccessDenied": 403,
    "ModelNotFound": 404,
    "Throttling": 429,
    "LimitRequests": 429,
    "RequestTimeOut": 504,
    "InternalError": 500,
    "ServiceUnavailable": 503,
    "SystemError": 500,
    "ModelServingError": 500,
}
"""What the beginnings of error codes mean: inside a stream every error has the status 400."""


class DashScopeChatModel(SdkChatModel):
    """A model of DashScope.

    `api_key` defaults to DASHSCOPE_API_KEY. `enable_thinking` switches the thoughts of models that can do without; with
    them, DashScope only streams, so it sets `stream`. `multimodality` chooses the service for pictures and sound; None:
    by the model's name. `generate_kwargs` go into each request. `base_http_api_url` is another address, ending in
    `/api/v1`. For the other arguments see `SdkChatModel`. DashScope knows no `tool_choice="required"`: with one tool it
    is that tool, else "auto". Structured output is asked for by a tool.

    Raises UsageError for a missing key or package.
    """

    family = FAMILIES["dashscope"]

    @checked()
    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        stream: bool = True,
        enable_thinking: bool | None = None,
        multimodality: bool | None = None,
        generate_kwargs: Json | None = None,
        base_http_api_url: str | None = None,
        **settings: Any,
    ) -> None:
        if enable_thinking and not stream:
            logger.info("DashScope streams thoughts only: `enable_thinking` sets `stream`")
            stream = True
        super().__init__(model_name, stream, **settings)
        check_no_query(base_http_api_url, "`base_http_api_url`")
        dashscope = sdk("dashscope", "dashscope", "dashscope")
        self.api_key, key_from = key_of(type(self).__name__, api_key, self.family.key_variables)
        self.enable_thinking = enable_thinking
        self.multimodality = multimodality
        self.generate_kwargs = {**(generate_kwargs or {})}
        self._base_url = base_http_api_url
        self.endpoint = Endpoint(
            self.family.title
            if base_http_api_url is None
            else f"the language model at {shown_address(base_http_api_url)}",
            shown_address(base_http_api_url or str(dashscope.base_http_api_url)),
            model_name,
            self.api_key,
            key_from=key_from,
            address_from="`base_http_api_url`",
        )

    def _request(self, messages: list[Json], tools: list[Json], choice: str | None, options: Json) -> Json:
        request = {
            "model": self.model_name,
            "messages": messages,
            "stream": self.stream,
            "result_format": "message",
            "incremental_output": self.stream,
        }
        request |= {**self.generate_kwargs, **options}
        if self.enable_thinking is not None:
            request.setdefault("enable_thinking", self.enable_thinking)
        if tools:
            request["tools"] = tools
        if choice is not None:
            request["tool_choice"] = _written_choice(choice, tools)
        return request

    async def _ask_structured(self, messages: list[Json], model: StructuredModel, options: Json) -> ChatResponse:
        tool = structured_tool(model)
        request = self._request(messages, [tool], None, options)
        # Models that think take no tool by name; with one tool, "auto" mostly does the same.
        request["tool_choice"] = "auto" if request.get("enable_thinking") else _written_choice("required", [tool])
        return await self._whole(request, model)

    @asynccontextmanager
    async def _open(self, request: Json) -> AsyncGenerator[AsyncIterator[object], None]:
        import dashscope

        service: Any = dashscope.AioMultiModalConversation if self._is_multimodal else dashscope.AioGeneration
        places = {} if self._base_url is None else {"base_address": self._base_url}
        answer = await service.call(
            api_key=self.api_key,
            request_timeout=math.ceil(self.timeout_s) + 1,  # behind our own
            **places,
            **request,
        )
        if self.stream:
            async with closing_stream(answer) as pieces:
                yield await from_first(_accepted(pieces))
        else:
            yield _accepted(only(answer))

    @property
    def _is_multimodal(self) -> bool:
        if self.multimodality is not None:
            return self.multimodality
        return self.model_name.startswith("qvq") or "-vl" in self.model_name

    def _read(self, piece: object, answer: Answer) -> None:
        answer.named(getattr(piece, "request_id", None))
        _read_usage(getattr(piece, "usage", None), answer)
        choices = getattr(getattr(piece, "output", None), "choices", None)
        if not isinstance(choices, list) or not choices:
            return
        message = getattr(choices[0], "message", None)
        if isinstance(message, dict):
            thoughts = message.get("reasoning_content")
            answer.think(thoughts if isinstance(thoughts, str) else "")
            answer.say(_words(message.get("content")))
            calls = message.get("tool_calls")
            for place, call in enumerate(calls if isinstance(calls, list) else []):
                if isinstance(call, dict):
                    _read_call(call, call.get("index") if self.stream else place, answer)
        if not self.stream or getattr(choices[0], "finish_reason", None) not in (None, "", "null"):
            answer.end()

    def _refusal(self, error: Exception) -> Refusal | None:
        if isinstance(error, _RefusedError):
            return error.refusal
        return None


class _RefusedError(Exception):
    """DashScope's error, which its SDK returns as a response."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


async def _accepted(pieces: AsyncIterator[Any]) -> AsyncGenerator[object, None]:
    """Yield the pieces. Raises _RefusedError for an error among them."""
    async for piece in pieces:
        if piece.status_code != HTTPStatus.OK:
            raise _RefusedError(_refusal_of(piece))
        yield piece


def _refusal_of(piece: object) -> Refusal:
    status, code = getattr(piece, "status_code", None), getattr(piece, "code", None)
    named = code if isinstance(code, str) else ""
    meant = next((meaning for beginning, meaning in _STATUS.items() if named.startswith(beginning)), None)
    message = getattr(piece, "message", None)
    said = message if isinstance(message, str) and message else named
    is_http = isinstance(status, int) and meant in (None, status)
    return Refusal(meant or (int(status) if isinstance(status, int) else 500), said, is_http=is_http)


def _written_choice(choice: str, tools: list[Json]) -> str | Json:
    if choice == "required":
        choice = tools[0]["function"]["name"] if len(tools) == 1 else "auto"
    return choice if choice in ("auto", "none") else {"type": "function", "function": {"name": choice}}


def _words(content: object) -> str:
    """Return the text of a content: text, or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def _read_usage(usage: object, answer: Answer) -> None:
    given, made = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    if given or made:
        answer.use(
            given or 0,
            made or 0,
            cache_input_tokens=count_of(part_of(usage, "prompt_tokens_details"), "cached_tokens"),
            reasoning_tokens=count_of(part_of(usage, "output_tokens_details"), "reasoning_tokens"),
            metadata=plain(usage),
        )


def _read_call(call: Json, index: object, answer: Answer) -> None:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    call_id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    answer.call(
        index if isinstance(index, int) else None,
        call_id if isinstance(call_id, str) else "",
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, (str, dict)) else "",
    )
