"""One response as it grows: pieces of any provider in, cumulative responses out. No I/O."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
import pybase64

from realtime.event.halves import TextPieces
from realtime.message import Base64Source, DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.message.content import GrowingData, GrowingText
from realtime.message.think import ThinkParser
from realtime.model.chat.base import ChatResponse, ChatUsage
from realtime.model.chat.calls import Call, CallPieces
from realtime.model.chat.failures import Endpoint
from realtime.runtime import unique_id, wall_clock_iso

_TEXT = "text"
_THINKING = "thinking"
_BYTES_PER_CHAR = 50
"""Media count less than text: an answer may hold minutes of sound."""
_BLOCK_CHARS = 20
"""The weight of a block by itself: an answer of thousands of empty ones is endless, too."""
_MAX_CALLS = 1_000


class Answer:
    """Collects one response of `endpoint`, at most `max_chars` characters of it.

    Blocks stand in the order of their first piece. `key` tells blocks of one kind apart; pieces without one belong to
    the same block. Thoughts in `<think>` tags leave the text. Leading blanks of the text are dropped. `now` gives
    seconds, for the usage. Every method that takes a piece raises ChatFailure for an endless response.
    """

    def __init__(self, endpoint: Endpoint, now: Callable[[], float], max_chars: int) -> None:
        self.complete = False
        """Whether the provider said that this was all."""
        self.parsed: object = None
        """The object that the SDK made of the response, if any."""
        self._endpoint = endpoint
        self._now = now
        self._since_s = now()
        self._max_chars = max_chars
        self._chars = 0
        self._id = ""
        self._created_at = wall_clock_iso()
        self._blocks: dict[Hashable, GrowingText | GrowingData] = {}
        self._parser = ThinkParser()
        self._pieces = TextPieces()
        self._text_key: Hashable = _TEXT
        self._calls = CallPieces()
        self._call_ids: set[str] = set()
        self._uncoded: dict[Hashable, str] = {}
        """The last characters of base64 whose byte is not whole."""
        self.usage: ChatUsage | None = None
        self._begun = False
        self._spoke = False
        self._held_back = False
        self._changed = False
        self._told_usage = False
        self._given = 0

    # -- pieces ----------------------------------------------------------------------------------------------------

    def arrived(self) -> None:
        """A piece came, whatever is in it: there may be endlessly many with nothing."""
        self._begun = True
        self._count(1)

    def named(self, response_id: object) -> None:
        """Take the provider's id of the response: the first that is text."""
        if not self._id and isinstance(response_id, str):
            self._id = response_id

    def think(self, text: str, *, key: Hashable = _THINKING, **extra: Any) -> None:
        """Add a piece of the model's thoughts; `extra` belongs to its block."""
        text = self._pieces.whole((_THINKING, key), text)
        if not text and not extra:
            return
        self._count(len(text) + sum(len(str(value)) for value in extra.values()))
        block = self._blocks.get(key)
        if not isinstance(block, GrowingText):
            block = self._begin(key, ThinkingBlock(thinking=""))
        if text:
            block.add(text)
        if extra:
            thoughts = block.settle()
            self._blocks[key] = GrowingText(msgspec.structs.replace(thoughts, extra=extra))
        self._changed = True

    def say(self, text: str, *, key: Hashable = _TEXT) -> None:
        """Add a piece of the text."""
        text = self._pieces.whole((_TEXT, key), text)
        self._count(len(text))
        if key != self._text_key:
            self._flush()
            self._text_key = key
        for kind, piece in self._parser.push(text):
            self._put(kind, piece)

    def call(self, index: int | None, call_id: str, name: str, arguments: str | dict[str, Any]) -> None:
        """Add a piece of a tool call, as `CallPieces.add` takes it; arguments may be an object."""
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = self._pieces.whole(("call", call_id if index is None else index), arguments)
        self._count(len(arguments))
        call = self._calls.add(index, call_id, name, arguments)
        if len(self._calls.calls) > _MAX_CALLS:
            raise self._endpoint.endless(self._max_chars)
        if not call.name:
            return
        block = self._blocks.get(call)
        if isinstance(block, GrowingText):
            block.add(call.arguments[len(_input(block)) :])
        else:
            self._begin(call, ToolCallBlock(id=self._free_id(call.id), name=call.name, input=call.arguments))
        self._changed = True

    def call_whole(self, call_id: str, name: str, arguments: dict[str, Any], **extra: Any) -> None:
        """Add a tool call that came in one piece; `extra` is what the provider wants back with it."""
        written = self._pieces.whole(None, json.dumps(arguments, ensure_ascii=False))
        self._count(len(written))
        chosen = self._free_id(call_id)
        if extra:
            self.think("", key=("before", chosen), tool_call_id=chosen, **extra)
        self._begin(("call", chosen), ToolCallBlock(id=chosen, name=name, input=written))
        self._changed = True

    def show(self, key: Hashable, data: bytes, media_type: str) -> None:
        """Add a piece of an image or of sound."""
        self._count(len(data) // _BYTES_PER_CHAR)
        block = self._blocks.get(key)
        if isinstance(block, GrowingData):
            block.add(data)
        else:
            self._blocks[key] = GrowingData(DataBlock(source=Base64Source(data=data, media_type=media_type)))
        self._changed = True

    def show_encoded(self, key: Hashable, text: str, media_type: str) -> None:
        """Add a piece of base64, cut anywhere, of a medium. Raises ChatFailure for anything else."""
        text = self._uncoded.pop(key, "") + text
        whole = len(text) - len(text) % 4
        self._uncoded[key] = text[whole:]
        try:
            self.show(key, pybase64.b64decode(text[:whole], validate=True), media_type)
        except ValueError:
            raise self._endpoint.malformed() from None

    def use(self, input_tokens: int, output_tokens: int, **counts: Any) -> None:
        """Take the counts so far; `counts` are the other fields of ChatUsage."""
        if self.usage is None:
            self.usage = ChatUsage(input_tokens, output_tokens, 0.0)
        self.usage.input_tokens, self.usage.output_tokens = input_tokens, output_tokens
        for name, value in counts.items():
            setattr(self.usage, name, value)
        self.usage.time = self._now() - self._since_s

    def end(self, *, held_back: bool = False) -> None:
        """The provider says that this was all. `held_back`: its filter cut the response."""
        self.complete = True
        self._held_back = self._held_back or held_back
        self._flush()

    @property
    def is_empty(self) -> bool:
        """Whether nothing came yet that a response could hold."""
        return not self._blocks

    # -- responses -------------------------------------------------------------------------------------------------

    def response(self) -> ChatResponse | None:
        """Return the response so far; None if it has not grown since the last call."""
        return self._response() if self._changed else None

    def finish(self) -> ChatResponse | None:
        """Return the whole response; None if the last one was.

        Raises ChatFailure if it is not whole, or if a filter left nothing of it.
        """
        if not self.complete:
            raise self._endpoint.broke_off() if self._begun else self._endpoint.malformed()
        if self._held_back and not self._spoke:
            raise self._endpoint.held_back()
        for key, block in self._blocks.items():
            whole = block.settle()
            if isinstance(key, Call) and isinstance(whole, ToolCallBlock) and whole.input != key.input:
                self._blocks[key] = GrowingText(msgspec.structs.replace(whole, input=key.input))
                self._changed = True
        untold = self.usage is not None and not self._told_usage
        return self._response() if self._changed or untold or not self._given else None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _response(self) -> ChatResponse:
        self._changed = False
        self._told_usage = self.usage is not None
        self._given += 1
        self._id = self._id or unique_id()
        return ChatResponse(
            content=[block.settle() for block in self._blocks.values()],
            id=self._id,
            created_at=self._created_at,
            usage=self.usage,
        )

    def _flush(self) -> None:
        for kind, piece in self._parser.finish():
            self._put(kind, piece)

    def _put(self, kind: str, text: str) -> None:
        """Add a piece whose kind is known."""
        if kind == "thinking":
            self._grow(_THINKING, text, ThinkingBlock(thinking=""))
            return
        text = text if self._spoke else without_blanks(text)
        if text:
            self._spoke = True
            self._grow(self._text_key, text, TextBlock(text=""))

    def _grow(self, key: Hashable, text: str, new: TextBlock | ThinkingBlock) -> None:
        block = self._blocks.get(key)
        if not isinstance(block, GrowingText):
            block = self._begin(key, new)
        block.add(text)
        self._changed = True

    def _begin(self, key: Hashable, new: TextBlock | ThinkingBlock | ToolCallBlock) -> GrowingText:
        self._count(_BLOCK_CHARS)
        block = self._blocks[key] = GrowingText(new)
        return block

    def _free_id(self, call_id: str) -> str:
        """Return the provider's id; a new one where it has none or gave it before."""
        chosen = call_id if call_id and call_id not in self._call_ids else f"call_{unique_id()}"
        self._call_ids.add(chosen)
        return chosen

    def _count(self, size: int) -> None:
        self._chars += size
        if self._chars > self._max_chars:
            raise self._endpoint.endless(self._max_chars)


def without_blanks(text: str) -> str:
    """Return text from its first character that can be seen; "" where none can."""
    seen = (at for at, char in enumerate(text) if not (char.isspace() or unicodedata.category(char) in ("Cf", "Cc")))
    return text[next(seen, len(text)) :]


def has_words(text: str) -> bool:
    """Return whether a voice says anything of it: "..." is silence."""
    return any(unicodedata.category(char)[0] in "LNSM" for char in text)


def _input(block: GrowingText | GrowingData) -> str:
    """The arguments in the block of a tool call."""
    settled = block.settle()
    return settled.input if isinstance(settled, ToolCallBlock) else ""
