"""Reply events: start, delta and end of each part of one reply.

Pages build messages from them. An event's `type` is the upper snake case of its class name without `Event`. Every event
stands alone: it names its reply and its block or tool call. `realtime.message` folds them into `Msg`s.
`read_reply_event` reads one from JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from realtime.event.base import snake_case
from realtime.event.decode import classes_by_type, read_event
from realtime.message import (
    ConfirmResult,
    DataBlock,
    FinishedReason,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    canonical_json,
)
from realtime.message.blocks import check_uri, lower_state, settle_bytes, settle_state
from realtime.message.older import in_our_shape, parts_in_our_shape
from realtime.runtime import unique_id, wall_clock_iso


def _upper_snake_case(class_name: str) -> str:
    return snake_case(class_name).upper()


class ReplyEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=_upper_snake_case):
    """Base of all reply events.

    `id` is unique per event: a reader that gets an event twice drops it. `created_at` is ISO 8601 in UTC with
    milliseconds. Where they are missing (an event written by hand), both are made. `metadata` are JSON values by name
    that no message needs: the response that a model call belongs to, and the labels of its request.
    """

    id: str = msgspec.field(default_factory=unique_id)
    created_at: str = msgspec.field(default_factory=wall_clock_iso)
    reply_id: str
    metadata: dict[str, Any] = {}

    @property
    def type(self) -> str:
        """The event's type string, as on the wire."""
        return str(self.__struct_config__.tag)

    def model_dump(self) -> dict[str, Any]:
        """Return the event as JSON-safe builtins."""
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped


class BlockEvent(ReplyEvent, frozen=True, kw_only=True):
    """Base of the events of one block."""

    block_id: str


class ToolEvent(ReplyEvent, frozen=True, kw_only=True):
    """Base of the events of one tool call and its result."""

    tool_call_id: str


class ReplyStartEvent(ReplyEvent, frozen=True, kw_only=True):
    """A reply begins. `name` is the speaker; what the user says is a reply with the role `user`."""

    session_id: str
    name: str
    role: Literal["user", "assistant", "system"] = "assistant"


class ReplyEndEvent(ReplyEvent, frozen=True, kw_only=True):
    """The reply is complete; nothing of it follows. `error`: what went wrong, where that ended it.

    `message`: fields of the message, as in its JSON, that the other events do not tell, such as its `metadata` and
    `structured_output`; all of its `content` where a hook or an interruption has put other blocks in its place.
    """

    session_id: str
    finished_reason: FinishedReason = "completed"
    error: str | None = None
    message: dict[str, Any] = {}


class ExceedMaxItersEvent(ReplyEvent, frozen=True, kw_only=True):
    """The agent `name` has reached its limit of reasoning and acting steps."""

    name: str


class RequestStopEvent(ReplyEvent, frozen=True, kw_only=True):
    """A hook or a tool (`source`) asks to stop early, for `reason`."""

    source: str = ""
    reason: str = ""


class ModelCallStartEvent(ReplyEvent, frozen=True, kw_only=True):
    """A model call begins."""

    model_name: str


class ModelCallEndEvent(ReplyEvent, frozen=True, kw_only=True):
    """The model call has ended; its usage in tokens."""

    input_tokens: int
    output_tokens: int


class TextBlockStartEvent(BlockEvent, frozen=True, kw_only=True):
    """A text block begins, empty."""


class TextBlockDeltaEvent(BlockEvent, frozen=True, kw_only=True):
    """More text of the block."""

    delta: str


class TextBlockEndEvent(BlockEvent, frozen=True, kw_only=True):
    """The text block is complete. `text`, where given, is all of it: after a barge-in what was heard."""

    text: str | None = None


class ThinkingBlockStartEvent(BlockEvent, frozen=True, kw_only=True):
    """A thinking block begins, empty."""


class ThinkingBlockDeltaEvent(BlockEvent, frozen=True, kw_only=True):
    """More of the model's thinking."""

    delta: str


class ThinkingBlockEndEvent(BlockEvent, frozen=True, kw_only=True):
    """The thinking block is complete. `extra`: what the provider wants back with it, such as a `signature`."""

    extra: dict[str, Any] = {}


class DataBlockStartEvent(BlockEvent, frozen=True, kw_only=True):
    """A block of binary data begins, empty; with a `url` it is what stands there. Raises ValueError for no URL."""

    media_type: str
    url: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.url is not None:
            check_uri(self.url)


class DataBlockDeltaEvent(BlockEvent, frozen=True, kw_only=True):
    """More bytes of the block, as base64 of their own in JSON. Python accepts bytes and base64."""

    data: bytes
    media_type: str | None = None

    def __post_init__(self) -> None:
        settle_bytes(self, "data")


class DataBlockEndEvent(BlockEvent, frozen=True, kw_only=True):
    """The data block is complete."""


class HintBlockEvent(BlockEvent, frozen=True, kw_only=True):
    """A whole hint block enters the agent's context."""

    hint: str | list[TextBlock | DataBlock]
    source: str | None = None


class ToolCallStartEvent(ToolEvent, frozen=True, kw_only=True):
    """The model calls a tool; its input follows."""

    tool_call_name: str


class ToolCallDeltaEvent(ToolEvent, frozen=True, kw_only=True):
    """Another fragment of the input, which is a JSON string."""

    delta: str


class ToolCallEndEvent(ToolEvent, frozen=True, kw_only=True):
    """The input of the tool call is complete."""


class ToolResultStartEvent(ToolEvent, frozen=True, kw_only=True):
    """The tool is about to run."""

    tool_call_name: str


