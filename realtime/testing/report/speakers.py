"""Whose voice it was: the names of the lanes for what the log tells by item and agent."""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.event import server as s
from realtime.testing.record import CallRecord, Lane


class Speakers:
    """The people and agents of one record."""

    def __init__(self, record: CallRecord) -> None:
        self._record = record
        self._humans = [lane.speaker for lane in record.lanes if lane.kind == "human"]
        self._agents = [lane.speaker for lane in record.lanes if lane.kind == "agent"]
        self._item_names = {item.id: item.name for item in record.items if item.role == "user" and item.name}
        self._stream_starts: dict[str, float | None] = {
            lane.speaker: _stream_start_ms(record, lane) for lane in record.lanes if lane.kind == "human"
        }
        self._earliest_ms = _earliest_ms(record)

    def human(self, item_id: str, ts_ms: float) -> str:
        """Who said this item, told at `ts_ms`."""
        name = self._item_names.get(item_id)
        if len(self._humans) == 1:
            return self._humans[0]
        if name is not None:
            return name
        speaking = [one for one in self._record.spoken if one.from_ms <= ts_ms]
        if speaking:
            return max(speaking, key=lambda one: one.from_ms).who
        return self._humans[0] if self._humans else "user"

    def agent(self, event: s.ServerEvent) -> str:
        """Who sent this event."""
        names = (str(getattr(event, "agent_name", "")), str(getattr(event, "agent_id", "")))
        for name in names:
            if name in self._agents:
                return name
        return self._agents[0] if len(self._agents) == 1 else next(filter(None, names), "agent")

    def call_ms(self, who: str, audio_ms: float, ts_ms: float) -> float:
        """When in the call the place `audio_ms` of this human's stream was; never later than it was told of.

        Where the record has the frames of the wire this is exact to a frame. Else the stream is taken to begin so that
        its promptest event took no time, which is late by what a model needs to notice a voice.
        """
        start = self._stream_starts.get(who)
        return min(ts_ms, max(0.0, audio_ms + (self._earliest_ms if start is None else start)))


def _earliest_ms(record: CallRecord) -> float:
    """When the stream of a human began at the latest."""
    starts = [
        event.ts_ms - (event.audio_start_ms if isinstance(event, s.AgentInputStartedEvent) else event.audio_end_ms)
        for event in record.entries
        if isinstance(event, s.AgentInputStartedEvent | s.AgentInputDoneEvent)
    ]
    return max(0.0, float(min(starts, default=0)))


def _stream_start_ms(record: CallRecord, lane: Lane) -> float | None:
    """When the stream of this human began, by what the server said to have received; None where it said nothing."""
    starts: list[float] = []
    for frame in record.frames:
        if frame.leg != "client" or frame.who != lane.speaker or "server_audio_received" not in frame.text:
            continue
        received: Any = msgspec.json.decode(frame.text)
        starts.append(frame.ts_ms - received["offset"] * 1000 / lane.rate_hz)
    return max(0.0, min(starts)) if starts else None
