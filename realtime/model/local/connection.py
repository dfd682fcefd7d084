"""The embedded model as a `RealtimeModel`: from outside, a provider with server VAD; inside, this process alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path
from typing import Any, assert_never

import msgspec

from realtime.audio.pcm import ms_of
from realtime.errors import Overflow
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, Modality, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
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
from realtime.model.local.ahead import TurnsAhead
from realtime.model.local.answer import Answer
from realtime.model.local.chat import responder_from_environment
from realtime.model.local.ears import RATE_HZ as INPUT_RATE_HZ
from realtime.model.local.ears import Ears, Ended, Heard, Paused, Resumed, Started, endpoint_config
from realtime.model.local.engine import Progress, SpeechEngine, SpeechParts, looks_installed, shared_engine
from realtime.model.local.history import add_item, conversation_of, prompt_items, truncate
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import Responder
from realtime.model.local.recognizer import Transcript
from realtime.model.local.voice import DEFAULT_VOICE, Voice
from realtime.model.local.voice import SAMPLE_RATE_HZ as OUTPUT_RATE_HZ
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation

logger = logging.getLogger(__name__)

VOICES = (DEFAULT_VOICE, "heart-low")

# Speech this soon after a turn's end continues that turn, if the answer to it was taken back.
_HASTY_MS = 800
# Without any audio for so long, the turn that goes on is over: a network that stalls is mostly back before.
_AUDIO_STOPPED_S = 2.0
# Between the end of an answer and the next of several turns that came at once: longer than the agent takes speech for
# the rest of the turn before, whatever the answer's length, and than a client's buffer of sound.
_BREATH_S = 1.5


def profile_of(parts: SpeechParts | None, responder: Responder) -> Profile:
    """What the model can do with these parts and this mind; None: probably, once the parts are loaded."""
    hears = looks_installed() if parts is None else parts.hears
    voices = VOICES if parts is None else tuple(parts.voices)
    inputs: set[Modality] = {"text"}
    if hears:
        inputs.add("audio")
    if responder.takes_images:
        inputs.add("image")
    outputs: frozenset[Modality] = frozenset({"text", "audio"} if voices else {"text"})
    return Profile(
        provider="local",
        model=responder.name,
        input_rate_hz=INPUT_RATE_HZ,
        output_rate_hz=OUTPUT_RATE_HZ,
        input_modalities=frozenset(inputs),
        output_modalities=outputs,
        emits_speech_events=hears,
        aligns_transcript=True,
        voices=voices,
        languages=("en",),
    )


class LocalRealtimeModel(RealtimeModel):
    """Speech recognition, a small mind and a voice in this process: no key, no GPU, no network. English only.

    `voice` is one of `profile.voices`; an unknown one gives the default. `responder` is the mind: null is the chat
    endpoint that the environment names (`responder_from_environment`), else the built-in `Conversationalist`, which
    works by rules. Speech never leaves this process; a chat endpoint gets the words. `whisper_dir` names a folder with
    Whisper tiny.en for CTranslate2 in place of the installed wheel.
    All models of a process share the loaded parts (`engine`). Raises UsageError for an environment that is wrong.
    """

    def __init__(
        self,
        voice: str | None = DEFAULT_VOICE,
        *,
        responder: Responder | None = None,
        whisper_dir: str | Path | None = None,
        engine: SpeechEngine | None = None,
    ) -> None:
        self.voice = voice
        self._responder = responder or responder_from_environment() or Conversationalist()
        self._engine = engine or shared_engine(whisper_dir)

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`. Exact once `warm_up` or `connect` has been awaited."""
        return profile_of(self._engine.parts, self._responder)

    def voice_for(self, wanted: str | None) -> str | None:
        """See `RealtimeModel.voice_for`: one of `profile.voices`, as far as there are any."""
        return _known(wanted or self.voice, self.profile.voices)

    async def warm_up(self, progress: Progress = lambda step: None) -> tuple[str, ...]:
        """Load everything (1.5 s) before the first caller waits for it; returns what is missing, a sentence each.

        `progress` is called with the name of each step from the loading thread. Cancelling lets the loading end by
        itself.
        """
        return (await self._engine.ready(progress)).missing

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. Never fails for missing parts: what is missing is an error event and is not in
        the connection's profile."""
        parts = await self._engine.ready()
        connection = LocalConnection(
            engine=self._engine,
            parts=parts,
            responder=self._responder,
            voice=self.voice,
            conversation=conversation_of(history()),
            on_event=on_event,
            runtime=runtime,
        )
        connection.start(settings)
        return connection


