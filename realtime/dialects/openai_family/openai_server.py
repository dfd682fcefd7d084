"""What OpenAI realtime clients are told: items, responses and their order, as recorded from the service.

One response of the wire may consist of several of the model's: where the server runs a tool of its own, of which the
client knows nothing, the response stays open until the model has spoken on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pybase64

from realtime.agent.responses import RESPONSE_REFUSED
from realtime.event import server as s
from realtime.event.base import ContentPart, Item, ResponseStatus, UsageDetail
from realtime.message import ToolCallBlock

Json = dict[str, Any]
MakeFrame = Callable[..., str]
REASONS = {
    "cancelled": ("turn_detected", "client_cancelled"),
    "incomplete": ("max_output_tokens", "content_filter"),
}


MAX_CALL_ID_CHARS = 32
"""OpenAI refuses longer ids of calls, so clients shorten them on their own before they send a result (LiveKit does)."""


def told_call_id(call_id: str) -> str:
    """The id of a call as clients know it."""
    if len(call_id) <= MAX_CALL_ID_CHARS:
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[:MAX_CALL_ID_CHARS]


def wire_item(item: Item) -> Json:
    """The item as this protocol writes it."""
    if item.tool_call is not None:
        return _call_item(item.id, item.tool_call, "completed")
    if item.tool_result is not None:
        result = item.tool_result
        return {
            "id": item.id,
            "type": "function_call_output",
            "call_id": told_call_id(result.id),
            "output": result.output if isinstance(result.output, str) else result.output_text(),
        }
    role = item.role or "user"
    content = [_wire_part(part, role) for part in item.content]
    return {"id": item.id, "type": "message", "status": item.status, "role": role, "content": content}


def _wire_part(part: ContentPart, role: str) -> Json:
    if part.type == "image":
        data = pybase64.b64encode_as_string(part.image or b"")
        return {"type": "input_image", "image_url": f"data:{part.media_type or 'image/jpeg'};base64,{data}"}
    if role == "assistant":
        if part.type == "audio":
            return {"type": "output_audio", "transcript": part.transcript or ""}
        return {"type": "output_text", "text": part.text or ""}
    if part.type == "audio":
        return {"type": "input_audio", "transcript": part.transcript}
    return {"type": "input_text", "text": part.text or ""}


def _call_item(item_id: str, call: ToolCallBlock, status: str) -> Json:
    return {
        "id": item_id,
        "type": "function_call",
        "status": status,
        "name": call.name,
        "call_id": told_call_id(call.id),
        "arguments": call.input if status != "in_progress" else "",
    }


@dataclass(slots=True)
class _Part:
    """A content part while it is said."""

    kind: Literal["audio", "text"]
    words: str = ""
    audio_done: bool = False
    words_done: bool = False
    closed: bool = False


@dataclass(slots=True)
class _Output:
    """An item of a response."""

    wire: Json
    output_index: int
    parts: dict[int, _Part] = field(default_factory=dict)
    before: str | None = None
    streamed: bool = False
    done: bool = False


@dataclass(slots=True)
class _Reply:
    """A response as the client sees it."""

    id: str
    in_band: bool
    session: Json
    modalities: list[str]
    metadata: Json | None
    outputs: dict[str, _Output] = field(default_factory=dict)
    calls_client: bool = False
    calls_server: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    details: list[UsageDetail] = field(default_factory=list)


class Running:
    """The response that the conversation waits for. With tools of ours it consists of several of the model's."""

    __slots__ = ("client_calls", "id", "model_id", "server_calls", "waits")

    def __init__(self, response_id: str) -> None:
        self.id = self.model_id = response_id
        self.client_calls = 0
        self.server_calls = 0
        self.waits = False

    def goes_on(self, response_id: str) -> None:
        """The model begins, or speaks on."""
        self.model_id = response_id
        self.client_calls = self.server_calls = 0
        self.waits = False

    def ends(self, event: s.AgentResponseDoneEvent) -> bool:
        """Whether the client sees the end of it now."""
        if event.response_id != self.model_id:
            return False
        self.waits = event.status == "completed" and self.server_calls > 0 and self.client_calls == 0
        return not self.waits


