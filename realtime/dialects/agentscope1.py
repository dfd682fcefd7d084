"""The AgentScope 1.x shapes, for pages that ask for nothing: JSON only, paced, every reply closed.

`short_names` drops the `agent_` prefix, as the JavaScript sample of the documentation expects (`?dialect=docs`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.audio.playback import AHEAD_MS, EstimatedPlayback
from realtime.dialects.base import AudioDeltaWriter, Frame, decode_json
from realtime.errors import ClientError
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ
from realtime.event.client import ClientEvent
from realtime.event.config import SessionConfig
from realtime.listener import Listener, Sink
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.runtime import Runtime

_AS_THEY_ARE = (
    s.ServerSessionCreatedEvent
    | s.ServerSessionUpdatedEvent
    | s.ServerSessionEndedEvent
    | s.AgentReadyEvent
    | s.AgentEndedEvent
    | s.AgentResponseCreatedEvent
    | s.AgentResponseDoneEvent
    | s.AgentResponseAudioDoneEvent
    | s.AgentResponseAudioTranscriptDeltaEvent
    | s.AgentResponseAudioTranscriptDoneEvent
    | s.AgentInputStartedEvent
    | s.AgentInputDoneEvent
    | s.AgentErrorEvent
)


class AgentScope1Dialect:
    """One client that speaks the 1.x vocabulary. What 1.x has no event for is not sent."""

    def __init__(self, *, short_names: bool = False) -> None:
        self._short = short_names
        self._delta = AudioDeltaWriter("response_audio_delta" if short_names else "agent_response_audio_delta")
        self._told: dict[str, str] = {}

    @property
    def subprotocol(self) -> str | None:
        """See `ClientDialect`."""
        return None

    def decode(self, frame: Frame) -> ClientEvent:
        """See `ClientDialect`."""
        if isinstance(frame, bytes):
            raise ClientError(
                "binary frames need the subprotocol realtime.v1; send JSON with base64 audio", code="invalid_frame"
            )
        return decode_json(frame)

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            return [self._delta.encode(event)]
        fields = self._fields(event)
        if fields is None:
            return []
        if self._short:
            fields["type"] = fields["type"].removeprefix("agent_")
        return [msgspec.json.encode(fields).decode()]

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`. These pages play 24 kHz whatever is said, never flush and acknowledge nothing."""
        return Listener(
            sink=sink,
            dialect=self,
            runtime=runtime,
            clock=EstimatedPlayback(DEFAULT_OUTPUT_RATE_HZ),
            ahead_ms=AHEAD_MS,
            output_rate_hz=DEFAULT_OUTPUT_RATE_HZ,
        )

    def _fields(self, event: s.ServerEvent) -> dict[str, Any] | None:
        """The 1.x object of an event, None where 1.x has none."""
        if isinstance(event, _AS_THEY_ARE):
            return event.model_dump()
        match event:
            case s.AgentInputTranscriptionDoneEvent():
                # A page appends what it gets here. When a hasty turn end was undone, only the rest is new to it.
                told = self._told.get(event.item_id, "")
                self._told = {event.item_id: event.transcript}
                fields = event.model_dump()
                if told and event.transcript.startswith(told):
                    fields["transcript"] = event.transcript[len(told) :]
                return fields
            case s.AgentResponseTextDeltaEvent():
                return event.model_dump() | {"type": "agent_response_audio_transcript_delta"}
            case s.AgentResponseTextDoneEvent():
                fields = event.model_dump()
                fields["transcript"] = fields.pop("text")
                return fields | {"type": "agent_response_audio_transcript_done"}
            case s.AgentResponseToolUseDoneEvent():
                return event.model_dump() | {"tool_use": _tool_use(event.tool_use)}
            case s.AgentResponseToolResultEvent():
                return event.model_dump() | {"tool_result": _tool_result(event.tool_result)}
            case _:
                return None


def _tool_use(call: ToolCallBlock) -> dict[str, Any]:
    try:
        parsed = msgspec.json.decode(call.input or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        parsed = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": parsed, "raw_input": call.input}


def _tool_result(result: ToolResultBlock) -> dict[str, Any]:
    fields = msgspec.to_builtins(result)
    return {"type": "tool_result", "id": result.id, "name": result.name, "output": fields["output"]}
