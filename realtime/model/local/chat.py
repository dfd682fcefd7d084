"""Chat models as the language model of the cascade. They get words only, never sound."""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from realtime.errors import INSTALL_LOCAL, UsageError
from realtime.event.base import ContentPart, Item, UsageDetail
from realtime.formatter import FormatterBase, OpenAIChatFormatter
from realtime.message import TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat.answer import has_words
from realtime.model.chat.base import ChatModelBase, ChatResponse, ChatUsage
from realtime.model.chat.failures import ASK_AGAIN, Endpoint, empty_answer, missing_key
from realtime.model.chat.families import FAMILIES, Family
from realtime.model.chat.openai import NO_KEY, OpenAIChatModel
from realtime.model.chat.responses import responses_of
from realtime.model.chat.sdk_model import SdkChatModel
from realtime.model.credentials import parts_of_address, pasted, set_in, usable_key
from realtime.model.local.chat_messages import HistoryLimits, Json, write_tool
from realtime.model.local.for_calls import OfAllCalls
from realtime.model.local.history import KEPT_ITEMS
from realtime.model.local.language_model import (
    CallLanguageModel,
    LanguageModel,
    Prompt,
    Reply,
    ReplyText,
    ReplyThought,
    ReplyToolCall,
    ReplyUsage,
)
from realtime.model.local.messages import messages_of, write_messages
from realtime.options import checked
from realtime.runtime import unique_id

if TYPE_CHECKING:
    from realtime.model.chat.compression import CompressionConfig

logger = logging.getLogger(__name__)

PROVIDER = "REALTIME_LLM_PROVIDER"
BASE_URL = "REALTIME_LLM_BASE_URL"
MODEL = "REALTIME_LLM_MODEL"
API_KEY = "REALTIME_LLM_API_KEY"
IMAGES = "REALTIME_LLM_IMAGES"

UNLIMITED = HistoryLimits(messages=sys.maxsize, chars=sys.maxsize)
"""A summary keeps the history short."""
OPENAI_URL = "OPENAI_BASE_URL"
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")
_TIMEOUT_S = 60.0
_CONNECT_TIMEOUT_S = 5.0
MAX_ASKS = 3
"""How often a chat model is asked for an answer with words."""
_MAX_RESPONSE_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class ChatChoice:
    """The chat model that an environment names, complete.

    `family` is None for a server with OpenAI's chat completions; `base_url` is "" for the family's own address. The key
    is None where the endpoint needs none; `key_from` names the variable that gives it, or could.
    """

    family: Family | None
    base_url: str
    model: str
    key: str | None = field(repr=False)
    key_from: str
    address_from: str
    takes_images: bool

    @property
    def address(self) -> str:
        """Where the words of calls go."""
        return self.base_url or (self.family.address if self.family is not None else "")

    @property
    def read_by(self) -> str:
        """Who reads them, for people."""
        if self.base_url or self.family is None:
            return f"the chat endpoint that {self.address_from} names"
        return self.family.company


def choice_in(environment: Mapping[str, str]) -> ChatChoice | None:
    """Return what `language_model_from_environment` makes a chat model of. Raises UsageError as it does."""
    values = {name: pasted(environment.get(name, "")) for name in (PROVIDER, BASE_URL, MODEL, API_KEY, IMAGES)}
    name, base_url, model, key = values[PROVIDER].lower(), values[BASE_URL], values[MODEL], values[API_KEY] or None
    key = usable_key(key, API_KEY) if key else None
    images = values[IMAGES].lower() in _YES
    if not images and values[IMAGES].lower() not in _NO:
        raise UsageError(f"{IMAGES} is 1 or 0, not {values[IMAGES][:20]!r}", code="llm_images")
    if name and name not in FAMILIES:
        raise UsageError(f"{PROVIDER} is one of {', '.join(FAMILIES)}, not {name!r}", code="llm_provider")
    if not name and not base_url and not model:
        return None
    if not name and not base_url:
        raise UsageError(
            f"{MODEL} is set but {BASE_URL} is not: set both or neither, or name a {PROVIDER}", code="llm_address"
        )
    family = FAMILIES.get(name)
    if family is None:
        return ChatChoice(None, base_url, model, key, API_KEY, BASE_URL, images)
    if not model:
        raise UsageError(f"{PROVIDER} is set but {MODEL} is not: name a model of {family.title}", code="llm_model")
    if family.name == "openai" and base_url:
        return ChatChoice(family, base_url, model, key, API_KEY, BASE_URL, images)  # no place for OpenAI's own key
    key_from = API_KEY
    if not key:
        key_from, key = set_in(environment, family.key_variables)
        if not key:
            raise missing_key(family.title, *family.key_variables)
        key = usable_key(key, key_from)
    own_url = pasted(environment.get(OPENAI_URL, "")) if family.name == "openai" else ""
    return ChatChoice(family, base_url or own_url, model, key, key_from, OPENAI_URL if own_url else BASE_URL, images)