class Replies:
    """The responses of one session. Every method returns the frames that say what happened, in order."""

    def __init__(self, frame: MakeFrame, new_event_id: Callable[[], str]) -> None:
        self._frame = frame
        self._new_event_id = new_event_id
        self._replies: dict[str, _Reply] = {}
        self._held: _Reply | None = None
        self._before: dict[str, str | None] = {}
        self._stands_for: dict[str, str | None] = {}
        self._heads: tuple[tuple[str, str, int], str, str] | None = None
        self._interrupted_by = "client_cancelled"
        self.last_item_id: str | None = None
        """The item that was told last."""
        self.conversation_id = ""

    def announced(self, event: s.AgentItemAddedEvent) -> str | None:
        """An item has its place; it is told at once, with its commit, or with its first content. Returns which one the
        client knows before it."""
        before = event.previous_item_id
        before = self._before[event.item.id] = self._stands_for.get(before, before) if before is not None else None
        return before

    def hide(self, item_id: str) -> None:
        """The client is not told of this item: in its place it sees the latest one it knows."""
        self._stands_for[item_id] = self.last_item_id

    def place_of(self, item_id: str) -> str | None:
        """The item before the one that was announced."""
        return self._before.pop(item_id, None)

    def created(self, event: s.AgentResponseCreatedEvent, session: Json) -> list[str]:
        """A response begins, or the one that waited for a tool of ours goes on."""
        in_band = event.conversation != "none"
        if in_band and self._held is not None:
            self._replies[event.response_id], self._held = self._held, None
            return []
        modalities = [*(event.output_modalities or session["output_modalities"])]
        # Where a model says both, the words are those of the voice.
        modalities = ["audio"] if "audio" in modalities else ["text"]
        reply = _Reply(event.response_id, in_band, session, modalities, event.metadata)
        self._replies[event.response_id] = reply
        return [self._frame("response.created", response=self._response(reply, "in_progress", None, None))]

    def speech(self, event: s.AgentResponseAudioDeltaEvent | s.AgentResponseAudioDoneEvent, audio: bytes) -> list[str]:
        """A chunk of speech. What stays the same within an item is written once: this is the hottest frame."""
        if not audio:
            return []
        key = (event.item_id, event.response_id, event.content_index)
        frames: list[str] = []
        if self._heads is None or self._heads[0] != key:
            place, _, _ = self._open(event, "audio", frames)
            if place is None:
                return []
            head, tail = self._frame("response.output_audio.delta", **place, delta="").rsplit('""', 1)
            start, _, rest = head.partition('"event_id":"')
            self._heads = (key, f'{start}"event_id":"', rest[rest.index('"') :])
            assert tail == "}"
        _, start, rest = self._heads
        frames.append(f'{start}{self._new_event_id()}{rest}"{pybase64.b64encode_as_string(audio)}"}}')
        return frames

    def words(self, event: s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent) -> list[str]:
        """The next words."""
        spoken = isinstance(event, s.AgentResponseAudioTranscriptDeltaEvent)
        frames: list[str] = []
        place, part, _ = self._open(event, "audio" if spoken else "text", frames)
        if place is None or part is None:
            return []
        part.words += event.delta
        kind = "response.output_audio_transcript.delta" if spoken else "response.output_text.delta"
        return [*frames, self._frame(kind, **place, delta=event.delta)]

    def finished(
        self,
        event: s.AgentResponseAudioDoneEvent | s.AgentResponseAudioTranscriptDoneEvent | s.AgentResponseTextDoneEvent,
    ) -> list[str]:
        """Sound or words of a part are complete; with both of them, the part is."""
        frames: list[str] = []
        kind: Literal["audio", "text"] = "text" if isinstance(event, s.AgentResponseTextDoneEvent) else "audio"
        place, part, output = self._open(event, kind, frames)
        if place is None or part is None or output is None or part.closed:
            return []
        match event:
            case s.AgentResponseAudioDoneEvent():
                if not part.audio_done:
                    part.audio_done = True
                    frames.append(self._frame("response.output_audio.done", **place))
            case s.AgentResponseAudioTranscriptDoneEvent():
                # The words may be complete before the sound is; they are told in the service's order.
                part.words, part.words_done = event.transcript, True
            case s.AgentResponseTextDoneEvent():
                part.words, part.words_done = event.text, True
        if part.words_done and (part.kind == "text" or part.audio_done):
            frames += self._close_part(place, part, output)
        return frames

    def tool_use(
        self, event: s.AgentResponseToolUseDeltaEvent | s.AgentResponseToolUseDoneEvent, *, ours: bool
    ) -> list[str]:
        """The model asks for a function. `ours`: it runs in this server, and the client is not told."""
        reply = self._replies.get(event.response_id)
        if reply is None:
            return []
        if ours:
            reply.calls_server = True
            self.hide(event.item_id)
            return []
        reply.calls_client = True
        frames: list[str] = []
        output = reply.outputs.get(event.item_id)
        if output is None:
            output = self._add(reply, event.item_id, _call_item(event.item_id, event.tool_use, "in_progress"), frames)
        place = {"response_id": reply.id, "item_id": event.item_id, "output_index": output.output_index}
        call = event.tool_use
        if isinstance(event, s.AgentResponseToolUseDeltaEvent):
            output.streamed = True
            return [*frames, self._arguments(place, call, event.delta)]
        if not output.streamed and call.input:
            frames.append(self._arguments(place, call, call.input))
        frames.append(
            self._frame(
                "response.function_call_arguments.done",
                **place,
                call_id=told_call_id(call.id),
                name=call.name,
                arguments=call.input or "{}",
            )
        )
        output.wire = _call_item(event.item_id, call, "completed") | {"arguments": call.input or "{}"}
        return frames + self._close(reply, output)

    def item_done(self, item: Item) -> list[str]:
        """An answer will not change any more."""
        for reply in self._replies.values():
            output = reply.outputs.get(item.id)
            if output is not None and not output.done:
                frames = self._close_parts(reply, output)
                output.wire = wire_item(item)
                return frames + self._close(reply, output)
        return []

    def done(self, event: s.AgentResponseDoneEvent) -> list[str]:
        """A response is over, unless the model goes on after a tool of ours."""
        reply = self._replies.pop(event.response_id, None)
        if reply is None:
            return []
        self._heads = None
        reply.input_tokens += event.input_tokens
        reply.output_tokens += event.output_tokens
        if event.usage_detail is not None:
            reply.details.append(event.usage_detail)
        if reply.in_band and event.status == "completed" and reply.calls_server and not reply.calls_client:
            reply.calls_server = False
            self._held = reply
            return []
        return self._end(reply, event.status, event.status_details)

    def interrupted(self, reason: str) -> list[str]:
        """The voice was silenced."""
        self._interrupted_by = "client_cancelled" if reason == "cancel" else "turn_detected"
        return self.abandon("cancelled", None)

    def abandon(self, status: ResponseStatus, details: Json | None) -> list[str]:
        """The response that waits for a tool of ours will not go on."""
        if self._held is None:
            return []
        reply, self._held = self._held, None
        return self._end(reply, status, details)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _open(
        self, event: Any, kind: Literal["audio", "text"], frames: list[str]
    ) -> tuple[Json | None, _Part | None, _Output | None]:
        """The place of a part, with what introduces it where it is new. None where the response is not known."""
        reply = self._replies.get(event.response_id)
        if reply is None:
            return None, None, None
        output = reply.outputs.get(event.item_id)
        if output is None:
            wire = {"id": event.item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
            output = self._add(reply, event.item_id, wire, frames)
        if output.done:
            return None, None, None
        place = {
            "response_id": reply.id,
            "item_id": event.item_id,
            "output_index": output.output_index,
            "content_index": event.content_index,
        }
        part = output.parts.get(event.content_index)
        if part is None:
            part = output.parts[event.content_index] = _Part(kind)
            frames.append(self._frame("response.content_part.added", **place, part=_part_of(part)))
        return place, part, output

    def _add(self, reply: _Reply, item_id: str, wire: Json, frames: list[str]) -> _Output:
        output = reply.outputs[item_id] = _Output(wire, len(reply.outputs))
        frames.append(
            self._frame("response.output_item.added", response_id=reply.id, output_index=output.output_index, item=wire)
        )
        if reply.in_band:
            output.before = self._before.pop(item_id, self.last_item_id)
            self.last_item_id = item_id
            frames.append(self._frame("conversation.item.added", previous_item_id=output.before, item=wire))
        return output

    def _arguments(self, place: Json, call: ToolCallBlock, delta: str) -> str:
        return self._frame(
            "response.function_call_arguments.delta", **place, call_id=told_call_id(call.id), delta=delta
        )

    def _close_parts(self, reply: _Reply, output: _Output) -> list[str]:
        frames: list[str] = []
        for content_index, part in output.parts.items():
            place = {
                "response_id": reply.id,
                "item_id": output.wire["id"],
                "output_index": output.output_index,
                "content_index": content_index,
            }
            if part.closed:
                continue
            if part.kind == "audio" and not part.audio_done:
                part.audio_done = True
                frames.append(self._frame("response.output_audio.done", **place))
            frames += self._close_part(place, part, output)
        return frames

    def _close_part(self, place: Json, part: _Part, output: _Output) -> list[str]:
        part.closed = True
        if part.kind == "audio":
            words = self._frame("response.output_audio_transcript.done", **place, transcript=part.words)
            content = {"type": "output_audio", "transcript": part.words}
        else:
            words = self._frame("response.output_text.done", **place, text=part.words)
            content = {"type": "output_text", "text": part.words}
        output.wire = output.wire | {"content": [*output.wire["content"], content]}
        return [words, self._frame("response.content_part.done", **place, part=_part_of(part))]

    def _close(self, reply: _Reply, output: _Output) -> list[str]:
        output.done = True
        self._heads = None
        frames = []
        if reply.in_band:
            frames.append(self._frame("conversation.item.done", previous_item_id=output.before, item=output.wire))
        place = {"response_id": reply.id, "output_index": output.output_index}
        frames.append(self._frame("response.output_item.done", **place, item=output.wire))
        return frames

    def _end(self, reply: _Reply, status: ResponseStatus, details: Json | None) -> list[str]:
        frames: list[str] = []
        for output in reply.outputs.values():
            if not output.done:
                frames += self._close_parts(reply, output)
                output.wire["status"] = "completed" if status == "completed" else "incomplete"
                frames += self._close(reply, output)
        told = self._response(reply, status, self._details(status, details), _usage(reply))
        # The limits of the service are none of this server's: it has nothing to list.
        return [
            *frames,
            self._frame("response.done", response=told),
            self._frame("rate_limits.updated", rate_limits=[]),
        ]

    def _details(self, status: ResponseStatus, details: Json | None) -> Json | None:
        details = details or {}
        if status == "failed":
            given = details.get("error")
            error: Json = given if isinstance(given, dict) else {}
            code = error.get("code") or details.get("code") or details.get("reason") or "server_error"
            told = {"type": str(error.get("type") or "server_error"), "code": str(code)}
            return {"type": "failed", "error": told}
        if status not in REASONS:
            return None
        known, reason = REASONS[status], details.get("reason")
        if reason not in known:
            reason = self._interrupted_by if status == "cancelled" else known[0]
        return {"type": status, "reason": reason}

    def _response(self, reply: _Reply, status: str, details: Json | None, usage: Json | None) -> Json:
        session = reply.session
        spoken = session["audio"]["output"]
        return {
            "object": "realtime.response",
            "id": reply.id,
            "status": status,
            "status_details": details,
            "output": [output.wire for output in reply.outputs.values()] if status != "in_progress" else [],
            "conversation_id": self.conversation_id if reply.in_band else None,
            "output_modalities": reply.modalities,
            "max_output_tokens": session["max_output_tokens"],
            "audio": {"output": {"format": spoken["format"], "voice": spoken["voice"]}},
            "usage": usage,
            "metadata": reply.metadata,
        }


def _part_of(part: _Part) -> Json:
    if part.kind == "audio":
        return {"type": "audio", "transcript": part.words}
    return {"type": "text", "text": part.words}


def _usage(reply: _Reply) -> Json:
    """Counts by kind; where the model names no kinds, all of them are text."""

    def total(name: str) -> int:
        return sum(getattr(detail, name) or 0 for detail in reply.details)

    known = bool(reply.details)
    reasons = any(detail.output_reasoning_tokens is not None for detail in reply.details)
    cached = total("input_cached_tokens")
    return {
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "input_token_details": {
            "text_tokens": total("input_text_tokens") if known else reply.input_tokens,
            "audio_tokens": total("input_audio_tokens"),
            "image_tokens": total("input_image_tokens"),
            "cached_tokens": cached,
            "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {
            "text_tokens": total("output_text_tokens") if known else reply.output_tokens,
            "audio_tokens": total("output_audio_tokens"),
            **({"reasoning_tokens": total("output_reasoning_tokens")} if reasons else {}),
        },
    }


def encode(fields: Json) -> str:
    """The frame as JSON text."""
    return msgspec.json.encode(fields).decode()


def refuses_response(event: s.AgentErrorEvent) -> bool:
    """The model will not give the response that is waited for."""
    return event.code in RESPONSE_REFUSED
