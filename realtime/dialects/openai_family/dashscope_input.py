"""The user's side of a DashScope realtime session."""

from __future__ import annotations

from typing import assert_never

from realtime.dialects.base import keep
from realtime.dialects.openai_family.client import EventRefusal, invalid
from realtime.dialects.openai_family.dashscope_server import spoken_item
from realtime.dialects.openai_family.input import Input, Words
from realtime.dialects.openai_family.replies import MakeFrame
from realtime.event import server as s

KEPT_ITEMS = 64
"""Turns of the user whose words may still come."""


class DashScopeInput(Input):
    """The input buffer. The words of a turn follow its commit."""

    def __init__(self, frame: MakeFrame) -> None:
        super().__init__(frame)
        self._words: dict[str, str] = {}
        self._early_words: dict[str, str | None] = {}

    def _too_short(self, buffered_ms: float) -> EventRefusal:
        return invalid(
            "Error committing input audio buffer: buffer too small. At least 100ms of audio that is not committed "
            "yet is needed."
        )

    def _committed(self, item_id: str) -> list[str]:
        frames = [
            self._frame("input_audio_buffer.committed", item_id=item_id),
            self._frame("conversation.item.created", item=spoken_item(item_id)),
        ]
        words = self._early_words.pop(item_id, None)
        keep(self._early_words, item_id, None, KEPT_ITEMS)
        if words is not None:
            frames.append(self._completed(item_id, words))
        return frames

    def _transcribed(self, event: Words) -> list[str]:
        kind = "conversation.item.input_audio_transcription"
        place = {"item_id": event.item_id, "content_index": 0}
        match event:
            case s.AgentInputTranscriptionDeltaEvent():
                # Each delta says all that is certain so far, and a guess at the rest.
                keep(self._words, event.item_id, self._words.get(event.item_id, "") + event.delta, KEPT_ITEMS)
                return [
                    self._frame(f"{kind}.delta", **place, text=self._words[event.item_id], stash=event.interim or "")
                ]
            case s.AgentInputTranscriptionDoneEvent():
                keep(self._words, event.item_id, event.transcript, KEPT_ITEMS)
                if event.item_id in self._early_words and self._early_words[event.item_id] is None:
                    return [self._completed(event.item_id, event.transcript)]
                # Clients take the words of a turn for known only once it was committed.
                keep(self._early_words, event.item_id, event.transcript, KEPT_ITEMS)
                return []
            case s.AgentInputTranscriptionFailedEvent():
                error = {"code": event.code, "message": event.message, "param": ""}
                return [self._frame(f"{kind}.failed", **place, error=error)]
            case _:
                assert_never(event)

    def _completed(self, item_id: str, transcript: str) -> str:
        kind = "conversation.item.input_audio_transcription.completed"
        return self._frame(kind, item_id=item_id, content_index=0, transcript=transcript)
