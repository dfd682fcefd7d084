"""Agentflow's messages as classes, as its documentation prints them.

For programs that build or inspect such messages in Python: `load(message.model_dump(), "agentflow")` reads them, and
`Message.model_validate` takes what `dump` gives in the page's shape. Fields beyond these are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from realtime.runtime import unique_id, wall_clock_iso

Role = Literal["user", "assistant", "system", "tool"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="allow")


class MediaRef(_Model):
    """Where binary content is: at an address, at a provider, or here as base64."""

    kind: Literal["url", "file_id", "data"] = "url"
    url: str | None = None
    file_id: str | None = None
    data_base64: str | None = None
    mime_type: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    filename: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    page: int | None = None


class AnnotationRef(_Model):
    """The source of a citation."""

    url: str | None = None
    file_id: str | None = None
    page: int | None = None
    index: int | None = None
    title: str | None = None


class TextBlock(_Model):
    """Text, and the sources that it cites."""

    type: Literal["text"] = "text"
    text: str
    annotations: list[AnnotationRef] = Field(default_factory=list)


class ImageBlock(_Model):
    """An image; `bbox` is [x1, y1, x2, y2]."""

    type: Literal["image"] = "image"
    media: MediaRef
    alt_text: str | None = None
    bbox: list[float] | None = None


class AudioBlock(_Model):
    """Sound; `sample_rate` in Hz."""

    type: Literal["audio"] = "audio"
    media: MediaRef
    transcript: str | None = None
    sample_rate: int | None = None
    channels: int | None = None


class VideoBlock(_Model):
    """A film."""

    type: Literal["video"] = "video"
    media: MediaRef
    thumbnail: MediaRef | None = None


class DocumentBlock(_Model):
    """A document, and what was read from it."""

    type: Literal["document"] = "document"
    media: MediaRef
    text: str | None = None
    pages: list[int] | None = None
    excerpt: str | None = None


class DataBlock(_Model):
    """Other binary content. Not the `DataBlock` of `realtime.message`, which has a `source`."""

    type: Literal["data"] = "data"
    mime_type: str
    data_base64: str | None = None
    media: MediaRef | None = None


class ToolCallBlock(_Model):
    """A model's request to run a tool. Agents write these, programs only read them."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    tool_type: str | None = None


class RemoteToolCallBlock(_Model):
    """A request to run a tool in the browser. Servers write these, programs only read them."""

    type: Literal["remote_tool_call"] = "remote_tool_call"
    id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    tool_type: Literal["remote"] = "remote"


class ToolResultBlock(_Model):
    """The result of the tool call whose id is `tool_call_id`."""

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str
    content: str | list[Any] | dict[str, Any]
    is_error: bool = False


class ReasoningBlock(_Model):
    """A model's thinking."""

    type: Literal["reasoning"] = "reasoning"
    thinking: str
    signature: str | None = None


class AnnotationBlock(_Model):
    """A citation beside the text."""

    type: Literal["annotation"] = "annotation"
    annotation: AnnotationRef


class ErrorBlock(_Model):
    """What went wrong."""

    type: Literal["error"] = "error"
    error: str
    code: str | None = None


ContentBlock = Annotated[
    TextBlock
    | ImageBlock
    | AudioBlock
    | VideoBlock
    | DocumentBlock
    | DataBlock
    | ToolCallBlock
    | RemoteToolCallBlock
    | ToolResultBlock
    | ReasoningBlock
    | AnnotationBlock
    | ErrorBlock,
    Field(discriminator="type"),
]


class TokenUsages(_Model):
    """Tokens of one model call."""

    completion_tokens: int
    prompt_tokens: int
    total_tokens: int
    reasoning_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    image_tokens: int | None = 0
    audio_tokens: int | None = 0


def _now_s() -> float:
    return datetime.fromisoformat(wall_clock_iso()).timestamp()


class Message(_Model):
    """One message. `timestamp` is in seconds since the epoch."""

    message_id: str | int = Field(default_factory=unique_id)
    role: Role
    content: Sequence[ContentBlock]
    delta: bool = False
    tools_calls: list[dict[str, Any]] | None = None
    reasoning: str | None = None
    timestamp: float | None = Field(default_factory=_now_s)
    metadata: dict[str, Any] = Field(default_factory=dict)
    usages: TokenUsages | None = None
    raw: dict[str, Any] | None = None

    @classmethod
    def text_message(cls, content: str, role: Role = "user", message_id: str | int | None = None) -> Message:
        """Make a message of plain text."""
        known = unique_id() if message_id is None else message_id
        return cls(message_id=known, role=role, content=[TextBlock(text=content)])
