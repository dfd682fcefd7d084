"""The embedded model: recognition, a mind and a voice in this process. No key and no GPU.

The mind is the small one built in, which needs no network, or a language model behind any chat endpoint.
"""

from realtime.model.local.chat import ChatResponder, responder_from_environment
from realtime.model.local.chat_messages import HistoryLimits
from realtime.model.local.connection import LocalRealtimeModel

__all__ = ["ChatResponder", "HistoryLimits", "LocalRealtimeModel", "responder_from_environment"]
