"""The interface of chat models: a payload in, the response so far out, in pieces or at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from realtime.message import DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.runtime import unique_id, wall_clock_iso

ChatBlock = TextBlock | ThinkingBlock | ToolCallBlock | DataBlock


@dataclass(slots=True)
class ChatUsage:
    """Tokens and seconds of one request."""

    input_tokens: int
    output_tokens: int
    time: float
    """Seconds since the request."""
    type: Literal["chat"] = "chat"
    metadata: dict[str, Any] | None = None
    """The provider's own numbers, such as cached and reasoning tokens."""


@dataclass(slots=True)
class ChatResponse:
    """The response of a chat model as far as it is known.

    Each response of a stream holds all of the content since the beginning, so the last one is whole. A block keeps its
    id and its place from one to the next.
    """

    content: Sequence[ChatBlock]
    id: str = field(default_factory=unique_id)
    created_at: str = field(default_factory=wall_clock_iso)
    type: Literal["chat"] = "chat"
    usage: ChatUsage | None = None
    metadata: dict[str, Any] | None = None
    """The object that `structured_model` asked for."""


class ChatModelBase:
    """A chat model of any family. Subclasses implement `__call__`."""

    def __init__(self, model_name: str, stream: bool) -> None:
        self.model_name = model_name
        self.stream = stream

    async def __call__(self, *args: Any, **kwargs: Any) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Answer a payload that the family's formatter wrote.

        Takes `messages`, and by keyword `tools` (JSON schemas as OpenAI's), `tool_choice` ("auto", "none", "required"
        or the name of a tool) and `structured_model` (a class of pydantic). Returns a stream of responses if `stream`.
        Closing the stream, or cancelling, ends the request. Raises ProviderError if there is no response.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `__call__`")
