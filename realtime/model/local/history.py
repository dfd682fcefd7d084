"""Keep the embedded model's conversation and write it for its language model. Functions over `Conversation`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import msgspec

from realtime.event.base import ContentPart, Item
from realtime.model.base import ItemTruncate
from realtime.state.conversation import Conversation

KEPT_ITEMS = 400
"""Items of one call that are kept at most; the oldest are dropped first."""

ReadHistory = Callable[[], list[Item]]


def conversation_of(items: Sequence[Item]) -> Conversation:
    """A conversation that begins with these items; its words come right before their audio."""
    conversation = Conversation(aligned=True, kept_pictures=KEPT_ITEMS)
    for item in items:
        conversation.add(item)
    return conversation


def add_item(conversation: Conversation, item: Item, previous_item_id: str | None = None) -> str | None:
    """Add the item (see `Conversation.add`) and drop the oldest; returns the id of the item before it."""
    previous = conversation.add(item, previous_item_id)
    conversation.keep_latest(KEPT_ITEMS)
    return previous


def add_result(conversation: Conversation, item: Item) -> None:
    """Add the result of a tool, unless its call has one already."""
    result = item.tool_result
    known = (one.tool_result for one in conversation.items())
    if result is not None and not any(one is not None and one.id == result.id for one in known):
        add_item(conversation, item)


def truncate(conversation: Conversation, message: ItemTruncate) -> str:
    """Cut an item to what was played of it; returns the words that stay. Raises KeyError for an unknown item.

    Without `heard_text`, the words are estimated where the length of the item's audio is known.
    """
    heard, audio_ms = message.heard_text, conversation.audio_ms(message.item_id)
    transcript = None if audio_ms and not heard else heard
    return conversation.truncate(message.item_id, message.audio_end_ms, transcript=transcript).transcript


def prompt_items(conversation: Sequence[Item], continued: Container[str] = ()) -> list[Item]:
    """The items for the language model, oldest first.

    A turn in `continued` is merged into the turn that it continues. A response of which nothing was played is left out.
    """
    items: list[Item] = []
    for item in conversation:
        if item.role == "assistant" and item.type == "message" and not item.text:
            continue
        begun = _last_words(items) if item.id in continued else None
        if begun is None:
            items.append(item)
        else:
            text = f"{items[begun].text} {item.text}".strip()
            items[begun] = msgspec.structs.replace(item, content=(ContentPart(type="audio", transcript=text),))
    return items


def has_asked(items: Sequence[Item]) -> bool:
    """Whether the newest words are the agent's, and end with a question."""
    said = next((item for item in reversed(items) if item.type == "message" and item.text), None)
    return said is not None and said.role == "assistant" and said.text.rstrip().endswith(("?", "？"))


def open_words(items: Sequence[Item]) -> str:
    """The user's last words that have no response yet; pictures and noises since then do not count."""
    for item in reversed(items):
        if item.type == "message" and item.text:
            return item.text if item.role == "user" else ""
    return ""


def is_noise(item: Item) -> bool:
    """Whether the item is a user's turn without recognised words."""
    has_picture = any(part.type == "image" for part in item.content)
    return item.type == "message" and item.role == "user" and not item.text and not has_picture


def _last_words(items: Sequence[Item]) -> int | None:
    """Index of the user's last words, if only the user's pictures follow."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].role != "user":
            return None
        if any(part.type != "image" for part in items[at].content):
            return at
    return None
