"""The least WebSocket that a load generator needs: both ends of it cost less than what they measure.

Whole messages in, ready-made frames out. Frames are never fragmented or compressed by the peers measured here; one
that is closes the socket with an error that is counted.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import cast

from websockets.frames import apply_mask  # type: ignore[attr-defined]

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

ACCEPT_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""

CLIENT_KEY = "cmVhbHRpbWUgYmVuY2guLg=="
ZERO_MASK = bytes(4)


def frame(payload: bytes, *, opcode: int = TEXT, masked: bool) -> bytes:
    """One unfragmented frame. A client's is masked, with a key of zeros: the server still has to unmask it."""
    return frame_header(len(payload), opcode=opcode, masked=masked) + payload


def frame_header(length: int, *, opcode: int = TEXT, masked: bool) -> bytes:
    """The header of an unfragmented frame with a payload of `length` bytes."""
    flag = 0x80 if masked else 0
    if length < 126:
        head = bytes((0x80 | opcode, flag | length))
    elif length < 65_536:
        head = bytes((0x80 | opcode, flag | 126)) + length.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, flag | 127)) + length.to_bytes(8, "big")
    return head + ZERO_MASK if masked else head


class Peer(asyncio.Protocol):
    """One end of a WebSocket; subclasses take `opened`, `received` and `lost`. `transport` is set once connected."""

    masked = False
    """Whether this end masks what it sends, as clients have to."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.open = False
        self.close_code: int | None = None
        self._rest = b""

    def opened(self, path: str) -> None:
        """The handshake is done; `path` is the request's target (servers only)."""

    def received(self, opcode: int, payload: bytes) -> None:
        """A whole text or binary message."""

    def lost(self) -> None:
        """The socket is gone."""

    def send(self, payload: bytes, opcode: int = TEXT) -> None:
        """Send one message; nothing where the socket is closing."""
        if not self.transport.is_closing():
            self.transport.write(frame(payload, opcode=opcode, masked=self.masked))

    def close(self, code: int = 1000) -> None:
        """Say goodbye and close."""
        self.send(code.to_bytes(2, "big"), CLOSE)
        self.transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        self.lost()

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        start = 0 if self.open else self._handshake(data)
        end = len(data)
        while self.open and end - start >= 2:
            second = data[start + 1]
            length = second & 127
            at = start + 2
            if length == 126:
                at += 2
                length = int.from_bytes(data[start + 2 : at], "big")
            elif length == 127:
                at += 8
                length = int.from_bytes(data[start + 2 : at], "big")
            if second & 128:
                at += 4
            if at + length > end:
                break
            payload = data[at : at + length]
            if second & 128:
                mask = data[at - 4 : at]
                if mask != ZERO_MASK:
                    payload = apply_mask(payload, mask)
            first = data[start]
            start = at + length
            self._dispatch(first, payload)
        self._rest = data[start:] if start < end else b""

    def _dispatch(self, first: int, payload: bytes) -> None:
        opcode = first & 15
        if first & 0xF0 != 0x80 or opcode == 0:
            raise ValueError("fragmented or compressed frame")
        if opcode in (TEXT, BINARY):
            self.received(opcode, payload)
        elif opcode == PING:
            self.send(payload, PONG)
        elif opcode == CLOSE:
            self.close_code = int.from_bytes(payload[:2], "big") if payload else 1005
            self.close(self.close_code if self.close_code != 1005 else 1000)

    def _handshake(self, data: bytes) -> int:
        """Where the frames begin in `data`, once the whole header block is there; else 0 and still not open."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return 0
        lines = data[:end].decode("latin-1").split("\r\n")
        path = self._answer(lines)
        if path is not None:
            self.open = True
            self.opened(path)
        return end + 4

    def _answer(self, lines: list[str]) -> str | None:
        """A client checks the status line, a server accepts the upgrade; None where the socket is closed instead."""
        raise NotImplementedError


class ClientPeer(Peer):
    """The client's end: `path` and an optional subprotocol are asked for as soon as the socket is there."""

    masked = True

    def __init__(self, path: str, subprotocol: str | None = None) -> None:
        super().__init__()
        self._path = path
        self._subprotocol = subprotocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        offer = f"Sec-WebSocket-Protocol: {self._subprotocol}\r\n" if self._subprotocol else ""
        self.transport.write(
            f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {CLIENT_KEY}\r\nSec-WebSocket-Version: 13\r\n{offer}\r\n".encode()
        )

    def _answer(self, lines: list[str]) -> str | None:
        if lines[0].split(" ")[1] != "101":
            self.transport.close()
            return None
        return self._path


class ServerPeer(Peer):
    """The server's end: accepts every upgrade, offers no extension."""

    def _answer(self, lines: list[str]) -> str | None:
        fields = dict(line.split(": ", 1) for line in lines[1:])
        key = next(value for name, value in fields.items() if name.lower() == "sec-websocket-key")
        accept = base64.b64encode(hashlib.sha1(key.strip().encode() + ACCEPT_GUID).digest()).decode()
        self.transport.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        )
        return lines[0].split(" ")[1]
