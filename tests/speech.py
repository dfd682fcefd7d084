"""The speech parts by day: what the real ones made of the sounds that tests play, looked up.

What a network writes differs by processor, so by day no test asks one. Words and how complete a turn sounds come from
`fixtures/speech/heard.tsv`, by hash of the sound; probabilities of voice from `voice.npz`, by hash of the stream so
far; the voice is a hum. A test marked `real_speech` has the real parts, and at night all have them. After a test plays
a new sound, `python tools/make_speech_tables.py` runs the tests by day with the real parts and writes the tables.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from realtime.audio import vad
from realtime.model.local import engine
from realtime.model.local.recognizer import Recognizer, Transcript
from realtime.model.local.smart_turn import SmartTurn
from realtime.model.local.voice import DEFAULT_VOICE, HIBARI_VOICES, HibariVoice, Voice
from realtime.testing.clock import Cost

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "speech"
RECORD = os.environ.get("REALTIME_SPEECH_RECORD")
"""The folder into which the real parts write what they make of each sound; None: the tables are used."""
Kind = Literal["words", "complete", "spoken"]

NEAR_DB = 1.5
"""Sounds of one length whose levels differ less, on average, are one: resamplers round differently by processor."""
SILENT_FRAMES = 16
"""After this much digital silence (half a second) the detector begins anew: what came before does not count."""
LETTER_SAMPLES = 1440
"""The length of a sentence that is not in the table, a letter: no test depends on it, and generated ones have many."""


class NotInTheTableError(AssertionError):
    """A test plays a sound that the tables do not hold."""


missed: list[str] = []
"""What the running test looked up in vain: the product survives a recogniser that fails, the test does not."""


def use_tables(wanted: bool) -> None:
    """Let engines and detectors that are made from now on use the tables, else the real parts."""
    load = table_parts if wanted else _real_load
    if engine.load_parts is not load:
        engine.load_parts = load
        engine._weights.clear()
    vad.SileroVad.stream = _table_stream if wanted else _real_stream  # type: ignore[method-assign,assignment]


# -- words -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what a real part made of a sound."""

    kind: str
    key: str
    value: str
    levels: bytes

    @classmethod
    def of(cls, kind: Kind, pcm: bytes, context: str, value: str) -> Row:
        about = f"{kind}\0{context}\0".encode()
        levels = b"" if kind == "spoken" else _levels(pcm)
        return cls(kind, hashlib.blake2b(about + pcm, digest_size=12).hexdigest(), value, levels)

    @classmethod
    def read(cls, line: str) -> Row:
        kind, key, value, levels = line.split("\t")
        return cls(kind, key, value, base64.b64decode(levels))

    def line(self) -> str:
        return "\t".join((self.kind, self.key, self.value, base64.b64encode(self.levels).decode()))


