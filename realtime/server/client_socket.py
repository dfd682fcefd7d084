"""One client's WebSocket: frames in, frames out, and the calls that it makes one after the other.

A plain frame is decoded and handled inside the socket's read callback. The task that reads the socket handles the rest:
what is large, what may have to wait, and everything on a server without that callback. While a call is being made, the
socket is read on the side, so that a client that leaves is noticed.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator, Sequence
from typing import Protocol

from starlette.websockets import WebSocket

from realtime.agent.input import pieces_of
from realtime.call.session import Session
from realtime.dialects import ClientDialect
from realtime.dialects.weight import weighed
from realtime.errors import ClientError, Overloaded, RealtimeError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.server import error_event
from realtime.server.read_ahead import ReadAhead
from realtime.server.sink import EXTENSION, DirectSocket, Message, SocketSink
from realtime.server.socket_calls import NORMAL_CLOSURE, SocketCalls, SocketClient
from realtime.slices import slices_of

logger = logging.getLogger(__name__)

LARGE_FRAME = 16_384
"""Characters or bytes: 0.26 s of speech in base64 at 24 kHz. A larger frame is read in slices, not at once."""
MAX_FAULTS = 100
"""Unreadable frames or faults in a row after which a socket closes."""
TRY_AGAIN_LATER = 1013
"""Close code for clients that should retry later: IANA's registry of RFC 6455."""
CLOSE_WAIT_S = 2.0
"""How long a closing handshake may take, in seconds."""


class OnlyCall(Protocol):
    """The only call of a socket that is closed with it."""

    def opening(self) -> c.ClientSessionCreateEvent | None:
        """What makes the call as soon as the socket is open; None where the client's first frame does."""
        ...

    def farewell(self) -> tuple[int, str]:
        """Close code and reason for the socket: the call is over or cannot be made."""
        ...


