"""Responses of a session as OpenAI-family clients see them: items, parts and their order.

One response of the wire may consist of several of the model's: where the server runs a tool of its own, of which the
client knows nothing, the response stays open until the model speaks again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import pybase64

from realtime.dialects.openai_family.client import Json
from realtime.event import server as s
from realtime.event.base import Item, ResponseStatus, UsageDetail
from realtime.message import ToolCallBlock

MakeFrame = Callable[..., str]


class Flavour(NamedTuple):
    """What a flavour of the protocol does differently: the names of the frames of a part, and the shapes of items."""

    sound: str
    transcript: str
    text: str
    streams_empty_arguments: bool
    """A call without arguments has a delta too."""
    call_id: Callable[[str], str]
    """The id of a call as clients know it."""
    call_item: Callable[[str, ToolCallBlock, str], Json]
    """A call by its item's id and its status."""
    new_message: Callable[[str], Json]
    """Makes an agent's message without content, by its id."""
    item: Callable[[Item], Json]


@dataclass(slots=True)
class Part:
    """A content part while it is said."""

    kind: Literal["audio", "text"]
    words: str = ""
    sound_done: bool = False
    words_done: bool = False
    closed: bool = False


@dataclass(slots=True)
class Output:
    """An item of a response."""

    wire: Json
    output_index: int
    parts: dict[int, Part] = field(default_factory=dict)
    before: str | None = None
    streamed: bool = False
    done: bool = False
    outlasts: bool = False
    """It may end after its response, unless that is cut."""


@dataclass(slots=True)
class Reply:
    """A response as the client sees it."""

    id: str
    session: Json
    modalities: list[str]
    in_band: bool = True
    """It belongs to the conversation."""
    metadata: Json | None = None
    outputs: dict[str, Output] = field(default_factory=dict)
    calls_client: bool = False
    calls_server: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    details: list[UsageDetail] = field(default_factory=list)

    @property
    def items(self) -> list[Json]:
        """Its items as the client sees them."""
        return [output.wire for output in self.outputs.values()]

    def total(self, name: str) -> int:
        """The sum of one kind of tokens."""
        return sum(getattr(detail, name) or 0 for detail in self.details)

    def usage(self) -> tuple[Json, Json, Json]:
        """Token counts: all, input and output, each by kind; unspecified ones count as text."""
        known = bool(self.details)
        counts = {
            "total_tokens": self.input_tokens + self.output_tokens,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }
        given = {
            "text_tokens": self.total("input_text_tokens") if known else self.input_tokens,
            "audio_tokens": self.total("input_audio_tokens"),
        }
        made = {
            "text_tokens": self.total("output_text_tokens") if known else self.output_tokens,
            "audio_tokens": self.total("output_audio_tokens"),
        }
        return counts, given, made


class Running:
    """The response that the conversation waits for. With tools of ours it consists of several of the model's."""

    __slots__ = ("client_calls", "id", "model_id", "server_calls", "waits")

    def __init__(self, response_id: str) -> None:
        self.id = self.model_id = response_id
        self.client_calls = 0
        self.server_calls = 0
        self.waits = False

    def goes_on(self, response_id: str) -> None:
        """The model begins, or speaks again."""
        self.model_id = response_id
        self.client_calls = self.server_calls = 0
        self.waits = False

    def ends(self, event: s.AgentResponseDoneEvent) -> bool:
        """Whether the client sees its end now."""
        if event.response_id != self.model_id:
            return False
        self.waits = event.status == "completed" and self.server_calls > 0 and self.client_calls == 0
        return not self.waits


