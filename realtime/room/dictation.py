"""What an agent has heard and has not written down yet."""

from __future__ import annotations

from realtime.room.utterance import Utterance

KEPT_WAITING = 50
"""Turns per human kept with their sound until their words are known."""


class Dictation:
    """The turns that one agent is to write down, in order.

    A provider that ends turns by itself gives them ids of its own: which of these is which turn is guessed.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Utterance] = {}
        self._guessed: dict[str, str] = {}
        """Turns (by id) by the item that is taken to be theirs."""

    def add(self, utterance: Utterance) -> None:
        """The agent has heard a turn. The oldest of more than `KEPT_WAITING` of one human is forgotten."""
        self._waiting[utterance.id] = utterance
        of_the_same = [one for one in self._waiting.values() if one.who == utterance.who]
        if len(of_the_same) > KEPT_WAITING:
            self.forget(of_the_same[0])

    def forget(self, utterance: Utterance) -> None:
        """Its words are not waited for any more."""
        self._waiting.pop(utterance.id, None)
        self._guessed = {item_id: one for item_id, one in self._guessed.items() if one != utterance.id}

    def guess(self, item_id: str) -> None:
        """Guess which turn the provider means: it names them in order, but may merge two."""
        known = self._guessed.values()
        utterance_id = next((one for one in self._waiting if one not in known), None)
        if utterance_id is not None:
            self._guessed[item_id] = utterance_id

    def guessed(self, item_id: str) -> str | None:
        """The turn (by id) that an item was guessed to be; asked once."""
        return self._guessed.pop(item_id, None)

    def take(self, utterance_id: str | None) -> Utterance | None:
        """The turn of this id, which is written down now; None where the agent has not heard it."""
        return self._waiting.pop(utterance_id or "", None)

    def take_all(self) -> list[Utterance]:
        """All that was not written down, and will not be."""
        waiting = [*self._waiting.values()]
        self._waiting.clear()
        self._guessed.clear()
        return waiting
