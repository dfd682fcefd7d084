"""How clients talk to us: client frames to client events, server events to client frames. One object per socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.native import NativeDialect
from realtime.errors import ClientError
from realtime.event.frames import SUBPROTOCOL

__all__ = ["SUBPROTOCOL", "ClientDialect", "choose"]

NAMES = ("agentscope1", "docs", "native")


def choose(
    subprotocols: Sequence[str],
    name: str | None = None,
    *,
    now: Callable[[], float] | None = None,
    providers: Mapping[str, str] | None = None,
) -> NativeDialect | AgentScope1Dialect:
    """Choose the dialect from the WebSocket subprotocols and the name in `?dialect=`.

    A client that asks for nothing gets the AgentScope 1.x shapes; `now` and `providers` are for these
    (`AgentScope1Dialect`). Raises ClientError for an unknown name.
    """
    match name:
        case None if SUBPROTOCOL in subprotocols:
            return NativeDialect(SUBPROTOCOL)
        case None | "agentscope1":
            return AgentScope1Dialect(now=now, providers=providers)
        case "docs":
            return AgentScope1Dialect(short_names=True, now=now, providers=providers)
        case "native":
            return NativeDialect(None)
        case _:
            raise ClientError(f"unknown dialect {name!r}: use one of {', '.join(NAMES)}", code="unknown_dialect")
