"""Agent to Agent: the agent card and both bindings of the protocol, in both of its versions."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from realtime.errors import INSTALL_A2A, ClientError, UsageError
from realtime.options import checked
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.make_agent import MakeAgent, check_make_agent
from realtime.server.rooms_router import short_body
from realtime.server.settings import ServerSettings

try:
    from a2a.auth.user import User
    from a2a.server.agent_execution import AgentExecutor, SimpleRequestContextBuilder
    from a2a.server.context import ServerCallContext
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import (
        DefaultServerCallContextBuilder,
        create_agent_card_routes,
        create_jsonrpc_routes,
        create_rest_routes,
    )
    from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
except ImportError as error:
    raise UsageError(f"Agent to Agent needs the package a2a-sdk: {INSTALL_A2A}", code="missing_package") from error

from realtime.a2a.call_executor import CALLER, CallContexts, Caller, CallExecutor
from realtime.a2a.kept_tasks import KeptReceivers, KeptTasks
from realtime.a2a.own_card import CardText, own_card
from realtime.a2a.push import Notifier, PushHosts
from realtime.server.a2a_calls import A2aCalls

logging.getLogger("a2a").setLevel(logging.CRITICAL)
"""The SDK logs requests with their words, and a trace for each of their faults."""

PATH = "/a2a"
MAX_BODY_BYTES = 8_000_000
"""The largest request: a message with pictures."""
TOO_LARGE = f"the request is larger than {MAX_BODY_BYTES} bytes"
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""Codes of JSON-RPC."""


@checked()
def a2a_router(
    make_agent: MakeAgent,
    prefix: str = "",
    *,
    card: CardText | None = None,
    url: str | None = None,
    executor: AgentExecutor | None = None,
    push_hosts: Sequence[str] = (),
    settings: ServerSettings | None = None,
    gate: Gate | None = None,
    calls: Calls | None = None,
) -> APIRouter:
    """Return a router for other agents: `{prefix}/.well-known/agent-card.json`, and both bindings at `{prefix}/a2a`.

    A message without a contextId begins a conversation in text with an agent of `make_agent`; one whose contextId is
    the id of a running call is spoken to the person in it (docs/a2a.md). `executor` takes the place of all that.

    `card` is what the agent card says; everyone may read it. `url` is where this server is reached, such as
    `https://voice.example.org`; None: as each request names it. `push_hosts` are hosts, each `HOST[:PORT]`, that may be
    notified besides those at public addresses. `gate` and `calls` are those of the server that it belongs to; None: of
    its own, by `settings`. Raises UsageError for what is no host, and without the package a2a-sdk.
    """
    check_make_agent(make_agent)
    chosen = settings or ServerSettings()
    own_gate = gate or Gate(chosen)
    all_calls = calls or Calls(max_per_address=chosen.max_calls_per_address, max_total=chosen.max_calls)
    text = card or CardText()
    hosts = PushHosts(push_hosts)
    receivers = KeptReceivers()
    notifier = Notifier(receivers, hosts)
    switchboard = A2aCalls(make_agent, all_calls, chosen)
    own = CallExecutor(switchboard)
    contexts_of = CallContexts(switchboard, own.is_conversation) if executor is None else SimpleRequestContextBuilder()
    handler = DefaultRequestHandler(
        agent_executor=executor or own,
        task_store=KeptTasks(receivers),
        agent_card=own_card(text, "", needs_token=chosen.token is not None),
        push_config_store=receivers,
        push_sender=notifier,
        request_context_builder=contexts_of,
        push_url_validator=hosts.takes,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        # With a server's own calls its router drains, too; the second time finds none.
        await all_calls.drain(chosen.drain_s)
        await handler.aclose()
        await notifier.aclose()

    def base_url(request: HttpRequest) -> str:
        if url is not None:
            return url.rstrip("/")
        return f"{'https' if own_gate.is_secure(request) else 'http'}://{request.headers.get('host', '')}{prefix}"

    async def agent_card(request: HttpRequest) -> Response:
        if (why := own_gate.wrong_origin(request)) is not None:
            return JSONResponse({"error": why}, 401)
        told = own_card(text, f"{base_url(request)}{PATH}", needs_token=chosen.token is not None)
        (route,) = create_agent_card_routes(told)
        response: Response = await route.endpoint(request)
        return response

    class Contexts(DefaultServerCallContextBuilder):
        def build(self, request: HttpRequest) -> ServerCallContext:
            context = super().build(request)
            user, address = own_gate.caller(request), own_gate.address(request)
            is_owner = own_gate.refusal(request) is None
            # A server that is open to everyone shows no caller the tasks of others.
            scope = "owner" if is_owner and chosen.lists_calls else f"address {address}"
            context.user = _Known(scope if user is None else f"user {user}")
            context.state[CALLER] = Caller(
                user=user, sees_records=is_owner, address=address, base_url=base_url(request)
            )
            return context

    contexts = Contexts()
    rest = create_rest_routes(handler, contexts, enable_v0_3_compat=True)
    # Not the routes below a tenant's name: there are none.
    inner = [*(one for one in rest if isinstance(one, Route))]
    inner += create_jsonrpc_routes(handler, "/", contexts, enable_v0_3_compat=True)
    rpc = create_jsonrpc_routes(handler, f"{prefix}{PATH}", contexts, enable_v0_3_compat=True)
    router = APIRouter(lifespan=lifespan)
    router.routes += [
        Route(f"{prefix}{AGENT_CARD_WELL_KNOWN_PATH}", agent_card, methods=["GET"]),
        Route(f"{prefix}{PATH}", _Guarded(Router(rpc), own_gate, is_rpc=True)),
        Mount(f"{prefix}{PATH}", _Guarded(Router(inner), own_gate, is_rpc=False)),
    ]
    return router


class _Known(User):
    """Whose tasks are whose."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        """See `User`."""
        return True

    @property
    def user_name(self) -> str:
        """See `User`."""
        return self._name


class _Guarded:
    """Lets requests in as sockets are, with bodies of a bounded size."""

    def __init__(self, app: ASGIApp, gate: Gate, *, is_rpc: bool) -> None:
        self._app = app
        self._gate = gate
        self._is_rpc = is_rpc

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        request = HttpRequest(scope, receive)
        if (refusal := self._gate.http_refusal(request, to_call=True)) is not None:
            refusal.headers["www-authenticate"] = "Bearer"
            await refusal(scope, receive, send)
            return
        try:
            body = await short_body(request, MAX_BODY_BYTES)
        except ClientError:
            await self._too_large()(scope, receive, send)
            return
        if self._is_rpc and body and not _is_json(body):
            await _rpc_error(PARSE_ERROR, "the request is not JSON")(scope, receive, send)
            return
        is_read = False

        async def replay() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    def _too_large(self) -> JSONResponse:
        if self._is_rpc:
            return _rpc_error(INVALID_REQUEST, TOO_LARGE)
        return JSONResponse({"error": {"code": 413, "status": "INVALID_ARGUMENT", "message": TOO_LARGE}}, 413)


def _is_json(body: bytes) -> bool:
    """Whether this is JSON: what the SDK's own reader fails on, it tells as an error of the server."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _rpc_error(code: int, message: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})
