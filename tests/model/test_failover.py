"""`failover([...])`: the next model takes the call over, over real sockets and with whatever the models differ in."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Self

import msgspec
import pytest

from realtime.errors import ProviderError, UsageError
from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.model.base import (
    AudioAppend,
    Connection,
    History,
    ItemCreate,
    ItemDelete,
    ItemTruncate,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCreate,
    SessionUpdate,
    Settings,
)
from realtime.model.failover import adapted, common_profile, failover
from realtime.model.link_limits import WireLimits
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.runtime import Runtime
from tests.model.emulator import Emulator
from tests.model.grammar import check_grammar
from tests.model.loopback import PATIENCE_S
from tests.model.providers import DASHSCOPE, GEMINI, OPENAI, Fake

QUICK = WireLimits(first_delay_s=0.01, max_delay_s=0.02, attempts=2)
PCM = b"\x01\x02" * 12_000
A = Profile(provider="a", model="a-1", input_rate_hz=24_000, output_rate_hz=24_000, voices=("ann",))
B = Profile(
    provider="b",
    model="b-1",
    input_rate_hz=16_000,
    output_rate_hz=24_000,
    supports_tools=False,
    supports_truncation=False,
    supports_item_delete=False,
    emits_speech_events=False,
    voices=("bob",),
)


class Puppet(RealtimeModel):
    """A model that does what the test says."""

    def __init__(self, profile: Profile, *, refuses: ProviderError | None = None) -> None:
        self._profile = profile
        self.refuses = refuses
        self.gate = asyncio.Event()
        self.gate.set()
        self.sent: list[ModelInput] = []
        self.settings = Settings()
        self.restored: Sequence[Item] = ()
        self.say: OnEvent = lambda event: None
        self.closed = 0

    @property
    def profile(self) -> Profile:
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        await self.gate.wait()
        if self.refuses is not None:
            raise self.refuses
        self.settings, self.say, self.restored = settings, on_event, history()
        on_event(ModelEvents.ModelSessionCreatedEvent(session_id=f"sess_{self._profile.provider}"))
        return self

    def send(self, message: ModelInput) -> None:
        self.sent.append(message)

    async def close(self) -> None:
        self.closed += 1

    def end(self, reason: str = "provider_refused") -> None:
        """It gives up."""
        self.say(ModelEvents.ModelErrorEvent(error_type="provider_error", code=reason, message="gone"))
        self.say(ModelEvents.ModelSessionEndedEvent(session_id="x", reason=reason))


class Call:
    def __init__(self, *models: RealtimeModel) -> None:
        self.model = failover(models)
        self.events: list[ModelEvent] = []
        self.items: list[Item] = []
        self.connection: Connection
        self._said = asyncio.Event()

    @classmethod
    async def of(cls, *models: RealtimeModel, settings: Settings | None = None) -> Self:
        """An open call."""
        call = cls(*models)
        await call.open(settings)
        return call

    async def open(self, settings: Settings | None = None) -> None:
        self.connection = await self.model.connect(
            settings=settings or Settings(), on_event=self.note, history=lambda: self.items, runtime=Runtime()
        )

    def note(self, event: ModelEvent) -> None:
        self.events.append(event)
        self._said.set()

    @property
    def types(self) -> list[str]:
        return [event.type.removeprefix("model_") for event in self.events]

    async def until(self, kind: str, count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.types.count(kind) < count:
                self._said.clear()
                await self._said.wait()


def reconnecting(attempt: int = 1) -> ModelEvents.ModelReconnectingEvent:
    return ModelEvents.ModelReconnectingEvent(attempt=attempt, retry_after_ms=0, reason="link_lost")


def text(item_id: str) -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="text", text="hello"),))


def refused(code: str = "provider_unavailable") -> ProviderError:
    return ProviderError("not now", code=code, retryable=True)


async def test_the_first_that_can_be_had_is_taken_and_where_none_can_the_last_reason_is_told() -> None:
    first, second = Puppet(A, refuses=refused()), Puppet(A)
    call = await Call.of(first, second)
    call.connection.send(ResponseCreate())
    await call.connection.close()
    assert second.sent == [ResponseCreate()]
    assert call.types == ["session_created", "session_ended"]
    call = Call(first, Puppet(A, refuses=refused("invalid_api_key")))
    with pytest.raises(ProviderError) as caught:
        await call.open()
    assert caught.value.code == "invalid_api_key"
    assert call.events == []
    with pytest.raises(UsageError):
        failover([])


async def test_what_is_said_while_nobody_is_there_reaches_the_next_model_in_order_and_once() -> None:
    first, second = Puppet(A), Puppet(msgspec.structs.replace(A, provider="b"))
    second.gate.clear()
    call = await Call.of(first, second)
    for _ in range(10):
        call.connection.send(AudioAppend(b"\1\0" * 2_400))
    first.say(reconnecting())
    call.connection.send(AudioAppend(b"\1\0" * 4_800, again=True))
    call.connection.send(ItemCreate(text("known")))
    call.items.append(text("known"))
    first.end()
    call.connection.send(ItemCreate(text("new")))
    call.connection.send(ResponseCreate())
    assert call.types == ["session_created", "reconnecting", "reconnecting"], "its reason is none for the call"
    second.gate.set()
    await call.until("reconnected")
    assert second.restored == [text("known")]
    assert second.sent == [AudioAppend(b"\1\0" * 4_800), ItemCreate(text("new")), ResponseCreate()]
    second.say(ModelEvents.ModelInputStartedEvent(item_id="u", audio_start_ms=100))
    assert call.events[-1] == ModelEvents.ModelInputStartedEvent(item_id="u", audio_start_ms=900)
    first.end()
    assert call.types.count("session_ended") == 0
    assert first.closed == 1
    await call.connection.close()
    assert second.closed == 1
    assert call.types.count("session_ended") == call.types.count("session_created") == 1


async def test_a_model_that_comes_back_by_itself_keeps_the_call() -> None:
    first, second = Puppet(A), Puppet(A)
    call = await Call.of(first, second)
    first.say(reconnecting())
    call.connection.send(ResponseCreate())
    first.say(ModelEvents.ModelReconnectedEvent(gap_ms=5))
    first.say(ModelEvents.ModelErrorEvent(error_type="server_error", code="odd", message="odd"))
    await call.connection.close()
    assert call.types == ["session_created", "reconnecting", "reconnected", "error", "session_ended"]
    assert first.sent == [ResponseCreate()]
    assert second.sent == []


async def test_the_last_one_s_reason_ends_the_call_once() -> None:
    first, second, third = Puppet(A), Puppet(A, refuses=refused()), Puppet(A, refuses=refused("invalid_api_key"))
    call = await Call.of(first, second, third)
    first.end()
    await call.until("session_ended")
    assert call.types == ["session_created", "error", "reconnecting", "error", "session_ended"]
    ended = call.events[-1]
    assert isinstance(ended, ModelEvents.ModelSessionEndedEvent)
    assert ended.reason == "invalid_api_key"
    call.connection.send(ResponseCreate())
    await call.connection.close()
    assert call.types.count("session_ended") == 1


async def test_closing_while_the_next_one_is_being_connected_leaves_no_task() -> None:
    first, second = Puppet(A), Puppet(A)
    second.gate.clear()
    call = Call(first, second)
    before = asyncio.all_tasks()
    await call.open()
    first.end()
    await asyncio.sleep(0)
    await call.connection.close()
    assert asyncio.all_tasks() == before
    assert call.types[-1] == "session_ended"


async def test_settings_that_change_while_the_next_one_is_being_connected_reach_it() -> None:
    first, second = Puppet(A), Puppet(A)
    second.gate.clear()
    call = await Call.of(first, second, settings=Settings(instructions="old"))
    first.end()
    call.connection.send(SessionUpdate(Settings(instructions="newer")))
    await asyncio.sleep(0)
    call.connection.send(SessionUpdate(Settings(instructions="newest")))
    second.gate.set()
    await call.until("reconnected")
    assert second.settings.instructions == "newer"
    assert second.sent == [SessionUpdate(Settings(instructions="newest"))]
    await call.connection.close()


async def test_too_much_that_has_to_wait_ends_the_call_rather_than_be_dropped() -> None:
    first, second = Puppet(A), Puppet(A)
    second.gate.clear()
    call = await Call.of(first, second)
    first.end()
    for number in range(1_001):
        call.connection.send(ItemCreate(text(f"item_{number}")))
    assert call.types[-2:] == ["error", "session_ended"]
    await call.connection.close()


async def test_each_model_gets_audio_at_its_own_rate_and_only_what_it_can_take() -> None:
    first, second = Puppet(A), Puppet(B)
    call = Call(first, second)
    tool = ToolDeclaration(name="f")
    settings = Settings(
        voice="ann",
        tools=(tool,),
        extra={"speed": 1.5},
        turn_detection=TurnDetection(type="semantic_vad", threshold=0.3),
    )
    await call.open(settings)
    assert first.settings == settings
    first.end()
    await call.until("reconnected")
    assert second.settings == Settings(turn_detection=TurnDetection(threshold=0.3))
    for _ in range(50):
        call.connection.send(AudioAppend(b"\1\0" * 480))
    sent = [message for message in second.sent if isinstance(message, AudioAppend)]
    assert abs(sum(len(message.pcm) for message in sent) - 16_000 * 2) < 16 * 2 * 20, "a second, less what is held back"
    second.sent.clear()
    for message in (
        ItemTruncate("a", 100),
        ItemDelete("a"),
        SessionUpdate(settings),
        ResponseCreate(ResponseOverrides(voice="ann", instructions="x")),
    ):
        call.connection.send(message)
    assert second.sent == [
        SessionUpdate(Settings(turn_detection=TurnDetection(threshold=0.3))),
        ResponseCreate(ResponseOverrides(instructions="x")),
    ]
    await call.connection.close()


async def test_an_item_goes_by_truncation_where_a_model_deletes_none() -> None:
    first = Puppet(msgspec.structs.replace(A, supports_item_delete=False))
    call = await Call.of(first)
    call.connection.send(ItemDelete("a"))
    assert first.sent == [ItemTruncate("a", 0)]
    await call.connection.close()


def test_the_call_counts_on_what_all_can_do() -> None:
    both = common_profile([A, B])
    assert (both.provider, both.model, both.input_rate_hz, both.voices) == ("a", "a-1", 24_000, ("ann",))
    assert (both.supports_tools, both.emits_speech_events, both.supports_item_delete) == (False, False, False)
    assert both.supports_truncation
    assert common_profile([A]) == A
    assert adapted(Settings(voice="new one"), msgspec.structs.replace(A, voices=()), A).voice == "new one"
    model = failover([OpenAIRealtimeModel("gpt-4o-realtime-preview"), Puppet(B)])
    assert model.support_input_modalities == ["audio", "text"]
    assert model.support_tools is False
    assert "gpt-4o-realtime-preview" in repr(model)


@pytest.mark.parametrize(
    ("first", "second"), [(OPENAI, GEMINI), (GEMINI, DASHSCOPE), (DASHSCOPE, OPENAI)], ids=lambda fake: fake.name
)
async def test_a_second_provider_takes_the_call_over_with_the_heard_history(first: Fake, second: Fake) -> None:
    async with first.service() as lost, second.service() as there:
        call = Call(first.model(lost, limits=QUICK), second.model(there, limits=QUICK))
        await call.open()
        call.items = [
            Item(id="item_1", role="user", content=(ContentPart(type="audio", transcript="count to ten"),)),
            Item(id="item_2", role="assistant", content=(ContentPart(type="audio", transcript="one two three"),)),
        ]
        session = await lost.session()
        await first.begin(session, "one two three four", PCM)
        await call.until("response_audio_delta")
        await shut(lost)
        session.drop()
        await call.until("reconnected")
        call.connection.send(ResponseCreate())
        session = await there.session()
        asked = "clientContent" if second is GEMINI else "response.create"
        await session.until(asked)
        assert str(session.frames).count("one two three") == 1, "as it was heard, once"
        assert "count to ten" in str(session.frames)
        await second.speak(session, "four five", PCM)
        await call.until("response_done", 2)
        await call.connection.close()
    check_grammar(call.events, output_rate_hz=24_000)
    kinds = [kind for kind in call.types if kind in ("session_created", "error", "reconnected", "session_ended")]
    assert kinds == ["session_created", "reconnected", "session_ended"]


async def shut(service: Any) -> None:
    """No more handshakes."""
    if isinstance(service, Emulator):
        service.refuse = (HTTPStatus.SERVICE_UNAVAILABLE, {})
    else:
        service._server.close(close_connections=False)
