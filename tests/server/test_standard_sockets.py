"""A server whose libraries lack what the short ways use serves calls by the long ones, and says so once."""

import importlib
import logging
import sys
from collections.abc import Iterator

import pytest
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets import frames

import realtime.websocket
from realtime.server import runner
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.harness import audio_append, serving
from tests.server.steps import hang_up


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    runner._socket_protocol.cache_clear()
    yield
    runner._socket_protocol.cache_clear()


def take_away(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "websockets_sansio_impl":
        monkeypatch.setitem(sys.modules, f"uvicorn.protocols.websockets.{missing}", None)
        monkeypatch.delitem(sys.modules, "realtime.server.websocket_protocol", raising=False)
    else:
        monkeypatch.delattr(WebSocketsSansIOProtocol, missing)


@pytest.mark.parametrize("missing", ["keepalive_timeout", "shutdown", "websockets_sansio_impl"])
async def test_without_internals_of_uvicorn_calls_are_made_the_standard_way_and_it_is_told_once(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    take_away(missing, monkeypatch)
    for _ in range(2):
        async with serving(settings=ServerSettings(drain_s=0)) as place:
            async with place.client() as client:
                await client.make_call()
                await client.send(audio_append(bytes(640)), {"type": "client_text_append", "text": "hello"})
                done = await client.until("agent_response_done")
                assert done["status"] == "completed"
                assert "agent_response_audio_delta" in client.types
                await hang_up(client)
            await settled(lambda place=place: not place.app.state.connections)
    told = [line.getMessage() for line in caplog.records if line.levelno >= logging.WARNING]
    assert len(told) == 1
    assert missing in told[0]


def test_without_the_library_s_masking_frames_are_unmasked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    payloads = [b"", b"x", b"four", b"hello, world" * 100]
    expected = [realtime.websocket.apply_mask(payload, b"\x01\x02\x03\xff") for payload in payloads]
    with monkeypatch.context() as without:
        without.delattr(frames, "apply_mask")
        importlib.reload(realtime.websocket)
        found = [realtime.websocket.apply_mask(payload, b"\x01\x02\x03\xff") for payload in payloads]
    importlib.reload(realtime.websocket)
    assert found == expected
