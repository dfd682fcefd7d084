"""The AgentScope 1.x shapes, for pages that ask for nothing: JSON only, paced, every reply closed.

`short_names` drops the `agent_` prefix, as the JavaScript sample of the documentation expects (`?dialect=docs`).

The pages cannot change, so this dialect repairs their mistakes: images under another key, zeros of a recorder that was
never stopped, a commit before there is a call, the last syllable cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from realtime.audio.pcm import bytes_of
from realtime.audio.playback import AHEAD_MS, EstimatedPlayback
from realtime.audio.voice import is_voice
from realtime.call.listener import Listener, Sink
from realtime.dialects.base import AudioDeltaWriter, Frame, decode_json
from realtime.dialects.reply_frames import ReplyFrames
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, DEFAULT_OUTPUT_RATE_HZ, AudioFormat
from realtime.event.config import SessionConfig
from realtime.event.halves import decoded
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


TAIL_MS = 300
"""Silence behind a reply: the chatbot page stops its player up to 250 ms early."""
PAIR_DELAY_MS = 400
"""From the first byte to sound in the multi-agent page: 330 to 370 ms after each pause.

If the next agent began before the page has played the last one, it would fall behind by that much with each turn.
"""
LEAD_MS = 100
"""A zero frame's allowed lead over real time after the voice button."""
REFUSED_ENDS = ("no_session", "session_ended", "session_mismatch")
"""Codes of errors for a `client_session_end` that ends nothing."""


@dataclass(frozen=True, slots=True)
class PairedAgent:
    """One of the two agents that the multi-agent page asks for."""

    name: str
    instructions: str


