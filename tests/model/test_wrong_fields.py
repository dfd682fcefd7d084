"""A field of a wrong type in a provider's frame costs that field: what the frame is needed for arrives all the same."""

from __future__ import annotations

import copy
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from realtime.event import ModelEvent, ModelEvents
from realtime.model.base import Codec, Settings
from realtime.model.gemini.model import GeminiCodec, profile_of
from tests.model.frames import (
    FIXTURES,
    GEMINI_MODEL,
    KEY,
    PLACE,
    RECORDINGS,
    Json,
    content,
    dashscope,
    fixture_rows,
    gemini,
    openai,
    received,
    recorded,
    types,
)

Path_ = tuple[str | int, ...]

OPENAI_NEEDED = frozenset(
    {
        *("type", "response_id", "item_id", "call_id", "delta", "text", "transcript", "arguments", "name"),
        *("audio_start_ms", "audio_end_ms", "response", "response.id", "response.status"),
        *("item", "item.id", "item.type", "item.role", "item.status", "item.name", "item.call_id", "item.arguments"),
        *("item.output", "item.content", "item.content.type", "item.content.text", "item.content.transcript"),
        # What kind of error it is: some are none for anybody.
        *("error", "error.type", "error.code", "error.message"),
        *("response.status_details", "response.status_details.error"),
        *("response.status_details.error.type", "response.status_details.error.code"),
    }
)
"""What a frame of OpenAI or DashScope is needed for, by path. All else is optional."""
GEMINI_NEEDED = frozenset(
    {
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "voiceActivity", "error"),
        "voiceActivityDetectionSignal",
        *("serverContent.modelTurn", "serverContent.modelTurn.parts", "serverContent.modelTurn.parts.text"),
        *("serverContent.modelTurn.parts.thought", "serverContent.modelTurn.parts.inlineData"),
        *("serverContent.modelTurn.parts.inlineData.data", "serverContent.modelTurn.parts.inlineData.mimeType"),
        *("serverContent.inputTranscription", "serverContent.inputTranscription.text"),
        *("serverContent.inputTranscription.finished", "serverContent.interimInputTranscription"),
        *("serverContent.interimInputTranscription.text", "serverContent.outputTranscription"),
        *("serverContent.outputTranscription.text", "serverContent.generationComplete", "serverContent.turnComplete"),
        *("serverContent.turnCompleteReason", "serverContent.interrupted", "serverContent.interactionStatus"),
        *("toolCall.functionCalls", "toolCall.functionCalls.id", "toolCall.functionCalls.name"),
        *("toolCall.functionCalls.args", "toolCall.functionCalls.partialArgs", "toolCall.functionCalls.willContinue"),
        *("toolCallCancellation.ids", "voiceActivity.voiceActivityType"),
        *("voiceActivityDetectionSignal.vadSignalType", "error.status"),
    }
)


def gemini_codec() -> Codec:
    """Its ids count by their kind: one more of a session moves none of an item."""
    counts: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)
    codec = GeminiCodec(
        profile_of(GEMINI_MODEL),
        url="wss://x/ws",
        api_key=KEY,
        new_id=lambda prefix: f"{prefix}_{next(counts[prefix])}",
    )
    codec.opening(Settings(), ())
    return codec


PROVIDERS: dict[str, tuple[Callable[[], Codec], frozenset[str]]] = {
    "openai": (openai, OPENAI_NEEDED),
    "dashscope": (dashscope, OPENAI_NEEDED),
    "gemini": (gemini_codec, GEMINI_NEEDED),
}
OURS = [(provider, path.stem) for provider in PROVIDERS for path in sorted((FIXTURES / provider).glob("*.jsonl"))]
THEIRS = [(provider, name) for provider in ("openai", "gemini") for name in RECORDINGS]


