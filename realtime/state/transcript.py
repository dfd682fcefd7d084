"""A call as lines to read, as plain text and as subtitles. Pure.

An agent's line has the words that were played, at the time when they were played. A user's line has its words at the
time of the voice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, Item
from realtime.message import ToolResultBlock
from realtime.state.log import AudioRun, Entry
from realtime.state.restore import ConversationReader

Kind = Literal["speech", "text", "tool"]

CUE_CHARS = 84
"""The longest subtitle: two lines of 42 characters."""
NOTICED_MS = 80
"""A detector hears this much of a voice before it reports one."""
READING_CHARS_PER_S = 15
SHOWN_MS = (1_000, 6_000)
"""How long written words are shown at least and at most."""
_BYTES_PER_MS = DEFAULT_OUTPUT_RATE_HZ * 2 / 1000


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said or done. Times are ms since the call began."""

    item_id: str
    who: str
    role: Literal["user", "assistant"]
    kind: Kind
    text: str
    """The words that were heard or written; of a tool, its name."""
    from_ms: int
    to_ms: int
    is_cut: bool = False
    """Whether it was interrupted: the words after these were not heard."""
    tool_input: str | None = None
    tool_output: str | None = None
    tool_state: str | None = None
    receipt: dict[str, Any] | None = None
    """Of a tool that the user was asked about: the value of its `consent_receipt`."""


def lines_of(entries: Iterable[Entry], *, user_name: str = "user", voice_from_ms: float | None = None) -> list[Line]:
    """Return the lines of a call in the order of the conversation.

    `voice_from_ms` is when the client's audio began, where a recording says so; else it is estimated.
    """
    reader, times = ConversationReader(), _Times(voice_from_ms)
    for entry in entries:
        reader.read(entry)
        times.take(entry)
    items = reader.finish(None).conversation.items()
    results = {item.tool_result.id: item.tool_result for item in items if item.tool_result is not None}
    lines: list[Line] = []
    for item in items:
        line = _line(item, times, results, user_name, lines[-1].to_ms if lines else 0)
        if line is not None:
            lines.append(line)
    return lines


def as_text(lines: Sequence[Line]) -> str:
    """Return the lines as plain text, by time."""
    if not lines:
        return "Nothing was said.\n"
    in_time = sorted(lines, key=lambda line: line.from_ms)
    return "".join(f"[{_clock(line.from_ms)}] {_read_out(line)}\n" for line in in_time)


def as_srt(lines: Sequence[Line]) -> str:
    """Return the lines as subtitles (SubRip), with the speaker's name.

    Tools are left out; without words, the result is empty.
    """
    cues = sorted(
        (cue for line in lines if line.kind != "tool" for cue in _cues(line)), key=lambda cue: (cue[0], cue[1])
    )
    return "\n".join(
        f"{number}\n{_srt_time(from_ms)} --> {_srt_time(to_ms)}\n{text}\n"
        for number, (from_ms, to_ms, text) in enumerate(cues, 1)
    )


