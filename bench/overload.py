"""Four times as many clients as one core can serve: admissions, refusals, and running calls.

The clients are in this process; provider and clients share a core, the server is alone on its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.clients import Call, Load
from bench.process import LOAD_CORE, SERVER_CORE, free_port, listening, pin, running
from bench.report import Check, Section, median
from bench.window import SERVER_VAD, server_command
from realtime.server.admission import DEFAULT_MAX_BUSY, QUEUE_S

TIMES = 4
"""Number of clients that ask for each admitted call."""
ASKS_PER_S = 50
MAX_ASKS = 2_000
STEADY_S = 3.0
"""The server is full when it has admitted no call for this long."""
HOLD_S = 45.0
"""Longer than a socket whose pong is late lives (20 s until the ping, 20 s for its answer)."""
HANDSHAKE_LIMIT_S = 10.0
"""When clients of `websockets` give up."""


class Crowd(Load):
    """What the clients share, and their outcomes."""

    def __init__(self) -> None:
        super().__init__(MAX_ASKS, "native", "server")
        self.handshakes_s: list[float] = []
        self.retry_after_ms: list[int] = []
        self.live: set[Asker] = set()
        self.broken: Counter[str] = Counter()
        """Closed live calls, and clients without a call or a refusal, by what happened."""


class Asker(Call):
    """A client that talks once it is admitted."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        super().__init__(crowd, number)
        self.crowd = crowd
        self.asked_at = time.monotonic()
        self.refused = False

    def opened(self, path: str) -> None:
        self.crowd.handshakes_s.append(time.monotonic() - self.asked_at)
        super().opened(path)

    def take(self, event: dict[str, Any]) -> None:
        if event["type"] == "agent_error" and event["code"] == "overloaded":
            self.refused = True
            self.crowd.retry_after_ms.append(event["retry_after_ms"])
        if event["type"] == "agent_ready":
            self.crowd.live.add(self)
        super().take(event)

    def lost(self) -> None:
        super().lost()
        if self.leaving or (self.refused and self.close_code == 1013):
            return
        was = "a live call" if self in self.crowd.live else "a client"
        self.crowd.broken[f"{was} was closed with {self.close_code}"] += 1


async def measure_overload(hold_s: float = HOLD_S, max_busy: float = DEFAULT_MAX_BUSY) -> Section:
    """`hold_s`: how long the server stays full; `max_busy`: the share of the core that calls may use."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = await stack.enter_async_context(running(["-m", "bench.provider"], core=LOAD_CORE))
        port = free_port()
        argv, env = server_command(SERVER_VAD, port, (await provider.line())["port"], folder)
        argv[argv.index("--max-busy") + 1] = str(max_busy)
        server = await stack.enter_async_context(running(argv, core=SERVER_CORE, env=env, log=folder / "server"))
        await listening(server, port)
        if pin(os.getpid(), LOAD_CORE):
            stack.callback(os.sched_setaffinity, 0, range(os.cpu_count() or 1))
        crowd = Crowd()
        asked = await _ask(crowd, port)
        readiness = await asyncio.to_thread(_readiness, port)
        # The last clients to ask may still wait for their answer.
        await asyncio.sleep(QUEUE_S + 1)
        lived = len(crowd.live)
        cpu_s, start = server.cpu_s(), time.monotonic()
        await asyncio.sleep(hold_s)
        busy_percent = (server.cpu_s() - cpu_s) / (time.monotonic() - start) * 100
        crowd.broken["a client was left without an answer"] += asked - len(crowd.live) - len(crowd.retry_after_ms)
        for call in crowd.calls:
            call.leave()
    how = (
        f"Clients ask for calls with our own detector, {ASKS_PER_S} a second, until the server has let nobody in for "
        f"{STEADY_S:g} s and {TIMES} have asked for each call that it took. Then the calls talk on for {hold_s:g} s."
    )
    section = Section("overload", "More clients than a core can serve", how)
    late = sum(one > HANDSHAKE_LIMIT_S for one in crowd.handshakes_s) + asked - len(crowd.handshakes_s)
    section.checks = [
        Check("calls that were let in", lived, None),
        Check("clients that asked", asked, TIMES * lived, at_least=True),
        Check("clients refused with retry_after_ms", len(crowd.retry_after_ms), 1, at_least=True),
        Check("live calls closed, clients without an answer", crowd.broken.total(), 0),
        Check(f"handshakes later than {HANDSHAKE_LIMIT_S:g} s", late, 0),
        Check("handshake, median", median(crowd.handshakes_s) * 1000, None, " ms"),
        Check("handshake, highest", max(crowd.handshakes_s) * 1000, None, " ms"),
        Check("/readyz says overloaded", float(readiness == "overloaded"), 1, at_least=True),
        Check("the server's core meanwhile", busy_percent, None, " %"),
        # Clients that are late send less, and the server rightly admits more of them.
        Check("the clients, late at worst", crowd.chunks.worst_late_ms, None, " ms"),
    ]
    section.data = {"broken": crowd.broken, "retry_after_ms": crowd.retry_after_ms, "readiness": readiness}
    return section


async def _ask(crowd: Crowd, port: int) -> int:
    """Let clients ask until the server is full and enough have asked; how many that were."""
    loop = asyncio.get_running_loop()
    lived, since = 0, loop.time()
    asked = 0
    while asked < MAX_ASKS:
        asked += 1
        await loop.create_connection(lambda number=asked: Asker(crowd, number), "127.0.0.1", port)  # type: ignore[misc]
        await asyncio.sleep(1 / ASKS_PER_S)
        if len(crowd.live) > lived:
            lived, since = len(crowd.live), loop.time()
        if asked >= TIMES * lived > 0 and loop.time() - since > STEADY_S:
            break
    return asked


def _readiness(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANDSHAKE_LIMIT_S)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/readyz")
            return str(json.loads(connection.getresponse().read())["status"])
        except TimeoutError:
            return "no answer in time"
