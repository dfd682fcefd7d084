"""`/v1/realtime`: the endpoint for OpenAI realtime clients; they change only their base URL."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

from fastapi import APIRouter, Request, Response, WebSocket
from fastapi.responses import JSONResponse

from realtime.dialects.openai_family.client import EventRefusal, Json
from realtime.dialects.openai_family.openai import BETA_REFUSED, DEFAULT_MODEL, SUBPROTOCOL, OpenAIDialect
from realtime.event.server import error_event
from realtime.server.client_secrets import PREFIX as SECRET_PREFIX
from realtime.server.client_secrets import ClientSecrets
from realtime.server.gate import KEY_SUBPROTOCOL, Gate
from realtime.server.settings import LONGEST_MESSAGE_BYTES
from realtime.server.socket_endpoint import SocketEndpoint, turned_away
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.tool.mcp.of_client import ClientServers

logger = logging.getLogger(__name__)

PATH = "/v1/realtime"
USER = "openai"
"""The user of a call whose key names none."""
USER_HEADER = "openai-safety-identifier"
"""By which OpenAI's clients name the user for whom their program asks."""
OTHER_PATHS = (PATH, f"{PATH}/calls", f"{PATH}/sessions", f"{PATH}/transcription_sessions")
"""Where clients offer WebRTC, or ask for a beta session."""
BETA_SUBPROTOCOL = "openai-beta.realtime-v1"
MAX_TEXT_CHARS = LONGEST_MESSAGE_BYTES
"""More than a minute of speech in one frame. The service takes 15 MiB, which would delay all other calls."""
MODELS_PATH = "/v1/models"
GLOB = {"*", "?", "["}
HTTP_STATUS = {"invalid_api_key": 401, "wrong_origin": 403, "request_too_large": 413, "rate_limit_exceeded": 429}


def openai_endpoint(endpoint: SocketEndpoint) -> APIRouter:
    """Return a router with the WebSocket `/v1/realtime?model=...`.

    The server's token, if any, is the API key: `Authorization: Bearer`, or for pages the subprotocol
    `openai-insecure-api-key.TOKEN` beside `realtime`. `POST /v1/realtime/client_secrets` exchanges it for a short-lived
    key (`realtime.server.client_secrets`), for the user whom the header `OpenAI-Safety-Identifier` names, if any. A
    client token opens sessions as well, as its user. `GET /v1/models` lists the names that settings route, and one for
    the rest: every name opens a session. A wrong key gets an error event, then the socket is closed. `make_agent` finds
    the name of the model in `config.model`.
    """
    calls, gate, settings = endpoint.calls, endpoint.gate, endpoint.settings
    secrets = ClientSecrets()
    allowed = AllowedHosts(settings.client_mcp_hosts)
    body_bytes = settings.max_text_chars
    settings = dataclasses.replace(settings, max_text_chars=max(body_bytes, MAX_TEXT_CHARS))
    endpoint = dataclasses.replace(endpoint, settings=settings)
    router = APIRouter()

    @router.post(f"{PATH}/client_secrets")
    async def client_secrets(request: Request) -> Response:
        refusal = gate.wrong_origin(request)
        if refusal is not None:
            return _http_error(EventRefusal(refusal, code="wrong_origin"))
        try:
            if not gate.shows_token(request):
                raise _wrong_key()
            body = await _body(request, body_bytes)
            made = secrets.issue(body, calls.make_runtime(asyncio.get_running_loop()), request.headers.get(USER_HEADER))
            return JSONResponse(made, headers={"cache-control": "no-store"})
        except EventRefusal as error:
            return _http_error(error)

    async def not_served(request: Request) -> Response:
        return _http_error(
            EventRefusal(
                f"Only WebSockets are served here: WebRTC, SIP and beta sessions are not. Connect to {PATH}?model=... "
                f"with this server's token, or with a key of {PATH}/client_secrets.",
                code="not_served",
            )
        )

    for path in OTHER_PATHS:
        router.post(path)(not_served)

    @router.get(MODELS_PATH)
    async def models(request: Request) -> Response:
        names = dict.fromkeys((DEFAULT_MODEL, *(name for name in settings.routes if not GLOB & {*name})))
        return _unless_refused(gate, request, {"object": "list", "data": [_model(name) for name in names]})

    @router.get(f"{MODELS_PATH}/{{name:path}}")
    async def model(request: Request, name: str) -> Response:
        return _unless_refused(gate, request, _model(name))

    @router.websocket(PATH)
    async def openai_realtime(websocket: WebSocket) -> None:
        if await turned_away(websocket, gate.wrong_origin(websocket)):
            return
        runtime = calls.make_runtime(asyncio.get_running_loop())
        offered = websocket.scope.get("subprotocols", ())
        subprotocol = SUBPROTOCOL if SUBPROTOCOL in offered else None
        value = _client_secret(websocket)
        secret = secrets.find(value, runtime.wall_now()) if value is not None else None
        dialect = OpenAIDialect(
            websocket.query_params.get("model") or DEFAULT_MODEL,
            runtime,
            subprotocol=subprotocol,
            session_s=settings.limits.call_s,
            preset=secret.session if secret is not None else None,
            servers=ClientServers(allowed),
        )
        await websocket.accept(dialect.subprotocol)
        # A server's own token may begin like a secret; where no token is needed, a secret still has to be valid.
        is_known = secret is not None or (gate.opens_call(websocket) and (value is None or settings.token is not None))
        error = _impossible(websocket) if is_known else _wrong_key()
        if error is not None:
            logger.warning("a socket was refused: %s", error.message)
            for frame in dialect.encode(error_event(error)):
                await websocket.send_text(str(frame))
            await websocket.close(*dialect.farewell())
            return
        session_id = runtime.new_id("session")
        named = secret.user if secret is not None else gate.caller(websocket)
        await endpoint.serve(
            websocket,
            dialect,
            user=USER,
            session_id=session_id,
            known_user=named,
            only_call=dialect,
        )

    return router


