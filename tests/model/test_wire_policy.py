"""The wire's decisions while links come and go, in virtual time on a dial that is a plain object: no sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import pytest
import pytest_asyncio

from realtime.errors import ProviderError
from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.message import ToolResultBlock
from realtime.model.base import (
    Address,
    AudioAppend,
    AudioCommit,
    CloseVerdict,
    Frame,
    ItemCreate,
    ItemDelete,
    ItemTruncate,
    ModelInput,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.wire import Receiver, Wire, WireLimits, open_wire
from realtime.runtime import Runtime

pytestmark = pytest.mark.virtual_time

PROFILE = Profile(provider="toy", model="toy", input_rate_hz=1000, output_rate_hz=1000)
SECOND = b"\1\0" * 1000
LIMITS = WireLimits(attempts=4, first_delay_s=1.0, max_delay_s=3.0, settled_s=60.0)


E = TypeVar("E")


class ToyCodec:
    """Frames are the reprs of what is said; a received frame names the event it holds, as JSON."""

    def __init__(self) -> None:
        self.profile = PROFILE

    def address(self, settings: Settings) -> Address:
        return Address("ws://toy")

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        return [f"open {settings.instructions}", *(f"restore {item.id}" for item in history)]

    def encode(self, message: ModelInput) -> list[Frame]:
        if isinstance(message, AudioAppend):
            return [f"audio {len(message.pcm)}"]
        if isinstance(message, ItemDelete) and message.item_id == "bad":
            raise RuntimeError("secret words")
        return [type(message).__name__]

    def decode(self, frame: Frame) -> list[ModelEvent]:
        return [ModelEvents.from_json(json.loads(frame))]

    def overdue(self) -> list[ModelEvent]:
        return []

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        return CloseVerdict(reason or "link_lost", f"closed with {code}", reconnect=code not in (1000, 3000))


class ToyLink:
    """A link that keeps what is written, and does what the test says."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.written: list[Frame] = []
        self.can_write = self.is_open = True
        self.reading = True
        self.closes = 0
        self.aborts = 0

    def write(self, frame: Frame) -> None:
        self.written.append(frame)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    async def close(self) -> None:
        self.closes += 1

    def abort(self) -> None:
        self.aborts += 1

    def say(self, event: ModelEvent) -> None:
        self.receiver.received(json.dumps(event.model_dump()).encode(), True)

    def lose(self, code: int = 1006, reason: str = "") -> None:
        self.receiver.lost(code, reason)


class ToyProvider:
    """Dials succeed with a session at once, unless a failure is planned for them."""

    def __init__(self) -> None:
        self.links: list[ToyLink] = []
        self.failures: list[ProviderError | None] = []
        self.dialled_s: list[float] = []
        self.greets = True
        self.greets_early = False
        self.handshake_s = 0.0

    async def dial(self, address: Address, receiver: Receiver, limits: WireLimits) -> ToyLink:
        loop = asyncio.get_running_loop()
        self.dialled_s.append(loop.time())
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        await asyncio.sleep(self.handshake_s)
        link = ToyLink(receiver)
        self.links.append(link)
        greeting = ModelEvents.ModelSessionCreatedEvent(session_id=f"sess_{len(self.links)}")
        if self.greets_early:
            link.say(greeting)
        elif self.greets:
            loop.call_soon(link.say, greeting)
        return link


class Call:
    def __init__(self, limits: WireLimits = LIMITS, history: Callable[[], Sequence[Item]] = lambda: ()) -> None:
        self.provider = ToyProvider()
        self.events: list[ModelEvent] = []
        self.limits = limits
        self.history = history
        self.wire: Wire

    async def open(self) -> Wire:
        loop = asyncio.get_running_loop()
        self.wire = await open_wire(
            ToyCodec,
            Settings(instructions="be brief"),
            on_event=self.events.append,
            history=self.history,
            runtime=Runtime.deterministic(loop.time),
            dial=self.provider.dial,
            limits=self.limits,
        )
        return self.wire

    @property
    def link(self) -> ToyLink:
        return self.provider.links[-1]

    @property
    def types(self) -> list[str]:
        return [event.type.removeprefix("model_") for event in self.events]

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest_asyncio.fixture
async def call() -> AsyncIterator[Call]:
    """A call that is open, and closed in the end."""
    made = Call()
    await made.open()
    yield made
    await made.wire.close()