class _Times:
    """When each item was spoken, heard or written."""

    def __init__(self, voice_from_ms: float | None) -> None:
        self.spoken: set[str] = set()
        """The items of agents that have sound."""
        self.names: dict[str, str] = {}
        self.added_ms: dict[str, int] = {}
        self.ended_ms: dict[str, int] = {}
        self.receipts: dict[str, dict[str, Any]] = {}
        """Of consents, by call."""
        self._voice_from_ms = voice_from_ms
        self._own_voice: str | None = None
        """Whose audio a recording holds: in a room the first who joins, else the first voice that is reported."""
        self._origins: dict[str, float] = {}
        """When each speaker's audio began, by the fastest report of a voice."""
        self._voices: dict[str, tuple[str, int | None, int | None]] = {}
        """By item: the speaker, and where the voice begins and ends in their audio."""
        self._played: dict[str, tuple[int, int]] = {}
        self._sent: dict[str, tuple[int, float]] = {}
        self._cuts: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Take the next entry of the log."""
        match entry:
            case AudioRun(item_id=item_id, ts_ms=ts_ms, n_bytes=n_bytes):
                self._sound(item_id, ts_ms, n_bytes / _BYTES_PER_MS)
            case s.AgentResponseAudioDeltaEvent(item_id=item_id, delta=delta):
                rate_hz = entry.format.rate or DEFAULT_OUTPUT_RATE_HZ
                self._sound(item_id, entry.ts_ms, len(delta) / (rate_hz * 2 / 1000))
            case s.ServerPlaybackEvent(item_id=item_id, ts_ms=ts_ms, played_ms=played_ms):
                from_ms, _ = self._played.get(item_id, (max(0, ts_ms - played_ms), 0))
                self._played[item_id] = from_ms, ts_ms
            case s.AgentItemTruncatedEvent(item_id=item_id):
                self._cuts[item_id] = entry.audio_end_ms
            case s.ServerRoomJoinedEvent() if self._own_voice is None:
                self._own_voice = entry.participant_id
            case s.AgentInputStartedEvent(item_id=item_id, audio_start_ms=position_ms):
                who, start_ms, _ = self._voices.get(item_id, (entry.agent_id, None, None))
                self._voices[item_id] = who, position_ms if start_ms is None else start_ms, None
                self._mark(entry.agent_id, entry.ts_ms, position_ms)
            case s.AgentInputDoneEvent(item_id=item_id, audio_end_ms=position_ms):
                who, start_ms, _ = self._voices.get(item_id, (entry.agent_id, None, None))
                self._voices[item_id] = who, start_ms, position_ms
                self._mark(entry.agent_id, entry.ts_ms, position_ms)
            case s.AgentInputCommittedEvent(item_id=item_id):
                self.ended_ms[item_id] = entry.ts_ms
            case s.AgentItemAddedEvent(item=item):
                self.added_ms.setdefault(item.id, entry.ts_ms)
                self.names[item.id] = entry.agent_name
            case s.AgentResponseToolUseDoneEvent(item_id=item_id):
                self.added_ms.setdefault(item_id, entry.ts_ms)
                self.names[item_id] = entry.agent_name
            case s.AgentResponseToolResultEvent(tool_result=result):
                self.ended_ms[result.id] = entry.ts_ms
            case s.ServerCustomEvent(name="consent_receipt", value=value):
                self.receipts[str(value.get("tool_call_id"))] = value
            case _:
                pass

    def _sound(self, item_id: str, ts_ms: int, ms: float) -> None:
        self.spoken.add(item_id)
        from_ms, known_ms = self._sent.get(item_id, (ts_ms, 0.0))
        self._sent[item_id] = from_ms, known_ms + ms

    def _mark(self, who: str, ts_ms: int, position_ms: int) -> None:
        if self._own_voice is None:
            self._own_voice = who
        self._origins[who] = min(ts_ms - position_ms, self._origins.get(who, float("inf")))

    def heard(self, item_id: str) -> tuple[int, int]:
        """Return when an agent's words were heard; without reports, when they were sent."""
        if (played := self._played.get(item_id)) is not None:
            return played
        from_ms, ms = self._sent[item_id]
        return from_ms, int(from_ms + min(ms, self._cuts.get(item_id, ms)))

    def voice(self, item_id: str) -> tuple[int | None, int | None]:
        """Return when a user's voice began and ended; None: unknown."""
        who, start_ms, end_ms = self._voices.get(item_id, ("", None, None))
        if who == self._own_voice and self._voice_from_ms is not None:
            origin_ms = self._voice_from_ms
        else:
            origin_ms = self._origins.get(who, 0.0) - NOTICED_MS
        return (
            None if start_ms is None else max(0, int(start_ms + origin_ms)),
            self.ended_ms.get(item_id) if end_ms is None else max(0, int(end_ms + origin_ms)),
        )


