"""What DashScope clients are told: items, responses and their order, as the service documents them.

One response of the wire may consist of several of the model's: where the server runs a tool of its own, of which the
client knows nothing, the response stays open until the model has spoken on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pybase64

from realtime.dialects.openai_family.dashscope_client import MODALITIES
from realtime.event import server as s
from realtime.event.base import ContentPart, Item, ResponseStatus, UsageDetail
from realtime.message import ToolCallBlock

Json = dict[str, Any]
MakeFrame = Callable[..., str]
_DELTA = "response.audio.delta"


def wire_item(item: Item) -> Json:
    """The item as this protocol writes it."""
    if item.tool_call is not None:
        return _call_item(item.id, item.tool_call, "completed")
    if item.tool_result is not None:
        result = item.tool_result
        return {
            "id": item.id,
            "object": "realtime.item",
            "type": "function_call_output",
            "status": "completed",
            "call_id": result.id,
            "output": result.output if isinstance(result.output, str) else result.output_text(),
        }
    role = item.role or "user"
    content = [_wire_part(part, role) for part in item.content if part.type != "image"]
    return _message(item.id, item.status, role, content)


def _wire_part(part: ContentPart, role: str) -> Json:
    if role == "assistant":
        if part.type == "audio":
            return {"type": "audio", "transcript": part.transcript or ""}
        return {"type": "text", "text": part.text or ""}
    if part.type == "audio":
        return {"type": "input_audio"} | ({"transcript": part.transcript} if part.transcript is not None else {})
    return {"type": "input_text", "text": part.text or ""}


def spoken_item(item_id: str) -> Json:
    """A turn of the user that was just committed: its words follow."""
    return _message(item_id, "completed", "user", [{"type": "input_audio"}])


def _message(item_id: str, status: str, role: str, content: list[Json]) -> Json:
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": role,
        "content": content,
    }


def _call_item(item_id: str, call: ToolCallBlock, status: str) -> Json:
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "function_call",
        "status": status,
        "name": call.name,
        "call_id": call.id,
        "arguments": call.input or "{}" if status == "completed" else "",
    }


@dataclass(slots=True)
class _Part:
    """A content part while it is said."""

    kind: Literal["audio", "text"]
    words: str = ""
    words_done: bool = False
    sound_done: bool = False
    closed: bool = False


@dataclass(slots=True)
class _Output:
    """An item of a response."""

    wire: Json
    output_index: int
    parts: dict[int, _Part] = field(default_factory=dict)
    streamed: bool = False
    done: bool = False


@dataclass(slots=True)
class _Reply:
    """A response as the client sees it."""

    id: str
    modalities: list[str]
    session: Json
    outputs: dict[str, _Output] = field(default_factory=dict)
    calls_client: bool = False
    calls_server: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    details: list[UsageDetail] = field(default_factory=list)


class Replies:
    """The responses of one session. Every method returns the frames that say what happened, in order."""

    def __init__(self, frame: MakeFrame, new_event_id: Callable[[], str]) -> None:
        self._frame = frame
        self._new_event_id = new_event_id
        self._replies: dict[str, _Reply] = {}
        self._held: _Reply | None = None
        self._delta: tuple[tuple[str, str, int], str] | None = None
        self._interrupted_by = "client_cancelled"
        self.conversation_id = ""

    def created(self, event: s.AgentResponseCreatedEvent, session: Json) -> list[str]:
        """A response begins, or the one that waited for a tool of ours goes on."""
        if event.conversation == "none":
            return []  # this protocol has no responses beside the conversation
        if self._held is not None:
            self._replies[event.response_id], self._held = self._held, None
            return []
        modalities = event.output_modalities or session["modalities"]
        reply = _Reply(event.response_id, MODALITIES if "audio" in modalities else ["text"], session)
        self._replies[event.response_id] = reply
        return [self._frame("response.created", response=self._response(reply, "in_progress"))]

    def speech(self, event: s.AgentResponseAudioDeltaEvent) -> list[str]:
        """A chunk of speech. What stays the same within an item is written once: this is the hottest frame."""
        key = (event.item_id, event.response_id, event.content_index)
        frames: list[str] = []
        if self._delta is None or self._delta[0] != key:
            place, part, _ = self._open(event, "audio", frames)
            if place is None or part is None or part.closed:
                return []
            empty = self._frame(_DELTA, **place, delta="")
            self._delta = (key, empty[empty.index('","type":') : -2])
        data = pybase64.b64encode_as_string(event.delta)
        frames.append(f'{{"event_id":"{self._new_event_id()}{self._delta[1]}{data}"}}')
        return frames

    def words(self, event: s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent) -> list[str]:
        """The next words."""
        spoken = isinstance(event, s.AgentResponseAudioTranscriptDeltaEvent)
        frames: list[str] = []
        place, part, _ = self._open(event, "audio" if spoken else "text", frames)
        if place is None or part is None or part.words_done:
            return []
        part.words += event.delta
        kind = "response.audio_transcript.delta" if spoken else "response.text.delta"
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
                # The sound may be complete before the words are; the words are told to be complete first.
                part.sound_done = True
            case s.AgentResponseAudioTranscriptDoneEvent():
                frames += self._end_words(place, part, event.transcript)
            case s.AgentResponseTextDoneEvent():
                frames += self._end_words(place, part, event.text)
        if part.words_done and (part.kind == "text" or part.sound_done):
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
            return []
        reply.calls_client = True
        frames: list[str] = []
        call, output = event.tool_use, reply.outputs.get(event.item_id)
        if output is None:
            output = self._add(reply, event.item_id, _call_item(event.item_id, call, "in_progress"), frames)
        if output.done:
            return []
        place = {"response_id": reply.id, "item_id": event.item_id, "output_index": output.output_index}
        kind = "response.function_call_arguments"
        if isinstance(event, s.AgentResponseToolUseDeltaEvent):
            output.streamed = True
            return [*frames, self._frame(f"{kind}.delta", **place, call_id=call.id, delta=event.delta)]
        output.wire = _call_item(event.item_id, call, "completed")
        arguments = output.wire["arguments"]
        if not output.streamed:
            frames.append(self._frame(f"{kind}.delta", **place, call_id=call.id, delta=arguments))
        frames.append(self._frame(f"{kind}.done", **place, call_id=call.id, name=call.name, arguments=arguments))
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
        reply.input_tokens += event.input_tokens
        reply.output_tokens += event.output_tokens
        if event.usage_detail is not None:
            reply.details.append(event.usage_detail)
        if event.status == "completed" and reply.calls_server and not reply.calls_client:
            reply.calls_server = False
            self._delta = None
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

    def end_all(self, status: ResponseStatus, details: Json | None) -> list[str]:
        """The session is over: nothing stays open."""
        frames = self.abandon(status, details)
        while self._replies:
            frames += self._end(self._replies.pop(next(iter(self._replies))), status, details)
        return frames

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
            output = self._add(reply, event.item_id, _message(event.item_id, "in_progress", "assistant", []), frames)
        if output.done:
            return None, None, None
        place = _place(reply, output, event.content_index)
        part = output.parts.get(event.content_index)
        if part is None:
            part = output.parts[event.content_index] = _Part(kind)
            frames.append(self._frame("response.content_part.added", **place, part=_part_of(part)))
        return place, part, output

    def _add(self, reply: _Reply, item_id: str, wire: Json, frames: list[str]) -> _Output:
        output = reply.outputs[item_id] = _Output(wire, len(reply.outputs))
        place = {"response_id": reply.id, "output_index": output.output_index}
        frames.append(self._frame("response.output_item.added", **place, item=wire))
        frames.append(self._frame("conversation.item.created", item=wire))
        return output

    def _end_words(self, place: Json, part: _Part, words: str) -> list[str]:
        if part.words_done:
            return []
        part.words, part.words_done = words, True
        if part.kind == "text":
            return [self._frame("response.text.done", **place, text=words)]
        return [self._frame("response.audio_transcript.done", **place, transcript=words)]

    def _close_part(self, place: Json, part: _Part, output: _Output) -> list[str]:
        part.closed = True
        self._delta = None
        frames = [self._frame("response.audio.done", **place)] if part.kind == "audio" else []
        said = {"type": "audio", "transcript": part.words} if part.kind == "audio" else _part_of(part)
        output.wire = output.wire | {"content": [*output.wire["content"], said]}
        return [*frames, self._frame("response.content_part.done", **place, part=_part_of(part))]

    def _close_parts(self, reply: _Reply, output: _Output) -> list[str]:
        frames: list[str] = []
        for content_index, part in output.parts.items():
            if not part.closed:
                place = _place(reply, output, content_index)
                frames += self._end_words(place, part, part.words) + self._close_part(place, part, output)
        return frames

    def _close(self, reply: _Reply, output: _Output) -> list[str]:
        output.done = True
        self._delta = None
        place = {"response_id": reply.id, "output_index": output.output_index}
        return [self._frame("response.output_item.done", **place, item=output.wire)]

    def _end(self, reply: _Reply, status: ResponseStatus, details: Json | None) -> list[str]:
        frames: list[str] = []
        self._delta = None
        for output in reply.outputs.values():
            if not output.done:
                frames += self._close_parts(reply, output)
                output.wire["status"] = "completed" if status == "completed" else "incomplete"
                frames += self._close(reply, output)
        told = self._response(reply, status)
        reason = self._details(status, details)
        told |= {"status_details": reason} if reason is not None else {}
        told |= {"output": [output.wire for output in reply.outputs.values()]}
        if status == "completed" or reply.input_tokens or reply.output_tokens:
            told |= {"usage": _usage(reply)}
        return [*frames, self._frame("response.done", response=told)]

    def _details(self, status: ResponseStatus, details: Json | None) -> Json | None:
        details = details or {}
        match status:
            case "failed":
                given = details.get("error")
                error: Json = given if isinstance(given, dict) else {}
                code = error.get("code") or details.get("code") or details.get("reason") or "server_error"
                return {
                    "type": "failed",
                    "error": {"type": str(error.get("type") or "server_error"), "code": str(code)},
                }
            case "cancelled":
                reason = details.get("reason")
                known = reason in ("turn_detected", "client_cancelled")
                return {"type": "cancelled", "reason": reason if known else self._interrupted_by}
            case "incomplete":
                return {"type": "incomplete"} | ({"reason": str(details["reason"])} if details.get("reason") else {})
            case _:
                return None

    def _response(self, reply: _Reply, status: str) -> Json:
        return {
            "id": reply.id,
            "object": "realtime.response",
            "conversation_id": self.conversation_id,
            "status": status,
            "modalities": reply.modalities,
            "voice": reply.session["voice"],
            "output_audio_format": reply.session["output_audio_format"],
            "output": [],
        }


def _place(reply: _Reply, output: _Output, content_index: int) -> Json:
    return {
        "response_id": reply.id,
        "item_id": output.wire["id"],
        "output_index": output.output_index,
        "content_index": content_index,
    }


def _part_of(part: _Part) -> Json:
    """The text of an audio part is its transcript."""
    return {"type": part.kind, "text": part.words}


def _usage(reply: _Reply) -> Json:
    """Counts by kind; where the model names no kinds, all of them are text."""

    def total(name: str) -> int:
        return sum(getattr(detail, name) or 0 for detail in reply.details)

    known = bool(reply.details)
    given = {
        "text_tokens": total("input_text_tokens") if known else reply.input_tokens,
        "audio_tokens": total("input_audio_tokens"),
    }
    if images := total("input_image_tokens"):
        given["image_tokens"] = images
    return {
        "total_tokens": reply.input_tokens + reply.output_tokens,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "input_tokens_details": given,
        "output_tokens_details": {
            "text_tokens": total("output_text_tokens") if known else reply.output_tokens,
            "audio_tokens": total("output_audio_tokens"),
        },
    }
