"""The rules of what a chat model is sent of a call: words in the user's place, names of speakers, limits, tools.

Chat templates of Ollama, vLLM and llama.cpp are stricter than OpenAI: roles must alternate, and the user speaks first.
`realtime.model.local.messages` applies the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.message.speakers import own_words, speaker_and_words, spoken_by
from realtime.options import Count, check_fields

Json = dict[str, Any]

LISTENING = "(The caller is on the line and listens.)"
"""Precedes an unsolicited response such as a greeting: many templates require the user to begin."""
GO_ON = "(Please go on.)"
"""Follows the assistant's own last words: some servers would else continue inside them."""
NOT_UNDERSTOOD = "(The caller said something that could not be understood.)"
"""Ends the messages after a turn without words: else the model would continue by itself."""

IMAGE_CHARS = 3_000
"""The weight of an image in the length of a history: about 750 tokens."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """The most messages, and characters in them, that a request contains.

    The default length is about 4,000 tokens, Ollama's default limit of a prompt.
    """

    messages: Count = 100
    chars: Count = 16_000

    def __post_init__(self) -> None:
        check_fields(self)


def after_own_words(history: Sequence[Item]) -> str:
    """Return what follows the assistant's own last words, in the user's place."""
    said = next((item for item in reversed(history) if item.type == "message"), None)
    return NOT_UNDERSTOOD if said is not None and said.role == "user" else GO_ON


def write_tool(tool: ToolDeclaration) -> Json:
    """Write a function declaration."""
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def words_of_user(item: Item, *, named: bool) -> str:
    """Return what a user said.

    With several speakers (`named`) each turn begins with its speaker: most templates ignore the field `name` and some
    servers refuse it.
    """
    text = item.text
    if not named or not text:
        return text
    said_by, words = speaker_and_words(text)
    if said_by is not None and said_by == item.name:
        text = words  # words of another agent begin with its name
    return spoken_by(item.name, text) if item.name else own_words(text)


def first_within(limits: HistoryLimits, *, messages: Sequence[int], chars: Sequence[int], asked: Sequence[bool]) -> int:
    """Return the first turn to keep, by the sizes of all; the user's last one stays."""
    last_asked = max((at for at, is_asked in enumerate(asked) if is_asked), default=0)
    return min(max(first_kept(messages, limits.messages), first_kept(chars, limits.chars)), last_asked)


def first_kept(sizes: Sequence[int], limit: int) -> int:
    """Return the first index to keep; the rest is within the limit.

    It moves a quarter of the limit at a time: servers cache prompts and read again only what follows the first
    difference.
    """
    step = max(1, limit // 4)
    too_much = -(-(sum(sizes) - limit) // step) * step
    if too_much <= 0:
        return 0
    return next((at for at, size in enumerate(accumulate(sizes), 1) if size >= too_much), len(sizes))
