"""DashScope's Qwen-Omni protocol as a pure codec: frames to and from the model seam's two unions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from msgspec.structs import replace

from realtime.event import model as m
from realtime.event.base import Item, ResponseOverrides
from realtime.event.halves import without_half
from realtime.message import ToolCallBlock
from realtime.model.base import Address, CloseVerdict, Frame, ItemTruncate, Profile, Settings, ToolResult
from realtime.model.json_objects import json_frame
from realtime.model.openai_family import dashscope_frames as wire
from realtime.model.openai_family import dashscope_shapes as shapes
from realtime.model.openai_family import frames
from realtime.model.openai_family.codec import FamilyCodec
from realtime.model.openai_family.shared import read_modalities, read_status


class DashScopeCodec(FamilyCodec[wire.Own]):
    """The protocol of one connection.

    The service runs one response at a time: frames of any other response are late and dropped.
    """

    _WAITING_IMAGES = 4
    """How many pictures wait for the first speech of a session; older ones are dropped."""

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
        super().__init__(profile, wire.FLAVOUR, url=url, api_key=api_key, voice=voice)
        self._workspace = workspace
        self._transcribe = transcribe
        self._waiting = []
        self._session_id: str | None = None
        self._opened = False
        self._transcribing = transcribe
        self._notes = ""
        self._running: str | None = None
        self._cancelling = False
        """Whether we cancel the response that runs."""
        self._outputs: dict[str, str | None] = {}
        self._complete: dict[str, m.ModelResponseToolUseDoneEvent] = {}
        self._calls: dict[str, ToolCallBlock] = {}
        self._foreign_calls: dict[str, ToolCallBlock] = {}
        self._certain: dict[str, str] = {}
        self._idle = False
        self.late_frames = 0
        """Frames of a response that no longer runs."""

    def address(self, settings: Settings) -> Address:
        """See `Codec.address`."""
        address = super().address(settings)
        if not self._workspace:
            return address
        return Address(address.url, headers=(*address.headers, ("X-DashScope-WorkSpace", self._workspace)))

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        """See `Codec.opening`. Messages are restored as items. Calls cannot be: the service takes results of its own
        calls only, so the instructions tell what tools returned."""
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
                frames.append(self._create(said))
        return frames

    # What we say.

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
            return self._result(ToolResult(item.tool_result))
        frames: list[Frame] = []
        images = shapes.write_images(item)
        if self._waiting is None:
            frames += images
        else:
            # The service refuses them before the first audio of a session.
            self._waiting = [*self._waiting, *images][-self._WAITING_IMAGES :]
        said = shapes.write_message(item)
        if said is not None:
            frames.append(self._create(said, previous_item_id))
        return frames

    def _truncate(self, message: ItemTruncate) -> list[Frame]:
        """A truncation has no frame: the service keeps a response as it made it."""
        return []

    def _result(self, message: ToolResult) -> list[Frame]:
        result = message.result
        if result.id in self._calls:
            output = result.output_text(names_media=True)
            return [self._create({"type": "function_call_output", "call_id": result.id, "output": output})]
        # Another connection made the call: `Unknown function call id` here.
        text = shapes.tell_result(self._foreign_calls.pop(result.id, None), result)
        return [self._create({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})]

    def _write_overrides(self, overrides: ResponseOverrides) -> dict[str, Any] | None:
        return shapes.write_overrides(overrides) or None

    def _cancel(self, response_id: str | None) -> list[Frame]:
        if response_id is not None and response_id != self._running:
            return []  # it is over, and the frame would end the one that runs
        self._cancelling = True
        return ['{"type":"response.cancel"}']

    # What the service says.

    def _audio(self, place: frames.AudioDelta, pcm: bytes) -> list[m.ModelEvent]:
        if place.response_id != self._running:
            self.late_frames += 1
            return []
        return super()._audio(place, pcm)

    def _events(self, message: frames.Common | wire.Own) -> list[m.ModelEvent]:
        if isinstance(message, frames.OfResponse) and message.response_id != self._running:
            self.late_frames += 1
            return []
        if isinstance(message, frames.TranscriptionFailed):
            self._certain.pop(message.item_id, None)
            if not self._transcribing:
                return []
        return super()._events(message)

    def _own_events(self, message: wire.Own) -> list[m.ModelEvent]:
        match message:
            case wire.TranscriptionDelta() | wire.TranscriptionCompleted():
                return self._transcription(message) if self._transcribing else []
            case wire.ItemCreated(item=item, previous_item_id=previous):
                return self._item_created(item, previous)
            case wire.ResponseCreated(response=response):
                return self._response_created(response)
            case wire.ResponseDone(response=response):
                return self._response_done(response)
            case wire.ArgumentsDone():
                self._note_complete(message)
                return []
            case wire.SessionCreated(session=session):
                # Reported once the service has taken our settings: earlier audio would freeze other formats.
                self._session_id = session.id
                return []
            case wire.SessionUpdated(session=session):
                updated = m.ModelSessionUpdatedEvent(settings=shapes.read_settings(session))
                return [*self._open(session.id), updated]
            case _:
                assert_never(message)

    def _open(self, session_id: str) -> list[m.ModelEvent]:
        if self._opened:
            return []
        self._opened = True
        return [m.ModelSessionCreatedEvent(session_id=self._session_id or session_id)]

    # Responses.

    def _response_created(self, response: wire.WireResponse) -> list[m.ModelEvent]:
        """A new response supersedes one that was never closed."""
        if not response.id or response.id == self._running:
            return []
        events: list[m.ModelEvent] = []
        if self._running is not None:
            superseded = {"type": "cancelled", "reason": "superseded"}
            events.append(self._end(wire.WireResponse(status="cancelled", status_details=superseded)))
        self._running, self._cancelling = response.id, False
        modalities = read_modalities(response.modalities)
        return [*events, m.ModelResponseCreatedEvent(response_id=response.id, output_modalities=modalities)]

    def _response_done(self, response: wire.WireResponse) -> list[m.ModelEvent]:
        """A cancelled response sometimes ends without its id or a reason: the service itself cancels for speech."""
        if self._running is None or (response.id and response.id != self._running):
            self.late_frames += 1
            return []
        if read_status(response.status) == "cancelled" and not response.status_details:
            reason = "client_cancelled" if self._cancelling else "turn_detected"
            response = replace(response, status_details={"type": "cancelled", "reason": reason})
        calls = self._complete.values() if read_status(response.status) == "completed" else ()
        return [*calls, *self._outcome(response), self._end(response)]

    def _end(self, response: wire.WireResponse) -> m.ModelResponseDoneEvent:
        assert self._running is not None
        done = self._done(self._running, response)
        self._running = None
        for of_response in (self._sounds, self._outputs, self._growing, self._complete):
            of_response.clear()
        return done

    # Items and tool calls.

    def _tool_name(self, call_id: str) -> str:
        return self._calls[call_id].name if call_id in self._calls else ""

    def _item_created(self, item: frames.WireItem, previous: str | None) -> list[m.ModelEvent]:
        """The service says it once: an item outside a response is complete with it."""
        if item.id in self._restored:
            self._restored.discard(item.id)
            return []
        read = self._read_item(item)
        if read is None:
            return []
        added = m.ModelItemAddedEvent(item=read, previous_item_id=previous)
        if item.id in self._outputs or read.status == "in_progress":
            self._outputs[item.id] = previous
            return [added]
        if read.tool_result is not None:
            self._calls.pop(read.tool_result.id, None)
        return [added, m.ModelItemDoneEvent(item=read, previous_item_id=previous)]

    def _output_item_added(self, item: frames.WireItem) -> None:
        self._outputs.setdefault(item.id, None)
        if item.type == "function_call":
            self._growing.setdefault(item.id, ToolCallBlock(id=item.call_id or "", name=item.name or ""))

    def _output_item_done(self, message: frames.OutputItemDone) -> list[m.ModelEvent]:
        item = message.item
        events: list[m.ModelEvent] = []
        read = self._read_item(item)
        if read is not None:
            events.append(m.ModelItemDoneEvent(item=read, previous_item_id=self._outputs.get(item.id)))
        if item.type == "function_call":
            known = self._complete.pop(item.id, None)
            if item.status != "incomplete":
                events.append(known or self._call_done(message, item))
        return events

    def _note_complete(self, message: wire.ArgumentsDone) -> None:
        """The end of the item confirms the call; where that is missing, the end of the response does."""
        known = self._growing.get(message.item_id) or ToolCallBlock(id=message.call_id, name="")
        name, arguments = message.name or known.name, message.arguments or known.input or "{}"
        call = self._calls[message.call_id] = ToolCallBlock(id=message.call_id, name=name, input=arguments)
        self._complete[message.item_id] = m.ModelResponseToolUseDoneEvent(
            response_id=message.response_id, item_id=message.item_id, output_index=message.output_index, tool_use=call
        )

    def _call_done(self, message: frames.OutputItemDone, item: frames.WireItem) -> m.ModelResponseToolUseDoneEvent:
        call_id = item.call_id or ""
        call = self._calls[call_id] = ToolCallBlock(id=call_id, name=item.name or "", input=item.arguments or "{}")
        return m.ModelResponseToolUseDoneEvent(
            response_id=message.response_id, item_id=item.id, output_index=message.output_index, tool_use=call
        )

    # Transcriptions and errors.

    def _transcription(self, message: wire.TranscriptionDelta | wire.TranscriptionCompleted) -> list[m.ModelEvent]:
        """Deltas are cumulative there and increments here: only what is certain is passed on, each word once."""
        item_id, index = message.item_id, message.content_index
        match message:
            case wire.TranscriptionDelta(text=text):
                delta = self._next_words(item_id, without_half(text or ""))
                self._certain[item_id] = self._certain.get(item_id, "") + delta
                return [_words(item_id, delta, index)] if delta else []
            case wire.TranscriptionCompleted(transcript=transcript):
                events: list[m.ModelEvent] = []
                if item_id in self._certain and (rest := self._next_words(item_id, transcript)):
                    events.append(_words(item_id, rest, index))
                self._certain.pop(item_id, None)
                done = m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript, content_index=index)
                return [*events, done]
            case _:
                assert_never(message)

    def _next_words(self, item_id: str, text: str) -> str:
        known = self._certain.get(item_id, "")
        return text[len(known) :] if text.startswith(known) else ""

    def _failed(self, error: frames.WireError) -> list[m.ModelEvent]:
        meaning = wire.meaning_of(error)
        if meaning is wire.IDLE:
            self._idle = True  # the close that follows is answered by a new session
        events = super()._failed(error)
        settings_refused = error.type == "invalid_request_error" and meaning.code not in wire.FLAVOUR.fatal
        if events and self._session_id is not None and settings_refused:
            return [*self._open(self._session_id), *events]  # the session keeps its own settings
        return events

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """See `Codec.closed`. The service documents no codes; 120 minutes, and minutes without a response, end with a
        close too. So a close is a reason to dial again unless it blames the key, the account or the frames."""
        said = wire.meaning_of_close(reason)
        fatal = self._fatal or (said.code if said is not None and said.code in wire.FLAVOUR.fatal else None)
        if fatal is not None:
            return CloseVerdict(fatal, wire.FLAVOUR.fatal[fatal], reconnect=False)
        if self._idle:
            return CloseVerdict(wire.IDLE.code, "the session was closed because nothing was said", reconnect=True)
        if said is not None:
            return CloseVerdict(said.code, f"the provider closed the session ({said.code})", reconnect=True)
        if code in (1000, 1001):
            return CloseVerdict("provider_going_away", "the provider closed the session", reconnect=True)
        if code is None or code in (1005, 1006, 1007, 1009, 1011, 1012, 1013, 1014, 1015):
            return CloseVerdict("link_lost", f"the link to the model was lost (close code {code})", reconnect=True)
        return CloseVerdict("provider_closed", f"the provider broke off (close code {code})", reconnect=False)


def _words(item_id: str, delta: str, index: int) -> m.ModelInputTranscriptionDeltaEvent:
    return m.ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=delta, content_index=index)
