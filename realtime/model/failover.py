"""`failover([...])`: several models as one, so that a call outlives the provider it began with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from realtime.audio.resample import Resampler
from realtime.errors import RealtimeError, UsageError
from realtime.event import model as m
from realtime.event.base import Item
from realtime.event.config import TurnDetection
from realtime.model._backlog import Backlog
from realtime.model.base import (
    AudioAppend,
    Connection,
    History,
    ItemDelete,
    ItemTruncate,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCreate,
    SessionUpdate,
    Settings,
)
from realtime.model.link_limits import WireLimits
from realtime.options import checked
from realtime.runtime import Runtime

if TYPE_CHECKING:
    from realtime.model.chat.base import ChatModelBase

logger = logging.getLogger(__name__)


@checked()
def failover(models: Sequence[RealtimeModel]) -> RealtimeModel:
    """The first of `models` that works, with the others as its replacements.

    When a model cannot be connected, or is lost after its last try, the next one takes over the call with the
    conversation as it was heard and continues the interrupted response; listeners get `agent_reconnecting` and
    `agent_reconnected`. A call never returns to a model that it has left. When the last one is lost, the call ends with
    its reason.

    The profile holds what every model can do: input kinds, tools, speech events (without them this server finds the
    turns, unless told otherwise) and so on. Rates are those of the first: the client's audio is converted to its rate
    at the edge, and once more for a model that takes another one. A voice that a model does not have becomes that
    model's own; `extra` and the kind of detector go to models of the first one's provider only.

    Raises UsageError without models.
    """
    if not models:
        raise UsageError("failover needs at least one model", code="no_models")
    return _Failover(tuple(models))


class _Failover(RealtimeModel):
    def __init__(self, models: tuple[RealtimeModel, ...]) -> None:
        self.models = models
        self._profile = common_profile([model.profile for model in models])

    def __repr__(self) -> str:
        return f"failover([{', '.join(map(repr, self.models))}])"

    @property
    def profile(self) -> Profile:
        return self._profile

    def chat_model(self) -> ChatModelBase | None:
        """See `RealtimeModel.chat_model`: that of the first model, for the others may never hear the call."""
        return self.models[0].chat_model()

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. Raises the error of the last model where none can be had."""
        connection = _Connection(self.models, self._profile, settings, on_event, history, runtime)
        await connection.open()
        return connection


def common_profile(profiles: Sequence[Profile]) -> Profile:
    """The abilities that all of these share; name and rates of the first.

    Truncation is an exception: it is asked for where one model can do it, and left out where another cannot.
    """
    first = profiles[0]
    return msgspec.structs.replace(
        first,
        input_modalities=frozenset.intersection(*(one.input_modalities for one in profiles)),
        output_modalities=frozenset.intersection(*(one.output_modalities for one in profiles)),
        supports_tools=all(one.supports_tools for one in profiles),
        emits_speech_events=all(one.emits_speech_events for one in profiles),
        supports_manual_turns=all(one.supports_manual_turns for one in profiles),
        interrupts_itself=all(one.interrupts_itself for one in profiles),
        leaves_responses=all(one.leaves_responses for one in profiles),
        supports_truncation=any(one.supports_truncation for one in profiles),
        supports_item_delete=all(one.supports_item_delete for one in profiles),
        supports_audio_clear=all(one.supports_audio_clear for one in profiles),
        aligns_transcript=all(one.aligns_transcript for one in profiles),
        supports_response_overrides=all(one.supports_response_overrides for one in profiles),
        supports_item_sound=all(one.supports_item_sound for one in profiles),
        responds_beside_tools=all(one.responds_beside_tools for one in profiles),
        takes_provisional_results=all(one.takes_provisional_results for one in profiles),
        says_given_words=all(one.says_given_words for one in profiles),
        session_limit_s=None,
    )


