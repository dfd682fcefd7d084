"""A remote agent at the other end of the SDK: messages out, events in, its tasks cancelled.

The SDK speaks both wires. What it raises becomes one sentence about the remote agent; its own texts hold addresses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from realtime.a2a import sdk
from realtime.a2a.answer import ASKS, DONE, MESSAGE, state_of
from realtime.a2a.card import NEW_VERSION, OLD_VERSION, AgentCard
from realtime.a2a.http import Hosts, new_client
from realtime.a2a.parts import plain
from realtime.agent.tasks import TimeUp, bounded, end_task
from realtime.errors import ProviderError, RealtimeError

logger = logging.getLogger(__name__)

CANCEL_S = 5.0
"""Seconds for a cancellation, and for the id of a task."""
END_S = 0.5
"""Seconds for a request to end once it is cancelled."""
FIRST_POLL_S = 0.1
"""Seconds before a task is first asked for; each time after that it is half as much again."""
LONGEST_POLL_S = 2.0
MAX_REASON_CHARS = 200
"""Of what a remote agent says of its error."""
MAX_LOST_LINKS = 3
"""How often in a row a running task may be lost."""

Event = Mapping[str, Any]
"""What the remote agent sends, in the JSON of 1.0."""
_GONE = ("TaskNotFoundError", "UnsupportedOperationError")
"""The remote agent takes no more messages to a task."""
_OTHER_WIRE = ("VersionNotSupportedError", "MethodNotFoundError")
"""The remote agent does not speak what its card says."""


class Refused(ProviderError):
    """The remote agent answered with an error of the protocol. `kind` is the SDK's name of it."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message, code="a2a_refused")
        self.kind = kind


