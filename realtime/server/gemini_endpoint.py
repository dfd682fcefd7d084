"""The endpoint for Gemini Live clients; they change only their base URL."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

from fastapi import APIRouter, WebSocket

from realtime.dialects.gemini.dialect import BAD_KEY, GeminiDialect
from realtime.server.client_tokens import PREFIX as CLIENT_TOKEN
from realtime.server.settings import LONGEST_MESSAGE_BYTES
from realtime.server.socket_endpoint import SocketEndpoint, turned_away

logger = logging.getLogger(__name__)

PATH = "/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
CONSTRAINED_PATH = f"{PATH}Constrained"
"""The path of SDK clients whose key looks like an ephemeral token."""
SETUP_S = 0.2
"""Seconds for a client with a wrong key to send its setup.

The SDK reads the close reason only after that.
"""
USER = "gemini"
"""The user of a call whose key names none."""
SESSION = "live"
"""The label of every call here: clients have none of their own, and resume by a handle alone."""
EPHEMERAL = "auth_tokens/"
MAX_FRAME_SIZE = LONGEST_MESSAGE_BYTES
"""Characters or bytes in one frame, enough for long speech. The service documents no limit."""


def gemini_endpoint(endpoint: SocketEndpoint) -> APIRouter:
    """Return a router with the WebSocket of `BidiGenerateContent`, in every API version.

    The server's token, if any, is the API key: `?key=`, `x-goog-api-key`, or in the place of an ephemeral token; or a
    client token, whose user calls then. A wrong key closes the socket as the service does. `make_agent` finds the name
    of the model in `config.model`, without `models/`.
    """
    gate, settings = endpoint.gate, endpoint.settings
    settings = dataclasses.replace(
        settings,
        max_text_chars=max(settings.max_text_chars, MAX_FRAME_SIZE),
        max_binary_bytes=max(settings.max_binary_bytes, MAX_FRAME_SIZE),
    )
    endpoint = dataclasses.replace(endpoint, settings=settings)
    router = APIRouter()

    # With a base URL that ends in a slash, the SDK dials two slashes.
    @router.websocket(PATH)
    @router.websocket(CONSTRAINED_PATH)
    @router.websocket(f"/{PATH}")
    @router.websocket(f"/{CONSTRAINED_PATH}")
    async def gemini_live(websocket: WebSocket) -> None:
        if await turned_away(websocket, gate.wrong_origin(websocket)):
            return
        await websocket.accept()
        tokens = _ephemeral_tokens(websocket)
        if not gate.opens_call(websocket, tokens):
            logger.warning("a socket was refused: it showed no key or a wrong one")
            # Without a key no frame is read, not even the setup that the service waits for.
            await asyncio.sleep(SETUP_S)
            await websocket.close(*BAD_KEY)
            return
        runtime = endpoint.calls.make_runtime(asyncio.get_running_loop())
        dialect = GeminiDialect(runtime, life_s=settings.limits.call_s, drain_s=settings.drain_s)
        await endpoint.serve(
            websocket,
            dialect,
            user=USER,
            session_id=SESSION,
            known_user=gate.caller(websocket, tokens),
            only_call=dialect,
        )

    return router


def _ephemeral_tokens(websocket: WebSocket) -> list[str]:
    """Keys found where clients put ephemeral tokens; this server issues none, so an API key may be there.

    The SDK takes for one what begins with `auth_tokens/`, which may stand before a client token.
    """
    scheme, _, given = websocket.headers.get("authorization", "").partition(" ")
    found = [websocket.query_params.get("access_token", ""), given.strip() if scheme.lower() == "token" else ""]
    bare = [one.removeprefix(EPHEMERAL) for one in found]
    return [short if short.startswith(CLIENT_TOKEN) else whole for whole, short in zip(found, bare, strict=True)]
