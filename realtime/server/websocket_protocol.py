"""uvicorn's WebSocket protocol with a fast path for whole messages; the library handles the rest.

It is used only by `realtime serve`: the routers use plain ASGI and work under any server.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.protocol import State

from realtime.server.connections import ConnectionRefusal
from realtime.server.http_guard import answer, connections_of, note
from realtime.server.settings import LONGEST_MESSAGE_BYTES
from realtime.server.sink import EXTENSION
from realtime.websocket import BINARY, OTHER, TEXT, FrameCutter, FrameReader, server_frame

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
    from websockets.frames import Frame
    from websockets.http11 import Request

logger = logging.getLogger(__name__)

MAX_UNREAD_MESSAGES = 16
"""Unread messages in the application's queue beyond which the socket pauses."""
LAST_LOOK_S = 1.0
"""Seconds to look for life in a client that seems dead."""
NO_HANDSHAKE = ConnectionRefusal(400, "this is no WebSocket handshake", "requests that cannot be read")
NEEDED = (
    *("close_sent", "config", "conn", "curr_msg_data_type", "frames", "handle_connect", "handshake_initiated"),
    *("handle_close", "handle_cont", "handle_parser_exception", "handle_ping", "keepalive_timeout"),
    *("loop", "on_task_complete", "pending_ping_payload", "pong_timer", "queue", "read_paused"),
    *("schedule_ping", "send_keepalive_ping", "send_receive_event_to_app", "shutdown", "transport", "writable"),
)
"""Undocumented names that `VoiceSocketProtocol` uses of its base."""
_OPEN = State.OPEN
_TAKING = (State.OPEN, State.CLOSING)
"""While this side closes, input is still read: the other side's close frame comes after it."""
_HEAD_END = b"\r\n\r\n"


def lacking() -> list[str]:
    """Return the names that `VoiceSocketProtocol` needs and this uvicorn lacks."""
    config = Config("nothing:app", interface="asgi3", log_config=None)
    config.loaded, config.loaded_app = True, None
    try:
        base = WebSocketsSansIOProtocol(config, ServerState(), {}, cast(asyncio.AbstractEventLoop, config))
    except Exception as error:
        return [f"a protocol that can be made ({type(error).__name__})"]
    return [name for name in NEEDED if not hasattr(base, name)]


