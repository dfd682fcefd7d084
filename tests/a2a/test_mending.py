"""What can be read of answers that break the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from a2a.compat.v0_3 import conversions, types
from a2a.types import Message
from google.protobuf.json_format import ParseDict

from realtime.a2a.http import MAX_EVENT_BYTES, mended_events
from realtime.a2a.mending import MAX_DEPTH, mended
from realtime.errors import ProviderError
from tests.a2a.test_bad_remotes import nested

Mended = tuple[Any, Any, list[str]]
"""What a remote agent sent, what is read of it, and a sentence for each thing that is not."""


STATUSES: dict[str, Mended] = {
    "a time without a zone": (
        {"state": "working", "timestamp": "2026-11-30T22:00:00.5"},
        {"state": "working", "timestamp": "2026-11-30T22:00:00.5Z"},
        [],
    ),
    "no time": (
        {"state": "working", "timestamp": "yesterday"},
        {"state": "working"},
        ["result.status.timestamp: it is no time of RFC 3339"],
    ),
    "an unknown state": (
        {"state": "dreaming"},
        {"state": "unknown"},
        ["result.status.state: the state 'dreaming' is not known"],
    ),
    "capitals": ({"state": "INPUT_REQUIRED"}, {"state": "input-required"}, []),
    "a number": ({"state": 3}, {"state": "completed"}, []),
    "the state alone": ("Cancelled", {"state": "canceled"}, []),
    "no state": ({"message": None}, {"state": "unknown"}, []),
    "no status": (7, {"state": "unknown"}, ["result.status: it is an object, not a number"]),
}


@pytest.mark.parametrize("case", STATUSES)
def test_a_status_is_read_as_far_as_it_can_be(case: str) -> None:
    given, expected, sentences = STATUSES[case]
    notes: list[str] = []
    answer = {"kind": "TASK", "id": 7, "contextId": "c", "status": given}
    found = mended({"result": answer}, notes.append, is_old=True)
    assert found == {"result": {"kind": "task", "id": "7", "contextId": "c", "status": expected}}
    assert notes == sentences
    new = mended({"result": {"task": {"status": given}}}, [].append, is_old=False)["result"]["task"].get("status", {})
    state = expected["state"].upper().replace("-", "_").replace("UNKNOWN", "UNSPECIFIED")
    assert new.get("state", "TASK_STATE_UNSPECIFIED") == f"TASK_STATE_{state}"


SAID: dict[str, Mended] = {
    "a part of an unknown kind": (
        {"parts": [{"kind": "x"}, {"text": "a"}]},
        {"parts": [{"text": "a"}]},
        ["parts[0]: a part holds one of text, raw, url, data; this one has none of them, only the kind 'x'"],
    ),
    "kinds in capitals": ({"role": "AGENT", "parts": [{"kind": "TEXT", "text": "a"}]}, {"parts": [{"text": "a"}]}, []),
    "a role that is none": (
        {"role": "system", "parts": [{"text": "a"}]},
        {"parts": [{"text": "a"}]},
        ["role: the role 'system' is not known; it is taken for the agent"],
    ),
    "numbers for texts": (
        {
            "messageId": 1,
            "contextId": 2,
            "parts": [{"text": 7}, {"url": "https://h.example/a.png", "mediaType": 7, "filename": 8}],
        },
        {"messageId": "1", "contextId": "2", "parts": [{"url": "https://h.example/a.png", "mediaType": "image/png"}]},
        [
            "parts[0].text: it is text, not a number",
            "parts[1].mediaType: it is text, not a number",
            "parts[1].filename: it is text, not a number",
        ],
    ),
    "what describes it in another form": (
        {
            "parts": [{"text": "a", "metadata": 7}],
            "metadata": [],
            "extensions": "x",
            "referenceTaskIds": [1, {}],
        },
        {"parts": [{"text": "a"}], "referenceTaskIds": ["1"]},
        [
            "parts[0].metadata: it is an object, not a number",
            "metadata: it is an object, not a list",
            "extensions: it is a list, not text",
            "referenceTaskIds[1]: it is text, not an object",
        ],
    ),
    "data that is too deep": (
        {"parts": [{"data": nested(MAX_DEPTH + 1)}, {"data": nested(MAX_DEPTH)}]},
        {"parts": [{"data": nested(MAX_DEPTH)}]},
        ["parts[0].data: it is nested too deeply"],
    ),
    "numbers that are none": (
        {"parts": [{"data": {"a": [1e999, 2]}}, {"data": float("nan")}], "metadata": {"b": 10**400}},
        {"parts": [{"data": {"a": [None, 2]}}, {"data": None}], "metadata": {"b": None}},
        [
            "parts[0].data.a[0]: it is no number that JSON has",
            "parts[1].data: it is no number that JSON has",
            "metadata.b: it is no number that JSON has",
        ],
    ),
    "parts that are no list": ({"parts": "a"}, {"parts": []}, ["parts: parts are a list, not text"]),
}


@pytest.mark.parametrize("case", SAID)
def test_a_message_is_read_as_far_as_it_can_be(case: str) -> None:
    given, expected, sentences = SAID[case]
    notes: list[str] = []
    found = mended({"message": {"messageId": "m", **given}}, notes.append, is_old=False)
    role = {"role": "ROLE_AGENT"} if "role" in given else {}
    assert found == {"message": {"messageId": "m", **role, **expected}}
    assert notes == [f"message.{one}" for one in sentences]
    old = mended({"result": {"messageId": "m", **given}}, notes.append, is_old=True)
    assert ParseDict(expected, Message()).parts == conversions.to_core_message(types.Message(**old["result"])).parts
    assert notes[len(sentences) :] == [f"result.{one}" for one in sentences]


ARTIFACT = {"artifactId": 7, "name": 8, "parts": [{"text": "a"}]}


def test_an_artifact_is_read_as_far_as_it_can_be() -> None:
    notes: list[str] = []
    given = {"task_id": "t", "append": "TRUE", "lastChunk": "no", "artifact": ARTIFACT}
    found = mended({"result": given}, notes.append, is_old=True)["result"]
    assert found == {
        "kind": "artifact-update",
        "taskId": "t",
        "contextId": "",
        "append": True,
        "artifact": {"artifactId": "7", "parts": [{"kind": "text", "text": "a"}]},
    }
    assert notes == [
        "result.lastChunk: it is true or false, not 'no'",
        "result.artifact.name: it is text, not a number",
    ]
    task = {"kind": "task", "id": "t", "artifacts": [ARTIFACT, 7], "history": {}}
    found = mended({"result": task}, notes.append, is_old=True)["result"]
    assert [one["artifactId"] for one in found["artifacts"]] == ["7"]
    assert notes[3:] == [
        "result.artifacts[1]: it is an object, not a number",
        "result.history: it is a list, not an object",
    ]


@pytest.mark.parametrize("given", [7, None, [], {"error": {"message": {"state": 7}}}, {"jsonrpc": "2.0"}])
def test_what_is_no_answer_stays_as_it_is(given: Any) -> None:
    assert mended(given, [].append, is_old=True) == given
    assert mended(given, [].append, is_old=False) == given


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
        mend = partial(mended, note=notes.append, is_old=False)
        assert b"".join([one async for one in mended_events(chunks(*pieces), mend)]) == expected
        assert notes == ["status.timestamp: it is no time of RFC 3339"]


async def test_half_a_letter_and_bytes_that_are_no_text_cost_a_letter() -> None:
    said = (
        b'{"message": {"contextId": "\\\\ud83d", "parts": [{"text": "\\ud83d\\ude00 \\ud83d\xff"}], "n": 1'
        + b"0" * 5_000
    )
    mend = partial(mended, note=[].append, is_old=False)
    (event,) = [one async for one in mended_events(chunks(b"data: ", said, b"0" * 5_000, b"}}\n\n"), mend)]
    message = json.loads(event.removeprefix(b"data: "))["message"]
    assert (message["contextId"], message["parts"]) == ("\\ud83d", [{"text": "\U0001f600 \ufffd\ufffd"}])


async def test_an_event_without_an_end_is_refused() -> None:
    endless = chunks(*[b"x" * 1_000_000] * (MAX_EVENT_BYTES // 1_000_000 + 1))
    with pytest.raises(ProviderError, match="its answer has more than"):
        assert [one async for one in mended_events(endless, None)] == []
