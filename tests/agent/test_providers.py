"""Whole calls on the models of the providers, each with its service on loopback, and calls from one to another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Any

import numpy as np
import pybase64
import pytest

from realtime.agent import transfer
from realtime.agent.realtime import RealtimeAgent
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model.failover import failover
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, Speak
from realtime.model.wire import WireLimits
from realtime.tool import Toolkit
from tests.agent.fakes import FakeDetector, speech
from tests.agent.test_dropped_socket import Log, hear_all, in_call, said
from tests.model.emulator import Emulator
from tests.model.gemini_emulator import GeminiEmulator
from tests.model.providers import DASHSCOPE, FAKES, GEMINI, OPENAI, Fake
from tests.volumes import HANG_S

PUSH_TO_TALK = SessionConfig(turn_detection=TurnDetection(authority="client"))
REFUSED = {
    ("item deleted", GEMINI.name): ["unsupported_item_delete"],
    ("item deleted", DASHSCOPE.name): ["unsupported_item_delete"],
    ("speech taken back", GEMINI.name): ["unsupported_audio_clear"],
}
TONE_HZ = 440
SECOND = b"\x01\x02" * 24_000
IN_TABLE: tuple[Fake, ...] = (OPENAI, GEMINI, DASHSCOPE)
each = pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
each_in_table = pytest.mark.parametrize("fake", IN_TABLE, ids=lambda fake: fake.name)


@asynccontextmanager
async def call(
    fake: Fake, config: SessionConfig = PUSH_TO_TALK, toolkit: Toolkit | None = None, **options: Any
) -> AsyncIterator[tuple[Session, Log, Any]]:
    async with fake.service() as service:
        agent = RealtimeAgent("Friday", "Be nice.", fake.model(service, **options), toolkit=toolkit)
        async with in_call(agent, config) as (session, log):
            yield session, log, service


async def turn_over(fake: Fake, service: Any) -> bytes:
    """Waits until the service was told that the user's turn is over. Returns all audio it got."""
    session = await service.session()

    await session.when(lambda: fake.commits(session))
    return fake.sent_audio(session)


@each
@pytest.mark.parametrize("browser_hz", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
async def test_audio_of_any_browser_rate_comes_at_the_model_s_rate(fake: Fake, browser_hz: int) -> None:
    """RTM-22: audio of any browser rate is resampled to the model's input rate: as long as before, the same tone, and
    no edge where the chunks meet."""
    model_hz = fake.input_hz
    wave = np.sin(2 * np.pi * TONE_HZ * np.arange(browser_hz) / browser_hz)
    pcm = (wave * 20_000).astype("<i2").tobytes()
    async with call(fake) as (session, _, service):
        step = browser_hz // 50 * 2
        for at in range(0, len(pcm), step):
            session.receive(c.ClientAudioAppendEvent(audio=pcm[at : at + step], format=AudioFormat.pcm16(browser_hz)))
        session.receive(c.ClientAudioCommitEvent())
        got = np.frombuffer(await turn_over(fake, service), "<i2").astype(float)
    assert abs(len(got) - model_hz) <= model_hz * 30 // 1000
    middle = got[len(got) // 10 : -len(got) // 10]
    crossings = np.count_nonzero(np.diff(np.signbit(middle)))
    assert crossings / 2 / (len(middle) / model_hz) == pytest.approx(TONE_HZ, rel=0.01)
    steepest = 20_000 * 2 * np.pi * TONE_HZ / model_hz
    assert np.abs(np.diff(middle)).max() <= steepest * 1.05


async def test_a_model_without_eyes_refuses_a_picture_and_the_call_goes_on() -> None:
    """RTM-09: an image to a model that takes text and audio is an agent_error, and the session lives on."""
    async with call(OPENAI, model_name="gpt-4o-realtime-preview") as (session, log, service):
        assert session.participant.describe()["input_modalities"] == ["audio", "text"]
        session.receive(c.ClientImageAppendEvent(image=b"\xff\xd8"))
        (error,) = log.of(s.AgentErrorEvent)
        assert error.code == "unsupported_modality"
        assert "image" in error.message
        session.receive(c.ClientTextAppendEvent(text="still there"))
        provider = await service.session()
        await provider.until("response.create")
        await OPENAI.speak(provider, "yes", SECOND)
        await log.until(lambda: log.of(s.AgentResponseDoneEvent) != [])
        assert said(session) == [("user", "still there"), ("assistant", "yes")]
        assert not any(frame["type"] == "input_image_buffer.append" for frame in provider.frames)
        assert len(provider.sent("conversation.item.create")) == 1


@each
async def test_an_answer_broken_off_by_a_dropped_socket_goes_on(fake: Fake) -> None:
    """RTA-25, on each provider: the socket is killed, it is told and dialled again, with the conversation."""
    async with call(fake) as (session, log, service):
        session.receive(c.ClientTextAppendEvent(text="Count."))
        first = await service.session()
        await first.until(fake.asks)
        await fake.begin(first, "one two three four five six", SECOND)
        await log.until(lambda: log.of(s.AgentResponseAudioDeltaEvent) != [])
        first.drop()
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])
        second = await service.session(2)
        await second.until(fake.asks, 1 + fake.asks_to_restore)
        heard = session.conversation.items()[1].text
        frames = str(second.frames)
        assert 0 < len(heard) < len("one two three four five six")
        assert frames.count(f"'{heard}'") == 1, "the heard part, and no more"
        assert frames.count("Count.") == frames.count("Go on exactly where it stops") == 1
        await fake.speak(second, "and so on", SECOND)
        await log.until(lambda: log.of(s.AgentResponseDoneEvent)[-1].status == "completed")
        assert said(session) == [("user", "Count."), ("assistant", f"{heard} and so on")]
        hear_all(session)
        assert log.of(s.AgentErrorEvent) == []


