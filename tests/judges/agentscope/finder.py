"""The import shim: `agentscope` and its modules are those of `realtime`, for the process of one judge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tests.judges.agentscope import own_redis, remote_agents, shapes, tools_of_a_machine
from tests.judges.agentscope.adapters import ADAPTERS

PRIVATE = {
    "agentscope.formatter._openai_formatter": "agentscope.formatter",
    "agentscope.plan._plan_notebook": "realtime.plan",
    "agentscope.model._dashscope_model": "realtime.model.chat.dashscope",
}
"""Private modules of upstream that its tests name, and what stands in their place."""

FROM_SHAPES = ("AudioBlock", "ImageBlock", "Msg", "ToolUseBlock", "URLSource", "VideoBlock")
"""Names of `agentscope.message` that have other arguments there."""

OF_A_MACHINE = ("Bash", "Edit", "Glob", "Grep", "Read", "ToolBase", "Write")
"""Names of `agentscope.tool` for files and a shell, which this project does not have: their permissions are judged."""

STAND_INS = ("fakeredis", "shortuuid", "sqlalchemy")
"""Packages that test files import and this project does not need: where they are missing, nothing in them works.

But fakeredis: its client is one of a real server.
"""


class NotBuilt:
    """Stands for a name of upstream that this project does not have: each use fails and says so."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"realtime has no {type(self).__name__}")


class _Module(ModuleType):
    """A module of upstream. Its names are found when they are used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = _found(self.__name__, name)
        setattr(self, name, found)
        return found


def _found(module: str, name: str) -> Any:
    """Return what this project has by the name; a NotBuilt class where it has nothing."""
    if module == "agentscope.message" and name in FROM_SHAPES:
        return getattr(shapes, name)
    if module == "fakeredis.aioredis":
        return getattr(own_redis, name)
    if module == "agentscope.tool" and name in OF_A_MACHINE:
        return getattr(tools_of_a_machine, name)
    if module.partition(".")[0] == "agentscope":
        try:
            ours = getattr(import_module(module.replace("agentscope", "realtime", 1)), name)
        except (ModuleNotFoundError, AttributeError):
            pass
        else:
            return ADAPTERS[name](ours) if name in ADAPTERS else ours
    return type(name, (NotBuilt,), {})


class _Finder(MetaPathFinder, Loader):
    def __init__(self) -> None:
        self._packages = ("agentscope", *(name for name in STAND_INS if find_spec(name) is None))

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if (instead := PRIVATE.get(module.__name__)) is not None:
            sys.modules[module.__name__] = import_module(instead)


def install() -> None:
    """Let `import agentscope` find `realtime`, with blocks in upstream's shapes."""
    shapes.settle()
    remote_agents.settle()
    sys.meta_path.insert(0, _Finder())
