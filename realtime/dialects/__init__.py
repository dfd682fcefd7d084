"""How clients talk to us: client frames to client events, server events to client frames. One object per socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.native import SUBPROTOCOL, NativeDialect
from realtime.errors import ClientError

__all__ = ["SUBPROTOCOL", "ClientDialect", "choose"]

_BY_NAME: dict[str, Callable[[], ClientDialect]] = {
    "native": lambda: NativeDialect(None),
    "agentscope1": AgentScope1Dialect,
    "docs": lambda: AgentScope1Dialect(short_names=True),
}


def choose(subprotocols: Sequence[str], name: str | None = None) -> ClientDialect:
    """The dialect for a socket that offers these WebSocket subprotocols and names this one (`?dialect=`).

    A client that asks for nothing gets the AgentScope 1.x shapes. Raises ClientError for an unknown name.
    """
    if name is not None:
        if name not in _BY_NAME:
            raise ClientError(
                f"unknown dialect {name!r}: use one of {', '.join(sorted(_BY_NAME))}", code="unknown_dialect"
            )
        return _BY_NAME[name]()
    return NativeDialect(SUBPROTOCOL) if SUBPROTOCOL in subprotocols else AgentScope1Dialect()
