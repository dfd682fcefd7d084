"""One client's socket, in virtual time: what is written when, what is refused, and what is left afterwards."""

import asyncio
import json
import logging
from typing import Any
from unittest.mock import MagicMock

import pytest
from starlette.websockets import WebSocketDisconnect

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import ProviderError
from realtime.event.config import SessionConfig
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot
from realtime.server.client_socket import MAX_FAULTS
from realtime.server.make_agent import make_agent_of
from realtime.server.settings import ServerSettings
from realtime.server.sink import SocketSink
from tests.agent.fakes import FakeModel
from tests.server.harness import FakeSocket, audio_append, create, echo_agent
from tests.server.steps import END, TEXT, calling, friday

pytestmark = pytest.mark.virtual_time(limit_s=7_200)


# -- the sink ----------------------------------------------------------------------------------------------------------


class Wire:
    """A send that waits while `open` is not set."""

    def __init__(self, *, is_open: bool = True, error: Exception | None = None) -> None:
        self.open = asyncio.Event()
        if is_open:
            self.open.set()
        self.sent: list[Any] = []
        self.error = error
        self.sink = SocketSink(self.send, lambda: None)

    async def send(self, message: Any) -> None:
        await self.open.wait()
        if self.error is not None:
            raise self.error
        self.sent.append(message.get("text") or message.get("bytes") or message["code"])


async def test_a_frame_is_out_when_write_returns_and_no_task_was_needed() -> None:
    wire, tasks = Wire(), asyncio.all_tasks()
    assert wire.sink.write("one")
    assert wire.sink.write(b"two")
    assert wire.sent == ["one", b"two"]
    assert asyncio.all_tasks() == tasks


async def test_a_frame_that_the_socket_does_not_take_is_out_once_finish_returns() -> None:
    """Also where waiting for it was given up in between."""
    wire = Wire(is_open=False)
    assert not wire.sink.write("one")
    finishing = asyncio.create_task(wire.sink.finish())
    await asyncio.sleep(1)
    assert not finishing.done()
    finishing.cancel()
    await asyncio.wait([finishing])
    wire.open.set()
    await wire.sink.finish()
    assert wire.sent == ["one"]
    assert wire.sink.write("two")
    assert wire.sent == ["one", "two"]


async def test_what_is_written_behind_a_waiting_frame_keeps_its_order() -> None:
    wire = Wire(is_open=False)
    assert not wire.sink.write("one")
    assert not wire.sink.write("two")
    wire.sink.close(1013, "too slow")
    wire.open.set()
    with pytest.raises(ConnectionError):
        await wire.sink.finish()
    assert wire.sent == ["one", "two", 1013]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("error", [OSError(), WebSocketDisconnect(1006), RuntimeError("closed")])
async def test_a_client_that_is_gone_is_no_error_of_the_writer(error: Exception, waits: bool) -> None:
    wire = Wire(is_open=not waits, error=error)
    assert wire.sink.write("one") is not waits
    assert wire.sink.write("two") is not waits
    wire.open.set()
    with pytest.raises(ConnectionError):
        await wire.sink.finish()


async def test_abandoning_leaves_no_task_and_closes_the_send() -> None:
    wire, tasks = Wire(is_open=False), asyncio.all_tasks()
    wire.sink.write("one")
    await wire.sink.abandon()
    assert asyncio.all_tasks() == tasks
    wire.open.set()
    await asyncio.sleep(1)
    assert wire.sent == []


# -- making calls ------------------------------------------------------------------------------------------------------


def is_over(client: FakeSocket) -> bool:
    return client.serving is not None and client.serving.done()


def connecting() -> FakeModel:
    """A model that is not connected before `connecting` is set."""
    model = FakeModel()
    model.connecting = asyncio.Event()
    return model


async def test_a_create_is_answered_by_session_created_then_agent_ready_and_an_update_by_the_new_settings() -> None:
    """SEV-01, AMB-49: the answer to client_session_create. SEV-02: a config change during a session."""
    async with FakeSocket() as client:
        client.say(create(instructions="You're a helpful assistant.", user_name="User1"))
        await client.until("agent_ready")
        created, ready = client.sent
        assert (created["type"], created["session_id"]) == ("server_session_created", "session1")
        assert created["call_id"].startswith("call_")
        assert (ready["type"], ready["model"]["provider"]) == ("agent_ready", "scripted")
        assert (created["seq"], ready["seq"]) == (1, 2)
        client.say({"type": "client_session_update", "config": {"instructions": "Be brief."}})
        updated = await client.until("server_session_updated")
        assert (updated["session_id"], updated["config"]) == ("session1", {"instructions": "Be brief."})


