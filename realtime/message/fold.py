"""Applies reply events to messages. No clock, no new ids: a replay gives the same result.

Events are distinguished by their `type`, since the event classes are in a layer above.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from realtime.message.blocks import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)
from realtime.message.content import Content, GrowingData, GrowingResult, GrowingText
from realtime.message.outcome import FinishedReason, Usage

logger = logging.getLogger(__name__)

ALLOWED_BLOCKS: dict[str, tuple[str, ...]] = {
    "user": ("text", "data"),
    "assistant": ("text", "thinking", "data", "hint", "tool_call", "tool_result"),
    "system": ("text",),
}
"""The block types that a message of each role may hold."""

TOOL_CALL_ARROWS: dict[ToolCallState, tuple[ToolCallState, ...]] = {
    # No event says that a rule allowed a call: it is `pending` until it is submitted or has its result.
    ToolCallState.PENDING: (
        ToolCallState.ASKING,
        ToolCallState.ALLOWED,
        ToolCallState.SUBMITTED,
        ToolCallState.FINISHED,
    ),
    ToolCallState.ASKING: (ToolCallState.ALLOWED, ToolCallState.FINISHED),
    ToolCallState.ALLOWED: (ToolCallState.SUBMITTED, ToolCallState.FINISHED),
    ToolCallState.SUBMITTED: (ToolCallState.FINISHED,),
    ToolCallState.FINISHED: (),
}
"""Allowed transitions of a call's state; it never goes back."""


class FoldEvent(Protocol):
    """The fields of all reply events."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def created_at(self) -> str: ...
    @property
    def reply_id(self) -> str: ...


class Target(Protocol):
    """The message that an event is applied to."""

    usage: Usage | None
    finished_at: str | None
    finished_reason: FinishedReason | None
    error: str | None

    @property
    def role(self) -> str: ...
    @property
    def growing_content(self) -> Content: ...
    def change(self, fields: Mapping[str, Any]) -> None: ...


def apply(msg: Target, event: Any) -> None:
    """Apply one event of the message's own reply.

    An event that does not fit is logged by its ids and skipped; never raises for an event that was read or constructed.
    """
    effect = _EFFECTS.get(event.type)
    if effect is None:
        if event.type not in _WITHOUT_EFFECT:
            warn_skipped(event, "its type is unknown")
        return
    complaint = effect(msg, event)
    if complaint:
        warn_skipped(event, complaint)


def warn_skipped(event: FoldEvent, why: str) -> None:
    """Log that an event changed nothing."""
    logger.warning("event %s (%s) of reply %s skipped: %s", event.id, event.type, event.reply_id, why)


def _add(msg: Target, block: Block) -> str | None:
    if block.type not in ALLOWED_BLOCKS[msg.role]:
        return f"a {msg.role} message holds no {block.type} block"
    # The start of a known block arrived twice: overlap of two replays, which is harmless.
    msg.growing_content.add(block)
    return None


def _unknown(kind: str, block_id: str) -> str:
    return f"there is no unfinished {kind} block {block_id}"


def _text_start(msg: Target, event: Any) -> str | None:
    return _add(msg, TextBlock(text="", id=event.block_id, created_at=event.created_at))


def _thinking_start(msg: Target, event: Any) -> str | None:
    return _add(msg, ThinkingBlock(thinking="", id=event.block_id, created_at=event.created_at))


def _data_start(msg: Target, event: Any) -> str | None:
    source = (
        URLSource(url=event.url, media_type=event.media_type)
        if event.url is not None
        else Base64Source(data=b"", media_type=event.media_type)
    )
    return _add(msg, DataBlock(source=source, id=event.block_id, name=event.name, created_at=event.created_at))


def _hint(msg: Target, event: Any) -> str | None:
    block = HintBlock(
        hint=event.hint if isinstance(event.hint, str) else list(event.hint),
        id=event.block_id,
        source=event.source,
        created_at=event.created_at,
        finished_at=event.created_at,
    )
    return _add(msg, block)


def _call_start(msg: Target, event: Any) -> str | None:
    return _add(msg, ToolCallBlock(id=event.tool_call_id, name=event.tool_call_name, created_at=event.created_at))


def _result_start(msg: Target, event: Any) -> str | None:
    return _add(
        msg,
        ToolResultBlock(
            id=event.tool_call_id, name=event.tool_call_name, state=ToolResultState.RUNNING, created_at=event.created_at
        ),
    )


def _id_of(kind: str, event: Any) -> str:
    """Return the id of the block that the event is about."""
    return str(event.tool_call_id if kind in ("tool_call", "tool_result") else event.block_id)


def _delta(kind: str, msg: Target, event: Any) -> str | None:
    """Append to the block's text or bytes."""
    block_id = _id_of(kind, event)
    growing = msg.growing_content.growing(kind, block_id)
    if isinstance(growing, GrowingText):
        growing.add(event.delta)
    elif isinstance(growing, GrowingData):
        growing.add(event.data)
    else:
        return _unknown(kind, block_id)
    return None


def _result_text_delta(msg: Target, event: Any) -> str | None:
    growing = msg.growing_content.growing("tool_result", event.tool_call_id)
    if not isinstance(growing, GrowingResult):
        return _unknown("tool_result", event.tool_call_id)
    growing.add_text(event.delta, _text_of(event))
    return None


