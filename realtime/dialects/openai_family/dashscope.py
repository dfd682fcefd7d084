"""DashScope's omni realtime protocol as a client dialect: programs written for Qwen-Omni talk to any model here.

The call exists from the moment the socket is open. Speech is not paced; its playback is estimated, because such
a client reports nothing and can truncate nothing. Nothing is sent that the service does not send.
"""

from __future__ import annotations

from typing import Any, assert_never

from realtime.call.listener import Listener, Sink
from realtime.dialects.base import Frame, encode_fields
from realtime.dialects.openai_family import client
from realtime.dialects.openai_family import dashscope_client as w
from realtime.dialects.openai_family.client import EventRefusal, Json, bytes_of, invalid
from realtime.dialects.openai_family.dashscope_input import DashScopeInput
from realtime.dialects.openai_family.dashscope_listener import DashScopeListener
from realtime.dialects.openai_family.dashscope_server import DashScopeReplies, wire_item
from realtime.dialects.openai_family.dialect import FamilyDialect
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ImageFormat, Item
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime

FINISHES_SILENTLY = ("qwen3.8-omni",)
"""Models that answer `session.finish` with nothing, as documented."""
NEVER_FINISHES = ("qwen3.5-omni", "qwen-audio")
"""Models whose service does not know `session.finish`."""
GATEWAY_CODES = {
    "invalid_api_key": "InvalidApiKey",
    "access_denied": "AccessDenied",
    "model_not_found": "Model.NotExist",
    "content_refused": "DataInspectionFailed",
    "rate_limit_exceeded": "Throttling.RateQuota",
    "too_many_calls": "Throttling",
    "server_full": "Throttling",
    "overloaded": "Throttling",
    "insufficient_quota": "Arrearage",
    "internal": "InternalError",
    "server_error": "InternalError",
    "draining": "ServiceUnavailable",
    "provider_unavailable": "ServiceUnavailable",
    "provider_timeout": "GatewayTimeout",
}
"""The service's names for our codes; every other code stays."""
ENDS = {"agent_failed": (1011, "the model could not be had"), "agent_ended": (1011, "the model is gone")}
"""Close codes and reasons of sockets whose call ended abnormally."""


