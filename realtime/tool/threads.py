"""Bounded threads for plain tool functions: a hung one blocks nothing else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from realtime.errors import ToolError

logger = logging.getLogger(__name__)

MAX_THREADS_PER_TOOL = 16
"""Simultaneous calls of one tool, over all calls of the process."""
MAX_THREADS = 64
"""Calls of all tools that may run at once: four hung tools use up all threads."""

P = ParamSpec("P")
T = TypeVar("T")


class ToolThreads:
    """All tool threads of a process.

    Each call runs in a daemon thread of its own, so that a hung one delays no exit. The event loop's own executor would
    do the same work, but it also resolves names and reads files: a few hung tools would stop those. A thread cannot be
    killed, so hung ones are counted and bounded.
    """

    def __init__(self, max_threads: int = MAX_THREADS, max_per_tool: int = MAX_THREADS_PER_TOOL) -> None:
        self.running = 0
        """Calls whose function has not returned, including those past their timeout."""
        self._max_threads = max_threads
        self._max_per_tool = max_per_tool
        self._lock = threading.Lock()
        self._tools: dict[str, _OneTool] = {}

    def of(self, function: Callable[..., Any], name: str) -> Executor:
        """Return the executor of a tool called `name`. All toolkits with the same function share it."""
        key = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', name)}"
        return self._tools.setdefault(key, _OneTool(self, name))

    def take(self, tool: _OneTool) -> None:
        """Reserve a thread for one more call. Raises ToolError (`tools_busy`) where there is none."""
        with self._lock:
            if tool.running >= self._max_per_tool:
                busy = f"{tool.running} earlier calls of it have not returned"
            elif self.running >= self._max_threads:
                busy = f"{self.running} earlier calls of tools have not returned"
            else:
                self.running += 1
                tool.running += 1
                return
            told, tool.told = tool.told, True
        if not told:
            logger.error("tool %s is refused from now on: %s (tools_busy)", tool.name, busy)
        raise ToolError(f"{tool.name} cannot run now: {busy}. Try again later.", code="tools_busy", retryable=True)

    def give_back(self, tool: _OneTool) -> None:
        """Release the thread of a function that has returned."""
        with self._lock:
            self.running -= 1
            tool.running -= 1
            tool.told = False


class _OneTool(Executor):
    """Runs one tool's calls. Nothing waits in a queue: a call that finds no thread is refused."""

    def __init__(self, threads: ToolThreads, name: str) -> None:
        self.name = name
        self.running = 0
        self.told = False
        """Whether the log already reports that calls are refused."""
        self._threads = threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Executor`. Raises ToolError (`tools_busy`) where no thread is free."""
        self._threads.take(self)
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()

        def work() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                self._threads.give_back(self)
                future.set_exception(error)
            else:
                self._threads.give_back(self)
                future.set_result(result)

        try:
            threading.Thread(target=work, name=f"tool {self.name}", daemon=True).start()
        except RuntimeError as error:
            self._threads.give_back(self)
            raise ToolError(f"{self.name} cannot run now: {error}", code="tools_busy", retryable=True) from error
        return future


TOOL_THREADS = ToolThreads()
"""The tool threads of this process."""