def down(code: str = "provider_refused", *, retryable: bool = True) -> ProviderError:
    return ProviderError("no answer", code=code, retryable=retryable)


def started(at_ms: int) -> ModelEvents.ModelInputStartedEvent:
    return ModelEvents.ModelInputStartedEvent(item_id="u", audio_start_ms=at_ms)


def text_item(item_id: str) -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="text", text="hello"),))


async def test_the_first_dial_is_not_repeated() -> None:
    call = Call()
    call.provider.failures = [down()]
    with pytest.raises(ProviderError, match="no answer") as caught:
        await call.open()
    assert caught.value.code == "provider_refused"
    assert len(call.provider.dialled_s) == 1
    assert call.events == []


async def test_a_greeting_that_comes_with_the_handshake_waits_for_the_opening() -> None:
    call = Call()
    call.provider.greets_early = True
    wire = await call.open()
    wire.send(AudioCommit())
    call.link.lose()
    wire.send(ResponseCreate())
    await asyncio.sleep(5)
    assert [link.written for link in call.provider.links] == [
        ["open be brief", "AudioCommit"],
        ["open be brief", "ResponseCreate"],
    ]
    assert call.types == ["session_created", "reconnecting", "reconnected"]
    await wire.close()


async def test_an_error_that_comes_with_the_handshake_is_the_reason() -> None:
    call = Call()

    async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> ToyLink:
        link = ToyLink(receiver)
        link.say(
            ModelEvents.ModelErrorEvent(error_type="server_error", code="model_not_found", message="no such model")
        )
        link.lose(3000, "x.model_not_found")
        return link

    call.provider.dial = dial  # type: ignore[method-assign]
    with pytest.raises(ProviderError, match="no such model"):
        await call.open()


async def test_no_session_in_time_is_an_error_and_leaves_no_link() -> None:
    call = Call()
    call.provider.greets = False
    with pytest.raises(ProviderError) as caught:
        await call.open()
    assert (caught.value.code, caught.value.retryable) == ("provider_timeout", True)
    assert asyncio.get_running_loop().time() == pytest.approx(LIMITS.session_timeout_s)
    assert call.link.aborts == 1


async def test_an_error_instead_of_a_session_is_the_reason() -> None:
    call = Call()
    call.provider.greets = False
    opening = asyncio.ensure_future(call.open())
    await asyncio.sleep(0.1)
    call.link.say(ModelEvents.ModelErrorEvent(error_type="server_error", code="no_quota", message="no such key"))
    call.link.lose(3000, "x.no_quota")
    with pytest.raises(ProviderError, match="no such key") as caught:
        await opening
    assert caught.value.code == "no_quota"
    assert call.events == []


async def test_cancelling_the_opening_leaves_no_link() -> None:
    call = Call()
    call.provider.greets = False
    opening = asyncio.ensure_future(call.open())
    await asyncio.sleep(0.1)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert call.link.aborts == 1


async def test_delays_double_with_jitter_up_to_a_limit_then_it_gives_up_once(call: Call) -> None:
    """MEV-02: ended exactly once after the provider is gone for good."""
    call.provider.failures = [down() for _ in range(4)]
    call.link.lose()
    await asyncio.sleep(60)
    assert call.types == ["session_created", *["reconnecting"] * 4, "error", "session_ended"]
    tries = call.all(ModelEvents.ModelReconnectingEvent)
    assert [event.attempt for event in tries] == [1, 2, 3, 4]
    assert [event.reason for event in tries] == ["link_lost", *["provider_refused"] * 3]
    for event, full_ms in zip(tries, (1000, 2000, 3000, 3000), strict=True):
        assert full_ms / 2 <= event.retry_after_ms <= full_ms
    waits_ms = [round(1000 * (after - before)) for before, after in pairwise(call.provider.dialled_s)]
    assert waits_ms == [event.retry_after_ms for event in tries]
    call.wire.send(AudioCommit())
    await call.wire.close()
    assert call.types.count("session_ended") == 1


