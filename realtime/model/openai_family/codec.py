"""What the codecs of OpenAI's family have in common: audio, the parts of a response, errors.

The codec of a service derives from `FamilyCodec`. Its `Flavour` lists the frames; its methods do what the service does
its own way: items, tool calls, settings, the beginning and the end of a response.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar, assert_never

import msgspec
import pybase64

from realtime.event import model as m
from realtime.event.base import AudioFormat, Item, ResponseOverrides
from realtime.event.halves import HalfCharacters
from realtime.message import ToolCallBlock
from realtime.model._lenient_decode import LenientDecode
from realtime.model.base import (
    Address,
    AudioAppend,
    AudioClear,
    AudioCommit,
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
from realtime.model.json_objects import json_frame
from realtime.model.openai_family import frames as wire
from realtime.model.openai_family import shapes
from realtime.model.openai_family.shared import Ids, SecondLook, read_modalities, read_status, without_keys

Own = TypeVar("Own")


class FamilyCodec(Codec, Generic[Own]):
    """The protocol of one connection as pure functions over its state. `Own` are the frames of the service alone."""

    _REMEMBERED = 64
    """How many spoken items are remembered."""

    def __init__(self, profile: Profile, flavour: wire.Flavour, *, url: str, api_key: str, voice: str | None) -> None:
        self._profile = profile
        self._flavour = flavour
        self._url = url
        self._api_key = api_key
        self._voice = voice
        self._format = AudioFormat.pcm16(profile.output_rate_hz)
        self._ids = Ids(flavour.max_id_chars)
        self._waiting: list[Frame] | None = None
        """Frames that wait for the first audio; `None` once it was sent, and where nothing has to wait."""
        self._restored: set[str] = set()
        self._added_ms = (0, 0)
        """What the service adds to speech: padding in front, and the silence it waits for behind."""
        self._delta: tuple[bytes, bytes, wire.AudioDelta] | None = None
        """The latest audio delta: bytes before `event_id`, bytes before the payload, meaning."""
        self._sounds: dict[str, _Sound] = {}
        self._growing: dict[str, ToolCallBlock] = {}
        """Tool calls whose arguments are arriving, by item."""
        self._fatal: str | None = None
        self.reader = SecondLook(flavour.by_type, flavour.silent)
        self._halves = HalfCharacters()

    @property
    def profile(self) -> Profile:
        """See `Codec.profile`."""
        return self._profile

    def address(self, settings: Settings) -> Address:
        """See `Codec.address`."""
        return Address(self._url, headers=(("Authorization", f"Bearer {self._api_key}"),))

    # What we say.

    def encode(self, message: ModelInput) -> list[Frame]:
        """See `Codec.encode`."""
        match message:
            case AudioAppend(pcm=pcm):
                frame = f'{{"type":"input_audio_buffer.append","audio":"{pybase64.b64encode_as_string(pcm)}"}}'
                if self._waiting is None:
                    return [frame]
                waited, self._waiting = self._waiting, None
                return [frame, *waited]
            case AudioCommit():
                return ['{"type":"input_audio_buffer.commit"}']
            case AudioClear():
                return ['{"type":"input_audio_buffer.clear"}']
            case ItemCreate(item=item, previous_item_id=previous):
                return self._create_item(item, previous)
            case ItemDelete(item_id=item_id):
                return [json_frame({"type": "conversation.item.delete", "item_id": self._ids.out(item_id)})]
            case ItemRetrieve(item_id=item_id):
                return [json_frame({"type": "conversation.item.retrieve", "item_id": self._ids.out(item_id)})]
            case ItemTruncate():
                return self._truncate(message)
            case ToolResult():
                return self._result(message)
            case ResponseCreate(overrides=overrides):
                response = self._write_overrides(overrides) if overrides is not None else None
                return [json_frame({"type": "response.create"} | ({} if response is None else {"response": response}))]
            case ResponseCancel(response_id=response_id):
                return self._cancel(response_id)
            case SessionUpdate(settings=settings):
                return [self._session_update(settings, first=False)]
            case _:
                assert_never(message)

    def _create(self, item: dict[str, Any], previous_item_id: str | None = None) -> str:
        frame: dict[str, Any] = {"type": "conversation.item.create", "item": item}
        if previous_item_id is not None:
            frame["previous_item_id"] = self._ids.out(previous_item_id)
        return json_frame(frame)

    # What the service says.

    def decode(self, frame: Frame) -> list[m.ModelEvent]:
        """See `Codec.decode`. Takes text as str or as UTF-8 bytes."""
        data = frame.encode(errors="surrogatepass") if isinstance(frame, str) else frame
        delta = self._next_delta(data) or self._audio_at_once(data)
        if delta is not None:
            return self._audio(*delta)
        try:
            message = self._flavour.read(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            message = self._read_again(data)
            if message is None:
                return []
        events = self._events(message)
        return self._halves.join(events) if self._halves.met else events

    def _read_again(self, data: bytes) -> Any:
        """The frame without half characters, and without fields that cannot be read."""
        readable = self._halves.stand_in(data)
        try:
            return self._flavour.read(readable)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self.reader.read(readable, len(data))

    def _next_delta(self, data: bytes) -> tuple[wire.AudioDelta, bytes] | None:
        """Return the next delta if only its `event_id` and payload differ; else `None`."""
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
        """An audio delta and its speech, with the payload sliced out; `None` for other frames.

        Reading a frame of 26 kB costs a JSON parser four times as much as decoding its base64. The fields come in any
        order. The slice is certainly the payload and nothing else: inside a JSON string the quotes of `"delta":"` would
        be escaped, strict base64 holds none, and the rest of the frame has an empty payload.
        """
        if data.find(self._flavour.audio_delta) < 0:
            return None
        start = data.find(b'"delta":"') + 9
        end = data.find(b'"', start)
        if start < 9 or end < 0:
            return None
        try:
            pcm = pybase64.b64decode(memoryview(data)[start:end], validate=True)
            place = self._flavour.read_audio_delta(data[:start] + data[end:])
        except (msgspec.MsgspecError, ValueError):
            return None
        if place.delta:
            return None
        before, name, rest = data[:start].partition(b'"event_id":"')
        if rest and end == len(data) - 2:
            self._delta = before + name, rest[rest.index(b'"') :], place
        return place, pcm

    def _audio(self, place: wire.AudioDelta, pcm: bytes) -> list[m.ModelEvent]:
        item_id = place.item_id
        sound = self._sounds.get(item_id)
        if sound is None:
            sound = self._remember(item_id)
        if sound.odd or len(pcm) & 1:
            pcm = sound.odd + pcm
            whole = len(pcm) & ~1
            pcm, sound.odd = pcm[:whole], pcm[whole:]
        sound.n_bytes += len(pcm)
        return [
            m.ModelResponseAudioDeltaEvent(
                response_id=place.response_id,
                item_id=item_id,
                output_index=place.output_index,
                content_index=place.content_index,
                delta=pcm,
                format=self._format,
            )
        ]

    def _remember(self, item_id: str) -> _Sound:
        sound = self._sounds[item_id] = _Sound()
        if len(self._sounds) > self._REMEMBERED:
            del self._sounds[next(iter(self._sounds))]
        return sound

    def _events(self, message: wire.Common | Own) -> list[m.ModelEvent]:
        match message:
            case wire.TranscriptDelta():
                return [
                    # The most frequent one but audio: spelled out, which costs a third of passing a dict.
                    m.ModelResponseAudioTranscriptDeltaEvent(
                        response_id=message.response_id,
                        item_id=message.item_id,
                        output_index=message.output_index,
                        content_index=message.content_index,
                        delta=message.delta,
                    )
                ]
            case wire.TextDelta(delta=delta):
                return [m.ModelResponseTextDeltaEvent(**_place(message), delta=delta)]
            case wire.ArgumentsDelta():
                return self._arguments(message)
            case wire.AudioDelta(delta=delta):
                try:
                    return self._audio(message, pybase64.b64decode(delta, validate=True))
                except ValueError:
                    self.reader.broken_frames += 1
                    return []
            case wire.AudioDone(item_id=item_id):
                if item_id in self._sounds:
                    self._sounds[item_id].odd = b""
                return [m.ModelResponseAudioDoneEvent(**_place(message))]
            case wire.TranscriptDone(transcript=transcript):
                return [m.ModelResponseAudioTranscriptDoneEvent(**_place(message), transcript=transcript)]
            case wire.TextDone(text=text):
                return [m.ModelResponseTextDoneEvent(**_place(message), text=text)]
            case wire.OutputItemAdded(item=item):
                self._output_item_added(item)
                return []
            case wire.OutputItemDone():
                return self._output_item_done(message)
            case wire.SpeechStarted(item_id=item_id, audio_start_ms=start_ms):
                return [m.ModelInputStartedEvent(item_id=item_id, audio_start_ms=start_ms + self._added_ms[0])]
            case wire.SpeechStopped(item_id=item_id, audio_end_ms=end_ms):
                return [m.ModelInputDoneEvent(item_id=item_id, audio_end_ms=max(0, end_ms - self._added_ms[1]))]
            case wire.Committed(item_id=item_id, previous_item_id=previous):
                return [m.ModelInputCommittedEvent(item_id=item_id, previous_item_id=self._name(previous))]
            case wire.Cleared():
                return [m.ModelInputClearedEvent()]
            case wire.TranscriptionFailed(item_id=item_id, error=error, content_index=index):
                code = error.code or error.type or "transcription_error"
                text = without_keys(error.message, self._api_key) or "the speech could not be transcribed"
                return [
                    m.ModelInputTranscriptionFailedEvent(item_id=item_id, code=code, message=text, content_index=index)
                ]
            case wire.ItemDeleted(item_id=item_id):
                return [self._deleted(self._ids.back(item_id))]
            case wire.ItemRetrieved(item=item):
                read = self._read_item(item)
                return [] if read is None else [m.ModelItemRetrievedEvent(item=read)]
            case wire.Failed(error=error):
                return self._failed(error)
            case _:
                return self._own_events(message)

    # Items and tool calls.

    def _name(self, wire_id: str | None) -> str | None:
        return None if wire_id is None else self._ids.back(wire_id)

    def _read_item(self, item: wire.WireItem) -> Item | None:
        return shapes.read_item(item, self._ids.back, self._tool_name(self._ids.back(item.call_id or "")))

    def _deleted(self, item_id: str) -> m.ModelEvent:
        return m.ModelItemDeletedEvent(item_id=item_id)

    def _arguments(self, message: wire.ArgumentsDelta) -> list[m.ModelEvent]:
        known = self._growing.get(message.item_id)
        if known is None:
            known = ToolCallBlock(id=self._ids.back(message.call_id), name=message.name or "")
        call = self._growing[message.item_id] = msgspec.structs.replace(known, input=known.input + message.delta)
        return [m.ModelResponseToolUseDeltaEvent(**_place(message), tool_use=call, delta=message.delta)]

    # Responses and errors.

    def _done(self, response_id: str, response: wire.WireResponse) -> m.ModelResponseDoneEvent:
        usage = response.usage
        return m.ModelResponseDoneEvent(
            response_id=response_id,
            input_tokens=(usage.input_tokens or 0) if usage else 0,
            output_tokens=(usage.output_tokens or 0) if usage else 0,
            status=read_status(response.status),
            status_details=response.status_details,
            output_modalities=read_modalities(response.modalities),
            usage_detail=shapes.usage_detail(usage),
        )

    def _outcome(self, response: wire.WireResponse) -> list[m.ModelEvent]:
        """The error of a failed response. A completed one shows that the account works again."""
        match read_status(response.status):
            case "completed":
                self._fatal = None
                return []
            case "failed":
                reason = (response.status_details or {}).get("error")
                return self._failed(LenientDecode().read(reason if isinstance(reason, dict) else {}, wire.WireError))
            case _:
                return []

    def _failed(self, error: wire.WireError) -> list[m.ModelEvent]:
        flavour = self._flavour
        code, fault, retryable = flavour.meaning_of(error)
        if code in flavour.no_error:
            return []
        if code in flavour.fatal:
            self._fatal = code
        message = flavour.fatal.get(code) or without_keys(error.message, self._api_key)
        return [
            m.ModelErrorEvent(
                error_type=fault,
                code=code,
                message=message or f"the provider reports {code}",
                retryable=retryable,
            )
        ]

    # What differs between the services.

    @abstractmethod
    def _session_update(self, settings: Settings, *, first: bool) -> str:
        """The frame that says the settings; the `first` of a connection may leave out defaults."""

    @abstractmethod
    def _create_item(self, item: Item, previous_item_id: str | None) -> list[Frame]: ...

    @abstractmethod
    def _truncate(self, message: ItemTruncate) -> list[Frame]: ...

    @abstractmethod
    def _result(self, message: ToolResult) -> list[Frame]: ...

    @abstractmethod
    def _write_overrides(self, overrides: ResponseOverrides) -> dict[str, Any] | None: ...

    @abstractmethod
    def _cancel(self, response_id: str | None) -> list[Frame]: ...

    @abstractmethod
    def _own_events(self, message: Own) -> list[m.ModelEvent]:
        """The events of a frame that only this service sends."""

    @abstractmethod
    def _tool_name(self, call_id: str) -> str:
        """The name of the tool that this call runs; empty if unknown."""

    @abstractmethod
    def _output_item_added(self, item: wire.WireItem) -> None: ...

    @abstractmethod
    def _output_item_done(self, message: wire.OutputItemDone) -> list[m.ModelEvent]: ...


class _Sound:
    """The audio of an item that has come so far."""

    __slots__ = ("complete", "n_bytes", "odd")

    def __init__(self) -> None:
        self.n_bytes = 0
        self.odd = b""
        """Half a sample."""
        self.complete = False


def _place(part: wire.OfPart) -> dict[str, Any]:
    return {
        "response_id": part.response_id,
        "item_id": part.item_id,
        "output_index": part.output_index,
        "content_index": part.content_index,
    }
