"""Calls over HTTP: event streams, messages, a user's list, and deletion.

Requests name the owner (`?user=`): another user's call is answered like one that does not exist. A live call is read in
place; a second reader is another cursor over its log.
"""

from __future__ import annotations

import asyncio
import functools
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

import msgspec
from fastapi import APIRouter, Header, Query, Request, Response, params
from fastapi.responses import JSONResponse, StreamingResponse

from realtime.agent.call_record import call_record_in
from realtime.agent.run import AgentRun
from realtime.call.session import Session
from realtime.errors import ClientError
from realtime.event import server as s
from realtime.event.reply import AgentEvent
from realtime.interop import DIALECTS, dump
from realtime.interop.calls import projection_of, user_name_of
from realtime.server.byte_ranges import UnsatisfiableRangeError, byte_range
from realtime.server.calls import Calls
from realtime.server.gate import Gate
from realtime.server.settings import ServerSettings
from realtime.state.gist import Gist
from realtime.state.latency import latencies, percentile
from realtime.state.log import AudioRun, Entry, last_seq_of
from realtime.state.replies import messages
from realtime.state.store import CallInfo, PageCursor
from realtime.state.store import page as page_of
from realtime.state.transcript import as_srt, as_text, lines_of

if TYPE_CHECKING:
    from realtime.call.recording.sound import Sound

P = ParamSpec("P")
T = TypeVar("T", bytes, str)
Vocabulary = Literal["realtime", "reply"]
Form = Literal["text", "srt", "json"]
"""The formats of a transcript."""

