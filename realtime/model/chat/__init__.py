"""Chat models of four families, on the providers' SDKs. Their classes are loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
