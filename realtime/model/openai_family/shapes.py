"""Items and settings of all services of OpenAI's family, in our words. Plain functions, no state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from realtime.event.base import ContentPart, Item, UsageDetail
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model.openai_family.frames import WireFunction, WireItem, WirePart, WireTokens, WireUsage

_ROLES: Mapping[str, Literal["user", "assistant", "system"]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
}

Rename = Callable[[str], str]


def usage_detail(usage: WireUsage | None) -> UsageDetail | None:
    """Tokens by kind, `None` where the service names no number."""
    if usage is None:
        return None
    given, made = usage.input_details or WireTokens(), usage.output_details or WireTokens()
    return UsageDetail(
        input_text_tokens=given.text_tokens,
        input_audio_tokens=given.audio_tokens,
        input_image_tokens=given.image_tokens,
        input_cached_tokens=given.cached_tokens,
        output_text_tokens=made.text_tokens,
        output_audio_tokens=made.audio_tokens,
        output_reasoning_tokens=made.reasoning_tokens,
    )


def read_item(item: WireItem, name_of: Rename, tool_name: str = "") -> Item | None:
    """The item in our words, ids through `name_of`; `None` for kinds without a word of ours (remote MCP tools)."""
    status = {"in_progress": "in_progress", "incomplete": "incomplete"}.get(item.status or "", "completed")
    shape: dict[str, Any] = {"id": name_of(item.id), "status": status}
    match item.type:
        case "message":
            role = _ROLES.get(item.role or "")
            parts = tuple(part for wire in item.content or () if (part := _read_part(wire)) is not None)
            return Item(**shape, type="message", role=role, content=parts)
        case "function_call":
            call = ToolCallBlock(id=name_of(item.call_id or ""), name=item.name or "", input=item.arguments or "")
            return Item(**shape, type="tool_call", tool_call=call)
        case "function_call_output":
            result = ToolResultBlock(id=name_of(item.call_id or ""), name=tool_name, output=item.output or "")
            return Item(**shape, type="tool_result", tool_result=result)
        case _:
            return None


def _read_part(part: WirePart) -> ContentPart | None:
    match part.type:
        case "input_text" | "output_text" | "text":
            return ContentPart(type="text", text=part.text or "")
        case "input_audio" | "output_audio" | "audio":
            return ContentPart(type="audio", transcript=part.transcript or part.text or part.transcript)
        case "input_image":
            return ContentPart(type="image")
        case _:
            return None


def read_function(function: WireFunction) -> dict[str, Any]:
    """A tool as the effective settings list it."""
    return {
        "name": function.name,
        "description": function.description or "",
        "parameters": function.parameters or {},
    }
