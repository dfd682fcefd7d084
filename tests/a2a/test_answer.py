"""What a remote agent says, from events in any order, and what is mended of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import permutations
from typing import Any

import pytest

from realtime.a2a.answer import Answer, Piece, Words, state_of
from realtime.a2a.http import MAX_EVENT_BYTES, mended_events
from realtime.a2a.mending import mended
from realtime.errors import ProviderError
from realtime.message import TextBlock, ThinkingBlock

Event = dict[str, Any]


def message(*texts: str) -> Event:
    return {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text} for text in texts]}


def status(state: str, *texts: str, task_id: str = "t") -> Event:
    said = {"message": message(*texts)} if texts else {}
    return {"statusUpdate": {"taskId": task_id, "contextId": "c", "status": {"state": f"TASK_STATE_{state}", **said}}}


def artifact(*texts: str, key: str = "a", append: bool = False, task_id: str = "t") -> Event:
    parts = [{"text": text} for text in texts]
    held = {"taskId": task_id, "contextId": "c", "artifact": {"artifactId": key, "parts": parts}, "append": append}
    return {"artifactUpdate": held}


def task(state: str, *artifacts: Event, history: list[Event] | None = None, said: str = "") -> Event:
    found: Event = {"state": f"TASK_STATE_{state}", **({"message": message(said)} if said else {})}
    held = [one["artifactUpdate"]["artifact"] for one in artifacts]
    return {"task": {"id": "t", "contextId": "c", "status": found, "artifacts": held, "history": history or []}}


def spoken(answer: Answer, *events: Event) -> list[str]:
    """The blocks of text that the events make, one after the other."""
    blocks: list[str] = []
    pieces: list[Piece] = [piece for event in events for piece in answer.take(event)]
    for piece in [*pieces, *answer.rest()]:
        if isinstance(piece, Words) and piece.goes_on:
            blocks[-1] += piece.text
        elif isinstance(piece, Words | TextBlock):
            blocks.append(piece.text)
    return blocks


CASES: dict[str, tuple[list[Event], list[str]]] = {
    "a message": ([{"message": message("Hello.", "There.")}], ["Hello.", "There."]),
    "a task in one piece": ([task("COMPLETED", artifact("Content"), said="Completed")], ["Completed", "Content"]),
    "pieces of an artifact": (
        [artifact("Room "), artifact("seven.", append=True), status("COMPLETED")],
        ["Room seven."],
    ),
    "an artifact that grows whole": (
        [artifact("Room"), artifact("Room seven"), artifact("Room seven."), status("COMPLETED")],
        ["Room seven."],
    ),
    "an artifact that is replaced": (
        [artifact("Room 7."), artifact("Suite 8."), status("COMPLETED")],
        ["Room 7.", "Suite 8."],
    ),
    "the same at the end": (
        [artifact("Room seven."), task("COMPLETED", artifact("Room seven."), said="Room seven.")],
        ["Room seven."],
    ),
    "tokens in one artifact": ([task("COMPLETED", artifact("Roo", "m", " seven."))], ["Room seven."]),
    "sentences in one artifact": ([task("COMPLETED", artifact("Hello.", "There."))], ["Hello.", "There."]),
    "progress is no answer": ([status("WORKING", "Looking."), status("COMPLETED", "Seven.")], ["Seven."]),
    "nothing but progress": ([status("WORKING", "Seven."), status("COMPLETED")], ["Seven."]),
    "only in the history": (
        [task("COMPLETED", history=[message("Old."), {**message("Ask."), "role": "ROLE_USER"}, message("Seven.")])],
        ["Seven."],
    ),
    "a question": ([status("INPUT_REQUIRED", "Which day?")], ["Which day?"]),
    "late events": ([status("COMPLETED", "Seven."), artifact("Eight."), status("FAILED")], ["Seven."]),
    "another task": (
        [artifact("Seven."), artifact("Eight.", task_id="x"), status("FAILED", task_id="x"), status("COMPLETED")],
        ["Seven."],
    ),
    "an event of no kind": (
        [{"surprise": {}}, {"statusUpdate": 7}, artifact("Seven."), status("COMPLETED")],
        ["Seven."],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_said_once(case: str) -> None:
    events, expected = CASES[case]
    answer = Answer()
    assert spoken(answer, *events) == expected
    assert answer.is_over
    assert (answer.context_id == "c") is (case != "a message")


def test_in_whatever_order_its_events_come_nothing_is_lost_before_the_end() -> None:
    events = [
        status("SUBMITTED"),
        status("WORKING"),
        artifact("One.", key="1"),
        artifact("Two.", key="2"),
        task("WORKING"),
    ]
    for order in permutations(events):
        answer = Answer()
        assert sorted(spoken(answer, *order, status("COMPLETED"))) == ["One.", "Two."]
        assert (answer.state, answer.task_id) == ("completed", "t")


def test_thinking_keeps_its_place_and_is_no_text() -> None:
    event = artifact("hm", "Seven.")
    event["artifactUpdate"]["artifact"]["parts"][0]["metadata"] = {"thought": True}
    thought, words = Answer().take(event)
    assert isinstance(thought, ThinkingBlock)
    assert words == Words("Seven.")


def test_a_failure_has_its_reason_and_is_not_said() -> None:
    answer = Answer()
    assert spoken(answer, status("FAILED", "No rooms.")) == []
    assert (answer.state, answer.reason) == ("failed", "No rooms.")


def test_an_event_tells_its_state() -> None:
    events: list[Event] = [task("WORKING"), status("INPUT_REQUIRED"), artifact("x"), {"message": {}}, {}]
    told = [state_of(one) for one in events]
    assert told == ["working", "input-required", "", "message", ""]


MENDED: dict[str, tuple[Event, Event, list[str]]] = {
    "a part of an unknown kind": (
        {
            "result": {
                "kind": "message",
                "messageId": "m",
                "role": "agent",
                "parts": [{"kind": "x"}, {"text": "a"}],
            }
        },
        {"result": {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"text": "a"}]}},
        ["result.parts[0]: a part holds one of text, raw, url, data; this one has none of them, only the kind 'x'"],
    ),
    "a time without a zone": (
        {"status": {"state": "working", "timestamp": "2026-11-30T22:00:00.5"}},
        {"status": {"state": "working", "timestamp": "2026-11-30T22:00:00.5Z"}},
        [],
    ),
    "no time": (
        {"status": {"state": "working", "timestamp": "yesterday"}},
        {"status": {"state": "working"}},
        ["status.timestamp: it is no time of RFC 3339"],
    ),
    "an unknown state": (
        {"status": {"state": "dreaming"}},
        {"status": {"state": "unknown"}},
        ["status.state: the state 'dreaming' is not known"],
    ),
    "no ids": (
        {"result": {"kind": "task", "id": "t", "status": {"state": "working"}, "artifacts": [{"parts": []}, 7]}},
        {
            "result": {
                "kind": "task",
                "id": "t",
                "contextId": "",
                "status": {"state": "working"},
                "artifacts": [{"parts": [], "artifactId": ""}],
            }
        },
        ["result.artifacts[1]: it is an object, not a number"],
    ),
    "nothing wrong": ({"result": {"message": message("a")}}, {"result": {"message": message("a")}}, []),
}


@pytest.mark.parametrize("case", MENDED)
def test_only_what_cannot_be_read_is_dropped(case: str) -> None:
    given, expected, sentences = MENDED[case]
    notes: list[str] = []
    assert mended(given, notes.append) == expected
    assert notes == sentences


async def chunks(*data: bytes) -> AsyncIterator[bytes]:
    for one in data:
        yield one


STREAM = b'event: message\r\ndata: {"status": {"timestamp": "no"}}\r\n\r\n: ping\r\n\r\n'
STREAM += b'data: not JSON\n\ndata: {"a":\ndata: 1}'


async def test_events_are_mended_however_they_are_cut() -> None:
    expected = b'event: message\ndata: {"status": {}}\n\n: ping\n\ndata: not JSON\n\ndata: {"a": 1}\n\n'
    for size in (1, 2, 7, len(STREAM)):
        pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
        notes: list[str] = []
        assert b"".join([one async for one in mended_events(chunks(*pieces), notes.append)]) == expected
        assert notes == ["status.timestamp: it is no time of RFC 3339"]


async def test_an_event_without_an_end_is_refused() -> None:
    endless = chunks(*[b"x" * 1_000_000] * (MAX_EVENT_BYTES // 1_000_000 + 1))
    with pytest.raises(ProviderError, match="its answer has more than"):
        assert [one async for one in mended_events(endless, lambda _: None)] == []
