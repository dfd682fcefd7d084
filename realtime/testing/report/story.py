"""A call as the report shows it: captions, turns with latency, tool calls, other events. Times in ms.

Pure. `realtime.testing.check.reading` decides who said what and when, so the report and the checks agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate

import msgspec

from realtime.agent.plan_of_call import PLAN_UPDATED
from realtime.errors import BadOption
from realtime.event import server as s
from realtime.plan import Plan
from realtime.state.restore import AGENT_CHANGED
from realtime.testing.check.deeds import deed_of
from realtime.testing.check.reading import Reading
from realtime.testing.check.run import Run
from realtime.testing.check.turns import Response, Speech, UserTurn
from realtime.testing.record import CallRecord

_AT_ONCE_MS = 50
"""Longest time between an interruption by a typed text and the text."""


class Caption(msgspec.Struct):
    """Words and when they were spoken. `unheard` are those after `heard` that were not heard."""

    who: str
    kind: str
    """`speech` of any speaker, `typed` by a human, or an agent's `text`."""
    from_ms: float
    to_ms: float
    heard: str = ""
    unheard: str = ""
    withdrawn: bool = False
    """Whether the item was deleted from the conversation."""


class ToolUse(msgspec.Struct):
    """A tool call. Without a result `to_ms` is None and `state` is `no result`."""

    name: str
    who: str
    from_ms: float
    to_ms: float | None
    input: str
    output: str
    state: str


class Step(msgspec.Struct):
    """A moment between a turn's end and the first audible sound."""

    name: str
    at_ms: float


class Turn(msgspec.Struct):
    """One human turn and all responses to it. `who` is empty for unsolicited speech of an agent.

    `said`, `answers` and `tools` are places in the lists of the story.
    """

    who: str
    at_ms: float
    said: int | None = None
    answers: list[int] = []
    tools: list[int] = []
    steps: list[Step] = []
    """In the order of time. The first is the end of the voice, or of typing."""
    interrupts: bool = False
    """Whether it cut a response short."""
    latency_ms: float | None = None
    """As measured by `Run.response_latency`."""
    estimated: bool = False
    """Whether the client did not report the playback that it hangs on."""


class Moment(msgspec.Struct):
    """Another incident of a participant: `flushed`, `dropped`, `typed`, `error`, `went on`, ..."""

    ts_ms: float
    who: str
    what: str
    text: str = ""


class Span(msgspec.Struct):
    """A stretch of time of a participant."""

    who: str
    from_ms: float
    to_ms: float
    text: str = ""


class Story(msgspec.Struct):
    """The whole story of a call."""

    reading: Reading
    captions: list[Caption] = []
    turns: list[Turn] = []
    tools: list[ToolUse] = []
    voice: list[Span] = []
    """Stretches of detected human voice."""
    floor: list[Span] = []
    moments: list[Moment] = []
    plans: list[Plan] = []
    """All plans of the agents, each as far as it came."""
    latencies_ms: list[float] = []
    """Latencies of the answered turns, in order."""

    @property
    def barge_ins(self) -> int:
        return len(self.reading.barge_ins)


def tell(record: CallRecord) -> Story:
    """Build the story of a record."""
    run = Run(record)
    reading = run.reading
    story = Story(reading)
    measured = run.response_latency
    story.latencies_ms = measured.values_ms
    opening = Turn("", 0)
    turns = {0: opening} | {turn.number: _human_turn(story, turn) for turn in reading.turns}
    for turn, ms in measured.samples:
        turns[turn.number].latency_ms = ms
        turns[turn.number].estimated = measured.is_estimated(turn)
    _add_answers(story, turns)
    for user_turn in reading.turns:
        turns[user_turn.number].steps = _steps(reading, user_turn, measured.told(user_turn))
    if opening.answers or opening.tools:
        first = [story.captions[place].from_ms for place in opening.answers]
        opening.at_ms = min([*first, *(story.tools[place].from_ms for place in opening.tools)])
        story.turns.append(opening)
    story.turns += [turns[turn.number] for turn in reading.turns]
    story.floor = _floor(record)
    story.plans = _plans(record)
    story.moments = sorted(_moments(story, record), key=lambda moment: moment.ts_ms)
    return story


