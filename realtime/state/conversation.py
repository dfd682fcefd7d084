"""The conversation of a call as ordered items, and the rule that what was said is what was heard.

A pure core: no clock, no I/O. Positions in an item's audio are ms from the item's first sample.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from realtime.event.base import ContentPart, Item, ItemStatus
from realtime.message import ToolCallBlock, ToolResultBlock

SPEECH_CHARS_PER_S = 15.0
"""How fast a voice is taken to speak that has not said anything to its end yet (English, about 160 words a minute)."""
_BELIEVED_S = 5.0
"""So much speech of a voice counts as much as what voices are like in general: its first words may be a long number."""

KEPT_PICTURES = 8
"""Items with pictures or sound whose bytes are kept, to show them again after a lost link: a camera shows one a
second."""
MAX_SPEECH_CHARS_PER_S = 30.0
"""Faster than any voice: bounds what was said of a piece of text whose audio has begun to arrive."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han, written without spaces: each character is taken as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Cut:
    """Where an item was cut: the words that were heard and the audio that was, in ms."""

    transcript: str
    audio_end_ms: int


@dataclass(slots=True)
class Pace:
    """How fast the voice of a conversation speaks, by the answers that it has said to their end."""

    chars: float = SPEECH_CHARS_PER_S * _BELIEVED_S
    seconds: float = _BELIEVED_S

    def learn(self, n_chars: int, audio_ms: float) -> None:
        """An answer of so many characters took so long."""
        self.chars += n_chars
        self.seconds += audio_ms / 1000

    @property
    def chars_per_s(self) -> float:
        """Between `SPEECH_CHARS_PER_S` and what was learned."""
        return self.chars / self.seconds


@dataclass(slots=True)
class Spoken:
    """Words with the audio that speaks them, as far as both have arrived.

    `aligned` says that each piece of text came right before exactly its audio; else the text may run ahead by any
    amount and positions inside are estimated in proportion: to all of its audio where that is there, else by `pace`.
    """

    pace: Pace = field(default_factory=Pace)
    aligned: bool = False
    text: str = ""
    audio_ms: float = 0.0
    audio_complete: bool = False
    _anchors: list[tuple[float, int]] = field(default_factory=list)

    def add_text(self, delta: str) -> None:
        """The next words. They are spoken at or after the audio so far."""
        if self.aligned and (not self._anchors or self._anchors[-1][0] < self.audio_ms):
            self._anchors.append((self.audio_ms, len(self.text)))
        self.text += delta

    def heard_chars(self, heard_ms: float) -> int:
        """How many characters of the text were spoken within the first `heard_ms`."""
        heard_ms = min(heard_ms, self.audio_ms)
        if heard_ms <= 0:
            return 0
        if self.audio_complete and heard_ms > self.audio_ms - 1:
            # What was heard is told in whole ms, rounded down.
            return len(self.text)
        if self.aligned:
            return self._aligned_chars(heard_ms)
        by_share = len(self.text) * (heard_ms / self.audio_ms)
        if self.audio_complete:
            return int(by_share)
        return int(min(by_share, heard_ms / 1000 * self.pace.chars_per_s))

    def teach(self) -> None:
        """It was said to its end: from now on the voice is known better."""
        if self.audio_complete and self.text:
            self.pace.learn(len(self.text), self.audio_ms)

    def _aligned_chars(self, heard_ms: float) -> int:
        """Interpolated between the anchors: piece k is spoken from its anchor to the next one."""
        end_ms, end = self.audio_ms, len(self.text)
        growing = not self.audio_complete
        for start_ms, start in reversed(self._anchors):
            if start_ms < heard_ms:
                chars = (end - start) * ((heard_ms - start_ms) / (end_ms - start_ms))
                if growing:
                    chars = min(chars, (heard_ms - start_ms) / 1000 * MAX_SPEECH_CHARS_PER_S)
                return start + int(chars)
            end_ms, end, growing = start_ms, start, False
        return 0

    def heard_text(self, heard_ms: float) -> str:
        """The text up to the last word that was heard to its end."""
        chars = self.heard_chars(heard_ms)
        end = 0
        for word in _WORD.finditer(self.text):
            if word.end() > chars:
                break
            end = word.end()
        return self.text[:end]


