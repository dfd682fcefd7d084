"""What a list of calls says about one call: its first words, its turns and its errors. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from realtime.event import server as s
from realtime.state.log import AudioRun, Entry

FIRST_WORDS_CHARS = 140
_WORDS_OF = 4
"""Turns whose words are kept: the first ones may be withdrawn."""


class Gist:
    """Follows a call. A resumed call goes on from what was known of it."""

    def __init__(self, first_words: str = "", turns: int = 0, errors: int = 0) -> None:
        self._first_words = first_words
        self._earlier_turns = turns
        self._turns: dict[str, str] = {}
        """The user's items, the first ones with their words."""
        self.errors = errors
        """Errors that the client was told."""

    @property
    def first_words(self) -> str:
        """The first words of a user, at most `FIRST_WORDS_CHARS`; empty where nothing was said."""
        return self._first_words or next(filter(None, self._turns.values()), "")

    @property
    def turns(self) -> int:
        """How many turns users took, by voice and in writing."""
        return self._earlier_turns + len(self._turns)

    def read(self, entries: Iterable[Entry]) -> Gist:
        """Take these entries; returns itself."""
        for entry in entries:
            if not isinstance(entry, AudioRun):
                self.take(entry)
        return self

    def take(self, event: s.ServerEvent) -> bool:
        """Take the next event; returns whether the gist has changed."""
        match event:
            case s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=words):
                return self._said(item_id, words)
            case s.AgentItemAddedEvent(item=item) | s.AgentItemDoneEvent(item=item):
                return item.role == "user" and item.type == "message" and self._said(item.id, item.text)
            case s.AgentItemDeletedEvent(item_id=item_id):
                return self._turns.pop(item_id, None) is not None
            case s.AgentErrorEvent():
                self.errors += 1
                return True
            case _:
                return False

    def _said(self, item_id: str, words: str) -> bool:
        words = " ".join(words.split())
        if not words:
            return False
        if len(words) > FIRST_WORDS_CHARS:
            words = f"{words[: FIRST_WORDS_CHARS - 1].rstrip()}…"
        known = self._turns.get(item_id)
        kept = words if known or len(self._turns) < _WORDS_OF else ""
        self._turns[item_id] = kept
        return kept != known
