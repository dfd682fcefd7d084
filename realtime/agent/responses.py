"""The responses of a call while they run: what is open on the wire, what was dropped, which tools are still out."""

from __future__ import annotations

from dataclasses import dataclass, field

from realtime.event.base import ResponseOverrides
from realtime.message import ToolCallBlock


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
    dropped: bool = False
    """Interrupted: what still arrives is not said any more."""
    done: bool = False
    parts: dict[tuple[str, int], Part] = field(default_factory=dict)
    """By item and content index."""
    calls: dict[str, ToolCallBlock] = field(default_factory=dict)
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

    @property
    def item_ids(self) -> list[str]:
        """The items of its parts, in order."""
        return [*dict.fromkeys(item_id for item_id, _ in self.parts)]


class UserTurn:
    """A turn of the user that may consist of several pieces of audio, since a hasty turn end is undone."""

    __slots__ = ("_texts", "item_id")

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self._texts: dict[str, str] = {}

    def add(self, piece_id: str) -> None:
        """A further piece of audio belongs to the turn."""
        self._texts.setdefault(piece_id, "")

    def say(self, piece_id: str, transcript: str) -> str:
        """The words of a piece are known. Returns the words of the turn so far."""
        self._texts[piece_id] = transcript.strip()
        return self.transcript

    @property
    def transcript(self) -> str:
        """The words of all pieces, in the order in which they were spoken."""
        return " ".join(text for text in self._texts.values() if text)

    def lead(self, piece_id: str) -> str:
        """What stands before this piece: nothing for the first, else a space, for a caption that grows."""
        return "" if next(iter(self._texts), piece_id) == piece_id else " "
