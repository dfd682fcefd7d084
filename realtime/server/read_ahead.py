"""Reads a socket while another task runs, to notice lost clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from realtime.server.sink import Message

MAX_SIZE = 1_000_000
"""Characters and bytes that may wait while a call is created; beyond it the socket is not read until it is."""


class ReadAhead:
    """Messages received before they could be handled, in order."""

    def __init__(self, receive: Callable[[], Coroutine[Any, Any, Message]]) -> None:
        self.has_more = False
        """Whether to read from `next` instead of the socket."""
        self._receive = receive
        self._messages: list[Message] = []
        self._receiving: asyncio.Task[Message] | None = None

    @property
    def latest(self) -> Message | None:
        """The latest of the waiting messages."""
        return self._messages[-1] if self._messages else None

    async def next(self) -> Message:
        """Return the first waiting message; call it only while one waits or is being received."""
        if self._messages:
            message = self._messages.pop(0)
            self.has_more = bool(self._messages) or self._receiving is not None
            return message
        assert self._receiving is not None
        receiving, self._receiving, self.has_more = self._receiving, None, False
        return await receiving

    async def read_while(self, other: asyncio.Future[None]) -> None:
        """Keep what arrives until `other` is done; return early when the client is gone."""
        kept = sum(map(_size, self._messages))
        while not other.done():
            if kept > MAX_SIZE:
                await asyncio.wait([other])
                return
            if self._receiving is None:
                self._receiving = asyncio.create_task(self._receive(), name="reading while a call is made")
                self.has_more = True
            both: list[asyncio.Future[Any]] = [other, self._receiving]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._receiving.done():
                message = await self._receiving
                self._receiving = None
                self._messages.append(message)
                kept += _size(message)
                if message["type"] == "websocket.disconnect":
                    return

    def stop(self) -> None:
        """Stop receiving."""
        if self._receiving is not None:
            self._receiving.cancel()


def _size(message: Message) -> int:
    """Length of a message plus a constant; empty messages count too."""
    return 100 + len(message.get("text") or message.get("bytes") or "")
