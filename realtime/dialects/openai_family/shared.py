"""What the dialects of OpenAI's realtime protocol and of its relative, DashScope's, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from realtime.audio.playback import KEPT_ITEMS
from realtime.dialects.openai_family.openai_client import Refusal
from realtime.dialects.openai_family.openai_listener import FollowingListener
from realtime.dialects.openai_family.openai_server import Running, refuses_response
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import MAX_ITEM_ID_CHARS, Item, ResponseStatus
from realtime.message import ToolResultBlock
from realtime.runtime import Runtime

Json = dict[str, Any]


class FamilyReplies(Protocol):
    """The responses of one session as the client sees them. Each method returns the frames that say it."""

    def created(self, event: s.AgentResponseCreatedEvent, session: Json) -> list[str]: ...

    def words(self, event: s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent) -> list[str]: ...

    def finished(
        self,
        event: s.AgentResponseAudioDoneEvent | s.AgentResponseAudioTranscriptDoneEvent | s.AgentResponseTextDoneEvent,
    ) -> list[str]: ...

    def tool_use(
        self, event: s.AgentResponseToolUseDeltaEvent | s.AgentResponseToolUseDoneEvent, *, ours: bool
    ) -> list[str]: ...

    def done(self, event: s.AgentResponseDoneEvent) -> list[str]: ...

    def interrupted(self, reason: str) -> list[str]: ...

    def abandon(self, status: ResponseStatus, details: Json | None) -> list[str]: ...


class ClientFrame(Protocol):
    """A frame that was read."""

    @property
    def event_id(self) -> str | None:
        """The client's name for it."""
        ...


R = TypeVar("R", bound=FamilyReplies)
L = TypeVar("L", bound=FollowingListener)
F = TypeVar("F", bound=ClientFrame)


class FamilyDialect(ABC, Generic[F, R, L]):
    """The state of one such client, and what is said in the same events. Frames are of type F, replies of R."""

    def __init__(self, runtime: Runtime, session: Json) -> None:
        self._new_id = runtime.new_id
        self._event_head = runtime.new_id("event")
        self._events = 0
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
        self._awaiting = False
        self._voiced: list[str] = []

    def farewell(self) -> tuple[int, str]:
        """With which code and reason the socket is closed once the call is over."""
        return self._goodbye

    # -- from the client -------------------------------------------------------------------------------------------

    def _meaning(self, read: F) -> c.ClientEvent | s.ServerEvent:
        try:
            return self._event(read, read.event_id)
        except Refusal as refusal:
            refusal.client_event_id = read.event_id
            raise
        except RecursionError:
            raise Refusal("The event is nested too deeply.", code="invalid_event") from None

    def _noted(self, refusal: Refusal) -> Refusal:
        """Errors travel as events of the call, which have no place for the parameter."""
        self._params = (refusal.message, refusal.param)
        return refusal

    @staticmethod
    def _check_id(item_id: str | None) -> None:
        """Raises Refusal for one that is made to fill our memory."""
        if item_id is not None and len(item_id) > MAX_ITEM_ID_CHARS:
            raise Refusal(
                f"An item's id has at most {MAX_ITEM_ID_CHARS} characters.",
                code="string_above_max_length",
                param="item.id",
            )

    def _note_voice(self, item_id: str) -> None:
        """Speech of this item is on its way."""
        if self._voiced and self._voiced[-1] == item_id:
            return
        if item_id in self._voiced:
            self._voiced.remove(item_id)
        self._voiced.append(item_id)
        del self._voiced[:-KEPT_ITEMS]

    def _settle(self) -> None:
        """Asking for more interrupts nothing in these protocols: what was said so far counts as heard."""
        if self._listener is not None:
            self._listener.settle(self._voiced)
        self._voiced.clear()

    def _result(
        self, call_id: str, output: str, item_id: str | None, label: str | None
    ) -> c.ClientEvent | s.ServerEvent | None:
        """The client's result of a call, as the item that it names; None where no call waits for it or has."""
        if call_id in self._open_calls:
            name = self._open_calls.pop(call_id)
            self._settled_calls[call_id] = name
            self._asked.add(("result", call_id))
            if item_id is not None:  # from now on the id is taken
                block = ToolResultBlock(id=call_id, name=name, output=output)
                self._items[item_id] = Item(id=item_id, type="tool_result", tool_result=block)
            return c.ClientToolResultEvent(id=call_id, name=name, output=output, item_id=item_id, event_id=label)
        if call_id in self._lapsed:
            # The model went on without it.
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

    # -- following the call ----------------------------------------------------------------------------------------

    def _nothing_follows(self) -> None:
        self._awaiting = False
        if self._running is not None and self._running.waits:
            self._running = None

    def _called(self, event: s.AgentResponseToolUseDoneEvent) -> None:
        call, running = event.tool_use, self._running
        ours = not self._is_client_tool(call.name)
        if running is not None and running.model_id == event.response_id:
            running.server_calls += ours
            running.client_calls += not ours
        if not ours:
            self._open_calls[call.id] = call.name
            self._items[event.item_id] = Item(id=event.item_id, type="tool_call", tool_call=call)

    # -- to the client ---------------------------------------------------------------------------------------------

    def _told(self, event: s.ServerEvent) -> list[str]:
        """The frames that say it; of speech there are none."""
        replies = self._replies
        match event:
            case s.ServerSessionCreatedEvent():
                return [self._frame("session.created", session=self._session)]
            case s.ServerSessionUpdatedEvent():
                return [self._frame("session.updated", session=self._session)]
            case s.ServerSessionEndedEvent():
                return self._ended(event.reason)
            case s.AgentErrorEvent():
                frames = replies.abandon("failed", {"code": event.code}) if refuses_response(event) else []
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
                return replies.tool_use(event, ours=not self._is_client_tool(event.tool_use.name))
            case s.AgentResponseToolResultEvent():
                return self._tool_result(event)
            case s.AgentResponseDoneEvent():
                return replies.done(event)
            case _:
                return self._told_of_input(event)

    def _new_event_id(self) -> str:
        self._events += 1
        return f"{self._event_head}{self._events:06d}"

    # -- what differs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _make_replies(self) -> R: ...

    @abstractmethod
    def _event(self, read: F, label: str | None) -> c.ClientEvent | s.ServerEvent:
        """What the frame means. Raises Refusal."""

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