@each
async def test_a_turn_whose_commit_was_under_way_is_said_again_and_answered(fake: Fake) -> None:
    async with call(fake) as (session, log, service):
        for _ in range(5):
            session.receive(c.ClientAudioAppendEvent(audio=b"\1\0" * 1_600, format=AudioFormat.pcm16(16_000)))
        session.receive(c.ClientAudioCommitEvent())
        before = await turn_over(fake, service)
        (await service.session()).drop()
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])
        second = await service.session(2)
        await second.when(lambda: fake.has_asked_turn(second))
        assert fake.sent_audio(second) == before
        await fake.speak(second, "I heard you", SECOND)
        await log.until(lambda: log.of(s.AgentResponseDoneEvent) != [])
        assert said(session)[-1] == ("assistant", "I heard you")


PHOTO = c.ClientImageAppendEvent(image=b"\xff\xd8\xff")
SPEECH = c.ClientAudioAppendEvent(audio=b"\1\0" * 3_200, format=AudioFormat.pcm16(16_000))
HELLO = Item(id="item_h", role="user", content=(ContentPart(type="text", text="hello"),))
CREATED, ASKED = "conversation.item.create", "response.create"
HEARD, COMMITTED = "input_audio_buffer.append", "input_audio_buffer.commit"
TABLE: dict[str, tuple[list[c.ClientEvent], list[list[str]]]] = {
    # What the client sends, and what the three providers get: OpenAI, Gemini, DashScope.
    "text": ([c.ClientTextAppendEvent(text="hello")], [[CREATED, ASKED], ["clientContent, asks"], [CREATED, ASKED]]),
    "speech": (
        [SPEECH, c.ClientAudioCommitEvent()],
        [
            # At 24 kHz the end of the speech comes out of the change of rate when the turn ends.
            [HEARD, HEARD, COMMITTED, ASKED],
            ["activityStart", "audio", "activityEnd"],
            [HEARD, COMMITTED, ASKED],
        ],
    ),
    "speech taken back": (
        [SPEECH, c.ClientAudioClearEvent()],
        [[HEARD, "input_audio_buffer.clear"], ["activityStart", "audio"], [HEARD, "input_audio_buffer.clear"]],
    ),
    "picture with speech": (
        [PHOTO, SPEECH, c.ClientAudioCommitEvent()],
        [
            [CREATED, HEARD, HEARD, COMMITTED, ASKED],
            ["activityStart", "video", "audio", "activityEnd"],
            [HEARD, "input_image_buffer.append", COMMITTED, ASKED],
        ],
    ),
    "item and request": (
        [c.ClientItemCreateEvent(item=HELLO), c.ClientResponseCreateEvent()],
        [[CREATED, ASKED], ["clientContent, asks"], [CREATED, ASKED]],
    ),
    "item deleted": (
        [c.ClientItemCreateEvent(item=HELLO), c.ClientItemDeleteEvent(item_id="item_h"), c.ClientResponseCreateEvent()],
        [[CREATED, "conversation.item.delete", ASKED], ["clientContent, asks"], [CREATED, ASKED]],
    ),
}


