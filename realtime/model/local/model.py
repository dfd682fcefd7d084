"""The embedded model as a `RealtimeModel`: speech recognition, a language model and a voice in this process."""

from __future__ import annotations

import logging
from pathlib import Path

from realtime.event.base import Modality
from realtime.model.base import Connection, History, OnEvent, Profile, RealtimeModel, Settings
from realtime.model.chat.base import ChatModelBase
from realtime.model.local.chat import language_model_from_environment
from realtime.model.local.connection import LocalConnection
from realtime.model.local.ears import RATE_HZ as INPUT_RATE_HZ
from realtime.model.local.engine import (
    EarsName,
    Progress,
    SpeechEngine,
    SpeechParts,
    ears_from_environment,
    engine_of_loop,
    looks_installed,
)
from realtime.model.local.for_calls import Given, for_calls
from realtime.model.local.history import conversation_of
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import LanguageModelForCalls
from realtime.model.local.speculation import DraftCounts, Mode, Speculation, mode_from_environment
from realtime.model.local.voice import DEFAULT_VOICE, HIBARI_VOICES, choose_voice
from realtime.model.local.voice import SAMPLE_RATE_HZ as OUTPUT_RATE_HZ
from realtime.model.voices import known_voice
from realtime.options import check_options
from realtime.runtime import Runtime

logger = logging.getLogger(__name__)


def profile_of(parts: SpeechParts | None, language_model: LanguageModelForCalls) -> Profile:
    """Describe what the model can do with these parts; None: a forecast before they are loaded."""
    hears = looks_installed() if parts is None else parts.hears
    voices = tuple(HIBARI_VOICES) if parts is None else tuple(parts.voices)
    inputs: set[Modality] = {"text"}
    if hears:
        inputs.add("audio")
    if language_model.takes_images:
        inputs.add("image")
    outputs: frozenset[Modality] = frozenset({"text", "audio"} if voices else {"text"})
    return Profile(
        provider="local",
        model=language_model.name,
        input_rate_hz=INPUT_RATE_HZ,
        output_rate_hz=OUTPUT_RATE_HZ,
        input_modalities=frozenset(inputs),
        output_modalities=outputs,
        emits_speech_events=hears,
        leaves_responses=True,
        aligns_transcript=True,
        says_given_words=True,
        responds_beside_tools=True,
        voices=voices,
        languages=("en",),
    )


class LocalRealtimeModel(RealtimeModel):
    """Speech recognition, a language model and a voice in this process. English only.

    It needs no key, no GPU and no network. `voice` is one of `profile.voices`; that of a service gives the default.
    `language_model` is a `LanguageModel`, or an agent (any AgentBase), or a function that makes one of them for each
    call: an agent serves one call at a time (`realtime.model.local.for_calls`). It defaults to the chat model of the
    environment (`language_model_from_environment`), else to the built-in `Conversationalist`, which works by rules.
    Speech never leaves this process; a chat endpoint gets the words. `ears="better"` recognises turns with the larger
    Whisper base, which needs the extra `ears` and a second core; where it is missing, `warm_up` and an error event say
    so, and the fast ears listen. Default: REALTIME_EARS, else "fast". `speculation` is what begins in a pause that may
    end the turn, before that is decided: `"off"`, `"words"` (the language model) or `"speech"` (also the first
    sentence's synthesis); None: what REALTIME_SPECULATION says, else the default. `drafts` counts what came of it.
    `whisper_dir` names a folder with Whisper tiny.en for CTranslate2 in place of the installed wheel. All models of an
    event loop share the loaded parts, unless they are given an `engine`. Raises UsageError for unknown ears, an unknown
    voice, another kind of `language_model` or an invalid environment.
    """

    def __init__(
        self,
        voice: str | None = DEFAULT_VOICE,
        *,
        language_model: Given | None = None,
        ears: EarsName | None = None,
        speculation: Mode | None = None,
        whisper_dir: str | Path | None = None,
        engine: SpeechEngine | None = None,
    ) -> None:
        # What a language model may be is said by `for_calls`.
        check_options(LocalRealtimeModel.__init__, {k: v for k, v in locals().items() if k != "language_model"})
        self.ears = ears or ears_from_environment()
        if language_model is None:
            language_model = language_model_from_environment() or Conversationalist()
        self._language_model = for_calls(language_model)
        self._speculation = speculation or mode_from_environment()
        self.drafts = DraftCounts()
        self._whisper_dir = whisper_dir
        self._own_engine = engine
        # The voices of an engine of the program's are unknown before it is loaded.
        self.voice = voice if engine is not None and engine.parts is None else known_voice(voice, self.profile)

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`. Exact once `warm_up` or `connect` has been awaited."""
        return profile_of(self._loaded_parts, self._language_model)

    @property
    def _engine(self) -> SpeechEngine:
        return self._own_engine or engine_of_loop(self._whisper_dir)

    @property
    def _loaded_parts(self) -> SpeechParts | None:
        """None also where no event loop runs: its engine is unknown yet."""
        try:
            return self._engine.parts
        except RuntimeError:
            return None

    def voice_for(self, wanted: str | None) -> str | None:
        """See `RealtimeModel.voice_for`: one of `profile.voices`, if there is any."""
        return choose_voice(wanted or self.voice, self.profile.voices)

    def chat_model(self) -> ChatModelBase | None:
        """See `RealtimeModel.chat_model`: the one that writes its replies, also within an agent."""
        found = getattr(self._language_model, "chat_model", None)
        return found if isinstance(found, ChatModelBase) else None

    async def warm_up(self, progress: Progress = lambda step: None) -> tuple[str, ...]:
        """Load all parts (1.5 s); returns a sentence for each missing one.

        `progress` is called with the name of each step from the loading thread. Cancelling lets the loading finish by
        itself.
        """
        return (await self._engine.ready(progress, self.ears)).missing

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. Missing parts do not raise.

        They cause an error event, and the connection's profile leaves out what needs them. Raises UsageError where the
        agent that is the language model serves another call.
        """
        if self._engine.parts is None:
            logger.info("a call waits for the embedded model: await its `warm_up()` when the program starts")
        parts = await self._engine.ready(ears=self.ears)
        language_model = self._language_model.for_call()
        connection = LocalConnection(
            profile=profile_of(parts, self._language_model),
            engine=self._engine,
            parts=parts,
            speculation=Speculation(self._speculation, language_model, self._engine, self.drafts, runtime.now),
            voice=self.voice,
            conversation=conversation_of(history()),
            on_event=on_event,
            runtime=runtime,
            language_model=language_model,
        )
        connection.start(settings)
        return connection
