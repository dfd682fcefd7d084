"""Whole conversations of DashScope's model with its service on loopback. `test_provider_models.py`: what is alike."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from realtime.event import Item, ModelEvents
from realtime.event.base import ContentPart
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    ItemCreate,
    ResponseCancel,
    ResponseCreate,
    Settings,
    ToolResult,
    refusal,
)
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel, profile_of
from tests.model.dashscope_emulator import QwenSession
from tests.model.frames import HELLO, PHOTO, types
from tests.model.grammar import check_grammar
from tests.model.providers import DASHSCOPE, KEY, Talk, talk

SPEECH = bytes(range(256)) * 125


@asynccontextmanager
async def open_call(settings: Settings | None = None) -> AsyncIterator[tuple[Talk, QwenSession]]:
    """A call whose settings reached the service, and which in the end was well formed."""
    async with talk(DASHSCOPE, settings) as made:
        session = await made.session()
        await session.until("session.update")
        yield made, session
    check_grammar(made.events, output_rate_hz=24_000)


def test_what_the_name_says_may_be_replaced() -> None:
    """AMB-52: a model that takes no typed text is told so, and text is refused by name."""
    deaf_to_text = msgspec.structs.replace(profile_of("x"), input_modalities=frozenset({"audio"}))
    error = refusal(DashScopeRealtimeModel("x", profile=deaf_to_text).profile, ItemCreate(HELLO))
    assert error is not None
    assert error.code == "unsupported_modality"


def test_results_are_refused_where_the_model_has_no_tools() -> None:
    result = ToolResult(ToolResultBlock(id="c", name="f", output="x"))
    error = refusal(profile_of("qwen3-omni-flash-realtime"), result)
    assert error is not None
    assert error.code == "unsupported_tools"
    assert refusal(profile_of("qwen3.5-omni-flash-realtime"), result) is None


async def test_text_audio_and_images_are_sent() -> None:
    """RTM-04: each input modality reaches the fake server, the picture after the first audio."""
    async with open_call() as (call, session):
        for message in (ItemCreate(HELLO), ItemCreate(PHOTO), AudioAppend(b"\1\0")):
            assert refusal(call.connection.profile, message) is None
            call.connection.send(message)
        assert (await session.until("input_image_buffer.append"))["image"] == "/9g="
        assert session.kinds == [
            "session.update",
            "conversation.item.create",
            "input_audio_buffer.append",
            "input_image_buffer.append",
        ]
        assert not call.all(ModelEvents.ModelErrorEvent)


async def test_a_barge_in_ends_the_answer_and_what_comes_late_is_dropped() -> None:
    async with open_call() as (call, session):
        await session.begin("resp_1", "item_a")
        where = {"response_id": "resp_1", "item_id": "item_a", "output_index": 0, "content_index": 0}
        await session.send("response.audio.delta", **where, delta="AAAA")
        await session.send("input_audio_buffer.speech_started", audio_start_ms=100, item_id="item_u")
        await call.until(ModelEvents.ModelInputStartedEvent)
        call.connection.send(ResponseCancel("resp_1"))
        await session.until("response.cancel")
        await session.end("cancelled", status_details={"type": "cancelled", "reason": "turn_detected"})
        await session.send("response.audio.delta", **where, delta="AAAA")
        call.connection.send(ResponseCancel())
        await session.until("response.cancel", 2)
        await session.speak("resp_2", "item_b", "Yes?", SPEECH)
        assert (await call.until(ModelEvents.ModelResponseDoneEvent, 2)).status == "completed"
        cut = call.all(ModelEvents.ModelResponseDoneEvent)[0]
        assert (cut.status, cut.status_details) == ("cancelled", {"type": "cancelled", "reason": "turn_detected"})
        assert not call.all(ModelEvents.ModelErrorEvent), "cancelling nothing is no error"


@pytest.mark.parametrize("details", [{}, {"status_details": None}])
async def test_an_answer_cancelled_without_a_reason_was_cut_by_speech_unless_we_cancelled_it(
    details: dict[str, None],
) -> None:
    async with open_call() as (call, session):
        for number in (1, 2):
            await session.begin(f"resp_{number}", f"item_{number}")
            await call.until(ModelEvents.ModelResponseCreatedEvent, number)
            if number == 2:
                call.connection.send(ResponseCancel())
                await session.until("response.cancel")
            await session.end("cancelled", **details)
            await call.until(ModelEvents.ModelResponseDoneEvent, number)
        reasons = [(one.status_details or {})["reason"] for one in call.all(ModelEvents.ModelResponseDoneEvent)]
        assert reasons == ["turn_detected", "client_cancelled"]


async def test_a_manual_turn() -> None:
    async with open_call(Settings(turn_detection="none")) as (call, session):
        assert session.frames[0]["session"]["turn_detection"] is None
        for message in (AudioAppend(SPEECH), ItemCreate(PHOTO), AudioCommit(), ResponseCreate()):
            call.connection.send(message)
        await session.until("response.create")
        assert (await call.until(ModelEvents.ModelInputCommittedEvent)).item_id == "item_m"
        await session.speak("resp_1", "item_a", "A cat.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent)
        assert session.kinds[1:] == [
            "input_audio_buffer.append",
            "input_image_buffer.append",
            "input_audio_buffer.commit",
            "response.create",
        ]


async def test_a_refused_setting_is_told_and_the_call_goes_on() -> None:
    async with open_call(Settings(extra={"modalities": ["audio"]})) as (call, session):
        error = await call.until(ModelEvents.ModelErrorEvent)
        assert (error.code, error.error_type) == ("invalid_value", "client_error")
        await session.speak("resp_1", "item_a", "Still here.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent)


async def test_an_error_of_the_service_is_told_and_the_session_is_had_anew(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_call() as (call, session):
        failure = {"type": "server_error", "code": "COMMON_ERROR", "message": f"<50002> ModelServingError {KEY}"}
        await session.send("error", error=failure)
        await session.close(1011, "")
        await call.until(ModelEvents.ModelReconnectedEvent)
        (error,) = call.all(ModelEvents.ModelErrorEvent)
        assert (error.code, error.retryable, KEY in error.message) == ("server_error", True, False)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("realtime")]
    assert ours
    assert not [line for line in ours if KEY in line]


@pytest.mark.parametrize("how", ["dropped", "idle", "expired"])
async def test_a_lost_session_is_had_anew_with_the_context_restored(how: str) -> None:
    said = Item(id="item_s", role="assistant", content=(ContentPart(type="audio", transcript="Once upon"),))
    async with open_call() as (call, session):
        call.items = [HELLO, said]
        await session.begin("resp_1", "item_a")
        await call.until(ModelEvents.ModelResponseCreatedEvent)
        if how == "dropped":
            session.drop()
        else:
            if how == "idle":
                message = "Your session was closed because no response was generated for 300 seconds."
                await session.refuse(message, code="response_idle_timeout")
            await session.close(1000)
        await call.until(ModelEvents.ModelReconnectingEvent)
        call.connection.send(AudioAppend(SPEECH))
        await call.until(ModelEvents.ModelReconnectedEvent)
        second = await call.session(2)
        await second.until("input_audio_buffer.append")
        assert second.audio == SPEECH
        assert [frame["item"]["content"][0]["text"] for frame in second.sent("conversation.item.create")] == [
            "hello",
            "Once upon",
        ]
        await second.speak("resp_2", "item_b", "a time.", SPEECH)
        await call.until(ModelEvents.ModelResponseDoneEvent, 2)
        lost = call.all(ModelEvents.ModelResponseDoneEvent)[0]
        assert (lost.response_id, lost.status) == ("resp_1", "failed")
        assert not call.all(ModelEvents.ModelErrorEvent)
        assert types(call.events)[0] == "session_created"
        assert types(call.events).count("session_created") == 1


async def test_an_account_without_money_ends_the_session_for_good() -> None:
    async with open_call() as (call, session):
        await session.send("error", error={"type": "", "code": "Arrearage", "message": "Access denied.", "param": ""})
        await session.close(1011, "Arrearage")
        assert (await call.until(ModelEvents.ModelSessionEndedEvent)).reason == "insufficient_quota"
        (error,) = call.all(ModelEvents.ModelErrorEvent)
        assert (error.code, error.retryable) == ("insufficient_quota", False)
        assert len(call.service.sessions) == 1
