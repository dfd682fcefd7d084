"""When a chat model asks again, how long it waits, and what it gives up on. In virtual time, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from realtime.errors import ProviderError
from realtime.model.chat import ChatResponse
from realtime.model.chat.answer import Answer
from realtime.model.chat.failures import Endpoint, Refusal
from realtime.model.chat.sdk_model import AFTER_END_S, SdkChatModel
from realtime.runtime import Runtime
from tests.model.chat.scripts import HELLO, responses_of

pytestmark = pytest.mark.virtual_time(limit_s=3_600)


class Refused(Exception):
    """What this SDK raises."""

    def __init__(self, status: int, retry_after_s: float | None = None) -> None:
        super().__init__()
        self.refusal = Refusal(status, "busy", retry_after_s=retry_after_s)


Step = str | float | Exception
"""A piece of text, seconds until the next one, or what the SDK raises; "." ends the answer."""


class Scripted(SdkChatModel):
    """Plays one list of steps per request."""

    def __init__(self, *tries: Sequence[Step], stream: bool = True, **settings: Any) -> None:
        super().__init__("model-x", stream, runtime=Runtime(random=Random(1)), **settings)
        self.endpoint = Endpoint("the model", "http://x", "model-x")
        self.asked_at: list[float] = []
        self.closed = 0
        self._tries = [*tries]

    def _request(self, messages: Any, tools: Any, choice: str | None, options: Any) -> dict[str, Any]:
        return {}

    async def _ask_structured(self, messages: Any, model: Any, options: Any) -> ChatResponse:
        raise NotImplementedError

    @asynccontextmanager
    async def _open(self, request: Any) -> AsyncGenerator[AsyncIterator[object], None]:
        self.asked_at.append(asyncio.get_running_loop().time())
        steps = self._tries.pop(0)
        try:
            yield self._pieces(steps)
        finally:
            self.closed += 1

    async def _pieces(self, steps: Sequence[Step]) -> AsyncGenerator[object, None]:
        for step in steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step

    def _read(self, piece: object, answer: Answer) -> None:
        if piece == ".":
            answer.end()
        else:
            answer.say(str(piece))

    def _refusal(self, error: Exception) -> Refusal | None:
        return error.refusal if isinstance(error, Refused) else None


async def said_by(model: Scripted) -> list[str]:
    """The text of each response."""
    responses = await responses_of(await model(HELLO))
    return ["".join(getattr(block, "text", "") for block in one.content) for one in responses]


async def streamed(model: Scripted) -> AsyncGenerator[ChatResponse, None]:
    coming = await model(HELLO)
    assert not isinstance(coming, ChatResponse)
    return coming


async def failure_of(model: Scripted) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await said_by(model)
    return caught.value


async def test_a_busy_provider_is_asked_again_with_growing_waits(stream: bool) -> None:
    model = Scripted([Refused(503)], [Refused(429)], ["Hi", "."], stream=stream, retries=2)
    assert (await said_by(model))[-1] == "Hi"
    first, second, third = model.asked_at
    assert 0.25 <= second - first <= 0.5
    assert 0.5 <= third - second <= 1.0
    assert model.closed == 3


async def test_the_provider_says_how_long_to_wait_and_a_wait_that_nobody_wants_is_not_waited() -> None:
    model = Scripted([Refused(429, retry_after_s=4.0)], ["Hi", "."])
    assert await said_by(model) == ["Hi"]
    assert model.asked_at == [0.0, 4.0]
    model = Scripted([Refused(429, retry_after_s=60.0)], ["Hi", "."])
    assert (await failure_of(model)).code == "rate_limit_exceeded"
    assert model.asked_at == [4.0]


async def test_only_what_may_pass_is_tried_again() -> None:
    tries: list[tuple[Exception, int]] = [
        *((Refused(400), 1), (Refused(401), 1), (Refused(404), 1), (Refused(500), 3)),
        *((ConnectionResetError(), 3), (ValueError("no JSON"), 1), (KeyError("code"), 1)),
    ]
    for error, count in tries:
        model = Scripted(*[[error]] * 3, retries=2)
        await failure_of(model)
        assert len(model.asked_at) == count


async def test_silence_ends_the_request_and_is_not_waited_for_twice(stream: bool) -> None:
    model = Scripted([60.0, "Hi", "."], ["Hi", "."], stream=stream, timeout_s=30.0)
    error = await failure_of(model)
    assert (error.code, error.retryable) == ("provider_timeout", True)
    assert asyncio.get_running_loop().time() == 30.0
    assert (len(model.asked_at), model.closed) == (1, 1)


async def test_the_deadline_is_that_of_each_piece_and_after_the_end_little_is_waited_for() -> None:
    model = Scripted([20.0, "Hi", 20.0, " there", 20.0, "."], timeout_s=30.0)
    assert await said_by(model) == ["Hi", "Hi there"]
    assert asyncio.get_running_loop().time() == 60.0
    model = Scripted(["Hi", ".", 1_000.0], timeout_s=30.0)
    assert await said_by(model) == ["Hi"]
    assert asyncio.get_running_loop().time() == 60.0 + AFTER_END_S


async def test_what_fails_behind_the_end_takes_nothing_from_the_answer() -> None:
    for error in (Refused(500), ConnectionResetError(), ValueError(), RecursionError()):
        assert await said_by(Scripted(["Hi", ".", error])) == ["Hi"]


async def test_after_the_first_words_a_failure_is_told_and_nothing_is_asked_again() -> None:
    model = Scripted(["Hi", ConnectionResetError()], ["Hi", "."])
    coming = await streamed(model)
    await anext(coming)
    with pytest.raises(ProviderError) as caught:
        await anext(coming)
    assert caught.value.code == "link_lost"
    assert (len(model.asked_at), model.closed) == (1, 1)


async def test_cancelling_anywhere_ends_the_asking_and_closes_the_request() -> None:
    """Also while it waits to ask again."""
    waits: list[Step] = [Refused(429, retry_after_s=8.0)]
    speaks: list[Step] = [1.0, "Hi", 1.0, " there", 1.0, "."]
    for steps, at_s in ((waits, 4.0), (speaks, 0.5), (speaks, 1.5), (speaks, 2.5)):
        model = Scripted(steps, ["Hi", "."])
        asking = asyncio.create_task(said_by(model))
        await asyncio.sleep(at_s)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (len(model.asked_at), model.closed) == (1, 1)


async def test_a_stream_may_be_closed_at_any_place_and_more_than_once() -> None:
    for taken in range(3):
        model = Scripted(["Hi", " there", 1.0, "."])
        coming = await streamed(model)
        for _ in range(taken):
            await anext(coming)
        await coming.aclose()
        await coming.aclose()
        assert model.closed == 1
        assert [response async for response in coming] == []


async def test_an_exception_thrown_into_a_stream_ends_the_request() -> None:
    model = Scripted(["Hi", " there", "."])
    with pytest.raises(LookupError):
        await (await streamed(model)).athrow(LookupError())
    assert model.closed == 1
