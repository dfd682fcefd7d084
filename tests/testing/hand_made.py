"""Calls made by hand for the checks: what happens when, in any order, and calls that make no sense."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.state.log import Entry, Log
from realtime.testing.check.run import CheckFailed, Run
from realtime.testing.record import CallRecord, Mark, Played, Spoken

OUT_HZ = 24_000
FORMAT = AudioFormat.pcm16(OUT_HZ)
NOTICED_MS = 80
"""After so much voice the detector reports it."""
SILENCE_MS = 500
"""After so much silence the turn is over."""


class Hand:
    """A call made by hand: what happens when, in any order. The user is Ann, the agent Friday."""

    def __init__(self) -> None:
        self.events: list[tuple[float, s.ServerEvent]] = []
        self.items: list[Item] = []
        self.spoken: list[Spoken] = []
        self.played: list[Played] = []
        self.marks: list[Mark] = []
        self.late_samples = 0

    def put(self, ms: float, *events: s.ServerEvent) -> None:
        self.events += [(ms, event) for event in events]

    def speaks(
        self,
        from_ms: int,
        to_ms: int,
        text: str,
        *,
        item: str,
        heard: str | None = None,
        who: str = "Ann",
        flush: str = "",
    ) -> None:
        """Ann speaks, and is understood to say `heard`. The flush comes right before the report of her voice."""
        me: dict[str, Any] = {"agent_name": "Friday"}
        if flush:
            self.put(from_ms + NOTICED_MS, s.ServerAudioFlushEvent(reason=flush))
        self.put(from_ms + NOTICED_MS, s.AgentInputStartedEvent(item_id=item, audio_start_ms=from_ms, **me))
        self.put(to_ms + SILENCE_MS, s.AgentInputDoneEvent(item_id=item, audio_end_ms=to_ms, **me))
        said = Item(id=item, role="user", name=who, content=(ContentPart(type="audio"),))
        self.put(
            to_ms + SILENCE_MS + 1, s.AgentItemAddedEvent(item=said), s.AgentInputCommittedEvent(item_id=item, **me)
        )
        words = text if heard is None else heard
        self.put(to_ms + SILENCE_MS + 100, s.AgentInputTranscriptionDoneEvent(item_id=item, transcript=words, **me))
        self.spoken.append(Spoken(who, from_ms, to_ms, text, barge_in=bool(flush)))

    def answers(
        self,
        ms: int,
        text: str,
        *,
        response: str,
        length_ms: int = 2_000,
        heard_ms: int | None = None,
        heard_at_ms: int | None = None,
        who: str = "Friday",
        tokens: tuple[int, int] = (0, 0),
        status: Any = "completed",
    ) -> None:
        """The agent's answer begins at `ms`, its sound leaves 100 ms later and is heard after 50 more."""
        me: dict[str, Any] = {"agent_name": who}
        item = f"item_{response}"
        where: dict[str, Any] = {"response_id": response, "item_id": item, **me}
        self.put(ms, s.AgentResponseCreatedEvent(response_id=response, **me))
        words = text.split()
        part_ms = length_ms / len(words)
        for number, word in enumerate(words):
            delta = word if not number else f" {word}"
            sound = bytes(2 * int(OUT_HZ * part_ms / 1000))
            self.put(
                ms + 100,
                s.AgentResponseAudioTranscriptDeltaEvent(delta=delta, **where),
                s.AgentResponseAudioDeltaEvent(delta=sound, format=FORMAT, **where),
            )
        done_ms = ms + 100 + length_ms // 4
        self.put(done_ms, s.AgentResponseAudioDoneEvent(**where))
        self.put(
            done_ms,
            s.AgentResponseDoneEvent(
                response_id=response, input_tokens=tokens[0], output_tokens=tokens[1], status=status, **me
            ),
        )
        at_ms = ms + 150 if heard_at_ms is None else heard_at_ms
        self.played.append(Played("Ann", item, 0, at_ms, length_ms if heard_ms is None else heard_ms))

    def calls_tool(
        self,
        ms: int,
        name: str,
        arguments: str,
        *,
        call: str,
        response: str,
        result: str | None = "found",
        state: Any = "success",
    ) -> None:
        me: dict[str, Any] = {"response_id": response, "agent_name": "Friday"}
        block = ToolCallBlock(id=call, name=name, input=arguments)
        self.put(ms, s.AgentResponseCreatedEvent(**me))
        self.put(ms + 10, s.AgentResponseToolUseDoneEvent(item_id=f"item_{call}", tool_use=block, **me))
        self.put(ms + 20, s.AgentResponseDoneEvent(**me))
        if result is not None:
            answer = ToolResultBlock(id=call, name=name, output=result, state=state)
            self.put(ms + 120, s.AgentResponseToolResultEvent(tool_result=answer, **me))

    def cut(self, ms: float, response: str, heard: str, heard_ms: int) -> None:
        self.put(
            ms,
            s.AgentItemTruncatedEvent(
                item_id=f"item_{response}", audio_end_ms=heard_ms, transcript=heard, agent_name="Friday"
            ),
        )

    def record(self, **changes: Any) -> CallRecord:
        now_ms = 0.0
        log = Log(lambda: now_ms / 1000, max_entries=1_000_000)
        for ms, event in sorted(self.events, key=lambda one: one[0]):
            now_ms = ms + 0.5
            log.append(event)
        fields: dict[str, Any] = {
            "items": tuple(self.items),
            "spoken": tuple(self.spoken),
            "played": tuple(self.played),
            "marks": tuple(self.marks),
            "late_samples": self.late_samples,
        }
        return CallRecord(name="by hand", entries=tuple(log.read()), **(fields | changes))

    def run(self, **changes: Any) -> Run:
        return Run(self.record(**changes))


