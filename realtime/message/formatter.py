"""Formats messages as chat payloads for models: roles, tools, media, several speakers.

Pure, except that it reads a file below `local_files` where a block names it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, get_args
from urllib.parse import unquote, urlsplit

import pybase64

from realtime.errors import UsageError
from realtime.message.blocks import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    system_reminder,
)
from realtime.message.msg import Msg

logger = logging.getLogger(__name__)

ChatProvider = Literal["openai", "dashscope"]
NO_RESULT = "There is no result: the call was interrupted."
"""Result text of a call without one: providers refuse a history in which a result is missing."""
_OPENAI_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class Tool(Protocol):
    """A tool as a model sees it (`realtime.event.config.ToolDeclaration`)."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


_ANOTHERS_LINE = re.compile(r"(?:\d{1,3}[.)]|[^\w\[［【〔])*[\[［【〔].{0,200}?[\]］】〕][^:：]{0,24}[:：]")
"""A line that begins as another speaker's could, to a model.

After a list mark, in other brackets, or with a word before the colon.
"""
_ROUND = str.maketrans("[［【〔]］】〕", "(((())))")


SPEAKS = "(speaks)"
"""The text that precedes a speaker's voice."""


def speaker_and_words(text: str) -> tuple[str | None, str]:
    """Split the output of `spoken_by`; the name is None where the text has no speaker."""
    match = re.match(r"\[([^\[\]\n]+)\]: ", text)
    return (None, text) if match is None else (match[1], text[match.end() :])


def spoken_by(name: str, text: str) -> str:
    """Format another participant's words for a model: `[Name]: ...`.

    Where a line of the text looks like another speaker's, its brackets become round, and so do those of the name, which
    becomes one line: no participant can put words into another's mouth.
    """
    speaker = " ".join(name.split()).translate(_ROUND)
    return f"[{speaker}]: {own_words(text)}"


def own_words(text: str) -> str:
    """Return the text, changed so that no line looks like another speaker's."""
    return "".join(map(_as_own_words, text.splitlines(keepends=True)))


def _as_own_words(line: str) -> str:
    match = _ANOTHERS_LINE.match(line)
    return line if match is None else match[0].translate(_ROUND) + line[match.end() :]


class ChatFormatter:
    """Writes the `messages` of a chat request.

    `multi_agent`: each message becomes a user message `[Name]: text`, except those of `own_name`, which stay the
    assistant's, with its tools. `local_files` is the folder whose files may be put into a request; without it a
    `file://` block is refused, since a client may have named it.

    Thinking is omitted: it stays in the messages. Content that a provider cannot take is named to it instead.
    """

    def __init__(
        self,
        provider: ChatProvider = "openai",
        *,
        multi_agent: bool = False,
        own_name: str | None = None,
        local_files: Path | None = None,
    ) -> None:
        if provider not in get_args(ChatProvider):
            raise UsageError(f"a chat provider is one of {', '.join(get_args(ChatProvider))}, not {provider!r}")
        self.provider: ChatProvider = provider
        self.multi_agent = multi_agent or own_name is not None
        self.own_name = own_name
        self._local_files = None if local_files is None else local_files.resolve()

    def format(self, messages: Iterable[Msg]) -> list[dict[str, Any]]:
        """Return the payload, system prompts first. Raises UsageError for a refused or unreadable local file."""
        kept = [*messages]
        payload: list[dict[str, Any]] = []
        for message in sorted(kept, key=lambda one: one.role != "system"):
            if message.role == "system":
                payload.append({"role": "system", "content": self._content(message.content)})
            elif self.multi_agent and message.name != self.own_name:
                payload += self._others_turn(message)
            elif message.role == "user":
                payload.append({"role": "user", "content": self._content(message.content)})
            else:
                payload += self._own_turn(message)
        return payload

    def format_tools(self, tools: Iterable[Tool]) -> list[dict[str, Any]]:
        """Return the `tools` of the request."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
                },
            }
            for tool in tools
        ]

    # -- turns -----------------------------------------------------------------------------------------------------

    def _others_turn(self, message: Msg) -> list[dict[str, Any]]:
        """Format another participant's words and media, without its thinking and tools."""
        said = message.get_text_content() or ""
        shown = message.get_content_blocks("data")
        if message.role == "assistant":
            # An agent's audio is its voice: the words are in the text.
            shown = [block for block in shown if not block.source.media_type.startswith("audio/")]
        if not said and not shown:
            return []
        words = TextBlock(text=spoken_by(message.name, said), id="words")
        return [{"role": "user", "content": self._content([words, *shown])}]

    def _own_turn(self, message: Msg) -> list[dict[str, Any]]:
        """Format the assistant's message, split at its tool results and hints."""
        turn = _OwnTurn(self)
        for block in message.content:
            match block:
                case TextBlock():
                    turn.say(block.text)
                case ToolCallBlock():
                    turn.call(block)
                case ToolResultBlock():
                    turn.answer(block)
                case HintBlock():
                    turn.add({"role": "user", "content": self._hint(block)})
                case DataBlock():
                    if not block.source.media_type.startswith("audio/"):
                        turn.add({"role": "user", "content": self._content([block])})
                case ThinkingBlock():
                    pass
        return turn.finish()

    def _hint(self, block: HintBlock) -> str | list[dict[str, Any]]:
        return block.hint if isinstance(block.hint, str) else self._content(block.hint)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _content(self, blocks: Sequence[Block]) -> str | list[dict[str, Any]]:
        """Return plain text where there is nothing else, or the provider's parts."""
        if all(isinstance(block, TextBlock) for block in blocks):
            return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        parts = []
        for block in blocks:
            if isinstance(block, TextBlock):
                parts.append(self._text_part(block.text))
            elif isinstance(block, DataBlock):
                parts.append(self._data_part(block))
        return parts

    def _text_part(self, text: str) -> dict[str, Any]:
        return {"type": "text", "text": text} if self.provider == "openai" else {"text": text}

    def _data_part(self, block: DataBlock) -> dict[str, Any]:
        media_type = block.source.media_type
        kind = media_type.partition("/")[0]
        if self.provider == "dashscope":
            if kind in ("image", "audio", "video"):
                return {kind: self._url(block)}
        elif kind == "image":
            return {"type": "image_url", "image_url": {"url": self._url(block)}}
        elif (name := _OPENAI_AUDIO.get(media_type)) is not None and (data := self._data(block)) is not None:
            encoded = pybase64.b64encode(data).decode()
            return {"type": "input_audio", "input_audio": {"data": encoded, "format": name}}
        return self._text_part(f"[{media_type}, which cannot be shown to you]")

    def _url(self, block: DataBlock) -> str:
        """Return a URL for the provider: the block's own, or a data URL."""
        data = self._data(block)
        if data is None:
            assert not isinstance(block.source, Base64Source)
            return block.source.url
        return f"data:{block.source.media_type};base64,{pybase64.b64encode(data).decode()}"

    def _data(self, block: DataBlock) -> bytes | None:
        """Return the bytes if they are local, else None. Raises UsageError for a refused or unreadable file."""
        source = block.source
        if isinstance(source, Base64Source):
            return source.data
        where = urlsplit(source.url)
        if where.scheme.lower() != "file":
            return None
        path = Path(unquote(where.path)).resolve()
        if self._local_files is None or not path.is_relative_to(self._local_files):
            raise UsageError(
                "a message names a local file outside of `local_files`: it is not read", code="local_file_refused"
            )
        try:
            return path.read_bytes()
        except OSError as error:
            raise UsageError(f"a file that a message names cannot be read: {error}", code="unreadable_file") from error

    def words_of(self, result: ToolResultBlock) -> str:
        """Return the content of a tool message, which holds text alone."""
        parts = result.texts
        for block in result.media:
            media_type = block.source.media_type
            shown = media_type.startswith("image/")
            parts.append(f"[{media_type}, shown below]" if shown else f"[{media_type}, which cannot be shown to you]")
        return "\n".join(parts) or (NO_RESULT if result.state == "interrupted" else "")

    def shown_after(self, result: ToolResultBlock) -> dict[str, Any] | None:
        """Return a tool result's pictures, as a user message. Tool messages cannot hold them."""
        pictures = [block for block in result.media if block.source.media_type.startswith("image/")]
        if not pictures:
            return None
        words = TextBlock(text=system_reminder(f"What the tool {result.name} shows:"), id="words")
        return {"role": "user", "content": self._content([words, *pictures])}


