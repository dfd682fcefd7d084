"""What the OpenAI codec sends, to the letter, and as the official SDK's types know it."""

from __future__ import annotations

import json
from typing import Any

import pybase64
import pytest

from realtime.event import Item, ModelEvents, ResponseOverrides, TurnDetection
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultBlock
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
from realtime.model.openai_family.openai import OpenAICodec, profile_of
from tests.model.openai_frames import PLACE, Json, make_codec, one, say, types

# What we say.

HELLO = Item(id="item_h", role="user", content=(ContentPart(type="text", text="hello"),))
TURN = TurnDetection(type="server_vad", threshold=0.6, silence_duration_ms=300, prefix_padding_ms=200)
CALL = Item(id="item_c", type="tool_call", tool_call=ToolCallBlock(id="call_1", name="f", input='{"a":1}'))
RESULT = Item(id="item_r", type="tool_result", tool_result=ToolResultBlock(id="call_1", name="f", output="2"))
PHOTO = Item(id="item_p", role="user", content=(ContentPart(type="image", image=b"\xff\xd8", media_type="image/png"),))
SPOKEN = Item(id="item_s", role="assistant", content=(ContentPart(type="audio", transcript="Good day."),))
RULES = Item(id="item_y", role="system", content=(ContentPart(type="text", text="Be kind."),))
TOOL = ToolDeclaration(
    name="f", description="d", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)

SAID: list[tuple[ModelInput, Json]] = [
    (AudioAppend(b"\1\0\2\0"), {"type": "input_audio_buffer.append", "audio": "AQACAA=="}),
    (AudioCommit(), {"type": "input_audio_buffer.commit"}),
    (AudioClear(), {"type": "input_audio_buffer.clear"}),
    (
        ItemCreate(HELLO, "root"),
        {
            "type": "conversation.item.create",
            "item": {
                "id": "item_h",
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "hello"}],
            },
            "previous_item_id": "root",
        },
    ),
    (
        ItemCreate(Item(id="item_s", role="user", content=(ContentPart(type="audio", audio=b"\1\0\2\0"),))),
        {
            "type": "conversation.item.create",
            "item": {
                "id": "item_s",
                "type": "message",
                "role": "user",
                "content": [{"type": "input_audio", "audio": "AQACAA=="}],
            },
        },
    ),
    (
        ItemCreate(PHOTO),
        {
            "type": "conversation.item.create",
            "item": {
                "id": "item_p",
                "type": "message",
                "role": "user",
                "content": [{"type": "input_image", "image_url": "data:image/png;base64,/9g="}],
            },
        },
    ),
    (
        ItemCreate(SPOKEN),
        {
            "type": "conversation.item.create",
            "item": {
                "id": "item_s",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Good day."}],
            },
        },
    ),
    (
        ItemCreate(RULES),
        {
            "type": "conversation.item.create",
            "item": {
                "id": "item_y",
                "type": "message",
                "role": "system",
                "content": [{"type": "input_text", "text": "Be kind."}],
            },
        },
    ),
    (
        ItemCreate(CALL),
        {
            "type": "conversation.item.create",
            "item": {"id": "item_c", "type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'},
        },
    ),
    (
        ToolResult(ToolResultBlock(id="call_1", name="f", output="2")),
        {
            "type": "conversation.item.create",
            "item": {"type": "function_call_output", "call_id": "call_1", "output": "2"},
        },
    ),
    (ItemDelete("item_h"), {"type": "conversation.item.delete", "item_id": "item_h"}),
    (ItemRetrieve("item_h"), {"type": "conversation.item.retrieve", "item_id": "item_h"}),
    (
        ItemTruncate("item_s", 1200, "Good", 0),
        {"type": "conversation.item.truncate", "item_id": "item_s", "content_index": 0, "audio_end_ms": 1200},
    ),
    (ResponseCreate(), {"type": "response.create"}),
    (
        ResponseCreate(
            ResponseOverrides(
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
        ),
        {
            "type": "response.create",
            "response": {
                "instructions": "short",
                "output_modalities": ["text"],
                "audio": {"output": {"voice": "cedar"}},
                "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
                "tool_choice": "required",
                "max_output_tokens": 50,
                "conversation": "none",
                "input": [
                    {
                        "id": "item_h",
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "hello"}],
                    }
                ],
                "metadata": {"topic": "x"},
            },
        },
    ),
    (ResponseCancel(), {"type": "response.cancel"}),
    (ResponseCancel("resp_1"), {"type": "response.cancel", "response_id": "resp_1"}),
    (
        SessionUpdate(Settings(instructions="be kind", turn_detection=TURN, tools=(TOOL,), max_output_tokens=99)),
        {
            "type": "session.update",
            "session": {
                "type": "realtime",
                "instructions": "be kind",
                "output_modalities": ["audio"],
                "audio": {
                    "input": {
                        "format": {"type": "audio/pcm", "rate": 24000},
                        "turn_detection": {
                            "type": "server_vad",
                            "threshold": 0.6,
                            "prefix_padding_ms": 200,
                            "silence_duration_ms": 300,
                        },
                        "transcription": {"model": "gpt-realtime-whisper"},
                    },
                    "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "alloy"},
                },
                "tools": [
                    {
                        "type": "function",
                        "name": "f",
                        "description": "d",
                        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
                    }
                ],
                "max_output_tokens": 99,
            },
        },
    ),
]


