"""Make fixtures/audio/listening: what users and their surroundings do while an agent speaks, and its manifest.

    python tools/make_stimuli.py

Speech is synthesised by hibari-tts at three pitches and by three voices of the command espeak-ng; tics and noises are
made of signals (`stimulus_sounds`). Wordings and voices that are held out occur only in stimuli that are held out.
Gain, pace, band, noise and distance vary at run time (`bench/stimuli.py`) and are not stored.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from realtime.audio.files import write_flac
from realtime.model.local.voice import SAMPLE_RATE_HZ, HibariEngine, HibariVoice
from tools import stimulus_words as words
from tools.stimulus_sounds import (
    NOISES,
    RATE_HZ,
    TICS,
    Sound,
    band,
    chance_of,
    cut,
    fade,
    levelled,
    music,
    stored,
)

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "audio" / "listening"
NOISE_DB = -6.0
EDGE_MS = 30
TIC_TAKES = 2
BABBLE_S = 3.0
Speak = Callable[[str, str], Sound]
"""Speak, in a voice, a text."""


@dataclass(frozen=True)
class Stimulus:
    """One file: its sound, and its entry in the manifest."""

    id: str
    kind: str
    sound: Sound
    text: str = ""
    voice: str = ""
    held_out: bool = False
    level_db: float = 0.0
    """Relative to the user's voice."""
    pauses_ms: tuple[tuple[int, int], ...] = ()
    """From the end of the voice to its return, in ms of the sound."""


class Voices:
    """Speak text as samples at 16 kHz, without silence around it, at the level of a user's voice."""

    def __init__(self) -> None:
        engine = HibariEngine()
        self._hibari = {
            name: HibariVoice(engine, ratio)
            for name, ratio in (("heart", 1.0), ("heart-low", 0.8), ("heart-high", 1.18))
        }

    def speak(self, voice: str, text: str) -> Sound:
        spoken = self._hibari[voice].synthesize(text) if voice in self._hibari else None
        if spoken is None:
            return levelled(cut(_espeak(voice, text)), 0.0)
        sound = np.frombuffer(spoken, "<i2").astype(np.float64) / 32768
        return levelled(cut(soxr.resample(sound, SAMPLE_RATE_HZ, RATE_HZ, "VHQ")), 0.0)


