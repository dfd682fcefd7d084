"""A turn of the user, with the words of its pieces."""

from __future__ import annotations

from collections.abc import Sequence

from realtime.turn.small_talk import without_repeated


class UserTurn:
    """A turn of the user. A hasty turn end that is undone leaves it with several pieces of audio."""

    __slots__ = ("_captioned", "_echo_words", "_growing", "_texts", "end_ms", "item_id", "label", "quiet")

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self.label: str | None = None
        """The `event_id` of the client's commit that ended it."""
        self.end_ms: int | None = None
        """In push-to-talk: the position of that commit in the client's audio."""
        self._texts: dict[str, str] = {}
        self._growing: dict[str, str] = {}
        """What was reported so far of pieces whose words are incomplete."""
        self._captioned: str | None = None
        self._echo_words: Sequence[str] = ()
        self.quiet = False
        """Its growing words were reported once and come again: only the complete words are reported."""

    def add(self, piece_id: str) -> None:
        """Add a piece of audio to the turn."""
        self._texts.setdefault(piece_id, "")

    def begins_after(self, echo_words: Sequence[str]) -> None:
        """The microphone heard these words of the reply right before it: they are not the user's."""
        self._echo_words = echo_words
        self.quiet = True

    def ends_with(self, piece_id: str) -> bool:
        """Whether this is its last piece."""
        return next(reversed(self._texts), None) == piece_id

    @property
    def piece_ids(self) -> tuple[str, ...]:
        """Its pieces of audio, as the model calls them."""
        return (*self._texts,)

    @property
    def growing_words(self) -> str:
        """The words reported so far, also of pieces whose words are incomplete."""
        texts = (self._growing.get(piece_id) or text for piece_id, text in self._texts.items())
        return " ".join(text.strip() for text in texts if text)

    @property
    def is_unfinished(self) -> bool:
        """Whether words of it were reported and never completed."""
        return any(self._growing.values())

    def finish(self) -> str:
        """Take the words reported so far as complete; return the words of the turn."""
        self._texts |= {piece_id: words.strip() for piece_id, words in self._growing.items() if words}
        self._growing.clear()
        return self.transcript

    def say(self, piece_id: str, transcript: str) -> str:
        """Set the words of a piece; return the words of the turn so far."""
        first = not any(self._texts.values())
        self._texts[piece_id] = without_repeated(transcript, self._echo_words if first else ()).strip()
        if self.quiet:
            self._growing.clear()  # the piece was said again, under another name
        self._growing.pop(piece_id, None)
        self.quiet = False
        return self.transcript

    def starts_over(self) -> None:
        """The link was lost before its words were known: the model hears it again."""
        self.quiet = self.quiet or self._captioned is not None

    @property
    def transcript(self) -> str:
        """The words of all pieces, in spoken order."""
        return " ".join(text for text in self._texts.values() if text)

    def has_words(self, piece_id: str) -> bool:
        """Whether the complete words of a piece are known."""
        return bool(self._texts.get(piece_id)) and not self.quiet

    def caption(self, piece_id: str, delta: str) -> str | None:
        """Return how these words of a piece extend the turn's caption; None if they were reported before."""
        if self.quiet:
            return None
        self._growing[piece_id] = self._growing.get(piece_id, "") + delta
        begins, self._captioned = self._captioned != piece_id, piece_id
        return f" {delta}" if begins and next(iter(self._texts), piece_id) != piece_id else delta
