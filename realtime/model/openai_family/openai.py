"""OpenAI Realtime (GA protocol) over a WebSocket: the model, its profile and its codec. Needs no SDK."""

from __future__ import annotations

import os
import re
from urllib.parse import quote

from realtime.errors import ProviderError
from realtime.event.base import Modality
from realtime.model._patient import Patient
from realtime.model.base import (
    Connection,
    History,
    OnEvent,
    Profile,
    RealtimeModel,
    Settings,
)
from realtime.model.openai_family.openai_codec import OpenAICodec
from realtime.model.services import SERVICES
from realtime.model.voices import OPENAI as VOICES
from realtime.model.wire import Dial, Tap, WireLimits, dial_websocket, open_wire
from realtime.runtime import Runtime

__all__ = ["VOICES", "OpenAICodec", "OpenAIRealtimeModel", "profile_of"]

RATE_HZ = 24_000
"""The only pcm rate of the service, both ways."""


def profile_of(model_name: str) -> Profile:
    """What the model with this name can do. The old `gpt-4o` previews take no images."""
    takes_images = not model_name.startswith("gpt-4o")
    modalities: frozenset[Modality] = frozenset({"text", "audio", "image"} if takes_images else {"text", "audio"})
    return Profile(
        provider="openai",
        model=model_name,
        input_rate_hz=RATE_HZ,
        output_rate_hz=RATE_HZ,
        input_modalities=modalities,
        session_limit_s=3600,
        voices=VOICES,
    )


class OpenAIRealtimeModel(RealtimeModel):
    """A realtime model of OpenAI, or of a service that speaks its protocol.

    `api_key`: null takes OPENAI_API_KEY when connecting. `base_url`: null takes OPENAI_BASE_URL, else OpenAI itself;
    http(s) and ws(s) both do. `enable_input_audio_transcription` with `transcription_model` gives the user's words.
    `dial`, `tap` and `limits` go to `realtime.model.wire`; the first two may be changed, to record or replay.
    """

    def __init__(
        self,
        model_name: str = "gpt-realtime-2.1",
        api_key: str | None = None,
        voice: str | None = "alloy",
        enable_input_audio_transcription: bool = True,
        base_url: str | None = None,
        *,
        transcription_model: str = "gpt-realtime-whisper",
        dial: Dial = dial_websocket,
        tap: Tap | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        base = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        socket_base = re.sub("^http", "ws", base.rstrip("/"))
        self.model_name = model_name
        self.voice = voice
        self.enable_input_audio_transcription = enable_input_audio_transcription
        self.transcription_model = transcription_model
        self.websocket_url = f"{socket_base}/realtime?model={quote(model_name)}"
        self._api_key = api_key
        self._profile = profile_of(model_name)
        self.dial = dial
        self.tap = tap
        self._limits = limits

    def __repr__(self) -> str:
        return f"OpenAIRealtimeModel({self.model_name!r})"

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        api_key = self._find_key()
        if api_key is None:
            raise ProviderError("the server has no key for OpenAI: set OPENAI_API_KEY", code="missing_api_key")
        patient = Patient(on_event, runtime)
        patient.below = await open_wire(
            lambda: self._codec(api_key),
            settings,
            on_event=patient.report,
            history=history,
            runtime=runtime,
            dial=self.dial,
            tap=self.tap,
            limits=self._limits,
            refused_key=SERVICES["openai"].refused_key(os.environ).message,
        )
        return patient

    @property
    def websocket_headers(self) -> dict[str, str]:
        """See `RealtimeModel.websocket_headers`."""
        return dict(self._codec(self._find_key() or "").address(Settings()).headers)

    def _find_key(self) -> str | None:
        return self._api_key or os.environ.get("OPENAI_API_KEY") or None

    def _codec(self, api_key: str) -> OpenAICodec:
        return OpenAICodec(
            self._profile,
            url=self.websocket_url or "",
            api_key=api_key,
            voice=self.voice,
            transcription_model=self.transcription_model if self.enable_input_audio_transcription else None,
        )