async def test_the_end_of_a_call_is_its_last_event_and_the_next_call_may_follow_at_once() -> None:
    """SEV-03: after client_session_end, the last event."""
    async with FakeSocket() as client:
        client.say(create(), END, create())
        await client.until("agent_ready", 2)
        assert client.types == [
            *("server_session_created", "agent_ready", "agent_ended", "server_session_ended"),
            *("server_session_created", "agent_ready"),
        ]
        first, second = (event["call_id"] for event in client.sent if event["type"] == "server_session_created")
        assert first != second
        assert client.calls.running == 1


async def test_an_event_before_a_call_gets_an_error_and_the_socket_lives() -> None:
    update = {"type": "client_session_update", "config": {}}
    early = [audio_append(b"\0\0" * 160), TEXT, END, {"type": "client_response_create"}, update]
    async with FakeSocket() as client:
        client.say(*(event | {"event_id": event["type"]} for event in early), create())
        await client.until("agent_ready")
        assert client.codes == ["no_session"] * 5
        assert [told["client_event_id"] for told in client.sent[:5]] == [event["type"] for event in early]


async def test_what_is_for_another_session_is_refused_and_a_second_call_too_and_the_call_lives() -> None:
    """BRW-11: the URL and the frames name the same session."""
    other = {"session_id": "session2"}
    async with FakeSocket() as client:
        client.say(create() | other, create() | {"session_id": "session1"}, END | other, create(), TEXT)
        await client.until("agent_response_done")
        assert client.codes == ["session_mismatch", "session_mismatch", "session_exists"]
        assert client.calls.running == 1


async def test_what_arrives_while_the_agent_is_made_is_kept_in_order() -> None:
    model = connecting()
    async with FakeSocket(friday(model)) as client:
        client.say(create(), *(TEXT | {"text": str(number)} for number in range(50)))
        await asyncio.sleep(5)
        assert client.types == ["server_session_created"]
        model.connecting.set()
        await client.until("agent_item_added", 50)
        added = [event["item"]["content"][0]["text"] for event in client.sent if event["type"] == "agent_item_added"]
        assert added == [str(number) for number in range(50)]


async def test_a_client_that_leaves_while_the_agent_is_made_leaves_nothing() -> None:
    model = connecting()
    async with FakeSocket(friday(model)) as client:
        client.say(create(), TEXT)
        await asyncio.sleep(1)
        client.hang_up()
        await asyncio.sleep(1)
        assert is_over(client)
        assert client.calls.running == 0


async def test_a_client_that_floods_while_the_agent_is_made_is_read_no_further() -> None:
    model = connecting()
    async with FakeSocket(friday(model)) as client:
        client.say(create(), *(audio_append(b"\0" * 100_000) for _ in range(100)))
        await asyncio.sleep(5)
        assert client.unread.qsize() > 80
        model.connecting.set()
        await client.until("agent_ready")
        await client.read_on()


