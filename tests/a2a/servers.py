"""Remote agents on the SDK's own server: a script that each message runs, on real sockets and both wires."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, Part
from fastapi import FastAPI, Request
from fastapi.responses import Response

from realtime.a2a import A2AAgent, WellKnownAgentCardResolver
from realtime.a2a.parts import plain
from realtime.runtime import unique_id
from realtime.server.runner import TlsFiles
from tests.server.harness import serving_app

Wire = Literal["1.0", "0.3", "1.0 REST", "0.3 REST"]
WIRES: list[Wire] = ["1.0", "0.3", "1.0 REST", "0.3 REST"]
Script = Callable[["Turn"], Awaitable[None]]
"""What the remote agent does with one message."""


@dataclass
class Turn:
    """One message at the remote agent, and the ways to answer it."""

    context: RequestContext
    queue: EventQueue
    updater: TaskUpdater
    is_old: bool
    """Whether the task was there before."""

    @property
    def words(self) -> str:
        return self.context.get_user_input()

    @property
    def message(self) -> dict[str, Any]:
        """The message as it arrived."""
        read: dict[str, Any] = plain(self.context.message)
        return read

    async def task(self) -> None:
        """Begin a task, if there is none."""
        if not self.is_old:
            assert self.context.message is not None
            task = new_task_from_user_message(self.context.message)
            task.id, task.context_id = str(self.context.task_id), str(self.context.context_id)
            await self.queue.enqueue_event(task)
        await self.updater.start_work()

    def said(self, *texts: str) -> Message:
        return self.updater.new_agent_message([Part(text=text) for text in texts])

    async def answer(self, *texts: str) -> None:
        """Answer with a message of its own."""
        message = Message(message_id=unique_id(), role="ROLE_AGENT", parts=[Part(text=text) for text in texts])
        message.context_id = str(self.context.context_id)
        await self.queue.enqueue_event(message)


@dataclass
class Remote:
    """A remote agent that runs, and what it was asked."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    cancelled: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Tasks that were cancelled, by their ids."""
    requests: list[dict[str, str]] = field(default_factory=list)
    """The headers of the requests."""

    async def agent(self, **options: Any) -> A2AAgent:
        """An agent of ours that talks to it."""
        return A2AAgent(await WellKnownAgentCardResolver(self.url).get_agent_card(), **options)

    def words(self) -> list[list[str]]:
        """The texts of each message."""
        return [[part["text"] for part in one["parts"]] for one in self.asked]


class Scripted(AgentExecutor):
    """Runs a script for each message."""

    def __init__(self, script: Script, remote: Remote) -> None:
        self._script = script
        self._remote = remote

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        turn = Turn(context, event_queue, updater, context.current_task is not None)
        self._remote.asked.append(turn.message)
        await self._script(turn)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self._remote.cancelled.put_nowait(str(context.task_id))
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()


@asynccontextmanager
async def remote_agent(
    script: Script, wire: Wire = "1.0", *, streaming: bool = True, tls: TlsFiles | None = None
) -> AsyncIterator[Remote]:
    """A remote agent on a free port, with its card at the well-known path."""
    app = FastAPI()
    remote = Remote()

    @app.middleware("http")
    async def note(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        remote.requests.append(dict(request.headers))
        return await go_on(request)

    async with serving_app(app, tls=tls) as place:
        remote.url = place.url
        interface = AgentInterface(
            url=f"{place.url}/rpc" if "REST" not in wire else place.url,
            protocol_binding="HTTP+JSON" if "REST" in wire else "JSONRPC",
            protocol_version=wire.partition(" ")[0],
        )
        card = AgentCard(
            name="Office",
            description="The back office.",
            version="1.2.3",
            capabilities=AgentCapabilities(streaming=streaming),
            supported_interfaces=[interface],
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="rooms", name="Rooms", description="Books rooms.", tags=["rooms"])],
        )
        handler = DefaultRequestHandler(Scripted(script, remote), InMemoryTaskStore(), card)
        routes: list[Any] = [*create_agent_card_routes(card)]
        routes += create_rest_routes(handler, enable_v0_3_compat="0.3" in wire) if "REST" in wire else []
        routes += create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=wire == "0.3")
        app.router.routes[:0] = routes
        yield remote
    await _end_tasks_of_the_server()


async def _end_tasks_of_the_server() -> None:
    """The SDK's server and its streams have tasks that outlive them."""
    left = [task for task in asyncio.all_tasks() if _is_of_the_server(task)]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


def _is_of_the_server(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and any(part in code.co_filename for part in ("/sse_starlette/", "/site-packages/a2a/"))
