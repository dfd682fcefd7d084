"""One user's voices over replies: gathers what is known of the current one, and reports what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from realtime.agent.echo_watch import LOOK_MS as ECHO_LOOK_MS
from realtime.agent.echo_watch import PATH_MS, EchoWatch
from realtime.agent.overlap import LONGEST_LOOK_MS, InputEvent, Overlap, Recognise, UsualVoice, silent_ms
from realtime.audio.onset import Onset
from realtime.call.participant import Ears
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.config import InterruptionMode, TurnDetection
from realtime.turn.interruption import (
    DUCK_DB,
    DUCK_RAMP_MS,
    ECHO,
    FAR_DB,
    FAR_MS,
    FAR_VOICE,
    MIN_SPEECH_MS,
    RESTORE_RAMP_MS,
    Evidence,
    Interruption,
    Verdict,
)
from realtime.turn.small_talk import tokens_of

Clip = Callable[[int], bytes]
"""Returns the newest audio of the user: this many ms at the model's rate."""
MARGIN_MS = 250
"""Audio before the onset that recognition gets: weak first consonants."""
LOUD_MS = 1_500
"""How much of a voice shows how loud it is: what follows may be its end, or much quieter."""
LEVEL_MS = 1_500
"""A voice is as loud as its newest part: a near voice may follow a far one."""
MIXED_MS = 450
"""How much of a far voice is heard at once: longer than its own loudest word, shorter than a quiet "stop"."""
WEIGH_EVERY_MS = 60
ONSET_MS = 400
"""How long a sound without a voice lowers the reply.

Detectors need up to 0.3 s, providers' longer.
"""
HEAR_EVERY_MS = 40
"""Audio between two looks for an onset: one of its frames. Each takes some 7 us."""
MOST_HEARD_MS = 200
"""The most audio in which an onset is looked for at once."""
AHEAD_MS = 700
"""An echo may repeat words that are not reported as played yet."""
REPORTS_MS = 200
"""A client reports what it plays within this much of its audio. One that is late reports later what it plays now."""
KEPT_DISMISSED = 16
"""Dismissed pieces whose words the model may still report."""
FAR_END_DB = -9.0
"""An end of a turn so quiet comes from elsewhere: the user's own are down to -6 dB."""
NEAR_END_DB = -7.5
"""The end of a turn that begins near is louder than this: a bystander's is not."""
TURN_LEVEL_MS = 3_000
"""How much of a turn teaches how loud the user is."""


def _is_question(played: str) -> bool:
    return played.rstrip().endswith(("?", "？"))


class Reply(Protocol):
    """The reply that is played to one user."""

    @property
    def who(self) -> dict[str, Any]:
        """The fields of events that say whose reply it is."""

    def emit(self, event: s.ServerEvent) -> None:
        """Tell what was decided, and how loud the reply is to be."""

    def unplayed_ms(self) -> int:
        """How much of it the user will still hear."""

    def can_be_lowered(self) -> bool:
        """Whether any client that hears it plays quieter on request."""

    def playing(self) -> str | None:
        """The spoken item that is being played; None without one."""

    def played_ms(self) -> int:
        """How much of the spoken items was played."""

    def played_text(self, item_id: str, ahead_ms: int = 0) -> str:
        """The words of an item played by now, or in `ahead_ms`; "" for an unknown one."""

    def addressed(self, words: str, position_ms: int) -> bool | None:
        """Whether these words of the user speak to an agent; False: to another human; None: unknown."""

    def forget_piece(self, piece_id: str) -> None:
        """Delete, at the model, a voice that asked for nothing."""


