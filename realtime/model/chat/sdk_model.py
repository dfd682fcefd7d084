"""The common part of the chat models: checks, retries, deadlines, errors in sentences. Their SDKs do the HTTP."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

from realtime.errors import UsageError
from realtime.model.chat.answer import Answer
from realtime.model.chat.arguments import (
    Json,
    StructuredModel,
    check_messages,
    check_structured_model,
    check_tools,
    checked_choice,
    structured_object,
)
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.chat.failures import ChatFailure, Endpoint, Refusal, missing_key
from realtime.model.chat.families import Family
from realtime.model.chat.sampling import write
from realtime.model.credentials import http_address, set_in, usable_key
from realtime.options import Count, PositiveInt, checked
from realtime.runtime import Runtime
from realtime.tool.context import Sampling

logger = logging.getLogger(__name__)

T = TypeVar("T")

TIMEOUT_S = 120.0
RETRIES = 2
MAX_ANSWER_CHARS = 400_000
"""About 100,000 tokens. Who wants more asks for less at a time."""
AFTER_END_S = 2.0
"""How long the usage of a whole response is waited for: some servers never hang up."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0
"""A provider that wants a longer wait is not asked again."""
_RUNTIME = Runtime()


class SdkChatModel(ChatModelBase, ABC):
    """A chat model on its provider's SDK. Subclasses write requests, open them, and read what comes.

    `timeout_s` limits the provider's silence: before the first piece, between two pieces, and without `stream` the
    whole answer. A failed request is sent again up to `retries` times, with growing waits, as long as nothing came of
    it and the failure may pass by itself. `max_answer_chars` bounds the response. `runtime` is the source of chance.
    """

    family: ClassVar[Family]
    endpoint: Endpoint
    """Whom it asks, as its errors name it."""

    @checked(above_0=("timeout_s",))
    def __init__(
        self,
        model_name: str,
        stream: bool,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Count = RETRIES,
        max_answer_chars: PositiveInt = MAX_ANSWER_CHARS,
        runtime: Runtime = _RUNTIME,
    ) -> None:
        if not model_name:
            raise UsageError(f"name the model that {type(self).__name__} is to ask: `model_name`", code="llm_model")
        super().__init__(model_name, stream)
        self.timeout_s = timeout_s
        self.retries = retries
        self.max_answer_chars = max_answer_chars
        self._runtime = runtime

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    async def sample(self, asked: Sampling) -> str:
        """Write an answer outside of any conversation. Raises ProviderError where there is none."""
        return await write(self, self.family.formatter()(), asked)

    async def __call__(
        self,
        messages: list[Json],
        tools: Sequence[Json] | None = None,
        tool_choice: str | None = None,
        structured_model: StructuredModel | None = None,
        **kwargs: Any,
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """See `ChatModelBase.__call__`."""
        check_messages(messages)
        check_tools(tools)
        choice = checked_choice(tool_choice, tools)
        if structured_model is None:
            return await self._ask(self._request(messages, [*(tools or ())], choice, kwargs))
        check_structured_model(structured_model)
        if tools or tool_choice:
            logger.warning("tools are left out of a request for structured output")
        response = await self._ask_structured(messages, structured_model, kwargs)
        return ResponseStream(response, _nothing()) if self.stream else response

    # -- what differs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _request(self, messages: list[Json], tools: list[Json], choice: str | None, options: Json) -> Json:
        """Return the arguments of the SDK's function. `options` are the caller's, above `generate_kwargs`."""

    @abstractmethod
    async def _ask_structured(self, messages: list[Json], model: StructuredModel, options: Json) -> ChatResponse:
        """Return one response with the object in its metadata."""

    @abstractmethod
    def _open(self, request: Json) -> AbstractAsyncContextManager[AsyncIterator[object]]:
        """Send the request; the block gets the pieces of the response, leaving it ends the request.

        Without `stream` there is one piece. When the block begins, the provider has begun to answer.
        """

    @abstractmethod
    def _read(self, piece: object, answer: Answer) -> None:
        """Read one piece; tolerates every field that a server may leave out."""

    @abstractmethod
    def _refusal(self, error: Exception) -> Refusal | None:
        """Return what the provider said in an exception of the SDK; None if it said nothing."""

    # -- requests --------------------------------------------------------------------------------------------------

    async def _ask(self, request: Json) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Send a request, again where that may help; return once there is a response."""
        return await (self._first(request) if self.stream else self._whole(request, None))

    async def _first(self, request: Json) -> ResponseStream:
        for attempt in range(self.retries + 1):
            responses = self._responses(request, self._new_answer())
            try:
                return ResponseStream(await anext(responses), responses)
            except ChatFailure as failure:
                await self._wait_after(failure, attempt)
        raise AssertionError("the last try returns or raises")

    async def _whole(self, request: Json, model: StructuredModel | None) -> ChatResponse:
        """Return the whole response; with the object in its metadata if `model` describes one."""
        for attempt in range(self.retries + 1):
            answer = self._new_answer()
            try:
                response = await _last(self._responses(request, answer))
                if model is None:
                    return response
                return dataclasses.replace(response, metadata=self._object_in(response, answer.parsed, model))
            except ChatFailure as failure:
                await self._wait_after(failure, attempt)
        raise AssertionError("the last try returns or raises")

    async def _responses(self, request: Json, answer: Answer) -> AsyncGenerator[ChatResponse, None]:
        """Yield the responses of one request, at least one. Raises ChatFailure."""
        begun = False
        closing = AsyncExitStack()
        try:
            pieces = await self._in_time(closing.enter_async_context(self._open(request)), answer, begun)
            begun = True
            while pieces is not None and (piece := await self._in_time(anext(pieces, None), answer, begun)) is not None:
                answer.arrived()
                self._read(piece, answer)
                if (response := answer.response()) is not None:
                    yield response
        finally:
            # The response is whole, or it is known why it is not: what fails at the end changes nothing.
            with suppress(Exception):
                await closing.aclose()
        if (last := answer.finish()) is not None:
            yield last

    async def _in_time(self, step: Awaitable[T], answer: Answer, begun: bool) -> T | None:
        """Await a step of the SDK; None if it fails behind the end of the response. Raises ChatFailure."""
        limit_s = min(self.timeout_s, AFTER_END_S) if answer.complete else self.timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await step
        except Exception as error:  # SDKs let through whatever their transports, parsers and models raise
            if answer.complete:
                return None
            if not isinstance(error, ChatFailure):
                logger.info("a chat request failed: model=%s error=%s", self.model_name, type(error).__name__)
            raise self._explain(error, begun=begun) from None

    def _explain(self, error: Exception, *, begun: bool) -> ChatFailure:
        return self.endpoint.explain(error, self._refusal(error), begun=begun, timeout_s=self.timeout_s)

    async def _wait_after(self, failure: ChatFailure, attempt: int) -> None:
        """Wait before the next try. Raises the failure if there shall be none."""
        wait_s = FIRST_WAIT_S * 2.0**attempt * self._runtime.random.uniform(0.5, 1.0)
        wait_s = max(wait_s, failure.retry_after_s or 0.0)
        if attempt >= self.retries or not failure.repeats or wait_s > LONGEST_WAIT_S:
            raise failure
        await asyncio.sleep(wait_s)

    def _object_in(self, response: ChatResponse, parsed: object, model: StructuredModel) -> Json:
        try:
            return structured_object(response, parsed, model)
        except ValueError as error:
            raise self.endpoint.not_structured(str(error)) from None

    def _new_answer(self) -> Answer:
        return Answer(self.endpoint, asyncio.get_running_loop().time, self.max_answer_chars)


class ResponseStream(AsyncGenerator[ChatResponse, None]):
    """The responses of a stream, the first of which is there. Closing it ends the request, also before any is taken."""

    def __init__(self, first: ChatResponse, rest: AsyncGenerator[ChatResponse, None]) -> None:
        self._first: ChatResponse | None = first
        self._rest = rest
        self._closed = False

    async def asend(self, value: None) -> ChatResponse:
        """Return the next response; see `AsyncGenerator.asend`."""
        first, self._first = self._first, None
        if self._closed:
            raise StopAsyncIteration
        return await self._rest.asend(value) if first is None else first

    async def athrow(self, *thrown: Any) -> ChatResponse:
        """Raise an exception where the stream stands; see `AsyncGenerator.athrow`."""
        self._first = None
        return await self._rest.athrow(*thrown)

    async def aclose(self) -> None:
        """End the request."""
        # Python 3.11 takes a generator for running in which an awaited step was cancelled by the closing.
        closed, self._closed = self._closed, True
        if not closed:
            await self._rest.aclose()


@asynccontextmanager
async def closing_stream(stream: Any) -> AsyncGenerator[AsyncIterator[Any], None]:
    """Close an SDK's stream at the end of the block."""
    if hasattr(stream, "__aexit__"):
        async with stream as entered:
            yield entered
    else:
        try:
            yield stream
        finally:
            await _leave(stream)


async def _leave(stream: AsyncGenerator[object, None]) -> None:
    """End a stream that is made of generators within generators.

    Closing the outer one would leave the inner ones, and the connection, to the garbage collector; a read that is
    cancelled ends all of them.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            async for _ in stream:
                pass
    await stream.aclose()


async def only(piece: object) -> AsyncGenerator[object, None]:
    """Yield the one piece of a response that is not streamed."""
    yield piece


async def from_first(stream: AsyncIterator[object]) -> AsyncGenerator[object, None]:
    """Return the same pieces once the first is there: some SDKs send the request only then."""
    first = await anext(stream, None)

    async def pieces() -> AsyncGenerator[object, None]:
        if first is not None:
            yield first
            async for piece in stream:
                yield piece

    return pieces()


def sendable(function: Callable[..., object], request: Json) -> Json:
    """Return the request as the SDK's function takes it: other arguments in `extra_body`, which it sends unchanged."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return request
    extra = {name: value for name, value in request.items() if name not in parameters}
    if not extra:
        return request
    known = {name: value for name, value in request.items() if name in parameters}
    return {**known, "extra_body": {**extra, **(known.get("extra_body") or {})}}


def key_of(who: str, api_key: str | None, variables: Sequence[str], *, is_needed: bool = True) -> tuple[str, str]:
    """Return the key and the name of what gives it, in sentences.

    If nothing does: raises UsageError if it `is_needed`, else returns "" and what could. Raises UsageError for a key
    that no header can hold.
    """
    if api_key:
        return usable_key(api_key, "`api_key`"), "`api_key`"
    variable, key = set_in(os.environ, variables)
    if key:
        return usable_key(key, variable), variable
    if is_needed:
        raise missing_key(who, *variables)
    return "", variables[0]


def base_url_in(for_client: dict[str, Any], variable: str) -> str:
    """Mend the base address of an SDK's client; return what gives it.

    SDKs append paths to it: its query becomes `default_query`. Raises UsageError for what is no address.
    """
    given, source = for_client.get("base_url"), "`base_url`"
    if given is None:
        source, given = set_in(os.environ, [variable])
    if isinstance(given, str) and given:
        parts = urlsplit(http_address(given, source))
        for_client["base_url"] = urlunsplit(parts._replace(query=""))
        if query := parse_qs(parts.query, keep_blank_values=True):
            own = {name: values if len(values) > 1 else values[0] for name, values in query.items()}
            for_client["default_query"] = {**own, **(for_client.get("default_query") or {})}
    return source or "`base_url`"


def check_no_query(address: object, source: str) -> None:
    """Raise UsageError for a query: SDKs append paths to the address."""
    if isinstance(address, str) and "?" in address:
        raise UsageError(f"{source} has a query, which its SDK cannot send: leave it out", code="invalid_address")


def count_of(counts: object, name: str) -> int | None:
    """Return a count of tokens by its name; None where there is none."""
    count = counts.get(name) if isinstance(counts, dict) else getattr(counts, name, None)
    return count if isinstance(count, int) else None


def part_of(counts: object, name: str) -> object:
    """Return a part by its name, of a dict or an object."""
    return counts.get(name) if isinstance(counts, dict) else getattr(counts, name, None)


def text_of(part: object, name: str) -> str:
    """Return a text of an object by its name; "" where it has none."""
    value = getattr(part, name, None)
    return value if isinstance(value, str) else ""


def plain(numbers: object) -> Json | None:
    """Return the provider's own numbers as builtins, without those that are missing; None if there are none."""
    dump = getattr(numbers, "model_dump", None)
    found = dump(mode="json", exclude_none=True) if callable(dump) else numbers
    return dict(found) if isinstance(found, dict) else None


async def _last(responses: AsyncGenerator[ChatResponse, None]) -> ChatResponse:
    last: ChatResponse | None = None
    async for response in responses:
        last = response
    assert last is not None, "there is at least one"
    return last


async def _nothing() -> AsyncGenerator[ChatResponse, None]:
    return
    yield
