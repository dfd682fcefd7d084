"""Models by name: `open_model("openai:gpt-realtime-2.1")`. Imports only the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from realtime.errors import ProviderError, UsageError
from realtime.model.base import RealtimeModel


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
        """What to tell whoever uses a key that the service does not take."""
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
    """The model where nobody names one: the only service that has a key, else the embedded one."""
    with_key = [service.name for service in SERVICES.values() if service.has_key(environment)]
    return with_key[0] if len(with_key) == 1 else "local"


def open_model(name: str) -> RealtimeModel:
    """The model that `name` means: a provider, or a provider and one of its models after a colon.

    `openai` and `openai:gpt-realtime-2.1` (key in OPENAI_API_KEY), `gemini` and `gemini:gemini-3.8-live`
    (GEMINI_API_KEY), `dashscope` and `dashscope:qwen3-omni-flash-realtime` (DASHSCOPE_API_KEY), `local` (embedded, no
    key), `scripted` (answers every turn with the same sentence and a tone, for demonstrations). Raises UsageError for
    anything else, naming these.
    """
    provider, _, model_name = name.partition(":")
    opener = _OPENERS.get(provider)
    if opener is None:
        raise UsageError(f"there is no model {name!r}; there are {', '.join(sorted(_OPENERS))}", code="unknown_model")
    return opener(model_name)


def _openai(model_name: str) -> RealtimeModel:
    from realtime.model.openai_family.openai import OpenAIRealtimeModel

    return OpenAIRealtimeModel(model_name) if model_name else OpenAIRealtimeModel()


def _gemini(model_name: str) -> RealtimeModel:
    from realtime.model.gemini.gemini import GeminiRealtimeModel

    return GeminiRealtimeModel(model_name) if model_name else GeminiRealtimeModel()


def _dashscope(model_name: str) -> RealtimeModel:
    from realtime.model.openai_family.dashscope import DashScopeRealtimeModel

    return DashScopeRealtimeModel(model_name) if model_name else DashScopeRealtimeModel()


def _local(model_name: str) -> RealtimeModel:
    _refuse_model_name("local", model_name)
    from realtime.model.local.connection import LocalRealtimeModel

    return LocalRealtimeModel()


def _scripted(model_name: str) -> RealtimeModel:
    _refuse_model_name("scripted", model_name)
    from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, echo_bot

    return ScriptedModel(echo_bot(), profile=MANUAL_PROFILE)


def _refuse_model_name(provider: str, model_name: str) -> None:
    if model_name:
        raise UsageError(f"{provider} is one model: leave out {':' + model_name!r}", code="unknown_model")


_OPENERS: dict[str, Callable[[str], RealtimeModel]] = {
    "dashscope": _dashscope,
    "gemini": _gemini,
    "openai": _openai,
    "local": _local,
    "scripted": _scripted,
}
