"""Gemini Live as a client dialect: programs written for that service talk to any model here.

The client's first frame, `setup`, makes the call. Speech is not paced. The protocol does not say what was played, so
the wall clock does. It has no error frames either: a refusal ends the session with a close code and a reason, as at the
service.
"""

from __future__ import annotations

from typing import Literal, assert_never

from realtime.agent.responses import RESPONSE_REFUSED
from realtime.call.listener import Listener, Sink
from realtime.dialects.base import Frame, keep
from realtime.dialects.gemini import client as w
from realtime.dialects.gemini import closing, settings
from realtime.dialects.gemini.listener import EXPIRING, GeminiListener
from realtime.dialects.gemini.server import SETUP_COMPLETE, Turns, content, encode, rest_of, warning
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, ImageFormat, Item
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime

BAD_KEY = (1007, "API key not valid. Please pass a valid API key.")
KEPT_CALLS = 64
"""Calls with a result that a client may still answer."""
KEPT_INPUTS = 8
"""Items of the user whose words are still awaited."""
MIN_COMMIT_MS = 100
"""The shortest speech that is a turn."""
NOTHING = s.ServerAudioReceivedEvent(offset=0)
"""The event for a frame without effect; this protocol has no frame for it."""

_ALL_SEEN = 2**53
"""A sequence number after every event: a client with a handle has missed nothing."""