def names(fake: Fake, frames: list[Any]) -> list[str]:
    """The frames after the opening, by what they are."""
    if fake is not GEMINI:
        return [frame["type"] for frame in frames if frame["type"] != "session.update"]
    kinds = []
    for frame in frames[1:]:
        if "realtimeInput" in frame:
            kinds += list(frame["realtimeInput"])
        else:
            (kind,) = frame
            asks = ", asks" if frame[kind].get("turnComplete") else ""
            kinds.append(kind + asks)
    return kinds


@each_in_table
@pytest.mark.parametrize("row", TABLE)
async def test_each_client_event_becomes_the_provider_s_message(fake: Fake, row: str) -> None:
    """RTA-12: client event to provider message, per provider."""
    events, expected = TABLE[row]
    wanted = expected[IN_TABLE.index(fake)]
    async with call(fake) as (session, log, service):
        for event in events:
            session.receive(event)
        provider = await service.session()
        await provider.when(lambda: len(names(fake, provider.frames)) >= len(wanted))
        assert names(fake, provider.frames) == wanted
        refused = REFUSED.get((row, fake.name), [])
        await log.until(lambda: len(log.of(s.AgentErrorEvent)) >= len(refused))
        assert [error.code for error in log.of(s.AgentErrorEvent)] == refused


@each_in_table
async def test_a_picture_reaches_a_model_that_can_see(fake: Fake) -> None:
    """CEV-10: the image reaches Gemini and DashScope; OpenAI's documented model refuses it (see RTM-09)."""
    options: dict[str, Any] = {"model_name": "gpt-4o-realtime-preview"} if fake is OPENAI else {}
    async with call(fake, **options) as (session, log, service):
        for event in (PHOTO, SPEECH, c.ClientAudioCommitEvent()):
            session.receive(event)
        await turn_over(fake, service)
        seen = pybase64.b64encode_as_string(PHOTO.image) in str((await service.session()).frames)
        assert seen is (fake is not OPENAI)
        assert len(log.of(s.AgentErrorEvent)) == (0 if seen else 1)


@each
async def test_the_same_client_code_talks_to_each_provider(fake: Fake) -> None:
    """RTA-02: the same client code, three providers: a spoken and a typed turn, and a cancelled answer."""
    async with call(fake) as (session, log, service):
        session.receive(SPEECH)
        session.receive(c.ClientAudioCommitEvent())
        await turn_over(fake, service)
        provider = await service.session()
        await fake.speak(provider, "I heard you", SECOND)
        await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) == 1)
        hear_all(session)
        session.receive(c.ClientTextAppendEvent(text="Tell me more."))
        await provider.until(fake.asks, 2 if fake.asks_for_turns else 1)
        await fake.begin(provider, "Well, once upon a time", SECOND)
        await log.until(lambda: len({event.item_id for event in log.of(s.AgentResponseAudioDeltaEvent)}) == 2)
        session.receive(c.ClientResponseCancelEvent())
        assert len(log.of(s.ServerAudioFlushEvent)) == 1
        await log.until(lambda: len(log.of(s.AgentItemDeletedEvent) + log.of(s.AgentItemTruncatedEvent)) == 1)
        told = [item for item in session.conversation.items() if item.role == "assistant" or item.text]
        assert [(item.role, item.text) for item in told] == [("assistant", "I heard you"), ("user", "Tell me more.")]
        assert log.of(s.AgentErrorEvent) == []


def book_room() -> str:
    """Book a room."""
    return "booked"


@each
async def test_a_tool_that_is_added_during_a_call_reaches_the_provider(fake: Fake) -> None:
    """By an update of the session; a service that takes none is dialled again in the next silence."""
    toolkit = Toolkit()
    options = {"model_name": "qwen3.5-omni-flash-realtime"} if fake is DASHSCOPE else {}
    async with call(fake, toolkit=toolkit, **options) as (_, log, service):
        provider = await service.session()
        assert "book_room" not in str(provider.frames)
        toolkit.register(book_room)
        told = await service.session(2) if fake.redials_for_settings else provider
        await told.when(lambda: "book_room" in str(told.frames))
        assert log.of(s.AgentErrorEvent) == []


