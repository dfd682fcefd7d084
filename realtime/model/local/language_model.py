"""The interface of the language model behind the embedded voice: a conversation in, words and tool calls out.

The recogniser and the voice do not depend on it. Two classes implement it:
`keyless.conversationalist.Conversationalist` by rules and `chat.FormattedLanguageModel` with any chat model. An agent
is made one by its own `as_language_model`: this package lies below the agents and knows them by that method only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from realtime.event.base import Item, UsageDetail
from realtime.event.config import ToolDeclaration
from realtime.event.meaning import Report
from realtime.message import ToolCallBlock, ToolResultBlock


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of one response.

    `history` is the conversation so far, oldest first; it ends with a message of the user or with the results of tools,
    and is empty if the agent speaks first. `instructions` are the response's own, if it has any, else the session's.
    `tool_choice`, `temperature` and `max_output_tokens` are the client's settings, None if unset; a language model may
    ignore them. `agent_name` is "" if unknown. `is_beside`: the response is no part of the conversation. `today` is the
    day where the server is, None if unknown.
    """

    instructions: str = ""
    history: Sequence[Item] = ()
    tools: Sequence[ToolDeclaration] = ()
    tool_choice: str | dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    agent_name: str = ""
    is_beside: bool = False
    today: date | None = None
    kept: asyncio.Future[bool] | None = field(default=None, compare=False)
    """Whether the response counts, for a draft that may be dropped; None: it does.

    Until then nothing may happen that cannot be undone; and where it is dropped, it never was.
    """


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The next piece of the response, of any length; pieces are joined unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyThought:
    """The next piece of the model's thoughts: part of the call's log, never spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyReport:
    """What a thinking agent tells of its reply beside words and tools. Never spoken."""

    report: Report


@dataclass(frozen=True, slots=True)
class ReplyToolCall:
    """Call a tool; `arguments` is a JSON object as text. A new prompt follows with the result.

    `id`: the call's, unique in its call; "" if any will do.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ReplyToolRun:
    """The language model runs a tool of its own; once the user agrees, if the call is `asking`.

    A new prompt follows once it has a result, which `result` gets in any case. A response that takes it calls
    `on_taken`: from then on the tool may report to the call, and the agent by the function that it gets.
    """

    call: ToolCallBlock
    result: asyncio.Future[ToolResultBlock]
    on_taken: Callable[[Callable[[Report], None]], None]


@dataclass(frozen=True, slots=True)
class ReplyUsage:
    """The cost of the response in tokens; at most once, at its end."""

    input_tokens: int
    output_tokens: int
    detail: UsageDetail


Reply = ReplyText | ReplyThought | ReplyReport | ReplyToolCall | ReplyToolRun | ReplyUsage


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


class CallLanguageModel(Protocol):
    """The language model of one call: it may keep what it knows of the call."""

    @property
    def may_draft(self) -> bool:
        """Whether it can respond now to a prompt that may be dropped."""
        ...

    def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel.respond`. One response of the conversation at a time."""
        ...

    def interrupt(self) -> None:
        """Stop what still runs of the last response, such as a tool: the user has the floor."""
        ...

    async def close(self, history: Sequence[Item]) -> None:
        """End what runs, and be free for another call. Idempotent. `history` is all of the conversation."""
        ...


class LanguageModelForCalls(Protocol):
    """What gives each call its language model. See `realtime.model.local.for_calls`."""

    @property
    def name(self) -> str:
        """See `LanguageModel.name`."""
        ...

    @property
    def takes_images(self) -> bool:
        """See `LanguageModel.takes_images`."""
        ...

    def for_call(self) -> CallLanguageModel:
        """Return the language model of one call. Raises UsageError where it serves another one."""
        ...


class Speaker(Protocol):
    """An agent, which can be a language model."""

    def as_language_model(self) -> LanguageModelForCalls:
        """Return the agent as the language model of calls."""
        ...
