"""One session with the embedded model: from outside like a provider with server VAD."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, assert_never

import msgspec

from realtime.audio.pcm import ms_of
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import TurnDetection
from realtime.message import ToolResultBlock, ToolResultState
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    OnEvent,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SentenceJudge,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.local.ahead import TurnsAhead
from realtime.model.local.ears import RATE_HZ, Ears, Ended, Heard, Paused, Resumed, Started, endpoint_config
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.history import KEPT_ITEMS, add_item, add_result, has_asked, prompt_items, truncate
from realtime.model.local.language_model import CallLanguageModel
from realtime.model.local.prompt import prompt_of, with_overrides
from realtime.model.local.recognition import Recognition
from realtime.model.local.recognizer import Transcript
from realtime.model.local.response import Response
from realtime.model.local.speculation import Speculation
from realtime.model.local.voice import Voice, choose_voice
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.turn.responses import SORRY

logger = logging.getLogger(__name__)

_SURE_MS = 1_000
"""So much sure voice has words, whatever the recogniser doubts: music and coughs have none of it."""
_SPOKEN_MS = 256
"""A turn with so much voice was spoken: coughs have up to 192 ms, a "stop" over a telephone 288."""
# Speech this soon after a turn's end continues that turn, if the response to it was withdrawn.
_HINT_CHARS = 200
"""How much of a hint the recogniser gets: a long one costs as much as speech."""
_HASTY_MS = 800
# Without audio for this long the current turn is over; a stalled network mostly recovers sooner.
_AUDIO_STOPPED_S = 2.0
# The pause between a response and the next of several turns that came at once: longer than the agent joins speech to
# the turn before, and than a client's audio buffer.
_BREATH_S = 1.5


class LocalConnection:
    """One session with the embedded model. Made by `LocalRealtimeModel.connect`."""

    def __init__(
        self,
        *,
        profile: Profile,
        engine: SpeechEngine,
        parts: SpeechParts,
        speculation: Speculation,
        voice: str | None,
        conversation: Conversation,
        on_event: OnEvent,
        runtime: Runtime,
        language_model: CallLanguageModel | None = None,
    ) -> None:
        self.language_model = language_model
        """What writes the words; it may be asked for others as well."""
        self._engine = engine
        self._parts = parts
        self._speculation = speculation
        self._voice = voice
        self._conversation = conversation
        self._continued: set[str] = set()
        """Turns that continue a previous turn, which seemed to have ended."""
        self._on_event = on_event
        self._runtime = runtime
        self._profile = profile
        self._session_id = runtime.new_id("session")
        self._settings = Settings()
        self._ears = Ears(parts.make_vad(), self._is_alert) if parts.make_vad is not None and parts.hears else None
        self._ahead = TurnsAhead()
        self._next_turn: asyncio.TimerHandle | None = None
        self._audio_timer: asyncio.TimerHandle | None = None
        self._turn_item_id = ""
        self._turn_ended_ms: int | None = None
        self._turn_is_sure = self._turn_is_spoken = False
        """Whether the last turn was surely, or at least probably, a voice."""
        self._may_ask = True
        """Whether the agent may say that it did not catch the words: not twice in a row."""
        self._turn_continues = False
        self._recognition = Recognition(engine, parts.recognizer, self._understood, parts.better)
        self._active: Response | None = None
        self._has_asked = False
        """Whether given words beside the conversation are the newest that were said: a question to the user."""
        self._truncated: Response | None = None
        """The response that was cut to what was played: it plays no more."""
        self._responses: set[Response] = set()
        self._turn_is_ending = False
        """Whether the end of a turn is being reported: its item comes next."""
        self._asked_at_end: list[ResponseCreate] = []
        """Requests that wait for that item."""
        self._turn_waits = False
        """Whether a turn ended during a response that speech does not stop; its own response follows that one."""
        self._complained = False
        self._closed = False
        self._judge_of_sentences: SentenceJudge | None = None
        self._guess: tuple[str, int] | None = None
        """Words of a turn that may be over; its length in ms."""
        self._tell_guess: Callable[[str], None] | None = None

    @property
    def profile(self) -> Profile:
        """See `Connection.profile`."""
        return self._profile

    @property
    def _running(self) -> Response | None:
        """The response that cancelling and interrupting refer to; out-of-band ones run beside it."""
        return None if self._active is None or self._active.done else self._active

    def start(self, settings: Settings) -> None:
        """Emit that the session is open, and which parts are missing."""
        self._on_event(m.ModelSessionCreatedEvent(session_id=self._session_id))
        if self._parts.missing:
            self._complain()
        self._configure(settings)

    def check_sentences(self, judge: SentenceJudge) -> None:
        """See `ChecksSentences.check_sentences`."""
        self._judge_of_sentences = judge

    def tell_guesses(self, take: Callable[[str], None]) -> None:
        """See `GuessesWords.tell_guesses`."""
        self._tell_guess = take

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
                self._recognition.forget(item_id)
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
                self._take_result(result)
            case ResponseCreate() if self._turn_is_ending:
                self._asked_at_end.append(message)
            case ResponseCreate(overrides=overrides, say=say):
                self._create_response(overrides or ResponseOverrides(), to_speech=self._speech_is_open, say=say)
            case ResponseCancel(response_id=response_id):
                self._turn_waits = False
                for response in [*self._responses]:
                    if response_id == response.id or (response_id is None and response is self._running):
                        response.cancel("client_cancelled")
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
        self._recognition.close()
        self._speculation.drop()
        responses = [*self._responses]
        for response in responses:
            response.cancel("session_closed")
        tasks = [response.task for response in responses if response.task is not None]
        try:
            if tasks:
                await asyncio.wait(tasks)
            await self._speculation.close(prompt_items(self._conversation.items(), self._continued))
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
        is_told_otherwise = self._settings.instructions != settings.instructions
        self._settings = settings
        if is_told_otherwise and self._guess is not None:
            self._answer_ahead(*self._guess, again=True)
        self._recognition.hint = ", ".join(settings.names)[:_HINT_CHARS]
        wanted, voices = settings.voice or self._voice, self._parts.voices
        if wanted and voices and wanted not in voices:
            speaks = choose_voice(wanted, voices)
            logger.warning("there is no voice %r: %s speaks, of %s", wanted[:100], speaks, ", ".join(voices))
        if self._ears is not None and (not known or self._ears.position_ms == 0):
            self._drop_guess()
            self._ears.configure(endpoint)
        return True

    def _effective(self) -> dict[str, Any]:
        settings = self._settings
        voice = choose_voice(settings.voice or self._voice, self._parts.voices)
        effective: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(settings, voice=voice, extra={}))
        return effective

    def _voice_for(self, settings: Settings) -> Voice | None:
        """Return the voice for a response; None if it is only written."""
        if "audio" not in settings.output_modalities:
            return None
        voice = choose_voice(settings.voice or self._voice, self._parts.voices)
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
            for due in self._ahead.take(heard, now_s, unplayed=self._is_unplayed(now_s)):
                self._follow(due)
        for due in self._ahead.live(now_s):
            self._follow(due)

    def _watch_audio(self, position_ms: int) -> None:
        """End a turn whose audio has stopped: a client that stops sending sends no silence either."""
        ears, self._audio_timer = self._ears, None
        if ears is None or not ears.hears_voice or self._closed:
            return
        if ears.position_ms == position_ms:
            self._take(ears.finish())
            return
        again = asyncio.get_running_loop().call_later(_AUDIO_STOPPED_S, self._watch_audio, ears.position_ms)
        self._audio_timer = again

    def _follow(self, heard: Heard) -> None:
        """Act on an event of the ears."""
        match heard:
            case Started():
                self._turn_started(heard)
            case Paused(pcm=clip, number=number, newest=newest):
                turn_ms = ms_of(len(clip), RATE_HZ)
                self._recognition.guess(clip, lambda words: self._take_words(number, words, turn_ms))
                self._judge(newest, number)
            case Resumed():
                self._drop_guess()
            case Ended(end_ms=end_ms, at_ms=at_ms, pcm=clip):
                self._turn_ended_ms = at_ms
                self._turn_is_sure, self._turn_is_spoken = heard.sure_ms >= _SURE_MS, heard.voice_ms >= _SPOKEN_MS
                self._turn_is_ending = True
                self._on_event(m.ModelInputDoneEvent(item_id=self._turn_item_id, audio_end_ms=end_ms))
                self._take_turn(clip)
                self._turn_is_ending = False
                asked, self._asked_at_end = self._asked_at_end, []
                for message in asked:
                    self.send(message)
                if self._wants("create_response"):
                    self._respond_to_turn()
            case _:
                assert_never(heard)

    def _take_words(self, pause: int, words: str, turn_ms: int) -> None:
        """Take the words of a pause, and begin the response to them."""
        if self._ears is None or not self._ears.take_words(pause, words):
            return
        if self._active is not self._truncated and self._is_unplayed(self._runtime.now()):
            # A voice over a reply is mostly no turn.
            return
        self._guess = words, turn_ms
        self._answer_ahead(words, turn_ms)
        if self._tell_guess is not None:
            self._tell_guess(words)

    def _answer_ahead(self, words: str, turn_ms: int, *, again: bool = False) -> None:
        """Begin the response to the words of a pause; `again`, because what precedes them has changed."""
        heard = Item(id=self._turn_item_id, role="user", content=(ContentPart(type="audio", transcript=words),))
        items = [*self._conversation.items(), heard][-KEPT_ITEMS:]
        continued = self._continued | {heard.id} if self._turn_continues else self._continued
        overrides = ResponseOverrides()
        settings = with_overrides(self._settings, overrides)
        spoken = prompt_items(items, continued)
        prompt = prompt_of(settings, overrides, spoken, wall_s=self._runtime.wall_now(), to_speech=True)
        if prompt is not None:
            begin = self._speculation.begin_again if again else self._speculation.begin
            begin(prompt, self._voice_for(settings), turn_ms)

    def _drop_guess(self) -> None:
        """Drop what was begun in a pause: the turn continues, or is void."""
        self._guess = None
        self._recognition.drop_guess()
        self._speculation.drop()

    def _judge(self, newest: bytes, pause: int) -> None:
        """Judge how complete the voice before a pause sounds, if possible."""
        ears, judge = self._ears, self._parts.judge
        judging = None if judge is None else self._engine.judge(judge, newest)
        if ears is not None and judging is not None:
            judging.add_done_callback(lambda done: _pass_completeness(done, partial(ears.take_completeness, pause)))

    def _is_unplayed(self, now_s: float) -> bool:
        """Whether the response before cannot have been played whole."""
        response = self._active
        if response is None:
            return False
        return not response.done or now_s < response.played_by_s

    def _is_alert(self) -> bool:
        """Whether a voice is judged elsewhere: over a response that plays, or as the answer to a question."""
        is_awaited = self._has_asked or self._is_unplayed(self._runtime.now())
        return is_awaited and not self._wants("interrupt_response")

    def _follow_next_turn(self) -> None:
        """Act on the next waiting turn once the previous response has played."""
        for due in self._ahead.next_turn():
            self._follow(due)

    def _stop_waiting(self) -> None:
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def _turn_started(self, heard: Started) -> None:
        self._drop_guess()
        self._speculation.begin_turn()
        self._turn_item_id = self._runtime.new_id("item")
        ended_ms, self._turn_ended_ms = self._turn_ended_ms, None
        self._turn_continues = ended_ms is not None and heard.at_ms - ended_ms <= _HASTY_MS
        self._on_event(m.ModelInputStartedEvent(item_id=self._turn_item_id, audio_start_ms=heard.start_ms))
        if self._ears is not None:
            # A short word over a reply is an assent, or all that its speaker wants: it is over as soon as an answer.
            over_reply = self._is_unplayed(self._runtime.now())
            is_asked = over_reply or self._has_asked or has_asked(self._conversation.items())
            self._ears.expect_answer(is_asked=is_asked)
        if self._audio_timer is None:
            self._watch_audio(-1)
        if self._wants("interrupt_response"):
            if self._running is not None:
                self._running.cancel("turn_detected")
            self._speculation.interrupt()

    def _wants(self, switch: str) -> bool:
        """Whether our detector may do this by itself; true unless the client forbids it."""
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
        self._recognition.drop_guess()
        self._take_turn(clip)

    def _take_turn(self, clip: bytes) -> None:
        """Make the turn an item; its words follow when they are recognised, mostly at once."""
        self._guess = None
        item_id = self._turn_item_id
        item = Item(id=item_id, role="user", content=(ContentPart(type="audio"),))
        previous = add_item(self._conversation, item)
        if self._turn_continues:
            self._continued = {one for one in self._continued if one in self._conversation} | {item_id}
        self._on_event(m.ModelInputCommittedEvent(item_id=item_id, previous_item_id=previous))
        self._recognition.take_turn(item_id, clip)

    def _understood(self, item_id: str, heard: asyncio.Future[Transcript] | None) -> None:
        """Set the words of the item and emit them, or the failure."""
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
        is_sure = self._turn_is_sure and item_id == self._turn_item_id
        words = transcript.doubted if is_sure and not transcript.text else transcript.text
        self._may_ask = self._may_ask or bool(words)
        self._conversation.set_transcript(item_id, words)
        if self._settings.input_audio_transcription:
            self._on_event(m.ModelInputTranscriptionDoneEvent(item_id=item_id, transcript=words))

    def _unclear(self) -> str:
        """Return what to say where a spoken turn had no words: once, until words are understood again."""
        asks = self._turn_is_spoken and self._may_ask
        self._may_ask = self._may_ask and not asks
        return SORRY if asks else ""

    # -- the conversation ------------------------------------------------------------------------------------------

    def _add(self, item: Item, previous_item_id: str | None = None) -> None:
        previous = add_item(self._conversation, item, previous_item_id)
        self._on_event(m.ModelItemAddedEvent(item=item, previous_item_id=previous))
        self._on_event(m.ModelItemDoneEvent(item=item, previous_item_id=previous))
        sound = b"".join(part.audio for part in item.content if part.audio)
        if sound:
            self._recognition.take_item(item.id, sound)

    def _take_result(self, result: ToolResultBlock) -> None:
        """Take the result of a tool. It is not reported: its sender has an item for it."""
        item = Item(id=self._runtime.new_id("item"), type="tool_result", tool_result=result)
        add_result(self._conversation, item)
        if result.state is ToolResultState.INTERRUPTED:
            self._speculation.interrupt()

    def _truncate(self, message: ItemTruncate) -> None:
        if message.item_id not in self._conversation:
            self._refuse("unknown_item", f"there is no item {message.item_id!r}")
            return
        self._truncated = self._active
        self._on_event(
            m.ModelItemTruncatedEvent(
                item_id=message.item_id,
                content_index=message.content_index,
                audio_end_ms=message.audio_end_ms,
                transcript=truncate(self._conversation, message),
            )
        )

    # -- answering -------------------------------------------------------------------------------------------------

    def _create_response(self, overrides: ResponseOverrides, *, to_speech: bool = False, say: str = "") -> None:
        out_of_band = overrides.conversation == "none"
        if self._running is not None and not out_of_band:
            self._refuse(
                "conversation_already_has_active_response",
                f"response {self._running.id} is still running: cancel it or wait for its end",
            )
            return
        try:
            settings = with_overrides(self._settings, overrides)
        except msgspec.ValidationError as error:
            self._refuse("bad_response_create", f"tools: {error}")
            return
        response = Response(
            response_id=self._runtime.new_id("response"),
            settings=settings,
            overrides=overrides,
            to_speech=to_speech,
            say=say,
            unclear=self._unclear,
            voice=self._voice_for(settings),
            speculation=self._speculation,
            conversation=self._conversation,
            history=lambda: prompt_items(self._conversation.items(), self._continued),
            on_event=self._on_event,
            runtime=self._runtime,
            language_model=self._profile.model,
            judge=None if out_of_band else self._judge_of_sentences,
        )
        self._has_asked = out_of_band and bool(say)
        if not out_of_band:
            self._active = response
            self._turn_waits = False
            self._stop_waiting()
        self._responses.add(response)
        response.announce()
        if response.done:
            # A listener has cancelled it at once.
            self._ended(response)
            return
        task = asyncio.get_running_loop().create_task(
            response.run(self._recognition.waiting), name=f"response {response.id}"
        )
        response.task = task
        task.add_done_callback(lambda done: self._ended(response))

    @property
    def _speech_is_open(self) -> bool:
        """Whether our detector found the newest item in speech: without words it gets no response."""
        newest = self._conversation.items()[-1:]
        return self._settings.turn_detection != "none" and any(
            item.role == "user" and part.type == "audio" for item in newest for part in item.content
        )

    def _respond_to_turn(self) -> None:
        """Respond to the last turn: now, or after the running response."""
        self._turn_waits = self._running is not None
        if not self._turn_waits:
            self._create_response(ResponseOverrides(), to_speech=True)

    def _ended(self, response: Response) -> None:
        self._responses.discard(response)
        in_turn = self._ears is not None and self._ears.in_turn
        if self._turn_waits and not in_turn and not self._closed:
            self._respond_to_turn()
        elif self._ahead and response is self._active and not response.called_tools and not self._closed:
            self._stop_waiting()
            due_s = max(0.0, response.played_by_s - self._runtime.now()) + _BREATH_S
            self._next_turn = asyncio.get_running_loop().call_later(due_s, self._follow_next_turn)

    # -- errors ----------------------------------------------------------------------------------------------------

    def _refuse(self, code: str, message: str) -> None:
        self._on_event(m.ModelErrorEvent(error_type="client_error", code=code, message=message))

    def _complain(self) -> None:
        """Emit once which parts this machine lacks."""
        self._complained = True
        self._on_event(
            m.ModelErrorEvent(
                error_type="provider_error",
                code="speech_part_missing",
                message=f"The embedded model has to do without: {'; '.join(self._parts.missing)}",
            )
        )


def _pass_completeness(done: asyncio.Future[float], then: Callable[[float], None]) -> None:
    if not done.cancelled() and done.exception() is None:
        then(done.result())