class _Connection:
    """The session with whichever model has the call. Its link counts as lost from the first news of a loss until some
    model is there; what is said meanwhile is kept for the next one, beside going to the present one."""

    def __init__(
        self,
        models: Sequence[RealtimeModel],
        profile: Profile,
        settings: Settings,
        on_event: OnEvent,
        history: History,
        runtime: Runtime,
    ) -> None:
        self._models = models
        self._profile = profile
        self._settings = settings
        self._on_event = on_event
        self._history = history
        self._runtime = runtime
        self._place = -1
        self._current: Connection | None = None
        self._resampler: Resampler | None = None
        self._takeover: asyncio.Task[None] | None = None
        self._lost_s: float | None = None
        self._tries = 0
        limits = WireLimits()
        self._kept = Backlog(
            max_audio_bytes=int(limits.kept_audio_s * profile.input_rate_hz) * 2,
            max_controls=limits.max_waiting_messages,
        )
        self._accepted_bytes = 0
        self._offset_ms = 0
        self._held_error: m.ModelErrorEvent | None = None
        self._session_id = ""
        self._created = self._done = self._ended = False

    @property
    def profile(self) -> Profile:
        return self._profile

    async def open(self) -> None:
        """Connect the first model that can be had. Raises the error of the last one where none can."""
        while True:
            try:
                await self._connect_next()
                return
            except RealtimeError as error:
                logger.info("a model cannot be had: place=%d code=%s", self._place, error.code)
                if self._place + 1 >= len(self._models):
                    raise

    def send(self, message: ModelInput) -> None:
        """See `Connection.send`."""
        if self._done:
            return
        if isinstance(message, AudioAppend):
            if not message.again:
                self._accepted_bytes += len(message.pcm)
        elif isinstance(message, SessionUpdate):
            self._settings = message.settings
        if self._lost_s is not None:
            self._kept.keep(message)
            if self._kept.overflowed:
                self._give_up("overflow", "the model takes no more messages")
                return
        if self._current is not None:
            self._pass_on(self._current, message)

    async def close(self) -> None:
        """See `Connection.close`."""
        self._done = True
        try:
            if self._takeover is not None and not self._takeover.done():
                self._takeover.cancel()
                await asyncio.wait([self._takeover])
        finally:
            if self._current is not None:
                await self._current.close()
            self._end("closed")

    # What the present model reports.

    def _report(self, place: int, event: m.ModelEvent) -> None:
        if place != self._place or self._ended:
            return
        if type(event) is m.ModelResponseAudioDeltaEvent:
            self._on_event(event)
            return
        if self._held_error is not None and not isinstance(event, m.ModelSessionEndedEvent):
            held, self._held_error = self._held_error, None
            self._on_event(held)
        match event:
            case m.ModelSessionCreatedEvent(session_id=session_id):
                self._session_id = session_id
                if not self._created:
                    self._created = True
                    self._on_event(event)
            case m.ModelSessionEndedEvent():
                self._lost(event.reason)
            case m.ModelReconnectingEvent():
                self._lose()
                self._tries = event.attempt
                self._on_event(event)
            case m.ModelReconnectedEvent():
                self._back()
                self._on_event(event)
            case m.ModelErrorEvent() if self._lost_s is not None and self._may_be_followed():
                self._held_error = (
                    event  # its reason to give up, which does not concern the call if another model takes over
                )
            case m.ModelInputStartedEvent() if self._offset_ms:
                start_ms = event.audio_start_ms + self._offset_ms
                self._on_event(msgspec.structs.replace(event, audio_start_ms=start_ms))
            case m.ModelInputDoneEvent() if self._offset_ms:
                end_ms = event.audio_end_ms + self._offset_ms
                self._on_event(msgspec.structs.replace(event, audio_end_ms=end_ms))
            case _:
                self._on_event(event)

    def _lose(self) -> None:
        if self._lost_s is None:
            self._lost_s = self._runtime.now()
            self._tries = 0
            self._kept.clear()

    def _back(self) -> None:
        self._lost_s = None
        self._kept.clear()

    def _lost(self, reason: str) -> None:
        """The present model has ended its session for good."""
        if self._done or not self._may_be_followed():
            if self._held_error is not None:
                self._on_event(self._held_error)
            self._end(reason)
            return
        gone, self._current = self._current, None
        self._held_error = None
        self._lose()
        self._tries += 1
        logger.info("the next model takes over: place=%d reason=%s", self._place, reason)
        self._on_event(m.ModelReconnectingEvent(attempt=self._tries, retry_after_ms=0, reason=reason))
        self._takeover = asyncio.get_running_loop().create_task(self._take_over(gone))

    def _may_be_followed(self) -> bool:
        return self._place + 1 < len(self._models)

    # Taking over.

    async def _take_over(self, gone: Connection | None) -> None:
        """The owner of this task is the connection; `close` cancels it and waits for it."""
        if gone is not None:
            await gone.close()
        try:
            await self.open()
        except RealtimeError as error:
            self._give_up(error.code, f"no other model could take over: {error.message}")
        except Exception as error:
            logger.error("taking over failed: %s", type(error).__name__)
            self._give_up("internal_error", "no other model could take over")

    async def _connect_next(self) -> None:
        self._place = place = self._place + 1
        model = self._models[place]
        restored: Sequence[Item] = ()

        def history() -> Sequence[Item]:
            nonlocal restored
            restored = self._history()
            self._kept.forget(ItemTruncate)
            return restored

        self._kept.forget(SessionUpdate)
        connection = await model.connect(
            settings=adapted(self._settings, model.profile, self._models[0].profile),
            on_event=lambda event: self._report(place, event),
            history=history,
            runtime=self._runtime,
        )
        self._current = connection
        same_rate = model.profile.input_rate_hz == self._profile.input_rate_hz
        self._resampler = None if same_rate else Resampler(self._profile.input_rate_hz, model.profile.input_rate_hz)
        if self._lost_s is not None:
            self._hand_over(connection, restored)

    def _hand_over(self, connection: Connection, restored: Sequence[Item]) -> None:
        if self._ended:
            return
        assert self._lost_s is not None
        gap_ms = round((self._runtime.now() - self._lost_s) * 1000)
        self._kept.forget_restored(restored, link_was_lost=True)
        self._offset_ms = (self._accepted_bytes - self._kept.audio_bytes) * 500 // self._profile.input_rate_hz
        while self._kept.messages:
            message = self._kept.pop()
            if isinstance(message, AudioAppend) and message.again:
                message = AudioAppend(message.pcm)  # to this model it is new
            self._pass_on(connection, message)
        self._back()
        logger.info("another model has taken over: place=%d gap_ms=%d", self._place, gap_ms)
        self._on_event(m.ModelReconnectedEvent(gap_ms=gap_ms))

    def _pass_on(self, connection: Connection, message: ModelInput) -> None:
        """Say it as this model takes it; what it cannot do anything with is left out."""
        profile = connection.profile
        match message:
            case AudioAppend(pcm=pcm, again=again) if self._resampler is not None:
                converted = self._resampler.push(pcm)
                if converted:
                    connection.send(AudioAppend(converted, again=again))
                return
            case SessionUpdate(settings=settings):
                message = SessionUpdate(adapted(settings, profile, self._models[0].profile))
            case ItemTruncate() if not profile.supports_truncation:
                return
            case ItemDelete(item_id=item_id) if not profile.supports_item_delete:
                if not profile.supports_truncation:
                    return
                message = ItemTruncate(item_id, 0)
            case ResponseCreate(overrides=overrides) if overrides is not None and overrides.voice is not None:
                overrides = msgspec.structs.replace(overrides, voice=known_voice(overrides.voice, profile))
                message = msgspec.structs.replace(message, overrides=overrides)
            case _:
                pass
        connection.send(message)

    # The end.

    def _give_up(self, code: str, message: str) -> None:
        self._on_event(m.ModelErrorEvent(error_type="provider_error", code=code, message=message))
        self._end(code)

    def _end(self, reason: str) -> None:
        self._done = True
        if not self._ended:
            self._ended = True
            self._on_event(m.ModelSessionEndedEvent(session_id=self._session_id, reason=reason))


def adapted(settings: Settings, profile: Profile, first: Profile) -> Settings:
    """Adapt the call's settings, made for `first`, to this profile's models."""
    detection = settings.turn_detection
    extra = settings.extra
    if profile.provider != first.provider:
        extra = {}
        if isinstance(detection, TurnDetection):
            detection = msgspec.structs.replace(detection, type=None)
        elif detection != "none":
            detection = None
    return msgspec.structs.replace(
        settings,
        voice=known_voice(settings.voice, profile),
        tools=settings.tools if profile.supports_tools else (),
        turn_detection=detection,
        extra=extra,
    )


def known_voice(voice: str | None, profile: Profile) -> str | None:
    """The voice where the model may have it; `None`, its own voice, where it has others."""
    return voice if not profile.voices or voice in profile.voices else None
