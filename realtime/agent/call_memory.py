"""Brings an agent's memory in line with the conversation of a call. Pure.

The conversation is the truth: it holds what was heard, and no turn that was withdrawn. The memory knows more of the
same: thoughts, tools, and what was said before the call.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import msgspec

from realtime.agent.played import cut_to_played
from realtime.event.base import Item
from realtime.message import (
    AssistantMsg,
    Block,
    Msg,
    SystemMsg,
    TextBlock,
    ToolResultBlock,
    ToolResultState,
    UserMsg,
)
from realtime.message.msg import BlockType
from realtime.model.local.history import KEPT_ITEMS
from realtime.model.local.messages import USER, user_blocks

LONG_HISTORY = KEPT_ITEMS // 2
"""Items of a history that may lack the oldest of its call.

What a shorter one lacks was deleted.
"""
SUBSTANCE: tuple[BlockType, ...] = ("text", "tool_call", "hint")
"""Blocks without which a reply is not worth keeping."""


@dataclass(slots=True)
class _Exchange:
    """What was put in, and what the agent did then. The first one may begin with the agent."""

    given: Msg | None
    done: list[Item] = field(default_factory=list)
    """Its words and tool calls."""


class CallMemory:
    """What the memory of one agent holds of one call.

    Messages of the call have the ids of their items, so that a memory that was saved and loaded is recognised. Replies
    are the messages of role `assistant` under the agent's name; all others that the memory has stay as they are.
    """

    def __init__(self, agent_name: str, *, takes_images: bool) -> None:
        self._name = agent_name
        self._takes_images = takes_images
        self._before: set[str] | None = None
        """Messages from before the call."""
        self._begins_there = False
        """Whether the agent's first words of this call are among them."""
        self._whole: dict[str, Msg] = {}
        """Replies that were cut, as they were given: an interruption may turn out to be none."""
        self._known: set[str] = set()
        """Messages that were put in within the call."""

    def in_line(self, memory: Sequence[Msg], history: Sequence[Item]) -> tuple[list[Msg], list[Msg]]:
        """Return what the memory has to hold, and what lacks an answer.

        The latter is no part of the memory. Replies are cut to what was heard of them, or left out. What the memory
        lacks of the history is made.
        """
        exchanges = self._rejoined(self._exchanges(history), memory)
        results = {item.tool_result.id: item.tool_result for item in history if item.tool_result is not None}
        asked: list[Msg] = []
        while exchanges and not exchanges[-1].done and (given := exchanges[-1].given) is not None:
            exchanges.pop()
            asked.insert(0, given)
        given_ids = {one.given.id for one in exchanges if one.given is not None}
        is_long = len(history) >= LONG_HISTORY
        before, groups = self._grouped(memory, given_ids, {msg.id for msg in asked}, is_long=is_long)
        self._known |= given_ids | {msg.id for msg in asked}
        known = {msg.id: msg for msg in memory}
        remembered = [*before]
        if not exchanges or exchanges[0].given is not None:
            exchanges.insert(0, _Exchange(None))
        for exchange in exchanges:
            given_id = None if exchange.given is None else exchange.given.id
            if exchange.given is not None:
                remembered.append(_same_or(exchange.given, known.get(exchange.given.id)))
            elif self._begins_there or (is_long and before):
                continue
            remembered += self._settled(exchange.done, groups.get(given_id, []), results)
        return remembered, asked

    def _exchanges(self, history: Sequence[Item]) -> list[_Exchange]:
        named = len({item.name for item in history if item.role == "user" and item.name}) > 1
        exchanges: list[_Exchange] = []
        for item in history:
            if item.tool_result is not None:
                continue  # stands with its call
            if item.tool_call is None and item.role != "assistant":
                given = self._given(item, named=named)
                if given is not None:
                    exchanges.append(_Exchange(given))
                continue
            if not exchanges:
                exchanges.append(_Exchange(None))
            exchanges[-1].done.append(item)
        return exchanges

    def _rejoined(self, exchanges: list[_Exchange], memory: Sequence[Msg]) -> list[_Exchange]:
        """Return the exchanges with each reply as one.

        A hint may have come in the middle of a reply, which did not know of it: the rest belongs to what precedes it.
        """
        places = {msg.id: place for place, msg in enumerate(memory)}
        given_ids = {one.given.id for one in exchanges if one.given is not None}

        def replies_to(exchange: _Exchange) -> list[Msg]:
            place = -1 if exchange.given is None else places.get(exchange.given.id, len(memory))
            return self._replies_behind(memory, place, given_ids)

        begun: _Exchange | None = None
        for exchange in exchanges:
            is_hint = exchange.given is not None and exchange.given.role == "system"
            if begun is not None and is_hint and not _n_continuing(exchange.done[:1], (), replies_to(exchange)):
                n_rest = _n_continuing(exchange.done, begun.done, replies_to(begun))
                begun.done += exchange.done[:n_rest]
                del exchange.done[:n_rest]
                if not exchange.done:
                    continue
            begun = exchange
        return exchanges

    def _replies_behind(self, memory: Sequence[Msg], place: int, given_ids: Container[str]) -> list[Msg]:
        """Return the replies behind a place, up to the next input."""
        behind = [*takewhile(lambda msg: msg.id not in given_ids, memory[place + 1 :])]
        return [self._whole.get(msg.id, msg) for msg in behind if self._is_reply(msg)]

    def _is_reply(self, msg: Msg) -> bool:
        return msg.role == "assistant" and msg.name == self._name

    def _given(self, item: Item, *, named: bool) -> Msg | None:
        """Return an item that was put in as a message; None if it is empty."""
        if item.role == "system":
            return SystemMsg("system", item.text, id=item.id) if item.text else None
        blocks = user_blocks(item, named=named, takes_images=self._takes_images)
        return UserMsg(item.name or USER, blocks, id=item.id) if blocks else None

    def _grouped(
        self, memory: Sequence[Msg], given_ids: set[str], asked_ids: set[str], *, is_long: bool
    ) -> tuple[list[Msg], dict[str | None, list[Msg]]]:
        """Return what precedes the history, and what follows each of its messages.

        What follows the beginning of the call is at None.
        """
        if self._before is None:
            of_call = given_ids | asked_ids
            place = next((place for place, msg in enumerate(memory) if msg.id in of_call), len(memory))
            self._before = {msg.id for msg in memory[:place]}
            self._begins_there = place < len(memory)
        before: list[Msg] = []
        groups: dict[str | None, list[Msg]] = {}
        given_id: str | None = None
        for msg in memory:
            if msg.id in given_ids:
                given_id = msg.id
            elif msg.id in asked_ids:
                continue
            elif given_id is None and (msg.id in self._before or is_long):
                before.append(msg)
            elif msg.id not in self._known:
                groups.setdefault(given_id, []).append(msg)
        return before, groups

    def _settled(self, done: Sequence[Item], messages: list[Msg], results: Mapping[str, ToolResultBlock]) -> list[Msg]:
        """Return these messages, with what was heard of the replies among them."""
        messages = [self._whole.get(msg.id, msg) for msg in messages]
        replies = [msg for msg in messages if self._is_reply(msg)]
        if not replies:
            return [*self._made(done, results), *messages]
        heard = _Heard([_squeezed(msg.get_text_content("") or "") for msg in replies])
        for item in done:
            if item.tool_call is None:
                heard.take(item)
        settled: list[Msg] = []
        place = 0
        for msg in messages:
            if place == len(replies) or msg is not replies[place]:
                settled.append(msg)
                continue
            settled += [AssistantMsg(self._name, text, id=item_id) for item_id, text in heard.apart.get(place, ())]
            cut = heard.cut(place, _with_results(msg, results))
            if cut is not None:
                self._whole |= {} if cut is msg else {msg.id: msg}
                settled.append(cut)
            place += 1
        settled += [AssistantMsg(self._name, text, id=item_id) for item_id, text in heard.apart.get(place, ())]
        return settled

    def _made(self, done: Sequence[Item], results: Mapping[str, ToolResultBlock]) -> list[Msg]:
        """Return a reply made from the items of the call; none without any."""
        blocks: list[Block] = []
        for item in done:
            if item.tool_call is not None:
                blocks.append(item.tool_call)
                if (result := results.get(item.tool_call.id)) is not None:
                    blocks.append(result)
            elif item.text:
                blocks.append(TextBlock(text=item.text, id=item.id))
        return [AssistantMsg(self._name, blocks, id=done[0].id)] if blocks else []


