"""Clients that keep a connection: over HTTP, and to a server that they start themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, Unpack

from realtime.errors import ToolError, WrongTime
from realtime.options import checked
from realtime.tool.mcp.answers import Grants
from realtime.tool.mcp.client import HttpClient, MCPClientBase, close
from realtime.tool.mcp.link import Link
from realtime.tool.mcp.stdio import stdio_streams

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

logger = logging.getLogger(__name__)

FIRST_REDIAL_S = 0.5
"""Seconds before a lost server is dialled again; each further wait is twice as long."""
MAX_REDIALS = 6
"""Attempts in a row without a lasting connection; then only a call dials."""
STEADY_S = 30.0
"""Seconds after which a connection counts as lasting."""
FOLLOW_EVERY_S = 5.0
"""Seconds between two looks at tools that change."""


class StatefulClientBase(MCPClientBase):
    """A client that keeps one connection from `connect` to `close`: `async with client:` does both.

    A task of the client owns each connection, so `connect` and `close` may be called in different tasks, and clients
    may be closed in any order. When the server is lost, calls that wait for it fail; it is dialled again at growing
    intervals, and at once by the next call. Tools that the server adds, changes and removes change within 5 s in the
    toolkits where the client is registered.
    """

    stateful = True

    _link: Link | None = None
    _keeper: asyncio.Task[None] | None = None
    _wanted: asyncio.Event
    """Set by what needs a connection now."""
    _changed: asyncio.Event
    """Set by what may have changed the tools."""
    _checking: asyncio.Lock
    """Held while a suspect server is asked for a sign of life: no call goes there meanwhile."""

    @property
    def is_connected(self) -> bool:
        """Whether `connect` was called, and `close` was not. The server may be lost meanwhile."""
        return self._keeper is not None

    async def connect(self) -> None:
        """Connect to the server. Raises WrongTime if it is connected, ToolError if the server cannot be reached."""
        if self._keeper is not None:
            raise WrongTime(f"the MCP client {self.name!r} is already connected: call close() before connect()")
        self._wanted, self._changed, self._checking = asyncio.Event(), asyncio.Event(), asyncio.Lock()
        link = self._link = self._new_link(self._changed.set)
        # The keeper serves all calls: nothing of the one that happens to connect is for the others.
        keeper = self._keeper = asyncio.get_running_loop().create_task(
            self._keep(link), name=f"MCP {self.name}", context=Context()
        )
        try:
            await link.opened()
        except BaseException:
            self._keeper = None
            await self._end(keeper)
            raise

    async def close(self, ignore_errors: bool = True) -> None:
        """Close the connection. Raises WrongTime if it is not connected.

        `ignore_errors=False`: raises what goes wrong meanwhile.
        """
        keeper, link = self._keeper, self._link
        if keeper is None or link is None:
            raise WrongTime(f"the MCP client {self.name!r} is not connected: call connect() before close()")
        self._keeper = None
        was_over = link.is_over
        await self._end(keeper)
        self._tools = None
        if not ignore_errors and not was_over and link.error is not None:
            raise link.error

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.is_connected:
            await self.close()

    async def _end(self, keeper: asyncio.Task[None]) -> None:
        self._wanted.set()
        assert self._link is not None
        await close(self._link, keeper)

    @asynccontextmanager
    async def _linked(self) -> AsyncIterator[Link]:
        yield await self._up()

    async def _up(self) -> Link:
        """Return the open connection; dial if there is none."""
        if self._keeper is None or self._link is None:
            raise WrongTime(f"the MCP client {self.name!r} is not connected: call connect() first")
        link = self._link
        async with self._checking:
            if link.is_suspect and not link.is_over:
                await link.check()
        if link.is_over:
            link = self._link_after(link)
            self._wanted.set()
        await link.opened()
        return link

    def _link_after(self, lost: Link) -> Link:
        """Return the connection in the place of a lost one: the keeper opens it. After `close`, one that stays shut."""
        if self._link is lost or self._link is None:
            self._link = self._new_link(self._changed.set)
            if self._keeper is None:
                self._link.close()
        return self._link

    async def _keep(self, link: Link) -> None:
        """Keep a connection: dial again when it is lost."""
        loop = asyncio.get_running_loop()
        n_failures = 0
        follower = asyncio.create_task(self._follow(), name=f"MCP tools {self.name}")
        owners: set[asyncio.Task[None]] = set()
        try:
            while True:
                self._wanted.clear()
                began = loop.time()
                owner = asyncio.create_task(link.run(), name=f"MCP connection {self.name}")
                owners.add(owner)
                owner.add_done_callback(owners.discard)
                # The end of a server that hangs takes seconds, in which the next one is dialled.
                await link.over()
                if self._keeper is None:
                    return
                n_failures = 1 if loop.time() - began > STEADY_S else n_failures + 1
                logger.info("the MCP server %s is lost", self.name)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_wait_s(n_failures)):
                        await self._wanted.wait()
                link = self._link_after(link)
                self._changed.set()
        finally:
            follower.cancel()
            await _end_of(owners)

    async def _follow(self) -> None:
        """Look at the tools when they may have changed, not too often."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            link = self._link
            if link is not None and self._tools is not None:
                try:
                    # Not by `list_tools`: a server that is lost is not dialled for this.
                    await link.opened()
                    await self.list_tools()
                except (ToolError, WrongTime) as error:  # lost, or closed meanwhile
                    logger.info("the tools of the MCP server %s are not known: %s", self.name, error.code)
            await asyncio.sleep(FOLLOW_EVERY_S)


async def _end_of(owners: set[asyncio.Task[None]]) -> None:
    """Wait for the end of connections; cancelling ends them at once."""
    try:
        if owners:
            await asyncio.wait({*owners})
    finally:
        for owner in owners:
            owner.cancel()


def _wait_s(n_failures: int) -> float | None:
    """Return how long to wait before the next attempt; None: until a call needs it."""
    return FIRST_REDIAL_S * 2 ** (n_failures - 1) if n_failures <= MAX_REDIALS else None


class HttpStatefulClient(StatefulClientBase, HttpClient):
    """A client that keeps a session with a server over HTTP."""


class StdIOStatefulClient(StatefulClientBase):
    """A client that starts its server as a process, and ends it.

    The server gets `env` and the few variables that every program needs, not those of this process. What it writes to
    its standard error appears in that of this process. `timeout` (seconds) is for its start; `Grants` has the rest.
    """

    @checked(above_0=("timeout",))
    def __init__(
        self,
        name: str,
        command: str,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        encoding: str = "utf-8",
        encoding_error_handler: Literal["strict", "ignore", "replace"] = "strict",
        *,
        timeout: float = 30,
        **grants: Unpack[Grants],
    ) -> None:
        super().__init__(name, timeout, grants)
        self._command = command
        self._args = [*(args or ())]
        self._env = {**(env or {})}
        self._cwd = None if cwd is None else str(cwd)
        self._encoding = encoding, encoding_error_handler

    def _streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        return stdio_streams(self._command, self._args, self._env, self._cwd, *self._encoding)
