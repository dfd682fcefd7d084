"""Items and responses as OpenAI clients see them: in the service's recorded order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pybase64

from realtime.dialects.openai_family.client import Json
from realtime.dialects.openai_family.replies import Flavour, MakeFrame, Output, Part, Replies, Reply
from realtime.event import server as s
from realtime.event.base import ContentPart, Item, ResponseStatus
from realtime.message import ToolCallBlock

INCOMPLETE = ("max_output_tokens", "content_filter")
"""Why a response may be incomplete; any other reason becomes the first."""
MAX_CALL_ID_CHARS = 32
"""Longest call id at OpenAI: clients shorten longer ones before sending results (LiveKit does)."""


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


def _new_message(item_id: str) -> Json:
    return {"id": item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}


class OpenAIReplies(Replies):
    """The responses of one session. Words are said to be complete behind the sound."""

    flavour = Flavour(
        "response.output_audio",
        "response.output_audio_transcript",
        "response.output_text",
        streams_empty_arguments=False,
        call_id=told_call_id,
        call_item=_call_item,
        new_message=_new_message,
        item=wire_item,
    )

    def __init__(self, frame: MakeFrame, new_event_id: Callable[[], str]) -> None:
        super().__init__(frame, new_event_id)
        self._before: dict[str, str | None] = {}
        self._stands_for: dict[str, str | None] = {}
        self.last_item_id: str | None = None
        """The last item that the client knows."""

    def announced(self, event: s.AgentItemAddedEvent) -> str | None:
        """Keep the place of a later item; return the client's item before it."""
        before = event.previous_item_id
        before = self._before[event.item.id] = self._stands_for.get(before, before) if before is not None else None
        return before

    def hide(self, item_id: str) -> None:
        """The client is not told of this item: in its place it sees the latest one it knows."""
        self._stands_for[item_id] = self.last_item_id

    def place_of(self, item_id: str) -> str | None:
        """The item before the one that was announced."""
        return self._before.pop(item_id, None)

    # -- items that only this flavour has ---------------------------------------------------------------------------

    def running(self, response_id: str) -> Reply | None:
        """Return the response that runs, as the client sees it."""
        return self._replies.get(response_id)

    def added(self, reply: Reply, wire: Json, frames: list[str]) -> Output:
        """Add an item to a response; `frames` tell of it."""
        return self._add(reply, wire["id"], wire, frames)

    def closed(self, reply: Reply, output: Output) -> list[str]:
        """The item will not change any more."""
        return self._close(reply, output)

    def shown(self, reply: Reply, wire: Json) -> list[str]:
        """Add an item that is complete."""
        frames: list[str] = []
        output = self.added(reply, wire, frames)
        return [*frames, *self.closed(reply, output)]

    # -- inside ----------------------------------------------------------------------------------------------------

    def _new_reply(self, event: s.AgentResponseCreatedEvent, session: Json) -> Reply:
        modalities = event.output_modalities or session["output_modalities"]
        # Where a model says both, the words are those of the voice.
        said = ["audio"] if "audio" in modalities else ["text"]
        return Reply(event.response_id, session, said, event.conversation != "none", event.metadata)

    def _response(self, reply: Reply, status: str, details: Json | None = None) -> Json:
        session, runs = reply.session, status == "in_progress"
        spoken = session["audio"]["output"]
        return {
            "object": "realtime.response",
            "id": reply.id,
            "status": status,
            "status_details": details,
            "output": [] if runs else reply.items,
            "conversation_id": self.conversation_id if reply.in_band else None,
            "output_modalities": reply.modalities,
            "max_output_tokens": session["max_output_tokens"],
            "audio": {"output": {"format": spoken["format"], "voice": spoken["voice"]}},
            "usage": None if runs else _usage(reply),
            "metadata": reply.metadata,
        }

    def _why_incomplete(self, details: Json) -> Json:
        reason = details.get("reason")
        return {"reason": reason if reason in INCOMPLETE else INCOMPLETE[0]}

    def _end(self, reply: Reply, status: ResponseStatus, details: Json | None) -> list[str]:
        # The limits of the service are not this server's: it has nothing to list.
        return [*super()._end(reply, status, details), self._frame("rate_limits.updated", rate_limits=[])]

    def _end_sound(self, place: Json, part: Part) -> list[str]:
        if part.sound_done:
            return []
        part.sound_done = True
        return [self._frame(f"{self.flavour.sound}.done", **place)]

    def _end_words(self, place: Json, part: Part, words: str) -> list[str]:
        part.words, part.words_done = words, True
        return []

    def _close_words_and_sound(self, place: Json, part: Part) -> list[str]:
        return [self._words_done(place, part)]

    def _added_to_conversation(self, reply: Reply, output: Output) -> list[str]:
        if not reply.in_band:
            return []
        item_id = output.wire["id"]
        output.before = self._before.pop(item_id, self.last_item_id)
        self.last_item_id = item_id
        return [self._frame("conversation.item.added", previous_item_id=output.before, item=output.wire)]

    def _done_in_conversation(self, reply: Reply, output: Output) -> list[str]:
        if not reply.in_band:
            return []
        return [self._frame("conversation.item.done", previous_item_id=output.before, item=output.wire)]

    def _wire_part(self, part: Part) -> Json:
        return {"type": part.kind, "transcript" if part.kind == "audio" else "text": part.words}

    def _content(self, part: Part) -> Json:
        return {"type": f"output_{part.kind}", "transcript" if part.kind == "audio" else "text": part.words}


def _usage(reply: Reply) -> Json:
    counts, given, made = reply.usage()
    cached = reply.total("input_cached_tokens")
    given |= {
        "image_tokens": reply.total("input_image_tokens"),
        "cached_tokens": cached,
        "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
    }
    if any(detail.output_reasoning_tokens is not None for detail in reply.details):
        made["reasoning_tokens"] = reply.total("output_reasoning_tokens")
    return counts | {"input_token_details": given, "output_token_details": made}
