"""A call as text: one line per event, with its time, participant and content.

Failing checks show the seconds around the place, and mark it with `>`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from realtime.event import server as s
from realtime.state.restore import AGENT_CHANGED
from realtime.testing.check.deeds import deed_of
from realtime.testing.check.failing import counted
from realtime.testing.check.reading import Reading
from realtime.testing.check.turns import UserTurn
from realtime.testing.check.words import shortened

WIDTH = 110
"""Maximum width of a line, in columns of a terminal."""
AROUND_MS = 3_000.0
"""Ms shown before and after a place."""
MAX_LINES = 60
"""Beyond this number of lines, those farthest from the place are dropped."""
_MS_PER_BLOCK = 200
_MAX_BLOCKS = 25
_MARKS = {
    "dropped": "lost the socket",
    "returned": "came back",
    "flushed": "the page fell silent",
    "left": "left",
}


@dataclass(frozen=True, slots=True)
class Line:
    """An event at `ms` of the call."""

    ms: float
    who: str
    what: str

    def text(self, *, marked: bool = False) -> str:
        """Format `>  12.340 s  Friday      first sound`, at most `WIDTH` columns."""
        head = f"{'>' if marked else ' '} {self.ms / 1000:8.3f} s  {_fitted(self.who or 'call', 12)}  "
        return head + _clipped(self.what, WIDTH - _columns(head))


class Timeline:
    """All lines of a call in order of time. Never raises for an inconsistent log: it shows what there is."""

    def __init__(self, reading: Reading) -> None:
        self._end_ms = float(reading.record.duration_ms)
        self.lines: tuple[Line, ...] = tuple(sorted(_lines(reading), key=lambda line: line.ms))

    def __str__(self) -> str:
        """Return the whole call."""
        return "\n".join(line.text() for line in self.lines)

    def around(self, *places_ms: float, around_ms: float = AROUND_MS) -> str:
        """Return the lines around the places, each place marked.

        They reach from `around_ms` before the first place to `around_ms` after the last. Without a place: the whole
        call, shortened.
        """
        if not self.lines:
            return "  (nothing happened)"
        first = min(places_ms, default=0.0) - around_ms
        last = max(places_ms, default=self._end_ms) + around_ms
        chosen = [n for n, line in enumerate(self.lines) if not places_ms or first <= line.ms <= last]
        marked = {self._nearest(place_ms) for place_ms in places_ms}
        chosen = sorted({*chosen, *marked})
        near = marked or {len(self.lines) - 1}
        if len(chosen) > MAX_LINES:
            by_distance = sorted(chosen, key=lambda index: (min(abs(index - one) for one in near), index))
            chosen = sorted(by_distance[:MAX_LINES])
        return "\n".join(self._shown(chosen, marked))

    def _shown(self, chosen: Sequence[int], marked: set[int]) -> Iterator[str]:
        if chosen[0] > 0:
            yield f"  ... {counted(chosen[0], 'line')} before"
        for before, index in zip([chosen[0] - 1, *chosen], chosen, strict=False):
            if index > before + 1:
                yield f"  ... {counted(index - before - 1, 'line')}"
            yield self.lines[index].text(marked=index in marked)
        if chosen[-1] < len(self.lines) - 1:
            yield f"  ... {counted(len(self.lines) - 1 - chosen[-1], 'line')} after"

    def _nearest(self, place_ms: float) -> int:
        """Return the line at the place; with several at one time, the first."""
        return min(range(len(self.lines)), key=lambda index: (abs(self.lines[index].ms - place_ms), index))


def bar(ms: float) -> str:
    """Return a bar for a duration: a block per 200 ms, and the time."""
    blocks = min(_MAX_BLOCKS, max(1, round(ms / _MS_PER_BLOCK)))
    return f"{'█' * blocks} {ms / 1000:.2f} s"


def _lines(reading: Reading) -> Iterator[Line]:
    for turn in reading.turns:
        yield from _turn_lines(turn)
    for spoken in reading.record.spoken:
        how = "interrupts" if spoken.barge_in else "speaks"
        words = f': "{shortened(spoken.text, 50)}"' if spoken.text else ""
        yield Line(spoken.from_ms, spoken.who, f"(script) {how}, {bar(spoken.to_ms - spoken.from_ms)}{words}")
    for mark in reading.record.marks:
        what = f'types: "{shortened(mark.text)}"' if mark.what == "typed" else _MARKS[mark.what]
        yield Line(mark.ts_ms, mark.who, what)
    for response in reading.responses:
        beside = " beside the conversation" if response.out_of_band else ""
        yield Line(response.created_ms, response.who, f"answer begins{beside} [{response.id}]")
        if response.done_ms is not None:
            tokens = response.input_tokens + response.output_tokens
            cost = f", {counted(tokens, 'token')}" if tokens else ""
            yield Line(response.done_ms, response.who, f"answer {response.status}{cost} [{response.id}]")
    for call in reading.tool_calls:
        yield Line(call.asked_ms, call.who, f"calls {call.name}({shortened(call.input, 60)})")
        if call.answered_ms is not None:
            yield Line(call.answered_ms, call.who, f"{call.name} {call.state}: {shortened(call.output)}")
    yield from _speech_lines(reading)
    for barge_in in reading.flushes:
        number = f": interruption {barge_in.number}" if barge_in.number else ""
        yield Line(barge_in.flush_ms, "", f"flush ({shortened(barge_in.reason)}){number}")
        if barge_in.silent_ms is not None:
            what = f"silence at the ear, {barge_in.silent_ms - barge_in.began_ms:.0f} ms after the interruption began"
            yield Line(barge_in.silent_ms, barge_in.who, what)
    yield from _other_lines(reading)


def _turn_lines(turn: UserTurn) -> Iterator[Line]:
    if turn.typed:
        yield Line(turn.from_ms, turn.who, f'typed: "{shortened(turn.transcript)}"')
        return
    yield Line(turn.from_ms, turn.who, f"voice begins, turn {turn.number}")
    if turn.ended_ms is not None:
        yield Line(turn.to_ms, turn.who, f"voice ends    {bar(turn.to_ms - turn.from_ms)}")
        yield Line(turn.ended_ms, turn.who, f"end of turn {turn.number}, {turn.ended_ms - turn.to_ms:.0f} ms later")
    if turn.transcript_ms is not None:
        yield Line(turn.transcript_ms, turn.who, f'understood: "{shortened(turn.transcript)}"')


def _speech_lines(reading: Reading) -> Iterator[Line]:
    for speech in reading.speeches:
        words = f'"{shortened(speech.words.text)}"'
        response = reading.log.response_of(speech)
        if speech.written:
            ms = response.done_ms if response is not None else None
            if ms is not None:
                yield Line(ms, speech.who, f"writes: {words}")
            continue
        if speech.first_audio_ms is not None:
            sound = bar(speech.words.audio_ms)
            yield Line(speech.first_audio_ms, speech.who, f"first sound leaves  {sound}  {words}")
        if speech.played:
            first = min(one.from_ms for one in speech.played)
            last = max(one.from_ms + one.ms for one in speech.played)
            yield Line(first, speech.who, "first sound at the ear")
            yield Line(last, speech.who, f"last sound at the ear  {bar(speech.heard_ms)}")


def _other_lines(reading: Reading) -> Iterator[Line]:
    for entry in reading.record.entries:
        match entry:
            case s.AgentItemTruncatedEvent():
                kept = shortened(entry.transcript) if entry.transcript is not None else "?"
                yield Line(entry.ts_ms, entry.agent_name, f'cut at {entry.audio_end_ms} ms, heard: "{kept}"')
            case s.AgentItemDeletedEvent():
                yield Line(entry.ts_ms, entry.agent_name, f"withdrawn, nothing of it counts [{entry.item_id}]")
            case s.AgentReadyEvent():
                yield Line(entry.ts_ms, entry.agent_name, "ready")
            case s.ServerCustomEvent(name=name, value=value) if name == AGENT_CHANGED:
                yield Line(entry.ts_ms, str(value.get("to", "")), f"takes over from {value.get('from', '')}")
            case s.ServerCustomEvent() if (deed := deed_of(entry)) is not None:
                yield Line(entry.ts_ms, "", f"{deed.what}: {deed.words}")
            case s.AgentEndedEvent():
                yield Line(entry.ts_ms, entry.agent_name, f"gone: {shortened(entry.reason)}")
            case s.AgentErrorEvent():
                yield Line(entry.ts_ms, entry.agent_name, f"error {entry.code}: {shortened(entry.message)}")
            case s.AgentReconnectingEvent():
                yield Line(entry.ts_ms, entry.agent_name, f"model lost, try {entry.attempt}")
            case s.AgentReconnectedEvent():
                yield Line(entry.ts_ms, entry.agent_name, f"model back after {entry.gap_ms} ms")
            case s.ServerSessionEndedEvent():
                yield Line(entry.ts_ms, "", f"call over: {shortened(entry.reason)}")
            case s.ServerRoomJoinedEvent():
                yield Line(entry.ts_ms, entry.name, "enters the room")
            case s.ServerRoomLeftEvent():
                yield Line(entry.ts_ms, entry.name, f"leaves the room: {shortened(entry.reason)}")
            case s.ServerRoomFloorEvent():
                who = entry.participant_id or "any participant"
                yield Line(entry.ts_ms, "", f"floor: {who} ({shortened(entry.reason)})")


def _columns(text: str) -> int:
    """Return the width in a terminal: Han and similar characters take two columns."""
    return sum(_columns_of(char) for char in text)


def _columns_of(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _clipped(text: str, columns: int) -> str:
    """Cut the text to this width; `...` replaces its end."""
    if _columns(text) <= columns:
        return text
    width, kept = 3, ""
    for char in text:
        width += _columns_of(char)
        if width > columns:
            break
        kept += char
    return f"{kept}..."


def _fitted(text: str, columns: int) -> str:
    text = _clipped(shortened(text, 2 * columns), columns)
    return text + " " * (columns - _columns(text))
