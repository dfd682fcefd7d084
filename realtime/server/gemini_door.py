"""The door for programs that speak the Gemini Live protocol; they change their base URL."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets

from fastapi import APIRouter, WebSocket

from realtime.dialects.gemini import BAD_KEY, GeminiDialect
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.settings import ServerSettings
from realtime.server.sockets import ClientSocket, MakeAgent

logger = logging.getLogger(__name__)

PATH = "/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
CONSTRAINED_PATH = f"{PATH}Constrained"
"""Where clients of the SDK go whose key looks like an ephemeral token."""
SETUP_WAIT_S = 5.0
"""How long a client with a wrong key is waited for."""
MAX_FRAME_SIZE = 8_388_608
"""Characters or bytes in one frame, so that images and long histories pass. The service names no limit."""


def gemini_door(make_agent: MakeAgent, *, calls: Calls, settings: ServerSettings) -> APIRouter:
    """A router with the WebSocket of `BidiGenerateContent`, in every API version; its calls are counted among `calls`.

    The token, where the server has one, is the API key: `?key=`, `x-goog-api-key`, or as an ephemeral token is shown. A
    wrong one closes the socket as at the service. `make_agent` finds the name of the model in `config.model`, without
    `models/`.
    """
    gate = Gate(settings)
    settings = dataclasses.replace(
        settings,
        max_text_chars=max(settings.max_text_chars, MAX_FRAME_SIZE),
        max_binary_bytes=max(settings.max_binary_bytes, MAX_FRAME_SIZE),
    )
    router = APIRouter()

    # With a base URL that ends in a slash the SDK dials two of them.
    @router.websocket(PATH)
    @router.websocket(CONSTRAINED_PATH)
    @router.websocket(f"/{PATH}")
    @router.websocket(f"/{CONSTRAINED_PATH}")
    async def gemini_live(websocket: WebSocket) -> None:
        refusal = gate.wrong_origin(websocket)
        if refusal is not None:
            logger.warning("a socket was refused: %s", refusal)
            await websocket.close(1008, refusal)
            return
        await websocket.accept()
        if not gate.shows_token(websocket) and not _shows_ephemeral_token(websocket, settings):
            await _refuse_key(websocket)
            return
        runtime = calls.make_runtime(asyncio.get_running_loop())
        dialect = GeminiDialect(runtime, life_s=settings.limits.call_s, drain_s=settings.drain_s)
        socket = ClientSocket(
            websocket,
            dialect=dialect,
            user="gemini",
            session_id=runtime.new_id("session"),
            address=gate.address(websocket),
            make_agent=make_agent,
            calls=calls,
            settings=settings,
            only_call=dialect,
            more=dialect.more,
        )
        await socket.serve()

    return router


async def _refuse_key(websocket: WebSocket) -> None:
    """In answer to the setup, as the service does it: the SDK does not expect a close any sooner."""
    logger.warning("a socket was refused: it showed no key or a wrong one")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETUP_WAIT_S):
            if (await websocket.receive())["type"] == "websocket.disconnect":
                return
    await websocket.close(*BAD_KEY)


def _shows_ephemeral_token(websocket: WebSocket, settings: ServerSettings) -> bool:
    """Whether the server's token is shown where clients put ephemeral ones. This server makes none of its own."""
    if settings.token is None:
        return False
    scheme, _, given = websocket.headers.get("authorization", "").partition(" ")
    shown = [websocket.query_params.get("access_token", "")]
    if scheme.lower() == "token":
        shown.append(given.strip())
    wanted = settings.token.encode()
    return any(secrets.compare_digest(one.encode("utf-8", "surrogatepass"), wanted) for one in shown)
