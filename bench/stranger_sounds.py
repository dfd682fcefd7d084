"""How strangers sound: voices of three engines, and the rooms, lines and microphones between them and the agent.

Engines that are not installed lend no voice. What a voice has said once is kept in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import soundfile
import soxr

from bench import stimuli
from bench.near_voice import rms
from bench.stimuli import RATE_HZ, Sound
from realtime.audio.files import read_pcm16
from realtime.server.folders import cache_folder
from tools import stimulus_sounds as signals
from tools.stimulus_sounds import Chance, cut, levelled

FILE = Path(__file__).with_name("strangers.json")
ENGINES = {"flite": "flite", "text2wave": "festival", "espeak-ng": "espeak-ng"}
"""The command of each engine, and its name."""
STEP = RATE_HZ // 100
VOICED_DB = -25.0
"""Steps of speech this far below its loudest count as speech that may be lost."""
QUIET_DB = -50.0
"""Below full scale: what is quieter teaches a gain control nothing."""
MOST_GAIN_DB = 15.0
ROOM_S = (0.3, 0.6)
"""In which the sound of a room falls by 60 dB."""
LEAST_MS = 800
"""Of a stretch of real speech."""


@cache
def book() -> dict[str, list[str]]:
    """Return the voices, and all wordings by kind."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@cache
def voices() -> dict[str, list[str]]:
    """Return the voices that are installed, by the command of their engine."""
    found: dict[str, list[str]] = {}
    for voice in filter(_speaks, book()["voices"]):
        found.setdefault(voice.split()[0], []).append(voice)
    return found


def missing_engines() -> list[str]:
    """Return the engines of which a voice is not installed."""
    found = [voice for some in voices().values() for voice in some]
    missing = {voice.split()[0] for voice in book()["voices"] if voice not in found}
    return [ENGINES[command] for command in sorted(missing)]


def some_voice(chance: Chance, other_than: str = "") -> str:
    """Return a voice: each engine lends as many. Raises RuntimeError without any engine."""
    if not voices():
        raise RuntimeError(f"no stranger has a voice: install {', '.join(ENGINES.values())}")
    engine = str(chance.choice([*voices()]))
    return str(chance.choice([one for one in voices()[engine] if one != other_than]))


@cache
def speech(voice: str, text: str) -> Sound:
    """Return a text in a voice, at a user's level, without silence around it."""
    name = hashlib.sha256(f"{voice}\n{text}".encode()).hexdigest()
    kept = cache_folder() / "bench-strangers" / f"{name}.npy"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            whole = Path(folder) / kept.name
            np.save(whole, levelled(cut(_spoken(voice, text, Path(folder))), 0.0))
            os.replace(whole, kept)
    return np.asarray(np.load(kept))


def _spoken(voice: str, text: str, folder: Path) -> Sound:
    engine, *words = shlex.split(voice)
    source, made = folder / "text", folder / "made.wav"
    source.write_text(text, encoding="utf-8")
    reads = [] if engine == "text2wave" else ["-f"]
    writes = "-w" if engine == "espeak-ng" else "-o"
    subprocess.run([engine, *words, *reads, str(source), writes, str(made)], check=True, capture_output=True)
    sound, rate_hz = soundfile.read(made, dtype="float64")
    return np.asarray(soxr.resample(sound, rate_hz, RATE_HZ, "VHQ"))


def _speaks(voice: str) -> bool:
    try:
        return shutil.which(voice.split()[0]) is not None and len(speech(voice, "Hello.")) > 0
    except soundfile.LibsndfileError:
        return False  # Festival has no such voice, and wrote nothing.


# -- sounds without words, and voices of real people -----------------------------------------------------------------


def hum(chance: Chance) -> Sound:
    """Hum through the nose, once or twice, the second time higher or lower."""
    pitch_hz, parts = float(chance.uniform(95, 230)), []
    for _ in range(int(chance.integers(1, 3))):
        count = int(chance.uniform(0.18, 0.45) * RATE_HZ)
        glide = signals.pulses(np.linspace(pitch_hz, pitch_hz * chance.uniform(0.85, 1.15), count), chance)
        parts += [signals.tract(glide, (260.0, 1_050.0, 2_200.0)) * np.hanning(count), np.zeros(5 * STEP)]
        pitch_hz *= float(chance.uniform(0.8, 1.3))
    return levelled(cut(np.concatenate(parts)), float(chance.uniform(-8, 0)))


