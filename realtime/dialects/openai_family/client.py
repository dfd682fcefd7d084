"""Frames that OpenAI and DashScope clients share, and how to refuse one.

The codec that speaks to the services shares nothing with it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.errors import ClientError

Json = dict[str, Any]


class Refusal(ClientError):
    """A frame that this protocol refuses. `param` is the path of the wrong key."""

    def __init__(self, message: str, *, code: str, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(message, code=code, client_event_id=event_id)
        self.param = param


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


def explain(frame: str | bytes, error: msgspec.ValidationError) -> tuple[str, str, str, str | None]:
    """What is wrong with a frame that is JSON: the sentence, the path of the key, the frame's type and its label.

    Raises Refusal, with the code `invalid_event`, for a frame that has no type.
    """
    try:
        loose = msgspec.json.decode(frame, type=_Loose)
    except (msgspec.DecodeError, RecursionError):
        raise Refusal("An event is a JSON object with a `type`.", code="invalid_event") from error
    event_id = loose.event_id if isinstance(loose.event_id, str) else None
    if not isinstance(loose.type, str):
        raise Refusal("The event has no `type`.", code="invalid_event", param="type", event_id=event_id) from error
    text, path = split_path(str(error))
    return text, path, loose.type, event_id


def split_path(said: str) -> tuple[str, str]:
    """Return a validation error's sentence and the path of the offending key."""
    text, _, path = said.partition(" - at `$")
    return text, path.rstrip("`").lstrip(".")
