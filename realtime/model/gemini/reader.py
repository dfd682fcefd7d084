"""Reads the frames of Gemini Live: most are audio, and some hold keys that the codec does not know."""

from __future__ import annotations

import logging

import msgspec
import pybase64

from realtime.event.halves import HalfCharacters
from realtime.model._lenient_decode import LenientDecode
from realtime.model.gemini import frames as wire

logger = logging.getLogger(__name__)

_NOTHING = wire.Message()
READ = msgspec.json.Decoder(wire.Message)

SLICED_FROM_BYTES = 1024
"""Size from which a frame's audio is cut out unread as JSON."""


class Reader:
    """Reads one connection's frames and counts those that it does not understand."""

    def __init__(self) -> None:
        self.unknown_frames = 0
        """Frames with an unknown key, beside `serverContent` or in it."""
        self.broken_frames = 0
        """Frames of which nothing can be read."""
        self.halves = HalfCharacters()
        """Half characters in their words."""

    def read(self, data: bytes) -> tuple[wire.Message | None, memoryview | None]:
        """Read the frame; return its media as base64 if it was cut out unread."""
        if len(data) >= SLICED_FROM_BYTES:
            cut = cut_out(data)
            if cut is not None:
                return cut
        try:
            return READ.decode(data), None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self._read_again(data), None

    def _read_again(self, data: bytes) -> wire.Message | None:
        """Return what can be read of an unexpected frame."""
        readable = self.halves.stand_in(data)
        try:
            return READ.decode(readable)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        lenient = LenientDecode()
        try:
            message = lenient.read(msgspec.json.decode(readable), wire.Message)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            self.broken_frames += 1
            logger.debug("broken frame ignored: bytes=%d", len(data))
            return None
        if lenient.wrong:
            self.broken_frames += message == _NOTHING
            logger.debug("wrong frame part ignored: key=%.64s bytes=%d", lenient.wrong[0], len(data))
        if lenient.unknown:
            self.unknown_frames += 1
            logger.debug("unknown frame part ignored: key=%.64s bytes=%d", lenient.unknown[0], len(data))
        return message


def cut_out(data: bytes) -> tuple[wire.Message, memoryview] | None:
    """Return a frame without its media, and the media of one part.

    Reading a frame of 26 kB as JSON costs several times as much as decoding its base64.
    """
    key = data.find(b'"data"', 0, SLICED_FROM_BYTES)
    start = data.find(b'"', key + 6) + 1
    end = data.find(b'"', start)
    if key < 0 or start <= 0 or end < 0 or data[key + 6 : start - 1].strip() != b":":
        return None
    try:
        message = READ.decode(data[:start] + data[end:])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    content = message.server_content
    if content is None or content.model_turn is None or message.tool_call is not None:
        return None
    media = [part.inline_data for part in content.model_turn.parts or () if part.inline_data is not None]
    if len(media) != 1 or media[0].data:
        return None
    return message, memoryview(data)[start:end]


def read_base64(text: str | memoryview) -> bytes:
    """Decode either alphabet: the service uses the standard one, the SDK the other. Raises ValueError."""
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError:
        return pybase64.b64decode(text, altchars=b"-_", validate=True)
