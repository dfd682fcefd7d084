"""Content blocks: what messages, tool calls and tool results are made of."""

from realtime.message.blocks import (
    Base64Source,
    Block,
    DataBlock,
    TextBlock,
    ToolCallBlock,
    ToolCallState,
    ToolOutput,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)

__all__ = [
    "Base64Source",
    "Block",
    "DataBlock",
    "TextBlock",
    "ToolCallBlock",
    "ToolCallState",
    "ToolOutput",
    "ToolResultBlock",
    "ToolResultState",
    "URLSource",
]
