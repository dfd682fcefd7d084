"""The part of the OpenAI realtime dialect that DashScope's clients share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Generic, TypeVar

from realtime.agent.responses import RESPONSE_REFUSED
from realtime.audio.playback import KEPT_ITEMS
from realtime.dialects.base import Frame, keep
from realtime.dialects.openai_family import client
from realtime.dialects.openai_family.client import EventRefusal, Json, Reader
from realtime.dialects.openai_family.input import Input
from realtime.dialects.openai_family.openai_listener import FollowingListener
from realtime.dialects.openai_family.replies import Replies, Running
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import Item
from realtime.message import ToolResultBlock
from realtime.runtime import Runtime

KEPT_GHOSTS = 64
"""Withdrawn, unplayed responses that a client may still name."""


R = TypeVar("R", bound=Replies)
L = TypeVar("L", bound=FollowingListener)
F = TypeVar("F", bound=client.Frame)


class FamilyDialect(ABC, Generic[F, R, L]):
    """One such client: what both flavours of the protocol do alike. Frames are of type F, replies of R."""

    _reader: Reader[F]
    _input: Input

    def __init__(self, runtime: Runtime, session: Json) -> None:
        self._new_id = runtime.new_id
        self._new_event_id = _numbered(runtime.new_id("event"))
        self._replies: R = self._make_replies()
        self._listener: L | None = None
        self._session = session
        self._pending: tuple[Json, Json] | None = None
        self._params: tuple[str, str | None] | None = None
        self._goodbye = (1000, "")
        self._spoke = False
        self._items: dict[str, Item] = {}
        self._ghosts: dict[str, None] = {}
        self._asked: set[tuple[str, str]] = set()
        self._open_calls: dict[str, str] = {}
        self._settled_calls: dict[str, str] = {}
        self._lapsed: set[str] = set()
        self._running: Running | None = None
        self._beside: set[str] = set()
        """Responses outside the conversation that run."""
        self._awaiting = False
        self._voiced: list[str] = []

    def farewell(self) -> tuple[int, str]:
        """Close code and reason for the socket once the call is over."""
        return self._goodbye

    def more(self) -> Sequence[c.ClientEvent]:
        """Return nothing: a frame of this protocol says one thing."""
        return ()

    # -- from the client -------------------------------------------------------------------------------------------

    def decode(self, frame: Frame) -> c.ClientEvent | s.ServerEvent:
        """See `ClientDialect`. A frame that is refused changes nothing, so it may be decoded again."""
        try:
            return self._meaning(self._reader.read(frame))
        except EventRefusal as refusal:
            # Errors travel as events of the call, which have no field for the parameter.
            self._params = (refusal.message, refusal.param)
            raise

    def _meaning(self, read: F) -> c.ClientEvent | s.ServerEvent:
        try:
            return self._event(read, read.event_id)
        except EventRefusal as refusal:
            refusal.client_event_id = read.event_id
            raise
        except RecursionError:
            raise EventRefusal("The event is nested too deeply.", code="invalid_event") from None

    def _param(self, event: s.AgentErrorEvent) -> str | None:
        """The parameter of the refusal that the event tells; once."""
        if self._params is None or self._params[0] != event.message:
            return None
        param, self._params = self._params[1], None
        return param

    def _retrieve(self, item_id: str, label: str | None) -> c.ClientEvent | s.ServerEvent:
        if item_id in self._ghosts:
            return s.AgentItemRetrievedEvent(item=Item(id=item_id, role="assistant", status="incomplete"))
        known = self._known(item_id, "retriev")
        if known.type != "message":
            # The client sees calls and results in this protocol's shape.
            return s.AgentItemRetrievedEvent(item=known)
        return c.ClientItemRetrieveEvent(item_id=item_id, event_id=label)

    def _delete(self, item_id: str, label: str | None) -> c.ClientEvent | s.ServerEvent:
        if item_id in self._ghosts:
            del self._ghosts[item_id]
            self._asked.add(("delete", item_id))
            return s.AgentItemDeletedEvent(item_id=item_id)
        self._known(item_id, "delet")
        self._asked.add(("delete", item_id))
        return c.ClientItemDeleteEvent(item_id=item_id, event_id=label)

    def _known(self, item_id: str, verb: str) -> Item:
        """Return the item; raises EventRefusal for an unknown one. `verb` is the stem of what the client asks for."""
        item = self._items.get(item_id)
        if item is None:
            raise self._unknown_item(item_id, verb)
        return item

    def _commit(self, label: str | None) -> c.ClientEvent:
        self._input.commit(detects=self._detects)
        if self._running is None:
            self._settle()
        return c.ClientAudioCommitEvent(event_id=label)

    def _note_voice(self, item_id: str) -> None:
        """Speech of this item is being sent."""
        if self._voiced and self._voiced[-1] == item_id:
            return
        if item_id in self._voiced:
            self._voiced.remove(item_id)
        self._voiced.append(item_id)
        del self._voiced[:-KEPT_ITEMS]

    def _settle(self) -> None:
        """Count the speech sent so far as played: in these protocols a new request interrupts nothing."""
        if self._listener is not None:
            self._listener.settle(self._voiced)
        self._voiced.clear()

    def _result(
        self, call_id: str, output: str, item_id: str | None, label: str | None
    ) -> c.ClientEvent | s.ServerEvent | None:
        """The client's result of a call, as the item that it names; `None` where no call waits for it or has."""
        if call_id in self._open_calls:
            name = self._open_calls.pop(call_id)
            self._settled_calls[call_id] = name
            self._asked.add(("result", call_id))
            if item_id is not None:  # from now on the id is taken
                block = ToolResultBlock(id=call_id, name=name, output=output)
                self._items[item_id] = Item(id=item_id, type="tool_result", tool_result=block)
            return c.ClientToolResultEvent(id=call_id, name=name, output=output, item_id=item_id, event_id=label)
        if call_id in self._lapsed:
            # The model continued without it.
            self._lapsed.discard(call_id)
            self._asked.add(("result", call_id))
            late = ToolResultBlock(id=call_id, name=self._settled_calls[call_id], output=output)
            return s.AgentResponseToolResultEvent(tool_result=late, item_id=item_id or self._new_id("item"))
        return None

    def _returned(self, event: s.AgentResponseToolResultEvent) -> None:
        call_id = event.tool_result.id
        name = self._open_calls.pop(call_id, None)
        if name is not None:
            self._settled_calls[call_id] = name
            self._lapsed.add(call_id)
        if call_id in self._settled_calls and event.item_id is not None:
            self._items[event.item_id] = Item(id=event.item_id, type="tool_result", tool_result=event.tool_result)

    # -- following the call: at once, also while the client does not read -------------------------------------------

    def follow(self, event: s.ServerEvent) -> None:
        """Note what the next frame of the client may refer to."""
        match event:
            case s.AgentResponseAudioDeltaEvent():
                self._spoke = True
                self._note_voice(event.item_id)
            case s.ServerSessionCreatedEvent():
                self._session["id"] = f"sess_{event.call_id.removeprefix('call_')}"
                self._replies.conversation_id = self._new_id("conv")
            case s.ServerSessionUpdatedEvent():
                if self._pending is not None and self._pending[1] is event.config:
                    self._take_on(self._pending[0])
                self._pending = None
            case s.AgentItemAddedEvent() | s.AgentItemDoneEvent():
                self._items[event.item.id] = event.item
            case s.AgentItemDeletedEvent():
                self._items.pop(event.item_id, None)
                if ("delete", event.item_id) not in self._asked:
                    keep(self._ghosts, event.item_id, None, KEPT_GHOSTS)
            case s.AgentResponseCreatedEvent(conversation="none"):
                self._beside.add(event.response_id)
            case s.AgentResponseCreatedEvent():
                self._awaiting = False
                if self._running is None:
                    self._running = Running(event.response_id)
                self._running.goes_on(event.response_id)
            case s.AgentResponseToolUseDoneEvent():
                self._called(event)
            case s.AgentResponseToolResultEvent():
                self._returned(event)
            case s.AgentResponseDoneEvent():
                self._beside.discard(event.response_id)
                if self._running is not None and self._running.ends(event):
                    self._running = None
            case s.ServerAudioFlushEvent() | s.AgentReconnectingEvent():
                self._nothing_follows()
                self._follow_input(event)
            case s.AgentErrorEvent() if event.code in RESPONSE_REFUSED:
                self._nothing_follows()
            case _:
                self._follow_input(event)

    def _follow_input(self, event: s.ServerEvent) -> None:
        """Note what happens to the user's side of the call."""
        self._input.follow(event, detects=self._detects)

    def _take_on(self, session: Json) -> None:
        """Put new settings in force."""
        self._session = session

    def _nothing_follows(self) -> None:
        self._awaiting = False
        if self._running is not None and self._running.waits:
            self._running = None

    def _called(self, event: s.AgentResponseToolUseDoneEvent) -> None:
        call, running = event.tool_use, self._running
        in_client = self._is_client_tool(call.name) and call.may_run
        ours = not in_client and not self._is_followed_by_client(call.name)
        if running is not None and running.model_id == event.response_id:
            running.server_calls += ours
            running.client_calls += not ours
        if in_client:
            self._open_calls[call.id] = call.name
            self._items[event.item_id] = Item(id=event.item_id, type="tool_call", tool_call=call)

    def _is_followed_by_client(self, name: str) -> bool:
        """Whether the client asks for what follows this tool of ours."""
        return False

    # -- to the client ---------------------------------------------------------------------------------------------

    def _told(self, event: s.ServerEvent) -> list[str]:
        """The frames that say the event; speech has none here."""
        replies = self._replies
        match event:
            case s.ServerSessionCreatedEvent():
                return [self._frame("session.created", session=self._session)]
            case s.ServerSessionUpdatedEvent():
                return [self._frame("session.updated", session=self._session)]
            case s.ServerSessionEndedEvent():
                return self._ended(event.reason)
            case s.AgentErrorEvent():
                frames = replies.abandon("failed", {"code": event.code}) if event.code in RESPONSE_REFUSED else []
                return [*self._error(event), *frames]
            case s.AgentReconnectingEvent():
                return replies.abandon("failed", {"reason": "connection_lost"})
            case s.ServerAudioFlushEvent():
                return replies.interrupted(event.reason)
            case s.AgentResponseCreatedEvent():
                return replies.created(event, self._session)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                return replies.words(event)
            case (
                s.AgentResponseAudioDoneEvent()
                | s.AgentResponseAudioTranscriptDoneEvent()
                | s.AgentResponseTextDoneEvent()
            ):
                return replies.finished(event)
            case s.AgentResponseToolUseDeltaEvent() | s.AgentResponseToolUseDoneEvent():
                runs_there = self._is_client_tool(event.tool_use.name) and event.tool_use.may_run
                return replies.tool_use(event, ours=not runs_there)
            case s.AgentResponseToolResultEvent():
                return self._tool_result(event)
            case s.AgentResponseDoneEvent():
                return replies.done(event)
            case s.AgentItemDoneEvent() if ("create", event.item.id) not in self._asked:
                return replies.item_done(event.item)
            case s.AgentItemRetrievedEvent():
                return [self._frame("conversation.item.retrieved", item=replies.flavour.item(event.item))]
            case s.AgentItemDeletedEvent():
                if ("delete", event.item_id) not in self._asked:
                    return []
                self._asked.discard(("delete", event.item_id))
                return [self._frame("conversation.item.deleted", item_id=event.item_id)]
            case _:
                return self._told_of_input(event)

    # -- what differs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_replies(self) -> R: ...

    @abstractmethod
    def _event(self, read: F, label: str | None) -> c.ClientEvent | s.ServerEvent:
        """What the frame means. Raises EventRefusal."""

    @abstractmethod
    def _unknown_item(self, item_id: str, verb: str) -> EventRefusal: ...

    @property
    @abstractmethod
    def _detects(self) -> bool:
        """Whether a detector finds the turns."""

    @abstractmethod
    def _is_client_tool(self, name: str) -> bool: ...

    @abstractmethod
    def _told_of_input(self, event: s.ServerEvent) -> list[str]:
        """Items, and the user's side of the call. What the protocol has no event for is not sent."""

    @abstractmethod
    def _tool_result(self, event: s.AgentResponseToolResultEvent) -> list[str]: ...

    @abstractmethod
    def _error(self, event: s.AgentErrorEvent) -> list[str]: ...

    @abstractmethod
    def _ended(self, reason: str) -> list[str]: ...

    @abstractmethod
    def _frame(self, kind: str, **fields: Any) -> str: ...


def _numbered(head: str) -> Callable[[], str]:
    """Makes ids that begin alike and count up."""
    numbers = count(1)
    return lambda: f"{head}{next(numbers):06d}"
