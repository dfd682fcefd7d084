"""Client events: what a client sends.

All but `client_session_create` name the session; without a name they mean the socket's own. `event_id` is the client's
own label; errors that answer the event repeat it as `client_event_id`.
"""

from __future__ import annotations

import itertools
from types import NoneType
from typing import Annotated, Any, Literal

import msgspec

from realtime.event.base import AudioFormat, Event, ImageFormat, Item, ResponseOverrides, snake_case
from realtime.event.decode import classes_by_type, read_event, read_fields
from realtime.message import PermissionRule, ToolCallBlock, ToolOutput, ToolResultState
from realtime.message.blocks import settle_bytes

Position = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A place in a stream: never negative, and small enough to be exact in every client's numbers."""


class ClientEventBase(Event, frozen=True, kw_only=True):
    """Fields that every client event may carry."""

    session_id: str | None = None
    event_id: str | None = None

    def __post_init__(self) -> None:
        read_fields(self)


class ClientSessionCreateEvent(ClientEventBase, frozen=True, kw_only=True):
    """Create the call. `realtime.event.config.SessionConfig` lists the keys of `config`."""

    config: dict[str, Any] = msgspec.field(default_factory=dict)


class ClientSessionUpdateEvent(ClientEventBase, frozen=True, kw_only=True):
    """Change settings of the running call; missing keys keep their value."""

    config: dict[str, Any] = msgspec.field(default_factory=dict)


class ClientSessionResumeEvent(ClientEventBase, frozen=True, kw_only=True):
    """Return to a call: `token` from the server, `last_seq` of the last event received.

    The played position of the last played item is needed where the server has restarted meanwhile.
    """

    token: str
    last_seq: Position
    played_item_id: str | None = None
    played_ms: Position | None = None


class ClientSessionEndEvent(ClientEventBase, frozen=True, kw_only=True):
    """End the call."""


class ClientResponseCreateEvent(ClientEventBase, frozen=True, kw_only=True):
    """Request a response now, with settings for this one."""

    response: ResponseOverrides | None = None


class ClientResponseCancelEvent(ClientEventBase, frozen=True, kw_only=True):
    """Cancel the current response, or the named one."""

    response_id: str | None = None


class ClientTextAppendEvent(ClientEventBase, frozen=True, kw_only=True):
    """A typed turn of the user; the agent responds unless `text_auto_response` is off."""

    text: str


class ClientAudioAppendEvent(ClientEventBase, frozen=True, kw_only=True):
    """Speech of the user: pcm16 mono bytes (base64 in JSON; Python also accepts base64 text).

    `offset` counts samples since the call began, for re-sending after a lost connection; without it the audio is
    appended. `played_item_id` and `played_ms` together act as a `client_playback_ack`, before the audio is processed.
    """

    audio: bytes
    format: AudioFormat = AudioFormat()
    offset: Position | None = None
    played_item_id: str | None = None
    played_ms: Position | None = None

    def __post_init__(self) -> None:
        places = type(self.offset), type(self.played_item_id), type(self.played_ms)
        if (type(self.session_id), type(self.event_id), type(self.audio), type(self.format), *places) in _READ:
            return  # The most frequent event of all.
        audio: bytes | str = self.audio
        if isinstance(audio, str):
            settle_bytes(self, "audio")
        AudioFormat.check_keys(self.format)
        read_fields(self)


_TEXT, _NUMBER = (str, NoneType), (int, NoneType)
_READ = frozenset(itertools.product(_TEXT, _TEXT, (bytes,), (AudioFormat,), _NUMBER, _TEXT, _NUMBER))
"""Types of the fields of speech that need no reading."""


class ClientAudioCommitEvent(ClientEventBase, frozen=True, kw_only=True):
    """End the user's turn (push-to-talk), or close the current input early."""


class ClientAudioClearEvent(ClientEventBase, frozen=True, kw_only=True):
    """Discard the input audio that is not committed yet."""


