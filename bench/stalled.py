"""A client that stops reading while the provider sends as fast as it can: what the server keeps for it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

from bench.process import LOAD_CORE, SERVER_CORE, free_port, listening, running
from bench.report import Check, Section
from bench.window import NATIVE, server_command
from bench.wire import ClientPeer
from bench.work import UNPACED

SECONDS = 10.0
EVERY_S = 0.1
LIMIT_MB = 12.0
"""Twice the 4 MB of speech that may wait for a listener (once as pcm, once in the socket's buffers), and some air."""


class Reader(ClientPeer):
    """A call that stops reading once the agent speaks."""

    def __init__(self) -> None:
        super().__init__("/ws/bench/stalled", "realtime.v1")
        self.stalled = asyncio.Event()

    def opened(self, path: str) -> None:
        self.send(b'{"type":"client_session_create","config":{"instructions":"%b"}}' % UNPACED.encode())

    def received(self, opcode: int, payload: bytes) -> None:
        if b"agent_response_audio_delta" in payload[:200]:
            self.transport.pause_reading()
            self.stalled.set()


async def measure_stalled(seconds: float = SECONDS) -> Section:
    """One call that stalls, for `seconds`."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = await stack.enter_async_context(running(["-m", "bench.provider"], core=LOAD_CORE))
        provider_port = (await provider.line())["port"]
        port = free_port()
        argv, env = server_command(NATIVE, port, provider_port, folder)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        loop = asyncio.get_running_loop()
        transport, reader = await loop.create_connection(Reader, "127.0.0.1", port)
        before_mb = server.rss_mb()
        await asyncio.wait_for(reader.stalled.wait(), 10)
        start, grown_mb, ended_s = loop.time(), 0.0, None
        while loop.time() - start < seconds:
            await asyncio.sleep(EVERY_S)
            grown_mb = max(grown_mb, server.rss_mb() - before_mb)
            stats: dict[str, Any] = await provider.ask("stats")
            if ended_s is None and not stats["sessions"]:
                ended_s = loop.time() - start
        left_mb = server.rss_mb() - before_mb
        transport.abort()
    how = (
        "One client stops reading while the provider sends speech as fast as the server takes it. Its speech is kept, "
        "4 MB at most, then it is told to go and its call ends; growth is of the server's resident memory."
    )
    section = Section("stalled", "A client that stops reading", how)
    section.checks = [
        Check("highest growth", grown_mb, LIMIT_MB, " MB"),
        Check(f"growth after {seconds:g} s", left_mb, None, " MB"),
        Check("time until its call was ended", -1 if ended_s is None else ended_s, None, " s"),
    ]
    section.data = {"grown_mb": grown_mb, "left_mb": left_mb, "ended_s": ended_s}
    return section