class AgentScope1Dialect:
    """One client that speaks the 1.x vocabulary. What 1.x has no event for is not sent.

    `now` (monotonic seconds) drops the zeros that the page sends beside its live speech; `None` keeps them.
    `providers` maps the page's names of providers to ours; other names stay.
    """

    def __init__(
        self,
        *,
        short_names: bool = False,
        now: Callable[[], float] | None = None,
        providers: Mapping[str, str] | None = None,
    ) -> None:
        self._short = short_names
        self._reply_frames = ReplyFrames()
        self._delta = AudioDeltaWriter("response_audio_delta" if short_names else "agent_response_audio_delta")
        self._told: dict[str, str] = {}
        self._recorders = _Recorders(now) if now is not None else None
        self._providers = providers or {}
        self._committing = False
        """Whether the latest frame was a commit."""
        self._plays = False
        """Speech was sent that the page may still play to its end."""
        self._told_refusal = False
        self._view: Listener | None = None
        self._stopped = False
        """The page has stopped its call: a late sound would start it playing again."""
        self.pair: tuple[PairedAgent, PairedAgent] | None = None
        """The agents of the latest call, where the page names two."""

    @property
    def subprotocol(self) -> str | None:
        """See `ClientDialect`."""
        return None

    def decode(self, frame: Frame) -> c.ClientEvent:
        """See `ClientDialect`."""
        if isinstance(frame, bytes):
            raise ClientError(
                "binary frames need the subprotocol realtime.v1; send JSON with base64 audio", code="invalid_frame"
            )
        try:
            event = decode_json(frame)
        except ClientError as error:
            renamed = _image_under_its_name(frame)
            event = self._reply_frames.read(frame, error) if renamed is None else decode_json(renamed)
        self._committing = type(event) is c.ClientAudioCommitEvent
        match event:
            case c.ClientAudioAppendEvent() if self._recorders is not None and not self._recorders.keeps(event):
                return msgspec.structs.replace(event, audio=b"")
            case c.ClientAudioCommitEvent() if self._recorders is not None:
                self._recorders.switched_off()
            case c.ClientSessionEndEvent():
                self._stopped = True
            case c.ClientSessionCreateEvent():
                self._told_refusal = self._stopped = self._plays = False
                self.pair = _pair(event.config)
                named = event.config.get("model_provider")
                if isinstance(named, str) and named in self._providers:
                    config = event.config | {"model_provider": self._providers[named]}
                    return msgspec.structs.replace(event, config=config)
            case _:
                pass
        return event

    def more(self) -> Sequence[c.ClientEvent]:
        """The further events of the frame that was decoded last (`ReplyFrames.more`)."""
        return self._reply_frames.more()

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if self._stopped and not self._ends(event):
            return []
        if type(event) is s.AgentResponseAudioDeltaEvent:
            self._plays = True
            return [self._delta.encode(event)]
        if type(event) is s.ServerAudioFlushEvent:
            self._plays = False
            return []
        if type(event) is s.AgentErrorEvent and self._is_no_news(event):
            return []
        fields = self._fields(event)
        if fields is None:
            return []
        if self._short:
            fields["type"] = fields["type"].removeprefix("agent_")
        frames: list[Frame] = [msgspec.json.encode(fields).decode()]
        if type(event) is s.AgentResponseAudioDoneEvent and self._plays and not is_voice(event.item_id):
            self._plays = False
            if not (self._short or self.pair is not None or self._hears_humans()):
                frames.insert(0, self._delta.encode(_tail(event)))
        return frames

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`. These pages always play 24 kHz, never flush and acknowledge nothing.

        Raises ClientError for audio that is not served.
        """
        rate_hz = DEFAULT_OUTPUT_RATE_HZ
        input_hz = config.input_rate_hz
        if self._recorders is not None:
            self._recorders.rate_hz = input_hz
        self._view = Listener(
            sink=sink,
            dialect=self,
            runtime=runtime,
            clock=EstimatedPlayback(rate_hz) if self.pair is None else EstimatedPlayback(rate_hz, PAIR_DELAY_MS),
            ahead_ms=AHEAD_MS,
            output_rate_hz=rate_hz,
        )
        return self._view

    def _hears_humans(self) -> bool:
        """Whether the stream also carries human voices, which silence would delay."""
        return self._view is not None and self._view.hears_humans

    def _ends(self, event: s.ServerEvent) -> bool:
        """Whether a page that stopped its call still gets the event: it ends the call, or tells that the call
        continues."""
        if isinstance(event, s.AgentErrorEvent) and event.code in REFUSED_ENDS:
            self._stopped = False
        return not self._stopped or isinstance(event, s.AgentEndedEvent | s.ServerSessionEndedEvent)

    def _is_no_news(self, event: s.AgentErrorEvent) -> bool:
        """Whether the error would only alarm the user.

        The page commits before there is a call, and sends each of the camera's images, one a second, to a model that
        takes none.
        """
        if event.code in ("no_session", "session_ended"):
            return self._committing
        if event.code != "unsupported_modality":
            return False
        told, self._told_refusal = self._told_refusal, True
        return told

    def _fields(self, event: s.ServerEvent) -> dict[str, Any] | None:
        """The 1.x object of an event; `None` if 1.x has no such event."""
        if isinstance(event, _AS_THEY_ARE):
            return event.model_dump()
        match event:
            case s.AgentInputTranscriptionDoneEvent():
                # A page appends each transcript. After an undone turn end only the rest is new to it.
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


class _Recorders:
    """Drops the zeros of recorders that a page has left running.

    Each time its voice button is switched off and on again, one more recorder sends zeros between the live frames. They
    would chop the speech, so frames of zeros are dropped while the client is ahead of real time.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.rate_hz = DEFAULT_INPUT_RATE_HZ
        """The rate of frames that do not say their own."""
        self._off = False
        self._since_s: float | None = None
        """When the latest frame came, once several recorders may be sending."""
        self._ahead_ms = 0.0

    def switched_off(self) -> None:
        """The page stopped listening."""
        self._off = True

    def keeps(self, event: c.ClientAudioAppendEvent) -> bool:
        """Whether the frame is part of the speech."""
        now_s = self._now()
        if self._off:
            self._off, self._since_s, self._ahead_ms = False, now_s, 0.0
        if self._since_s is None:
            return True
        self._ahead_ms = max(0.0, self._ahead_ms - (now_s - self._since_s) * 1000)
        self._since_s = now_s
        if self._ahead_ms > LEAD_MS and event.audio.count(0) == len(event.audio):
            return False
        try:
            rate_hz = event.format.rate_hz(self.rate_hz)
        except ValueError:
            return True
        self._ahead_ms += len(event.audio) // 2 * 1000 / rate_hz
        return True


def _pair(config: Mapping[str, Any]) -> tuple[PairedAgent, PairedAgent] | None:
    """The two agents that the config of the multi-agent page names; `None` for any other. Raises ClientError."""
    if not any(f"agent{number}_{part}" in config for number in (1, 2) for part in ("name", "instructions")):
        return None
    first, second = _paired(config, 1), _paired(config, 2)
    if first.name.casefold() == second.name.casefold():
        second = PairedAgent(f"{second.name} 2", second.instructions)
    return first, second


def _paired(config: Mapping[str, Any], number: int) -> PairedAgent:
    name, instructions = (config.get(f"agent{number}_{part}", "") for part in ("name", "instructions"))
    if not isinstance(name, str) or not isinstance(instructions, str):
        raise ClientError(f"config: name and instructions of agent{number} are strings", code="invalid_config")
    return PairedAgent(" ".join(name.split()) or f"Agent {number}", instructions)


_read_fields = msgspec.json.Decoder(dict[str, Any]).decode


def _image_under_its_name(frame: str) -> str | None:
    """The frame of an image that the chatbot page puts under `data`; else `None`.

    1.x expects it under `image`.
    """
    try:
        fields = decoded(_read_fields, frame)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if fields.get("type") != "client_image_append" or "image" in fields or "data" not in fields:
        return None
    fields["image"] = fields.pop("data")
    return msgspec.json.encode(fields).decode()


def _tail(event: s.AgentResponseAudioDoneEvent) -> s.AgentResponseAudioDeltaEvent:
    """Silence at the end of an item's audio."""
    return s.AgentResponseAudioDeltaEvent(
        response_id=event.response_id,
        item_id=event.item_id,
        output_index=event.output_index,
        content_index=event.content_index,
        delta=bytes(bytes_of(TAIL_MS, DEFAULT_OUTPUT_RATE_HZ)),
        format=AudioFormat.pcm16(DEFAULT_OUTPUT_RATE_HZ),
        agent_id=event.agent_id,
        agent_name=event.agent_name,
        seq=event.seq,
        ts_ms=event.ts_ms,
    )


def _tool_use(call: ToolCallBlock) -> dict[str, Any]:
    try:
        parsed = msgspec.json.decode(call.input or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        parsed = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": parsed, "raw_input": call.input}


def _tool_result(result: ToolResultBlock) -> dict[str, Any]:
    fields = msgspec.to_builtins(result)
    return {"type": "tool_result", "id": result.id, "name": result.name, "output": fields["output"]}
