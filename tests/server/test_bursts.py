"""What one client sends at once, however much, keeps no other call waiting and arrives whole and in order."""

import asyncio
import base64
import json
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect

from realtime.dialects.native import NativeDialect
from realtime.dialects.weight import MAX_TEXT_CHARS, MAX_VALUES
from realtime.event.client import ClientEvent
from realtime.model import base
from realtime.server.client_socket import LARGE_FRAME
from realtime.server.settings import LONGEST_MESSAGE_BYTES, ServerSettings
from realtime.server.websocket_protocol import MAX_UNREAD_MESSAGES
from realtime.slices import SLICE_S, slices_of
from realtime.websocket import TEXT, client_frame
from tests.agent.fakes import FakeModel
from tests.real_loop import settled
from tests.server.harness import A_TURN, FakeSocket, Json, create, echo_agent, serving, ticking
from tests.server.steps import calling, friday
from tests.server.test_websocket_protocol import Application, served
from tests.volumes import HANG_S

BURST = 400
GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
OPENAI = "/v1/realtime?model=gpt-realtime"
DASHSCOPE = "/api-ws/v1/realtime?model=qwen3-omni-flash-realtime"
TOO_MANY = list(range(MAX_VALUES))


class Turns:
    """Counts the turns of the loop, as another call that is served in each."""

    def __init__(self) -> None:
        self.count = 0
        self._next()

    def _next(self) -> None:
        self.count += 1
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


async def test_other_calls_are_served_while_a_burst_is_read() -> None:
    ticking()
    application = Application(direct=True)
    at_turn: list[int] = []
    async with served(application) as place, place.client("/ws") as client:
        protocol = await application.opened(direct=True)
        turns = Turns()

        def take(message: str | bytes) -> bool:
            at_turn.append(turns.count)
            application.got.append(message)
            return True

        protocol.on_message = take
        client.connection.transport.write(b"".join(client_frame(TEXT, b"%d" % number) for number in range(BURST)))
        await settled(lambda: len(application.got) == BURST)
        turns.stop()
    assert application.got == [str(number) for number in range(BURST)]
    assert max(at_turn.count(turn) for turn in set(at_turn)) <= A_TURN


async def test_what_stands_behind_the_messages_that_wait_does_not_overtake_the_last_of_them() -> None:
    ticking()
    application = Application(direct=True)
    burst = ["by ASGI", *(str(number) for number in range(BURST))]
    async with served(application) as place:
        application.reading.clear()
        async with place.client("/ws") as client:
            protocol = await application.opened(direct=True)
            client.connection.transport.write(b"".join(client_frame(TEXT, one.encode()) for one in burst))
            await settled(lambda: protocol.queue.qsize() >= MAX_UNREAD_MESSAGES)
            application.reading.set()
            await settled(lambda: len(application.got) == len(burst))
    assert application.got == burst


@pytest.mark.virtual_time(limit_s=60)
async def test_a_minute_of_speech_in_one_frame_is_heard_whole_before_what_follows_it() -> None:
    ticking()
    model = FakeModel()
    speech = bytes(index % 251 for index in range(700_000))
    frame: Json = {"type": "client_audio_append", "audio": base64.b64encode(speech).decode(), "offset": 0}
    async with calling(friday(model), config={"turn_detection": "none"}, direct=True) as client:
        turns = Turns()
        began = turns.count
        client.say(frame, {"type": "client_audio_commit"})
        while not model.link.got(base.AudioCommit):  # noqa: ASYNC110  (in virtual time; a fake tells nobody)
            await asyncio.sleep(0)
        turns.stop()
        assert model.link.heard_bytes() == speech, "all of it stands before the commit"
    assert turns.count - began > len(speech) // 6_400 // A_TURN, "nobody was served meanwhile"


@pytest.mark.virtual_time(limit_s=60)
async def test_large_frames_of_many_clients_at_once_are_read_in_as_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    slices_of(asyncio.get_running_loop(), lambda: now_s)
    at_turn: list[int] = []
    decode = NativeDialect.decode

    def slow(dialect: NativeDialect, frame: str | bytes) -> ClientEvent:
        nonlocal now_s
        if len(frame) > LARGE_FRAME:
            at_turn.append(turns.count)
            now_s += SLICE_S
        return decode(dialect, frame)

    monkeypatch.setattr(NativeDialect, "decode", slow)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(calling(session_id=f"session{number}")) for number in range(4)]
        turns = Turns()
        for client in clients:
            client.say({"type": "client_text_append", "text": "a" * LARGE_FRAME})
        while len(at_turn) < len(clients):  # noqa: ASYNC110  (in virtual time; the reader tells nobody)
            await asyncio.sleep(0)
        turns.stop()
    assert len(set(at_turn)) == len(clients)


