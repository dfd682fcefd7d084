"""Binary audio frames: a fixed header of 16 bytes, little endian, then pcm16 mono.

| bytes | field | meaning |
|---|---|---|
| 0 | kind u8 | 1 speech of the client, 2 speech of an agent |
| 1 | flags u8 | from a client: `PLAYED`; readers ignore what they do not know |
| 2-3 | stream u16 | which agent speaks; 0 in a call with one |
| 4-7 | item index u32 | which item, as told by `server_audio_item`; 0 from a client without `PLAYED` |
| 8-15 | sample offset u64 | where the pcm begins: in the call for a client, in the item for an agent |
| 16-19 | played u32 | only with `PLAYED`: ms of the item that the client has played so far; the pcm follows |
"""

from __future__ import annotations

import struct

CLIENT_AUDIO = 1
AGENT_AUDIO = 2

PLAYED = 1
"""Flag of a client's frame: it names the item being played, and says how much of it was."""

_HEADER = struct.Struct("<BBHIQ")
HEADER_BYTES = _HEADER.size
_PLAYED_MS = struct.Struct("<I")


def pack(kind: int, stream: int, item_index: int, offset_samples: int, pcm: bytes) -> bytes:
    """One frame."""
    return _HEADER.pack(kind, 0, stream, item_index, offset_samples) + pcm


def pack_played(stream: int, item_index: int, played_ms: int, offset_samples: int, pcm: bytes) -> bytes:
    """One frame of a client that has played `played_ms` of the item."""
    header = _HEADER.pack(CLIENT_AUDIO, PLAYED, stream, item_index, offset_samples)
    return header + _PLAYED_MS.pack(played_ms) + pcm


def unpack(frame: bytes) -> tuple[int, int, int, int, bytes]:
    """(kind, stream, item index, sample offset, what follows). Raises ValueError for a frame shorter than its header.

    What follows is pcm, but for a frame that `tells_played`: see `split_played`.
    """
    if len(frame) < HEADER_BYTES:
        raise ValueError(f"a binary frame has a header of {HEADER_BYTES} bytes, this one is {len(frame)} bytes long")
    kind, _, stream, item_index, offset_samples = _HEADER.unpack_from(frame)
    return kind, stream, item_index, offset_samples, frame[HEADER_BYTES:]


def tells_played(frame: bytes) -> bool:
    """Whether a client's frame, at least a header long, says what was played."""
    return bool(frame[1] & PLAYED)


def split_played(body: bytes) -> tuple[int, bytes]:
    """(ms played, pcm) of what follows the header. Raises ValueError where it is too short for that."""
    if len(body) < _PLAYED_MS.size:
        raise ValueError(f"a frame with flag {PLAYED} has {_PLAYED_MS.size} more bytes, this one has {len(body)}")
    return _PLAYED_MS.unpack_from(body)[0], body[_PLAYED_MS.size :]