@pytest.mark.parametrize("fake", [OPENAI], ids=lambda fake: fake.name)
async def test_a_typed_interruption_tells_what_was_heard_before_it_asks_for_the_answer(fake: Fake) -> None:
    """Else the answer would be given by a model that takes all of its words for heard."""
    async with call(fake) as (session, log, service):
        session.receive(c.ClientTextAppendEvent(text="Tell me a story."))
        provider = await service.session()
        await provider.until("response.create")
        await fake.speak(provider, "once there was a lighthouse", SECOND + SECOND)
        await log.until(lambda: log.of(s.AgentResponseAudioDoneEvent) != [])
        (told,) = {event.item_id for event in log.of(s.AgentResponseAudioDeltaEvent)}
        (view,) = session.listeners
        session.receive(c.ClientPlaybackAckEvent(item_id=told, played_ms=700), view)
        session.receive(c.ClientTextAppendEvent(text="Stop."), view)
        await provider.until("response.create", 2)
        kinds = [frame["type"] for frame in provider.frames]
        assert kinds[kinds.index("response.create") + 1 :] == [
            "conversation.item.create",
            "conversation.item.truncate",
            "response.create",
        ]
        (cut,) = provider.sent("conversation.item.truncate")
        assert cut["audio_end_ms"] == 700


LIMITS = WireLimits(first_delay_s=0.01, max_delay_s=0.02, attempts=2, open_timeout_s=HANG_S, session_timeout_s=HANG_S)
SECOND_OF_SPEECH = b"\1\0" * 24_000


async def test_the_reply_and_the_speech_of_the_user_go_on_with_the_next_provider() -> None:
    async with AsyncExitStack() as stack:
        openai = await stack.enter_async_context(Emulator())
        gemini = await stack.enter_async_context(GeminiEmulator())
        first_model = OpenAIRealtimeModel(api_key="sk-test", base_url=openai.base_url, limits=LIMITS)
        next_model = GeminiRealtimeModel(api_key="g-test", base_url=gemini.base_url, limits=LIMITS)
        model = failover([first_model, next_model])
        agent = RealtimeAgent("Friday", "Be nice.", model, make_detector=lambda detection: FakeDetector())
        session, log = await stack.enter_async_context(in_call(agent, PUSH_TO_TALK))

        session.receive(c.ClientTextAppendEvent(text="Count."))
        first = await openai.session()
        await first.until("response.create")
        where = {"response_id": "resp_1", "item_id": "item_a", "output_index": 0, "content_index": 0}
        await first.begin("resp_1", "item_a")
        await first.send("response.output_audio_transcript.delta", **where, delta="one two three four five")
        await first.send("response.output_audio.delta", **where, delta=pybase64.b64encode_as_string(SECOND_OF_SPEECH))
        await log.until(lambda: log.of(s.AgentResponseAudioDeltaEvent) != [])
        session.receive(c.ClientAudioAppendEvent(audio=speech(600, 48_000), format=AudioFormat.pcm16(48_000)))
        openai.refuse = (HTTPStatus.SERVICE_UNAVAILABLE, {})
        first.drop()
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])

        second = await gemini.session()
        seed = await second.until("clientContent")
        heard = session.conversation.items()[1].text
        assert 0 < len(heard) < len("one two three four five")
        assert [part["text"] for turn in seed["turns"] for part in turn["parts"]] == ["Count.", heard]
        asked = await second.until("clientContent", 2)
        assert "Go on exactly where it stops" in str(asked)
        samples_16k = len(second.audio) // 2
        assert abs(samples_16k - 600 * 16) < 20 * 16, "speech that was under way is said again, at this model's rate"
        await second.begin(" three four five", SECOND_OF_SPEECH)
        await second.finish()
        await log.until(lambda: log.of(s.AgentResponseDoneEvent)[-1].status == "completed")

        told = [(item.role, item.text.strip()) for item in session.conversation.items()]
        assert told == [("user", "Count."), ("assistant", heard), ("assistant", "three four five")]
        reasons = [event.reason for event in log.of(s.AgentReconnectingEvent)]
        assert reasons == ["link_lost", "provider_unavailable", "provider_unavailable"]
        assert len(log.of(s.AgentReconnectedEvent)) == 1
        assert log.of(s.AgentErrorEvent) == []
        assert [event.seq for event in log.events] == [*range(1, len(log.events) + 1)]


PAIRS = [(one, other) for one in FAKES for other in FAKES if one is not other]
MOMENT = b"\1\0" * 9_600


async def answered(log: Log, times: int) -> None:
    await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) == times)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{one.name} to {other.name}" for one, other in PAIRS])
