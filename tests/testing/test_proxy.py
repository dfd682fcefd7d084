"""The recording proxy: any client talks through it to a provider, and each connection becomes a cassette."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pybase64
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from realtime.errors import UsageError
from realtime.event import ModelEvents
from realtime.model.wire import WireLimits
from realtime.testing import clock
from realtime.testing.cassettes.format import read_cassette
from realtime.testing.cassettes.proxy import record_proxy
from realtime.testing.cassettes.replay import recorded_model
from tests.model.emulator import Emulator
from tests.model.providers import KEY, OPENAI, WITH_TOOLS, Fake, Talk
from tests.testing.cassettes import ANSWER, client, run, service

each = pytest.mark.parametrize("fake", WITH_TOOLS, ids=lambda fake: fake.name)
ONE_LINK = WireLimits(attempts=0)
THEIRS = "sk-of-the-client-0123456789"


@asynccontextmanager
async def proxy(fake: Fake, listening: Any, folder: Path) -> AsyncIterator[str]:
    """A proxy in front of the emulator. Gives its http address."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    running = asyncio.get_running_loop().create_task(
        record_proxy(
            fake.name,
            folder,
            port=0,
            url=listening.base_url,
            key=KEY,
            on_ready=ready.set_result,
        )
    )
    try:
        both: list[asyncio.Future[Any]] = [running, ready]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        yield f"http://127.0.0.1:{ready.result()}"
    finally:
        running.cancel()
        await asyncio.wait([running])


@each
def test_a_session_through_the_proxy_is_recorded_and_replays(fake: Fake, tmp_path: Path) -> None:
    recorded, model_name, keys = asyncio.run(through_proxy(fake, tmp_path))
    assert keys == {KEY if fake.name == "gemini" else f"Bearer {KEY}"}
    assert calls(tmp_path) == ["call-1", "call-2"]
    whole = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in whole
    assert THEIRS.encode() not in whole
    assert read_cassette(tmp_path / "call-1").header.model == model_name
    replaying = recorded_model(tmp_path / "call-1", limits=ONE_LINK)
    replayed = clock.run(run(fake, replaying, first_link))
    replaying.check()
    words = ModelEvents.ModelResponseAudioTranscriptDoneEvent
    said = [event.transcript for event in recorded if isinstance(event, words)]
    assert [event.transcript for event in replayed if isinstance(event, words)] == said[:2]


async def through_proxy(fake: Fake, folder: Path) -> tuple[list[Any], str, set[str]]:
    """The session of the cassette tests: what the model reported, its name, the keys that the service saw."""
    async with fake.service() as listening, proxy(fake, listening, folder) as url:
        serving = asyncio.get_running_loop().create_task(service(fake, listening))
        base_url = f"{url}/v1" if fake.name == "openai" else url
        model = fake.model(listening, base_url=base_url, api_key=THEIRS)
        recorded = await run(fake, model)
        await serving
        keys = {
            session.header("x-goog-api-key" if fake.name == "gemini" else "Authorization")
            for session in listening.sessions
        }
        return recorded, model.profile.model, keys


def address_at(url: str) -> str:
    return f"{url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime"


