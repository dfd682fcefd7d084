"""What `LocalRealtimeModel(language_model=...)` takes, and what it says of anything else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import pytest

from realtime.agent import ReActAgent, RealtimeAgent
from realtime.errors import UsageError
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.for_calls import for_calls
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.model.scripted import ScriptedModel
from tests.agent.thinking import ScriptedChat, react, say


class Echo:
    name = "echo"
    takes_images = True

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        yield ReplyText(prompt.history[-1].text)


def make_agent() -> ReActAgent:
    return react(say("Hello."))


async def make_later() -> ReActAgent:
    return react(say("Hello."))


def test_agents_language_models_and_functions_that_make_them() -> None:
    named: list[tuple[Any, str]] = [
        (Echo(), "echo"),
        (make_agent(), "Friday on scripted"),
        (make_agent().as_language_model(takes_images=True), "Friday on scripted"),
        (make_agent, "Friday on scripted"),
        (lambda: Echo(), "echo"),
        (partial(react, say("Hello."), name="Monday"), "Monday on scripted"),
        (Conversationalist, "local"),
    ]
    for given, name in named:
        assert LocalRealtimeModel(language_model=given).profile.model == name
    seeing = LocalRealtimeModel(language_model=make_agent().as_language_model(takes_images=True))
    assert "image" in seeing.profile.input_modalities
    assert "image" not in LocalRealtimeModel(language_model=make_agent()).profile.input_modalities


def test_a_language_model_is_the_same_in_each_call_and_may_always_draft() -> None:
    calls = for_calls(Echo())
    first, second = calls.for_call(), calls.for_call()
    assert first is not second
    assert first.may_draft


def test_a_function_is_called_for_each_call_and_once_before_for_the_name() -> None:
    made: list[Any] = []

    def make() -> Echo:
        made.append(Echo())
        return made[-1]

    calls = for_calls(make)
    counts = [len(made)]
    for _ in range(2):
        calls.for_call()
        counts.append(len(made))
    assert counts == [1, 1, 2]


def test_anything_else_is_refused_with_a_sentence() -> None:
    others: list[tuple[Any, str]] = [
        (7, "language_model is a int: give an agent such as ReActAgent, a function that makes one, or"),
        (ScriptedChat(say("Hello.")), "language_model is a ScriptedChat: give an agent such as ReActAgent"),
        (RealtimeAgent("Robin", "Be kind.", ScriptedModel([])), "language_model is a RealtimeAgent: give an agent"),
        (ReActAgent, "language_model is ReActAgent, which cannot be called without arguments: give an object"),
        (lambda: 7, "the function given as language_model makes a int: let it return an agent"),
        (make_later, "the function given as language_model makes a coroutine: let it return an agent"),
    ]
    for given, sentence in others:
        with pytest.raises(UsageError, match=sentence) as refused:
            LocalRealtimeModel(language_model=given)
        assert refused.value.code == "bad_language_model"
