"""`/api-ws/v1/realtime`: the endpoint for DashScope omni realtime clients; they change only their URL."""

from __future__ import annotations

import asyncio
import logging

from fastapi import APIRouter, WebSocket
from starlette.responses import PlainTextResponse

from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.server.socket_endpoint import SocketEndpoint, turned_away

logger = logging.getLogger(__name__)

PATH = "/api-ws/v1/realtime"
USER = "dashscope"
"""The user of a call whose key names none."""
DENIAL = "websocket.http.response"
"""The ASGI extension that lets a handshake be refused with any status; without it, the status is 403."""


def dashscope_endpoint(endpoint: SocketEndpoint) -> APIRouter:
    """Return a router with the WebSocket `/api-ws/v1/realtime?model=...`.

    The server's token, if any, is the API key: `Authorization: Bearer`; or a client token, whose user calls then. A
    wrong key gets HTTP 401, a missing model HTTP 400. `make_agent` finds the name of the model in `config.model`.
    """
    gate = endpoint.gate
    router = APIRouter()

    @router.websocket(PATH)
    async def dashscope_realtime(websocket: WebSocket) -> None:
        if await turned_away(websocket, gate.wrong_origin(websocket)):
            return
        if not gate.opens_call(websocket):
            await _deny(websocket, 401, "InvalidApiKey: this server's token is the key to give")
            return
        model = websocket.query_params.get("model")
        if not model:
            await _deny(websocket, 400, "InvalidParameter: give a model in the URL, ?model=")
            return
        runtime = endpoint.calls.make_runtime(asyncio.get_running_loop())
        dialect = DashScopeDialect(model, runtime, idle_s=endpoint.settings.limits.idle_s)
        await websocket.accept()
        session_id = runtime.new_id("session")
        await endpoint.serve(
            websocket,
            dialect,
            user=USER,
            session_id=session_id,
            known_user=gate.caller(websocket),
            only_call=dialect,
        )

    return router


async def _deny(websocket: WebSocket, status: int, why: str) -> None:
    """Refuse the handshake with this status and reason."""
    logger.warning("a socket was refused: %s", why)
    if DENIAL in websocket.scope.get("extensions", {}):
        await websocket.send_denial_response(PlainTextResponse(why, status))
    else:
        await websocket.close(1008, why)
