"""Chat models of four families, on the providers' SDKs."""

from realtime.model.chat.base import ChatModelBase, ChatResponse, ChatUsage

__all__ = ["ChatModelBase", "ChatResponse", "ChatUsage"]
