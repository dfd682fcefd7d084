"""A provider that is a server of ours in the same process: models dial it through a pair of sockets, in any time."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from realtime.errors import ProviderError
from realtime.model.base import Address, Frame
from realtime.model.wire import Link, Receiver, WireLimits
from realtime.testing.client.pair import Application, SocketPair


class OwnEndpoint:
    """Dials an application of ours as the provider's socket. `dial` goes to a model of a provider."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self.links: list[_PairLink] = []

    async def dial(self, address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        """An open link to the application's endpoint of this protocol."""
        parts = urlsplit(address.url)
        link = _PairLink(receiver)
        link.pair = SocketPair(
            self._app,
            parts.path,
            query=parts.query,
            headers=address.headers,
            on_frame=link.received,
            on_close=link.closed,
        )
        try:
            await link.pair.open()
        except ConnectionRefusedError as error:
            raise ProviderError(str(error), code="provider_refused") from None
        self.links.append(link)
        return link

    async def close(self) -> None:
        """No socket of it is left."""
        for link in self.links:
            link.pair.lose()
            await link.pair.ended()


class _PairLink:
    """A `Link` over a pair: what arrives is given in a later turn of the loop, as over a network."""

    pair: SocketPair

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    @property
    def can_write(self) -> bool:
        return self.pair.is_open

    def write(self, frame: Frame) -> None:
        self._loop.call_soon(self.pair.send, frame)

    def received(self, frame: Frame) -> None:
        data, is_text = (frame.encode(), True) if isinstance(frame, str) else (frame, False)
        self._loop.call_soon(self._give, data, is_text)

    def _give(self, data: bytes, is_text: bool) -> None:
        if not self._is_over:
            self._receiver.received(data, is_text)

    def closed(self, code: int, reason: str) -> None:
        self._loop.call_soon(self._lost, code, reason)

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    async def close(self) -> None:
        self.pair.lose(1000)
        self._lost(1000, "")

    def abort(self) -> None:
        self.pair.lose()
        self._loop.call_soon(self._lost, 1006, "")

    def _lost(self, code: int, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._receiver.lost(code, reason)
