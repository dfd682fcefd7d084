"""The content blocks that realtime events carry: text, data, tool call and tool result.

Frozen `msgspec` Structs with a `type` discriminator in JSON. The field names are those of AgentScope 2.x.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ToolCallState = Literal["pending", "asking", "allowed", "submitted", "finished"]
ToolResultState = Literal["running", "success", "error", "interrupted", "denied"]


class Base64Source(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="base64"):
    """Binary content inside the message: `data` is base64 text in JSON and bytes in Python."""

    data: bytes
    media_type: str


class URLSource(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="url"):
    """Binary content elsewhere: `url` is an RFC 3986 URI."""

    url: str
    media_type: str


class TextBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A piece of text. `id` is empty where nothing refers to the block."""

    text: str
    id: str = ""


class DataBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="data"):
    """Image, audio, video or other binary content."""

    source: Base64Source | URLSource
    id: str = ""
    name: str | None = None


class ToolCallBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A request of the model to run a tool. `input` is the arguments as a JSON string, as far as received."""

    id: str
    name: str
    input: str = ""
    state: ToolCallState = "pending"


ToolOutput = str | list[TextBlock | DataBlock]


class ToolResultBlock(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """The outcome of the tool call with the same `id`."""

    id: str
    name: str
    output: ToolOutput = ""
    state: ToolResultState = "success"

    def output_text(self, *, names_media: bool = False) -> str:
        """The textual part of the output, for models that take text results only.

        `names_media`: they are told what else there was, so that they do not take it for nothing.
        """
        if isinstance(self.output, str):
            return self.output
        parts = [*self.texts]
        if names_media:
            parts += [f"[{block.source.media_type}, which cannot be shown to you]" for block in self.media]
        return "\n".join(parts)

    @property
    def texts(self) -> list[str]:
        """The texts of the output that are not empty."""
        if isinstance(self.output, str):
            return [self.output] if self.output else []
        return [block.text for block in self.output if isinstance(block, TextBlock) and block.text]

    @property
    def media(self) -> list[DataBlock]:
        """What of the output is no text."""
        return [] if isinstance(self.output, str) else [block for block in self.output if isinstance(block, DataBlock)]


Block = TextBlock | DataBlock | ToolCallBlock | ToolResultBlock
