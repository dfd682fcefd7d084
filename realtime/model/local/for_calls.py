"""The language model of each call, from whatever `LocalRealtimeModel(language_model=...)` is given.

A chat model keeps nothing of a call and serves all of them. An agent has a memory: two calls at once would mix their
conversations, and a copy would not be the object that the program holds. So an agent serves one call at a time and
refuses a second one with a sentence; a function that makes agents gives each call its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from realtime.errors import UsageError
from realtime.event.base import Item
from realtime.model.local.language_model import (
    CallLanguageModel,
    LanguageModel,
    LanguageModelForCalls,
    Prompt,
    Reply,
    Speaker,
)

MakeSpeaker = Callable[[], Speaker | LanguageModel | LanguageModelForCalls]
Given = LanguageModel | LanguageModelForCalls | Speaker | MakeSpeaker
"""A language model, an agent, or a function that makes either."""


def for_calls(given: Any) -> LanguageModelForCalls:
    """Return what gives each call its language model. Raises UsageError for an object of another kind."""
    found = _known(given)
    if found is not None:
        return found
    if isinstance(given, type | functools.partial) or inspect.isroutine(given):
        _check_without_arguments(given)
        return _Made(given)
    raise UsageError(
        f"language_model is a {type(given).__name__}: give an agent such as ReActAgent, a function that makes one, or "
        "a language model such as FormattedLanguageModel",
        code="bad_language_model",
    )


class OfAllCalls:
    """A language model that serves every call, in one of them."""

    may_draft = True

    def __init__(self, language_model: LanguageModel) -> None:
        self._language_model = language_model

    def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `CallLanguageModel.respond`."""
        return self._language_model.respond(prompt)

    def interrupt(self) -> None:
        """Do nothing: between two responses nothing runs."""

    async def close(self, history: Sequence[Item]) -> None:
        """Do nothing: nothing is held."""


class _Shared:
    """Gives all calls the same language model."""

    def __init__(self, language_model: LanguageModel) -> None:
        self._language_model = language_model

    @property
    def name(self) -> str:
        return self._language_model.name

    @property
    def takes_images(self) -> bool:
        return self._language_model.takes_images

    @property
    def chat_model(self) -> object:
        return getattr(self._language_model, "chat_model", None)

    def for_call(self) -> CallLanguageModel:
        return OfAllCalls(self._language_model)


class _Made:
    """Gives each call a language model that a function makes. The first is made at once: it has the name."""

    def __init__(self, make: MakeSpeaker) -> None:
        self._make = make
        self._spare: LanguageModelForCalls | None = self._another()
        self.name = self._spare.name
        self.takes_images = self._spare.takes_images
        self.chat_model = getattr(self._spare, "chat_model", None)

    def for_call(self) -> CallLanguageModel:
        made, self._spare = self._spare or self._another(), None
        return made.for_call()

    def _another(self) -> LanguageModelForCalls:
        made: Any = self._make()
        found = _known(made)
        if found is None:
            if inspect.iscoroutine(made):
                made.close()
            raise UsageError(
                f"the function given as language_model makes a {type(made).__name__}: let it return an agent or a "
                "language model",
                code="bad_language_model",
            )
        return found


def _known(given: Any) -> LanguageModelForCalls | None:
    if isinstance(given, type):
        return None
    if hasattr(given, "as_language_model"):
        made: LanguageModelForCalls = given.as_language_model()
        return made
    if hasattr(given, "for_call"):
        gives: LanguageModelForCalls = given
        return gives
    return _Shared(given) if hasattr(given, "respond") else None


def _check_without_arguments(make: Callable[..., Any]) -> None:
    try:
        inspect.signature(make).bind()
    except (TypeError, ValueError):
        name = getattr(make, "__name__", "a function")
        raise UsageError(
            f"language_model is {name}, which cannot be called without arguments: give an object, or a function that "
            "makes one",
            code="bad_language_model",
        ) from None
