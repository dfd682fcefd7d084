"""`/v1/realtime`: the door for programs that speak the OpenAI realtime protocol; they change their base URL."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

from fastapi import APIRouter, WebSocket

from realtime.dialects.openai import DEFAULT_MODEL, SUBPROTOCOL, OpenAIDialect, Refusal
from realtime.runtime import Runtime
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.settings import ServerSettings
from realtime.server.sockets import ClientSocket, MakeAgent
from realtime.session import error_event

logger = logging.getLogger(__name__)

PATH = "/v1/realtime"
MAX_TEXT_CHARS = 16_777_216
"""The service takes 15 MiB of base64 in one frame."""


def openai_door(make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings) -> APIRouter:
    """A router with the WebSocket `/v1/realtime?model=...`; its calls are counted among `calls`.

    The token, where the server has one, is the API key: `Authorization: Bearer`, or for pages the subprotocol
    `openai-insecure-api-key.TOKEN` beside `realtime`. A wrong one is told as an error event, then the socket is closed.
    `make_agent` finds the name of the model in `config.model`.
    """
    gate = Gate(settings)
    settings = dataclasses.replace(settings, max_text_chars=max(settings.max_text_chars, MAX_TEXT_CHARS))
    router = APIRouter()

    @router.websocket(PATH)
    async def openai_realtime(websocket: WebSocket) -> None:
        refusal = gate.wrong_origin(websocket)
        if refusal is not None:
            logger.warning("a socket was refused: %s", refusal)
            await websocket.close(1008, refusal)
            return
        runtime = Runtime.of_loop(asyncio.get_running_loop())
        offered = websocket.scope.get("subprotocols", ())
        subprotocol = SUBPROTOCOL if SUBPROTOCOL in offered else None
        query = websocket.query_params
        dialect = OpenAIDialect(query.get("model") or DEFAULT_MODEL, runtime, subprotocol=subprotocol)
        await websocket.accept(dialect.subprotocol)
        error = _impossible(gate, websocket)
        if error is not None:
            for frame in dialect.encode(error_event(error)):
                await websocket.send_text(str(frame))
            await websocket.close(*dialect.farewell())
            return
        socket = ClientSocket(
            websocket,
            dialect=dialect,
            user="openai",
            session_id=runtime.new_id("session"),
            address=gate.address(websocket),
            make_agent=make_agent,
            calls=calls,
            settings=settings,
            only_call=dialect,
        )
        await socket.serve()

    return router


def _impossible(gate: Gate, websocket: WebSocket) -> Refusal | None:
    """Why this socket cannot have a session."""
    if not gate.shows_token(websocket):
        return Refusal("Incorrect API key provided: this server's token is the key to give.", code="invalid_api_key")
    if "call_id" in websocket.query_params:
        return Refusal("Calls over WebRTC and SIP are not served here: give a model.", code="invalid_value")
    if websocket.query_params.get("intent", "realtime") != "realtime":
        return Refusal("Transcription sessions are not served here.", code="invalid_value")
    return None
