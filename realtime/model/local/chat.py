"""A language model behind any endpoint with OpenAI's chat completions.

Ollama, vLLM, llama.cpp's server and OpenAI itself offer it. It gets words only, never sound. The shapes are in
`chat_messages` (requests) and `chat_pieces` (streamed tool calls); this module sends, receives and explains errors.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from realtime.errors import INSTALL_LOCAL, ProviderError, UsageError
from realtime.event.base import UsageDetail
from realtime.message.think import Piece, ThinkParser
from realtime.model.local.chat_messages import HistoryLimits, Json, write_messages, write_tool, write_tool_choice
from realtime.model.local.chat_pieces import CallPieces
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyThought, ReplyUsage
from realtime.model.openai_family.shared import without_keys

if TYPE_CHECKING:
    from openai import APIStatusError

logger = logging.getLogger(__name__)

BASE_URL = "REALTIME_LLM_BASE_URL"
MODEL = "REALTIME_LLM_MODEL"
API_KEY = "REALTIME_LLM_API_KEY"
IMAGES = "REALTIME_LLM_IMAGES"

# The SDK requires a key even if the endpoint needs none, and would else send OPENAI_API_KEY to another host.
_NO_KEY = "no-key"
_CONNECT_TIMEOUT_S = 5.0
_MAX_RESPONSE_CHARS = 200_000
_MAX_QUOTED_CHARS = 300


def language_model_from_environment(environment: Mapping[str, str] = os.environ) -> ChatLanguageModel | None:
    """Return the chat endpoint that the environment names; None if it names none.

    REALTIME_LLM_BASE_URL, REALTIME_LLM_MODEL and REALTIME_LLM_API_KEY name it; REALTIME_LLM_IMAGES=1 declares that the
    model understands images. Raises UsageError for an address or a model alone.
    """
    base_url, model = environment.get(BASE_URL, "").strip(), environment.get(MODEL, "").strip()
    if not base_url and not model:
        return None
    if not base_url:
        raise UsageError(f"{MODEL} is set but {BASE_URL} is not: set both or neither", code="llm_address")
    return ChatLanguageModel(
        base_url,
        model,
        environment.get(API_KEY, "").strip() or None,
        takes_images=environment.get(IMAGES, "").strip().lower() in ("1", "true", "yes"),
    )


class ChatLanguageModel:
    """Asks a chat endpoint. One object serves every call and holds no connection between responses.

    `base_url` is the endpoint's address for OpenAI's SDK, mostly ending in `/v1`; `model` is one of its models;
    `api_key` may be None. `takes_images`: the model understands them. `timeout_s` limits its silence, also before the
    first word, when a local server loads the model. `limits` bounds the history in a request. `extra_body` is added to
    each request, for options of one server (`{"reasoning_effort": "none"}`). There are no retries: a caller on the line
    needs to hear of a failure soon.

    Loads the `openai` package (1 s). Raises UsageError if it is missing, or for an invalid address or model.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        takes_images: bool = False,
        timeout_s: float = 60.0,
        limits: HistoryLimits | None = None,
        extra_body: Json | None = None,
    ) -> None:
        self.takes_images = takes_images
        self._address, self._host = _checked(base_url)
        if not model:
            raise UsageError(f"name the model that {self._address} is to answer with in {MODEL}", code="llm_model")
        try:
            import openai
        except ImportError as error:
            logger.warning("the package openai cannot be imported: %s", error)  # the text may name files
            raise UsageError(
                f"a chat endpoint needs the package openai: {INSTALL_LOCAL}, or pip install 'openai>=2'",
                code="missing_package",
            ) from None
        self._model = model
        self._timeout_s = timeout_s
        self._limits = limits or HistoryLimits()
        self._extra_body = extra_body
        self._has_key = api_key is not None
        self._api_key = api_key or _NO_KEY
        # Version 2 of the SDK does not wrap what its transport raises in the middle of a stream. That is httpx, and
        # httpx2 from version 3 on; the one in use is loaded.
        transports = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
        self._timeouts = (openai.APITimeoutError, *(transport.TimeoutException for transport in transports))
        self._lost = (openai.APIConnectionError, *(transport.HTTPError for transport in transports))
        self._client = openai.AsyncOpenAI(
            base_url=self._address,
            api_key=self._api_key,
            timeout=openai.Timeout(timeout_s, connect=min(_CONNECT_TIMEOUT_S, timeout_s)),
            max_retries=0,
            # Between two turns the other side mostly closes a kept connection. Without one there is nothing to close
            # when the server ends, and one object serves any event loop.
            default_headers={"Connection": "close"},
        )
        # The SDK reads these from variables that are meant for OpenAI alone.
        self._client.organization = self._client.project = None

    def __repr__(self) -> str:
        return f"ChatLanguageModel({self._address!r}, {self._model!r})"

    @property
    def name(self) -> str:
        """See `LanguageModel.name`: the model and its host, which gets to read the call."""
        return f"{self._model} at {self._host}"

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel.respond`. Closing it closes the HTTP request, so that the server stops generating."""
        import openai

        completion = _Completion(self._address)
        try:
            stream = await self._client.chat.completions.create(**self._request(prompt))
            completion.begun = True
            async with stream:
                async for chunk in stream:
                    for reply in completion.read(chunk):
                        yield reply
        except (openai.OpenAIError, *self._lost, ValueError, RecursionError) as error:
            # A failure behind the end of the response (a server that does not hang up) does not matter.
            if not completion.complete:
                raise self._explain(error, begun=completion.begun) from None
        for reply in completion.finish():
            yield reply

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": write_messages(prompt, self._limits, takes_images=self.takes_images),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if prompt.tools:
            request["tools"] = [write_tool(tool) for tool in prompt.tools]
            if (choice := write_tool_choice(prompt.tool_choice)) is not None:
                request["tool_choice"] = choice
        if prompt.temperature is not None:
            request["temperature"] = prompt.temperature
        if prompt.max_output_tokens is not None:
            # OpenAI's newer models refuse the old name; Ollama knows no other.
            new = self._host == "api.openai.com"
            request["max_completion_tokens" if new else "max_tokens"] = prompt.max_output_tokens
        if self._extra_body is not None:
            request["extra_body"] = self._extra_body
        return request

    def _explain(self, error: Exception, *, begun: bool) -> ProviderError:
        import openai

        at = f"the language model at {self._address}"
        if isinstance(error, self._timeouts):
            return ProviderError(
                f"{at} was silent for more than {self._timeout_s:g} s", code="provider_timeout", retryable=True
            )
        if isinstance(error, self._lost) and begun:
            return ProviderError(f"{at} broke off in the middle of its answer", code="link_lost", retryable=True)
        if isinstance(error, self._lost):
            return ProviderError(
                f"no language model answers at {self._address}: is it running, and is {BASE_URL} right?",
                code="provider_unavailable",
                retryable=True,
            )
        match error:
            case openai.APIStatusError():
                return self._explain_status(error)
            case openai.APIError():
                return ProviderError(
                    f"{at} failed: {self._quoted(error.message)}", code="provider_failed", retryable=True
                )
            case _:
                return _malformed(self._address)

    def _explain_status(self, error: APIStatusError) -> ProviderError:
        at, status, said = self._address, error.status_code, self._quoted(error.message)
        if status in (401, 403):
            what = f"refused the key in {API_KEY}" if self._has_key else f"wants a key: set {API_KEY}"
            return ProviderError(f"{at} {what} (HTTP {status})", code="invalid_api_key")
        if status == 404:
            return ProviderError(
                f"{at} has no model {self._model!r} ({MODEL}), or the address lacks its end, mostly /v1 ({BASE_URL})",
                code="model_not_found",
            )
        if status == 429:
            return ProviderError(
                f"{at} takes no more requests now (HTTP 429): {said}", code="rate_limit_exceeded", retryable=True
            )
        if status in (408, 504):
            return ProviderError(f"{at} ran out of time (HTTP {status})", code="provider_timeout", retryable=True)
        if status >= 500:
            return ProviderError(f"{at} failed (HTTP {status}): {said}", code="provider_failed", retryable=True)
        return ProviderError(f"{at} refused the request (HTTP {status}): {said}", code="invalid_request")

    def _quoted(self, text: str) -> str:
        """The endpoint's own message, without keys and shortened."""
        return without_keys(text, self._api_key)[:_MAX_QUOTED_CHARS]


class _Completion:
    """One streamed completion; tolerates every field that a server may leave out."""

    def __init__(self, address: str) -> None:
        self.begun = False
        self.complete = False
        self._address = address
        self._parser = ThinkParser()
        self._calls = CallPieces()
        self._usage: ReplyUsage | None = None
        self._chars = 0
        self._refused = False
        self._spoke = False

    def read(self, chunk: object) -> list[Reply]:
        """Read the thoughts and words of a chunk. Raises ProviderError for an endless response."""
        self._usage = _usage_of(getattr(chunk, "usage", None)) or self._usage
        choices = getattr(chunk, "choices", None)
        if not isinstance(choices, list) or not choices:
            # Usage comes in its own chunk.
            return []
        delta = getattr(choices[0], "delta", None)
        for piece in _list(getattr(delta, "tool_calls", None)):
            self._read_call(piece)
        text = _text(getattr(delta, "content", None)) or _text(getattr(delta, "refusal", None))
        # Servers that separate thoughts from words use either name; others leave the tags in the words.
        thought = _text(getattr(delta, "reasoning_content", None)) or _text(getattr(delta, "reasoning", None))
        self._count(len(text) + len(thought))
        pieces = [Piece("thinking", thought), *self._parser.push(text)]
        if reason := getattr(choices[0], "finish_reason", None):
            self.complete = True
            self._refused = reason == "content_filter"
            pieces += self._parser.finish()
        return [reply for piece in pieces if (reply := self._reply(piece)) is not None]

    def _reply(self, piece: Piece) -> Reply | None:
        """Return the thought, or the words without leading blanks; None if empty."""
        if piece.kind == "thinking":
            return ReplyThought(piece.text) if piece.text else None
        words = piece.text if self._spoke else piece.text.lstrip()
        self._spoke = self._spoke or bool(words)
        return ReplyText(words) if words else None

    def finish(self) -> list[Reply]:
        """Return what follows the words. Raises ProviderError for a missing or partial response."""
        if not self.complete and not self._chars:
            raise _malformed(self._address)
        if not self.complete:
            raise ProviderError(
                f"the language model at {self._address} broke off in the middle of its answer",
                code="link_lost",
                retryable=True,
            )
        if self._refused and not self._spoke:
            raise ProviderError(
                f"{self._address} held the answer back: its content filter objects", code="content_refused"
            )
        return [*self._calls.finish(), *([self._usage] if self._usage is not None else [])]

    def _read_call(self, piece: object) -> None:
        function = getattr(piece, "function", None)
        arguments = getattr(function, "arguments", None)
        index = getattr(piece, "index", None)
        self._count(len(arguments) if isinstance(arguments, str) else 1)
        self._calls.add(
            index if isinstance(index, int) else None,
            _text(getattr(piece, "id", None)),
            _text(getattr(function, "name", None)),
            arguments if isinstance(arguments, (str, dict)) else "",
        )

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > _MAX_RESPONSE_CHARS:
            raise ProviderError(
                f"the language model at {self._address} found no end: its answer was cut at {_MAX_RESPONSE_CHARS} "
                "characters",
                code="answer_too_long",
            )


def _malformed(address: str) -> ProviderError:
    return ProviderError(f"what comes from {address} is no streamed chat completion", code="malformed_answer")


def _usage_of(usage: object) -> ReplyUsage | None:
    given, made = _count_of(usage, "prompt_tokens"), _count_of(usage, "completion_tokens")
    if given is None and made is None:
        return None
    prompt_details = getattr(usage, "prompt_tokens_details", None)
    completion_details = getattr(usage, "completion_tokens_details", None)
    return ReplyUsage(
        input_tokens=given or 0,
        output_tokens=made or 0,
        detail=UsageDetail(
            input_text_tokens=given,
            input_cached_tokens=_count_of(prompt_details, "cached_tokens"),
            output_text_tokens=made,
            output_reasoning_tokens=_count_of(completion_details, "reasoning_tokens"),
        ),
    )


def _count_of(counts: object, name: str) -> int | None:
    count = getattr(counts, name, None)
    return count if isinstance(count, int) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _checked(base_url: str) -> tuple[str, str]:
    """Validate the address; returns it with its host and port."""
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"{BASE_URL} is to be the address of a chat endpoint, such as http://localhost:11434/v1", code="llm_address"
        )
    if "@" in parts.netloc or parts.query:
        # The HTTP client logs the addresses that it asks.
        raise UsageError(f"{BASE_URL} is no place for secrets: a key goes into {API_KEY}", code="llm_address")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}", parts.netloc