@pytest.mark.virtual_time(limit_s=60)
async def test_a_long_append_that_is_refused_is_refused_once() -> None:
    speech = base64.b64encode(bytes(100_000)).decode()
    frame: Json = {"type": "client_audio_append", "audio": speech, "format": {"rate": 7}, "event_id": "mine"}
    async with FakeSocket(direct=True) as client:
        client.say(create(), frame, {"type": "client_text_append", "text": "hello"})
        await client.until("agent_response_done")
    assert client.codes == ["unsupported_audio_format"]


WORDS = [{"type": "input_text", "text": "a" * MAX_TEXT_CHARS}]
LONG_ITEM = {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": WORDS}}
TOO_MUCH: dict[str, tuple[str, list[Json], str]] = {
    "native": (
        "/ws/a/b?dialect=native",
        [create(), {"type": "client_session_update", "config": {"extra": {"a": TOO_MANY}}}],
        "too_many_values",
    ),
    "openai tools": (
        OPENAI,
        [{"type": "session.update", "session": {"type": "realtime", "tools": TOO_MANY}}],
        "too_many_values",
    ),
    "openai text": (OPENAI, [LONG_ITEM], "string_above_max_length"),
    "openai length": (
        OPENAI,
        [{"type": "input_audio_buffer.append", "audio": "A" * LONGEST_MESSAGE_BYTES}],
        "frame_too_large",
    ),
    "dashscope": (DASHSCOPE, [{"type": "session.update", "session": {"tools": TOO_MANY}}], "keys and values"),
}


@pytest.mark.parametrize("client", TOO_MUCH)
async def test_a_frame_that_says_too_much_costs_an_error_and_not_the_call(client: str) -> None:
    path, frames, code = TOO_MUCH[client]
    async with serving(echo_agent) as place, connect(place.url.replace("http", "ws") + path) as socket:
        for frame in frames:
            await socket.send(json.dumps(frame))
        async with asyncio.timeout(HANG_S):
            while code not in (told := str(await socket.recv())):
                assert '"error"' not in told
        assert place.calls.running == 1


async def test_a_history_too_long_ends_a_gemini_session_with_a_reason() -> None:
    """Too many turns, parts of one turn, or parts of all turns."""
    async with serving(echo_agent) as place:
        for turns in (
            [{}] * 1_001,
            [{"parts": [{"text": "a"}] * (MAX_VALUES // 2)}],
            [{"parts": [{"text": "a"}] * 501}] * 2,
        ):
            async with connect(place.url.replace("http", "ws") + GEMINI) as socket:
                await socket.send(json.dumps({"setup": {"model": "models/a"}}))
                await socket.recv()
                await socket.send(json.dumps({"clientContent": {"turns": turns}}))
                async with asyncio.timeout(HANG_S):
                    await socket.wait_closed()
            assert socket.close_code == 1007
            assert "Request contains an invalid argument." in str(socket.close_reason)


async def test_turns_of_one_gemini_message_stand_before_those_of_the_next() -> None:
    ticking()
    turns = [[{"parts": [{"text": f"{message} {number}"}]} for number in range(20)] for message in range(3)]
    async with serving(echo_agent) as place, connect(place.url.replace("http", "ws") + GEMINI) as socket:
        await socket.send(json.dumps({"setup": {"model": "models/a"}}))
        await socket.recv()
        for one in turns:
            await socket.send(json.dumps({"clientContent": {"turns": one, "turnComplete": False}}))
        (session,) = place.calls.sessions.values()
        await settled(lambda: len(session.conversation) == 60)
        said = [item.text for item in session.conversation.items()]
    assert said == [f"{message} {number}" for message in range(3) for number in range(20)]


@pytest.mark.virtual_time(limit_s=60)
async def test_a_bound_that_was_set_lower_holds_for_small_frames_too() -> None:
    async with calling(settings=ServerSettings(max_text_chars=1_000), direct=True) as client:
        client.say({"type": "client_text_append", "text": "a" * 1_000}, {"type": "client_text_append", "text": "hello"})
        await client.until("agent_response_done")
    assert client.codes == ["frame_too_large"]
