"""Recognition and synthesis that remember: what was heard or said once is looked up, by hash, from then on."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

from realtime.model.local import recognizer as recognizer_module
from realtime.model.local.engine import Progress, SpeechEngine, SpeechParts, Transcriber, load_parts
from realtime.model.local.recognizer import Transcript
from realtime.model.local.voice import Voice
from realtime.model.local.weights import WHISPER_SHA256

BUSY_S = 60.0


class RememberingRecognizer:
    """A recogniser that keeps its transcripts in a file, by the hash of recogniser, sound and context."""

    def __init__(self, recognizer: Transcriber, file: Path, about: bytes = b"") -> None:
        self._recognizer = recognizer
        self._about = hashlib.sha256(about).digest()
        self._file = file
        self._to_check = 0
        self.checked = 0
        """Kept transcripts that were recognised again, as `check_next` asked."""
        self.different = 0
        """How many of them came out otherwise."""
        file.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as known, known:
            known.execute("CREATE TABLE IF NOT EXISTS heard (key TEXT PRIMARY KEY, text TEXT, prob REAL, ms INTEGER)")

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        """See `Recognizer.transcribe`."""
        key = hashlib.sha256(self._about + context.encode() + b"\0" + pcm16_16k).hexdigest()
        with closing(self._open()) as known, known:
            row = known.execute("SELECT text, prob, ms FROM heard WHERE key = ?", (key,)).fetchone()
            if row is not None:
                found = Transcript(text=row[0], no_speech_prob=row[1], audio_ms=row[2])
                self._check(found, pcm16_16k, context)
                return found
            heard = self._recognizer.transcribe(pcm16_16k, context)
            values = (key, heard.text, heard.no_speech_prob, heard.audio_ms)
            known.execute("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?)", values)
            return heard

    def check_next(self, count: int) -> None:
        """Recognise the next `count` kept transcripts again; count from 0."""
        self._to_check = count
        self.checked = self.different = 0

    def _check(self, found: Transcript, pcm: bytes, context: str) -> None:
        if self.checked < self._to_check:
            self.checked += 1
            self.different += self._recognizer.transcribe(pcm, context).text != found.text

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, timeout=BUSY_S)


class RememberingVoice:
    """A voice that keeps what it has said."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._speak: Callable[[str], bytes] = cache(voice.synthesize)

    def synthesize(self, text: str) -> bytes:
        """See `Voice.synthesize`."""
        return self._speak(text)

    def warm_up(self) -> None:
        """See `Voice.warm_up`."""
        self._voice.warm_up()


def remembering_engine(file: Path) -> SpeechEngine:
    """Return the embedded speech parts, with recognition kept in `file`."""

    def load(progress: Progress) -> SpeechParts:
        parts = load_parts(progress=progress)
        if parts.recognizer is None:
            return parts
        return replace(
            parts,
            recognizer=RememberingRecognizer(parts.recognizer, file, _about_recognition()),
            voices={name: RememberingVoice(voice) for name, voice in parts.voices.items()},
        )

    return SpeechEngine(load)


def _about_recognition() -> bytes:
    """Return what the words depend on beside the sound: the weights and how they are used."""
    return WHISPER_SHA256["model.bin"].encode() + Path(recognizer_module.__file__).read_bytes()
