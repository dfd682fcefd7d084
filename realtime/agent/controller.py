"""The controller of a call: client events and model events in, model inputs and server events out.

It performs what `realtime.turn.machine` decides. Everything here is synchronous and runs to its end, so nothing
interleaves; time, ids and both outlets are arguments. Calls go one way: the controller calls `Responses`, `UserTurns`
and `ClientItems`, which return what happened and never call back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import assert_never

import msgspec

from realtime.agent.client_items import ClientItems
from realtime.agent.context import AgentContext
from realtime.agent.echo_watch import EchoWatch
from realtime.agent.input import HELD_MS, AudioInput, Detector, LongAppendPiece
from realtime.agent.interruptions import MARGIN_MS, InputEvent, Interruptions
from realtime.agent.overlap import Overlap, Recognise
from realtime.agent.replay_buffer import ReplayBuffer
from realtime.agent.reply_items import ReplyItems
from realtime.agent.responses import RESPONSE_REFUSED, Responses
from realtime.agent.resumption import SORRY, CutReply, Resumption
from realtime.agent.tools import ToolRunner
from realtime.agent.user_turns import UserTurns
from realtime.audio.endpoint import EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.errors import ClientError, RealtimeError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, AudioFormat, Item, ResponseOverrides
from realtime.event.config import InterruptionMode, SessionConfig, TurnAuthority
from realtime.message import ToolResultBlock
from realtime.model import base
from realtime.model.voices import voice_here
from realtime.turn.interruption import Verdict
from realtime.turn.machine import Action, Signal, State, Turn
from realtime.turn.responses import Ledger

logger = logging.getLogger(__name__)

EMPTY_COMMIT_MS = 100.0
"""Less audio than this is no turn (OpenAI refuses such a commit): the commit is ignored."""
EMPTY_COMMIT = "input_audio_buffer_commit_empty"
"""The error of a commit that the model ignored: no words will come of it."""
MAX_DETECTION_LAG_MS = 500
"""A detector is never later than this; a larger distance between a voice and its report has another cause."""
CATCHING_UP_MS = 2_000
"""How long a returned link may leave a missed voice unreported."""


class Controller:
    """One agent's part in one call. Create it once the model's profile is known; it never waits."""

    def __init__(
        self,
        context: AgentContext,
        tools: ToolRunner,
        *,
        authority: TurnAuthority,
        detector: Detector | None,
        recognise: Recognise | None,
        echo_found: Callable[[], None] = lambda: None,
    ) -> None:
        """`echo_found` is called once: the microphone surely hears the replies."""
        self._context = context
        self._runtime = context.runtime
        self._ears = context.ears
        self._emit = context.emit
        self._profile = context.profile
        self._send = context.send
        self._tools = tools
        context.conversation.set_alignment(self._profile.aligns_transcript)
        self.input = AudioInput(self._profile.input_rate_hz, detector if authority == "server" else None)
        self._client_format: AudioFormat | None = None
        self._client_hz = DEFAULT_INPUT_RATE_HZ
        self._replay = ReplayBuffer(self._profile.input_rate_hz)
        self.link_lost = False
        """The link to the model is lost and not restored."""
        self._deaf_until_ms = 0
        self._speech_start_ms = 0
        self.turn = Turn(authority)
        self._auto_response = self._text_auto_response = True
        self.ledger = Ledger()
        self.user_turns = UserTurns(context, self._replay)
        self._items = ClientItems(context, self.user_turns)
        self._reply_items = ReplyItems(context)
        rate_hz = self._profile.input_rate_hz
        self._echo = EchoWatch(echo_found, self.input.raw)
        self.interruptions = Interruptions(self._reply_items, context.ears, rate_hz, recognise, self._echo)
        self.input.alert_while(self.interruptions.is_alert)
        self.responses = Responses(context, tools, self.ledger, self._reply_items)
        self.resumption = Resumption()
        self.before_response: Callable[[], None] = lambda: None
        """Called before a turn's response is requested."""

    def configure(self, config: SessionConfig, authority: TurnAuthority, interruption: InterruptionMode) -> None:
        """Apply the settings of the call."""
        detection = config.detection
        self._tools.set_client_tools(config.tools or ())
        self._auto_response = config.auto_response is not False
        self._text_auto_response = config.text_auto_response is not False
        self.ledger.configure(tool_auto_response=config.tool_auto_response is not False)
        self.user_turns.user_name = config.user_name
        self.turn.configure(
            authority,
            creates=detection.create_response is not False,
            interrupts=interruption != "off",
            provider_responds=interruption != "selective",
        )
        transcribes = authority == "provider" and config.input_audio_transcription is not False
        if authority != "client":
            self._ears.keep_played_audio()
        if self.input.remove_echo(self._ears, config.audio is not None and config.audio.echo_cancellation == "server"):
            self._echo.cancels_from(self.input.position_ms)
        self.interruptions.configure(detection, interruption, transcribes=transcribes)
        hears_words = config.input_audio_transcription is not False
        self._reply_items.keep_speech(interruption == "selective" and hears_words)

    def detect_with(self, detector: Detector | None) -> None:
        """Let this detector decide about turns, or none. Only before the first audio."""
        clean = self.input.clean
        self.input = AudioInput(self._profile.input_rate_hz, detector)
        self.input.alert_while(self.interruptions.is_alert)
        self.input.clean = clean

    def unanswered_audio(self, newest_ms: int) -> bytes:
        """Return what no turn holds yet, at the model's rate: in push-to-talk all of it, else the newest."""
        is_open_turn = self.turn.authority == "client"
        return self._newest_audio(int(self.input.uncommitted_ms) if is_open_turn else newest_ms)

    def audio_stopped(self) -> None:
        """The client has sent no audio for a while: no silence will come that ends its turn."""
        self._follow_speech(self.input.finish())

    def end_responses(self) -> None:
        """The model is gone for good: running responses end as they stand, and none is owed."""
        self._lose_responses(owed=False, n_coming=0)

    def give_up(self) -> None:
        """Stop waiting for what the model was asked for (see `Ledger.give_up`)."""
        self.ledger.give_up(self._runtime.now())

    def end(self, reason: str) -> None:
        """Report that the agent leaves the call, with the user's last words."""
        self.resumption.forget()
        self.user_turns.settle_words()
        self._emit(s.AgentEndedEvent(reason=reason, **self._context.who))

    def tell_error(self, error: RealtimeError) -> None:
        """Report an error as an `agent_error`."""
        self._emit(s.error_event(error, **self._context.who))

    # -- from the client -------------------------------------------------------------------------------------------

    def on_client(self, event: c.ClientEvent) -> None:
        """Do what the client asks. Raises ClientError for what cannot be done, with nothing changed."""
        match event:
            case c.ClientAudioAppendEvent():
                self._hear(event)
            case c.ClientAudioCommitEvent():
                if self.interruptions.current is not None:
                    self._take_floor(self.interruptions.take("commit"))
                if self.input.uncommitted_ms >= EMPTY_COMMIT_MS:
                    self._commit(event.event_id)
                else:
                    logger.debug("an empty commit was ignored")
            case c.ClientAudioClearEvent():
                self._drop_voice("cleared")
                self.input.clear()
                self._replay.clear()
                self._send(base.AudioClear())
                self._signal(Signal.CLEAR)
                # What was requested meanwhile is still answered; otherwise nothing is awaited.
                self._signal(Signal.RESPONSE_DONE)
            case c.ClientTextAppendEvent():
                self._read(event)
            case c.ClientResponseCreateEvent():
                self._respond(event)
            case c.ClientResponseCancelEvent():
                self._cancel(event.response_id)
            case c.ClientToolResultEvent(confirmed=bool(confirmed)):
                words = ToolResultBlock(id=event.id, name=event.name, output=event.output).output_text()
                self.responses.confirm(event.id, confirmed, words=words, changed=event.tool_call)
            case c.ClientToolResultEvent():
                self._answer_tool(event)
            case c.ClientItemCreateEvent() | c.ClientItemDeleteEvent():
                self._items.take(event)
            case c.ClientItemRetrieveEvent() | c.ClientImageAppendEvent():
                self._items.take(event)
            case c.ClientItemTruncateEvent():
                self._items.check_answer(event.item_id)
                self._reply_items.cut(event.item_id, event.audio_end_ms)
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
            self._items.refuse(base.AudioAppend(b""))
            self._client_format = event.format
        for pcm, found in self.input.take(event.audio, self._client_hz, event.offset):
            if pcm:
                self._say_audio(pcm, follows=type(event) is LongAppendPiece)
            self._follow_speech(found)
            self._listen_over_reply()

    def _follow_speech(self, found: Iterable[EndpointEvent]) -> None:
        for one in found:
            match one:
                case SpeechStarted():
                    piece_id = self._runtime.new_id("item")
                    lag_ms = self.input.position_ms - one.start_ms
                    if self.interruptions.begin(piece_id, one.start_ms, one.start_ms, lag_ms):
                        self.input.hold(True)
                        self._weigh()
                        continue
                    self._speech_started(piece_id, one.start_ms)
                    self._say_audio(self.input.open_gate())
                case TurnEnded() if self.interruptions.current is not None:
                    self.interruptions.ended(one.end_ms)
                    self._weigh()
                case TurnEnded():
                    self._speech_stopped(one.end_ms)
                    self.input.close_gate()
                case SpeechPaused():
                    self.interruptions.paused(one.end_ms)
                case SpeechResumed():
                    self.interruptions.resumed()
                case _:
                    assert_never(one)

    # -- voices over a reply ---------------------------------------------------------------------------------------

    def _listen_over_reply(self) -> None:
        position_ms = self.input.position_ms
        if self.turn.authority != "client":
            self.interruptions.hear(position_ms, self._newest_audio)
        if self.interruptions.current is not None and self.interruptions.is_due(position_ms):
            self._weigh()

    def _weigh(self) -> None:
        """Act on what a voice over the reply turns out to mean."""
        match self.interruptions.weigh(self.input.position_ms, self._newest_audio, self._weigh):
            case Verdict.CONFIRM:
                self._take_floor(self.interruptions.take())
            case Verdict.DISMISS:
                self._drop_voice()
            case Verdict.HOLD:
                pass

    def _take_floor(self, overlap: Overlap) -> None:
        """The voice is the user's turn, from its onset."""
        if self._reply_items.speech is not None and not overlap.after_reply:
            is_whole = not self.ledger.responding
            self.resumption.doubt(CutReply(overlap, self._reply_items.speech, is_whole, self.ledger.overrides))
        follows_echo = self.interruptions.follows_echo(overlap)
        lag_ms = self.input.position_ms - overlap.start_ms
        self._speech_started(overlap.piece_id, overlap.start_ms, lag_ms)
        if follows_echo:
            self.user_turns.turn_of(overlap.piece_id).begins_after(self.interruptions.played_words(overlap))
        if self.turn.authority == "server":
            newest_ms = lag_ms + MARGIN_MS if follows_echo else HELD_MS
            self._say_audio(self.input.open_gate(newest_ms))
            if overlap.over and overlap.end_ms is not None:
                self._speech_stopped(overlap.end_ms)
                self.input.close_gate()
            return
        self._replay.started(self.user_turns.turn_of(overlap.piece_id), overlap.piece_id, overlap.model_start_ms)
        for event in overlap.held:
            self.on_model(event)

    def _drop_voice(self, reason: str = "") -> None:
        """The voice over the reply is no turn."""
        overlap = self.interruptions.drop(reason)
        if overlap is not None:
            self.input.hold(False)
            self.interruptions.forget_pieces(*overlap.held)

    def _words_known(self, overlap: Overlap, words: str, piece_id: str) -> None:
        """A turn that cut a reply has these words: it interrupts, or the reply goes on."""
        reason = self.interruptions.judge_again(overlap, words)
        if reason:
            self._go_on(reason, piece_id)
        elif self.resumption.is_late:
            self._signal(Signal.REQUEST)
        else:
            self.resumption.forget()

    def _go_on(self, reason: str = "undecided", piece_id: str | None = None) -> None:
        """The voice that cut the reply asks for nothing: play the rest of the reply; without a rest, ask once."""
        self.responses.settle_cut()
        cut, profile = self.resumption.cut, self._profile
        if cut is None or self._reply_items.written:
            return
        rest = cut.speech.rest(self._reply_items.played_of, profile.output_rate_hz)
        asks = not rest and profile.says_given_words and self.resumption.may_ask
        if not (rest or asks) or Action.RESUME not in self._signal(Signal.MISTAKEN):
            return
        self.interruptions.take_back(cut.overlap, reason, piece_id)
        if rest:
            for signal in self.responses.resume(rest, is_whole=cut.is_whole, overrides=cut.overrides):
                self._signal(signal)
        else:
            self.responses.request(say=SORRY)
        self.resumption.gone_on(cut, asks=asks, late=piece_id is None)

    def _newest_audio(self, ms: int) -> bytes:
        """Return the newest audio of the user, at the model's rate."""
        if self.turn.authority == "server" and not self.input.is_open:
            return self.input.held(ms)
        return self._replay.latest(ms)

    def _commit(self, label: str | None) -> None:
        in_speech = self.turn.authority == "server" and self.turn.state is State.USER_SPEAKING
        if in_speech:
            self.user_turns.tell_end(self.input.position_ms)
        self._signal(Signal.COMMIT, label=label)
        if in_speech:
            # The detector has found no end: without this it takes the next speech for the rest of this turn.
            self.input.end_turn()

    def _say_audio(self, pcm: bytes, *, follows: bool = False) -> None:
        told_of_speech = (
            self._profile.emits_speech_events
            and self.turn.authority == "provider"
            and not self.link_lost
            and self.interruptions.current is None
            and self.input.position_ms >= self._deaf_until_ms
        )
        self._replay.add(pcm, waits_for_speech=told_of_speech)
        self._send(base.AudioAppend(pcm, follows=follows))

    def _read(self, event: c.ClientTextAppendEvent) -> None:
        """Take a typed turn: the reply stops, the text becomes an item, and the model responds."""
        # Checked before the turn machine hears of it: what is refused changes nothing.
        item = self._items.typed(event.text)
        if self._text_auto_response:
            self._signal(Signal.TEXT, typed=item)
        else:
            self._items.put(item)

    def _respond(self, event: c.ClientResponseCreateEvent) -> None:
        overrides = event.response
        if overrides is not None and overrides.voice is not None:
            overrides = msgspec.structs.replace(overrides, voice=voice_here(overrides.voice, self._profile))
        if overrides is not None and overrides.tools:
            self._tools.offer(overrides.tools)
        if overrides is not None and overrides.conversation == "none":
            self._items.ask(base.ResponseCreate(overrides))
            return
        before = self.ledger.continue_after_tools(overrides)
        if before is None:
            self.speak(overrides)
        elif not before.by_client:
            # The client has answered none of its calls and will not.
            self._tools.cancel_tools()

    def speak(self, overrides: ResponseOverrides | None, *, say: str = "") -> None:
        """Ask for a response now; with `say`, for these words."""
        self.ledger.renounce_unanswered(self._runtime.now())
        self._signal(Signal.REQUEST, overrides=overrides, say=say)

    def _cancel(self, response_id: str | None) -> None:
        if response_id is None or self.ledger.is_current(response_id, self._ears.unplayed_ms()):
            self._tools.cancel_tools()
            if self.turn.state is State.THINKING and not self.ledger.responding:
                # The model may be about to respond by itself, and may still stop what it has not reported.
                self._send(base.ResponseCancel())
            self._signal(Signal.CANCEL)
        elif self.ledger.runs_beside(response_id):
            self._send(base.ResponseCancel(response_id))

    def _answer_tool(self, event: c.ClientToolResultEvent) -> None:
        if not self._tools.answer_tool(self._items.result(event, self.responses.is_taken)):
            raise ClientError(f"no open tool call has the id {event.id!r}", code="unknown_tool_call")
        self.responses.answered_by_client(event.id, event.item_id)

    def is_settled(self, item_id: str) -> bool:
        """Whether an item's words are those that were heard: see `ReplyItems.is_settled`."""
        return self._reply_items.is_settled(item_id)

    def tool_done(self, result: ToolResultBlock) -> None:
        """A tool has returned, failed or was cancelled."""
        self._apply(self.responses.tool_done(result))

    # -- turns -----------------------------------------------------------------------------------------------------

    def _apply(self, signal: Signal | None) -> None:
        """Tell the turn machine what happened to a response."""
        if signal is not None:
            self._signal(signal)

    def _signal(
        self,
        signal: Signal,
        *,
        typed: Item | None = None,
        overrides: ResponseOverrides | None = None,
        say: str = "",
        lag_ms: int = 0,
        label: str | None = None,
    ) -> tuple[Action, ...]:
        """Tell the turn machine what happened; perform what it decides, in order.

        `lag_ms` is how long ago it happened: a detector reports a voice some 80 ms after it begins. `typed` is the turn
        that the user typed, `label` the `event_id` of a commit.
        """
        actions = self.turn.receive(
            signal,
            self._runtime.now() - lag_ms / 1000,
            responding=self.ledger.responding,
            played_ms=max(0, self._reply_items.played_ms() - lag_ms),
            unplayed_ms=self._ears.unplayed_ms(),
            news=self._items.has_news,
        )
        self.resumption.follow(signal, actions, self._go_on)
        if Action.FLUSH in actions or Action.WITHDRAW in actions:
            self._interrupt(actions, "hasty_turn" if Action.WITHDRAW in actions else signal.value)
        if typed is not None:
            self._items.put(typed)
        goes_on = not self.turn.interrupts and (self.ledger.responding or self._ears.unplayed_ms() > 0)
        if {Action.FLUSH, Action.RESUME} & {*actions} or (
            not goes_on and (signal is Signal.SPEECH_STARTED or Action.CREATE in actions)
        ):
            self.ledger.new_turn()
            self._reply_items.clear()
        if Action.COMMIT in actions:
            self._commit_turn(label)
        if signal is Signal.SPEECH_STOPPED or Action.CREATE in actions:
            self.responses.turn_ended(self._runtime.now())
        if Action.CREATE in actions and (self._auto_response or signal in (Signal.REQUEST, Signal.TEXT)):
            self._items.has_news = False
            self.before_response()
            self.responses.request(overrides, say=say)
        return actions

    def _interrupt(self, actions: tuple[Action, ...], reason: str) -> None:
        """Stop the reply: silence first, then the model, then the reply's items once it is known what was played."""
        self.responses.settle_cut()
        if Action.FLUSH in actions:
            self._emit(s.ServerAudioFlushEvent(reason=reason))
        running = self.ledger.active
        if Action.CANCEL in actions and running is not None:
            self._send(base.ResponseCancel(running.id))
        if Action.DROP in actions:
            self.ledger.cancel_all()
        # What the user says now may change what was asked: the model learns that first, and may ask again.
        self._tools.withdraw()
        if Action.FLUSH in actions and Action.WITHDRAW not in actions:
            self._tools.interrupt_tools()
        if Action.WITHDRAW in actions:
            self._reply_items.withdraw_all()
            self.responses.close_streams(running)
        elif Action.TRUNCATE in actions:
            self.responses.truncate(running)
        else:
            self.responses.close_streams(running)

    def _commit_turn(self, label: str | None) -> None:
        if self.turn.authority == "client" and (rest := self.input.flush()):
            # What the change of rate holds back belongs to this turn; the next may be of another human.
            self._say_audio(rest)
        # Noted before the model hears of it: a model in this process answers at once.
        self.user_turns.commit(
            self.user_turns.current if self.turn.authority == "server" else None,
            label=label,
            end_ms=self.input.position_ms if self.turn.authority == "client" else None,
        )
        self._send(base.AudioCommit())
        self.input.uncommitted_ms = 0.0

    def _speech_started(self, piece_id: str, start_ms: int, lag_ms: int | None = None) -> None:
        """A turn begins; `lag_ms`: how long ago that was, by default the detector's delay."""
        if lag_ms is None:
            lag_ms = min(max(0, self.input.position_ms - start_ms), MAX_DETECTION_LAG_MS)
        self._speech_start_ms = start_ms
        actions = self._signal(Signal.SPEECH_STARTED, lag_ms=lag_ms)
        turn = self.user_turns.begin(piece_id, goes_on=Action.WITHDRAW in actions)
        self._emit(s.AgentInputStartedEvent(item_id=turn.item_id, audio_start_ms=start_ms, **self._context.who))

    def _voice_found(self, event: m.ModelInputStartedEvent) -> None:
        """The provider's detector hears a voice: a new one, or one that was replayed after a lost link."""
        stretch = self._replay.taken_up(event.item_id, event.audio_start_ms)
        if stretch is not None and stretch.turn is not None:
            self.user_turns.remember(stretch.turn, event.item_id)
            return
        start_ms = event.audio_start_ms + self.input.skipped_ms
        lag_ms = self.input.position_ms - start_ms
        if self.interruptions.begin(event.item_id, start_ms, event.audio_start_ms, lag_ms):
            self._weigh()
            return
        self._speech_started(event.item_id, start_ms)
        self._replay.started(self.user_turns.turn_of(event.item_id), event.item_id, event.audio_start_ms)

    def _speech_stopped(self, end_ms: int) -> None:
        self.interruptions.learn(self.input.position_ms - self._speech_start_ms, self._newest_audio)
        self.user_turns.tell_end(end_ms)
        self._signal(Signal.SPEECH_STOPPED)

    # -- a lost link -----------------------------------------------------------------------------------------------

    def _lose_link(self) -> None:
        """Replay what the model has not understood; what it owes is requested again when it is back."""
        self._drop_voice("link_lost")
        messages = self._replay.replay()
        self.user_turns.commits = self._replay.commits
        responds = self.turn.authority == "provider" and self._auto_response and self.turn.creates
        self._lose_responses(
            owed=responds and self.turn.provider_responds and self.turn.state is State.THINKING,
            n_coming=self._replay.n_whole if responds else 0,
        )
        for message in messages:
            self._send(message)

    def _lose_responses(self, *, owed: bool, n_coming: int) -> None:
        """End every running response: all went with the link (see `Ledger.lose_link`)."""
        self.responses.settle_cut()
        for event in self.responses.lost():
            self._apply(self.responses.done(event))
        self.responses.lose_link(owed=owed, n_coming=n_coming)
        self._signal(Signal.RESPONSE_DONE)

    # -- from the model --------------------------------------------------------------------------------------------

    def on_model(self, event: m.ModelEvent) -> None:
        """Follow what the model does."""
        match event:
            case m.ModelResponseAudioDeltaEvent():
                if (signal := self.responses.speak(event)) is not None:
                    self._signal(signal)
            case (
                m.ModelResponseAudioTranscriptDeltaEvent()
                | m.ModelResponseAudioTranscriptDoneEvent()
                | m.ModelResponseAudioDoneEvent()
                | m.ModelResponseTextDeltaEvent()
                | m.ModelResponseTextDoneEvent()
            ):
                self.responses.part(event)
            case m.ModelResponseThinkingDeltaEvent() | m.ModelResponseThinkingDoneEvent():
                self.responses.think(event)
            case m.ModelInputStartedEvent():
                if self.turn.authority == "provider":
                    self._voice_found(event)
            case _ if isinstance(event, InputEvent) and self.interruptions.holds(event):
                self._weigh()
            case _ if isinstance(event, InputEvent) and self.interruptions.is_dismissed(event.item_id):
                self.interruptions.forget_pieces(event)
            case m.ModelInputDoneEvent() if self.turn.authority == "provider":
                if self._replay.stopped(event.item_id, event.audio_end_ms):
                    self._speech_stopped(event.audio_end_ms + self.input.skipped_ms)
                elif not self.turn.provider_responds:
                    self.responses.turn_repeated()
            case m.ModelInputDoneEvent():
                pass
            case m.ModelInputCommittedEvent():
                if self.turn.authority == "provider":
                    # Otherwise the server said where it ends, and the next one may have begun.
                    self.input.uncommitted_ms = 0.0
                self.user_turns.committed(event)
            case (
                m.ModelInputTranscriptionDeltaEvent()
                | m.ModelInputTranscriptionDoneEvent()
                | m.ModelInputTranscriptionFailedEvent()
            ):
                words = self.user_turns.transcribe(event)
                if words is not None and self.resumption.overlap is not None:
                    self._words_known(self.resumption.overlap, words, event.item_id)
            case m.ModelResponseCreatedEvent():
                self._apply(self.responses.created(event))
            case m.ModelResponseDoneEvent():
                self._apply(self.responses.done(event))
            case m.ModelResponseToolUseDeltaEvent() | m.ModelResponseToolUseDoneEvent():
                if self.responses.tool_use(event):
                    self.turn.tool_called()
            case m.ModelItemDeletedEvent():
                self._context.delete_item(event.item_id)
            case m.ModelReconnectingEvent():
                if not self.link_lost:
                    self.link_lost = True
                    self._lose_link()
                self._context.forward(event)
            case m.ModelReconnectedEvent():
                self.link_lost = False
                self._deaf_until_ms = self.input.position_ms + CATCHING_UP_MS
                self._context.forward(event)
                self.responses.continue_broken_off(self.ledger.overrides)
            case m.ModelErrorEvent():
                if event.code == EMPTY_COMMIT and (label := self.user_turns.commit_refused()):
                    event = msgspec.structs.replace(event, client_event_id=label)
                self._context.forward(event)
                if self.ledger.refuse(self._runtime.now(), named=event.code in RESPONSE_REFUSED):
                    self._signal(Signal.RESPONSE_DONE)
            case m.ModelSessionUpdatedEvent() | m.ModelInputClearedEvent():
                self._context.forward(event)
            case m.ModelItemDoneEvent(item=Item(tool_result=ToolResultBlock() as result)):
                # Of a tool that the model runs itself; nothing waits for what it repeats of others.
                self._tools.answer_tool(result)
            case (
                m.ModelItemAddedEvent()
                | m.ModelItemDoneEvent()
                | m.ModelItemTruncatedEvent()
                | m.ModelItemRetrievedEvent()
                | m.ModelSessionCreatedEvent()
                | m.ModelSessionEndedEvent()
            ):
                # Items are reported from our own conversation, which knows what was played: the user's with their
                # commit or text, replies with their first content. The session is the agent's.
                pass
            case _:
                assert_never(event)
