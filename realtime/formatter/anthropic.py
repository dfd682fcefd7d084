"""Payloads of Anthropic's messages."""

from __future__ import annotations

import re

from realtime.formatter.family import ChatFormatter, Json, SpeakersFormatter
from realtime.formatter.media import Media, Part
from realtime.formatter.turns import AgentTurn, Answer, arguments_of
from realtime.message import TextBlock, ThinkingBlock, ToolCallBlock

_IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that ids of tool calls may not hold."""


class AnthropicChatFormatter(ChatFormatter):
    """Writes a chat for Anthropic. See `ChatFormatter`.

    The system prompt is the first message, with the role `system`; a request has it as its field `system`. Thinking
    with a `signature` in `extra` goes back to the model, and so does that with `redacted_thinking`; other thinking is
    left out.
    """

    def _system(self, texts: list[str]) -> Json:
        return {"role": "system", "content": [self._text(text) for text in texts]}

    def _user(self, parts: list[Part]) -> Json:
        return {"role": "user", "content": [self._part(part) for part in parts]}

    def _text(self, text: str) -> Json:
        return {"type": "text", "text": text}

    def _part(self, part: Part) -> Json:
        if isinstance(part, Media):
            return self._media(part) or self._text(part.note())
        return self._text(part)

    def _agent(self, turn: AgentTurn) -> list[Json]:
        written = [block for part in turn.parts if (block := self._agent_part(part)) is not None]
        while written[-1]["type"] in ("thinking", "redacted_thinking"):  # refused as the last block
            written.pop()
        results = [self._answer(answer) for answer in turn.answers]
        return [{"role": "assistant", "content": written}, *([{"role": "user", "content": results}] if results else [])]

    def _agent_part(self, part: TextBlock | ThinkingBlock | ToolCallBlock) -> Json | None:
        match part:
            case TextBlock():
                return self._text(part.text)
            case ToolCallBlock():
                return {"type": "tool_use", "id": _id(part), "name": part.name, "input": arguments_of(part)}
            case ThinkingBlock(extra={"signature": str(signature)}) if signature:
                return {"type": "thinking", "thinking": part.thinking, "signature": signature}
            case ThinkingBlock(extra={"redacted_thinking": str(data)}):
                return {"type": "redacted_thinking", "data": data}
            case ThinkingBlock():
                return None

    def _answer(self, answer: Answer) -> Json:
        content = [self._part(part) for part in answer.parts]
        written: Json = {"type": "tool_result", "tool_use_id": _id(answer.call), "content": content}
        return {**written, "is_error": True} if answer.is_error else written

    def _media(self, media: Media) -> Json | None:
        is_url = media.scheme in ("http", "https")
        if is_url and (media.kind == "image" or media.media_type == "application/pdf"):
            kind = "image" if media.kind == "image" else "document"
            return {"type": kind, "source": {"type": "url", "url": media.url}}
        if media.data is None:
            return None
        source = {"type": "base64", "media_type": media.media_type, "data": media.base64}
        if media.media_type in _IMAGES:
            return {"type": "image", "source": source}
        if media.media_type == "application/pdf":
            return {"type": "document", "source": source, **({"title": media.name} if media.name else {})}
        return None


def _id(call: ToolCallBlock) -> str:
    """Return the id of a call, which may come from another family."""
    return _NO_ID.sub("_", call.id)


class AnthropicMultiAgentFormatter(SpeakersFormatter, AnthropicChatFormatter):
    """Writes a conversation of several participants for Anthropic. See `SpeakersFormatter`."""
