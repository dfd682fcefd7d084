"""Room-wide ids for items, responses and tool calls: two models may use the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from realtime.event import server as s


def named(event: s.ServerEvent, prefix: str, agent_name: str) -> s.ServerEvent:
    """The event of an agent as the room tells it: all ids begin with `prefix`."""
    changes: dict[str, Any] = {"agent_name": agent_name} if hasattr(event, "agent_name") else {}
    for name in ("item_id", "response_id", "previous_item_id", "tool_call_id"):
        value = getattr(event, name, None)
        if value:
            changes[name] = prefix + value
    for name, rename in _PARTS.items():
        part = getattr(event, name, None)
        if part is not None:
            changes[name] = rename(part, prefix)
    if isinstance(event, s.ServerCustomEvent) and "tool_call_id" in event.value:
        changes["value"] = event.value | {"tool_call_id": f"{prefix}{event.value['tool_call_id']}"}
    if "item" in changes and changes["item"].role == "assistant":
        changes["item"] = msgspec.structs.replace(changes["item"], name=agent_name)
    return msgspec.structs.replace(event, **changes)


def _item(item: Any, prefix: str) -> Any:
    changes: dict[str, Any] = {"id": prefix + item.id}
    if item.tool_call is not None:
        changes["tool_call"] = _block(item.tool_call, prefix)
    if item.tool_result is not None:
        changes["tool_result"] = _block(item.tool_result, prefix)
    return msgspec.structs.replace(item, **changes)


def _block(block: Any, prefix: str) -> Any:
    return msgspec.structs.replace(block, id=prefix + block.id)


_PARTS: dict[str, Callable[[Any, str], Any]] = {"item": _item, "tool_use": _block, "tool_result": _block}