class ClientImageAppendEvent(ClientEventBase, frozen=True, kw_only=True):
    """An image for the model: bytes (base64 in JSON)."""

    image: bytes
    format: ImageFormat = ImageFormat()


class ClientToolResultEvent(ClientEventBase, frozen=True, kw_only=True):
    """A client tool's result, or the user's decision about a server tool.

    With `confirmed` it answers a tool call of the server that is `asking`. The model gets the `output` of a refusal as
    its reason; the `output` of a consent is ignored.

    `state` says how a client tool ended. With a consent, `tool_call` is the call as it shall run: its name and input
    may be changed; `rules` are those of its `suggested_rules` that the user accepts with it.

    `item_id` names the item that the result becomes; without it the server chooses an id.
    """

    id: str
    name: str
    output: ToolOutput
    confirmed: bool | None = None
    state: ToolResultState = ToolResultState.SUCCESS
    tool_call: ToolCallBlock | None = None
    rules: list[PermissionRule] | None = None
    item_id: str | None = None


class ClientPlaybackAckEvent(ClientEventBase, frozen=True, kw_only=True):
    """Report playback: `played_ms` of the item's audio since its beginning, never falling.

    `flushed` is true in the acknowledgement that answers a flush: nothing more of the item will be played.
    """

    item_id: str
    played_ms: Position
    flushed: bool = False


class ClientItemCreateEvent(ClientEventBase, frozen=True, kw_only=True):
    """Insert an item after `previous_item_id` (`root`: first), or at the end without one."""

    item: Item
    previous_item_id: str | None = None


class ClientItemDeleteEvent(ClientEventBase, frozen=True, kw_only=True):
    """Delete an item."""

    item_id: str


class ClientItemRetrieveEvent(ClientEventBase, frozen=True, kw_only=True):
    """Request an item; the answer is `agent_item_retrieved`."""

    item_id: str


class ClientItemTruncateEvent(ClientEventBase, frozen=True, kw_only=True):
    """Cut an assistant item after `audio_end_ms` of its audio."""

    item_id: str
    audio_end_ms: Position
    content_index: int = 0


class PlanEditBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake_case):
    """Base of what a user changes in a plan by hand."""


class MarkSubtask(PlanEditBase, frozen=True, kw_only=True):
    """Set the state of a subtask; `outcome` says what came of one that is done, in one line."""

    subtask_id: str
    state: Literal["todo", "in_progress", "done", "abandoned"]
    outcome: str | None = None


class RenameSubtask(PlanEditBase, frozen=True, kw_only=True):
    """Give a subtask another name, of one line."""

    subtask_id: str
    name: str


class AddSubtask(PlanEditBase, frozen=True, kw_only=True):
    """Add a subtask before another one, or at the end."""

    name: str
    before: str | None = None


class RemoveSubtask(PlanEditBase, frozen=True, kw_only=True):
    """Remove a subtask."""

    subtask_id: str


class EndPlan(PlanEditBase, frozen=True, kw_only=True):
    """End the plan: it is done, or dropped (`abandoned`); `outcome` says what came of it, or why, in one line."""

    state: Literal["done", "abandoned"]
    outcome: str | None = None


PlanEdit = MarkSubtask | RenameSubtask | AddSubtask | RemoveSubtask | EndPlan


class ClientPlanEditEvent(ClientEventBase, frozen=True, kw_only=True):
    """Change the agent's plan by hand; `plan_updated` follows, or an error, and then nothing has changed.

    `plan_id` and the ids of subtasks are those of the latest `plan_updated`: what was replaced meanwhile is not hit.
    """

    plan_id: str
    edit: PlanEdit


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
    | ClientPlanEditEvent
)

_CLASSES = classes_by_type(ClientEvent)


def from_json(frame: dict[str, Any]) -> ClientEvent:
    """Return the event of a JSON object. Raises ValueError for a non-dict, an unknown type or a wrong field."""
    event: ClientEvent = read_event(frame, _CLASSES)
    return event
