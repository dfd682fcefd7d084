"""The registry of chat models: four families, where each finds its key, and who reads what it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """Chat models of one protocol: the class that speaks it, the formatter that writes for it.

    `model_class` and `formatter_class` are `module:Class`. Any of `key_variables` may hold the key; messages name the
    first. `limit_name` is the keyword that limits the tokens of a response. Where
    `takes_temperature` is false, the newer models refuse a request with one. `small_model` fills in what a call leaves
    behind, where no model is named.
    """

    name: str
    title: str
    company: str
    key_variables: tuple[str, ...]
    address: str
    model_class: str
    formatter_class: str
    limit_name: str
    small_model: str
    takes_temperature: bool = True

    def model(self) -> Any:
        """Return the class of its models. Imports no SDK."""
        return _named(self.model_class)

    def formatter(self) -> Any:
        """Return the class of its formatter."""
        return _named(self.formatter_class)

    def at(self, base_url: str) -> dict[str, Any]:
        """Return the arguments by which its class asks another address; "" is its own."""
        match self.name:
            case _ if not base_url:
                return {}
            case "dashscope":
                return {"base_http_api_url": base_url}
            case "gemini":
                return {"client_kwargs": {"http_options": {"base_url": base_url}}}
            case _:
                return {"client_kwargs": {"base_url": base_url}}


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "openai",
            "OpenAI",
            "OpenAI",
            ("OPENAI_API_KEY",),
            "https://api.openai.com/v1",
            "realtime.model.chat.openai:OpenAIChatModel",
            "realtime.formatter:OpenAIChatFormatter",
            "max_completion_tokens",
            "gpt-5-mini",
        ),
        Family(
            "dashscope",
            "DashScope",
            "Alibaba Cloud",
            ("DASHSCOPE_API_KEY",),
            "https://dashscope.aliyuncs.com/api/v1",
            "realtime.model.chat.dashscope:DashScopeChatModel",
            "realtime.formatter:DashScopeChatFormatter",
            "max_tokens",
            "qwen-plus",
        ),
        Family(
            "gemini",
            "Gemini",
            "Google",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            "https://generativelanguage.googleapis.com",
            "realtime.model.chat.gemini:GeminiChatModel",
            "realtime.formatter:GeminiChatFormatter",
            "max_output_tokens",
            "gemini-2.5-flash",
        ),
        Family(
            "anthropic",
            "Anthropic",
            "Anthropic",
            ("ANTHROPIC_API_KEY",),
            "https://api.anthropic.com",
            "realtime.model.chat.anthropic:AnthropicChatModel",
            "realtime.formatter:AnthropicChatFormatter",
            "max_tokens",
            "claude-haiku-4-5",
            takes_temperature=False,
        ),
    )
}
"""By the name that REALTIME_LLM_PROVIDER and `--llm` take. The variables are those of the providers' own SDKs."""


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
