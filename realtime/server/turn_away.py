"""Closes a refused socket with its reason."""

from __future__ import annotations

import logging

from starlette.websockets import WebSocket

from realtime.server.gate import KEY_SUBPROTOCOL

logger = logging.getLogger(__name__)

POLICY_VIOLATION = 1008
"""The close code of a client that violates a policy (RFC 6455)."""
MAX_REASON_BYTES = 123
"""Bytes of a reason that fit into a close frame."""


async def turn_away(websocket: WebSocket, why: str) -> None:
    """Accept the socket, then close it with 1008 and the reason: a page cannot read why a handshake was refused."""
    logger.warning("a socket was refused: %s", why)
    offered: list[str] = websocket.scope.get("subprotocols", [])
    # A browser drops a socket that accepts none of its offered subprotocols.
    await websocket.accept(next((one for one in offered if not one.startswith(KEY_SUBPROTOCOL)), None))
    await websocket.close(POLICY_VIOLATION, close_reason(why))


def close_reason(text: str) -> str:
    """Cut the sentence to what a close frame takes."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
