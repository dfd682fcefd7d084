"""The realtime model of a service of OpenAI's family."""

from __future__ import annotations

from realtime.model._one_request import OneRequest
from realtime.model.base import Connection, History, OnEvent, Settings
from realtime.model.socket_model import SocketModel
from realtime.runtime import Runtime


class FamilyModel(SocketModel):
    """A model of a service that makes one response at a time."""

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        connection = OneRequest(on_event, runtime)
        connection.below = await super().connect(
            settings=settings, on_event=connection.report, history=history, runtime=runtime
        )
        return connection
