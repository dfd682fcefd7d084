"""Providers that misbehave, each over a real socket: what it costs, what is logged, and who is told."""

from __future__ import annotations

import logging
from http import HTTPStatus

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from realtime.errors import ProviderError
from realtime.event import ModelEvents
from realtime.model.base import ResponseCreate, Settings
from realtime.model.link_limits import WireLimits
from realtime.model.services import SERVICES
from realtime.runtime import Runtime
from tests.model.grammar import check_grammar
from tests.model.providers import FAKES, GEMINI, KEY, WITH_TOOLS, Fake, Talk, talk

PCM = b"\x01\x02" * 12_000
SECRET = "my mother's maiden name"
each = pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)


async def answers(made: Talk, number: int = 1) -> None:
    """The session still works: it speaks and is heard."""
    done = len(made.all(ModelEvents.ModelResponseDoneEvent))
    await made.fake.speak(await made.session(number), "All is well.", PCM)
    await made.until(ModelEvents.ModelResponseDoneEvent, done + 1)
    heard = b"".join(event.delta for event in made.all(ModelEvents.ModelResponseAudioDeltaEvent))
    assert heard.endswith(PCM)


@each
@pytest.mark.parametrize(
    "frame",
    [
        "{",
        '{"type": "response.done", "serverContent": ',
        f'["{SECRET}"]',
        '"' + "x" * 5_000 + '"',
        "\\u0000",
        b"\xff\xfe\x00" * 50,
        "[" * 100_000,
    ],
    ids=["brace", "cut", "list", "text", "escape", "bytes", "deep"],
)
async def test_malformed_json_is_logged_by_size_and_costs_nothing(
    fake: Fake, frame: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "realtime")
    async with talk(fake) as made:
        await (await made.session()).socket.send(frame)
        await answers(made)
        assert made.all(ModelEvents.ModelErrorEvent) == []
        assert made.all(ModelEvents.ModelReconnectingEvent) == []
    ignored = [record.getMessage() for record in caplog.records if "ignored" in record.getMessage()]
    assert any(f"bytes={len(frame)}" in line for line in ignored), ignored
    assert SECRET not in caplog.text


@each
async def test_unknown_events_are_logged_by_type_and_size_and_cost_nothing(
    fake: Fake, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "realtime")
    frame = fake.unknown_frame(SECRET)
    async with talk(fake) as made:
        await (await made.session()).socket.send(frame)
        await answers(made)
    (line,) = [record.getMessage() for record in caplog.records if "unknown frame" in record.getMessage()]
    assert "telepathy" in line
    assert f"bytes={len(frame)}" in line
    assert SECRET not in caplog.text


@each
async def test_half_a_frame_and_a_close_are_a_lost_link(fake: Fake) -> None:
    async with talk(fake) as made:
        session = await made.session()
        await fake.begin(session, "I was just", PCM)
        await made.until(ModelEvents.ModelResponseAudioDeltaEvent)
        session.socket.transport.write(b"\x81\x7e\x10\x00" + b'{"type":"respo')
        session.socket.transport.close()
        news = await made.until(ModelEvents.ModelReconnectingEvent)
        assert news.reason == "link_lost"
        await made.until(ModelEvents.ModelReconnectedEvent)
        (done,) = made.all(ModelEvents.ModelResponseDoneEvent)
        assert (done.status, done.status_details) == ("failed", {"type": "failed", "reason": "link_lost"})
        await answers(made, 2)


@each
async def test_a_frame_of_20_mb_costs_the_link_and_says_why(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "realtime")
    async with talk(fake) as made:
        session = await made.session()
        try:
            await session.socket.send("x" * 20_000_000)
        except ConnectionClosed:
            pass  # it was closed while it was still being sent
        news = await made.until(ModelEvents.ModelReconnectingEvent)
        assert news.reason == "message_too_big"
        await made.until(ModelEvents.ModelReconnectedEvent)
        await answers(made, 2)
    assert "close=1009 code=message_too_big" in caplog.text
    assert "xxxx" not in caplog.text


@each
async def test_a_provider_that_owes_an_answer_and_is_silent_is_dialled_again(fake: Fake) -> None:
    limits = WireLimits(first_delay_s=0.02, silence_s=0.2)
    async with talk(fake, limits=limits) as made:
        await made.session()
        made.connection.send(ResponseCreate())
        news = await made.until(ModelEvents.ModelReconnectingEvent)
        assert news.reason == "provider_silent"
        await made.until(ModelEvents.ModelReconnectedEvent)
        await answers(made, 2)


@pytest.mark.parametrize("fake", WITH_TOOLS, ids=lambda fake: fake.name)
async def test_two_calls_with_one_id_keep_their_order_and_break_nothing(fake: Fake) -> None:
    async with talk(fake) as made:
        session = await made.session()
        await fake.call_tool(session, "call_1", "call_1")
        await made.until(ModelEvents.ModelResponseToolUseDoneEvent, 2)
        calls = [event.tool_use for event in made.all(ModelEvents.ModelResponseToolUseDoneEvent)]
        assert [(call.id, call.name) for call in calls] == [("call_1", "get_time")] * 2
        if fake is not GEMINI:
            await made.until(ModelEvents.ModelResponseDoneEvent, 2)


@each
async def test_audio_of_a_response_that_never_began_or_is_over_breaks_nothing(fake: Fake) -> None:
    async with talk(fake) as made:
        session = await made.session()
        await fake.speak(session, "First.", PCM)
        await made.until(ModelEvents.ModelResponseDoneEvent)
        await fake.late_audio(session)
        await session.socket.send("{")
        await answers(made)
        if fake is GEMINI:
            check_grammar(made.events, output_rate_hz=24_000)
        assert made.all(ModelEvents.ModelErrorEvent) == []


@each
@pytest.mark.parametrize("status", [401, 403, 429])
async def test_a_wrong_key_is_one_sentence_that_names_the_variable_and_too_many_handshakes_may_be_tried_again(
    fake: Fake, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)

    class Closed:
        base_url: str

    async with serve(
        lambda socket: socket.wait_closed(),
        "127.0.0.1",
        0,
        process_request=lambda connection, request: connection.respond(HTTPStatus(status), f"bad key {KEY}"),
    ) as server:
        service = Closed()
        service.base_url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await fake.model(service).connect(
                settings=Settings(), on_event=lambda event: None, history=tuple, runtime=Runtime()
            )
    if status == 429:
        assert (caught.value.code, caught.value.retryable) == ("rate_limit_exceeded", True)
    else:
        assert caught.value.code == "invalid_api_key"
        assert SERVICES[fake.name].key_variables[0] in caught.value.message
        assert caught.value.message.count(".") == 0
    assert KEY not in caught.value.message


@each
async def test_a_key_that_is_refused_after_the_upgrade_names_the_variable_too(fake: Fake) -> None:
    async with talk(fake) as made:
        session = await made.session()
        await fake.refuse_key(session)
        await made.until(ModelEvents.ModelSessionEndedEvent)
        (error_event,) = made.all(ModelEvents.ModelErrorEvent)
        assert error_event.code == "invalid_api_key"
        assert SERVICES[fake.name].key_variables[0] in error_event.message
        assert KEY not in error_event.message
        assert made.all(ModelEvents.ModelReconnectingEvent) == []
