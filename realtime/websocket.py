"""Fast WebSocket framing for whole text and binary messages.

A library's parser pays for what speech never uses: fragments, extensions, a state machine per byte range. Here whole
messages are cut out of the stream, and every other byte (control frames, fragments, whatever breaks RFC 6455) goes to
the library, in order and at frame boundaries, so that its rules still hold.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
from collections.abc import Callable, Iterator

try:
    from websockets.frames import apply_mask  # type: ignore[attr-defined]
except ImportError:
    logging.getLogger(__name__).warning("websockets.frames lacks apply_mask: frames are unmasked a little slower")

    def apply_mask(data: bytes | bytearray | memoryview[int], mask: bytes | bytearray) -> bytes:
        length = len(data)
        repeated = (mask * (length // 4 + 1))[:length]
        return (int.from_bytes(bytes(data)) ^ int.from_bytes(repeated)).to_bytes(length)


from realtime.slices import Slices, slices_of

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
"""Header of frames with a 16-bit length, the usual size of speech."""
_MASK_POOL_BYTES = 4_096
_LONG_BYTES = 65_536
"""Bytes from which a frame is unmasked in pieces and joined once.

The library copies a longer one four times at its end, which takes 17 ms for 16 MB.
"""
_CUT_AT_ONCE = 128
"""Frames cut at once: one read may hold 40,000, and cutting them all would keep other sockets waiting."""


LIVE_MESSAGES, LIVE_BYTES = 8, 16_384
"""Of one read that is handled at once: 0.2 s of speech, with reports. It must not wait behind bursts of others."""


class FrameCutter:
    """Cuts one side's messages out of a WebSocket stream.

    It starts with the first frame. `masked`: whether that side is the client. Frames of more than `max_bytes` go to the
    library, which closes the connection correctly. A whole message of more than `kept_bytes` is dropped as it arrives;
    zeros that are too long as well replace it.
    """

    __slots__ = (
        "_fragmented",
        "_header_bytes",
        "_kept_bytes",
        "_long",
        "_long_bytes",
        "_long_is_dropped",
        "_long_mask",
        "_masked",
        "_most_bytes",
        "_passing_bytes",
        "_rest",
        "_second",
        "has_more",
    )

    def __init__(self, *, masked: bool, max_bytes: int, kept_bytes: int | None = None) -> None:
        self._masked = masked
        self._second = _MASKED | _EXTENDED if masked else _EXTENDED
        self._header_bytes = _MASKED_HEADER.size if masked else _HEADER.size
        self._most_bytes = max_bytes
        self._kept_bytes = max_bytes if kept_bytes is None else kept_bytes
        self._rest = b""
        self._passing_bytes = 0
        self._fragmented = False
        self._long: list[bytes] | None = None
        """The header of an incomplete long message and its received pieces."""
        self._long_bytes = 0
        """Bytes of it still to come."""
        self._long_is_dropped = False
        self._long_mask = b""
        self.has_more = False
        """Whether pushed data may contain more frames: pushing nothing continues cutting."""

    def push(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return messages and bytes for the library, in order.

        Entries are (`TEXT` or `BINARY`, payload) or (`OTHER`, bytes).

        Text is not validated. Once the library has closed the connection it has to get everything that follows.
        """
        at_rest = not (self._rest or self._passing_bytes or self._fragmented or self._long)
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
        if self._long is not None:
            data = self._go_on_with_long(data, found)
        start, end = 0, len(data)
        self.has_more = False
        while end - start >= 2:
            if len(found) >= _CUT_AT_ONCE:
                self.has_more = True
                break
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
            taken = length <= self._most_bytes
            plain = (first == _FIN | TEXT or first == _FIN | BINARY) and not self._fragmented
            ours = plain and taken and (second >= 128) == self._masked
            if stop > end and taken and (ours or length <= _LONG_BYTES):
                if length <= _LONG_BYTES or at > end:
                    break
                self._long, self._long_bytes = [data[start:at]], length
                self._long_is_dropped = length > self._kept_bytes
                self._long_mask = data[at - 4 : at] if self._masked else b""
                data = self._go_on_with_long(data[at:], found)
                start = 0
                break
            if ours:
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

    def _go_on_with_long(self, data: bytes, found: list[tuple[int, bytes]]) -> bytes:
        """Take the long message's part of `data`; return what follows it."""
        assert self._long is not None
        piece, rest = data[: self._long_bytes], data[self._long_bytes :]
        self._long_bytes -= len(piece)
        if self._long_is_dropped:
            piece = b""
        if self._masked and piece:
            turn = len(piece) % 4
            mask, self._long_mask = self._long_mask, self._long_mask[turn:] + self._long_mask[:turn]
            piece = apply_mask(piece, mask)
        self._long.append(piece)
        if not self._long_bytes:
            (head, *pieces), self._long = self._long, None
            found.append((head[0] & 15, bytes(self._kept_bytes + 1) if self._long_is_dropped else b"".join(pieces)))
        return rest

    def hold(self, data: bytes) -> None:
        """Keep what follows without cutting it. Use it only while `has_more`, or before later cuts."""
        self._rest += data
        self.has_more = True

    @property
    def kept_long_bytes(self) -> int:
        """Bytes of a long message kept so far."""
        return sum(map(len, self._long or ()))

    def keep_no_long(self) -> None:
        """Drop long messages from now on, including an incomplete one."""
        self._kept_bytes = 0
        if self._long is not None:
            self._long, self._long_is_dropped = self._long[:1], True

    def drain(self) -> bytes:
        """Return the held part of an incomplete frame and empty the cutter."""
        rest, self._rest = self._rest, b""
        self._long, self.has_more = None, False
        return rest


