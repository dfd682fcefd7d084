"""What the samples take from elsewhere: DashScope's chat service, here on loopback.

A part that the package does not have yet is stood in for, so that the samples run without it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime import model as models
from realtime import token as tokens
from realtime.token import TokenCounterBase
from tests.agent.thinking import ScriptedChat, say
from tests.model.local.chat_endpoint import chat_endpoint

ANSWER = "Hello from DashScope."
REQUESTS = 4
"""How many requests the service answers."""


class StandInModel(ScriptedChat):
    """A chat model with the arguments of DashScope's."""

    def __init__(self, model_name: str, api_key: str) -> None:
        super().__init__(say(ANSWER))


class StandInCounter(TokenCounterBase):
    """Counts characters."""

    async def count(self, messages: Any, tools: Any = None, **kwargs: Any) -> int:
        return len(str(messages))


@asynccontextmanager
async def chat_service(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Serve DashScope's chat models on loopback, until the block ends."""
    if not hasattr(tokens, "CharTokenCounter"):
        monkeypatch.setattr(tokens, "CharTokenCounter", StandInCounter, raising=False)
    if not hasattr(models, "DashScopeChatModel"):
        monkeypatch.setattr(models, "DashScopeChatModel", StandInModel, raising=False)
        yield
        return
    import dashscope
    from dashscope.api_entities.aio_session import close_shared_aio_session

    async with chat_endpoint() as endpoint:
        for _ in range(REQUESTS):
            endpoint.will(*_frames(ANSWER))
        monkeypatch.setattr(dashscope, "base_http_api_url", endpoint.base_url)
        yield
        await close_shared_aio_session()


def _frames(text: str) -> list[str]:
    """An answer as DashScope streams it."""
    frames = []
    for content, reason in ((text, "null"), ("", "stop")):
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": reason}
        usage = {"input_tokens": 19, "output_tokens": 10, "total_tokens": 29}
        body = {"output": {"choices": [choice]}, "usage": usage, "request_id": "req-1"}
        frames.append(f"id:1\nevent:result\n:HTTP_STATUS/200\ndata:{json.dumps(body)}\n\n")
    return frames