class ClientSocket:
    """Serves one accepted WebSocket until it closes. At most one call at a time; a new one may follow an ended one.

    With `only_call` there is one: the socket is closed when it is over, and where it cannot be made.
    """

    def __init__(
        self, websocket: WebSocket, dialect: ClientDialect, client: SocketClient, *, only_call: OnlyCall | None = None
    ) -> None:
        self._only_call = only_call
        self._websocket = websocket
        self._dialect = dialect
        self._session_id = client.session_id
        self._settings = settings = client.settings
        runtime = client.calls.make_runtime(asyncio.get_running_loop())
        self._direct: DirectSocket | None = websocket.scope.get("extensions", {}).get(EXTENSION)
        self._sink = SocketSink(websocket.send, self._closing, self._direct)
        self._slices = slices_of(asyncio.get_running_loop(), runtime.stopwatch)
        self._at_once_size = min(LARGE_FRAME, settings.max_text_chars, settings.max_binary_bytes)
        self._rest: asyncio.Future[None] | None = None
        """The rest of a frame that is being handed over in slices; None where there is none."""
        self._deadline: asyncio.Timeout | None = None
        self._ahead = ReadAhead(websocket.receive)
        self._bad_frames = 0
        self._faults = 0
        self._idle = False
        """Whether the reading task waits for a message and for nothing else."""
        self._made = SocketCalls(
            dialect=dialect,
            sink=self._sink,
            ahead=self._ahead,
            runtime=runtime,
            client=client,
            tell=self._tell,
            on_begun=self._call_begun,
            on_ended=self._call_ended,
        )

    async def serve(self) -> None:
        """Serve until either side closes. Afterwards nothing of it runs, but for a call that has a grace time.

        Cancelling it ends the call as a closed socket does.
        """
        deadline = asyncio.timeout(None)
        try:
            async with deadline:
                self._deadline = deadline
                self._expect_call(self._settings.first_event_s)
                await self._read()
        except TimeoutError:
            if not deadline.expired():
                raise
        finally:
            self._deadline = None
            if deadline.expired() and not self._sink.closed:
                self._send_away(1008, "no call was made on this socket")
            await self._leave()

    async def _read(self) -> None:
        if self._direct is not None:
            self._direct.on_message = self._take_at_once
        opening = self._only_call.opening() if self._only_call is not None else None
        if opening is not None:
            try:
                await self._without_call(opening)
            except Exception:
                await self._fault("make a call")
        while not self._sink.closed or self._sink.lost:
            message = await (self._ahead.next() if self._ahead.has_more else self._next())
            if message["type"] == "websocket.disconnect":
                self._made.left = message.get("code") == NORMAL_CLOSURE
                return
            if self._sink.closed:
                # The client is gone, or came back elsewhere: what still comes here counts no more.
                continue
            if self._rest is not None:
                await self._rest
            text = message.get("text")
            frame: str | bytes = text if text is not None else message["bytes"]
            try:
                event = await self._decoded(frame)
            except ClientError as error:
                self._bad_frames += 1
                await self._complain(error)
                if self._bad_frames > MAX_FAULTS:
                    self._send_away(1008, "too many frames that cannot be read")
                continue
            except Exception:
                await self._fault("read a frame")
                continue
            self._bad_frames = 0
            try:
                session = self._made.session
                if self._made.resumed and session is not None:
                    self._made.resumed = False
                    session.resume_token.confirm()
                if not isinstance(event, c.ClientEventBase):
                    self._answer(event)
                    continue
                if session is None:
                    more = self._dialect.more()
                    await self._without_call(event)
                    if (made := self._made.session) is not None:  # else it is refused together with it
                        for one in more:
                            made.receive(one, self._made.listener)
                    continue
                rest = self._slices.run(self._handed_over(event, len(frame), session))
                if rest is not None:
                    await rest
                if type(event) is c.ClientSessionEndEvent and event.session_id in (None, self._session_id):
                    # What follows on this socket is meant for the time after the call.
                    await session.end("client_end")
            except Exception:
                await self._fault("handle an event")
            else:
                self._faults = 0

    def _take_at_once(self, frame: str | bytes) -> bool:
        """Handle a frame inside the socket's read callback: saves a queue and a task switch.

        False, and nothing done, for what the reading task has to do: whatever may have to wait.
        """
        session = self._made.session
        if session is None or not self._idle or self._sink.closed or self._rest is not None:
            return False
        if len(frame) > self._at_once_size:
            return False
        try:
            event = self._dialect.decode(frame)
        except Exception:
            return False
        if type(event) is c.ClientSessionEndEvent:
            return False
        self._bad_frames = 0
        try:
            if isinstance(event, c.ClientEventBase):
                session.receive(event, self._made.listener, len(frame))
                more = self._dialect.more()
                if more:
                    self._hand_over_rest(more, session)
            else:
                self._answer(event)
        except Exception:
            self._complain_at_once(session)
        else:
            self._faults = 0
        return True

    def _hand_over_rest(self, more: Sequence[c.ClientEvent], session: Session) -> None:
        """Hand over the rest of a frame in slices; other frames wait for it."""

        def rest() -> Iterator[None]:
            for one in more:
                try:
                    session.receive(one, self._made.listener, 0)
                except Exception:
                    self._complain_at_once(session)
                yield

        def done(_: asyncio.Future[None]) -> None:
            self._rest = None

        self._rest = self._slices.run(rest())
        if self._rest is not None:
            self._rest.add_done_callback(done)

    def _complain_at_once(self, session: Session) -> None:
        fault = self._noted_fault("handle an event")
        if fault is not None:
            session.complain(fault)

    async def _decoded(self, frame: str | bytes) -> c.ClientEvent | s.ServerEvent:
        """Raises ClientError."""
        limit = self._settings.max_text_chars if isinstance(frame, str) else self._settings.max_binary_bytes
        if len(frame) > limit:
            raise ClientError(f"a frame has at most {limit} bytes, this one has more", code="frame_too_large")
        if len(frame) <= LARGE_FRAME:
            return self._dialect.decode(frame)
        read: list[c.ClientEvent | s.ServerEvent] = []

        def steps() -> Iterator[None]:
            yield from weighed(frame)
            # A step too, so that large frames of many clients are not all read in one turn.
            read.append(self._dialect.decode(frame))
            yield

        rest = self._slices.run(steps())
        if rest is not None:
            await rest
        return read[0]

    def _handed_over(self, event: c.ClientEvent, n_bytes: int, session: Session) -> Iterator[None]:
        """Hand a frame's events to the call; long speech in pieces, until one is refused."""
        for piece in pieces_of(event):
            if not session.receive(piece, self._made.listener, n_bytes):
                break
            yield
        for one in self._dialect.more():
            session.receive(one, self._made.listener, 0)
            yield

    def _answer(self, event: s.ServerEvent) -> None:
        """Deliver what the dialect answers without the call."""
        if self._made.listener is not None:
            self._made.listener.deliver(event)

    async def _next(self) -> Message:
        self._idle = not self._made.resumed
        try:
            return await self._websocket.receive()
        finally:
            self._idle = False

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _without_call(self, event: c.ClientEvent) -> None:
        """Take an event while there is no call: it makes one, or is answered by an error."""
        try:
            if type(event) is c.ClientSessionCreateEvent:
                await self._made.create(event)
            elif type(event) is c.ClientSessionResumeEvent:
                await self._made.resume(event)
            elif self._made.latest is None:
                raise ClientError("there is no call yet: send client_session_create first", code="no_session")
            else:
                raise ClientError("the call is over: create a new one", code="session_ended")
        except ClientError as error:
            error.client_event_id = error.client_event_id or event.event_id
            await self._complain(error)
            if isinstance(error, Overloaded) and self._only_call is None:
                self._send_away(TRY_AGAIN_LATER, f"overloaded: try again after {error.retry_after_ms} ms")
        self._close_without_call()

    def _call_begun(self) -> None:
        self._close_in(None)

    def _call_ended(self) -> None:
        if self._only_call is None:
            self._expect_call()
        else:
            self._sink.close(*self._only_call.farewell())

    async def _leave(self) -> None:
        """The socket is closed."""
        if self._direct is not None:
            self._direct.on_message = None
        self._ahead.stop()
        session = self._made.session
        self._made.detach()
        if session is not None:
            await session.settled()
        self._made.close()
        await self._sink.abandon()

    # -- saying things without a call ------------------------------------------------------------------------------

    async def _complain(self, error: RealtimeError) -> None:
        if self._made.session is not None:
            self._made.session.complain(error)
        else:
            await self._tell(error_event(error))
            self._close_without_call()

    def _close_without_call(self) -> None:
        """Close a socket with one call where that could not be made."""
        if self._only_call is not None and self._made.session is None:
            self._sink.close(*self._only_call.farewell())

    async def _tell(self, event: s.ServerEvent) -> None:
        """Write an event to this socket alone, waiting until it takes it."""
        for frame in self._dialect.encode(event):
            if not self._sink.write(frame):
                try:
                    await self._sink.finish()
                except ConnectionError:
                    return

    async def _fault(self, doing: str) -> None:
        """Report a fault of ours. The socket lives on."""
        error = self._noted_fault(doing)
        if error is not None:
            await self._complain(error)

    def _noted_fault(self, doing: str) -> RealtimeError | None:
        """Log the exception being handled; returns the error that the client sees, without details.

        Only the first in a row counts: speech comes 50 times a second, and so would a fault in its way.
        """
        self._faults += 1
        if self._faults > MAX_FAULTS:
            self._send_away(1011, "the server cannot serve this call")
        if self._faults > 1:
            return None
        logger.exception("could not %s for session %s", doing, self._session_id)
        return RealtimeError(f"the server could not {doing}", code="internal")

    # -- sockets to be closed --------------------------------------------------------------------------------------

    def _expect_call(self, within_s: float = math.inf) -> None:
        """Close a socket without a call after the idle time, or sooner."""
        if not self._sink.closed:
            self._close_in(min(within_s, self._settings.limits.idle_s))

    def _closing(self) -> None:
        """The socket is being closed: do not wait long for a client that does not answer."""
        self._close_in(CLOSE_WAIT_S)

    def _send_away(self, code: int, reason: str) -> None:
        """Close the socket of a client that cannot be served; its call does not wait for it."""
        self._made.left = True
        self._sink.close(code, reason)

    def _close_in(self, delay_s: float | None) -> None:
        if self._deadline is not None and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            self._deadline.reschedule(None if delay_s is None else now + delay_s)
