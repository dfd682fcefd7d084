"""A chat endpoint on loopback: says what the test wrote down, in the frames that OpenAI, Ollama and llama.cpp send.

The shapes are those of the types of OpenAI's SDK (`ChatCompletionChunk`) and of the servers' own issue reports.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from tests.server.harness import serving_app
from tests.volumes import HANG_S

Json = dict[str, Any]
PATIENCE_S = HANG_S
"""How long a test waits for a request before it fails."""
DONE = "data: [DONE]\n\n"
KEY = "llm-key-4f1c09"


class Break:
    """The connection is cut here."""


class Hold:
    """Nothing comes until the test lets it, or the client leaves."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()


Frame = Json | str | Hold | Break


@dataclass
class Asked:
    """One request: its body, its headers, and whether the client left before the end of the answer."""

    body: Json
    headers: dict[str, str]
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def said(self) -> list[tuple[str, Any]]:
        """Role and content of each message."""
        return [(message["role"], message["content"]) for message in self.body["messages"]]


@dataclass(frozen=True)
class Answer:
    """Frames in the order they are sent: objects become `data:` lines, texts go out as they are."""

    frames: tuple[Frame, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)


class ChatEndpoint:
    """What it answers is a queue; what it was asked is a list."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.base_url = ""
        self._answers: list[Answer] = []
        self._arrived = asyncio.Condition()

    def will(self, *frames: Frame, status: int = 200, headers: tuple[tuple[str, str], ...] | None = None) -> None:
        """Answer one more request so."""
        answer = Answer(frames, status)
        self._answers.append(answer if headers is None else Answer(frames, status, headers))

    async def request(self, count: int = 1) -> Asked:
        """The `count`-th request."""
        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked) >= count)
        return self.asked[count - 1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        asked = Asked(json.loads(body), headers)
        async with self._arrived:
            self.asked.append(asked)
            self._arrived.notify_all()
        answer = self._answers.pop(0)
        raw = [(name.encode(), value.encode()) for name, value in answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": raw})
        leaving = asyncio.ensure_future(receive())
        try:
            for frame in answer.frames:
                match frame:
                    case Hold():
                        going = asyncio.ensure_future(frame.go_on.wait())
                        await asyncio.wait([going, leaving], return_when=asyncio.FIRST_COMPLETED)
                        going.cancel()
                    case Break():
                        # The server closes the socket of an answer that was not ended.
                        return
                    case _:
                        text = frame if isinstance(frame, str) else f"data: {json.dumps(frame)}\n\n"
                        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
                if leaving.done():
                    asked.left.set()
                    return
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()


@asynccontextmanager
async def chat_endpoint() -> AsyncIterator[ChatEndpoint]:
    """An endpoint on a free port of loopback, until the block ends."""
    endpoint = ChatEndpoint()
    app = FastAPI()
    app.mount("/v1", endpoint)
    async with serving_app(app) as place:
        endpoint.base_url = f"{place.url}/v1"
        yield endpoint


# -- frames ------------------------------------------------------------------------------------------------------------


def chunk(delta: Json | None = None, finish_reason: str | None = None, **more: Any) -> Json:
    """A chunk as OpenAI sends it."""
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion.chunk",
        "created": 1_741_570_283,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
        "choices": [choice],
    } | more


def words(*pieces: str) -> list[Json]:
    """An answer of words up to its finish reason."""
    opening = chunk({"role": "assistant", "content": "", "refusal": None})
    return [opening, *(chunk({"content": piece}) for piece in pieces), chunk({}, "stop")]


def calls(*pieces: Json) -> list[Json]:
    """An answer of tool calls up to its finish reason, one chunk for each piece."""
    return [*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls")]


def piece(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> Json:
    """A piece of a tool call; what is None is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    shape = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return shape | ({"type": "function"} if name else {}) | {"function": function}


USAGE = chunk() | {
    "choices": [],
    "usage": {
        "prompt_tokens": 19,
        "completion_tokens": 10,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 3, "audio_tokens": 0},
    },
}
