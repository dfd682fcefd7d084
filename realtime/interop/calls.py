"""Calls as messages, and messages as what a call begins with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from realtime.event.base import ContentPart, Item
from realtime.event.reply import AgentEvent
from realtime.message import (
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    system_reminder,
)
from realtime.runtime import iso
from realtime.state.log import AudioRun, Entry
from realtime.state.replies import ReplyProjection, messages
from realtime.state.store import CallInfo


def projection_of(info: CallInfo) -> ReplyProjection:
    """Return the projection of a stored call's log to reply events."""
    start = datetime.fromisoformat(info.created_at or "1970-01-01T00:00:00.000Z").astimezone(UTC)

    def created_at_of(ts_ms: int) -> str:
        return iso((start + timedelta(milliseconds=ts_ms)).timestamp())

    tools = [tool["name"] for tool in info.config.get("tools") or () if isinstance(tool.get("name"), str)]
    return ReplyProjection(
        info.session_id,
        created_at_of=created_at_of,
        client_tools=tools,
        user_name=user_name_of(info),
    )


def user_name_of(info: CallInfo) -> str:
    """Return the name of the user of a call."""
    return str(info.config.get("user_name") or "user")


def messages_of(info: CallInfo, entries: Iterable[Entry]) -> list[Msg]:
    """Return the messages of a stored call. What was said is what was heard."""
    projection = projection_of(info)
    events: list[AgentEvent] = []
    for entry in entries:
        if not isinstance(entry, AudioRun):
            events += projection.push(entry)
    return messages([*events, *projection.settle()])


def items_of(thread: Iterable[Msg]) -> tuple[Item, ...]:
    """Return messages as items that a call can begin with: `agent.conversation = items_of(load(...))`.

    Pictures of users are taken where the message holds them; other media, thoughts, and calls without a result are left
    out, since models refuse them.
    """
    return tuple(item for message in thread for item in _items(message))


def _items(message: Msg) -> Iterator[Item]:
    results = {block.id for block in message.get_content_blocks("tool_result")}
    parts: list[ContentPart] = []
    number = 0

    def item(**fields: object) -> Item:
        nonlocal number
        number += 1
        item_id = message.id if number == 1 else f"{message.id}_{number}"
        return Item(id=item_id, **fields)  # type: ignore[arg-type]

    def said() -> Iterator[Item]:
        if parts:
            yield item(role=message.role, name=message.name, content=tuple(parts))
            parts.clear()

    for block in message.content:
        match block:
            case TextBlock(text=text) if text:
                parts.append(ContentPart(type="text", text=text))
            case DataBlock(source=Base64Source() as source) if message.role == "user":
                if source.media_type.startswith("image/"):
                    parts.append(ContentPart(type="image", image=source.data, media_type=source.media_type))
            case HintBlock(hint=hint):
                yield from said()
                text = (
                    hint if isinstance(hint, str) else "\n".join(one.text for one in hint if isinstance(one, TextBlock))
                )
                if text:
                    reminder = text if text.startswith(_REMINDER) else system_reminder(text)
                    yield item(role="system", content=(ContentPart(type="text", text=reminder),))
            case ToolCallBlock(id=call_id) if call_id in results:
                yield from said()
                yield item(type="tool_call", tool_call=block)
            case ToolResultBlock():
                yield from said()
                yield item(type="tool_result", tool_result=block)
    yield from said()


_REMINDER = system_reminder("").partition("\n")[0]
