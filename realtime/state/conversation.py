"""The conversation of a call: its items in order, and the only writer of their content and truncation.

A pure core: no clock, no I/O. Positions in an item's audio are ms from the item's first sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from realtime.event.base import ContentPart, Item, ItemStatus
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.state.truncation import Pace, Spoken, Truncation

KEPT_PICTURES = 8
"""Latest items that keep their media bytes: resent after a lost link.

A camera adds one a second.
"""


@dataclass(slots=True)
class _Entry:
    """One item while it grows."""

    item: Item
    spoken: Spoken | None = None
    truncation: Truncation | None = None

    def put(self, item: Item) -> None:
        """Replace the item; status and content of a truncated item stay."""
        if self.truncation is not None:
            item = msgspec.structs.replace(item, status=self.item.status, content=self.item.content)
        elif self.spoken is not None and item.status == "completed" and self.item.status != "completed":
            self.spoken.teach()
        self.item = item


def without_pictures(item: Item) -> Item:
    """Return the item with its picture and sound parts, without their bytes."""
    item = without_sound(item)
    if not any(part.image for part in item.content):
        return item
    content = tuple(msgspec.structs.replace(part, image=None) for part in item.content)
    return msgspec.structs.replace(item, content=content)


def without_sound(item: Item) -> Item:
    """Return the item with its sound parts, but without their bytes: a log keeps none."""
    if not any(part.audio for part in item.content):
        return item
    content = tuple(msgspec.structs.replace(part, audio=None, format=None) for part in item.content)
    return msgspec.structs.replace(item, content=content)


class Conversation:
    """Items in order, with unique ids. An unknown id raises KeyError unless the method says otherwise."""

    __slots__ = ("_aligned", "_entries", "_kept_pictures", "_order", "_pace", "_pictured")

    def __init__(self, *, aligned: bool = False, kept_pictures: int = KEPT_PICTURES) -> None:
        self._entries: dict[str, _Entry] = {}
        self._order: list[str] = []
        self._pictured: list[str] = []
        self._aligned = aligned
        self._pace = Pace()
        self._kept_pictures = kept_pictures

    def set_alignment(self, aligned: bool) -> None:
        """Set whether words come right before their audio in new items (`Profile.aligns_transcript`)."""
        self._aligned = aligned

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._entries

    def __len__(self) -> int:
        return len(self._order)

    def add(self, item: Item, previous_item_id: str | None = None) -> str | None:
        """Insert the item, or replace the one with its id in place.

        A new one goes behind `previous_item_id`: with None or an unknown id to the end, with `root` to the beginning.
        Returns the id of the item before it.
        """
        if item.id in self._entries:
            self._entries[item.id].put(item)
        else:
            if previous_item_id == "root":
                self._order.insert(0, item.id)
            elif previous_item_id in self._entries:
                self._order.insert(self._order.index(previous_item_id) + 1, item.id)
            else:
                self._order.append(item.id)
            self._entries[item.id] = _Entry(item)
            if any(part.image or part.audio for part in item.content):
                self._pictured.append(item.id)
                if len(self._pictured) > self._kept_pictures:
                    oldest = self._entries.get(self._pictured.pop(0))
                    if oldest is not None:
                        oldest.item = without_pictures(oldest.item)
        place = self._order.index(item.id) if self._order[-1] != item.id else len(self._order) - 1
        return self._order[place - 1] if place else None

    def get(self, item_id: str) -> Item | None:
        """Return the item, or None for an unknown id."""
        entry = self._entries.get(item_id)
        return None if entry is None else entry.item

    def items(self) -> tuple[Item, ...]:
        """Return all items in order: the transcript of the call as it was heard."""
        return tuple(self._entries[item_id].item for item_id in self._order)

    def delete(self, item_id: str) -> bool:
        """Remove the item; returns False for an unknown id."""
        if self._entries.pop(item_id, None) is None:
            return False
        self._order.remove(item_id)
        return True

    def keep_latest(self, count: int) -> None:
        """Remove the oldest items until at most `count` are left."""
        for item_id in self._order[: max(0, len(self._order) - count)]:
            self.delete(item_id)

    def update(self, item_id: str, **changes: Any) -> Item:
        """Replace fields of the item; content and status of a truncated item stay."""
        entry = self._entries[item_id]
        entry.put(msgspec.structs.replace(entry.item, **changes))
        return entry.item

    def set_transcript(self, item_id: str, transcript: str) -> None:
        """Set the words of the item's audio."""
        words = ContentPart(type="audio", transcript=transcript)
        beside = [part for part in self._entries[item_id].item.content if part.type != "audio"]
        self.update(item_id, content=(*beside, words))

    def set_text(self, item_id: str, text: str) -> None:
        """Set the text of a written item."""
        self.update(item_id, content=(ContentPart(type="text", text=text),))

    def add_text(self, item_id: str, delta: str) -> None:
        """Append words to a response's item; ignored after a truncation."""
        entry = self._entries[item_id]
        if entry.truncation is None:
            self._spoken(entry).add_text(delta)

    def correct_text(self, item_id: str, said: str, words: str) -> None:
        """Replace words `said` last in a response's item; ignored after a truncation, and where it ends otherwise."""
        entry = self._entries[item_id]
        spoken = self._spoken(entry)
        if entry.truncation is None and spoken.text.endswith(said):
            spoken.correct(len(spoken.text) - len(said), len(spoken.text), words)

    def add_audio(self, item_id: str, audio_ms: float) -> bool:
        """Count audio of a spoken item, unless it is truncated; returns False for an unknown id."""
        entry = self._entries.get(item_id)
        if entry is None:
            return False
        if entry.truncation is None:
            spoken = entry.spoken or self._spoken(entry)
            spoken.audio_ms += audio_ms
        return True

    def audio_complete(self, item_id: str) -> None:
        """Mark the item's audio as complete."""
        self._spoken(self._entries[item_id]).audio_complete = True

    def audio_ms(self, item_id: str) -> float:
        """Return the length of the item's audio so far; 0 for an unknown id."""
        entry = self._entries.get(item_id)
        return entry.spoken.audio_ms if entry is not None and entry.spoken is not None else 0.0

    def audio_is_complete(self, item_id: str) -> bool:
        """Whether the item's audio is complete; False without audio and for an unknown id."""
        entry = self._entries.get(item_id)
        return entry is not None and entry.spoken is not None and entry.spoken.audio_complete

    def spoken_text(self, item_id: str) -> str:
        """Return the words of a spoken item: all so far, or those played if it was truncated."""
        entry = self._entries[item_id]
        if entry.truncation is not None:
            return entry.truncation.transcript
        return entry.spoken.text if entry.spoken is not None and entry.spoken.text else entry.item.text

    def played_text(self, item_id: str, played_ms: int) -> str:
        """Return the words spoken within the first `played_ms`; "" for an unknown item."""
        entry = self._entries.get(item_id)
        return self._spoken(entry).played_text(played_ms) if entry is not None else ""

    def begins_ms(self, item_id: str, chars: int) -> float:
        """Return where the words behind the first `chars` characters begin, estimated early; 0 for an unknown item."""
        entry = self._entries.get(item_id)
        return self._spoken(entry).begins_ms(chars) if entry is not None else 0.0

    def complete(self, item_id: str, status: ItemStatus = "completed") -> Item:
        """End the item: with audio its words become the transcript, without audio a text."""
        entry = self._entries[item_id]
        content, spoken = entry.item.content, entry.spoken
        if spoken is not None and spoken.audio_ms:
            content = (ContentPart(type="audio", transcript=spoken.text),)
        elif spoken is not None and spoken.text and not content:
            content = (ContentPart(type="text", text=spoken.text),)
        entry.put(msgspec.structs.replace(entry.item, status=status, content=content))
        return entry.item

    def truncate(
        self, item_id: str, played_ms: float, *, transcript: str | None = None, anew: bool = False
    ) -> Truncation:
        """Cut a spoken item to what was played of it.

        `played_ms` is clamped to the audio that has arrived. The item keeps the words up to the last one that was
        played to its end, or `transcript` where the caller knows the words. A second truncation can only shorten,
        unless the first was wrong (`anew`). A written item without a known `transcript` has no audio to cut and stays
        whole.
        """
        entry = self._entries[item_id]
        if anew:
            entry.truncation = None
        spoken = self._spoken(entry)
        if not spoken.audio_ms and entry.item.content and entry.truncation is None and transcript is None:
            return Truncation(entry.item.text, 0)
        truncation = spoken.truncation(played_ms)
        if transcript is not None:
            truncation = Truncation(transcript, truncation.audio_end_ms)
        if entry.truncation is not None:
            truncation = truncation.shorter(entry.truncation)
        entry.truncation = truncation
        entry.item = msgspec.structs.replace(
            entry.item, status="incomplete", content=(ContentPart(type="audio", transcript=truncation.transcript),)
        )
        return truncation

    def is_truncated(self, item_id: str) -> bool:
        """Whether the item was truncated; False for an unknown id."""
        entry = self._entries.get(item_id)
        return entry is not None and entry.truncation is not None

    def add_tool_call(self, item_id: str, call: ToolCallBlock) -> None:
        """Add a tool call of the model, without its suggested rules."""
        self.add(Item(id=item_id, type="tool_call", tool_call=msgspec.structs.replace(call, suggested_rules=[])))

    def add_tool_result(self, item_id: str, result: ToolResultBlock) -> str | None:
        """Add the result of a tool; returns the id of the item before it."""
        return self.add(Item(id=item_id, type="tool_result", tool_result=result))

    def _spoken(self, entry: _Entry) -> Spoken:
        if entry.spoken is None:
            entry.spoken = Spoken(self._pace, aligned=self._aligned)
        return entry.spoken