async def test_a_failure_that_no_retry_can_mend_ends_it_at_once(call: Call) -> None:
    call.provider.failures = [down("invalid_api_key", retryable=False)]
    call.link.lose()
    await asyncio.sleep(60)
    assert call.types == ["session_created", "reconnecting", "error", "session_ended"]
    error = call.events[-2]
    assert isinstance(error, ModelEvents.ModelErrorEvent)
    assert error.code == "invalid_api_key"


async def test_a_link_that_never_settles_uses_up_its_attempts(call: Call) -> None:
    while call.types[-1] != "session_ended":
        await asyncio.sleep(10)
        call.link.lose()
    assert call.types.count("reconnected") == LIMITS.attempts
    assert len(call.provider.links) == 1 + LIMITS.attempts


async def test_a_link_that_settled_starts_the_count_anew(call: Call) -> None:
    for _ in range(3 * LIMITS.attempts):
        await asyncio.sleep(100)
        call.link.lose()
    await asyncio.sleep(100)
    assert call.types.count("reconnected") == 3 * LIMITS.attempts


async def test_the_context_and_the_latest_settings_come_back() -> None:
    """MEV-17: the session that is named is the provider's connection, whose id changes while the call goes on."""
    items = [text_item("a")]
    call = Call(history=lambda: items)
    wire = await call.open()
    assert call.link.written == ["open be brief", "restore a"]
    wire.send(SessionUpdate(Settings(instructions="be long")))
    items.append(text_item("b"))
    call.link.lose()
    await asyncio.sleep(5)
    assert call.link.written == ["open be long", "restore a", "restore b"]
    gaps = [event.gap_ms for event in call.all(ModelEvents.ModelReconnectedEvent)]
    tries = [event.retry_after_ms for event in call.all(ModelEvents.ModelReconnectingEvent)]
    assert gaps == tries
    assert call.types.count("session_created") == 1
    assert call.events[0] == ModelEvents.ModelSessionCreatedEvent(session_id="sess_1")
    await wire.close()
    assert call.events[-1] == ModelEvents.ModelSessionEndedEvent(session_id="sess_2", reason="closed")


async def test_what_changes_while_a_session_is_being_opened_is_told_to_it() -> None:
    """The opening was written before: without this the provider would stay with the old settings for good."""
    call = Call(history=lambda: [text_item("a")])
    wire = await call.open()
    call.provider.greets = False
    call.link.lose()
    wire.send(SessionUpdate(Settings(instructions="first")))
    wire.send(ItemTruncate("a", 900))
    await asyncio.sleep(1)
    assert call.link.written == ["open first", "restore a"]
    wire.send(SessionUpdate(Settings(instructions="second")))
    wire.send(ItemTruncate("a", 500))
    call.link.say(ModelEvents.ModelSessionCreatedEvent(session_id="sess_2"))
    assert call.link.written == ["open first", "restore a", "SessionUpdate", "ItemTruncate"]
    await wire.close()


async def test_audio_of_the_gap_is_kept_up_to_ten_seconds_oldest_dropped(call: Call) -> None:
    call.link.lose()
    for second in range(12):
        call.wire.send(AudioAppend(SECOND[: 2000 - 2 * second]))
    call.wire.send(AudioCommit())
    await asyncio.sleep(5)
    kept = [f"audio {2000 - 2 * second}" for second in range(2, 12)]
    assert call.link.written == ["open be brief", *kept, "AudioCommit"]
    assert call.wire.dropped_audio_bytes == 2000 + 1998


