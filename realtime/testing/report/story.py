"""What happened in a call, read once from its record: who said what, in which turn, how fast, and what was heard of it.

Pure. All times are ms of the call.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, Item
from realtime.state.log import AudioRun
from realtime.testing.record import CallRecord, Played
from realtime.testing.report.speakers import Speakers

_BYTES_PER_MS = DEFAULT_OUTPUT_RATE_HZ * 2 / 1000
"""The log tells speech in bytes; models speak at this rate."""


class Caption(msgspec.Struct):
    """Words and when they were spoken. `unheard` are those behind `heard` that reached nobody's ear."""

    who: str
    kind: str
    """`speech` of anybody, `typed` by a human, `text` that an agent wrote."""
    from_ms: float
    to_ms: float
    item_id: str
    heard: str = ""
    unheard: str = ""
    withdrawn: bool = False
    """The item was deleted: it is no part of the conversation."""


class ToolUse(msgspec.Struct):
    """A tool call. Without a result `to_ms` is null and `state` is `no result`."""

    id: str
    name: str
    who: str
    from_ms: float
    to_ms: float | None = None
    input: str = ""
    output: str = ""
    state: str = "no result"


class Step(msgspec.Struct):
    """A moment on the way from the end of a turn to the ear."""

    name: str
    at_ms: float


class Turn(msgspec.Struct):
    """What one human said or typed, and all that was answered to it. `who` is empty for what an agent says unasked."""

    who: str
    at_ms: float
    said: Caption | None = None
    answers: list[Caption] = []
    tools: list[ToolUse] = []
    steps: list[Step] = []
    """In the order of time. The first is the end of the voice, or of typing."""
    interrupts: bool = False
    """It cut an answer short."""
    latency_ms: float | None = None
    """From the first step until the answer was heard; until it was sent where nobody told what was heard."""


class Moment(msgspec.Struct):
    """Something else that happened to somebody: `flushed`, `dropped`, `typed`, `error`, ..."""

    ts_ms: float
    who: str
    what: str
    text: str = ""


class Span(msgspec.Struct):
    """A stretch of time of somebody."""

    who: str
    from_ms: float
    to_ms: float
    text: str = ""


class Story(msgspec.Struct):
    """A call as people tell it."""

    captions: list[Caption] = []
    turns: list[Turn] = []
    tools: list[ToolUse] = []
    voice: list[Span] = []
    """Where a model heard a human's voice."""
    floor: list[Span] = []
    moments: list[Moment] = []
    barge_ins: int = 0

    def latencies_ms(self) -> list[float]:
        """Of the turns that were spoken and answered; of those that were typed where nobody spoke."""
        answered = [turn for turn in self.turns if turn.latency_ms is not None and turn.said is not None]
        spoken = [turn for turn in answered if turn.said is not None and turn.said.kind == "speech"]
        return [turn.latency_ms for turn in spoken or answered if turn.latency_ms is not None]


def tell(record: CallRecord) -> Story:
    """Read the record."""
    reader = _Reader(record)
    for entry in record.entries:
        if isinstance(entry, AudioRun):
            reader.audio(entry)
        else:
            reader.read(entry)
    return reader.finish()


