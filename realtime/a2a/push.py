"""Push notifications: what happens to a task, posted to addresses that the owner of the server lets be reached."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Iterable

import httpx
from a2a.server.tasks import PushNotificationConfigStore, PushNotificationEvent, PushNotificationSender
from a2a.types import TaskPushNotificationConfig
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict

from realtime.certificates import trusted_certificates
from realtime.errors import ToolError
from realtime.tool.mcp.hosts import AllowedHosts, send_to

logger = logging.getLogger(__name__)

OPTION = "--a2a-push"
TIMEOUT_S = 10.0
MAX_WAITING = 100
"""Notifications of one task that wait for a slow receiver; the oldest go first: the last one says how it ended."""
MEDIA_TYPE = "application/a2a+json"


class PushHosts:
    """The hosts that may be notified: all at public addresses by https, others where the owner has `named` them."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self.allowed = AllowedHosts(named, any_public=True, option=OPTION)

    async def takes(self, url: str) -> bool:
        """Whether notifications may go there at this moment."""
        try:
            return not self.allowed.why_not(url) and bool(await self.allowed.addresses(httpx.URL(url)))
        except (ToolError, OSError, ValueError, httpx.InvalidURL):
            return False

    def client(self) -> httpx.AsyncClient:
        """Return an HTTP client that reaches these hosts only: it follows no redirect and uses no proxy."""
        allowed = self.allowed

        class Guarded(httpx.AsyncHTTPTransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                addresses = await allowed.addresses(request.url)
                return await send_to(addresses, request, super().handle_async_request, httpx.ConnectError)

        transport = Guarded(verify=trusted_certificates())
        return httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S, trust_env=False)


class Notifier(PushNotificationSender):
    """Posts each event of a task to its receivers, in order, once. No task waits for a receiver."""

    def __init__(self, receivers: PushNotificationConfigStore, hosts: PushHosts) -> None:
        self._receivers = receivers
        self._hosts = hosts
        self._client: httpx.AsyncClient | None = None
        self._waiting: dict[tuple[str, str], deque[bytes]] = {}
        self._posting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self.dropped = 0
        """Notifications that a slow receiver has cost."""

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """See `PushNotificationSender`. Returns before anything is sent."""
        receivers = await self._receivers.get_info_for_dispatch(task_id)
        if not receivers:
            return
        # Written now: the event may change later.
        body = json.dumps(MessageToDict(to_stream_response(event))).encode()
        for receiver in receivers:
            key = task_id, receiver.id
            waiting = self._waiting.setdefault(key, deque())
            if len(waiting) >= MAX_WAITING:
                waiting.popleft()
                self.dropped += 1
            waiting.append(body)
            if key not in self._posting:
                self._posting[key] = asyncio.create_task(self._post(key, receiver), name=f"notifying of {task_id}")

    async def aclose(self) -> None:
        """Stop posting. Idempotent."""
        for posting in [*self._posting.values()]:
            posting.cancel()
        await asyncio.gather(*self._posting.values(), return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _post(self, key: tuple[str, str], receiver: TaskPushNotificationConfig) -> None:
        task_id, _ = key
        if self._client is None:
            self._client = self._hosts.client()
        try:
            while waiting := self._waiting[key]:
                try:
                    answer = await self._client.post(
                        receiver.url, content=waiting.popleft(), headers=headers_of(receiver)
                    )
                    if not answer.is_success:
                        logger.warning("a receiver answered a notification of task %s: %d", task_id, answer.status_code)
                except (httpx.HTTPError, httpx.InvalidURL, OSError, ToolError) as error:
                    # Its address and its error may hold a key.
                    logger.warning("no notification of task %s: %s", task_id, type(error).__name__)
        finally:
            del self._waiting[key], self._posting[key]


def headers_of(receiver: TaskPushNotificationConfig) -> dict[str, str]:
    """Return the headers of a notification: what the receiver knows the sender by."""
    headers = {"content-type": MEDIA_TYPE}
    if receiver.token:
        headers["x-a2a-notification-token"] = receiver.token
    shown = receiver.authentication
    if shown.scheme and shown.credentials:
        headers["authorization"] = f"{shown.scheme} {shown.credentials}"
    return headers
