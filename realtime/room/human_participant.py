"""A human in a room: their microphone, and the participant of their own call.

The call has all that belongs to a call: a log, what was heard, resuming, a store.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

from realtime.agent.controller import EMPTY_COMMIT_MS
from realtime.agent.detector import DetectorFactory, silence_ms_of
from realtime.agent.input import AudioInput
from realtime.agent.overlap import Overlap
from realtime.audio.endpoint import EndpointEvent, SpeechStarted, TurnEnded
from realtime.audio.pcm import SAMPLE_BYTES, PcmCarry, bytes_of, ms_of
from realtime.audio.voice import Voice
from realtime.call.participant import Host
from realtime.errors import ClientError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ
from realtime.event.config import Expectation, SessionConfig, TurnDetection
from realtime.permission.accepted import FOR_HUMAN, PERMISSION_UPDATED
from realtime.room.rate import Rate
from realtime.room.utterance import UTTERANCE_HZ, Utterance
from realtime.room.voice_over import Listening, OverHub, VoiceOver
from realtime.state.restore import ConversationReader
from realtime.turn.interruption import Verdict

KEPT_ITEMS = 1_000
"""How many items of the talk a human's own call keeps."""
MAX_LINE_CHARS = 16_000
"""Longer than a person types; the log of every human holds it."""
LINES_AT_ONCE = 20
LINES_PER_S = 2.0
"""How many lines one human may type: at once, and per second."""
MAX_TURN_BYTES = 62 * UTTERANCE_HZ * SAMPLE_BYTES
"""The longest turn, a little over a minute; a detector that ends turns by itself is a little earlier."""
GOES_ON_MS = 800
"""How long a cut-off human's speech may lack an end before continuing.

Finding an end takes silence.
"""
TURNS_AT_ONCE = 10
TURNS_PER_S = 1.0
"""How many turns one human may speak: each is a commit to a model, whose words the room waits for."""


class HumanTurns(Protocol):
    """What takes the turns of the humans of a room."""

    def voice(self, voice: Voice) -> None:
        """Let all other humans hear what one says at this moment."""

    @property
    def overlaps(self) -> OverHub:
        """What decides about voices over replies."""

    def voice_over(self, human: HumanParticipant) -> None:
        """A human's voice over a reply begins; it is undecided."""

    def voice_passed(self, human: HumanParticipant, over: Overlap) -> None:
        """A human's voice over a reply did not take the floor."""

    def voice_began(self, human: HumanParticipant, start_ms: int) -> None:
        """A human begins to speak."""

    def voice_ended(self, human: HumanParticipant, end_ms: int, pcm: bytes, *, is_far: bool) -> None:
        """A human's turn is over; `pcm` is all of it at 16 kHz. `is_far`: it is no answer, but a distant voice."""

    def is_asked(self, human: HumanParticipant) -> bool:
        """Whether an agent has asked this human something aloud that is open."""

    def voice_dropped(self, human: HumanParticipant) -> None:
        """A human's turn is discarded as a false start."""

    def voice_goes_on(self, human: HumanParticipant) -> None:
        """A human who stalled in mid-turn is heard again."""

    def act(self, human: HumanParticipant, event: c.ClientEvent) -> None:
        """Take any other event of a client. Raises ClientError for what a room cannot do."""


class Room(Protocol):
    """What a human participant needs of its room."""

    @property
    def turns(self) -> HumanTurns:
        """What takes the turns of its humans."""

    @property
    def listening(self) -> Listening:
        """How it listens while an agent speaks."""

    async def enter(self, human: HumanParticipant, config: SessionConfig) -> None:
        """Let a human in. Raises ClientError where the room cannot."""

    async def depart(self, human: HumanParticipant, reason: str) -> None:
        """A human is gone."""

    def presence(self, human: HumanParticipant, away: bool) -> None:
        """A human's socket is lost and may come back, or is back."""

    def describe(self) -> dict[str, Any]:
        """Describe the room, for people and pages. Holds no secrets."""


