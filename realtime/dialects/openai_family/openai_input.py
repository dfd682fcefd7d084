"""The user's side of an OpenAI realtime session: the input audio buffer, the turns found in it, and their words."""

from __future__ import annotations

from typing import assert_never

from realtime.dialects.openai_family import g711
from realtime.dialects.openai_family.client import EventRefusal, Json
from realtime.dialects.openai_family.input import Input, Words
from realtime.dialects.openai_family.openai_client import RATE_HZ
from realtime.dialects.openai_family.openai_server import OpenAIReplies
from realtime.dialects.openai_family.replies import MakeFrame
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat

PCM_FORMAT = AudioFormat.pcm16(RATE_HZ)
_TELEPHONE_FORMAT = AudioFormat.pcm16(g711.RATE_HZ)


class OpenAIInput(Input):
    """The input buffer; a new item names the one before it."""

    def __init__(self, frame: MakeFrame, replies: OpenAIReplies) -> None:
        super().__init__(frame)
        self._replies = replies
        self._speech_ms = 0

    def append(self, audio: bytes, encoding: str, label: str | None) -> c.ClientAudioAppendEvent:
        """Audio in the session's `encoding`, as the call takes it."""
        if encoding in g711.SUBTYPES:
            self.buffered_ms += len(audio) * 1000 / g711.RATE_HZ
            pcm = g711.decode(audio, encoding)
            return c.ClientAudioAppendEvent(audio=pcm, format=_TELEPHONE_FORMAT, event_id=label)
        self.buffered_ms += len(audio) * 500 / RATE_HZ
        return c.ClientAudioAppendEvent(audio=audio, format=PCM_FORMAT, event_id=label)

    def follow(self, event: s.ServerEvent, *, detects: bool) -> None:
        """See `Input`."""
        super().follow(event, detects=detects)
        if isinstance(event, s.AgentInputStartedEvent):
            self._speech_ms = event.audio_start_ms
        elif isinstance(event, s.AgentInputDoneEvent):
            self._speech_ms = event.audio_end_ms - self._speech_ms

    def _too_short(self, buffered_ms: float) -> EventRefusal:
        return EventRefusal(
            "Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer "
            f"only has {buffered_ms:.2f}ms of audio.",
            code="input_audio_buffer_commit_empty",
        )

    def _committed(self, item_id: str) -> list[str]:
        before = self._replies.place_of(item_id)
        self._replies.last_item_id = item_id
        content = [{"type": "input_audio", "transcript": None}]
        item = {"id": item_id, "type": "message", "status": "completed", "role": "user", "content": content}
        return [
            self._frame("input_audio_buffer.committed", previous_item_id=before, item_id=item_id),
            self._frame("conversation.item.added", previous_item_id=before, item=item),
            self._frame("conversation.item.done", previous_item_id=before, item=item),
        ]

    def _transcribed(self, event: Words) -> list[str]:
        kind = "conversation.item.input_audio_transcription"
        place = {"item_id": event.item_id, "content_index": event.content_index}
        match event:
            case s.AgentInputTranscriptionDeltaEvent():
                # A guess alone has no words yet, and this protocol none for guesses.
                return [self._frame(f"{kind}.delta", **place, delta=event.delta)] if event.delta else []
            case s.AgentInputTranscriptionDoneEvent():
                usage: Json = {"type": "duration", "seconds": max(0, self._speech_ms) / 1000}
                if event.input_tokens is not None:
                    spent = event.output_tokens or 0
                    usage = {
                        "type": "tokens",
                        "total_tokens": event.input_tokens + spent,
                        "input_tokens": event.input_tokens,
                        "output_tokens": spent,
                    }
                return [self._frame(f"{kind}.completed", **place, transcript=event.transcript, usage=usage)]
            case s.AgentInputTranscriptionFailedEvent():
                error = {"type": "transcription_error", "code": event.code, "message": event.message, "param": None}
                return [self._frame(f"{kind}.failed", **place, error=error)]
            case _:
                assert_never(event)
