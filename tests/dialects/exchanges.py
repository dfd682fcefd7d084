"""Exchanges with a client in lines of data: what its frames mean, and what it is told.

A line names the exchange, with the client's setup, which may be `refused`; then its steps follow. What is left out of
an event is as it is by default; of a session only what has changed is shown, and no frame by its id.

- `hear`: a frame of the client; `read` are its events, or `refused` are code and message; `told` are the answers
- `tell`: events of the call; `told` are the frames
- `farewell`: close code and reason at the end of the session
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from realtime.errors import ClientError
from realtime.event import ServerEvents
from realtime.event import server as s
from realtime.event.base import Event
from tests.model.test_codec_received import without_defaults

Json = dict[str, Any]


class Client(Protocol):
    """A dialect in a call, and the frames that its client was sent."""

    dialect: Any
    frames: list[Json]

    def take(self, frame: Json) -> list[Any]:
        """All that a frame of the client says."""

    def tell(self, *events: s.ServerEvent) -> Any:
        """Let frames say it."""


def exchanges(name: str) -> dict[str, list[Json]]:
    """By its name the line that names it, and its steps."""
    found: dict[str, list[Json]] = {}
    for line in map(json.loads, (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()):
        if "exchange" in line:
            steps = found[line["exchange"]] = []
        steps.append(line)
    return found


def differing(name: str, make: Callable[[Json], Client]) -> dict[str, list[Json]]:
    """The exchanges of a file that went otherwise than written, with what came of each step."""
    went = {exchange: played(make, head, steps) for exchange, (head, *steps) in exchanges(name).items()}
    return {exchange: lines for exchange, lines in went.items() if lines != exchanges(name)[exchange]}


def played(make: Callable[[Json], Client], head: Json, steps: list[Json]) -> list[Json]:
    head = {key: value for key, value in head.items() if key != "refused"}
    try:
        client = make(head.get("setup", {}))
    except ClientError as error:
        return [head | {"refused": [error.code, error.message]}]
    session: Json = {}
    shown(client.frames, session)
    done = [head]
    for step in steps:
        before = len(client.frames)
        match step:
            case {"hear": frame}:
                line = {"hear": frame} | heard(client, frame)
            case {"tell": events}:
                client.tell(*events_of(events))
                line = {"tell": events, "told": []}
            case _:
                line = {"farewell": [*client.dialect.farewell()]}
        if told := shown(client.frames[before:], session):
            line["told"] = told
        done.append(line)
    return done


def heard(client: Client, frame: Json) -> Json:
    try:
        return {"read": [*map(short, client.take(frame))]}
    except ClientError as error:
        return {"refused": [error.code, error.message]}


def short(event: Event) -> Json:
    fields: Json = json.loads(msgspec.json.encode({"type": event.type} | without_defaults(event)))
    return fields


def events_of(dumped: list[Json]) -> list[s.ServerEvent]:
    """One that stands there twice is the same event: a listener says the end of a response again once it was heard."""
    made = {json.dumps(one): ServerEvents.from_json(one) for one in dumped}
    return [made[json.dumps(one)] for one in dumped]


def shown(frames: list[Json], session: Json) -> list[Json]:
    """The frames without their ids, and of a session only what differs from `session`, which then is it."""
    told = []
    for frame in frames:
        fields = {key: value for key, value in frame.items() if key != "event_id"}
        if "session" in frame:
            fields["session"] = {key: value for key, value in frame["session"].items() if session.get(key) != value}
            session |= frame["session"]
        told.append(fields)
    return told
