"""The interface of the language model behind the embedded voice: a conversation in, words and tool calls out.

The recogniser and the voice do not depend on it. Two classes implement it:
`keyless.conversationalist.Conversationalist` by rules and `chat.ChatLanguageModel` over a chat endpoint.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from realtime.event.base import Item, UsageDetail
from realtime.event.config import ToolDeclaration


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of one response.

    `history` is the conversation so far, oldest first; it ends with a message of the user or with the results of tools,
    and is empty if the agent speaks first. `instructions` are the response's own, if it has any, else the session's.
    `tool_choice`, `temperature` and `max_output_tokens` are the client's settings, None if unset; a language model may
    ignore them. `agent_name` is "" if unknown.
    """

    instructions: str = ""
    history: Sequence[Item] = ()
    tools: Sequence[ToolDeclaration] = ()
    tool_choice: str | dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    agent_name: str = ""


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The next piece of the response, of any length; pieces are joined unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyThought:
    """The next piece of the model's thoughts: part of the call's log, never spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyToolCall:
    """Call a tool; `arguments` is a JSON object as text. A new prompt follows with the result."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """The cost of the response in tokens; at most once, at its end."""

    input_tokens: int
    output_tokens: int
    detail: UsageDetail


Reply = ReplyText | ReplyThought | ReplyToolCall | ReplyUsage


class LanguageModel(Protocol):
    """Writes responses. One object serves every call of the process and keeps no state between responses."""

    @property
    def name(self) -> str:
        """The model's name in the profile, for people; without secrets."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether it understands the images in a history."""
        ...

    def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Yield the response in pieces, text before tool calls; nothing for silence.

        Runs on the event loop and never blocks it. Closing it early, at an interruption, releases everything. Raises
        ProviderError if there is no response.
        """
        ...
