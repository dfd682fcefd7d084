"""The registry of providers: their models, addresses and environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from realtime.errors import ProviderError, UsageError
from realtime.model.base import RealtimeModel
from realtime.model.credentials import parts_of_address, pasted, set_in, usable_key


@dataclass(frozen=True, slots=True)
class Service:
    """A provider: its names, the environment variables and address that reach it, and its model's class.

    Messages name the first of `key_variables`; any of them may hold the key. `model_class` is `module:Class`; the class
    takes a model name, `api_key` and `base_url`, and its default model is the best one. `chat_path` says how the
    address of its socket becomes that of its chat models: what its path has from where on, and what stands there
    then; None: it has none.
    """

    name: str
    title: str
    company: str
    key_variables: tuple[str, ...]
    base_url_variable: str
    default_url: str
    model_class: str
    chat_path: tuple[str, str] | None = None

    def open(self, *model_name: str, **options: Any) -> RealtimeModel:
        """Return its model with this name (default: the best). Imports this provider only."""
        module, _, name = self.model_class.partition(":")
        return cast(RealtimeModel, getattr(import_module(module), name)(*model_name, **options))

    def url(self, environment: Mapping[str, str]) -> str:
        """Return the address in the environment, else the public one."""
        return pasted(environment.get(self.base_url_variable, "")) or self.default_url

    def key(self, environment: Mapping[str, str]) -> str | None:
        """Return the key that the environment holds. Raises UsageError for one that no header can hold."""
        variable, key = set_in(environment, self.key_variables)
        return usable_key(key, variable) if key else None

    def has_key(self, environment: Mapping[str, str]) -> bool:
        """Whether a key is set. Whether it is a good one, only the service knows."""
        return bool(set_in(environment, self.key_variables)[0])

    def problem(self, environment: Mapping[str, str]) -> str:
        """What is wrong with the key or the address in the environment; "" where nothing can be seen."""
        try:
            self.key(environment)
            parts_of_address(self.url(environment), self.base_url_variable)
        except UsageError as error:
            return error.message
        return ""

    def key_variable(self, environment: Mapping[str, str]) -> str:
        """The variable that holds its key, or that should."""
        return set_in(environment, self.key_variables)[0] or self.key_variables[0]

    def refused_key(self, environment: Mapping[str, str]) -> ProviderError:
        """The error for a key that is refused, or cannot be sent."""
        try:
            self.key(environment)
        except UsageError as error:
            return ProviderError(error.message, code=error.code)
        variable = self.key_variable(environment)
        return ProviderError(f"{self.title} refused the key: set {variable} to a valid one", code="invalid_api_key")


SERVICES = {
    service.name: service
    for service in (
        Service(
            "openai",
            "OpenAI",
            "OpenAI",
            ("OPENAI_API_KEY",),
            "OPENAI_BASE_URL",
            "https://api.openai.com/v1",
            "realtime.model.openai_family.openai:OpenAIRealtimeModel",
            ("/realtime", ""),
        ),
        Service(
            "gemini",
            "Gemini",
            "Google",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            "GOOGLE_GEMINI_BASE_URL",
            "https://generativelanguage.googleapis.com",
            "realtime.model.gemini.model:GeminiRealtimeModel",
            ("/ws/", ""),
        ),
        Service(
            "dashscope",
            "DashScope",
            "Alibaba Cloud",
            ("DASHSCOPE_API_KEY",),
            "DASHSCOPE_WEBSOCKET_BASE_URL",
            "wss://dashscope.aliyuncs.com",
            "realtime.model.openai_family.dashscope:DashScopeRealtimeModel",
            ("/api-ws/", "/api/v1"),
        ),
    )
}
"""By the name that `open_model` takes. The variables are those of the providers' own SDKs."""


def default_model(environment: Mapping[str, str]) -> str:
    """The model when none is named: the only service that has a key, else the embedded one."""
    with_key = [service.name for service in SERVICES.values() if service.has_key(environment)]
    return with_key[0] if len(with_key) == 1 else "local"
