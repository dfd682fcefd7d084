"""Reads a call's log as turns, responses, speeches and tool calls.

Times are the log's own.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, Item
from realtime.message import ToolResultBlock
from realtime.state.log import AudioRun
from realtime.state.truncation import Pace
from realtime.state.truncation import Spoken as Words
from realtime.testing.check.turns import Response, Speech, ToolCall, UserTurn
from realtime.testing.record import CallRecord


class LogReading:
    """What the log and the conversation say. Lists are in order of the log."""

    def __init__(self, record: CallRecord) -> None:
        self.turns: list[UserTurn] = []
        self.responses: list[Response] = []
        self.tool_calls: list[ToolCall] = []
        self.speeches: list[Speech] = []
        self.transcription_tokens = 0
        self.names: dict[str, str] = {}
        """Users' names by item."""
        self.marks: list[tuple[float, float]] = []
        """Ms of the call and ms of client audio, per reported voice."""
        self.starts: list[tuple[s.AgentInputStartedEvent, UserTurn]] = []
        """The reports that a voice began."""
        self.flushes: list[tuple[s.ServerAudioFlushEvent, list[tuple[Speech, str, float]]]] = []
        """Each flush with the speeches it met, their words and audio ms."""
        self._turns: dict[str, UserTurn] = {}
        self._responses: dict[str, Response] = {}
        self._calls: dict[str, ToolCall] = {}
        self._speeches: dict[str, Speech] = {}
        self._paces: dict[str, Pace] = {}
        """By agent id."""
        self._rates_hz = _rates_of_frames(record)
        for entry in record.entries:
            self._take(entry)
        self._settle_items(record.items)

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
            for flush, _ in self.flushes
        )

    def is_out_of_band(self, speech: Speech) -> bool:
        """Whether it was said outside the conversation: interruptions do not affect it."""
        response = self.response_of(speech)
        return response is not None and response.out_of_band

    def _take(self, entry: Any) -> None:
        match entry:
            case AudioRun():
                self._sound(entry, "", entry.n_bytes, None)
            case s.AgentResponseAudioDeltaEvent():
                rate_hz = entry.format.rate or entry.format.sample_rate
                speech = self._sound(entry, entry.response_id, len(entry.delta), rate_hz)
                speech.who = entry.agent_name or speech.who
            case s.AgentInputStartedEvent():
                turn = self._turn(entry.item_id, entry)
                if not turn.from_ms <= entry.audio_start_ms:
                    turn.from_ms = entry.audio_start_ms
                turn.to_ms, turn.ended_ms = float("nan"), None
                self.marks.append((entry.ts_ms, entry.audio_start_ms))
                self.starts.append((entry, turn))
            case s.AgentInputDoneEvent():
                turn = self._turn(entry.item_id, entry)
                turn.to_ms, turn.ended_ms, turn.ended_seq = entry.audio_end_ms, entry.ts_ms, entry.seq
                self.marks.append((entry.ts_ms, entry.audio_end_ms))
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
            case s.AgentItemDeletedEvent(item_id=item_id) if item_id in self._speeches:
                speech = self._speeches[item_id]
                speech.withdrawn = True
                speech.gone_seq = entry.seq
            case s.AgentItemDeletedEvent(item_id=item_id) if item_id in self._turns:
                self._turns[item_id].withdrawn = True
            case s.AgentResponseCreatedEvent():
                response = self._response(entry.response_id, entry)
                response.out_of_band = entry.conversation == "none"
            case s.AgentResponseDoneEvent():
                response = self._response(entry.response_id, entry)
                response.done_ms, response.status = entry.ts_ms, entry.status
                response.input_tokens, response.output_tokens = entry.input_tokens, entry.output_tokens
            case s.AgentResponseToolUseDoneEvent(tool_use=call):
                self._token(entry)
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
                self._answer(entry.tool_result, entry.ts_ms)
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
                elif speech.cut_text is None:
                    # The provider's last word: a delta was lost.
                    speech.words.correct(0, len(speech.words.text), entry.transcript)
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
                self.flushes.append((entry, met))

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

    def _sound(self, entry: Any, response_id: str, n_bytes: int, rate_hz: int | None) -> Speech:
        if not response_id and entry.item_id not in self._speeches:
            running = [one for one in self.responses if one.done_ms is None]
            response_id = running[-1].id if running else ""
        speech = self._speech(entry.item_id, response_id, entry)
        speech.rate_hz = rate_hz or speech.rate_hz
        if speech.first_audio_ms is None:
            speech.first_audio_seq, speech.first_audio_ms = entry.seq, entry.ts_ms
            response = self.response_of(speech)
            if response is not None and response.first_audio_ms is None:
                response.first_audio_ms = entry.ts_ms
        speech.words.audio_ms += n_bytes / SAMPLE_BYTES * 1000 / speech.rate_hz
        return speech

    def _item(self, entry: s.AgentItemAddedEvent) -> None:
        item = entry.item
        if item.role == "user":
            self.names[item.id] = item.name or ""
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

    def _answer(self, result: ToolResultBlock, ts_ms: float) -> None:
        call = self._calls.get(result.id)
        if call is not None and call.answered_ms is None:
            call.answered_ms, call.state, call.output = ts_ms, result.state, result.output_text()

    def _settle_items(self, items: Sequence[Item]) -> None:
        """Set what the conversation holds. A log without its beginning still has the words at the end."""
        if items:
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
