"""What happened in a room: its log, its conversation, and its listeners."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from realtime.event import server as s
from realtime.event.base import Item
from realtime.room.human_participant import KEPT_ITEMS, HumanParticipant
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.log import Log
from realtime.state.restore import ConversationReader

MAX_ITEMS = 1_000
"""How many of the latest items a room keeps."""
TOLD_ITEMS = 200
"""How many of the latest items a new human gets."""


class Record:
    """Takes the events of a room; passes them to `humans`, the room's own list."""

    def __init__(self, humans: Sequence[HumanParticipant]) -> None:
        self._humans = humans
        self.log: Log | None = None
        """Each event of the room in its order; None before the room has begun."""
        self.conversation = Conversation()
        """What was said, with names; of agents the words that were heard."""
        self.on_event: list[Callable[[s.ServerEvent], None]] = []
        """Called with each event of the room."""
        self._reader = ConversationReader(self.conversation)
        self._speakers: dict[str, str] = {}
        """Participants (by id) who said the latest items (by id); they may have left."""
        self._earlier: set[str] = set()
        """Items from before the room was saved."""

    def speakers_of(self, items: Iterable[Item]) -> dict[str, str]:
        """Return who said these items, where known, by item id."""
        return {item.id: self._speakers[item.id] for item in items if item.id in self._speakers}

    def recall(self, items: Iterable[Item], speakers: Mapping[str, str]) -> None:
        """Begin with what was said earlier, before anything is said."""
        for item in items:
            self.conversation.add(item)
            self._earlier.add(item.id)
        self._speakers.update(speakers)

    def comes_back(self, human_id: str, name: str) -> None:
        """Let a human have said what is saved under their name."""
        for item in self.conversation.items() if self._earlier else ():
            if item.id in self._earlier and item.role == "user" and item.name == name:
                self._speakers[item.id] = human_id

    def begin(self, runtime: Runtime) -> None:
        """Keep a log from now on."""
        self.log = Log(runtime.now)

    def tell(self, event: s.ServerEvent, told: HumanParticipant | None = None) -> None:
        """Log an event; pass it to every human except `told`, who knows already."""
        if self.log is None:
            return
        if type(event) is s.AgentItemAddedEvent:
            self._speakers[event.item.id] = event.agent_id
            if len(self._speakers) > KEPT_ITEMS:
                del self._speakers[next(iter(self._speakers))]
            items = self.conversation.items()
            event = msgspec.structs.replace(event, previous_item_id=items[-1].id if items else None)
        self.log.append(event)
        self._reader.read(event)
        self.conversation.keep_latest(MAX_ITEMS)
        for human in self._humans:
            if human is not told:
                human.tell(event)
        for follow in self.on_event:
            follow(event)

    def complain(self, message: str, code: str) -> None:
        """Tell everyone of a fault of the room."""
        self.tell(s.AgentErrorEvent(error_type="server_error", code=code, message=message))

    def tell_history(self, human: HumanParticipant, pending: Container[str]) -> None:
        """Send a human the latest items, as those present got them.

        `pending` are the items whose words are not known yet: they are not done.
        """
        before: str | None = None
        for item in self.conversation.items()[-TOLD_ITEMS:]:
            who: dict[str, Any] = {"agent_id": self._speakers.get(item.id, ""), "agent_name": item.name or ""}
            human.tell(s.AgentItemAddedEvent(item=item, previous_item_id=before, **who))
            if item.status != "in_progress" and item.id not in pending:
                human.tell(s.AgentItemDoneEvent(item=item, previous_item_id=before, **who))
            before = item.id
