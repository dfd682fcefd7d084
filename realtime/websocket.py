"""WebSocket frames as they nearly always are, whole text and binary messages, read and written at once.

A library's parser pays for what speech never uses: fragments, extensions, a state machine per byte range. Here such
frames are cut out of the stream, and every other byte (control frames, fragments, whatever breaks RFC 6455) is left
to the library, in order and at frame boundaries, so that its rules go on holding.
"""

from __future__ import annotations

import logging
import os
import struct

try:
    from websockets.frames import apply_mask  # type: ignore[attr-defined]
except ImportError:
    logging.getLogger(__name__).warning("websockets.frames lacks apply_mask: frames are unmasked a little slower")

    def apply_mask(data: bytes | bytearray | memoryview[int], mask: bytes | bytearray) -> bytes:
        length = len(data)
        repeated = (mask * (length // 4 + 1))[:length]
        return (int.from_bytes(bytes(data)) ^ int.from_bytes(repeated)).to_bytes(length)


TEXT, BINARY = 1, 2
OTHER = 0
"""The kind of bytes that are for the library."""

_FIN = 0x80
_WHOLE = frozenset((_FIN | TEXT, _FIN | BINARY))
_CLOSE = 8
_MASKED = 0x80
_EXTENDED = 126
_HEADER = struct.Struct(">BBH")
_MASKED_HEADER = struct.Struct(">BBH4s")
"""Of frames whose length takes 16 bits, as speech's does."""
_MASK_POOL_BYTES = 4_096
_LONG_BYTES = 65_536
"""A longer frame goes to the library piece by piece as it arrives: joining the pieces here would copy it often."""


class FrameCutter:
    """Cuts what one side of a WebSocket sends, from its first frame on. `masked`: whether that side is the client.

    Frames of more than `max_bytes` are left to the library, which knows what to say to them.
    """

    __slots__ = (
        "_fragmented",
        "_header_bytes",
        "_masked",
        "_most_bytes",
        "_passing_bytes",
        "_rest",
        "_second",
    )

    def __init__(self, *, masked: bool, max_bytes: int) -> None:
        self._masked = masked
        self._second = _MASKED | _EXTENDED if masked else _EXTENDED
        self._header_bytes = _MASKED_HEADER.size if masked else _HEADER.size
        self._most_bytes = min(max_bytes, _LONG_BYTES)
        self._rest = b""
        self._passing_bytes = 0
        self._fragmented = False

    def push(self, data: bytes) -> list[tuple[int, bytes]]:
        """(`TEXT` or `BINARY`, the payload of a message) and (`OTHER`, bytes for the library), in order.

        Text is not validated. Once the library has closed the connection it has to get everything that follows.
        """
        at_rest = not (self._rest or self._passing_bytes or self._fragmented)
        if at_rest and len(data) > _MASKED_HEADER.size:
            # Nearly always one read is one message.
            first, second, length = _HEADER.unpack_from(data)
            at = self._header_bytes
            if length == len(data) - at <= self._most_bytes and first in _WHOLE and second == self._second:
                if self._masked:
                    return [(first & 15, apply_mask(data[at:], data[at - 4 : at]))]
                return [(first & 15, data[at:])]
        return self._cut(data)

    def _cut(self, data: bytes) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        if self._passing_bytes:
            passing, data = data[: self._passing_bytes], data[self._passing_bytes :]
            self._passing_bytes -= len(passing)
            found.append((OTHER, passing))
        if self._rest:
            data = self._rest + data
        start, end = 0, len(data)
        while end - start >= 2:
            first, second = data[start], data[start + 1]
            at = start + 2
            length = second & 127
            if length >= 126:
                at += 2 if length == 126 else 8
                if at > end:
                    break
                length = int.from_bytes(data[start + 2 : at], "big")
            if second & 128:
                at += 4
            stop = at + length
            short = length <= self._most_bytes
            if stop > end and short:
                break
            plain = (first == _FIN | TEXT or first == _FIN | BINARY) and not self._fragmented
            if plain and short and (second >= 128) == self._masked:
                payload = data[at:stop]
                found.append((first & 15, apply_mask(payload, data[at - 4 : at]) if self._masked else payload))
            else:
                found.append((OTHER, data[start:stop]))
                if first & 15 < _CLOSE:
                    self._fragmented = not first & _FIN
                self._passing_bytes = max(0, stop - end)
            start = stop
        self._rest = data[start:]
        return found

    def drain(self) -> bytes:
        """What was held back of a frame that is not complete; the cutter is empty afterwards."""
        rest, self._rest = self._rest, b""
        return rest


def client_frame(kind: int, payload: bytes) -> bytes:
    """A whole message as a client sends it."""
    mask = _next_mask()
    length = len(payload)
    if _EXTENDED <= length < _LONG_BYTES:
        return _MASKED_HEADER.pack(_FIN | kind, _MASKED | _EXTENDED, length, mask) + apply_mask(payload, mask)
    return _header(kind, length, _MASKED) + mask + apply_mask(payload, mask)


def server_frame(kind: int, payload: bytes) -> bytes:
    """A whole message as a server sends it."""
    length = len(payload)
    if _EXTENDED <= length < _LONG_BYTES:
        return _HEADER.pack(_FIN | kind, _EXTENDED, length) + payload
    return _header(kind, length, 0) + payload


_masks = struct.iter_unpack("4s", b"")


def _next_mask() -> bytes:
    """Four bytes that nobody can foresee (RFC 6455, 10.3), a thousand drawn at once: a system call each costs more than
    the masking."""
    global _masks
    for (mask,) in _masks:
        return bytes(mask)
    _masks = struct.iter_unpack("4s", os.urandom(_MASK_POOL_BYTES))
    return bytes(next(_masks)[0])


def _header(kind: int, length: int, masked: int) -> bytes:
    """For every other length."""
    if length < _EXTENDED:
        return bytes((_FIN | kind, masked | length))
    return bytes((_FIN | kind, masked | 127)) + length.to_bytes(8, "big")
