"""How a socket that may not come in is told why."""

from __future__ import annotations

import logging

from starlette.websockets import WebSocket

from realtime.server.gate import KEY_SUBPROTOCOL

logger = logging.getLogger(__name__)

POLICY_VIOLATION = 1008
"""The close code of a client that may not do what it wants (RFC 6455)."""
MAX_REASON_BYTES = 123
"""What a close frame takes."""


async def turn_away(websocket: WebSocket, why: str) -> None:
    """Accept the socket and close it with 1008 and the reason. A page cannot read why a handshake was refused."""
    logger.warning("a socket was refused: %s", why)
    offered: list[str] = websocket.scope.get("subprotocols", [])
    # A browser drops a socket that takes none of the subprotocols it offered.
    await websocket.accept(next((one for one in offered if not one.startswith(KEY_SUBPROTOCOL)), None))
    await websocket.close(POLICY_VIOLATION, close_reason(why))


def close_reason(text: str) -> str:
    """As much of the sentence as a close frame takes."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