def optional_fields(value: Any, needed: frozenset[str], path: Path_ = ()) -> Iterator[Path_]:
    """Where in the frame something stands that its meaning does not hang on. Arguments of a tool are its own."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from optional_fields(one, needed, (*path, index))
    elif isinstance(value, dict):
        for key, one in value.items():
            dotted = ".".join(part for part in (*path, key) if isinstance(part, str))
            if dotted not in needed:
                yield (*path, key)
            if not dotted.endswith(".args"):
                yield from optional_fields(one, needed, (*path, key))


def of_another_type(value: Any) -> Any:
    match value:
        case bool() | None:
            return {"wrong": 1}
        case str():
            return 7
        case int() | float():
            return "wrong"
        case _:
            return "wrong"


def with_wrong(frame: Json, path: Path_) -> Json:
    changed = copy.deepcopy(frame)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = of_another_type(place[path[-1]])
    return changed


def meaning(event: ModelEvent) -> Json:
    """What everybody needs of the event; the rest may be missing."""
    said = {
        name: getattr(event, name)
        for name in ("response_id", "item_id", "delta", "transcript", "text", "tool_use")
        if hasattr(event, name)
    }
    if isinstance(event, ModelEvents.ModelItemAddedEvent | ModelEvents.ModelItemDoneEvent):
        item = event.item
        said |= {"item": (item.id, item.type, item.role, item.status, item.text, item.tool_call)}
    return {"type": event.type} | said


def told(make: Callable[[], Codec], frames: list[Json]) -> list[list[Json]]:
    codec = make()
    return [[meaning(event) for event in codec.decode(json.dumps(frame).encode())] for frame in frames]


def check_all(provider: str, frames: list[Json]) -> None:
    """In every frame each optional field is changed once: in one pass the first of each frame, then the second, ..."""
    make, needed = PROVIDERS[provider]
    whole = told(make, frames)
    assert any(whole)
    fields = [[*optional_fields(frame, needed)] for frame in frames]
    assert any(fields)
    for number in range(max(map(len, fields))):
        changed = [
            with_wrong(frame, paths[number]) if number < len(paths) else frame
            for frame, paths in zip(frames, fields, strict=True)
        ]
        for at, (got, expected) in enumerate(zip(told(make, changed), whole, strict=True)):
            assert got == expected, f"frame {at} with a wrong {fields[at][number : number + 1]}: {frames[at]}"


@pytest.mark.parametrize(("provider", "name"), OURS)
def test_a_wrong_optional_field_costs_no_event(provider: str, name: str) -> None:
    check_all(provider, received(fixture_rows(provider, name)))


@pytest.mark.parametrize(("provider", "name"), THEIRS)
def test_a_wrong_optional_field_in_a_recorded_frame_costs_no_event(
    recordings_dir: Path, provider: str, name: str
) -> None:
    check_all(provider, received(recorded(recordings_dir, provider, name)))


def test_speech_arrives_in_a_frame_whose_place_cannot_be_read() -> None:
    frame = {"type": "response.output_audio.delta"} | PLACE | {"output_index": "one", "delta": "AAAA"}
    assert types(openai().decode(json.dumps(frame))) == ["response_audio_delta"]


def test_an_error_without_readable_details_is_still_an_error() -> None:
    for codec in (openai(), dashscope()):
        for details in (5, {"code": 5, "message": ["no"]}):
            assert types(codec.decode(json.dumps({"type": "error", "error": details}))) == ["error"]


def test_an_unknown_key_beside_the_words_of_gemini_is_counted_and_the_words_arrive() -> None:
    codec = gemini()
    events = content(codec, outputTranscription={"text": "Hi."}, moodRing={"colour": "teal"})
    assert types(events) == ["response_created", "item_added", "response_audio_transcript_delta"]
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (1, 0)
    assert types(content(codec, waitingForInput=True, urlContextMetadata={})) == []
    assert (codec.reader.unknown_frames, codec.reader.broken_frames) == (1, 0)
