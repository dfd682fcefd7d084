"""The fronts: doors for programs that speak another service's protocol. They change their base URL, nothing else."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from realtime.errors import UsageError
from realtime.server.calls import Calls
from realtime.server.dashscope_endpoint import dashscope_door
from realtime.server.gate import Gate
from realtime.server.gemini_endpoint import gemini_door
from realtime.server.openai_endpoint import openai_door
from realtime.server.settings import ServerSettings
from realtime.server.sockets import MakeAgent

FRONTS: dict[str, Callable[..., APIRouter]] = {
    "openai": openai_door,
    "gemini": gemini_door,
    "dashscope": dashscope_door,
}
NONE = "none"


def fronts_for(named: str | None, *, guarded: bool) -> tuple[str, ...]:
    """The fronts that `--front` means: names with commas between, or `none`.

    Null: all of them where the server is `guarded`, by loopback or by a token, else none. Raises UsageError for a front
    that does not exist.
    """
    if named is None:
        return tuple(FRONTS) if guarded else ()
    wanted = [word.strip() for word in named.split(",")]
    if wanted == [NONE]:
        return ()
    for name in wanted:
        _door(name)
    return tuple(dict.fromkeys(wanted))


def front_routers(
    make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings, gate: Gate | None = None
) -> list[APIRouter]:
    """The doors of `settings.fronts`; their calls are counted among `calls`, and `gate` is the server's.

    Raises UsageError as `fronts_for`.
    """
    wanted = FRONTS if settings.fronts is None else settings.fronts
    gate = gate or Gate(settings)
    return [_door(name)(make_agent, calls=calls, settings=settings, gate=gate) for name in wanted]


def _door(name: str) -> Callable[..., APIRouter]:
    if name not in FRONTS:
        raise UsageError(f"there is no front {name!r}; there are {', '.join(FRONTS)}, or {NONE}", code="unknown_front")
    return FRONTS[name]
