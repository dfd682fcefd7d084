"""Models by name: `open_model("openai:gpt-realtime-2.1")`. Imports only the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable

from realtime.errors import UsageError
from realtime.model.base import RealtimeModel


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
    from realtime.model.gemini.model import GeminiRealtimeModel

    return GeminiRealtimeModel(model_name) if model_name else GeminiRealtimeModel()


def _dashscope(model_name: str) -> RealtimeModel:
    from realtime.model.openai_family.dashscope import DashScopeRealtimeModel

    return DashScopeRealtimeModel(model_name) if model_name else DashScopeRealtimeModel()


def _local(model_name: str) -> RealtimeModel:
    _refuse_model_name("local", model_name)
    from realtime.model.local.model import LocalRealtimeModel

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