def _known(voice: str | None, voices: Collection[str]) -> str | None:
    return voice if voice in voices else next(iter(voices), None)


class LocalConnection:
    """One session with the embedded model. Made by `LocalRealtimeModel.connect`."""

    def __init__(
        self,
        *,
        engine: SpeechEngine,
        parts: SpeechParts,
        responder: Responder,
        voice: str | None,
        conversation: Conversation,
        on_event: OnEvent,
        runtime: Runtime,
    ) -> None:
        self._engine = engine
        self._parts = parts
        self._responder = responder
        self._voice = voice
        self._conversation = conversation
        self._continued: set[str] = set()
        """The turns that continue the turn before them, which seemed to have ended."""
        self._on_event = on_event
        self._runtime = runtime
        self._profile = profile_of(parts, responder)
        self._session_id = runtime.new_id("session")
        self._settings = Settings()
        self._ears = Ears(parts.make_vad()) if parts.make_vad is not None and parts.hears else None
        self._ahead = TurnsAhead()
        self._next_turn: asyncio.TimerHandle | None = None
        self._audio_timer: asyncio.TimerHandle | None = None
        self._turn_item_id = ""
        self._turn_ended_ms: int | None = None
        self._turn_continues = False
        self._guess: asyncio.Future[Transcript] | None = None
        self._listening: dict[str, asyncio.Future[Transcript]] = {}
        self._active: Answer | None = None
        self._answers: set[Answer] = set()
        self._turn_waits = False
        """A turn ended over an answer that speech does not stop: it is answered behind that one."""
        self._complained = False
        self._closed = False

    @property
    def profile(self) -> Profile:
        """See `Connection.profile`."""
        return self._profile

    @property
    def _running(self) -> Answer | None:
        """The answer to which cancelling and interrupting refer; out-of-band ones run beside it."""
        return None if self._active is None or self._active.done else self._active

    def start(self, settings: Settings) -> None:
        """Report that the session is up, and what it has to do without."""
        self._on_event(m.ModelSessionCreatedEvent(session_id=self._session_id))
        if self._parts.missing:
            self._complain()
        self._configure(settings)

    def send(self, message: ModelInput) -> None:
        """See `Connection.send`."""
        if self._closed:
            return
        match message:
            case AudioAppend(pcm=pcm):
                self._hear(pcm)
            case AudioCommit():
                self._commit()
            case AudioClear():
                if self._ears is not None:
                    self._ears.clear()
                self._ahead.clear()
                self._drop_guess()
                self._on_event(m.ModelInputClearedEvent())
            case ItemCreate(item=item, previous_item_id=previous_item_id):
                self._add(item, previous_item_id)
            case ItemDelete(item_id=item_id):
                self._listening.pop(item_id, None)
                if self._conversation.delete(item_id):
                    self._on_event(m.ModelItemDeletedEvent(item_id=item_id))
                else:
                    self._refuse("unknown_item", f"there is no item {item_id!r}")
            case ItemRetrieve(item_id=item_id):
                found = self._conversation.get(item_id)
                if found is not None:
                    self._on_event(m.ModelItemRetrievedEvent(item=found))
                else:
                    self._refuse("unknown_item", f"there is no item {item_id!r}")
            case ItemTruncate():
                self._truncate(message)
            case ToolResult(result=result):
                # Not reported: whoever sent the result has an item for it already.
                item = Item(id=self._runtime.new_id("item"), type="tool_result", tool_result=result)
                add_item(self._conversation, item)
            case ResponseCreate(overrides=overrides):
                self._create_response(overrides or ResponseOverrides())
            case ResponseCancel(response_id=response_id):
                self._turn_waits = False
                for answer in [*self._answers]:
                    if response_id == answer.id or (response_id is None and answer is self._running):
                        answer.cancel("client_cancelled")
            case SessionUpdate(settings=settings):
                if self._configure(settings):
                    self._on_event(m.ModelSessionUpdatedEvent(settings=self._effective()))
            case _:
                assert_never(message)

    async def close(self) -> None:
        """See `Connection.close`."""
        if self._closed:
            return
        self._closed = True
        if self._audio_timer is not None:
            self._audio_timer.cancel()
        self._stop_waiting()
        self._drop_guess()
        for heard in self._listening.values():
            heard.cancel()
        self._listening.clear()
        answers = [*self._answers]
        for answer in answers:
            answer.cancel("session_closed")
        tasks = [answer.task for answer in answers if answer.task is not None]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            self._on_event(m.ModelSessionEndedEvent(session_id=self._session_id, reason="closed"))

    # -- settings --------------------------------------------------------------------------------------------------

    def _configure(self, settings: Settings) -> bool:
        detection = settings.turn_detection
        if isinstance(detection, str) and detection != "none":
            detection = TurnDetection(type=detection)
        try:
            endpoint = None if isinstance(detection, str) else endpoint_config(detection)
        except ValueError as error:
            self._refuse("invalid_turn_detection", str(error))
            return False
        known = self._settings.turn_detection == settings.turn_detection
        self._settings = settings
        wanted, voices = settings.voice or self._voice, self._parts.voices
        if wanted and voices and wanted not in voices:
            speaks = _known(wanted, voices)
            logger.warning("there is no voice %r: %s speaks, of %s", wanted[:100], speaks, ", ".join(voices))
        if self._ears is not None and (not known or self._ears.position_ms == 0):
            self._drop_guess()
            self._ears.configure(endpoint)
        return True

    def _effective(self) -> dict[str, Any]:
        settings = self._settings
        voice = _known(settings.voice or self._voice, self._parts.voices)
        effective: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(settings, voice=voice, extra={}))
        return effective

    def _voice_for(self, settings: Settings) -> Voice | None:
        """The voice of an answer; None where it is to be written only."""
        if "audio" not in settings.output_modalities:
            return None
        voice = _known(settings.voice or self._voice, self._parts.voices)
        return None if voice is None else self._parts.voices[voice]

    # -- hearing ---------------------------------------------------------------------------------------------------

    def _hear(self, pcm: bytes) -> None:
        if self._ears is None:
            if not self._complained:
                self._complain()
            return
        self._take(self._ears.push(pcm))

    def _take(self, found: list[Heard]) -> None:
        now_s = self._runtime.now()
        for heard in found:
            for due in self._ahead.take(heard, now_s, unheard=self._is_unheard(now_s)):
                self._follow(due)
        for due in self._ahead.live(now_s):
            self._follow(due)

    def _watch_audio(self, position_ms: int) -> None:
        """While someone speaks: a client that stops sending sends no silence either."""
        ears, self._audio_timer = self._ears, None
        if ears is None or not ears.hears_voice or self._closed:
            return
        if ears.position_ms == position_ms:
            self._take(ears.finish())
            return
        again = asyncio.get_running_loop().call_later(_AUDIO_STOPPED_S, self._watch_audio, ears.position_ms)
        self._audio_timer = again

    def _follow(self, heard: Heard) -> None:
        """Do what the ears heard, at once or when its time has come."""
        match heard:
            case Started():
                self._turn_started(heard)
            case Paused(pcm=clip):
                self._guess = self._recognise(clip)
            case Resumed():
                self._drop_guess()
            case Ended(end_ms=end_ms, at_ms=at_ms, pcm=clip):
                self._turn_ended_ms = at_ms
                self._on_event(m.ModelInputDoneEvent(item_id=self._turn_item_id, audio_end_ms=end_ms))
                self._take_turn(clip)
                if self._wants("create_response"):
                    self._answer_turn()
            case _:
                assert_never(heard)

    def _is_unheard(self, now_s: float) -> bool:
        """Whether speech would stop an answer that cannot have been heard whole."""
        answer = self._active
        if answer is None or not self._wants("interrupt_response"):
            return False
        return not answer.done or now_s < answer.played_by_s

    def _follow_next_turn(self) -> None:
        """The answer before it was heard."""
        for due in self._ahead.next_turn():
            self._follow(due)

    def _stop_waiting(self) -> None:
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def _turn_started(self, heard: Started) -> None:
        self._drop_guess()
        self._turn_item_id = self._runtime.new_id("item")
        ended_ms, self._turn_ended_ms = self._turn_ended_ms, None
        self._turn_continues = ended_ms is not None and heard.at_ms - ended_ms <= _HASTY_MS
        self._on_event(m.ModelInputStartedEvent(item_id=self._turn_item_id, audio_start_ms=heard.start_ms))
        if self._audio_timer is None:
            self._watch_audio(-1)
        if self._running is not None and self._wants("interrupt_response"):
            self._running.cancel("turn_detected")

    def _wants(self, switch: str) -> bool:
        """Whether our detector may do this by itself."""
        return getattr(self._settings.turn_detection, switch, None) is not False

    def _commit(self) -> None:
        for due in self._ahead.all():
            self._follow(due)
        in_turn = self._ears is not None and self._ears.in_turn
        clip = self._ears.commit() if self._ears is not None else None
        if clip is None:
            self._refuse("input_audio_buffer_commit_empty", "there is no speech to commit yet")
            return
        if not in_turn:
            self._turn_item_id = self._runtime.new_id("item")
            self._turn_continues = False
        self._drop_guess()
        self._take_turn(clip)

    def _take_turn(self, clip: bytes) -> None:
        """The turn becomes an item; its words come when they are known, which is mostly at once."""
        item_id = self._turn_item_id
        guess, self._guess = self._guess, None
        item = Item(id=item_id, role="user", content=(ContentPart(type="audio"),))
        previous = add_item(self._conversation, item)
        if self._turn_continues:
            self._continued = {one for one in self._continued if one in self._conversation} | {item_id}
        self._on_event(m.ModelInputCommittedEvent(item_id=item_id, previous_item_id=previous))
        self._listen(item_id, guess if guess is not None else self._recognise(clip))

    def _listen(self, item_id: str, heard: asyncio.Future[Transcript] | None) -> None:
        """The item has its words once they are recognised."""
        if heard is None:
            self._understood(item_id, None)
        elif heard.done():
            self._understood(item_id, heard)
        else:
            self._listening[item_id] = heard
            heard.add_done_callback(lambda done: self._understood(item_id, done))

    def _recognise(self, clip: bytes) -> asyncio.Future[Transcript] | None:
        """Start recognition; None where the server has too much of it waiting."""
        assert self._parts.recognizer is not None
        try:
            return self._engine.transcribe(self._parts.recognizer, clip)
        except Overflow:
            logger.warning("recognition is overloaded, a turn of %d ms was dropped", ms_of(len(clip), INPUT_RATE_HZ))
            return None

    def _drop_guess(self) -> None:
        if self._guess is not None:
            self._guess.cancel()
            self._guess = None

    def _understood(self, item_id: str, heard: asyncio.Future[Transcript] | None) -> None:
        self._listening.pop(item_id, None)
        if self._closed or item_id not in self._conversation or (heard is not None and heard.cancelled()):
            return
        if heard is None or heard.exception() is not None:
            logger.warning("a turn was not recognised: %s", "overload" if heard is None else repr(heard.exception()))
            self._on_event(
                m.ModelInputTranscriptionFailedEvent(
                    item_id=item_id,
                    code="overloaded" if heard is None else "recognition_failed",
                    message="the speech could not be recognised; please say it again",
                )
            )
            return
        transcript = heard.result()
        self._conversation.set_transcript(item_id, transcript.text)
        if self._settings.input_audio_transcription:
            self._on_event(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=transcript.text))

    # -- the conversation ------------------------------------------------------------------------------------------

    def _add(self, item: Item, previous_item_id: str | None = None) -> None:
        previous = add_item(self._conversation, item, previous_item_id)
        self._on_event(m.ModelItemAddedEvent(item=item, previous_item_id=previous))
        self._on_event(m.ModelItemDoneEvent(item=item, previous_item_id=previous))
        sound = b"".join(part.audio for part in item.content if part.audio)
        if sound:
            self._listen(item.id, self._recognise(sound))

    def _truncate(self, message: ItemTruncate) -> None:
        if message.item_id not in self._conversation:
            self._refuse("unknown_item", f"there is no item {message.item_id!r}")
            return
        self._on_event(
            m.ModelItemTruncatedEvent(
                item_id=message.item_id,
                content_index=message.content_index,
                audio_end_ms=message.audio_end_ms,
                transcript=truncate(self._conversation, message),
            )
        )

    # -- answering -------------------------------------------------------------------------------------------------

    def _create_response(self, overrides: ResponseOverrides, *, to_speech: bool = False) -> None:
        out_of_band = overrides.conversation == "none"
        if self._running is not None and not out_of_band:
            self._refuse(
                "conversation_already_has_active_response",
                f"response {self._running.id} is still running: cancel it or wait for its end",
            )
            return
        try:
            settings = _with_overrides(self._settings, overrides)
        except msgspec.ValidationError as error:
            self._refuse("bad_response_create", f"tools: {error}")
            return
        answer = Answer(
            answer_id=self._runtime.new_id("response"),
            settings=settings,
            overrides=overrides,
            to_speech=to_speech,
            voice=self._voice_for(settings),
            engine=self._engine,
            responder=self._responder,
            conversation=self._conversation,
            history=lambda: prompt_items(self._conversation, self._continued),
            on_event=self._on_event,
            runtime=self._runtime,
        )
        if not out_of_band:
            self._active = answer
            self._turn_waits = False
            self._stop_waiting()
        self._answers.add(answer)
        answer.announce()
        if answer.done:
            # Whoever heard of it cancelled it at once.
            self._ended(answer)
            return
        task = asyncio.get_running_loop().create_task(
            answer.run([*self._listening.values()]), name=f"answer {answer.id}"
        )
        answer.task = task
        task.add_done_callback(lambda done: self._ended(answer))

    def _answer_turn(self) -> None:
        """Answer the last turn: now, or behind the answer that runs."""
        self._turn_waits = self._running is not None
        if not self._turn_waits:
            self._create_response(ResponseOverrides(), to_speech=True)

    def _ended(self, answer: Answer) -> None:
        self._answers.discard(answer)
        in_turn = self._ears is not None and self._ears.in_turn
        if self._turn_waits and not in_turn and not self._closed:
            self._answer_turn()
        elif self._ahead and answer is self._active and not answer.called_tools and not self._closed:
            self._stop_waiting()
            due_s = max(0.0, answer.played_by_s - self._runtime.now()) + _BREATH_S
            self._next_turn = asyncio.get_running_loop().call_later(due_s, self._follow_next_turn)

    # -- errors ----------------------------------------------------------------------------------------------------

    def _refuse(self, code: str, message: str) -> None:
        self._on_event(m.ModelErrorEvent(error_type="client_error", code=code, message=message))

    def _complain(self) -> None:
        """Say once what this machine lacks."""
        self._complained = True
        self._on_event(
            m.ModelErrorEvent(
                error_type="provider_error",
                code="speech_part_missing",
                message=f"The embedded model has to do without: {'; '.join(self._parts.missing)}",
            )
        )


def _with_overrides(settings: Settings, overrides: ResponseOverrides) -> Settings:
    """The session's settings with what one response does differently."""
    tools = settings.tools
    if overrides.tools is not None:
        tools = tuple(msgspec.convert(tool, ToolDeclaration) for tool in overrides.tools if "name" in tool)
    if overrides.tool_choice == "none":
        tools = ()
    limit = overrides.max_output_tokens or settings.max_output_tokens
    return msgspec.structs.replace(
        settings,
        instructions=settings.instructions if overrides.instructions is None else overrides.instructions,
        voice=overrides.voice or settings.voice,
        tools=tools,
        output_modalities=overrides.output_modalities or settings.output_modalities,
        temperature=settings.temperature if overrides.temperature is None else overrides.temperature,
        max_output_tokens=None if limit == "inf" else limit,
    )
