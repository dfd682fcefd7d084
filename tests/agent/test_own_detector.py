"""The server's own detector, where it decides about turns."""

import asyncio
import threading

import pytest

from realtime.audio import vad
from realtime.event.config import SessionConfig, TurnDetection
from tests.agent.fakes import call


async def test_the_first_call_that_needs_it_does_not_keep_others_waiting_while_it_loads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded_in: list[threading.Thread] = []
    real = vad.shared_silero

    def load() -> vad.SileroVad:
        loaded_in.append(threading.current_thread())
        return real()

    monkeypatch.setattr(vad, "shared_silero", load)
    async with call(config=SessionConfig(turn_detection=TurnDetection(authority="server"))):
        await asyncio.sleep(0)
    assert loaded_in[0] is not threading.main_thread(), "it takes 90 ms, in which nobody is served"
