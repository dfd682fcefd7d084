"""Payloads of OpenAI's chat completions, which many other servers accept too."""

from __future__ import annotations

from realtime.formatter.family import ChatFormatter, Json, SpeakersFormatter
from realtime.formatter.media import Media, Part
from realtime.formatter.turns import AgentTurn, Answer, arguments_of
from realtime.message import ToolCallBlock

_SOUNDS = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def tool_calls_of(turn: AgentTurn) -> list[Json]:
    """Write the calls of a round. Arguments that are no JSON object become `{}`: some servers fail on others."""
    return [_tool_call(part) for part in turn.parts if isinstance(part, ToolCallBlock)]


def _tool_call(call: ToolCallBlock) -> Json:
    arguments = call.input if arguments_of(call) else "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class OpenAIChatFormatter(ChatFormatter):
    """Writes a chat for OpenAI's chat completions. See `ChatFormatter`.

    Content is plain text where there is nothing else, as every server accepts it. Thinking is left out.
    """

    def _system(self, texts: list[str]) -> Json:
        return {"role": "system", "content": "\n".join(texts)}

    def _user(self, parts: list[Part]) -> Json:
        written = [self._part(part) for part in parts]
        if all(part["type"] == "text" for part in written):
            return {"role": "user", "content": "\n".join(part["text"] for part in written)}
        return {"role": "user", "content": written}

    def _part(self, part: Part) -> Json:
        if isinstance(part, Media):
            return self._media(part) or {"type": "text", "text": part.note()}
        return {"type": "text", "text": part}

    def _agent(self, turn: AgentTurn) -> list[Json]:
        message: Json = {"role": "assistant", "content": turn.text or None}
        if calls := tool_calls_of(turn):
            message["tool_calls"] = calls
        return [message, *map(self._answer, turn.answers), *self._shown_after(turn.answers)]

    def _answer(self, answer: Answer) -> Json:
        return {"role": "tool", "tool_call_id": answer.call.id, "content": self._answer_text(answer)}

    def _media(self, media: Media) -> Json | None:
        at_hand = media.scheme in ("", "http", "https")
        if media.kind == "image" and at_hand:
            return {"type": "image_url", "image_url": {"url": media.data_url}}
        if media.data is None:
            return None
        if (sound := _SOUNDS.get(media.media_type)) is not None:
            return {"type": "input_audio", "input_audio": {"data": media.base64, "format": sound}}
        if media.media_type == "application/pdf":
            return {"type": "file", "file": {"filename": media.name or "file.pdf", "file_data": media.data_url}}
        return None


class OpenAIMultiAgentFormatter(SpeakersFormatter, OpenAIChatFormatter):
    """Writes a conversation of several participants for OpenAI's chat completions. See `SpeakersFormatter`."""
