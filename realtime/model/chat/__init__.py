"""Chat models of four families, on the providers' SDKs. Their classes are loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use
from realtime.model.chat.base import ChatModelBase, ChatResponse, ChatUsage

if TYPE_CHECKING:
    from realtime.model.chat.anthropic import AnthropicChatModel as AnthropicChatModel
    from realtime.model.chat.compression import CompressionConfig as CompressionConfig
    from realtime.model.chat.dashscope import DashScopeChatModel as DashScopeChatModel
    from realtime.model.chat.gemini import GeminiChatModel as GeminiChatModel
    from realtime.model.chat.openai import OpenAIChatModel as OpenAIChatModel

_WHERE = {
    "AnthropicChatModel": "realtime.model.chat.anthropic",
    "CompressionConfig": "realtime.model.chat.compression",
    "DashScopeChatModel": "realtime.model.chat.dashscope",
    "GeminiChatModel": "realtime.model.chat.gemini",
    "OpenAIChatModel": "realtime.model.chat.openai",
}

__all__ = ["ChatModelBase", "ChatResponse", "ChatUsage", *_WHERE]
__getattr__ = on_first_use(__name__, _WHERE)