class DashScopeDialect(FamilyDialect[w.ClientFrame, DashScopeReplies, DashScopeListener]):
    """One client that speaks the DashScope protocol.

    `model` is the name in its URL, `idle_s` how many seconds of silence end the call.
    """

    _reader = w.READER
    subprotocol: str | None = None

    def __init__(self, model: str, runtime: Runtime, *, idle_s: float = 300.0) -> None:
        super().__init__(runtime, w.default_session(model))
        self._model = model
        self._idle_s = idle_s
        self._input_rate_hz = w.INPUT_RATE_HZ
        self._input_format = AudioFormat.pcm16(w.INPUT_RATE_HZ)
        self._voices: frozenset[str] = frozenset()
        self._ready = False
        self._finishing = False
        self._fault: s.AgentErrorEvent | None = None
        self._input = DashScopeInput(self._frame)
        self._heard_audio = False

    def _make_replies(self) -> DashScopeReplies:
        return DashScopeReplies(self._frame, self._new_event_id)

    def opening(self) -> c.ClientSessionCreateEvent:
        """The call that a socket of this protocol makes by being opened."""
        config: Json = {
            "model": self._model,
            "tool_auto_response": False,
            "input_audio_format": self._input_format,
            "output_audio_format": AudioFormat.pcm16(w.OUTPUT_RATE_HZ),
        }
        return c.ClientSessionCreateEvent(config=config)

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`."""
        self._listener = DashScopeListener(self, sink, runtime)
        return self._listener

    # -- from the client -------------------------------------------------------------------------------------------

    def _event(self, read: w.ClientFrame, label: str | None) -> c.ClientEvent | s.ServerEvent:
        match read:
            case client.BufferAppend(audio=data):
                audio = bytes_of(data, "audio")
                self._input.buffered_ms += len(audio) * 500 / self._input_rate_hz
                self._heard_audio = True
                return c.ClientAudioAppendEvent(audio=audio, format=self._input_format, event_id=label)
            case w.SessionUpdate(session=change):
                return self._update(change, label)
            case w.SessionFinish():
                if self._model.startswith(NEVER_FINISHES):
                    raise w.unknown_event("session.finish")
                self._finishing = True
                return c.ClientSessionEndEvent(event_id=label)
            case client.BufferCommit():
                return self._commit(label)
            case client.BufferClear():
                self._input.clear()
                return c.ClientAudioClearEvent(event_id=label)
            case w.ImageAppend(image=data):
                if not self._heard_audio:
                    raise EventRefusal("Error append image before append audio.", code="image_before_audio")
                image = bytes_of(data, "image")
                return c.ClientImageAppendEvent(image=image, format=ImageFormat(type="image/jpeg"), event_id=label)
            case w.ItemCreate(item=item, previous_item_id=previous):
                return self._create_item(item, previous, label)
            case client.ItemRetrieve(item_id=item_id):
                return self._retrieve(item_id, label)
            case client.ItemDelete(item_id=item_id):
                return self._delete(item_id, label)
            case w.ResponseCreate(response=wanted):
                return self._respond(wanted, label)
            case w.ResponseCancel():
                if self._running is None and not self._awaiting:
                    raise EventRefusal(w.SENTENCES[w.NONE_ACTIVE], code=w.NONE_ACTIVE)
                return c.ClientResponseCancelEvent(event_id=label)
            case _:
                assert_never(read)

    def _update(self, change: w.Session, label: str | None) -> c.ClientEvent:
        session = w.merged(self._session, change)
        if self._heard_audio and w.input_rate_hz(session) != w.input_rate_hz(self._session):
            raise invalid("The input audio format is fixed once audio was appended.", "session.audio.input.format")
        if self._spoke and w.output_rate_hz(session) != w.output_rate_hz(self._session):
            raise invalid("The output audio format is fixed once audio was sent.", "session.audio.output.format")
        config = w.config_of(change, session, self._voices)
        self._pending = (session, config)
        return c.ClientSessionUpdateEvent(config=config, event_id=label)

    @property
    def _detects(self) -> bool:
        return self._session["turn_detection"] is not None

    @property
    def _interrupts(self) -> bool:
        return self._detects and bool(self._session["turn_detection"]["interrupt_response"])

    def _create_item(self, wire: w.WireItem, previous: str | None, label: str | None) -> c.ClientEvent | s.ServerEvent:
        client.check_id(wire.id)
        if wire.id is not None and wire.id in self._items:
            raise invalid(f"An item with id '{wire.id}' already exists.", "item.id")
        if wire.type == "function_call_output":
            call_id = wire.call_id or ""
            told = self._result(call_id, wire.output or "", wire.id, label)
            if told is None:
                raise EventRefusal(f"Unknown function call id: {call_id[:64]}", code="unknown_tool_call")
            return told
        if previous is not None and previous != "root" and previous not in self._items:
            raise invalid(f"The previous item with id '{previous}' does not exist.", "previous_item_id")
        item = w.message_of(wire, wire.id or self._new_id("item"))
        self._asked.add(("create", item.id))
        return c.ClientItemCreateEvent(item=item, previous_item_id=previous, event_id=label)

    def _unknown_item(self, item_id: str, verb: str) -> EventRefusal:
        return invalid(f"The item with id '{item_id[:64]}' does not exist.", "item_id")

    def _respond(self, wanted: w.Response | None, label: str | None) -> c.ClientEvent:
        if self._running is not None:
            raise EventRefusal(w.SENTENCES[w.ACTIVE], code=w.ACTIVE)
        if self._detects and self._input.speaking:
            raise EventRefusal("Cannot create response while user is speaking.", code="bad_response_create")
        overrides = w.overrides_of(wanted, self._session["tool_choice"])
        self._settle()
        self._awaiting = True
        return c.ClientResponseCreateEvent(response=overrides, event_id=label)

    # -- following the call ----------------------------------------------------------------------------------------

    def _follow_input(self, event: s.ServerEvent) -> None:
        super()._follow_input(event)
        match event:
            case s.AgentReadyEvent():
                self._ready = True
                self._voices = frozenset((event.model or {}).get("voices", ()))
            case s.AgentInputStartedEvent() if self._listener is not None and self._interrupts:
                self._listener.fall_silent()
            case s.AgentReconnectingEvent():
                self._input.speaking = False  # a model that is lost will not tell of the voice's end
            case _:
                pass

    def _take_on(self, session: Json) -> None:
        """Put new settings in force."""
        rate_hz = w.output_rate_hz(session)
        if self._listener is not None and rate_hz != w.output_rate_hz(self._session):
            self._listener.play_at(rate_hz)
        super()._take_on(session)
        self._input.speaking = self._input.speaking and self._detects
        self._input_rate_hz = w.input_rate_hz(session)
        self._input_format = AudioFormat.pcm16(self._input_rate_hz)

    def _is_client_tool(self, name: str) -> bool:
        return any(tool["function"]["name"] == name for tool in self._session["tools"])

    # -- to the client ---------------------------------------------------------------------------------------------

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            return [*self._replies.speech(event, event.delta)]
        return [*self._told(event)]

    def _told_of_input(self, event: s.ServerEvent) -> list[str]:
        """Items, and the user's side of the call. What this protocol has no event for is not sent."""
        match event:
            case s.AgentItemAddedEvent() if ("create", event.item.id) in self._asked:
                # Responses appear with their first content, spoken turns with their commit, pictures not at all.
                self._asked.discard(("create", event.item.id))
                return [self._frame("conversation.item.created", item=wire_item(event.item))]
            case _:
                return self._input.told(event, transcribes=self._session["input_audio_transcription"] is not None)

    def _tool_result(self, event: s.AgentResponseToolResultEvent) -> list[str]:
        asked = ("result", event.tool_result.id)
        if asked not in self._asked or event.item_id is None:
            return []  # of a tool of ours, or of a call that was given up
        self._asked.discard(asked)
        item = Item(id=event.item_id, type="tool_result", tool_result=event.tool_result)
        return [self._frame("conversation.item.created", item=wire_item(item))]

    def _error(self, event: s.AgentErrorEvent) -> list[str]:
        """Say every fault as `invalid_request_error`: after any other error clients hang up."""
        session = self._pending[0] if self._pending is not None else self._session
        if event.code == "unsupported_tools" and event.error_type == "server_error" and not session["tools"]:
            return []  # it concerns the agent's own tools, which the client does not know
        if not self._ready:
            self._goodbye = (1013 if event.retryable else 1011, self._wire_code(event.code)[:120])
        elif event.error_type != "client_error":
            self._fault = event
        return [self._error_frame(event, "invalid_request_error" if self._ready else "server_error")]

    def _error_frame(self, event: s.AgentErrorEvent, kind: str) -> str:
        error: dict[str, Any] = {
            "type": kind,
            "code": self._wire_code(event.code),
            "message": w.SENTENCES.get(event.code, event.message),
            "param": self._param(event) or "",
        }
        if event.client_event_id is not None:
            error["event_id"] = event.client_event_id
        if event.retry_after_ms is not None:
            error["retry_after_ms"] = event.retry_after_ms
        return self._frame("error", error=error)

    def _wire_code(self, code: str) -> str:
        return "" if code in w.NAMELESS else GATEWAY_CODES.get(code, code)

    def _ended(self, reason: str) -> list[str]:
        frames = self._replies.end_all("cancelled" if reason == "client_end" else "failed", {"reason": reason})
        match reason:
            case "client_end":
                if self._finishing and not self._model.startswith(FINISHES_SILENTLY):
                    frames.append(self._frame("session.finished"))
            case "idle":
                message = f"Your session was closed because no response was generated for {self._idle_s:.0f} seconds."
                error = {"type": "server_error", "code": "response_idle_timeout", "message": message, "param": ""}
                frames.append(self._frame("error", error=error))
            case "agent_ended":
                self._goodbye = ENDS[reason]
                if self._fault is not None:
                    # The client got the error when it happened; only now it is known to be the end.
                    frames.append(self._error_frame(self._fault, "server_error"))
            case "agent_failed":
                self._goodbye = self._goodbye if self._goodbye[1] else ENDS[reason]
            case _:
                self._goodbye = (1013 if reason == "shutdown" else 1000, reason)
        return frames

    def _frame(self, kind: str, **fields: Any) -> str:
        return encode_fields({"event_id": self._new_event_id(), "type": kind, **fields})
