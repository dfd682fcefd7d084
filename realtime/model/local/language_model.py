"""The mind behind the embedded voice: given the conversation, what to say or which tool to call.

The recogniser and the voice know nothing about it. The built-in one is `conversationalist.Conversationalist`; one that
asks a language model implements the same method.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from realtime.event.base import Item, UsageDetail
from realtime.event.config import ToolDeclaration


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a responder answers to.

    `history` is the conversation so far, oldest first; its last item is what to answer: a message of the user, or the
    results of the tools that were called. It is empty where the agent speaks first. Instructions given for one response
    stand in `instructions` in place of the session's. `tool_choice` and the two after it are as the client set them,
    null where it did not; a responder may ignore them. `agent_name` is who answers, "" where nobody says.
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
    """The next piece of the answer, of any length; pieces are joined as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyThought:
    """The next piece of what the mind thinks: kept for whoever looks into the call, never spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyToolCall:
    """Call a tool; `arguments` is a JSON object as text. The responder is asked again once the results are known."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """What the answer cost, in tokens; at most once, at its end."""

    input_tokens: int
    output_tokens: int
    detail: UsageDetail


Reply = ReplyText | ReplyThought | ReplyToolCall | ReplyUsage


class Responder(Protocol):
    """Answers. One responder serves every call of the process, so it keeps no state between answers."""

    @property
    def name(self) -> str:
        """What the profile calls the model with this mind, for people. No secrets."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether it can make use of the images in a history."""
        ...

    def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """The answer in pieces, text before tool calls; yields nothing where silence is the answer.

        Runs on the event loop and never blocks it. Closing it early (the user interrupts) releases everything.
        Raises ProviderError where no answer can be had.
        """
        ...
