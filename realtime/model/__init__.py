"""Models: realtime ones and the seam they stand behind, and chat models. Names are loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

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
__getattr__ = on_first_use(__name__, dict.fromkeys(__all__, ".chat"))
