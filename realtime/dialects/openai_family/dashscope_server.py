"""Items and responses as DashScope clients see them: in the documented order."""

from __future__ import annotations

from realtime.dialects.openai_family.client import Json
from realtime.dialects.openai_family.dashscope_client import MODALITIES
from realtime.dialects.openai_family.replies import Flavour, Output, Part, Replies, Reply
from realtime.event import server as s
from realtime.event.base import ContentPart, Item, ResponseStatus
from realtime.message import ToolCallBlock


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


class DashScopeReplies(Replies):
    """The responses of one session. Sound is said to be complete behind the words."""

    flavour = Flavour(
        "response.audio",
        "response.audio_transcript",
        "response.text",
        streams_empty_arguments=True,
        call_id=str,
        call_item=_call_item,
        new_message=lambda item_id: _message(item_id, "in_progress", "assistant", []),
        item=wire_item,
    )

    def end_all(self, status: ResponseStatus, details: Json | None) -> list[str]:
        """The session is over: nothing stays open."""
        frames = self.abandon(status, details)
        while self._replies:
            frames += self._end(self._replies.pop(next(iter(self._replies))), status, details)
        return frames

    def hide(self, item_id: str) -> None:
        """See `Replies`. No frame names the item before another one."""

    def _new_reply(self, event: s.AgentResponseCreatedEvent, session: Json) -> Reply | None:
        if event.conversation == "none":
            return None  # this protocol has no responses beside the conversation
        modalities = event.output_modalities or session["modalities"]
        return Reply(event.response_id, session, MODALITIES if "audio" in modalities else ["text"])

    def _response(self, reply: Reply, status: str, details: Json | None = None) -> Json:
        response = {
            "id": reply.id,
            "object": "realtime.response",
            "conversation_id": self.conversation_id,
            "status": status,
            "modalities": reply.modalities,
            "voice": reply.session["voice"],
            "output_audio_format": reply.session["output_audio_format"],
            "output": [] if status == "in_progress" else reply.items,
        }
        if details is not None:
            response["status_details"] = details
        if status == "completed" or reply.input_tokens or reply.output_tokens:
            counts, given, made = reply.usage()
            if images := reply.total("input_image_tokens"):
                given["image_tokens"] = images
            response["usage"] = counts | {"input_tokens_details": given, "output_tokens_details": made}
        return response

    def _why_incomplete(self, details: Json) -> Json:
        return {"reason": str(details["reason"])} if details.get("reason") else {}

    def _end_sound(self, place: Json, part: Part) -> list[str]:
        part.sound_done = True
        return []

    def _end_words(self, place: Json, part: Part, words: str) -> list[str]:
        if part.words_done:
            return []
        part.words, part.words_done = words, True
        return [self._words_done(place, part)]

    def _close_words_and_sound(self, place: Json, part: Part) -> list[str]:
        return [self._frame(f"{self.flavour.sound}.done", **place)] if part.kind == "audio" else []

    def _added_to_conversation(self, reply: Reply, output: Output) -> list[str]:
        return [self._frame("conversation.item.created", item=output.wire)]

    def _wire_part(self, part: Part) -> Json:
        """The text of an audio part is its transcript."""
        return {"type": part.kind, "text": part.words}

    def _content(self, part: Part) -> Json:
        return {"type": part.kind, "transcript" if part.kind == "audio" else "text": part.words}
