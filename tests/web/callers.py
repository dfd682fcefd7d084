"""Programs in calls, and calls as the server tells of them, for the tests of the pages that show calls."""

import json
import re
import urllib.request
from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Page, Route
from websockets.sync.client import connect

from tests.volumes import HANG_S
from tests.web.pages import Json

AREA = {"name": "area", "description": "Work out an area.", "parameters": {"type": "object", "properties": {}}}
INFO: Json = {
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
        self.page = page_of(address, self.call_id, user)
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
            event: Json = json.loads(self._socket.recv(timeout=HANG_S))
            if event["type"] == event_type:
                return event

    def _send(self, event: Json) -> None:
        self._socket.send(json.dumps(event))


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=HANG_S) as answer:
        return json.load(answer)


def page_of(address: str, call_id: str | None = "call1", user: str = "ann") -> str:
    """Where the server at this address shows a call, or the list of the user's calls."""
    return f"{address.rstrip('/')}/transcript.html?user={user}" + (f"&call={call_id}" if call_id else "")


def stream(*events: Json) -> str:
    """The event stream of events at `seq` 1, 2, 3..."""
    frames = (f"id: {place}\nevent: {one['type']}\ndata: {json.dumps(one)}\n\n" for place, one in enumerate(events, 1))
    return "".join(frames)


def tell(page: Page, events: list[Json], info: Json = INFO) -> None:
    """Let the page read this call, under any id."""

    def answer(route: Route) -> None:
        if "/events" in route.request.url:
            route.fulfill(content_type="text/event-stream", body=stream(*events))
        else:
            route.fulfill(json=info)

    page.route(re.compile(r"/api/calls/"), answer)


def list_calls(page: Page, calls: list[Json], after: str | None = None) -> None:
    """Let the page list these calls."""
    page.route(re.compile(r"/api/calls\?"), lambda route: route.fulfill(json={"calls": calls, "next": after}))


def reply(reply_id: str, *middle: Json, name: str = "Friday", role: str = "assistant", **end: Any) -> list[Json]:
    """The events of one whole reply."""
    made = [
        {"type": "REPLY_START", "session_id": "s1", "name": name, "role": role},
        *middle,
        {"type": "REPLY_END", "session_id": "s1", **end},
    ]
    return [
        {"id": f"{reply_id}_{place}", "created_at": "2026-01-01T00:00:00.000Z", "reply_id": reply_id, **one}
        for place, one in enumerate(made)
    ]


def custom(name: str, **value: Any) -> Json:
    """An event outside a reply."""
    made = {"id": name, "created_at": "2026-01-01T00:00:05.000Z", "reply_id": "", "type": "CUSTOM"}
    return made | {"name": name, "value": value}


def text(block_id: str, words: str) -> list[Json]:
    return [
        {"type": "TEXT_BLOCK_START", "block_id": block_id},
        {"type": "TEXT_BLOCK_DELTA", "block_id": block_id, "delta": words},
        {"type": "TEXT_BLOCK_END", "block_id": block_id},
    ]


def tool_round(call_id: str) -> list[Json]:
    of = {"tool_call_id": call_id}
    return [
        {"type": "TOOL_CALL_START", "tool_call_name": "look", **of},
        {"type": "TOOL_CALL_END", **of},
        {"type": "TOOL_RESULT_START", "tool_call_name": "look", **of},
        {"type": "TOOL_RESULT_TEXT_DELTA", "delta": f"saw {call_id}", **of},
        {"type": "TOOL_RESULT_END", "state": "success", **of},
    ]


def spoken(who: str, item_id: str, words: str, from_ms: int) -> Json:
    """A line of a transcript that lasts a second."""
    line = {"who": who, "kind": "speech", "text": words, "item_id": item_id}
    return line | {"from_ms": from_ms, "to_ms": from_ms + 1_000}


LINES = [spoken("user", "i1", "How large is it?", 500), spoken("Friday", "i2", "It has forty-one rooms.", 2_000)]
SPOKEN = [*reply("r1", *text("i1", LINES[0]["text"]), role="user"), *reply("r2", *text("i2", LINES[1]["text"]))]
"""A call of two lines, and its events."""
