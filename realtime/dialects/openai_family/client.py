"""Frames that OpenAI and DashScope clients share, and their refusal.

The codec that speaks to the services shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import pybase64

from realtime.dialects.weight import MAX_TEXT_CHARS, too_long
from realtime.errors import ClientError
from realtime.event.base import MAX_ITEM_ID_CHARS, WEB_SEARCH, check_tool_count
from realtime.event.halves import decoded

Json = dict[str, Any]
T = TypeVar("T")


class EventRefusal(ClientError):
    """A frame that this protocol refuses. `param` is the path of the wrong key."""

    def __init__(self, message: str, *, code: str, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(message, code=code, client_event_id=event_id)
        self.param = param


def invalid(message: str, param: str | None = None, *, event_id: str | None = None) -> EventRefusal:
    """The refusal of a value, with the code of both services."""
    return EventRefusal(message, code="invalid_value", param=param, event_id=event_id)


def bytes_of(data: str, param: str, message: str | None = None) -> bytes:
    """The bytes of base64 text. Raises EventRefusal if it is not base64."""
    try:
        return pybase64.b64decode(data, validate=True)
    except ValueError as error:
        raise invalid(message or f"Invalid '{param}': it is not valid base64.", param) from error


def check_id(item_id: str | None) -> None:
    """Raises EventRefusal for an id that is too long to keep."""
    if item_id is not None and len(item_id) > MAX_ITEM_ID_CHARS:
        message = f"An item's id has at most {MAX_ITEM_ID_CHARS} characters."
        raise EventRefusal(message, code="string_above_max_length", param="item.id")


def tools_of(
    given: Sequence[Json], param: str, kind: type[T], refusal_of: Callable[[str, str], EventRefusal]
) -> tuple[list[T], list[Json]]:
    """Return the functions, typed, and the others as hosted tools.

    `kind` is the type of a function. Raises EventRefusal, worded by `refusal_of` from a sentence and a path.
    """
    functions: list[T] = []
    hosted: list[Json] = []
    for place, tool in enumerate(given):
        called = tool.get("type")
        if called == "function":
            try:
                functions.append(msgspec.convert(tool, kind))
            except msgspec.ValidationError as error:
                text, path = split_path(str(error))
                raise refusal_of(text, f"{param}[{place}]" + (f".{path}" if path else "")) from error
        elif not isinstance(called, str):
            raise refusal_of("Object missing required field `type`", f"{param}[{place}]")
        else:
            name = next((one for key in _NAMES if isinstance(one := tool.get(key), str) and one), called)
            hosted.append({"kind": WEB_SEARCH if called.startswith(WEB_SEARCH) else called, "name": name})
    try:
        check_tool_count(len(given))
    except ValueError as error:
        raise invalid(f"{error}.", param) from error
    return functions, hosted


_NAMES = ("server_label", "connector_id", "name")
"""Where a hosted tool has a name."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """A frame of a client. Errors echo its own label, `event_id`."""

    event_id: str | None = None


class BufferAppend(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.append"):
    audio: str


class BufferCommit(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.commit"):
    pass


class BufferClear(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.clear"):
    pass


class ItemRetrieve(Frame, frozen=True, kw_only=True, tag="conversation.item.retrieve"):
    item_id: str


class ItemDelete(Frame, frozen=True, kw_only=True, tag="conversation.item.delete"):
    item_id: str


class _Loose(msgspec.Struct):
    type: Any = None
    event_id: Any = None


_read_loose = msgspec.json.Decoder(_Loose).decode
F = TypeVar("F", bound=Frame)


class Reader(Generic[F]):
    """Reads the frames of one flavour; refuses what it cannot read.

    `malformed` and `too_long` are the codes for what is no event and for one that is too long. `refusal_of` words the
    refusal of an event with a wrong field: it gets the sentence, the path of the key, the frame's type and its label.
    `media_chars` counts the characters of sound and of pictures in a frame.
    """

    def __init__(
        self,
        kinds: Any,
        *,
        malformed: str,
        too_long: str,
        refusal_of: Callable[[str, str, str, str | None], EventRefusal],
        media_chars: Callable[[F], tuple[int, int]],
    ) -> None:
        self._decoder: msgspec.json.Decoder[F] = msgspec.json.Decoder(kinds)
        self._malformed = malformed
        self._too_long = too_long
        self._refusal_of = refusal_of
        self._media_chars = media_chars

    def read(self, frame: str | bytes) -> F:
        """The frame, typed. Raises EventRefusal with the path of the key that is wrong."""
        if isinstance(frame, bytes):
            raise EventRefusal("Binary frames are not understood: send JSON text.", code=self._malformed)
        try:
            read = decoded(self._decoder.decode, frame)
        except msgspec.ValidationError as error:
            raise self._explained(frame, error) from error
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise EventRefusal("The event is not valid JSON.", code=self._malformed) from error
        if len(frame) > MAX_TEXT_CHARS:
            sound_chars, picture_chars = self._media_chars(read)
            refusal = too_long(len(frame), sound_chars=sound_chars, picture_chars=picture_chars)
            if refusal is not None:
                raise EventRefusal(refusal, code=self._too_long, event_id=read.event_id)
        return read

    def _explained(self, frame: str, error: msgspec.ValidationError) -> EventRefusal:
        try:
            loose = decoded(_read_loose, frame)
        except (msgspec.DecodeError, RecursionError):
            return EventRefusal("An event is a JSON object with a `type`.", code=self._malformed)
        event_id = loose.event_id if isinstance(loose.event_id, str) else None
        if not isinstance(loose.type, str):
            return EventRefusal("The event has no `type`.", code=self._malformed, param="type", event_id=event_id)
        return self._refusal_of(*split_path(str(error)), loose.type, event_id)


def split_path(said: str) -> tuple[str, str]:
    """Return a validation error's sentence and the path of the offending key."""
    text, _, path = said.partition(" - at `$")
    return text, path.rstrip("`").lstrip(".")
