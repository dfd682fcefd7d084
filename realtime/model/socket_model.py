"""A realtime model of a service over a WebSocket: its key, its connection, its codec."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from realtime.errors import ProviderError, UsageError
from realtime.model.base import Codec, Connection, History, OnEvent, Profile, RealtimeModel, Settings
from realtime.model.credentials import parts_of_address, socket_address, usable_key
from realtime.model.services import Service
from realtime.model.wire import Dial, Tap, WireLimits, dial_websocket, open_wire
from realtime.options import checked
from realtime.runtime import Runtime

if TYPE_CHECKING:
    from realtime.model.chat.base import ChatModelBase


def socket_url(base_url: str, path: str = "", *, source: str = "`base_url`", **query: str) -> str:
    """Return the WebSocket's address below a service's base URL: `ws` for `http`, no slash at the end.

    The parameters of `query` are added to those of the base. A base that ends in `path` is taken as it is. Raises
    UsageError with the name of `source` where the base is no address.
    """
    return socket_address(parts_of_address(base_url, source), path, **query)


_WRONG_PLACE = {"provider_dns": "host", "provider_refused": "host", "model_not_found": "address"}
"""What a variable may name wrongly, by the error of a dial."""


class SocketModel(RealtimeModel):
    """A model of `service`.

    A subclass names its `service`, sets `websocket_url`, and makes the codec of one connection in `_codec`. This class
    finds the key (`api_key`, else the service's environment variables), dials, and words the error of a missing or
    refused key. `dial`, `tap` and `limits` go to `realtime.model.wire`; the first two may be changed, to record or
    replay.
    """

    service: ClassVar[Service]

    @checked()
    def __init__(
        self,
        model_name: str,
        profile: Profile,
        api_key: str | None,
        *,
        dial: Dial = dial_websocket,
        tap: Tap | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        self.model_name = model_name
        self._profile = profile
        self._api_key = api_key
        self.dial = dial
        self.tap = tap
        self._limits = limits

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        service = self.service
        try:
            api_key = self._find_key()
        except UsageError as error:
            raise ProviderError(error.message, code=error.code) from None
        if api_key is None:
            message = f"the server has no key for {service.title}: set {service.key_variables[0]}"
            raise ProviderError(message, code="missing_api_key")
        make_codec, dial = self._session(api_key, runtime)
        try:
            return await open_wire(
                make_codec,
                settings,
                on_event=on_event,
                history=history,
                runtime=runtime,
                dial=dial,
                tap=self.tap,
                limits=self._limits,
                refused_key=service.refused_key(os.environ).message,
            )
        except ProviderError as error:
            host = urlsplit(service.url(os.environ)).hostname or ""
            variable = service.base_url_variable
            where = _WRONG_PLACE.get(error.code)
            if where is None or not os.environ.get(variable) or f" {host} " not in f" {error.message} ":
                raise
            told = f"{error.message}: correct {variable} if it is not its {where}"
            raise ProviderError(told, code=error.code, retryable=error.retryable) from error

    @property
    def websocket_headers(self) -> dict[str, str]:
        """See `RealtimeModel.websocket_headers`."""
        return dict(self._codec(self._find_key() or "", str).address(Settings()).headers)

    def chat_model(self) -> ChatModelBase | None:
        """See `RealtimeModel.chat_model`: the service's own, at the host of the socket and with the same key.

        None without a key, and where the socket's address is none of the service's kind.
        """
        key, address = self._find_key(), self._chat_address()
        if not key or not address:
            return None
        from realtime.model.chat.families import FAMILIES  # only its user pays for the SDK

        family = FAMILIES[self.service.name]
        # Always named: the SDK would take an address of the environment, which may be another one's.
        model: ChatModelBase = family.model()(family.small_model, key, **family.at(address))
        return model

    def _chat_address(self) -> str:
        """Return where the chat models of this service are; "" where that cannot be told."""
        parts = urlsplit(self.websocket_url or "")
        begin, end = self.service.chat_path or ("", "")
        root, found, _ = parts.path.rpartition(begin) if begin else ("", "", "")
        if not found:
            return ""
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != "model"])
        scheme = "https" if parts.scheme == "wss" else "http"
        return urlunsplit(parts._replace(scheme=scheme, path=root + end, query=query))

    def _find_key(self) -> str | None:
        """Raises UsageError for a key that no header can hold."""
        return usable_key(self._api_key, "`api_key`") if self._api_key else self.service.key(os.environ)

    def _address(self, base_url: str | None, path: str, **query: str) -> str:
        """Return the WebSocket's address: below `base_url`, else below that of the environment or the public one."""
        if base_url:
            return socket_url(base_url, path, **query)
        service = self.service
        return socket_url(service.url(os.environ), path, source=service.base_url_variable, **query)

    def _session(self, api_key: str, runtime: Runtime) -> tuple[Callable[[], Codec], Dial]:
        """Return the factory of a session's codecs, and its dial."""
        return lambda: self._codec(api_key, runtime.new_id), self.dial

    @abstractmethod
    def _codec(self, api_key: str, new_id: Callable[[str], str]) -> Codec:
        """Return a codec for one connection; `new_id` makes ids where the service sends none."""
