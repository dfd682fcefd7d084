"""Half characters in foreign JSON: they are mended, for the strict decoder refuses a whole frame because of one.

A sender that cuts its text by UTF-16 units or by bytes sends half of an emoji in one frame and the rest in the next.
Likewise mended are line ends and other control characters that stand in a text as they are, and escapes that JSON does
not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_LOST = "\N{REPLACEMENT CHARACTER}"
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair
    r"|\\u([dD][89a-fA-F][0-9a-fA-F]{2})|([\ud800-\udfff])"  # a half: escaped, or as it is
    r"|\\.",
    re.DOTALL,
)
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_BACKSLASH = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|.)', re.DOTALL)
_STAND_IN = 0x10_0000
"""Half a character plus this is a private, decodable one."""
_HALVES = re.compile("([\U0010d800-\U0010dbff])([\U0010dc00-\U0010dfff])|[\U0010d800-\U0010dfff]")
_FIRST_HALF = re.compile("[\U0010d800-\U0010dbff]$")


def decoded(decode: Callable[[str | bytes], T], frame: str | bytes) -> T:
    """What the JSON decoder reads, with a replacement character for each half. Raises what it raises."""
    try:
        return decode(frame)
    except msgspec.ValidationError:
        raise
    except ValueError:
        text = whole(_with_stand_ins(frame))
        if text == frame:
            raise
        return decode(text)


def whole(text: str) -> str:
    """The text with its halves joined; one that is alone becomes a replacement character."""
    return _HALVES.sub(_joined, text)


def mended(value: T) -> T:
    """A program's value, with a replacement character for each half."""
    return _with_whole(value, _without_halves)


def without_half(text: str) -> str:
    """The beginning of a text that grows: without a first half at its end."""
    return _FIRST_HALF.sub("", text)


class TextPieces:
    """Pieces of texts that a lenient decoder has read: halves are surrogates there, and joined across pieces."""

    def __init__(self) -> None:
        self._held: dict[Hashable, str] = {}

    def whole(self, key: Hashable, piece: str) -> str:
        """The next piece of the text `key` without halves; a first half at its end waits for the next piece."""
        if piece.isascii() and not self._held:
            return piece
        piece = self._held.pop(key, "") + piece
        if "\ud800" <= piece[-1:] <= "\udbff":
            self._held[key], piece = piece[-1], piece[:-1]
        return _without_halves(piece)


class HalfCharacters:
    """The half characters of one provider's frames: halves of neighbouring deltas are joined."""

    def __init__(self) -> None:
        self.met = False
        """Whether there was one: from then on, all events have to pass."""
        self._held: dict[tuple[Any, ...], str] = {}
        """The first half at the end of a stream's latest delta."""

    def stand_in(self, data: bytes) -> bytes:
        """The frame with stand-ins for half characters."""
        text = _with_stand_ins(data)
        self.met = self.met or _HALVES.search(text) is not None
        return text.encode()

    def join(self, events: Sequence[Any]) -> list[Any]:
        """The events with whole characters; a delta that is nothing but a first half waits for the other."""
        return [event for event in map(self._join, events) if event is not None]

    def _join(self, event: Any) -> Any:
        if not isinstance(getattr(event, "delta", None), str):
            return _with_whole(event)
        stream = (type(event), event.item_id, event.content_index)
        delta = self._held.pop(stream, "") + event.delta
        half = _FIRST_HALF.search(delta)
        if half is not None:
            self._held[stream] = half[0]
            delta = delta[:-1]
        # An interim guess comes without a delta of its own.
        return None if event.delta and not delta else _with_whole(msgspec.structs.replace(event, delta=delta))


def _with_stand_ins(frame: str | bytes) -> str:
    text = _ESCAPE.sub(_stand_in, frame if isinstance(frame, str) else _text_of(frame))
    return _TEXT.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    """Return a JSON text with control characters and lone backslashes escaped."""
    text = _CONTROL.sub(lambda char: f"\\u{ord(char[0]):04x}", found[0])
    return _BACKSLASH.sub(lambda one: one[0] if one[1] else f"\\{one[0]}", text)


def _text_of(frame: bytes) -> str:
    try:
        return frame.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return frame.decode("utf-8", "replace")


def _stand_in(found: re.Match[str]) -> str:
    code = int(found[1], 16) if found[1] else ord(found[2]) if found[2] else None
    return found[0] if code is None else chr(code + _STAND_IN)


def _joined(found: re.Match[str]) -> str:
    if not found[1]:
        return _LOST
    return chr(0x10000 + ((ord(found[1]) & 0x3FF) << 10) + (ord(found[2]) & 0x3FF))


def _without_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _with_whole(value: T, mend: Callable[[str], str] = whole) -> T:
    made: Any = value
    match value:
        case Enum():
            pass  # a text of an enumeration stays what it is
        case str():
            made = mend(value)
        case list() | tuple():
            made = type(value)(_with_whole(one, mend) for one in value)
        case dict():
            made = {_with_whole(key, mend): _with_whole(one, mend) for key, one in value.items()}
        case msgspec.Struct():
            fields = {name: _with_whole(getattr(value, name), mend) for name in value.__struct_fields__}
            made = msgspec.structs.replace(value, **fields)
        case _:
            pass
    return made  # type: ignore[no-any-return]
