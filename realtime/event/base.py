"""The base of all realtime events, and values they share.

An event is a frozen `msgspec` Struct. Its `type` string is the snake case of its class name without `Event`, its
prefix names the sender: `client_*`, `server_*`, `agent_*`, `model_*`.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from realtime.message import ToolCallBlock, ToolResultBlock

DEFAULT_INPUT_RATE_HZ = 16_000
"""The input rate of a client that does not name one."""
DEFAULT_OUTPUT_RATE_HZ = 24_000
"""The output rate of a client that does not name one."""
SAMPLE_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 64_000, 88_200, 96_000)
"""The rates of client audio. Between any two of them and a model's rates, the resampler is small."""

MAX_ITEM_ID_CHARS = 128
"""Limit for a client's item id; a longer one would only serve to fill memory."""

Modality = Literal["text", "audio", "image"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]
ResponseStatus = Literal["in_progress", "completed", "cancelled", "incomplete", "failed"]
ConversationMode = Literal["auto", "none"]
MaxTokens = int | Literal["inf"]


def snake_case(class_name: str) -> str:
    """Return the snake case of an event's class name without `Event`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name.removesuffix("Event")).lower()


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag=snake_case):
    """Base of every realtime event."""

    @property
    def type(self) -> str:
        """The event's type string, as on the wire."""
        return str(self.__struct_config__.tag)

    def model_dump(self) -> dict[str, Any]:
        """Return the event as JSON-safe builtins: bytes as base64 text, blocks as canonical dicts.

        A `seq` of 0 stands for an event outside the log and is left out.
        """
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        if dumped.get("seq") == 0:
            del dumped["seq"]
        return dumped


class AudioFormat(msgspec.Struct, frozen=True, kw_only=True):
    """Audio is pcm16, little endian, mono; only the rate varies.

    Readers accept both documented spellings (`{type, rate}` and `{encoding, sample_rate}`, also mixed); the server
    sends all four keys. Rates are in Hz. A client may say `channels`, which are 1.
    """

    type: str | None = None
    rate: int | None = None
    encoding: str | None = None
    sample_rate: int | None = None
    channels: int | UnsetType | None = UNSET

    @classmethod
    def check_keys(cls, given: Any) -> None:
        """Raise ValueError for a key that no format has.

        Audio whose `sampleRate` went unread would be heard too slow, without an error.
        """
        keys = given if isinstance(given, dict) else ()
        strange = next((key for key in keys if key not in cls.__struct_fields__), None)
        if strange is not None:
            known = ", ".join(cls.__struct_fields__)
            raise ValueError(f"audio format has no {str(strange)[:64]!r}: its keys are {known}")

    @classmethod
    def pcm16(cls, rate_hz: int) -> AudioFormat:
        """Return the format for pcm16 at `rate_hz`, in both spellings."""
        return cls(type="audio/pcm", rate=rate_hz, encoding="pcm16", sample_rate=rate_hz)

    def rate_hz(self, default_hz: int) -> int:
        """Return the rate, or `default_hz` where none is given.

        Raises ValueError for another encoding, more than one channel, a contradiction, or a rate not in
        `SAMPLE_RATES_HZ`.
        """
        if self.encoding is not None and self.encoding.lower() not in ("pcm16", "pcm_s16le", "pcm"):
            raise ValueError(f"audio encoding {self.encoding!r} is not supported: send pcm16, little endian, mono")
        if self.type is not None and self.type.lower() not in ("audio/pcm", "audio/l16", "pcm16", "pcm"):
            raise ValueError(f"audio type {self.type!r} is not supported: send audio/pcm (pcm16, little endian, mono)")
        if self.channels not in (None, UNSET, 1):
            raise ValueError(f"audio of {self.channels} channels is not supported: send one channel (mono)")
        rate_hz = self.rate if self.rate is not None else self.sample_rate
        if rate_hz is None:
            return default_hz
        if self.sample_rate is not None and self.sample_rate != rate_hz:
            raise ValueError(f"audio format says rate {rate_hz} and sample_rate {self.sample_rate}")
        if rate_hz not in SAMPLE_RATES_HZ:
            known = ", ".join(map(str, SAMPLE_RATES_HZ))
            raise ValueError(f"audio rate {rate_hz} Hz is not served: use one of {known}")
        return rate_hz


class ImageFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The encoding of an image, such as `image/jpeg`. Existing pages send either key or both."""

    type: str | None = None
    mime_type: str | None = None

    @property
    def media_type(self) -> str:
        """The MIME type; JPEG where none is given."""
        return self.mime_type or self.type or "image/jpeg"


class ContentPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of a message item.

    `text` for typed text, `transcript` for what was spoken in an audio part (after a barge-in: what was heard),
    `image` as bytes (base64 in JSON) with its `media_type`. `audio` is the sound of a user's item that brings its own:
    pcm16 bytes in this `format`; it goes to the model only and is not sent back.
    """

    type: Literal["text", "audio", "image"]
    text: str | None = None
    transcript: str | None = None
    image: bytes | None = None
    media_type: str | None = None
    audio: bytes | None = None
    format: AudioFormat | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the conversation: a message, a tool call or its result. `name` is the author, where known."""

    id: str
    type: Literal["message", "tool_call", "tool_result"] = "message"
    role: Literal["user", "assistant", "system"] | None = None
    name: str | None = None
    status: ItemStatus = "completed"
    content: tuple[ContentPart, ...] = ()
    tool_call: ToolCallBlock | None = None
    tool_result: ToolResultBlock | None = None

    @property
    def text(self) -> str:
        """Typed text and transcripts of all parts, in order."""
        return " ".join(part.text or part.transcript or "" for part in self.content).strip()


class UsageDetail(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens by kind; no count where the provider reports none."""

    input_text_tokens: int | None = None
    input_audio_tokens: int | None = None
    input_image_tokens: int | None = None
    input_cached_tokens: int | None = None
    output_text_tokens: int | None = None
    output_audio_tokens: int | None = None
    output_reasoning_tokens: int | None = None


INITIATIVE = "initiative"
"""Key in the metadata of a response that the agent began itself; `greeting_...` and the like is its value."""
MAX_TOOLS = 512
"""Maximum number of tools per call. A model chooses badly among more, and each one costs time wherever it passes."""


def check_temperature(temperature: float | None) -> None:
    """Raise ValueError for a temperature that no provider takes."""
    if temperature is not None and not 0 <= temperature <= 2:
        raise ValueError(f"temperature is {temperature}, it is between 0 and 2")


def check_tool_count(count: int) -> None:
    """Raise ValueError for more than `MAX_TOOLS` tools."""
    if count > MAX_TOOLS:
        raise ValueError(f"{count} tools, at most {MAX_TOOLS} are taken")


class HostedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that runs at the provider, such as a web search.

    `kind` is `web_search`, or the client's own word for another; `name` is what the client calls it.
    """

    kind: str
    name: str = ""


WEB_SEARCH = "web_search"
REMOTE_MCP = "mcp"
"""Kinds of hosted tools that more than one protocol knows."""


class ResponseOverrides(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of one response. A missing field keeps the session's value.

    `conversation="none"` makes an out-of-band response that is not written to the history. `input`, where given,
    replaces the context of this response. `max_output_tokens="inf"` lifts the call's limit. `hosted_tools` are those of
    the session: others are left out, with an error that names them.
    """

    instructions: str | None = None
    output_modalities: tuple[Modality, ...] | None = None
    voice: str | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    hosted_tools: tuple[HostedTool, ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: MaxTokens | None = None
    conversation: ConversationMode = "auto"
    input: tuple[Item, ...] | None = None
    metadata: dict[str, str] | None = None

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        check_tool_count(len(self.tools or ()))
