"""What was heard of a conversation: as items that another call can begin with, and as JSON."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import msgspec

from realtime.call.participant import Ears
from realtime.errors import UsageError
from realtime.event.base import ContentPart, Item
from realtime.state.conversation import Conversation, without_sound
from realtime.state.truncation import portion_played


def heard_items(conversation: Conversation, ears: Ears, unplayed: Container[str]) -> tuple[Item, ...]:
    """Return the items as they were heard up to now, in order.

    Of the items in `unplayed` only the words that were played are left. Tool calls without a result are left out:
    models refuse a history with one.
    """
    items = conversation.items()
    answered = {item.tool_result.id for item in items if item.tool_result is not None}
    heard = []
    for item in items:
        if item.tool_call is not None and item.tool_call.id not in answered:
            continue
        if item.role == "assistant" and (item.status == "in_progress" or item.id in unplayed):
            item = _played(item, conversation, ears.played_ms(item.id))
        if item.type == "message" and not (item.text or any(part.image for part in item.content)):
            continue
        status = "incomplete" if item.status == "in_progress" else item.status
        heard.append(msgspec.structs.replace(without_sound(item), status=status))
    return tuple(heard)


def _played(item: Item, conversation: Conversation, played_ms: int) -> Item:
    """Return an unfinished item with the words so far."""
    audio_ms = conversation.audio_ms(item.id)
    if not audio_ms:
        return msgspec.structs.replace(
            item, content=(ContentPart(type="text", text=conversation.spoken_text(item.id)),)
        )
    whole = conversation.is_truncated(item.id) or portion_played(played_ms, audio_ms) == "all"
    words = conversation.spoken_text(item.id) if whole else conversation.played_text(item.id, played_ms)
    status = item.status if whole else "incomplete"
    return msgspec.structs.replace(item, status=status, content=(ContentPart(type="audio", transcript=words),))


def items_to_json(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return items as JSON-safe builtins."""
    built: list[dict[str, Any]] = msgspec.to_builtins(items)
    return built


def items_from_json(items: Any) -> tuple[Item, ...]:
    """Return the items that `items_to_json` was given. Raises UsageError for anything else."""
    try:
        return msgspec.convert(items, tuple[Item, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"this is no saved conversation: {error}", code="bad_state") from error
