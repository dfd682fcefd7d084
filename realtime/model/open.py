"""Models by name: `open_model("openai:gpt-realtime-2.1")`. Imports only the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable

from realtime.errors import UsageError
from realtime.model.base import RealtimeModel
from realtime.model.services import SERVICES
from realtime.options import checked


@checked()
def open_model(name: str) -> RealtimeModel:
    """Return the model of this name: a provider, or a provider and one of its models after a colon.

    Names: those in `SERVICES`, such as `openai` and `openai:gpt-realtime-2.1` (key in OPENAI_API_KEY), `local`
    (embedded, no key), `local:ollama/llama3.2` and its like (embedded, with a language model on this computer, see
    `realtime.model.local.choices`), `scripted` (answers every turn with the same sentence and a tone, for
    demonstrations). Raises UsageError for anything else, naming these.
    """
    provider, _, model_name = name.partition(":")
    if (service := SERVICES.get(provider)) is not None:
        return service.open(model_name) if model_name else service.open()
    opener = _WITHOUT_SERVICE.get(provider)
    if opener is None:
        known = ", ".join(sorted((*SERVICES, *_WITHOUT_SERVICE)))
        raise UsageError(f"there is no model {name!r}; there are {known}", code="unknown_model")
    return opener(model_name)


def _local(model_name: str) -> RealtimeModel:
    from realtime.model.local.model import LocalRealtimeModel

    if not model_name:
        return LocalRealtimeModel()
    from realtime.model.local.choices import choice_of

    return LocalRealtimeModel(language_model=choice_of(model_name).open())


def _scripted(model_name: str) -> RealtimeModel:
    _refuse_model_name("scripted", model_name)
    from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, echo_bot

    return ScriptedModel(echo_bot(), profile=MANUAL_PROFILE)


def _refuse_model_name(provider: str, model_name: str) -> None:
    if model_name:
        raise UsageError(f"{provider} is one model: leave out {':' + model_name!r}", code="unknown_model")


_WITHOUT_SERVICE: dict[str, Callable[[str], RealtimeModel]] = {
    "local": _local,
    "scripted": _scripted,
}
