"""Text to speech, one sentence at a time.

`Voice` is implemented by hibari in this process and, as the last resort, by the command espeak-ng (a command, so that
its licence, the GPL, stays outside this process).
"""

from __future__ import annotations

import io
import logging
import shutil
import subprocess
import threading
from collections.abc import Collection
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from realtime.model.local.readable import readable_text
from realtime.model.local.weights import SpeechPartMissing, hibari_file

logger = logging.getLogger(__name__)

SAMPLE_RATE_HZ = 24_000
DEFAULT_VOICE = "heart"
HIBARI_VOICES = {DEFAULT_VOICE: 1.0, "heart-low": 0.8}
"""Voices by name, the default first: pitch and formants as a share of those of `heart`."""

Floats = npt.NDArray[np.float32]

# A fixed seed: the same sentence must give the same bytes every time.
_SEED = 7
# hibari peaks near 0.3 of full scale; this brings it to the level of other realtime models.
_GAIN = 1.8

# hibari adds 300 ms of silence before a sentence and 450 ms after it: most of that would only delay the listener.
_SILENCE_LEVEL = 0.006
_LEAD_MS = 30
_TAIL_MS = 220

_ESPEAK_TIMEOUT_S = 10.0


class Voice(Protocol):
    """Speaks one sentence. Thread-safe and deterministic; never touches the network."""

    def synthesize(self, text: str) -> bytes:
        """Return the sentence as pcm16 mono at 24 kHz; b"" without readable text (emoji, Chinese)."""
        ...

    def warm_up(self) -> None:
        """Pay the extra cost of the first sentence (hibari: 0.3 s, 99 MB)."""
        ...


class HibariVoice:
    """hibari-tts (Apache-2.0): about 20 ms for a sentence, one thread, English.

    A `ratio` below 1 makes a deeper speaker: the sentence is synthesised faster by 1/ratio and stretched back, which
    lowers pitch and formants by the ratio and keeps the pace.
    """

    def __init__(self, engine: HibariEngine, ratio: float = 1.0) -> None:
        self._engine = engine
        self._ratio = ratio

    def synthesize(self, text: str) -> bytes:
        readable = readable_text(text)
        if not readable:
            return b""
        audio = self._engine.speak(readable, speed=1.0 / self._ratio)
        if self._ratio != 1.0 and len(audio):
            audio = soxr.resample(audio, SAMPLE_RATE_HZ * self._ratio, SAMPLE_RATE_HZ)
        return _pcm16(trim_silence(audio) * _GAIN)

    def warm_up(self) -> None:
        self.synthesize("Ready when you are.")


class HibariEngine:
    """The loaded network, shared by every voice made from it. Raises SpeechPartMissing."""

    def __init__(self) -> None:
        path = hibari_file()
        try:
            import hibari
        except ImportError as error:
            logger.warning("hibari-tts cannot be imported: %s", error)  # it may name files: not for clients
            raise SpeechPartMissing("hibari-tts cannot be imported: the server's log says why") from None
        # Given by path, so that no voice name can start a download.
        self._hibari: Any = hibari.Hibari(model=str(path), threads=1)
        self._loading = threading.Lock()

    def speak(self, text: str, speed: float) -> Floats:
        """Return float samples (-1..1) at 24 kHz, deterministic; empty if hibari can read nothing."""
        with self._loading:
            # The first use loads the dictionary, which two threads must not do at once.
            _ = self._hibari.g2p
        return np.asarray(self._hibari(text, speed=speed, seed=_SEED), np.float32)


class EspeakVoice:
    """The command espeak-ng: robotic, but it speaks where hibari cannot be installed.

    `pitch` is espeak's own scale, 0 to 99. Raises SpeechPartMissing if the command is not on the PATH.
    """

    def __init__(self, pitch: int = 60) -> None:
        command = shutil.which("espeak-ng")
        if command is None:
            raise SpeechPartMissing("the command espeak-ng is not on the PATH")
        self._command = [command, "--stdin", "--stdout", "-b", "1", "-v", "en-us", "-s", "165", "-p", str(pitch)]

    def synthesize(self, text: str) -> bytes:
        readable = readable_text(text)
        if not readable:
            return b""
        done = subprocess.run(
            self._command, input=readable.encode(), capture_output=True, timeout=_ESPEAK_TIMEOUT_S, check=True
        )
        audio, rate_hz = soundfile.read(io.BytesIO(done.stdout), dtype="float32")
        return _pcm16(trim_silence(soxr.resample(audio, rate_hz, SAMPLE_RATE_HZ)))

    def warm_up(self) -> None:
        self.synthesize("Ready.")


def load_voices() -> dict[str, Voice]:
    """Return this machine's voices by name, the default first (0.5 s): hibari's, else espeak-ng's."""
    try:
        engine = HibariEngine()
    except SpeechPartMissing:
        return _espeak_voices()
    return {name: HibariVoice(engine, ratio) for name, ratio in HIBARI_VOICES.items()}


def _espeak_voices() -> dict[str, Voice]:
    try:
        return {"espeak": EspeakVoice(), "espeak-low": EspeakVoice(pitch=20)}
    except SpeechPartMissing:
        return {}


def trim_silence(audio: Floats) -> Floats:
    """Trim silence to 30 ms before and 220 ms after the sound."""
    loud = np.flatnonzero(np.abs(audio) > _SILENCE_LEVEL)
    if not len(loud):
        return audio[:0]
    start = max(0, int(loud[0]) - _LEAD_MS * SAMPLE_RATE_HZ // 1000)
    return audio[start : int(loud[-1]) + _TAIL_MS * SAMPLE_RATE_HZ // 1000]


def _pcm16(audio: Floats) -> bytes:
    return (np.clip(audio, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()


def choose_voice(wanted: str | None, voices: Collection[str]) -> str | None:
    """Return the wanted voice, else the first; None without voices."""
    return wanted if wanted in voices else next(iter(voices), None)
