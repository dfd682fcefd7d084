"""The conversation as the embedded model remembers it: items in order, answers cut to what was heard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from realtime.event.base import ContentPart, Item, ItemStatus

# What a call remembers at most; the oldest is forgotten first.
_KEPT_ITEMS = 400


@dataclass(slots=True)
class _Entry:
    item: Item
    # This turn of the user goes on where the one right before it was thought to have ended.
    continues: bool = False
    # Spoken sentences with the ms of audio up to the end of each, to cut at where only a time is known.
    spoken: list[tuple[str, int]] = field(default_factory=list)
    cut: bool = False


class Context:
    """Items by id and in order. Knows nothing of audio but how long each spoken sentence took."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._entries: list[_Entry] = [_Entry(item) for item in items]

    def __contains__(self, item_id: str) -> bool:
        return self._find(item_id) is not None

    def get(self, item_id: str) -> Item | None:
        """The item as it stands."""
        entry = self._find(item_id)
        return None if entry is None else entry.item

    def add(self, item: Item, previous_item_id: str | None = None, *, continues: bool = False) -> str | None:
        """Insert after the item with that id, else at the end; returns the id before it. An item with a known id is
        replaced where it stands."""
        at = self._index(item.id)
        if at is not None:
            self._entries[at] = _Entry(item)
        else:
            before = None if previous_item_id is None else self._index(previous_item_id)
            at = 0 if previous_item_id == "root" else len(self._entries) if before is None else before + 1
            self._entries.insert(at, _Entry(item, continues))
        previous = self._entries[at - 1].item.id if at else None
        del self._entries[: max(0, len(self._entries) - _KEPT_ITEMS)]
        return previous

    def delete(self, item_id: str) -> bool:
        """Forget the item; False where it is unknown."""
        at = self._index(item_id)
        if at is None:
            return False
        del self._entries[at]
        return True

    def hear(self, item_id: str, transcript: str) -> None:
        """What the user said in this item."""
        entry = self._find(item_id)
        beside = [part for part in entry.item.content if part.type != "audio"] if entry is not None else []
        self._replace(item_id, *beside, ContentPart(type="audio", transcript=transcript))

    def speak(self, item_id: str, text: str, audio_ms: int | None) -> None:
        """The answer goes on with `text`; `audio_ms` is how long it is spoken, None where it is only written."""
        entry = self._find(item_id)
        if entry is None or entry.cut:
            return
        if audio_ms is None:
            self._replace(item_id, ContentPart(type="text", text=(entry.item.content[0].text or "") + text))
            return
        entry.spoken.append((text, audio_ms + (entry.spoken[-1][1] if entry.spoken else 0)))
        self._replace(item_id, ContentPart(type="audio", transcript="".join(words for words, _ in entry.spoken)))

    def finish(self, item_id: str, status: ItemStatus) -> None:
        """The answer will not go on."""
        entry = self._find(item_id)
        if entry is not None:
            entry.item = msgspec.structs.replace(entry.item, status=status)

    def truncate(self, item_id: str, audio_end_ms: int, heard_text: str) -> str | None:
        """Cut an answer to what was heard; returns its text now, None where the item is unknown.

        Without `heard_text` the words are counted off evenly along each sentence.
        """
        entry = self._find(item_id)
        if entry is None:
            return None
        heard = heard_text or _words_until(entry.spoken, audio_end_ms)
        entry.cut = True
        self._replace(item_id, ContentPart(type="audio", transcript=heard))
        entry.item = msgspec.structs.replace(entry.item, status="incomplete")
        return heard

    def for_responder(self) -> list[Item]:
        """The items to answer to: the pieces of one turn as one item, and no answer of which nothing was heard."""
        items: list[Item] = []
        for entry in self._entries:
            item = entry.item
            if item.role == "assistant" and item.type == "message" and not item.text:
                continue
            begun = _last_said(items) if entry.continues else None
            if begun is not None:
                text = f"{items[begun].text} {item.text}".strip()
                items[begun] = msgspec.structs.replace(item, content=(ContentPart(type="audio", transcript=text),))
            else:
                items.append(item)
        return items

    def _replace(self, item_id: str, *parts: ContentPart) -> None:
        entry = self._find(item_id)
        if entry is not None:
            entry.item = msgspec.structs.replace(entry.item, content=parts)

    def _index(self, item_id: str) -> int | None:
        # From the end: what is asked for is nearly always the newest.
        for at in range(len(self._entries) - 1, -1, -1):
            if self._entries[at].item.id == item_id:
                return at
        return None

    def _find(self, item_id: str) -> _Entry | None:
        at = self._index(item_id)
        return None if at is None else self._entries[at]


def _words_until(spoken: Sequence[tuple[str, int]], audio_end_ms: int) -> str:
    heard: list[str] = []
    start_ms = 0
    for text, end_ms in spoken:
        if end_ms <= audio_end_ms:
            heard.append(text)
        elif audio_end_ms > start_ms:
            words = text.split()
            share = (audio_end_ms - start_ms) / (end_ms - start_ms)
            heard.append(" ".join(["", *words[: int(len(words) * share)]]))
        start_ms = end_ms
    return "".join(heard).strip()


def _last_said(items: Sequence[Item]) -> int | None:
    """Where the user's last words stand, behind which there are their pictures alone."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].role != "user":
            return None
        if any(part.type != "image" for part in items[at].content):
            return at
    return None
