"""The product's own application: socket, page, health checks and server information."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

from realtime.event.frames import SUBPROTOCOL
from realtime.model.local.engine import SpeechEngine
from realtime.options import checked
from realtime.server.calls import Calls
from realtime.server.calls_api import Cases
from realtime.server.connections import Connections, highest_descriptor
from realtime.server.embedding import Embedding, page_folder, with_loopback_names
from realtime.server.endpoints import endpoint_routers
from realtime.server.gate import COOKIE, Gate
from realtime.server.make_agent import MakeAgent
from realtime.server.rooms import Rooms
from realtime.server.router import voice_router
from realtime.server.settings import ServerSettings
from realtime.server.socket_endpoint import SocketEndpoint
from realtime.server.user_memories import MakeMemory
from realtime.server.warming import Warming
from realtime.state.redaction import Redact
from realtime.state.sessions import StoredSession
from realtime.version import __version__

SECURITY_HEADERS = {
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self)",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

CONTENT_POLICY = (
    "default-src 'self'; connect-src {connect}; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "{scripts}frame-ancestors {ancestors}"
)
TLS_ONLY = "max-age=15552000"
"""Half a year: a browser that trusts the certificate then connects over TLS only."""

NO_PAGE = (
    "The page is not in this installation: run `make serve` in a clone of the project, or build it there with\n"
    "`npm ci && npm run build` in web/. The socket /ws/{user_id}/{session_id} works without it.\n"
)


@dataclasses.dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a page may know before a call.

    `model` is described as in `agent_ready` (None where unknown); `notices` say what is missing. `agent_name` is empty
    where it is not known.
    """

    model: dict[str, object] | None = None
    notices: tuple[str, ...] = ()
    agent_name: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ModelOffer:
    """The answer of `GET /api/models`.

    `models` are those that a call may request with `config.model_provider`, each as
    `realtime.server.models.Models.describe` gives it; `default` names the one it gets otherwise.
    """

    default: str | None = None
    models: Sequence[Mapping[str, Any]] = ()


@checked()
def create_app(
    make_agent: MakeAgent,
    settings: ServerSettings | None = None,
    *,
    info: Callable[[], Awaitable[ServerInfo]] | None = None,
    offer: Callable[[], Awaitable[ModelOffer]] | None = None,
    page_providers: Mapping[str, str] | None = None,
    cases: Cases | None = None,
    rooms: Rooms | None = None,
    is_ready: Callable[[], bool] = lambda: True,
    lifespan: Lifespan[FastAPI] | None = None,
    engine: SpeechEngine | None = None,
    warming: Warming | None = None,
    session: StoredSession | None = None,
    redact: Redact | None = None,
    memory: MakeMemory | None = None,
) -> FastAPI:
    """Create an application with socket, page, API and endpoints.

    It serves the page at `/`, the client package at `/client/`, `/healthz`, `/readyz`, `GET /api/info`,
    `GET /api/models`, the endpoints of `settings.endpoints` (`realtime.server.endpoints`) and, with `settings.a2a`,
    what other agents need (`a2a_router`).

    `info` answers `/api/info`; without it, the answer is the model of the latest call. `offer` answers `/api/models`;
    without it, there is nothing to choose. `page_providers`, `cases`, `rooms`, `engine`, `warming`,
    `session`, `memory` and `redact` go to `voice_router`. `/readyz` waits for the embedded model, and calls
    `is_ready`. `lifespan` is FastAPI's.
    `app.state.calls` holds the calls, `app.state.settings` the settings, and `app.state.connections` counts connections
    under `realtime serve`.
    """
    settings = settings or ServerSettings()
    gate = Gate(settings)
    router = voice_router(
        make_agent,
        settings=settings,
        gate=gate,
        page_providers=page_providers,
        cases=cases,
        rooms=rooms,
        engine=engine,
        warming=warming,
        session=session,
        redact=redact,
        memory=memory,
    )
    calls, folder = router.calls, page_folder()
    others = _a2a_routers(make_agent, settings, gate, calls)

    @asynccontextmanager
    async def whole(app: FastAPI) -> AsyncIterator[Any]:
        async with lifespan(app) if lifespan is not None else nullcontext() as state, AsyncExitStack() as stack:
            for part in (router, *others):
                await stack.enter_async_context(part.lifespan_context(app))
            yield state

    app = FastAPI(
        title="realtime",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=whole,
    )
    app.state.calls = calls
    app.state.settings = settings
    app.state.connections = Connections(
        settings.max_calls_per_address + settings.max_connections_per_address,
        highest_descriptor(settings.reserved_files),
    )
    # As they are: `include_router` would analyse each route again.
    for part in (router, *others, *endpoint_routers(SocketEndpoint(make_agent, calls, settings, gate))):
        app.router.routes.extend(part.routes)
    if settings.embed_origins:
        app.add_middleware(Embedding, origins=settings.embed_origins)
    app.add_middleware(
        SecurityHeaders,
        gate=gate,
        connect_origins=settings.connect_origins,
        embed_origins=settings.embed_origins,
        scripts=inline_scripts(folder / "index.html" if folder is not None else None),
    )

    @app.api_route("/healthz", methods=["GET", "HEAD"])
    async def healthz() -> Response:
        return JSONResponse({"status": "ok"})

    @app.get("/readyz")
    async def readyz() -> Response:
        if calls.draining:
            status = "draining"
        elif calls.admission.load.overloaded:
            status = "overloaded"
        else:
            status = "ok" if router.warming.ready and is_ready() else "starting"
        told: dict[str, object] = {"status": status, "calls": calls.running}
        if calls.archive is not None:
            # A server whose store fails still takes calls: they continue in memory.
            told["store"] = calls.archive.trouble or "ok"
        return JSONResponse(told, 200 if status == "ok" else 503)

    @app.get("/api/info")
    async def api_info(request: Request) -> Response:
        if (refusal := gate.http_refusal(request, to_call=True)) is not None:
            return refusal
        known = await info() if info is not None else ServerInfo(model=calls.model, agent_name=calls.agent_name)
        told = {
            "model": known.model,
            "agent_name": known.agent_name,
            "suggestions": (known.model or {}).get("suggestions", []),
            "notices": known.notices,
            "version": __version__,
            "protocols": [SUBPROTOCOL],
        }
        return JSONResponse(told)

    @app.get("/api/models")
    async def api_models(request: Request) -> Response:
        if (refusal := gate.http_refusal(request, to_call=True)) is not None:
            return refusal
        offered = await offer() if offer is not None else ModelOffer()
        return JSONResponse({"default": offered.default, "models": [*offered.models]})

    @app.api_route("/", methods=["GET", "HEAD"])
    async def page(request: Request) -> Response:
        if folder is None:
            return PlainTextResponse(NO_PAGE, 503)
        response = FileResponse(folder / "index.html")
        if request.query_params.get("token") and (session := gate.page_session(request)) is not None:
            response.set_cookie(COOKIE, session, httponly=True, samesite="strict", secure=gate.is_secure(request))
        return response

    if (brand := settings.brand) is not None:

        @app.get("/brand.css")
        async def brand_css() -> Response:
            return FileResponse(brand, media_type="text/css", headers={"cache-control": "no-cache"})

    if folder is not None:
        app.mount("/", StaticFiles(directory=folder))
    return app


