"""The OpenAI realtime protocol (GA) as a client dialect: programs written for that service talk to any model here.

The call exists from the moment the socket is open. Speech is not paced; a truncation or a cancel of the client says
what was played, else the wall clock does. Nothing is sent that the service does not send.
"""

from __future__ import annotations

from typing import Any, assert_never

from msgspec import UNSET

from realtime.call.listener import Listener, Sink
from realtime.dialects.base import Frame, encode_fields
from realtime.dialects.openai_family import client, g711
from realtime.dialects.openai_family import openai_client as w
from realtime.dialects.openai_family import openai_settings as settings
from realtime.dialects.openai_family.client import EventRefusal, Json, bytes_of, invalid
from realtime.dialects.openai_family.dialect import FamilyDialect
from realtime.dialects.openai_family.openai_input import PCM_FORMAT, OpenAIInput
from realtime.dialects.openai_family.openai_listener import FollowingListener
from realtime.dialects.openai_family.openai_mcp import RemoteCalls
from realtime.dialects.openai_family.openai_server import OpenAIReplies, told_call_id, wire_item
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import Item
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime
from realtime.state.truncation import Truncation
from realtime.tool.mcp.hosts import AllowedHosts
from realtime.tool.mcp.of_client import ClientServers

SUBPROTOCOL = "realtime"
DEFAULT_MODEL = "gpt-realtime"
SESSION_S = 3_600
BETA_REFUSED = "beta_api_shape_disabled"


