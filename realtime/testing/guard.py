"""Refuses real clocks, sleeps, threads, subprocesses and sockets in virtual time.

Each of these makes a run depend on the speed of the machine. A `Guard` refuses them while a `VirtualLoop` runs, with an
error that names file, line and remedy, and records what it refused: a server that survives the error has not passed.

Allowed are declared real work (`realtime.testing.clock`: `real_work`, `declare_pool`), the standard library's own clock
reads (log records, random seeds, temporary names), modules during their import, pytest, Hypothesis, coverage, and
libraries that only stamp log records. Other threads and real loops are not checked. This package reads the time of day
in one module, `realtime.runtime`: while a guard is entered, that is the virtual loop's.

While entered, the guard replaces functions of `time`, `threading`, `subprocess`, `os` and the loop's selector, and
`from time import monotonic` in modules that are loaded by then; nothing is traced. A clock that a test has replaced by
its own, as with `monkeypatch`, stays the test's. So the guard does not see:

- `datetime.now()` and `date.today()`: methods of a built-in type, which cannot be replaced without breaking
  `isinstance`. Ruff's rules DTZ find them.
- a clock that was kept before: a default argument, a field of an object, `functools.partial(time.time)`.
- threads and clocks of compiled libraries.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from functools import wraps
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any

from realtime.options import checked
from realtime.testing.clock import VirtualLoop, _Selector
from realtime.testing.declared_work import in_real_work

_KNOWN_CLOCKS = (
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
    *("process_time_ns", "thread_time", "thread_time_ns", "clock_gettime", "clock_gettime_ns", "sleep"),
)
CLOCKS = tuple(name for name in _KNOWN_CLOCKS if hasattr(time, name))
"""The functions of `time` that are refused."""
DATES = {"localtime": 0, "gmtime": 0, "ctime": 0, "asctime": 0, "strftime": 1}
"""Functions refused without a time argument, and that argument's position."""

EXEMPT = frozenset(
    {
        *("pytest", "_pytest", "pluggy", "pytest_asyncio", "pytest_timeout", "xdist", "execnet", "hypothesis"),
        *("coverage", "pytest_cov", "pydevd", "_pydevd_bundle", "realtime.testing"),
        *("loguru", "structlog", "opentelemetry"),
    }
)
"""Modules, with their submodules, that are exempt: those that run tests and those that stamp log records."""

_OWN_CLOCK = "realtime.runtime"

_REMEDIES = {
    "clock": "take the time from the event loop (`asyncio.get_running_loop().time()`) or from the session's `Runtime`",
    "date": "give it a time that comes from the session's `Runtime`",
    "sleep": "`await asyncio.sleep(...)` instead, which takes no real time",
    "work": "do it inside `async with realtime.testing.real_work(cost_s=...)`, or declare the executor with "
    "`loop.declare_pool(executor)`",
}


class UndeclaredRealityError(AssertionError):
    """Code in virtual time used the real world. The text names place and remedy."""