class Microphone:
    """Cuts one human's audio into turns; lets the other humans hear it at once."""

    def __init__(self, human: HumanParticipant, make_detector: DetectorFactory) -> None:
        self.voice = Voice(human.id)
        """What the other humans hear of this one."""
        self.is_speaking = False
        self.is_stalled = False
        """Whether this human's audio has stopped in mid-turn."""
        self.is_muted = False
        self.heard_at_s = 0.0
        """When audio came last, in seconds."""
        self._human = human
        self._room_turns = human.room.turns
        self._make_detector = make_detector
        self._by_button = True
        """Whether the client begins and ends turns, and no detector does."""
        self._silence_ms = 0
        self._expect: Expectation | None = None
        self._input = AudioInput(UTTERANCE_HZ, None)
        self._over: VoiceOver | None = None
        """Decides about voices over replies; None before the room is entered."""
        self._carry = PcmCarry()
        self._turn = bytearray()
        self._in_speech = False
        """Whether the detector is between speech start and end, heard or not."""
        self._cut_off_ms: int | None = None
        """Where speech that goes on was cut off, in ms: what follows may be a turn of its own."""
        self._rate = Rate("turns", TURNS_AT_ONCE, TURNS_PER_S)

    @property
    def received_samples(self) -> int:
        """Samples of this human's audio that have arrived, at the client's rate."""
        return self._input.received_samples

    @property
    def received_ms(self) -> int:
        """The same in ms."""
        return self._input.position_ms

    def detect(self, detection: TurnDetection) -> None:
        """Detect the ends of turns in this way.

        Raises ClientError where turns would pass to or from the detector once there was audio, UsageError where there
        is no detector.
        """
        by_button, silence_ms = detection.authority == "client", silence_ms_of(detection)
        if by_button != self._by_button:
            if self.received_samples:
                raise ClientError(
                    "turns cannot pass to or from this server's detector once there was audio; create a new call",
                    code="unsupported_turn_detection",
                )
            self._input = AudioInput(UTTERANCE_HZ, None if by_button else self._make_detector(detection))
        elif (silence_ms, detection.expect) != (self._silence_ms, self._expect):
            self._input.wait_for(silence_ms, detection.expect)
        self._by_button, self._silence_ms, self._expect = by_button, silence_ms, detection.expect

    @property
    def interrupts(self) -> bool:
        """Whether a voice may stop a reply at all."""
        return self._over is None or self._over.mode != "off"

    @property
    def is_over_reply(self) -> bool:
        """Whether a voice over a reply goes on that has no floor."""
        return self._over is not None and self._over.current is not None

    def decide(self, detection: TurnDetection, listening: Listening) -> None:
        """Decide about voices over replies in this way from now on; the room is entered."""
        if self._over is None:
            host = self._human.host
            self._over = VoiceOver(self._human.id, self._room_turns.overlaps, host.ears, UTTERANCE_HZ, listening)
        self._over.configure(detection, by_button=self._by_button)
        self._input.alert_while(self._over.is_alert)

    def hear(self, event: c.ClientAudioAppendEvent) -> None:
        """Take audio. Raises ClientError for a rate that is not supported, or a negative offset."""
        try:
            rate_hz = event.format.rate_hz(DEFAULT_INPUT_RATE_HZ)
        except ValueError as error:
            raise ClientError(str(error), code="unsupported_audio_format") from error
        known = self.received_samples
        pieces = self._input.take(event.audio, rate_hz, event.offset)
        self.heard_at_s = self._human.host.runtime.now()
        if not self.is_muted:
            if self.is_stalled:
                self.is_stalled = False
                self._room_turns.voice_goes_on(self._human)
            self._let_hear(event, rate_hz, 0 if event.offset is None else event.offset - known)
        for pcm, found in pieces:
            for one in found:
                if isinstance(one, SpeechStarted | TurnEnded):
                    self._in_speech = isinstance(one, SpeechStarted)
            if not self.is_muted:
                self._take(pcm, found)

    def commit(self, event_id: str | None) -> None:
        """End the turn, as the event of this id asks; what is said from now on may be another."""
        if self._over is not None and self._over.current is not None:
            self._interrupt(self._over.take("commit"))
        if self.is_speaking:
            self.break_off(event_id)
            self._wait_for_more()

    def clear(self) -> None:
        """Discard the turn; what is said from now on may be another."""
        self.forsake_voice("cleared")
        self._drop()
        self._wait_for_more()

    def mute(self, muted: bool) -> None:
        """Mute or unmute this human. A mute ends their turn."""
        if muted:
            self.break_off()
        elif self.is_muted:
            self._input.open_gate()  # What they said while muted begins no turn.
            self._input.close_gate()
            self._wait_for_more()
        self.is_muted = muted

    def break_off(self, event_id: str | None = None) -> None:
        """End the turn with the sound there is; `event_id` is that of the event that asks for it."""
        self.forsake_voice("cleared")
        self._go_on_after(EMPTY_COMMIT_MS)  # What was said since it was cut off waits to be a turn.
        if self.is_speaking and ms_of(len(self._turn), UTTERANCE_HZ) < EMPTY_COMMIT_MS:
            self._drop()
        else:
            self._end(self._input.position_ms, event_id)

    def _take(self, pcm: bytes, found: list[EndpointEvent]) -> None:
        self._turn += pcm
        if self._by_button and pcm:
            self._begin(self._input.position_ms - round(ms_of(len(pcm), UTTERANCE_HZ)))
        for one in found:
            if self._follow_over_reply(one):
                self._weigh()
            elif isinstance(one, SpeechStarted):
                self._turn += self._input.open_gate()
                self._begin(one.start_ms)
            elif isinstance(one, TurnEnded):
                self._found_end(one.end_ms)
        if self._over is not None:
            self._over.hear(self._input.position_ms, self._input.held)
            if self._over.is_due(self._input.position_ms):
                self._weigh()
        if len(self._turn) >= MAX_TURN_BYTES:
            self._end(self._input.position_ms)
            self._wait_for_more()
            self._go_on_after(0)
        else:
            self._go_on_after(GOES_ON_MS)

    # -- voices over a reply ---------------------------------------------------------------------------------------

    def forsake_voice(self, reason: str) -> None:
        """Let the voice over the reply pass, if there is one; if it goes on, it is a new one."""
        if self.is_over_reply:
            self._input.end_turn()
            self._in_speech = False
            self._let_pass(reason)

    def _let_pass(self, reason: str = "") -> None:
        """The voice over the reply takes no floor."""
        over = self._over.drop(reason) if self._over is not None else None
        if over is not None:
            self._input.hold(False)
            self._room_turns.voice_passed(self._human, over)

    def _follow_over_reply(self, one: EndpointEvent) -> bool:
        """Whether what was found belongs to a voice over a reply."""
        over = self._over
        if over is None or self.is_speaking:
            return False
        was_open = over.current is not None
        if not over.follow(one, self._human.host.runtime.new_id):
            return False
        if not was_open:
            self._input.hold(True)
            self._room_turns.voice_over(self._human)
        return True

    def _weigh(self) -> None:
        """Act on what the voice over the reply turns out to mean."""
        if self._over is None:
            return
        match self._over.weigh(self._input.position_ms, self._input.held, self._weigh):
            case Verdict.CONFIRM:
                self._interrupt(self._over.take())
            case Verdict.DISMISS:
                self._let_pass()
            case Verdict.HOLD:
                pass

    def _interrupt(self, over: Overlap) -> None:
        """The voice over the reply is a turn, from its onset."""
        self._turn += self._input.open_gate()
        self._begin(over.start_ms)
        if over.over and over.end_ms is not None:
            self._end(over.end_ms)

    def _found_end(self, end_ms: int) -> None:
        """The detector has found the end of speech."""
        if self._cut_off_ms is None or end_ms - self._cut_off_ms >= EMPTY_COMMIT_MS:
            if self._cut_off_ms is not None:
                self._begin(self._cut_off_ms)
            self._end(end_ms)
        else:
            self._drop()  # It ended where it was cut off: what followed was silence.

    def _let_hear(self, event: c.ClientAudioAppendEvent, rate_hz: int, ahead_samples: int) -> None:
        """Let the others hear audio as it comes, each piece once. A gap is no sound."""
        if ahead_samples:
            self._carry.clear()
        pcm = self._carry.push(event.audio[max(0, -ahead_samples) * SAMPLE_BYTES :])
        self.voice.name = self._human.name
        if self.voice.push(pcm, rate_hz, self.heard_at_s):
            self._room_turns.voice(self.voice)

    def _wait_for_more(self) -> None:
        """Keep audio after a turn's end until the detector finds its end."""
        if self._in_speech:
            self._input.open_gate()
            self._cut_off_ms = self._input.position_ms

    def _go_on_after(self, ms: float) -> None:
        """Begin a turn at the last cut, if at least `ms` ago."""
        if self._cut_off_ms is not None and self._input.position_ms - self._cut_off_ms >= ms:
            self._begin(self._cut_off_ms)

    def _drop(self) -> None:
        """Discard what is being said."""
        self._turn.clear()
        self._cut_off_ms = None
        # Not `clear`, which would take the end of this speech from the detector as well.
        self._input.open_gate()
        self._input.close_gate()
        if self.is_speaking:
            self.is_speaking = self.is_stalled = False
            self._room_turns.voice_dropped(self._human)

    def _begin(self, start_ms: int) -> None:
        if not self.is_speaking:
            self.is_speaking = True
            self._room_turns.voice_began(self._human, start_ms)

    def _end(self, end_ms: int, event_id: str | None = None) -> None:
        if self.is_speaking:
            try:
                self._rate.check(self._human.host.runtime.now())
            except ClientError as error:
                self._drop()
                # Reported and not raised: what follows in the same frame, or a leave or a mute, goes on.
                self._human.refuse(error, event_id)
                return
        self._input.close_gate()
        pcm, self._turn = bytes(self._turn), bytearray()
        self._cut_off_ms = None
        if self.is_speaking:
            self.is_speaking = self.is_stalled = False
            self._room_turns.voice_ended(self._human, end_ms, pcm, is_far=self._is_far(pcm))

    def _is_far(self, pcm: bytes) -> bool:
        """Whether an answer is a distant voice; any other turn teaches how loud this human is."""
        if self._over is None:
            return False
        length_ms = round(ms_of(len(pcm), UTTERANCE_HZ))

        def clip(ms: int) -> bytes:
            return pcm[-bytes_of(ms, UTTERANCE_HZ) :]

        if self._room_turns.is_asked(self._human) and self._over.is_far(length_ms, clip):
            return True
        self._over.learn(length_ms, clip)
        return False


