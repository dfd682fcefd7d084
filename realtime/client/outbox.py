"""What a client sent, kept in case its socket is lost. Pure."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

import pybase64

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import frames

INPUT_HZ = 16_000
"""The rate at which a client speaks into a call."""
KEPT_SAMPLES = 10 * INPUT_HZ
"""Samples of its latest speech that a client keeps: 10 s."""
KEPT_EVENTS = 64
"""Its latest events that it keeps: far fewer than the server recognizes as repeated."""
Client = Literal["realtime.v1", "json", "agentscope1"]
"""A client: the project's (binary frames), the same with JSON audio, or AgentScope 1.x."""
Frame = str | bytes
Outgoing = tuple[Frame, bool]
"""A frame, and whether it is audio."""

_FORMAT = f'"format":{{"type":"audio/pcm","rate":{INPUT_HZ}}}'


class Outbox:
    """Encodes and keeps a client's speech and events. `name` begins the labels of its events."""

    def __init__(self, client: Client, name: str) -> None:
        self.indexes: dict[str, int] = {}
        """The index of each item in binary frames."""
        self._client = client
        self._name = name
        self._frames: deque[tuple[int, bytes, str | None, int]] = deque()
        """(offset, pcm, item played then, its ms) of the latest frames."""
        self._events: deque[tuple[int, str]] = deque(maxlen=KEPT_EVENTS)
        """Events, each with the sample of the client's speech that followed it."""
        self._event_count = 0

    def labelled(self, event: dict[str, Any]) -> str:
        """Return a client event as JSON; add a label if it has none."""
        if self._client != "agentscope1" and event.get("event_id") is None:
            self._event_count += 1
            event = {**event, "event_id": f"{self._name}_{self._event_count}"}
        return json.dumps(event)

    def keep_event(self, text: str, position: int) -> None:
        """Keep an event that precedes sample `position` of the speech."""
        self._events.append((position, text))

    def acknowledge(self, received: int) -> None:
        """Forget old events: the server has everything up to sample `received`.

        Those of the last 10 s stay: a killed server has not stored everything that it received.
        """
        while self._events and self._events[0][0] < received - KEPT_SAMPLES:
            self._events.popleft()

    def keep_speech(self, offset: int, pcm: bytes, item_id: str | None, played_ms: int) -> None:
        """Keep a speech frame; with `item_id`, keep its report of playback too."""
        self._frames.append((offset, pcm, item_id, played_ms))
        oldest = offset + len(pcm) // SAMPLE_BYTES - KEPT_SAMPLES
        while self._frames[0][0] < oldest:
            self._frames.popleft()

    def speech(self, offset: int, pcm: bytes, item_id: str | None, played_ms: int) -> Iterator[Outgoing]:
        """Yield a speech frame and its report of playback: one message or two."""
        if self._client == "realtime.v1":
            index = self.indexes.get(item_id) if item_id is not None else None
            if index is not None:
                yield frames.pack_played(0, index, played_ms, offset, pcm), True
                return
        if item_id is not None:
            yield acknowledgement(item_id, played_ms), False
        if self._client == "realtime.v1":
            yield frames.pack(frames.CLIENT_AUDIO, 0, 0, offset, pcm), True
            return
        place = f'"offset":{offset},' if self._client == "json" else ""
        audio = pybase64.b64encode_as_string(pcm)
        yield f'{{"type":"client_audio_append",{place}{_FORMAT},"audio":"{audio}"}}', True

    def missing(self, received: int | None) -> Iterator[Outgoing]:
        """Yield what the server lacks.

        That is the speech from sample `received` on, with every event in its place. None: the server does not know what
        it has of the speech.
        """
        events = deque(self._events)
        for offset, pcm, item_id, played_ms in [*self._frames]:
            while events and events[0][0] <= offset:
                yield events.popleft()[1], False
            if received is not None and offset + len(pcm) // SAMPLE_BYTES > received:
                yield from self.speech(offset, pcm, item_id, played_ms)
        for _, text in events:
            yield text, False


def acknowledgement(item_id: str, played_ms: int, flushed: bool = False) -> str:
    """Return a `client_playback_ack` as JSON."""
    return json.dumps({"type": "client_playback_ack", "item_id": item_id, "played_ms": played_ms, "flushed": flushed})