async def test_after_a_dropped_link_speech_is_kept_and_waits_300_ms_beyond_the_handshake_at_most() -> None:
    call = Call(limits=WireLimits())
    wire = await call.open()
    call.provider.handshake_s = 0.4
    frame = AudioAppend(SECOND[:40])
    for lost_after in range(50):
        wire.send(frame)
        await asyncio.sleep(0.02)
        if lost_after == 24:
            call.link.lose()
    await asyncio.sleep(1)
    sent_to_both = [link.written[1:] for link in call.provider.links]
    reconnected = call.all(ModelEvents.ModelReconnectedEvent)
    assert [400 < event.gap_ms <= 400 + 300 for event in reconnected] == [True]
    assert [len(written) for written in sent_to_both] == [25, 25], "every frame went over one link or the other"
    await wire.close()


async def test_speech_is_placed_in_the_whole_stream_after_a_reconnect(call: Call) -> None:
    for _ in range(5):
        call.wire.send(AudioAppend(SECOND))
    call.link.say(started(4000))
    call.link.lose()
    call.wire.send(AudioAppend(SECOND))
    await asyncio.sleep(5)
    call.wire.send(AudioAppend(SECOND))
    call.link.say(started(500))
    call.link.say(ModelEvents.ModelInputDoneEvent(item_id="u", audio_end_ms=1500))
    starts = [event.audio_start_ms for event in call.all(ModelEvents.ModelInputStartedEvent)]
    assert starts == [4000, 5500]
    ends = [event.audio_end_ms for event in call.all(ModelEvents.ModelInputDoneEvent)]
    assert ends == [6500]


async def test_what_is_said_again_from_inside_the_news_comes_first_and_is_not_new_on_the_timeline(call: Call) -> None:
    for _ in range(5):
        call.wire.send(AudioAppend(SECOND))
    note = call.events.append

    def say_again(event: ModelEvent) -> None:
        note(event)
        if isinstance(event, ModelEvents.ModelReconnectingEvent):
            call.wire.send(AudioAppend(SECOND, again=True))
            call.wire.send(AudioCommit())

    call.wire._on_event = say_again
    call.link.lose()
    call.wire.send(AudioAppend(SECOND[:1000]))
    await asyncio.sleep(5)
    assert call.link.written == ["open be brief", "audio 2000", "AudioCommit", "audio 1000"]
    call.link.say(started(250))
    assert call.events[-1] == started(4250)


async def test_all_of_a_long_append_goes_out_although_the_link_fills_up_meanwhile(call: Call) -> None:
    call.link.can_write = False
    for _ in range(30):
        call.wire.send(AudioAppend(SECOND, follows=True))
    assert call.link.written[1:] == ["audio 2000"] * 30
    call.link.is_open = False
    call.wire.send(AudioAppend(SECOND, follows=True))
    assert len(call.link.written) == 31, "on a link that closes it would be lost"
    assert call.wire.dropped_audio_bytes == 0


async def test_what_waited_for_a_stalled_link_is_left_to_be_said_again(call: Call) -> None:
    call.link.can_write = False
    for message in (AudioAppend(SECOND), AudioCommit(), ResponseCreate(), ItemCreate(text_item("a"))):
        call.wire.send(message)
    call.link.lose()
    await asyncio.sleep(5)
    assert call.link.written == ["open be brief", "ItemCreate"]
    assert call.wire.dropped_audio_bytes == 0


