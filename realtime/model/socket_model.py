"""A realtime model of a service over a WebSocket: its key, its connection, its codec."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from realtime.errors import ProviderError
from realtime.model.base import Codec, Connection, History, OnEvent, Profile, RealtimeModel, Settings
from realtime.model.services import Service
from realtime.model.wire import Dial, Tap, WireLimits, dial_websocket, open_wire
from realtime.runtime import Runtime


def socket_url(base_url: str) -> str:
    """Return a service's base URL for a WebSocket: `ws` for `http`, no slash at the end."""
    return re.sub("^http", "ws", base_url.rstrip("/"))


class SocketModel(RealtimeModel):
    """A model of `service`.

    A subclass names its `service`, sets `websocket_url`, and makes the codec of one connection in `_codec`. This class
    finds the key (`api_key`, else the service's environment variables), dials, and words the error of a missing or
    refused key. `dial`, `tap` and `limits` go to `realtime.model.wire`; the first two may be changed, to record or
    replay.
    """

    service: ClassVar[Service]

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
        api_key = self._find_key()
        if api_key is None:
            message = f"the server has no key for {service.title}: set {service.key_variables[0]}"
            raise ProviderError(message, code="missing_api_key")
        make_codec, dial = self._session(api_key, runtime)
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

    @property
    def websocket_headers(self) -> dict[str, str]:
        """See `RealtimeModel.websocket_headers`."""
        return dict(self._codec(self._find_key() or "", str).address(Settings()).headers)

    def _find_key(self) -> str | None:
        variable = self.service.key_variable(os.environ)
        return self._api_key or os.environ.get(variable) or None

    def _session(self, api_key: str, runtime: Runtime) -> tuple[Callable[[], Codec], Dial]:
        """Return the factory of a session's codecs, and its dial."""
        return lambda: self._codec(api_key, runtime.new_id), self.dial

    @abstractmethod
    def _codec(self, api_key: str, new_id: Callable[[str], str]) -> Codec:
        """Return a codec for one connection; `new_id` makes ids where the service sends none."""
