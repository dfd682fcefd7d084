"""OpenAI's realtime protocol (GA) as a pure codec: frames to and from the model seam's two unions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, assert_never

import msgspec

from realtime.audio.pcm import ms_of
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.message import ToolCallBlock
from realtime.model.base import CloseVerdict, Frame, ItemTruncate, Profile, Settings, ToolResult
from realtime.model.json_objects import json_frame
from realtime.model.openai_family import openai_frames as wire
from realtime.model.openai_family import openai_shapes as shapes
from realtime.model.openai_family.codec import FamilyCodec
from realtime.model.openai_family.frames import OutputItemDone, WireItem
from realtime.model.openai_family.shared import read_modalities


class OpenAICodec(FamilyCodec[wire.Own]):
    """The protocol of one connection. `transcription_model=None`: no transcripts.

    The `OpenAI-Beta` header must not be sent: the service closes with 4000 (2026).
    """

    def __init__(
        self,
        profile: Profile,
        *,
        url: str,
        api_key: str,
        voice: str | None = None,
        transcription_model: str | None = None,
    ) -> None:
        super().__init__(profile, wire.FLAVOUR, url=url, api_key=api_key, voice=voice)
        self._transcription_model = transcription_model
        self._said_voice: str | None = None
        self._refused_voice: str | None = None
        self._due: list[m.ModelEvent] = []
        self._previous: dict[str, str | None] = {}
        self._heard: dict[str, str] = {}
        self._cut: dict[str, tuple[int, str]] = {}
        """Deletions that stand for truncations: how much of the item was heard in ms, and the words of that."""
        self._written: set[str] = set()
        """Items spoken over an earlier link, which are text here."""
        self._added: set[str] = set()
        """Words of the agent that were added as text."""
        self._tool_names: dict[str, str] = {}

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
                frames.append(self._create(said))
        return frames

    # What we say.

    def _session_update(self, settings: Settings, *, first: bool) -> str:
        voice = settings.voice or self._voice
        if voice in (self._said_voice, self._refused_voice):
            voice = None
        elif self._sounds:
            # The service would refuse the voice and all settings beside it.
            self._refused_voice, voice = voice, None
            code = "cannot_update_voice"
            self._due.append(m.ModelErrorEvent(error_type="client_error", code=code, message=wire.VOICE_STAYS))
        else:
            self._said_voice = voice
        transcription: dict[str, Any] | None = None if first else {}
        if settings.input_audio_transcription and self._transcription_model is not None:
            transcription = {"model": self._transcription_model}
        session = shapes.write_session(settings, voice=voice, transcription=transcription, first=first)
        return json_frame({"type": "session.update", "session": session})

    def _create_item(self, item: Item, previous_item_id: str | None) -> list[Frame]:
        said = shapes.write_item(item, self._ids.out)
        if item.role == "assistant":
            self._added.add(item.id)
        return [] if said is None else [self._create(said, previous_item_id)]

    def _result(self, message: ToolResult) -> list[Frame]:
        result = message.result
        self._tool_names[result.id] = result.name
        sees = "image" in self._profile.input_modalities
        items = shapes.write_result(result, message.item_id, self._ids.out, shows_pictures=sees)
        return [self._create(item) for item in items]

    def _write_overrides(self, overrides: ResponseOverrides) -> dict[str, Any]:
        return shapes.write_overrides(overrides, self._ids.out)

    def _cancel(self, response_id: str | None) -> list[Frame]:
        return [json_frame({"type": "response.cancel"} | ({} if response_id is None else {"response_id": response_id}))]

    def _truncate(self, message: ItemTruncate) -> list[Frame]:
        """Cut an item to what was played.

        The service refuses more than it has produced, and repeats itself where nothing was cut; an item of which
        nothing was played is deleted (whether the service takes 0 ms is not known). An item without sound, which was
        said over an earlier link or added as text, is written anew with the words that were played."""
        item_id, end_ms = message.item_id, message.audio_end_ms
        delete = json_frame({"type": "conversation.item.delete", "item_id": self._ids.out(item_id)})
        if item_id in self._written or item_id in self._added:
            self._cut[item_id] = end_ms, message.heard_text
            if not message.heard_text.strip():
                return [delete]
            heard = Item(id=item_id, role="assistant", content=(ContentPart(type="text", text=message.heard_text),))
            return [delete, *self._create_item(heard, None)]
        sound = self._sounds.get(item_id)
        if sound is not None:
            sound_ms = ms_of(sound.n_bytes, self._profile.output_rate_hz)
            if sound.complete and end_ms >= sound_ms:
                return []
            end_ms = min(end_ms, sound_ms)
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

    def overdue(self) -> list[m.ModelEvent]:
        """See `Codec.overdue`."""
        events, self._due = self._due, []
        return events

    # What the service says.

    def _own_events(self, message: wire.Own) -> list[m.ModelEvent]:
        match message:
            case wire.TranscriptionDelta(item_id=item_id, delta=delta, content_index=index):
                if not delta:
                    return []
                return [m.ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=delta, content_index=index or 0)]
            case wire.TranscriptionUpdated(item_id=item_id, transcript=words, content_index=index):
                guess = m.ModelInputTranscriptionDeltaEvent(
                    item_id=item_id, content_index=index or 0, delta="", interim=words
                )
                return [guess] if words else []
            case wire.ItemAdded(item=item, previous_item_id=previous):
                return self._item_added(item, previous)
            case wire.ItemDone(item=item, previous_item_id=previous):
                return self._item_done(item, previous)
            case wire.ResponseCreated(response=response):
                return [
                    m.ModelResponseCreatedEvent(
                        response_id=response.id,
                        output_modalities=read_modalities(response.modalities),
                        conversation=_conversation(response),
                        metadata=response.metadata,
                    )
                ]
            case wire.ResponseDone(response=response):
                done = self._done(response.id, response)
                done = msgspec.structs.replace(done, metadata=response.metadata, conversation=_conversation(response))
                return [*self._outcome(response), done]
            case wire.TranscriptionCompleted():
                usage = message.usage or wire.WireUsage()
                return [
                    m.ModelInputTranscriptionDoneEvent(
                        item_id=message.item_id,
                        transcript=message.transcript,
                        input_tokens=usage.input_tokens,
                        output_tokens=usage.output_tokens,
                        content_index=message.content_index,
                    )
                ]
            case wire.ItemTruncated(item_id=wire_id, content_index=index, audio_end_ms=end_ms):
                item_id = self._ids.back(wire_id)
                heard = self._heard.pop(item_id, None)
                return [
                    m.ModelItemTruncatedEvent(
                        item_id=item_id, content_index=index, audio_end_ms=end_ms, transcript=heard
                    )
                ]
            case wire.SessionCreated(session=session):
                self._note_detection(session)
                return [m.ModelSessionCreatedEvent(session_id=session.id)]
            case wire.SessionUpdated(session=session):
                self._note_detection(session)
                return [m.ModelSessionUpdatedEvent(settings=shapes.read_settings(session))]
            case _:
                assert_never(message)

    def _note_detection(self, session: wire.WireSession) -> None:
        """Subtract padding and waited-for silence from the speech that the service reports.

        SDK 3.54: it reports speech with its padding in front and that silence behind.
        """
        given = session.audio.input if session.audio is not None else None
        detection = given.turn_detection if given is not None else None
        if detection is None:
            self._added_ms = (0, 0)
        else:
            self._added_ms = detection.prefix_padding_ms or 0, detection.silence_duration_ms or 0

    # Items.

    def _tool_name(self, call_id: str) -> str:
        return self._tool_names.get(call_id, "")

    def _deleted(self, item_id: str) -> m.ModelEvent:
        if item_id not in self._cut:
            return super()._deleted(item_id)
        end_ms, text = self._cut.pop(item_id)
        return m.ModelItemTruncatedEvent(item_id=item_id, audio_end_ms=end_ms, transcript=text)

    def _item_added(self, item: WireItem, previous: str | None) -> list[m.ModelEvent]:
        self._output_item_added(item)
        read = self._read_item(item)
        if read is None or read.id in self._restored or read.id in self._written:
            return []
        before = self._previous[read.id] = self._name(previous)
        return [m.ModelItemAddedEvent(item=read, previous_item_id=before)]

    def _item_done(self, item: WireItem, previous: str | None) -> list[m.ModelEvent]:
        read = self._read_item(item)
        if read is None:
            return []
        if read.id in self._restored or read.id in self._written:
            self._restored.discard(read.id)
            return []
        if read.id in self._sounds and read.status == "completed":
            self._sounds[read.id].complete = True
        # `previous_item_id` is sometimes missing here though the item has a predecessor; `added` is right.
        before = self._previous.pop(read.id, self._name(previous))
        if read.tool_result is not None:
            self._tool_names.pop(read.tool_result.id, None)
        return [m.ModelItemDoneEvent(item=read, previous_item_id=before)]

    # Tool calls.

    def _output_item_added(self, item: WireItem) -> None:
        if item.type == "function_call" and item.status == "in_progress" and item.id not in self._growing:
            call_id = self._ids.back(item.call_id or "")
            self._growing[item.id] = ToolCallBlock(id=call_id, name=item.name or "", input=item.arguments or "")

    def _output_item_done(self, message: OutputItemDone) -> list[m.ModelEvent]:
        """The one signal of a complete call; those cut off by a cancel are not calls."""
        item = message.item
        if item.type != "function_call":
            return []
        self._growing.pop(item.id, None)
        if item.status == "incomplete":
            return []
        call = ToolCallBlock(id=self._ids.back(item.call_id or ""), name=item.name or "", input=item.arguments or "{}")
        return [
            m.ModelResponseToolUseDoneEvent(
                response_id=message.response_id,
                item_id=item.id,
                output_index=message.output_index,
                tool_use=call,
            )
        ]

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """See `Codec.closed`. A refused start is an `error` frame, then 3000 (4000 for the beta protocol) with the
        reason `<type>.<code>`; 60 minutes end with 1001."""
        if self._fatal is not None:
            return CloseVerdict(self._fatal, wire.FLAVOUR.fatal[self._fatal], reconnect=False)
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
        text = wire.FLAVOUR.fatal.get(name, f"the provider closed the session ({name})")
        return CloseVerdict(name, text, reconnect=name == "session_expired")


def _conversation(response: wire.WireResponse) -> Literal["auto", "none"]:
    """Where a response stands; services that name no conversation have one."""
    return "auto" if response.conversation_id is msgspec.UNSET or response.conversation_id else "none"