async def test_messages_that_the_restored_context_holds_or_voids_are_not_repeated() -> None:
    items = [text_item("known"), Item(id="r", type="tool_result", tool_result=ToolResultBlock(id="call_1", name="f"))]
    call = Call(history=lambda: items)
    wire = await call.open()
    call.link.lose()
    for message in (
        ItemCreate(text_item("known")),
        ItemCreate(text_item("new")),
        ToolResult(ToolResultBlock(id="call_1", name="f")),
        ToolResult(ToolResultBlock(id="call_2", name="f")),
        ItemDelete("known"),
        ItemDelete("unknown"),
        ItemTruncate("known", 100),
        ResponseCancel(),
        SessionUpdate(Settings(instructions="now")),
        ResponseCreate(),
    ):
        wire.send(message)
    await asyncio.sleep(5)
    assert call.link.written == [
        "open now",
        "restore known",
        "restore r",
        "ItemCreate",
        "ToolResult",
        "ItemDelete",
        "ResponseCreate",
    ]
    await wire.close()


async def test_a_response_that_dies_with_the_link_is_reported_as_failed(call: Call) -> None:
    """MEV-04: done exactly once, also where the provider could not say so."""
    for response_id in ("resp_1", "resp_2"):
        call.link.say(ModelEvents.ModelResponseCreatedEvent(response_id=response_id))
    call.link.say(ModelEvents.ModelResponseDoneEvent(response_id="resp_1"))
    call.link.lose()
    done = call.all(ModelEvents.ModelResponseDoneEvent)
    assert [(event.response_id, event.status) for event in done] == [("resp_1", "completed"), ("resp_2", "failed")]
    assert done[1].status_details == {"type": "failed", "reason": "link_lost"}
    assert call.types[-2:] == ["response_done", "reconnecting"], "at once: nothing may be sent before the news"


async def test_closing_ends_a_running_response_first(call: Call) -> None:
    call.link.say(ModelEvents.ModelResponseCreatedEvent(response_id="resp_1"))
    await call.wire.close()
    assert call.types == ["session_created", "response_created", "response_done", "session_ended"]
    assert call.link.closes == 1


async def test_events_of_a_lost_or_closing_link_are_ignored(call: Call) -> None:
    first = call.link
    first.lose()
    first.say(started(1))
    await asyncio.sleep(5)
    first.say(started(2))
    await call.wire.close()
    call.link.say(started(3))
    call.link.lose()
    assert call.types == ["session_created", "reconnecting", "reconnected", "session_ended"]


async def test_closing_while_dialling_again_ends_it_and_leaves_no_task(call: Call) -> None:
    call.link.lose()
    await asyncio.sleep(0)
    await call.wire.close()
    await call.wire.close()
    assert call.types == ["session_created", "reconnecting", "session_ended"]
    await asyncio.sleep(60)
    assert len(call.provider.links) == 1


NO_MONEY = ModelEvents.ModelErrorEvent(error_type="provider_error", code="insufficient_quota", message="no money")


@pytest.mark.parametrize(
    ("told", "code", "reason", "types"),
    [
        ([], 1000, "closed", ["session_ended"]),
        ([], 3000, "insufficient_quota", ["error", "session_ended"]),
        ([NO_MONEY], 3000, "insufficient_quota", ["error", "session_ended"]),
    ],
    ids=["clean", "for good", "for good and told before"],
)
async def test_an_end_by_the_provider_is_told_once_and_an_error_unless_it_is_clean(
    call: Call, told: list[ModelEvent], code: int, reason: str, types: list[str]
) -> None:
    """MEV-02: ended after provider close."""
    for event in told:
        call.link.say(event)
    call.link.lose(code, reason)
    assert call.types == ["session_created", *types]


async def test_a_stalled_provider_loses_the_oldest_audio_and_no_control(call: Call) -> None:
    call.link.can_write = False
    call.wire.send(AudioCommit())
    for _ in range(12):
        call.wire.send(AudioAppend(SECOND))
    call.wire.send(ResponseCreate())
    assert call.link.written == ["open be brief"]
    assert call.wire.dropped_audio_bytes == 2 * len(SECOND)
    call.link.can_write = True
    call.link.receiver.writable()
    assert call.link.written == ["open be brief", "AudioCommit", *["audio 2000"] * 10, "ResponseCreate"]
    call.link.say(started(500))
    assert call.events[-1] == started(2500)


