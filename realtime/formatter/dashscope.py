"""Payloads of DashScope's text and multimodal generation (Qwen)."""

from __future__ import annotations

from realtime.formatter.family import ChatFormatter, Json, SpeakersFormatter
from realtime.formatter.media import Media, Part
from realtime.formatter.openai import tool_calls_of
from realtime.formatter.turns import AgentTurn, Answer


class DashScopeChatFormatter(ChatFormatter):
    """Writes a chat for DashScope. See `ChatFormatter`.

    Content is plain text where there is nothing else. Thinking is left out.
    """

    def _system(self, texts: list[str]) -> Json:
        return {"role": "system", "content": "\n".join(texts)}

    def _user(self, parts: list[Part]) -> Json:
        written = [self._part(part) for part in parts]
        if all("text" in part for part in written):
            return {"role": "user", "content": "\n".join(part["text"] for part in written)}
        return {"role": "user", "content": written}

    def _part(self, part: Part) -> Json:
        if isinstance(part, Media):
            return self._media(part) or {"text": part.note()}
        return {"text": part}

    def _agent(self, turn: AgentTurn) -> list[Json]:
        # Never None or missing: some of its models fail on that. An empty part makes others repeat their calls.
        message: Json = {"role": "assistant", "content": turn.text}
        if calls := tool_calls_of(turn):
            message["tool_calls"] = calls
        return [message, *map(self._answer, turn.answers), *self._shown_after(turn.answers)]

    def _answer(self, answer: Answer) -> Json:
        return {"role": "tool", "tool_call_id": answer.call.id, "content": self._answer_text(answer)}

    def _media(self, media: Media) -> Json | None:
        at_hand = media.scheme in ("", "http", "https", "oss")
        if at_hand and media.kind in ("image", "audio", "video") and not media.is_raw_sound:
            return {media.kind: media.data_url}
        return None


class DashScopeMultiAgentFormatter(SpeakersFormatter, DashScopeChatFormatter):
    """Writes a conversation of several participants for DashScope. See `SpeakersFormatter`."""
