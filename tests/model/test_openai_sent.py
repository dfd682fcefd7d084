"""What the OpenAI codec alone does with what it sends, and that the types of the official SDK know our frames."""

from __future__ import annotations

import json
from typing import Any, get_args

import pybase64
import pytest

from realtime.event import ModelEvents
from realtime.model.base import ItemDelete, ItemTruncate, SessionUpdate, Settings
from realtime.model.openai_family import openai_frames as wire
from realtime.model.openai_family.openai import OpenAICodec
from tests.model.frames import PLACE, Json, fixture_rows, one, openai, received, say
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


def spoken(codec: OpenAICodec, ms: int, *, finished: bool) -> None:
    delta = pybase64.b64encode_as_string(bytes(48 * ms))
    one(codec, "response.output_audio.delta", **PLACE, delta=delta)
    status = "completed" if finished else "incomplete"
    item = {"id": "i", "type": "message", "role": "assistant", "status": status, "content": []}
    one(codec, "conversation.item.done", item=item)


@pytest.mark.parametrize(("finished", "told"), [(False, {700: [700], 1300: [1000]}), (True, {1000: [], 999: [999]})])
def test_truncation_never_exceeds_what_was_produced_and_an_answer_heard_to_its_end_has_none(
    finished: bool, told: dict[int, list[int]]
) -> None:
    codec = openai()
    spoken(codec, 1000, finished=finished)
    assert {ms: [frame["audio_end_ms"] for frame in say(codec, ItemTruncate("i", ms))] for ms in told} == told


def test_an_answer_of_which_nothing_was_heard_is_deleted_and_reported_as_cut() -> None:
    codec = openai()
    spoken(codec, 1000, finished=False)
    assert say(codec, ItemTruncate("i", 0)) == [{"type": "conversation.item.delete", "item_id": "i"}]
    assert one(codec, "conversation.item.deleted", item_id="i") == [
        ModelEvents.ModelItemTruncatedEvent(item_id="i", audio_end_ms=0, transcript="")
    ]
    assert one(codec, "conversation.item.deleted", item_id="i") == [ModelEvents.ModelItemDeletedEvent(item_id="i")]


def test_a_long_id_goes_back_to_the_service_that_gave_it_and_ours_is_cut() -> None:
    """Servers of this protocol other than OpenAI's have ids of more than 32 characters."""
    theirs, ours = f"item_{'0123456789abcdef' * 2}", f"mine_{'0123456789abcdef' * 2}"
    codec = openai()
    (added,) = one(codec, "conversation.item.added", item={"id": theirs, "type": "message", "role": "user"})
    assert isinstance(added, ModelEvents.ModelItemAddedEvent)
    told = [say(codec, ItemDelete(item_id))[0]["item_id"] for item_id in (added.item.id, ours)]
    assert told == [theirs, ours[:32]]
    assert one(codec, "conversation.item.deleted", item_id=ours[:32]) == [
        ModelEvents.ModelItemDeletedEvent(item_id=ours)
    ]


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
