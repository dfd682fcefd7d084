"""DashScope's chat service as the samples take it from elsewhere: here a scripted endpoint on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.agent import ReActAgent
from realtime.formatter import DashScopeChatFormatter
from realtime.model import DashScopeChatModel
from tests.model.chat.scripts import PROVIDERS, Call, Script
from tests.model.local.chat_endpoint import Asked, ChatEndpoint, Frame, Hold, chat_endpoint

ANSWER = "Hello from DashScope."
REQUESTS = 4
"""How many requests the service answers where a sample says nothing else."""


def answer(*words: str, **calls: dict[str, Any]) -> list[Frame]:
    """An answer as DashScope streams it: words, then calls of tools by their names."""
    made = [Call(f"call_{place}", name, (json.dumps(given),)) for place, (name, given) in enumerate(calls.items())]
    return PROVIDERS["dashscope"].frames(Script(words=words, calls=made))


def endless(*words: str) -> list[Frame]:
    """An answer that says this and then never ends."""
    return [*answer(*words)[:-1], Hold()]


@asynccontextmanager
async def chat_service(
    monkeypatch: pytest.MonkeyPatch, answers: Sequence[Sequence[Frame]] = ()
) -> AsyncIterator[ChatEndpoint]:
    """Serve DashScope's chat models on loopback, with these answers in order, until the block ends."""
    import dashscope
    from dashscope.api_entities.aio_session import close_shared_aio_session

    run = asyncio.run

    async def closing(main: Coroutine[Any, Any, Any]) -> None:
        try:
            await main
        finally:
            await close_shared_aio_session()

    # The SDK has a session for each loop, also for that of a sample.
    monkeypatch.setattr(asyncio, "run", lambda main: run(closing(main)))
    async with chat_endpoint() as endpoint:
        for frames in answers or [answer(ANSWER)] * REQUESTS:
            endpoint.will(*frames)
        monkeypatch.setattr(dashscope, "base_http_api_url", endpoint.base_url)
        yield endpoint
        await close_shared_aio_session()


def thinker(name: str = "Friday") -> ReActAgent:
    """A quiet agent that thinks with DashScope's service."""
    agent = ReActAgent(name, "Be brief.", DashScopeChatModel("qwen-max", "not-a-key"), DashScopeChatFormatter())
    agent.set_console_output_enabled(False)
    return agent


def texts_of(asked: Asked) -> list[str]:
    """The text of each message of a request."""
    return [message["content"] for message in asked.body["input"]["messages"]]
