"""Messages as payloads of chat models: one formatter for each family, the only writers of payloads."""

from realtime.formatter.anthropic import AnthropicChatFormatter, AnthropicMultiAgentFormatter
from realtime.formatter.base import FormatterBase
from realtime.formatter.dashscope import DashScopeChatFormatter, DashScopeMultiAgentFormatter
from realtime.formatter.gemini import GeminiChatFormatter, GeminiMultiAgentFormatter
from realtime.formatter.openai import OpenAIChatFormatter, OpenAIMultiAgentFormatter
from realtime.formatter.turns import NO_RESULT, NO_RESULT_YET
from realtime.lazy import on_first_use

__all__ = [
    "NO_RESULT",
    "NO_RESULT_YET",
    "AnthropicChatFormatter",
    "AnthropicMultiAgentFormatter",
    "DashScopeChatFormatter",
    "DashScopeMultiAgentFormatter",
    "FormatterBase",
    "GeminiChatFormatter",
    "GeminiMultiAgentFormatter",
    "OpenAIChatFormatter",
    "OpenAIMultiAgentFormatter",
]

# It lies above this package: AgentScope's documents import it from here.
__getattr__ = on_first_use(__name__, {"A2AChatFormatter": "realtime.a2a.formatter"})