def _human_turn(story: Story, turn: UserTurn) -> Turn:
    kind = "typed" if turn.typed else "speech"
    story.captions.append(Caption(turn.who, kind, turn.from_ms, turn.to_ms, turn.transcript))
    if not turn.typed:
        story.voice.append(Span(turn.who, turn.from_ms, turn.to_ms))
    slack_ms = _AT_ONCE_MS if turn.typed else 1
    interrupts = any(
        turn.from_ms - slack_ms <= one.began_ms <= turn.to_ms + slack_ms for one in story.reading.barge_ins
    )
    return Turn(turn.who, turn.from_ms, len(story.captions) - 1, interrupts=interrupts)


def _add_answers(story: Story, turns: dict[int, Turn]) -> None:
    reading = story.reading
    numbers = {response.id: _answers_to(reading, response) for response in reading.responses}
    for speech in reading.speeches:
        if not (speech.words.text or speech.words.audio_ms) or reading.log.is_out_of_band(speech):
            continue
        story.captions.append(_answer(reading, speech))
        if speech.response_id in numbers:
            turns[numbers[speech.response_id]].answers.append(len(story.captions) - 1)
    for call in reading.tool_calls:
        state = call.state or "no result"
        use = ToolUse(call.name, call.who, call.asked_ms, call.answered_ms, call.input, call.output, state)
        story.tools.append(use)
        turns[numbers.get(call.response_id, call.turn)].tools.append(len(story.tools) - 1)


def _answers_to(reading: Reading, response: Response) -> int:
    """Return the number of the turn that a response answers; 0 for none.

    One that began during the next turn answers the turn before; but a withdrawn one was a response to the beginning of
    that turn.
    """
    speeches = [one for item_id in response.item_ids if (one := reading.log.speech(item_id)) is not None]
    if response.turn and not (speeches and all(one.withdrawn for one in speeches)):
        turn = reading.turns[response.turn - 1]
        if turn.ended_ms is None or turn.ended_seq > response.created_seq:
            return response.turn - 1
    return response.turn


def _answer(reading: Reading, speech: Speech) -> Caption:
    said, heard = speech.words.text, speech.text
    unheard = said[len(heard) :] if said.startswith(heard) else ""
    response = reading.log.response_of(speech)
    if speech.played:
        from_ms = min(one.from_ms for one in speech.played)
        to_ms = max(one.from_ms + one.ms for one in speech.played)
    elif speech.first_audio_ms is not None:
        from_ms = speech.first_audio_ms
        to_ms = from_ms + min(speech.words.audio_ms, speech.words.audio_ms if speech.cut_ms is None else speech.cut_ms)
    else:
        from_ms = to_ms = 0.0 if response is None else response.first_token_ms or response.created_ms
    kind = "text" if speech.written else "speech"
    return Caption(speech.who, kind, from_ms, to_ms, heard, unheard, speech.withdrawn)


def _steps(reading: Reading, turn: UserTurn, told: s.ServerLatencyEvent | None) -> list[Step]:
    """Return each stage's first moment over all response parts: voice end to playback."""
    first = Step("typed" if turn.typed else "voice end", turn.to_ms)
    if told is not None:
        reached_ms = accumulate(told.stages_ms.values(), initial=turn.to_ms)
        next(reached_ms)
        return [first, *(Step(name.replace("_", " "), ms) for name, ms in zip(told.stages_ms, reached_ms, strict=True))]
    answers = [one for one in reading.responses if one.turn == turn.number and one.created_seq > turn.ended_seq]
    answers = [one for one in answers if not one.out_of_band]
    ids = {one.id for one in answers}
    tools = [one for one in reading.tool_calls if one.response_id in ids]
    sent = [one.first_audio_ms for one in answers if one.first_audio_ms is not None]
    heard = [one.first_heard_ms for one in answers if one.first_heard_ms is not None]
    answered = [one.answered_ms for one in tools if one.answered_ms is not None]
    written = {one.response_id for one in reading.speeches if one.written}
    tokens = [one.first_token_ms for one in answers if one.first_token_ms is not None and one.id in written]
    first_ms = min(sent, default=float("inf"))
    moments = {
        "turn end": [] if turn.typed or turn.ended_ms is None else [turn.ended_ms],
        "transcript": [] if turn.typed or turn.transcript_ms is None else [turn.transcript_ms],
        "response": [one.created_ms for one in answers],
        "tool call": [one.asked_ms for one in tools if one.asked_ms <= first_ms],
        "tool result": [max(answered)] if answered and max(answered) <= first_ms else [],
        "first token": tokens,
        "first audio": sent,
        "played": heard,
    }
    steps = [Step(name, min(times)) for name, times in moments.items() if times and min(times) >= turn.to_ms]
    steps.sort(key=lambda step: step.at_ms)
    return [first, *steps]