class Remote:
    """One remote agent. Its client is made when it is first used, and again in another event loop."""

    def __init__(
        self,
        card: AgentCard,
        *,
        headers: Mapping[str, str],
        allowed_hosts: Iterable[str],
        timeout_s: float,
        client_config: Any = None,
        verify: Any = True,
    ) -> None:
        self.card = card
        self.faults: list[str] = []
        """What was dropped of the answers since the last reply began."""
        origin = [] if card.origin is None else [card.origin]
        self._hosts = Hosts([*allowed_hosts, *origin], anywhere=card.origin is None)
        self._headers = dict(headers)
        self._timeout_s = timeout_s
        self._config = client_config
        self._verify = verify
        self._sdk: SimpleNamespace | None = None
        self._http: Any = None
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, message: Event) -> AsyncGenerator[Event, None]:
        """Send a message and yield what comes. Raises ProviderError where nothing can come.

        A task or a context that the remote agent has forgotten, and a card that names the wrong protocol, are asked
        again without it, once.
        """
        has_begun = False
        for is_last in (False, True):
            try:
                async for event in self._send(message):
                    has_begun = True
                    yield event
                return
            except Refused as refused:
                if is_last or has_begun:
                    raise
                if message.get("taskId") and refused.kind in _GONE:
                    message = {key: value for key, value in message.items() if key != "taskId"}
                elif refused.kind in _OTHER_WIRE:
                    await self._use_other_wire()
                elif self.card.capabilities.streaming and refused.kind == "UnsupportedOperationError":
                    await self._use(replace(self.card, capabilities=replace(self.card.capabilities, streaming=False)))
                else:
                    raise

    async def follow(self, task_id: str) -> AsyncGenerator[Event, None]:
        """Yield what comes of a task that still runs: its stream again, else its state now and then."""
        client = await self._ready()
        assert self._sdk is not None, "it is loaded"
        types = self._sdk.types
        if self.card.capabilities.streaming:
            try:
                async for event in self._told(client.subscribe(types.SubscribeToTaskRequest(id=task_id))):
                    yield event
                return
            except Refused as refused:
                logger.debug("a remote agent gives no stream again: %s", refused.kind)
        pause_s = FIRST_POLL_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_POLL_S)
            with _sentences(self.card.name):
                task = await client.get_task(types.GetTaskRequest(id=task_id))
            yield {"task": plain(task)}

    async def cancel(self, task_id: str) -> None:
        """Ask for the end of a task. Raises ProviderError where that is refused."""
        client = await self._ready()
        assert self._sdk is not None, "it is loaded"
        with _sentences(self.card.name):
            await client.cancel_task(self._sdk.types.CancelTaskRequest(id=task_id))

    async def close(self) -> None:
        """Close the connections. The next message opens them again."""
        http, self._http, self._client = self._http, None, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _send(self, message: Event) -> AsyncIterator[Event]:
        client = await self._ready()
        assert self._sdk is not None, "it is loaded"
        try:
            request = self._sdk.parse({"message": message}, self._sdk.types.SendMessageRequest())
        except Exception as error:
            raise ProviderError(
                f"this message cannot be sent to {self.card.name}: {str(error)[:MAX_REASON_CHARS]}",
                code="a2a_bad_message",
            ) from None
        async for event in self._told(client.send_message(request)):
            yield event

    async def _told(self, events: AsyncGenerator[Any, None]) -> AsyncIterator[Event]:
        with _sentences(self.card.name):
            async with aclosing(events):
                async for event in events:
                    yield plain(event)

    async def _ready(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._sdk = self._sdk or await sdk.load()
            self._loop = loop
            self._http = new_client(
                self._hosts,
                headers=self._headers,
                timeout_s=self._timeout_s,
                note=self.faults.append,
                verify=self._verify,
            )
            await self._use(self.card)
        return self._client

    async def _use(self, card: AgentCard) -> None:
        assert self._sdk is not None, "it is loaded"
        self.card = card
        given = self._config
        config = self._sdk.ClientConfig(
            streaming=getattr(given, "streaming", True),
            # The id of its task comes at once, so that it can be cancelled.
            polling=getattr(given, "polling", False) or not card.capabilities.streaming,
            httpx_client=getattr(given, "httpx_client", None) or self._http,
            supported_protocol_bindings=getattr(given, "supported_protocol_bindings", None) or ["JSONRPC", "HTTP+JSON"],
            accepted_output_modes=getattr(given, "accepted_output_modes", None) or [],
        )
        described = self._sdk.parse(card.to_sdk(), self._sdk.types.AgentCard())
        self._client = self._sdk.ClientFactory(config).create(described)

    async def _use_other_wire(self) -> None:
        def other(version: str) -> str:
            return NEW_VERSION if version.startswith("0.") else OLD_VERSION

        interfaces = [replace(one, protocol_version=other(one.protocol_version)) for one in self.card.interfaces]
        await self._use(replace(self.card, interfaces=interfaces))


class Exchange:
    """One message to a remote agent, and what comes of it.

    It outlives its reader: an exchange that is abandoned cancels the remote task, also one whose id is yet to come.
    `on_first` gets the first event, with or without a reader: the message was delivered.
    """

    def __init__(self, remote: Remote, message: Event, on_first: Callable[[Event], None]) -> None:
        self._remote = remote
        self._message = message
        self._on_first: Callable[[Event], None] | None = on_first
        # Bounded by what one request may bring.
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task_id = ""
        self._is_over = False
        self._knows = asyncio.Event()
        """Set once the id of the task is known."""
        self._work = asyncio.get_running_loop().create_task(self._pump(), name=f"exchange with {remote.card.name}")
        self._work.add_done_callback(lambda _: self._events.put_nowait(None))

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield what comes, up to the end of the task. Raises ProviderError where it is lost."""
        while (event := await self._events.get()) is not None:
            yield event
        self._work.result()

    async def abandon(self) -> None:
        """Cancel the remote task, if it still runs, and end the exchange."""
        try:
            if not self._task_id and not self._work.done():
                knows = asyncio.ensure_future(self._knows.wait())
                try:
                    await asyncio.wait({knows, self._work}, timeout=CANCEL_S, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    knows.cancel()
            if self._task_id and not self._is_over:
                await bounded(self._remote.cancel(self._task_id), CANCEL_S, grace_s=END_S)
        except (RealtimeError, TimeUp) as error:
            logger.info("the task of a remote agent was not cancelled: %s", type(error).__name__)
        finally:
            await end_task(self._work, END_S)

    async def _pump(self) -> None:
        n_lost = 0
        try:
            async with aclosing(self._remote.send(self._message)) as events:
                await self._take(events)
        except ProviderError as error:
            n_lost = 1
            if not (self._task_id and error.retryable):
                raise
        while self._task_id and not self._is_over:
            # The stream has ended before the task, or there was none.
            try:
                async with aclosing(self._remote.follow(self._task_id)) as events:
                    await self._take(events)
                n_lost = 0
            except ProviderError as error:
                n_lost += 1
                if n_lost > MAX_LOST_LINKS or not error.retryable:
                    raise
            if not self._is_over:
                await asyncio.sleep(FIRST_POLL_S)

    async def _take(self, events: AsyncGenerator[Event, None]) -> None:
        async for event in events:
            on_first, self._on_first = self._on_first, None
            if on_first is not None:
                on_first(event)
            self._task_id = self._task_id or _task_id(event)
            if self._task_id:
                self._knows.set()
            self._is_over = self._is_over or state_of(event) in (*DONE, *ASKS, MESSAGE)
            self._events.put_nowait(event)
            if self._is_over:
                return


def _task_id(event: Event) -> str:
    match event:
        case {"task": {"id": str(task_id)}}:
            return task_id
        case {"statusUpdate": {"taskId": str(task_id)}} | {"artifactUpdate": {"taskId": str(task_id)}}:
            return task_id
    return ""


class _sentences:
    """Turns what the SDK raises into one sentence about the remote agent."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        if isinstance(error, RealtimeError):
            raise ProviderError(
                f"{self._name} cannot be asked: {error.message}",
                code=error.code,
                retryable=error.retryable,
            ) from None
        raise _failure(self._name, error) from None


def _failure(name: str, error: Exception) -> ProviderError:
    kinds = [one.__name__ for one in type(error).__mro__]
    if "A2AClientTimeoutError" in kinds or "TimeoutException" in kinds:
        return ProviderError(f"{name} did not answer in time", code="a2a_timeout", retryable=True)
    if "A2AClientError" in kinds or "HTTPError" in kinds or "StreamError" in kinds:
        return ProviderError(f"{name} was lost while it answered", code="a2a_lost", retryable=True)
    if "A2AError" in kinds:
        said = " ".join(str(getattr(error, "message", "")).split())[:MAX_REASON_CHARS]
        return Refused(f"{name} refuses: {said or type(error).__name__}", type(error).__name__)
    return ProviderError(f"{name} sent what is no answer ({type(error).__name__})", code="a2a_bad_answer")
