"""What holds for the events of every call, in the order in which one page got them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

STREAMS = {
    "agent_response_audio_delta": "audio",
    "agent_response_audio_done": "audio",
    "agent_response_audio_transcript_delta": "transcript",
    "agent_response_audio_transcript_done": "transcript",
    "agent_response_text_delta": "text",
    "agent_response_text_done": "text",
}
"""The streams of an answer, by the events that feed and close them."""


def check_grammar(events: Sequence[dict[str, Any]]) -> None:
    """Asserts the order of a whole call: how it begins and ends, that whatever opens is closed, and that nothing is
    heard of what is over."""
    types = [event["type"] for event in events]
    assert types[:2] == ["server_session_created", "agent_ready"]
    assert types[-2:] == ["agent_ended", "server_session_ended"]
    _check_places(events)
    _check_responses(events)
    _check_items(events)
    _check_input(events)


def _check_places(events: Sequence[dict[str, Any]]) -> None:
    """Each event has a place of its own, but for those told to one listener alone; audio is not looked at."""
    placed = [event for event in events if "seq" in event]
    for before, event in pairwise(placed):
        assert event["ts_ms"] >= before["ts_ms"]
        assert event["seq"] > before["seq"], event


def _check_responses(events: Sequence[dict[str, Any]]) -> None:
    running: set[str] = set()
    begun: set[str] = set()
    open_streams: dict[str, set[tuple[str, str]]] = {}
    for event in events:
        kind, response_id = event["type"], str(event.get("response_id"))
        if kind == "agent_response_created":
            assert response_id not in begun, "a response begins once"
            begun.add(response_id)
            running.add(response_id)
            open_streams[response_id] = set()
        elif kind == "agent_response_done":
            assert response_id in running, "a response ends once, after it began"
            assert not open_streams.pop(response_id), "every stream is closed before its response ends"
            running.discard(response_id)
        elif kind in STREAMS:
            assert response_id in running, f"{kind} outside its response"
            stream = (STREAMS[kind], event["item_id"])
            if kind.endswith("_delta"):
                open_streams[response_id].add(stream)
            else:
                open_streams[response_id].discard(stream)
        elif kind.startswith("agent_response_tool_use"):
            assert response_id in running, f"{kind} outside its response"
    assert not running, "every response ends"


def _check_items(events: Sequence[dict[str, Any]]) -> None:
    known: set[str] = set()
    silent: set[str] = set()
    audible: set[str] = set()
    for event in events:
        kind = event["type"]
        item_id = str(event["item"]["id"] if "item" in event else event.get("item_id"))
        if kind == "agent_item_added":
            assert item_id not in known, "an item is added once"
            known.add(item_id)
        elif kind in ("agent_item_done", "agent_item_truncated", "agent_item_deleted"):
            assert item_id in known, f"{kind} of an item that is not there"
            if kind == "agent_item_deleted":
                known.discard(item_id)
        elif kind == "agent_response_audio_delta":
            assert item_id in known, "audio of an item that is not there"
            assert item_id not in silent, "audio of an item that was flushed"
            audible.add(item_id)
        elif kind == "server_audio_flush":
            silent |= audible


def _check_input(events: Sequence[dict[str, Any]]) -> None:
    speaking: str | None = None
    spoken: set[str] = set()
    for event in events:
        match event["type"]:
            case "agent_input_started":
                assert speaking is None, "a voice begins after the one before has ended"
                speaking = event["item_id"]
            case "agent_input_done":
                assert speaking == event["item_id"], "a voice ends that has begun"
                spoken.add(event["item_id"])
                speaking = None
            case "agent_input_committed" | "agent_input_transcription_done":
                assert event["item_id"] in spoken, f"{event['type']} of a turn that has not ended"
            case _:
                pass
