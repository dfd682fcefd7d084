"""The model seam: what is refused before sending, and what a model says of itself."""

from __future__ import annotations

import msgspec

from realtime.event import Item
from realtime.event.base import ContentPart, ResponseOverrides
from realtime.message import ToolResultBlock
from realtime.model.base import (
    Address,
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
    refusal,
)
from realtime.model.scripted import ScriptedModel

FULL = Profile(
    provider="toy",
    model="toy-1",
    input_rate_hz=16_000,
    output_rate_hz=24_000,
    input_modalities=frozenset({"text", "audio", "image"}),
)
TEXT = Item(id="t", role="user", content=(ContentPart(type="text", text="hello"),))
PHOTO = Item(id="p", role="user", content=(ContentPart(type="image", image=b"\xff"),))
SPOKEN = Item(id="s", role="user", content=(ContentPart(type="audio", audio=b"\0\0"),))
RESULT = ToolResult(ToolResultBlock(id="call_1", name="f"))
EVERYTHING: list[ModelInput] = [
    AudioAppend(b"\0\0"),
    AudioCommit(),
    AudioClear(),
    ItemCreate(TEXT),
    ItemCreate(PHOTO),
    ItemDelete("t"),
    ItemRetrieve("t"),
    ItemTruncate("t", 100),
    RESULT,
    ResponseCreate(),
    ResponseCancel(),
    SessionUpdate(Settings()),
]


BESIDE = ResponseCreate(ResponseOverrides(conversation="none"))
LACKS: list[tuple[dict[str, object], ModelInput, str, str]] = [
    (
        {"input_modalities": frozenset({"text", "audio"})},
        ItemCreate(PHOTO),
        "unsupported_modality",
        "toy-1 does not take image input (it takes audio, text)",
    ),
    (
        {"input_modalities": frozenset({"text"})},
        AudioAppend(b"\0\0"),
        "unsupported_modality",
        "toy-1 does not take audio input (it takes text)",
    ),
    (
        {"input_modalities": frozenset({"audio"})},
        ItemCreate(TEXT),
        "unsupported_modality",
        "toy-1 does not take text input (it takes audio)",
    ),
    (
        {"supports_item_sound": False},
        ItemCreate(SPOKEN),
        "unsupported_content_type",
        "toy-1 takes no sound in an item: append it to the input audio",
    ),
    (
        {"supports_response_overrides": False},
        BESIDE,
        "unsupported_response",
        "toy-1 has no responses beside the conversation",
    ),
    ({"supports_tools": False}, RESULT, "unsupported_tools", "toy-1 cannot use tools"),
    (
        {"supports_item_delete": False},
        ItemDelete("t"),
        "unsupported_item_delete",
        "toy-1 cannot delete an item from its context",
    ),
    (
        {"supports_audio_clear": False},
        AudioClear(),
        "unsupported_audio_clear",
        "toy-1 cannot forget what it has heard: the turn goes on",
    ),
]
"""What a profile lacks, what then is refused, and how."""


def test_what_a_profile_lacks_is_refused_by_name_and_a_full_one_refuses_nothing() -> None:
    told = []
    for lack, message, _, _ in LACKS:
        error = refusal(msgspec.structs.replace(FULL, **lack), message)
        told.append((lack, message, *((error.code, error.message) if error else ())))
    assert told == LACKS
    assert [message for message in (*EVERYTHING, ItemCreate(SPOKEN), BESIDE) if refusal(FULL, message)] == []


def test_a_model_says_what_its_profile_says() -> None:
    model = ScriptedModel([], profile=FULL)
    assert model.support_input_modalities == ["audio", "image", "text"]
    assert (model.support_tools, model.input_sample_rate, model.output_sample_rate) == (True, 16_000, 24_000)
    assert (model.voice, model.websocket_url) == (None, None)


def test_an_address_does_not_show_its_headers() -> None:
    assert "secret" not in repr(Address("wss://x", headers=(("Authorization", "Bearer secret"),)))
