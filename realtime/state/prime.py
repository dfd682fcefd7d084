"""Turn messages into items of a realtime conversation: the history for a new model session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from realtime.event.base import ContentPart, Item
from realtime.message import (
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
)
from realtime.message.formatter import NO_RESULT, spoken_by

Role = Literal["user", "assistant", "system"]


def history_items(messages: Iterable[Msg], *, own_name: str | None = None) -> list[Item]:
    """Return the items in order, for `history` of `RealtimeModel.connect`.

    `own_name` is the agent that continues. Words of other agents become `[Name]: text` of the user, without their
    tools; with None, every assistant's turn is its own. Hints become the user's; thoughts and speech are left out. A
    tool call without a result gets one that says so, since models refuse a history without it.
    """
    items: list[Item] = []
    for message in messages:
        if message.role == "assistant" and own_name is not None and message.name != own_name:
            said = message.get_text_content()
            if said:
                items.append(_words(message.id, "user", message.name, spoken_by(message.name, said)))
        elif message.role == "assistant":
            items += _own_turn(message)
        else:
            content = tuple(part for block in message.content if (part := _part(block)) is not None)
            if content:
                items.append(Item(id=message.id, role=message.role, name=message.name, content=content))
    return items


def _own_turn(message: Msg) -> list[Item]:
    """Yield one item per text, call and result."""
    items: list[Item] = []
    results = {block.id: block for block in message.get_content_blocks("tool_result")}
    for block in message.content:
        match block:
            case TextBlock() if block.text:
                items.append(_words(block.id, "assistant", message.name, block.text))
            case HintBlock():
                parts = [TextBlock(text=block.hint, id=block.id)] if isinstance(block.hint, str) else block.hint
                content = tuple(part for one in parts if (part := _part(one)) is not None)
                items.append(Item(id=block.id, role="user", content=content))
            case ToolCallBlock():
                result = results.get(block.id)
                if result is None or (result.state == "interrupted" and not result.output):
                    result = ToolResultBlock(
                        id=block.id, name=block.name, output=NO_RESULT, state=ToolResultState.INTERRUPTED
                    )
                call = ToolCallBlock(
                    id=block.id, name=block.name, input=block.input or "{}", state=ToolCallState.FINISHED
                )
                items.append(Item(id=f"{block.id}_call", type="tool_call", tool_call=call))
                items.append(Item(id=f"{block.id}_result", type="tool_result", tool_result=result))
            case _:
                pass
    return items


def _words(item_id: str, role: Role, name: str, text: str) -> Item:
    return Item(id=item_id, role=role, name=name, content=(ContentPart(type="text", text=text),))


def _part(block: Block) -> ContentPart | None:
    """Return the words, and the pictures whose bytes are present."""
    if isinstance(block, TextBlock) and block.text:
        return ContentPart(type="text", text=block.text)
    if not isinstance(block, DataBlock) or not block.source.media_type.startswith("image/"):
        return None
    source = block.source
    if not isinstance(source, Base64Source):
        return None
    return ContentPart(type="image", image=source.data, media_type=source.media_type)