def language_model_from_environment(environment: Mapping[str, str] = os.environ) -> LanguageModel | None:
    """Return the chat model that the environment names; None if it names none.

    REALTIME_LLM_PROVIDER names one of four families and REALTIME_LLM_MODEL one of its models; the key is
    REALTIME_LLM_API_KEY, or the family's own variable. Without a provider, REALTIME_LLM_BASE_URL is the address of any
    server with OpenAI's chat completions. REALTIME_LLM_IMAGES=1 declares that the model understands images. Raises
    UsageError for an address, a provider or a model alone, and for a missing key.
    """
    chosen = choice_in(environment)
    if chosen is None:
        return None
    family, key_from = chosen.family, chosen.key_from
    if family is None or family.name == "openai":
        return ChatLanguageModel(
            chosen.address,
            chosen.model,
            chosen.key,
            takes_images=chosen.takes_images,
            key_from=key_from,
            address_from=chosen.address_from,
        )
    base_url = _checked(chosen.base_url, chosen.address_from)[0] if chosen.base_url else ""
    chat_model = family.model()(
        chosen.model,
        chosen.key,
        timeout_s=_TIMEOUT_S,
        retries=0,
        max_answer_chars=_MAX_RESPONSE_CHARS,
        **family.at(base_url),
    )
    chat_model.endpoint = chat_model.endpoint.named(key_from=key_from, address_from=BASE_URL, model_from=MODEL)
    return FormattedLanguageModel(chat_model, family.formatter()(), takes_images=chosen.takes_images)


