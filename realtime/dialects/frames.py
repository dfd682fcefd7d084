"""Binary audio frames: a fixed header of 16 bytes, little endian, then pcm16 mono.

| bytes | field | meaning |
|---|---|---|
| 0 | kind u8 | 1 speech of the client, 2 speech of an agent |
| 1 | flags u8 | 0; readers ignore what they do not know |
| 2-3 | stream u16 | which agent speaks; 0 in a call with one |
| 4-7 | item index u32 | which item, as told by `server_audio_item`; 0 from a client |
| 8-15 | sample offset u64 | where the pcm begins: in the call for a client, in the item for an agent |
"""

from __future__ import annotations

import struct

CLIENT_AUDIO = 1
AGENT_AUDIO = 2

_HEADER = struct.Struct("<BBHIQ")
HEADER_BYTES = _HEADER.size


def pack(kind: int, stream: int, item_index: int, offset_samples: int, pcm: bytes) -> bytes:
    """One frame."""
    return _HEADER.pack(kind, 0, stream, item_index, offset_samples) + pcm


def unpack(frame: bytes) -> tuple[int, int, int, int, bytes]:
    """(kind, stream, item index, sample offset, pcm). Raises ValueError for a frame shorter than its header."""
    if len(frame) < HEADER_BYTES:
        raise ValueError(f"a binary frame has a header of {HEADER_BYTES} bytes, this one is {len(frame)} bytes long")
    kind, _, stream, item_index, offset_samples = _HEADER.unpack_from(frame)
    return kind, stream, item_index, offset_samples, frame[HEADER_BYTES:]
