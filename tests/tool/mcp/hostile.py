"""MCP servers that misbehave, over stdio: `python hostile.py BEHAVIOUR`. They start fast: standard library only.

All list the honest tool `echo` beside the tool `act`, which shows the behaviour when it is called, or that which its
argument `how` names; some behaviours show at the start. What is said in whole messages is in `scripted`.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
TEXT: Json = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO: Json = {"name": "echo", "description": "Say it again.", "inputSchema": TEXT}
HOW: Json = {"type": "object", "properties": {"how": {"type": "string"}}}
ACT: Json = {"name": "act", "description": "Do it.", "inputSchema": HOW}
CAPABILITIES: Json = {"tools": {"listChanged": True}, "logging": {}}
FLOOD = 20_000
HUGE_CHARS = 10_000_000
ASKED: dict[str, Json] = {}
"""Questions without an answer yet, and the requests in which they were asked."""
_IDS = itertools.count(1)


def send(message: Json) -> None:
    """Write a message."""
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def write(text: str) -> None:
    """Write anything."""
    sys.stdout.write(text)
    sys.stdout.flush()


def answer(request: Json, result: Any) -> None:
    """Answer a request."""
    send({"id": request["id"], "result": result})


def text(words: str) -> Json:
    """A result."""
    return {"content": [{"type": "text", "text": words}]}


def notify(method: str, **params: Any) -> None:
    """Write a notification."""
    send({"method": method, "params": params})


def floods(request: Json) -> None:
    """Tens of thousands of notifications before the answer: logs, progress of nothing and of this call, unknown."""
    token = request["params"].get("_meta", {}).get("progressToken")
    for number in range(FLOOD):
        notify("notifications/message", level="info", data=f"line {number}")
        notify("notifications/progress", progressToken=f"no-{number}", progress=number)
        notify("notifications/progress", progressToken=token, progress=number, message=f"step {number}")
        notify("notifications/nonsense", number=number)
    answer(request, text("flooded"))


def floods_for_ever(request: Json) -> None:
    """Notifications without end, and no answer."""
    line = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "line"}}

    def flood() -> None:
        # So short a line is written whole: no other is within it.
        while True:
            os.write(1, json.dumps(line).encode() + b"\n")

    threading.Thread(target=flood, daemon=True).start()


def invalid_json(request: Json) -> None:
    """Half an answer, bytes that are no text, and numbers that are none; never a whole answer."""
    begin = f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": '
    write(begin + '{"content": [\n')
    sys.stdout.buffer.write(b"\xff\xfe\x00 no text\n")
    sys.stdout.flush()
    write(begin + "NaN}\n")
    write("[" * 50_000 + "\n")


def prints(request: Json) -> None:
    """Lines of a careless program around the answer."""
    write("DEBUG about to answer\n\n   \n{}\n[]\nnull\n")
    answer(request, text("printed"))
    write("DEBUG done\n")


def huge(request: Json) -> None:
    """An answer of tens of megabytes."""
    answer(request, text("x" * HUGE_CHARS))


def no_newline(request: Json) -> None:
    """Megabytes of a line that never ends."""
    for _ in range(HUGE_CHARS // 1_000_000):
        write("y" * 1_000_000)


def many_parts(request: Json) -> None:
    """A small message that is large once it is read."""
    write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"content":[],"structuredContent":{{"a":[')
    write("{}," * 200_000 + "{}]}}}\n")


def asks_at_once(request: Json) -> None:
    """A hundred questions at the same time, of each kind, and each again once there is an answer."""
    message = {"role": "user", "content": {"type": "text", "text": "Say a long poem."}}
    sample = {"messages": [message], "maxTokens": 100_000}
    for number in range(100):
        send({"id": f"roots-{number}", "method": "roots/list"})
        send({"id": f"no-{number}", "method": "nonsense/ask", "params": {}})
        send({"id": f"sample-{number}", "method": "sampling/createMessage", "params": sample})
        ask(request)
    answer(request, text("asked"))


def ask(request: Json) -> None:
    """Ask the user."""
    number = next(_IDS)
    ASKED[f"ask-{number}"] = request
    schema = {"type": "object", "properties": {"really": {"type": "boolean"}}}
    params = {"message": f"Question {number}?", "requestedSchema": schema}
    send({"id": f"ask-{number}", "method": "elicitation/create", "params": params})


def never_reads(request: Json) -> None:
    """Asks thousands of things, and reads no answer; in the end not even the next request."""
    for number in range(5_000):
        send({"id": f"ask-{number}", "method": "roots/list"})
    threading.Event().wait()


def leaves_a_child(request: Json) -> None:
    """Starts a process that outlives it; its id."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    answer(request, text(str(child.pid)))


def dies(request: Json) -> None:
    """The process ends in the middle of the call."""
    os._exit(1)


def wrong_result(result: Any) -> Callable[[Json], None]:
    """A behaviour that gives what is no result."""
    return lambda request: answer(request, result)


WRONG_RESULTS = {"a string": "done", "null": None, "a list": [1, 2], "half a surrogate pair": text("\ud800")}
ACTS: dict[str, Callable[[Json], None]] = {act.__name__: act for act in (floods, floods_for_ever, invalid_json, prints)}
ACTS |= {act.__name__: act for act in (huge, no_newline, many_parts, asks_at_once, never_reads, leaves_a_child, dies)}
ACTS |= {name: wrong_result(result) for name, result in WRONG_RESULTS.items()}


def initialize(request: Json, behaviour: str) -> None:
    """Answer the first request."""
    version = request["params"]["protocolVersion"]
    result = {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": {"name": "h", "version": "1"}}
    if behaviour == "initialize_is_wrong":
        result = {"protocolVersion": 7, "capabilities": "all"}
    elif behaviour == "old":
        result["protocolVersion"] = "1999-01-01"
    answer(request, result)


LISTED = {
    "thousands": [f"echo_{number}" for number in range(5_000)],
    "steers": ["\x1b[31mred\x1b[0m", "a\u202eb\u200bc"],
}
"""Names of tools that a server has beside its echo."""


def deep_schema(levels: int) -> Json:
    """Objects within objects."""
    deep: Json = {"type": "string"}
    for _ in range(levels):
        deep = {"type": "object", "properties": {"a": deep}}
    return deep


def serve(behaviour: str) -> None:
    """Read requests to the end of the input."""
    if behaviour == "exits_at_once":
        raise SystemExit(3)
    if behaviour == "prints_at_start":
        write("Welcome to the careless server!\nListening ...\n\n")
    for line in sys.stdin:
        request = json.loads(line)
        if behaviour == "deaf":
            continue
        match request.get("method"):
            case "initialize":
                initialize(request, behaviour)
            case "tools/list":
                act = {**ACT, "inputSchema": deep_schema(5_000)} if behaviour == "deep_list" else ACT
                more = [{**ECHO, "name": name} for name in LISTED[behaviour]] if behaviour in LISTED else [act]
                answer(request, {"tools": [ECHO, *more]})
            case "tools/call" if request["params"]["name"] == "act":
                ACTS[request["params"].get("arguments", {}).get("how", behaviour)](request)
            case "tools/call":
                answer(request, text(str(request["params"].get("arguments", {}).get("text"))))
            case None if request.get("id") in ASKED:
                ask(ASKED.pop(request["id"]))
            case "ping":
                answer(request, {})
            case method if method is not None and "id" in request:
                send({"id": request["id"], "error": {"code": -32601, "message": f"no method {method}"}})
    if behaviour == "stays":
        threading.Event().wait()


if __name__ == "__main__":
    serve(sys.argv[1])