class VoiceSocketProtocol(WebSocketsSansIOProtocol):
    """Reads and writes whole messages, each in one step.

    Unlike its base it does not pause and resume the socket around every message, which costs system calls.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cutter: FrameCutter | None = FrameCutter(
            masked=True, max_bytes=self.config.ws_max_size, kept_bytes=LONGEST_MESSAGE_BYTES
        )
        """None once the library has read part of a frame: it then reads all of them."""
        self._reader: FrameReader | None = None
        """Set from the first frame on."""
        self.on_message: Callable[[str | bytes], bool] | None = None
        """Gets each message first; False puts it on the application's queue."""
        self._full = False
        """The opposite of the base's `writable`, without a call for each message."""
        self._heard = False
        """Whether anything was read since the last ping."""
        self._fragments = bytearray()
        """The received fragments of an incomplete message."""
        self._is_lost = False
        """Whether the connection is gone."""
        self._pong = b""
        """The pong for the latest ping, while the client does not read."""

    def handle_connect(self, event: Request) -> None:
        """See the base."""
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"] = {**(self.scope["extensions"] or {}), EXTENSION: self}  # type: ignore[dict-item]

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._heard = True
        cutter = self._cutter
        if cutter is None:
            super().data_received(data)
        elif self.conn.state not in _TAKING:
            if self.handshake_initiated or not data.endswith(_HEAD_END):
                self._cutter = None
            super().data_received(cutter.drain() + data)
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                # The library then waits for the end of the connection, and the base does not answer.
                note(connections_of(self.config), NO_HANDSHAKE, self.loop.time())
                answer(self.transport, NO_HANDSHAKE)
                self.transport.close()
        else:
            reader = self._reader
            if reader is None:
                reader = self._reader = FrameReader(cutter, self._take, self._pause, self._resume, self.loop)
            reader.push(data)

    def _take(self, kind: int, payload: bytes) -> bool:
        """Take one message, or bytes for the library; False once the socket closes or fails."""
        try:
            if kind != OTHER:
                self._message(kind, payload)
                return True
            super().data_received(payload)
        except Exception:
            logger.exception("a frame could not be taken")
            self.transport.abort()
            return False
        if self._reader is not None and self.queue.qsize() > MAX_UNREAD_MESSAGES:
            self._reader.hold()
        if self.conn.state in _TAKING:
            return True
        self._cutter = None
        return False

    def handle_cont(self, event: Frame) -> None:
        """See the base. Joins fragments as they arrive: kept one by one, small ones take many times their length."""
        joined = self._fragments
        if self.frames:
            joined += self.frames.pop()
        if len(joined) <= LONGEST_MESSAGE_BYTES and not self.close_sent:
            joined += event.data
        if event.fin:
            self._fragments = bytearray()
            self.frames = [bytes(joined if len(joined) <= LONGEST_MESSAGE_BYTES else LONGEST_MESSAGE_BYTES + 1)]
            self.send_receive_event_to_app()

    def handle_ping(self) -> None:
        """See the base. While the client does not read, only its latest ping waits for an answer (RFC 6455, 5.5.3)."""
        pong = b"".join(self.conn.data_to_send())
        if self._full:
            self._pong = pong
        elif not self.transport.is_closing():
            self.transport.write(pong)

    def handle_close(self, event: Frame) -> None:
        """See the base, which forgets the close code of a lost connection."""
        if self.transport.is_closing() and not self.close_sent and self.conn.close_rcvd is not None:
            code, reason = self.conn.close_rcvd.code, self.conn.close_rcvd.reason
            self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        else:
            super().handle_close(event)

    def handle_parser_exception(self) -> None:
        """See the base, which writes."""
        if self.transport.is_closing():
            self.close_sent = True
        else:
            super().handle_parser_exception()

    def _pause(self) -> None:
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def _resume(self) -> None:
        if self.read_paused and not self._is_lost and self.queue.qsize() < MAX_UNREAD_MESSAGES:
            self.read_paused = False
            self.transport.resume_reading()

    async def receive(self) -> ASGIReceiveEvent:
        """See ASGI. The rest of a burst enters the queue once the queue is empty."""
        message = await self.queue.get()
        if self.queue.empty():
            reader = self._reader
            if reader is not None:
                # Only after this message is handled: the next one may be taken at once.
                self.loop.call_soon(reader.go_on)
            if reader is None or not reader.is_behind:
                self._resume()
        return message

    def pause_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        super().pause_writing()
        self._full = True

    def resume_writing(self) -> None:
        """See `asyncio.BaseProtocol`."""
        super().resume_writing()
        self._full = False
        pong, self._pong = self._pong, b""
        if pong:
            self.transport.write(pong)

    def send_keepalive_ping(self) -> None:
        """See the base."""
        self._heard = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """See the base, which closes the socket.

        A pong waits behind the speech that came before it: a busy server that has not read so far yet must not take a
        talking client for a dead one.
        """
        # Timers may run before the data in the socket is read.
        self._wait_on_or(lambda: self.loop.call_later(LAST_LOOK_S, self._give_up))

    def _give_up(self) -> None:
        self._wait_on_or(super().keepalive_timeout)

    def _wait_on_or(self, end: Callable[[], asyncio.TimerHandle | None]) -> None:
        if self._heard or self.read_paused:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
        else:
            self.pong_timer = end()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`. Detaches from the scope, so that both are freed at once, without the collector."""
        connections_of(self.config).leave(self.transport)
        self._is_lost = True
        if self._reader is None:
            self._lost(exc)
        else:
            # Waiting writers would wait for ever, and so would the rest of a burst; nor can a lost socket be paused.
            self.disconnected = self.read_paused = True
            self.writable.set()
            self._reader.finish(functools.partial(self._lost, exc))

    def _lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._reader = None
        scope = getattr(self, "scope", None)  # there is none before a valid request
        if scope is not None:
            (scope["extensions"] or {}).pop(EXTENSION, None)

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """See the base. Drops the rest of a burst, which the application no longer takes."""
        super().on_task_complete(task)
        if self._reader is not None and self._reader.is_behind:
            self._reader.drop()

    def shutdown(self) -> None:
        """See the base, which cannot close a socket that is already closing."""
        if self.transport.is_closing():
            # The client has gone in this very moment: there is nothing to write to.
            return
        if self.conn.state is _OPEN or not self.handshake_initiated:
            super().shutdown()
        else:
            self.transport.close()

    def _message(self, kind: int, payload: bytes) -> None:
        unread = self.queue.qsize()
        if self.close_sent:
            return
        if unread >= MAX_UNREAD_MESSAGES:
            self._hand_on(kind, payload)
            if self._reader is not None:
                self._reader.hold()
            return
        message: str | bytes = payload
        if kind == TEXT:
            try:
                message = payload.decode()
            except UnicodeDecodeError:
                self._hand_on(kind, payload)
                return
        if not unread and self.on_message is not None and self.on_message(message):
            return
        if isinstance(message, str):
            self.queue.put_nowait({"type": "websocket.receive", "text": message})
        else:
            self.queue.put_nowait({"type": "websocket.receive", "bytes": message})

    def _hand_on(self, kind: int, payload: bytes) -> None:
        """Use the base's own path: it pauses the socket, and closes it for text that is not UTF-8."""
        self.curr_msg_data_type = "text" if kind == TEXT else "bytes"
        self.frames = [payload]
        self.send_receive_event_to_app()

    def write_now(self, message: str | bytes) -> bool:
        """Write a whole message; False, with nothing written, where the socket is closed or full."""
        if self._full or self.conn.state is not _OPEN or self.transport.is_closing():
            return False
        if isinstance(message, str):
            self.transport.write(server_frame(TEXT, message.encode()))
        else:
            self.transport.write(server_frame(BINARY, message))
        return True

    async def send(self, message: ASGISendEvent) -> None:
        """See ASGI."""
        if message["type"] == "websocket.send":
            binary = message.get("bytes")
            if self.write_now(binary if binary is not None else message.get("text") or ""):
                return
            if self.transport.is_closing():
                raise ClientDisconnected
        elif message["type"] == "websocket.close" and self._cutter is not None:
            self._cutter.keep_no_long()
        await super().send(message)
