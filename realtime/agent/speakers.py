"""What was heard in a call, as messages of its speakers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from realtime.event.base import Item
from realtime.message import Msg, TextBlock
from realtime.message.speakers import speaker_and_words


def messages_of(items: Iterable[Item], is_settled: Callable[[str], bool], agent_name: str) -> list[Msg]:
    """Return the words that both sides know, a message for each item.

    It has the name of the speaker and the id of the item. Left out are items that still grow, and those of the agent
    that are not `is_settled`.
    """
    messages = []
    for item in items:
        if item.role not in ("user", "assistant") or item.status == "in_progress" or not item.text.strip():
            continue
        if item.role == "assistant" and not is_settled(item.id):
            continue
        # In a room the words of others come with their name.
        speaker, words = (None, item.text) if item.role == "assistant" else speaker_and_words(item.text)
        name = speaker or item.name or (agent_name if item.role == "assistant" else "user")
        messages.append(Msg(name, [TextBlock(text=words.strip())], item.role, id=item.id))
    return messages
