"""Events of model calls and tool results, from responses that grow.

Pure: no I/O, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from realtime.agent.reply_run import block_events, data_event
from realtime.event import reply as r
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultState,
)
from realtime.model.chat.base import ChatBlock, ChatUsage

Key = tuple[str, str]
"""Type and id of a block: ids are unique within a type only."""


class BlockIds:
    """Ids of the blocks of one reply: unique within a type, whatever ids models give."""

    def __init__(self) -> None:
        self._taken: set[Key] = set()

    def claim(self, block: Block) -> Block:
        """Return the block; with an id made of its own where that is taken."""
        own, n = block.id, 1
        while (block.type, own) in self._taken:
            n += 1
            own = f"{block.id}_{n}"
        self._taken.add((block.type, own))
        return _with_id(block, own)


class ModelCall:
    """One model call. Its words become events as they come, its tool calls as whole ones by `close`.

    `holds_ends`: text blocks end with the call, for hooks that may change their text.
    """

    def __init__(self, reply_id: str, ids: BlockIds, *, holds_ends: bool = False) -> None:
        self.content: list[Block] = []
        """The blocks of the last response, with ids of their own."""
        self._reply_id = reply_id
        self._ids = ids
        self._holds_ends = holds_ends
        self._usage: ChatUsage | None = None
        self._own_ids: dict[tuple[str, str, int], str] = {}
        self._sent: dict[Key, str | bytes] = {}
        """What the events hold of each block of text, thinking or data."""
        self._open: dict[Key, Block] = {}
        self._extras: dict[Key, dict[str, Any]] = {}
        """What the ends of thoughts have told."""

    def start(self, model_name: str) -> r.AgentEvent:
        """Return the event that begins the call."""
        return r.ModelCallStartEvent(reply_id=self._reply_id, model_name=model_name)

    def grow(self, content: Sequence[ChatBlock], usage: ChatUsage | None) -> list[r.AgentEvent]:
        """Return the events for what a response says beyond the one before."""
        self._usage = usage or self._usage
        seen: Counter[Key] = Counter()
        self.content = []
        events: list[r.AgentEvent] = []
        for block in content:
            place = (block.type, block.id, seen[_key(block)])
            seen[_key(block)] += 1
            if place not in self._own_ids:
                events += self._end_open()
                self._own_ids[place] = self._ids.claim(block).id
            own = _with_id(block, self._own_ids[place])
            self.content.append(own)
            events += self._growth(own)
        return events

    def close(self, content: Iterable[Block]) -> tuple[list[Block], list[r.AgentEvent]]:
        """Return the final blocks, and the events for them.

        `content` is what hooks made of the last response: text may have changed, blocks may be missing or new.
        """
        known = {*map(_key, self.content)}
        final: list[Block] = []
        for block in content:
            is_known = _key(block) in known
            known.discard(_key(block))
            final.append(block if is_known else self._ids.claim(block))
        by_key = {_key(block): block for block in final}
        ended = {*self._sent} - {*self._open}
        events = [self._ended(key, by_key.get(key)) for key in [*self._open]]
        for block in final:
            sent = self._sent.get(_key(block))
            if sent is None:
                if not isinstance(block, TextBlock) or block.text:
                    events += block_events(self._reply_id, block)
            elif isinstance(block, TextBlock) and _key(block) in ended and block.text != sent:
                # It grew when a later block had begun, which ended it.
                rest = msgspec.structs.replace(block, text=block.text.removeprefix(str(sent)))
                events += block_events(self._reply_id, self._ids.claim(rest))
            elif isinstance(block, ThinkingBlock) and block.extra != self._extras.get(_key(block)):
                # A signature that came when a later block had begun.
                signature = msgspec.structs.replace(block, thinking="")
                events += block_events(self._reply_id, self._ids.claim(signature))
        return final, [*events, self._end()]

    def abort(self) -> list[r.AgentEvent]:
        """Return the events that end the call where it is; its tool calls are dropped."""
        return [*self._end_open(held=True), self._end()]

    def _growth(self, block: Block) -> Iterator[r.AgentEvent]:
        key, whole = _key(block), _substance(block)
        if not whole:
            return
        sent = self._sent.get(key)
        if sent is None:
            self._open[key] = block
            sent = whole[:0]
            yield next(iter(block_events(self._reply_id, block)))
        elif key in self._open and isinstance(block, ThinkingBlock):
            self._open[key] = block
        if key in self._open and len(whole) > len(sent) and whole[: len(sent)] == sent:
            self._sent[key] = whole
            yield self._delta(block, whole[len(sent) :])

    def _delta(self, block: Block, delta: str | bytes) -> r.AgentEvent:
        if isinstance(delta, bytes):
            return r.DataBlockDeltaEvent(reply_id=self._reply_id, block_id=block.id, data=delta)
        cls = r.TextBlockDeltaEvent if isinstance(block, TextBlock) else r.ThinkingBlockDeltaEvent
        return cls(reply_id=self._reply_id, block_id=block.id, delta=delta)

    def _end_open(self, *, held: bool = False) -> Iterator[r.AgentEvent]:
        """End the blocks before one that begins."""
        for key, block in [*self._open.items()]:
            if held or not (self._holds_ends and isinstance(block, TextBlock)):
                yield self._ended(key, block)

    def _ended(self, key: Key, final: Block | None) -> r.AgentEvent:
        """End an open block. Text that hooks changed or removed ends with the text that it has then."""
        block, sent = self._open.pop(key), self._sent[key]
        if isinstance(block, ThinkingBlock):
            extra = final.extra if isinstance(final, ThinkingBlock) else block.extra
            self._extras[key] = extra
            return r.ThinkingBlockEndEvent(reply_id=self._reply_id, block_id=block.id, extra=extra)
        if not isinstance(block, TextBlock):
            return [*block_events(self._reply_id, block)][-1]
        text = final.text if isinstance(final, TextBlock) else ""
        whole = None if final is block or text == sent else text
        return r.TextBlockEndEvent(reply_id=self._reply_id, block_id=block.id, text=whole)

    def _end(self) -> r.AgentEvent:
        return r.ModelCallEndEvent(
            reply_id=self._reply_id,
            input_tokens=self._usage.input_tokens if self._usage else 0,
            output_tokens=self._usage.output_tokens if self._usage else 0,
        )


class ToolResult:
    """The result of one tool call. Each response holds all of it so far."""

    def __init__(self, reply_id: str, call: ToolCallBlock) -> None:
        self.call = call
        self._reply_id = reply_id
        self._sent: dict[int, str | bytes] = {}
        """What the events hold of each part of the output."""

    def start(self) -> r.AgentEvent:
        """Return the event that begins the result."""
        return r.ToolResultStartEvent(reply_id=self._reply_id, tool_call_id=self.call.id, tool_call_name=self.call.name)

    def grow(self, content: Sequence[TextBlock | DataBlock]) -> list[r.AgentEvent]:
        """Return the events for what a response holds beyond the one before; text that changed is added whole."""
        events: list[r.AgentEvent] = []
        for place, block in enumerate(content):
            whole = _substance(block)
            sent = self._sent.get(place, whole[:0])
            rest = whole[len(sent) :] if whole[: len(sent)] == sent else whole
            is_new = place not in self._sent
            self._sent[place] = whole
            if isinstance(block, TextBlock):
                if rest:
                    events.append(self._text(str(rest)))
            elif is_new or rest:
                if isinstance(block.source, Base64Source):
                    block = msgspec.structs.replace(block, source=msgspec.structs.replace(block.source, data=rest))
                events.append(data_event(self._reply_id, self.call.id, block))
        return events

    def end(self, state: ToolResultState, note: str = "") -> list[r.AgentEvent]:
        """Return the events that end the result; a `note` is added to its text."""
        events: list[r.AgentEvent] = []
        if note:
            events.append(self._text(f"\n{note}" if self._sent else note))
        events.append(r.ToolResultEndEvent(reply_id=self._reply_id, tool_call_id=self.call.id, state=state))
        return events

    def _text(self, delta: str) -> r.AgentEvent:
        return r.ToolResultTextDeltaEvent(reply_id=self._reply_id, tool_call_id=self.call.id, delta=delta)


def _key(block: Block) -> Key:
    return block.type, block.id


def _with_id(block: Block, block_id: str) -> Block:
    return block if block.id == block_id else msgspec.structs.replace(block, id=block_id)


def _substance(block: Block) -> str | bytes:
    """Return what grows in a block; "" where nothing does."""
    match block:
        case TextBlock():
            return block.text
        case ThinkingBlock():
            return block.thinking
        case DataBlock(source=Base64Source() as source):
            return source.data
        case _:
            return ""
