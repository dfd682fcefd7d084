"""Binary audio frames of `realtime.v1`: a fixed header of 16 bytes, little endian, then pcm16 mono.

| bytes | field | meaning |
|---|---|---|
| 0 | kind u8 | 1 speech of the client, 2 speech of an agent |
| 1 | flags u8 | from a client: `PLAYED`; readers ignore what they do not know |
| 2-3 | stream u16 | which agent speaks; 0 in a call with one |
| 4-7 | item index u32 | which item, as named by `server_audio_item`; 0 from a client without `PLAYED` |
| 8-15 | sample offset u64 | where the pcm begins: in the call for a client, in the item for an agent |
| 16-19 | played u32 | only with `PLAYED`: ms of the item that the client has played so far; the pcm follows |
"""

from __future__ import annotations

import struct

SUBPROTOCOL = "realtime.v1"
"""The WebSocket subprotocol of clients that speak the native protocol."""

CLIENT_AUDIO = 1
AGENT_AUDIO = 2

PLAYED = 1
"""Flag of a client's frame: it names the item being played, and says how much of it was."""

_HEADER = struct.Struct("<BBHIQ")
HEADER_BYTES = _HEADER.size
_TOO_SHORT = f"a binary frame has a header of {HEADER_BYTES} bytes, this one is {{}} bytes long"
_PLAYED_MS = struct.Struct("<I")
_PLAYED_HEADER_BYTES = HEADER_BYTES + _PLAYED_MS.size


def pack(kind: int, stream: int, item_index: int, offset_samples: int, pcm: bytes) -> bytes:
    """One frame."""
    return _HEADER.pack(kind, 0, stream, item_index, offset_samples) + pcm


def pack_played(stream: int, item_index: int, played_ms: int, offset_samples: int, pcm: bytes) -> bytes:
    """One frame of a client that has played `played_ms` of the item."""
    header = _HEADER.pack(CLIENT_AUDIO, PLAYED, stream, item_index, offset_samples)
    return header + _PLAYED_MS.pack(played_ms) + pcm


def unpack(frame: bytes) -> tuple[int, int, int, int, bytes]:
    """(kind, stream, item index, sample offset, pcm) of an agent's frame. Raises ValueError where it is too short."""
    if len(frame) < HEADER_BYTES:
        raise ValueError(_TOO_SHORT.format(len(frame)))
    kind, _, stream, item_index, offset_samples = _HEADER.unpack_from(frame)
    return kind, stream, item_index, offset_samples, frame[HEADER_BYTES:]


def unpack_client(frame: bytes) -> tuple[int, int, int | None, int, bytes]:
    """Return kind, item index, played ms, sample offset and pcm.

    Played ms is `None` where the frame has none.

    Raises ValueError where it is too short.
    """
    if len(frame) < HEADER_BYTES:
        raise ValueError(_TOO_SHORT.format(len(frame)))
    kind, flags, _, item_index, offset_samples = _HEADER.unpack_from(frame)
    if not flags & PLAYED:
        return kind, item_index, None, offset_samples, frame[HEADER_BYTES:]
    if len(frame) < _PLAYED_HEADER_BYTES:
        more, has = _PLAYED_MS.size, len(frame) - HEADER_BYTES
        raise ValueError(f"a frame with flag {PLAYED} has {more} more bytes, this one has {has}")
    (played_ms,) = _PLAYED_MS.unpack_from(frame, HEADER_BYTES)
    return kind, item_index, played_ms, offset_samples, frame[_PLAYED_HEADER_BYTES:]
