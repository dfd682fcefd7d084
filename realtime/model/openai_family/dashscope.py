"""Qwen-Omni realtime models of DashScope (Alibaba Cloud Model Studio) over a WebSocket. Needs no SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from realtime.event.base import WEB_SEARCH, Modality
from realtime.model.base import Profile
from realtime.model.credentials import parts_of_address, pasted, socket_address
from realtime.model.openai_family.dashscope_codec import DashScopeCodec
from realtime.model.openai_family.dashscope_shapes import INPUT_RATE_HZ, family_of
from realtime.model.openai_family.model import FamilyModel
from realtime.model.services import SERVICES
from realtime.model.voices import known_voice
from realtime.model.wire import Dial, Tap, WireLimits, dial_websocket
from realtime.options import checked

__all__ = ["DashScopeCodec", "DashScopeRealtimeModel", "profile_of", "realtime_url"]

SEARCHING = ("qwen3.5-omni", "qwen3.8-omni")
"""Names of the models with a web search begin so."""
_PATH = "/api-ws/v1/realtime"
_SHARED_HOSTS = {"cn-beijing": "dashscope.aliyuncs.com", "cn-hongkong": "cn-hongkong.dashscope.aliyuncs.com"}
_INTERNATIONAL_HOST = "dashscope-intl.aliyuncs.com"
_MODALITIES: frozenset[Modality] = frozenset({"text", "audio", "image"})


def profile_of(model_name: str) -> Profile:
    """What the model with this name can do.

    Typed text is taken as a conversation item: practised by public clients, not promised by the documentation.
    """
    family = family_of(model_name)
    return Profile(
        provider="dashscope",
        model=model_name,
        input_rate_hz=INPUT_RATE_HZ,
        output_rate_hz=family.output_rate_hz,
        input_modalities=_MODALITIES,
        supports_tools=family.has_tools,
        hosted_tools=frozenset({WEB_SEARCH}) if model_name.startswith(SEARCHING) else frozenset(),
        searches_without_tools=True,
        leaves_responses=True,
        takes_provisional_results=True,
        supports_truncation=False,
        supports_item_delete=False,
        supports_response_overrides=False,
        supports_item_sound=False,
        session_limit_s=7200,
        voices=family.voices,
    )


def realtime_url(
    model_name: str, *, base_url: str | None, workspace: str | None, region: str | None, source: str = "`base_url`"
) -> str:
    """Where to dial. A base may be any address of the service (http or ws, with or without a path); without one the
    workspace has its own host, and the region's shared gateway serves the rest. Raises UsageError with the name of
    `source` where the base is no address."""
    region = region or "cn-beijing"
    if base_url:
        parts = parts_of_address(base_url, source)
        root = re.sub(r"/(api-ws(/v1(/(inference|realtime))?)?|(api|compatible-mode)(/v1)?)?/?$", "", parts.path)
        parts = parts._replace(path=root)
    else:
        shared = _SHARED_HOSTS.get(region, _INTERNATIONAL_HOST)
        host = f"{workspace}.{region}.maas.aliyuncs.com" if workspace else shared
        parts = urlsplit(f"wss://{host}")
    return socket_address(parts, _PATH, model=model_name)


class DashScopeRealtimeModel(FamilyModel):
    """A Qwen-Omni realtime model of DashScope.

    Without `api_key` it takes DASHSCOPE_API_KEY when connecting; keys belong to a region. Without `voice` the model
    speaks with its own. Without `base_url` it takes DASHSCOPE_WEBSOCKET_BASE_URL, else `workspace`
    (DASHSCOPE_WORKSPACE) and `region` (DASHSCOPE_REGION, `cn-beijing` by default) say which host.
    `enable_input_audio_transcription` gives the user's words. `profile` replaces what the model's name says it can do.
    `dial`, `tap` and `limits`: see `SocketModel`.
    """

    service = SERVICES["dashscope"]

    @checked()
    def __init__(
        self,
        model_name: str = "qwen3-omni-flash-realtime",
        api_key: str | None = None,
        voice: str | None = "Cherry",
        enable_input_audio_transcription: bool = True,
        base_url: str | None = None,
        *,
        workspace: str | None = None,
        region: str | None = None,
        profile: Profile | None = None,
        dial: Dial = dial_websocket,
        tap: Tap | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        super().__init__(model_name, profile or profile_of(model_name), api_key, dial=dial, tap=tap, limits=limits)
        self.voice = known_voice(voice, self._profile)
        self.enable_input_audio_transcription = enable_input_audio_transcription
        self.workspace = workspace or os.environ.get("DASHSCOPE_WORKSPACE")
        self.websocket_url = realtime_url(
            model_name,
            base_url=base_url or pasted(os.environ.get(self.service.base_url_variable, "")),
            source="`base_url`" if base_url else self.service.base_url_variable,
            workspace=self.workspace,
            region=region or os.environ.get("DASHSCOPE_REGION"),
        )

    def _codec(self, api_key: str, new_id: Callable[[str], str]) -> DashScopeCodec:
        return DashScopeCodec(
            self._profile,
            url=self.websocket_url or "",
            api_key=api_key,
            workspace=self.workspace,
            voice=self.voice,
            transcribe=self.enable_input_audio_transcription,
        )
