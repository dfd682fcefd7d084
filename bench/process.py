"""The bench's processes: load generators with commands on stdin, servers under test, and their cost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
UNGREETED = "bench/ungreeted.py:make_agent"
"""An agent for `realtime serve` that lets clients speak first."""

SERVER_CORE, LOAD_CORE = 0, 1

MAX_LINE_BYTES = 1_048_576
"""Limit of an answer: a thousand calls with their ids are 50 kB."""


def pin(pid: int, core: int) -> bool:
    """Bind a process to one core; False where the system cannot or has no second core."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        return False
    os.sched_setaffinity(pid, {core})
    return True


def free_port() -> int:
    """Return a free TCP port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def prefer(pid: int) -> bool:
    """Have a process run before the machine's other work, so that this is not measured; False where not allowed.

    By niceness, not in the real-time class: there Linux stops a busy process for 50 ms of each second.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -20)
    except (AttributeError, OSError):
        return False
    return True


def stolen_s() -> float:
    """Seconds for which cores of this virtual machine were ready and its host ran others; 0 where nobody tells (Linux
    does)."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def waited_s(pid: int) -> float:
    """Seconds for which a process was ready to run and other programs had its core; 0 where nobody tells (Linux does,
    for its main thread)."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class Child:
    """A running process of ours: its lines of JSON, its CPU, its memory."""

    def __init__(self, process: asyncio.subprocess.Process, name: str, log: Path | None = None) -> None:
        self.process = process
        self.name = name
        self._log = log
        self.stats = psutil.Process(process.pid)

    async def line(self, timeout_s: float = 30.0) -> dict[str, Any]:
        """Return the next line of its stdout as JSON. Raises RuntimeError where it ends or stays silent."""
        assert self.process.stdout is not None
        try:
            text = await asyncio.wait_for(self.process.stdout.readline(), timeout_s)
        except TimeoutError:
            raise RuntimeError(f"{self.name} said nothing for {timeout_s:.0f} s") from None
        if not text:
            raise RuntimeError(f"{self.name} ended with code {await self.process.wait()}{self.told()}")
        answer: dict[str, Any] = json.loads(text)
        return answer

    async def ask(self, command: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """Send one command and take its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")
        return await self.line(timeout_s)

    def told(self) -> str:
        """The end of its stderr, on a line of its own."""
        if self._log is None:
            return ""
        return "\n" + self._log.read_text(errors="replace")[-2000:]

    def cpu_s(self) -> float:
        """User and system time of the process with all its threads, in seconds."""
        times = self.stats.cpu_times()
        return times.user + times.system

    def rss_mb(self) -> float:
        """Resident memory in MB (10^6 bytes)."""
        rss: int = self.stats.memory_info().rss
        return rss / 1e6


@contextlib.asynccontextmanager
async def running(
    argv: Sequence[str], *, core: int | None, env: Mapping[str, str] | None = None, log: Path | None = None
) -> AsyncIterator[Child]:
    """Run `python argv...` from the repository's root, on one core; it is ended on the way out."""
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(log.open("wb")) if log else None
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            limit=MAX_LINE_BYTES,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
        )
        if core is not None:
            pin(process.pid, core)
            prefer(process.pid)
        try:
            yield Child(process, " ".join(argv[:2]), log)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.communicate(), 10)
            except TimeoutError:
                process.kill()
                await process.communicate()


async def listening(child: Child, port: int, timeout_s: float = 30.0) -> float:
    """Wait until a process listens on the port; return the seconds waited. Raises RuntimeError after the timeout."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    while loop.time() - start < timeout_s:
        if child.process.returncode is not None:
            raise RuntimeError(f"{child.name} ended with code {child.process.returncode}{child.told()}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        return loop.time() - start
    raise RuntimeError(f"{child.name} does not listen on port {port}")


def say(answer: Mapping[str, Any]) -> None:
    """Send one answer to the parent process."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def serve_commands(handle: Callable[[str], None]) -> asyncio.Event:
    """Hand every line of stdin to `handle` on the event loop's thread; the event is set at its end.

    Also switches the garbage collector off: a load generator makes no cycles, and its pauses would be measured.
    """
    gc.freeze()
    gc.disable()
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(handle, line.strip())
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    return ended