class FrameReader:
    """Delivers the messages of a `FrameCutter` in order: few ones at once, bursts in slices.

    `handle(kind, payload)` takes a message and raises nothing; False: drop all that follows. `pause` and `resume`
    control reading of the socket, which goes no further than one read beyond a burst.
    """

    __slots__ = (
        "_cutter",
        "_found",
        "_handle",
        "_held",
        "_last_act",
        "_pause",
        "_resume",
        "_slices",
        "is_behind",
    )

    def __init__(
        self,
        cutter: FrameCutter,
        handle: Callable[[int, bytes], bool],
        pause: Callable[[], None],
        resume: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._cutter = cutter
        self._handle = handle
        self._pause = pause
        self._resume = resume
        self._slices: Slices = slices_of(loop)
        self._found: list[tuple[int, bytes]] = []
        """In reverse order: the next one is last."""
        self._held = False
        self._last_act: Callable[[], None] | None = None
        self.is_behind = False
        """Whether some read data is not delivered yet."""

    def push(self, data: bytes) -> None:
        """Take data read from the socket."""
        if self.is_behind:
            self._cutter.hold(data)
            self._pause()
            return
        found = self._cutter.push(data)
        if len(found) == 1 and not self._cutter.has_more:
            self._handle(*found[0])
        elif found:
            self._found = found[::-1]
            self.is_behind = True
            if len(found) <= LIVE_MESSAGES and len(data) <= LIVE_BYTES:
                for _ in self._messages():
                    pass
            else:
                self._work_off()

    def hold(self) -> None:
        """Stop delivering a burst until `go_on`."""
        self._held = True

    def go_on(self) -> None:
        """Continue delivering."""
        if self._held:
            self._held = False
            if self.is_behind:
                self._work_off()

    def finish(self, act: Callable[[], None]) -> None:
        """Call `act` once all data of the lost socket is delivered."""
        if self.is_behind:
            self._last_act = act
        else:
            act()

    def drop(self) -> None:
        """Discard what is left."""
        self._found.clear()
        self._cutter.drain()
        self._caught_up()

    def _work_off(self) -> None:
        done = self._slices.run(self._messages())
        if done is not None:
            done.add_done_callback(asyncio.Future.result)

    def _messages(self) -> Iterator[None]:
        while not self._held:
            if not self._found:
                if not self._cutter.has_more:
                    self._caught_up()
                    return
                self._found = self._cutter.push(b"")[::-1]
            elif not self._handle(*self._found.pop()):
                self.drop()
                return
            yield

    def _caught_up(self) -> None:
        self.is_behind = False
        act, self._last_act = self._last_act, None
        if act is not None:
            act()
        else:
            self._resume()


def client_frame(kind: int, payload: bytes) -> bytes:
    """Encode a whole message as a client sends it."""
    mask = _next_mask()
    length = len(payload)
    if _EXTENDED <= length < _LONG_BYTES:
        return _MASKED_HEADER.pack(_FIN | kind, _MASKED | _EXTENDED, length, mask) + apply_mask(payload, mask)
    return _header(kind, length, _MASKED) + mask + apply_mask(payload, mask)


def server_frame(kind: int, payload: bytes) -> bytes:
    """Encode a whole message as a server sends it."""
    length = len(payload)
    if _EXTENDED <= length < _LONG_BYTES:
        return _HEADER.pack(_FIN | kind, _EXTENDED, length) + payload
    return _header(kind, length, 0) + payload


_masks = struct.iter_unpack("4s", b"")


def _next_mask() -> bytes:
    """Return four unpredictable bytes (RFC 6455, 10.3).

    A thousand masks are drawn at once: a system call for each costs more than the masking.
    """
    global _masks
    for (mask,) in _masks:
        return bytes(mask)
    _masks = struct.iter_unpack("4s", os.urandom(_MASK_POOL_BYTES))
    return bytes(next(_masks)[0])


def _header(kind: int, length: int, masked: int) -> bytes:
    """Return the header for any other length."""
    if length < _EXTENDED:
        return bytes((_FIN | kind, masked | length))
    return bytes((_FIN | kind, masked | 127)) + length.to_bytes(8, "big")
