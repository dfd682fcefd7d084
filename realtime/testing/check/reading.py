"""Reads a call as turns, responses, tool calls, interruptions and silences.

It reads the log once, then voices and playback. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, Item
from realtime.message import ToolResultBlock
from realtime.state.log import AudioRun
from realtime.state.truncation import Pace
from realtime.state.truncation import Spoken as Words
from realtime.testing.check.turns import (
    HASTY,
    USER,
    BargeIn,
    CutItem,
    Response,
    Silence,
    Sound,
    Speech,
    ToolCall,
    UserTurn,
)
from realtime.testing.check.voice import SpokenVoice, refine_voice
from realtime.testing.record import CallRecord, Lane, Spoken

BY_VOICE = ("speech_started", HASTY, "barge_in")
"""Flush reasons caused by a voice; the last is the event's default."""
NOTICED_MS = 80.0
"""Ms of voice that a detector needs before it reports one."""
_BESIDE_MS = 50
"""Ms within which a voice and the flush that it causes are logged."""


class Reading:
    """A whole call, read once. Lists are in order of time."""

    def __init__(self, record: CallRecord) -> None:
        self.record = record
        self.turns: list[UserTurn] = []
        self.responses: list[Response] = []
        self.tool_calls: list[ToolCall] = []
        self.speeches: list[Speech] = []
        self.flushes: list[BargeIn] = []
        self.transcription_tokens = 0
        self._turns: dict[str, UserTurn] = {}
        self._responses: dict[str, Response] = {}
        self._calls: dict[str, ToolCall] = {}
        self._speeches: dict[str, Speech] = {}
        self._paces: dict[str, Pace] = {}
        """By agent id."""
        self._names: dict[str, str] = {}
        self._rates_hz = _rates_of_frames(record)
        self._flushes: list[tuple[s.ServerAudioFlushEvent, list[tuple[Speech, str, float]]]] = []
        self._marks: list[tuple[float, float]] = []
        self._starts: list[tuple[s.AgentInputStartedEvent, UserTurn]] = []
        self._origin_ms = 0.0
        self._voices: dict[Spoken, SpokenVoice | None] = {}
        for entry in record.entries:
            self._take(entry)
        self._settle_items(record.items)
        self._place_voices()
        self._hear()
        for flush, met in self._flushes:
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

    def speech(self, item_id: str) -> Speech | None:
        """Return an agent's speech or text in this item."""
        return self._speeches.get(item_id)

    def response_of(self, speech: Speech) -> Response | None:
        """Return the item's response, where the log names it."""
        return self._responses.get(speech.response_id)

    def asked_before(self, speech: Speech, seq: int) -> bool:
        """Whether the item, or its later response, existed before `seq`."""
        response = self.response_of(speech)
        first_seq = speech.first_seq if response is None else min(speech.first_seq, response.created_seq)
        return 0 < first_seq < seq

    def begun_after_flush(self, speech: Speech) -> bool:
        """Whether its response was requested before a flush and began after it: it must not be audible."""
        return any(
            flush.seq < speech.first_seq and flush.item_id is None and self.asked_before(speech, flush.seq)
            for flush, _ in self._flushes
        )

    def is_out_of_band(self, speech: Speech) -> bool:
        """Whether it was said outside the conversation: interruptions do not affect it."""
        response = self.response_of(speech)
        return response is not None and response.out_of_band

    # -- the log ---------------------------------------------------------------------------------------------------

    def _take(self, entry: Any) -> None:
        match entry:
            case AudioRun():
                self._sound(entry.item_id, "", entry.n_bytes, entry.seq, entry.ts_ms, None)
            case s.AgentResponseAudioDeltaEvent():
                rate_hz = entry.format.rate or entry.format.sample_rate
                self._sound(entry.item_id, entry.response_id, len(entry.delta), entry.seq, entry.ts_ms, rate_hz)
                self._speeches[entry.item_id].who = entry.agent_name or self._speeches[entry.item_id].who
            case s.AgentInputStartedEvent():
                turn = self._turn(entry.item_id, entry)
                if not turn.from_ms <= entry.audio_start_ms:
                    turn.from_ms = entry.audio_start_ms
                turn.to_ms, turn.ended_ms = float("nan"), None
                self._marks.append((entry.ts_ms, entry.audio_start_ms))
                self._starts.append((entry, turn))
            case s.AgentInputDoneEvent():
                turn = self._turn(entry.item_id, entry)
                turn.to_ms, turn.ended_ms, turn.ended_seq = entry.audio_end_ms, entry.ts_ms, entry.seq
                self._marks.append((entry.ts_ms, entry.audio_end_ms))
            case s.AgentInputCommittedEvent():
                turn = self._turn(entry.item_id, entry)
                if turn.ended_ms is None:
                    turn.ended_ms, turn.ended_seq = entry.ts_ms, entry.seq
            case s.AgentInputTranscriptionDoneEvent():
                turn = self._turn(entry.item_id, entry)
                turn.transcript, turn.transcript_ms = entry.transcript, entry.ts_ms
                self.transcription_tokens += (entry.input_tokens or 0) + (entry.output_tokens or 0)
            case s.AgentItemAddedEvent():
                self._item(entry)
            case s.AgentItemTruncatedEvent():
                speech = self._speech(entry.item_id, "", entry)
                speech.words_when_cut = self._as_known(speech, entry, speech.words.audio_complete)
                speech.cut_text, speech.cut_ms = entry.transcript, entry.audio_end_ms
                speech.gone_seq = entry.seq
            case s.AgentItemDoneEvent() if entry.item.status == "completed" and entry.item.id in self._speeches:
                words = self._speeches[entry.item.id].words
                words.pace = self._pace_of(entry)
                words.teach()
            case s.AgentItemDeletedEvent():
                if entry.item_id in self._speeches:
                    self._speeches[entry.item_id].withdrawn = True
                    self._speeches[entry.item_id].gone_seq = entry.seq
                elif entry.item_id in self._turns:
                    self._turns[entry.item_id].withdrawn = True
            case s.AgentResponseCreatedEvent():
                response = self._response(entry.response_id, entry)
                response.out_of_band = entry.conversation == "none"
            case s.AgentResponseDoneEvent():
                response = self._response(entry.response_id, entry)
                response.done_ms, response.status = entry.ts_ms, entry.status
                response.input_tokens, response.output_tokens = entry.input_tokens, entry.output_tokens
            case s.AgentResponseToolUseDoneEvent():
                self._token(entry)
                call = entry.tool_use
                known = ToolCall(
                    id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                    input=call.input,
                    who=entry.agent_name,
                    response_id=entry.response_id,
                    turn=len(self.turns),
                    asked_ms=entry.ts_ms,
                    asked_seq=entry.seq,
                )
                self._calls[call.id] = known
                self.tool_calls.append(known)
            case s.AgentResponseToolResultEvent():
                self._answer(entry.tool_result, entry.ts_ms, entry.seq)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                self._token(entry)
                speech = self._speech(entry.item_id, entry.response_id, entry)
                speech.written = isinstance(entry, s.AgentResponseTextDeltaEvent)
                if speech.cut_text is None:
                    speech.words.add_text(entry.delta)
            case s.AgentResponseAudioTranscriptDoneEvent():
                speech = self._speech(entry.item_id, entry.response_id, entry)
                if speech.cut_text is None and entry.transcript.startswith(speech.words.text):
                    speech.words.add_text(entry.transcript[len(speech.words.text) :])
                elif speech.cut_text is None and speech.words.text.startswith(entry.transcript):
                    # A response that broke off: its words ran ahead of its audio.
                    speech.words_when_cut = self._as_known(speech, entry, False)
                    speech.cut_text = entry.transcript
            case s.AgentResponseTextDoneEvent():
                speech = self._speech(entry.item_id, entry.response_id, entry)
                speech.written = True
                speech.words.text = entry.text
            case s.AgentResponseAudioDoneEvent():
                self._speech(entry.item_id, entry.response_id, entry).words.audio_complete = True
            case s.AgentResponseToolUseDeltaEvent():
                self._token(entry)
            case s.ServerAudioFlushEvent():
                met = [
                    (one, one.words.text, one.words.audio_ms)
                    for one in self.speeches
                    if not one.gone_seq and entry.item_id in (None, one.item_id) and not self.is_out_of_band(one)
                ]
                self._flushes.append((entry, met))
            case _:
                pass

    def _pace_of(self, entry: Any) -> Pace:
        return self._paces.setdefault(entry.agent_id, Pace())

    def _as_known(self, speech: Speech, entry: Any, whole: bool) -> Words:
        """Return the call's current knowledge of the item. `whole`: all of its audio is there."""
        return replace(speech.words, aligned=False, audio_complete=whole, pace=replace(self._pace_of(entry)))

    def _turn(self, item_id: str, entry: Any) -> UserTurn:
        turn = self._turns.get(item_id)
        if turn is None:
            nan = float("nan")
            turn = UserTurn(len(self.turns) + 1, item_id, "", nan, nan, first_seq=entry.seq)
            self._turns[item_id] = turn
            self.turns.append(turn)
        return turn

    def _response(self, response_id: str, entry: Any) -> Response:
        response = self._responses.get(response_id)
        if response is None:
            response = Response(response_id, entry.agent_name, entry.ts_ms, entry.seq, len(self.turns))
            self._responses[response_id] = response
            self.responses.append(response)
        return response

    def _token(self, entry: Any) -> None:
        response = self._response(entry.response_id, entry)
        if response.first_token_ms is None:
            response.first_token_ms = entry.ts_ms

    def _speech(self, item_id: str, response_id: str, entry: Any) -> Speech:
        speech = self._speeches.get(item_id)
        if speech is None:
            speech = Speech(item_id, getattr(entry, "agent_name", ""), "", first_seq=entry.seq)
            speech.rate_hz = self._rates_hz.get(item_id, DEFAULT_OUTPUT_RATE_HZ)
            speech.words.aligned = True
            self._speeches[item_id] = speech
            self.speeches.append(speech)
        if response_id and not speech.response_id:
            speech.response_id = response_id
            response = self._response(response_id, entry)
            response.item_ids.append(item_id)
            speech.who = speech.who or response.who
        return speech

    def _sound(self, item_id: str, response_id: str, n_bytes: int, seq: int, ts_ms: float, rate_hz: int | None) -> None:
        if not response_id and item_id not in self._speeches:
            running = [one for one in self.responses if one.done_ms is None]
            response_id = running[-1].id if running else ""
        entry = _Place(seq, ts_ms)
        speech = self._speech(item_id, response_id, entry)
        if rate_hz:
            speech.rate_hz = rate_hz
        if speech.first_audio_ms is None:
            speech.first_audio_seq, speech.first_audio_ms = seq, ts_ms
            response = self._responses.get(speech.response_id)
            if response is not None and response.first_audio_ms is None:
                response.first_audio_ms = ts_ms
        speech.words.audio_ms += n_bytes / SAMPLE_BYTES * 1000 / speech.rate_hz

    def _item(self, entry: s.AgentItemAddedEvent) -> None:
        item = entry.item
        if item.role == "user":
            self._names[item.id] = item.name or ""
            if item.id not in self._turns and any(part.text for part in item.content):
                turn = self._turn(item.id, entry)
                turn.typed, turn.transcript = True, item.text
                turn.from_ms = turn.to_ms = turn.ended_ms = turn.transcript_ms = entry.ts_ms
                turn.ended_seq = entry.seq
        elif item.role == "assistant":
            speech = self._speech(item.id, "", entry)
            speech.who = item.name or entry.agent_name
            running = [one for one in self.responses if one.done_ms is None and not one.out_of_band]
            if running and not speech.response_id:
                speech.response_id = running[-1].id
                running[-1].item_ids.append(item.id)
            if item.text and not speech.words.text:
                speech.written = True
                speech.words.add_text(item.text)

    def _answer(self, result: ToolResultBlock, ts_ms: float, seq: int) -> None:
        call = self._calls.get(result.id)
        if call is not None and call.answered_ms is None:
            call.answered_ms, call.answered_seq = ts_ms, seq
            call.state, call.output = result.state, result.output_text()

    def _settle_items(self, items: Iterable[Item]) -> None:
        """Set what the conversation holds. A log without its beginning still has the words at the end."""
        if self.record.items:
            for made in self.speeches:
                made.kept = ""
        for item in items:
            if item.id in self._turns and not self._turns[item.id].transcript:
                self._turns[item.id].transcript = item.text
            speech = self._speeches.get(item.id)
            if speech is not None:
                # Speech in progress has no words in the conversation yet.
                speech.kept = item.text if item.status != "in_progress" else None
                if not speech.words.text and item.text:
                    speech.words.add_text(item.text)

    # -- voices and ears -------------------------------------------------------------------------------------------

    def _place_voices(self) -> None:
        """Convert positions in a client's audio to times of the call.

        The audio began when the fastest report of a voice came, less the minimal time of a detector. Where the audio is
        available, it is measured instead.
        """
        self._origin_ms = max(0.0, min((ts_ms - position_ms for ts_ms, position_ms in self._marks), default=0.0))
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
            name = self._names.get(turn.item_id)
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
        turn.who = self._names.get(turn.item_id) or (typed[-1].who if typed else self._only_human())

    def _only_human(self) -> str:
        names = {one.speaker for one in self.record.lanes if one.kind == "human"}
        names |= {one.who for one in self.record.spoken}
        return names.pop() if len(names) == 1 else USER

    def _hear(self) -> None:
        for one in self.record.played:
            speech = self._speeches.get(one.item_id)
            if speech is None:
                continue
            speech.played.append(one)
            response = self._responses.get(speech.response_id)
            if response is not None and (response.first_heard_ms is None or one.from_ms < response.first_heard_ms):
                response.first_heard_ms = one.from_ms

    def _barge_in(self, number: int, flush: s.ServerAudioFlushEvent, met: list[tuple[Speech, str, float]]) -> BargeIn:
        began_ms, turn = self._cause(flush)
        ends = [
            one.from_ms + one.ms
            for speech in self.speeches
            if self.asked_before(speech, flush.seq) and flush.item_id in (None, speech.item_id)
            for one in speech.played
        ]
        last_ms = max(ends, default=0.0)
        next_seq = next((later.seq for later, _ in self._flushes if later.seq > flush.seq), float("inf"))
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
        beside = [one for one in self._starts if abs(one[0].ts_ms - flush.ts_ms) <= _BESIDE_MS]
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
        response = self._responses.get(speech.response_id)
        if speech.played:
            for one in speech.played:
                yield Sound(one.from_ms, one.from_ms + one.ms, speech.who, False)
        elif speech.written and response is not None and response.done_ms is not None:
            yield Sound(response.done_ms, response.done_ms, speech.who, False)
        elif not self.record.played and speech.first_audio_ms is not None:
            to_ms = speech.first_audio_ms + speech.words.audio_ms
            flushed = [f.ts_ms for f, _ in self._flushes if f.seq > speech.first_audio_seq]
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


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of an audio run in the log."""

    seq: int
    ts_ms: float
    agent_name: str = ""


def _rates_of_frames(record: CallRecord) -> dict[str, int]:
    """Return items' rates from the frames: the log keeps no rate of an audio run."""
    rates_hz: dict[str, int] = {}
    for frame in record.frames:
        if "server_audio_item" not in frame.text:
            continue
        try:
            told = msgspec.json.decode(frame.text, type=s.ServerAudioItemEvent)
        except msgspec.MsgspecError:
            continue
        if told.format.rate:
            rates_hz[told.item_id] = told.format.rate
    return rates_hz