async def test_nothing_overtakes_what_waits(call: Call) -> None:
    call.link.can_write = False
    call.wire.send(AudioCommit())
    call.link.can_write = True
    call.wire.send(ResponseCreate())
    call.link.receiver.writable()
    assert call.link.written[1:] == ["AudioCommit", "ResponseCreate"]


async def test_too_many_waiting_control_messages_end_the_session() -> None:
    call = Call(WireLimits(max_waiting_messages=5))
    wire = await call.open()
    call.link.can_write = False
    for _ in range(7):
        wire.send(AudioAppend(SECOND))
    for _ in range(6):
        wire.send(AudioCommit())
    assert call.types == ["session_created", "error", "session_ended"]
    assert call.link.aborts == 1
    await wire.close()
    assert call.types[-1] == "session_ended"


async def test_faults_cost_one_frame_or_event_and_no_content_is_logged(
    call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    kept = call.events.append

    def fails_on_speech(event: ModelEvent) -> None:
        if isinstance(event, ModelEvents.ModelInputStartedEvent):
            raise ValueError("secret words")
        kept(event)

    call.wire._on_event = fails_on_speech
    call.link.say(started(1))
    call.link.receiver.received(b"secret words", True)
    call.wire.send(ItemDelete("bad"))
    call.wire.send(AudioCommit())
    call.link.say(ModelEvents.ModelInputClearedEvent())
    assert call.wire.faults == 3
    assert call.types == ["session_created", "input_cleared"]
    assert call.link.written[-1] == "AudioCommit"
    assert "on_event raised ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_broken_history_ends_the_session_rather_than_hang() -> None:
    items: list[Item] = []

    def history() -> list[Item]:
        if items:
            raise KeyError("gone")
        return items

    call = Call(history=history)
    await call.open()
    items.append(text_item("a"))
    call.link.lose()
    await asyncio.sleep(60)
    assert call.types == ["session_created", "reconnecting", "error", "session_ended"]


@pytest.mark.parametrize("begun", [False, True], ids=["asked", "begun"])
async def test_a_provider_that_owes_an_answer_and_says_nothing_for_a_minute_is_dialled_again(
    call: Call, begun: bool
) -> None:
    await asyncio.sleep(500)
    assert call.types == ["session_created"], "silence is no fault where nothing is owed"
    first = call.link
    call.wire.send(ResponseCreate())
    if begun:
        await asyncio.sleep(50)
        first.say(ModelEvents.ModelResponseCreatedEvent(response_id="resp_1"))
    await asyncio.sleep(59)
    assert "reconnecting" not in call.types
    await asyncio.sleep(35)
    news = call.all(ModelEvents.ModelReconnectingEvent)
    assert [event.reason for event in news] == ["provider_silent"]
    assert call.types[-1] == "reconnected"
    assert first.aborts == 1


async def test_an_answer_that_keeps_coming_or_is_over_is_no_silence(call: Call) -> None:
    call.wire.send(ResponseCreate())
    call.link.say(ModelEvents.ModelResponseCreatedEvent(response_id="resp_1"))
    for _ in range(10):
        await asyncio.sleep(29)
        call.link.say(ModelEvents.ModelInputClearedEvent())
    call.link.say(ModelEvents.ModelResponseDoneEvent(response_id="resp_1"))
    await asyncio.sleep(500)
    call.wire.send(ResponseCreate())
    call.link.say(ModelEvents.ModelErrorEvent(error_type="server_error", code="overloaded", message="later"))
    await asyncio.sleep(500)
    assert "reconnecting" not in call.types


async def test_reading_is_paused_and_stays_so_over_a_reconnect(call: Call) -> None:
    seen = []
    call.wire.pause_reading()
    seen.append(call.link.reading)
    call.link.lose()
    await asyncio.sleep(5)
    seen.append(call.link.reading)
    call.wire.resume_reading()
    seen.append(call.link.reading)
    assert seen == [False, False, True]
