"""Turns as Gemini Live clients see them: in the service's recorded order.

The service names no responses and no items. A turn of the wire begins with the model's first response to something and
ends with `turnComplete`; the tools in between belong to it, and so does the time until its speech was heard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pybase64

from realtime.event import server as s
from realtime.event.base import UsageDetail
from realtime.message import ToolCallBlock

Json = dict[str, Any]

RATE_HZ = 24_000
MIME_TYPE = f"audio/pcm;rate={RATE_HZ}"
MAX_SPEECH_BYTES = 96_000
"""Speech in one frame, 2 s: clients of the SDK take no frame above 1 MiB."""


def encode(message: Json) -> bytes:
    """The frame as the service writes it: indented JSON with a final newline, in a binary frame."""
    return msgspec.json.format(msgspec.json.encode(message), indent=2) + b"\n"


def content(**fields: Any) -> bytes:
    """A frame of `serverContent`."""
    return encode({"serverContent": fields})


def warning(event: s.AgentErrorEvent) -> bytes:
    """A frame that warns: the service has none, so it stands beside empty content, and clients may overlook it."""
    return encode({"serverContent": {}, "warning": {"code": event.code, "message": event.message}})


_HEAD, _, _TAIL = content(modelTurn={"parts": [{"inlineData": {"mimeType": MIME_TYPE, "data": "@"}}]}).partition(b"@")

SETUP_COMPLETE = encode({"setupComplete": {}})
INTERRUPTED = content(interrupted=True)
GENERATION_COMPLETE = content(generationComplete=True)


@dataclass(slots=True)
class _Turn:
    """A turn of the model as the client sees it."""

    running: set[str] = field(default_factory=set)
    """Responses of the model."""
    new_calls: dict[str, list[ToolCallBlock]] = field(default_factory=dict)
    """Calls for the client, by response: one frame says them."""
    server_calls: set[str] = field(default_factory=set)
    """Responses that called tools of this server."""
    told: bool = False
    cut: bool = False
    """Interrupted: it ends when the model has stopped."""
    finished: s.AgentResponseDoneEvent | None = None
    """Its last response: once that was played, the turn is complete."""
    failed: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    details: list[UsageDetail] = field(default_factory=list)
    grounding: Json = field(default_factory=dict)


class Turns:
    """The turns of one session. Every method returns the frames that say what happened, in order."""

    def __init__(self, *, tells_words: bool) -> None:
        self._tells_words = tells_words
        self._turn: _Turn | None = None
        self._open_calls: dict[str, None] = {}
        self._words: dict[tuple[str, int], str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no turn is running."""
        return self._turn is None

    def created(self, event: s.AgentResponseCreatedEvent) -> list[bytes]:
        """The model begins, or continues after a tool."""
        frames: list[bytes] = []
        if self._turn is not None and (self._turn.cut or self._turn.finished is not None):
            frames = self._complete(self._turn)
        if self._turn is None:
            self._turn = _Turn()
        self._turn.running.add(event.response_id)
        return frames

    def speech(self, event: s.AgentResponseAudioDeltaEvent) -> list[bytes]:
        """A chunk of speech: the hottest frame."""
        if not self._tell(event.response_id):
            return []
        pcm = event.delta
        if len(pcm) <= MAX_SPEECH_BYTES:
            return [_HEAD + pybase64.b64encode(pcm) + _TAIL]
        pieces = (pcm[at : at + MAX_SPEECH_BYTES] for at in range(0, len(pcm), MAX_SPEECH_BYTES))
        return [_HEAD + pybase64.b64encode(piece) + _TAIL for piece in pieces]

    def words(self, event: s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent) -> list[bytes]:
        """The next words, spoken or written."""
        spoken = isinstance(event, s.AgentResponseAudioTranscriptDeltaEvent)
        return self._say(event.response_id, (event.item_id, event.content_index), event.delta, spoken=spoken)

    def words_done(self, event: s.AgentResponseAudioTranscriptDoneEvent | s.AgentResponseTextDoneEvent) -> list[bytes]:
        """All words of a part: say those that were not said yet."""
        spoken = isinstance(event, s.AgentResponseAudioTranscriptDoneEvent)
        text = event.transcript if isinstance(event, s.AgentResponseAudioTranscriptDoneEvent) else event.text
        key = (event.item_id, event.content_index)
        rest = rest_of(self._words.get(key, ""), text)
        frames = self._say(event.response_id, key, rest, spoken=spoken)
        self._words.pop(key, None)
        return frames

    def _say(self, response_id: str, key: tuple[str, int], words: str, *, spoken: bool) -> list[bytes]:
        if not words or not self._is_running(response_id):
            return []
        self._words[key] = self._words.get(key, "") + words
        if spoken and not self._tells_words:
            return []
        self._tell(response_id)
        if spoken:
            return [content(outputTranscription={"text": words})]
        return [content(modelTurn={"parts": [{"text": words}]})]

    def called(self, event: s.AgentResponseToolUseDoneEvent, *, ours: bool) -> list[bytes]:
        """The model calls a function. `ours`: it runs in this server, and the client is not told."""
        turn = self._turn
        if turn is not None and self._is_running(event.response_id):
            if ours:
                turn.server_calls.add(event.response_id)
            else:
                turn.new_calls.setdefault(event.response_id, []).append(event.tool_use)
        return []

    def settled(self, call_id: str, *, by_client: bool) -> list[bytes]:
        """A call has its result. If it is not the client's, the client may stop working on it."""
        if call_id not in self._open_calls:
            return []
        del self._open_calls[call_id]
        return [] if by_client else [_withdrawn([call_id])]

    def done(self, event: s.AgentResponseDoneEvent) -> list[bytes]:
        """A response is over. The same event comes once more when all of it was played."""
        turn = self._turn
        if turn is None:
            return []
        if turn.finished is event:
            return self._complete(turn)
        if event.response_id not in turn.running:
            return []
        turn.running.discard(event.response_id)
        turn.input_tokens += event.input_tokens
        turn.output_tokens += event.output_tokens
        if event.usage_detail is not None:
            turn.details.append(event.usage_detail)
        turn.grounding |= event.grounding or {}
        calls = turn.new_calls.pop(event.response_id, [])
        if turn.cut:
            return [] if turn.running else self._complete(turn)
        if event.status != "cancelled" and calls:
            # Also if the response failed after its calls: they run, and wait for the client.
            turn.told = True
            self._open_calls.update(dict.fromkeys(call.id for call in calls))
            return [encode({"toolCall": {"functionCalls": [_call(call) for call in calls]}})]
        if turn.running or (event.status == "completed" and event.response_id in turn.server_calls):
            return []
        if event.status == "cancelled" and not turn.told:
            self._turn = None  # it was withdrawn unnoticed
            return []
        turn.finished = event
        turn.failed = event.status == "failed"
        # What was cut off or broke off was not generated to its end.
        return [GENERATION_COMPLETE] if event.status in ("completed", "incomplete") else []

    def interrupted(self, *, on_request: bool) -> list[bytes]:
        """The voice was silenced. `on_request`: the client asked for that and always gets the answer."""
        turn = self._turn
        if turn is None or not turn.told:
            self._turn = None
            return [INTERRUPTED, *self._complete(_Turn())] if on_request else []
        if turn.cut:
            return []
        frames = []
        if self._open_calls:
            frames.append(_withdrawn([*self._open_calls]))
            self._open_calls.clear()
        frames.append(INTERRUPTED)
        if turn.running:
            turn.cut = True
            return frames
        return frames + self._complete(turn)

    def refused(self, *, awaited: bool) -> list[bytes]:
        """The model will not respond. `awaited`: the client waits for a response."""
        turn = self._turn or _Turn()
        if turn.running or turn.finished is not None or not (awaited or self._turn is not None):
            return []
        turn.failed = True
        return self._complete(turn)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _is_running(self, response_id: str) -> bool:
        return self._turn is not None and response_id in self._turn.running and not self._turn.cut

    def _tell(self, response_id: str) -> bool:
        if not self._is_running(response_id):
            return False
        assert self._turn is not None
        self._turn.told = True
        return True

    def _complete(self, turn: _Turn) -> list[bytes]:
        self._turn = None
        self._words.clear()
        said: Json = {"turnComplete": True}
        if turn.failed:
            said["turnCompleteReason"] = "RESPONSE_REJECTED"
        if turn.grounding:
            said["groundingMetadata"] = turn.grounding
        message: Json = {"serverContent": said}
        if usage := _usage(turn):
            message["usageMetadata"] = usage
        return [encode(message)]


