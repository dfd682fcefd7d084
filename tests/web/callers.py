"""Programs in calls, and calls as the server lists them, for the tests of the calls page."""

import json
import urllib.request
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import connect

Json = dict[str, Any]

AREA = {"name": "area", "description": "Work out an area.", "parameters": {"type": "object", "properties": {}}}
INFO = {
    "call_id": "call1",
    "owner": "ann",
    "agent_name": "Friday",
    "created_at": "2026-01-01T00:00:00.000Z",
    "ended_at": "2026-01-01T00:01:00.000Z",
    "ended_reason": "client_end",
    "live": False,
}
LIVE = INFO | {"ended_at": None, "ended_reason": None, "live": True}


class Caller:
    """A program in a call: what it says is typed, and it answers for the tool `area`."""

    def __init__(self, address: str, user: str = "ann") -> None:
        url = f"{address.replace('http', 'ws', 1)}/ws/{user}/session1"
        self._socket = connect(url, subprotocols=["realtime.v1"], max_size=None)  # type: ignore[list-item]
        self._send({"type": "client_session_create", "config": {"tools": [AREA]}})
        self.call_id: str = self.until("server_session_created")["call_id"]
        self.until("agent_ready")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def say(self, text: str) -> None:
        self._send({"type": "client_text_append", "text": text})

    def answer(self, call: Json, output: str) -> None:
        self._send({"type": "client_tool_result", "id": call["id"], "name": call["name"], "output": output})

    def end(self) -> None:
        self._send({"type": "client_session_end"})
        self.until("server_session_ended")

    def until(self, event_type: str) -> Json:
        """The next event of this type."""
        while True:
            event: Json = json.loads(self._socket.recv(timeout=30))
            if event["type"] == event_type:
                return event

    def _send(self, event: Json) -> None:
        self._socket.send(json.dumps(event))


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)
