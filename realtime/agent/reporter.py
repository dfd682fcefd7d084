"""What an agent says in the call: its events with its name on them, and the items it adds to the conversation."""

from __future__ import annotations

from typing import Any

from realtime.call.participant import Host
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item


class Reporter:
    """Emits with the agent's identity and keeps the conversation in step with what it tells."""

    __slots__ = ("agent_id", "agent_name", "conversation", "emit", "who")

    def __init__(self, host: Host, agent_id: str, agent_name: str) -> None:
        self.emit = host.emit
        self.conversation = host.conversation
        self.agent_id = agent_id
        self.agent_name = agent_name
        self.who: dict[str, Any] = {"agent_id": agent_id, "agent_name": agent_name}

    def forward(self, event: m.ModelEvent, **known: str) -> None:
        """The agent's event with the same meaning. `known` are ids that are equal: the log then keeps one object of an
        id, not one for each of the thousand events that name it."""
        self.emit(s.from_model_event(event, **self.who, **known))

    def add_item(self, item: Item, previous_item_id: str | None = None, *, told: Item | None = None) -> None:
        """A new item of the conversation; `told` is what is said of it, where that is less."""
        before = self.conversation.add(item, previous_item_id)
        self.emit(s.AgentItemAddedEvent(item=told or item, previous_item_id=before, **self.who))

    def item_done(self, item: Item) -> None:
        """The item will not grow any more."""
        self.emit(s.AgentItemDoneEvent(item=item, **self.who))

    def delete_item(self, item_id: str) -> None:
        """The item leaves the conversation; an unknown one is none."""
        if self.conversation.delete(item_id):
            self.emit(s.AgentItemDeletedEvent(item_id=item_id, **self.who))
