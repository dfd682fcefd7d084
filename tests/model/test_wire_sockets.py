"""The wire on real loopback sockets: what it does with each fault that a network and a provider can have."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import socket
import warnings
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection
from websockets.utils import accept_key

import realtime
from realtime.errors import ProviderError
from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart
from realtime.event.decode import classes_by_type
from realtime.model._one_request import OneRequest
from realtime.model.base import Address, AudioAppend, AudioCommit, Connection, Frame, ResponseCreate, Settings
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import Wire, WireLimits, dial_websocket
from realtime.runtime import Runtime
from realtime.slices import SLICE_S, slices_of
from realtime.websocket import TEXT, server_frame
from tests.conftest import TURNS_TO_END
from tests.model.emulator import Emulator, Session
from tests.model.grammar import check_grammar
from tests.model.loopback import PATIENCE_S
from tests.model.providers import KEY, LIMITS
from tests.volumes import volume

CHUNK = AudioAppend(b"\1\0" * 960)
MEGABYTE = AudioAppend(bytes(1_000_000))


class Call:
    """An OpenAI model on the emulator, and what it reported."""

    def __init__(self, provider: Emulator, limits: WireLimits = LIMITS) -> None:
        self.events: list[ModelEvent] = []
        self.items: list[Item] = []
        self.tapped: list[tuple[str, Frame, int]] = []
        self.on_event: Callable[[ModelEvent], None] = self.events.append
        self._reported = asyncio.Event()
        self.model = OpenAIRealtimeModel(
            api_key=KEY,
            base_url=provider.base_url,
            limits=limits,
            tap=lambda direction, frame, ts_ms: self.tapped.append((direction, frame, ts_ms)),
        )

    async def open(self) -> Wire:
        connection: Connection = await self.model.connect(
            settings=Settings(instructions="be brief"),
            on_event=self._note,
            history=lambda: self.items,
            runtime=Runtime(),
        )
        assert isinstance(connection, OneRequest)
        assert isinstance(connection.below, Wire)
        return connection.below

    def _note(self, event: ModelEvent) -> None:
        self._reported.set()
        self.on_event(event)

    @property
    def types(self) -> list[str]:
        return [event.type.removeprefix("model_") for event in self.events]

    async def until(self, kind: str, count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.types.count(kind) < count:
                self._reported.clear()
                await self._reported.wait()


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator


@pytest.fixture
def call(provider: Emulator) -> Call:
    return Call(provider)


@pytest_asyncio.fixture
async def wire(call: Call) -> AsyncIterator[Wire]:
    """The open wire of the call, closed in the end."""
    opened = await call.open()
    yield opened
    await opened.close()


async def test_a_session_opens_speaks_and_closes(provider: Emulator, call: Call, wire: Wire) -> None:
    """MEV-01: created after connect. MEV-02: ended after disconnect."""
    assert call.types[0] == "session_created"
    session = await provider.session()
    assert session.header("Authorization") == f"Bearer {KEY}"
    wire.send(CHUNK)
    await session.until("input_audio_buffer.append")
    assert session.kinds[0] == "session.update"
    assert session.audio == CHUNK.pcm
    await session.hear("item_u", start_ms=400, end_ms=900, transcript="how are you")
    await session.speak("resp_1", "item_a", "Well, thank you.", b"\1\0" * 24_000)
    await call.until("response_done")
    await wire.close()
    check_grammar(call.events, output_rate_hz=24_000)
    assert call.events[-1] == ModelEvents.ModelSessionEndedEvent(session_id="sess_1", reason="closed")


async def test_long_bursts_arrive_whole_and_in_order(provider: Emulator, call: Call, wire: Wire) -> None:
    session = await provider.session()
    pcm = b"".join(number.to_bytes(2, "little") for number in range(60_000)) * 10
    await session.speak("resp_1", "item_a", "words " * 50, pcm)
    await call.until("response_done")
    deltas = [event.delta for event in call.events if isinstance(event, ModelEvents.ModelResponseAudioDeltaEvent)]
    assert b"".join(deltas) == pcm


async def test_what_is_sent_arrives_whole_and_in_order(provider: Emulator, call: Call, wire: Wire) -> None:
    session = await provider.session()
    for number in range(2000):
        wire.send(AudioAppend(number.to_bytes(2, "little") * 960))
        if number % 100 == 0:
            await asyncio.sleep(0)
    wire.send(AudioCommit())
    await session.until("input_audio_buffer.commit")
    assert session.audio == b"".join(number.to_bytes(2, "little") * 960 for number in range(2000))
    assert wire.dropped_audio_bytes == 0


async def test_a_healthy_session_has_no_task_of_ours_and_reports_events_in_the_read_callback(
    provider: Emulator, call: Call, wire: Wire
) -> None:
    ours = str(Path(realtime.__file__).parent)
    codes = [getattr(task.get_coro(), "cr_code", None) for task in asyncio.all_tasks()]
    assert [code for code in codes if code is not None and code.co_filename.startswith(ours)] == []
    session = await provider.session()
    tasks: list[asyncio.Task[object] | None] = []

    def note(event: ModelEvent) -> None:
        tasks.append(asyncio.current_task())
        call.events.append(event)

    call.on_event = note
    await session.send("input_audio_buffer.cleared")
    await call.until("input_cleared")
    assert {*tasks} == {None}


async def test_fragmented_and_binary_messages_are_read(provider: Emulator, call: Call, wire: Wire) -> None:
    session = await provider.session()
    await session.socket.send(['{"type":"input_audio_', "buffer.clea", 'red"}'])
    await session.socket.send(b'{"type":"input_audio_buffer.cleared"}')
    await session.socket.send([b'{"type":"input_audio_buffer', b'.cleared"}'])
    await call.until("input_cleared", 3)
    received = [frame for direction, frame, _ in call.tapped if direction == "received" and b"cleared" in _bytes(frame)]
    assert [type(frame) for frame in received] == [str, bytes, bytes]


async def test_the_tap_sees_every_frame_and_no_key(provider: Emulator, call: Call, wire: Wire) -> None:
    wire.send(CHUNK)
    await (await provider.session()).until("input_audio_buffer.append")
    await wire.close()
    assert len([direction for direction, _, _ in call.tapped if direction == "sent"]) == 2
    assert {direction for direction, _, _ in call.tapped} == {"sent", "received"}
    assert all(ts_ms >= 0 for _, _, ts_ms in call.tapped)
    assert not any(KEY.encode() in _bytes(frame) for _, frame, _ in call.tapped)


async def test_a_dropped_link_comes_back_with_context_and_the_audio_of_the_gap(
    provider: Emulator, call: Call, wire: Wire
) -> None:
    """MEV-16: no events for the WebSocket itself; created, reconnecting, reconnected and ended say all of it."""
    session = await provider.session()
    wire.send(CHUNK)
    await session.until("input_audio_buffer.append")
    call.items = [Item(id="item_1", role="user", content=(ContentPart(type="audio", transcript="hello"),))]
    session.drop()
    await call.until("reconnecting")
    wire.send(AudioAppend(b"\7\0" * 960))
    await call.until("reconnected")
    wire.send(ResponseCreate())
    again = await provider.session(2)
    await again.until("response.create")
    assert again.kinds == [
        "session.update",
        "conversation.item.create",
        "input_audio_buffer.append",
        "response.create",
    ]
    assert again.frames[1]["item"]["content"] == [{"type": "input_text", "text": "hello"}]
    assert again.audio == b"\7\0" * 960
    await wire.close()
    links = [name for name in call.types if name != "session_updated"]
    assert links == ["session_created", "reconnecting", "reconnected", "session_ended"]
    # Everything else in the vocabulary is about what is said, about items and settings, or an error.
    others = {*classes_by_type(ModelEvent)} - {f"model_{name}" for name in links}
    about = ("model_response_", "model_input_", "model_item_")
    assert {name for name in others if not name.startswith(about)} == {"model_session_updated", "model_error"}


@pytest.mark.parametrize("code", [1001, 1011, 1012, 1013])
async def test_closes_that_pass_are_dialled_again(provider: Emulator, call: Call, wire: Wire, code: int) -> None:
    await (await provider.session()).close(code, "Your session hit the maximum duration of 60 minutes.")
    await call.until("reconnected")
    reasons = [event.reason for event in call.events if isinstance(event, ModelEvents.ModelReconnectingEvent)]
    assert reasons == ["session_expired" if code == 1001 else "link_lost"]


@pytest.mark.parametrize(
    ("code", "reason", "events", "ended"),
    [
        (1000, "", [], "closed"),
        (3000, "invalid_request_error.invalid_api_key", ["error"], "invalid_api_key"),
        (4000, "invalid_request_error.beta_api_shape_disabled", ["error"], "beta_api_shape_disabled"),
        (1008, "", ["error"], "provider_closed"),
    ],
)
async def test_closes_that_stay_end_the_session_once(
    provider: Emulator, call: Call, wire: Wire, code: int, reason: str, events: list[str], ended: str
) -> None:
    """MEV-02: ended after provider close."""
    await call.until("session_updated")
    await (await provider.session()).close(code, reason)
    await call.until("session_ended")
    await wire.close()
    assert call.types == ["session_created", "session_updated", *events, "session_ended"]
    assert call.events[-1] == ModelEvents.ModelSessionEndedEvent(session_id="sess_1", reason=ended)
    assert len(provider.sessions) == 1


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (HTTPStatus.UNAUTHORIZED, "invalid_api_key", False),
        (HTTPStatus.FORBIDDEN, "invalid_api_key", False),
        (HTTPStatus.NOT_FOUND, "model_not_found", False),
        (HTTPStatus.TOO_MANY_REQUESTS, "rate_limit_exceeded", True),
        (HTTPStatus.SERVICE_UNAVAILABLE, "provider_unavailable", True),
        (HTTPStatus.BAD_REQUEST, "provider_handshake", False),
    ],
)
async def test_a_refused_handshake_is_explained(
    provider: Emulator, call: Call, status: HTTPStatus, code: str, retryable: bool
) -> None:
    provider.refuse = (status, {})
    with pytest.raises(ProviderError) as caught:
        await call.open()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert ("OPENAI_API_KEY" if code == "invalid_api_key" else str(status.value)) in caught.value.message
    assert KEY not in repr(caught.value)
    assert call.events == []


async def test_the_key_is_not_carried_to_another_place(provider: Emulator, call: Call) -> None:
    async with Emulator() as elsewhere:
        target = elsewhere.base_url.replace("http", "ws", 1) + "/realtime"
        provider.refuse = (HTTPStatus.TEMPORARY_REDIRECT, {"Location": target})
        with pytest.raises(ProviderError) as caught:
            await call.open()
        assert caught.value.code == "provider_handshake"
        assert elsewhere.sessions == []


async def test_a_wrong_key_told_after_the_upgrade_is_an_error_of_connect() -> None:
    async def refuse(session: Session) -> None:
        error = {"type": "invalid_request_error", "code": "invalid_api_key", "message": f"Incorrect key: {KEY}"}
        await session.send("error", error=error | {"param": None, "event_id": None})
        await session.close(3000, "invalid_request_error.invalid_api_key")

    async with Emulator(on_open=refuse) as provider:
        call = Call(provider)
        with pytest.raises(ProviderError) as caught:
            await call.open()
    assert (caught.value.code, caught.value.retryable) == ("invalid_api_key", False)
    assert KEY not in str(caught.value)
    assert call.events == []


async def test_nobody_listening_no_such_name_and_no_address_are_told_apart() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        cases = {
            f"ws://127.0.0.1:{port}": "provider_refused",
            "ws://nowhere.invalid/": "provider_dns",
            "http://127.0.0.1/?key=secret": "provider_address",
            "ws://[broken/?key=secret": "provider_address",
            "ws://127.0.0.1:99999/?key=secret": "provider_address",
        }
        for url, code in cases.items():
            with pytest.raises(ProviderError) as caught:
                await dial_websocket(Address(url), _Nobody(), LIMITS)
            assert caught.value.code == code, url
            assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r}"


async def test_a_provider_that_never_answers_the_handshake_times_out() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"ws://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(ProviderError) as caught:
            await dial_websocket(Address(url), _Nobody(), WireLimits(open_timeout_s=0.05))
    assert (caught.value.code, caught.value.retryable) == ("provider_timeout", True)


async def stay_silent(session: Session) -> None:
    """A provider that says nothing by itself."""


async def test_a_link_keeps_no_key_and_understands_control_frames_after_the_handshake(provider: Emulator) -> None:
    provider.on_open = stay_silent
    address = Address(provider.base_url.replace("http", "ws", 1) + "/realtime", headers=(("Authorization", KEY),))
    link = await dial_websocket(address, _Nobody(), LIMITS)
    assert isinstance(link, ClientConnection)
    assert KEY not in f"{link.request} {link.response}"
    pong = await link.ping()
    await asyncio.wait_for(pong, PATIENCE_S)
    assert link.can_write
    await link.close()


async def test_a_close_behind_a_burst_ends_the_link_though_the_socket_ended_before_it_was_read() -> None:
    async def say_much_and_leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line.split(": ")[1] for line in head.splitlines() if line.lower().startswith("sec-websocket-key"))
        answer = ("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
        writer.write("\r\n".join((*answer, f"Sec-WebSocket-Accept: {accept_key(key)}", "", "")).encode())
        writer.write(server_frame(TEXT, b"{}") * 50 + server_frame(8, b"\x03\xe9going away"))
        writer.close()

    ticks = itertools.count()
    slices_of(asyncio.get_running_loop(), lambda: next(ticks) * SLICE_S / 5)
    receiver = _Receiver()
    async with await asyncio.start_server(say_much_and_leave, "127.0.0.1", 0) as server:
        address = Address(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        link = await dial_websocket(address, receiver, LIMITS)
        assert isinstance(link, ClientConnection)
        async with asyncio.timeout(PATIENCE_S):
            await link.wait_closed()
    assert (receiver.messages, receiver.ends) == (50, [(1001, "going away")])


async def test_a_provider_that_drops_the_handshake_may_be_tried_again() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ProviderError) as caught:
            await dial_websocket(Address(url), _Nobody(), LIMITS)
    assert caught.value.retryable


async def test_a_stalled_provider_costs_bounded_memory_and_old_audio_only(
    provider: Emulator, call: Call, wire: Wire
) -> None:
    session = await provider.session()
    session.stall()
    for _ in range(40):
        wire.send(MEGABYTE)
        await asyncio.sleep(0)
    wire.send(AudioCommit())
    assert wire.dropped_audio_bytes > 20_000_000
    assert sum(len(message.pcm) for message in wire._waiting.messages if isinstance(message, AudioAppend)) <= 480_000
    session.go_on()
    await session.until("input_audio_buffer.commit")
    assert session.kinds[-1] == "input_audio_buffer.commit"


async def test_a_message_beyond_the_limit_costs_the_link_not_the_session(provider: Emulator) -> None:
    call = Call(provider, WireLimits(first_delay_s=0.02, max_message_bytes=10_000, close_timeout_s=0.3))
    wire = await call.open()
    await (await provider.session()).send("error", error={"type": "x", "message": "long " * 4000})
    await call.until("reconnected")
    await wire.close()


async def test_reading_can_be_paused(provider: Emulator, call: Call, wire: Wire) -> None:
    await call.until("session_updated")
    session = await provider.session()
    wire.pause_reading()
    wire.pause_reading()
    await session.send("input_audio_buffer.cleared")
    wire.send(CHUNK)
    await session.until("input_audio_buffer.append")
    await asyncio.sleep(0)
    assert "input_cleared" not in call.types
    wire.resume_reading()
    await call.until("input_cleared")
    wire.pause_reading()


async def test_an_exception_of_the_listener_does_not_harm_the_link(provider: Emulator, call: Call, wire: Wire) -> None:
    session = await provider.session()
    await call.until("session_updated")

    def fail_once(event: ModelEvent) -> None:
        call.on_event = call.events.append
        raise RuntimeError("secret")

    call.on_event = fail_once
    await session.send("input_audio_buffer.cleared")
    await session.send("input_audio_buffer.cleared")
    await call.until("input_cleared")
    assert wire.faults == 1


async def test_close_is_idempotent_and_nothing_is_sent_after_it(provider: Emulator, call: Call, wire: Wire) -> None:
    session = await provider.session()
    await asyncio.gather(wire.close(), wire.close())
    await wire.close()
    wire.send(AudioCommit())
    await session.socket.wait_closed()
    assert session.socket.close_code == 1000
    assert "input_audio_buffer.commit" not in session.kinds
    assert call.types.count("session_ended") == 1


@pytest.mark.parametrize("cancelled", [False, True])
async def test_closing_does_not_wait_for_a_stalled_provider_and_releases_everything_also_when_it_is_cancelled(
    provider: Emulator, call: Call, wire: Wire, cancelled: bool
) -> None:
    session = await provider.session()
    session.stall()
    for _ in range(10):
        wire.send(MEGABYTE)
    closing = asyncio.ensure_future(wire.close())
    if cancelled:
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
    else:
        await asyncio.wait_for(closing, PATIENCE_S)
    assert call.types[-1] == "session_ended"
    session.go_on()
    await session.socket.wait_closed()


async def test_a_cancelled_connect_leaves_nothing_open() -> None:
    async def say_nothing(session: Session) -> None:
        return None

    async with Emulator(on_open=say_nothing) as provider:
        opening = asyncio.ensure_future(Call(provider).open())
        session = await provider.session()
        await session.until("session.update")
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await session.socket.wait_closed()


async def test_many_calls_leave_no_task_and_no_socket(provider: Emulator) -> None:
    process = psutil.Process()

    async def left_after(n_calls: int) -> tuple[int, int]:
        for number in range(n_calls):
            call = Call(provider)
            wire = await call.open()
            wire.send(CHUNK)
            if number % 3 == 0:
                provider.sessions[-1].drop()
                await call.until("reconnecting")
            await wire.close()
            assert call.types.count("session_ended") == 1
        for session in provider.sessions:
            await session.socket.wait_closed()
        for _ in range(TURNS_TO_END):
            await asyncio.sleep(0)
        return len(asyncio.all_tasks()), process.num_fds()

    after_one = await left_after(1)
    assert await left_after(volume(50, 200)) == after_one
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()


async def test_the_key_is_in_no_log_no_repr_and_no_error(
    provider: Emulator, call: Call, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    """RTM-19: the key is never logged."""
    caplog.set_level(logging.DEBUG)
    session = await provider.session()
    message = f"Incorrect API key provided: {KEY}. Or sk-proj-ab**********cd?"
    await session.send("error", error={"type": "invalid_request_error", "code": "odd", "message": message})
    await call.until("error")
    session.drop()
    await call.until("reconnected")
    await wire.close()
    client_logs = [
        f"{record.getMessage()}" for record in caplog.records if not record.name.startswith("websockets.server")
    ]
    assert client_logs
    codec = wire._make_codec()
    said = [
        *client_logs,
        repr(call.model),
        repr(wire),
        repr(codec),
        repr(codec.address(Settings())),
        *map(repr, call.events),
    ]
    assert not [text for text in said if KEY in text or "sk-proj" in text]


class _Nobody:
    def received(self, data: bytes, is_text: bool) -> None:
        raise AssertionError("nothing can be received")

    def writable(self) -> None:
        raise AssertionError("nothing can be written")

    def lost(self, code: int, reason: str) -> None:
        return None


class _Receiver:
    def __init__(self) -> None:
        self.messages = 0
        self.ends: list[tuple[int, str]] = []

    def received(self, data: bytes, is_text: bool) -> None:
        self.messages += 1

    def writable(self) -> None:
        """Nothing is written."""

    def lost(self, code: int, reason: str) -> None:
        self.ends.append((code, reason))


def _bytes(frame: Frame) -> bytes:
    return frame.encode() if isinstance(frame, str) else frame
