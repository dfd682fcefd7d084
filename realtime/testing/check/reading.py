"""Reads a call as turns, responses, tool calls, interruptions and silences.

It adds voices and playback to what the log says (`log_reading`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from realtime.event import server as s
from realtime.testing.check.log_reading import LogReading
from realtime.testing.check.turns import (
    HASTY,
    USER,
    BargeIn,
    CutItem,
    Silence,
    Sound,
    Speech,
    UserTurn,
)
from realtime.testing.check.voice import SpokenVoice, refine_voice
from realtime.testing.record import CallRecord, Lane, Spoken

BY_VOICE = ("speech_started", HASTY, "barge_in")
"""Flush reasons caused by a voice; the last is the event's default."""
NOTICED_MS = 80.0
"""Ms of voice that a detector needs before it reports one."""
_BESIDE_MS = 50
"""Most ms between the log times of a voice and its flush."""


class Reading:
    """A whole call, read once. Lists are in order of time."""

    def __init__(self, record: CallRecord) -> None:
        self.record = record
        self.log = LogReading(record)
        self.turns = self.log.turns
        self.responses = self.log.responses
        self.tool_calls = self.log.tool_calls
        self.speeches = self.log.speeches
        self.flushes: list[BargeIn] = []
        self._origin_ms = 0.0
        self._voices: dict[Spoken, SpokenVoice | None] = {}
        self._place_voices()
        self._hear()
        for flush, met in self.log.flushes:
            number = 0 if flush.reason == HASTY else len(self.barge_ins) + 1
            self.flushes.append(self._barge_in(number, flush, met))

    @property
    def barge_ins(self) -> list[BargeIn]:
        """The flushes that stopped a response to a completed turn."""
        return [one for one in self.flushes if one.number]

    @property
    def speakers(self) -> list[str]:
        """All who said something, humans first."""
        names = [turn.who for turn in self.turns] + [one.who for one in self.record.spoken]
        names += [one.who for one in self.responses]
        return list(dict.fromkeys(names))

    # -- voices and playback ---------------------------------------------------------------------------------------

    def _place_voices(self) -> None:
        """Convert positions in a client's audio to times of the call.

        The audio began when the fastest report of a voice came, less the minimal time of a detector. Where the audio is
        available, it is measured instead.
        """
        self._origin_ms = max(0.0, min((ts_ms - position_ms for ts_ms, position_ms in self.log.marks), default=0.0))
        settled_ms = 0.0
        for turn in self.turns:
            if turn.typed:
                self._place_typed(turn)
                continue
            end_ms = turn.ended_ms if turn.ended_ms is not None else float(self.record.duration_ms)
            from_known, to_known = turn.from_ms == turn.from_ms, turn.to_ms == turn.to_ms
            from_ms = turn.from_ms + self._origin_ms if from_known else end_ms
            to_ms = turn.to_ms + self._origin_ms if to_known else end_ms
            # Push-to-talk: only the end of the turn is in the log, some time after the voice.
            since_ms = from_ms if from_known else settled_ms
            name = self.log.names.get(turn.item_id)
            spoken = [
                one
                for one in self.record.spoken
                if one.from_ms < to_ms and one.to_ms > since_ms and name in (None, "", one.who)
            ]
            settled_ms = max(settled_ms, end_ms)
            turn.who = name or (spoken[0].who if spoken else self._only_human())
            lane = self._lane_of(turn.who)
            if spoken and not from_known:
                from_ms, to_ms = spoken[0].from_ms, min(end_ms, spoken[-1].to_ms)
            if lane is not None and spoken:
                from_ms, to_ms = self._edges(turn, spoken, from_ms, to_ms)
            elif lane is not None:
                from_ms, to_ms = refine_voice(lane, from_ms, to_ms)
            else:
                from_ms -= NOTICED_MS if from_known else 0
                to_ms -= NOTICED_MS if to_known else 0
            turn.from_ms, turn.to_ms = max(0.0, from_ms), max(0.0, from_ms, to_ms)

    def _edges(self, turn: UserTurn, spoken: list[Spoken], from_ms: float, to_ms: float) -> tuple[float, float]:
        """Return the edges of a turn's voice in its recordings.

        The delay of a late or stuck detector counts as time of the call. Edges that cannot be found, such as in noise,
        stay.
        """
        before = [one for one in self.turns[: turn.number - 1] if one.who == turn.who and not one.typed]
        since_ms = max((one.to_ms for one in before), default=0.0)
        began_ms = self._began_ms(spoken[0], from_ms, to_ms, since_ms)
        ends = (voice.ended_ms(to_ms) for one in reversed(spoken) if (voice := self.voice_of(one)) is not None)
        ended_ms = next(ends, None)
        if began_ms is not None:
            from_ms = began_ms
        return from_ms, (to_ms if ended_ms is None or ended_ms <= from_ms else ended_ms)

    def _began_ms(self, spoken: Spoken, near_ms: float, until_ms: float, since_ms: float) -> float | None:
        voice = self.voice_of(spoken)
        first = since_ms <= spoken.from_ms
        if voice is None:
            return None
        return voice.began_ms(near_ms, until_ms, since_ms=since_ms, first=first, all_of_it=spoken.barge_in)

    def voice_of(self, spoken: Spoken) -> SpokenVoice | None:
        """Return the voice in a recording; None where its speaker's audio is unknown."""
        if spoken not in self._voices:
            lane = self._lane_of(spoken.who)
            ends = (one.to_ms for one in self.record.spoken if one.who == spoken.who and one.to_ms <= spoken.from_ms)
            after_ms = max(ends, default=0.0)
            self._voices[spoken] = (
                None if lane is None else SpokenVoice(lane, spoken.from_ms, spoken.to_ms, after_ms=after_ms)
            )
        return self._voices[spoken]

    def _place_typed(self, turn: UserTurn) -> None:
        typed = [one for one in self.record.marks if one.what == "typed" and one.ts_ms <= turn.from_ms]
        turn.who = self.log.names.get(turn.item_id) or (typed[-1].who if typed else self._only_human())

    def _only_human(self) -> str:
        names = {one.speaker for one in self.record.lanes if one.kind == "human"}
        names |= {one.who for one in self.record.spoken}
        return names.pop() if len(names) == 1 else USER

    def _hear(self) -> None:
        for one in self.record.played:
            speech = self.log.speech(one.item_id)
            if speech is None:
                continue
            speech.played.append(one)
            response = self.log.response_of(speech)
            if response is not None and (response.first_heard_ms is None or one.from_ms < response.first_heard_ms):
                response.first_heard_ms = one.from_ms

    def _barge_in(self, number: int, flush: s.ServerAudioFlushEvent, met: list[tuple[Speech, str, float]]) -> BargeIn:
        began_ms, turn = self._cause(flush)
        ends = [
            one.from_ms + one.ms
            for speech in self.speeches
            if self.log.asked_before(speech, flush.seq) and flush.item_id in (None, speech.item_id)
            for one in speech.played
        ]
        last_ms = max(ends, default=0.0)
        next_seq = next((later.seq for later, _ in self.log.flushes if later.seq > flush.seq), float("inf"))
        cuts = []
        for speech, before, audio_ms in met:
            outcome: Literal["cut", "withdrawn", "whole"] = "whole"
            if flush.seq < speech.gone_seq < next_seq:
                outcome = "withdrawn" if speech.withdrawn else "cut"
            elif speech.written or not self.record.played or speech.heard_ms >= audio_ms - 1:
                continue
            after = speech.text if speech.kept is None else speech.kept
            cuts.append(CutItem(speech, before, after, audio_ms, speech.heard_ms, outcome))
        return BargeIn(
            number=number,
            reason=flush.reason,
            who=turn.who if turn is not None else self._only_human(),
            began_ms=min(began_ms, float(flush.ts_ms)),
            flush_ms=flush.ts_ms,
            silent_ms=last_ms if last_ms > began_ms else None,
            items=tuple(cuts),
            seq=flush.seq,
        )

    def _cause(self, flush: s.ServerAudioFlushEvent) -> tuple[float, UserTurn | None]:
        """Return the time of a flush's cause, and its turn.

        A voice is logged next to its flush; a voice that continues a turn is not that turn's beginning.
        """
        before = next((turn for turn in reversed(self.turns) if turn.first_seq < flush.seq), None)
        if flush.reason not in BY_VOICE:
            return float(flush.ts_ms), before
        beside = [one for one in self.log.starts if abs(one[0].ts_ms - flush.ts_ms) <= _BESIDE_MS]
        if not beside:
            told = [one for one in self.record.spoken if one.from_ms <= flush.ts_ms <= one.to_ms]
            began = [self._began_ms(one, flush.ts_ms, flush.ts_ms, 0.0) or one.from_ms for one in told]
            return max(began, default=float(flush.ts_ms)), before
        start, turn = min(beside, key=lambda one: abs(one[0].seq - flush.seq))
        if turn.first_seq == start.seq:
            return turn.from_ms, turn
        lane = self._lane_of(turn.who)
        from_ms = start.audio_start_ms + self._origin_ms
        if lane is None:
            return max(0.0, from_ms - NOTICED_MS), turn
        spoken = [one for one in self.record.spoken if one.who == turn.who and one.from_ms <= from_ms <= one.to_ms]
        if not spoken:
            return refine_voice(lane, from_ms, from_ms)[0], turn
        since_ms = turn.from_ms if turn.from_ms < from_ms else 0.0
        began_ms = self._began_ms(spoken[-1], from_ms, float(flush.ts_ms), since_ms)
        return (from_ms if began_ms is None else began_ms), turn

    def _lane_of(self, who: str) -> Lane | None:
        return next((one for one in self.record.lanes if one.kind == "human" and one.speaker == who), None)

    # -- sound and silence -----------------------------------------------------------------------------------------

    def sounds(self) -> list[Sound]:
        """Return all audible stretches by their beginnings. A recording without a turn counts as a whole."""
        sounds = [Sound(turn.from_ms, turn.to_ms, turn.who, True) for turn in self.turns]
        for one in self.record.spoken:
            if not any(turn.from_ms < one.to_ms and turn.to_ms > one.from_ms for turn in self.turns):
                sounds.append(Sound(one.from_ms, one.to_ms, one.who, True))
        for speech in self.speeches:
            sounds.extend(self._sounds_of(speech))
        return sorted(sounds, key=lambda sound: (sound.from_ms, sound.to_ms))

    def _sounds_of(self, speech: Speech) -> Iterator[Sound]:
        response = self.log.response_of(speech)
        if speech.played:
            for one in speech.played:
                yield Sound(one.from_ms, one.from_ms + one.ms, speech.who, False)
        elif speech.written and response is not None and response.done_ms is not None:
            yield Sound(response.done_ms, response.done_ms, speech.who, False)
        elif not self.record.played and speech.first_audio_ms is not None:
            to_ms = speech.first_audio_ms + speech.words.audio_ms
            flushed = [f.ts_ms for f, _ in self.log.flushes if f.seq > speech.first_audio_seq]
            yield Sound(speech.first_audio_ms, min([to_ms, *flushed]), speech.who, False)

    def silences(self) -> list[Silence]:
        """Return the silences between the first sound and the call's end."""
        silences: list[Silence] = []
        until_ms, human = None, False
        for sound in (*self.sounds(), None):
            from_ms = float(self.record.duration_ms) if sound is None else sound.from_ms
            if until_ms is not None and from_ms > until_ms:
                silences.append(Silence(until_ms, from_ms, human or self._answers_at(until_ms)))
            if sound is not None and (until_ms is None or sound.to_ms >= until_ms):
                until_ms, human = sound.to_ms, sound.human
        return silences

    def _answers_at(self, ms: float) -> bool:
        """Whether a response is pending or a tool is running."""
        running = any(
            one.created_ms <= ms and (one.done_ms is None or one.done_ms > ms)
            for one in self.responses
            if not one.out_of_band
        )
        return running or any(
            one.asked_ms <= ms and (one.answered_ms is None or one.answered_ms > ms) for one in self.tool_calls
        )
