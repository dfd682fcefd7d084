"""What all WebSocket endpoints share: refusing a socket, choosing its dialect, serving its calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.websockets import WebSocket

from realtime.dialects import ClientDialect, choose
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.native import NativeDialect
from realtime.errors import ClientError
from realtime.event.server import error_event
from realtime.server.calls import Calls
from realtime.server.client_socket import ClientSocket, OnlyCall
from realtime.server.gate import KEY_SUBPROTOCOL, Gate
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import ServerSettings
from realtime.server.socket_calls import SocketClient

logger = logging.getLogger(__name__)

POLICY_VIOLATION = 1008
"""The close code of a client that violates a policy (RFC 6455)."""
MAX_REASON_BYTES = 123
"""Bytes of a reason that fit into a close frame."""


@dataclass(frozen=True, slots=True)
class SocketEndpoint:
    """Serves the sockets of one endpoint.

    `make_agent` makes the agent of each call, `gate` is the server's, and the calls are counted among `calls`.
    """

    make_agent: MakeAgent
    calls: Calls
    settings: ServerSettings
    gate: Gate

    async def serve(
        self,
        websocket: WebSocket,
        dialect: ClientDialect,
        *,
        user: str,
        session_id: str,
        known_user: str | None = None,
        only_call: OnlyCall | None = None,
    ) -> None:
        """Serve an accepted socket until it closes; with `only_call`, as `ClientSocket`.

        `known_user` is the one for whom the client has shown that it acts; without it, the call is that of `user`.
        """
        client = SocketClient(
            user=known_user or user,
            session_id=session_id,
            user_is_known=known_user is not None,
            address=self.gate.address(websocket),
            is_developer=self.gate.is_developer(websocket),
            make_agent=self.make_agent,
            calls=self.calls,
            settings=self.settings,
        )
        await ClientSocket(websocket, dialect, client, only_call=only_call).serve()


async def turned_away(websocket: WebSocket, why: str | None) -> bool:
    """Refuse the socket where there is a reason; return whether there is.

    It is accepted, then closed with 1008 and the reason: a page cannot read why a handshake was refused.
    """
    if why is None:
        return False
    logger.warning("a socket was refused: %s", why)
    offered: list[str] = websocket.scope.get("subprotocols", [])
    # A browser drops a socket that accepts none of its offered subprotocols.
    await websocket.accept(next((one for one in offered if not one.startswith(KEY_SUBPROTOCOL)), None))
    await websocket.close(POLICY_VIOLATION, close_reason(why))
    return True


def close_reason(text: str) -> str:
    """Cut the sentence to what a close frame takes."""
    return text.encode()[:MAX_REASON_BYTES].decode(errors="ignore")


def chosen_dialect(websocket: WebSocket, providers: Mapping[str, str] | None) -> NativeDialect | AgentScope1Dialect:
    """Choose our own dialect that the socket asks for, as `realtime.dialects.choose`. Raises ClientError."""
    return choose(
        websocket.scope.get("subprotocols", ()),
        websocket.query_params.get("dialect"),
        now=asyncio.get_running_loop().time,
        providers=providers,
    )


async def refuse(
    websocket: WebSocket,
    error: ClientError,
    reason: str,
    *,
    code: int = POLICY_VIOLATION,
    subprotocol: str | None = None,
) -> None:
    """Accept the socket, write the error event, and close it."""
    await websocket.accept(subprotocol)
    await websocket.send_json(error_event(error).model_dump())
    await websocket.close(code, reason)
