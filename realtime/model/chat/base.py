"""The interface of chat models: a payload in, the response so far out, in pieces or at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from realtime.message import DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.options import checked
from realtime.runtime import unique_id, wall_clock_iso

ChatBlock = TextBlock | ThinkingBlock | ToolCallBlock | DataBlock


@dataclass(slots=True)
class ChatUsage:
    """Tokens and seconds of one request. All responses of a stream share one, which grows with it."""

    input_tokens: int
    """Cached ones included."""
    output_tokens: int
    """Thoughts included."""
    time: float
    """Seconds since the request."""
    type: Literal["chat"] = "chat"
    metadata: dict[str, Any] | None = None
    """The provider's own numbers, by its own names."""
    cache_input_tokens: int | None = None
    """Of the input, those read from the provider's cache; None where it does not say."""
    cache_creation_input_tokens: int | None = None
    """Of the input, those written to the provider's cache; None where it does not say."""
    reasoning_tokens: int | None = None
    """Of the output, those of thoughts; None where it does not say."""


@dataclass(slots=True)
class ChatResponse:
    """The response of a chat model as far as it is known.

    Each response of a stream holds all of the content since the beginning, so the last one is whole. A block keeps its
    id and its place from one to the next. A tool call may run only after the stream has ended by itself: its `input`
    grows until then. What a provider wants back with its thoughts is in the `extra` of a ThinkingBlock: `signature` or
    `redacted_thinking` (Anthropic), `thought_signature` in base64 and the `tool_call_id` it belongs to (Gemini).
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

    @checked()
    def __init__(self, model_name: str, stream: bool) -> None:
        self.model_name = model_name
        self.stream = stream

    async def __call__(self, *args: Any, **kwargs: Any) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Answer a payload that the family's formatter wrote.

        Takes `messages`, and by keyword `tools` (JSON schemas as OpenAI's), `tool_choice` ("auto", "none", "required"
        or the name of a tool) and `structured_model` (a class of pydantic), which excludes tools: the one response,
        also of a stream, has the object in `metadata`. Other keywords go to the provider. Returns a stream of responses
        if `stream`, as soon as the first is there. Closing the stream, or cancelling, ends the request. Raises
        ProviderError if there is no response, TypeError or ValueError for a wrong argument; the stream raises
        ProviderError where the response breaks off.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement `__call__`")
