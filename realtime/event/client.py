"""Client events: what a client sends.

All but `client_session_create` name the session; where they do not, the socket's own is meant. `event_id` is the
client's own label, echoed as `client_event_id` in errors that answer the event.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from realtime.event.base import AudioFormat, Event, ImageFormat, Item, ResponseOverrides
from realtime.event.decode import classes_by_type, decode_base64, read_event
from realtime.message import ToolCallBlock, ToolOutput, ToolResultState

Position = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A place in a stream: never negative, and exact in every client's numbers."""


class ClientEventBase(Event, frozen=True, kw_only=True):
    """What every client event may carry."""

    session_id: str | None = None
    event_id: str | None = None


class ClientSessionCreateEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_session_create"):
    """Create the call. `config` is read by `realtime.event.config.SessionConfig`."""

    config: dict[str, Any] = msgspec.field(default_factory=dict)


class ClientSessionUpdateEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_session_update"):
    """Change settings of the running call; missing keys keep their value."""

    config: dict[str, Any] = msgspec.field(default_factory=dict)


class ClientSessionResumeEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_session_resume"):
    """Come back to a call: `token` from the server, `last_seq` the last event seen.

    What the client has played of the item that it played last is needed where the server was restarted meanwhile.
    """

    token: str
    last_seq: Position
    played_item_id: str | None = None
    played_ms: Position | None = None


class ClientSessionEndEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_session_end"):
    """End the call."""


class ClientResponseCreateEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_response_create"):
    """Ask for a response now, with overrides for this one."""

    response: ResponseOverrides | None = None


class ClientResponseCancelEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_response_cancel"):
    """Interrupt the current response (or the one named)."""

    response_id: str | None = None


class ClientTextAppendEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_text_append"):
    """A typed turn of the user; answered unless `text_auto_response` is off."""

    text: str


class ClientAudioAppendEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_audio_append"):
    """Speech of the user: pcm16 mono bytes (base64 in JSON; base64 text is accepted in Python too).

    `offset` counts samples since the call began, for re-sending after a drop; null appends. `played_item_id` and
    `played_ms` together do what a `client_playback_ack` does, before the audio is heard.
    """

    audio: bytes
    format: AudioFormat = AudioFormat()
    offset: Position | None = None
    played_item_id: str | None = None
    played_ms: Position | None = None

    def __post_init__(self) -> None:
        audio: bytes | str = self.audio
        if isinstance(audio, str):
            msgspec.structs.force_setattr(self, "audio", decode_base64(audio))


class ClientAudioCommitEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_audio_commit"):
    """End of the user's turn (push-to-talk), or close the current input early."""


class ClientAudioClearEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_audio_clear"):
    """Forget the input audio that is not committed yet."""


class ClientImageAppendEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_image_append"):
    """An image for the model to see: bytes (base64 in JSON)."""

    image: bytes
    format: ImageFormat = ImageFormat()


class ClientToolResultEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_tool_result"):
    """The result of a tool that runs in the client; or, with `confirmed`, the user's answer to a call of the server's
    that is `asking`. The `output` of a refusal is told to the model as its reason, that of a consent to nobody.

    `state` says how a tool of the client ended. With a consent, `tool_call` is the call as it shall run: its name and
    input may be changed.

    `item_id` names the item that the result becomes; null leaves that to the server.
    """

    id: str
    name: str
    output: ToolOutput
    confirmed: bool | None = None
    state: ToolResultState = ToolResultState.SUCCESS
    tool_call: ToolCallBlock | None = None
    item_id: str | None = None


class ClientPlaybackAckEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_playback_ack"):
    """How much of an item the user has heard: `played_ms` of its audio since the item began, never falling.

    `flushed` is true in the acknowledgement that answers a flush: nothing more of the item will be played.
    """

    item_id: str
    played_ms: Position
    flushed: bool = False


class ClientItemCreateEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_item_create"):
    """Put an item into the conversation after `previous_item_id` (null: at the end, `root`: first)."""

    item: Item
    previous_item_id: str | None = None


class ClientItemDeleteEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_item_delete"):
    """Remove an item."""

    item_id: str


class ClientItemRetrieveEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_item_retrieve"):
    """Ask for an item; answered by `agent_item_retrieved`."""

    item_id: str


class ClientItemTruncateEvent(ClientEventBase, frozen=True, kw_only=True, tag="client_item_truncate"):
    """Cut an assistant item after `audio_end_ms` of its audio."""

    item_id: str
    audio_end_ms: Position
    content_index: int = 0


ClientEvent = (
    ClientSessionCreateEvent
    | ClientSessionUpdateEvent
    | ClientSessionResumeEvent
    | ClientSessionEndEvent
    | ClientResponseCreateEvent
    | ClientResponseCancelEvent
    | ClientTextAppendEvent
    | ClientAudioAppendEvent
    | ClientAudioCommitEvent
    | ClientAudioClearEvent
    | ClientImageAppendEvent
    | ClientToolResultEvent
    | ClientPlaybackAckEvent
    | ClientItemCreateEvent
    | ClientItemDeleteEvent
    | ClientItemRetrieveEvent
    | ClientItemTruncateEvent
)

_CLASSES = classes_by_type(ClientEvent)


def from_json(frame: dict[str, Any]) -> ClientEvent:
    """The event that a JSON object holds. Raises ValueError for a non-dict, an unknown type or a wrong field."""
    event: ClientEvent = read_event(frame, _CLASSES)
    return event
