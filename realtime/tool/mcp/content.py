"""Results of remote tools as results of tools here."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import msgspec

from realtime.message import Base64Source, DataBlock, TextBlock, ToolResultState
from realtime.tool.output import printable
from realtime.tool.response import ToolResponse

if TYPE_CHECKING:
    from mcp_types import CallToolResult

_UNKNOWN_TYPE = "application/octet-stream"
_OF_PROTOCOL = "io.modelcontextprotocol/"
_MAX_WORDS = 1_000
"""Characters that a link may have."""


def response_of(result: CallToolResult) -> ToolResponse:
    """Return a result as a response.

    Text is text; pictures, sound and embedded files are data; a link is a sentence, so that nothing is fetched. The
    structured content is text where there is no other; it and the result's `_meta` are in the `metadata`.
    """
    content = [_block_of(one) for one in result.content]
    structured = result.structured_content
    if structured is not None and not any(isinstance(block, TextBlock) for block in content):
        content.append(TextBlock(text=printable(msgspec.json.encode(structured).decode())))
    metadata = {key: value for key, value in (result.meta or {}).items() if not key.startswith(_OF_PROTOCOL)}
    if structured is not None:
        metadata["structured_content"] = structured
    return ToolResponse(
        content or [TextBlock(text="failed" if result.is_error else "done")],
        metadata or None,
        state=ToolResultState.ERROR if result.is_error else ToolResultState.SUCCESS,
        is_text=all(isinstance(block, TextBlock) for block in content),
    )


def _block_of(one: Any) -> TextBlock | DataBlock:
    match one.type:
        case "text":
            return TextBlock(text=printable(one.text))
        case "image" | "audio":
            return _data(one.data, one.mime_type, None)
        case "resource_link":
            kind = f", {one.mime_type}" if one.mime_type else ""
            about = f": {one.description}" if one.description else ""
            return TextBlock(text=printable(f"[{one.title or one.name}{kind}, at {one.uri}{about}]"[:_MAX_WORDS]))
        case "resource":
            held = one.resource
            if hasattr(held, "text"):
                return TextBlock(text=printable(held.text))
            return _data(held.blob, held.mime_type or _UNKNOWN_TYPE, str(held.uri).rpartition("/")[2] or None)
        case kind:
            return TextBlock(text=f"[content of the kind {str(kind)[:40]!r}, which is not supported]")


def _data(encoded: str, media_type: str, name: str | None) -> TextBlock | DataBlock:
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return TextBlock(text=f"[{printable(media_type)[:80]}, which is not valid base64, is left out]")
    return DataBlock(source=Base64Source(data=data, media_type=printable(media_type) or _UNKNOWN_TYPE), name=name)