KEEP_ALIVE_S = 15.0
"""Seconds between keep-alive comments on an idle stream: proxies close silent ones."""
MAX_WAITING = 10_000
"""Events that may wait for a reader; beyond it the stream ends, and the reader returns with the last id it saw."""
AT_ONCE = 200
"""Log events projected before other tasks may run: about 5 ms."""
CALLS_AT_ONCE = 50
"""Default page size of a list; a reader may ask for up to `MAX_CALLS_AT_ONCE`."""
MAX_CALLS_AT_ONCE = 200
SEARCHED_AT_ONCE = 2_000
"""Calls that one request of a search looks through; `next` goes on behind them."""
MAX_SEARCH_CHARS = 200
SOUND_BYTES_AT_ONCE = 2_000_000
"""The most sound in one answer, 40 s: a player asks for the rest, and mixing more would take a while."""
REPORT_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
"""A report has its own policy, which lets it load nothing; sandboxed, it is no page of this server either."""
CURSOR = r"^[0-9TZ:.-]{0,40}~[A-Za-z0-9_-]{1,128}$"
"""Where a page of a list begins: after the call that has this start time and id."""
CASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Valid names of a test case: it becomes a folder of that name."""
_HIDDEN = ("token_hash", "token_expires_at", "config", "event_ids", "rules_note")
_WAIT = ("item_id", "response_id", "latency_ms", "estimated", "stages_ms", "ts_ms")
"""The fields that describe a wait."""
_encode = msgspec.json.Encoder().encode


class Cases(Protocol):
    """Makes test cases of calls (`realtime.testing.cases.desk`).

    Methods block; they raise ClientError for a call that gives no case.
    """

    @property
    def saves(self) -> bool:
        """Whether `save` has a folder."""

    def zipped(self, info: CallInfo, entries: Sequence[Entry], name: str) -> bytes:
        """Return the case as a zip file with one folder, `name`."""

    def save(self, info: CallInfo, entries: Sequence[Entry], name: str) -> str:
        """Write the case to a folder `name` on the server; return its path."""

    def report(self, info: CallInfo, entries: Sequence[Entry], name: str) -> bytes:
        """Return the report of the call: a page called `name` that opens offline."""


def calls_router(
    calls: Calls,
    gate: Gate,
    settings: ServerSettings,
    cases: Cases | None = None,
    *,
    prefix: str = "",
    dependencies: Sequence[params.Depends] | None = None,
) -> APIRouter:
    """Return a router for reading, listing and deleting calls.

    It serves `GET {prefix}/api/calls`, and for each call `GET`, `DELETE`, `GET .../events` (SSE), `GET .../messages`
    (`?format=` names another project's, one of `realtime.interop.DIALECTS`),
    `GET .../transcript?form=text|srt|json`, `GET .../record` (the object that its agent filled in), `GET .../sound`
    (WAV, where it was recorded), `GET .../latency` (what the user waited), `GET .../tasks` (its background tools) and
    `DELETE .../tasks/{task_id}`; with `cases` also `GET .../report` (HTML), `GET .../case` (zip) and, where they are
    saved, `POST .../case?name=`. Without a store only live calls are known, with as much of their log as they hold.
    `dependencies` run before all of it.
    """
    router = APIRouter(prefix=f"{prefix}/api/calls", dependencies=dependencies)
    # A case of one hour takes hundreds of MB while it is made: one at a time.
    making = asyncio.Lock()
    shelf = _Shelf(calls, None if cases is None else "save" if cases.saves else "download")

    def guarded(answer: Callable[Concatenate[Request, P], Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
        """Refuse clients that the gate refuses; answer errors with a status, a code and a sentence."""

        @functools.wraps(answer)
        async def guard(request: Request, *args: P.args, **kwargs: P.kwargs) -> Response:
            try:
                return gate.http_refusal(request) or await answer(request, *args, **kwargs)
            except _Refused as refused:
                return refused.response
            except ClientError as error:
                # The store cannot be read, or the call is being resumed: the reader did nothing wrong.
                return _Refused(503, error.code, error.message).response

        return guard

    @router.get("")
    @guarded
    async def list_calls(
        request: Request,
        user: str,
        limit: Annotated[int, Query(ge=1, le=MAX_CALLS_AT_ONCE)] = CALLS_AT_ONCE,
        after: Annotated[str | None, Query(pattern=CURSOR)] = None,
        q: Annotated[str, Query(max_length=MAX_SEARCH_CHARS)] = "",
        errors: bool = False,
    ) -> Response:
        if not settings.lists_calls:
            raise _Refused(403, "calls_not_listed", "this server is open to everyone and lists no calls")
        created_at, _, call_id = (after or "").partition("~")
        place = (created_at, call_id) if after is not None else None
        page, following = await shelf.page(user, place, limit, _Search.of(q, errors))
        return JSONResponse(
            {
                "calls": [shelf.told(info) for info in page],
                "next": None if following is None else "~".join(following),
            }
        )

    @router.get("/{call_id}")
    @guarded
    async def one_call(request: Request, call_id: str, user: str) -> Response:
        return JSONResponse(shelf.told(await shelf.find(call_id, user)))

    @router.get("/{call_id}/latency")
    @guarded
    async def latency_of_call(request: Request, call_id: str, user: str) -> Response:
        await shelf.find(call_id, user)
        told = [msgspec.to_builtins(one) for one in latencies(await shelf.entries(call_id))]
        waits = [{name: one[name] for name in _WAIT} for one in told]
        values_ms = [one["latency_ms"] for one in waits]
        p50_ms, p95_ms = percentile(values_ms, 50), percentile(values_ms, 95)
        return JSONResponse({"call_id": call_id, "turns": waits, "p50_ms": p50_ms, "p95_ms": p95_ms})

    @router.get("/{call_id}/messages")
    @guarded
    async def messages_of(
        request: Request, call_id: str, user: str, dialect: Annotated[str | None, Query(alias="format")] = None
    ) -> Response:
        if dialect is not None and dialect not in DIALECTS:
            raise _Refused(422, "unknown_format", f"a format is one of {', '.join(DIALECTS)}")
        found = await shelf.find(call_id, user)
        entries = await shelf.entries(call_id)
        projection = projection_of(found)
        events: list[AgentEvent] = []
        async for entry in _politely(entries):
            events += projection.push(entry)
        events += projection.settle()
        told = await asyncio.to_thread(_dumped, events, dialect)
        return JSONResponse({"call_id": call_id, "messages": told, "gaps": _gaps(found, entries)})

    @router.get("/{call_id}/transcript")
    @guarded
    async def transcript_of(request: Request, call_id: str, user: str, form: Form = "json") -> Response:
        found = await shelf.find(call_id, user)
        entries = await shelf.entries(call_id)
        recordings = calls.recordings
        sound = await recordings.sound(call_id) if recordings is not None else None
        name = user_name_of(found)
        since_ms = None if sound is None else sound.voice_from_ms
        lines = await asyncio.to_thread(lines_of, entries, user_name=name, voice_from_ms=since_ms)
        if form == "json":
            about = {"call_id": call_id, "agent_name": found.agent_name, "created_at": found.created_at}
            told = {**about, "ended_at": found.ended_at, "lines": msgspec.to_builtins(lines)}
            return JSONResponse(told, headers=_attached(f"{call_id}.json"))
        if form == "srt":
            return Response(as_srt(lines), media_type="application/x-subrip", headers=_attached(f"{call_id}.srt"))
        return Response(as_text(lines), media_type="text/plain", headers=_attached(f"{call_id}.txt"))

    @router.get("/{call_id}/record")
    @guarded
    async def record_of(request: Request, call_id: str, user: str) -> Response:
        await shelf.find(call_id, user)
        if shelf.live(call_id) is not None:
            raise _goes_on()
        value = call_record_in(await shelf.entries(call_id))
        if value is None:
            raise _Refused(404, "no_record", "this call has no record: its agent fills in none, or nothing was said")
        return JSONResponse({"call_id": call_id, **value}, headers={"cache-control": "no-store"})

    @router.get("/{call_id}/sound")
    @guarded
    async def sound_of(
        request: Request, call_id: str, user: str, wanted: Annotated[str | None, Header(alias="range")] = None
    ) -> Response:
        await shelf.find(call_id, user)
        if shelf.live(call_id) is not None:
            raise _goes_on()
        sound = await calls.recordings.sound(call_id) if calls.recordings is not None else None
        if sound is None:
            raise _Refused(404, "not_recorded", "this call was not recorded, or its sound was deleted")
        headers = {"accept-ranges": "bytes", **_attached(f"{call_id}.wav")}
        try:
            part = byte_range(wanted, sound.n_bytes, SOUND_BYTES_AT_ONCE)
        except UnsatisfiableRangeError:
            return Response(status_code=416, headers={"content-range": f"bytes */{sound.n_bytes}"})
        if part is None:
            headers["content-length"] = str(sound.n_bytes)
            return StreamingResponse(_whole(sound), media_type="audio/wav", headers=headers)
        try:
            data = await asyncio.to_thread(sound.read, *part)
        except OSError as error:
            raise _Refused(503, "not_readable", "the sound cannot be read: perhaps it was just deleted") from error
        headers["content-range"] = f"bytes {part[0]}-{part[1] - 1}/{sound.n_bytes}"
        return Response(data, 206, media_type="audio/wav", headers=headers)

    @router.get("/{call_id}/events")
    @guarded
    async def events_of(
        request: Request,
        call_id: str,
        user: str,
        vocabulary: Vocabulary = "realtime",
        after: Annotated[int, Query(ge=0, lt=10**15)] = 0,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        found = await shelf.find(call_id, user)
        if last_event_id is not None:
            if not re.fullmatch(r"[0-9]{1,15}", last_event_id):
                raise _Refused(400, "invalid_last_event_id", "Last-Event-ID is the id of an event: a whole number")
            after = int(last_event_id)
        if found.ended_at is not None and after >= found.last_seq:
            # With this status a browser stops reconnecting.
            return Response(status_code=204)
        first = 0 if vocabulary == "reply" else after
        stream = _stream(shelf, found, await shelf.follow(call_id, first), vocabulary, after)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})

    @router.get("/{call_id}/tasks")
    @guarded
    async def tasks_of(request: Request, call_id: str, user: str) -> Response:
        await shelf.find(call_id, user)
        agent = shelf.agent(call_id)
        return JSONResponse({"tasks": [] if agent is None else agent.background_tools()})

    @router.delete("/{call_id}/tasks/{task_id}")
    @guarded
    async def cancel_task(request: Request, call_id: str, task_id: str, user: str) -> Response:
        await shelf.find(call_id, user)
        agent = shelf.agent(call_id)
        if agent is None or not agent.cancel_background_tool(task_id):
            raise _Refused(404, "unknown_task", "no such tool runs in the background of this call")
        return Response(status_code=204)

    async def made(call_id: str, user: str, name: str, make: Callable[..., T]) -> T:
        """Make a case of an ended call. Raises _Refused where that is impossible."""
        found = await shelf.find(call_id, user)
        if shelf.live(call_id) is not None:
            raise _goes_on()
        if CASE_NAME.fullmatch(name) is None:
            raise _Refused(422, "invalid_name", "a case is named by up to 100 letters, digits, - and _")
        async with making:
            entries = await shelf.entries(call_id)
            try:
                return await asyncio.to_thread(make, found, entries, name)
            except ClientError as error:
                raise _Refused(409, error.code, error.message) from error

    @router.get("/{call_id}/case")
    @guarded
    async def case_of(request: Request, call_id: str, user: str, name: str | None = None) -> Response:
        if cases is None:
            raise _no_cases()
        name = name or call_id
        packed = await made(call_id, user, name, cases.zipped)
        return Response(packed, media_type="application/zip", headers=_attached(f"{name}.zip"))

    @router.get("/{call_id}/report")
    @guarded
    async def report_of(request: Request, call_id: str, user: str) -> Response:
        if cases is None:
            raise _no_cases()
        page = await made(call_id, user, call_id, cases.report)
        headers = {"content-security-policy": REPORT_POLICY, "cache-control": "no-store"}
        return Response(page, media_type="text/html", headers=headers)

    @router.post("/{call_id}/case")
    @guarded
    async def save_case(request: Request, call_id: str, user: str, name: str) -> Response:
        if cases is None or not cases.saves:
            raise _no_cases()
        folder = await made(call_id, user, name, cases.save)
        return JSONResponse({"folder": folder, "command": f"realtime report {shlex.quote(folder)}"}, 201)

    @router.delete("/{call_id}")
    @guarded
    async def delete_call(request: Request, call_id: str, user: str) -> Response:
        await shelf.find(call_id, user)
        try:
            remains = await calls.forget(call_id)
        except ClientError as error:
            if error.code != "call_elsewhere":
                raise
            raise _Refused(409, error.code, error.message) from error
        if not remains:
            return Response(status_code=204)
        what = f"the {' and the '.join(remains)} remain{'s' if len(remains) == 1 else ''}"
        text = f"not everything could be deleted: {what}; try again later"
        return JSONResponse({"code": "not_deleted", "error": text, "remains": remains}, 503)

    return router


@dataclass(frozen=True, slots=True)
class _Search:
    """Which calls are wanted: those with all of these words, and those with errors."""

    words: tuple[str, ...] = ()
    errors: bool = False

    @staticmethod
    def of(text: str, errors: bool) -> _Search:
        return _Search(tuple(text.casefold().split()), errors)

    @property
    def is_for_all(self) -> bool:
        return not (self.words or self.errors)

    def finds(self, info: CallInfo) -> bool:
        about = f"{info.first_words or ''} {info.agent_name} {info.call_id} {info.created_at}".casefold()
        return all(word in about for word in self.words) and (bool(info.errors) or not self.errors)


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The live and the stored calls."""

    server_calls: Calls
    case: Literal["download", "save"] | None

    def live(self, call_id: str) -> Session | None:
        return self.server_calls.sessions.get(call_id)

    def agent(self, call_id: str) -> AgentRun | None:
        """Return the agent of a call that runs on this server."""
        live = self.live(call_id)
        return live.participant if live is not None and isinstance(live.participant, AgentRun) else None

    def told(self, info: CallInfo) -> dict[str, object]:
        """Return what the owner may know of a call.

        Settings may contain what belongs to the page alone, and hashes stay private. `live`: it runs on this server. A
        call that neither runs nor has an end was cut off with its server. `case`: how to get a test case of it; None:
        it cannot be had.
        """
        told: dict[str, object] = msgspec.to_builtins(info)
        kept = {key: value for key, value in told.items() if key not in _HIDDEN}
        recordings = self.server_calls.recordings
        is_recorded = recordings is not None and recordings.has(info.call_id)
        return {**kept, "live": self.live(info.call_id) is not None, "case": self.case, "recorded": is_recorded}

    async def page(
        self, owner: str, after: PageCursor | None, limit: int, search: _Search
    ) -> tuple[list[CallInfo], PageCursor | None]:
        """Return the next `limit` calls that match, and the following page's cursor."""
        found: list[CallInfo] = []
        for _ in range(0, SEARCHED_AT_ONCE, MAX_CALLS_AT_ONCE):
            # One more than requested tells whether there is a next page.
            at_once = limit + 1 if search.is_for_all else MAX_CALLS_AT_ONCE
            some = await self._calls(owner, after, at_once)
            for info in some:
                if len(found) == limit:
                    return found, after
                after = info.cursor
                if search.finds(info):
                    found.append(info)
            if len(some) < at_once:
                return found, None
        return found, after

    async def _calls(self, owner: str, after: PageCursor | None, limit: int) -> list[CallInfo]:
        archive = self.server_calls.archive
        if archive is not None:
            return await archive.calls(owner, after=after, limit=limit)
        live = [_info_of(one) for one in self.server_calls.sessions.values() if one.owner == owner]
        return page_of(live, after, limit, oldest_first=False)

    async def find(self, call_id: str, user: str) -> CallInfo:
        """Return this user's call. Raises _Refused where there is none, ClientError while the store cannot be read."""
        archive, live = self.server_calls.archive, self.live(call_id)
        info = await archive.info(call_id) if archive is not None else None
        if info is None and live is not None:
            info = _info_of(live)
        if info is None or info.owner != user:
            raise _Refused(404, "unknown_call", "this user has no such call")
        return info

    async def entries(self, call_id: str, after_seq: int = 0) -> list[Entry]:
        archive, live = self.server_calls.archive, self.live(call_id)
        if archive is not None:
            return await archive.entries(call_id, after_seq)
        return live.log.read(after_seq) if live is not None else []

    async def follow(self, call_id: str, after_seq: int) -> _Follower:
        """Return a reader of the call's events after `after_seq`. Raises ClientError."""
        live = self.live(call_id)
        return _Follower(live, await self.entries(call_id, after_seq), after_seq)


async def _stream(
    shelf: _Shelf, info: CallInfo, follower: _Follower, vocabulary: Vocabulary, after: int
) -> AsyncIterator[bytes]:
    """Stream the events after `after`, then new ones. Ends with the call or its reader."""
    # Subscribe only here: a stream whose reader left before it began is never closed.
    past = follower.begin()
    try:
        writer = _Writer(info, vocabulary, after)
        async for entry in _politely(past):
            for frame in writer.frames(entry):
                yield frame
        past.clear()
        async for event in follower.news():
            for frame in writer.frames(event) if event is not None else (b": still here\n\n",):
                yield frame
        if not follower.overflowed:
            for frame in writer.rest():
                yield frame
    finally:
        follower.close()


class _Follower:
    """Reads a call: its log so far and, while it is live, its new events."""

    def __init__(self, live: Session | None, past: list[Entry], after_seq: int) -> None:
        self._live = live
        self._past = past
        self._seen = last_seq_of(past[-1]) if past else after_seq
        self._queue: asyncio.Queue[s.ServerEvent] = asyncio.Queue()
        self.overflowed = False
        self._unsubscribe: Callable[[], None] | None = None

    def begin(self) -> list[Entry]:
        """Return the log up to now; `news` gives what follows."""
        past, self._past = self._past, []
        if self._live is not None:
            past += self._live.log.read(self._seen)
            self._unsubscribe = self._live.log.subscribe(self._note, audio=False)
        return past

    def _note(self, event: s.ServerEvent) -> None:
        if self._queue.qsize() < MAX_WAITING:
            self._queue.put_nowait(event)
        else:
            self.overflowed = True

    async def news(self) -> AsyncIterator[s.ServerEvent | None]:
        """Yield each new event, and None when none came for a while.

        Ends with the call, or when the reader was too slow.
        """
        while self._live is not None and not self.overflowed:
            if self._live.ended.is_set() and self._queue.empty():
                return
            try:
                async with asyncio.timeout(KEEP_ALIVE_S):
                    event = await self._queue.get()
            except TimeoutError:
                yield None
                continue
            yield event
            if isinstance(event, s.ServerSessionEndedEvent):
                return

    def close(self) -> None:
        """Stop reading. Idempotent."""
        if self._unsubscribe is not None:
            self._unsubscribe()


def _dumped(events: list[AgentEvent], dialect: str | None) -> list[dict[str, Any]]:
    """Return the messages of reply events as JSON, perhaps in a dialect."""
    if dialect is not None:
        return dump(messages(events), dialect)
    return [message.model_dump() for message in messages(events)]


async def _politely(entries: Sequence[Entry]) -> AsyncIterator[s.ServerEvent]:
    """Yield a log's events and regularly let other tasks run."""
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, AudioRun):
            yield entry
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)


