"""Payloads of Gemini: the contents of a request to generate content."""

from __future__ import annotations

import pybase64

from realtime.formatter.family import ChatFormatter, Json, SpeakersFormatter
from realtime.formatter.media import Media, Part
from realtime.formatter.turns import AgentTurn, Answer, arguments_of
from realtime.message import TextBlock, ThinkingBlock, ToolCallBlock

_TYPES = {
    "application/pdf",
    *(f"audio/{name}" for name in ("aac", "aiff", "flac", "m4a", "mp4", "mpeg", "ogg", "wav", "webm")),
    *(f"image/{name}" for name in ("heic", "heif", "jpeg", "png", "webp")),
    *(f"video/{name}" for name in ("3gpp", "avi", "mov", "mp4", "mpeg", "mpg", "quicktime", "webm", "wmv", "x-flv")),
}
"""Media types that it accepts."""


class GeminiChatFormatter(ChatFormatter):
    """Writes a chat for Gemini. See `ChatFormatter`.

    The system prompt is the first content, with the role `system`; a request has it as its `system_instruction`.
    Thinking is left out, but its `thought_signature` (base64, in `extra`) goes back with the call of its
    `tool_call_id`, or without one with the words or the call that follow it.
    """

    def _system(self, texts: list[str]) -> Json:
        return {"role": "system", "parts": [{"text": text} for text in texts]}

    def _user(self, parts: list[Part]) -> Json:
        return {"role": "user", "parts": [self._part(part) for part in parts]}

    def _part(self, part: Part) -> Json:
        if isinstance(part, Media):
            return self._media(part) or {"text": part.note()}
        return {"text": part}

    def _agent(self, turn: AgentTurn) -> list[Json]:
        parts: list[Json] = []
        thoughts = [part for part in turn.parts if isinstance(part, ThinkingBlock)]
        signed = {str(one.extra["tool_call_id"]): _signature(one) for one in thoughts if "tool_call_id" in one.extra}
        signature: Json = {}
        for part in turn.parts:
            match part:
                case ThinkingBlock():
                    if "tool_call_id" not in part.extra:
                        signature = _signature(part) or signature
                    continue
                case TextBlock():
                    parts.append({"text": part.text, **signature})
                case ToolCallBlock():
                    call = {"id": part.id, "name": part.name, "args": arguments_of(part)}
                    parts.append({"function_call": call, **signed.get(part.id, signature)})
            signature = {}
        if signature:
            parts.append({"text": "", **signature})
        # All answers of a round are one content: as many as there are calls.
        results = [{"role": "user", "parts": [*map(self._answer, turn.answers)]}] if turn.answers else []
        return [{"role": "model", "parts": parts}, *results, *self._shown_after(turn.answers)]

    def _answer(self, answer: Answer) -> Json:
        response = {"error" if answer.is_error else "output": self._answer_text(answer)}
        return {"function_response": {"id": answer.call.id, "name": answer.call.name, "response": response}}

    def _media(self, media: Media) -> Json | None:
        if media.media_type not in _TYPES:
            return None
        if media.data is not None:
            return {"inline_data": {"data": media.data, "mime_type": media.media_type}}
        if media.scheme in ("http", "https", "gs"):
            return {"file_data": {"file_uri": media.url, "mime_type": media.media_type}}
        return None


def _signature(thought: ThinkingBlock) -> Json:
    """Return the signature as a field of a part; nothing without a valid one."""
    match thought.extra.get("thought_signature"):
        case str(text) if text:
            try:
                return {"thought_signature": pybase64.b64decode(text, validate=True)}
            except ValueError:
                return {}
        case _:
            return {}


class GeminiMultiAgentFormatter(SpeakersFormatter, GeminiChatFormatter):
    """Writes a conversation of several participants for Gemini. See `SpeakersFormatter`."""
