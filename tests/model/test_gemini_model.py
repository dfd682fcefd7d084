"""Whole conversations of Gemini's model with its service on loopback. `test_provider_models.py`: what is alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime.event import Item, ModelEvents
from realtime.event.base import ContentPart
from realtime.model.base import AudioAppend, AudioCommit, ItemCreate, ResponseCreate, SessionUpdate, Settings
from tests.model.gemini_emulator import GeminiSession
from tests.model.grammar import check_grammar
from tests.model.providers import GEMINI, Talk, talk

PCM = b"\x01\x02" * 16_000


@asynccontextmanager
async def call(settings: Settings | None = None) -> AsyncIterator[tuple[Talk, GeminiSession]]:
    """A call, which in the end was well formed and is over."""
    async with talk(GEMINI, settings) as made:
        yield made, await made.session()
    check_grammar(made.events, output_rate_hz=24_000)
    assert isinstance(made.events[-1], ModelEvents.ModelSessionEndedEvent)


def typed(text: str) -> ItemCreate:
    return ItemCreate(Item(id="u", role="user", content=(ContentPart(type="text", text=text),)))


async def test_a_spoken_turn_that_we_mark_and_a_barge_in() -> None:
    async with call(Settings(turn_detection="none")) as (one, session):
        one.connection.send(AudioAppend(PCM))
        one.connection.send(AudioCommit())
        one.connection.send(ResponseCreate())
        await session.until("realtimeInput", 3)
        assert [next(iter(frame)) for frame in session.sent("realtimeInput")] == [
            "activityStart",
            "audio",
            "activityEnd",
        ]
        assert session.audio == PCM
        await session.content(inputTranscription={"text": "Tell me"})
        await session.begin("Once upon", PCM)
        await one.until(ModelEvents.ModelResponseAudioDeltaEvent)
        one.connection.send(AudioAppend(PCM))
        await session.until("realtimeInput", 5)
        await session.content(interrupted=True)
        await session.content(turnComplete=True)
        done = await one.until(ModelEvents.ModelResponseDoneEvent)
        assert done.status == "cancelled"
        one.connection.send(AudioCommit())
        one.connection.send(ResponseCreate())
        await session.until("realtimeInput", 6)
        await session.begin("Yes", PCM)
        await session.finish()
        assert (await one.until(ModelEvents.ModelResponseDoneEvent, 2)).status == "completed"
        committed = one.all(ModelEvents.ModelInputCommittedEvent)
        heard = one.all(ModelEvents.ModelInputTranscriptionDoneEvent)
        assert [event.item_id for event in committed] == [event.item_id for event in heard]
        assert [event.transcript for event in heard] == ["Tell me", ""]


async def test_the_provider_s_detector_interrupts() -> None:
    async with call() as (one, session):
        one.connection.send(AudioAppend(PCM))
        await session.until("realtimeInput")
        await session.begin("Once upon", PCM)
        await session.content(interrupted=True)
        started = await one.until(ModelEvents.ModelInputStartedEvent)
        assert started.audio_start_ms == 1000
        await session.content(turnComplete=True)
        assert (await one.until(ModelEvents.ModelResponseDoneEvent)).status == "cancelled"


async def test_after_a_notice_the_session_is_resumed_and_audio_is_kept() -> None:
    async with call() as (one, session):
        one.connection.send(ResponseCreate())
        await session.until("clientContent")
        await session.begin("Good day", PCM)
        await session.send(goAway={"timeLeft": "50s"})
        await session.finish()
        said = await one.until(ModelEvents.ModelItemDoneEvent)
        one.items.append(said.item)
        second = await one.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        (reconnecting,) = one.all(ModelEvents.ModelReconnectingEvent)
        assert reconnecting.reason == "provider_going_away"
        assert second.setup["sessionResumption"] == {}, "there was no handle yet"
        one.connection.send(AudioAppend(PCM))
        await second.until("realtimeInput")
        assert second.sent("clientContent")[0]["turns"] == [{"parts": [{"text": "Good day"}], "role": "model"}]
        await second.begin("More", PCM)
        await second.finish()
        one.items.append((await one.until(ModelEvents.ModelItemDoneEvent, 2)).item)
        await second.hand_out("handle-2")
        await second.send(goAway={"timeLeft": "50s"})
        third = await one.session(3)
        await one.until(ModelEvents.ModelReconnectedEvent, 2)
        assert third.setup["sessionResumption"] == {"handle": "handle-2"}
        one.connection.send(AudioAppend(PCM))
        await third.until("realtimeInput")
        assert third.sent("clientContent") == []
        assert third.audio == PCM


async def test_a_dropped_socket_costs_the_answer_but_not_the_conversation() -> None:
    async with call() as (one, session):
        one.items = [Item(id="a", role="user", content=(ContentPart(type="text", text="My name is Alice."),))]
        one.connection.send(AudioAppend(PCM))
        await session.until("realtimeInput")
        await session.begin("Once upon", PCM)
        await one.until(ModelEvents.ModelResponseAudioDeltaEvent)
        session.drop()
        assert (await one.until(ModelEvents.ModelResponseDoneEvent)).status == "failed"
        second = await one.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        one.connection.send(typed("Who am I?"))
        one.connection.send(ResponseCreate())
        await second.until("clientContent", 2)
        seed, asked = second.sent("clientContent")
        assert seed == {"turns": [{"parts": [{"text": "My name is Alice."}], "role": "user"}], "turnComplete": False}
        assert asked["turns"][0]["parts"] == [{"text": "Who am I?"}]


async def test_a_refused_handle_leads_to_a_new_session() -> None:
    async with call() as (one, session):
        await session.begin("Good day", b"\0\0")
        await session.finish()
        one.items.append((await one.until(ModelEvents.ModelItemDoneEvent)).item)
        await one.until(ModelEvents.ModelResponseDoneEvent)
        await session.hand_out("stale")
        await session.send(serverContent={"outputTranscription": {"text": "Hm"}})
        await one.until(ModelEvents.ModelResponseCreatedEvent, 2)
        react = GeminiSession.react

        async def refuse_setup(self: GeminiSession, frame: dict[str, Any]) -> None:
            if frame.get("setup", {}).get("sessionResumption"):
                await self.close(1008, "Requested entity was not found.")
            else:
                await react(self, frame)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GeminiSession, "react", refuse_setup)
            session.drop()
            await one.until(ModelEvents.ModelReconnectedEvent)
        handles = [session.setup["sessionResumption"] for session in one.service.sessions]
        assert handles == [{}, {"handle": "stale"}, {}]


async def test_settings_change_over_a_new_link() -> None:
    async with call() as (one, session):
        one.connection.send(SessionUpdate(Settings(instructions="Be brief.", voice="Kore")))
        second = await one.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        assert second.setup["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        updated = await one.until(ModelEvents.ModelSessionUpdatedEvent)
        assert updated.settings["voice"] == "Kore"
        assert session.frames[1:] == []
