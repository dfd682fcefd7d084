"""Calls opened and dropped at random points leave nothing: no task, no thread, no connection, no place taken."""

import asyncio
import gc
import random
import threading

import psutil
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.controller import Controller
from realtime.agent.run import AgentRun
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import Wire
from realtime.server.client_socket import ClientSocket
from realtime.server.settings import ServerSettings
from realtime.server.websocket_protocol import VoiceSocketProtocol
from tests.model.emulator import Emulator
from tests.real_loop import settled
from tests.server.harness import Json, Place, audio_append, begun_calls, create, serving
from tests.volumes import SEED, volume

CALLS = volume(50, 200)
AT_ONCE = 10


async def turns(count: int) -> None:
    """Let the loop turn so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def one_call(place: Place, number: int) -> None:
    """A call that is dropped somewhere, in one of the ways in which calls are dropped."""
    chance = random.Random(f"{SEED} {number}")
    frames: list[Json | str] = [create(audio_frames=chance.choice(["json", "binary"]))]
    frames += [audio_append(b"\1\0" * 320) for _ in range(chance.randrange(12))]
    frames += chance.choice([[], [{"type": "client_text_append", "text": "hello"}], ["nonsense"], [create()]])
    frames += chance.choice([[], [{"type": "client_session_end"}], [{"type": "client_session_end"}, create()]])
    async with place.client(f"/ws/user{number}/session1") as client:
        for frame in frames[: chance.randrange(len(frames) + 1)]:
            await client.send(frame)
            await turns(chance.randrange(2))
        await turns(chance.randrange(100))
        if chance.random() < 0.5:
            client.connection.transport.abort()


@pytest.mark.parametrize("fault", ["none", "slow provider"])
async def test_dropped_calls_leave_nothing(fault: str) -> None:
    """BRW-13: close at random points; afterwards there is no task, thread or socket that was not there before."""

    delays = random.Random(SEED)

    async def greet_late(session: object) -> None:
        await turns(delays.randrange(200))
        await session.greet()  # type: ignore[attr-defined]

    async with Emulator(on_open=greet_late if fault == "slow provider" else None) as provider:
        model = OpenAIRealtimeModel(api_key="k", base_url=provider.base_url)
        settings = ServerSettings(max_calls_per_address=AT_ONCE * 2, max_busy=1, drain_s=0, limits=Limits(grace_s=0))
        async with serving(lambda: RealtimeAgent("Friday", "", model), settings) as place:
            begun = begun_calls(place.calls)
            await one_call(place, 0)
            await settled(lambda: place.calls.running == 0)
            process, tasks, threads = psutil.Process(), asyncio.all_tasks(), threading.active_count()
            n_sockets = len(process.net_connections())
            numbers = iter(range(1, CALLS + 1))

            async def caller() -> None:
                for number in numbers:
                    await one_call(place, number)

            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(caller())
            await settled(lambda: place.calls.running == 0 and not place.calls.sessions)
            for session in provider.sessions:
                await session.socket.wait_closed()
            await settled(lambda: asyncio.all_tasks() <= tasks)
            gc.collect()
            await settled(lambda: len(process.net_connections()) <= n_sockets)
            assert threading.active_count() <= threads
            assert len(begun) > CALLS / 2


def alive(*kinds: type) -> list[object]:
    """All objects of these kinds, ended calls that nobody freed included."""
    return [one for one in gc.get_objects() if type(one) in kinds]


async def test_ended_calls_are_freed_without_the_collector() -> None:
    """Objects that refer to each other in a circle would wait for its next full run, some hundred calls later."""
    kinds = (Session, RealtimeAgent, AgentRun, Controller, Listener, ClientSocket, Wire, VoiceSocketProtocol)
    async with Emulator() as provider:
        model = OpenAIRealtimeModel(api_key="k", base_url=provider.base_url)
        async with serving(
            lambda: RealtimeAgent("Friday", "", model), ServerSettings(drain_s=0, limits=Limits(grace_s=0))
        ) as place:
            await one_call(place, 0)
            await settled(lambda: place.calls.running == 0)
            gc.collect()
            earlier = alive(*kinds)  # held, so that no new object gets the id of one of them
            known = {id(one) for one in earlier}
            gc.disable()
            try:
                for _ in range(5):
                    async with place.client("/ws/user/session1") as client:
                        await client.send(create())
                        await client.until("agent_ready")
                await settled(lambda: place.calls.running == 0)
                await settled(lambda: all(id(one) in known for one in alive(*kinds)))
                assert {type(one).__name__ for one in alive(*kinds) if id(one) not in known} == set()
            finally:
                gc.enable()
