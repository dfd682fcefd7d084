"""The documented browser protocol over real sockets: uvicorn on loopback and a foreign WebSocket client."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pybase64
import pytest
from websockets.asyncio.client import connect

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot
from realtime.server.settings import ServerSettings
from tests.model.emulator import Emulator
from tests.real_loop import settled
from tests.server.harness import Json, audio_append, create, serving, small_buffers

# As the documentation prints them; the page names the session in all frames but the first.
SAMPLE_CREATE: Json = {
    "type": "client_session_create",
    "config": {"instructions": "You're a helpful assistant.", "user_name": "User1"},
}
TEXT: Json = {"type": "client_text_append", "session_id": "session1", "text": "hello"}


def test_an_application_runs_under_plain_uvicorn(tmp_path: Path) -> None:
    """BRW-01: a FastAPI backend, started with `uvicorn`."""
    (tmp_path / "voices.py").write_text(
        "from realtime import RealtimeAgent, ScriptedModel, create_app\n"
        "app = create_app(lambda: RealtimeAgent('Friday', 'You are Friday.', ScriptedModel([])))\n"
    )
    command = [sys.executable, "-m", "uvicorn", "voices:app", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = ""
        while "running on http://127.0.0.1:" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        process.terminate()
    assert "Application startup complete" in said


async def test_the_printed_first_frame_makes_a_call_on_the_documented_path() -> None:
    """BRW-02, BRW-04, BRW-05: the path, JSON text frames both ways, the first frame without a session id."""
    async with serving() as place, place.client("/ws/user1/session1", subprotocols=()) as client:
        assert client.connection.subprotocol is None
        await client.send(json.dumps(SAMPLE_CREATE))
        frames = [await client.connection.recv() for _ in range(2)]
        assert all(isinstance(frame, str) for frame in frames)
        created, ready = map(json.loads, frames)
        assert (created["type"], created["session_id"]) == ("server_session_created", "session1")
        assert ready["type"] == "agent_ready"


async def test_the_config_gives_the_agent_its_instructions_and_the_user_a_name() -> None:
    """BRW-06: the provider gets the instructions, and what the user says bears the user's name."""
    async with Emulator() as provider:
        names = []

        def make_agent(config: object) -> RealtimeAgent:
            names.append(getattr(config, "user_name", None))
            return RealtimeAgent("Friday", "Other.", OpenAIRealtimeModel(api_key="k", base_url=provider.base_url))

        async with serving(make_agent) as place, place.client(subprotocols=()) as client:
            await client.send(SAMPLE_CREATE)
            await client.until("agent_ready")
            update = await (await provider.session()).until("session.update")
            assert update["session"]["instructions"] == "You're a helpful assistant."
            assert names == ["User1"]
            await client.send(TEXT)
            await (await provider.session()).until("conversation.item.create")
            (session,) = place.calls.sessions.values()
            said = session.conversation.items()[0]
            assert (said.role, said.name, said.text) == ("user", "User1", TEXT["text"])


async def test_known_speech_goes_through_the_pipe_unchanged() -> None:
    """BRW-07, BRW-08: the printed audio frame, base64 of pcm16 at 16 kHz, arrives as the same bytes."""
    model = ScriptedModel([], strict=False)
    pcm = np.random.default_rng(7).integers(-20_000, 20_000, 16_000, dtype=np.int16).tobytes()
    async with (
        serving(lambda: RealtimeAgent("Friday", "", model)) as place,
        place.client(subprotocols=()) as client,
    ):
        await client.send(SAMPLE_CREATE)
        await client.until("agent_ready")
        for start in range(0, len(pcm), 3_200):
            await client.send(audio_append(pcm[start : start + 3_200], session_id="session1"))
        await settled(lambda: len(model.connections[0].audio) == len(pcm))
        assert bytes(model.connections[0].audio) == pcm


async def test_the_printed_page_hears_the_answer_with_the_docs_dialect() -> None:
    """BRW-09, BRW-10: the sample reacts to `response_audio_delta` and plays `delta`, base64 of sound."""
    async with serving() as place, place.client("/ws/user1/session1?dialect=docs", subprotocols=()) as client:
        await client.send(SAMPLE_CREATE, TEXT)
        played = b""
        while not played:
            data = await client.next()
            if data["type"] == "response_audio_delta":
                played = pybase64.b64decode(data["delta"], validate=True)
        energy = np.mean(np.frombuffer(played, np.int16).astype(float) ** 2)
        assert energy > 1_000_000


