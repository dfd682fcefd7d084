"""Make the speech, noise and music of fixtures/audio, and its manifest.

    python tools/make_fixtures.py

Speech is synthesised: by hibari-tts (voice `heart`, and `heart-low`, the same at another speed and pitch) and, where it
is installed, by the command espeak-ng (without it that voice's files and labels stay as they are). Everything else is
made of seeded noise and sines. Labels are measured on the clean synthesis, before anything is mixed in, and mean what
those of hand-checked recordings mean: voiced stretches in ms, gaps under 200 ms merged.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soxr
from hibari import SAMPLE_RATE, Hibari
from numpy.typing import NDArray

from realtime.audio.files import read_pcm16, write_flac, write_wav
from realtime.audio.pcm import from_float32, to_float32

Floats = NDArray[np.float32]

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "audio"
RATE_HZ = 16_000
SEED = 11
LOW_RATIO = 0.78
PEAK = 0.5
STEP_MS = 10
LEAD_MS = 400
TAIL_MS = 500
CALLED = {"robin": "Robin, we meet at nine in the morning.", "friday": "Friday, please tell us when we meet."}
"""What calls the agents of a room by name, in `called/`."""


@dataclass
class Clip:
    """One file: its sound (float, 16 kHz) and what the manifest says of it."""

    name: str
    samples: Floats
    notes: str
    transcript: str = ""
    voice: str = ""
    speech_ms: list[list[int]] = field(default_factory=list)


class Voices:
    """Speak text as float samples at 16 kHz, cut to the voiced part, at one level."""

    def __init__(self) -> None:
        self._hibari = Hibari(voice="heart")

    def speak(self, voice: str, text: str) -> Floats:
        samples = {"heart": self._heart, "heart-low": self._heart_low, "espeak": self._espeak}[voice](text)
        steps = voiced_steps(samples)
        step = RATE_HZ * STEP_MS // 1000
        cut = samples[steps[0] * step : (steps[-1] + 1) * step]
        levelled: Floats = (cut * (PEAK / np.max(np.abs(cut)))).astype(np.float32)
        return levelled

    def _heart(self, text: str) -> Floats:
        return resampled(np.concatenate(list(self._hibari.stream(text, seed=SEED))), SAMPLE_RATE)

    def _heart_low(self, text: str) -> Floats:
        fast = np.concatenate(list(self._hibari.stream(text, speed=1 / LOW_RATIO, seed=SEED)))
        return resampled(fast, SAMPLE_RATE * LOW_RATIO)

    def _espeak(self, text: str) -> Floats:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "speech.wav"
            subprocess.run(["espeak-ng", "-v", "en-us+m3", "-s", "150", "-w", str(path), text], check=True)
            return to_float32(read_pcm16(path, RATE_HZ))


def resampled(samples: Floats, rate_hz: float) -> Floats:
    converted: Floats = soxr.resample(samples, rate_hz, RATE_HZ, "VHQ")
    return converted


def silence(ms: int, rng: np.random.Generator) -> Floats:
    """What a quiet converter gives: not zeros."""
    return (rng.standard_normal(RATE_HZ * ms // 1000) * 1e-4).astype(np.float32)


def voiced_steps(samples: Floats) -> NDArray[np.intp]:
    """Indices of the 10 ms steps that are less than 38 dB below the loudest one."""
    step = RATE_HZ * STEP_MS // 1000
    steps = samples[: len(samples) // step * step].reshape(-1, step)
    level_db = 10 * np.log10((steps**2).mean(axis=1) + 1e-12)
    return np.flatnonzero(level_db > level_db.max() - 38)


def label(samples: Floats) -> list[list[int]]:
    """Voiced stretches in ms; gaps under 200 ms are merged, stretches under 50 ms dropped."""
    stretches: list[list[int]] = []
    for index in voiced_steps(samples):
        start_ms = int(index) * STEP_MS
        if stretches and start_ms - stretches[-1][1] < 200:
            stretches[-1][1] = start_ms + STEP_MS
        else:
            stretches.append([start_ms, start_ms + STEP_MS])
    return [stretch for stretch in stretches if stretch[1] - stretch[0] >= 50]


def spoken(
    voices: Voices,
    rng: np.random.Generator,
    name: str,
    parts: list[tuple[str, str, int]],
    notes: str,
    turns: bool = False,
) -> Clip:
    """A clip of (voice, text, silence behind it in ms) parts; with *turns* each part is a turn of its own."""
    sound = [silence(LEAD_MS, rng)]
    for voice, text, behind_ms in parts:
        sound += [voices.speak(voice, text), silence(behind_ms, rng)]
    samples = np.concatenate(sound)
    names = dict.fromkeys(voice for voice, _, _ in parts)
    transcript = (" / " if turns else " ").join(text for _, text, _ in parts)
    return Clip(name, samples, notes, transcript, ", ".join(names), label(samples))


def pink(seconds: float, rng: np.random.Generator) -> Floats:
    """Noise whose power falls by 3 dB per octave, rms 1."""
    count = int(RATE_HZ * seconds)
    spectrum = np.fft.rfft(rng.standard_normal(count))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 20))
    noise = np.fft.irfft(spectrum, count)
    levelled: Floats = (noise / noise.std()).astype(np.float32)
    return levelled


def room_noise(rng: np.random.Generator) -> Clip:
    time_s = np.arange(RATE_HZ * 3) / RATE_HZ
    hum = sum(0.4 / k * np.sin(2 * np.pi * 50 * k * time_s) for k in (1, 2, 3))
    return Clip(
        "noise_room.flac", (0.01 * (pink(3.0, rng) + hum)).astype(np.float32), "no speech; pink noise and mains hum"
    )


def clicks_and_breaths(rng: np.random.Generator) -> Clip:
    samples = silence(5000, rng)
    for at_ms in range(300, 5000, 700):
        click = rng.standard_normal(64) * np.exp(-np.arange(64) / 12)
        start = at_ms * RATE_HZ // 1000
        samples[start : start + 64] += (0.3 * click).astype(np.float32)
    for at_ms in (900, 2400, 3900):
        breath = rng.standard_normal(RATE_HZ * 3 // 10) * np.hanning(RATE_HZ * 3 // 10)
        start = at_ms * RATE_HZ // 1000
        samples[start : start + len(breath)] += (0.01 * breath).astype(np.float32)
    return Clip("clicks_breaths.flac", samples, "no speech; seven clicks, three breaths of 0.3 s")


def music() -> Clip:
    """Arpeggio over a pad, 120 bpm."""
    count = RATE_HZ * 5
    samples = np.zeros(count)
    chords = [(220.0, 277.2, 329.6), (196.0, 246.9, 293.7), (174.6, 220.0, 261.6), (196.0, 246.9, 329.6)]
    for beat in range(20):
        chord = chords[beat // 4 % 4]
        start = beat * RATE_HZ // 4
        time_s = np.arange(min(RATE_HZ // 2, count - start)) / RATE_HZ
        note = sum(np.sin(2 * np.pi * chord[beat % 3] * 2 * k * time_s) / k**2 for k in (1, 2, 3, 4))
        samples[start : start + len(time_s)] += 0.12 * note * np.exp(-time_s * 6)
        pad_s = np.arange(min(RATE_HZ // 4, count - start)) / RATE_HZ + start / RATE_HZ
        samples[start : start + len(pad_s)] += 0.03 * sum(np.sin(2 * np.pi * hz * pad_s) for hz in chord)
    samples *= np.minimum(1, np.arange(count) / (RATE_HZ * 0.5))
    return Clip("music_synthetic.flac", samples.astype(np.float32), "no speech; arpeggio and pad, faded in")


def over_noise(clean: Clip, name: str, snr_db: float, rng: np.random.Generator) -> Clip:
    """*clean* over pink noise, its labels kept; the ratio counts the voiced steps only."""
    step = RATE_HZ * STEP_MS // 1000
    voice_power = np.mean([(clean.samples[i * step : (i + 1) * step] ** 2).mean() for i in voiced_steps(clean.samples)])
    noise = pink(len(clean.samples) / RATE_HZ + 1, rng)[: len(clean.samples)]
    mixed = clean.samples + noise * np.float32(np.sqrt(voice_power / 10 ** (snr_db / 10)))
    notes = f"{Path(clean.name).stem} over pink noise, {snr_db:g} dB"
    return Clip(name, mixed, notes, clean.transcript, clean.voice, clean.speech_ms)


def clips(voices: Voices) -> list[Clip]:
    has_espeak = shutil.which("espeak-ng") is not None
    seeds = iter(range(100, 1000))

    def rng() -> np.random.Generator:
        return np.random.default_rng(next(seeds))

    def say(name: str, voice: str, text: str, notes: str) -> Clip:
        return spoken(voices, rng(), name, [(voice, text, TAIL_MS)], notes)

    made = [
        say("hello_anna.wav", "heart", "Hello there, my name is Anna.", "greeting"),
        say("hello_robert.wav", "heart-low", "Good morning, I am Robert.", "greeting"),
        say("what_time.wav", "heart-low", "What time is it?", "question"),
        say("twelve_times_seven.wav", "heart", "What is twelve times seven?", "question"),
        say("set_timer.wav", "heart", "Please set a timer for five seconds.", "command"),
        spoken(
            voices,
            rng(),
            "barge_in.wav",
            [("heart-low", "Stop, please.", 250), ("heart-low", "That is enough.", TAIL_MS)],
            "two short sentences, 0.25 s apart",
        ),
        spoken(
            voices,
            rng(),
            "trip_pauses.flac",
            [
                ("heart", "I would like to plan a trip,", 350),
                ("heart", "perhaps to the mountains,", 700),
                ("heart", "and I need to know", 450),
                ("heart", "how cold it gets at night", 1000),
                ("heart", "in the first week of October.", TAIL_MS),
            ],
            "pauses of 0.35 to 1 s inside one turn",
        ),
        spoken(
            voices,
            rng(),
            "dialog.flac",
            [
                ("heart", "Did you hear the rain last night?", 1200),
                ("heart-low", "Yes, it kept me awake for hours.", 900),
                ("heart", "Then let us take a long break today.", TAIL_MS),
            ],
            "two speakers, three turns 0.9 to 1.2 s apart",
            turns=True,
        ),
    ]
    date_seed, noisy_seed = rng(), rng()
    if has_espeak:
        made.append(
            spoken(
                voices,
                date_seed,
                "what_date.wav",
                [("espeak", "Tell me the date of today.", TAIL_MS)],
                "formant synthesis",
            )
        )
    made += [
        over_noise(made[0], "mix_anna_pink_10dB.wav", 10, noisy_seed),
        room_noise(rng()),
        clicks_and_breaths(rng()),
        music(),
        Clip("silence.flac", silence(3000, rng()), "no speech; dither, rms 1e-4"),
    ]
    return made


def write(clip: Clip) -> dict[str, object]:
    """Write the file; returns its entry in the manifest."""
    pcm = from_float32(clip.samples)
    path = FOLDER / clip.name
    store: Callable[[Path, bytes, int], None] = write_flac if path.suffix == ".flac" else write_wav
    store(path, pcm, RATE_HZ)
    return {
        "file": clip.name,
        "duration_ms": len(clip.samples) * 1000 // RATE_HZ,
        "transcript": clip.transcript,
        "speech_ms": clip.speech_ms,
        "voice": clip.voice,
        "peak": round(float(np.max(np.abs(clip.samples))), 3),
        "rms": round(float(np.sqrt(np.mean(clip.samples**2))), 4),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "licence": "CC0",
        "notes": clip.notes,
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    manifest = FOLDER / "manifest.json"
    entries = {entry["file"]: entry for entry in json.loads(manifest.read_text())} if manifest.exists() else {}
    voices = Voices()
    for clip in clips(voices):
        entries[clip.name] = write(clip)
        print(f"{clip.name:26} {entries[clip.name]['duration_ms']:6} ms  {clip.speech_ms}")
    (FOLDER / "called").mkdir(exist_ok=True)
    for number, (name, text) in enumerate(CALLED.items()):
        clip = spoken(voices, np.random.default_rng(number), f"called/{name}.flac", [("heart-low", text, 1_000)], "")
        write(clip)
    manifest.write_text(json.dumps(list(entries.values()), indent=1) + "\n")
    total = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{total / 1e6:.2f} MB in {FOLDER}")


if __name__ == "__main__":
    main()
