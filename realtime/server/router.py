"""The documented WebSocket as a router for any FastAPI application."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response, WebSocket, params
from fastapi.responses import JSONResponse

from realtime.errors import ClientError
from realtime.model.local.engine import SpeechEngine, use_engine
from realtime.options import checked
from realtime.server.archive import Archive
from realtime.server.caller_sessions import CallerSessions
from realtime.server.calls import Calls
from realtime.server.calls_api import Cases, calls_router
from realtime.server.client_tokens import MAX_BODY_BYTES
from realtime.server.connections import OpenFiles
from realtime.server.embedding import client_route
from realtime.server.gate import Gate
from realtime.server.make_agent import MakeAgent, check_make_agent
from realtime.server.memories_api import memories_router
from realtime.server.models import PAGE_PROVIDERS
from realtime.server.models import page_providers as providers_with_key
from realtime.server.record_deliveries import RecordDeliveries
from realtime.server.recordings import Recordings
from realtime.server.retention import Retention, Rules, aged_of
from realtime.server.rooms import Rooms
from realtime.server.rooms_router import rooms_router, short_body
from realtime.server.settings import ServerSettings
from realtime.server.socket_endpoint import SocketEndpoint, chosen_dialect, refuse, turned_away
from realtime.server.user_memories import MakeMemory, UserMemories
from realtime.server.warming import Warming, embedded_model_of
from realtime.server.webhook import Webhook
from realtime.state.open import open_store
from realtime.state.quota import Quota
from realtime.state.redaction import Redact, Redaction
from realtime.state.sessions import StoredSession

logger = logging.getLogger(__name__)


class VoiceRouter(APIRouter):
    """A router with the socket, and the calls that came through it."""

    calls: Calls
    warming: Warming
    """Loads the embedded model of its agents."""


@checked()
def voice_router(
    make_agent: MakeAgent,
    prefix: str = "",
    *,
    settings: ServerSettings | None = None,
    gate: Gate | None = None,
    dependencies: Sequence[params.Depends] | None = None,
    page_providers: Mapping[str, str] | None = None,
    cases: Cases | None = None,
    rooms: Rooms | None = None,
    engine: SpeechEngine | None = None,
    warming: Warming | None = None,
    session: StoredSession | None = None,
    redact: Redact | None = None,
    memory: MakeMemory | None = None,
) -> VoiceRouter:
    """Return a router with the WebSocket `{prefix}/ws/{user_id}/{session_id}` and the calls over HTTP.

    It also serves the calls (`realtime.server.calls_api`), `POST {prefix}/api/client_tokens`
    (`realtime.server.client_tokens`), the client package for pages at `{prefix}/client/`, and what AgentScope 1.x pages
    request before they connect: `{prefix}/api/check-models` and `{prefix}/model_availability`.

    `make_agent` makes the agent of each call (see `MakeAgent`). `dependencies` run before the socket is accepted; one
    that raises `WebSocketException` or `HTTPException` refuses it; the client package is for everyone. `gate` is the
    server's; None: the router makes one.
    `page_providers` maps the providers that those pages may choose to values of `config.model_provider`; None: those
    whose key is set, under their own names. `cases` makes test cases of calls; None: there are none. `rooms` are the
    rooms at `{prefix}/rooms/{room_id}/ws`; None: there are none. `engine` holds the speech parts of its calls; None:
    the installed ones. `warming` loads the embedded model when the application starts; None: that which `make_agent`
    names, if any. `session` keeps what the agents remember of users whose client token names them, for their next
    call (docs/memory.md); it stays open. `memory` makes the long-term memory of such a user, for agents that have none,
    and for `{prefix}/api/memories` (`realtime.server.memories_api`). `redact` takes secrets out of each text that is
    stored (docs/operations.md). When the application stops, its calls are ended.
    """
    settings = settings or ServerSettings()
    offered = providers_with_key() if page_providers is None else page_providers
    gate = gate or Gate(settings)
    redaction = Redaction(redact) if redact is not None else None
    archive = _archive(settings, redaction)
    recordings = Recordings(Path(settings.recordings)) if settings.recordings is not None else None
    calls = Calls(
        max_per_address=settings.max_calls_per_address,
        max_total=settings.max_calls,
        max_lag_ms=settings.max_lag_ms,
        max_busy=settings.max_busy,
        archive=archive,
        recordings=recordings,
        files=OpenFiles(settings.reserved_files),
        callers=CallerSessions(session, redaction) if session is not None else None,
        memories=UserMemories(memory, redaction) if memory is not None else None,
    )

    deliveries = None
    if settings.record_webhook is not None:
        webhook = Webhook.of(settings.record_webhook, settings.record_webhook_addresses)
        deliveries = RecordDeliveries(webhook, archive, redaction)
        calls.on_call.append(deliveries.follow)
    rules = Rules(settings.keep_s, settings.keep_bytes)
    aged = aged_of(settings, recordings, calls.sessions.__contains__)
    retention = Retention(calls, archive, rules, aged) if archive is not None or aged else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if engine is not None:
            use_engine(engine)
        if retention is not None:
            retention.start()
        if deliveries is not None:
            deliveries.start()
        async with warmed.lifespan(None):
            yield
        if retention is not None:
            await retention.stop()
        # `realtime serve` has drained before (`Server.shutdown` in runner.py); other servers do it here.
        await calls.drain(settings.drain_s)
        if calls.callers is not None:
            await calls.callers.close()
        if deliveries is not None:
            await deliveries.close()
        if archive is not None:
            await archive.close()
        if recordings is not None:
            recordings.close()
        if rooms is not None:
            await rooms.close()

    check_make_agent(make_agent)
    warmed = warming or Warming(partial(embedded_model_of, make_agent), logger.info)
    router = VoiceRouter(prefix=prefix, lifespan=lifespan, dependencies=dependencies)
    router.calls, router.warming = calls, warmed
    endpoint = SocketEndpoint(make_agent, calls, settings, gate)

    @router.websocket("/ws/{user_id}/{session_id}")
    async def voice(websocket: WebSocket, user_id: str, session_id: str) -> None:
        if await turned_away(websocket, gate.refusal(websocket, to_call=True)):
            return
        try:
            dialect = chosen_dialect(websocket, offered)
        except ClientError as error:
            await refuse(websocket, error, "unknown dialect")
            return
        await websocket.accept(dialect.subprotocol)
        named = gate.caller(websocket)
        await endpoint.serve(websocket, dialect, user=user_id, session_id=session_id, known_user=named)

    @router.get("/api/check-models")
    @router.get("/model_availability")
    async def check_models(request: Request) -> Response:
        return gate.http_refusal(request) or JSONResponse({name: name in offered for name in PAGE_PROVIDERS})

    @router.post("/api/client_tokens")
    async def client_tokens(request: Request) -> Response:
        if (refusal := gate.http_refusal(request)) is not None:
            return refusal
        try:
            issued = gate.client_tokens.issue(await short_body(request, MAX_BODY_BYTES))
        except ClientError as error:
            status = {"malformed_json": 400, "request_too_large": 413, "too_many_tokens": 429}.get(error.code, 422)
            return JSONResponse({"code": error.code, "error": error.message}, status)
        return JSONResponse(issued, headers={"cache-control": "no-store"})

    if (client := client_route(prefix)) is not None:
        router.routes.append(client)
    # Their routes are added as they are: `include_router` would analyse each again, which takes longer than all else.
    parts = [calls_router(calls, gate, settings, cases, prefix=prefix, dependencies=dependencies)]
    if rooms is not None:
        parts.append(
            rooms_router(
                rooms,
                prefix,
                settings=settings,
                gate=gate,
                calls=calls,
                page_providers=offered,
                dependencies=dependencies,
            )
        )
    if calls.memories is not None:
        parts.append(memories_router(calls.memories, gate, settings, prefix, dependencies=dependencies))
    for part in parts:
        router.routes.extend(part.routes)
    return router


def _archive(settings: ServerSettings, redaction: Redaction | None) -> Archive | None:
    if settings.store is None:
        return None
    quota = Quota(call_bytes=settings.max_kept_bytes_per_call, address_bytes=settings.max_kept_bytes_per_address)
    return Archive(open_store(settings.store), resume_s=settings.resume_s, quota=quota, redaction=redaction)