async def test_the_words_that_were_heard_and_the_users_speech_reach_the_other_provider(one: Fake, other: Fake) -> None:
    async with AsyncExitStack() as stack:
        services = [await stack.enter_async_context(fake.service()) for fake in (one, other)]
        entered: list[RealtimeAgent] = []

        async def on_enter(agent: RealtimeAgent) -> None:
            entered.append(agent)

        ann = RealtimeAgent("Ann", "You are Ann.", one.model(services[0]), on_enter=on_enter)
        ben = RealtimeAgent("Ben", "You are Ben.", other.model(services[1]))
        session, log = await stack.enter_async_context(in_call(ann, PUSH_TO_TALK))
        session.receive(c.ClientTextAppendEvent(text="Count."))
        provider = await services[0].session()
        await provider.until(one.asks)
        await one.speak(provider, "one two three", SECOND)
        await answered(log, 1)
        hear_all(session)
        session.receive(c.ClientAudioAppendEvent(audio=MOMENT, format=AudioFormat.pcm16(16_000)))
        await entered[0].transfer_to(ben)
        assert [event.agent_name for event in log.of(s.AgentReadyEvent)] == ["Ann", "Ben"]
        next_provider = await services[1].session()
        assert "one two three" in str(next_provider.frames)
        assert "You are Ben." in str(next_provider.frames)
        session.receive(c.ClientAudioCommitEvent())
        await turn_over(other, services[1])
        n_samples = len(other.sent_audio(next_provider)) // 2
        assert abs(n_samples - len(MOMENT) // 2 * other.input_hz // 16_000) < other.input_hz // 50
        await other.speak(next_provider, "four five six", SECOND)
        await answered(log, 2)
        words = [item.text.strip() for item in session.conversation.items() if item.role == "assistant"]
        assert words == ["one two three", "four five six"]
        assert log.of(s.AgentErrorEvent) == []
        assert log.of(s.AgentEndedEvent) == []


async def test_a_call_goes_through_four_kinds_of_models() -> None:
    """Scripted, OpenAI, Gemini, DashScope: each knows all that was heard before."""
    async with AsyncExitStack() as stack:
        fakes = (OPENAI, GEMINI, DASHSCOPE)
        services = [await stack.enter_async_context(fake.service()) for fake in fakes]
        first = RealtimeAgent("Ann", "", ScriptedModel([Speak("zero", 0.1)], profile=MANUAL_PROFILE, strict=False))
        log = Log()
        await first.start(log.note, config=PUSH_TO_TALK)
        await answered(log, 1)
        for place, (fake, service) in enumerate(zip(fakes, services, strict=True), 1):
            await first.transfer_to(RealtimeAgent(f"Ben {place}", "", fake.model(service)))
            provider = await service.session()
            await first.handle_input(c.ClientTextAppendEvent(text=f"Number {place}, please."))
            await provider.until(fake.asks)
            await fake.speak(provider, f"this is {place}", SECOND[:4_800])
            await answered(log, place + 1)
        words = [event.transcript.strip() for event in log.of(s.AgentResponseAudioTranscriptDoneEvent)]
        assert words == ["zero", "this is 1", "this is 2", "this is 3"]
        told = str((await services[-1].session()).frames)
        assert all(one in told for one in ("zero", "this is 1", "this is 2"))
        assert log.of(s.AgentErrorEvent) == []
        await first.stop()


async def test_the_embedded_model_repeats_what_a_provider_said_and_hands_on_what_it_said_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer, "JOIN_S", HANG_S)  # its speech models may take long to be read
    async with AsyncExitStack() as stack:
        services = [await stack.enter_async_context(fake.service()) for fake in (OPENAI, GEMINI)]
        first = RealtimeAgent("Ann", "", OPENAI.model(services[0]))
        log = Log()
        await first.start(log.note, config=PUSH_TO_TALK)
        await first.handle_input(c.ClientTextAppendEvent(text="Say the code, please."))
        provider = await services[0].session()
        await provider.until(OPENAI.asks)
        await OPENAI.speak(provider, "the code is kingfisher", SECOND[:4_800])
        await answered(log, 1)
        await first.transfer_to(RealtimeAgent("Ben", "", LocalRealtimeModel()))
        await first.handle_input(c.ClientTextAppendEvent(text="Please repeat that."))
        await answered(log, 2)
        repeated = log.of(s.AgentResponseAudioTranscriptDoneEvent)[-1].transcript
        assert "kingfisher" in repeated
        await first.transfer_to(RealtimeAgent("Cem", "", GEMINI.model(services[1])))
        await first.handle_input(c.ClientTextAppendEvent(text="Which code was it?"))
        provider = await services[1].session()
        await provider.until(GEMINI.asks)
        assert str(provider.frames).count("kingfisher") == 2
        assert log.of(s.AgentErrorEvent) == []
        await first.stop()
