"""Rooms by URL: the socket of each human, and the participants over HTTP."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response, WebSocket, params
from fastapi.responses import JSONResponse

from realtime.errors import ClientError, RealtimeError, public_error
from realtime.event.decode import explain
from realtime.room.human_participant import HumanParticipant
from realtime.room.names import load_names, settled_name
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.rooms import AgentRequest, Hosted, RoomRequest, Rooms
from realtime.server.settings import ServerSettings
from realtime.server.socket_endpoint import (
    POLICY_VIOLATION,
    SocketEndpoint,
    chosen_dialect,
    close_reason,
    refuse,
    turned_away,
)

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MAX_BODY_BYTES = 65_536
NO_SUCH_ROOM = 4404
"""The close code of a socket that asks for an unknown room: the 404 of sockets."""
HTTP_STATUS = {
    "malformed_json": 400,
    "not_the_owner": 403,
    "no_such_room": 404,
    "unknown_participant": 404,
    "name_taken": 409,
    "room_exists": 409,
    "room_closed": 409,
    "request_too_large": 413,
    "draining": 503,
    "too_many_rooms": 503,
}
"""The status for a client's mistake by its code; any other is 422. A model's failure is 503."""


class ParticipantChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of a participant; None leaves a field as it is."""

    muted: bool | None = None
    name: str | None = None


def rooms_router(
    rooms: Rooms,
    prefix: str = "",
    *,
    settings: ServerSettings | None = None,
    gate: Gate | None = None,
    calls: Calls | None = None,
    page_providers: Mapping[str, str] | None = None,
    dependencies: Sequence[params.Depends] | None = None,
) -> APIRouter:
    """A router for rooms: a WebSocket for each human, and an HTTP API.

    The WebSocket is `{prefix}/rooms/{room_id}/ws?name=...`; below `{prefix}/api/rooms` is what programs and pages ask
    about rooms (docs/rooms.md).

    `gate` and `calls` are those of the server that it belongs to; None: of its own, by `settings`. `page_providers` as
    for `voice_router`. `dependencies` run before all of it. When the application stops, calls end and rooms close.
    """
    settings = settings or ServerSettings()
    own_gate = gate or Gate(settings)
    all_calls = calls or Calls(max_per_address=settings.max_calls_per_address, max_total=settings.max_calls)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        # With a server's own calls its router drains, too; the second time finds none.
        await all_calls.drain(settings.drain_s)
        await rooms.close()

    router = APIRouter(prefix=prefix, lifespan=lifespan, dependencies=dependencies)

    @router.websocket("/rooms/{room_id}/ws")
    async def enter(websocket: WebSocket, room_id: str, name: str = "") -> None:
        if await turned_away(websocket, own_gate.refusal(websocket)):
            return
        await asyncio.to_thread(load_names)
        subprotocol = None
        try:
            dialect = chosen_dialect(websocket, page_providers)
            subprotocol = dialect.subprotocol
            rooms.admit(room_id, name)
        except ClientError as error:
            # A browser that is offered none of its subprotocols would not read why.
            code = NO_SUCH_ROOM if error.code == "no_such_room" else POLICY_VIOLATION
            await refuse(websocket, error, close_reason(error.message), code=code, subprotocol=subprotocol)
            return
        await websocket.accept(subprotocol)

        def make_human() -> HumanParticipant:
            return rooms.make_human(room_id, name, all_calls.make_runtime(asyncio.get_running_loop()))

        endpoint = SocketEndpoint(make_human, all_calls, settings, own_gate)
        await endpoint.serve(websocket, dialect, user=settled_name(name), session_id=room_id)

    def guarded(answer: Callable[Concatenate[Request, P], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        """Refuse clients that the gate refuses; answer errors with a status, a code and a sentence."""

        @functools.wraps(answer)
        async def guard(request: Request, *args: P.args, **kwargs: P.kwargs) -> Response:
            try:
                return own_gate.http_refusal(request) or await answer(request, *args, **kwargs)
            except ClientError as error:
                return _error(HTTP_STATUS.get(error.code, 422), error)
            except Exception as error:
                logger.exception("a room could not be made or changed")
                return _error(503, public_error(error))

        return guard

    def owned(room_id: str, user: str | None) -> Hosted:
        """The room, where this user may change who is in it."""
        hosted = rooms.find(room_id)
        if hosted.owner is not None and hosted.owner != user:
            raise ClientError("only the owner of this room may do that: name them by ?user=", code="not_the_owner")
        return hosted

    @router.post("/api/rooms")
    @guarded
    async def make_room(request: Request, user: str | None = None) -> Response:
        asked = await _body(request, RoomRequest)
        if all_calls.draining:
            raise ClientError("the server is about to stop and makes no rooms", code="draining", retryable=True)
        stranger = None if settings.lists_calls else own_gate.address(request)
        await asyncio.to_thread(load_names)
        hosted = rooms.make(asked, all_calls.make_runtime(asyncio.get_running_loop()), user, stranger=stranger)
        # Beside this address, with what stands before it, such as the prefix of a router around this one.
        url = f"{request.url.path.removesuffix('/api/rooms')}/rooms/{hosted.id}/ws"
        return JSONResponse({"room_id": hosted.id, "url": url}, 201)

    @router.get("/api/rooms")
    @guarded
    async def list_rooms(request: Request) -> Response:
        there = [one.describe() for one in rooms.hosted] if settings.lists_calls else rooms.advertised()
        names = {"templates": [*rooms.templates], "agent_templates": [*rooms.agents]}
        return JSONResponse({"rooms": there, **names})

    @router.get("/api/rooms/{room_id}")
    @guarded
    async def one_room(request: Request, room_id: str) -> Response:
        return JSONResponse({**rooms.find(room_id).describe(), "agent_templates": [*rooms.agents]})

    @router.post("/api/rooms/{room_id}/participants/{participant_id}")
    @guarded
    async def change_participant(
        request: Request, room_id: str, participant_id: str, user: str | None = None
    ) -> Response:
        change = await _body(request, ParticipantChange)
        hosted = owned(room_id, user)
        rooms.change(room_id, participant_id, muted=change.muted, name=change.name)
        return JSONResponse(hosted.describe())

    @router.delete("/api/rooms/{room_id}/participants/{participant_id}")
    @guarded
    async def remove_participant(
        request: Request, room_id: str, participant_id: str, user: str | None = None
    ) -> Response:
        owned(room_id, user)
        await rooms.remove(room_id, participant_id)
        return Response(status_code=204)

    @router.post("/api/rooms/{room_id}/agents")
    @guarded
    async def add_agent(request: Request, room_id: str, user: str | None = None) -> Response:
        asked = await _body(request, AgentRequest)
        hosted = owned(room_id, user)
        await rooms.add_agent(room_id, asked)
        return JSONResponse(hosted.describe(), 201)

    return router


async def short_body(request: Request, max_bytes: int) -> bytes:
    """Read the body. Raises ClientError where it is longer."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise ClientError(f"the request is larger than {max_bytes} bytes", code="request_too_large")
    return body


async def _body(request: Request, kind: type[T]) -> T:
    """Read the body. Raises ClientError."""
    body = await short_body(request, MAX_BODY_BYTES)
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise ClientError(explain(error, kind), code="invalid_request") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClientError("the request is not JSON", code="malformed_json") from error


def _error(status: int, error: RealtimeError) -> Response:
    return JSONResponse({"code": error.code, "error": error.message}, status)
