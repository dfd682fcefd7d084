"""How long the user waited for an answer, and for what. Pure.

Latency is computed here only: calls log it as `server_latency`; page, report, API, checks and scores read that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from realtime.event import server as s
from realtime.message.blocks import ELICITATION
from realtime.state.log import AudioRun, Entry

RESUMES = "resumes"
"""Key in the metadata of a response that continues a cut one: the item that was cut."""
CONSENT = "consent"
"""The part of a wait that questions for consent and forms take."""
STALLED_MS = 150
"""Audio further behind the server's clock has stopped: it measures no time."""
_SENTENCE_END = re.compile(r"[.!?…](?:\s|$)|[。！？]")


def begins_ms(playback: s.ServerPlaybackEvent) -> int:
    """Return when playback began by this report, in ms of the call."""
    return playback.ts_ms - playback.played_ms


def latencies(entries: Iterable[Entry]) -> list[s.ServerLatencyEvent]:
    """Return what a log says about the waits of its user.

    Earlier versions measured something else: theirs are left out.
    """
    return [one for one in entries if isinstance(one, s.ServerLatencyEvent) and one.latency_ms is not None]


def percentile(values: Sequence[float], percent: int) -> int | None:
    """Return the rounded nearest-rank percentile; None without values."""
    if not values:
        return None
    rank = -(-len(values) * percent // 100)
    return round(sorted(values)[max(rank, 1) - 1])


def latency_of(entries: Sequence[Entry], turn_id: str, sent_ms: int | None = None) -> s.ServerLatencyEvent | None:
    """Return how long the user waited after their turn `turn_id` (its item).

    `entries` are the log from the beginning of the turn to the first report of the playback of its answer. `sent_ms` is
    when the first sound was sent to the client, in ms of the call. None where the turn has no end, or where what was
    played does not answer it.

    Both ends are positions in the client's own audio. Where that had stopped, and for typed turns, the server's clock
    measures instead. What the user took to answer a question for consent, or a form, is a part, and does not count as
    latency.
    """
    playback = entries[-1] if entries else None
    if not isinstance(playback, s.ServerPlaybackEvent):
        return None
    way = _Way(turn_id, playback.item_id)
    for entry in _last_part(entries, turn_id):
        way.follow(entry)
    answer = way.answer()
    if way.ended_ms is None or answer is None:
        return None
    zero_ms, is_estimate = _voice_end(way, playback, way.ended_ms)
    played_ms = max(zero_ms, begins_ms(playback))
    moments = way.moments(answer)
    if sent_ms is not None:
        moments.append(("sent", sent_ms))
    audio_ms = next((ms for name, ms in moments if name == "first_audio"), played_ms)
    stages_ms: dict[str, int] = {}
    since_ms = zero_ms
    for name, ms in (*sorted(moments, key=lambda moment: moment[1]), ("played", played_ms)):
        at_ms = min(max(ms, since_ms), played_ms)
        # Between two questions a tool may have run: that belongs to the next part.
        stages_ms[name] = min(at_ms - since_ms, way.asked_ms) if name == CONSENT else at_ms - since_ms
        since_ms += stages_ms[name]
    asked_ms = stages_ms.get(CONSENT, 0)
    return s.ServerLatencyEvent(
        response_id=answer,
        item_id=turn_id,
        latency_ms=played_ms - zero_ms - asked_ms,
        stages_ms=stages_ms,
        estimated=is_estimate or playback.estimated,
        turn_end_to_audio_ms=max(0, audio_ms - way.ended_ms - asked_ms),
    )


def _last_part(entries: Sequence[Entry], turn_id: str) -> Sequence[Entry]:
    """Return the entries from the last beginning of the turn on: after a hasty end it goes on."""
    for at in range(len(entries) - 1, 0, -1):
        entry = entries[at]
        if isinstance(entry, s.AgentInputStartedEvent) and entry.item_id == turn_id:
            return entries[at:]
    return entries


def _voice_end(way: _Way, playback: s.ServerPlaybackEvent, ended_ms: int) -> tuple[int, bool]:
    """Return when the end of the voice arrived.

    In ms of the call, and whether that is an estimate.
    """
    if way.is_typed:
        return ended_ms, False
    if way.voice_end_ms is None or playback.input_ms is None:
        return ended_ms, True
    passed_ms = playback.input_ms - way.voice_end_ms
    if passed_ms < playback.ts_ms - ended_ms - STALLED_MS:
        return ended_ms, True
    return playback.ts_ms - passed_ms, False


class _Way:
    """What happened between a turn and the first sound of its answer. Times are in ms of the call."""

    def __init__(self, turn_id: str, played_id: str) -> None:
        self._turn_id = turn_id
        self._played_id = played_id
        self.voice_end_ms: int | None = None
        """In the client's audio."""
        self.ended_ms: int | None = None
        """When the turn was taken to be over, or was typed."""
        self.is_typed = False
        self._created: dict[str, int] = {}
        """The responses since the turn's end; none outside the conversation, and none that continues a cut one."""
        self._response_of: dict[str, str] = {}
        self._words: dict[str, str] = {}
        """The words of each response so far."""
        self._first_token: dict[str, int] = {}
        self._first_sentence: dict[str, int] = {}
        self._transcript_ms: int | None = None
        self._tool_call_ms: int | None = None
        self._tool_result_ms: int | None = None
        self._first_audio_ms: int | None = None
        self.asked_ms = 0
        """How long questions and forms were open, up to the last answer."""
        self._answered_ms: int | None = None
        self._asked_since_ms = 0
        self._questions: set[str] = set()
        """The open ones, by call."""

    def answer(self) -> str | None:
        """Return the response that was played, where it answers the turn."""
        response_id = self._response_of.get(self._played_id, next(reversed(self._created), None))
        return response_id if response_id in self._created else None

    def moments(self, answer: str) -> list[tuple[str, int]]:
        """Return the steps to this response and when each was done: those before its sound."""
        audio_ms = self._first_audio_ms
        words = {"first_token": self._first_token.get(answer), "first_sentence": self._first_sentence.get(answer)}
        steps = {
            "turn_end": None if self.is_typed else self.ended_ms,
            "transcript": self._transcript_ms,
            "response": min(self._created.values()),
            "tool_call": self._tool_call_ms,
            CONSENT: self._answered_ms,
            "tool_result": self._tool_result_ms,
            # Captions come with their sound: unless they say it, it is unknown when the words were there.
            **{name: ms for name, ms in words.items() if audio_ms is None or (ms is not None and ms < audio_ms)},
            "first_audio": audio_ms,
        }
        return [(name, ms) for name, ms in steps.items() if ms is not None and (audio_ms is None or ms <= audio_ms)]

    def follow(self, entry: Entry) -> None:
        """Take the next entry."""
        match entry:
            case AudioRun() | s.AgentResponseAudioDeltaEvent():
                if entry.item_id == self._played_id and self._first_audio_ms is None:
                    self._first_audio_ms = entry.ts_ms
            case s.AgentInputDoneEvent() if entry.item_id == self._turn_id:
                self.voice_end_ms, self.ended_ms = entry.audio_end_ms, entry.ts_ms
            case s.AgentInputCommittedEvent() if entry.item_id == self._turn_id and self.ended_ms is None:
                self.voice_end_ms, self.ended_ms = entry.audio_end_ms, entry.ts_ms
            case s.AgentItemAddedEvent(item=item) if item.id == self._turn_id and self.ended_ms is None:
                if any(part.text for part in item.content):
                    self.is_typed, self.ended_ms = True, entry.ts_ms
            case s.AgentInputTranscriptionDoneEvent() if entry.item_id == self._turn_id:
                self._transcript_ms = entry.ts_ms
            case s.AgentResponseCreatedEvent() if self.ended_ms is not None:
                if entry.conversation != "none" and RESUMES not in (entry.metadata or {}):
                    self._created[entry.response_id] = entry.ts_ms
            case s.AgentResponseToolUseDoneEvent(tool_use=call) if self._created and call.name == ELICITATION:
                self._ask(call.id, "asking", entry.ts_ms)
            case s.AgentResponseToolUseDoneEvent() if entry.response_id in self._created:
                self._tool_call_ms = entry.ts_ms if self._tool_call_ms is None else self._tool_call_ms
            case s.AgentResponseToolResultEvent() if entry.response_id in self._created:
                self._tool_result_ms = entry.ts_ms
            case s.AgentResponseToolResultEvent(tool_result=result) if result.name == ELICITATION:
                self._ask(result.id, "answered", entry.ts_ms)
            case s.ServerCustomEvent(name="consent_question") if self._created:
                self._ask(str(entry.value.get("tool_call_id")), str(entry.value.get("state")), entry.ts_ms)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                if isinstance(entry, s.AgentResponseAudioTranscriptDeltaEvent) and entry.ready_ms is not None:
                    self._note_ready(entry, entry.ready_ms)
                self._read(entry.response_id, entry.item_id, entry.delta, entry.ts_ms)
            case s.AgentResponseAudioTranscriptDoneEvent() | s.AgentResponseAudioDoneEvent():
                self._response_of[entry.item_id] = entry.response_id
            case _:
                pass

    def _ask(self, call_id: str, state: str, ts_ms: int) -> None:
        """Note the state of a question for consent, or of a form."""
        if state != "answered":
            if not self._questions:
                self._asked_since_ms = ts_ms
            self._questions.add(call_id)
        elif call_id in self._questions:
            self._questions.discard(call_id)
            if not self._questions:
                self.asked_ms += ts_ms - self._asked_since_ms
                self._answered_ms = ts_ms

    def _note_ready(self, entry: s.AgentResponseAudioTranscriptDeltaEvent, ready_ms: dict[str, int]) -> None:
        """Note when words were there that came with their sound."""
        for name, times in (("first_token", self._first_token), ("first_sentence", self._first_sentence)):
            if name in ready_ms:
                times.setdefault(entry.response_id, entry.ts_ms - ready_ms[name])

    def _read(self, response_id: str, item_id: str, words: str, ts_ms: int) -> None:
        self._response_of[item_id] = response_id
        self._first_token.setdefault(response_id, ts_ms)
        if response_id not in self._first_sentence:
            self._words[response_id] = so_far = self._words.get(response_id, "") + words
            if _SENTENCE_END.search(so_far):
                self._first_sentence[response_id] = ts_ms