def calls(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def last_line(folder: Path) -> Any:
    return json.loads((folder / "cassette.jsonl").read_text().splitlines()[-1])


async def first_link(made: Talk) -> None:
    """What the client of the recording did until its link was lost."""
    doing = asyncio.get_running_loop().create_task(client(made))
    await made.until(ModelEvents.ModelResponseDoneEvent, 3)
    doing.cancel()
    await asyncio.wait([doing])


async def test_the_official_sdk_talks_through_the_proxy(tmp_path: Path) -> None:
    from openai import AsyncOpenAI

    fake = OPENAI
    async with Emulator() as listening, proxy(fake, listening, tmp_path) as url:
        sdk = AsyncOpenAI(api_key=THEIRS, websocket_base_url=f"{url.replace('http', 'ws')}/v1")
        async with sdk.realtime.connect(model="gpt-realtime") as connection:
            created = await connection.recv()
            assert created.type == "session.created"
            await connection.response.create()
            session = await listening.session()
            await session.until("response.create")
            await session.speak("resp_1", "item_1", "Hello there", ANSWER)
            while (await connection.recv()).type != "response.done":
                pass
        await sdk.close()
        assert session.header("Authorization") == f"Bearer {KEY}"
    cassette = read_cassette(tmp_path / "call-1")
    assert cassette.header.model == "gpt-realtime"
    assert cassette.sound["received.flac"] == ANSWER


async def test_how_either_side_ends_is_passed_on_and_recorded(tmp_path: Path) -> None:
    fake = OPENAI
    async with Emulator() as listening, proxy(fake, listening, tmp_path) as url:
        address = f"{address_at(url)}&api_key={THEIRS}"
        async with connect(address) as socket:
            await socket.recv()
            await (await listening.session()).close(4001, "session expired")
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert (socket.close_code, socket.close_reason) == (4001, "session expired")
        async with connect(address) as socket:
            await socket.recv()
        session = await listening.session(2)
        await session.socket.wait_closed()
        assert THEIRS not in session.socket.request.path  # type: ignore[union-attr]
    ends = [last_line(tmp_path / name) for name in ("call-1", "call-2")]
    assert [(end["by"], end["code"]) for end in ends] == [("them", 4001), ("us", 1000)]


async def test_a_provider_that_refuses_is_recorded_and_told(tmp_path: Path) -> None:
    fake = OPENAI
    async with Emulator() as listening:
        listening.refuse = (HTTPStatus.UNAUTHORIZED, {})
        async with proxy(fake, listening, tmp_path) as url, connect(address_at(url)) as socket:
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert socket.close_reason == "the provider refused the connection: HTTP 401"
    refused = last_line(tmp_path / "call-1")
    assert (refused["link"], refused["reason"]) == ("refused", "HTTP 401")


async def test_pages_of_other_sites_are_refused(tmp_path: Path) -> None:
    fake = OPENAI
    async with Emulator() as listening, proxy(fake, listening, tmp_path) as url:
        address = address_at(url)
        with pytest.raises(InvalidStatus) as refused:
            await connect(address, origin="https://evil.example")  # type: ignore[arg-type]
        assert refused.value.response.status_code == HTTPStatus.FORBIDDEN
        async with connect(address, origin="http://localhost:8000") as socket:  # type: ignore[arg-type]
            assert "session.created" in str(await socket.recv())
    assert calls(tmp_path) == ["call-1"]


async def test_without_a_key_it_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        await record_proxy("openai", tmp_path, port=0)


async def test_binary_and_broken_frames_are_kept_as_they_came(tmp_path: Path) -> None:
    fake = OPENAI
    said: list[str | bytes] = [
        "{broken",
        b"\xff\x00\xfe",
        b'{"type":"odd"}',
        json.dumps({"type": "odd", "text": "\ud800 \u2028"}),
    ]
    async with (
        Emulator() as listening,
        proxy(fake, listening, tmp_path) as url,
        connect(address_at(url)) as socket,
    ):
        await socket.recv()
        session = await listening.session()
        for frame in said:
            await session.socket.send(frame)
            assert await socket.recv() == frame
    cassette = read_cassette(tmp_path / "call-1")
    lines = [line for line in cassette.lines if getattr(line, "dir", "") == "received"][1:]
    messages = [cassette.message(line) for line in lines]  # type: ignore[arg-type]
    assert [is_text for _, is_text in messages] == [True, False, False, True]
    assert [data for data, _ in messages[:3]] == [b"{broken", b"\xff\x00\xfe", b'{"type":"odd"}']
    assert json.loads(messages[3][0]) == json.loads(said[3])


async def test_g711_is_kept_as_it_came(tmp_path: Path) -> None:
    fake, law = OPENAI, bytes(range(256))
    formats = {"input": {"format": {"type": "audio/pcmu"}}, "output": {"format": {"type": "audio/pcmu"}}}
    append = {"type": "input_audio_buffer.append", "audio": pybase64.b64encode_as_string(law)}
    async with (
        Emulator() as listening,
        proxy(fake, listening, tmp_path) as url,
        connect(address_at(url)) as socket,
    ):
        await socket.recv()
        await socket.send(json.dumps({"type": "session.update", "session": {"audio": formats}}))
        await socket.send(json.dumps(append))
        await (await listening.session()).until("input_audio_buffer.append")
    cassette = read_cassette(tmp_path / "call-1")
    assert cassette.sound == {"sent.raw": law}
    (line,) = [line for line in cassette.lines if "append" in str(getattr(line, "frame", ""))]
    assert json.loads(cassette.message(line)[0]) == append  # type: ignore[arg-type]
