"""Models: realtime ones and the seam they stand behind, and chat models. Names are loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from realtime.model.chat import AnthropicChatModel as AnthropicChatModel
    from realtime.model.chat import ChatModelBase as ChatModelBase
    from realtime.model.chat import ChatResponse as ChatResponse
    from realtime.model.chat import ChatUsage as ChatUsage
    from realtime.model.chat import DashScopeChatModel as DashScopeChatModel
    from realtime.model.chat import GeminiChatModel as GeminiChatModel
    from realtime.model.chat import OpenAIChatModel as OpenAIChatModel

__all__ = [
    "AnthropicChatModel",
    "ChatModelBase",
    "ChatResponse",
    "ChatUsage",
    "DashScopeChatModel",
    "GeminiChatModel",
    "OpenAIChatModel",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("realtime.model.chat"), name)