@dataclass(slots=True)
class _Entry:
    """One item while it grows."""

    item: Item
    spoken: Spoken | None = None
    cut: Cut | None = None

    def put(self, item: Item) -> None:
        """Take the new version of the item; what was cut off does not come back."""
        if self.cut is not None:
            item = msgspec.structs.replace(item, status=self.item.status, content=self.item.content)
        elif self.spoken is not None and item.status == "completed" and self.item.status != "completed":
            self.spoken.teach()
        self.item = item


def without_pictures(item: Item) -> Item:
    """The item with the places of its pictures and of its sound, but without their bytes."""
    item = without_sound(item)
    if not any(part.image for part in item.content):
        return item
    content = tuple(msgspec.structs.replace(part, image=None) for part in item.content)
    return msgspec.structs.replace(item, content=content)


def without_sound(item: Item) -> Item:
    """The item with the place of its sound, but without its bytes: a log keeps none."""
    if not any(part.audio for part in item.content):
        return item
    content = tuple(msgspec.structs.replace(part, audio=None, format=None) for part in item.content)
    return msgspec.structs.replace(item, content=content)


class Conversation:
    """Items in order. Ids are unique; an unknown id is a KeyError of the caller's making unless said otherwise."""

    __slots__ = ("_aligned", "_entries", "_order", "_pace", "_pictured")

    def __init__(self, *, aligned: bool = False) -> None:
        self._entries: dict[str, _Entry] = {}
        self._order: list[str] = []
        self._pictured: list[str] = []
        self._aligned = aligned
        self._pace = Pace()

    def set_alignment(self, aligned: bool) -> None:
        """Whether the words of items from now on come right before their audio (`Profile.aligns_transcript`)."""
        self._aligned = aligned

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._entries

    def __len__(self) -> int:
        return len(self._order)

    def add(self, item: Item, previous_item_id: str | None = None) -> str | None:
        """Put the item after `previous_item_id` (null or unknown: at the end, `root`: first); a known id is replaced
        where it stands.

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
                if len(self._pictured) > KEPT_PICTURES:
                    oldest = self._entries.get(self._pictured.pop(0))
                    if oldest is not None:
                        oldest.item = without_pictures(oldest.item)
        place = self._order.index(item.id) if self._order[-1] != item.id else len(self._order) - 1
        return self._order[place - 1] if place else None

    def get(self, item_id: str) -> Item | None:
        """The item as it is now, or None."""
        entry = self._entries.get(item_id)
        return None if entry is None else entry.item

    def items(self) -> tuple[Item, ...]:
        """All items in order: the transcript of the call as it was heard."""
        return tuple(self._entries[item_id].item for item_id in self._order)

    def delete(self, item_id: str) -> bool:
        """Remove the item; False where there is none."""
        if self._entries.pop(item_id, None) is None:
            return False
        self._order.remove(item_id)
        return True

    def keep_latest(self, count: int) -> None:
        """Remove the oldest items, so that at most `count` are left."""
        for item_id in self._order[: max(0, len(self._order) - count)]:
            self.delete(item_id)

    def update(self, item_id: str, **changes: Any) -> Item:
        """Replace fields of the item. Content and status of an item that was cut stay."""
        entry = self._entries[item_id]
        entry.put(msgspec.structs.replace(entry.item, **changes))
        return entry.item

    def set_transcript(self, item_id: str, transcript: str) -> None:
        """What a user item's audio says."""
        words = ContentPart(type="audio", transcript=transcript)
        beside = [part for part in self._entries[item_id].item.content if part.type != "audio"]
        self.update(item_id, content=(*beside, words))

    def set_text(self, item_id: str, text: str) -> None:
        """The text of a text-only answer."""
        self.update(item_id, content=(ContentPart(type="text", text=text),))

    def hear_text(self, item_id: str, delta: str) -> None:
        """More words of an answer. Words after a truncation are not added."""
        entry = self._entries[item_id]
        if entry.cut is None:
            self._spoken(entry).add_text(delta)

    def hear_audio(self, item_id: str, audio_ms: float) -> bool:
        """More audio of a spoken answer. Audio after a truncation does not count. False for an unknown item."""
        entry = self._entries.get(item_id)
        if entry is None:
            return False
        if entry.cut is None:
            spoken = entry.spoken or self._spoken(entry)
            spoken.audio_ms += audio_ms
        return True

    def audio_complete(self, item_id: str) -> None:
        """The answer's audio has arrived whole."""
        self._spoken(self._entries[item_id]).audio_complete = True

    def audio_ms(self, item_id: str) -> float:
        """How much audio of the item has arrived; 0 for an unknown item."""
        entry = self._entries.get(item_id)
        return entry.spoken.audio_ms if entry is not None and entry.spoken is not None else 0.0

    def audio_is_complete(self, item_id: str) -> bool:
        """Whether the item's audio has arrived whole; False for an unknown item, and for one without audio."""
        entry = self._entries.get(item_id)
        return entry is not None and entry.spoken is not None and entry.spoken.audio_complete

    def spoken_text(self, item_id: str) -> str:
        """The words of a spoken answer that count: all so far, or those heard if it was cut."""
        entry = self._entries[item_id]
        if entry.cut is not None:
            return entry.cut.transcript
        return entry.spoken.text if entry.spoken is not None and entry.spoken.text else entry.item.text

    def complete(self, item_id: str, status: ItemStatus = "completed") -> Item:
        """The item will not grow any more; a spoken answer gets its transcript, words without audio are text."""
        entry = self._entries[item_id]
        content, spoken = entry.item.content, entry.spoken
        if spoken is not None and spoken.audio_ms:
            content = (ContentPart(type="audio", transcript=spoken.text),)
        elif spoken is not None and spoken.text and not content:
            content = (ContentPart(type="text", text=spoken.text),)
        entry.put(msgspec.structs.replace(entry.item, status=status, content=content))
        return entry.item

    def truncate(self, item_id: str, heard_ms: float, *, anew: bool = False) -> Cut:
        """Cut the answer after what was heard: the transcript ends with the last word heard to its end.

        `heard_ms` is clamped to the audio that arrived. Cutting twice can only shorten, unless the first cut was wrong
        (`anew`). A text has no audio to cut and stays as it is.
        """
        entry = self._entries[item_id]
        if anew:
            entry.cut = None
        spoken = self._spoken(entry)
        if not spoken.audio_ms and entry.item.content and entry.cut is None:
            return Cut(transcript=entry.item.text, audio_end_ms=0)
        heard_ms = min(max(0.0, heard_ms), spoken.audio_ms)
        cut = Cut(transcript=spoken.heard_text(heard_ms), audio_end_ms=int(heard_ms))
        if entry.cut is not None:
            cut = Cut(
                transcript=min(cut.transcript, entry.cut.transcript, key=len),
                audio_end_ms=min(cut.audio_end_ms, entry.cut.audio_end_ms),
            )
        entry.cut = cut
        entry.item = msgspec.structs.replace(
            entry.item, status="incomplete", content=(ContentPart(type="audio", transcript=cut.transcript),)
        )
        return cut

    def add_tool_call(self, item_id: str, call: ToolCallBlock) -> None:
        """The model asks for a tool."""
        self.add(Item(id=item_id, type="tool_call", tool_call=call))

    def add_tool_result(self, item_id: str, result: ToolResultBlock) -> str | None:
        """What the tool returned. Returns the id of the item before it."""
        return self.add(Item(id=item_id, type="tool_result", tool_result=result))

    def _spoken(self, entry: _Entry) -> Spoken:
        if entry.spoken is None:
            entry.spoken = Spoken(self._pace, aligned=self._aligned)
        return entry.spoken