def _line(
    item: Item, times: _Times, results: dict[str, ToolResultBlock], user_name: str, before_ms: int
) -> Line | None:
    """Return the item's line, if it has one. `before_ms` ends the line before."""
    added_ms = times.added_ms.get(item.id, before_ms)
    if item.tool_call is not None:
        call = item.tool_call
        result = results.get(call.id)
        return Line(
            item_id=item.id,
            who=times.names.get(item.id) or "agent",
            role="assistant",
            kind="tool",
            text=call.name,
            from_ms=added_ms,
            to_ms=max(added_ms, times.ended_ms.get(call.id, added_ms)),
            tool_input=call.input,
            tool_output=None if result is None else result.output_text(),
            tool_state=None if result is None else result.state.value,
            receipt=times.receipts.get(call.id),
        )
    if item.type != "message" or item.role not in ("user", "assistant") or not item.text:
        return None
    kind: Kind = "speech"
    if item.role == "assistant":
        who = times.names.get(item.id) or item.name or "agent"
        kind = "speech" if item.id in times.spoken else "text"
        from_ms, to_ms = times.heard(item.id) if kind == "speech" else (added_ms, added_ms)
    else:
        who = item.name or user_name
        start_ms, end_ms = times.voice(item.id)
        if start_ms is None and end_ms is None:
            kind, from_ms, to_ms = "text", added_ms, added_ms
        else:
            # Push-to-talk: only the end of the turn is in the log.
            to_ms = end_ms if end_ms is not None else int(start_ms or 0)
            from_ms = start_ms if start_ms is not None else max(before_ms, to_ms - _reading_ms(item.text))
    if kind == "text":
        to_ms = from_ms + min(max(_reading_ms(item.text), SHOWN_MS[0]), SHOWN_MS[1])
    return Line(
        item_id=item.id,
        who=who,
        role=item.role,
        kind=kind,
        text=item.text,
        from_ms=from_ms,
        to_ms=max(from_ms, to_ms),
        is_cut=item.role == "assistant" and item.status == "incomplete",
    )


def _reading_ms(text: str) -> int:
    return len(text) * 1000 // READING_CHARS_PER_S


def _read_out(line: Line) -> str:
    words = " ".join(line.text.split())
    if line.kind == "tool":
        return f"{line.who} used {words}: {line.tool_state or 'no result'}{_asked(line.receipt)}"
    return f"{line.who}: {words}{' … (interrupted)' if line.is_cut else ''}"


def _asked(receipt: dict[str, Any] | None) -> str:
    """Return the question for consent to a tool, and its answer."""
    if receipt is None:
        return ""
    said = f" ({receipt['words']})" if receipt.get("words") else ""
    return f". Asked: {receipt.get('question')} Answer: {receipt.get('answer')}, by {receipt.get('answered_by')}{said}"


def _cues(line: Line) -> Iterable[tuple[int, int, str]]:
    """Cut a line into subtitles. Inside a line, time passes in proportion to its characters."""
    words = " ".join(line.text.split()).replace("-->", "→")
    # Of about one length: a single word as the last one would flash by.
    n_cues = -(-len(words) // CUE_CHARS)
    longest = CUE_CHARS if n_cues < 2 else min(CUE_CHARS, -(-len(words) // n_cues) + CUE_CHARS // 8)
    parts = [part.strip() for part in re.findall(rf".{{1,{longest}}}(?:\s|$)|.{{1,{longest}}}", words)]
    whole, duration_ms = max(1, sum(map(len, parts))), max(line.to_ms - line.from_ms, len(parts))
    at = 0
    for part in parts:
        from_ms = line.from_ms + duration_ms * at // whole
        at += len(part)
        yield from_ms, line.from_ms + duration_ms * at // whole, f"{line.who}: {part}"


def _clock(ms: int) -> str:
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _srt_time(ms: int) -> str:
    seconds, ms = divmod(ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02},{ms:03}"
