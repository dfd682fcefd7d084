"""The embedded model: recognition, a language model and a voice in this process. No key and no GPU.

The language model is the small built-in one, which needs no network, or a chat model. Names are loaded on first use:
agents that talk through a provider load neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.model.local.chat import ChatLanguageModel as ChatLanguageModel
    from realtime.model.local.chat import FormattedLanguageModel as FormattedLanguageModel
    from realtime.model.local.chat import language_model_from_environment as language_model_from_environment
    from realtime.model.local.chat_messages import HistoryLimits as HistoryLimits
    from realtime.model.local.model import LocalRealtimeModel as LocalRealtimeModel

_WHERE = {
    "ChatLanguageModel": ".chat",
    "FormattedLanguageModel": ".chat",
    "HistoryLimits": ".chat_messages",
    "LocalRealtimeModel": ".model",
    "language_model_from_environment": ".chat",
}

__all__ = [*_WHERE]
__getattr__ = on_first_use(__name__, _WHERE)