class HumanParticipant:
    """One human. `name` is what the others call them; `agent_id` is the id of the participant."""

    def __init__(self, room: Room, name: str, participant_id: str, make_detector: DetectorFactory) -> None:
        self.room = room
        self.name = name
        self.agent_id: str | None = participant_id
        self.is_away = False
        """Whether their call has lost its last listener and waits for it."""
        self.microphone = Microphone(self, make_detector)
        self.utterance: Utterance | None = None
        """The turn that this human is speaking; None while they are not."""
        self._host: Host | None = None
        self._reader: ConversationReader | None = None
        self._lines = Rate("lines", LINES_AT_ONCE, LINES_PER_S)
        self._config = SessionConfig()

    @property
    def host(self) -> Host:
        """The call of this human. Raises UsageError before `join`."""
        if self._host is None:
            raise UsageError("the room is not entered", code="agent_not_running")
        return self._host

    @property
    def id(self) -> str:
        """Its id in the room."""
        return self.agent_id or ""

    @property
    def who(self) -> dict[str, Any]:
        """The fields of events that say whose they are."""
        return {"agent_id": self.id, "agent_name": self.name}

    # -- what a call asks of a participant ---------------------------------------------------------------------------

    async def join(self, host: Host, config: SessionConfig) -> None:
        """Enter the room. Raises ClientError where the room is full or closed, UsageError without a detector."""
        if self._host is not None:
            raise UsageError("a human participant is for one call", code="agent_running")
        self.microphone.detect(config.detection)
        self._config = config
        self._host, self._reader = host, ConversationReader(host.conversation)
        self.microphone.decide(config.detection, self.room.listening)
        try:
            await self.room.enter(self, config)
        except BaseException:
            self._host = self._reader = None
            raise

    async def leave(self, reason: str) -> None:
        """Leave the room. Idempotent, and safe before `join`."""
        if self._host is None:
            return
        try:
            await self.room.depart(self, reason)
        finally:
            self._host = self._reader = None

    def receive(self, event: c.ClientEvent) -> bool:
        """Take a client event at once. Returns False where an `agent_error` says that it cannot be done."""
        host = self.host
        try:
            match event:
                case c.ClientAudioAppendEvent():
                    self.microphone.hear(event)
                case c.ClientAudioCommitEvent():
                    self.microphone.commit(event.event_id)
                case c.ClientAudioClearEvent():
                    self.microphone.clear()
                case c.ClientTextAppendEvent(text=text):
                    if not text.strip():
                        raise ClientError("there is nothing in this line", code="empty_text")
                    if len(text) > MAX_LINE_CHARS:
                        raise ClientError(f"a line has at most {MAX_LINE_CHARS} characters", code="text_too_long")
                    self._lines.check(host.runtime.now())
                    self.room.turns.act(self, event)
                case _:
                    self.room.turns.act(self, event)
        except ClientError as error:
            self.refuse(error, event.event_id)
            return False
        return True

    def configure(self, change: SessionConfig) -> SessionConfig:
        """Apply new settings of this client. Raises what `Microphone.detect` raises."""
        config = self._config.merged(change)
        self.microphone.detect(config.detection)
        self.microphone.decide(config.detection, self.room.listening)
        self._config = config
        return config

    def describe(self) -> dict[str, Any]:
        """Describe the room."""
        return self.room.describe()

    @property
    def received_samples(self) -> int:
        """Samples of this client's audio that have arrived, at its own rate."""
        return self.microphone.received_samples

    @property
    def received_ms(self) -> int:
        """The same in ms."""
        return self.microphone.received_ms

    @property
    def wants_audio_stopped(self) -> bool:
        """Never: the room watches for humans who stall in the middle of a turn."""
        return False

    def audio_stopped(self) -> None:
        """Do nothing; see `wants_audio_stopped`."""

    def set_away(self, away: bool) -> None:
        """See `realtime.call.participant.Participant`."""
        if away != self.is_away:
            self.is_away = away
            if self._host is not None:
                self.room.presence(self, away)

    # -- what the room asks of it ----------------------------------------------------------------------------------

    def is_in(self, host: Host) -> bool:
        """Whether it still belongs to this call."""
        return self._host is host

    def tell(self, event: s.ServerEvent) -> None:
        """Emit an event to this human, unless it is for another one.

        It is copied: each call's log gives it a place of its own.
        """
        if self._host is None or self._reader is None:
            return
        match event:
            case s.ServerCustomEvent(name=name, value=value) if name == PERMISSION_UPDATED:
                if value.get(FOR_HUMAN, self.id) != self.id:
                    return
            case _:
                pass
        told = copy.copy(event)
        self._host.emit(told)
        self._reader.read(told)
        self._host.conversation.keep_latest(KEPT_ITEMS)

    def refuse(self, error: ClientError, event_id: str | None) -> None:
        """Refuse this human's event of this id: only they get the error."""
        error.client_event_id = event_id
        self.tell(s.error_event(error, **self.who))

    def hear(self, voice: Voice) -> None:
        """Let this human hear another one."""
        if self._host is not None:
            self._host.voice(voice)