class Replies(ABC):
    """The responses of one session. Every method returns the frames that say what happened, in order."""

    flavour: Flavour

    def __init__(self, frame: MakeFrame, new_event_id: Callable[[], str]) -> None:
        self._frame = frame
        self._new_event_id = new_event_id
        self._replies: dict[str, Reply] = {}
        self._held: Reply | None = None
        self._heads: tuple[tuple[str, str, int], str, str] | None = None
        self._interrupted_by: str | None = None
        """What silenced the voice since a response began."""
        self.conversation_id = ""

    def created(self, event: s.AgentResponseCreatedEvent, session: Json) -> list[str]:
        """A response begins, or continues after a tool of ours."""
        reply = self._new_reply(event, session)
        if reply is None:
            return []
        self._interrupted_by = None
        if reply.in_band and self._held is not None:
            self._replies[event.response_id], self._held = self._held, None
            return []
        self._replies[event.response_id] = reply
        return [self._frame("response.created", response=self._response(reply, "in_progress"))]

    def speech(self, event: s.AgentResponseAudioDeltaEvent | s.AgentResponseAudioDoneEvent, audio: bytes) -> list[str]:
        """A chunk of speech. What stays the same within an item is written once: this is the hottest frame."""
        if not audio:
            return []
        key = (event.item_id, event.response_id, event.content_index)
        frames: list[str] = []
        if self._heads is None or self._heads[0] != key:
            place, part, _ = self._open(event, "audio", frames)
            if place is None or part is None or part.closed:
                return []
            head, tail = self._frame(f"{self.flavour.sound}.delta", **place, delta="").rsplit('""', 1)
            start, _, rest = head.partition('"event_id":"')
            self._heads = (key, f'{start}"event_id":"', rest[rest.index('"') :])
            assert tail == "}"
        _, start, rest = self._heads
        frames.append(f'{start}{self._new_event_id()}{rest}"{pybase64.b64encode_as_string(audio)}"}}')
        return frames

    def words(self, event: s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent) -> list[str]:
        """The next words."""
        spoken = isinstance(event, s.AgentResponseAudioTranscriptDeltaEvent)
        frames: list[str] = []
        place, part, _ = self._open(event, "audio" if spoken else "text", frames)
        if place is None or part is None or part.words_done:
            return []
        part.words += event.delta
        name = self.flavour.transcript if spoken else self.flavour.text
        return [*frames, self._frame(f"{name}.delta", **place, delta=event.delta)]

    def finished(
        self,
        event: s.AgentResponseAudioDoneEvent | s.AgentResponseAudioTranscriptDoneEvent | s.AgentResponseTextDoneEvent,
    ) -> list[str]:
        """Sound or words of a part are complete; with both of them, the part is."""
        frames: list[str] = []
        kind: Literal["audio", "text"] = "text" if isinstance(event, s.AgentResponseTextDoneEvent) else "audio"
        place, part, output = self._open(event, kind, frames)
        if place is None or part is None or output is None or part.closed:
            return []
        match event:
            case s.AgentResponseAudioDoneEvent():
                frames += self._end_sound(place, part)
            case s.AgentResponseAudioTranscriptDoneEvent():
                frames += self._end_words(place, part, event.transcript)
            case s.AgentResponseTextDoneEvent():
                frames += self._end_words(place, part, event.text)
        if part.words_done and (part.kind == "text" or part.sound_done):
            frames += self._close_part(place, part, output)
        return frames

    def tool_use(
        self, event: s.AgentResponseToolUseDeltaEvent | s.AgentResponseToolUseDoneEvent, *, ours: bool
    ) -> list[str]:
        """The model calls a function. `ours`: it runs in this server, and the client is not told."""
        reply = self._replies.get(event.response_id)
        if reply is None:
            return []
        if ours:
            reply.calls_server = True
            self.hide(event.item_id)
            begun = reply.outputs.get(event.item_id)
            if begun is None or begun.done:
                return []
            # The client has its arguments, and may not run it: it waits for consent, or a rule denies it.
            begun.wire = self.flavour.call_item(event.item_id, event.tool_use, "incomplete")
            return self._close(reply, begun)
        reply.calls_client = True
        frames: list[str] = []
        call, output = event.tool_use, reply.outputs.get(event.item_id)
        if output is None:
            output = self._add(reply, event.item_id, self.flavour.call_item(event.item_id, call, "in_progress"), frames)
        if output.done:
            return []
        place = {"response_id": reply.id, "item_id": event.item_id, "output_index": output.output_index}
        kind, call_id = "response.function_call_arguments", self.flavour.call_id(call.id)
        if isinstance(event, s.AgentResponseToolUseDeltaEvent):
            output.streamed = True
            return [*frames, self._frame(f"{kind}.delta", **place, call_id=call_id, delta=event.delta)]
        arguments = call.input or "{}"
        if not output.streamed and (call.input or self.flavour.streams_empty_arguments):
            frames.append(self._frame(f"{kind}.delta", **place, call_id=call_id, delta=arguments))
        frames.append(self._frame(f"{kind}.done", **place, call_id=call_id, name=call.name, arguments=arguments))
        output.wire = self.flavour.call_item(event.item_id, call, "completed") | {"arguments": arguments}
        return frames + self._close(reply, output)

    def item_done(self, item: Item) -> list[str]:
        """An item of a response will not change any more."""
        for reply in self._replies.values():
            output = reply.outputs.get(item.id)
            if output is not None and not output.done:
                frames = self._close_parts(reply, output)
                output.wire = self.flavour.item(item)
                return frames + self._close(reply, output)
        return []

    def done(self, event: s.AgentResponseDoneEvent) -> list[str]:
        """A response ends, unless the model continues after a tool of ours."""
        reply = self._replies.pop(event.response_id, None)
        if reply is None:
            return []
        self._heads = None
        reply.input_tokens += event.input_tokens
        reply.output_tokens += event.output_tokens
        if event.usage_detail is not None:
            reply.details.append(event.usage_detail)
        if reply.in_band and event.status == "completed" and reply.calls_server and not reply.calls_client:
            reply.calls_server = False
            self._held = reply
            return []
        return self._end(reply, event.status, event.status_details)

    def interrupted(self, reason: str) -> list[str]:
        """The voice was silenced."""
        self._interrupted_by = "client_cancelled" if reason == "cancel" else "turn_detected"
        return self.abandon("cancelled", None)

    def abandon(self, status: ResponseStatus, details: Json | None) -> list[str]:
        """The response that waits for a tool of ours will not continue."""
        if self._held is None:
            return []
        reply, self._held = self._held, None
        return self._end(reply, status, details)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _open(
        self, event: Any, kind: Literal["audio", "text"], frames: list[str]
    ) -> tuple[Json | None, Part | None, Output | None]:
        """The place of a part, introduced in `frames` where it is new. `None` for an unknown response."""
        reply = self._replies.get(event.response_id)
        if reply is None:
            return None, None, None
        output = reply.outputs.get(event.item_id)
        if output is None:
            output = self._add(reply, event.item_id, self.flavour.new_message(event.item_id), frames)
        if output.done:
            return None, None, None
        place = _place(reply, output, event.content_index)
        part = output.parts.get(event.content_index)
        if part is None:
            part = output.parts[event.content_index] = Part(kind)
            frames.append(self._frame("response.content_part.added", **place, part=self._wire_part(part)))
        return place, part, output

    def _add(self, reply: Reply, item_id: str, wire: Json, frames: list[str]) -> Output:
        output = reply.outputs[item_id] = Output(wire, len(reply.outputs))
        place = {"response_id": reply.id, "output_index": output.output_index}
        frames.append(self._frame("response.output_item.added", **place, item=wire))
        frames += self._added_to_conversation(reply, output)
        return output

    def _close_parts(self, reply: Reply, output: Output) -> list[str]:
        frames: list[str] = []
        for content_index, part in output.parts.items():
            if not part.closed:
                place = _place(reply, output, content_index)
                if part.kind == "audio":
                    frames += self._end_sound(place, part)
                frames += self._end_words(place, part, part.words) + self._close_part(place, part, output)
        return frames

    def _close_part(self, place: Json, part: Part, output: Output) -> list[str]:
        part.closed = True
        self._heads = None
        output.wire = output.wire | {"content": [*output.wire["content"], self._content(part)]}
        frames = self._close_words_and_sound(place, part)
        return [*frames, self._frame("response.content_part.done", **place, part=self._wire_part(part))]

    def _words_done(self, place: Json, part: Part) -> str:
        if part.kind == "text":
            return self._frame(f"{self.flavour.text}.done", **place, text=part.words)
        return self._frame(f"{self.flavour.transcript}.done", **place, transcript=part.words)

    def _close(self, reply: Reply, output: Output) -> list[str]:
        output.done = True
        self._heads = None
        place = {"response_id": reply.id, "output_index": output.output_index}
        frames = self._done_in_conversation(reply, output)
        return [*frames, self._frame("response.output_item.done", **place, item=output.wire)]

    def _end(self, reply: Reply, status: ResponseStatus, details: Json | None) -> list[str]:
        frames: list[str] = []
        self._heads = None
        for output in reply.outputs.values():
            if not output.done and not (output.outlasts and status == "completed"):
                frames += self._close_parts(reply, output)
                if "status" in output.wire:
                    output.wire["status"] = "completed" if status == "completed" else "incomplete"
                frames += self._close(reply, output)
        told = self._response(reply, status, self._details(status, details or {}))
        return [*frames, self._frame("response.done", response=told)]

    def _details(self, status: ResponseStatus, details: Json) -> Json | None:
        match status:
            case "failed":
                given = details.get("error")
                error: Json = given if isinstance(given, dict) else {}
                code = error.get("code") or details.get("code") or details.get("reason") or "server_error"
                told = {"type": str(error.get("type") or "server_error"), "code": str(code)}
                return {"type": "failed", "error": told}
            case "cancelled":
                reason = details.get("reason")
                known = reason if reason in ("turn_detected", "client_cancelled") else "client_cancelled"
                # Where this server finds the turns, it cancels the model's response: the model takes it for a client's.
                return {"type": "cancelled", "reason": self._interrupted_by or known}
            case "incomplete":
                return {"type": "incomplete"} | self._why_incomplete(details)
            case _:
                return None

    # -- what differs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def hide(self, item_id: str) -> None:
        """The client is not told of this item."""

    @abstractmethod
    def _new_reply(self, event: s.AgentResponseCreatedEvent, session: Json) -> Reply | None:
        """The response that begins; `None` where the protocol has no such response."""

    @abstractmethod
    def _response(self, reply: Reply, status: str, details: Json | None = None) -> Json: ...

    @abstractmethod
    def _why_incomplete(self, details: Json) -> Json: ...

    @abstractmethod
    def _end_sound(self, place: Json, part: Part) -> list[str]: ...

    @abstractmethod
    def _end_words(self, place: Json, part: Part, words: str) -> list[str]: ...

    @abstractmethod
    def _close_words_and_sound(self, place: Json, part: Part) -> list[str]:
        """What was not said when the words or the sound ended."""

    @abstractmethod
    def _added_to_conversation(self, reply: Reply, output: Output) -> list[str]: ...

    def _done_in_conversation(self, reply: Reply, output: Output) -> list[str]:
        return []

    @abstractmethod
    def _wire_part(self, part: Part) -> Json:
        """The part as the frames about parts show it."""

    @abstractmethod
    def _content(self, part: Part) -> Json:
        """The part as its item shows it."""


def _place(reply: Reply, output: Output, content_index: int) -> Json:
    return {
        "response_id": reply.id,
        "item_id": output.wire["id"],
        "output_index": output.output_index,
        "content_index": content_index,
    }
