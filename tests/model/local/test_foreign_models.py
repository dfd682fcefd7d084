"""What a language model of somebody else raises: the call is told what happened, whose fault it is and what to do."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from realtime.event import ServerEvents
from realtime.event import model as m
from realtime.event import server as s
from realtime.formatter import OpenAIChatFormatter
from realtime.model.base import ResponseCreate
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.local.chat import FormattedLanguageModel
from tests.agent.thinking import react, say
from tests.agent.voice import talk, voice_call
from tests.model.local.stand_ins import typed

pytestmark = pytest.mark.virtual_time

SECRET = "sk-live-1234567890"


class Refused(Exception):
    """As SDKs raise it: with the status of the response, and a message that quotes the request."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}: Incorrect API key provided: {SECRET}")
        self.status_code = status


class WithResponse(Exception):
    """As HTTP clients raise it."""

    def __init__(self, status: int) -> None:
        super().__init__(SECRET)
        self.response = Refused(status)


FAILURES: list[tuple[Exception, str, bool, str]] = [
    (TimeoutError(SECRET), "provider_timeout", True, "took too long"),
    (ConnectionResetError(SECRET), "provider_unavailable", True, "is its server running"),
    (Refused(401), "invalid_api_key", False, "check the key that it is given"),
    (Refused(404), "model_not_found", False, "check its name"),
    (Refused(422), "invalid_request", False, "check its settings"),
    (Refused(429), "rate_limit_exceeded", True, "try again later"),
    (Refused(504), "provider_timeout", True, "try again"),
    (WithResponse(503), "provider_failed", True, "try again later"),
    (KeyError(SECRET), "language_model_failed", False, "the server's log says where"),
]


class Foreign(ChatModelBase):
    """A chat model of a program; fails before or within its answer."""

    def __init__(self, error: Exception, *, begins: bool) -> None:
        super().__init__("house-model", stream=True)
        self.error, self.begins = error, begins

    async def __call__(self, *args: Any, **kwargs: Any) -> AsyncGenerator[ChatResponse, None]:
        if not self.begins:
            raise self.error
        return self._pieces()

    async def _pieces(self) -> AsyncGenerator[ChatResponse, None]:
        yield ChatResponse(say("Well, let me see. And"))
        raise self.error


@pytest.mark.parametrize("as_agent", [False, True], ids=["chat model", "agent"])
@pytest.mark.parametrize("begins", [False, True], ids=["at once", "within its answer"])
@pytest.mark.parametrize(("error", "code", "retryable", "advice"), FAILURES, ids=lambda one: str(one)[:20])
async def test_an_exception_says_what_happened_and_what_to_do_and_no_secret(
    error: Exception,
    code: str,
    retryable: bool,
    advice: str,
    begins: bool,
    as_agent: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    chat = Foreign(error, begins=begins)
    caplog.set_level(logging.DEBUG)
    async with voice_call(
        react(model=chat) if as_agent else FormattedLanguageModel(chat, OpenAIChatFormatter())
    ) as one:
        one.send(typed("Hello"), ResponseCreate())
        done = await one.until(m.ModelResponseDoneEvent)
        assert (done.status, done.status_details) == ("failed", {"reason": code})
        (told,) = one.all(m.ModelErrorEvent)
    assert (told.code, told.retryable, told.error_type) == (code, retryable, "provider_error")
    assert "house-model" in told.message
    assert advice in told.message
    assert SECRET not in told.message
    assert SECRET not in caplog.text


async def test_the_listener_of_a_call_is_told_and_the_call_goes_on() -> None:
    agent = react(KeyError(SECRET), say("Here I am."))
    async with talk(agent) as one:
        await one.type("Hello?")
        await one.until(ServerEvents.AgentResponseDoneEvent)
        (told,) = one.all(s.AgentErrorEvent)
        assert told.code == "language_model_failed"
        assert told.message.startswith("the language model Friday on scripted failed in its own code")
        assert SECRET not in told.message
        await one.type("Are you there?")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert "says Here I am." in one.story
