"""The blocks of a growing message: pieces are collected and joined only when read.

Joining at each piece would copy an hour of audio tens of thousands of times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from realtime.message.blocks import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)

_TEXT_FIELDS = {"text": "text", "thinking": "thinking", "tool_call": "input"}


class GrowingText:
    """A block with one text field that arrives in pieces."""

    def __init__(self, block: TextBlock | ThinkingBlock | ToolCallBlock) -> None:
        self._block = block
        self._field = _TEXT_FIELDS[block.type]
        self._parts: list[str] = [getattr(block, self._field)]

    def add(self, delta: str) -> None:
        """Append `delta`."""
        self._parts.append(delta)

    def settle(self) -> TextBlock | ThinkingBlock | ToolCallBlock:
        """Return the block with all that arrived."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
            self._block = msgspec.structs.replace(self._block, **{self._field: self._parts[0]})
        return self._block


class GrowingData:
    """A data block whose bytes arrive in pieces. One with a URL does not grow."""

    def __init__(self, block: DataBlock) -> None:
        self.id = block.id
        self._block = block
        self._parts = [block.source.data] if isinstance(block.source, Base64Source) else []

    def add(self, data: bytes) -> None:
        """Append `data`."""
        if self._parts:
            self._parts.append(data)

    def settle(self) -> DataBlock:
        """Return the block with all that arrived."""
        if len(self._parts) > 1:
            self._parts = [b"".join(self._parts)]
            source = msgspec.structs.replace(self._block.source, data=self._parts[0])
            self._block = msgspec.structs.replace(self._block, source=source)
        return self._block


class GrowingResult:
    """A growing tool result: text, or with data a list of text and data blocks."""

    def __init__(self, block: ToolResultBlock) -> None:
        self._block = block
        self._changed = False
        self._text: list[str] = []
        self._entries: list[GrowingText | GrowingData] | None = None
        if isinstance(block.output, str):
            self._text = [block.output]
        else:
            self._entries = [
                GrowingText(part) if isinstance(part, TextBlock) else GrowingData(part) for part in block.output
            ]

    def add_text(self, delta: str, text: TextBlock) -> None:
        """Append `delta`; `text` is the empty block for it where data came last."""
        self._changed = True
        if self._entries is None:
            self._text.append(delta)
            return
        if not self._entries or isinstance(self._entries[-1], GrowingData):
            self._entries.append(GrowingText(text))
        last = self._entries[-1]
        if isinstance(last, GrowingText):
            last.add(delta)

    def add_data(self, data: DataBlock, text: TextBlock) -> None:
        """Append `data` as a block or to the block of its id; `text` becomes the block of earlier text."""
        self._changed = True
        if self._entries is None:
            before = GrowingText(text)
            before.add("".join(self._text))
            self._entries = [before] if any(self._text) else []
        for entry in self._entries:
            if isinstance(entry, GrowingData) and entry.id == data.id:
                entry.add(data.source.data if isinstance(data.source, Base64Source) else b"")
                return
        self._entries.append(GrowingData(data))

    def settle(self) -> ToolResultBlock:
        """Return the block with all that arrived."""
        if self._changed:
            output: Any = "".join(self._text)
            if self._entries is not None:
                output = [entry.settle() for entry in self._entries]
            self._block = msgspec.structs.replace(self._block, output=output)
            self._changed = False
        return self._block


_Growing = GrowingText | GrowingData | GrowingResult


class Blocks(list[Block]):
    """The blocks of a message; text can be put before them: `"[reviewed] " + msg.content`.

    Blocks of text alone equal their text, joined by line ends: `msg.content == "Hello"`.
    """

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return super().__eq__(other)
        texts = [block.text for block in self if isinstance(block, TextBlock)]
        return len(texts) == len(self) and "\n".join(texts) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __radd__(self, text: object) -> Blocks:
        """Return new blocks with `text` before the first words; this list is unchanged."""
        if not isinstance(text, str):
            return NotImplemented
        for place, block in enumerate(self):
            if isinstance(block, TextBlock):
                prefixed = msgspec.structs.replace(block, text=text + block.text)
                return Blocks([*self[:place], prefixed, *self[place + 1 :]])
        return Blocks([TextBlock(text=text), *self])


class Content:
    """The ordered blocks of one message, found by type and id: ids are unique within a type only.

    The list may be changed from outside at any time: cached places are checked before use.
    """

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks = Blocks(blocks)
        self._growing: dict[tuple[str, str], _Growing] = {}
        self._places: dict[tuple[str, str], int] = {}
        self._count = -1

    def blocks(self) -> Blocks:
        """Return the list itself, up to date."""
        for key, growing in self._growing.items():
            place = self._place(key)
            if place >= 0:
                self._blocks[place] = growing.settle()
        self._growing.clear()
        return self._blocks

    def get(self, kind: str, block_id: str) -> Block | None:
        """Return the block, up to date; None where there is none."""
        key = (kind, block_id)
        place = self._place(key)
        if place < 0:
            return None
        if key in self._growing:
            self._blocks[place] = self._growing[key].settle()
        return self._blocks[place]

    def add(self, block: Block) -> bool:
        """Append `block`; False where it already exists."""
        key = (block.type, block.id)
        if self._place(key) >= 0:
            return False
        self._places[key] = len(self._blocks)
        self._blocks.append(block)
        self._count += 1
        return True

    def growing(self, kind: str, block_id: str) -> _Growing | None:
        """Return the block for appending; None where it is missing, finished, or arrives whole."""
        key = (kind, block_id)
        growing = self._growing.get(key)
        if growing is None:
            place = self._place(key)
            block = self._blocks[place] if place >= 0 else None
            if block is None or block.finished_at is not None or isinstance(block, HintBlock):
                return None
            growing = self._growing[key] = _grow(block)
        return growing

    def change(self, kind: str, block_id: str, **fields: Any) -> bool:
        """Replace fields of a block; False where there is none."""
        block = self.get(kind, block_id)
        if block is None:
            return False
        self._growing.pop((kind, block_id), None)
        self._blocks[self._place((kind, block_id))] = msgspec.structs.replace(block, **fields)
        return True

    def _place(self, key: tuple[str, str]) -> int:
        place = self._places.get(key, -1)
        if len(self._blocks) != self._count or (place >= 0 and _key(self._blocks[place]) != key):
            self._places = {_key(block): place for place, block in enumerate(self._blocks)}
            self._count = len(self._blocks)
            place = self._places.get(key, -1)
        return place


def _key(block: Block) -> tuple[str, str]:
    return block.type, block.id


def _grow(block: TextBlock | ThinkingBlock | DataBlock | ToolCallBlock | ToolResultBlock) -> _Growing:
    match block:
        case TextBlock() | ThinkingBlock() | ToolCallBlock():
            return GrowingText(block)
        case DataBlock():
            return GrowingData(block)
        case ToolResultBlock():
            return GrowingResult(block)
