"""Turns that a Gemini connection has not said yet: they wait for the next audio or request."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from realtime.event.base import Item
from realtime.model.gemini import shapes

Json = dict[str, Any]

_WAITING_PICTURES = 8
_REMEMBERED_TURNS = 64
"""Turns whose message is remembered."""


class Untold:
    """The restored conversation, and the turns behind it, in order."""

    def __init__(self) -> None:
        self._seed: list[Json] = []
        self._seed_item_id: str | None = None
        self._turns: list[Json] = []
        self._item_id: str | None = None
        self._told: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED_TURNS)

    def __bool__(self) -> bool:
        return bool(self._seed or self._turns)

    @property
    def has_turns(self) -> bool:
        """Whether a turn waits beside the restored conversation."""
        return bool(self._turns)

    def restore(self, history: Sequence[Item], signatures: dict[str, str]) -> None:
        """Keep the conversation so far, which this connection does not know."""
        self._seed_item_id = history[-1].id if history else None
        self._seed = [
            content for item in history if (content := shapes.write_content(item, signatures.get(item.id))) is not None
        ]

    def take_seed(self) -> tuple[list[Json], str | None]:
        """The restored conversation, once, and its last item."""
        seed, self._seed = self._seed, []
        return seed, self._seed_item_id

    def add(self, turn: Json, item_id: str | None = None) -> None:
        """Keep a turn. A camera sends a picture a second, also in silence: only the latest pictures wait."""
        self._turns.append(turn)
        self._item_id = item_id or self._item_id
        shown = [one for one in self._turns if any("inlineData" in part for part in one["parts"])]
        for one in shown[:-_WAITING_PICTURES]:
            one["parts"] = [part for part in one["parts"] if "inlineData" not in part]
        self._turns = [one for one in self._turns if one["parts"]]

    def take_images(self) -> list[Json]:
        """The pictures in the turns, which the caller shows on their own."""
        images: list[Json] = []
        turns = []
        for turn in self._turns:
            images += [part["inlineData"] for part in turn["parts"] if "inlineData" in part]
            parts = [part for part in turn["parts"] if "inlineData" not in part]
            if parts:
                turns.append(turn | {"parts": parts})
        self._turns = turns
        return images

    def take_turns(self, message_index: int) -> list[Json]:
        """All turns, for the client message of this index."""
        turns, self._turns = self._turns, []
        if self._item_id is not None:
            self._told.append((message_index, self._item_id))
            self._item_id = None
        return turns

    def told_by(self, message_index: int) -> str | None:
        """The last item since the last response up to this message."""
        return next((item_id for index, item_id in reversed(self._told) if index <= message_index), None)

    def answered(self) -> None:
        """The service has answered: it knows all that was said."""
        self._told.clear()
