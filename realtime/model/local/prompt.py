"""Write the language model's prompt from settings and conversation. Functions, no state."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from realtime.event.base import Item, ResponseOverrides
from realtime.event.config import ToolDeclaration
from realtime.model.base import Settings
from realtime.model.local.history import is_noise, open_words
from realtime.model.local.language_model import Prompt
from realtime.turn.small_talk import tokens_of


def with_overrides(settings: Settings, overrides: ResponseOverrides) -> Settings:
    """Return the session's settings with the overrides of one response. Raises msgspec.ValidationError."""
    tools = settings.tools
    if overrides.tools is not None:
        tools = tuple(msgspec.convert(tool, ToolDeclaration) for tool in overrides.tools if "name" in tool)
    if overrides.tool_choice == "none":
        tools = ()
    limit = overrides.max_output_tokens or settings.max_output_tokens
    return msgspec.structs.replace(
        settings,
        instructions=settings.instructions if overrides.instructions is None else overrides.instructions,
        voice=overrides.voice or settings.voice,
        tools=tools,
        output_modalities=overrides.output_modalities or settings.output_modalities,
        temperature=settings.temperature if overrides.temperature is None else overrides.temperature,
        max_output_tokens=None if limit == "inf" else limit,
    )


def prompt_of(
    settings: Settings, overrides: ResponseOverrides, history: Sequence[Item], *, wall_s: float, to_speech: bool
) -> Prompt | None:
    """Write the prompt of a response with these settings; None: there are no words to respond to.

    `settings` are those of `with_overrides`, `wall_s` is the time in seconds since the epoch. With
    `to_speech` the response needs words of the user.
    """
    if open_words(history):
        history = [item for item in history if not is_noise(item)]
    elif to_speech:
        return None
    return Prompt(
        instructions=settings.instructions,
        history=history,
        tools=settings.tools,
        tool_choice=overrides.tool_choice,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        agent_name=settings.agent_name,
        is_beside=overrides.conversation == "none",
        today=datetime.fromtimestamp(wall_s, UTC).astimezone().date(),
    )


def asks_the_same(one: Prompt, other: Prompt) -> bool:
    """Whether prompts are equal but for the last words' punctuation and case."""
    if not one.history or not other.history:
        return one == other
    *before, last = one.history
    *other_before, other_last = other.history
    return (
        dataclasses.replace(one, history=()) == dataclasses.replace(other, history=())
        and before == other_before
        and last.id == other_last.id
        and tokens_of(last.text) == tokens_of(other_last.text)
    )
