"""A model that follows a script: what to expect, what to say, with what delays. No network, no weights, no chance.

A script is a list of steps (`realtime.model.script`). `Expect` and `ExpectAudio` wait for what the agent sends, `Wait`
for time to pass, all other steps make the model hear or say something. Where the agent sends what the script did not
expect, or the script does not come to its end, `ScriptedModel.assert_finished` fails and says what was missing.

A function in place of the list makes a model that reacts: it is called with each input and returns steps (`echo_bot`).

What every provider does by itself needs no script: items and settings are acknowledged, a commit becomes a user item, a
cancel ends the response that runs, and speech ends it where the profile says `interrupts_itself`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import assert_never

import msgspec

from realtime.audio.pcm import ms_of
from realtime.event import model as m
from realtime.event.base import Item
from realtime.model._scripted_output import Output
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    Connection,
    History,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.script import (
    CallTools,
    Emit,
    Expect,
    ExpectAudio,
    Hangup,
    React,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Transcribe,
    Wait,
    Write,
    echo_bot,
    tone,
)
from realtime.options import checked
from realtime.runtime import Runtime

__all__ = [
    "MANUAL_PROFILE",
    "PROFILE",
    "CallTools",
    "Emit",
    "Expect",
    "ExpectAudio",
    "Hangup",
    "React",
    "ScriptedConnection",
    "ScriptedModel",
    "Speak",
    "SpeechEnd",
    "SpeechStart",
    "Step",
    "Transcribe",
    "Wait",
    "Write",
    "echo_bot",
    "tone",
]

PROFILE = Profile(
    provider="scripted",
    model="scripted",
    input_rate_hz=16_000,
    output_rate_hz=24_000,
    input_modalities=frozenset({"text", "audio", "image"}),
)
"""Like a provider with a detector of its own."""

MANUAL_PROFILE = msgspec.structs.replace(PROFILE, emits_speech_events=False, interrupts_itself=False)
"""Like a model without one: turns are decided by the server or the client."""


class ScriptedModel(RealtimeModel):
    """Follows `script` once per connection. Ids count up per connection: `resp_1`, `item_1`, `call_1`.

    `strict` (lists only): every input but audio has to be expected.
    """

    @checked()
    def __init__(
        self,
        script: Sequence[Step] | React,
        *,
        profile: Profile = PROFILE,
        voice: str | None = None,
        strict: bool = True,
    ) -> None:
        self.voice = voice
        self.connections: list[ScriptedConnection] = []
        """Those that follow a list, in order of connecting."""
        self._script = script
        self._profile = profile
        self._strict = strict
        self._count = 0

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. The script begins when the loop gets control back."""
        self._count += 1
        connection = ScriptedConnection(
            self._script, self._profile, f"scripted_{self._count}", settings, on_event, history(), strict=self._strict
        )
        if not callable(self._script):
            self.connections.append(connection)
        return connection

    def assert_finished(self) -> None:
        """Raises AssertionError unless each script was used up, without unexpected messages."""
        assert self.connections, "no connection was made"
        for sentence in self.unfinished():
            raise AssertionError(sentence)

    def unfinished(self) -> list[str]:
        """A sentence for each script's unused rest or unexpected messages."""
        return [sentence for connection in self.connections for sentence in connection.unfinished()]


