"""Exchanges with a client of Gemini Live, a step a line: what its frames mean, and what it is told, turn by turn.

In `gemini_exchanges.jsonl` a line names the exchange, with the client's setup, which may be `refused`; then its steps
follow. What is left out of an event is as it is by default.

- `hear`: a frame of the client; `read` are its events, or `refused` are the code and the message
- `tell`: events of the call; `told` are the frames
- `farewell`: close code and reason at the end of the session, and whether the client's mistake ended it
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from realtime.errors import ClientError
from realtime.event import ServerEvents
from realtime.event import server as s
from realtime.event.base import Event
from tests.dialects.gemini_call import Call, Json
from tests.model.test_codec_received import without_defaults

FILE = Path(__file__).parent / "gemini_exchanges.jsonl"


def exchanges() -> dict[str, list[Json]]:
    """By its name the line that names it, and its steps."""
    found: dict[str, list[Json]] = {}
    for line in map(json.loads, FILE.read_text(encoding="utf-8").splitlines()):
        if "exchange" in line:
            name = line["exchange"]
        found.setdefault(name, []).append(line)
    return found


def short(event: Event) -> Json:
    fields: Json = json.loads(msgspec.json.encode({"type": event.type} | without_defaults(event)))
    return fields


def heard(call: Call, frame: Json) -> Json:
    try:
        return {"read": [*map(short, call.hear(frame))]}
    except ClientError as error:
        return {"refused": [error.code, error.message]}


def events_of(dumped: list[Json]) -> list[s.ServerEvent]:
    """One that stands there twice is the same event: a listener says the end of a response again once it was heard."""
    made = {json.dumps(one): ServerEvents.from_json(one) for one in dumped}
    return [made[json.dumps(one)] for one in dumped]


def went(head: Json, steps: list[Json]) -> list[Json]:
    """The lines with what came of each."""
    begun = {name: value for name, value in head.items() if name != "refused"}
    try:
        call = Call(**head["setup"])
    except ClientError as error:
        return [begun | {"refused": [error.code, error.message]}]
    done: list[Any] = [begun]
    for step in steps:
        match step:
            case {"hear": frame}:
                done.append({"hear": frame} | heard(call, frame))
            case {"tell": events}:
                done.append({"tell": events, "told": call.tell(*events_of(events))})
            case {"farewell": _}:
                done.append({"farewell": [*call.dialect.farewell(), call.dialect.is_over]})
    return done


def test_each_exchange_goes_as_written() -> None:
    expected = exchanges()
    done = {name: went(head, steps) for name, (head, *steps) in expected.items()}
    assert {name: lines for name, lines in done.items() if lines != expected[name]} == {}
