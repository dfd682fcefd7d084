"""Finds what blocks the event loop: `async def` functions that wait or compute without an `await`.

They are tools, and the hooks, `on_enter` and `on_turn` of agents.

Nothing on the loop can notice while it is blocked, so a thread looks on while such tools run. Each `LOOK_S` it leaves
a mark for the loop to take; when none was taken for `BLOCKED_S`, it reads from the loop's stack whose function is at
work. It names that in the log at once, and the call gets an error as soon as the loop runs again.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType

from realtime.errors import ToolError
from realtime.runtime import runs_in_real_time

logger = logging.getLogger(__name__)

LOOK_S = 0.05
"""How often the thread looks."""
BLOCKED_S = 0.25
"""How long a tool may keep the event loop."""
REMEDY = "declare it with def instead of async def, so that it runs in a thread, or await what it waits for"

CALLBACK_REMEDY = "await what it waits for, or give that to a thread: await asyncio.to_thread(...)"

OnBlocked = Callable[[ToolError], None]


def ignored(error: ToolError) -> None:
    """Leave it to the log."""


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """A tool, or another function of the program, that runs: `code` is that of its function."""

    name: str
    code: CodeType | None
    on_blocked: OnBlocked
    remedy: str = REMEDY
    error_code: str = "tool_blocks"


class LoopWatch:
    """Watches one event loop while tools run on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread_id = threading.get_ident()
        self._lock = threading.Lock()
        self._tools: list[_Running] = []
        self._is_looking = False
        self._marked_s: float | None = None
        """When the mark was left that the loop has not taken yet."""
        self._blamed: tuple[_Running, float] | None = None

    @contextmanager
    def running(self, tool: _Running) -> Iterator[None]:
        """Watch the loop while a tool runs."""
        with self._lock:
            self._tools.append(tool)
            is_looking, self._is_looking = self._is_looking, True
        if not is_looking:
            threading.Thread(target=self._look, name="loop watch", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._tools.remove(tool)

    def _look(self) -> None:
        """On the thread: look until no tool runs any more."""
        pause = threading.Event()
        while True:
            pause.wait(LOOK_S)
            with self._lock:
                if not self._tools:
                    self._is_looking = False
                    return
            if self._marked_s is None:
                self._marked_s = self._loop.time()
                try:
                    self._loop.call_soon_threadsafe(self._take_mark)
                except RuntimeError:
                    return  # the loop was closed
            elif self._blamed is None and self._loop.time() - self._marked_s >= BLOCKED_S:
                self._blame(self._marked_s)

    def _take_mark(self) -> None:
        """On the loop: it runs."""
        blamed, self._blamed = self._blamed, None
        self._marked_s = None
        if blamed is not None:
            tool, since_s = blamed
            kept_ms = (self._loop.time() - since_s) * 1_000
            told = f"the {tool.name} has kept the server's event loop for {kept_ms:.0f} ms, and all calls with it"
            tool.on_blocked(ToolError(f"{told}: {tool.remedy}", code=tool.error_code))

    def _blame(self, since_s: float) -> None:
        frame = sys._current_frames().get(self._thread_id)
        place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else "an unknown place"
        codes: list[CodeType] = []
        while frame is not None:
            codes.append(frame.f_code)
            frame = frame.f_back
        with self._lock:
            tools = [one for one in self._tools if one.code is not None]
        at_work = [one for one in tools if one.code in codes]
        # A task that the tool has started does not have the tool itself on its stack.
        files = {one.co_filename for one in codes}
        at_work += [one for one in tools if one.code is not None and one.code.co_filename in files]
        if at_work:
            blamed = at_work[0]
            self._blamed = blamed, since_s
            told = "%s blocks the event loop at %s, and all calls with it: %s"
            logger.error(told, blamed.name, place, blamed.remedy)


_WATCHES: dict[asyncio.AbstractEventLoop, LoopWatch] = {}


@contextmanager
def watched(name: str, function: Callable[..., object], on_blocked: OnBlocked) -> Iterator[None]:
    """Watch the running event loop while a tool works on it."""
    with _watched(_Running(name, code_of(function), on_blocked)):
        yield


@contextmanager
def watched_callback(name: str, function: Callable[..., object], on_blocked: OnBlocked) -> Iterator[None]:
    """Watch the running event loop while a callback works on it."""
    with _watched(_Running(name, code_of(function), on_blocked, CALLBACK_REMEDY, "callback_blocks")):
        yield


@contextmanager
def _watched(running: _Running) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    if not runs_in_real_time(loop):
        yield  # A loop in virtual time is kept by nothing.
        return
    watch = _WATCHES.get(loop)
    if watch is None:
        for closed in [one for one in _WATCHES if one.is_closed()]:
            del _WATCHES[closed]
        watch = _WATCHES[loop] = LoopWatch(loop)
    with watch.running(running):
        yield


def code_of(function: object) -> CodeType | None:
    """The code of a function, a method, a partial or an object.

    None where it is not written in Python.
    """
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__")  # noqa: B004, B009 - what a call of the object runs
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
