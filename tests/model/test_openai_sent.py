"""What the OpenAI codec alone does with what it sends, and that the types of the official SDK know our frames."""

from __future__ import annotations

import json
from typing import Any, get_args

import pybase64
import pytest

from realtime.event import Item, ModelEvents
from realtime.event.base import ContentPart
from realtime.message import Base64Source, DataBlock, TextBlock, ToolResultBlock
from realtime.model.base import ItemCreate, ItemDelete, ItemTruncate, SessionUpdate, Settings, ToolResult
from realtime.model.openai_family import openai_frames as wire
from realtime.model.openai_family.openai import OpenAICodec
from tests.model.frames import HELLO, PLACE, Json, fixture_rows, one, openai, received, say
from tests.model.test_codec_received import OURS
from tests.model.test_codec_sent import sent


def test_the_official_sdk_knows_every_field_that_we_send() -> None:
    realtime, pydantic = pytest.importorskip("openai.types.realtime"), pytest.importorskip("pydantic")
    known = pydantic.TypeAdapter(realtime.RealtimeClientEvent)
    frames = [frame for row in sent().values() for frame in row["openai"]]
    events = [known.validate_json(json.dumps(frame)) for frame in frames]
    assert [event.type for event in events] == [frame["type"] for frame in frames]
    assert [(event.type, unknown) for event in events if (unknown := [*_unknown_fields(event)])] == []


def test_our_frames_are_those_of_the_official_sdk() -> None:
    """Every server event that the SDK knows is in our fixtures and passes its validation."""
    realtime, pydantic = pytest.importorskip("openai.types.realtime"), pytest.importorskip("pydantic")
    check = pydantic.TypeAdapter(realtime.RealtimeServerEvent)
    frames = [frame for name in OURS["openai"] for frame in received(fixture_rows("openai", name))]
    for frame in frames:
        check.validate_json(json.dumps(frame))
    members = get_args(get_args(realtime.RealtimeServerEvent)[0])
    known = {get_args(member.model_fields["type"].annotation)[0] for member in members}
    assert {frame["type"] for frame in frames} == known == wire.FLAVOUR.all_types


def _unknown_fields(model: Any) -> Any:
    """Names of fields that the SDK's types let pass without knowing them."""
    if isinstance(model, list):
        for part in model:
            yield from _unknown_fields(part)
    elif hasattr(model, "model_extra"):
        yield from model.model_extra or ()
        for name in type(model).model_fields:
            yield from _unknown_fields(getattr(model, name))


def test_a_voice_is_said_once_until_it_changes() -> None:
    codec = openai(voice="alloy")
    voices = [
        say(codec, SessionUpdate(Settings(voice=voice)))[0]["session"]["audio"]["output"].get("voice")
        for voice in (None, None, "marin", "marin", "voice_123")
    ]
    assert voices == ["alloy", None, "marin", None, {"id": "voice_123"}]


def test_long_ids_of_ours_are_shortened_there_and_whole_here() -> None:
    codec = openai()
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
    codec = openai()
    spoken(codec, 1000, finished=False)
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 700))] == [700]
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 1300))] == [1000]


def test_an_answer_heard_to_its_end_is_not_truncated() -> None:
    codec = openai()
    spoken(codec, 1000, finished=True)
    assert say(codec, ItemTruncate("i", 1000)) == []
    assert [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", 999))] == [999]


def test_an_answer_that_was_said_over_an_earlier_link_is_cut_as_the_text_that_it_is_here() -> None:
    """It has no sound in this session: the service would refuse to truncate it, and keep what was never heard."""
    codec = openai()
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
    codec = openai()
    added = Item(id="i", role="assistant", content=(ContentPart(type="audio", transcript="One two three."),))
    assert [frame["type"] for frame in say(codec, ItemCreate(added))] == ["conversation.item.create"]
    delete, create = say(codec, ItemTruncate("i", 700, "One two"))
    assert delete == {"type": "conversation.item.delete", "item_id": "i"}
    assert create["item"]["content"] == [{"type": "output_text", "text": "One two"}]


def test_an_answer_of_which_nothing_was_heard_is_deleted_and_reported_as_cut() -> None:
    codec = openai()
    spoken(codec, 1000, finished=False)
    assert say(codec, ItemTruncate("i", 0)) == [{"type": "conversation.item.delete", "item_id": "i"}]
    assert one(codec, "conversation.item.deleted", item_id="i") == [
        ModelEvents.ModelItemTruncatedEvent(item_id="i", audio_end_ms=0, transcript="")
    ]
    assert one(codec, "conversation.item.deleted", item_id="i") == [ModelEvents.ModelItemDeletedEvent(item_id="i")]


def test_a_new_voice_takes_no_other_setting_along_once_the_old_one_has_spoken() -> None:
    """The service would refuse all of the update."""
    codec = openai()
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
    codec = openai()
    (opening,) = codec.opening(Settings(), ())
    assert "max_output_tokens" not in json.loads(opening)["session"]
    limits = []
    for limit in (50, None):
        (frame,) = codec.encode(SessionUpdate(Settings(max_output_tokens=limit)))
        limits.append(json.loads(frame)["session"]["max_output_tokens"])
    assert limits == [50, "inf"]


def test_a_result_stands_in_the_item_that_it_is_said_to_stand_in() -> None:
    """Else an item behind it, and its deletion, would be refused."""
    codec = openai()
    long_id = "item_" + "0123456789abcdef" * 2
    (frame,) = codec.encode(ToolResult(ToolResultBlock(id="call_1", name="f", output="2"), long_id))
    result_id = json.loads(frame)["item"]["id"]
    assert long_id.startswith(result_id)
    (behind,) = codec.encode(ItemCreate(HELLO, previous_item_id=long_id))
    assert json.loads(behind)["previous_item_id"] == result_id


SKY = DataBlock(source=Base64Source(data=b"\xff\xd8", media_type="image/jpeg"))
THUNDER = DataBlock(source=Base64Source(data=b"RIFF", media_type="audio/wav"))


def told(*output: TextBlock | DataBlock, model: str = "gpt-realtime-2.1") -> list[Json]:
    result = ToolResult(ToolResultBlock(id="call_1", name="f", output=[*output]))
    return [frame["item"] for frame in say(openai(model), result)]


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
