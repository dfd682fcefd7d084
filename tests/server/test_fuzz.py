"""Any frame a client can send: the server neither falls nor closes a socket that still makes sense."""

import copy
import json
import logging
import random
from collections.abc import Iterator
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.event.client import ClientEvent
from realtime.event.decode import classes_by_type
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, echo_bot
from realtime.server.settings import ServerSettings
from tests.server.cases import FOLDER, lines_of
from tests.server.harness import FakeSocket, create
from tests.volumes import SEED, volume

N_FRAMES = volume(4_000, 100_000)
PER_CALL = 500
GOOD_EVERY = 20
"""A frame that can be read, so often that no client is taken for one that sends only nonsense."""

GOOD: list[dict[str, Any]] = lines_of(FOLDER / "client_frames.jsonl")
"""Frames that mean something; the first three of them do in any call."""
ODD: list[Any] = [
    *(None, True, -1, 2**70, 1.5, -0.0, "", "x" * 300, "\u0000", "\ud800"),
    *([], {}, [[]], {"a": {}}, "AAA", "root"),
]


def mutated(chance: random.Random) -> str | bytes:
    """A frame near to one that means something."""
    kind = chance.random()
    if kind < 0.1:
        return chance.randbytes(chance.randrange(60))
    if kind < 0.2:
        return bytes([1, chance.randrange(256)]) + chance.randbytes(chance.randrange(14, 80))
    event = copy.deepcopy(chance.choice(GOOD))
    for _ in range(chance.randrange(3)):
        key = chance.choice([*event, "session_id", "config", "response", "item", "format", "offset"])
        match chance.randrange(4):
            case 0:
                event.pop(key, None)
            case 1:
                event[key] = copy.deepcopy(chance.choice(ODD))
            case 2:
                event[key] = [event.get(key)]
            case _ if isinstance(event.get(key), dict):
                event[key][chance.choice([*event[key], "rate", "id", "type"])] = chance.choice(ODD)
            case _:
                event[key] = {key: event.get(key)}
    text = json.dumps(event)
    if kind < 0.4:
        at = chance.randrange(len(text))
        inserted = chance.choice(["", '"', "\\", "{", "\x00", "9" * 20, "é", "\U0001f600"])
        text = text[:at] + inserted + text[at + chance.randrange(3) :]
    return text


def frames_of_a_call(seed: int) -> Iterator[str | bytes]:
    chance = random.Random(seed)
    yield json.dumps(create(audio_frames=chance.choice(["json", "binary"]), turn_detection="none"))
    for number in range(PER_CALL - 1):
        yield json.dumps(chance.choice(GOOD[:3])) if number % GOOD_EVERY == 0 else mutated(chance)


def test_the_fuzz_knows_every_client_event() -> None:
    assert {event["type"] for event in GOOD} | {"client_session_end"} == set(classes_by_type(ClientEvent))


@pytest.mark.virtual_time(limit_s=1e6)
async def test_random_frames_neither_crash_nor_close_a_healthy_socket(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    model = ScriptedModel(echo_bot(seconds=0.01), profile=MANUAL_PROFILE)
    settings = ServerSettings(limits=Limits(idle_s=1e6, call_s=1e6))
    for seed in range(SEED * 1_000, SEED * 1_000 + N_FRAMES // PER_CALL):
        # Half of them by ASGI, half by the way that our own server adds.
        direct = bool(seed % 2)
        async with FakeSocket(lambda: RealtimeAgent("Friday", "", model), settings, direct=direct) as client:
            for frame in frames_of_a_call(seed):
                client.say(frame)
                if client.unread.qsize() > 20:
                    await client.read_on()
            await client.read_on()
            client.sent.clear()
            client.say({"type": "client_session_update", "config": {}})
            await client.until("server_session_updated")
            assert client.closed_with is None, seed
            assert client.serving is not None
            assert not client.serving.done(), seed
            assert client.calls.running == 1, seed
        assert not caplog.records, (seed, caplog.text)
