"""The conductor of a call: client events and model events in, model inputs and server events out.

It performs what `realtime.turn` decides. Everything here is synchronous and runs to its end, so nothing can interleave;
time, ids and the two outlets are given.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, assert_never

import msgspec

from realtime.agent.audio_input import AudioInput, Detector
from realtime.agent.host import Host
from realtime.agent.responses import Part, Response, UserTurn
from realtime.audio.endpoint import SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import TurnAuthority
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.model import base
from realtime.turn import Action, Signal, State, Turn

logger = logging.getLogger(__name__)

EMPTY_COMMIT_MS = 100.0
"""Less audio than this is not a turn (OpenAI refuses such a commit): the commit is ignored."""
DEFAULT_CLIENT_RATE_HZ = 16_000
"""What a client means that does not name its rate."""
RESPONSE_REFUSED = frozenset({"conversation_already_has_active_response", "bad_response_create"})
"""Errors that say: the response you asked for will not come."""
KEPT_USER_TURNS = 8
"""Turns whose transcripts may still be on their way."""


class Tools(Protocol):
    """Who runs tools."""

    def start_tool(self, call: ToolCallBlock) -> None:
        """Run it; `Conductor.tool_done` is called with the result, later."""
        ...

    def answer_tool(self, result: ToolResultBlock) -> bool:
        """A client delivers the result of a tool that runs there; False if no such call is open."""
        ...

    def cancel_tools(self) -> None:
        """Stop what runs; each call still gets a result, with state `interrupted`."""
        ...


AGENT_EVENTS: dict[type[Any], type[Any]] = {
    m.ModelResponseAudioDeltaEvent: s.AgentResponseAudioDeltaEvent,
    m.ModelResponseAudioDoneEvent: s.AgentResponseAudioDoneEvent,
    m.ModelResponseAudioTranscriptDeltaEvent: s.AgentResponseAudioTranscriptDeltaEvent,
    m.ModelResponseAudioTranscriptDoneEvent: s.AgentResponseAudioTranscriptDoneEvent,
    m.ModelResponseTextDeltaEvent: s.AgentResponseTextDeltaEvent,
    m.ModelResponseTextDoneEvent: s.AgentResponseTextDoneEvent,
    m.ModelResponseToolUseDeltaEvent: s.AgentResponseToolUseDeltaEvent,
    m.ModelResponseToolUseDoneEvent: s.AgentResponseToolUseDoneEvent,
    m.ModelResponseCreatedEvent: s.AgentResponseCreatedEvent,
    m.ModelResponseDoneEvent: s.AgentResponseDoneEvent,
    m.ModelInputTranscriptionDeltaEvent: s.AgentInputTranscriptionDeltaEvent,
    m.ModelInputTranscriptionDoneEvent: s.AgentInputTranscriptionDoneEvent,
    m.ModelInputTranscriptionFailedEvent: s.AgentInputTranscriptionFailedEvent,
    m.ModelInputStartedEvent: s.AgentInputStartedEvent,
    m.ModelInputDoneEvent: s.AgentInputDoneEvent,
    m.ModelInputCommittedEvent: s.AgentInputCommittedEvent,
    m.ModelInputClearedEvent: s.AgentInputClearedEvent,
    m.ModelItemAddedEvent: s.AgentItemAddedEvent,
    m.ModelItemDoneEvent: s.AgentItemDoneEvent,
    m.ModelItemDeletedEvent: s.AgentItemDeletedEvent,
    m.ModelItemTruncatedEvent: s.AgentItemTruncatedEvent,
    m.ModelItemRetrievedEvent: s.AgentItemRetrievedEvent,
    m.ModelSessionUpdatedEvent: s.AgentSessionUpdatedEvent,
    m.ModelReconnectingEvent: s.AgentReconnectingEvent,
    m.ModelReconnectedEvent: s.AgentReconnectedEvent,
    m.ModelErrorEvent: s.AgentErrorEvent,
}
"""The agent's event of each model event with the same meaning. Session created and ended become ready and ended."""


