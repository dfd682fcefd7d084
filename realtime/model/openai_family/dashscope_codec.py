"""DashScope's Qwen-Omni protocol as a pure codec: frames to and from the model seam's two unions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec
import pybase64

from realtime.event.base import AudioFormat, Item, ResponseStatus
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
from realtime.message import ToolCallBlock, ToolResultBlock
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
from realtime.model.openai_family import dashscope_frames as wire
from realtime.model.openai_family import dashscope_shapes as shapes
from realtime.model.openai_family.shared import SecondLook, json_frame, read_modalities, read_status, without_keys

logger = logging.getLogger(__name__)


class DashScopeCodec(Codec):
    """The protocol of one connection, as pure functions over its state.

    The service runs one response at a time. Whatever belongs to another one than that which runs is late and dropped.
    """

    _WAITING_IMAGES = 4
    """How many pictures wait for the first speech of a session; older ones are given up."""

    def __init__(
        self,
        profile: Profile,
        *,
        url: str,
        api_key: str,
        workspace: str | None = None,
        voice: str | None = None,
        transcribe: bool = True,
    ) -> None:
        self._profile = profile
        self._url = url
        self._api_key = api_key
        self._workspace = workspace
        self._voice = voice
        self._transcribe = transcribe
        self._format = AudioFormat.pcm16(profile.output_rate_hz)
        self._session_id: str | None = None
        self._opened = False
        self._transcribing = transcribe
        self._notes = ""
        self._restored: set[str] = set()
        self._heard_audio = False
        self._images: list[str] = []
        self._running: str | None = None
        self._odd: dict[str, bytes] = {}
        self._outputs: dict[str, str | None] = {}
        self._growing: dict[str, ToolCallBlock] = {}
        self._complete: dict[str, ModelResponseToolUseDoneEvent] = {}
        self._calls: dict[str, ToolCallBlock] = {}
        self._foreign_calls: dict[str, ToolCallBlock] = {}
        self._certain: dict[str, str] = {}
        self._fatal: str | None = None
        self._idle = False
        self._second = SecondLook(wire.BY_TYPE, wire.SILENT)
        self.late_frames = 0
        """Frames of a response that does not run any more."""

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
        """See `Codec.address`."""
        headers = [("Authorization", f"Bearer {self._api_key}")]
        if self._workspace:
            headers.append(("X-DashScope-WorkSpace", self._workspace))
        return Address(self._url, headers=tuple(headers))

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        """See `Codec.opening`. Messages are given back as items. Calls cannot be: the service takes results of its own
        calls only, so that what tools returned is told with the instructions."""
        history = shapes.recent(history, shapes.family_of(self._profile.model).history_turns)
        told = []
        for item in history:
            if item.tool_call is not None:
                self._foreign_calls[item.tool_call.id] = item.tool_call
            elif item.tool_result is not None:
                result = item.tool_result
                told.append(shapes.tell_result(self._foreign_calls.pop(result.id, None), result))
        self._notes = "\n".join(told)
        frames: list[Frame] = [self._session_update(settings, first=True)]
        for item in history:
            said = shapes.write_message(item) if item.type == "message" else None
            if said is not None:
                self._restored.add(item.id)
                frames.append(_create(said))
        return frames

    # What we say.

    def encode(self, message: ModelInput) -> list[Frame]:
        """See `Codec.encode`. A truncation has no frame: the service keeps an answer as it made it."""
        match message:
            case AudioAppend(pcm=pcm):
                frame = f'{{"type":"input_audio_buffer.append","audio":"{pybase64.b64encode_as_string(pcm)}"}}'
                if self._heard_audio:
                    return [frame]
                self._heard_audio = True
                waited, self._images = self._images, []
                return [frame, *waited]
            case AudioCommit():
                return ['{"type":"input_audio_buffer.commit"}']
            case AudioClear():
                return ['{"type":"input_audio_buffer.clear"}']
            case ItemCreate(item=item, previous_item_id=previous):
                return self._create_item(item, previous)
            case ItemDelete(item_id=item_id):
                return [json_frame({"type": "conversation.item.delete", "item_id": item_id})]
            case ItemRetrieve(item_id=item_id):
                return [json_frame({"type": "conversation.item.retrieve", "item_id": item_id})]
            case ItemTruncate():
                return []
            case ToolResult(result=result):
                return self._result(result)
            case ResponseCreate(overrides=overrides):
                response = shapes.write_overrides(overrides) if overrides is not None else {}
                return [json_frame({"type": "response.create"} | ({"response": response} if response else {}))]
            case ResponseCancel(response_id=response_id):
                if response_id is not None and response_id != self._running:
                    return []  # it is over, and the frame would end the one that runs
                return ['{"type":"response.cancel"}']
            case SessionUpdate(settings=settings):
                return [self._session_update(settings, first=False)]
            case _:
                assert_never(message)

    def _session_update(self, settings: Settings, *, first: bool) -> str:
        self._transcribing = self._transcribe and settings.input_audio_transcription
        session = shapes.write_session(
            settings,
            self._profile,
            voice=settings.voice or self._voice,
            transcribe=None if first and not self._transcribing else self._transcribing,
            instructions="\n\n".join(text for text in (settings.instructions, self._notes) if text),
            first=first,
        )
        return json_frame({"type": "session.update", "session": session})

    def _create_item(self, item: Item, previous_item_id: str | None) -> list[Frame]:
        if item.tool_call is not None:
            self._foreign_calls[item.tool_call.id] = item.tool_call
            return []
        if item.tool_result is not None:
            return self._result(item.tool_result)
        frames: list[Frame] = []
        images = shapes.write_images(item)
        if self._heard_audio:
            frames += images
        else:
            # Refused before the first audio of a session.
            self._images = [*self._images, *images][-self._WAITING_IMAGES :]
        said = shapes.write_message(item)
        if said is not None:
            frames.append(_create(said, previous_item_id))
        return frames

    def _result(self, result: ToolResultBlock) -> list[Frame]:
        if result.id in self._calls:
            said = {
                "type": "function_call_output",
                "call_id": result.id,
                "output": result.output_text(names_media=True),
            }
            return [_create(said)]
        # Of a call that another connection made: `Unknown function call id` here.
        text = shapes.tell_result(self._foreign_calls.pop(result.id, None), result)
        return [_create({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})]

    # What the service says.

    def decode(self, frame: Frame) -> list[ModelEvent]:
        """See `Codec.decode`. Takes text as str or as UTF-8 bytes."""
        data = frame.encode(errors="replace") if isinstance(frame, str) else frame
        message: wire.Received | None
        message, pcm = self._audio_at_once(data)
        if message is None:
            try:
                message = wire.READ.decode(data)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                message = self._second.read(data)
        return [] if message is None else self._events(message, pcm)

    def _audio_at_once(self, data: bytes) -> tuple[wire.AudioDelta | None, bytes]:
        """An audio delta and its speech with the payload sliced out, which spares parsing it as JSON; else None.

        The fields come in any order. That the slice is the payload and nothing else is certain: inside a JSON string
        the quotes of `"delta":"` would be escaped, and strict base64 holds none.
        """
        if data.find(b'"response.audio.delta"') < 0:
            return None, b""
        start = data.find(b'"delta":"') + 9
        end = data.find(b'"', start)
        if start < 9 or end < 0:
            return None, b""
        try:
            place = wire.READ_AUDIO_DELTA.decode(data[:start] + data[end:])
            return place, pybase64.b64decode(memoryview(data)[start:end], validate=True)
        except (msgspec.MsgspecError, ValueError):
            return None, b""

    def _events(self, message: wire.Received, pcm: bytes) -> list[ModelEvent]:
        if isinstance(message, wire.OfResponse):
            if message.response_id != self._running:
                self.late_frames += 1
                return []
            return self._response_events(message, pcm)
        match message:
            case wire.TranscriptionDelta() | wire.TranscriptionCompleted() | wire.TranscriptionFailed():
                return self._transcription(message) if self._transcribing else []
            case wire.ItemCreated(item=item, previous_item_id=previous):
                return self._item_created(item, previous)
            case wire.ResponseCreated(response=response):
                return self._response_created(response)
            case wire.ResponseDone(response=response):
                return self._response_done(response)
            case wire.SpeechStarted(item_id=item_id, audio_start_ms=start_ms):
                return [ModelInputStartedEvent(item_id=item_id, audio_start_ms=start_ms)]
            case wire.SpeechStopped(item_id=item_id, audio_end_ms=end_ms):
                return [ModelInputDoneEvent(item_id=item_id, audio_end_ms=end_ms)]
            case wire.Committed(item_id=item_id, previous_item_id=previous):
                return [ModelInputCommittedEvent(item_id=item_id, previous_item_id=previous)]
            case wire.Cleared():
                return [ModelInputClearedEvent()]
            case wire.ItemDeleted(item_id=item_id):
                return [ModelItemDeletedEvent(item_id=item_id)]
            case wire.ItemRetrieved(item=item):
                read = self._read_item(item)
                return [] if read is None else [ModelItemRetrievedEvent(item=read)]
            case wire.SessionCreated(session=session):
                # Reported with the answer to our settings: audio that came before it would freeze other formats.
                self._session_id = session.id
                return []
            case wire.SessionUpdated(session=session):
                updated = ModelSessionUpdatedEvent(settings=shapes.read_settings(session))
                return [*self._open(session.id), updated]
            case wire.Failed(error=error):
                return self._failed(error)
            case _:
                assert_never(message)

    def _open(self, session_id: str) -> list[ModelEvent]:
        if self._opened:
            return []
        self._opened = True
        return [ModelSessionCreatedEvent(session_id=self._session_id or session_id)]

    def _response_events(self, message: wire.OfResponse, pcm: bytes) -> list[ModelEvent]:
        match message:
            case wire.AudioDelta(delta=delta):
                try:
                    return [self._audio(message, pybase64.b64decode(delta, validate=True) if delta else pcm)]
                except ValueError:
                    self._second.broken_frames += 1
                    return []
            case wire.TranscriptDelta(delta=delta):
                return [ModelResponseAudioTranscriptDeltaEvent(**_place(message), delta=delta)]
            case wire.TextDelta(delta=delta):
                return [ModelResponseTextDeltaEvent(**_place(message), delta=delta)]
            case wire.AudioDone():
                return [ModelResponseAudioDoneEvent(**_place(message))]
            case wire.TranscriptDone(transcript=transcript):
                return [ModelResponseAudioTranscriptDoneEvent(**_place(message), transcript=transcript)]
            case wire.TextDone(text=text):
                return [ModelResponseTextDoneEvent(**_place(message), text=text)]
            case wire.ArgumentsDelta(item_id=item_id, delta=delta):
                known = self._growing.get(item_id) or ToolCallBlock(id=message.call_id, name=message.name or "")
                call = self._growing[item_id] = msgspec.structs.replace(known, input=known.input + delta)
                return [ModelResponseToolUseDeltaEvent(**_place(message), tool_use=call, delta=delta)]
            case wire.ArgumentsDone():
                self._note_complete(message)
                return []
            case wire.OutputItemAdded(item=item):
                self._outputs.setdefault(item.id, None)
                if item.type == "function_call":
                    self._growing.setdefault(item.id, ToolCallBlock(id=item.call_id or "", name=item.name or ""))
                return []
            case wire.OutputItemDone():
                return self._output_item_done(message)
            case _:
                assert_never(message)

    def _audio(self, place: wire.AudioDelta, pcm: bytes) -> ModelResponseAudioDeltaEvent:
        item_id = place.item_id
        if self._odd or len(pcm) & 1:
            pcm = self._odd.pop(item_id, b"") + pcm
            if len(pcm) & 1:
                self._odd[item_id] = pcm[-1:]
                pcm = pcm[:-1]
        return ModelResponseAudioDeltaEvent(
            response_id=place.response_id,
            item_id=item_id,
            output_index=place.output_index,
            content_index=place.content_index,
            delta=pcm,
            format=self._format,
        )

    # Responses.

    def _response_created(self, response: wire.WireResponse) -> list[ModelEvent]:
        """A new response supersedes one that was never closed."""
        if not response.id or response.id == self._running:
            return []
        events: list[ModelEvent] = []
        if self._running is not None:
            superseded = {"type": "cancelled", "reason": "superseded"}
            events.append(self._end(wire.WireResponse(status="cancelled", status_details=superseded)))
        self._running = response.id
        modalities = read_modalities(response.modalities)
        return [*events, ModelResponseCreatedEvent(response_id=response.id, output_modalities=modalities)]

    def _response_done(self, response: wire.WireResponse) -> list[ModelEvent]:
        """A cancelled response sometimes ends without its id."""
        if self._running is None or (response.id and response.id != self._running):
            self.late_frames += 1
            return []
        events: list[ModelEvent] = []
        status: ResponseStatus = read_status(response.status)
        if status == "completed":
            self._fatal = None  # the account was topped up, or whatever it was
            events += self._complete.values()
        elif status == "failed":
            reason = (response.status_details or {}).get("error")
            events += self._failed(Look().read(reason if isinstance(reason, dict) else {}, wire.WireError))
        return [*events, self._end(response)]

    def _end(self, response: wire.WireResponse) -> ModelResponseDoneEvent:
        assert self._running is not None
        usage = response.usage
        done = ModelResponseDoneEvent(
            response_id=self._running,
            input_tokens=(usage.input_tokens or 0) if usage else 0,
            output_tokens=(usage.output_tokens or 0) if usage else 0,
            status=read_status(response.status),
            status_details=response.status_details,
            output_modalities=read_modalities(response.modalities),
            usage_detail=shapes.usage_detail(usage),
        )
        self._running = None
        for of_response in (self._odd, self._outputs, self._growing, self._complete):
            of_response.clear()
        return done

    # Items and tool calls.

    def _read_item(self, item: wire.WireItem) -> Item | None:
        call = self._calls.get(item.call_id or "")
        return shapes.read_item(item, call.name if call is not None else "")

    def _item_created(self, item: wire.WireItem, previous: str | None) -> list[ModelEvent]:
        """Said once: an item that is no output of a response is complete with it."""
        if item.id in self._restored:
            self._restored.discard(item.id)
            return []
        read = self._read_item(item)
        if read is None:
            return []
        added = ModelItemAddedEvent(item=read, previous_item_id=previous)
        if item.id in self._outputs or read.status == "in_progress":
            self._outputs[item.id] = previous
            return [added]
        if read.tool_result is not None:
            self._calls.pop(read.tool_result.id, None)
        return [added, ModelItemDoneEvent(item=read, previous_item_id=previous)]

    def _output_item_done(self, message: wire.OutputItemDone) -> list[ModelEvent]:
        item = message.item
        events: list[ModelEvent] = []
        read = self._read_item(item)
        if read is not None:
            events.append(ModelItemDoneEvent(item=read, previous_item_id=self._outputs.get(item.id)))
        if item.type == "function_call":
            known = self._complete.pop(item.id, None)
            if item.status != "incomplete":
                events.append(known or self._call_done(message, item))
        return events

    def _note_complete(self, message: wire.ArgumentsDone) -> None:
        """Its item's end tells that the call stands; the response's end does so where that is missing."""
        known = self._growing.get(message.item_id) or ToolCallBlock(id=message.call_id, name="")
        name, arguments = message.name or known.name, message.arguments or known.input or "{}"
        call = self._calls[message.call_id] = ToolCallBlock(id=message.call_id, name=name, input=arguments)
        self._complete[message.item_id] = ModelResponseToolUseDoneEvent(
            response_id=message.response_id, item_id=message.item_id, output_index=message.output_index, tool_use=call
        )

    def _call_done(self, message: wire.OutputItemDone, item: wire.WireItem) -> ModelResponseToolUseDoneEvent:
        call_id = item.call_id or ""
        call = self._calls[call_id] = ToolCallBlock(id=call_id, name=item.name or "", input=item.arguments or "{}")
        return ModelResponseToolUseDoneEvent(
            response_id=message.response_id, item_id=item.id, output_index=message.output_index, tool_use=call
        )

    # Transcriptions and errors.

    def _transcription(
        self, message: wire.TranscriptionDelta | wire.TranscriptionCompleted | wire.TranscriptionFailed
    ) -> list[ModelEvent]:
        """Deltas are cumulative there and increments here: only what is certain is passed on, each word once."""
        item_id, index = message.item_id, message.content_index
        match message:
            case wire.TranscriptionDelta(text=text):
                delta = self._next_words(item_id, text or "")
                self._certain[item_id] = self._certain.get(item_id, "") + delta
                return [_words(item_id, delta, index)] if delta else []
            case wire.TranscriptionCompleted(transcript=transcript):
                events: list[ModelEvent] = []
                if item_id in self._certain and (rest := self._next_words(item_id, transcript)):
                    events.append(_words(item_id, rest, index))
                self._certain.pop(item_id, None)
                done = ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript, content_index=index)
                return [*events, done]
            case wire.TranscriptionFailed(error=error):
                self._certain.pop(item_id, None)
                code = error.code or error.type or "transcription_error"
                text = without_keys(error.message, self._api_key) or "the speech could not be transcribed"
                return [
                    ModelInputTranscriptionFailedEvent(item_id=item_id, code=code, message=text, content_index=index)
                ]
            case _:
                assert_never(message)

    def _next_words(self, item_id: str, text: str) -> str:
        known = self._certain.get(item_id, "")
        return text[len(known) :] if text.startswith(known) else ""

    def _failed(self, error: wire.WireError) -> list[ModelEvent]:
        meaning = wire.meaning_of(error)
        if meaning is wire.CANCELLED_NOTHING:
            return []
        if meaning is wire.IDLE:
            self._idle = True  # the close that follows is answered by a new session: no error for anybody
            return []
        if meaning.code in wire.FATAL:
            self._fatal = meaning.code
        message = wire.FATAL.get(meaning.code) or without_keys(error.message, self._api_key)
        event = ModelErrorEvent(
            error_type=meaning.fault,
            code=meaning.code,
            message=message or f"the provider reports {meaning.code}",
            retryable=meaning.retryable,
        )
        if self._session_id is not None and error.type == "invalid_request_error" and meaning.code not in wire.FATAL:
            return [*self._open(self._session_id), event]  # it refused our settings, and stands with its own
        return [event]

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """See `Codec.closed`. The service documents no codes; 120 minutes, and minutes without an answer, end with a
        close too. So a close is a reason to dial again unless it blames the key, the account or the frames."""
        said = wire.meaning_of_close(reason)
        fatal = self._fatal or (said.code if said is not None and said.code in wire.FATAL else None)
        if fatal is not None:
            return CloseVerdict(fatal, wire.FATAL[fatal], reconnect=False)
        if self._idle:
            return CloseVerdict(wire.IDLE.code, "the session was closed because nothing was said", reconnect=True)
        if said is not None:
            return CloseVerdict(said.code, f"the provider closed the session ({said.code})", reconnect=True)
        if code in (1000, 1001):
            return CloseVerdict("provider_going_away", "the provider closed the session", reconnect=True)
        if code is None or code in (1005, 1006, 1007, 1009, 1011, 1012, 1013, 1014, 1015):
            return CloseVerdict("link_lost", f"the link to the model was lost (close code {code})", reconnect=True)
        return CloseVerdict("provider_closed", f"the provider broke off (close code {code})", reconnect=False)


def _create(item: dict[str, Any], previous_item_id: str | None = None) -> str:
    frame: dict[str, Any] = {"type": "conversation.item.create", "item": item}
    if previous_item_id is not None:
        frame["previous_item_id"] = previous_item_id
    return json_frame(frame)


def _words(item_id: str, delta: str, index: int) -> ModelInputTranscriptionDeltaEvent:
    return ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=delta, content_index=index)


def _place(
    part: wire.TranscriptDelta
    | wire.TextDelta
    | wire.ArgumentsDelta
    | wire.AudioDone
    | wire.TranscriptDone
    | wire.TextDone,
) -> dict[str, Any]:
    return {
        "response_id": part.response_id,
        "item_id": part.item_id,
        "output_index": part.output_index,
        "content_index": part.content_index,
    }