class _Writer:
    """Encodes events as server-sent events.

    An `id` is the `seq` of the source event, on the last frame made of it, so that a returning reader misses none.
    """

    def __init__(self, info: CallInfo, vocabulary: Vocabulary, after: int) -> None:
        self._after = after
        self._projection = projection_of(info) if vocabulary == "reply" else None

    def frames(self, event: s.ServerEvent) -> Iterator[bytes]:
        if self._projection is None:
            yield _frame(event, event.seq)
            return
        made = self._projection.push(event)
        if event.seq > self._after:
            for number, one in enumerate(made, 1):
                yield _frame(one, event.seq if number == len(made) else None)

    def rest(self) -> Iterator[bytes]:
        """Yield the ends that no later event can change."""
        if self._projection is not None:
            for one in self._projection.settle():
                yield _frame(one, None)


def _frame(event: s.ServerEvent | AgentEvent, seq: int | None) -> bytes:
    place = b"id: %d\n" % seq if seq is not None else b""
    return b"%sevent: %s\ndata: %s\n\n" % (place, event.type.encode(), _encode(event))


async def _whole(sound: Sound) -> AsyncIterator[bytes]:
    """Yield a WAV in parts. Raises OSError where it is deleted meanwhile: the transfer breaks off."""
    for start in range(0, sound.n_bytes, SOUND_BYTES_AT_ONCE):
        yield await asyncio.to_thread(sound.read, start, min(start + SOUND_BYTES_AT_ONCE, sound.n_bytes))


def _attached(name: str) -> dict[str, str]:
    """Return the headers of a file to download. What is said in a call is in no cache."""
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}


def _gaps(info: CallInfo, entries: list[Entry]) -> list[list[int]]:
    """Ranges of the log that are lost."""
    missing = [list(gap) for gap in info.gaps]
    if entries and entries[0].seq > 1 and not missing:
        missing.append([1, entries[0].seq - 1])
    return missing


def _info_of(session: Session) -> CallInfo:
    """The record of a call that no store keeps."""
    gist = Gist().read(session.log.read())
    return CallInfo(
        call_id=session.call_id,
        owner=session.owner,
        session_id=session.session_id,
        agent_name=session.participant.name,
        created_at=session.created_at,
        last_seq=session.log.last_seq,
        first_words=gist.first_words,
        turns=gist.turns,
        errors=gist.errors,
    )


class _Refused(Exception):
    """A request gets this error as its response."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.response = JSONResponse({"code": code, "error": message}, status)


def _goes_on() -> _Refused:
    return _Refused(409, "call_goes_on", "the call goes on: wait for its end")


def _no_cases() -> _Refused:
    return _Refused(404, "no_cases", "this server makes no test cases of its calls")