def of_body(chance: Chance) -> Sound:
    """Cough, laugh, sneeze or the like, at another pace than the takes that rules were made with."""
    make, level_db = signals.TICS[str(chance.choice(sorted(signals.TICS)))]
    pace = float(chance.uniform(0.8, 1.25))
    return levelled(cut(soxr.resample(make(chance), RATE_HZ * pace, RATE_HZ, "VHQ")), level_db)


def noise(chance: Chance) -> Sound:
    """Return a noise that holds no voice."""
    make = signals.NOISES[str(chance.choice(sorted(signals.NOISES)))]
    return levelled(cut(make(chance)), float(chance.uniform(-10, -4)))


@cache
def real_people() -> list[Sound]:
    """Return stretches of speech of REALTIME_RECORDINGS; none where it is not set."""
    folder, found = Path(os.environ.get("REALTIME_RECORDINGS", "")) / "audio", []
    entries = json.loads((folder / "manifest.json").read_text("utf-8")) if "REALTIME_RECORDINGS" in os.environ else []
    for entry in entries:
        if entry["speech_ms"] and not entry["file"].startswith(("mix_", "echo_")):
            sound = np.frombuffer(read_pcm16(folder / entry["file"], RATE_HZ), "<i2").astype(np.float64) / 32768
            long = [(begin, end) for begin, end in entry["speech_ms"] if end - begin > LEAST_MS]
            found += [levelled(sound[begin * RATE_HZ // 1000 : end * RATE_HZ // 1000], 0.0) for begin, end in long]
    return found


# -- between them and the agent --------------------------------------------------------------------------------------


def louder(sound: Sound, db: float) -> Sound:
    """Return the sound at another level."""
    return sound * 10 ** (db / 20)


def in_room(sound: Sound, chance: Chance, direct_db: float = 0.0) -> Sound:
    """Return a sound as a room lets it be heard: direct, and in a tail that is `direct_db` below."""
    count = int(chance.uniform(*ROOM_S) * RATE_HZ)
    tail = chance.standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    tail *= 10 ** (-direct_db / 20) / np.sqrt(np.sum(tail**2))
    tail[0] += 1.0
    length = len(sound) + count - 1
    return np.asarray(np.fft.irfft(np.fft.rfft(sound, length) * np.fft.rfft(tail, length), length))


def on_telephone(sound: Sound, chance: Chance) -> Sound:
    """Return a sound as a telephone carries it: 300 to 3400 Hz in the steps of mu-law."""
    return stimuli.CHANNELS["telephone"](sound, chance)[: len(sound)]


def in_noise(sound: Sound, chance: Chance, snr_db: float) -> Sound:
    """Return a sound in pink noise, its voice without pauses `snr_db` above."""
    behind = stimuli.pink(len(sound), chance)
    return np.asarray(sound + behind / behind.std() * rms(sound) * 10 ** (-snr_db / 20))


def slow_gain(sound: Sound, settle_s: float) -> Sound:
    """Return a sound behind a gain control that has learnt nine tenths of a level in `settle_s` of voice.

    It begins without gain, brings voices to the usual level of a user, and keeps its gain where there is none.
    """
    usual = 10 ** (signals.LEVEL_DB / 10)
    share, known, gains = 1 - 10 ** (-STEP / RATE_HZ / settle_s), usual, []
    for at in range(0, len(sound), STEP):
        gains.append(np.clip(10 * np.log10(usual / known), -MOST_GAIN_DB, MOST_GAIN_DB))
        power = float(np.mean(sound[at : at + STEP] ** 2))
        if power > 10 ** (QUIET_DB / 10):
            known += (power - known) * share
    return sound * 10 ** (np.repeat(gains, STEP)[: len(sound)] / 20)


def voiced_ms(sound: Sound) -> list[int]:
    """Return where the steps of 10 ms are that hold speech, in ms."""
    steps = sound[: len(sound) // STEP * STEP].reshape(-1, STEP)
    level_db = 10 * np.log10((steps**2).mean(axis=1) + 1e-12)
    return [int(at) * 10 for at in np.flatnonzero(level_db > level_db.max() + VOICED_DB)]
