"""What a scripted model says: its responses and items, their ids, and the pace of a spoken one."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from realtime.audio.pcm import bytes_of
from realtime.event import model as m
from realtime.event.base import AudioFormat, ContentPart, Item, ItemStatus, ResponseOverrides, ResponseStatus
from realtime.message import ToolCallBlock
from realtime.model.script import Speak, tone


class Output:
    """The conversation of one scripted connection, told through `emit`.

    `heard_ms` is how much audio has come. With `keeps_items` an item can be asked for later. `on_said` is called when a
    response that took time is over.
    """

    def __init__(
        self,
        history: Sequence[Item],
        emit: Callable[[m.ModelEvent], None],
        *,
        rate_hz: int,
        heard_ms: Callable[[], int],
        keeps_items: bool,
        on_said: Callable[[], None],
    ) -> None:
        self.emit = emit
        self.rate_hz = rate_hz
        self.items: dict[str, Item] = {item.id: item for item in history}
        self.last_item_id: str | None = None
        self.speaking: _Voice | _Thought | None = None
        """The response that takes time."""
        self._heard_ms = heard_ms
        self._keeps_items = keeps_items
        self._on_said = on_said
        self._n_history = len(history)
        self._counts: dict[str, int] = {}

    def stop(self, reason: str) -> None:
        """End the response that is being spoken, if there is one."""
        if self.speaking is not None:
            self.speaking.stop(reason)

    def speak(self, step: Speak) -> None:
        """Say a spoken response at its pace."""
        self.speaking = voice = _Voice(self, step)
        voice.begin()

    def write(self, text: str, after_ms: float) -> None:
        """Say a written response."""
        self._soon(after_ms, partial(self._write, text))

    def call_tools(self, calls: Sequence[tuple[str, dict[str, Any]]], after_ms: float) -> None:
        """Say a response that only calls tools."""
        self._soon(after_ms, partial(self._call_tools, calls))

    def said(self) -> None:
        """The response that took time is over."""
        self.speaking = None
        self._on_said()

    def commit(self, item_id: str) -> None:
        """The audio so far is an item of the user."""
        before = self.last_item_id
        item = Item(id=item_id, role="user", content=(ContentPart(type="audio"),))
        self.emit(m.ModelInputCommittedEvent(item_id=item_id, previous_item_id=before))
        self.add(item, before)
        self.emit(m.ModelItemDoneEvent(item=item, previous_item_id=before))

    def transcribe(self, item_id: str, transcript: str) -> None:
        """The words of an item, one by one, then all of them."""
        for piece in _pieces(transcript):
            self.emit(m.ModelInputTranscriptionDeltaEvent(item_id=item_id, delta=piece))
        self.emit(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript))

    def add(self, item: Item, previous_item_id: str | None) -> None:
        """A new item of the conversation."""
        if self._keeps_items:
            self.items[item.id] = item
        self.last_item_id = item.id
        self.emit(m.ModelItemAddedEvent(item=item, previous_item_id=previous_item_id))

    def begin(self, overrides: ResponseOverrides | None = None) -> str:
        """A response begins, to a request with these overrides; returns its id."""
        response_id = self.new_id("resp")
        if overrides is None:
            self.emit(m.ModelResponseCreatedEvent(response_id=response_id))
        else:
            conversation, metadata = overrides.conversation, overrides.metadata
            self.emit(
                m.ModelResponseCreatedEvent(response_id=response_id, conversation=conversation, metadata=metadata)
            )
        return response_id

    def finish(self, response_id: str, status: ResponseStatus, reason: str | None, n_tokens: int) -> None:
        """The response is over."""
        self.emit(
            m.ModelResponseDoneEvent(
                response_id=response_id,
                input_tokens=self._heard_ms() // 100,
                output_tokens=n_tokens,
                status=status,
                status_details=None if reason is None else {"type": status, "reason": reason},
            )
        )

    def _soon(self, after_ms: float, say: Callable[[str], None]) -> None:
        """Begin a response; say all of it after a moment that allows cancelling."""
        response_id = self.begin()
        if after_ms > 0:
            self.speaking = _Thought(self, response_id, after_ms, say)
        else:
            say(response_id)

    def _write(self, text: str, response_id: str) -> None:
        item_id, before = self.new_id("item"), self.last_item_id
        self.add(Item(id=item_id, role="assistant", status="in_progress"), before)
        for piece in _pieces(text):
            self.emit(m.ModelResponseTextDeltaEvent(response_id=response_id, item_id=item_id, delta=piece))
        self.emit(m.ModelResponseTextDoneEvent(response_id=response_id, item_id=item_id, text=text))
        item = Item(id=item_id, role="assistant", content=(ContentPart(type="text", text=text),))
        self.emit(m.ModelItemDoneEvent(item=item, previous_item_id=before))
        self.finish(response_id, "completed", None, len(text.split()))

    def _call_tools(self, calls: Sequence[tuple[str, dict[str, Any]]], response_id: str) -> None:
        for index, (name, arguments) in enumerate(calls):
            item_id, before, call_id = self.new_id("item"), self.last_item_id, self.new_id("call")
            whole = json.dumps(arguments)
            call = ToolCallBlock(id=call_id, name=name)
            self.add(Item(id=item_id, type="tool_call", status="in_progress", tool_call=call), before)
            for piece in _pieces(whole):
                call = msgspec.structs.replace(call, input=call.input + piece)
                self.emit(
                    m.ModelResponseToolUseDeltaEvent(
                        response_id=response_id, item_id=item_id, output_index=index, tool_use=call, delta=piece
                    )
                )
            item = Item(id=item_id, type="tool_call", tool_call=call)
            self.emit(m.ModelItemDoneEvent(item=item, previous_item_id=before))
            self.emit(
                m.ModelResponseToolUseDoneEvent(
                    response_id=response_id, item_id=item_id, output_index=index, tool_use=call
                )
            )
        self.finish(response_id, "completed", None, len(calls))

    def new_id(self, kind: str) -> str:
        """The next free id of this kind, also in a resumed conversation."""
        count = self._counts.get(kind, self._n_history) + 1
        while f"{kind}_{count}" in self.items:
            count += 1
        self._counts[kind] = count
        return f"{kind}_{count}"


class _Thought:
    """A response that has begun and says nothing yet."""

    def __init__(self, output: Output, response_id: str, after_ms: float, say: Callable[[str], None]) -> None:
        self._output = output
        self._response_id = response_id
        self._say = say
        self._timer = asyncio.get_running_loop().call_later(after_ms / 1000, self._over)

    def _over(self) -> None:
        self._say(self._response_id)
        self._output.said()

    def stop(self, reason: str) -> None:
        """End it before it has said anything."""
        self._timer.cancel()
        self._output.finish(self._response_id, "cancelled", reason, 0)
        self._output.said()


class _Voice:
    """One spoken response, chunk by chunk."""

    def __init__(self, output: Output, step: Speak) -> None:
        self._output = output
        self._step = step
        rate_hz = output.rate_hz
        pcm = step.audio if isinstance(step.audio, bytes) else tone(step.audio, rate_hz)
        size = max(2, bytes_of(step.chunk_ms, rate_hz))
        self._chunks = deque(pcm[at : at + size] for at in range(0, len(pcm), size))
        self._pieces = deque(_pieces(step.text))
        n_wordless = bytes_of(step.wordless_ms, rate_hz) // size
        self._per_chunk = -(-len(self._pieces) // max(1, len(self._chunks) - n_wordless))
        self._format = AudioFormat.pcm16(rate_hz)
        self._said = ""
        self._timer: asyncio.TimerHandle | None = None
        self._before = output.last_item_id
        overrides = None if step.to is None else step.to.overrides
        self._is_beside = overrides is not None and overrides.conversation == "none"
        self._response_id = output.begin(overrides)
        self._item_id = output.new_id("item")
        self._place: dict[str, Any] = {"response_id": self._response_id, "item_id": self._item_id}
        if not self._is_beside:
            output.add(Item(id=self._item_id, role="assistant", status="in_progress"), self._before)

    def begin(self) -> None:
        """Say the first chunk when its time has come."""
        if self._step.after_ms > 0:
            self._timer = asyncio.get_running_loop().call_later(self._step.after_ms / 1000, self.go_on)
        else:
            self.go_on()

    def go_on(self) -> None:
        """Say the next chunk, or all that is left without a pace."""
        emit, place = self._output.emit, self._place
        self._timer = None
        while self._chunks or self._pieces:
            for _ in range(min(self._per_chunk, len(self._pieces))):
                piece = self._pieces.popleft()
                self._said += piece
                emit(m.ModelResponseAudioTranscriptDeltaEvent(**place, delta=piece))
            if self._chunks:
                emit(m.ModelResponseAudioDeltaEvent(**place, delta=self._chunks.popleft(), format=self._format))
            if self._step.pace is not None:
                delay_s = self._step.chunk_ms / 1000 / self._step.pace
                self._timer = asyncio.get_running_loop().call_later(delay_s, self.go_on)
                return
        self._close("completed", None)

    def stop(self, reason: str) -> None:
        """End it as it stands."""
        if self._timer is not None:
            self._timer.cancel()
        self._close("cancelled", reason)

    def _close(self, status: ResponseStatus, reason: str | None) -> None:
        emit, place = self._output.emit, self._place
        item_status: ItemStatus = "completed" if status == "completed" else "incomplete"
        content = (ContentPart(type="audio", transcript=self._said),)
        item = Item(id=self._item_id, role="assistant", status=item_status, content=content)
        emit(m.ModelResponseAudioDoneEvent(**place))
        emit(m.ModelResponseAudioTranscriptDoneEvent(**place, transcript=self._said))
        if not self._is_beside:
            emit(m.ModelItemDoneEvent(item=item, previous_item_id=self._before))
        self._output.finish(self._response_id, status, reason, len(self._said.split()))
        self._output.said()


def _pieces(text: str) -> list[str]:
    """The words with their preceding spaces: joining them gives the text back."""
    words = text.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])] if text else []
