"""OpenAI's chat completions, and every server that offers them."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from realtime.model.chat.answer import Answer
from realtime.model.chat.arguments import Json, StructuredModel, structured_tool
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.failures import (
    ChatFailure,
    Endpoint,
    Refusal,
    check_client_kwargs,
    client_of,
    retry_after_s,
    sdk,
    shown_address,
    with_http_client,
)
from realtime.model.chat.families import FAMILIES
from realtime.model.chat.sdk_model import (
    SdkChatModel,
    base_url_in,
    closing_stream,
    count_of,
    key_of,
    only,
    part_of,
    plain,
    sendable,
    text_of,
)
from realtime.options import checked

logger = logging.getLogger(__name__)

NO_KEY = "no-key"
"""Stands for a key where the endpoint needs none: the SDK requires one."""
_WITHOUT_SCHEMA = ("invalid_request", "invalid_structured_output")
"""How servers fail that know no `response_format`: they refuse it, or ignore it."""


class OpenAIChatModel(SdkChatModel):
    """A model of OpenAI, or of any server with its chat completions.

    Another server is `client_kwargs={"base_url": ...}`. `api_key` defaults to OPENAI_API_KEY; another server may need
    none. `reasoning_effort` is for models that reason. `client_kwargs` go to `openai.AsyncClient` (`max_retries`
    replaces `retries`), `generate_kwargs` into each request. For the other arguments see `SdkChatModel`. Structured
    output uses `response_format`, and a tool where the server does not know that.

    Raises UsageError for a missing key or package.
    """

    family = FAMILIES["openai"]

    @checked()
    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        stream: bool = True,
        reasoning_effort: str | None = None,
        organization: str | None = None,
        client_kwargs: Json | None = None,
        generate_kwargs: Json | None = None,
        **settings: Any,
    ) -> None:
        for_client = {**(client_kwargs or {})}
        check_client_kwargs(for_client, "api_key", "organization")
        is_needed, address_from = "base_url" not in for_client, base_url_in(for_client, "OPENAI_BASE_URL")
        if "max_retries" in for_client:
            settings["retries"] = for_client.pop("max_retries")
        super().__init__(model_name, stream, **settings)
        openai = sdk("openai", "openai", "openai")
        key, key_from = key_of(type(self).__name__, api_key, self.family.key_variables, is_needed=is_needed)
        self.client: Any = client_of(
            openai.AsyncClient,
            {"api_key": key or NO_KEY, "organization": organization},
            for_client,
            with_http_client(openai.DefaultAsyncHttpxClient),
        )
        self.client.max_retries = 0
        address = shown_address(str(self.client.base_url))
        self.endpoint = Endpoint(
            self.family.title if address == self.family.address else f"the language model at {address}",
            address,
            model_name,
            key,
            key_from=key_from,
            address_from=address_from,
            address_ends_in="" if address == self.family.address else "/v1",
        )
        self.reasoning_effort = reasoning_effort
        self.generate_kwargs = {**(generate_kwargs or {})}
        self._structured_output_fallback = False
        """Whether this server was seen to know no `response_format`."""

    def _request(self, messages: list[Json], tools: list[Json], choice: str | None, options: Json) -> Json:
        request = {"model": self.model_name, "messages": messages, "stream": self.stream}
        request |= {**self.generate_kwargs, **options}
        if self.reasoning_effort:
            request.setdefault("reasoning_effort", self.reasoning_effort)
        if tools:
            request["tools"] = tools
        if choice is not None:
            request["tool_choice"] = _written_choice(choice)
        if self.stream:
            request.setdefault("stream_options", {"include_usage": True})
        return request

    async def _ask_structured(self, messages: list[Json], model: StructuredModel, options: Json) -> ChatResponse:
        request = self._request(messages, [], None, options)
        if self._structured_output_fallback:
            return await self._ask_by_tool(request, model)
        try:
            return await self._whole({**request, "response_format": model}, model)
        except ChatFailure as failure:
            if failure.code not in _WITHOUT_SCHEMA:
                raise
            logger.info("structured output is asked for by a tool: model=%s code=%s", self.model_name, failure.code)
        response = await self._ask_by_tool(request, model)
        self._structured_output_fallback = True
        return response

    async def _ask_by_tool(self, request: Json, model: StructuredModel) -> ChatResponse:
        """Ask for the object as the arguments of a tool."""
        tool = structured_tool(model)
        request = {**request, "tools": [tool], "tool_choice": _written_choice(tool["function"]["name"])}
        try:
            return await self._whole(request, model)
        except ChatFailure as failure:
            # Some models that think take no tool by name; with one tool, "auto" mostly does the same.
            if failure.code != "invalid_request" or "tool_choice" not in failure.message:
                raise
        return await self._whole({**request, "tool_choice": "auto"}, model)

    @asynccontextmanager
    async def _open(self, request: Json) -> AsyncGenerator[AsyncIterator[object], None]:
        completions = self.client.chat.completions
        parses = isinstance(request.get("response_format"), type)
        if parses:
            request = {name: value for name, value in request.items() if name != "stream"}
        ask = completions.create if not parses else completions.stream if self.stream else completions.parse
        request = sendable(ask, request)
        if parses and self.stream:
            async with closing_stream(ask(**request)) as events:
                yield (event.chunk async for event in events if event.type == "chunk")
        elif self.stream:
            async with closing_stream(await ask(**request)) as chunks:
                yield chunks
        else:
            yield only(await ask(**request))

    def _read(self, piece: object, answer: Answer) -> None:
        answer.named(getattr(piece, "id", None))
        _read_usage(getattr(piece, "usage", None), answer)
        choices = getattr(piece, "choices", None)
        if not isinstance(choices, list) or not choices:
            return  # usage comes in its own chunk
        part = getattr(choices[0], "delta" if self.stream else "message", None)
        # Servers that separate thoughts from words use either name; others leave the tags in the words.
        answer.think(text_of(part, "reasoning_content") or text_of(part, "reasoning"))
        answer.say(text_of(part, "content") or text_of(part, "refusal"))
        self._read_audio(getattr(part, "audio", None), answer)
        calls = getattr(part, "tool_calls", None)
        for place, call in enumerate(calls if isinstance(calls, list) else []):
            _read_call(call, getattr(call, "index", None) if self.stream else place, answer)
        answer.parsed = getattr(part, "parsed", None)
        reason = getattr(choices[0], "finish_reason", None)
        if reason or not self.stream:
            answer.end(held_back=reason == "content_filter")

    def _read_audio(self, audio: object, answer: Answer) -> None:
        data, transcript = part_of(audio, "data"), part_of(audio, "transcript")
        if isinstance(data, str):
            wanted = self.generate_kwargs.get("audio")
            kind = wanted.get("format", "wav") if isinstance(wanted, dict) else "wav"
            answer.show_encoded("audio", data, f"audio/{kind}")
        if isinstance(transcript, str):
            answer.say(transcript)

    def _explain(self, error: Exception, *, begun: bool) -> ChatFailure:
        import openai
        from pydantic import ValidationError

        match error:
            case openai.ContentFilterFinishReasonError():
                return self.endpoint.held_back()
            case openai.LengthFinishReasonError():
                return self.endpoint.not_structured("it was cut by its length")
            case ValidationError():
                return self.endpoint.not_structured("it does not match")
            case _:
                return super()._explain(error, begun=begun)

    def _refusal(self, error: Exception) -> Refusal | None:
        import openai

        match error:
            case openai.APIStatusError():
                return Refusal(error.status_code, error.message, retry_after_s=retry_after_s(error.response.headers))
            case openai.APIError():
                # Servers send the refusal of a request inside the stream, too.
                refuses = "invalid" in f"{error.type} {error.code}" or "tool_choice" in error.message
                return Refusal(400 if refuses else 500, error.message, is_http=False)
            case _:
                return None


def _written_choice(choice: str) -> str | Json:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "function": {"name": choice}}


def _read_usage(usage: object, answer: Answer) -> None:
    given, made = count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens")
    if given is not None or made is not None:
        answer.use(
            given or 0,
            made or 0,
            cache_input_tokens=count_of(part_of(usage, "prompt_tokens_details"), "cached_tokens"),
            reasoning_tokens=count_of(part_of(usage, "completion_tokens_details"), "reasoning_tokens"),
            metadata=plain(usage),
        )


def _read_call(piece: object, index: object, answer: Answer) -> None:
    function = getattr(piece, "function", None)
    arguments = getattr(function, "arguments", None)
    answer.call(
        index if isinstance(index, int) else None,
        text_of(piece, "id"),
        text_of(function, "name"),
        arguments if isinstance(arguments, (str, dict)) else "",
    )
