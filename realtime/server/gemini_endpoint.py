"""The endpoint for Gemini Live clients; they change only their base URL."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

from fastapi import APIRouter, WebSocket

from realtime.dialects.gemini.dialect import BAD_KEY, GeminiDialect
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import LONGEST_MESSAGE_BYTES, ServerSettings
from realtime.server.sockets import ClientSocket
from realtime.server.turn_away import turn_away

logger = logging.getLogger(__name__)

PATH = "/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
CONSTRAINED_PATH = f"{PATH}Constrained"
"""The path of SDK clients whose key looks like an ephemeral token."""
SETUP_S = 0.2
"""Seconds for a client with a wrong key to send its setup.

The SDK reads the close reason only after that.
"""
SESSION = "live"
"""The label of every call here: clients have none of their own, and resume by a handle alone."""
MAX_FRAME_SIZE = LONGEST_MESSAGE_BYTES
"""Characters or bytes in one frame, enough for long speech. The service documents no limit."""


def gemini_endpoint(
    make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings, gate: Gate | None = None
) -> APIRouter:
    """Return a router with the WebSocket of `BidiGenerateContent`, in every API version.

    Its calls are counted among `calls`. The server's token, if any, is the API key: `?key=`, `x-goog-api-key`, or in
    the place of an ephemeral token. A wrong key closes the socket as the service does. `make_agent` finds the name of
    the model in `config.model`, without `models/`.
    """
    gate = gate or Gate(settings)
    settings = dataclasses.replace(
        settings,
        max_text_chars=max(settings.max_text_chars, MAX_FRAME_SIZE),
        max_binary_bytes=max(settings.max_binary_bytes, MAX_FRAME_SIZE),
    )
    router = APIRouter()

    # With a base URL that ends in a slash, the SDK dials two slashes.
    @router.websocket(PATH)
    @router.websocket(CONSTRAINED_PATH)
    @router.websocket(f"/{PATH}")
    @router.websocket(f"/{CONSTRAINED_PATH}")
    async def gemini_live(websocket: WebSocket) -> None:
        refusal = gate.wrong_origin(websocket)
        if refusal is not None:
            await turn_away(websocket, refusal)
            return
        await websocket.accept()
        if not gate.shows_token(websocket, _ephemeral_tokens(websocket)):
            logger.warning("a socket was refused: it showed no key or a wrong one")
            # Without a key no frame is read, not even the setup that the service waits for.
            await asyncio.sleep(SETUP_S)
            await websocket.close(*BAD_KEY)
            return
        runtime = calls.make_runtime(asyncio.get_running_loop())
        dialect = GeminiDialect(runtime, life_s=settings.limits.call_s, drain_s=settings.drain_s)
        socket = ClientSocket(
            websocket,
            dialect=dialect,
            user="gemini",
            session_id=SESSION,
            address=gate.address(websocket),
            make_agent=make_agent,
            calls=calls,
            settings=settings,
            only_call=dialect,
            more=dialect.more,
        )
        await socket.serve()

    return router


def _ephemeral_tokens(websocket: WebSocket) -> list[str]:
    """Keys found where clients put ephemeral tokens; this server issues none, so an API key may be there."""
    scheme, _, given = websocket.headers.get("authorization", "").partition(" ")
    return [websocket.query_params.get("access_token", ""), given.strip() if scheme.lower() == "token" else ""]
