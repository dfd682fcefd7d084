"""OpenAI Realtime (GA protocol) over a WebSocket: the model, its profile and its codec. Needs no SDK."""

from __future__ import annotations

from collections.abc import Callable

from realtime.event.base import Modality
from realtime.model.base import Profile
from realtime.model.openai_family.model import FamilyModel
from realtime.model.openai_family.openai_codec import OpenAICodec
from realtime.model.services import SERVICES
from realtime.model.voices import OPENAI as VOICES
from realtime.model.voices import known_voice
from realtime.model.wire import Dial, Tap, WireLimits, dial_websocket
from realtime.options import checked

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
        leaves_responses=True,
        responds_beside_tools=True,
        session_limit_s=3600,
        voices=VOICES,
    )


class OpenAIRealtimeModel(FamilyModel):
    """A realtime model of OpenAI or of a compatible service.

    Without `api_key` it takes OPENAI_API_KEY when connecting, without `base_url` OPENAI_BASE_URL, else OpenAI itself;
    http(s) and ws(s) both do. `enable_input_audio_transcription` with `transcription_model` gives the user's words.
    `dial`, `tap` and `limits`: see `SocketModel`.
    """

    service = SERVICES["openai"]

    @checked()
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
        super().__init__(model_name, profile_of(model_name), api_key, dial=dial, tap=tap, limits=limits)
        self.voice = known_voice(voice, self._profile)
        self.enable_input_audio_transcription = enable_input_audio_transcription
        self.transcription_model = transcription_model
        self.websocket_url = self._address(base_url, "/realtime", model=model_name)

    def _codec(self, api_key: str, new_id: Callable[[str], str]) -> OpenAICodec:
        return OpenAICodec(
            self._profile,
            url=self.websocket_url or "",
            api_key=api_key,
            voice=self.voice,
            transcription_model=self.transcription_model if self.enable_input_audio_transcription else None,
        )