class _Heard:
    """Finds the words that were heard in the texts of replies.

    The texts are without white space.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._n_heard = [0] * len(texts)
        self._place = 0
        self.apart: dict[int, list[tuple[str, str]]] = {}
        """Ids and words of items that are of no reply.

        By the place of the reply that follows.
        """

    def take(self, item: Item) -> None:
        """Take the next item that was heard."""
        left = _squeezed(item.text)
        while left:
            text = self._rest()
            n = min(len(left), len(text))
            if not n or left[:n] != text[:n]:
                break
            self._n_heard[self._place] += n
            left = left[n:]
        if left:
            begun = self._place < len(self._texts) and self._n_heard[self._place] > 0
            n_taken = len(_squeezed(item.text)) - len(left)
            self.apart.setdefault(self._place + begun, []).append((item.id, _after(item.text, n_taken)))

    def cut(self, place: int, reply: Msg) -> Msg | None:
        """Return the reply with the words of it that were heard; None if nothing is left."""
        text, n = self._texts[place], self._n_heard[place]
        if n == len(text):
            return reply
        cut = cut_to_played(reply, text[:n])
        return cut if cut.has_content_blocks(SUBSTANCE) else None

    def _rest(self) -> str:
        while self._place < len(self._texts):
            if rest := self._texts[self._place][self._n_heard[self._place] :]:
                return rest
            self._place += 1
        return ""


def _n_continuing(rest: Sequence[Item], before: Sequence[Item], replies: Sequence[Msg]) -> int:
    """Return how many items continue the replies, of which `before` was heard."""
    calls = {(call.name, call.input or "{}") for msg in replies for call in msg.get_content_blocks("tool_call")}
    text = "".join(_squeezed(msg.get_text_content("") or "") for msg in replies)
    text = text.removeprefix("".join(_squeezed(item.text) for item in before if item.tool_call is None))
    for n, item in enumerate(rest):
        if item.tool_call is not None:
            if (item.tool_call.name, item.tool_call.input) not in calls:
                return n
        elif text.startswith(words := _squeezed(item.text)):
            text = text[len(words) :]
        else:
            return n
    return len(rest)


def _same_or(given: Msg, known: Msg | None) -> Msg:
    """Return the message as the memory has it, if nothing changed."""
    if known is None or known.get_text_content() != given.get_text_content():
        return given
    return known


def _with_results(reply: Msg, results: Mapping[str, ToolResultBlock]) -> Msg:
    """Return the reply with the results of the call.

    They replace those of an interruption.
    """
    blocks = [
        msgspec.structs.replace(block, output=late.output, state=late.state)
        if isinstance(block, ToolResultBlock)
        and block.state is ToolResultState.INTERRUPTED
        and (late := results.get(block.id)) is not None
        and late.state is not ToolResultState.INTERRUPTED
        else block
        for block in reply.content
    ]
    if all(one is other for one, other in zip(blocks, reply.content, strict=True)):
        return reply
    changed = reply.copy()
    changed.content = blocks
    return changed


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _after(text: str, n_chars: int) -> str:
    """Return the text behind this many characters that are no white space."""
    for place, character in enumerate(text):
        if n_chars == 0 and not character.isspace():
            return text[place:]
        n_chars -= not character.isspace()
    return ""
