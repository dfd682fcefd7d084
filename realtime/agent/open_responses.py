"""The responses of a call while they run: what is open on the wire, what was dropped, which tools are still out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from realtime.event import model as m
from realtime.event.base import ResponseOverrides
from realtime.message import ToolCallBlock

ThinkingEvent = m.ModelResponseThinkingDeltaEvent | m.ModelResponseThinkingDoneEvent


@dataclass(slots=True)
class Part:
    """One content part that is being answered; every stream that was opened must be closed, whatever happens."""

    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0
    audio_open: bool = False
    transcript_open: bool = False
    text_open: bool = False


@dataclass(slots=True)
class Response:
    """One response of the model."""

    id: str
    out_of_band: bool = False
    metadata: dict[str, Any] | None = None
    """What the client gave with its request."""
    dropped: bool = False
    """Interrupted: what still arrives is not said any more."""
    done: bool = False
    parts: dict[tuple[str, int], Part] = field(default_factory=dict)
    """By item and content index."""
    calls: dict[str, ToolCallBlock] = field(default_factory=dict)
    thoughts: dict[str, list[m.ModelResponseThinkingDeltaEvent]] = field(default_factory=dict)
    """Those that are not complete, by the id of their item."""
    unanswered: set[str] = field(default_factory=set)
    by_client: bool = False
    """The client has answered a call."""
    asked: bool = False
    """The client wants the model to go on once all calls are answered, with these overrides."""
    overrides: ResponseOverrides | None = None

    def part(self, item_id: str, output_index: int, content_index: int) -> Part:
        """The part with these ids, made if it is new."""
        key = (item_id, content_index)
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = Part(self.id, item_id, output_index, content_index)
        return part

    def think(self, event: ThinkingEvent) -> None:
        """Note what has to be closed, should the response end here."""
        if isinstance(event, m.ModelResponseThinkingDeltaEvent):
            self.thoughts.setdefault(event.item_id, []).append(event)
        else:
            self.thoughts.pop(event.item_id, None)

    def end_thoughts(self) -> list[m.ModelResponseThinkingDoneEvent]:
        """The ends of all thoughts that the model left open."""
        open_thoughts, self.thoughts = self.thoughts, {}
        return [
            m.ModelResponseThinkingDoneEvent(
                response_id=self.id,
                item_id=item_id,
                output_index=deltas[0].output_index,
                content_index=deltas[0].content_index,
                thinking="".join(one.delta for one in deltas),
            )
            for item_id, deltas in open_thoughts.items()
        ]

    @property
    def item_ids(self) -> list[str]:
        """The items of its parts, in order."""
        return [*dict.fromkeys(item_id for item_id, _ in self.parts)]


class UserTurn:
    """A turn of the user that may consist of several pieces of audio, since a hasty turn end is undone."""

    __slots__ = ("_captioned", "_growing", "_texts", "end_ms", "item_id", "label", "quiet")

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self.label: str | None = None
        """The `event_id` of the client's commit that ended it."""
        self.end_ms: int | None = None
        """In push-to-talk: where in the client's audio that commit stands."""
        self._texts: dict[str, str] = {}
        self._growing: dict[str, str] = {}
        """What was told so far of pieces whose words are not all known."""
        self._captioned: str | None = None
        self.quiet = False
        """Its growing words were told once already and come again: only the whole of them is told."""

    def add(self, piece_id: str) -> None:
        """A further piece of audio belongs to the turn."""
        self._texts.setdefault(piece_id, "")

    @property
    def is_unfinished(self) -> bool:
        """Whether words of it came of which it was never told that they are all."""
        return any(self._growing.values())

    def finish(self) -> str:
        """No more words will come: what was told of them counts. Returns the words of the turn."""
        self._texts |= {piece_id: words.strip() for piece_id, words in self._growing.items() if words}
        self._growing.clear()
        return self.transcript

    def say(self, piece_id: str, transcript: str) -> str:
        """The words of a piece are known. Returns the words of the turn so far."""
        self._texts[piece_id] = transcript.strip()
        if self.quiet:
            self._growing.clear()  # it was said again, under another name
        self._growing.pop(piece_id, None)
        self.quiet = False
        return self.transcript

    def starts_over(self) -> None:
        """The link was lost before its words were known: it is said to the model again."""
        self.quiet = self.quiet or self._captioned is not None

    @property
    def transcript(self) -> str:
        """The words of all pieces, in the order in which they were spoken."""
        return " ".join(text for text in self._texts.values() if text)

    def caption(self, piece_id: str, delta: str) -> str | None:
        """How the caption of the turn grows by these words of the piece; null where they were told before."""
        if self.quiet:
            return None
        self._growing[piece_id] = self._growing.get(piece_id, "") + delta
        begins, self._captioned = self._captioned != piece_id, piece_id
        return f" {delta}" if begins and next(iter(self._texts), piece_id) != piece_id else delta


@dataclass(slots=True)
class OpenCut:
    """An answer that was interrupted. Told of when it is known how much of it was heard: its truncation, the ends of
    its parts, and its own end where the model has told that meanwhile."""

    item_ids: list[str]
    active: Response | None
    """The response that was running."""
    done: list[m.ModelResponseDoneEvent] = field(default_factory=list)
    cut_ms: dict[str, int] = field(default_factory=dict)
    """Where each item was cut."""
