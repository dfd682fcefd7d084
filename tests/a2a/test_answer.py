"""What a remote agent says, from events in any order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from realtime.a2a.answer import Answer, Piece, Words, state_of
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