@pytest.mark.parametrize(("message", "frame"), SAID, ids=[type(message).__name__ for message, _ in SAID])
def test_what_we_say(message: ModelInput, frame: Json) -> None:
    assert say(make_codec(voice="alloy", transcription_model="gpt-realtime-whisper"), message) == [frame]


@pytest.mark.parametrize(("message", "frame"), SAID, ids=[type(message).__name__ for message, _ in SAID])
def test_the_official_sdk_knows_every_field_that_we_send(message: ModelInput, frame: Json) -> None:
    realtime, pydantic = pytest.importorskip("openai.types.realtime"), pytest.importorskip("pydantic")
    (text,) = make_codec(voice="alloy", transcription_model="gpt-realtime-whisper").encode(message)
    event = pydantic.TypeAdapter(realtime.RealtimeClientEvent).validate_json(text)
    assert event.type == frame["type"]
    assert not list(_unknown_fields(event))


def _unknown_fields(model: Any) -> Any:
    """Names of fields that the SDK's types let pass without knowing them."""
    if isinstance(model, list):
        for part in model:
            yield from _unknown_fields(part)
    elif hasattr(model, "model_extra"):
        yield from model.model_extra or ()
        for name in type(model).model_fields:
            yield from _unknown_fields(getattr(model, name))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (None, {"type": "server_vad"}),
        ("none", None),
        ("semantic_vad", {"type": "semantic_vad"}),
        (TurnDetection(authority="server"), None),
        (TurnDetection(authority="client"), None),
        (TurnDetection(authority="provider"), {"type": "server_vad"}),
        (
            TurnDetection(type="semantic_vad", eagerness="low", threshold=0.5),
            {"type": "semantic_vad", "eagerness": "low"},
        ),
        (
            TurnDetection(create_response=False, interrupt_response=False),
            {"type": "server_vad", "create_response": False, "interrupt_response": False},
        ),
    ],
)
def test_who_finds_the_end_of_a_turn(wanted: TurnDetection | str | None, said: Json | None) -> None:
    (frame,) = say(make_codec(), SessionUpdate(Settings(turn_detection=wanted)))
    assert frame["session"]["audio"]["input"]["turn_detection"] == said


def test_transcription_that_is_off_is_not_mentioned_at_first_and_switched_off_later() -> None:
    codec = make_codec(transcription_model="gpt-realtime-whisper")
    off = Settings(input_audio_transcription=False)
    opening = json.loads(codec.opening(off, [])[0])
    assert "transcription" not in opening["session"]["audio"]["input"]
    (update,) = say(codec, SessionUpdate(off))
    assert update["session"]["audio"]["input"]["transcription"] is None


def test_a_voice_is_said_once_until_it_changes() -> None:
    codec = make_codec(voice="alloy")
    voices = [
        say(codec, SessionUpdate(Settings(voice=voice)))[0]["session"]["audio"]["output"].get("voice")
        for voice in (None, None, "marin", "marin", "voice_123")
    ]
    assert voices == ["alloy", None, "marin", None, {"id": "voice_123"}]


def test_extra_settings_are_merged_level_by_level() -> None:
    extra = {"reasoning": {"effort": "low"}, "audio": {"output": {"speed": 1.1}}}
    (frame,) = say(make_codec(), SessionUpdate(Settings(extra=extra)))
    assert frame["session"]["reasoning"] == {"effort": "low"}
    assert frame["session"]["audio"]["output"] == {"format": {"type": "audio/pcm", "rate": 24000}, "speed": 1.1}


