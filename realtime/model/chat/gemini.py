"""Google's Gemini models."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pybase64

from realtime.certificates import trusted_certificates
from realtime.errors import UsageError
from realtime.model.chat.answer import Answer
from realtime.model.chat.arguments import Json, StructuredModel, function_of
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
)
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
from realtime.model.json_objects import merged
from realtime.options import checked
from realtime.tool.arguments import written_out

_BASE_URL = "GOOGLE_GEMINI_BASE_URL"
"""The variable by which the SDK asks another address."""
_FILTERS = {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}
_BROKEN_CALLS = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_OWN = {
    # Functions are not run by the SDK, and a request is sent again by `SdkChatModel` alone.
    "automatic_function_calling": {"disable": True},
    "http_options": {"retry_options": {"attempts": 1}},
}


class GeminiChatModel(SdkChatModel):
    """A model of Google's Gemini.

    `api_key` defaults to GEMINI_API_KEY or GOOGLE_API_KEY. `thinking_config` is Gemini's object, such as
    `{"include_thoughts": True, "thinking_budget": 1024}`. `client_kwargs` go to `google.genai.Client` (with
    `vertexai=True` there is no key), `generate_kwargs` into the config of each request. For the other arguments see
    `SdkChatModel`. Messages of the role `system` that come first become the system instruction. Structured output
    uses Gemini's response schema.

    Where Gemini signs a tool call, an empty ThinkingBlock before it has the `thought_signature` that must come back
    with the call, in base64, and the `tool_call_id` in its `extra`. One without an id is for the words that follow it,
    or comes after the last ones.

    Raises UsageError for a missing key or package.
    """

    family = FAMILIES["gemini"]

    @checked()
    def __init__(
        self,
        model_name: str,
        api_key: str | None = None,
        stream: bool = True,
        thinking_config: Json | None = None,
        client_kwargs: Json | None = None,
        generate_kwargs: Json | None = None,
        **settings: Any,
    ) -> None:
        for_client = {**(client_kwargs or {})}
        if not for_client.get("vertexai"):
            check_client_kwargs(for_client, "api_key")
        super().__init__(model_name, stream, **settings)
        genai = sdk("google.genai", "google-genai", "gemini")
        key, key_from = (
            ("", "`client_kwargs`")
            if for_client.get("vertexai")
            else key_of(type(self).__name__, api_key, self.family.key_variables)
        )
        named = part_of(for_client.get("http_options"), "base_url") or os.environ.get(_BASE_URL)
        address_from = f"{_BASE_URL} or `http_options`"
        check_no_query(named, address_from)
        self.client: Any = client_of(
            genai.Client,
            {"api_key": key} if key else {},
            for_client,
            lambda given: _with_certificates(given, genai.types.HttpOptions),
        )
        self.endpoint = Endpoint(
            f"the language model at {shown_address(str(named))}" if named else self.family.title,
            shown_address(str(named or self.family.address)),
            model_name,
            key,
            key_from=key_from,
            address_from=address_from,
        )
        self.thinking_config = thinking_config
        self.generate_kwargs = {**(generate_kwargs or {})}

    def _request(self, messages: list[Json], tools: list[Json], choice: str | None, options: Json) -> Json:
        config = merged(_OWN, {**self.generate_kwargs, **options})
        if self.thinking_config is not None:
            config.setdefault("thinking_config", self.thinking_config)
        if tools:
            config["tools"] = self._format_tools_json_schemas(tools)
        if choice is not None:
            config["tool_config"] = {"function_calling_config": _written_choice(choice)}
        first = next((at for at, message in enumerate(messages) if message.get("role") != "system"), len(messages))
        if parts := [part for message in messages[:first] for part in message.get("parts", ())]:
            config["system_instruction"] = {"parts": parts}
        _check(config)
        return {"model": self.model_name, "contents": messages[first:], "config": config}

    async def _ask_structured(self, messages: list[Json], model: StructuredModel, options: Json) -> ChatResponse:
        request = self._request(messages, [], None, options)
        request["config"] |= {"response_mime_type": "application/json", "response_schema": model}
        return await self._whole(request, model)

    def _format_tools_json_schemas(self, schemas: list[Json]) -> list[Json]:
        """Write the tools as Gemini declares functions: its own schemas know no references."""
        return [{"function_declarations": [_written_tool(schema) for schema in schemas]}]

    @asynccontextmanager
    async def _open(self, request: Json) -> AsyncGenerator[AsyncIterator[object], None]:
        models = self.client.aio.models
        if self.stream:
            async with closing_stream(await models.generate_content_stream(**request)) as pieces:
                yield await from_first(pieces)
        else:
            yield only(await models.generate_content(**request))

    def _read(self, piece: object, answer: Answer) -> None:
        answer.named(getattr(piece, "response_id", None))
        _read_usage(getattr(piece, "usage_metadata", None), answer)
        if _name(getattr(getattr(piece, "prompt_feedback", None), "block_reason", None)):
            answer.end(held_back=True)
        candidates = getattr(piece, "candidates", None)
        if not isinstance(candidates, list) or not candidates:
            return
        parts = getattr(getattr(candidates[0], "content", None), "parts", None)
        for part in parts if isinstance(parts, list) else []:
            _read_part(part, answer)
        reason = getattr(candidates[0], "finish_reason", None)
        if _name(reason) in _BROKEN_CALLS and answer.is_empty:
            raise self._broken_call()
        if reason is not None or not self.stream:
            answer.end(held_back=_name(reason) in _FILTERS)

    def _broken_call(self) -> ChatFailure:
        return ChatFailure(
            f"{self.endpoint.name} called a tool in a way that it could not read itself",
            code="malformed_answer",
            retryable=True,
        )

    def _refusal(self, error: Exception) -> Refusal | None:
        from google.genai import errors

        if not isinstance(error, errors.APIError):
            return None
        status = error.code
        # Gemini refuses a wrong key with 400.
        wrong_key = status == 400 and "API key not valid" in str(error.message)
        headers = getattr(error.response, "headers", None)
        return Refusal(401 if wrong_key else status, error.message, not wrong_key, retry_after_s(headers))


def _check(config: Json) -> None:
    """Raise ValueError for a setting that Gemini does not have."""
    from google.genai import types
    from pydantic import ValidationError

    try:
        types.GenerateContentConfig.model_validate(config)
    except ValidationError as error:
        wrong = sorted({f"{one['loc'][0]}: {one['type']}" for one in error.errors() if one["loc"]})
        raise ValueError(f"Gemini takes no such setting: {', '.join(wrong)}") from None


def _written_tool(tool: Json) -> Json:
    from google.genai import types

    name, description, parameters = function_of(tool)
    declaration = {"name": name, "description": description}
    try:
        written = written_out(parameters, name)
        types.Schema.model_validate(written)
    except (AttributeError, ValueError, KeyError, UsageError):
        return {**declaration, "parameters_json_schema": parameters}  # what Gemini's own schemas have no word for
    return {**declaration, "parameters": written}


def _written_choice(choice: str) -> Json:
    return {"mode": _MODES[choice]} if choice in _MODES else {"mode": "ANY", "allowed_function_names": [choice]}


def _read_part(part: object, answer: Answer) -> None:
    text, call, blob = (getattr(part, name, None) for name in ("text", "function_call", "inline_data"))
    signature = getattr(part, "thought_signature", None)
    signed = {"thought_signature": pybase64.b64encode_as_string(signature)} if isinstance(signature, bytes) else {}
    if call is not None and isinstance(name := getattr(call, "name", None), str):
        call_id, arguments = getattr(call, "id", None), getattr(call, "args", None)
        answer.call_whole(
            call_id if isinstance(call_id, str) else "",
            name,
            arguments if isinstance(arguments, dict) else {},
            **signed,
        )
    elif signed:
        answer.think("", key=object(), **signed)
    if isinstance(text, str):
        if getattr(part, "thought", None) is True:
            answer.think(text)
        else:
            answer.say(text)
    data, media_type = getattr(blob, "data", None), getattr(blob, "mime_type", None)
    if isinstance(data, bytes) and isinstance(media_type, str):
        answer.show(object(), data, media_type)


def _read_usage(usage: object, answer: Answer) -> None:
    given, total = count_of(usage, "prompt_token_count"), count_of(usage, "total_token_count")
    if given is None or total is None:
        return
    given += count_of(usage, "tool_use_prompt_token_count") or 0
    answer.use(
        given,
        max(0, total - given),
        cache_input_tokens=count_of(usage, "cached_content_token_count"),
        reasoning_tokens=count_of(usage, "thoughts_token_count"),
        metadata=plain(usage),
    )


def _name(reason: object) -> str:
    """Return the name of an enumeration's value, "" for anything else."""
    name = getattr(reason, "value", reason)
    return name if isinstance(name, str) else ""


def _with_certificates(given: Json, kind: type[Any]) -> Json:
    """Return a client's arguments with the certificates of this process."""
    if given.get("vertexai"):
        return given  # the SDK looks for a certificate of the client's own
    options, trusted = kind.model_validate(given.get("http_options") or {}), trusted_certificates()
    update = {
        "client_args": {"verify": trusted, **(options.client_args or {})},
        "async_client_args": {"verify": trusted, "ssl": trusted, **(options.async_client_args or {})},
    }
    return {**given, "http_options": options.model_copy(update=update)}
