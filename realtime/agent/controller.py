"""The controller of a call: client events and model events in, model inputs and server events out.

It performs what `realtime.turn.machine` decides. Everything here is synchronous and runs to its end, so nothing can
interleave; time, ids and the two outlets are given.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import assert_never

import msgspec

from realtime.agent.input import AudioInput, Detector, LongAppendPiece
from realtime.agent.item_sound import at_rate
from realtime.agent.open_responses import UserTurn
from realtime.agent.replay_buffer import ReplayBuffer, Stretch
from realtime.agent.reporter import Reporter
from realtime.agent.responses import Answers, Tools
from realtime.audio.endpoint import EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.call.participant import Host
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import (
    DEFAULT_INPUT_RATE_HZ,
    MAX_ITEM_ID_CHARS,
    AudioFormat,
    ContentPart,
    Item,
    ResponseOverrides,
)
from realtime.event.config import TurnAuthority
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.model import base
from realtime.model.voices import voice_here
from realtime.state.conversation import without_pictures, without_sound
from realtime.turn.machine import Action, Signal, State, Turn

logger = logging.getLogger(__name__)

EMPTY_COMMIT_MS = 100.0
"""Less audio than this is not a turn (OpenAI refuses such a commit): the commit is ignored."""
EMPTY_COMMIT = "input_audio_buffer_commit_empty"
"""The error of a commit that the model ignored: no words will come of it."""
MAX_DETECTION_LAG_MS = 500
"""More than this between a voice and its detection is not the detector's doing."""
MAX_ITEMS = 10_000
"""A client that makes more of them fills the server's memory."""
CATCHING_UP_MS = 2_000
"""So long after a link came back the model may not have told yet that it hears a voice in what it missed."""
KEPT_USER_TURNS = 64
"""Turns whose transcripts may still be on their way."""


