"""`GeminiRealtimeModel` as documented, and whole conversations with a provider on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest

from realtime.errors import ProviderError
from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.event.config import ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    Connection,
    ItemCreate,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.gemini.model import GeminiRealtimeModel, profile_of
from realtime.model.open import open_model
from realtime.model.wire import WireLimits
from realtime.runtime import Runtime
from tests.model.gemini_emulator import GeminiEmulator, GeminiSession
from tests.model.grammar import check_grammar
from tests.model.loopback import PATIENCE_S

KEY = "gemini-test-0123456789abcdef"
PCM = b"\x01\x02" * 16_000
E = TypeVar("E")


class Call:
    """A session with the emulator: what was reported, and a way to wait for it."""

    def __init__(self, connection: Connection, events: list[ModelEvent], reported: asyncio.Condition) -> None:
        self.connection = connection
        self.events = events
        self._reported = reported

    async def until(self, kind: type[E], count: int = 1) -> E:
        async with asyncio.timeout(PATIENCE_S), self._reported:
            await self._reported.wait_for(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def end(self) -> None:
        await self.connection.close()
        check_grammar(self.events, output_rate_hz=24_000)
        assert isinstance(self.events[-1], ModelEvents.ModelSessionEndedEvent)


async def call(
    provider: GeminiEmulator,
    settings: Settings | None = None,
    history: Callable[[], Sequence[Item]] = lambda: (),
) -> tuple[Call, GeminiSession]:
    model = GeminiRealtimeModel(api_key=KEY, base_url=provider.base_url, limits=WireLimits(first_delay_s=0.01))
    events: list[ModelEvent] = []
    reported = asyncio.Condition()
    notices: set[asyncio.Task[None]] = set()

    async def notify() -> None:
        async with reported:
            reported.notify_all()

    def on_event(event: ModelEvent) -> None:
        events.append(event)
        task = asyncio.get_running_loop().create_task(notify())
        notices.add(task)
        task.add_done_callback(notices.discard)

    connection = await model.connect(
        settings=settings or Settings(), on_event=on_event, history=history, runtime=Runtime()
    )
    return Call(connection, events, reported), await provider.session()


def typed(text: str) -> ItemCreate:
    return ItemCreate(Item(id="u", role="user", content=(ContentPart(type="text", text=text),)))


def test_it_is_constructed_as_documented() -> None:
    """RTM-12: import, construct. RTM-13: the documented name. RTM-17: the keywords common to all."""
    model = GeminiRealtimeModel(
        model_name="gemini-2.5-flash-native-audio-preview-09-2025",
        api_key=KEY,
        voice="Puck",
        enable_input_audio_transcription=True,
    )
    assert model.websocket_url == (
        "wss://generativelanguage.googleapis.com/ws/"
        "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    )
    assert model.support_input_modalities == ["audio", "image", "text"]
    assert model.support_tools
    assert KEY not in repr(model)


@pytest.mark.parametrize("name", ["gemini-2.5-flash-native-audio-preview-09-2025", "gemini-3.8-live", "gemini-later"])
def test_any_model_name_is_taken(name: str) -> None:
    """RTM-13: the documented name and newer ones. RTM-22: 16 kHz in, 24 kHz out."""
    profile = open_model(f"gemini:{name}").profile
    assert profile == profile_of(name)
    assert (profile.model, profile.input_rate_hz, profile.output_rate_hz) == (name, 16_000, 24_000)
    assert (profile.supports_truncation, profile.supports_item_delete, profile.supports_tools) == (False, False, True)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1")
    url = "ws://127.0.0.1:9/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent"
    assert GeminiRealtimeModel().websocket_url == url


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="GEMINI_API_KEY") as caught:
        await GeminiRealtimeModel().connect(
            settings=Settings(), on_event=lambda event: None, history=lambda: (), runtime=Runtime()
        )
    assert caught.value.code == "missing_api_key"


async def test_the_key_comes_from_the_environment_and_stays_out_of_logs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """RTM-19: from GEMINI_API_KEY, into a header, into no frame and no log."""
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    async with GeminiEmulator() as provider:
        model = GeminiRealtimeModel(base_url=provider.base_url)
        connection = await model.connect(
            settings=Settings(), on_event=lambda event: None, history=lambda: (), runtime=Runtime()
        )
        session = await provider.session()
        assert session.header("x-goog-api-key") == KEY
        assert KEY not in session.path + str(session.frames)
        await connection.close()
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("realtime")]
    assert KEY not in "".join(logged)


@pytest.mark.parametrize("voice", ["Puck", "Charon", "Kore", "Fenrir"])
async def test_voices_reach_the_provider(voice: str) -> None:
    """RTM-16: the voice is in the setup."""
    async with GeminiEmulator() as provider:
        one, session = await call(provider, Settings(voice=voice))
        speech = session.setup["generationConfig"]["speechConfig"]
        assert speech == {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}
        await one.end()


async def test_a_typed_turn() -> None:
    async with GeminiEmulator() as provider:
        one, session = await call(provider)
        one.connection.send(typed("Hello"))
        one.connection.send(ResponseCreate())
        asked = await session.until("clientContent")
        assert asked == {"turns": [{"parts": [{"text": "Hello"}], "role": "user"}], "turnComplete": True}
        await session.begin("Good day", PCM)
        await session.finish()
        done = await one.until(ModelEvents.ModelResponseDoneEvent)
        assert (done.status, done.input_tokens, done.output_tokens) == ("completed", 10, 20)
        deltas = one.all(ModelEvents.ModelResponseAudioDeltaEvent)
        assert b"".join(event.delta for event in deltas) == PCM
        await one.end()


async def test_a_spoken_turn_that_we_mark_and_a_barge_in() -> None:
    async with GeminiEmulator() as provider:
        one, session = await call(provider, Settings(turn_detection="none"))
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
        await one.end()


async def test_the_provider_s_detector_interrupts() -> None:
    async with GeminiEmulator() as provider:
        one, session = await call(provider)
        one.connection.send(AudioAppend(PCM))
        await session.until("realtimeInput")
        await session.begin("Once upon", PCM)
        await session.content(interrupted=True)
        started = await one.until(ModelEvents.ModelInputStartedEvent)
        assert started.audio_start_ms == 1000
        await session.content(turnComplete=True)
        assert (await one.until(ModelEvents.ModelResponseDoneEvent)).status == "cancelled"
        await one.end()


async def test_a_tool_round_trip_with_parallel_calls() -> None:
    """RTM-15: declared, called twice at once, answered, and used for the answer."""
    tool = ToolDeclaration(name="get_time", description="The time", parameters={"type": "object"})
    async with GeminiEmulator() as provider:
        one, session = await call(provider, Settings(tools=(tool,)))
        assert session.setup["tools"] == [{"functionDeclarations": [{"name": "get_time", "description": "The time"}]}]
        calls = [{"name": "get_time", "args": {"city": city}, "id": f"fc_{city}"} for city in ("Oslo", "Rome")]
        await session.send(toolCall={"functionCalls": calls})
        await one.until(ModelEvents.ModelResponseDoneEvent)
        for used in one.all(ModelEvents.ModelResponseToolUseDoneEvent):
            one.connection.send(ToolResult(ToolResultBlock(id=used.tool_use.id, name="get_time", output="nine")))
        one.connection.send(ResponseCreate())
        await session.until("toolResponse", 2)
        answered = [frame["functionResponses"][0]["id"] for frame in session.sent("toolResponse")]
        assert answered == ["fc_Oslo", "fc_Rome"]
        assert session.sent("clientContent") == []
        await session.begin("It is nine", PCM)
        await session.finish()
        await one.until(ModelEvents.ModelResponseDoneEvent, 2)
        await one.end()


async def test_after_a_notice_the_session_is_resumed_and_audio_is_kept() -> None:
    history: list[Item] = []
    async with GeminiEmulator() as provider:
        one, session = await call(provider, history=lambda: history)
        one.connection.send(ResponseCreate())
        await session.until("clientContent")
        await session.begin("Good day", PCM)
        await session.send(goAway={"timeLeft": "50s"})
        await session.finish()
        said = await one.until(ModelEvents.ModelItemDoneEvent)
        history.append(said.item)
        second = await provider.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        (reconnecting,) = one.all(ModelEvents.ModelReconnectingEvent)
        assert reconnecting.reason == "provider_going_away"
        assert second.setup["sessionResumption"] == {}, "there was no handle yet"
        one.connection.send(AudioAppend(PCM))
        await second.until("realtimeInput")
        assert second.sent("clientContent")[0]["turns"] == [{"parts": [{"text": "Good day"}], "role": "model"}]
        await second.begin("More", PCM)
        await second.finish()
        history.append((await one.until(ModelEvents.ModelItemDoneEvent, 2)).item)
        await second.hand_out("handle-2")
        await second.send(goAway={"timeLeft": "50s"})
        third = await provider.session(3)
        await one.until(ModelEvents.ModelReconnectedEvent, 2)
        assert third.setup["sessionResumption"] == {"handle": "handle-2"}
        one.connection.send(AudioAppend(PCM))
        await third.until("realtimeInput")
        assert third.sent("clientContent") == []
        assert third.audio == PCM
        await one.end()


async def test_a_dropped_socket_costs_the_answer_but_not_the_conversation() -> None:
    history = [Item(id="a", role="user", content=(ContentPart(type="text", text="My name is Alice."),))]
    async with GeminiEmulator() as provider:
        one, session = await call(provider, history=lambda: history)
        one.connection.send(AudioAppend(PCM))
        await session.until("realtimeInput")
        await session.begin("Once upon", PCM)
        await one.until(ModelEvents.ModelResponseAudioDeltaEvent)
        session.drop()
        assert (await one.until(ModelEvents.ModelResponseDoneEvent)).status == "failed"
        second = await provider.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        one.connection.send(typed("Who am I?"))
        one.connection.send(ResponseCreate())
        await second.until("clientContent", 2)
        seed, asked = second.sent("clientContent")
        assert seed == {"turns": [{"parts": [{"text": "My name is Alice."}], "role": "user"}], "turnComplete": False}
        assert asked["turns"][0]["parts"] == [{"text": "Who am I?"}]
        await one.end()


async def test_a_refused_handle_leads_to_a_new_session() -> None:
    history: list[Item] = []
    async with GeminiEmulator() as provider:
        one, session = await call(provider, history=lambda: history)
        await session.begin("Good day", b"\0\0")
        await session.finish()
        history.append((await one.until(ModelEvents.ModelItemDoneEvent)).item)
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
        handles = [session.setup["sessionResumption"] for session in provider.sessions]
        assert handles == [{}, {"handle": "stale"}, {}]
        await one.end()


async def test_settings_change_over_a_new_link() -> None:
    async with GeminiEmulator() as provider:
        one, session = await call(provider)
        one.connection.send(SessionUpdate(Settings(instructions="Be brief.", voice="Kore")))
        second = await provider.session(2)
        await one.until(ModelEvents.ModelReconnectedEvent)
        assert second.setup["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        updated = await one.until(ModelEvents.ModelSessionUpdatedEvent)
        assert updated.settings["voice"] == "Kore"
        assert session.frames[1:] == []
        await one.end()