# -- agents that cannot be made ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_developer", [True, False])
async def test_an_exception_in_make_agent_is_one_error_and_the_end_of_that_call(
    is_developer: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Only a developer sees details."""
    tries = iter([LookupError("no agent for tenant 4711"), None])

    def make_agent() -> RealtimeAgent:
        if (error := next(tries)) is not None:
            raise error
        return echo_agent()

    async with FakeSocket(make_agent, is_developer=is_developer) as client:
        client.say(create())
        ended = await client.until("server_session_ended")
        assert ended["reason"] == "agent_failed"
        assert client.types == ["agent_error", "server_session_ended"]
        assert client.codes == ["agent_failed"]
        assert ("LookupError: no agent for tenant 4711" in json.dumps(client.sent)) is is_developer
        assert ("4711" in json.dumps(client.sent)) is is_developer
        assert "4711" in caplog.text
        assert "Traceback" in caplog.text
        assert client.calls.running == 0
        client.say(create())
        await client.until("agent_ready")


async def test_a_model_that_cannot_be_had_is_told_with_its_code() -> None:
    model = FakeModel(refuses=ProviderError("the server has no key for OpenAI", code="missing_api_key"))
    async with FakeSocket(friday(model)) as client:
        client.say(create())
        await client.until("server_session_ended")
        assert client.codes == ["missing_api_key"]
        model.refuses = None
        client.say(create())
        await client.until("agent_ready")


async def test_a_make_agent_that_returns_no_agent_is_a_fault_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    for made in (None, "an agent", RealtimeAgent):
        caplog.clear()
        async with FakeSocket(lambda made=made: made) as client:  # type: ignore[misc]
            client.say(create())
            await client.until("server_session_ended")
            assert client.codes == ["agent_failed"]
            assert "not a RealtimeAgent" in caplog.text


@pytest.mark.parametrize("direct", [False, True])
async def test_a_fault_of_ours_is_told_once_in_a_row_and_ends_a_socket_that_only_faults(
    direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeSocket(direct=direct) as client:
        client.say(create())
        await client.until("agent_ready")
        (session,) = client.calls.sessions.values()
        whole, broken = session.receive, MagicMock(side_effect=KeyError("a detail of ours"))
        for fails in (3, 2):
            monkeypatch.setattr(session, "receive", broken)
            for _ in range(fails):
                client.say({"type": "client_audio_clear"})
            await client.read_on()
            monkeypatch.setattr(session, "receive", whole)
            client.say({"type": "client_audio_clear"})
            await client.read_on()
        assert client.codes == ["internal", "internal"]
        assert "a detail" not in str(client.sent)
        monkeypatch.setattr(session, "receive", broken)
        for _ in range(MAX_FAULTS + 1):
            client.say({"type": "client_audio_clear"})
        assert client.serving is not None
        await asyncio.wait([client.serving])
        assert client.closed_with == (1011, "the server cannot serve this call")


async def test_make_agent_is_given_what_it_declares() -> None:
    known = {"user": "user1", "config": SessionConfig(user_name="User1"), "call_id": "call_1"}
    given: list[dict[str, Any]] = []

    def nothing() -> RealtimeAgent:
        given.append({})
        return echo_agent()

    async def some(call_id: str, *, user: str) -> RealtimeAgent:
        given.append({"user": user, "call_id": call_id})
        return echo_agent()

    def everything(**all_of_it: Any) -> RealtimeAgent:
        given.append(all_of_it)
        return echo_agent()

    for make_agent in (nothing, some, everything):
        assert isinstance(await make_agent_of(make_agent, **known), RealtimeAgent)
    assert given == [{}, {"user": "user1", "call_id": "call_1"}, known]


async def test_a_config_that_cannot_be_had_is_refused_and_may_be_sent_again() -> None:
    async with FakeSocket() as client:
        client.say(create(instructions=7), create(turn_detection="sometimes"))
        client.say(create(input_audio_format={"rate": 1}), create(output_audio_format={"encoding": "opus"}), create())
        await client.until("agent_ready")
        assert client.codes == ["invalid_config"] * 2 + ["unsupported_audio_format"] * 2


@pytest.mark.parametrize("native", [True, False])
async def test_json_speech_has_the_rate_of_the_config_on_every_kind_of_page(native: bool) -> None:
    model = FakeModel()
    async with FakeSocket(friday(model), native=native) as client:
        client.say(create(input_audio_format={"channels": 2}), create(input_audio_format={"rate": 48_000}))
        await client.until("agent_ready")
        for _ in range(10):
            client.say({"type": "client_audio_append", "audio": audio_append(bytes(9_600))["audio"]})
        await client.read_on()
        assert client.codes == ["unsupported_audio_format"]
        assert len(model.link.heard_bytes()) == pytest.approx(32_000, abs=200)


# -- bad input ---------------------------------------------------------------------------------------------------------

BAD_FRAMES: dict[str, tuple[str | bytes, str]] = {
    "malformed JSON": ("{nonsense", "malformed_json"),
    "no JSON": ("", "malformed_json"),
    "not an object": ("[1, 2]", "invalid_event"),
    "null": ("null", "invalid_event"),
    "no type": ('{"text": "hello"}', "invalid_event"),
    "unknown type": ('{"type": "client_dance"}', "unknown_event"),
    "a server's type": ('{"type": "server_session_created", "session_id": "x"}', "unknown_event"),
    "a missing field": ('{"type": "client_text_append"}', "invalid_event"),
    "a wrong field": ('{"type": "client_text_append", "text": 7}', "invalid_event"),
    "bad base64": ('{"type": "client_audio_append", "audio": "@@@@"}', "invalid_event"),
    "deep nesting": ('{"type": "client_session_create", "config": {"extra": ' + '{"a":' * 5_000, "malformed_json"),
    "a binary frame without a header": (b"\x01\x00", "invalid_frame"),
    "a binary frame of another kind": (b"\x07" + b"\0" * 31, "invalid_frame"),
    "a frame of 10 MB": ('{"type": "client_text_append", "text": "' + "a" * 10_000_000 + '"}', "frame_too_large"),
    "a binary frame of 300 kB": (b"\x01" + b"\0" * 300_000, "frame_too_large"),
}


async def test_a_bad_frame_gets_an_error_and_the_call_lives_on() -> None:
    """CEV-02: a missing or unknown type, or a non-object, is answered with agent_error and keeps the socket."""
    for name, (frame, code) in BAD_FRAMES.items():
        async with FakeSocket() as client:
            client.say(frame, create(), frame, TEXT)
            await client.until("agent_response_done")
            assert len(client.codes) == 2, name
            assert set(client.codes) <= {code, "invalid_event", "too_many_values"}, name
            assert all(event["message"] for event in client.sent if event["type"] == "agent_error"), name
            assert client.closed_with is None, name


async def test_a_client_that_sends_only_nonsense_is_sent_away() -> None:
    async with FakeSocket() as client:
        client.say(create(), *["nonsense"] * 150)
        await asyncio.sleep(1)
        assert client.closed_with == (1008, "too many frames that cannot be read")
        assert client.codes == ["malformed_json"] * 101
        assert client.calls.running == 0


async def test_nonsense_now_and_then_and_a_microphone_that_runs_on_after_the_end_of_the_call_close_nothing() -> None:
    late = [TEXT, *[audio_append(b"\0" * 640)] * 300]
    async with FakeSocket() as client:
        client.say(create(), *(["nonsense"] * 50 + [TEXT]) * 5, END, *late, create())
        await client.until("agent_ready", 2)
        added = [event["item"]["role"] for event in client.sent if event["type"] == "agent_item_added"]
        assert added.count("user") == 5
        assert client.closed_with is None
        assert client.codes == ["malformed_json"] * 250 + ["session_ended"] * 301


async def test_a_socket_on_which_no_call_is_made_is_closed() -> None:
    async with FakeSocket(settings=ServerSettings(limits=Limits(idle_s=20))) as client:
        await asyncio.sleep(19)
        assert client.closed_with is None
        await asyncio.sleep(2)
        assert client.closed_with == (1008, "no call was made on this socket")


async def test_a_socket_whose_agent_has_ended_takes_another_call_and_is_closed_when_none_comes() -> None:
    model = FakeModel()
    async with calling(friday(model), ServerSettings(limits=Limits(idle_s=20))) as client:
        model.link.gone("provider_closed")
        assert (await client.until("server_session_ended"))["reason"] == "agent_ended"
        client.say(create())
        await client.until("agent_ready", 2)
        client.say(END)
        await client.until("server_session_ended", 2)
        await asyncio.sleep(19)
        assert client.closed_with is None
        await asyncio.sleep(2)
        assert client.closed_with == (1008, "no call was made on this socket")


# -- clients that do not read ------------------------------------------------------------------------------------------


async def test_a_client_that_never_reads_is_sent_away_and_its_call_ends() -> None:
    """BRW-14: a slow client has a bounded buffer; past it, it is closed, and nothing is kept for it."""
    talker = ScriptedModel(echo_bot(seconds=100.0), profile=PROFILE)
    settings = ServerSettings(limits=Limits(grace_s=0))
    async with calling(friday(talker), settings) as client:
        client.writable.clear()
        assert client.calls.running == 1
        client.say(TEXT)
        await asyncio.sleep(5)
        assert is_over(client)
        assert client.calls.running == 0
        assert client.types == ["server_session_created", "agent_ready"]


# -- going away --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [True, False])
async def test_a_closed_socket_ends_its_call_before_the_handler_returns(reads: bool) -> None:
    """Also where the client does not read."""
    model = FakeModel()
    async with calling(friday(model)) as client:
        if not reads:
            client.writable.clear()
            client.say(TEXT)
            await asyncio.sleep(1)
        client.hang_up()
        assert client.serving is not None
        await client.serving
        assert (model.link.closed, client.calls.running) == (True, 0)


async def test_a_cancelled_handler_ends_its_call() -> None:
    model = FakeModel()
    client = FakeSocket(friday(model), ServerSettings(limits=Limits(grace_s=0)))
    await client.__aenter__()
    client.say(create())
    await client.until("agent_ready")
    assert client.serving is not None
    client.serving.cancel()
    await asyncio.wait([client.serving])
    assert model.link.closed
    assert client.calls.running == 0


async def test_the_log_holds_no_word_of_the_conversation(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeSocket() as client:
        client.say(
            create(instructions="hush-hush"),
            TEXT | {"text": "a-secret"},
            '{"type": "client_text_append", "text": 5, "x": "a-secret"}',
        )
        await client.until("agent_response_done")
    assert "ended: client_left" in caplog.text
    assert "a-secret" not in caplog.text
    assert "hush-hush" not in caplog.text
    assert "I heard you" not in caplog.text