def _result_data_delta(msg: Target, event: Any) -> str | None:
    growing = msg.growing_content.growing("tool_result", event.tool_call_id)
    if not isinstance(growing, GrowingResult):
        return _unknown("tool_result", event.tool_call_id)
    source = (
        URLSource(url=event.url, media_type=event.media_type)
        if event.url is not None
        else Base64Source(data=event.data, media_type=event.media_type)
    )
    block = DataBlock(source=source, id=event.block_id, created_at=event.created_at)
    growing.add_data(block, _text_of(event))
    return None


def _text_of(event: FoldEvent) -> TextBlock:
    """Return the text block that a tool's output needs; its id derives from the event's."""
    return TextBlock(text="", id=f"{event.id}_text", created_at=event.created_at)


def _end(kind: str, msg: Target, event: Any, **fields: Any) -> str | None:
    block_id = _id_of(kind, event)
    if msg.growing_content.change(kind, block_id, finished_at=event.created_at, **fields):
        return None
    return f"there is no {kind} block {block_id}"


def _text_end(msg: Target, event: Any) -> str | None:
    final = {} if event.text is None else {"text": event.text}
    return _end("text", msg, event, **final)


def _thinking_end(msg: Target, event: Any) -> str | None:
    more = {"extra": dict(event.extra)} if event.extra else {}
    return _end("thinking", msg, event, **more)


def _result_end(msg: Target, event: Any) -> str | None:
    _move(msg, event.tool_call_id, ToolCallState.FINISHED)
    return _end("tool_result", msg, event, state=event.state)


def _move(msg: Target, call_id: str, state: ToolCallState, **fields: Any) -> str | None:
    """Move a call to `state` and set further fields; no change if it is already there.

    Returns why the transition is not allowed, or None.
    """
    call = msg.growing_content.get("tool_call", call_id)
    if not isinstance(call, ToolCallBlock):
        return f"there is no tool call {call_id}"
    if state == call.state:
        return None
    if state not in TOOL_CALL_ARROWS[call.state]:
        return f"tool call {call_id} is {call.state}, so it cannot become {state}"
    msg.growing_content.change("tool_call", call_id, state=state, **fields)
    return None


def _complaints(each: list[str | None]) -> str | None:
    return "; ".join(complaint for complaint in each if complaint) or None


def _ask(msg: Target, event: Any) -> str | None:
    return _complaints(
        [
            _move(msg, call.id, ToolCallState.ASKING, suggested_rules=list(call.suggested_rules))
            for call in event.tool_calls
        ]
    )


def _answer(msg: Target, event: Any) -> str | None:
    return _complaints(
        [
            _move(msg, call.id, ToolCallState.ALLOWED, name=call.name, input=call.input)
            if result.confirmed
            else _move(msg, call.id, ToolCallState.FINISHED)
            for result in event.confirm_results
            for call in (result.tool_call,)
        ]
    )


def _submit(msg: Target, event: Any) -> str | None:
    return _complaints([_move(msg, call.id, ToolCallState.SUBMITTED) for call in event.tool_calls])


def _external_results(msg: Target, event: Any) -> str | None:
    complaints = []
    for result in event.execution_results:
        complaint = _move(msg, result.id, ToolCallState.FINISHED)
        complaints.append(complaint or _add(msg, result))
    return _complaints(complaints)


def _model_call_end(msg: Target, event: Any) -> str | None:
    if msg.role != "assistant":
        return "only assistant messages have usage"
    before = msg.usage or Usage(input_tokens=0, output_tokens=0)
    msg.usage = before.plus(event.input_tokens, event.output_tokens)
    return None


def _reply_end(msg: Target, event: Any) -> str | None:
    msg.finished_at = event.created_at
    msg.finished_reason = event.finished_reason
    msg.error = event.error
    try:
        if event.message:
            msg.change(event.message)
    except ValueError as error:
        return str(error)
    return None


_EFFECTS: dict[str, Callable[[Target, Any], str | None]] = {
    "REPLY_END": _reply_end,
    "MODEL_CALL_END": _model_call_end,
    "TEXT_BLOCK_START": _text_start,
    "TEXT_BLOCK_DELTA": partial(_delta, "text"),
    "TEXT_BLOCK_END": _text_end,
    "THINKING_BLOCK_START": _thinking_start,
    "THINKING_BLOCK_DELTA": partial(_delta, "thinking"),
    "THINKING_BLOCK_END": _thinking_end,
    "DATA_BLOCK_START": _data_start,
    "DATA_BLOCK_DELTA": partial(_delta, "data"),
    "DATA_BLOCK_END": partial(_end, "data"),
    "HINT_BLOCK": _hint,
    "TOOL_CALL_START": _call_start,
    "TOOL_CALL_DELTA": partial(_delta, "tool_call"),
    "TOOL_CALL_END": partial(_end, "tool_call"),
    "TOOL_RESULT_START": _result_start,
    "TOOL_RESULT_TEXT_DELTA": _result_text_delta,
    "TOOL_RESULT_DATA_DELTA": _result_data_delta,
    "TOOL_RESULT_END": _result_end,
    "REQUIRE_USER_CONFIRM": _ask,
    "USER_CONFIRM_RESULT": _answer,
    "REQUIRE_EXTERNAL_EXECUTION": _submit,
    "EXTERNAL_EXECUTION_RESULT": _external_results,
}

_WITHOUT_EFFECT = (
    "REPLY_START",
    "MODEL_CALL_START",
    "EXCEED_MAX_ITERS",
    "REQUEST_STOP",
    "USER_INTERRUPT",
    "CUSTOM",
)
