"""The seam of dialects, and the JSON that several of them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
import pybase64

from realtime.call.listener import Listener, Sink
from realtime.dialects.weight import MAX_TEXT_CHARS, check_length
from realtime.errors import ClientError
from realtime.event.base import AudioFormat
from realtime.event.client import ClientAudioAppendEvent, ClientEvent, from_json
from realtime.event.config import SessionConfig
from realtime.event.decode import explain
from realtime.event.halves import decoded
from realtime.event.server import AgentResponseAudioDeltaEvent, ServerEvent
from realtime.message.older import in_our_shape, parts_in_our_shape
from realtime.runtime import Runtime

Frame = str | bytes


class ClientDialect(Protocol):
    """The vocabulary of one client. Holds id maps and ordering of one socket, never I/O."""

    @property
    def subprotocol(self) -> str | None:
        """The WebSocket subprotocol to accept with."""
        ...

    def decode(self, frame: Frame) -> ClientEvent | ServerEvent:
        """The event that a frame says; a server event is the reply to it, for this client alone.

        Raises ClientError, with the frame's `event_id` if it has one; the caller may then pass the same frame again.
        """
        ...

    def more(self) -> Sequence[ClientEvent]:
        """What the frame decoded last says beyond its first event."""
        ...

    def encode(self, event: ServerEvent) -> list[Frame]:
        """The frames that say the event; empty where the protocol has none."""
        ...

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """A listener for a call with this config.

        It says its pacing, how it knows what was played, and whether its clients expect an agent that speaks unasked.
        """
        ...


_decoder: msgspec.json.Decoder[ClientEvent] = msgspec.json.Decoder(ClientEvent)


_NO_FORMAT = ClientAudioAppendEvent(audio=b"").format
"""The one that stands for none in each event without."""


class _WithFormat(msgspec.Struct):
    format: dict[str, Any] | None = None


class _Loose(msgspec.Struct):
    type: Any = None
    event_id: Any = None


_read_format = msgspec.json.Decoder(_WithFormat).decode
_read_loose = msgspec.json.Decoder(_Loose).decode


def decode_json(frame: str | bytes) -> ClientEvent:
    """The client event in a JSON text frame. Raises ClientError that says what is wrong with it."""
    try:
        event = decoded(_decoder.decode, frame)
    except msgspec.ValidationError as error:
        older = _with_older_blocks(frame)
        if older is None:
            raise _wrong_event(frame, error) from error
        event = older
    except msgspec.DecodeError as error:
        raise ClientError(f"the frame is not JSON: {error}", code="malformed_json") from error
    except RecursionError as error:
        raise ClientError("the event is nested too deeply", code="invalid_event") from error
    except ValueError as error:
        raise ClientError(f"the event cannot be read: {error}", code="invalid_event") from error
    if len(frame) > MAX_TEXT_CHARS:
        check_length(event, len(frame))
    if type(event) is ClientAudioAppendEvent and event.format is not _NO_FORMAT:
        _check_format(frame, event)
    return event


def _with_older_blocks(frame: str | bytes) -> ClientEvent | None:
    """A tool's result whose blocks are those of another version of AgentScope; None for all else."""
    try:
        fields = decoded(msgspec.json.decode, frame)
        if not isinstance(fields, dict) or fields.get("type") != "client_tool_result":
            return None
        fields["output"] = parts_in_our_shape(fields.get("output"))
        if isinstance(fields.get("tool_call"), dict):
            fields["tool_call"] = in_our_shape(fields["tool_call"])
        return from_json(fields)
    except (ValueError, RecursionError):
        return None


def _check_format(frame: str | bytes, event: ClientAudioAppendEvent) -> None:
    try:
        AudioFormat.check_keys(decoded(_read_format, frame).format)
    except ValueError as error:
        raise ClientError(str(error), code="unsupported_audio_format", client_event_id=event.event_id) from error


def _wrong_event(frame: str | bytes, error: msgspec.ValidationError) -> ClientError:
    try:
        loose = decoded(_read_loose, frame)
    except (msgspec.DecodeError, RecursionError):
        return ClientError("an event is a JSON object with a `type`", code="invalid_event")
    event_id = loose.event_id if isinstance(loose.event_id, str) else None
    if loose.type is None:
        return ClientError("the event has no `type`", code="invalid_event", client_event_id=event_id)
    text = explain(error)
    code = "unknown_event" if text.startswith("unknown event type") else "invalid_event"
    return ClientError(text, code=code, client_event_id=event_id)


def encode_json(event: ServerEvent) -> str:
    """The event as a JSON text frame, in canonical form."""
    return msgspec.json.encode(event if event.seq else event.model_dump()).decode()


def encode_fields(fields: dict[str, Any]) -> str:
    """A frame of another protocol as JSON text."""
    return msgspec.json.encode(fields).decode()


def keep(kept: dict[str, Any], key: str, value: Any, most: int) -> None:
    """Remember the value, and forget the oldest of more than `most`."""
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]


class AudioDeltaWriter:
    """Audio deltas as JSON text. What stays the same within an item is encoded once: this is the hottest frame."""

    __slots__ = ("_head", "_key", "_tail", "_type")

    def __init__(self, type_name: str = "agent_response_audio_delta") -> None:
        self._type = type_name
        self._key: tuple[str, str, int] | None = None
        self._head = ""
        self._tail = ""

    def encode(self, event: AgentResponseAudioDeltaEvent) -> str:
        """The same text as `encode_json`, but for the type's name."""
        key = (event.item_id, event.response_id, event.content_index)
        if key != self._key:
            self._remember(event)
            self._key = key
        delta = pybase64.b64encode_as_string(event.delta)
        place = f'"seq":{event.seq},' if event.seq else ""
        return f'{self._head}{delta}{self._tail}{place}"ts_ms":{event.ts_ms}}}'

    def _remember(self, event: AgentResponseAudioDeltaEvent) -> None:
        frame = encode_json(msgspec.structs.replace(event, delta=b"", seq=0, ts_ms=0))
        head, tail = frame.split('"delta":"', 1)
        self._head = head.replace('"type":"agent_response_audio_delta"', f'"type":"{self._type}"', 1) + '"delta":"'
        self._tail = tail.removesuffix('"ts_ms":0}')
