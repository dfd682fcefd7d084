"""Bounds of a frame: its number of JSON values, counted before any is built, and the length of texts and pictures.

Each costs the same again at every stage: the model, the log, the store, the client.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from realtime.errors import ClientError
from realtime.event import client as c

MAX_VALUES = 10_000
"""Values and keys of one frame: a history of 2,000 turns, or 200 tools with long schemas. Building them takes a few
milliseconds, in which no other client is served."""
MAX_TEXT_CHARS = 524_288
"""Characters beside sound and pictures: as many as the model with the longest memory reads at once."""
MAX_PICTURE_CHARS = 1_048_576
"""Characters of base64 of all pictures in one frame."""
_STEP = 131_072
"""Bytes checked in one step, a fraction of a millisecond."""
_JSON = re.compile(rb"[ \t\r\n]*[\[{]")
_OPENS, _BETWEEN = b"[{", b",:"
_OTHERS = bytes(set(range(256)) - set(_OPENS + _BETWEEN))


def weighed(frame: str | bytes) -> Generator[None]:
    """Count the values of the frame in short steps. Raises ClientError if it holds more than `MAX_VALUES`.

    Binary speech counts as nothing.
    """
    if isinstance(frame, bytes) and _JSON.match(frame) is None:
        return
    found = 0
    for piece in _pieces(frame):
        found += _structure(piece)
        yield
    if found <= MAX_VALUES:
        return
    # Some of it may stand inside of texts.
    found, in_text, escaped = 0, False, False
    for piece in _pieces(frame):
        plain = piece[escaped:].replace(b"\\\\", b"").replace(b'\\"', b"")
        escaped = plain.endswith(b"\\")
        parts = plain.split(b'"')
        found += _structure(b"".join(parts[in_text::2]))
        in_text ^= len(parts) % 2 == 0
        if found > MAX_VALUES:
            raise ClientError(
                f"a frame holds at most {MAX_VALUES} keys and values, this one more: say it in several frames",
                code="too_many_values",
            )
        yield


def too_long(n_chars: int, *, sound_chars: int = 0, picture_chars: int = 0) -> str | None:
    """Why a frame of this length is refused; `None` if it is not."""
    if picture_chars > MAX_PICTURE_CHARS:
        return f"the pictures of a frame have at most {MAX_PICTURE_CHARS} characters of base64"
    if n_chars - sound_chars - picture_chars > MAX_TEXT_CHARS:
        return f"a frame holds at most {MAX_TEXT_CHARS} characters beside sound and pictures: say it in several frames"
    return None


def check_length(event: c.ClientEvent, n_chars: int) -> None:
    """Raise ClientError if the event's frame of `n_chars` is too long."""
    sound = pictures = 0
    match event:
        case c.ClientAudioAppendEvent(audio=audio):
            sound = base64_chars(audio)
        case c.ClientImageAppendEvent(image=image):
            pictures = base64_chars(image)
        case c.ClientItemCreateEvent(item=item):
            pictures = sum(base64_chars(part.image or b"") for part in item.content)
        case _:
            pass
    refusal = too_long(n_chars, sound_chars=sound, picture_chars=pictures)
    if refusal is not None:
        raise ClientError(refusal, code="frame_too_large", client_event_id=event.event_id)


def base64_chars(data: bytes) -> int:
    """The number of base64 characters of the bytes, with padding."""
    return (len(data) + 2) // 3 * 4


def _pieces(frame: str | bytes) -> Generator[bytes]:
    for at in range(0, len(frame), _STEP):
        piece = frame[at : at + _STEP]
        yield piece.encode(errors="replace") if isinstance(piece, str) else piece


def _structure(text: bytes) -> int:
    """The number of signs that come with a key or a value."""
    return len(text.translate(None, _OTHERS))