def _floor(record: CallRecord) -> list[Span]:
    spans: list[Span] = []
    names: dict[str, str] = {}
    for entry in record.entries:
        if isinstance(entry, s.ServerRoomJoinedEvent):
            names[entry.participant_id] = entry.name
        elif isinstance(entry, s.ServerRoomFloorEvent):
            if spans:
                spans[-1].to_ms = entry.ts_ms
            who = names.get(entry.participant_id or "", entry.participant_id or "")
            spans.append(Span(who, entry.ts_ms, record.duration_ms, entry.reason))
    return spans


def _plans(record: CallRecord) -> list[Plan]:
    plans: dict[str, Plan] = {}
    for entry in record.entries:
        if isinstance(entry, s.ServerCustomEvent) and entry.name == PLAN_UPDATED and entry.value.get("plan"):
            with suppress(BadOption):  # a program's own event may be called so
                plan = Plan.model_validate(entry.value["plan"])
                plans[plan.id] = plan
    return [*plans.values()]


def _moments(story: Story, record: CallRecord) -> Iterator[Moment]:
    for mark in record.marks:
        yield Moment(mark.ts_ms, mark.who, mark.what, mark.text)
    if not any(mark.what == "flushed" for mark in record.marks):
        for flush in story.reading.flushes:
            yield Moment(flush.flush_ms, flush.who, "flushed", flush.reason)
    for event in record.entries:
        match event:
            case s.ServerRoomJoinedEvent():
                yield Moment(event.ts_ms, event.name, "joined")
            case s.ServerRoomLeftEvent():
                yield Moment(event.ts_ms, event.name, "left", event.reason)
            case s.AgentErrorEvent():
                yield Moment(event.ts_ms, event.agent_name, "error", f"{event.code}: {event.message}")
            case s.AgentInputTranscriptionFailedEvent():
                yield Moment(event.ts_ms, event.agent_name, "error", f"not transcribed: {event.message}")
            case s.AgentInterruptionEvent() if event.state != "possible":
                what = "stopped" if event.state == "confirmed" else "went on"
                yield Moment(event.ts_ms, event.agent_name, what, event.reason)
            case s.AgentReconnectingEvent():
                yield Moment(event.ts_ms, event.agent_name, "link lost", event.reason)
            case s.ServerCustomEvent(name=name, value={"edited": {"by": str(by), "edit": {"type": str(kind)}}}) if (
                name == PLAN_UPDATED
            ):
                yield Moment(event.ts_ms, by or "user", "changed the plan", kind.replace("_", " "))
            case s.ServerCustomEvent(name=name, value=value) if name == AGENT_CHANGED:
                yield Moment(event.ts_ms, str(value.get("to", "")), "took over", f"from {value.get('from', '')}")
            case s.ServerCustomEvent() if (deed := deed_of(event)) is not None:
                yield Moment(event.ts_ms, "", deed.what, deed.words)
            case s.AgentReconnectedEvent():
                yield Moment(event.ts_ms, event.agent_name, "link back", f"after {event.gap_ms} ms")
            case s.ServerSessionEndedEvent():
                yield Moment(event.ts_ms, "", "ended", event.reason)
