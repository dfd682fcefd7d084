"""Loads the functions that a command line names: `app.py:make_agent` or `package.module:make_agent`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.demo.room import NAME as DEMO
from realtime.errors import UsageError
from realtime.server.make_agent import AGENT_PARAMETERS, MakeAgent
from realtime.texts import as_utf8

MAKE_ROOM = "make_room"
"""The function that `--room FILE` looks for; the room is then called `room`."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY)


def load_make_agent(target: str) -> MakeAgent:
    """Load the function that makes agents, as `load_function` does.

    Raises UsageError too for one with required parameters that are not in `AGENT_PARAMETERS`.
    """
    make_agent: MakeAgent = load_function(target, "make_agent")
    if isinstance(make_agent, RealtimeAgent):
        raise UsageError(f"{target} is an agent: name a function that makes one for each call", code="no_make_agent")
    needed = [one for one in inspect.signature(make_agent).parameters.values() if one.default is one.empty]
    unknown = [one.name for one in needed if one.kind in _NAMED and one.name not in AGENT_PARAMETERS]
    if unknown:
        raise UsageError(
            f"{target} wants {', '.join(unknown)}: a function that makes an agent is given "
            f"{', '.join(AGENT_PARAMETERS)}, those that it has parameters for",
            code="no_make_agent",
        )
    return make_agent


def load_function(target: str, default: str) -> Callable[..., Any]:
    """Load the function `path/to/file.py:name` or `package.module:name`; the name defaults to `default`.

    Raises UsageError where it does not exist, or the file cannot be parsed as Python or imports a missing module. Any
    other exception of the file itself is raised unchanged.
    """
    place, name = place_and_name(target, default)
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place, default)
    except ModuleNotFoundError as error:
        raise UsageError(f"{place} imports {error.name!r}, which is not installed", code="no_module") from error
    except SyntaxError as error:
        # The traceback would show about fifty lines of the interpreter and the place last.
        raise UsageError(f"{error.filename}, line {error.lineno}: {error.msg}", code="no_make_agent") from error
    made = getattr(module, name, None)
    if made is not None and not callable(made):
        raise UsageError(f"{name!r} in {place} is no function but {made!r:.100}", code="no_make_agent")
    if made is None:
        # What it imports could not be meant.
        own = {key: one for key, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
        there = ", ".join(sorted(key for key, one in own.items() if callable(one) and key[0] != "_"))
        raise UsageError(f"{place} has no function {name!r}; it has: {there or 'none'}", code="no_make_agent")
    function: Callable[..., Any] = made
    return function


def place_and_name(target: str, default: str) -> tuple[str, str]:
    """Split into file or module, and function. The colon of `C:\\app.py` does not count."""
    place, colon, name = target.rpartition(":")
    return (place, name) if colon and ":" in target[2:] else (target, default)


_NAMES_ENCODING = re.compile(rb"\A(?:.*\n)?[ \t\f]*#.*?coding[:=]")


class _Loader(SourceFileLoader):
    """Loads a source file as any editor saves it; one may name its encoding."""

    def get_data(self, path: str) -> bytes:
        """Return the source in UTF-8. Raises UsageError for what is no text."""
        data = super().get_data(path)
        if path != self.path or _NAMES_ENCODING.match(data):
            return data
        try:
            return as_utf8(data)
        except ValueError as error:
            raise UsageError(f"{path} is no Python source: {error}; save it as UTF-8", code="no_make_agent") from error


def _load_file(path: Path) -> ModuleType:
    path = path.resolve()
    loader = _Loader(path.stem, str(path)) if path.suffix == ".py" else None
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"there is no file {path}", code="no_file")
    # As with `python app.py`, modules beside the file can be imported.
    sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _load_module(name: str, function: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(
            f"there is no module {name!r}; a file is named by its path: app.py:{function}"
            + (f", and the room to try things out by {DEMO!r}" if function == MAKE_ROOM else ""),
            code="no_file",
        ) from error
