"""Long-term memories over HTTP: a user sees what is remembered, corrects it, and deletes it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response, params
from fastapi.responses import JSONResponse

from realtime.agent.memory_of_call import UserMemory, changing
from realtime.errors import ClientError, UsageError
from realtime.event.decode import explain
from realtime.server.gate import Gate
from realtime.server.rooms_router import short_body
from realtime.server.settings import ServerSettings
from realtime.server.user_memories import UserMemories, reason_of

logger = logging.getLogger(__name__)

LISTED_AT_ONCE = 100
MAX_BODY_BYTES = 16_384


class _Correction(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON body of a correction."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


def memories_router(
    memories: UserMemories,
    gate: Gate,
    settings: ServerSettings,
    prefix: str = "",
    *,
    dependencies: Sequence[params.Depends] | None = None,
) -> APIRouter:
    """Return a router by which users see and change what is remembered.

    It serves `GET {prefix}/api/memories`, `DELETE` of the same for all of them, and `PUT` (`{"text": ...}`) and
    `DELETE {prefix}/api/memories/{memory_id}`. A client token opens those of its user; the server's own token opens
    those of `?user=`. `dependencies` run before all of it.
    """
    router = APIRouter(prefix=f"{prefix}/api/memories", dependencies=dependencies)

    @asynccontextmanager
    async def editable(user: str) -> AsyncIterator[UserMemory]:
        async with memories.using(user) as found:
            if not found.memory.is_editable:
                raise _Refused(501, "not_editable", "this server's memory cannot be listed or changed")
            yield found

    def user_of(request: Request, named: str) -> str:
        caller = gate.caller(request)
        if caller is not None:
            if named not in ("", caller):
                raise _Refused(403, "other_user", "a client token opens the memories of its own user alone")
            return caller
        if gate.http_refusal(request) is not None:
            raise _Refused(403, "unknown_user", "this client token names no user")
        if not settings.lists_calls:
            raise _Refused(403, "not_listed", "this server is open to everyone and shows no memories")
        if not named:
            raise _Refused(422, "unknown_user", "name the user, as ?user=")
        return named

    @router.get("")
    async def list_memories(
        request: Request,
        user: str = "",
        limit: Annotated[int, Query(ge=1, le=LISTED_AT_ONCE)] = LISTED_AT_ONCE,
        before: Annotated[str | None, Query(max_length=128)] = None,
    ) -> Response:
        async def answer() -> Any:
            async with editable(user_of(request, user)) as found:
                page = await found.memory.remembered(limit, before)
            following = str(page[-1].id) if len(page) == limit else None
            return {"memories": [one._asdict() for one in page], "next": following}

        return await _answered(gate, request, answer)

    @router.put("/{memory_id}")
    async def correct(request: Request, memory_id: str, user: str = "") -> Response:
        async def answer() -> Any:
            owner = user_of(request, user)
            asked = await short_body(request, MAX_BODY_BYTES)
            try:
                text = msgspec.json.decode(asked, type=_Correction).text
            except msgspec.ValidationError as error:
                raise _Refused(422, "invalid_request", explain(error)) from error
            except (msgspec.DecodeError, RecursionError) as error:
                raise _Refused(400, "malformed_json", "the request is not JSON") from error
            async with editable(owner) as found, changing(found.calls, forgets=False):
                if not await found.memory.correct(memory_id, text):
                    raise _unknown()

        return await _answered(gate, request, answer)

    @router.delete("/{memory_id}")
    async def forget(request: Request, memory_id: str, user: str = "") -> Response:
        async def answer() -> Any:
            async with editable(user_of(request, user)) as found, changing(found.calls, forgets=True):
                if memory_id == "all" or not await found.memory.forget(memory_id):
                    raise _unknown()

        return await _answered(gate, request, answer)

    @router.delete("")
    async def forget_all(request: Request, user: str = "") -> Response:
        async def answer() -> Any:
            async with editable(user_of(request, user)) as found, changing(found.calls, forgets=True):
                return {"forgotten": await found.memory.forget("all")}

        return await _answered(gate, request, answer)

    return router


class _Refused(Exception):
    """A request is answered with an error: status, code, sentence."""

    def __init__(self, status: int, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.response = JSONResponse({"code": code, "error": sentence}, status)


def _unknown() -> _Refused:
    return _Refused(404, "unknown_memory", "nothing has this id in what is remembered of the user")


async def _answered(gate: Gate, request: Request, answer: Callable[[], Awaitable[Any]]) -> Response:
    """Return what `answer` returns as JSON, or why it is refused."""
    refusal = gate.http_refusal(request, to_call=True)
    if refusal is not None:
        return refusal
    try:
        told = await answer()
    except _Refused as refused:
        return refused.response
    except UsageError as error:  # no id, or a text that is none
        return _Refused(422, error.code, error.message).response
    except ClientError as error:  # the body is too large
        return _Refused(413, error.code, error.message).response
    except Exception as error:
        logger.warning("a request for memories failed: %s", reason_of(error))
        return _Refused(503, "store_failed", "the memory cannot be reached at the moment: try again").response
    headers = {"cache-control": "no-store"}
    return Response(status_code=204, headers=headers) if told is None else JSONResponse(told, headers=headers)
