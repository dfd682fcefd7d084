"""Providers of models, and the environment variables that hold their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from realtime.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Service:
    """A provider that hears what is said to its models: whose it is, and which environment variables reach it.

    The first of `key_variables` is the one to name; any of them will do.
    """

    name: str
    title: str
    company: str
    key_variables: tuple[str, ...]
    base_url_variable: str

    def has_key(self, environment: Mapping[str, str]) -> bool:
        """Whether a key is set. Whether it is a good one, only the service knows."""
        return any(environment.get(variable) for variable in self.key_variables)

    def key_variable(self, environment: Mapping[str, str]) -> str:
        """The variable that holds its key, or that should."""
        return next((name for name in self.key_variables if environment.get(name)), self.key_variables[0])

    def refused_key(self, environment: Mapping[str, str]) -> ProviderError:
        """The error for a key that the service does not take."""
        variable = self.key_variable(environment)
        return ProviderError(f"{self.title} refused the key: set {variable} to a valid one", code="invalid_api_key")


SERVICES = {
    service.name: service
    for service in (
        Service("openai", "OpenAI", "OpenAI", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
        Service("gemini", "Gemini", "Google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "GOOGLE_GEMINI_BASE_URL"),
        Service("dashscope", "DashScope", "Alibaba Cloud", ("DASHSCOPE_API_KEY",), "DASHSCOPE_WEBSOCKET_BASE_URL"),
    )
}
"""By the name that `open_model` takes. The variables are those of the providers' own SDKs."""


def default_model(environment: Mapping[str, str]) -> str:
    """The model when none is named: the only service that has a key, else the embedded one."""
    with_key = [service.name for service in SERVICES.values() if service.has_key(environment)]
    return with_key[0] if len(with_key) == 1 else "local"
