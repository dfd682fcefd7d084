"""Gemini Live over a WebSocket: the model, its profile and its codec. Needs no SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from realtime.event.base import WEB_SEARCH
from realtime.model.base import Address, Codec, Profile
from realtime.model.gemini.codec import GeminiCodec
from realtime.model.gemini.settings import CHANGES_LIVE
from realtime.model.gemini.turns import Resumption
from realtime.model.services import SERVICES
from realtime.model.socket_model import SocketModel
from realtime.model.voices import GEMINI as VOICES
from realtime.model.voices import known_voice
from realtime.model.wire import Dial, Link, Receiver, Tap, WireLimits, dial_websocket
from realtime.options import checked
from realtime.runtime import Runtime

__all__ = ["VOICES", "GeminiCodec", "GeminiRealtimeModel", "Resumption", "profile_of"]

_PING_TIMEOUT_S = 90.0
"""The service's pongs come up to 30 s late: shorter would end healthy calls."""


def profile_of(model_name: str) -> Profile:
    """What the model with this name can do.

    All speak and hear many languages. Their detector interrupts by itself but reports no start and end of speech; what
    they said cannot be cut or deleted in their context.
    """
    return Profile(
        provider="gemini",
        model=model_name,
        input_rate_hz=16_000,
        output_rate_hz=24_000,
        input_modalities=frozenset({"text", "audio", "image"}),
        emits_speech_events=False,
        takes_provisional_results=True,
        supports_truncation=False,
        supports_item_delete=False,
        supports_audio_clear=False,
        supports_response_overrides=False,
        supports_item_sound=False,
        hosted_tools=frozenset({WEB_SEARCH}),
        redials_for_instructions=not model_name.startswith(CHANGES_LIVE),
        session_limit_s=600,
        voices=VOICES,
    )


_VERSION = re.compile(r"/google\.ai\.generativelanguage\.(v\w{1,12})\.|/(v\d\w{0,12})(?:/openai)?/?[\"'\s]*$")
"""The version that an address names."""


class GeminiRealtimeModel(SocketModel):
    """A Gemini model with the Live API.

    Without `api_key` it takes GEMINI_API_KEY, else GOOGLE_API_KEY, when connecting; without `base_url`
    GOOGLE_GEMINI_BASE_URL, else Google itself (http(s) or ws(s)); without `api_version` GOOGLE_GENAI_API_VERSION, else
    `v1beta`. `dial`, `tap` and `limits`: see `SocketModel`.

    A connection lives some ten minutes, a session longer: it is resumed on a new connection, also when the service
    gives notice (then at the next quiet moment), and when settings change that only a new connection can take.
    """

    service = SERVICES["gemini"]

    @checked()
    def __init__(
        self,
        model_name: str = "gemini-2.5-flash-native-audio-preview-09-2025",
        api_key: str | None = None,
        voice: str | None = "Puck",
        enable_input_audio_transcription: bool = True,
        base_url: str | None = None,
        *,
        api_version: str | None = None,
        dial: Dial = dial_websocket,
        tap: Tap | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        limits = limits or WireLimits(ping_timeout_s=_PING_TIMEOUT_S)
        super().__init__(model_name, profile_of(model_name), api_key, dial=dial, tap=tap, limits=limits)
        self.voice = known_voice(voice, self._profile)
        self.enable_input_audio_transcription = enable_input_audio_transcription
        said = _VERSION.search(base_url or os.environ.get(self.service.base_url_variable) or "")
        named = next(filter(None, said.groups())) if said is not None else "v1beta"
        version = api_version or os.environ.get("GOOGLE_GENAI_API_VERSION") or named
        service = f"google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
        self.websocket_url = self._address(base_url, f"/ws/{service}")

    def _session(self, api_key: str, runtime: Runtime) -> tuple[Callable[[], Codec], Dial]:
        resumption = Resumption()
        link: Link | None = None

        async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
            nonlocal link
            link = await self.dial(address, receiver, limits)
            return link

        def leave() -> None:
            if link is not None:
                link.abort()

        return lambda: self._codec(api_key, runtime.new_id, resumption, leave), dial

    def _codec(
        self,
        api_key: str,
        new_id: Callable[[str], str],
        resumption: Resumption | None = None,
        leave: Callable[[], None] = lambda: None,
    ) -> GeminiCodec:
        return GeminiCodec(
            self._profile,
            url=self.websocket_url or "",
            api_key=api_key,
            new_id=new_id,
            voice=self.voice,
            transcribes_input=self.enable_input_audio_transcription,
            resumption=resumption,
            leave=leave,
        )
