"""The user's side of an OpenAI realtime session: the input audio buffer, the turns found in it, and their words."""

from __future__ import annotations

from typing import assert_never

from realtime.dialects.openai_family import g711
from realtime.dialects.openai_family.client import Json, Refusal
from realtime.dialects.openai_family.openai_client import RATE_HZ
from realtime.dialects.openai_family.openai_server import OpenAIReplies
from realtime.dialects.openai_family.replies import MakeFrame
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat

MIN_COMMIT_MS = 100
PCM_FORMAT = AudioFormat.pcm16(RATE_HZ)
_TELEPHONE_FORMAT = AudioFormat.pcm16(g711.RATE_HZ)

Words = s.AgentInputTranscriptionDeltaEvent | s.AgentInputTranscriptionDoneEvent | s.AgentInputTranscriptionFailedEvent


class Input:
    """The input buffer, and the frames that say what became of it."""

    __slots__ = ("_buffered_ms", "_frame", "_replies", "_speaking", "_speech_ms")

    def __init__(self, frame: MakeFrame, replies: OpenAIReplies) -> None:
        self._frame = frame
        self._replies = replies
        self._buffered_ms = 0.0
        self._speaking = False
        self._speech_ms = 0

    def append(self, audio: bytes, encoding: str, label: str | None) -> c.ClientAudioAppendEvent:
        """Audio in the session's `encoding`, as the call takes it."""
        if encoding in g711.SUBTYPES:
            self._buffered_ms += len(audio) * 1000 / g711.RATE_HZ
            pcm = g711.decode(audio, encoding)
            return c.ClientAudioAppendEvent(audio=pcm, format=_TELEPHONE_FORMAT, event_id=label)
        self._buffered_ms += len(audio) * 500 / RATE_HZ
        return c.ClientAudioAppendEvent(audio=audio, format=PCM_FORMAT, event_id=label)

    def commit(self, *, detects: bool) -> None:
        """The client ends its turn. Raises Refusal if it is too short, or a detector has ended it."""
        buffered_ms = 0.0 if detects and not self._speaking else self._buffered_ms
        if buffered_ms < MIN_COMMIT_MS:
            raise Refusal(
                "Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer "
                f"only has {buffered_ms:.2f}ms of audio.",
                code="input_audio_buffer_commit_empty",
            )
        # Audio appended from here on belongs to the next turn, though the model reports this one later.
        self._buffered_ms = 0.0

    def clear(self) -> None:
        """The buffer is emptied."""
        self._buffered_ms = 0.0

    def follow(self, event: s.ServerEvent, *, detects: bool) -> None:
        """Note what the next frame of the client may refer to."""
        match event:
            case s.AgentInputStartedEvent():
                self._speaking, self._speech_ms = True, event.audio_start_ms
            case s.AgentInputDoneEvent():
                self._speaking, self._speech_ms = False, event.audio_end_ms - self._speech_ms
            case s.AgentInputCommittedEvent() if not detects:
                self._speaking = False  # the client's own commit has emptied the buffer
            case s.AgentInputCommittedEvent() | s.AgentInputClearedEvent():
                self._speaking, self._buffered_ms = False, 0.0
            case _:
                pass

    def told(self, event: s.ServerEvent, *, transcribes: bool) -> list[str]:
        """The frames for an event of the user's voice; none for others. `transcribes`: the client wants the words."""
        match event:
            case s.AgentInputStartedEvent():
                place = {"audio_start_ms": event.audio_start_ms, "item_id": event.item_id}
                return [self._frame("input_audio_buffer.speech_started", **place)]
            case s.AgentInputDoneEvent():
                place = {"audio_end_ms": event.audio_end_ms, "item_id": event.item_id}
                return [self._frame("input_audio_buffer.speech_stopped", **place)]
            case s.AgentInputCommittedEvent():
                return self._committed(event.item_id)
            case s.AgentInputClearedEvent():
                return [self._frame("input_audio_buffer.cleared")]
            case (
                s.AgentInputTranscriptionDeltaEvent()
                | s.AgentInputTranscriptionDoneEvent()
                | s.AgentInputTranscriptionFailedEvent()
            ):
                # The model transcribes for the log of the call; only a client that asked gets the words.
                return self._transcribed(event) if transcribes else []
            case _:
                return []

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
