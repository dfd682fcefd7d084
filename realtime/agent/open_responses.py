"""Content parts that a response opens on the wire and must close."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from realtime.event import model as m
from realtime.model import base
from realtime.turn.responses import Response

ThinkingEvent = m.ModelResponseThinkingDeltaEvent | m.ModelResponseThinkingDoneEvent
PartEnd = m.ModelResponseAudioDoneEvent | m.ModelResponseAudioTranscriptDoneEvent | m.ModelResponseTextDoneEvent


@dataclass(slots=True)
class Part:
    """One content part of a response. Every stream that was opened must be closed."""

    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0
    audio_open: bool = False
    transcript_open: bool = False
    text_open: bool = False
    words: str = ""
    """What the deltas said."""
    beside_ms: float = 0.0
    """How much was spoken of it, if it is outside the conversation."""


@dataclass(slots=True)
class OpenResponse:
    """The streams of one response."""

    response: Response
    parts: dict[tuple[str, int], Part] = field(default_factory=dict)
    """By item and content index."""
    thoughts: dict[str, list[m.ModelResponseThinkingDeltaEvent]] = field(default_factory=dict)
    """Incomplete thoughts, by the id of their item."""

    def part(self, item_id: str, output_index: int, content_index: int) -> Part:
        """Return the part with these ids, made if it is new."""
        key = (item_id, content_index)
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = Part(self.response.id, item_id, output_index, content_index)
        return part

    def think(self, event: ThinkingEvent) -> None:
        """Note what has to be closed if the response ends here."""
        if isinstance(event, m.ModelResponseThinkingDeltaEvent):
            self.thoughts.setdefault(event.item_id, []).append(event)
        else:
            self.thoughts.pop(event.item_id, None)

    def end_thoughts(self) -> list[m.ModelResponseThinkingDoneEvent]:
        """Return the ends of all thoughts that the model left open."""
        open_thoughts, self.thoughts = self.thoughts, {}
        return [
            m.ModelResponseThinkingDoneEvent(
                response_id=self.response.id,
                item_id=item_id,
                output_index=deltas[0].output_index,
                content_index=deltas[0].content_index,
                thinking="".join(one.delta for one in deltas),
            )
            for item_id, deltas in open_thoughts.items()
        ]

    def end_parts(self, words: Callable[[str], str]) -> Iterator[PartEnd]:
        """Yield the ends of all streams that the model left open; `words` returns the text of an item."""
        for part in self.parts.values():
            where: dict[str, Any] = {
                "response_id": part.response_id,
                "item_id": part.item_id,
                "output_index": part.output_index,
                "content_index": part.content_index,
            }
            if part.audio_open:
                part.audio_open = False
                yield m.ModelResponseAudioDoneEvent(**where)
            if part.transcript_open:
                part.transcript_open = False
                yield m.ModelResponseAudioTranscriptDoneEvent(transcript=words(part.item_id), **where)
            if part.text_open:
                part.text_open = False
                yield m.ModelResponseTextDoneEvent(text=words(part.item_id), **where)

    @property
    def item_ids(self) -> list[str]:
        """The items of its parts, in order."""
        return [*dict.fromkeys(item_id for item_id, _ in self.parts)]


@dataclass(slots=True)
class OpenCut:
    """A truncation that waits for clients to report how much they played.

    Until then the ends of the response's parts, and its own end if the model has sent it, are withheld, and so are
    requests for what follows.
    """

    item_ids: list[str]
    running: Response | None
    """The response that ran when it was interrupted."""
    done: list[m.ModelResponseDoneEvent] = field(default_factory=list)
    cuts_ms: dict[str, int] = field(default_factory=dict)
    """Where each item was cut."""
    requests: list[base.ResponseCreate] = field(default_factory=list)
    """What the model is asked for once it knows that."""
