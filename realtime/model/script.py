"""The steps of a script for `realtime.model.scripted`: what the model waits for, hears and says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from realtime.audio.pcm import bytes_of, from_float32
from realtime.event.model import ModelEvent
from realtime.model.base import ModelInput, ResponseCreate
from realtime.options import check_fields, checked


@dataclass(frozen=True, slots=True)
class _Step:
    """Base of all steps."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Expect(_Step):
    """Wait for the next input: of this kind, and such that `where` is true. Audio passes unless it is asked for."""

    kind: type[Any] | tuple[type[Any], ...]
    where: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class ExpectAudio(_Step):
    """Wait until `at_ms` of audio have come since the session began."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Wait(_Step):
    """Let `ms` pass on the loop's clock."""

    ms: float


@dataclass(frozen=True, slots=True)
class Emit(_Step):
    """Report this event as it is."""

    event: ModelEvent


@dataclass(frozen=True, slots=True)
class SpeechStart(_Step):
    """The detector hears the user begin at `at_ms`; a running response ends where the profile interrupts itself."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class SpeechEnd(_Step):
    """The detector hears the user stop at `at_ms`; the turn is committed and `transcript` follows, word by word."""

    at_ms: int
    transcript: str | None = None


@dataclass(frozen=True, slots=True)
class Transcribe(_Step):
    """The words of the user item committed last."""

    transcript: str


@dataclass(frozen=True, slots=True)
class Speak(_Step):
    """A spoken response. `audio` is pcm16 at the profile's output rate, or seconds of a tone.

    `pace` is times real time, `None` all at once. `wait=False` lets the script continue while it speaks. The first
    sound comes `after_ms` after the response has begun. The words run along the sound but for its last `wordless_ms`.
    With `to` it answers that request: with its metadata, and beside the conversation if that is asked for.
    """

    text: str
    audio: bytes | float = 1.0
    chunk_ms: int = 400
    pace: float | None = None
    wait: bool = True
    after_ms: float = 0
    wordless_ms: int = 0
    to: ResponseCreate | None = None


@dataclass(frozen=True, slots=True)
class Write(_Step):
    """A text-only response, word by word, `after_ms` after the response has begun."""

    text: str
    after_ms: float = 0


@dataclass(frozen=True, slots=True)
class CallTools(_Step):
    """A response that calls tools, `after_ms` after its beginning."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    after_ms: float = 0


@dataclass(frozen=True, slots=True)
class Hangup(_Step):
    """The provider ends the session."""

    reason: str = "provider_closed"


Step = Expect | ExpectAudio | Wait | Emit | SpeechStart | SpeechEnd | Transcribe | Speak | Write | CallTools | Hangup
React = Callable[[ModelInput], Iterable[Step]]


@checked()
def echo_bot(sentence: str = "I heard you.", *, seconds: float = 1.0, pace: float | None = None) -> React:
    """Answer each request with the same spoken sentence and a tone. For demonstrations and benches."""

    def react(message: ModelInput) -> list[Step]:
        return [Speak(sentence, seconds, pace=pace)] if isinstance(message, ResponseCreate) else []

    return react


@checked()
def tone(seconds: float, rate_hz: int, frequency_hz: float = 440.0) -> bytes:
    """A sine at a fifth of full scale, as pcm16."""
    n_samples = bytes_of(seconds * 1000, rate_hz) // 2
    return from_float32(np.float32(0.2) * np.sin(2 * np.pi * frequency_hz / rate_hz * np.arange(n_samples)))
