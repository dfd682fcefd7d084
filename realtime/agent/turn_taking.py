"""The turns of one call: performs what `realtime.turn.machine` decides about speech, interruptions and lost links.

Signals come from our detector, from the provider and from the client, by way of `realtime.agent.controller`. Everything
here is synchronous and runs to its end, so nothing interleaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from realtime.agent.answers import Answers, NoQuestions
from realtime.agent.client_items import ClientItems
from realtime.agent.context import AgentContext
from realtime.agent.echo_watch import EchoWatch
from realtime.agent.input import HELD_MS, AudioInput, Detector
from realtime.agent.interruptions import MARGIN_MS, Interruptions
from realtime.agent.overlap import InputEvent, Overlap, Recognise
from realtime.agent.replay_buffer import ReplayBuffer
from realtime.agent.reply_items import ReplyItems
from realtime.agent.responses import Responses
from realtime.agent.resumption import CutReply, Resumption
from realtime.agent.tools import ToolRunner
from realtime.agent.user_turns import UserTurns
from realtime.audio.endpoint import EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import Item, ResponseOverrides
from realtime.event.config import InterruptionMode, SessionConfig, TurnAuthority
from realtime.model import base
from realtime.turn.interruption import Verdict
from realtime.turn.machine import INTERRUPT, Action, Signal, State, Turn
from realtime.turn.responses import SORRY, Ledger

MAX_DETECTION_LAG_MS = 500
"""A detector is never later than this; a larger distance between a voice and its report has another cause."""
_TURN_ENDS = frozenset({Signal.SPEECH_STOPPED, Signal.COMMIT})
CATCHING_UP_MS = 2_000
"""How long a returned link may leave a missed voice unreported."""


class TurnTaking:
    """Who has the turn in one call, and what follows from it.

    `echo_found` is called once: the microphone surely hears the replies.
    """

    def __init__(
        self,
        context: AgentContext,
        tools: ToolRunner,
        *,
        authority: TurnAuthority,
        detector: Detector | None,
        recognise: Recognise | None,
        echo_found: Callable[[], None],
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._ears = context.ears
        self._emit = context.emit
        self._profile = context.profile
        self._send = context.send
        self._tools = tools
        self.input = AudioInput(self._profile.input_rate_hz, detector if authority == "server" else None)
        self._replay = ReplayBuffer(self._profile.input_rate_hz)
        self.link_lost = False
        """The link to the model is lost and not restored."""
        self._clears = 0
        """Requests to forget audio that the model has not confirmed."""
        self._deaf_until_ms = 0
        self._speech_start_ms = 0
        self.turn = Turn(authority)
        self._auto_response = True
        self.ledger = Ledger()
        self.user_turns = UserTurns(context, self._replay)
        self.items = ClientItems(context, self.user_turns)
        self.reply_items = ReplyItems(context)
        rate_hz = self._profile.input_rate_hz
        self._echo = EchoWatch(echo_found, self.input.raw)
        self.interruptions = Interruptions(self.reply_items, context.ears, rate_hz, recognise, self._echo)
        self.input.alert_while(self._is_alert)
        self.responses = Responses(context, tools, self.ledger, self.reply_items)
        self.resumption = Resumption()
        self.answers: Answers = NoQuestions()
        """Takes turns first, while a question is open."""
        self.hears_words = True
        """Whether the words of the user are transcribed."""
        self.forgotten: set[str] = set()
        """Pieces of answers that the model forgets, and the call keeps."""
        self.before_response: Callable[[], None] = lambda: None
        """Called before a turn's response is requested."""
        self.on_cut: Callable[[bool], None] = lambda is_meant: None
        """Called with True when the user cuts a reply; with False when that was a mistake, and the reply goes on."""

    def configure(self, config: SessionConfig, authority: TurnAuthority, interruption: InterruptionMode) -> None:
        """Apply the settings of the call."""
        detection = config.detection
        self._auto_response = config.auto_response is not False
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
        self.hears_words = config.input_audio_transcription is not False
        self.reply_items.keep_speech(interruption == "selective" and self.hears_words)

    def detect_with(self, detector: Detector | None) -> None:
        """Let this detector decide about turns, or none. Only before the first audio."""
        clean = self.input.clean
        self.input = AudioInput(self._profile.input_rate_hz, detector)
        self.input.alert_while(self._is_alert)
        self.input.clean = clean

    def _is_alert(self) -> bool:
        """Return whether a voice counts sooner: it is decided later, or answers a question."""
        return self.interruptions.is_alert() or self.answers.is_asked

    def unanswered_audio(self, newest_ms: int) -> bytes:
        """Return what no turn holds yet, at the model's rate: in push-to-talk all of it, else the newest."""
        is_open_turn = self.turn.authority == "client"
        return self._newest_audio(int(self.input.uncommitted_ms) if is_open_turn else newest_ms)

    def audio_stopped(self) -> None:
        """The client has sent no audio for a while: no silence will come that ends its turn."""
        self._follow_speech(self.input.finish())

    # -- the user's audio ------------------------------------------------------------------------------------------

    def hear(self, audio: bytes, rate_hz: int, offset: int | None, *, follows: bool) -> None:
        """Take audio of the client; `follows`: it is a further piece of a long append."""
        for pcm, found in self.input.take(audio, rate_hz, offset):
            if pcm:
                self._say_audio(pcm, follows=follows)
            self._follow_speech(found)
            self._listen_over_reply()

    def clear_audio(self) -> None:
        """Discard what the user has said in this turn, and report it.

        Raises ClientError, with nothing changed, where the model cannot forget what it has heard.
        """
        refusal = base.refusal(self._profile, base.AudioClear())
        if refusal is not None and self.input.uncommitted_ms:
            raise refusal
        self._drop_voice("cleared")
        self.input.clear()
        self._replay.clear()
        if refusal is None:
            self._clears += 1  # a model in this process confirms it at once
            self._send(base.AudioClear())
        self._context.forward(m.ModelInputClearedEvent())  # not every model confirms it
        self.signal(Signal.CLEAR)
        # What was requested meanwhile is still answered; otherwise nothing is awaited.
        self.signal(Signal.RESPONSE_DONE)

    def cleared(self, event: m.ModelInputClearedEvent) -> None:
        """The model has forgotten audio: report that, unless it was asked to."""
        if self._clears:
            self._clears -= 1
        else:
            self._context.forward(event)

    def take_floor(self, reason: str) -> None:
        """Take a voice over the reply for the user's turn, unjudged."""
        if self.interruptions.current is not None:
            self._take_floor(self.interruptions.take(reason))

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

    def commit(self, label: str | None) -> None:
        """The client ends the user's turn; `label` is the `event_id` of that."""
        in_speech = self.turn.authority == "server" and self.turn.state is State.USER_SPEAKING
        if in_speech or self.turn.authority == "client":
            self.answers.voice_ended(self.input.position_ms)
        if in_speech:
            self.user_turns.tell_end(self.input.position_ms)
        self.signal(Signal.COMMIT, label=label)
        if in_speech:
            # The detector has found no end: without this it takes the next speech for the rest of this turn.
            self.input.end_turn()

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
        self.answers.voice_comes()
        if self.reply_items.speech is not None and not overlap.after_reply and not self.answers.reads_turn:
            is_whole = not self.ledger.responding
            self.resumption.doubt(CutReply(overlap, self.reply_items.speech, is_whole, self.ledger.overrides))
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
        self._take_pieces(overlap)

    def _take_pieces(self, overlap: Overlap) -> None:
        """Make one turn of the provider's pieces of a voice."""
        turn = self.user_turns.turn_of(overlap.piece_id)
        self._replay.started(turn, overlap.piece_id, overlap.model_start_ms)
        for piece in overlap.joined:
            self.user_turns.remember(turn, piece.piece_id)
            self._replay.started(turn, piece.piece_id, piece.model_start_ms)
        starts_ms = {piece.piece_id: piece.model_start_ms + self.input.skipped_ms for piece in overlap.joined}
        for piece_id in overlap.piece_ids:
            if piece_id in starts_ms:
                self._tell_start(turn.item_id, starts_ms[piece_id])
            for event in overlap.held:
                if event.item_id != piece_id:
                    continue
                if isinstance(event, m.ModelInputDoneEvent) and piece_id != overlap.piece_ids[-1]:
                    self._replay.stopped(piece_id, event.audio_end_ms)
                    self.user_turns.tell_end(event.audio_end_ms + self.input.skipped_ms)
                else:
                    self.on_input(event)

    def _drop_voice(self, reason: str = "") -> None:
        """The voice over the reply is no turn."""
        overlap = self.interruptions.drop(reason)
        if overlap is not None:
            self.input.hold(False)
            self.interruptions.forget_pieces(*overlap.held)
            self.answers.dismissed(overlap)

    def _words_known(self, overlap: Overlap, words: str, piece_id: str) -> None:
        """A turn that cut a reply has these words: it interrupts, or the reply goes on."""
        reason = self.interruptions.judge_again(overlap, words)
        if reason:
            self._go_on(reason, piece_id)
        elif self.resumption.is_late:
            self.signal(Signal.REQUEST)
        else:
            self.resumption.forget()

    def _go_on(self, reason: str = "undecided", piece_id: str | None = None) -> None:
        """The voice that cut the reply asks for nothing: play the rest of the reply; without a rest, ask once."""
        self.responses.settle_cut()
        cut, profile = self.resumption.cut, self._profile
        if cut is None or self.reply_items.written:
            return
        rest = cut.speech.rest(self.reply_items.played_of, profile.output_rate_hz)
        asks = not rest and profile.says_given_words and self.resumption.may_ask
        if not (rest or asks) or Action.RESUME not in self.signal(Signal.MISTAKEN):
            return
        earlier = cut.overlap.piece_ids[:-1] if self.turn.authority == "provider" else ()
        self.interruptions.take_back(cut.overlap, reason, () if piece_id is None else (*earlier, piece_id))
        if rest:
            for signal in self.responses.resume(rest, is_whole=cut.is_whole, overrides=cut.overrides):
                self.signal(signal)
        else:
            self.responses.request(say=SORRY)
        self.resumption.gone_on(cut, asks=asks, late=piece_id is None)

    def _newest_audio(self, ms: int) -> bytes:
        """Return the newest audio of the user, at the model's rate."""
        if self.turn.authority == "server" and not self.input.is_open:
            return self.input.held(ms)
        return self._replay.latest(ms)

    # -- turns -----------------------------------------------------------------------------------------------------

    def apply(self, signal: Signal | None) -> None:
        """Tell the turn machine what happened to a response."""
        if signal is not None:
            self.signal(signal)

    def signal(
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
            responding=self.ledger.is_replying,
            played_ms=max(0, self.reply_items.played_ms() - lag_ms),
            unplayed_ms=self._ears.unplayed_ms(),
            news=self.items.has_news,
        )
        self.resumption.follow(signal, actions, self._go_on)
        if Action.RESUME in actions:
            self.on_cut(False)
        if Action.FLUSH in actions or Action.WITHDRAW in actions:
            self._interrupt(actions, "hasty_turn" if Action.WITHDRAW in actions else signal.value)
        if typed is not None:
            self.items.put(typed)
        goes_on = not self.turn.interrupts and (self.ledger.is_replying or self._ears.unplayed_ms() > 0)
        if {Action.FLUSH, Action.RESUME} & {*actions} or (
            not goes_on and (signal is Signal.SPEECH_STARTED or Action.CREATE in actions)
        ):
            self.ledger.new_turn()
            self.reply_items.clear()
            if self._context.claims is not None:
                self._context.claims.begin_turn()
            if self.responses.claims is not None:
                self.responses.claims.drop()
        if Action.COMMIT in actions:
            self._commit_turn(label)
        if Action.CREATE in actions and signal in _TURN_ENDS and self.answers.holds_response:
            return actions
        if Action.CREATE in actions and (self._auto_response or signal in (Signal.REQUEST, Signal.TEXT)):
            self._create(overrides, say)
        return actions

    def _create(self, overrides: ResponseOverrides | None = None, say: str = "") -> None:
        self.items.has_news = False
        self.before_response()
        self.responses.request(overrides, say=say)

    def respond_to_turn(self) -> None:
        """Ask for the response to a turn that answers no question."""
        if self._auto_response and self.turn.creates:
            self._create()
        else:
            self.signal(Signal.RESPONSE_DONE)

    def forget_answer(self, item_ids: Iterable[str]) -> None:
        """Let the model forget an answer to a question; the call keeps it."""
        for item_id in item_ids if self._profile.supports_item_delete else ():
            self.forgotten.add(item_id)
            self._send(base.ItemDelete(item_id))

    def interrupt(self) -> None:
        """Let the ended turn stop the reply, as a voice usually does."""
        self._interrupt(INTERRUPT, Signal.SPEECH_STARTED.value)

    def _interrupt(self, actions: tuple[Action, ...], reason: str) -> None:
        """Stop the reply: silence first, then the model, then the reply's items once it is known what was played."""
        self.responses.settle_cut()
        if Action.FLUSH in actions:
            self._emit(s.ServerAudioFlushEvent(reason=reason))
            if Action.WITHDRAW not in actions and reason != Signal.REQUEST:
                self.on_cut(True)
        running = self.ledger.active
        if Action.CANCEL in actions and running is not None:
            self._send(base.ResponseCancel(running.id))
        if Action.DROP in actions:
            self.ledger.cancel_all()
        if not self.answers.reads_turn:
            # What the user says now may change what was asked: the model learns that first, and may ask again.
            self._tools.withdraw()
            if Action.FLUSH in actions and Action.WITHDRAW not in actions:
                self._tools.interrupt_tools()
        if Action.WITHDRAW in actions:
            self.reply_items.withdraw_all()
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
        self.answers.voice_comes()
        actions = self.signal(Signal.SPEECH_STARTED, lag_ms=lag_ms)
        turn = self.user_turns.begin(piece_id, goes_on=Action.WITHDRAW in actions)
        self.answers.voice_began(turn.item_id, start_ms)
        self._tell_start(turn.item_id, start_ms)

    def _tell_start(self, item_id: str, start_ms: int) -> None:
        self._emit(s.AgentInputStartedEvent(item_id=item_id, audio_start_ms=start_ms, **self._context.who))

    def on_input(self, event: m.ModelInputStartedEvent | InputEvent) -> None:
        """Follow what the model makes of the user's audio: voices, turns, words."""
        match event:
            case m.ModelInputStartedEvent():
                if self.turn.authority == "provider":
                    self._voice_found(event)
            case _ if self.interruptions.holds(event):
                self._weigh()
            case _ if self.interruptions.is_dismissed(event.item_id):
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
                if not isinstance(event, m.ModelInputTranscriptionDeltaEvent) and self.answers.reads_turn:
                    turn = self.user_turns.turn_of(event.item_id)
                    if turn.ends_with(event.item_id):
                        self.answers.words(turn.item_id, turn.transcript)
                if words is not None and self.resumption.overlap is not None:
                    self._words_known(self.resumption.overlap, words, event.item_id)
            case _:
                assert_never(event)

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
        length_ms = self.input.position_ms - self._speech_start_ms
        is_far = self.answers.is_asked and self.interruptions.is_far(length_ms, self._newest_audio)
        if not is_far:
            self.interruptions.learn(length_ms, self._newest_audio)
        self.answers.voice_ended(end_ms, far=is_far)
        self.user_turns.tell_end(end_ms)
        self.signal(Signal.SPEECH_STOPPED)

    # -- a lost link -----------------------------------------------------------------------------------------------

    def lose_link(self) -> None:
        """Replay what the model has not understood; nothing where the link is lost already.

        What it owes is requested again when it is back.
        """
        if self.link_lost:
            return
        self.link_lost = True
        self._clears = 0
        self._drop_voice("link_lost")
        messages = self._replay.replay()
        self.user_turns.commits = self._replay.commits
        responds = self.turn.authority == "provider" and self._auto_response and self.turn.creates
        self.lose_responses(
            owed=responds and self.turn.provider_responds and self.turn.state is State.THINKING,
            n_coming=self._replay.n_whole if responds else 0,
        )
        for message in messages:
            self._send(message)

    def lose_responses(self, *, owed: bool, n_coming: int) -> None:
        """End every running response: all went with the link (see `Ledger.lose_link`)."""
        self.responses.settle_cut(requests=False)
        for event in self.responses.lost():
            self.apply(self.responses.done(event))
        self.responses.lose_link(owed=owed, n_coming=n_coming)
        self.signal(Signal.RESPONSE_DONE)

    def link_restored(self) -> None:
        """The link is back: go on where the reply was broken off."""
        self.link_lost = False
        self._deaf_until_ms = self.input.position_ms + CATCHING_UP_MS
