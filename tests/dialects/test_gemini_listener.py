"""The listener of a Gemini client in virtual time: when a turn is complete, and how a session is closed."""

import asyncio
import json
from typing import Any

import pytest

from realtime.call.listener import Listener
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime

pytestmark = pytest.mark.virtual_time


class Socket:
    """A sink that is always ready."""

    def __init__(self) -> None:
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.closed: tuple[int, str] | None = None

    def write(self, frame: bytes) -> bool:
        self.frames.append((asyncio.get_running_loop().time(), json.loads(frame)))
        return True

    async def finish(self) -> None:
        raise AssertionError("nothing waits")

    def close(self, code: int, reason: str) -> None:
        self.closed = (code, reason)

    def when(self, key: str) -> float:
        """When the frame came that holds this."""
        return next(at for at, frame in self.frames if key in frame.get("serverContent", frame))


def listening() -> tuple[Listener, Socket]:
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    socket, dialect = Socket(), GeminiDialect(runtime, life_s=600.0, drain_s=0.0)
    dialect.decode('{"setup": {"model": "m"}}')
    return dialect.listener(socket, runtime, SessionConfig()), socket


def speech(seconds: float, rate_hz: int = 24_000) -> list[s.ServerEvent]:
    """A whole answer in one burst."""
    where: dict[str, Any] = {"response_id": "r", "item_id": "i"}
    pcm = bytes(int(seconds * rate_hz) * 2)
    return [
        s.AgentResponseCreatedEvent(response_id="r"),
        s.AgentResponseAudioDeltaEvent(**where, delta=pcm, format=AudioFormat.pcm16(rate_hz)),
        s.AgentResponseAudioDoneEvent(**where),
        s.AgentResponseDoneEvent(response_id="r"),
    ]


async def test_a_turn_is_complete_when_its_speech_was_heard_in_real_time() -> None:
    listener, socket = listening()
    began = asyncio.get_running_loop().time()
    for event in speech(7.5):
        listener.deliver(event)
    await asyncio.sleep(60)
    assert socket.when("generationComplete") == began
    assert socket.when("turnComplete") == pytest.approx(began + 7.5, abs=0.01)
    assert len([frame for _, frame in socket.frames if "turnComplete" in frame.get("serverContent", {})]) == 1


async def test_speech_of_another_rate_is_resampled_to_what_these_clients_play() -> None:
    listener, socket = listening()
    began = asyncio.get_running_loop().time()
    for event in speech(2.0, 16_000):
        listener.deliver(event)
    await asyncio.sleep(60)
    assert socket.when("turnComplete") == pytest.approx(began + 2.0, abs=0.05)


async def test_an_interruption_completes_the_turn_at_once() -> None:
    listener, socket = listening()
    for event in speech(7.5):
        listener.deliver(event)
    await asyncio.sleep(3)
    now = asyncio.get_running_loop().time()
    listener.deliver(s.ServerAudioFlushEvent(reason="speech_started"))
    await asyncio.sleep(60)
    assert socket.when("interrupted") == socket.when("turnComplete") == now
    assert listener.clock.played_ms("i", now) == pytest.approx(3_000, abs=5)


async def test_a_client_that_is_gone_is_told_nothing_more() -> None:
    listener, socket = listening()
    for event in speech(7.5):
        listener.deliver(event)
    told = len(socket.frames)
    listener.release()
    await asyncio.sleep(60)
    assert len(socket.frames) == told


async def test_a_session_is_told_to_go_before_its_time_is_over() -> None:
    listener, socket = listening()
    began = asyncio.get_running_loop().time()
    listener.deliver(s.AgentReadyEvent())
    await asyncio.sleep(560)
    assert socket.when("goAway") == pytest.approx(began + 550)
    assert socket.frames[1][1] == {"goAway": {"timeLeft": "50s"}}
    listener.deliver(s.ServerGoodbyeEvent(reason="call_limit"))
    assert len(socket.frames) == 2
    listener.release()


async def test_an_error_of_the_client_closes_its_socket() -> None:
    listener, socket = listening()
    listener.deliver(s.AgentErrorEvent(error_type="provider_error", code="invalid_argument", message="Not its fault."))
    assert not listener.closed
    listener.deliver(s.AgentErrorEvent(error_type="client_error", code="invalid_argument", message="Nonsense."))
    assert socket.closed == (1007, "Request contains an invalid argument. Nonsense.")