class Controller:
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
        self._runtime = host.runtime
        self._ears = host.ears
        self._conversation = host.conversation
        self._conversation.set_alignment(profile.aligns_transcript)
        self._report = Reporter(host, agent_id, agent_name)
        self._emit = host.emit
        self._profile = profile
        self._send = send
        self._tools = tools
        self._input = AudioInput(profile.input_rate_hz, detector if authority == "server" else None)
        self._client_format: AudioFormat | None = None
        self._client_hz = DEFAULT_INPUT_RATE_HZ
        self._replay = ReplayBuffer(profile.input_rate_hz)
        self._link_lost = False
        self._deaf_until_ms = 0
        self.turn = Turn(authority)
        self.auto_response = auto_response
        self.text_auto_response = text_auto_response
        self.user_name: str | None = None
        """What the user is called, on every item of theirs."""
        self._answers = Answers(
            host=host,
            report=self._report,
            profile=profile,
            send=send,
            tools=tools,
            turn=self.turn,
            signal=self._signal,
        )
        self._user_turns: dict[str, UserTurn] = {}
        self._user_turn: UserTurn | None = None
        self._commits: list[Stretch] = []
        self._has_news = False
        """Whether the client has put in something of the user's that no answer was asked for since."""

    @property
    def received_samples(self) -> int:
        """How many samples of the client's audio have arrived, at its own rate."""
        return self._input.received_samples

    def set_tool_auto_response(self, wanted: bool) -> None:
        """Whether the model speaks on by itself after the results of tools that run in the client."""
        self._answers.tool_auto_response = wanted

    def detect_with(self, detector: Detector | None) -> None:
        """Let this detector decide about turns, or nobody here. Only before the first audio."""
        self._input = AudioInput(self._profile.input_rate_hz, detector)

    def wait_for(self, silence_ms: int) -> None:
        """From now on our detector ends a turn after so much silence."""
        self._input.wait_for(silence_ms)

    def label_of(self, item_id: str) -> str | None:
        """The `event_id` of the client's commit that ended this turn of the user; None where nobody knows."""
        return next((turn.label for turn in self._user_turns.values() if turn.item_id == item_id), None)

    def is_dropped(self, response_id: str) -> bool:
        """See `Answers`."""
        return self._answers.is_dropped(response_id)

    def end_responses(self) -> None:
        """The model is gone for good: what runs ends as it stands, and nothing is owed."""
        self._answers.link_lost(owed=False, n_coming=0)

    def give_up(self) -> None:
        """See `Answers`."""
        self._answers.give_up()

    def drop(self, response_id: str) -> None:
        """See `Answers`."""
        self._answers.drop(response_id)

    def settle_words(self) -> None:
        """The model is gone: what was told of the user's words while they grew is all that there will be."""
        for turn in dict.fromkeys(self._user_turns.values()):
            if turn.is_unfinished:
                transcript = turn.finish()
                if turn.item_id not in self._conversation:
                    self._report.add_item(Item(id=turn.item_id, role="user", name=self.user_name))
                self._tell_words(turn, transcript)

    def settle_cut(self) -> None:
        """See `Answers`."""
        self._answers.settle_cut()

    def close(self) -> None:
        """The call is over: part from what refers back here, so that all of it is freed at once."""
        self._answers.close()

    # -- from the client -------------------------------------------------------------------------------------------

    def on_client(self, event: c.ClientEvent) -> None:
        """Do what the client asks. Raises ClientError for what cannot be done; nothing is lost by that."""
        match event:
            case c.ClientAudioAppendEvent():
                self._hear(event)
            case c.ClientAudioCommitEvent():
                if self._input.uncommitted_ms >= EMPTY_COMMIT_MS:
                    self._commit(event.event_id)
                else:
                    logger.debug("an empty commit was ignored")
            case c.ClientAudioClearEvent():
                self._input.clear()
                self._replay.clear()
                self._send(base.AudioClear())
                self._signal(Signal.CLEAR)
                # What was asked for meanwhile is still answered; where nothing was, nothing is awaited.
                self._signal(Signal.RESPONSE_DONE)
            case c.ClientTextAppendEvent():
                self._read(event)
            case c.ClientImageAppendEvent():
                self._look(event)
            case c.ClientResponseCreateEvent():
                self._respond(event)
            case c.ClientResponseCancelEvent():
                if event.response_id is None or self._answers.is_current(event.response_id):
                    self._tools.cancel_tools()
                    if self.turn.state is State.THINKING and not self._answers.responding:
                        # The model may be about to answer by itself: what it has not told us it may still stop.
                        self._send(base.ResponseCancel())
                    self._signal(Signal.CANCEL)
                elif self._answers.runs_beside(event.response_id):
                    self._send(base.ResponseCancel(event.response_id))
            case c.ClientToolResultEvent(confirmed=bool(confirmed)):
                words = ToolResultBlock(id=event.id, name=event.name, output=event.output).output_text()
                self.confirm(event.id, confirmed, words=words, changed=event.tool_call)
            case c.ClientToolResultEvent():
                if event.state == ToolResultState.RUNNING:
                    raise ClientError("a tool that runs has no result yet", code="invalid_event")
                result = ToolResultBlock(id=event.id, name=event.name, output=event.output, state=event.state)
                if event.item_id is not None:
                    self._check_id(event.item_id)
                    if event.item_id in self._conversation or self._answers.is_taken(event.item_id):
                        raise ClientError(f"there is an item {event.item_id!r} already", code="invalid_item")
                if not self._tools.answer_tool(result):
                    raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")
                self._answers.answered_by_client(event.id, event.item_id)
            case c.ClientItemCreateEvent():
                self._create_item(event.item, event.previous_item_id)
            case c.ClientItemDeleteEvent():
                self._known(event.item_id)
                self._ask(base.ItemDelete(event.item_id))
                self._report.delete_item(event.item_id)
            case c.ClientItemRetrieveEvent():
                known = without_sound(self._known(event.item_id))
                self._emit(s.AgentItemRetrievedEvent(item=known, **self._report.who))
            case c.ClientItemTruncateEvent():
                if self._known(event.item_id).role != "assistant":
                    raise ClientError(f"item {event.item_id!r} is not an answer", code="invalid_item")
                self._answers.cut(event.item_id, event.audio_end_ms)
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
        if event.format is not self._client_format and event.format != self._client_format:
            try:
                self._client_hz = event.format.rate_hz(DEFAULT_INPUT_RATE_HZ)
            except ValueError as error:
                raise ClientError(str(error), code="unsupported_audio_format") from error
            self._refuse(base.AudioAppend(b""))
            self._client_format = event.format
        for pcm, found in self._input.take(event.audio, self._client_hz, event.offset):
            if pcm:
                self._say_audio(pcm, follows=type(event) is LongAppendPiece)
            self._follow_speech(found)

    def _follow_speech(self, found: Iterable[EndpointEvent]) -> None:
        for one in found:
            match one:
                case SpeechStarted():
                    self._speech_started(self._new_id("item"), one.start_ms)
                    self._say_audio(self._input.open_gate())
                case TurnEnded():
                    self._speech_stopped(one.end_ms)
                    self._input.close_gate()
                case SpeechPaused() | SpeechResumed():
                    pass
                case _:
                    assert_never(one)

    def audio_stopped(self) -> None:
        """The client has sent no audio for a while: no silence will come that ends its turn."""
        self._follow_speech(self._input.finish())

    def _commit(self, label: str | None) -> None:
        in_speech = self.turn.authority == "server" and self.turn.state is State.USER_SPEAKING
        if in_speech:
            self._tell_end(self._input.position_ms)
        self._signal(Signal.COMMIT, label=label)
        if in_speech:
            # The detector has found no end: without this it would take the next speech for the rest of this one.
            self._input.end_turn()

    def _say_audio(self, pcm: bytes, *, follows: bool = False) -> None:
        told_of_speech = (
            self._profile.emits_speech_events
            and self.turn.authority == "provider"
            and not self._link_lost
            and self._input.position_ms >= self._deaf_until_ms
        )
        self._replay.add(pcm, waits_for_speech=told_of_speech)
        self._send(base.AudioAppend(pcm, follows=follows))

    def _read(self, event: c.ClientTextAppendEvent) -> None:
        """A typed turn: what is being said stops, the text becomes an item, and it is answered."""
        words = ContentPart(type="text", text=event.text)
        item = Item(id=self._new_id("item"), role="user", name=self.user_name, content=(words,))
        # Before the turn machine is told: what is refused changes nothing.
        self._check_item(item)
        if not self.text_auto_response:
            self._put(item)
            return
        self._signal(Signal.TEXT, before_answer=lambda: self._put(item))

    def _respond(self, event: c.ClientResponseCreateEvent) -> None:
        overrides = event.response
        if overrides is not None and overrides.voice is not None:
            overrides = msgspec.structs.replace(overrides, voice=voice_here(overrides.voice, self._profile))
        if overrides is not None and overrides.tools:
            self._tools.offer(overrides.tools)
        if overrides is not None and overrides.conversation == "none":
            self._ask(base.ResponseCreate(overrides))
            return
        if not self._answers.go_on(overrides):
            self._answers.ask_anew()
            self._signal(Signal.REQUEST, overrides=overrides)

    def _look(self, event: c.ClientImageAppendEvent) -> None:
        """A camera shows one a second: told to everybody as an item, but with its bytes to the model only."""
        part = ContentPart(type="image", image=event.image, media_type=event.format.media_type)
        item = Item(id=self._new_id("item"), role="user", name=self.user_name, content=(part,))
        self._check_room(item)
        self._ask(base.ItemCreate(item))
        self._report.add_item(item, told=without_pictures(item))
        self._report.item_done(without_pictures(item))

    def _check_room(self, item: Item) -> None:
        self._check_id(item.id)
        if len(self._conversation) >= MAX_ITEMS:
            raise ClientError(f"the conversation has {MAX_ITEMS} items: delete some", code="conversation_full")

    @staticmethod
    def _check_id(item_id: str) -> None:
        if len(item_id) > MAX_ITEM_ID_CHARS:
            raise ClientError(f"an item's id has at most {MAX_ITEM_ID_CHARS} characters", code="invalid_item")

    def _check_item(self, item: Item) -> None:
        self._refuse(base.ItemCreate(item))
        self._check_room(item)

    def _create_item(self, item: Item, previous_item_id: str | None = None) -> None:
        self._check_item(item)
        item = at_rate(item, self._profile.input_rate_hz)
        if any(part.audio for part in item.content):
            self._remember(UserTurn(item.id), item.id)  # its words may be told
        self._put(item, previous_item_id)

    def _put(self, item: Item, previous_item_id: str | None = None) -> None:
        """An item that was checked into the conversation, and to the model. Behind an item that is not there it comes
        last here; there it would be refused."""
        known = previous_item_id is not None and previous_item_id in self._conversation
        place = previous_item_id if known or previous_item_id == "root" else None
        self._send(base.ItemCreate(item, place))
        self._report.add_item(item, place, told=without_sound(item))
        self._report.item_done(without_sound(item))
        self._has_news = self._has_news or item.role == "user"

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

    def _signal(
        self,
        signal: Signal,
        *,
        before_answer: Callable[[], None] | None = None,
        overrides: ResponseOverrides | None = None,
        lag_ms: int = 0,
        label: str | None = None,
    ) -> tuple[Action, ...]:
        """Tell the turn machine and perform what it decides, in its order.

        `lag_ms` is how long ago it happened: a detector notices a voice some 80 ms after it begins.
        """
        actions = self.turn.receive(
            signal,
            self._runtime.now() - lag_ms / 1000,
            responding=self._answers.responding,
            heard_ms=max(0, self._answers.heard_ms() - lag_ms),
            unheard_ms=self._ears.unheard_ms(),
            news=self._has_news,
        )
        if Action.FLUSH in actions or Action.WITHDRAW in actions:
            self._answers.interrupt(actions, "hasty_turn" if Action.WITHDRAW in actions else signal.value)
        if before_answer is not None:
            before_answer()
        goes_on = not self.turn.interrupts and (self._answers.responding or self._ears.unheard_ms() > 0)
        if Action.FLUSH in actions or (not goes_on and (signal is Signal.SPEECH_STARTED or Action.CREATE in actions)):
            self._answers.new_turn()
        if Action.COMMIT in actions:
            if self.turn.authority == "client" and (rest := self._input.flush()):
                # What the change of rate holds back belongs to this turn, perhaps to another human's than the next.
                self._say_audio(rest)
            # First the turn that is committed: a model in this process answers while it is told.
            stretch = self._replay.committed(self._user_turn if self.turn.authority == "server" else None)
            stretch.label = label
            if self.turn.authority == "client":
                stretch.end_ms = self._input.position_ms
            self._commits.append(stretch)
            self._send(base.AudioCommit())
            self._input.uncommitted_ms = 0.0
        if signal is Signal.SPEECH_STOPPED or Action.CREATE in actions:
            self._answers.turn_ended(self._runtime.now())
        if Action.CREATE in actions and (self.auto_response or signal in (Signal.REQUEST, Signal.TEXT)):
            self._has_news = False
            self._answers.create(overrides)
        return actions

    def _speech_started(self, piece_id: str, start_ms: int) -> None:
        lag_ms = min(max(0, self._input.position_ms - start_ms), MAX_DETECTION_LAG_MS)
        actions = self._signal(Signal.SPEECH_STARTED, lag_ms=lag_ms)
        turn = self._user_turn
        if turn is None or Action.WITHDRAW not in actions:
            turn = self._user_turn = UserTurn(piece_id)
        self._remember(turn, piece_id)
        self._emit(s.AgentInputStartedEvent(item_id=turn.item_id, audio_start_ms=start_ms, **self._report.who))

    def _voice_found(self, event: m.ModelInputStartedEvent) -> None:
        """The provider's detector hears a voice: a new one, or one that was said again after a lost link."""
        stretch = self._replay.taken_up(event.item_id, event.audio_start_ms)
        if stretch is not None and stretch.turn is not None:
            self._remember(stretch.turn, event.item_id)
            return
        self._speech_started(event.item_id, event.audio_start_ms + self._input.skipped_ms)
        self._replay.started(self._user_turns[event.item_id], event.item_id, event.audio_start_ms)

    def _tell_end(self, end_ms: int) -> None:
        item_id = self._user_turn.item_id if self._user_turn is not None else self._new_id("item")
        self._emit(s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=end_ms, **self._report.who))

    def _speech_stopped(self, end_ms: int) -> None:
        self._tell_end(end_ms)
        self._signal(Signal.SPEECH_STOPPED)

    def _turn_of(self, piece_id: str) -> UserTurn:
        """The turn to which the model's input item belongs, also when the model never reported its start."""
        turn = self._user_turns.get(piece_id)
        if turn is None:
            if self._commits:
                stretch = self._commits.pop(0)
            else:
                stretch = self._replay.taken_up(piece_id) or self._replay.noticed()
            if stretch.turn is None:
                stretch.turn = self._user_turn = UserTurn(piece_id)
            turn, stretch.piece_id = stretch.turn, piece_id
            turn.label, turn.end_ms = stretch.label, stretch.end_ms
            self._remember(turn, piece_id)
        return turn

    def _remember(self, turn: UserTurn, piece_id: str) -> None:
        turn.add(piece_id)
        self._user_turns[piece_id] = turn
        while len(self._user_turns) > KEPT_USER_TURNS:
            del self._user_turns[next(iter(self._user_turns))]

    # -- a lost link -----------------------------------------------------------------------------------------------

    def _link_is_lost(self) -> None:
        """Say again what the model has not understood; what it owes us is asked for again when it is back."""
        messages = self._replay.say_again()
        self._commits = self._replay.commits
        by_itself = self.turn.authority == "provider" and self.auto_response and self.turn.creates
        self._answers.link_lost(
            owed=by_itself and self.turn.state is State.THINKING,
            n_coming=self._replay.n_whole_again if by_itself else 0,
        )
        for message in messages:
            self._send(message)

    # -- from the model --------------------------------------------------------------------------------------------

    def on_model(self, event: m.ModelEvent) -> None:
        """Follow what the model does."""
        match event:
            case m.ModelResponseAudioDeltaEvent():
                self._answers.speak(event)
            case (
                m.ModelResponseAudioTranscriptDeltaEvent()
                | m.ModelResponseAudioTranscriptDoneEvent()
                | m.ModelResponseAudioDoneEvent()
                | m.ModelResponseTextDeltaEvent()
                | m.ModelResponseTextDoneEvent()
            ):
                self._answers.part(event)
            case m.ModelResponseThinkingDeltaEvent() | m.ModelResponseThinkingDoneEvent():
                self._answers.think(event)
            case m.ModelInputStartedEvent():
                if self.turn.authority == "provider":
                    self._voice_found(event)
            case m.ModelInputDoneEvent():
                if self.turn.authority == "provider" and self._replay.stopped(event.item_id, event.audio_end_ms):
                    self._speech_stopped(event.audio_end_ms + self._input.skipped_ms)
            case m.ModelInputCommittedEvent():
                self._committed(event)
            case (
                m.ModelInputTranscriptionDeltaEvent()
                | m.ModelInputTranscriptionDoneEvent()
                | m.ModelInputTranscriptionFailedEvent()
            ):
                self._transcribe(event)
            case m.ModelResponseCreatedEvent():
                self._answers.created(event)
            case m.ModelResponseDoneEvent():
                self._answers.done(event)
            case m.ModelResponseToolUseDeltaEvent() | m.ModelResponseToolUseDoneEvent():
                self._answers.tool_use(event)
            case m.ModelItemDeletedEvent():
                self._report.delete_item(event.item_id)
            case m.ModelReconnectingEvent():
                if not self._link_lost:
                    self._link_lost = True
                    self._link_is_lost()
                self._report.forward(event)
            case m.ModelReconnectedEvent():
                self._link_lost = False
                self._deaf_until_ms = self._input.position_ms + CATCHING_UP_MS
                self._report.forward(event)
                self._answers.link_back()
            case m.ModelErrorEvent():
                if event.code == EMPTY_COMMIT and self._commits:
                    label = self._commits.pop(0).label
                    event = msgspec.structs.replace(event, client_event_id=label or event.client_event_id)
                self._report.forward(event)
                self._answers.refused(event.code)
            case m.ModelSessionUpdatedEvent() | m.ModelInputClearedEvent():
                self._report.forward(event)
            case (
                m.ModelItemAddedEvent()
                | m.ModelItemDoneEvent()
                | m.ModelItemTruncatedEvent()
                | m.ModelItemRetrievedEvent()
                | m.ModelSessionCreatedEvent()
                | m.ModelSessionEndedEvent()
            ):
                # Items are told from our own conversation, which knows what was heard: the user's come with their
                # commit or text, answers with their first content. The session is the agent's.
                pass
            case _:
                assert_never(event)

    def confirm(self, call_id: str, confirmed: bool, *, words: str = "", changed: ToolCallBlock | None = None) -> None:
        """The user's answer to a call that asks (see `Answers.confirm`). Raises ClientError if none of this id does."""
        if not self._answers.confirm(call_id, confirmed, words=words, changed=changed):
            raise ClientError(f"no tool call with the id {call_id!r} asks for consent", code="unknown_tool_call")

    def tool_done(self, result: ToolResultBlock) -> None:
        """A tool has returned, failed or was cancelled."""
        self._answers.tool_done(result)

    def _committed(self, event: m.ModelInputCommittedEvent) -> None:
        turn = self._turn_of(event.item_id)
        if self.turn.authority == "provider":
            # Else we said where it ends, and the next one may have begun since.
            self._input.uncommitted_ms = 0.0
        if turn.item_id in self._conversation:
            return
        words = ContentPart(type="audio", transcript=turn.transcript or None)
        self._report.add_item(Item(id=turn.item_id, role="user", name=self.user_name, content=(words,)))
        self._emit(
            s.AgentInputCommittedEvent(
                item_id=turn.item_id,
                previous_item_id=event.previous_item_id,
                audio_end_ms=turn.end_ms,
                **self._report.who,
            )
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
                if not event.delta:
                    self._report.forward(msgspec.structs.replace(event, item_id=turn.item_id))
                    return
                delta = turn.caption(event.item_id, event.delta)
                if delta is not None:
                    self._report.forward(msgspec.structs.replace(event, item_id=turn.item_id, delta=delta))
            case m.ModelInputTranscriptionDoneEvent():
                transcript = turn.say(event.item_id, event.transcript)
                self._replay.settle(event.item_id)
                self._tell_words(turn, transcript, event)
            case m.ModelInputTranscriptionFailedEvent():
                self._replay.settle(event.item_id)
                self._report.forward(msgspec.structs.replace(event, item_id=turn.item_id))
            case _:
                assert_never(event)

    def _tell_words(
        self, turn: UserTurn, transcript: str, event: m.ModelInputTranscriptionDoneEvent | None = None
    ) -> None:
        """These are the words of the turn; `event` says the last of them."""
        done = event or m.ModelInputTranscriptionDoneEvent(item_id=turn.item_id, transcript="")
        self._report.forward(msgspec.structs.replace(done, item_id=turn.item_id, transcript=transcript))
        if turn.item_id in self._conversation:
            self._conversation.set_transcript(turn.item_id, transcript)
            self._report.item_done(self._known(turn.item_id))

    def _new_id(self, prefix: str) -> str:
        return self._runtime.new_id(prefix)
