"""The client of `a2a-sdk`, on each wire that a card offers."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest, StreamResponse, Task, TaskState
from google.protobuf.json_format import MessageToDict

from tests.volumes import HANG_S

WIRES = [(version, binding) for version in ("1.0", "0.3") for binding in ("JSONRPC", "HTTP+JSON")]
"""Version and binding."""
_numbers = itertools.count(1)


def message(text: str, **more: Any) -> SendMessageRequest:
    """A request with a message of these words."""
    sent = Message(role=Role.ROLE_USER, message_id=f"m{next(_numbers)}", parts=[Part(text=text)], **more)
    return SendMessageRequest(message=sent)


@dataclass
class Told:
    """A task, as the events of its stream tell of it."""

    task_id: str = ""
    context_id: str = ""
    states: list[str] = field(default_factory=list)
    words: str = ""
    artifacts: dict[str, list[Any]] = field(default_factory=dict)

    def take(self, event: StreamResponse) -> Told:
        match event.WhichOneof("payload"):
            case "task":
                self.whole(event.task)
            case "status_update":
                self._status(event.status_update.status)
            case "artifact_update":
                self._artifact(event.artifact_update.artifact)
            case other:
                raise AssertionError(f"{other} is not of a task")
        return self

    def whole(self, task: Task) -> Told:
        self.task_id, self.context_id = task.id, task.context_id
        self._status(task.status)
        for artifact in task.artifacts:
            self._artifact(artifact)
        return self

    def _status(self, status: Any) -> None:
        self.states.append(TaskState.Name(status.state).removeprefix("TASK_STATE_").lower())
        self.words = " ".join(part.text for part in status.message.parts) or self.words

    def _artifact(self, artifact: Any) -> None:
        self.artifacts[artifact.name] = MessageToDict(artifact)["parts"]

    @property
    def end(self) -> tuple[str, str]:
        return self.states[-1], self.words


@dataclass
class Peer:
    """Another agent."""

    client: Client
    card: AgentCard

    async def stream(self, request: SendMessageRequest) -> AsyncIterator[Told]:
        """What is known of the task after each event."""
        told = Told()
        async for event in self.client.send_message(request):
            yield told.take(event)

    async def ask(self, text: str, **more: Any) -> Told:
        """The task of a message, at its end."""
        told = Told()
        async for told in self.stream(message(text, **more)):  # noqa: B007
            pass
        return told


@asynccontextmanager
async def peer(
    url: str, wire: tuple[str, str] = WIRES[0], *, streaming: bool = True, **headers: str
) -> AsyncIterator[Peer]:
    """A client of the server at `url`, on one wire of its card."""
    async with httpx.AsyncClient(timeout=HANG_S, headers=headers) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        _, binding = wire
        (chosen,) = [one for one in card.supported_interfaces if (one.protocol_version, one.protocol_binding) == wire]
        only = AgentCard()
        only.CopyFrom(card)
        del only.supported_interfaces[:]
        only.supported_interfaces.append(chosen)
        config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
        yield Peer(ClientFactory(config).create(only), card)
