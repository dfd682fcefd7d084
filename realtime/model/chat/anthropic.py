"""Anthropic's messages, and every server that offers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from realtime.model.chat.answer import Answer
from realtime.model.chat.arguments import Json, StructuredModel, function_of, structured_tool
from realtime.model.chat.base import ChatResponse, ChatUsage
from realtime.model.chat.failures import (
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
from realtime.options import PositiveInt, checked

_STATUS = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "api_error": 500,
    "overloaded_error": 529,
}
"""What the types of errors mean: inside a stream they have the status 200."""
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


class AnthropicChatModel(SdkChatModel):
    """A model of Anthropic.

    `api_key` defaults to ANTHROPIC_API_KEY. `max_tokens` limits the response, thoughts included. `thinking` is
    Anthropic's object, such as `{"type": "enabled", "budget_tokens": 1024}`. `client_kwargs` go to
    `anthropic.AsyncAnthropic` (`max_retries` replaces `retries`), `generate_kwargs` into each request. For the other
    arguments see `SdkChatModel`. Structured output is asked for by a tool.

    The `extra` of a ThinkingBlock has the `signature` that must come back with it, or `redacted_thinking`.

    Raises UsageError for a missing key or package.
    """

    family = FAMILIES["anthropic"]

    @checked()
    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        max_tokens: PositiveInt = 2048,
        stream: bool = True,
        thinking: Json | None = None,
        client_kwargs: Json | None = None,
        generate_kwargs: Json | None = None,
        **settings: Any,
    ) -> None:
        for_client = {**(client_kwargs or {})}
        check_client_kwargs(for_client, "api_key")
        address_from = base_url_in(for_client, "ANTHROPIC_BASE_URL")
        if "max_retries" in for_client:
            settings["retries"] = for_client.pop("max_retries")
        super().__init__(model_name, stream, **settings)
        anthropic = sdk("anthropic", "anthropic", "anthropic")
        key, key_from = key_of(type(self).__name__, api_key, self.family.key_variables)
        self.client: Any = client_of(
            anthropic.AsyncAnthropic, {"api_key": key}, for_client, with_http_client(anthropic.DefaultAsyncHttpxClient)
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
        )
        # Without a limit in the request the SDK refuses to wait for long answers.
        self._limits = {} if "timeout" in for_client else {"timeout": self.timeout_s}
        self.max_tokens = max_tokens
        self.thinking = thinking
        self.generate_kwargs = {**(generate_kwargs or {})}

    def _request(self, messages: list[Json], tools: list[Json], choice: str | None, options: Json) -> Json:
        request = {"model": self.model_name, "max_tokens": self.max_tokens, "stream": self.stream}
        request |= {**self._limits, **self.generate_kwargs, **options}
        if self.thinking:
            request.setdefault("thinking", self.thinking)
        if tools:
            request["tools"] = [_written_tool(tool) for tool in tools]
        if choice is not None:
            request["tool_choice"] = _written_choice(choice)
        first = next((at for at, message in enumerate(messages) if message.get("role") != "system"), len(messages))
        if first:
            request["system"] = _system([message.get("content") for message in messages[:first]])
        return {**request, "messages": messages[first:]}

    async def _ask_structured(self, messages: list[Json], model: StructuredModel, options: Json) -> ChatResponse:
        tool = structured_tool(model)
        request = self._request(messages, [tool], tool["function"]["name"], options)
        thinking = request.get("thinking")
        if isinstance(thinking, dict) and thinking.get("type") != "disabled":
            # Models that think take no tool by name; with one tool, "auto" mostly does the same.
            request["tool_choice"] = _written_choice("auto")
        return await self._whole(request, model)

    @asynccontextmanager
    async def _open(self, request: Json) -> AsyncGenerator[AsyncIterator[object], None]:
        create = self.client.messages.create
        answer = await create(**sendable(create, request))
        if self.stream:
            async with closing_stream(answer) as events:
                yield events
        else:
            yield only(answer)

    def _read(self, piece: object, answer: Answer) -> None:
        if not self.stream:
            self._read_message(piece, answer)
            return
        index = getattr(piece, "index", None)
        match getattr(piece, "type", None):
            case "message_start":
                self._read_message(getattr(piece, "message", None), answer)
            case "content_block_start":
                _read_block(getattr(piece, "content_block", None), index, answer)
            case "content_block_delta":
                _read_delta(getattr(piece, "delta", None), index, answer)
            case "message_delta":
                _read_usage(getattr(piece, "usage", None), answer)
                answer.end(held_back=text_of(getattr(piece, "delta", None), "stop_reason") == "refusal")
            case "message_stop":
                answer.end()

    def _read_message(self, message: object, answer: Answer) -> None:
        answer.named(getattr(message, "id", None))
        _read_usage(getattr(message, "usage", None), answer)
        if not self.stream:
            blocks = getattr(message, "content", None)
            if not isinstance(blocks, list):
                return
            for index, block in enumerate(blocks):
                _read_block(block, index, answer)
            answer.end(held_back=text_of(message, "stop_reason") == "refusal")

    def _refusal(self, error: Exception) -> Refusal | None:
        import anthropic

        match error:
            case anthropic.APIStatusError():
                told = part_of(error.body, "error")
                kind, message = part_of(told, "type"), part_of(told, "message")
                meant = _STATUS.get(kind) if isinstance(kind, str) else None
                in_stream = error.status_code < 400
                return Refusal(
                    (meant or 400) if in_stream else error.status_code,
                    message if isinstance(message, str) else error.message,
                    is_http=not in_stream,
                    retry_after_s=retry_after_s(error.response.headers),
                )
            case anthropic.APIError():
                return Refusal(500, error.message, is_http=False)
            case _:
                return None


def _written_tool(tool: Json) -> Json:
    name, description, parameters = function_of(tool)
    return {"name": name, "description": description, "input_schema": parameters}


def _written_choice(choice: str) -> Json:
    return {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}


def _system(contents: list[object]) -> object:
    """Return the system prompt: that of one message as it is, those of several as parts."""
    if len(contents) == 1:
        return contents[0]
    parts: list[object] = []
    for content in contents:
        parts += content if isinstance(content, list) else [{"type": "text", "text": content}]
    return parts


def _read_block(block: object, index: object, answer: Answer) -> None:
    """Read a block: the beginning of one where the response is streamed."""
    kind = getattr(block, "type", None)
    match kind:
        case "text":
            answer.say(text_of(block, "text"), key=(kind, index))
        case "thinking":
            _think(text_of(block, "thinking"), text_of(block, "signature"), index, answer)
        case "redacted_thinking":
            answer.think("", key=("thinking", index), redacted_thinking=text_of(block, "data"))
        case "tool_use":
            arguments = getattr(block, "input", None)
            answer.call(
                index if isinstance(index, int) else None,
                text_of(block, "id"),
                text_of(block, "name"),
                arguments if isinstance(arguments, dict) and arguments else "",
            )


def _read_delta(delta: object, index: object, answer: Answer) -> None:
    match getattr(delta, "type", None):
        case "text_delta":
            answer.say(text_of(delta, "text"), key=("text", index))
        case "thinking_delta":
            _think(text_of(delta, "thinking"), "", index, answer)
        case "signature_delta":
            _think("", text_of(delta, "signature"), index, answer)
        case "input_json_delta":
            answer.call(index if isinstance(index, int) else None, "", "", text_of(delta, "partial_json"))


def _think(text: str, signature: str, index: object, answer: Answer) -> None:
    extra = {"signature": signature} if signature else {}
    answer.think(text, key=("thinking", index), **extra)


def _read_usage(usage: object, answer: Answer) -> None:
    """Read the counts so far; those that a later event leaves out stay.

    What was read from the cache and written to it is counted apart from the rest of the input.
    """
    given, made = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    if given is None and made is None:
        return
    cached, created = count_of(usage, "cache_read_input_tokens"), count_of(usage, "cache_creation_input_tokens")
    thought = count_of(part_of(usage, "output_tokens_details"), "thinking_tokens")
    total = (given or 0) + (cached or 0) + (created or 0)
    before = answer.usage or ChatUsage(0, 0, 0.0)
    answer.use(
        max(total, before.input_tokens),
        before.output_tokens if made is None else made,
        cache_input_tokens=before.cache_input_tokens if cached is None else cached,
        cache_creation_input_tokens=before.cache_creation_input_tokens if created is None else created,
        reasoning_tokens=before.reasoning_tokens if thought is None else thought,
        metadata={**(before.metadata or {}), **(plain(usage) or {})} or None,
    )