class Conductor:
    """One agent's part in one call. Create it once the model's profile is known; feed it events; it never waits."""

    def __init__(
        self,
        *,
        host: Host,
        agent_id: str,
        agent_name: str,
        profile: base.Profile,
        send: Callable[[base.ModelInput], None],
        tools: Tools,
        authority: TurnAuthority,
        detector: Detector | None = None,
        auto_response: bool = True,
        text_auto_response: bool = True,
    ) -> None:
        self._host = host
        self._emit = host.emit
        self._conversation = host.conversation
        self._conversation.set_alignment(profile.aligns_transcript)
        self._who: dict[str, Any] = {"agent_id": agent_id, "agent_name": agent_name}
        self._agent_id, self._agent_name = agent_id, agent_name
        self._profile = profile
        self._send = send
        self._tools = tools
        self._ms_per_byte = 1000 / (2 * profile.output_rate_hz)
        self._input = AudioInput(profile.input_rate_hz, detector if authority == "server" else None)
        self._base_ms = 0
        self.turn = Turn(authority)
        self.auto_response = auto_response
        self.text_auto_response = text_auto_response
        self._responses: dict[str, Response] = {}
        self._active: Response | None = None
        self._awaited = 0
        self._drop_awaited = 0
        self._text_turn_answered = False
        self._reply_items: list[str] = []
        self._user_turns: dict[str, UserTurn] = {}
        self._user_turn: UserTurn | None = None
        self._commits: deque[UserTurn | None] = deque()
        self._turn_ended_at: float | None = None
        self._created_at: float | None = None

    @property
    def received_samples(self) -> int:
        """How many samples of the client's audio have arrived, at its own rate."""
        return self._input.received_samples

    # -- from the client -------------------------------------------------------------------------------------------

    def on_client(self, event: c.ClientEvent) -> None:
        """Do what the client asks. Raises ClientError for what cannot be done; nothing is lost by that."""
        match event:
            case c.ClientAudioAppendEvent():
                self._hear(event)
            case c.ClientAudioCommitEvent():
                if self._input.uncommitted_ms >= EMPTY_COMMIT_MS:
                    self._signal(Signal.COMMIT)
                else:
                    logger.debug("an empty commit was ignored")
            case c.ClientAudioClearEvent():
                self._input.clear()
                self._send(base.AudioClear())
            case c.ClientTextAppendEvent():
                self._read(event)
            case c.ClientImageAppendEvent():
                part = ContentPart(type="image", image=event.image, media_type=event.format.media_type)
                self._create_item(Item(id=self._new_id("item"), role="user", content=(part,)))
            case c.ClientResponseCreateEvent():
                self._respond(event)
            case c.ClientResponseCancelEvent():
                if event.response_id is None or self._active is None or event.response_id == self._active.id:
                    self._tools.cancel_tools()
                    self._signal(Signal.CANCEL)
            case c.ClientToolResultEvent():
                result = ToolResultBlock(id=event.id, name=event.name, output=event.output)
                if not self._tools.answer_tool(result):
                    raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")
            case c.ClientItemCreateEvent():
                self._create_item(event.item, event.previous_item_id)
            case c.ClientItemDeleteEvent():
                self._known(event.item_id)
                self._ask(base.ItemDelete(event.item_id))
                self._delete(event.item_id)
            case c.ClientItemRetrieveEvent():
                self._emit(s.AgentItemRetrievedEvent(item=self._known(event.item_id), **self._who))
            case c.ClientItemTruncateEvent():
                if self._known(event.item_id).role != "assistant":
                    raise ClientError(f"item {event.item_id!r} is not an answer", code="invalid_item")
                self._cut(event.item_id, event.audio_end_ms)
            case (
                c.ClientSessionCreateEvent()
                | c.ClientSessionUpdateEvent()
                | c.ClientSessionResumeEvent()
                | c.ClientSessionEndEvent()
                | c.ClientPlaybackAckEvent()
            ):
                raise ClientError(f"{event.type} is for the call, not for the agent", code="unexpected_event")
            case _:
                assert_never(event)

    def _hear(self, event: c.ClientAudioAppendEvent) -> None:
        try:
            rate_hz = event.format.rate_hz(DEFAULT_CLIENT_RATE_HZ)
        except ValueError as error:
            raise ClientError(str(error), code="unsupported_audio_format") from error
        if "audio" not in self._profile.input_modalities:
            self._refuse(base.AudioAppend(b""))
        pcm, found = self._input.take(event.audio, rate_hz, event.offset)
        if pcm:
            self._send(base.AudioAppend(pcm))
        for one in found:
            match one:
                case SpeechStarted():
                    self._speech_started(self._new_id("item"), one.start_ms)
                    self._send(base.AudioAppend(self._input.open_gate()))
                case TurnEnded():
                    self._speech_stopped(one.end_ms)
                    self._input.close_gate()
                case SpeechPaused() | SpeechResumed():
                    pass
                case _:
                    assert_never(one)

    def _read(self, event: c.ClientTextAppendEvent) -> None:
        """A typed turn: what is being said stops, the text becomes an item, and it is answered."""
        item = Item(id=self._new_id("item"), role="user", content=(ContentPart(type="text", text=event.text),))
        self._refuse(base.ItemCreate(item))
        if not self.text_auto_response:
            self._create_item(item)
            return
        self._turn_ended_at = self._host.runtime.now()
        self._signal(Signal.TEXT, before_answer=lambda: self._create_item(item))
        self._text_turn_answered = True

    def _respond(self, event: c.ClientResponseCreateEvent) -> None:
        if event.response is not None and event.response.conversation == "none":
            self._send(base.ResponseCreate(event.response))
            return
        if self._text_turn_answered and self._responding and self.turn.state is State.THINKING:
            # Clients of other servers ask for the answer to their text; it is on its way already.
            self._text_turn_answered = False
            return
        self._turn_ended_at = self._host.runtime.now()
        self._signal(Signal.REQUEST, overrides=event.response)

    def _create_item(self, item: Item, previous_item_id: str | None = None) -> None:
        self._ask(base.ItemCreate(item, previous_item_id))
        self._add(item, previous_item_id)
        self._emit(s.AgentItemDoneEvent(item=item, **self._who))

    def _known(self, item_id: str) -> Item:
        item = self._conversation.get(item_id)
        if item is None:
            raise ClientError(f"there is no item {item_id!r}", code="unknown_item")
        return item

    def _refuse(self, message: base.ModelInput) -> None:
        error = base.refusal(self._profile, message)
        if error is not None:
            raise error

    def _ask(self, message: base.ModelInput) -> None:
        self._refuse(message)
        self._send(message)

    # -- turns -----------------------------------------------------------------------------------------------------

    @property
    def _responding(self) -> bool:
        return self._active is not None or self._awaited > 0

    def _signal(
        self,
        signal: Signal,
        *,
        before_answer: Callable[[], None] | None = None,
        overrides: ResponseOverrides | None = None,
    ) -> tuple[Action, ...]:
        """Tell the turn machine and perform what it decides, in its order."""
        ears = self._host.ears
        heard_ms = sum(ears.heard_ms(item_id) for item_id in self._reply_items)
        actions = self.turn.receive(
            signal,
            self._host.runtime.now(),
            responding=self._responding,
            heard_ms=heard_ms,
            unheard_ms=ears.unheard_ms(),
        )
        if Action.FLUSH in actions:
            self._interrupt(actions, "hasty_turn" if Action.WITHDRAW in actions else signal.value)
        if before_answer is not None:
            before_answer()
        if signal in (Signal.TEXT, Signal.REQUEST, Signal.COMMIT, Signal.SPEECH_STARTED):
            self._reply_items.clear()
            self._text_turn_answered = False
        if Action.COMMIT in actions:
            self._send(base.AudioCommit())
            self._commits.append(self._user_turn if self.turn.authority == "server" else None)
            self._input.uncommitted_ms = 0.0
            if not self._turn_ended_at or signal is Signal.COMMIT:
                self._turn_ended_at = self._host.runtime.now()
        if Action.CREATE in actions and (self.auto_response or signal is Signal.REQUEST or signal is Signal.TEXT):
            self._create_response(overrides)
        return actions

    def _create_response(self, overrides: ResponseOverrides | None = None) -> None:
        self._awaited += 1
        self._send(base.ResponseCreate(overrides))

    def _interrupt(self, actions: tuple[Action, ...], reason: str) -> None:
        """Silence first; then the model; then the truth about what was heard."""
        ears = self._host.ears
        heard_ms = {item_id: ears.heard_ms(item_id) for item_id in self._reply_items}
        self._emit(s.ServerAudioFlushEvent(reason=reason))
        active = self._active
        if Action.CANCEL in actions and active is not None:
            self._send(base.ResponseCancel(active.id))
        if Action.DROP in actions:
            if active is not None:
                active.dropped = True
                self._active = None
            # What was asked for but has not begun is dropped when it begins.
            self._drop_awaited += self._awaited
            self._awaited = 0
        withdrawn = Action.WITHDRAW in actions
        for item_id, item_heard_ms in heard_ms.items():
            if withdrawn or item_heard_ms == 0:
                self._withdraw(item_id)
            elif item_heard_ms < int(self._conversation.audio_ms(item_id)):
                self._cut(item_id, item_heard_ms)
        if active is not None:
            self._close_parts(active)

    def _cut(self, item_id: str, heard_ms: int) -> None:
        cut = self._conversation.truncate(item_id, heard_ms)
        if self._profile.supports_truncation:
            self._send(base.ItemTruncate(item_id, cut.audio_end_ms, cut.transcript))
        self._emit(
            s.AgentItemTruncatedEvent(
                item_id=item_id, audio_end_ms=cut.audio_end_ms, transcript=cut.transcript, **self._who
            )
        )

    def _withdraw(self, item_id: str) -> None:
        """Nothing of the item counts: it leaves the conversation here and at the model."""
        if item_id not in self._conversation:
            return
        if self._profile.supports_item_delete:
            self._send(base.ItemDelete(item_id))
        elif self._profile.supports_truncation:
            self._send(base.ItemTruncate(item_id, 0, ""))
        self._delete(item_id)

    def _delete(self, item_id: str) -> None:
        if self._conversation.delete(item_id):
            self._emit(s.AgentItemDeletedEvent(item_id=item_id, **self._who))

    def _speech_started(self, piece_id: str, start_ms: int) -> None:
        actions = self._signal(Signal.SPEECH_STARTED)
        turn = self._user_turn
        if turn is None or Action.WITHDRAW not in actions:
            turn = self._user_turn = UserTurn(piece_id)
        turn.add(piece_id)
        self._user_turns[piece_id] = turn
        while len(self._user_turns) > KEPT_USER_TURNS:
            del self._user_turns[next(iter(self._user_turns))]
        self._emit(s.AgentInputStartedEvent(item_id=turn.item_id, audio_start_ms=start_ms, **self._who))

    def _speech_stopped(self, end_ms: int) -> None:
        self._turn_ended_at = self._host.runtime.now()
        item_id = self._user_turn.item_id if self._user_turn is not None else self._new_id("item")
        self._emit(s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=end_ms, **self._who))
        self._signal(Signal.SPEECH_STOPPED)

    def _turn_of(self, piece_id: str) -> UserTurn:
        """The turn to which the model's input item belongs, also when the model never reported its start."""
        turn = self._user_turns.get(piece_id)
        if turn is None:
            turn = self._commits.popleft() if self._commits else None
            if turn is None:
                turn = self._user_turn = UserTurn(piece_id)
            turn.add(piece_id)
            self._user_turns[piece_id] = turn
        return turn

    # -- from the model --------------------------------------------------------------------------------------------

    def on_model(self, event: m.ModelEvent) -> None:
        """Follow what the model does."""
        if type(event) is m.ModelResponseAudioDeltaEvent:
            self._speak(event)
            return
        match event:
            case m.ModelResponseAudioDeltaEvent():
                self._speak(event)
            case m.ModelInputStartedEvent():
                if self.turn.authority == "provider":
                    self._speech_started(event.item_id, self._base_ms + event.audio_start_ms)
            case m.ModelInputDoneEvent():
                if self.turn.authority == "provider":
                    self._speech_stopped(self._base_ms + event.audio_end_ms)
            case m.ModelInputCommittedEvent():
                self._committed(event)
            case (
                m.ModelInputTranscriptionDeltaEvent()
                | m.ModelInputTranscriptionDoneEvent()
                | m.ModelInputTranscriptionFailedEvent()
            ):
                self._transcribe(event)
            case m.ModelResponseCreatedEvent():
                self._response_created(event)
            case m.ModelResponseDoneEvent():
                self._response_done(event)
            case (
                m.ModelResponseAudioDoneEvent()
                | m.ModelResponseAudioTranscriptDeltaEvent()
                | m.ModelResponseAudioTranscriptDoneEvent()
                | m.ModelResponseTextDeltaEvent()
                | m.ModelResponseTextDoneEvent()
                | m.ModelResponseToolUseDeltaEvent()
                | m.ModelResponseToolUseDoneEvent()
            ):
                self._answer(event)
            case m.ModelItemAddedEvent():
                if event.item.id not in self._conversation and event.item.role != "user":
                    self._add(event.item, event.previous_item_id)
            case m.ModelItemDeletedEvent():
                self._delete(event.item_id)
            case m.ModelReconnectingEvent():
                self._lost()
                self._forward(event)
            case m.ModelReconnectedEvent():
                self._base_ms = self._input.position_ms
                self._forward(event)
            case m.ModelErrorEvent():
                if event.code in RESPONSE_REFUSED:
                    self._awaited = max(0, self._awaited - 1)
                self._forward(event)
            case m.ModelSessionUpdatedEvent() | m.ModelInputClearedEvent():
                self._forward(event)
            case (
                m.ModelItemDoneEvent()
                | m.ModelItemTruncatedEvent()
                | m.ModelItemRetrievedEvent()
                | m.ModelSessionCreatedEvent()
                | m.ModelSessionEndedEvent()
            ):
                # Items are told from our own conversation, which knows what was heard; the session is the agent's.
                pass
            case _:
                assert_never(event)

    def _speak(self, event: m.ModelResponseAudioDeltaEvent) -> None:
        response = self._responses.get(event.response_id)
        if response is None or response.dropped:
            return
        part = response.parts.get(event.item_id)
        if part is None or not part.audio_open:
            part = self._open_audio(response, event)
        if not response.out_of_band:
            self._conversation.hear_audio(event.item_id, len(event.delta) * self._ms_per_byte)
        self._emit(
            s.AgentResponseAudioDeltaEvent(
                response_id=event.response_id,
                item_id=event.item_id,
                output_index=event.output_index,
                content_index=event.content_index,
                delta=event.delta,
                format=event.format,
                agent_id=self._agent_id,
                agent_name=self._agent_name,
            )
        )

    def _open_audio(self, response: Response, event: m.ModelResponseAudioDeltaEvent) -> Part:
        part = self._open(response, event.item_id, event.output_index, event.content_index)
        part.audio_open = True
        if response.out_of_band:
            return part
        if event.item_id not in self._reply_items:
            self._reply_items.append(event.item_id)
        self._signal(Signal.RESPONSE_AUDIO)
        now, ended_at = self._host.runtime.now(), self._turn_ended_at
        if ended_at is not None:
            self._turn_ended_at = None
            created_at = self._created_at or ended_at
            self._emit(
                s.ServerLatencyEvent(
                    response_id=response.id,
                    turn_end_to_audio_ms=round((now - ended_at) * 1000),
                    stages_ms={
                        "to_response": max(0, round((created_at - ended_at) * 1000)),
                        "to_audio": round((now - max(created_at, ended_at)) * 1000),
                    },
                )
            )
        return part

    def _open(self, response: Response, item_id: str, output_index: int, content_index: int) -> Part:
        if not response.out_of_band and item_id not in self._conversation:
            self._add(Item(id=item_id, role="assistant", status="in_progress"))
        return response.part(item_id, output_index, content_index)

    def _answer(
        self,
        event: m.ModelResponseAudioDoneEvent
        | m.ModelResponseAudioTranscriptDeltaEvent
        | m.ModelResponseAudioTranscriptDoneEvent
        | m.ModelResponseTextDeltaEvent
        | m.ModelResponseTextDoneEvent
        | m.ModelResponseToolUseDeltaEvent
        | m.ModelResponseToolUseDoneEvent,
    ) -> None:
        response = self._responses.get(event.response_id)
        if response is None or response.dropped:
            return
        if isinstance(event, m.ModelResponseToolUseDeltaEvent):
            self._forward(event)
            return
        if isinstance(event, m.ModelResponseToolUseDoneEvent):
            self._use_tool(response, event)
            return
        part = self._open(response, event.item_id, event.output_index, event.content_index)
        told = not response.out_of_band
        match event:
            case m.ModelResponseAudioTranscriptDeltaEvent():
                part.transcript_open = True
                if told:
                    self._conversation.hear_text(event.item_id, event.delta)
            case m.ModelResponseTextDeltaEvent():
                part.text_open = True
                if told:
                    self._conversation.hear_text(event.item_id, event.delta)
            case m.ModelResponseAudioDoneEvent():
                part.audio_open = False
                if told:
                    self._conversation.audio_complete(event.item_id)
            case m.ModelResponseAudioTranscriptDoneEvent():
                part.transcript_open = False
                if told:
                    self._complete_words(event.item_id, event.transcript)
                    event = msgspec.structs.replace(event, transcript=self._conversation.spoken_text(event.item_id))
            case m.ModelResponseTextDoneEvent():
                part.text_open = False
                if told:
                    self._conversation.set_text(event.item_id, event.text)
            case _:
                assert_never(event)
        self._forward(event)

    def _complete_words(self, item_id: str, transcript: str) -> None:
        """A provider may send the whole text only with its done event."""
        so_far = self._conversation.spoken_text(item_id)
        if transcript.startswith(so_far) and len(transcript) > len(so_far):
            self._conversation.hear_text(item_id, transcript[len(so_far) :])

    def _response_created(self, event: m.ModelResponseCreatedEvent) -> None:
        response = Response(event.response_id, out_of_band=event.conversation == "none")
        self._responses[response.id] = response
        self._forward(event)
        if response.out_of_band:
            return
        if self._drop_awaited:
            # It was interrupted before it began.
            self._drop_awaited -= 1
            response.dropped = True
            self._send(base.ResponseCancel(response.id))
            return
        self._awaited = max(0, self._awaited - 1)
        self._active = response
        self._created_at = self._host.runtime.now()
        self._signal(Signal.RESPONSE_CREATED)

    def _response_done(self, event: m.ModelResponseDoneEvent) -> None:
        response = self._responses.get(event.response_id)
        if response is None:
            self._forward(event)
            return
        response.done = True
        self._close_parts(response)
        finished = event.status == "completed" and not response.dropped
        if not response.out_of_band:
            for item_id in response.parts:
                if item_id in self._conversation:
                    item = self._conversation.complete(item_id, "completed" if finished else "incomplete")
                    self._emit(s.AgentItemDoneEvent(item=item, **self._who))
        self._forward(event)
        if self._active is response:
            self._active = None
            if not response.calls:
                self._signal(Signal.RESPONSE_DONE)
        if not response.unanswered:
            del self._responses[response.id]
            if response.calls and not response.dropped:
                self._go_on()

    def _close_parts(self, response: Response) -> None:
        """Close every stream that the model left open, with what counts as said."""
        for part in response.parts.values():
            where: dict[str, Any] = {
                "response_id": part.response_id,
                "item_id": part.item_id,
                "output_index": part.output_index,
                "content_index": part.content_index,
                **self._who,
            }
            known = part.item_id in self._conversation
            words = self._conversation.spoken_text(part.item_id) if known else ""
            if part.audio_open:
                part.audio_open = False
                if known:
                    self._conversation.audio_complete(part.item_id)
                self._emit(s.AgentResponseAudioDoneEvent(**where))
            if part.transcript_open:
                part.transcript_open = False
                self._emit(s.AgentResponseAudioTranscriptDoneEvent(transcript=words, **where))
            if part.text_open:
                part.text_open = False
                self._emit(s.AgentResponseTextDoneEvent(text=words, **where))

    def _committed(self, event: m.ModelInputCommittedEvent) -> None:
        turn = self._turn_of(event.item_id)
        self._input.uncommitted_ms = 0.0
        if turn.item_id in self._conversation:
            return
        self._add(Item(id=turn.item_id, role="user", content=(ContentPart(type="audio"),)))
        self._emit(
            s.AgentInputCommittedEvent(item_id=turn.item_id, previous_item_id=event.previous_item_id, **self._who)
        )

    def _transcribe(
        self,
        event: m.ModelInputTranscriptionDeltaEvent
        | m.ModelInputTranscriptionDoneEvent
        | m.ModelInputTranscriptionFailedEvent,
    ) -> None:
        turn = self._turn_of(event.item_id)
        match event:
            case m.ModelInputTranscriptionDeltaEvent():
                event = msgspec.structs.replace(
                    event, item_id=turn.item_id, delta=turn.lead(event.item_id) + event.delta
                )
                self._forward(event)
                return
            case m.ModelInputTranscriptionDoneEvent():
                transcript = turn.say(event.item_id, event.transcript)
                self._forward(msgspec.structs.replace(event, item_id=turn.item_id, transcript=transcript))
                if turn.item_id in self._conversation:
                    self._conversation.set_transcript(turn.item_id, transcript)
                    self._emit(s.AgentItemDoneEvent(item=self._known(turn.item_id), **self._who))
            case m.ModelInputTranscriptionFailedEvent():
                self._forward(msgspec.structs.replace(event, item_id=turn.item_id))
            case _:
                assert_never(event)

    def _lost(self) -> None:
        """The link is gone and with it every response that was running: close them, so that nobody waits for more."""
        for response in [*self._responses.values()]:
            if response.done:
                continue
            self._response_done(
                m.ModelResponseDoneEvent(
                    response_id=response.id, status="failed", status_details={"reason": "connection_lost"}
                )
            )
        self._awaited = self._drop_awaited = 0

    # -- tools -----------------------------------------------------------------------------------------------------

    def _use_tool(self, response: Response, event: m.ModelResponseToolUseDoneEvent) -> None:
        call = event.tool_use
        response.calls[call.id] = call
        response.unanswered.add(call.id)
        self.turn.withdrawable = False
        self._conversation.add_tool_call(event.item_id, call)
        self._forward(event)
        self._tools.start_tool(call)

    def tool_done(self, result: ToolResultBlock) -> None:
        """A tool has returned, failed or was cancelled: tell everybody; after the last one the model goes on."""
        response = next((one for one in self._responses.values() if result.id in one.unanswered), None)
        item_id = self._new_id("item")
        self._conversation.add_tool_result(item_id, result)
        self._emit(
            s.AgentResponseToolResultEvent(
                tool_result=result,
                response_id=response.id if response is not None else None,
                item_id=item_id,
                **self._who,
            )
        )
        self._send(base.ToolResult(result))
        if response is None:
            return
        response.unanswered.discard(result.id)
        if response.done and not response.unanswered:
            del self._responses[response.id]
            if not response.dropped:
                self._go_on()

    def _go_on(self) -> None:
        """All results are in: the model speaks on, unless the user has taken the turn meanwhile."""
        if self.turn.state is State.USER_SPEAKING:
            return
        self._create_response()

    # -- small things ----------------------------------------------------------------------------------------------

    def _add(self, item: Item, previous_item_id: str | None = None) -> None:
        before = self._conversation.add(item, previous_item_id)
        self._emit(s.AgentItemAddedEvent(item=item, previous_item_id=before, **self._who))

    def _forward(self, event: m.ModelEvent) -> None:
        """The agent's event with the same meaning."""
        agent_event = AGENT_EVENTS[type(event)]
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        self._emit(agent_event(**fields, **self._who))

    def _new_id(self, prefix: str) -> str:
        return self._host.runtime.new_id(prefix)
