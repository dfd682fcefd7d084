"""What the pages of AgentScope 1.x have in common: a tab that shows what it gets and sends its own events."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from realtime.server.calls import Calls
from realtime.server.make_agent import MakeAgent
from tests.server.harness import FakeSocket, Json

OUTPUT_HZ = 24_000
TO_SOUND_S = 0.35
"""From the first delta to sound: the player's two buffers."""


class Page:
    """One tab, in virtual time. `lines` is what it shows besides bubbles: errors and what cannot be shown."""

    def __init__(self, socket: FakeSocket) -> None:
        self.lines: list[str] = []
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._shown = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._begin(self._read(), "what the page gets")

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._tasks.append(asyncio.create_task(work, name=name))

    def say(self, frame: Json) -> None:
        self._socket.say(frame)

    def leave(self, code: int = 1001) -> None:
        """Reload, or close the tab."""
        for task in self._tasks:
            task.cancel()
        self._socket.unread.put_nowait({"type": "websocket.disconnect", "code": code})

    async def until(self, holds: Callable[[], bool], within_s: float = 600.0) -> None:
        async with asyncio.timeout(within_s):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def _read(self) -> None:
        while True:
            came, self._shown = self._socket.sent[self._shown :], len(self._socket.sent)
            for data in came:
                if data["type"] == "agent_error":
                    self.lines.append(f"{data['error_type']}: {data['message']}")
                elif data["type"] == "binary":
                    self.lines.append("Error processing message")
                self.on_message(data)
            self.play()
            await asyncio.sleep(0.005)

    def on_message(self, data: Json) -> None:
        """Take what the page gets."""
        raise NotImplementedError

    def play(self) -> None:
        """Go on playing."""


Tab = TypeVar("Tab", bound=Page)


@asynccontextmanager
async def tab(page_of: type[Tab], make_agent: MakeAgent, calls: Calls | None = None) -> AsyncIterator[Tab]:
    """A tab with the page, connected."""
    async with FakeSocket(make_agent, calls=calls, native=False) as socket:
        page = page_of(socket)
        try:
            yield page
        finally:
            page.leave()


def pcm_of(delta: Json) -> bytes:
    """The sound of a delta; the page throws where it is no whole samples."""
    chunk = base64.b64decode(delta["delta"])
    assert len(chunk) % 2 == 0, "Int16Array throws"
    return chunk