def support_call() -> Hand:
    """Ann asks, a tool is called, Friday answers and is interrupted, Ann asks again and gets an answer."""
    call = Hand()
    call.speaks(1_000, 3_000, "Where is my order?", item="u1")
    call.calls_tool(3_600, "lookup_order", '{"id": "A-17", "deep": true}', call="c1", response="r1")
    call.answers(
        3_800, "Your order number A-17 left our house on Monday", response="r2", length_ms=9_000, heard_ms=3_130
    )
    call.speaks(7_000, 8_000, "Stop, cancel it!", item="u2", flush="speech_started")
    call.cut(7_081, "r2", "Your order number", 3_130)
    call.calls_tool(8_600, "cancel_order", '{"id": "A-17"}', call="c2", response="r3")
    call.answers(8_800, "It is cancelled", response="r4", length_ms=1_500, tokens=(40, 20))
    call.put(10_600, s.ServerSessionEndedEvent(session_id="s"))
    return call


def failure(check: Callable[[], object]) -> CheckFailed:
    """How the check fails."""
    with pytest.raises(CheckFailed) as caught:
        check()
    return caught.value


NAMES = st.sampled_from(["a", "b", "c"])
POSITIONS = st.integers(0, 5_000)
TEXTS = st.sampled_from(["", "one", " two", "three four", "…", "好"])


def any_event() -> st.SearchStrategy[s.ServerEvent]:
    where = {"response_id": NAMES, "item_id": NAMES}
    use = st.builds(ToolCallBlock, id=NAMES, name=NAMES, input=st.sampled_from(["{}", "{", '{"x": 1}', "[]"]))
    result = st.builds(ToolResultBlock, id=NAMES, name=NAMES, output=TEXTS)
    item = st.builds(
        Item,
        id=NAMES,
        role=st.sampled_from([None, "user", "assistant"]),
        content=st.lists(st.builds(ContentPart, type=st.just("text"), text=TEXTS), max_size=1).map(tuple),
    )
    status = st.sampled_from(["completed", "cancelled", "failed"])
    return st.one_of(
        st.builds(s.AgentInputStartedEvent, item_id=NAMES, audio_start_ms=POSITIONS),
        st.builds(s.AgentInputDoneEvent, item_id=NAMES, audio_end_ms=POSITIONS),
        st.builds(s.AgentInputCommittedEvent, item_id=NAMES),
        st.builds(s.AgentInputTranscriptionDoneEvent, item_id=NAMES, transcript=TEXTS),
        st.builds(s.AgentItemAddedEvent, item=item),
        st.builds(s.AgentItemDeletedEvent, item_id=NAMES),
        st.builds(s.AgentItemTruncatedEvent, item_id=NAMES, audio_end_ms=POSITIONS, transcript=st.none() | TEXTS),
        st.builds(s.AgentResponseCreatedEvent, response_id=NAMES),
        st.builds(s.AgentResponseDoneEvent, response_id=NAMES, status=status),
        st.builds(s.AgentResponseAudioTranscriptDeltaEvent, delta=TEXTS, **where),
        st.builds(s.AgentResponseAudioTranscriptDoneEvent, transcript=TEXTS, **where),
        st.builds(s.AgentResponseTextDoneEvent, text=TEXTS, **where),
        st.builds(s.AgentResponseAudioDeltaEvent, delta=st.binary(max_size=9), format=st.just(FORMAT), **where),
        st.builds(s.AgentResponseAudioDoneEvent, **where),
        st.builds(s.AgentResponseToolUseDoneEvent, tool_use=use, **where),
        st.builds(s.AgentResponseToolResultEvent, tool_result=result),
        st.builds(s.ServerAudioFlushEvent, reason=st.sampled_from(["speech_started", "hasty_turn", "text"])),
        st.builds(s.ServerPlaybackEvent, item_id=NAMES, played_ms=POSITIONS),
        st.builds(s.AgentErrorEvent, error_type=TEXTS, code=TEXTS, message=TEXTS),
        st.builds(s.ServerSessionEndedEvent, session_id=NAMES),
    )


def any_record() -> st.SearchStrategy[CallRecord]:
    """A record that need make no sense."""

    def made(
        events: list[tuple[int, s.ServerEvent]], spoken: list[Spoken], played: list[Played], rebuilt: bool
    ) -> CallRecord:
        call = Hand()
        call.events = list(events)
        entries: tuple[Entry, ...] = call.record().entries
        if rebuilt:
            entries = tuple(event for _, event in events)
        return CallRecord("any", entries, (), spoken=tuple(spoken), played=tuple(played))

    spoken = st.builds(Spoken, who=NAMES, from_ms=POSITIONS, to_ms=POSITIONS, text=st.none() | TEXTS)
    played = st.builds(Played, who=NAMES, item_id=NAMES, offset_ms=POSITIONS, from_ms=POSITIONS, ms=st.integers(1, 500))
    return st.builds(
        made,
        st.lists(st.tuples(POSITIONS, any_event()), max_size=30),
        st.lists(spoken, max_size=2),
        st.lists(played, max_size=4),
        st.booleans(),
    )
