"""One client's WebSocket: frames in, frames out, and the calls that it makes one after the other.

The task that reads the socket decodes, decides and writes: no other task runs per frame. Only while a call is being
made is the socket read on the side, so that a client that leaves is noticed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

from starlette.websockets import WebSocket

from realtime.agent import RealtimeAgent
from realtime.agent.input import pieces_of
from realtime.call.listener import Listener
from realtime.call.participant import Participant
from realtime.call.resume_token import call_of
from realtime.call.session import Session
from realtime.dialects import ClientDialect
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.weight import weighed
from realtime.errors import ClientError, Overloaded, RealtimeError, public_error
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.event.server import error_event
from realtime.room.human_participant import HumanParticipant
from realtime.server.archive import no_such_token
from realtime.server.calls import Calls, Place
from realtime.server.pair import pair_of
from realtime.server.read_ahead import ReadAhead
from realtime.server.settings import ServerSettings
from realtime.server.sink import EXTENSION, DirectSocket, Message, SocketSink
from realtime.slices import slices_of
from realtime.state.restore import Heard
from realtime.state.store import CallInfo

logger = logging.getLogger(__name__)

AGENT_PARAMETERS = ("user", "config", "call_id")
MakeAgent = Callable[..., RealtimeAgent | HumanParticipant | Awaitable[RealtimeAgent | HumanParticipant]]
"""A function, plain or async, that makes the agent of one call, or takes a seat in a room for it. It is given those of
`user` (str), `config` (SessionConfig) and `call_id` (str) that it has parameters for, by name."""

LARGE_FRAME = 16_384
"""Characters or bytes, more than a quarter of a second of speech: a larger frame is read in slices, not at once."""
MAX_BAD_FRAMES = 100
"""A client that sends more in a row, without one that can be read, is sent away."""
NORMAL_CLOSURE = 1000
"""The close code of a client that has what it wanted (RFC 6455). One that is left says 1001, a lost socket nothing."""
TRY_AGAIN_LATER = 1013
"""The close code for a client that comes at a bad time (IANA's registry of RFC 6455)."""
CLOSE_WAIT_S = 2.0
"""How long a client that does not read is waited for once it was told to go."""


class OnlyCall(Protocol):
    """The call of a socket that has one and is closed with it."""

    def opening(self) -> c.ClientSessionCreateEvent | None:
        """What makes the call as soon as the socket is open; None where the client's first frame does."""
        ...

    def farewell(self) -> tuple[int, str]:
        """The code and the reason with which the socket is closed once the call is over, or cannot be made."""
        ...


class ClientSocket:
    """Serves one accepted WebSocket until it closes. At most one call at a time; a new one may follow an ended one.

    With `only_call` there is one: the socket is closed when it is over, and where it cannot be made. `more` gives what
    the frame that was decoded last says beyond its first event, for dialects in which a frame may say several things.
    """

    def __init__(
        self,
        websocket: WebSocket,
        *,
        dialect: ClientDialect,
        user: str,
        session_id: str,
        address: str,
        make_agent: MakeAgent,
        calls: Calls,
        settings: ServerSettings,
        only_call: OnlyCall | None = None,
        more: Callable[[], Sequence[c.ClientEvent]] = tuple,
    ) -> None:
        self._only_call = only_call
        self._more = more
        self._websocket = websocket
        self._dialect = dialect
        self._user = user
        self._session_id = session_id
        self._address = address
        self._make_agent = make_agent
        self._calls = calls
        self._settings = settings
        self._record = calls.recordings.begin if calls.recordings is not None else None
        self._runtime = calls.make_runtime(asyncio.get_running_loop())
        self._direct: DirectSocket | None = websocket.scope.get("extensions", {}).get(EXTENSION)
        self._sink = SocketSink(websocket.send, self._closing, self._direct)
        self._slices = slices_of(asyncio.get_running_loop(), self._runtime.stopwatch)
        self._at_once_size = min(LARGE_FRAME, settings.max_text_chars, settings.max_binary_bytes)
        self._rest: asyncio.Future[None] | None = None
        """While what was handed over at once has a rest that is not."""
        self._deadline: asyncio.Timeout | None = None
        self._session: Session | None = None
        self._listener: Listener | None = None
        self._latest: Session | None = None
        self._ahead = ReadAhead(websocket.receive)
        self._bad_frames = 0
        self._faults = 0
        self._idle = False
        """Whether the reading task waits for a message and for nothing else."""
        self._left = False
        """Whether the client closed the socket itself, as one does that is done."""
        self._resumed = False
        """Whether the client has come back here and said nothing yet: its first word proves that it got its token."""

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
                self._left = message.get("code") == NORMAL_CLOSURE
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
                if self._bad_frames > MAX_BAD_FRAMES:
                    self._send_away(1008, "too many frames that cannot be read")
                continue
            except Exception:
                await self._fault("read a frame")
                continue
            self._bad_frames = 0
            try:
                session = self._session
                if self._resumed and session is not None:
                    self._resumed = False
                    session.resume_token.confirm()
                if not isinstance(event, c.ClientEventBase):
                    self._answer(event)
                    continue
                if session is None:
                    more = self._more()
                    await self._without_call(event)
                    if (made := self._session) is not None:  # else it is refused together with it
                        for one in more:
                            made.receive(one, self._listener)
                    continue
                rest = self._slices.run(self._handed_over(event, len(frame), session))
                if rest is not None:
                    await rest
                if type(event) is c.ClientSessionEndEvent and event.session_id in (None, self._session_id):
                    # Whatever follows on this socket is meant for the time after the call.
                    await session.end("client_end")
            except Exception:
                await self._fault("handle an event")
            else:
                self._faults = 0

    def _take_at_once(self, frame: str | bytes) -> bool:
        """Handle a frame inside the socket's read callback, sparing a queue and a task's turn.

        False, and nothing done, for what the reading task has to do: whatever may have to wait.
        """
        session = self._session
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
                session.receive(event, self._listener, len(frame))
                more = self._more()
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
        """What else a frame says that was handed over at once; other frames have to wait for it."""

        def rest() -> Iterator[None]:
            for one in more:
                try:
                    session.receive(one, self._listener, 0)
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
        """What a frame says, to the call; long speech in pieces, of which the first that is refused is the last."""
        for piece in pieces_of(event):
            if not session.receive(piece, self._listener, n_bytes):
                break
            yield
        for one in self._more():
            session.receive(one, self._listener, 0)
            yield

    def _answer(self, event: s.ServerEvent) -> None:
        """What the dialect knows without the call."""
        if self._listener is not None:
            self._listener.deliver(event)

    async def _next(self) -> Message:
        self._idle = not self._resumed
        try:
            return await self._websocket.receive()
        finally:
            self._idle = False

    # -- calls -----------------------------------------------------------------------------------------------------

    async def _without_call(self, event: c.ClientEvent) -> None:
        """An event while there is no call: it makes one, or it is answered by an error."""
        try:
            if type(event) is c.ClientSessionCreateEvent:
                await self._create(event)
            elif type(event) is c.ClientSessionResumeEvent:
                await self._resume(event)
            elif self._latest is None:
                raise ClientError("there is no call yet: send client_session_create first", code="no_session")
            else:
                raise ClientError("the call is over: create a new one", code="session_ended")
        except ClientError as error:
            error.client_event_id = error.client_event_id or event.event_id
            await self._complain(error)
            if isinstance(error, Overloaded) and self._only_call is None:
                self._send_away(TRY_AGAIN_LATER, f"overloaded: try again after {error.retry_after_ms} ms")
        self._close_without_call()

    async def _create(self, event: c.ClientSessionCreateEvent) -> None:
        """Make a call, reading on meanwhile. Returns when it is made, has failed, or the client is gone."""
        if event.session_id is not None and event.session_id != self._session_id:
            raise ClientError(
                f"this socket's session is {self._session_id!r}, the event names {event.session_id!r}",
                code="session_mismatch",
            )
        try:
            config = SessionConfig.from_dict(event.config)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_config") from error
        listener = self._dialect.listener(self._sink, self._runtime, config)
        call_id = self._runtime.new_id("call")

        def make(participant: Participant) -> Session:
            return Session(
                participant=participant,
                runtime=self._runtime,
                session_id=self._session_id,
                call_id=call_id,
                limits=self._settings.limits,
                owner=self._user,
                record=self._record,
            )

        await self._make_call(call_id, config, listener, make)

    async def _make_call(
        self,
        call_id: str,
        config: SessionConfig,
        listener: Listener,
        make: Callable[[Participant], Session],
        resume: Callable[[Session], None] | None = None,
        info: CallInfo | None = None,
    ) -> None:
        """Open the call that `make` makes, reading on meanwhile; `resume` brings the listener in, else it is attached.
        Returns when it is made, has failed, or the client is gone."""
        self._forget_call()
        place = self._calls.take_place(self._address)
        if not await self._is_let_in(place, returns=resume is not None):
            return

        async def open_it() -> None:
            participant = await self._participant_for(call_id, config, place)
            if participant is None:
                return
            session = make(participant)
            session.config = config
            place.fill(session)
            if self._calls.archive is not None:
                self._calls.archive.keep(session, info)
            self._take_on(session, listener)
            if resume is None:
                session.attach(listener)
            else:
                resume(session)
            try:
                await session.start(config)
            except Exception as error:
                _note(f"could not start the agent of {call_id}", error)

        opening = asyncio.create_task(open_it(), name="making a call")
        try:
            await self._ahead.read_while(opening)
        finally:
            outlived = not opening.done() and self._is_outlived(listener)
            if outlived:
                self._calls.finish(opening)
            elif not opening.done():
                opening.cancel()
                await asyncio.wait([opening])
            if self._session is None:
                place.leave()
        if not outlived and not opening.cancelled():
            opening.result()

    async def _is_let_in(self, place: Place, *, returns: bool) -> bool:
        """Whether the call may begin, once that is decided; False where its client has left meanwhile. Raises
        Overloaded where the server has no room for it."""
        try:
            waiting = self._calls.admission.enter(place, returns=returns)
            if waiting is None:
                return True
            await self._ahead.read_while(waiting)
            if waiting.done():
                waiting.result()
                return True
        except BaseException:
            place.leave()
            raise
        waiting.cancel()
        place.leave()
        return False

    def _is_outlived(self, listener: Listener) -> bool:
        """Whether the call that is being made goes on without this socket."""
        last = self._ahead.latest or {}
        left = last.get("type") == "websocket.disconnect" and last.get("code") == NORMAL_CLOSURE
        return self._session is not None and not left and self._session.outlives(listener)

    async def _participant_for(self, call_id: str, config: SessionConfig, place: Place) -> Participant | None:
        """The participant of a call; None where it cannot be made: told to the client, its details stay in the log."""

        async def make(settings: SessionConfig) -> RealtimeAgent | HumanParticipant:
            return await make_agent_of(self._make_agent, user=self._user, config=settings, call_id=call_id)

        pair = self._dialect.pair if isinstance(self._dialect, AgentScope1Dialect) else None
        try:
            made = await (make(config) if pair is None else pair_of(pair, config, make, self._runtime))
            return made.run() if isinstance(made, RealtimeAgent) else made
        except Exception as error:
            place.leave()
            _note(f"could not make the agent of {call_id}", error)
            await self._tell(error_event(public_error(error)))
            await self._tell(s.ServerSessionEndedEvent(session_id=self._session_id, reason="agent_failed"))
            return None

    # -- coming back -----------------------------------------------------------------------------------------------

    async def _resume(self, event: c.ClientSessionResumeEvent) -> None:
        """Go on with a call whose socket was lost. Raises ClientError, which leaves the call and its token as they
        are."""
        call_id = call_of(event.token)
        session = self._calls.sessions.get(call_id)
        if session is not None:
            # Until its agent is in, what the client says would meet nobody.
            await session.arrived()
            if session.is_ending:
                await session.settled()
                session = None
        if session is None:
            await self._revive(event, call_id)
            return
        self._check_right(session, event.token)
        listener = self._returning_listener(session.config)
        earlier: list[s.ServerEvent] = []
        known_seq = session.known_seq(event.token, event.last_seq)
        gap = not session.log.holds(known_seq)
        if gap and self._calls.archive is not None:
            earlier, gap = await self._calls.archive.missed(call_id, known_seq)
            if session.is_ending:
                raise ClientError("the call ended just now", code="resume_under_way", retryable=True)
            self._check_right(session, event.token)
        self._forget_call()
        self._take_on(session, listener)
        self._resumed = True
        session.resume(listener, event.token, event.last_seq, earlier=earlier, gap=gap)

    async def _revive(self, event: c.ClientSessionResumeEvent, call_id: str) -> None:
        """Go on with a call that is over here, or was another process's."""
        archive = self._calls.archive
        if archive is None:
            raise no_such_token()
        heard = Heard(event.played_item_id, event.played_ms or 0) if event.played_item_id is not None else None
        with self._calls.reviving(call_id):
            info = await archive.find(
                event.token, call_id, user=self._user, session_id=self._session_id, wall_now=self._runtime.wall_now()
            )
            found = await archive.read_back(info, heard)
            known_seq = min(event.last_seq, found.restored.last_seq)
            config = found.config
            listener = self._returning_listener(config)
            received_samples = found.received_samples(config)

            def make(participant: Participant) -> Session:
                return found.session(
                    participant=participant, runtime=self._runtime, limits=self._settings.limits, record=self._record
                )

            def resume(session: Session) -> None:
                self._resumed = True
                session.resume(
                    listener,
                    event.token,
                    event.last_seq,
                    earlier=found.missed(known_seq),
                    gap=info.has_gap_after(known_seq),
                    received_samples=received_samples,
                )

            await self._make_call(call_id, config, listener, make, resume, info)

    def _check_right(self, session: Session, token: str) -> None:
        """Raises ClientError where it is not this client's call. A token of another path is as good as a wrong one."""
        own = session.owner == self._user and session.session_id == self._session_id
        if not own or not session.resume_token.is_good(token):
            raise no_such_token()

    def _returning_listener(self, config: SessionConfig) -> Listener:
        listener = self._dialect.listener(self._sink, self._runtime, config)
        if not listener.resumable:
            raise ClientError("only a client of subprotocol realtime.v1 can come back", code="unexpected_event")
        return listener

    def _take_on(self, session: Session, listener: Listener) -> None:
        session.on_ended.append(self._call_ended)
        self._session = self._latest = session
        self._listener = listener
        self._close_in(None)

    def _call_ended(self, _: Session) -> None:
        self._session = None
        if self._only_call is None:
            self._expect_call()
        else:
            self._sink.close(*self._only_call.farewell())

    def _forget_call(self) -> None:
        """The latest call is over, or its socket is lost: nothing more is said here."""
        if self._latest is not None and self._listener is not None:
            if self._call_ended in self._latest.on_ended:
                self._latest.on_ended.remove(self._call_ended)
            self._latest.detach(self._listener, for_good=self._left)
        self._listener = None

    async def _leave(self) -> None:
        """The socket is closed."""
        if self._direct is not None:
            self._direct.on_message = None
        self._ahead.stop()
        session = self._session
        self._forget_call()
        if session is not None:
            await session.settled()
        await self._sink.abandon()

    # -- saying things without a call ------------------------------------------------------------------------------

    async def _complain(self, error: RealtimeError) -> None:
        if self._session is not None:
            self._session.complain(error)
        else:
            await self._tell(error_event(error))
            self._close_without_call()

    def _close_without_call(self) -> None:
        """A socket with one call is of no use where that could not be made."""
        if self._only_call is not None and self._session is None:
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
        """A fault of ours. The socket lives on."""
        error = self._noted_fault(doing)
        if error is not None:
            await self._complain(error)

    def _noted_fault(self, doing: str) -> RealtimeError | None:
        """The exception being handled is logged; a client is told of it without details.

        Only the first in a row counts: speech comes 50 times a second, and so would a fault in its way.
        """
        self._faults += 1
        if self._faults > MAX_BAD_FRAMES:
            self._send_away(1011, "the server cannot serve this call")
        if self._faults > 1:
            return None
        logger.exception("could not %s for session %s", doing, self._session_id)
        return RealtimeError(f"the server could not {doing}", code="internal")

    # -- sockets nobody needs --------------------------------------------------------------------------------------

    def _expect_call(self, within_s: float = math.inf) -> None:
        """A socket without a call is closed after the time that a silent call has, or sooner."""
        if not self._sink.closed:
            self._close_in(min(within_s, self._settings.limits.idle_s))

    def _closing(self) -> None:
        """The client was told to go: one that does not answer is not waited for."""
        self._close_in(CLOSE_WAIT_S)

    def _send_away(self, code: int, reason: str) -> None:
        """This client cannot be served: it is not waited for either."""
        self._left = True
        self._sink.close(code, reason)

    def _close_in(self, delay_s: float | None) -> None:
        if self._deadline is not None and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            self._deadline.reschedule(None if delay_s is None else now + delay_s)


def _note(what: str, error: Exception) -> None:
    """Into the log: in a line what the client is told of as well, such as a missing key; a fault of ours whole."""
    if public_error(error) is error:
        logger.warning("%s: %s", what, error)
    else:
        logger.error("%s", what, exc_info=error)


async def make_agent_of(make_agent: MakeAgent, **known: Any) -> RealtimeAgent | HumanParticipant:
    """The agent that `make_agent` makes, given by name those of `known` that it has parameters for.

    Raises what it raises, and TypeError where it returns something else.
    """
    parameters = inspect.signature(make_agent).parameters.values()
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    made = make_agent(**{name: value for name, value in known.items() if takes_all or name in names})
    agent = await made if inspect.isawaitable(made) else made
    if not isinstance(agent, RealtimeAgent | HumanParticipant):
        raise TypeError(f"make_agent returned {type(agent).__name__}, not a RealtimeAgent or a seat in a room")
    return agent
