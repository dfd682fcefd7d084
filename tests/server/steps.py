"""Steps that many tests of the server begin or end with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.model.base import RealtimeModel
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import ServerSettings
from tests.server.harness import Client, FakeSocket, Json, Place, create, echo_agent, serving

TEXT: Json = {"type": "client_text_append", "text": "Hello"}
END: Json = {"type": "client_session_end"}


def friday(model: RealtimeModel, **more: Any) -> Callable[[], RealtimeAgent]:
    """Makes agents with this model."""
    return lambda: RealtimeAgent("Friday", "", model, **more)


@asynccontextmanager
async def calling(
    make_agent: MakeAgent = echo_agent,
    settings: ServerSettings | None = None,
    *,
    config: Json | None = None,
    **more: Any,
) -> AsyncIterator[FakeSocket]:
    """A client in a call, in virtual time."""
    async with FakeSocket(make_agent, settings, **more) as client:
        client.say(create(**(config or {})))
        await client.until("agent_ready")
        yield client


@asynccontextmanager
async def in_call(
    make_agent: MakeAgent = echo_agent,
    settings: ServerSettings | None = None,
    *,
    path: str = "/ws/user1/session1",
    **config: Any,
) -> AsyncIterator[tuple[Place, Client]]:
    """A server, and a client in a call on it, over a real socket."""
    async with serving(make_agent, settings) as place, place.client() as client:
        await client.make_call(**config)
        yield place, client


async def hang_up(client: Client) -> None:
    """End the call, and hear of its end."""
    await client.send(END)
    await client.until("server_session_ended")


async def lose(client: FakeSocket) -> None:
    """Lose the socket, and wait until the server has noticed."""
    client.lose()
    assert client.serving is not None
    await client.serving


async def passed(seconds: float) -> None:
    """Wait until every timer of this loop that is due within so many seconds has fired."""
    fired = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, fired.set)
    await fired.wait()
