"""What the parts of a controller share: the call, the model, and events with the agent's name on them."""

from __future__ import annotations

from typing import Any

from realtime.agent.claims import ClaimCheck
from realtime.call.participant import Host
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item
from realtime.model import base


class AgentContext:
    """One agent between its call and its model; keeps the conversation in step with what it reports."""

    def __init__(
        self,
        host: Host,
        connection: base.Connection,
        agent_id: str,
        agent_name: str,
        claims: ClaimCheck | None = None,
    ) -> None:
        self.emit = host.emit
        self.conversation = host.conversation
        self.ears = host.ears
        self.runtime = host.runtime
        self.profile = connection.profile
        self.send = connection.send
        self.claims = claims
        """Checks what the agent says; None: nothing does."""
        self.agent_id = agent_id
        self.agent_name = agent_name
        self.who: dict[str, Any] = {"agent_id": agent_id, "agent_name": agent_name}

    def forward(self, event: m.ModelEvent, **known: str) -> None:
        """Emit the agent's event with the same meaning.

        `known` are equal ids: the log then keeps one object of an id, not one for each of a thousand events.
        """
        self.emit(s.from_model_event(event, **self.who, **known))

    def add_item(self, item: Item, previous_item_id: str | None = None, *, told: Item | None = None) -> None:
        """Add an item to the conversation; `told` is the part of it that is emitted, if not all."""
        before = self.conversation.add(item, previous_item_id)
        self.emit(s.AgentItemAddedEvent(item=told or item, previous_item_id=before, **self.who))

    def item_done(self, item: Item) -> None:
        """Report that the item is complete."""
        self.emit(s.AgentItemDoneEvent(item=item, **self.who))

    def delete_item(self, item_id: str) -> None:
        """Delete the item from the conversation; does nothing for an unknown id."""
        if self.conversation.delete(item_id):
            self.emit(s.AgentItemDeletedEvent(item_id=item_id, **self.who))