class ToolResultTextDeltaEvent(ToolEvent, frozen=True, kw_only=True):
    """More text of the tool's output."""

    delta: str


class ToolResultDataDeltaEvent(ToolEvent, frozen=True, kw_only=True):
    """Binary output of the tool: either bytes (`data`) or a reference (`url`).

    Raises ValueError for both or neither. Data of an existing block is appended to it.
    """

    block_id: str
    media_type: str
    data: bytes | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise ValueError("tool output is either `data` or `url`: give exactly one")
        settle_bytes(self, "data")
        if self.url is not None:
            check_uri(self.url)


class ToolResultEndEvent(ToolEvent, frozen=True, kw_only=True):
    """The tool is done. `running`: it continues in the background, its result comes later as a hint."""

    state: ToolResultState

    def __post_init__(self) -> None:
        settle_state(self, "state", ToolResultState)


class RequireUserConfirmEvent(ReplyEvent, frozen=True, kw_only=True):
    """The reply waits for the user's decision on each of `tool_calls`."""

    tool_calls: list[ToolCallBlock]


class UserConfirmResultEvent(ReplyEvent, frozen=True, kw_only=True):
    """To the agent: the user's decisions, one per waiting call."""

    confirm_results: list[ConfirmResult]


class RequireExternalExecutionEvent(ReplyEvent, frozen=True, kw_only=True):
    """The reply waits for an external executor to run `tool_calls`."""

    tool_calls: list[ToolCallBlock]


class ExternalExecutionResultEvent(ReplyEvent, frozen=True, kw_only=True):
    """To the agent: the results of the external executor."""

    execution_results: list[ToolResultBlock]


class UserInterruptEvent(ReplyEvent, frozen=True, kw_only=True):
    """To the agent: cancel the waiting reply."""


class CustomEvent(ReplyEvent, frozen=True, kw_only=True):
    """A signal of the layer around the agent (`tasks_context`, `team_updated`). Readers skip an unknown `name`.

    `reply_id` is empty for signals outside a reply. Raises ValueError where `value` is not JSON.
    """

    reply_id: str = ""
    name: str
    value: dict[str, Any] = {}

    def __post_init__(self) -> None:
        try:
            canonical_json(self.value)
        except ValueError as error:
            raise ValueError(f"the value of a CustomEvent has to be JSON: {error}") from error


AgentEvent = (
    ReplyStartEvent
    | ReplyEndEvent
    | ExceedMaxItersEvent
    | RequestStopEvent
    | ModelCallStartEvent
    | ModelCallEndEvent
    | TextBlockStartEvent
    | TextBlockDeltaEvent
    | TextBlockEndEvent
    | ThinkingBlockStartEvent
    | ThinkingBlockDeltaEvent
    | ThinkingBlockEndEvent
    | DataBlockStartEvent
    | DataBlockDeltaEvent
    | DataBlockEndEvent
    | HintBlockEvent
    | ToolCallStartEvent
    | ToolCallDeltaEvent
    | ToolCallEndEvent
    | ToolResultStartEvent
    | ToolResultTextDeltaEvent
    | ToolResultDataDeltaEvent
    | ToolResultEndEvent
    | RequireUserConfirmEvent
    | UserConfirmResultEvent
    | RequireExternalExecutionEvent
    | ExternalExecutionResultEvent
    | UserInterruptEvent
    | CustomEvent
)

INPUT_EVENTS = (UserConfirmResultEvent, ExternalExecutionResultEvent, UserInterruptEvent)
"""The events that go to the agent; all others come from it."""

_CLASSES = classes_by_type(AgentEvent)


def read_reply_event(frame: str | bytes | Mapping[str, Any]) -> AgentEvent:
    """Read an event from JSON, as text or as a parsed object.

    Tool states are read in either case. A nested block without an id gets one derived from the event's, so that reading
    the same event again gives the same block.

    Raises ValueError with a sentence about what is wrong: the type, a field, or the JSON.
    """
    if isinstance(frame, str | bytes):
        try:
            frame = json.loads(frame)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the event is not JSON: {error}") from error
    event: AgentEvent = read_event(_completed(frame) if isinstance(frame, Mapping) else frame, _CLASSES)
    return event


def _completed(frame: Mapping[str, Any]) -> dict[str, Any]:
    completed = lower_state(frame)
    event_id = frame.get("id", "")
    if "hint" in completed:
        completed["hint"] = _with_ids(parts_in_our_shape(completed["hint"]), event_id)
    for name in ("tool_calls", "execution_results"):
        if isinstance(blocks := frame.get(name), list):
            completed[name] = [_completed_block(block, event_id, place) for place, block in enumerate(blocks)]
    if isinstance(answers := frame.get("confirm_results"), list):
        completed["confirm_results"] = [
            {**answer, "tool_call": _completed_block(answer.get("tool_call"), event_id, place)}
            if isinstance(answer, Mapping)
            else answer
            for place, answer in enumerate(answers)
        ]
    return completed


def _completed_block(block: Any, event_id: Any, place: int) -> Any:
    if not isinstance(block, Mapping):
        return block
    completed = lower_state(in_our_shape(block))
    if "output" in completed and event_id:
        completed["output"] = _with_ids(completed["output"], f"{event_id}_{place}")
    return completed


def _with_ids(parts: Any, prefix: Any) -> Any:
    if not prefix or not isinstance(parts, list):
        return parts
    return [
        {"id": f"{prefix}_{place}", **part} if isinstance(part, Mapping) else part for place, part in enumerate(parts)
    ]
