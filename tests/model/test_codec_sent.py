"""What each codec sends for the same messages, to the letter: `sent.jsonl` has a row for each message.

The official SDKs send the same, or know every field: `test_openai_sent.py`, `test_dashscope_sent.py` and
`test_gemini_codec.py`, which also have what only one of the providers can do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from realtime.event import Item, ModelEvents, ResponseOverrides, TurnDetection
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family.codec import FamilyCodec
from tests.model.frames import (
    CALL,
    HELLO,
    KEY,
    PHOTO,
    RULES,
    SPOKEN,
    Json,
    dashscope,
    gemini,
    one,
    openai,
    say,
)

TURN = TurnDetection(type="server_vad", threshold=0.6, silence_duration_ms=300, prefix_padding_ms=200)
TOOL = ToolDeclaration(
    name="f", description="d", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
SOUND = Item(id="item_s", role="user", content=(ContentPart(type="audio", audio=b"\1\0\2\0"),))
ALL_OVERRIDES = ResponseOverrides(
    instructions="short",
    output_modalities=("text",),
    voice="cedar",
    tools=({"name": "f", "parameters": {"type": "object"}},),
    tool_choice="required",
    max_output_tokens=50,
    conversation="none",
    input=(HELLO,),
    metadata={"topic": "x"},
)
ALL_SETTINGS = Settings(
    instructions="be kind", turn_detection=TURN, tools=(TOOL,), max_output_tokens=99, temperature=0.5
)
MESSAGES: dict[str, ModelInput] = {
    "audio": AudioAppend(b"\1\0\2\0"),
    "commit": AudioCommit(),
    "clear": AudioClear(),
    "text": ItemCreate(HELLO),
    "text behind another": ItemCreate(HELLO, "root"),
    "sound": ItemCreate(SOUND),
    "picture": ItemCreate(PHOTO),
    "what the agent said": ItemCreate(SPOKEN),
    "system": ItemCreate(RULES),
    "nothing": ItemCreate(Item(id="x", role="user")),
    "call": ItemCreate(CALL),
    "result": ToolResult(ToolResultBlock(id="call_1", name="f", output="2")),
    "delete": ItemDelete("item_h"),
    "retrieve": ItemRetrieve("item_h"),
    "truncate": ItemTruncate("item_s", 1200, "Good", 0),
    "respond": ResponseCreate(),
    "respond in a voice": ResponseCreate(ResponseOverrides(voice="Tina")),
    "respond in writing": ResponseCreate(ResponseOverrides(instructions="short", output_modalities=("text",))),
    "respond with all overrides": ResponseCreate(ALL_OVERRIDES),
    "cancel": ResponseCancel(),
    "cancel by id": ResponseCancel("resp_1"),
    "settings": SessionUpdate(ALL_SETTINGS),
    "text only": SessionUpdate(Settings(output_modalities=("text",))),
}
CODECS: dict[str, Callable[[], Any]] = {
    "openai": lambda: openai(voice="alloy", transcription_model="gpt-realtime-whisper"),
    "dashscope": lambda: dashscope(voice="Cherry"),
    "gemini": gemini,
}
FAMILY: dict[str, Callable[..., FamilyCodec[Any]]] = {"openai": openai, "dashscope": dashscope}
each = pytest.mark.parametrize("provider", FAMILY)


def sent() -> dict[str, Json]:
    """The frames of each provider by message."""
    lines = (Path(__file__).parent / "sent.jsonl").read_text(encoding="utf-8").splitlines()
    return {row.pop("message"): row for row in map(json.loads, lines)}


def test_what_we_say() -> None:
    """Nothing is said where a provider has no words for it, or waits for what is said next."""
    said = {
        name: {provider: say(make(), message) for provider, make in CODECS.items()}
        for name, message in MESSAGES.items()
    }
    expected = sent()
    assert {name: frames for name, frames in said.items() if frames != expected[name]} == {}
    assert said.keys() == expected.keys()


DETECTION: list[tuple[TurnDetection | str | None, Json | None, Json | None]] = [
    (None, {"type": "server_vad"}, {"type": "server_vad", "threshold": 0.5}),
    ("none", None, None),
    ("semantic_vad", {"type": "semantic_vad"}, {"type": "semantic_vad", "threshold": 0.5}),
    (TurnDetection(authority="server"), None, None),
    (TurnDetection(authority="client"), None, None),
    (TurnDetection(authority="provider"), {"type": "server_vad"}, {"type": "server_vad", "threshold": 0.5}),
    (
        TurnDetection(type="semantic_vad", eagerness="low", threshold=0.5, silence_duration_ms=400),
        {"type": "semantic_vad", "eagerness": "low"},
        {"type": "semantic_vad", "threshold": 0.5, "silence_duration_ms": 400},
    ),
    (
        TurnDetection(create_response=False, interrupt_response=False),
        {"type": "server_vad", "create_response": False, "interrupt_response": False},
        {"type": "server_vad", "threshold": 0.5, "create_response": False, "interrupt_response": False},
    ),
]
"""What is wanted; what OpenAI and what DashScope is told."""


def test_who_finds_the_end_of_a_turn() -> None:
    told = []
    for wanted, _, _ in DETECTION:
        update = SessionUpdate(Settings(turn_detection=wanted))
        (to_openai,), (to_dashscope,) = say(openai(), update), say(dashscope(), update)
        to_openai = to_openai["session"]["audio"]["input"]
        told.append((wanted, to_openai["turn_detection"], to_dashscope["session"]["turn_detection"]))
    assert told == DETECTION


@pytest.mark.parametrize(
    ("provider", "headers"),
    [
        ("openai", (("Authorization", f"Bearer {KEY}"),)),
        ("dashscope", (("Authorization", f"Bearer {KEY}"),)),
        ("gemini", (("x-goog-api-key", KEY),)),
    ],
)
def test_the_key_is_in_a_header_and_in_no_frame_or_repr(provider: str, headers: tuple[tuple[str, str], ...]) -> None:
    """Nor is there a header of a beta."""
    codec = CODECS[provider]()
    address = codec.address(Settings())
    assert address.headers == headers
    assert KEY not in repr(address) + str(codec.opening(Settings(), ()))


@each
def test_a_deletion_of_our_own_is_told_as_one(provider: str) -> None:
    codec = FAMILY[provider]()
    assert one(codec, "conversation.item.deleted", item_id="i") == [ModelEvents.ModelItemDeletedEvent(item_id="i")]