def rest_of(told: str, text: str) -> str:
    """The rest of the text behind the words already told; nothing if those were other words."""
    if not told:
        return text
    told = told.strip()
    at = len(text) - len(text.lstrip())
    return text[at + len(told) :] if text.startswith(told, at) else ""


def _withdrawn(call_ids: list[str]) -> bytes:
    return encode({"toolCallCancellation": {"ids": call_ids}})


def _call(call: ToolCallBlock) -> Json:
    try:
        arguments = msgspec.json.decode(call.input or "{}")
    except (msgspec.DecodeError, RecursionError):
        arguments = {}
    return {"name": call.name, "args": arguments if isinstance(arguments, dict) else {}, "id": call.id}


def _usage(turn: _Turn) -> Json:
    """Counts of the whole turn, without zero or unknown ones; the total holds no thoughts, as recorded."""

    def total(name: str) -> int:
        return sum(getattr(detail, name) or 0 for detail in turn.details)

    def by_modality(direction: str, *modalities: str) -> list[Json]:
        counts = [(one, total(f"{direction}_{one}_tokens")) for one in modalities]
        return [{"modality": one.upper(), "tokenCount": count} for one, count in counts if count]

    counts = {
        "promptTokenCount": turn.input_tokens,
        "cachedContentTokenCount": total("input_cached_tokens"),
        "responseTokenCount": turn.output_tokens,
        "totalTokenCount": turn.input_tokens + turn.output_tokens,
        "promptTokensDetails": by_modality("input", "text", "audio", "image"),
        "responseTokensDetails": by_modality("output", "text", "audio"),
        "thoughtsTokenCount": total("output_reasoning_tokens"),
    }
    return {name: count for name, count in counts.items() if count}