def test_text_only_answers_are_asked_for_as_such() -> None:
    (frame,) = say(make_codec(), SessionUpdate(Settings(output_modalities=("text",))))
    assert frame["session"]["output_modalities"] == ["text"]


def test_the_context_is_restored_in_order_and_its_echo_is_silent() -> None:
    codec = make_codec()
    orphan = Item(id="item_o", type="tool_result", tool_result=ToolResultBlock(id="call_gone", name="f", output="x"))
    silent = Item(id="item_e", role="user", content=(ContentPart(type="audio"),))
    frames = [json.loads(frame) for frame in codec.opening(Settings(), [HELLO, CALL, RESULT, orphan, silent, SPOKEN])]
    assert [frame["type"] for frame in frames] == ["session.update", *["conversation.item.create"] * 4]
    assert [frame["item"]["id"] for frame in frames[1:]] == ["item_h", "item_c", "item_r", "item_s"]
    echo = {"id": "item_h", "type": "message", "role": "user", "status": "completed", "content": []}
    assert one(codec, "conversation.item.added", item=echo) == []
    assert one(codec, "conversation.item.done", item=echo) == []
    assert types(one(codec, "conversation.item.added", item=echo | {"id": "item_new"})) == ["item_added"]


def test_long_ids_of_ours_are_shortened_there_and_whole_here() -> None:
    codec = make_codec()
    ours = "item_" + "0123456789abcdef" * 2
    (frame,) = say(codec, ItemCreate(Item(id=ours, role="user", content=HELLO.content)))
    theirs = frame["item"]["id"]
    assert len(theirs) == 32
    (event,) = one(codec, "conversation.item.added", item={"id": theirs, "type": "message", "role": "user"})
    assert isinstance(event, ModelEvents.ModelItemAddedEvent)
    assert event.item.id == ours
    assert say(codec, ItemDelete(ours)) == [{"type": "conversation.item.delete", "item_id": theirs}]
    assert one(codec, "conversation.item.deleted", item_id=theirs) == [ModelEvents.ModelItemDeletedEvent(item_id=ours)]


def spoken(codec: OpenAICodec, ms: int, *, finished: bool) -> None:
    delta = pybase64.b64encode_as_string(bytes(48 * ms))
    one(codec, "response.output_audio.delta", **PLACE, delta=delta)
    status = "completed" if finished else "incomplete"
    item = {"id": "i", "type": "message", "role": "assistant", "status": status, "content": []}
    one(codec, "conversation.item.done", item=item)


def test_truncation_never_exceeds_what_was_produced() -> None:
    codec = make_codec()
    spoken(codec, 1000, finished=False)
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 700))] == [700]
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 1300))] == [1000]


def test_an_answer_heard_to_its_end_is_not_truncated() -> None:
    codec = make_codec()
    spoken(codec, 1000, finished=True)
    assert say(codec, ItemTruncate("i", 1000)) == []
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 999))] == [999]


def test_an_answer_that_was_said_over_an_earlier_link_is_cut_as_the_text_that_it_is_here() -> None:
    """It has no sound in this session: the service would refuse to truncate it, and keep what was never heard."""
    codec = make_codec()
    said = Item(id="i", role="assistant", content=(ContentPart(type="audio", transcript="One two three."),))
    codec.opening(Settings(), [said])
    echo = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": []}
    assert one(codec, "conversation.item.done", item=echo) == []
    delete, create = say(codec, ItemTruncate("i", 700, "One two"))
    assert delete == {"type": "conversation.item.delete", "item_id": "i"}
    assert create["item"] == {
        "id": "i",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "One two"}],
    }
    assert one(codec, "conversation.item.deleted", item_id="i") == [
        ModelEvents.ModelItemTruncatedEvent(item_id="i", audio_end_ms=700, transcript="One two")
    ]
    assert one(codec, "conversation.item.added", item=echo) == []
    assert one(codec, "conversation.item.done", item=echo) == []
    assert say(codec, ItemTruncate("i", 0, "")) == [delete]


def test_words_of_the_agent_that_were_added_as_text_are_cut_as_text() -> None:
    codec = make_codec()
    added = Item(id="i", role="assistant", content=(ContentPart(type="audio", transcript="One two three."),))
    assert [frame["type"] for frame in say(codec, ItemCreate(added))] == ["conversation.item.create"]
    delete, create = say(codec, ItemTruncate("i", 700, "One two"))
    assert delete == {"type": "conversation.item.delete", "item_id": "i"}
    assert create["item"]["content"] == [{"type": "output_text", "text": "One two"}]


