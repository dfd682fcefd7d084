"""The embedded model: recognition, a language model and a voice in this process. No key and no GPU.

The language model is the small built-in one, which needs no network, or a chat model.
"""

from realtime.model.local.chat import ChatLanguageModel, FormattedLanguageModel, language_model_from_environment
from realtime.model.local.chat_messages import HistoryLimits
from realtime.model.local.model import LocalRealtimeModel

__all__ = [
    "ChatLanguageModel",
    "FormattedLanguageModel",
    "HistoryLimits",
    "LocalRealtimeModel",
    "language_model_from_environment",
]
