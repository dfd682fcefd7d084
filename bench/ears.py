"""What the ears of the embedded model mishear: clean, over the telephone, in noise and among voices.

Offline: each clip is cut into turns by the model's own detector, and each turn recognised alone. Needs the extras
`local`, `ears` and `test`; speech of real people comes from REALTIME_RECORDINGS.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jiwer
import numpy as np

from bench import stimuli
from bench.local import plain_words
from bench.near_voice import babble, rms, voices_of_stimuli
from bench.process import ROOT
from bench.report import Check, Section, median, share
from bench.stimuli import RATE_HZ, Sound
from realtime.audio.files import read_pcm16
from realtime.audio.vad import shared_silero
from realtime.model.local.ears import Ears, Ended, endpoint_config
from realtime.model.local.engine import EarsName, Transcriber, load_better
from realtime.model.local.recognizer import Recognizer
from realtime.model.local.weights import SpeechPartMissing, whisper_folder

EARS: tuple[EarsName, ...] = ("fast", "better")
SNR_DB = 10
GOALS_PERCENT = {"clean": 2.5, "telephone": 10.0, "noise": 15.0, "babble": 30.0}
"""Of `better`: the most words that may be wrong in each condition."""
QUIET_MS = (500, 2_000)
QUIET_RMS = 3.0
CHUNK_BYTES = 1_280


@dataclass(frozen=True, slots=True)
class Clip:
    """A labelled clip."""

    name: str
    words: str
    voices: frozenset[str]
    """Its synthetic voices, which do not babble behind it."""
    sound: Sound


@dataclass(frozen=True, slots=True)
class Heard:
    """What was understood of a clip, and the CPU time that each of its turns took."""

    said: str
    heard: str
    turns_ms: tuple[float, ...]


async def measure_ears(say: Callable[[str], None], ears: Sequence[EarsName] = EARS) -> Section:
    """Recognise every clip in every condition with each of the ears."""
    found = list(clips())
    recorded = "REALTIME_RECORDINGS" in os.environ
    section = Section(
        "ears",
        "Measured: misheard words",
        f"{len(found)} labelled clips of {sum(len(clip.words.split()) for clip in found)} words, clean and mixed by "
        f"seed: G.711 mu-law at 8 kHz, pink noise {SNR_DB} dB below the voice, seven other voices {SNR_DB} dB below "
        "it. The model's own detector cuts them into turns, and each is recognised alone, as in a call; a turn's time "
        "is the CPU time of its recognition, which starts 200 ms after the voice. "
        + ("" if recorded else "**Without the clips of real people: REALTIME_RECORDINGS is not set.**"),
        ("ears", "condition", "word errors", "turns", "CPU of a turn, median", "p90"),
        page=ROOT / "docs" / "listening.md",
    )
    for name in ears:
        try:
            recognizer = recognizer_of(name)
        except SpeechPartMissing as error:
            section.rows.append((name, f"skipped: {error}", "", "", "", ""))
            continue
        for condition in GOALS_PERCENT:
            heard = [_heard(recognizer, clip, condition) for clip in found]
            percent = jiwer.wer([one.said for one in heard], [one.heard for one in heard]) * 100
            times = [ms for one in heard for ms in one.turns_ms]
            row = (f"{percent:.1f} %", str(len(times)), f"{median(times):.0f} ms", f"{share(times, 90):.0f} ms")
            section.rows.append((name, condition, *row))
            section.data[f"{name} {condition}"] = [(one.said, one.heard) for one in heard]
            limit = GOALS_PERCENT[condition] if name == "better" and recorded else None
            section.checks.append(Check(f"word errors, {name}, {condition}", percent, limit, " %"))
            say(f"{name}, {condition}: {percent:.1f} %")
    return section


def recognizer_of(ears: EarsName) -> Transcriber:
    """Load one of the recognisers. Raises SpeechPartMissing."""
    if ears == "better":
        return load_better()
    recognizer = Recognizer.load(whisper_folder())
    recognizer.warm_up()
    return recognizer


def clips() -> Iterator[Clip]:
    """Yield the labelled clips of the project and, where they are at hand, of real people."""
    recordings = os.environ.get("REALTIME_RECORDINGS")
    for folder in (ROOT / "fixtures" / "audio", *([Path(recordings) / "audio"] if recordings else [])):
        for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
            voice = entry.get("voice") or ""
            if entry["transcript"] and not entry["file"].startswith(("mix_", "echo_")) and voice != "espeak":
                words = plain_words(entry["transcript"].replace("/", " "))
                yield Clip(entry["file"], words, frozenset(voice.split(", ")), sound_of(folder / entry["file"]))


def sound_of(file: Path) -> Sound:
    """Return a file's samples, -1 to 1, at 16 kHz."""
    return np.frombuffer(read_pcm16(file, RATE_HZ), "<i2").astype(np.float64) / 32768


def mixed(clip: Clip, condition: str) -> bytes:
    """Return the clip in a condition, as pcm16. The same clip, the same sound."""
    seed = hashlib.sha256(f"{clip.name} {condition}".encode()).digest()[:8]
    chance = np.random.default_rng(int.from_bytes(seed, "big"))
    length = len(clip.sound)
    match condition:
        case "telephone":
            sound = stimuli.CHANNELS["telephone"](clip.sound, chance)
        case "noise":
            sound = clip.sound + _below(clip.sound, stimuli.pink(length, chance))
        case "babble":
            others = [voice for voice in voices_of_stimuli() if voice not in clip.voices]
            sound = clip.sound + _below(clip.sound, babble(others, length, chance))
        case _:
            sound = clip.sound
    return (np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes()


def _below(voice: Sound, behind: Sound) -> Sound:
    # The level of a voice is that without its pauses; `rms` counts in steps of 16 bits.
    level = rms(voice * 32768) / 32768 * 10 ** (-SNR_DB / 20)
    return behind / behind.std() * level


def turns_of(pcm: bytes) -> list[bytes]:
    """Cut pcm16 into the clips that the embedded model recognises, with the default silence timer."""
    ears = Ears(shared_silero().stream())
    ears.configure(endpoint_config(None))
    chance = np.random.default_rng(5)
    before, after = (chance.normal(0, QUIET_RMS, RATE_HZ * ms // 1000).astype("<i2").tobytes() for ms in QUIET_MS)
    stream = before + pcm + after
    found = [event for at in range(0, len(stream), CHUNK_BYTES) for event in ears.push(stream[at : at + CHUNK_BYTES])]
    return [event.pcm for event in [*found, *ears.finish()] if isinstance(event, Ended)]


def _heard(recognizer: Transcriber, clip: Clip, condition: str) -> Heard:
    texts: list[str] = []
    times_ms: list[float] = []
    for turn in turns_of(mixed(clip, condition)):
        start_s = time.process_time()
        texts.append(recognizer.transcribe(turn).text)
        times_ms.append((time.process_time() - start_s) * 1000)
    return Heard(clip.words, plain_words(" ".join(texts)), tuple(times_ms))