def _levels(pcm: bytes) -> bytes:
    """The level of each frame in dB."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    frames = samples[: len(samples) // vad.FRAME_SAMPLES * vad.FRAME_SAMPLES].reshape(-1, vad.FRAME_SAMPLES)
    return bytes(np.round(10 * np.log10(np.maximum((frames**2).mean(axis=1), 1.0))).astype(np.uint8))


@cache
def _rows() -> dict[str, Row]:
    lines = (FOLDER / "heard.tsv").read_text(encoding="utf-8").splitlines()
    return {row.key: row for row in map(Row.read, lines)}


def known(kind: Kind, pcm: bytes, context: str = "") -> str | None:
    """Return what the table says of exactly this sound."""
    row = _rows().get(Row.of(kind, pcm, context, "").key)
    return None if row is None else row.value


def looked_up(kind: Kind, pcm: bytes, context: str = "") -> str:
    """Return what the real part made of the sound, or of one that only rounds differently.

    Raises NotInTheTableError for any other.
    """
    if (value := known(kind, pcm, context)) is not None:
        return value
    levels = _levels(pcm)
    alike = [row for row in _rows().values() if row.kind == kind and len(row.levels) == len(levels)]
    nearest = min(alike, key=lambda row: _apart_db(row.levels, levels), default=None)
    if nearest is None or _apart_db(nearest.levels, levels) > NEAR_DB:
        missed.append(f"no {kind} for this sound of {len(pcm) // 32} ms (context {context!r})")
        raise NotInTheTableError(missed[-1])
    return nearest.value


def _apart_db(one: bytes, other: bytes) -> float:
    return float(np.abs(np.frombuffer(one, np.uint8).astype(int) - np.frombuffer(other, np.uint8)).mean()) if one else 0


class TableRecognizer:
    """Writes what the real recogniser wrote, and hears how complete a turn is as Smart Turn did."""

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        no_speech, _, text = looked_up("words", pcm16_16k, context).partition(" ")
        return Transcript(text, float(no_speech), len(pcm16_16k) // 32)

    def completeness(self, pcm: bytes) -> float:
        return float(looked_up("complete", pcm))


class Hum:
    """Speaks on one note, in whole numbers, as long as the real voice took."""

    def __init__(self, voice: str) -> None:
        self._voice = voice
        period = 100 if voice == DEFAULT_VOICE else 150
        self._wave = np.where(np.arange(period) < period // 2, 3000, -3000).astype("<i2")

    def synthesize(self, text: str) -> bytes:
        value = known("spoken", text.encode(), self._voice)
        samples = LETTER_SAMPLES * len(text) if value is None else int(value)
        return np.resize(self._wave, samples).tobytes()

    def warm_up(self) -> None:
        return


def table_parts(
    whisper_dir: str | Path | None = None, progress: engine.Progress = lambda step: None
) -> engine.SpeechParts:
    """Stand in for the real `load_parts`. When recording, the real parts listen and speak."""
    heard: TableRecorder | TableRecognizer = TableRecognizer()
    voices: dict[str, Voice] = {name: Hum(name) for name in HIBARI_VOICES}
    if RECORD is not None:
        real = _real_load(whisper_dir, progress)
        assert real.recognizer is not None
        assert real.judge is not None
        heard = TableRecorder(real.recognizer, real.judge)
        voices = {name: VoiceRecorder(name, voice) for name, voice in real.voices.items()}
    return engine.SpeechParts(
        recognizer=heard,
        voices=voices,
        make_vad=lambda: vad.shared_silero().stream(),
        judge=heard,
    )


# -- voice -------------------------------------------------------------------------------------------------------------


@cache
def _probabilities() -> dict[int, int]:
    with np.load(FOLDER / "voice.npz") as table:
        return dict(zip(table["keys"].tolist(), table["values"].tolist(), strict=True))


class TableVad:
    """A detector that looks a stream up frame by frame, and asks the network from the first frame that is not known."""

    def __init__(self, network: vad.SileroVad) -> None:
        self._network = network
        self.reset()

    def reset(self) -> None:
        self._key, self._silent_frames, self._frames = b"", 0, list[bytes]()
        self._asked: vad.VadStream | None = None

    def probability(self, frame: bytes | np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
        if not isinstance(frame, bytes):
            return self._ask().probability(frame)
        self._silent_frames = 0 if frame.strip(b"\0") else self._silent_frames + 1
        if self._silent_frames >= SILENT_FRAMES:
            silent = self._silent_frames
            self.reset()
            self._silent_frames = silent
            return 0.0
        self._key = hashlib.blake2b(self._key + frame, digest_size=8).digest()
        key = int.from_bytes(self._key, "little")
        value = _probabilities().get(key) if self._asked is None else None
        if value is None:
            value = round(255 * self._ask().probability(frame))
            _note(f"voice\t{key}\t{value}")
        else:
            self._frames.append(frame)
        return value / 255

    def _ask(self) -> vad.VadStream:
        if self._asked is None:
            self._asked = _real_stream(self._network)
            for frame in self._frames:
                self._asked.probability(frame)
        return self._asked


def _table_stream(network: vad.SileroVad) -> TableVad:
    return TableVad(network)


# -- recording ---------------------------------------------------------------------------------------------------------

_real_load, _real_stream = engine.load_parts, vad.SileroVad.stream


class TableRecorder(TableRecognizer):
    """Asks the real parts for what is not in the table, and writes it down.

    What is in it stays: a machine that adds to it hears and speaks as the one that began it.
    """

    def __init__(self, recognizer: engine.Transcriber, judge: engine.Judge) -> None:
        self._recognizer, self._judge = recognizer, judge

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        if known("words", pcm16_16k, context) is None:
            found = self._recognizer.transcribe(pcm16_16k, context)
            _add(Row.of("words", pcm16_16k, context, f"{found.no_speech_prob:.3f} {' '.join(found.text.split())}"))
        return super().transcribe(pcm16_16k, context)

    def completeness(self, pcm: bytes) -> float:
        if known("complete", pcm) is None:
            _add(Row.of("complete", pcm, "", f"{self._judge.completeness(pcm):.3f}"))
        return super().completeness(pcm)


class VoiceRecorder(Hum):
    """Hums as long as the real voice speaks, which is written down."""

    def __init__(self, name: str, voice: Voice) -> None:
        super().__init__(name)
        self._real = voice

    def synthesize(self, text: str) -> bytes:
        if known("spoken", text.encode(), self._voice) is None:
            _add(Row.of("spoken", text.encode(), self._voice, str(len(self._real.synthesize(text)) // 2)))
        return super().synthesize(text)


def _add(row: Row) -> None:
    _rows()[row.key] = row
    _note(row.line())


def _note(line: str) -> None:
    """Add a line to what this process records."""
    if RECORD is not None:
        with (Path(RECORD) / f"{os.getpid()}.tsv").open("a", encoding="utf-8") as file:
            file.write(line + "\n")


REAL_COSTS: dict[Callable[..., object] | str, Cost] = {
    **dict.fromkeys(
        (Recognizer.transcribe, TableRecognizer.transcribe, TableRecorder.transcribe),
        lambda pcm, context="": 0.1 + len(pcm) / 32_000 * 0.035,
    ),
    **dict.fromkeys((SmartTurn.completeness, TableRecognizer.completeness, TableRecorder.completeness), 0.06),
    **dict.fromkeys((HibariVoice.synthesize, Hum.synthesize, VoiceRecorder.synthesize), 0.02),
}
"""What the embedded model takes on one core of a small server, in s: recognition 0.1 s and 35 ms for each second of
speech; how complete a voice sounds; the first sentence of an answer."""