class GeminiDialect:
    """One client that speaks the Gemini Live protocol.

    `life_s` is how long a call may last, `drain_s` how long calls continue once the server stops.
    """

    subprotocol = None

    def __init__(self, runtime: Runtime, *, life_s: float, drain_s: float) -> None:
        self._runtime = runtime
        self._life_s = life_s
        self._drain_s = drain_s
        self._setup: w.Setup | None = None
        self._turns = Turns(tells_words=False)
        self._listener: GeminiListener | None = None
        self._rest: list[c.ClientEvent] = []
        self._goodbye = (1000, "")
        self._over = False
        self._told_to_go = False
        self._is_open = False
        """Whether the client knows that its session is set up."""
        self._manual = False
        self._takes_all_audio = False
        self._takes_history = False
        self._in_activity = False
        self._activity_ms = 0.0
        self._activity_wants_response = False
        self._has_unanswered_turns = False
        self._tools: frozenset[str] = frozenset()
        self._calls: dict[str, str] = {}
        self._settled: dict[str, None] = {}
        self._partial: dict[str, list[str]] = {}
        self._asked = False
        self._refused = False
        self._running: set[str] = set()
        self._on_request = False
        self._heard: dict[str, str] = {}
        self._films = False
        """Whether the client sends pictures as they come from a camera."""
        self._warned: set[str] = set()
        self._handle: str | None = None

    @property
    def resumes(self) -> bool:
        """Whether the client resumes its session by a handle."""
        return self._setup is not None and self._setup.session_resumption is not None

    @property
    def is_over(self) -> bool:
        """Whether an event has ended the session."""
        return self._over

    def opening(self) -> None:
        """The client's first frame makes the call."""

    def farewell(self) -> tuple[int, str]:
        """Close code and reason for the socket: the call is over or cannot be made."""
        return self._goodbye

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`."""
        self._listener = GeminiListener(self, sink, runtime, life_s=self._life_s)
        return self._listener

    # -- from the client -------------------------------------------------------------------------------------------

    def decode(self, frame: Frame) -> c.ClientEvent | s.ServerEvent:
        """See `ClientDialect`. Text and binary frames say the same. `more` has its further events."""
        if self._setup is not None and (speech := w.read_speech(frame)) is not None:
            return self._speech(*speech) or NOTHING
        events = self._events(w.read(frame))
        if not events:
            return NOTHING
        first, *self._rest = events
        return first

    def more(self) -> list[c.ClientEvent]:
        """The further events of the frame that was decoded last, in order; once."""
        rest, self._rest = self._rest, []
        return rest

    def _events(self, read: w.ClientMessage) -> list[c.ClientEvent]:
        if isinstance(read, w.Setup):
            return self._begin(read)
        if self._setup is None:
            raise w.MessageRefusal("The first message of a session is setup.")
        match read:
            case w.RealtimeInput():
                return self._realtime(read)
            case w.ClientContent():
                return self._content(read)
            case w.ToolResponse(function_responses=responses):
                return self._results(responses)
            case w.ContextUpdate():
                return [self._update(read)]
            case _:
                assert_never(read)

    def _begin(self, setup: w.Setup) -> list[c.ClientEvent]:
        """Begin a session, or resume the handle's with these settings; keeps its model."""
        if self._setup is not None:
            raise w.MessageRefusal("A session has one setup.")
        config = settings.config_of(setup)
        self._setup = setup
        self._turns = Turns(tells_words=setup.output_audio_transcription is not None)
        self._manual = setup.realtime_input_config.automatic_activity_detection.disabled
        self._takes_all_audio = setup.realtime_input_config.turn_coverage == "TURN_INCLUDES_ALL_INPUT"
        self._takes_history = setup.history_config.initial_history_in_client_content
        self._tools = frozenset(tool["name"] for tool in config.get("tools", ()))
        handle = setup.session_resumption.handle if setup.session_resumption is not None else None
        if not handle:
            return [c.ClientSessionCreateEvent(config=config)]
        del config["model"]
        events: list[c.ClientEvent] = [c.ClientSessionResumeEvent(token=handle, last_seq=_ALL_SEEN)]
        return [*events, c.ClientSessionUpdateEvent(config=config)] if config else events

    def _update(self, read: w.ContextUpdate) -> c.ClientEvent:
        config: w.Json = {}
        if read.system_instruction is not None:
            config["instructions"] = settings.text_of(read.system_instruction)
        if read.tools is not None:
            config |= settings.tools_of(read.tools.tools)
            self._tools = frozenset(tool["name"] for tool in config["tools"])
        return c.ClientSessionUpdateEvent(config=config)

    # -- what streams in

    def _speech(self, pcm: bytes, audio_format: AudioFormat) -> c.ClientEvent | None:
        """Pass on speech: inside the turns that the client marks, or all if it marks none."""
        if self._manual:
            if not self._in_activity and not self._takes_all_audio:
                return None
            self._activity_ms += len(pcm) * 500 / (audio_format.rate or w.DEFAULT_RATE_HZ)
        return c.ClientAudioAppendEvent(audio=pcm, format=audio_format)

    def _realtime(self, read: w.RealtimeInput) -> list[c.ClientEvent]:
        if not self._manual and (read.activity_start is not None or read.activity_end is not None):
            raise w.MessageRefusal("Activity is marked only where automaticActivityDetection is disabled.")
        blobs = [*read.media_chunks, *(blob for blob in (read.audio, read.video) if blob is not None)]
        media = [_medium(blob) for blob in blobs]
        events: list[c.ClientEvent] = []
        if read.activity_start is not None and not self._in_activity:
            self._in_activity, self._activity_ms, self._activity_wants_response = True, 0.0, False
            self._on_request = False
            events.append(c.ClientResponseCancelEvent())
        for one in media:
            if isinstance(one, c.ClientImageAppendEvent):
                self._films = True
                events.append(one)
            elif (speech := self._speech(one.audio, one.format)) is not None:
                events.append(speech)
        if read.text is not None:
            events += self._typed(read.text)
        if read.audio_stream_end and not self._manual:
            events.append(c.ClientAudioCommitEvent())
        if read.activity_end is not None and self._in_activity:
            events += self._activity_ends()
        return events

    def _typed(self, text: str) -> list[c.ClientEvent]:
        """Typed text is activity and asks for a response; blank text, which some clients send after turns, asks for
        theirs."""
        if self._in_activity:
            self._activity_wants_response = True
            return [self._item("user", (ContentPart(type="text", text=text),))]
        if text.strip():
            self._asked = True
            return [c.ClientTextAppendEvent(text=text)]
        return [self._request()] if self._has_unanswered_turns else []

    def _activity_ends(self) -> list[c.ClientEvent]:
        self._in_activity = False
        if self._activity_ms >= MIN_COMMIT_MS:
            self._asked = True
            return [c.ClientAudioCommitEvent()]
        return [self._request()] if self._activity_wants_response else []

    # -- turns

    def _content(self, read: w.ClientContent) -> list[c.ClientEvent]:
        """Turns interrupt the speech. An empty message with nothing to answer only interrupts."""
        items = [self._item("assistant" if turn.role == "model" else "user", w.parts_of(turn)) for turn in read.turns]
        if self._takes_history:
            self._takes_history = not read.turn_complete
            return items
        only_interrupts = not items and not self._has_unanswered_turns and self._is_busy()
        self._on_request = only_interrupts and read.turn_complete
        events: list[c.ClientEvent] = [c.ClientResponseCancelEvent(), *items]
        if not read.turn_complete:
            self._has_unanswered_turns = self._has_unanswered_turns or bool(items)
        elif not only_interrupts:
            events.append(self._request())
        return events

    def _is_busy(self) -> bool:
        """Whether there is something to interrupt."""
        if self._asked or self._running or self._calls:
            return True
        return self._listener is not None and self._listener.unplayed_ms(self._runtime.now()) > 0

    def _request(self) -> c.ClientEvent:
        self._asked, self._has_unanswered_turns = True, False
        return c.ClientResponseCreateEvent()

    def _item(self, role: Literal["user", "assistant"], parts: tuple[ContentPart, ...]) -> c.ClientEvent:
        return c.ClientItemCreateEvent(item=Item(id=self._runtime.new_id("item"), role=role, content=parts))

    def _results(self, responses: list[w.FunctionResponse]) -> list[c.ClientEvent]:
        """Results of calls. Those of withdrawn calls are dropped; those of a series wait for its last."""
        for one in responses:
            if one.id not in self._calls and one.id not in self._settled:
                raise w.MessageRefusal(f"There is no function call {(one.id or '')[:40]!r}.")
            if one.parts:
                raise w.unsupported("Media in a function response")
        events: list[c.ClientEvent] = []
        for one in responses:
            call_id = one.id or ""
            if call_id not in self._calls:
                continue
            output = w.output_of(one.response)
            if one.will_continue:
                self._partial.setdefault(call_id, []).append(output)
                continue
            output = "\n".join(text for text in (*self._partial.pop(call_id, ()), output) if text)
            events.append(c.ClientToolResultEvent(id=call_id, name=self._calls.pop(call_id), output=output))
            self._turns.settled(call_id, by_client=True)
            keep(self._settled, call_id, None, KEPT_CALLS)
        return events

    # -- following the call: at once, also while the client does not read -------------------------------------------

    def follow(self, event: s.ServerEvent) -> None:
        """Note what the next frame of the client may refer to."""
        match event:
            case s.AgentResponseCreatedEvent() if event.conversation != "none":
                self._has_unanswered_turns = False
                self._asked = False
                self._running.add(event.response_id)
            case s.AgentResponseDoneEvent():
                self._running.discard(event.response_id)
            case s.AgentResponseToolUseDoneEvent() if event.tool_use.name in self._tools and event.tool_use.may_run:
                self._calls[event.tool_use.id] = event.tool_use.name
            case s.AgentResponseToolResultEvent():
                call_id = event.tool_result.id
                if self._calls.pop(call_id, None) is not None:
                    self._partial.pop(call_id, None)
                    keep(self._settled, call_id, None, KEPT_CALLS)
            case s.ServerAudioFlushEvent():
                self._asked = False
            case s.AgentErrorEvent() if not self._is_warning(event):
                self._failed(event)
                if _refuses_response(event):
                    self._refused, self._asked = self._asked, False
            case s.AgentReconnectingEvent():
                self._refused, self._asked = self._asked, False
            case _:
                pass

    def _is_warning(self, event: s.AgentErrorEvent) -> bool:
        """Whether the session goes on without what this error names: a tool, or pictures of a camera beside speech."""
        return event.code == "unsupported_tool" or (event.code == "unsupported_modality" and self._films)

    def _failed(self, event: s.AgentErrorEvent) -> None:
        """Note how the session is closed if this error ends it."""
        self._over = self._over or closing.ends_session(event)
        self._goodbye = closing.after_error(event, self._setup.model if self._setup is not None else None)

    # -- to the client ---------------------------------------------------------------------------------------------

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            return [*self._turns.speech(event)]
        return [*self._told(event)]

    def _told(self, event: s.ServerEvent) -> list[bytes]:
        """The frames that say the event; none where the protocol has no message for it."""
        turns = self._turns
        match event:
            case s.ServerSessionCreatedEvent():
                self._handle = event.resume_token
                return []
            case s.ServerSessionResumedEvent():
                self._handle = event.token
                return [] if event.from_store else self._opened()  # else its agent is still to come
            case s.AgentReadyEvent():
                # A second one has the call after a transfer: to this client it is just another voice.
                return [] if self._is_open else self._opened()
            case s.AgentResponseCreatedEvent() if event.conversation != "none":
                return turns.created(event)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                return turns.words(event)
            case s.AgentResponseAudioTranscriptDoneEvent() | s.AgentResponseTextDoneEvent():
                return turns.words_done(event)
            case s.AgentResponseToolUseDoneEvent():
                is_clients = event.tool_use.name in self._tools and event.tool_use.may_run
                return turns.called(event, ours=not is_clients)
            case s.AgentResponseToolResultEvent():
                return turns.settled(event.tool_result.id, by_client=False)
            case s.AgentResponseDoneEvent():
                frames = turns.done(event)
                return [*frames, *self._resumable()] if turns.is_idle and frames else frames
            case s.ServerAudioFlushEvent():
                on_request, self._on_request = self._on_request and event.reason == "cancel", False
                return turns.interrupted(on_request=on_request)
            case s.AgentInputTranscriptionDeltaEvent():
                return self._heard_words(event.item_id, event.delta) + self._guessed_words(event.interim)
            case s.AgentInputTranscriptionDoneEvent():
                return self._heard_words(event.item_id, rest_of(self._heard.get(event.item_id, ""), event.transcript))
            case s.AgentErrorEvent() if self._is_warning(event):
                is_new = event.message not in self._warned
                self._warned.add(event.message)
                return [warning(event)] if is_new else []
            case s.AgentErrorEvent():
                self._failed(event)  # a session that never began is not followed
                return self._unanswered() if _refuses_response(event) else []
            case s.AgentReconnectingEvent():
                return self._unanswered() if self._refused else []
            case s.ServerGoodbyeEvent():
                self._handle = event.resume_token or self._handle
                return [*(self._resumable() if event.resume_token else ()), *self._go_away(event.reason)]
            case s.ServerSessionEndedEvent():
                self._goodbye = closing.after_call(event.reason) or self._goodbye
                return []
            case _:
                return []

    def _opened(self) -> list[bytes]:
        self._is_open = True
        return [SETUP_COMPLETE, *self._resumable()]

    def _resumable(self) -> list[bytes]:
        """The resumption handle, sent at the start and after each turn."""
        if self._handle is None:
            return []
        return [encode({"sessionResumptionUpdate": {"newHandle": self._handle, "resumable": True}})]

    def _go_away(self, reason: str) -> list[bytes]:
        """Announce the end of the call, once."""
        left_s = 0.0
        if reason == EXPIRING and self._listener is not None:
            left_s, self._told_to_go = self._listener.notice_s, True
        elif reason == "shutdown":
            left_s = self._drain_s
        elif self._told_to_go:
            return []
        return [encode({"goAway": {"timeLeft": f"{left_s:g}s"}})]

    def _unanswered(self) -> list[bytes]:
        """Tell the client that the response it waits for will not come."""
        awaited, self._refused = self._refused, False
        return self._turns.refused(awaited=awaited)

    def _heard_words(self, item_id: str, words: str) -> list[bytes]:
        """The model transcribes for the log of the call; only a client that asked gets the words."""
        if not words or self._setup is None or self._setup.input_audio_transcription is None:
            return []
        keep(self._heard, item_id, self._heard.get(item_id, "") + words, KEPT_INPUTS)
        return [content(inputTranscription={"text": words})]

    def _guessed_words(self, words: str | None) -> list[bytes]:
        if not words or self._setup is None or self._setup.input_audio_transcription is None:
            return []
        return [content(interimInputTranscription={"text": words})]


def _medium(blob: w.Blob) -> c.ClientAudioAppendEvent | c.ClientImageAppendEvent:
    """Speech, or an image. Raises MessageRefusal for other media."""
    if blob.mime_type.startswith("audio/"):
        return c.ClientAudioAppendEvent(audio=w.read_base64(blob.data), format=w.format_of(blob.mime_type))
    part = w.image(blob)
    return c.ClientImageAppendEvent(image=part.image or b"", format=ImageFormat(type=part.media_type))


def _refuses_response(event: s.AgentErrorEvent) -> bool:
    """Whether the model will not give the response that is waited for."""
    return event.code in RESPONSE_REFUSED