async def test_a_browser_a_call_and_a_provider_are_bridged_both_ways() -> None:
    """CARD-04: speech goes from the client to the provider, and its answer back, through one RealtimeAgent.

    CEV-04, SEV-03: server_session_ended is the last event, and the provider's socket is closed.
    """
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key="k", base_url=provider.base_url)
        async with serving(lambda: RealtimeAgent("Friday", "", model)) as place, place.client() as client:
            await client.make_call()
            session = await provider.session()
            await client.send(audio_append(b"\1\0" * 16_000))
            await session.until("input_audio_buffer.append")
            spoken = np.random.default_rng(3).integers(-9_000, 9_000, 24_000, dtype=np.int16).tobytes()
            await session.hear("item_1", start_ms=300, end_ms=700, transcript="hello there")
            await session.speak("resp_1", "item_2", "Hello to you.", spoken)
            await client.until("agent_response_done")
            deltas = [event["delta"] for event in client.events if event["type"] == "agent_response_audio_delta"]
            assert b"".join(map(pybase64.b64decode, deltas)) == spoken
            words = [event for event in client.events if event["type"] == "agent_input_transcription_done"]
            assert words[0]["transcript"] == "hello there"
            await client.send({"type": "client_session_end"})
            ended = await client.until("server_session_ended")
            assert ended["reason"] == "client_end"
            await session.socket.wait_closed()
            await client.send({"type": "client_session_end"})
            assert (await client.next())["code"] == "session_ended", "nothing else came in between"


@pytest.mark.parametrize("who", ["client closes", "client vanishes", "server ends"])
async def test_a_close_of_either_side_ends_agent_and_provider(who: str) -> None:
    """BRW-13: whoever closes, whenever: the agent and the provider's session end, nothing is left."""
    chance = random.Random(11)
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key="k", base_url=provider.base_url)
        settings = ServerSettings(drain_s=0, limits=Limits(grace_s=0))
        async with serving(lambda: RealtimeAgent("Friday", "", model), settings) as place:
            before = asyncio.all_tasks()
            for number in range(1, 9):
                async with place.client() as client:
                    await client.send(SAMPLE_CREATE, TEXT, *[audio_append(b"\0" * 3_200)] * chance.randrange(10))
                    for _ in range(chance.randrange(5)):
                        await client.next()
                    if who == "client vanishes":
                        client.connection.transport.abort()
                    elif who == "server ends":
                        await settled(lambda: len(place.calls.sessions) == 1)
                        await next(iter(place.calls.sessions.values())).end("test")
                await settled(lambda: place.calls.running == 0)
                assert len(provider.sessions) <= number
            for session in provider.sessions:
                await session.socket.wait_closed()
            await settled(lambda: asyncio.all_tasks() <= before)


async def test_a_client_that_never_reads_holds_little_and_harms_nobody() -> None:
    """BRW-14: a stalled reader is closed with its buffer bounded, while another call goes on."""
    talker = ScriptedModel(echo_bot(seconds=240.0), profile=PROFILE)
    agents = iter([RealtimeAgent("Talker", "", talker)])
    settings = ServerSettings(drain_s=0, limits=Limits(grace_s=0))

    def make_agent() -> RealtimeAgent:
        return next(agents, None) or RealtimeAgent("Friday", "", ScriptedModel(echo_bot(), profile=PROFILE))

    async with serving(make_agent, settings) as place, place.client() as stalled, place.client() as healthy:
        small_buffers(stalled.connection)
        await stalled.make_call()
        await healthy.make_call()
        stalled.connection.transport.pause_reading()
        await stalled.send(TEXT)
        await settled(lambda: place.calls.running == 1)
        await healthy.send(TEXT)
        await healthy.until("agent_response_done")
        stalled.connection.transport.abort()


async def test_binary_speech_goes_both_ways_with_the_native_subprotocol() -> None:
    async with serving() as place, place.client() as client:
        assert client.connection.subprotocol == "realtime.v1"
        await client.send(create(audio_frames="binary"))
        await client.until("agent_ready")
        await client.send(bytes([1]) + bytes(15) + b"\0" * 640, TEXT)
        await client.until("server_audio_item")
        frame = (await client.until("binary"))["frame"]
        assert frame[0] == 2
        assert np.abs(np.frombuffer(frame[16:], np.int16)).max() > 1_000


async def test_an_unknown_dialect_is_told_and_closed_and_compression_is_declined() -> None:
    async with serving() as place:
        async with place.client("/ws/u/s?dialect=morse") as client:
            assert (await client.until("agent_error"))["code"] == "unknown_dialect"
            assert await client.closed() == (1008, "unknown dialect")
        async with connect(place.url.replace("http", "ws") + "/ws/u/s") as connection:
            assert connection.protocol.extensions == []