def _espeak(voice: str, text: str) -> Sound:
    command = ["espeak-ng", "--stdin", "--stdout", "-b", "1", "-v", voice, "-s", "160"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    sound, rate_hz = soundfile.read(io.BytesIO(done.stdout), dtype="float64")
    resampled: Sound = soxr.resample(sound, rate_hz, RATE_HZ, "VHQ")
    return resampled


def name_of(text: str) -> str:
    """Return a text as the part of an id."""
    return "_".join(re.findall(r"[a-z0-9]+", text.lower())[:4])


def spoken(
    speak: Speak,
    kind: str,
    texts: Sequence[str],
    voices: Sequence[str],
    each: int,
    held_out: bool,
) -> Iterator[Stimulus]:
    """Yield each text in some of the voices, which take turns."""
    for number, text in enumerate(texts):
        for turn in range(each):
            voice = voices[(number * each + turn + number // len(voices)) % len(voices)]
            yield Stimulus(f"{kind}-{name_of(text)}-{voice}", kind, speak(voice, text), text, voice, held_out)


def holds(
    speak: Speak,
    turns: Sequence[tuple[tuple[str, int], ...]],
    voices: Sequence[str],
    held_out: bool,
) -> Iterator[Stimulus]:
    """Yield turns with pauses inside."""
    for number, parts in enumerate(turns):
        voice = voices[number % len(voices)]
        pieces: list[Sound] = []
        pauses_ms: list[tuple[int, int]] = []
        at_ms = 0
        for text, pause_ms in parts:
            piece = speak(voice, text)
            pieces += [piece, np.zeros(pause_ms * RATE_HZ // 1000)]
            at_ms += len(piece) * 1000 // RATE_HZ
            if pause_ms:
                pauses_ms.append((at_ms, at_ms + pause_ms))
                at_ms += pause_ms
        text = " ".join(text for text, _ in parts)
        sound = np.concatenate(pieces)
        yield Stimulus(
            f"hold-{name_of(text)}-{voice}", "hold", sound, text, voice, held_out, pauses_ms=tuple(pauses_ms)
        )


def tics() -> Iterator[Stimulus]:
    """Yield the tics; the last take of each is held out."""
    for name, (make, level_db) in TICS.items():
        for take in range(TIC_TAKES + 1):
            id = f"tic-{name}-{take + 1}"
            sound = levelled(cut(make(chance_of(id))), level_db)
            yield Stimulus(id, "tic", sound, held_out=take == TIC_TAKES, level_db=level_db)


def noises(speak: Speak) -> Iterator[Stimulus]:
    """Yield the noises: those made of signals, and the murmur and television that hold speech."""
    for name, make in NOISES.items():
        id = f"noise-{name}"
        yield Stimulus(id, "noise", levelled(cut(make(chance_of(id))), NOISE_DB), level_db=NOISE_DB)
    length = int(BABBLE_S * RATE_HZ)
    murmur = sum(
        (np.resize(speak(voice, text), length) for voice, text in zip(words.TUNING_VOICES, words.BABBLE, strict=True)),
        np.zeros(length),
    )
    yield Stimulus("noise-babble", "noise", levelled(murmur * fade(length, 0.2), NOISE_DB), level_db=NOISE_DB)
    news = np.concatenate([speak("heart-low", text) for text in words.TELEVISION])
    tune = music(chance_of("television"))
    over_music = news + np.resize(tune, len(news)) * (np.std(news) / np.std(tune)) * 0.4
    sound = levelled(band(over_music, 250, 3_500) * fade(len(news), 0.2), NOISE_DB)
    yield Stimulus("noise-television", "noise", sound, level_db=NOISE_DB)


def stimuli(speak: Speak) -> Iterator[Stimulus]:
    """Yield all stimuli."""
    for voices, held_out in ((words.TUNING_VOICES, False), (words.HELD_OUT_VOICES, True)):
        yield from spoken(speak, "turn", [words.QUESTION], voices, len(voices), held_out)
    for kind, tuning, hidden, each in (
        ("backchannel", words.BACKCHANNELS, words.HELD_OUT_BACKCHANNELS, 3),
        ("interruption", words.INTERRUPTIONS, words.HELD_OUT_INTERRUPTIONS, 2),
        ("side", words.SIDE_REMARKS, words.HELD_OUT_SIDE_REMARKS, 2),
    ):
        yield from spoken(speak, kind, tuning, words.TUNING_VOICES, each, held_out=False)
        yield from spoken(speak, kind, hidden, words.HELD_OUT_VOICES, 2, held_out=True)
    yield from holds(speak, words.HOLDS, words.TUNING_VOICES, held_out=False)
    yield from holds(speak, words.HELD_OUT_HOLDS, words.HELD_OUT_VOICES, held_out=True)
    yield from tics()
    yield from noises(speak)


def write(stimulus: Stimulus) -> dict[str, object]:
    """Write the file; return its entry in the manifest."""
    edge = np.zeros(EDGE_MS * RATE_HZ // 1000)
    pcm = stored(np.concatenate([edge, stimulus.sound, edge]))
    path = FOLDER / f"{stimulus.id}.flac"
    write_flac(path, pcm, RATE_HZ)
    return {
        "id": stimulus.id,
        "class": stimulus.kind,
        "text": stimulus.text,
        "voice": stimulus.voice,
        "file": path.name,
        "on_ms": EDGE_MS,
        "off_ms": EDGE_MS + len(stimulus.sound) * 1000 // RATE_HZ,
        "pauses_ms": [[EDGE_MS + ms for ms in pause] for pause in stimulus.pauses_ms],
        "level_db": stimulus.level_db,
        "held_out": stimulus.held_out,
        "sha256": hashlib.sha256(pcm).hexdigest(),
        "licence": "CC0",
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.flac"):
        old.unlink()
    entries = [write(stimulus) for stimulus in stimuli(Voices().speak)]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (FOLDER / "manifest.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    total = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(entries)} stimuli, {total / 1e6:.2f} MB in {FOLDER}")


if __name__ == "__main__":
    main()
