"""Endpoints for other services' protocols: their clients change only the base URL."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter

from realtime.errors import UsageError
from realtime.server.dashscope_endpoint import dashscope_endpoint
from realtime.server.gemini_endpoint import gemini_endpoint
from realtime.server.openai_endpoint import openai_endpoint
from realtime.server.socket_endpoint import SocketEndpoint

ENDPOINTS: dict[str, Callable[[SocketEndpoint], APIRouter]] = {
    "openai": openai_endpoint,
    "gemini": gemini_endpoint,
    "dashscope": dashscope_endpoint,
}
NONE = "none"


def endpoints_for(named: str | None, *, guarded: bool) -> tuple[str, ...]:
    """Return the endpoints that `--endpoints` names: a comma-separated list, or `none`.

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


def endpoint_routers(endpoint: SocketEndpoint) -> list[APIRouter]:
    """Return the routers of `endpoint.settings.endpoints`. Raises UsageError as `endpoints_for`."""
    wanted = endpoint.settings.endpoints
    return [_endpoint(name)(endpoint) for name in (ENDPOINTS if wanted is None else wanted)]


def _endpoint(name: str) -> Callable[[SocketEndpoint], APIRouter]:
    if name not in ENDPOINTS:
        known = ", ".join(ENDPOINTS)
        raise UsageError(f"there is no endpoint {name!r}; there are {known}, or {NONE}", code="unknown_front")
    return ENDPOINTS[name]