class ScriptedConnection:
    """A `Connection` to a script. Reports events from the loop's callbacks only, never inside `send`."""

    _Output = Output

    def __init__(
        self,
        script: Sequence[Step] | React,
        profile: Profile,
        session_id: str,
        settings: Settings,
        on_event: OnEvent,
        history: Sequence[Item],
        *,
        strict: bool,
    ) -> None:
        self.settings = settings
        """The settings in force."""
        self.history = list(history)
        """The context it was given."""
        self.received: list[ModelInput] = []
        """What came, but audio. Empty where the script is a function."""
        self.audio = bytearray()
        """The audio that came. Empty where the script is a function."""
        self._react: React | None = script if callable(script) else None
        self._todo: deque[Step] = deque() if callable(script) else deque(script)
        self._profile = profile
        self._session_id = session_id
        self._on_event = on_event
        self._strict = strict
        self._loop = asyncio.get_running_loop()
        self._inbox: deque[ModelInput] = deque()
        self._unexpected: list[ModelInput] = []
        self._output = self._Output(
            history,
            self._emit,
            rate_hz=profile.output_rate_hz,
            heard_ms=lambda: self.audio_ms,
            keeps_items=self._react is None,
            on_said=self._said,
        )
        self._turn_item_id: str | None = None
        self._audio_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._held = False
        self._ended = False
        self._emit(m.ModelSessionCreatedEvent(session_id=session_id))
        self._loop.call_soon(self._run)

    @property
    def profile(self) -> Profile:
        """See `Connection.profile`."""
        return self._profile

    @property
    def audio_ms(self) -> int:
        """How much audio has come, in ms."""
        return ms_of(self._audio_bytes, self._profile.input_rate_hz)

    def send(self, message: ModelInput) -> None:
        """See `Connection.send`."""
        if self._ended:
            return
        if isinstance(message, AudioAppend):
            self._audio_bytes += len(message.pcm)
            if self._react is None:
                self.audio += message.pcm
        elif self._react is None:
            self.received.append(message)
        self._loop.call_soon(self._take, message)

    async def close(self) -> None:
        """See `Connection.close`."""
        self._end("closed")

    def unfinished(self) -> list[str]:
        """What was not expected and what is left over, a sentence each."""
        sentences = []
        unexpected = [*self._unexpected, *(self._inbox if self._strict else ())]
        if unexpected:
            told = ", ".join(_brief(message) for message in unexpected)
            used_up = "" if self._todo else "was used up when more was asked of it, and "
            sentences.append(f"the script {used_up}did not expect {told}")
        if self._todo:
            sentences.append(f"the script stopped before {self._todo[0]}, {len(self._todo)} steps from its end")
        if self._output.speaking is not None:
            sentences.append("the script's last response is still being spoken")
        return sentences

    # The pump: runs steps until one has to wait.

    def _take(self, message: ModelInput) -> None:
        if self._ended:
            return
        self._acknowledge(message)
        if self._react is not None:
            self._todo.extend(self._react(message))
        elif not isinstance(message, AudioAppend) or self._wants_audio():
            self._inbox.append(message)
        self._run()

    def _wants_audio(self) -> bool:
        step = self._todo[0] if self._todo else None
        return isinstance(step, Expect) and _is_kind(step, AudioAppend(b""))

    def _run(self) -> None:
        while self._todo and not self._ended and self._timer is None and not self._held:
            step = self._todo[0]
            match step:
                case Expect():
                    if not self._met(step):
                        return
                case ExpectAudio(at_ms=at_ms):
                    if self.audio_ms < at_ms:
                        return
                case Speak() | Write() | CallTools() if self._output.speaking is not None:
                    return
                case _:
                    pass
            self._todo.popleft()
            self._do(step)

    def _met(self, step: Expect) -> bool:
        while self._inbox:
            message = self._inbox.popleft()
            if _is_kind(step, message) and (step.where is None or step.where(message)):
                return True
            if self._strict:
                self._unexpected.append(message)
        return False

    def _do(self, step: Step) -> None:
        match step:
            case Expect() | ExpectAudio():
                pass
            case Wait(ms=ms):
                self._timer = self._loop.call_later(ms / 1000, self._wake)
            case Emit(event=event):
                self._emit(event)
            case SpeechStart(at_ms=at_ms):
                self._turn_item_id = self._output.new_id("item")
                if self._profile.interrupts_itself:
                    self._output.stop("turn_detected")
                self._emit(m.ModelInputStartedEvent(item_id=self._turn_item_id, audio_start_ms=at_ms))
            case SpeechEnd(at_ms=at_ms, transcript=transcript):
                item_id = self._turn_item_id or self._output.new_id("item")
                self._emit(m.ModelInputDoneEvent(item_id=item_id, audio_end_ms=at_ms))
                self._output.commit(item_id)
                if transcript is not None:
                    self._output.transcribe(item_id, transcript)
            case Transcribe(transcript=transcript):
                self._output.transcribe(self._turn_item_id or self._output.new_id("item"), transcript)
            case Speak():
                self._held = step.wait
                self._output.speak(step)
            case Write(text=text, after_ms=after_ms):
                self._output.write(text, after_ms)
            case CallTools(calls=calls, after_ms=after_ms):
                self._output.call_tools(calls, after_ms)
            case Hangup(reason=reason):
                self._end(reason)
            case _:
                assert_never(step)

    def _wake(self) -> None:
        self._timer = None
        self._run()

    def _said(self) -> None:
        self._held = False
        if not self._ended:
            self._loop.call_soon(self._run)

    def _end(self, reason: str) -> None:
        if self._ended:
            return
        self._output.stop("session_closed")
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._emit(m.ModelSessionEndedEvent(session_id=self._session_id, reason=reason))

    # What every provider does by itself.

    def _acknowledge(self, message: ModelInput) -> None:
        match message:
            case AudioAppend() | ResponseCreate():
                pass
            case AudioCommit():
                self._turn_item_id = self._output.new_id("item")
                self._output.commit(self._turn_item_id)
            case AudioClear():
                self._emit(m.ModelInputClearedEvent())
            case ItemCreate(item=item, previous_item_id=previous):
                self._output.add(item, previous)
                self._emit(m.ModelItemDoneEvent(item=item, previous_item_id=previous))
            case ToolResult(result=result):
                item = Item(id=self._output.new_id("item"), type="tool_result", tool_result=result)
                before = self._output.last_item_id
                self._output.add(item, before)
                self._emit(m.ModelItemDoneEvent(item=item, previous_item_id=before))
            case ItemDelete(item_id=item_id):
                self._output.items.pop(item_id, None)
                self._emit(m.ModelItemDeletedEvent(item_id=item_id))
            case ItemRetrieve(item_id=item_id):
                held = self._output.items.get(item_id)
                self._emit(_no_such_item(item_id) if held is None else m.ModelItemRetrievedEvent(item=held))
            case ItemTruncate(item_id=item_id, audio_end_ms=end_ms, heard_text=heard, content_index=index):
                self._emit(
                    m.ModelItemTruncatedEvent(
                        item_id=item_id, content_index=index, audio_end_ms=end_ms, transcript=heard
                    )
                )
            case ResponseCancel():
                self._output.stop("client_cancelled")
            case SessionUpdate(settings=settings):
                self.settings = settings
                self._emit(m.ModelSessionUpdatedEvent(settings=msgspec.to_builtins(settings)))
            case _:
                assert_never(message)

    def _emit(self, event: m.ModelEvent) -> None:
        if not self._ended or isinstance(event, m.ModelSessionEndedEvent):
            self._on_event(event)


def _is_kind(step: Expect, message: ModelInput) -> bool:
    return isinstance(message, step.kind)


def _brief(message: ModelInput) -> str:
    text = repr(message)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _no_such_item(item_id: str) -> m.ModelErrorEvent:
    return m.ModelErrorEvent(
        error_type="client_error",
        code="item_retrieve_invalid_item_id",
        message=f"the item with id '{item_id}' does not exist",
    )