def _a2a_routers(make_agent: MakeAgent, settings: ServerSettings, gate: Gate, calls: Calls) -> list[APIRouter]:
    """Return the router for other agents, where the settings ask for one. Raises UsageError without its package."""
    if not settings.a2a:
        return []
    # An extra: a server without it loads neither the SDK nor what it needs.
    from realtime.server.a2a_router import a2a_router

    return [a2a_router(make_agent, push_hosts=settings.a2a_push_hosts, settings=settings, gate=gate, calls=calls)]


def inline_scripts(page: Path | None) -> str:
    """Return the part of a policy that allows a page's own scripts."""
    text = page.read_text(encoding="utf-8") if page is not None else ""
    scripts = [one.partition("</script>")[0] for one in text.split("<script>")[1:]]
    digests = [hashlib.sha256(one.encode()).digest() for one in scripts]
    hashes = [f"'sha256-{base64.b64encode(one).decode()}'" for one in digests]
    return " ".join(["script-src 'self'", *hashes]) + "; " if hashes else ""


class SecurityHeaders:
    """Adds security headers to every HTTP response.

    These are `SECURITY_HEADERS`, the page's policy unless the response has its own and, over TLS,
    `Strict-Transport-Security`. Sockets pass unchanged.
    """

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        connect_origins: Sequence[str] = (),
        embed_origins: Sequence[str] = (),
        scripts: str = "",
    ) -> None:
        self._app = app
        self._gate = gate
        # A policy names no address of IPv6.
        framing = [origin for origin in with_loopback_names(embed_origins) if "[" not in origin]
        ancestors = " ".join(["'self'", *framing]) if embed_origins else "'none'"
        connect = " ".join(["'self'", *connect_origins])
        policy = CONTENT_POLICY.format(connect=connect, scripts=scripts, ancestors=ancestors)
        self._policy, self._headers = policy, SECURITY_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # The names of the page's files are fixed, so a browser revalidates its copy each time.
                headers.setdefault("cache-control", "no-cache")
                headers.update(self._headers)
                headers.setdefault("content-security-policy", self._policy)
                if self._gate.is_secure(HTTPConnection(scope)):
                    headers["strict-transport-security"] = TLS_ONLY
            await send(message)

        await self._app(scope, receive, send_with_headers)