class _Reader:
    def __init__(self, record: CallRecord) -> None:
        self._record = record
        self._items: dict[str, Item] = {item.id: item for item in record.items}
        self._speakers = Speakers(record)
        self._story = Story()
        self._captions: dict[str, Caption] = {}
        self._turns: dict[str, Turn] = {}
        """By the user's item."""
        self._latest: Turn | None = None
        """What the next response answers: the turn that ended last."""
        self._played: dict[str, list[Played]] = {}
        self._responses: dict[str, Turn] = {}
        self._tools: dict[str, ToolUse] = {}
        self._said: dict[str, str] = {}
        self._final: dict[str, str] = {}
        self._cut_ms: dict[str, int] = {}
        self._runs: dict[str, tuple[float, float]] = {}
        """First and last ms of an item's speech as it was sent, played without a pause."""
        self._names: dict[str, str] = {}
        for one in record.played:
            self._played.setdefault(one.item_id, []).append(one)

    def audio(self, run: AudioRun) -> None:
        start, end = self._runs.get(run.item_id, (float(run.ts_ms), float(run.ts_ms)))
        self._runs[run.item_id] = (start, max(end, run.ts_ms) + run.n_bytes / _BYTES_PER_MS)

    def read(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentInputStartedEvent() | s.AgentInputDoneEvent() | s.AgentInputCommittedEvent():
                self._voice(event)
            case s.AgentInputTranscriptionDoneEvent():
                self._final[event.item_id] = event.transcript
                self._step(self._turns.get(event.item_id), "transcript", event.ts_ms)
            case s.AgentInputTranscriptionFailedEvent():
                self._moment(event.ts_ms, self._speakers.agent(event), "error", f"not transcribed: {event.message}")
            case s.AgentItemAddedEvent():
                self._item_added(event)
            case s.AgentResponseCreatedEvent() if event.conversation == "auto":
                self._response_created(event)
            case s.AgentResponseAudioTranscriptDeltaEvent() | s.AgentResponseTextDeltaEvent():
                self._words(event, event.delta)
            case s.AgentResponseAudioTranscriptDoneEvent():
                self._words(event, "")
                self._final[event.item_id] = event.transcript
            case s.AgentResponseTextDoneEvent():
                self._words(event, "")
                self._final[event.item_id] = event.text
            case s.AgentResponseAudioDoneEvent():
                self._words(event, "")
            case s.AgentResponseToolUseDeltaEvent() | s.AgentResponseToolUseDoneEvent():
                self._tool_use(event)
            case s.AgentResponseToolResultEvent():
                self._tool_result(event)
            case s.AgentItemTruncatedEvent():
                self._cut_ms[event.item_id] = event.audio_end_ms
                if event.transcript is not None:
                    self._final[event.item_id] = event.transcript
            case s.AgentItemDeletedEvent():
                if (caption := self._captions.get(event.item_id)) is not None:
                    caption.withdrawn = True
            case s.ServerAudioFlushEvent():
                self._flush(event)
            case _:
                self._read_moment(event)

    def _read_moment(self, event: s.ServerEvent) -> None:
        """What is neither speech nor an answer."""
        match event:
            case s.ServerRoomFloorEvent():
                self._floor(event)
            case s.ServerRoomJoinedEvent():
                self._names[event.participant_id] = event.name
                self._moment(event.ts_ms, event.name, "joined")
            case s.ServerRoomLeftEvent():
                self._moment(event.ts_ms, event.name, "left", event.reason)
            case s.AgentErrorEvent():
                self._moment(event.ts_ms, self._speakers.agent(event), "error", f"{event.code}: {event.message}")
            case s.AgentReconnectingEvent():
                self._moment(event.ts_ms, self._speakers.agent(event), "link lost", event.reason)
            case s.AgentReconnectedEvent():
                self._moment(event.ts_ms, self._speakers.agent(event), "link back", f"after {event.gap_ms} ms")
            case s.ServerSessionEndedEvent():
                self._moment(event.ts_ms, "", "ended", event.reason)
            case _:
                return

    def _moment(self, ts_ms: float, who: str, what: str, text: str = "") -> None:
        self._story.moments.append(Moment(ts_ms, who, what, text))

    # -- humans ----------------------------------------------------------------------------------------------------

    def _voice(self, event: s.AgentInputStartedEvent | s.AgentInputDoneEvent | s.AgentInputCommittedEvent) -> None:
        item_id = event.item_id
        if isinstance(event, s.AgentInputStartedEvent):
            who = self._speakers.human(item_id, event.ts_ms)
            at_ms = self._speakers.call_ms(who, event.audio_start_ms, event.ts_ms)
            self._story.voice.append(Span(who, at_ms, at_ms, item_id))
            if item_id not in self._turns:
                self._begin_turn(Caption(who, "speech", at_ms, at_ms, item_id))
            return
        turn = self._turns.get(item_id)
        if turn is None:
            # A model that tells no beginnings.
            who = self._speakers.human(item_id, event.ts_ms)
            turn = self._begin_turn(Caption(who, "speech", event.ts_ms, event.ts_ms, item_id))
        assert turn.said is not None
        if isinstance(event, s.AgentInputDoneEvent):
            turn.said.to_ms = self._speakers.call_ms(turn.who, event.audio_end_ms, event.ts_ms)
            span = next((one for one in reversed(self._story.voice) if one.text == item_id), None)
            if span is not None:
                span.to_ms = max(span.from_ms, turn.said.to_ms)
            self._step(turn, "voice end", turn.said.to_ms, again=True)
        self._step(turn, "turn end", event.ts_ms, again=True)
        self._latest = turn

    def _item_added(self, event: s.AgentItemAddedEvent) -> None:
        item = event.item
        if item.role != "user" or item.id in self._turns or not any(part.text for part in item.content):
            return
        who = self._speakers.human(item.id, event.ts_ms)
        turn = self._begin_turn(Caption(who, "typed", event.ts_ms, event.ts_ms, item.id, heard=item.text))
        self._step(turn, "typed", event.ts_ms)
        self._latest = turn

    def _begin_turn(self, said: Caption) -> Turn:
        turn = Turn(said.who, said.from_ms, said)
        self._story.turns.append(turn)
        self._turns[said.item_id] = turn
        self._captions[said.item_id] = said
        return turn

    @staticmethod
    def _step(turn: Turn | None, name: str, at_ms: float, *, again: bool = False) -> None:
        """Note the first time, or with `again` the last time, that the turn came to this step."""
        if turn is None:
            return
        known = next((step for step in turn.steps if step.name == name), None)
        if known is None:
            turn.steps.append(Step(name, at_ms))
        elif again:
            known.at_ms = at_ms

    def _flush(self, event: s.ServerAudioFlushEvent) -> None:
        if event.reason == "barge_in":
            self._story.barge_ins += 1
            if self._story.turns:
                self._story.turns[-1].interrupts = True
        if not any(mark.what == "flushed" for mark in self._record.marks):
            self._moment(event.ts_ms, "", "flushed", event.reason)

    def _floor(self, event: s.ServerRoomFloorEvent) -> None:
        if self._story.floor:
            self._story.floor[-1].to_ms = event.ts_ms
        name = self._names.get(event.participant_id or "", event.participant_id or "")
        self._story.floor.append(Span(name, event.ts_ms, event.ts_ms, event.reason))

    # -- agents ----------------------------------------------------------------------------------------------------

    def _response_created(self, event: s.AgentResponseCreatedEvent) -> None:
        if self._latest is None:
            # The agent speaks first.
            self._latest = Turn("", event.ts_ms)
            self._story.turns.append(self._latest)
        self._responses[event.response_id] = self._latest
        self._step(self._latest, "response", event.ts_ms)

    def _words(
        self,
        event: s.AgentResponseAudioTranscriptDeltaEvent
        | s.AgentResponseTextDeltaEvent
        | s.AgentResponseAudioTranscriptDoneEvent
        | s.AgentResponseTextDoneEvent
        | s.AgentResponseAudioDoneEvent,
        delta: str,
    ) -> None:
        turn = self._responses.get(event.response_id)
        if turn is None:
            return
        caption = self._captions.get(event.item_id)
        if caption is None:
            written = isinstance(event, s.AgentResponseTextDeltaEvent | s.AgentResponseTextDoneEvent)
            who, kind = self._speakers.agent(event), "text" if written else "speech"
            caption = Caption(who, kind, event.ts_ms, event.ts_ms, event.item_id)
            self._captions[event.item_id] = caption
            turn.answers.append(caption)
            if written:
                self._step(turn, "first text", event.ts_ms)
        self._said[event.item_id] = self._said.get(event.item_id, "") + delta

    def _tool_use(self, event: s.AgentResponseToolUseDeltaEvent | s.AgentResponseToolUseDoneEvent) -> None:
        call = event.tool_use
        tool = self._tools.get(call.id)
        if tool is None:
            tool = self._tools[call.id] = ToolUse(call.id, call.name, self._speakers.agent(event), event.ts_ms)
            self._story.tools.append(tool)
            if (turn := self._responses.get(event.response_id)) is not None:
                turn.tools.append(tool)
        tool.input = call.input

    def _tool_result(self, event: s.AgentResponseToolResultEvent) -> None:
        result = event.tool_result
        tool = self._tools.get(result.id)
        if tool is None:
            tool = self._tools[result.id] = ToolUse(result.id, result.name, self._speakers.agent(event), event.ts_ms)
            self._story.tools.append(tool)
        tool.to_ms, tool.state = event.ts_ms, result.state
        tool.output = result.output_text(names_media=True)

    # -- the end ---------------------------------------------------------------------------------------------------

    def finish(self) -> Story:
        story, end_ms = self._story, float(self._record.duration_ms)
        for caption in self._captions.values():
            self._settle(caption)
        for span in (*story.voice, *story.floor[-1:]):
            if span.to_ms <= span.from_ms:
                span.to_ms = end_ms
        for turn in story.turns:
            self._settle_turn(turn)
        story.moments += [Moment(mark.ts_ms, mark.who, mark.what, mark.text) for mark in self._record.marks]
        story.moments.sort(key=lambda moment: moment.ts_ms)
        story.turns.sort(key=lambda turn: turn.at_ms)
        story.captions = sorted(self._captions.values(), key=lambda caption: caption.from_ms)
        return story

    def _settle(self, caption: Caption) -> None:
        """The words and the time of an item, now that all is known of it."""
        item_id = caption.item_id
        said, item = self._said.get(item_id, ""), self._items.get(item_id)
        final = self._final.get(item_id, caption.heard or said)
        caption.heard = item.text if item is not None and (item.text or item.status == "incomplete") else final
        if caption.withdrawn:
            caption.heard, said = "", said or final
        if item_id in self._cut_ms or caption.withdrawn or (item is not None and item.status == "incomplete"):
            caption.unheard = said[len(caption.heard) :] if said.startswith(caption.heard) else ""
        pieces = [*self._pieces(item_id)]
        if pieces:
            caption.from_ms = min(start for start, _ in pieces)
            caption.to_ms = max(end for _, end in pieces)

    def _pieces(self, item_id: str) -> Iterator[tuple[float, float]]:
        """When the item was heard; where nobody told, when it was sent."""
        played = self._played.get(item_id, [])
        for one in played:
            yield one.from_ms, one.from_ms + one.ms
        if not played and item_id in self._runs:
            start, end = self._runs[item_id]
            yield start, min(end, start + self._cut_ms.get(item_id, end))

    def _settle_turn(self, turn: Turn) -> None:
        items = [caption.item_id for caption in turn.answers]
        sent = [self._runs[item_id][0] for item_id in items if item_id in self._runs]
        heard = [one.from_ms for item_id in items for one in self._played.get(item_id, ())]
        written = [step.at_ms for step in turn.steps if step.name == "first text"]
        if sent:
            self._step(turn, "first audio", min(sent))
        if heard:
            self._step(turn, "first heard", min(heard))
        answered = heard or sent or written
        results = [tool.to_ms for tool in turn.tools if tool.to_ms is not None]
        if turn.tools:
            self._step(turn, "tool call", turn.tools[0].from_ms)
        if results and answered and max(results) <= min(answered):
            self._step(turn, "tool result", max(results))
        turn.steps.sort(key=lambda step: step.at_ms)
        if turn.said is not None and turn.steps and answered:
            turn.latency_ms = max(0.0, min(answered) - turn.steps[0].at_ms)