class Interruptions:
    """Decides about one user's voices over replies. Its owner asks, and acts on a confirmed one.

    `ears` are what the user's client plays; `rate_hz` is that of the clips.
    """

    def __init__(self, reply: Reply, ears: Ears, rate_hz: int, recognise: Recognise | None, watch: EchoWatch) -> None:
        self._reply = reply
        self._ears = ears
        self._rate_hz = rate_hz
        self._watch = watch
        self._recognise = recognise
        self._usual = UsualVoice()
        self._others_heard = False
        """Whether a voice that is not the user's was heard: then a short quiet one may be theirs."""
        self._settings: Interruption | None = None
        self._mode: InterruptionMode = "selective"
        self._weighed_ms = 0
        self._onset = Onset()
        self._heard_ms = 0
        self._gain_db = 0.0
        """Of the reply, as the client was told."""
        self._reported = 0, 0
        """What was reported as played; the user's position when that changed."""
        self._onset_ms: int | None = None
        """Where a sound began that lowers the reply: perhaps a voice."""
        self._dismissed: list[str] = []
        self.current: Overlap | None = None
        """The voice over the reply that is undecided, or dismissed so far."""
        self.transcribes = False
        """Whether the model reports the words of what it hears."""

    def configure(self, detection: TurnDetection, mode: InterruptionMode, *, transcribes: bool) -> None:
        """Take new settings."""
        self.transcribes, self._mode = transcribes, mode
        if mode != "selective":
            self._settings = None
            return
        self._ears.keep_played_audio()
        self._settings = Interruption(
            min_speech_ms=MIN_SPEECH_MS if detection.min_speech_ms is None else detection.min_speech_ms,
            min_words=1 if detection.min_words is None else detection.min_words,
            backchannels=detection.backchannels or (),
            protect_ms=detection.protect_ms or 0,
        )

    def is_alert(self) -> bool:
        """Return whether a voice that begins now would be decided here."""
        return self._settings is not None and self._reply.unplayed_ms() > 0

    def hear(self, position_ms: int, clip: Clip) -> None:
        """Lower the reply where a sound begins in the newest audio: a voice is found later in it."""
        length_ms = position_ms - self._heard_ms
        if length_ms < HEAR_EVERY_MS:
            return
        self._heard_ms = position_ms
        if self._may_hear_reply() and (played_ms := self._reply.played_ms()) != self._reported[0]:
            self._reported = played_ms, position_ms
        if self.current is not None:
            return
        looks_for_echo = self._mode != "off" and self._watch.is_due(position_ms)
        may_lower = self._reply.can_be_lowered()
        if not looks_for_echo and not may_lower and self._onset_ms is None:
            return
        is_playing = self._reply.unplayed_ms() > 0
        if is_playing and looks_for_echo:
            self._look_for_echo(position_ms, clip)
        # Where the microphone hears the reply, a sound is mostly that.
        is_alert = is_playing and may_lower and self._settings is not None and not self._watch.seen
        if self._onset_ms is not None and (not is_alert or position_ms - self._onset_ms >= ONSET_MS):
            self._onset_ms = None
            self._onset.ignore()
            self._set_level(self._reply.playing(), 0.0)
        elif (
            is_alert and self._onset.hear(clip(min(length_ms, MOST_HEARD_MS)), self._rate_hz) and self._onset_ms is None
        ):
            self._onset_ms = position_ms
            self._set_level(self._reply.playing(), DUCK_DB)

    def _look_for_echo(self, position_ms: int, clip: Clip) -> None:
        far_end = self._ears.far_end()
        if far_end is not None and self._reply.played_ms() >= ECHO_LOOK_MS:
            self._watch.look(position_ms, clip(ECHO_LOOK_MS), self._rate_hz, far_end)

    def _set_level(self, item_id: str | None, gain_db: float) -> None:
        if gain_db != self._gain_db:
            self._gain_db = gain_db
            ramp_ms = DUCK_RAMP_MS if gain_db < 0 else RESTORE_RAMP_MS
            self._reply.emit(s.ServerAudioGainEvent(gain_db=gain_db, ramp_ms=ramp_ms, item_id=item_id))

    def _may_hear_reply(self) -> bool:
        """Whether the reply reaches the microphone, or no user has spoken yet."""
        return self._watch.seen or not self._usual.is_known

    def _may_be_tail(self, lag_ms: int) -> bool:
        """Whether a voice that began `lag_ms` ago may end an echo."""
        far_end = self._ears.far_end() if self._settings is not None and self._watch.seen else None
        idle_ms = far_end.idle_ms() if far_end is not None else None
        return idle_ms is not None and idle_ms - lag_ms <= PATH_MS

    def begin(self, piece_id: str, start_ms: int, model_start_ms: int, lag_ms: int) -> bool:
        """Whether a voice that began `lag_ms` ago has to be decided.

        It is over a reply that is played, or the echo of one may not be over.
        """
        if self.current is not None:
            self.current.join(piece_id, model_start_ms)
            return True
        is_over_reply = self.is_alert()
        if not is_over_reply and not self._may_be_tail(lag_ms):
            return False
        item_id = self._reply.playing()
        self.current = Overlap(
            piece_id,
            start_ms,
            model_start_ms,
            item_id,
            played_ms=self._reply.played_ms(),
            words_expected=self._recognise is not None and is_over_reply,
            after_reply=not is_over_reply,
        )
        self._onset_ms = None
        self._tell("possible", "")
        self._level(self.current)
        return True

    def _level(self, overlap: Overlap) -> None:
        """Lower the reply while the voice over it is undecided.

        Where the microphone hears the reply, only once the voice is known to be no echo.
        """
        is_known = overlap.echo is not None or not self._watch.seen
        lowers = is_known and not overlap.after_reply and not overlap.dismissed
        self._set_level(overlap.item_id, DUCK_DB if lowers else 0.0)

    def paused(self, end_ms: int) -> None:
        """The voice has paused."""
        if self.current is not None:
            self.current.end_ms = end_ms

    def ended(self, end_ms: int) -> None:
        """The voice has ended: a turn of it would be over."""
        if self.current is not None:
            self.current.end_ms, self.current.over = end_ms, True

    def resumed(self) -> None:
        """The voice goes on."""
        if self.current is not None:
            self.current.end_ms, self.current.has_paused = None, True

    def holds(self, event: InputEvent) -> bool:
        """Hold the event if it belongs to the voice that is undecided."""
        overlap = self.current
        if overlap is None or event.item_id not in overlap.piece_ids:
            return False
        overlap.held.append(event)
        match event:
            case m.ModelInputDoneEvent():
                self.ended(overlap.start_ms + event.audio_end_ms - overlap.model_start_ms)
            case m.ModelInputTranscriptionDoneEvent(item_id=piece_id, transcript=transcript):
                overlap.take_transcript(piece_id, transcript)
            case m.ModelInputTranscriptionFailedEvent(item_id=piece_id):
                overlap.take_transcript(piece_id, None)
            case m.ModelInputCommittedEvent() | m.ModelInputTranscriptionDeltaEvent():
                pass
        return True

    def is_dismissed(self, piece_id: str) -> bool:
        """Whether this piece of the user's voice asked for nothing."""
        return piece_id in self._dismissed

    def is_due(self, position_ms: int) -> bool:
        """Whether enough of the voice is new to judge it again."""
        if position_ms - self._weighed_ms < WEIGH_EVERY_MS:
            return False
        self._weighed_ms = position_ms
        return True

    def weigh(self, position_ms: int, clip: Clip, weigh_later: Callable[[], None]) -> Verdict:
        """Judge the current voice; `weigh_later` is called once when more of its words are known.

        CONFIRM: call `take` and act. DISMISS: call `drop`. HOLD: it is undecided, or dismissed and not over.
        """
        overlap, settings = self.current, self._settings
        if overlap is None:
            return Verdict.HOLD
        if settings is None:
            return self._confirm(overlap, "settings", position_ms)
        if overlap.after_reply and self._reply.unplayed_ms() > 0:
            # The reply goes on after a pause.
            overlap.after_reply, overlap.words_expected = False, self._recognise is not None
            self._tell("possible", "", position_ms)
        self._compare(overlap, position_ms, clip)
        if overlap.dismissed == FAR_VOICE and overlap.end_ms is None:
            if self._is_far(clip(MIXED_MS)):
                return Verdict.HOLD
            self._begin_again(overlap, position_ms - FAR_MS)
        newest = clip(min(LEVEL_MS, position_ms - overlap.start_ms))
        # A short word may be followed by a faint sound that a detector takes for more of it.
        silent, loud_db = silent_ms(newest, self._rate_hz, overlap.loud_db)
        if position_ms - overlap.start_ms <= LOUD_MS:
            overlap.loud_db = loud_db
        if overlap.look_is_due(position_ms, silent) and self._recognise is not None:
            self._look(self._recognise, overlap, position_ms, clip, weigh_later)
            if self.current is not overlap:
                return Verdict.HOLD
        transcript_expected = self.transcribes and not overlap.has_transcript
        played = self._played(overlap)
        said = tokens_of(played)
        relative_db = self._usual.relative_db(newest, self._rate_hz)
        # Only where the level alone would decide: it costs a millisecond.
        may_be_other = relative_db is not None and relative_db <= FAR_DB
        unlike = self._usual.unlike(newest, self._rate_hz) if may_be_other else None
        self._others_heard = self._others_heard or (unlike is not None and unlike > 1)
        judgement = overlap.judge(
            settings,
            position_ms,
            silent_ms=silent,
            relative_db=relative_db,
            unlike=unlike,
            others_heard=self._others_heard,
            played=tokens_of(self._played(overlap, self._ahead_ms(position_ms))) if self._may_hear_reply() else said,
            talk=said,
            names=self._names(),
            is_answer_expected=_is_question(played),
            transcript_expected=transcript_expected,
            user_heard=self._usual.is_known,
            addressed=self._reply.addressed(overlap.words, position_ms) if overlap.words else None,
        )
        if judgement.verdict is Verdict.CONFIRM:
            return self._confirm(overlap, judgement.reason, position_ms)
        settled = overlap.is_settled(position_ms, transcript_expected=self.transcribes)
        if judgement.verdict is Verdict.DISMISS or settled:
            self._dismiss(overlap, judgement.reason or "undecided", position_ms)
        elif overlap.dismissed:
            overlap.dismissed = ""
            self._tell("possible", "", position_ms)
        self._level(overlap)
        return Verdict.DISMISS if overlap.is_dropped else Verdict.HOLD

    def _names(self) -> tuple[str, ...]:
        """Return what the agent is called."""
        name = self._reply.who.get("agent_name")
        return (str(name),) if name else ()

    def _ahead_ms(self, position_ms: int) -> int:
        """How much unreported playback this audio of the user may hold."""
        return AHEAD_MS + max(0, position_ms - self._reported[1] - REPORTS_MS)

    def _is_far(self, pcm: bytes) -> bool:
        """Whether this voice comes from elsewhere, or nothing of it is left."""
        relative_db = self._usual.relative_db(pcm, self._rate_hz)
        return relative_db is None or relative_db <= FAR_DB

    def _compare(self, overlap: Overlap, position_ms: int, clip: Clip) -> None:
        """Compare the voice with what is played, if that is due."""
        far_end, length_ms = self._ears.far_end(), overlap.to_compare_ms(position_ms)
        if far_end is None or not length_ms:
            return
        overlap.echo = self._watch.compare(position_ms, clip(length_ms), self._rate_hz, far_end)
        if overlap.echo is not None and overlap.echo >= ECHO and overlap.end_ms is None:
            self._begin_again(overlap, position_ms)

    def _begin_again(self, overlap: Overlap, position_ms: int) -> None:
        left = overlap.begin_again(position_ms, self._reply.played_ms())
        if not left:
            return
        self._forget_later(left)
        self.forget_pieces(*(event for event in overlap.held if event.item_id in left))
        overlap.held = [event for event in overlap.held if event.item_id not in left]

    def _forget_later(self, piece_ids: Sequence[str]) -> None:
        """What the model still reports of these pieces does not count."""
        self._dismissed = [*self._dismissed, *piece_ids][-KEPT_DISMISSED:]

    def take(self, reason: str = "") -> Overlap:
        """Return the voice that takes the floor; there is no current one any more."""
        overlap = self.current
        assert overlap is not None
        if reason:
            overlap.confirmed = reason
            self._tell("confirmed", reason)
        self.current, self._gain_db = None, 0.0  # A flush restores the level.
        return overlap

    def judge_again(self, overlap: Overlap, words: str) -> str:
        """Return why these words ask for nothing; "" if the voice did interrupt."""
        if self._settings is None:
            return ""
        played = self._played(overlap)
        said = tokens_of(played)
        judgement = self._settings.judge(
            Evidence(
                voiced_ms=0,
                ended=True,
                words=words,
                played=said,
                talk=said,
                names=self._names(),
                played_ms=self._settings.protect_ms,
                is_answer_expected=_is_question(played),
            )
        )
        return judgement.reason if judgement.verdict is Verdict.DISMISS else ""

    def take_back(self, overlap: Overlap, reason: str, piece_ids: Iterable[str]) -> None:
        """A voice that took the floor asks for nothing; nor do the items that the model made of it."""
        self._tell("dismissed", reason, overlap=overlap)
        for piece_id in piece_ids:
            self._reply.forget_piece(piece_id)

    def drop(self, reason: str) -> Overlap | None:
        """Return the voice that asked for nothing; what the model still reports of it does not count."""
        if self.current is None:
            return None
        self._dismiss(self.current, reason, None)
        overlap, self.current = self.current, None
        self._forget_later(overlap.piece_ids)
        return overlap

    def forget_pieces(self, *reported: m.ModelEvent) -> None:
        """Take back the items that the model made of such voices."""
        for event in reported:
            if isinstance(event, m.ModelInputCommittedEvent):
                self._reply.forget_piece(event.item_id)

    def is_far(self, length_ms: int, clip: Clip) -> bool:
        """Whether audio of this length is a distant voice, or ends so.

        A noise, or the user, may be near before another person speaks: the words are then theirs.
        """
        length_ms = min(length_ms, TURN_LEVEL_MS)
        newest = clip(length_ms)
        voice_ms = max(0, length_ms - silent_ms(newest, self._rate_hz)[0])
        end = newest[: voice_ms * self._rate_hz // 500][-(MIXED_MS * self._rate_hz // 500) :]
        level_db, end_db = (self._usual.relative_db(part, self._rate_hz) for part in (newest, end))
        if level_db is None or end_db is None:
            return False
        if end_db <= FAR_END_DB:
            return True
        # The first word may be in what the detector found no voice in: it is recognised with the rest.
        begun_db = self._usual.relative_db(clip(length_ms + MARGIN_MS), self._rate_hz)
        is_begun_near = begun_db is not None and begun_db > FAR_DB and end_db > NEAR_END_DB
        return level_db <= FAR_DB and not is_begun_near

    def learn(self, length_ms: int, clip: Clip) -> None:
        """The newest audio, of this length, is a turn of the user."""
        self._usual.learn(clip(min(length_ms, TURN_LEVEL_MS)), self._rate_hz)

    def _look(
        self, recognise: Recognise, overlap: Overlap, position_ms: int, clip: Clip, weigh_later: Callable[[], None]
    ) -> None:
        covers_ms, start_ms = overlap.look(position_ms), overlap.start_ms
        length_ms = min(position_ms - overlap.start_ms + MARGIN_MS, LONGEST_LOOK_MS)

        def understood(words: str | None) -> None:
            if words is not None and overlap.start_ms != start_ms:
                overlap.looking = False  # An echo was recognised.
                return
            overlap.take_words(words, covers_ms)
            if self.current is overlap:
                weigh_later()

        recognise(clip(length_ms), self._rate_hz, understood)

    def _confirm(self, overlap: Overlap, reason: str, position_ms: int) -> Verdict:
        overlap.confirmed = reason
        self._watch.contradict()
        self._tell("confirmed", reason, position_ms)
        return Verdict.CONFIRM

    def _dismiss(self, overlap: Overlap, reason: str, position_ms: int | None) -> None:
        if overlap.dismissed:
            return
        overlap.dismissed = reason
        self._tell("dismissed", reason, position_ms)
        self._level(overlap)

    def follows_echo(self, overlap: Overlap) -> bool:
        """Whether an echo comes right before the voice: it is not the user's."""
        return self._watch.seen and (overlap.was_echo or overlap.after_reply)

    def played_words(self, overlap: Overlap) -> list[str]:
        """Return the played words of the reply, which an echo may repeat."""
        return tokens_of(self._played(overlap))

    def _played(self, overlap: Overlap, ahead_ms: int = 0) -> str:
        """Return the played words of the item that the voice began over."""
        return "" if overlap.item_id is None else self._reply.played_text(overlap.item_id, ahead_ms)

    def _tell(
        self,
        state: s.InterruptionState,
        reason: str,
        position_ms: int | None = None,
        *,
        overlap: Overlap | None = None,
    ) -> None:
        overlap = overlap or self.current
        # A voice after the reply interrupts nothing: of those only echoes are worth telling.
        if overlap is not None and (state == "dismissed" or not overlap.after_reply):
            voiced_ms = 0 if position_ms is None else overlap.voiced_ms(position_ms)
            self._reply.emit(
                s.AgentInterruptionEvent(
                    state=state, reason=reason, item_id=overlap.item_id, voiced_ms=voiced_ms, **self._reply.who
                )
            )
