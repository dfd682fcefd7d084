"""OpenAI's realtime protocol (GA) as a pure codec: frames to and from the model seam's two unions."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec
import pybase64

from realtime.audio.pcm import ms_of
from realtime.event.base import AudioFormat, ContentPart, Item
from realtime.event.model import (
    ModelErrorEvent,
    ModelEvent,
    ModelInputClearedEvent,
    ModelInputCommittedEvent,
    ModelInputDoneEvent,
    ModelInputStartedEvent,
    ModelInputTranscriptionDeltaEvent,
    ModelInputTranscriptionDoneEvent,
    ModelInputTranscriptionFailedEvent,
    ModelItemAddedEvent,
    ModelItemDeletedEvent,
    ModelItemDoneEvent,
    ModelItemRetrievedEvent,
    ModelItemTruncatedEvent,
    ModelResponseAudioDeltaEvent,
    ModelResponseAudioDoneEvent,
    ModelResponseAudioTranscriptDeltaEvent,
    ModelResponseAudioTranscriptDoneEvent,
    ModelResponseCreatedEvent,
    ModelResponseDoneEvent,
    ModelResponseTextDeltaEvent,
    ModelResponseTextDoneEvent,
    ModelResponseToolUseDeltaEvent,
    ModelResponseToolUseDoneEvent,
    ModelSessionCreatedEvent,
    ModelSessionUpdatedEvent,
)
from realtime.message import ToolCallBlock
from realtime.model._tolerant import Look
from realtime.model.base import (
    Address,
    AudioAppend,
    AudioClear,
    AudioCommit,
    CloseVerdict,
    Codec,
    Frame,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.openai_family import openai_frames as wire
from realtime.model.openai_family import openai_shapes as shapes
from realtime.model.openai_family.shared import Ids, SecondLook, json_frame, read_modalities, read_status, without_keys

logger = logging.getLogger(__name__)


class OpenAICodec(Codec):
    """The protocol of one connection, as pure functions over its state. `transcription_model` null: no transcripts."""

    _REMEMBERED = 64
    """Of how many spoken items the length is known, for truncating them."""

    def __init__(
        self,
        profile: Profile,
        *,
        url: str,
        api_key: str,
        voice: str | None = None,
        transcription_model: str | None = None,
    ) -> None:
        self._profile = profile
        self._url = url
        self._api_key = api_key
        self._voice = voice
        self._transcription_model = transcription_model
        self._format = AudioFormat.pcm16(profile.output_rate_hz)
        self._ids = Ids()
        self._said_voice: str | None = None
        self._refused_voice: str | None = None
        self._due: list[ModelEvent] = []
        self._prefix_ms = 0
        self._silence_ms = 0
        self._restored: set[str] = set()
        self._previous: dict[str, str | None] = {}
        self._odd: dict[str, bytes] = {}
        self._delta: tuple[bytes, bytes, wire.AudioDelta] | None = None
        """Of an audio delta what stands before its `event_id`, from there to the payload, and what they say."""
        self._spoken: dict[str, _Spoken] = {}
        self._heard: dict[str, str] = {}
        # Deletions that are cuts: how much was heard of the item, and the words of that.
        self._cut: dict[str, tuple[int, str]] = {}
        # What was said over an earlier link stands here as text.
        self._written: set[str] = set()
        self._calls: dict[str, ToolCallBlock] = {}
        self._tool_names: dict[str, str] = {}
        self._fatal: str | None = None
        self._second = SecondLook(wire.BY_TYPE, wire.SILENT)

    @property
    def unknown_frames(self) -> int:
        """See `SecondLook`."""
        return self._second.unknown_frames

    @property
    def broken_frames(self) -> int:
        """See `SecondLook`."""
        return self._second.broken_frames

    @property
    def profile(self) -> Profile:
        """See `Codec.profile`."""
        return self._profile

    def address(self, settings: Settings) -> Address:
        """See `Codec.address`. The `OpenAI-Beta` header must not be sent: the service closes with 4000 (2026)."""
        return Address(self._url, headers=(("Authorization", f"Bearer {self._api_key}"),))

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        """See `Codec.opening`. The frames may be sent before `session.created` arrives."""
        frames: list[Frame] = [self._session_update(settings, first=True)]
        calls = {item.tool_call.id for item in history if item.tool_call is not None}
        for item in history:
            if item.tool_result is not None and item.tool_result.id not in calls:
                continue  # the service refuses a result without its call
            said = shapes.write_item(item, self._ids.out)
            if said is not None:
                (self._written if item.role == "assistant" else self._restored).add(item.id)
                frames.append(json_frame({"type": "conversation.item.create", "item": said}))
        return frames

    # What we say.

    def encode(self, message: ModelInput) -> list[Frame]:
        """See `Codec.encode`."""
        match message:
            case AudioAppend(pcm=pcm):
                return [f'{{"type":"input_audio_buffer.append","audio":"{pybase64.b64encode_as_string(pcm)}"}}']
            case AudioCommit():
                return ['{"type":"input_audio_buffer.commit"}']
            case AudioClear():
                return ['{"type":"input_audio_buffer.clear"}']
            case ItemCreate(item=item, previous_item_id=previous):
                return self._create(shapes.write_item(item, self._ids.out), previous)
            case ItemDelete(item_id=item_id):
                return [json_frame({"type": "conversation.item.delete", "item_id": self._ids.out(item_id)})]
            case ItemRetrieve(item_id=item_id):
                return [json_frame({"type": "conversation.item.retrieve", "item_id": self._ids.out(item_id)})]
            case ItemTruncate():
                return self._truncate(message)
            case ToolResult(result=result, item_id=item_id):
                self._tool_names[result.id] = result.name
                sees = "image" in self._profile.input_modalities
                items = shapes.write_result(result, item_id, self._ids.out, shows_pictures=sees)
                return [frame for item in items for frame in self._create(item, None)]
            case ResponseCreate(overrides=None):
                return ['{"type":"response.create"}']
            case ResponseCreate(overrides=overrides):
                assert overrides is not None
                response = shapes.write_overrides(overrides, self._ids.out)
                return [json_frame({"type": "response.create", "response": response})]
            case ResponseCancel(response_id=response_id):
                named = {} if response_id is None else {"response_id": response_id}
                return [json_frame({"type": "response.cancel"} | named)]
            case SessionUpdate(settings=settings):
                return [self._session_update(settings, first=False)]
            case _:
                assert_never(message)

    def _session_update(self, settings: Settings, *, first: bool) -> str:
        voice = settings.voice or self._voice
        if voice in (self._said_voice, self._refused_voice):
            voice = None
        elif self._spoken:
            # The service would refuse it and everything that is said beside it.
            self._refused_voice, voice = voice, None
            code = "cannot_update_voice"
            self._due.append(ModelErrorEvent(error_type="client_error", code=code, message=wire.VOICE_STAYS))
        else:
            self._said_voice = voice
        transcription: dict[str, Any] | None = None if first else {}
        if settings.input_audio_transcription and self._transcription_model is not None:
            transcription = {"model": self._transcription_model}
        session = shapes.write_session(settings, voice=voice, transcription=transcription, first=first)
        return json_frame({"type": "session.update", "session": session})

    def _create(self, item: dict[str, Any] | None, previous_item_id: str | None) -> list[Frame]:
        if item is None:
            return []
        frame: dict[str, Any] = {"type": "conversation.item.create", "item": item}
        if previous_item_id is not None:
            frame["previous_item_id"] = self._ids.out(previous_item_id)
        return [json_frame(frame)]

    def _truncate(self, message: ItemTruncate) -> list[Frame]:
        """The service refuses more than it has produced, and repeats itself where nothing was cut; an item of which
        nothing was heard is deleted (whether it takes 0 ms is not known). One that has no sound, since it was said over
        an earlier link, is written anew with the words that were heard."""
        item_id, end_ms = message.item_id, message.audio_end_ms
        delete = json_frame({"type": "conversation.item.delete", "item_id": self._ids.out(item_id)})
        if item_id in self._written:
            self._cut[item_id] = end_ms, message.heard_text
            if not message.heard_text.strip():
                return [delete]
            heard = Item(id=item_id, role="assistant", content=(ContentPart(type="text", text=message.heard_text),))
            return [delete, *self._create(shapes.write_item(heard, self._ids.out), None)]
        spoken = self._spoken.get(item_id)
        if spoken is not None:
            spoken_ms = ms_of(spoken.n_bytes, self._profile.output_rate_hz)
            if spoken.complete and end_ms >= spoken_ms:
                return []
            end_ms = min(end_ms, spoken_ms)
            if end_ms <= 0:
                self._cut[item_id] = 0, ""
                return [delete]
        self._heard[item_id] = message.heard_text
        frame = {
            "type": "conversation.item.truncate",
            "item_id": self._ids.out(item_id),
            "content_index": message.content_index,
            "audio_end_ms": end_ms,
        }
        return [json_frame(frame)]

    def overdue(self) -> list[ModelEvent]:
        """See `Codec.overdue`."""
        events, self._due = self._due, []
        return events

    # What the service says.

    def decode(self, frame: Frame) -> list[ModelEvent]:
        """See `Codec.decode`. Takes text as str or as UTF-8 bytes."""
        data = frame.encode() if isinstance(frame, str) else frame
        delta = self._next_delta(data) or self._audio_at_once(data)
        if delta is not None:
            return [self._audio(*delta)]
        try:
            message = wire.READ.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            read = self._second.read(data)
            return [] if read is None else self._events(read)
        return self._events(message)

    def _next_delta(self, data: bytes) -> tuple[wire.AudioDelta, bytes] | None:
        """An audio delta that differs from the one before in its `event_id` and payload only; else None."""
        if self._delta is None:
            return None
        before, behind, place = self._delta
        if not data.startswith(before):
            return None
        at = data.find(b'"', len(before))
        if not data.startswith(behind, at) or not data.endswith(b'"}'):
            return None
        try:
            return place, pybase64.b64decode(memoryview(data)[at + len(behind) : -2], validate=True)
        except ValueError:
            return None

    def _audio_at_once(self, data: bytes) -> tuple[wire.AudioDelta, bytes] | None:
        """An audio delta whose payload comes last, as the service sends it; else None.

        Reading a frame of 26 kB costs a JSON parser four times as much as decoding its base64: the payload is sliced
        out instead. That the slice is the payload and nothing else is certain, since strict base64 holds no quotes.
        """
        if data.find(b'"response.output_audio.delta"', 0, 128) < 0:
            return None
        start = data.find(b'"delta":"', 0, 512) + 9
        if start < 9 or not data.endswith(b'"}'):
            return None
        try:
            pcm = pybase64.b64decode(memoryview(data)[start:-2], validate=True)
            place = wire.READ_AUDIO_DELTA.decode(data[:start] + b'"}')
        except (msgspec.MsgspecError, ValueError):
            return None
        before, name, rest = data[:start].partition(b'"event_id":"')
        if rest:
            self._delta = before + name, rest[rest.index(b'"') :], place
        return place, pcm

    def _audio(self, place: wire.AudioDelta, pcm: bytes) -> ModelResponseAudioDeltaEvent:
        item_id = place.item_id
        if self._odd or len(pcm) & 1:
            pcm = self._odd.pop(item_id, b"") + pcm
            if len(pcm) & 1:
                self._odd[item_id] = pcm[-1:]
                pcm = pcm[:-1]
        spoken = self._spoken.get(item_id)
        if spoken is None:
            spoken = self._remember(item_id)
        spoken.n_bytes += len(pcm)
        return ModelResponseAudioDeltaEvent(
            response_id=place.response_id,
            item_id=item_id,
            output_index=place.output_index,
            content_index=place.content_index,
            delta=pcm,
            format=self._format,
        )

    def _remember(self, item_id: str) -> _Spoken:
        spoken = self._spoken[item_id] = _Spoken()
        if len(self._spoken) > self._REMEMBERED:
            del self._spoken[next(iter(self._spoken))]
        return spoken

    def _events(self, message: wire.Received) -> list[ModelEvent]:
        match message:
            case wire.TranscriptDelta():
                return [
                    # The most frequent one but audio: spelled out, which costs a third of passing a dict.
                    ModelResponseAudioTranscriptDeltaEvent(
                        response_id=message.response_id,
                        item_id=message.item_id,
                        output_index=message.output_index,
                        content_index=message.content_index,
                        delta=message.delta,
                    )
                ]
            case wire.TextDelta(delta=delta):
                return [ModelResponseTextDeltaEvent(**_place(message), delta=delta)]
            case wire.ArgumentsDelta():
                return self._arguments(message)
            case wire.TranscriptionDelta(item_id=item_id, delta=delta, content_index=index):
                if not delta:
                    return []
                return [ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=delta, content_index=index or 0)]
            case wire.AudioDelta(delta=delta):
                try:
                    return [self._audio(message, pybase64.b64decode(delta, validate=True))]
                except ValueError:
                    self._second.broken_frames += 1
                    return []
            case wire.AudioDone():
                self._odd.pop(message.item_id, None)
                return [ModelResponseAudioDoneEvent(**_place(message))]
            case wire.TranscriptDone(transcript=transcript):
                return [ModelResponseAudioTranscriptDoneEvent(**_place(message), transcript=transcript)]
            case wire.TextDone(text=text):
                return [ModelResponseTextDoneEvent(**_place(message), text=text)]
            case wire.ItemAdded(item=item, previous_item_id=previous):
                return self._item_added(item, previous)
            case wire.ItemDone(item=item, previous_item_id=previous):
                return self._item_done(item, previous)
            case wire.OutputItemAdded(item=item):
                self._note_call(item)
                return []
            case wire.OutputItemDone():
                return self._output_item_done(message)
            case wire.ResponseCreated(response=response):
                return [
                    ModelResponseCreatedEvent(
                        response_id=response.id,
                        output_modalities=read_modalities(response.output_modalities),
                        conversation="auto" if response.conversation_id else "none",
                        metadata=response.metadata,
                    )
                ]
            case wire.ResponseDone(response=response):
                return self._response_done(response)
            case wire.SpeechStarted(item_id=item_id, audio_start_ms=start_ms):
                return [ModelInputStartedEvent(item_id=item_id, audio_start_ms=start_ms + self._prefix_ms)]
            case wire.SpeechStopped(item_id=item_id, audio_end_ms=end_ms):
                return [ModelInputDoneEvent(item_id=item_id, audio_end_ms=max(0, end_ms - self._silence_ms))]
            case wire.Committed(item_id=item_id, previous_item_id=previous):
                return [ModelInputCommittedEvent(item_id=item_id, previous_item_id=self._name(previous))]
            case wire.Cleared():
                return [ModelInputClearedEvent()]
            case wire.TranscriptionCompleted():
                return self._transcription_done(message)
            case wire.TranscriptionFailed(item_id=item_id, error=error, content_index=index):
                code = error.code or error.type or "transcription_error"
                text = without_keys(error.message, self._api_key) or "the speech could not be transcribed"
                return [
                    ModelInputTranscriptionFailedEvent(item_id=item_id, code=code, message=text, content_index=index)
                ]
            case wire.ItemTruncated(item_id=wire_id, content_index=index, audio_end_ms=end_ms):
                item_id = self._ids.back(wire_id)
                heard = self._heard.pop(item_id, None)
                return [
                    ModelItemTruncatedEvent(item_id=item_id, content_index=index, audio_end_ms=end_ms, transcript=heard)
                ]
            case wire.ItemDeleted(item_id=wire_id):
                item_id = self._ids.back(wire_id)
                if item_id in self._cut:
                    end_ms, text = self._cut.pop(item_id)
                    return [ModelItemTruncatedEvent(item_id=item_id, audio_end_ms=end_ms, transcript=text)]
                return [ModelItemDeletedEvent(item_id=item_id)]
            case wire.ItemRetrieved(item=item):
                read = self._read_item(item)
                return [] if read is None else [ModelItemRetrievedEvent(item=read)]
            case wire.SessionCreated(session=session):
                self._note_detection(session)
                return [ModelSessionCreatedEvent(session_id=session.id)]
            case wire.SessionUpdated(session=session):
                self._note_detection(session)
                return [ModelSessionUpdatedEvent(settings=shapes.read_settings(session))]
            case wire.Failed(error=error):
                return self._failed(error)
            case _:
                assert_never(message)

    def _note_detection(self, session: wire.WireSession) -> None:
        """The service reports speech with its padding in front and the silence it waited for behind (SDK 3.54)."""
        given = session.audio.input if session.audio is not None else None
        detection = given.turn_detection if given is not None else None
        self._prefix_ms = (detection.prefix_padding_ms or 0) if detection is not None else 0
        self._silence_ms = (detection.silence_duration_ms or 0) if detection is not None else 0

    # Items.

    def _name(self, wire_id: str | None) -> str | None:
        return None if wire_id is None else self._ids.back(wire_id)

    def _read_item(self, item: wire.WireItem) -> Item | None:
        call_id = self._ids.back(item.call_id or "")
        return shapes.read_item(item, self._ids.back, self._tool_names.get(call_id, ""))

    def _item_added(self, item: wire.WireItem, previous: str | None) -> list[ModelEvent]:
        self._note_call(item)
        read = self._read_item(item)
        if read is None or read.id in self._restored or read.id in self._written:
            return []
        before = self._previous[read.id] = self._name(previous)
        return [ModelItemAddedEvent(item=read, previous_item_id=before)]

    def _item_done(self, item: wire.WireItem, previous: str | None) -> list[ModelEvent]:
        read = self._read_item(item)
        if read is None:
            return []
        if read.id in self._restored or read.id in self._written:
            self._restored.discard(read.id)
            return []
        if read.id in self._spoken and read.status == "completed":
            self._spoken[read.id].complete = True
        # `previous_item_id` is sometimes null here though the item has a predecessor; what `added` said is right.
        before = self._previous.pop(read.id, self._name(previous))
        if read.tool_result is not None:
            self._tool_names.pop(read.tool_result.id, None)
        return [ModelItemDoneEvent(item=read, previous_item_id=before)]

    # Tool calls.

    def _note_call(self, item: wire.WireItem) -> None:
        if item.type == "function_call" and item.status == "in_progress" and item.id not in self._calls:
            call_id = self._ids.back(item.call_id or "")
            self._calls[item.id] = ToolCallBlock(id=call_id, name=item.name or "", input=item.arguments or "")

    def _arguments(self, message: wire.ArgumentsDelta) -> list[ModelEvent]:
        known = self._calls.get(message.item_id) or ToolCallBlock(id=self._ids.back(message.call_id), name="")
        call = self._calls[message.item_id] = msgspec.structs.replace(known, input=known.input + message.delta)
        return [ModelResponseToolUseDeltaEvent(**_place(message), tool_use=call, delta=message.delta)]

    def _output_item_done(self, message: wire.OutputItemDone) -> list[ModelEvent]:
        """The one signal of a complete call; those cut off by a cancel are not calls."""
        item = message.item
        if item.type != "function_call":
            return []
        self._calls.pop(item.id, None)
        if item.status == "incomplete":
            return []
        call = ToolCallBlock(id=self._ids.back(item.call_id or ""), name=item.name or "", input=item.arguments or "{}")
        return [
            ModelResponseToolUseDoneEvent(
                response_id=message.response_id,
                item_id=item.id,
                output_index=message.output_index,
                tool_use=call,
            )
        ]

    # Responses, transcriptions and errors.

    def _response_done(self, response: wire.WireResponse) -> list[ModelEvent]:
        usage = response.usage
        done = ModelResponseDoneEvent(
            response_id=response.id,
            input_tokens=(usage.input_tokens or 0) if usage else 0,
            output_tokens=(usage.output_tokens or 0) if usage else 0,
            metadata=response.metadata,
            status=read_status(response.status),
            status_details=response.status_details,
            output_modalities=read_modalities(response.output_modalities),
            conversation="auto" if response.conversation_id else "none",
            usage_detail=shapes.usage_detail(usage),
        )
        if done.status == "completed":
            self._fatal = None  # the account was topped up, or whatever it was
        if done.status != "failed":
            return [done]
        reason = (response.status_details or {}).get("error")
        error = Look().read(reason if isinstance(reason, dict) else {}, wire.WireError)
        return [*self._failed(error), done]

    def _transcription_done(self, message: wire.TranscriptionCompleted) -> list[ModelEvent]:
        usage = message.usage or wire.WireUsage()
        return [
            ModelInputTranscriptionDoneEvent(
                item_id=message.item_id,
                transcript=message.transcript,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                content_index=message.content_index,
            )
        ]

    def _failed(self, error: wire.WireError) -> list[ModelEvent]:
        code = error.code or error.type or "provider_error"
        if code in wire.NO_ERROR:
            return []
        if code in wire.FATAL:
            self._fatal = code
        message = wire.FATAL.get(code) or without_keys(error.message, self._api_key) or f"the provider reports {code}"
        return [
            ModelErrorEvent(
                error_type=wire.fault_of(code), code=code, message=message, retryable=code in wire.RETRYABLE
            )
        ]

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """See `Codec.closed`. A refused start is an `error` frame, then 3000 (4000 for the beta protocol) with the
        reason `<type>.<code>`; 60 minutes end with 1001."""
        if self._fatal is not None:
            return CloseVerdict(self._fatal, wire.FATAL[self._fatal], reconnect=False)
        if code == 1000:
            return CloseVerdict("closed", "the provider closed the session", reconnect=False)
        if code == 1001:
            expired = "maximum duration" in reason
            name = "session_expired" if expired else "provider_going_away"
            text = "the session reached its maximum duration" if expired else "the provider is going away"
            return CloseVerdict(name, text, reconnect=True)
        if code is None or code in (1005, 1006, 1011, 1012, 1013, 1014, 1015):
            return CloseVerdict("link_lost", f"the link to the model was lost (close code {code})", reconnect=True)
        name = reason.rpartition(".")[2]
        if not re.fullmatch("[a-z][a-z0-9_]{2,63}", name):
            return CloseVerdict("provider_closed", f"the provider broke off (close code {code})", reconnect=False)
        text = wire.FATAL.get(name, f"the provider closed the session ({name})")
        return CloseVerdict(name, text, reconnect=name == "session_expired")


class _Spoken:
    """How much audio of an item has come, and whether it came to its end."""

    __slots__ = ("complete", "n_bytes")

    def __init__(self) -> None:
        self.n_bytes = 0
        self.complete = False


def _place(
    part: wire.TextDelta | wire.ArgumentsDelta | wire.AudioDone | wire.TranscriptDone | wire.TextDone,
) -> dict[str, Any]:
    return {
        "response_id": part.response_id,
        "item_id": part.item_id,
        "output_index": part.output_index,
        "content_index": part.content_index,
    }