class _ByChatModel(ABC):
    """What each chat model does as a language model; subclasses write its messages."""

    def __init__(
        self,
        model: ChatModelBase,
        formatter: FormatterBase,
        *,
        takes_images: bool,
        limits: HistoryLimits | None,
        compression_config: CompressionConfig | None,
    ) -> None:
        self.takes_images = takes_images
        self._model = model
        self._formatter = formatter
        """Writes what is compressed, too."""
        self._limits = limits or (HistoryLimits() if compression_config is None else UNLIMITED)
        self._compression_config = compression_config

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r})"

    @property
    def name(self) -> str:
        """See `LanguageModel.name`: the model and its host, which gets to read the call."""
        endpoint = getattr(self._model, "endpoint", None)
        host = urlsplit(endpoint.address).netloc if isinstance(endpoint, Endpoint) else ""
        return f"{self._model.model_name} at {host}" if host else self._model.model_name

    @property
    def chat_model(self) -> ChatModelBase:
        """The model that it asks."""
        return self._model

    def for_call(self) -> CallLanguageModel:
        """Return the language model of one call: this one, or with a summary of that call."""
        in_call = self._in_call()
        if self._compression_config is None:
            return OfAllCalls(in_call)
        from realtime.model.local.compressed import CompressedChat

        return CompressedChat(in_call, self._compression_config, self._model, self._formatter)

    def _in_call(self) -> LanguageModel:
        """Return what responds in one call: by default this, which keeps nothing of it."""
        return self

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel.respond`. Closing it closes the HTTP request, so that the server stops generating."""
        for _ in range(MAX_ASKS):
            answer = await self._model(await self._payload(prompt), **self._options(prompt))
            has_answer = False
            async with aclosing(responses_of(answer)) as responses:
                async for reply in _replies(responses, self._keep_signature):
                    if isinstance(reply, ReplyText) and not (has_answer or has_words(reply.text)):
                        continue
                    has_answer = has_answer or isinstance(reply, ReplyText | ReplyToolCall)
                    yield reply
            if has_answer:
                return
            again = Item(id="ask_again", role="user", content=(ContentPart(type="text", text=ASK_AGAIN),))
            prompt = dataclasses.replace(prompt, history=[*prompt.history, again])
        raise empty_answer(f"the language model {self._model.model_name}")

    def _keep_signature(self, signature: Json) -> str:
        """Keep what the provider wants back with a tool call; return the id of the call, "" if any will do."""
        return ""

    @abstractmethod
    async def _payload(self, prompt: Prompt) -> list[Json]:
        """Return the messages of the request."""

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        """Return the rest of the request: what the client set."""
        options: dict[str, Any] = {}
        family = self._model.family if isinstance(self._model, SdkChatModel) else FAMILIES["openai"]
        if prompt.tools:
            options["tools"] = [write_tool(tool) for tool in prompt.tools]
            if (choice := _choice(prompt)) is not None:
                options["tool_choice"] = choice
        if prompt.temperature is not None and family.takes_temperature:
            options["temperature"] = prompt.temperature
        if prompt.max_output_tokens is not None:
            options[family.limit_name] = prompt.max_output_tokens
        return options


class FormattedLanguageModel(_ByChatModel):
    """Any chat model, with its formatter, as the cascade's language model.

    `takes_images`: the model understands them. `limits` bounds the history in a request; with a `compression_config`
    there is no bound by default. Then the older part of a long call becomes a summary, always in the background: no
    turn waits for it. A caller on the line needs to hear of a failure soon: give the chat model `retries=0`.

    Gemini signs tool calls and wants the signatures back with them: a call keeps its own, in this process.
    """

    _signatures: dict[str, Json] | None = None
    """Signatures by the ids of tool calls; None outside of calls."""

    @checked()
    def __init__(
        self,
        model: ChatModelBase,
        formatter: FormatterBase,
        *,
        takes_images: bool = False,
        limits: HistoryLimits | None = None,
        compression_config: CompressionConfig | None = None,
    ) -> None:
        super().__init__(
            model, formatter, takes_images=takes_images, limits=limits, compression_config=compression_config
        )

    async def _payload(self, prompt: Prompt) -> list[Json]:
        signatures = self._signatures or {}
        return await self._formatter.format(
            messages_of(prompt, self._limits, takes_images=self.takes_images, signatures=signatures)
        )

    def _in_call(self) -> LanguageModel:
        made = copy.copy(self)
        made._signatures = {}
        return made

    def _keep_signature(self, signature: Json) -> str:
        if self._signatures is None:
            return ""
        call_id = unique_id()
        self._signatures[call_id] = signature
        if len(self._signatures) > KEPT_ITEMS:
            del self._signatures[next(iter(self._signatures))]
        return call_id


class ChatLanguageModel(_ByChatModel):
    """Asks a chat endpoint with OpenAI's chat completions: Ollama, vLLM, llama.cpp's server, OpenAI.

    One object serves every call and holds no connection between responses. `base_url` is the endpoint's address for
    OpenAI's SDK, mostly ending in `/v1`; `model` is one of its models; `api_key` may be None. `takes_images`: the model
    understands them. `timeout_s` limits its silence, also before the first word, when a local server loads the model.
    `limits` bounds the history in a request, `compression_config` sums it up (see `FormattedLanguageModel`).
    `extra_body` is added to each request, for options of one server (`{"reasoning_effort": "none"}`). `key_from` and
    `address_from` name what gives key and address, in errors. There are no retries: a caller on the line needs to hear
    of a failure soon.

    Loads the `openai` package (1 s). Raises UsageError if it is missing, or for an invalid address or model.
    """

    @checked(above_0=("timeout_s",))
    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        takes_images: bool = False,
        timeout_s: float = _TIMEOUT_S,
        limits: HistoryLimits | None = None,
        compression_config: CompressionConfig | None = None,
        extra_body: Json | None = None,
        key_from: str = API_KEY,
        address_from: str = BASE_URL,
    ) -> None:
        self._address, self._host = _checked(base_url, address_from)
        api_key = usable_key(api_key, key_from) if api_key else None
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
        chat_model = OpenAIChatModel(
            model,
            api_key or NO_KEY,  # else the SDK would send OPENAI_API_KEY to another host
            client_kwargs={
                "base_url": self._address,
                "timeout": openai.Timeout(timeout_s, connect=min(_CONNECT_TIMEOUT_S, timeout_s)),
                # Between two turns the other side mostly closes a kept connection. Without one there is nothing to
                # close when the server ends, and one object serves any event loop.
                "default_headers": {"Connection": "close"},
            },
            generate_kwargs={} if extra_body is None else {"extra_body": extra_body},
            timeout_s=timeout_s,
            retries=0,
            max_answer_chars=_MAX_RESPONSE_CHARS,
        )
        # The SDK reads these from variables that are meant for OpenAI alone.
        chat_model.client.organization = chat_model.client.project = None
        chat_model.endpoint = Endpoint(
            f"the language model at {self._address}",
            self._address,
            model,
            api_key or "",
            key_from=key_from,
            address_from=address_from,
            model_from=MODEL,
            address_ends_in="/v1",
        )
        super().__init__(
            chat_model,
            OpenAIChatFormatter(),
            takes_images=takes_images,
            limits=limits,
            compression_config=compression_config,
        )

    def __repr__(self) -> str:
        return f"ChatLanguageModel({self._address!r}, {self._model.model_name!r})"

    async def _payload(self, prompt: Prompt) -> list[Json]:
        return write_messages(prompt, self._limits, takes_images=self.takes_images)

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        options = super()._options(prompt)
        # OpenAI's newer models refuse the old name; Ollama knows no other.
        if self._host != "api.openai.com" and (limit := options.pop("max_completion_tokens", None)) is not None:
            options["max_tokens"] = limit
        return options


async def _replies(
    responses: AsyncIterator[ChatResponse], keep_signature: Callable[[Json], str]
) -> AsyncGenerator[Reply, None]:
    """Yield what each response adds to the one before; calls and usage at the end, when they are whole.

    `keep_signature` gets what the provider wants back with a call, and returns the call's id.
    """
    told: dict[str, int] = {}
    last: ChatResponse | None = None
    async for last in responses:
        for block in last.content:
            match block:
                case TextBlock(text=text):
                    if begins := text[told.get(block.id, 0) :]:
                        yield ReplyText(begins)
                case ThinkingBlock(thinking=text):
                    if begins := text[told.get(block.id, 0) :]:
                        yield ReplyThought(begins)
                case _:
                    continue
            told[block.id] = len(text)
    if last is not None:
        thoughts = [block.extra for block in last.content if isinstance(block, ThinkingBlock)]
        signatures = {extra["tool_call_id"]: extra for extra in thoughts if "tool_call_id" in extra}
        for block in last.content:
            if isinstance(block, ToolCallBlock):
                signature = signatures.get(block.id)
                yield ReplyToolCall(block.name, block.input, keep_signature(signature) if signature else "")
        if last.usage is not None:
            yield _usage(last.usage)


def _usage(usage: ChatUsage) -> ReplyUsage:
    return ReplyUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        detail=UsageDetail(
            input_text_tokens=usage.input_tokens,
            input_cached_tokens=usage.cache_input_tokens,
            output_text_tokens=usage.output_tokens,
            output_reasoning_tokens=usage.reasoning_tokens,
        ),
    )


def _choice(prompt: Prompt) -> str | None:
    """Return the choice of a tool as chat models take it; None if the model decides."""
    match prompt.tool_choice:
        case "auto" | "required" as mode:
            return mode
        case {"type": "function", "name": str(name)} if any(tool.name == name for tool in prompt.tools):
            return name
        case _:
            return None


def _checked(base_url: str, source: str) -> tuple[str, str]:
    """Validate the address that `source` gives; returns it with its host and port."""
    try:
        parts = parts_of_address(base_url, source, ("http", "https"))
    except UsageError:
        raise UsageError(
            f"{source} is to be the address of a chat endpoint, such as http://localhost:11434/v1", code="llm_address"
        ) from None
    if "@" in parts.netloc or parts.query:
        # The HTTP client logs the addresses that it asks.
        found = "a user or a password" if "@" in parts.netloc else "a query (`?` and what follows)"
        raise UsageError(
            f"{source} has {found}, which logs would show: it is no place for secrets, a key goes into {API_KEY}",
            code="llm_address",
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}", parts.netloc
