"""`/api-ws/v1/realtime`: the endpoint for DashScope omni realtime clients; they change only their URL."""

from __future__ import annotations

import asyncio
import logging

from fastapi import APIRouter, WebSocket
from starlette.responses import PlainTextResponse

from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import ServerSettings
from realtime.server.sockets import ClientSocket
from realtime.server.turn_away import turn_away

logger = logging.getLogger(__name__)

PATH = "/api-ws/v1/realtime"
DENIAL = "websocket.http.response"
"""The ASGI extension that lets a handshake be refused with any status; without it, the status is 403."""


def dashscope_endpoint(
    make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings, gate: Gate | None = None
) -> APIRouter:
    """Return a router with the WebSocket `/api-ws/v1/realtime?model=...`.

    Its calls are counted among `calls`. The server's token, if any, is the API key: `Authorization: Bearer`. A wrong
    key gets HTTP 401, a missing model HTTP 400. `make_agent` finds the name of the model in `config.model`.
    """
    gate = gate or Gate(settings)
    router = APIRouter()

    @router.websocket(PATH)
    async def dashscope_realtime(websocket: WebSocket) -> None:
        refusal = gate.wrong_origin(websocket)
        if refusal is not None:
            await turn_away(websocket, refusal)
            return
        if not gate.shows_token(websocket):
            await _deny(websocket, 401, "InvalidApiKey: this server's token is the key to give")
            return
        model = websocket.query_params.get("model")
        if not model:
            await _deny(websocket, 400, "InvalidParameter: give a model in the URL, ?model=")
            return
        runtime = calls.make_runtime(asyncio.get_running_loop())
        dialect = DashScopeDialect(model, runtime, idle_s=settings.limits.idle_s)
        await websocket.accept()
        socket = ClientSocket(
            websocket,
            dialect=dialect,
            user="dashscope",
            session_id=runtime.new_id("session"),
            address=gate.address(websocket),
            make_agent=make_agent,
            calls=calls,
            settings=settings,
            only_call=dialect,
        )
        await socket.serve()

    return router


async def _deny(websocket: WebSocket, status: int, why: str) -> None:
    """Refuse the handshake with this status and reason."""
    logger.warning("a socket was refused: %s", why)
    if DENIAL in websocket.scope.get("extensions", {}):
        await websocket.send_denial_response(PlainTextResponse(why, status))
    else:
        await websocket.close(1008, why)
