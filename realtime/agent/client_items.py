"""Items that the client puts into the conversation, deletes or reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from realtime.agent.context import AgentContext
from realtime.agent.item_sound import at_rate
from realtime.agent.user_turn import UserTurn
from realtime.agent.user_turns import UserTurns
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import MAX_ITEM_ID_CHARS, ContentPart, ImageFormat, Item
from realtime.message import ToolResultBlock, ToolResultState
from realtime.model import base
from realtime.state.conversation import without_pictures, without_sound

ItemEvent = c.ClientItemCreateEvent | c.ClientItemDeleteEvent | c.ClientItemRetrieveEvent | c.ClientImageAppendEvent
MAX_ITEMS = 10_000
"""Most items of a conversation: a client that makes more fills the server's memory."""


class ClientItems:
    """Checks each change; then makes it here, at the model and for listeners."""

    def __init__(self, context: AgentContext, turns: UserTurns) -> None:
        self._context = context
        self._conversation = context.conversation
        self._turns = turns
        self.has_news = False
        """Whether the client added user items since its last response request."""

    def typed(self, text: str) -> Item:
        """Return a typed turn as a checked item; `put` adds it. Raises ClientError."""
        words = ContentPart(type="text", text=text)
        item = Item(id=self._context.runtime.new_id("item"), role="user", name=self._turns.user_name, content=(words,))
        self._check(item)
        return item

    def create(self, item: Item, previous_item_id: str | None = None) -> None:
        """Put an item of the client into the conversation. Raises ClientError for what cannot be taken."""
        self._check(item)
        item = at_rate(item, self._context.profile.input_rate_hz)
        if any(part.audio for part in item.content):
            self._turns.remember(UserTurn(item.id), item.id)  # the model may transcribe it
        self.put(item, previous_item_id)

    def put(self, item: Item, previous_item_id: str | None = None) -> None:
        """Put a checked item into the conversation, and to the model.

        Behind an item that is not there it comes last: the model would refuse that place.
        """
        known = previous_item_id is not None and previous_item_id in self._conversation
        place = previous_item_id if known or previous_item_id == "root" else None
        self._context.send(base.ItemCreate(item, place))
        self._context.add_item(item, place, told=without_sound(item))
        self._context.item_done(without_sound(item))
        self.has_news = self.has_news or item.role == "user"

    def take(self, event: ItemEvent) -> None:
        """Do what the client asks. Raises ClientError."""
        match event:
            case c.ClientItemCreateEvent():
                self.create(event.item, event.previous_item_id)
            case c.ClientItemDeleteEvent():
                self.delete(event.item_id)
            case c.ClientItemRetrieveEvent():
                self.retrieve(event.item_id)
            case c.ClientImageAppendEvent():
                self.look(event.image, event.format)
            case _:
                assert_never(event)

    def look(self, image: bytes, image_format: ImageFormat) -> None:
        """Show the model a picture; a camera sends one a second, so only the model gets its bytes."""
        part = ContentPart(type="image", image=image, media_type=image_format.media_type)
        item = Item(id=self._context.runtime.new_id("item"), role="user", name=self._turns.user_name, content=(part,))
        self._check_room(item)
        self.ask(base.ItemCreate(item))
        self._context.add_item(item, told=without_pictures(item))
        self._context.item_done(without_pictures(item))

    def delete(self, item_id: str) -> None:
        """Delete an item. Raises ClientError for an unknown id."""
        self.known(item_id)
        self.ask(base.ItemDelete(item_id))
        self._context.delete_item(item_id)

    def retrieve(self, item_id: str) -> None:
        """Tell the client an item. Raises ClientError for an unknown id."""
        item = without_sound(self.known(item_id))
        self._context.emit(s.AgentItemRetrievedEvent(item=item, **self._context.who))

    def known(self, item_id: str) -> Item:
        """Return the item. Raises ClientError for an unknown id."""
        item = self._conversation.get(item_id)
        if item is None:
            raise ClientError(f"there is no item {item_id!r}", code="unknown_item")
        return item

    def check_answer(self, item_id: str) -> None:
        """Raise ClientError for an item that is not the agent's, or unknown."""
        if self.known(item_id).role != "assistant":
            raise ClientError(f"item {item_id!r} is not an answer", code="invalid_item")

    def ask(self, message: base.ModelInput) -> None:
        """Send the model what it can take. Raises ClientError for what it cannot."""
        self.refuse(message)
        self._context.send(message)

    def refuse(self, message: base.ModelInput) -> None:
        """Raise ClientError for what the model cannot take."""
        error = base.refusal(self._context.profile, message)
        if error is not None:
            raise error

    def result(self, event: c.ClientToolResultEvent, is_taken: Callable[[str], bool]) -> ToolResultBlock:
        """Return a client's result of a tool. Raises ClientError; `is_taken` tells the ids of results on their way."""
        if event.state == ToolResultState.RUNNING:
            raise ClientError("a tool that runs has no result yet", code="invalid_event")
        if event.item_id is not None:
            self._check_id(event.item_id)
            if event.item_id in self._conversation or is_taken(event.item_id):
                raise ClientError(f"there is an item {event.item_id!r} already", code="invalid_item")
        return ToolResultBlock(id=event.id, name=event.name, output=event.output, state=event.state)

    @staticmethod
    def _check_id(item_id: str) -> None:
        """Raise ClientError for an id that is too long."""
        if len(item_id) > MAX_ITEM_ID_CHARS:
            raise ClientError(f"an item's id has at most {MAX_ITEM_ID_CHARS} characters", code="invalid_item")

    def _check(self, item: Item) -> None:
        self.refuse(base.ItemCreate(item))
        self._check_room(item)

    def _check_room(self, item: Item) -> None:
        self._check_id(item.id)
        if len(self._conversation) >= MAX_ITEMS:
            raise ClientError(f"the conversation has {MAX_ITEMS} items: delete some", code="conversation_full")