def _client_secret(websocket: WebSocket) -> str | None:
    """Return the client secret sent as a key, valid or not; None where the key is no secret."""
    scheme, _, bearer = websocket.headers.get("authorization", "").partition(" ")
    shown = [bearer.strip()] if scheme.lower() == "bearer" else []
    offered: list[str] = websocket.scope.get("subprotocols", [])
    shown += [one.removeprefix(KEY_SUBPROTOCOL) for one in offered if one.startswith(KEY_SUBPROTOCOL)]
    return next((key for key in shown if key.startswith(SECRET_PREFIX)), None)


def _unless_refused(gate: Gate, request: Request, answer: Json) -> Response:
    if (refusal := gate.wrong_origin(request)) is not None:
        return _http_error(EventRefusal(refusal, code="wrong_origin"))
    return JSONResponse(answer) if gate.shows_token(request) else _http_error(_wrong_key())


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "realtime"}


def _wrong_key() -> EventRefusal:
    return EventRefusal(
        "Incorrect API key provided: give this server's token, or a client secret that is still valid.",
        code="invalid_api_key",
    )


def _impossible(websocket: WebSocket) -> EventRefusal | None:
    """Return why this socket cannot have a session, whatever its key; None: it can."""
    # A browser sends no headers of its own: it names the beta as a subprotocol.
    by_subprotocol = BETA_SUBPROTOCOL in websocket.scope.get("subprotocols", ())
    if by_subprotocol or "realtime=v1" in websocket.headers.get("openai-beta", ""):
        named = f"subprotocol {BETA_SUBPROTOCOL}" if by_subprotocol else "header OpenAI-Beta"
        return EventRefusal(
            f"The beta protocol is not served: leave the {named} out, and use the GA events.",
            code=BETA_REFUSED,
        )
    if "call_id" in websocket.query_params:
        return EventRefusal("Calls over WebRTC and SIP are not served here: give a model.", code="invalid_value")
    if websocket.query_params.get("intent", "realtime") != "realtime":
        return EventRefusal("Transcription sessions are not served here.", code="invalid_value")
    return None


async def _body(request: Request, max_bytes: int) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise EventRefusal(f"The request is larger than {max_bytes} bytes.", code="request_too_large")
    return body


def _http_error(error: EventRefusal) -> Response:
    told = {"message": error.message, "type": "invalid_request_error", "param": error.param, "code": error.code}
    return JSONResponse({"error": told}, HTTP_STATUS.get(error.code, 400))