class _OwnTurn:
    """Converts one message of the assistant into messages of the payload."""

    def __init__(self, formatter: ChatFormatter) -> None:
        self._formatter = formatter
        self._payload: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._calls: dict[str, ToolCallBlock] = {}
        self._waiting: list[str] = []
        self._shown: list[dict[str, Any]] = []

    def say(self, text: str) -> None:
        """Add words. After results they start a new message."""
        if self._waiting and not self._calls:
            self._close_round()
        self._texts.append(text)

    def call(self, call: ToolCallBlock) -> None:
        """Add a call to the words before it."""
        if self._waiting and not self._calls:
            self._close_round()
        self._calls[call.id] = call

    def answer(self, result: ToolResultBlock) -> None:
        """Add a result. One without a call before it is omitted: the provider would refuse it."""
        if result.id in self._calls:
            self._speak()
        if result.id not in self._waiting:
            logger.warning("the result of tool call %s is left out: there is no such call before it", result.id)
            return
        self._waiting.remove(result.id)
        self._answered(result.id, self._formatter.words_of(result))
        if (shown := self._formatter.shown_after(result)) is not None:
            self._shown.append(shown)

    def add(self, message: dict[str, Any]) -> None:
        """Add a separate message at this place."""
        self.finish()
        self._payload.append(message)

    def finish(self) -> list[dict[str, Any]]:
        """Return the whole payload."""
        self._speak()
        self._close_round()
        return self._payload

    def _speak(self) -> None:
        """Write the assistant's message: its words and the calls that go with them."""
        if not self._texts and not self._calls:
            return
        said = "\n".join(text for text in self._texts if text)
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if self._calls:
            if not said and self._formatter.provider == "openai":
                message["content"] = None
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input or "{}"}}
                for call in self._calls.values()
            ]
        self._close_round()
        if said or self._calls:
            self._payload.append(message)
        self._waiting = [*self._calls]
        self._texts, self._calls = [], {}

    def _close_round(self) -> None:
        """Answer every open call: providers require it before any further message."""
        for call_id in self._waiting:
            self._answered(call_id, NO_RESULT)
        self._waiting = []
        self._payload += self._shown
        self._shown = []

    def _answered(self, call_id: str, content: str) -> None:
        self._payload.append({"role": "tool", "tool_call_id": call_id, "content": content})