def test_an_answer_of_which_nothing_was_heard_is_deleted_and_reported_as_cut() -> None:
    codec = make_codec()
    spoken(codec, 1000, finished=False)
    assert say(codec, ItemTruncate("i", 0)) == [{"type": "conversation.item.delete", "item_id": "i"}]
    assert one(codec, "conversation.item.deleted", item_id="i") == [
        ModelEvents.ModelItemTruncatedEvent(item_id="i", audio_end_ms=0, transcript="")
    ]
    assert one(codec, "conversation.item.deleted", item_id="i") == [ModelEvents.ModelItemDeletedEvent(item_id="i")]


def test_a_new_voice_takes_no_other_setting_along_once_the_old_one_has_spoken() -> None:
    """The service would refuse all of the update."""
    codec = make_codec()
    codec.opening(Settings(voice="marin"), ())
    one(codec, "response.output_audio.delta", **PLACE, delta="AAAA")

    def update(voice: str, instructions: str) -> tuple[Json, list[str]]:
        (frame,) = codec.encode(SessionUpdate(Settings(voice=voice, instructions=instructions)))
        events = codec.overdue()
        codes = [event.code for event in events if isinstance(event, ModelEvents.ModelErrorEvent)]
        return json.loads(frame)["session"], codes

    session, told = update("cedar", "Be brief.")
    assert (session["instructions"], "voice" in session["audio"]["output"]) == ("Be brief.", False)
    assert told == ["cannot_update_voice"]
    session, told = update("cedar", "Be kind.")
    assert (session["instructions"], "voice" in session["audio"]["output"]) == ("Be kind.", False)
    assert told == [], "once is enough"


def test_a_limit_of_tokens_is_lifted_by_a_later_update() -> None:
    codec = make_codec()
    (opening,) = codec.opening(Settings(), ())
    assert "max_output_tokens" not in json.loads(opening)["session"]
    limits = []
    for limit in (50, None):
        (frame,) = codec.encode(SessionUpdate(Settings(max_output_tokens=limit)))
        limits.append(json.loads(frame)["session"]["max_output_tokens"])
    assert limits == [50, "inf"]


def test_an_item_with_nothing_to_say_is_not_sent() -> None:
    assert make_codec().encode(ItemCreate(Item(id="x", role="user"))) == []


def test_a_result_stands_in_the_item_that_it_is_said_to_stand_in() -> None:
    """Else an item behind it, and its deletion, would be refused."""
    codec = make_codec()
    long_id = "item_" + "0123456789abcdef" * 2
    (frame,) = codec.encode(ToolResult(ToolResultBlock(id="call_1", name="f", output="2"), long_id))
    result_id = json.loads(frame)["item"]["id"]
    assert long_id.startswith(result_id)
    (behind,) = codec.encode(ItemCreate(HELLO, previous_item_id=long_id))
    assert json.loads(behind)["previous_item_id"] == result_id


SKY = DataBlock(source=Base64Source(data=b"\xff\xd8", media_type="image/jpeg"))
THUNDER = DataBlock(source=Base64Source(data=b"RIFF", media_type="audio/wav"))


def told(*output: TextBlock | DataBlock, model: str = "gpt-realtime-2.1") -> list[Json]:
    codec = OpenAICodec(profile_of(model), url="wss://x/v1/realtime", api_key="k")
    frames = codec.encode(ToolResult(ToolResultBlock(id="call_1", name="f", output=[*output])))
    return [json.loads(frame)["item"] for frame in frames]


def test_pictures_that_a_tool_returns_are_shown_to_a_model_that_sees() -> None:
    result, picture = told(TextBlock(text="The sky now:"), SKY, THUNDER)
    assert result["output"] == "The sky now:\n[audio/wav, which cannot be shown to you]"
    assert (picture["type"], picture["role"]) == ("message", "user")
    (part,) = picture["content"]
    assert part == {"type": "input_image", "image_url": "data:image/jpeg;base64,/9g="}
    assert told(SKY)[0]["output"] == "The picture follows."


def test_pictures_that_a_tool_returns_are_named_to_a_model_that_does_not_see() -> None:
    (result,) = told(TextBlock(text="The sky now:"), SKY, model="gpt-4o-realtime-preview")
    assert result["output"] == "The sky now:\n[image/jpeg, which cannot be shown to you]"