class OpenAIDialect(FamilyDialect[w.ClientFrame, OpenAIReplies, FollowingListener]):
    """One client that speaks the OpenAI protocol. `model` is the name in its URL.

    `session_s` is how long a call may last. `preset` are the settings of the client's secret; its model wins.
    `servers` are the MCP servers that it names; None: it may have none.
    """

    _reader = w.READER
    _input: OpenAIInput

    def __init__(
        self,
        model: str,
        runtime: Runtime,
        *,
        subprotocol: str | None = None,
        session_s: float = SESSION_S,
        preset: w.Session | None = None,
        servers: ClientServers | None = None,
    ) -> None:
        self._subprotocol = subprotocol
        self.servers = servers or ClientServers(AllowedHosts(()))
        """The MCP servers that the client names."""
        super().__init__(runtime, settings.default_session(model, int(runtime.wall_now() + session_s)))
        self._runtime = runtime
        self._preset: Json = {}
        if preset is not None:
            self._session = settings.merged(self._session, preset)
            self._session["model"] = preset.model or model
            self._preset = settings.config_of(preset, self._session)
            self._declare_servers(preset)
        self._session_s = session_s
        self._remote = RemoteCalls(self.servers, self._replies, self._frame, self._new_id)
        self._input = OpenAIInput(self._frame, self._replies)
        self._encoder: tuple[str, g711.Encoder] | None = None
        self._offered: set[str] = set()
        """Tools that the client declared with a request."""
        self._has_begun = False
        self._begins = False
        """Whether items that come next are from before this call."""

    def _make_replies(self) -> OpenAIReplies:
        return OpenAIReplies(self._frame, self._new_event_id)

    @property
    def subprotocol(self) -> str | None:
        """See `ClientDialect`."""
        return self._subprotocol

    def opening(self) -> c.ClientSessionCreateEvent:
        """The call that a socket of this protocol makes by being opened."""
        config: Json = {
            "model": self._session["model"],
            "tool_auto_response": False,
            "input_audio_format": PCM_FORMAT,
            "output_audio_format": PCM_FORMAT,
            **self._preset,
        }
        return c.ClientSessionCreateEvent(config=config)

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`."""
        self._listener = FollowingListener(self, sink, runtime)
        return self._listener

    # -- from the client -------------------------------------------------------------------------------------------

    def _event(self, read: w.ClientFrame, label: str | None) -> c.ClientEvent | s.ServerEvent:
        match read:
            case w.SessionUpdate(session=change):
                return self._update(change, label)
            case client.BufferAppend(audio=data):
                encoding = self._session["audio"]["input"]["format"]["type"]
                return self._input.append(bytes_of(data, "audio"), encoding, label)
            case client.BufferCommit():
                return self._commit(label)
            case client.BufferClear():
                self._input.clear()
                return c.ClientAudioClearEvent(event_id=label)
            case w.OutputBufferClear():
                raise EventRefusal(
                    "output_audio_buffer.clear is for WebRTC and SIP: send conversation.item.truncate.",
                    code="invalid_event",
                    param="type",
                )
            case w.ItemCreate(item=item, previous_item_id=previous):
                return self._create_item(item, previous, label)
            case client.ItemRetrieve(item_id=item_id):
                return self._remote.retrieved(item_id) or self._retrieve(item_id, label)
            case w.ItemTruncate():
                return self._truncate(read)
            case client.ItemDelete(item_id=item_id):
                return self._delete(item_id, label)
            case w.ResponseCreate(response=wanted):
                return self._respond(wanted, label)
            case w.ResponseCancel(response_id=response_id):
                return self._cancel(response_id, label)
            case _:
                assert_never(read)

    def _update(self, change: w.Session, label: str | None) -> c.ClientEvent:
        session = settings.merged(self._session, change)
        output = session["audio"]["output"]
        if self._spoke and output["voice"] != self._session["audio"]["output"]["voice"]:
            raise EventRefusal(
                "Cannot update a conversation's voice if assistant audio is present.",
                code="cannot_update_voice",
                param="session.audio.output.voice",
            )
        config = settings.config_of(change, session)
        self._declare_servers(change)
        self._pending = (session, config)
        return c.ClientSessionUpdateEvent(config=config, event_id=label)

    def _declare_servers(self, change: w.Session) -> None:
        if change.tools is not UNSET:
            self.servers.declare(settings.remote_servers(change.tools or ()))

    @property
    def _detects(self) -> bool:
        return self._session["audio"]["input"]["turn_detection"] is not None

    def _create_item(self, wire: w.WireItem, previous: str | None, label: str | None) -> c.ClientEvent | s.ServerEvent:
        client.check_id(wire.id)
        if wire.type == "mcp_approval_response":
            return self._remote.answered(wire, label)
        call_id = self._call_id(wire.call_id or "")
        if wire.id is not None and wire.id in self._items:
            raise EventRefusal(
                f"Error adding item: an item with id '{wire.id}' already exists.",
                code="item_create_duplicate_item_id",
                param="item.id",
            )
        if wire.type == "function_call_output" and call_id:
            if (told := self._result(call_id, wire.output or "", wire.id, label)) is not None:
                return told
            if call_id not in self._settled_calls:
                raise EventRefusal(
                    f"Tool call ID '{call_id[:64]}' not found in conversation.",
                    code="invalid_tool_call_id",
                )
        if previous in self._ghosts:
            previous = None  # withdrawn since: it stood at the end
        if previous is not None and previous != "root" and previous not in self._items:
            message = f"Error adding item: the previous item with id '{previous}' does not exist."
            raise invalid(message, "previous_item_id")
        encoding = self._session["audio"]["input"]["format"]["type"]
        tool_name = self._settled_calls.get(call_id, "")
        item = w.item_of(wire, wire.id or self._new_id("item"), tool_name, encoding=encoding)
        if item.tool_call is not None:
            self._settled_calls[item.tool_call.id] = item.tool_call.name
        self._asked.add(("create", item.id))
        return c.ClientItemCreateEvent(item=item, previous_item_id=previous, event_id=label)

    def _truncate(self, read: w.ItemTruncate) -> c.ClientEvent | s.ServerEvent:
        self._asked.add(("truncate", read.item_id))
        if read.item_id in self._ghosts:
            return Truncation("", read.audio_end_ms).event(read.item_id)
        try:
            known = self._known(read.item_id, "truncat")
            if known.role != "assistant":
                raise invalid("Only model output audio messages can be truncated", "item_id")
            sent_ms = self._listener.clock.sent_ms(read.item_id) if self._listener is not None else 0
            if 0 < sent_ms < read.audio_end_ms:
                message = f"Audio content of {sent_ms}ms is already shorter than {read.audio_end_ms}ms"
                raise invalid(message, "audio_end_ms")
        except EventRefusal:
            self._asked.discard(("truncate", read.item_id))
            raise
        return c.ClientItemTruncateEvent(
            item_id=read.item_id,
            audio_end_ms=read.audio_end_ms,
            content_index=read.content_index,
            event_id=read.event_id,
        )

    def _call_id(self, told: str) -> str:
        """The model's id for a call that this client knows as `told`."""
        known = (*self._open_calls, *self._settled_calls)
        return next((call_id for call_id in known if told_call_id(call_id) == told), told)

    def _respond(self, wanted: w.Response | None, label: str | None) -> c.ClientEvent:
        out_of_band = wanted is not None and wanted.conversation == "none"
        running = self._running
        if not out_of_band and running is not None and (self._open_calls or not running.client_calls):
            raise EventRefusal(
                f"Conversation already has an active response in progress: {running.id}. Wait until the response is "
                "finished before creating a new one.",
                code="conversation_already_has_active_response",
            )
        if wanted is None and self._session["tool_choice"] != "auto":
            wanted = w.Response()
        overrides = None
        if wanted is not None:
            overrides = settings.overrides_of(
                wanted, self._session, lambda item_id: self._items.get(item_id), self._new_id
            )
            self._offered.update(tool["name"] for tool in overrides.tools or ())
        if not out_of_band:
            if running is None:
                self._settle()
            self._awaiting = True
        return c.ClientResponseCreateEvent(response=overrides, event_id=label)

    def _cancel(self, response_id: str | None, label: str | None) -> c.ClientEvent:
        running = self._running
        if response_id in self._beside:
            return c.ClientResponseCancelEvent(response_id=response_id, event_id=label)
        if running is None and not self._awaiting:
            raise EventRefusal("Cancellation failed: no active response found", code="response_cancel_not_active")
        if response_id is not None and (running is None or running.id != response_id):
            raise EventRefusal(
                "Cancellation failed: no active response found", code="response_cancel_not_active", param="response_id"
            )
        return c.ClientResponseCancelEvent(event_id=label)

    def _unknown_item(self, item_id: str, verb: str) -> EventRefusal:
        return EventRefusal(
            f"Error {verb}ing item: the item with id '{item_id}' does not exist.",
            code=f"item_{verb}e_invalid_item_id",
            param="item_id",
        )

    def _is_client_tool(self, name: str) -> bool:
        return name in self._offered or any(tool["name"] == name for tool in self._session["tools"])

    def _is_followed_by_client(self, name: str) -> bool:
        return self.servers.tool(name) is not None

    # -- to the client ---------------------------------------------------------------------------------------------

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            return [*self._replies.speech(event, self._as_heard(event))]
        if type(event) is s.AgentResponseAudioDoneEvent and self._encoder is not None:
            rest = self._encoder[1].flush() if self._encoder[0] == event.item_id else b""
            self._encoder = None
            return [*self._replies.speech(event, rest), *self._told(event)]
        return [*self._told(event)]

    def _as_heard(self, event: s.AgentResponseAudioDeltaEvent) -> bytes:
        """The speech in the encoding that the client wants."""
        law = self._session["audio"]["output"]["format"]["type"]
        if law not in g711.SUBTYPES:
            return event.delta
        if self._encoder is None or self._encoder[0] != event.item_id:
            self._encoder = (event.item_id, g711.Encoder(w.RATE_HZ, law))
        return self._encoder[1].push(event.delta)

    def _told(self, event: s.ServerEvent) -> list[str]:
        if self._is_earlier(event):
            return []
        match event:
            case s.AgentResponseToolUseDeltaEvent(tool_use=call) | s.AgentResponseToolUseDoneEvent(tool_use=call):
                remote = None if self._is_client_tool(call.name) else self._remote.told(event)
            case _:
                remote = self._remote.told(event)
        return super()._told(event) if remote is None else remote

    def _told_of_input(self, event: s.ServerEvent) -> list[str]:
        """Items, and the user's side of the call. What this protocol has no event for is not sent."""
        match event:
            case s.AgentItemAddedEvent():
                return self._added(event)
            case s.AgentItemDoneEvent():
                return self._item_done(event)
            case s.AgentItemTruncatedEvent() if ("truncate", event.item_id) in self._asked:
                # The service cuts nothing by itself on a WebSocket: our own cuts are not told.
                self._asked.discard(("truncate", event.item_id))
                return [
                    self._frame(
                        "conversation.item.truncated",
                        item_id=event.item_id,
                        content_index=event.content_index,
                        audio_end_ms=event.audio_end_ms,
                    )
                ]
            case _:
                transcribes = self._session["audio"]["input"]["transcription"] is not None
                return self._input.told(event, transcribes=transcribes)

    def _is_earlier(self, event: s.ServerEvent) -> bool:
        """Whether it tells of an item from before this call: sessions of these clients begin without any.

        Those come right after the agent is ready.
        """
        if isinstance(event, s.AgentItemAddedEvent | s.AgentItemDoneEvent):
            if self._begins and ("create", event.item.id) not in self._asked:
                self._replies.hide(event.item.id)
                return True
        elif isinstance(event, s.AgentReadyEvent):
            self._begins, self._has_begun = not self._has_begun, True
            return False
        self._begins = False
        return False

    def _added(self, event: s.AgentItemAddedEvent) -> list[str]:
        item = event.item
        before = self._replies.announced(event)
        if item.role == "assistant" and item.status == "in_progress":
            return []  # told with its first content
        if self._was_spoken(item):
            return []  # told with its commit, which comes right after
        self._replies.last_item_id = item.id
        return [self._frame("conversation.item.added", previous_item_id=before, item=wire_item(item))]

    def _item_done(self, event: s.AgentItemDoneEvent) -> list[str]:
        item = event.item
        self._asked.discard(("create", item.id))
        before = self._replies.place_of(item.id)
        return [self._frame("conversation.item.done", previous_item_id=before, item=wire_item(item))]

    def _was_spoken(self, item: Item) -> bool:
        return item.role == "user" and ("create", item.id) not in self._asked

    def _tool_result(self, event: s.AgentResponseToolResultEvent) -> list[str]:
        result = ("result", event.tool_result.id)
        if event.item_id is None:
            return []
        if result not in self._asked:
            self._replies.hide(event.item_id)
            return []  # of a tool of ours, or of a call that was given up
        self._asked.discard(result)
        item = wire_item(Item(id=event.item_id, type="tool_result", tool_result=event.tool_result))
        before, self._replies.last_item_id = self._replies.last_item_id, event.item_id
        return [
            self._frame("conversation.item.added", previous_item_id=before, item=item),
            self._frame("conversation.item.done", previous_item_id=before, item=item),
        ]

    def _error(self, event: s.AgentErrorEvent) -> list[str]:
        kind = "invalid_request_error" if event.error_type == "client_error" else "server_error"
        param = self._param(event)
        close_code = 4000 if event.code == BETA_REFUSED else 3000
        self._goodbye = (close_code, f"{kind}.{event.code}"[:120])
        error: dict[str, Any] = {
            "type": kind,
            "code": event.code,
            "message": event.message,
            "param": param,
            "event_id": event.client_event_id,
        }
        if event.retry_after_ms is not None:
            error["retry_after_ms"] = event.retry_after_ms
        return [self._frame("error", error=error)]

    def _ended(self, reason: str) -> list[str]:
        frames = self._replies.abandon("failed", {"reason": reason})
        if reason == "agent_failed":
            return frames  # the error before says why, and how the socket is closed
        self._goodbye = (1001, reason)
        if reason == "call_limit":
            minutes, seconds = divmod(self._session_s, 60)
            lasted = f"{self._session_s:g} seconds" if seconds else f"{minutes:g} minutes"
            message = f"Your session hit the maximum duration of {lasted}."
            error = {
                "type": "invalid_request_error",
                "code": "session_expired",
                "message": message,
                "param": None,
                "event_id": None,
            }
            frames.append(self._frame("error", error=error))
            self._goodbye = (1001, message)
        return frames

    def _frame(self, kind: str, **fields: Any) -> str:
        return encode_fields({"type": kind, "event_id": self._new_event_id(), **fields})
