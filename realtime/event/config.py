"""Client settings of a call: the typed `config` of session create and update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from realtime.errors import BadOption, ClientError
from realtime.event.base import (
    DEFAULT_INPUT_RATE_HZ,
    DEFAULT_OUTPUT_RATE_HZ,
    AudioFormat,
    HostedTool,
    MaxTokens,
    Modality,
    check_temperature,
    check_tool_count,
)
from realtime.event.decode import explain
from realtime.options import check_fields

TurnAuthority = Literal["provider", "server", "client"]
Expectation = Literal["digits", "spelling", "yes_no"]
"""The kind of answer that the agent has asked for."""
InterruptionMode = Literal["selective", "immediate", "off"]

MAX_DEPTH = 64
"""Maximum nesting of a config; its deepest part are the JSON schemas of tools."""


class TurnDetection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the end of a turn is detected.

    `authority` decides: the provider's own detector, the server's (`realtime.audio.endpoint`), or the client by commits
    (push-to-talk). Default: the provider where its profile has a detector, else the server.
    `type`: the provider's detector, e.g. `server_vad` or `semantic_vad`. `threshold` 0..1; the two times in ms.
    `create_response` false: the end of speech requests no response (`client_response_create` does).
    `interrupt_response` false: speech does not stop a response. Default: true.

    `expect` is the kind of answer that the agent has asked for: the server's and the embedded model's detector wait
    longer in dictated `digits` and `spelling`, and less after a short answer to a `yes_no` question.

    `interruption` says what a voice over a reply does: `selective` (default) stops the reply once the voice shows that
    it takes the floor: backchannels, coughs and distant voices pass; `immediate` stops it at the onset; `off` never, as
    `interrupt_response` false. With `selective`: `min_speech_ms` is the length from which a voice whose words are
    unknown takes the floor (default 500), `min_words` how many words it needs beyond backchannels (default 1),
    `backchannels` further phrases that do not take it, and `protect_ms` the beginning of a reply that no voice
    interrupts (default 0).
    """

    authority: TurnAuthority | None = None
    type: str | None = None
    threshold: float | None = None
    silence_duration_ms: int | None = None
    prefix_padding_ms: int | None = None
    eagerness: Literal["low", "medium", "high", "auto"] | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None
    expect: Expectation | None = None
    interruption: InterruptionMode | None = None
    min_speech_ms: int | None = None
    min_words: int | None = None
    backchannels: tuple[str, ...] | None = None
    protect_ms: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.threshold is not None and not -1 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}, it is between 0 and 1 (DashScope's goes down to -1)")
        for name, least in (("silence_duration_ms", 1), ("min_speech_ms", 0), ("min_words", 0), ("protect_ms", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} is {value}, it has to be at least {least}")

    @property
    def interruption_mode(self) -> InterruptionMode:
        """What a voice over a reply does, with the default."""
        if self.interrupt_response is False:
            return "off"
        return self.interruption or "selective"


_BY_DEFAULT, _PUSH_TO_TALK = TurnDetection(), TurnDetection(authority="client")


class AudioSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The client's microphone.

    `echo_cancellation` says where the agent's voice is removed from it: in the `client` (default; a page asks its
    browser for it), in the `server`, for clients that send a raw microphone, or nowhere (`off`). `cancels_echo` is the
    client's report of what its microphone really does, such as `echoCancellation` of `getSettings()` in a browser.
    """

    echo_cancellation: Literal["client", "server", "off"] | None = None
    cancels_echo: bool | None = None


class PermissionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of the permission rules that the user accepts.

    They hold for the call; with `keep` also in later calls, until one is made with `keep=false`: in those of the user
    and session id, where the client's token names the user, else in those with the same `key`. The server issues it
    (`server_custom` `permissions_key`) to a call that sends an empty one, or one that is no longer valid. Names are no
    key: without it or a token, rules end with the call. It is a secret, and counts only when a call is made.
    """

    keep: bool | None = None
    key: Annotated[str, msgspec.Meta(max_length=256)] | None = None


class ToolDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model sees it. `parameters` is a JSON Schema object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class SessionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a call. For a missing one the agent's own value holds.

    `turn_detection="none"` is push-to-talk. `tools` are the ones that run in the client (answered by
    `client_tool_result`); the model continues after the last result, with `tool_auto_response` off only when the client
    requests it (`client_response_create`). `hosted_tools` are the provider's; one that the model does not have is left
    out, with an error that names it. `model_provider` and `model` choose the model, where the server offers a
    choice. `audio_frames="binary"` (subprotocol `realtime.v1` only) sends speech as binary frames. The two formats give
    the rate of the client's audio (default 16000 Hz), where that does not say its own, and of the speech it wants
    (default 24000 Hz); the latter and the kind of frames are settled when the call is made.
    `names` are names that may be said, a hint to the recogniser of the embedded model; in a room the agents'.
    `recording=true` is the speakers' consent to keep the sound of the call, where the server keeps any; it is given at
    the beginning and cannot be added later. `temperature`, `max_output_tokens` (`inf` lifts an earlier limit) and
    `extra` go to the provider unchanged. Unknown keys are ignored.
    """

    instructions: str | None = None
    user_name: str | None = None
    agent_name: str | None = None
    names: tuple[str, ...] | None = None
    model_provider: str | None = None
    model: str | None = None
    voice: str | None = None
    output_modalities: tuple[Modality, ...] | None = None
    turn_detection: TurnDetection | Literal["none"] | None = None
    text_auto_response: bool | None = None
    tool_auto_response: bool | None = None
    auto_response: bool | None = None
    input_audio_transcription: bool | None = None
    tools: tuple[ToolDeclaration, ...] | None = None
    hosted_tools: tuple[HostedTool, ...] | None = None
    audio_frames: Literal["json", "binary"] | None = None
    input_audio_format: AudioFormat | None = None
    output_audio_format: AudioFormat | None = None
    audio: AudioSettings | None = None
    temperature: float | None = None
    max_output_tokens: MaxTokens | None = None
    extra: dict[str, Any] | None = None
    recording: bool | None = None
    permissions: PermissionSettings | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.max_output_tokens, int) and self.max_output_tokens < 1:
            raise ValueError(f"max_output_tokens is {self.max_output_tokens}, it has to be at least 1, or 'inf'")
        check_temperature(self.temperature)
        check_tool_count(len(self.tools or ()) + len(self.hosted_tools or ()))

    @classmethod
    def of(cls, given: SessionConfig | Mapping[str, Any] | None) -> SessionConfig:
        """Return the settings that a program gives; a mapping of their fields makes some. Raises BadOption."""
        if given is None or isinstance(given, SessionConfig):
            return given or cls()
        if not isinstance(given, Mapping):
            raise BadOption(f"config is a SessionConfig or a mapping of its fields, not {given!r:.80}")
        if unknown := [key for key in given if key not in cls.__struct_fields__]:
            raise BadOption(f"config has no {unknown[0]!r}: its fields are {', '.join(cls.__struct_fields__)}")
        try:
            return cls.from_dict({**given})
        except ValueError as error:
            raise BadOption(str(error)) from None

    @classmethod
    def from_dict(cls, config: dict[str, Any]) -> SessionConfig:
        """Return the typed settings. Raises ValueError that names the wrong key, or for too deep nesting."""
        if _is_deeper_than(MAX_DEPTH, config):
            raise ValueError(f"config: nested deeper than {MAX_DEPTH} levels")
        try:
            settings = msgspec.convert(config, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"config: {explain(error)}") from error
        as_given: Any = config  # perhaps settings already
        if isinstance(as_given, dict) and as_given.get("events") not in (None, ["realtime"]):
            raise ValueError(
                'config.events: a socket sends the events of its dialect, `["realtime"]`; read reply events from '
                "GET /api/calls/{call_id}/events?vocabulary=reply, and answer them on the socket"
            )
        for key in ("input_audio_format", "output_audio_format") if isinstance(as_given, dict) else ():
            try:
                AudioFormat.check_keys(as_given.get(key))
            except ValueError as error:
                raise ValueError(f"config.{key}: {error}") from error
        return settings

    @property
    def detection(self) -> TurnDetection:
        """How the end of a turn is detected, as an object: `none` becomes push-to-talk."""
        if self.turn_detection == "none":
            return _PUSH_TO_TALK
        return self.turn_detection if self.turn_detection is not None else _BY_DEFAULT

    @property
    def input_rate_hz(self) -> int:
        """The rate of audio that comes without its own. Raises ClientError for a format that is not served."""
        return _rate_hz("input_audio_format", self.input_audio_format, DEFAULT_INPUT_RATE_HZ)

    @property
    def output_rate_hz(self) -> int:
        """The rate of the speech that the client wants. Raises ClientError for a format that is not served."""
        return _rate_hz("output_audio_format", self.output_audio_format, DEFAULT_OUTPUT_RATE_HZ)

    def merged(self, change: SessionConfig) -> SessionConfig:
        """Return these settings, with those that `change` sets replaced."""
        said = _set_in(change)
        if self.audio is not None and change.audio is not None:
            said["audio"] = msgspec.structs.replace(self.audio, **_set_in(change.audio))
        return msgspec.structs.replace(self, **said)


def _rate_hz(key: str, given: AudioFormat | None, default_hz: int) -> int:
    try:
        return (given or AudioFormat()).rate_hz(default_hz)
    except ValueError as error:
        raise ClientError(f"config.{key}: {error}", code="unsupported_audio_format") from error


def _set_in(settings: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in settings.__struct_fields__ if (value := getattr(settings, name)) is not None}


def _is_deeper_than(limit: int, value: Any) -> bool:
    level = [value]
    for _ in range(limit):
        inside = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for one in inside for inner in one]
    return bool(level)