class Guard:
    """Refuses the real world to virtual loops while it is entered (`with`).

    `allow` names exempt modules, including their submodules, as in `("tenacity", "shop.metrics")`. Guards may be
    nested; the inner one decides.
    """

    @checked()
    def __init__(self, *, allow: Iterable[str] = ()) -> None:
        self.refused: list[str] = []
        """Refusal texts in order, including those that the program survived."""
        self._exempt = EXEMPT | frozenset(allow)
        self._outer: Guard | None = None

    def __enter__(self) -> Guard:
        global _guard
        self._outer = _guard
        if _guard is None:
            _replace_all()
        _guard = self
        return self

    def __exit__(self, *_: object) -> None:
        global _guard
        _guard = self._outer
        if _guard is None:
            _restore_all()

    def check(self) -> None:
        """Raise `UndeclaredRealityError` with the first refusal, if any."""
        if self.refused:
            raise UndeclaredRealityError(self.summary())

    def summary(self) -> str:
        """Return the first refusal and the number of others; empty without any."""
        if len(self.refused) < 2:
            return "".join(self.refused)
        return f"{self.refused[0]}\n({len(self.refused) - 1} more times)"

    def judge(self, what: str, kind: str, frame: FrameType | None) -> None:
        """Refuse `what` to `frame`, unless the frame's module is exempt."""
        if kind != "work" and frame is not None and _is_of_stdlib(frame):
            return
        culprit = self._culprit(frame)
        if culprit is None:
            return
        place = f"{culprit.f_code.co_filename}:{culprit.f_lineno} in {culprit.f_code.co_name}"
        text = (
            f"{place}: {what} in virtual time, so the run depends on the machine. Remedy: {_REMEDIES[kind]}. "
            f"Where it does no harm, allow the module: `@pytest.mark.virtual_time(allow=[{_name_of(culprit)!r}])`."
        )
        self.refused.append(text)
        raise UndeclaredRealityError(text)

    def _culprit(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame of program code; None if it is exempt or a module is being imported."""
        while frame is not None and _is_of_stdlib(frame):
            frame = frame.f_back
        outer = frame
        while outer is not None and not outer.f_code.co_filename.startswith("<frozen importlib"):
            outer = outer.f_back
        is_importing = outer is not None
        return None if frame is None or is_importing or self._is_exempt(_name_of(frame)) else frame

    def _is_exempt(self, module: str) -> bool:
        while module:
            if module in self._exempt:
                return True
            module = module.rpartition(".")[0]
        return False


_guard: Guard | None = None
_undo: list[Callable[[], None]] = []
_known_modules: dict[str, object] = {}
_bound_clocks: list[tuple[dict[str, Any], str, str]] = []
"""Bound clocks of loaded modules: the module's namespace, the name there, and the clock's name."""


def _name_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))


def _is_of_stdlib(frame: FrameType) -> bool:
    return _name_of(frame).partition(".")[0] in sys.stdlib_module_names


def _guarded(function: Callable[..., Any], what: str, kind: str, given: int | None = None) -> Callable[..., Any]:
    """Return the function, refused to virtual loops unless argument `given` is present."""

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        loop = asyncio._get_running_loop()
        is_told = given is not None and len(args) > given and args[given] is not None
        if isinstance(loop, VirtualLoop) and _guard is not None and not is_told and not in_real_work():
            frame = sys._getframe(1)
            if kind == "clock" and _name_of(frame) == _OWN_CLOCK:
                return loop.wall_now()
            _guard.judge(what, kind, frame)
        return function(*args, **kwargs)

    return guarded


_GUARDED_CODE = _guarded(int, "", "").__code__


def _bare(function: Any) -> Any:
    """Return the original of a guarded function: a test that replaced it has restored it after the guard."""
    return function.__wrapped__ if getattr(function, "__code__", None) is _GUARDED_CODE else function


def _replace(owner: object, name: str, what: str, kind: str, given: int | None = None) -> None:
    original = _bare(getattr(owner, name))
    guarded = _guarded(original, what, kind, given)

    def undo() -> None:
        if getattr(owner, name) is guarded:  # else a test has replaced it, and restores it itself
            setattr(owner, name, original)

    setattr(owner, name, guarded)
    _undo.append(undo)


def _replace_all() -> None:
    originals = {_bare(getattr(time, name)): name for name in (*CLOCKS, *DATES)}
    for name in CLOCKS:
        if name == "sleep":
            _replace(time, name, "time.sleep() stops everything for real time", "sleep")
        elif type(_bare(getattr(time, name))) is BuiltinFunctionType:
            _replace(time, name, f"time.{name}() reads the real clock", "clock")
    for name, given in DATES.items():
        if type(_bare(getattr(time, name))) is BuiltinFunctionType:
            _replace(time, name, f"time.{name}() reads the real clock", "date", given)
    _replace(threading.Thread, "start", "an undeclared thread is started", "work")
    _replace(subprocess.Popen, "__init__", "an undeclared subprocess is started", "work")
    _replace(os, "system", "an undeclared subprocess is started", "work")
    if hasattr(os, "fork"):
        _replace(os, "fork", "an undeclared process is forked", "work")
    _replace(_Selector, "register", "a socket or pipe outside real work is waited for", "work")
    _find_bound_clocks(originals)
    for namespace, name, clock in _bound_clocks:
        _rebind(namespace, name, clock)


def _rebind(namespace: dict[str, Any], name: str, clock: str) -> None:
    original, guarded = _bare(namespace.get(name)), getattr(time, clock)
    if original is not _bare(guarded):
        return  # a test has replaced it

    def undo() -> None:
        if namespace.get(name) is guarded:
            namespace[name] = original

    namespace[name] = guarded
    _undo.append(undo)


def _restore_all() -> None:
    while _undo:
        _undo.pop()()


def _find_bound_clocks(originals: dict[Any, str]) -> None:
    """Search the modules loaded since the last guard, programs only."""
    # A list of names alone: thousands of pairs at each start would set off the collector.
    for name in [name for name in list(sys.modules) if _known_modules.get(name) is not sys.modules.get(name)]:
        _known_modules[name] = module = sys.modules.get(name)
        # By its true type: cffi puts objects among the modules that claim to be one.
        if name.partition(".")[0] in sys.stdlib_module_names or not issubclass(type(module), ModuleType):
            continue
        namespace = vars(module)
        _bound_clocks.extend(
            (namespace, bound, originals[value])
            for bound, value in list(namespace.items())
            if type(value) is BuiltinFunctionType and value in originals
        )
