"""Endpoints for other services' protocols: their clients change only the base URL."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from realtime.errors import UsageError
from realtime.server.calls import Calls
from realtime.server.dashscope_endpoint import dashscope_endpoint
from realtime.server.gate import Gate
from realtime.server.gemini_endpoint import gemini_endpoint
from realtime.server.make_agent import MakeAgent
from realtime.server.openai_endpoint import openai_endpoint
from realtime.server.settings import ServerSettings

ENDPOINTS: dict[str, Callable[..., APIRouter]] = {
    "openai": openai_endpoint,
    "gemini": gemini_endpoint,
    "dashscope": dashscope_endpoint,
}
NONE = "none"


def endpoints_for(named: str | None, *, guarded: bool) -> tuple[str, ...]:
    """Return the endpoints that `--front` names: a comma-separated list, or `none`.

    None means all of them where the server is `guarded`, by loopback or by a token, and no endpoint elsewhere. Raises
    UsageError for an unknown name.
    """
    if named is None:
        return tuple(ENDPOINTS) if guarded else ()
    wanted = [word.strip() for word in named.split(",")]
    if wanted == [NONE]:
        return ()
    for name in wanted:
        _endpoint(name)
    return tuple(dict.fromkeys(wanted))


def endpoint_routers(
    make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings, gate: Gate | None = None
) -> list[APIRouter]:
    """Return the routers of `settings.endpoints`; their calls are counted among `calls`.

    `gate` is the server's. Raises UsageError as `endpoints_for`.
    """
    wanted = ENDPOINTS if settings.endpoints is None else settings.endpoints
    gate = gate or Gate(settings)
    return [_endpoint(name)(make_agent, calls=calls, settings=settings, gate=gate) for name in wanted]


def _endpoint(name: str) -> Callable[..., APIRouter]:
    if name not in ENDPOINTS:
        known = ", ".join(ENDPOINTS)
        raise UsageError(f"there is no endpoint {name!r}; there are {known}, or {NONE}", code="unknown_front")
    return ENDPOINTS[name]
