"""Vocal tics and noises of fixtures/audio/listening, made of signals: no voice and no word goes into them.

A tic is what a body does: bursts of shaped noise, and glottal pulses through a neutral vocal tract where the folds take
part. Every sound is a function of a seeded generator and returns float samples at 16 kHz; the caller sets the level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Sound = NDArray[np.float64]
Chance = np.random.Generator

RATE_HZ = 16_000
LEVEL_DB = -24.0
"""Level of a user's voice in dB below full scale, and what the levels of tics and noises are relative to."""
STEP = RATE_HZ // 100
VOICED_DB = -38.0
"""A 10 ms step is voiced if it is at most this far below the loudest."""
QUANTUM = 8
"""Steps of stored samples: files are a quarter smaller, and the error is below the noise of a quiet microphone."""
NEUTRAL_HZ = (520.0, 1_500.0, 2_500.0, 3_500.0)
"""Formants of an open tube: the sound of no particular vowel."""


def seconds(length_s: float) -> Sound:
    """Return the times of a sound's samples, in seconds."""
    return np.arange(int(length_s * RATE_HZ)) / RATE_HZ


def filtered(sound: Sound, gain_of: Callable[[Sound], Sound]) -> Sound:
    """Multiply the spectrum by a gain that is given for frequencies in Hz."""
    spectrum = np.fft.rfft(sound)
    spectrum *= gain_of(np.fft.rfftfreq(len(sound), 1 / RATE_HZ).astype(np.float64))
    kept: Sound = np.fft.irfft(spectrum, len(sound)).astype(np.float64)
    return kept


def band(sound: Sound, low_hz: float, high_hz: float) -> Sound:
    """Keep a band; its edges fall by 12 dB an octave."""
    return filtered(sound, lambda hz: 1 / (1 + (low_hz / np.maximum(hz, 1)) ** 2) / (1 + (hz / high_hz) ** 2))


def tract(sound: Sound, formants_hz: Sequence[float] = NEUTRAL_HZ) -> Sound:
    """Send a sound through resonances 120 Hz wide."""
    return filtered(
        sound, lambda hz: sum((1 / (1 + ((hz - at) / 120) ** 2) for at in formants_hz), np.full(len(hz), 0.03))
    )


def noise(length_s: float, low_hz: float, high_hz: float, chance: Chance) -> Sound:
    """Return noise in a band, rms 1."""
    sound = band(chance.standard_normal(int(length_s * RATE_HZ)), low_hz, high_hz)
    unit: Sound = sound / np.std(sound)
    return unit


def swell(length_s: float, attack_s: float, decay_s: float) -> Sound:
    """Return an envelope that rises over `attack_s` and then falls by 8.7 dB every `decay_s`."""
    at = seconds(length_s)
    return np.minimum(1, at / attack_s) * np.exp(-np.maximum(0, at - attack_s) / decay_s) * fade(len(at))


def fade(count: int, fade_s: float = 0.01) -> Sound:
    """Return ones that begin and end smoothly."""
    edge = np.minimum(np.arange(count), np.arange(count)[::-1]) / (fade_s * RATE_HZ)
    return np.minimum(1, edge)


def pulses(pitch_hz: Sound, chance: Chance, jitter: float = 0.02) -> Sound:
    """Return glottal pulses of a pitch contour, each a little early or late, falling by 12 dB an octave."""
    phase = np.cumsum(pitch_hz * (1 + jitter * chance.standard_normal(len(pitch_hz)))) / RATE_HZ
    train = np.diff(np.floor(phase), prepend=0.0)
    return band(train, 60, 300) * 30


def joined(*parts: Sound | float) -> Sound:
    """Return sounds one behind the other; a number is a pause in seconds."""
    return np.concatenate([np.zeros(int(part * RATE_HZ)) if isinstance(part, float) else part for part in parts])


def voiced_steps(sound: Sound) -> NDArray[np.intp]:
    """Return the indices of the 10 ms steps that are not silence."""
    steps = sound[: len(sound) // STEP * STEP].reshape(-1, STEP)
    level_db = 10 * np.log10((steps**2).mean(axis=1) + 1e-12)
    return np.flatnonzero(level_db > level_db.max() + VOICED_DB)


def cut(sound: Sound) -> Sound:
    """Keep a sound from its first to its last voiced step."""
    steps = voiced_steps(sound)
    kept: Sound = sound[steps[0] * STEP : (steps[-1] + 1) * STEP]
    return kept


def levelled(sound: Sound, relative_db: float) -> Sound:
    """Bring a sound to a level relative to the user's voice, measured over its louder half; it never clips."""
    steps = sound[: len(sound) // STEP * STEP].reshape(-1, STEP)
    power = np.sort((steps**2).mean(axis=1))
    gain = 10 ** ((LEVEL_DB + relative_db) / 20) / np.sqrt(power[len(power) // 2 :].mean())
    at_level: Sound = sound * min(gain, 0.95 / np.max(np.abs(sound)))
    return at_level


def chance_of(name: str) -> Chance:
    """Return the chance of one stimulus: adding others does not change it."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))


def stored(sound: Sound) -> bytes:
    """Return a sound as pcm16 of steps of `QUANTUM`."""
    return (np.round(sound * 32768 / QUANTUM) * QUANTUM).astype("<i2").tobytes()


# -- tics ----------------------------------------------------------------------------------------------------------


def cough(chance: Chance) -> Sound:
    """A burst of air as the glottis opens, a noisy middle, and a short voiced end."""
    burst = 1.6 * noise(0.09, 400, 4_500, chance) * swell(0.09, 0.004, 0.03)
    middle = 0.6 * noise(0.16, 500, 3_000, chance) * swell(0.16, 0.01, 0.1)
    pitch_hz = np.linspace(chance.uniform(170, 260), 120, int(0.12 * RATE_HZ))
    end = tract(pulses(pitch_hz, chance, 0.1)) + 0.2 * noise(0.12, 400, 2_500, chance)
    return joined(burst, tract(middle), 0.5 * end * swell(0.12, 0.02, 0.05))


def double_cough(chance: Chance) -> Sound:
    return joined(cough(chance), float(chance.uniform(0.12, 0.22)), 0.8 * cough(chance))


def sneeze(chance: Chance) -> Sound:
    """Air drawn in with a voiced gasp, then a wide burst."""
    length_s = chance.uniform(0.3, 0.45)
    pitch_hz = np.linspace(190, 290, int(length_s * RATE_HZ))
    gasp = 0.25 * noise(length_s, 600, 3_500, chance) + 0.2 * tract(pulses(pitch_hz, chance, 0.05))
    rise = np.linspace(0, 1, len(gasp)) ** 2 * fade(len(gasp))
    return joined(gasp * rise, 0.06, 1.8 * noise(0.4, 1_200, 7_000, chance) * swell(0.4, 0.006, 0.09))


def sniffle(chance: Chance) -> Sound:
    """Two or three short draws through a narrow nose."""
    parts: list[Sound | float] = []
    for _ in range(int(chance.integers(2, 4))):
        length_s = chance.uniform(0.1, 0.18)
        sound = noise(length_s, 1_800, 6_500, chance) * np.hanning(int(length_s * RATE_HZ))
        parts += [sound, float(chance.uniform(0.08, 0.16))]
    return joined(*parts[:-1])


def throat(chance: Chance) -> Sound:
    """Folds pressed together: rough, low and irregular pulses with air."""
    parts: list[Sound | float] = []
    for length_s in (chance.uniform(0.16, 0.24), chance.uniform(0.25, 0.4)):
        pitch_hz = np.linspace(chance.uniform(75, 100), 65, int(length_s * RATE_HZ))
        rough = tract(pulses(pitch_hz, chance, 0.5), (480.0, 1_350.0, 2_400.0))
        flutter = 0.6 + 0.4 * np.sin(2 * np.pi * 27 * seconds(length_s)[: len(rough)])
        sound = (rough + 0.5 * noise(length_s, 300, 2_500, chance)[: len(rough)]) * flutter
        parts += [sound * swell(length_s, 0.03, 0.2)[: len(sound)], 0.09]
    return joined(*parts[:-1])


def laugh(chance: Chance) -> Sound:
    """Puffs of breath and voice, five a second, weaker and lower each time."""
    parts: list[Sound | float] = []
    count, pitch = int(chance.integers(4, 7)), chance.uniform(190, 290)
    for at in range(count):
        height_hz = pitch * (1 - 0.06 * at)
        pitch_hz = np.linspace(height_hz * 1.1, height_hz * 0.9, int(0.09 * RATE_HZ))
        voiced = tract(pulses(pitch_hz, chance, 0.04)) * swell(0.09, 0.02, 0.05)
        air = 0.3 * noise(0.08, 500, 4_000, chance) * np.hanning(int(0.08 * RATE_HZ))
        parts += [air * 0.85**at, voiced * 0.85**at, 0.04]
    return joined(*parts[:-1])


def sigh(chance: Chance) -> Sound:
    length_s = chance.uniform(0.8, 1.2)
    return tract(noise(length_s, 250, 2_500, chance)) * swell(length_s, 0.12, 0.35)


def breath(chance: Chance) -> Sound:
    length_s = chance.uniform(0.4, 0.7)
    return noise(length_s, 700, 5_000, chance) * np.hanning(int(length_s * RATE_HZ))


def lip_smack(chance: Chance) -> Sound:
    """One or two wet clicks."""
    parts: list[Sound | float] = []
    for _ in range(int(chance.integers(1, 3))):
        click = noise(0.03, 1_000, 6_000, chance) * swell(0.03, 0.002, 0.006)
        parts += [click, float(chance.uniform(0.05, 0.09)), 0.4 * click, 0.12]
    return joined(*parts[:-1])


def yawn(chance: Chance) -> Sound:
    """A long breath in, and a voice that glides up and down on the way out."""
    inwards = 0.3 * noise(0.7, 500, 3_000, chance) * np.hanning(int(0.7 * RATE_HZ))
    turns = np.array([0.0, 0.25, 1.0])
    top_hz = chance.uniform(190, 250)
    pitch_hz = np.interp(seconds(1.1) / 1.1, turns, [top_hz * 0.8, top_hz, top_hz * 0.5])
    out = tract(pulses(pitch_hz, chance, 0.03), (620.0, 1_150.0, 2_450.0)) + 0.25 * noise(1.1, 300, 2_500, chance)
    return joined(inwards, out * swell(1.1, 0.15, 0.45))


TICS: dict[str, tuple[Callable[[Chance], Sound], float]] = {
    "cough": (cough, 0),
    "double_cough": (double_cough, 0),
    "sneeze": (sneeze, 0),
    "sniffle": (sniffle, -10),
    "throat": (throat, -5),
    "laugh": (laugh, -3),
    "sigh": (sigh, -10),
    "breath": (breath, -15),
    "lip_smack": (lip_smack, -12),
    "yawn": (yawn, -6),
}
"""Each tic and its level relative to the user's voice, in dB."""


# -- noises --------------------------------------------------------------------------------------------------------


def keyboard(chance: Chance) -> Sound:
    sound = np.zeros(int(2.5 * RATE_HZ))
    at_s = 0.05
    while at_s < 2.35:
        start = int(at_s * RATE_HZ)
        for late, strength in ((0, 1.0), (int(0.06 * RATE_HZ), 0.5)):
            click = strength * noise(0.02, 900, 6_000, chance) * swell(0.02, 0.001, 0.004)
            sound[start + late : start + late + len(click)] += click
        at_s += chance.uniform(0.09, 0.24)
    return sound


def door(chance: Chance) -> Sound:
    """A creak of friction and a slam."""
    creak = 0.1 * band(pulses(np.linspace(60, 140, int(0.8 * RATE_HZ)), chance, 0.6), 400, 3_000)
    slam = noise(0.5, 40, 500, chance) * swell(0.5, 0.003, 0.08) + 0.3 * noise(0.5, 500, 4_000, chance) * swell(
        0.5, 0.002, 0.02
    )
    return joined(creak * fade(len(creak), 0.1), 0.15, slam)


def ring(chance: Chance) -> Sound:
    tone = sum((np.sin(2 * np.pi * hz * seconds(0.9)) for hz in (440, 480, 1_320)), np.zeros(int(0.9 * RATE_HZ)))
    return joined(tone * fade(len(tone)), 0.5, tone * fade(len(tone)))


def dog(chance: Chance) -> Sound:
    parts: list[Sound | float] = []
    for _ in range(3):
        top_hz = chance.uniform(420, 560)
        pitch_hz = np.interp(seconds(0.18), [0, 0.05, 0.18], [top_hz * 0.7, top_hz, top_hz * 0.6])
        bark = tract(pulses(pitch_hz, chance, 0.08), (750.0, 1_700.0, 3_000.0)) + 0.3 * noise(0.18, 600, 4_000, chance)
        parts += [bark * swell(0.18, 0.015, 0.06), float(chance.uniform(0.2, 0.5))]
    return joined(*parts[:-1])


def horn(chance: Chance) -> Sound:
    at = seconds(0.8)
    tone = sum((np.sin(2 * np.pi * hz * k * at) / k for hz in (370, 440) for k in range(1, 7)), np.zeros(len(at)))
    return joined(tone * fade(len(tone), 0.03), 0.25, tone[: len(tone) // 2] * fade(len(tone) // 2, 0.03))


def siren(chance: Chance) -> Sound:
    at = seconds(3.0)
    pitch_hz = 900 + 350 * np.sin(2 * np.pi * at / 1.5 + chance.uniform(0, 6))
    phase = 2 * np.pi * np.cumsum(pitch_hz) / RATE_HZ
    return (np.sin(phase) + 0.3 * np.sin(2 * phase) + 0.15 * np.sin(3 * phase)) * fade(len(at), 0.3)


def music(chance: Chance) -> Sound:
    """Broken chords over drums."""
    sound = np.zeros(int(3.2 * RATE_HZ))
    for beat in range(12):
        start = int(beat * 0.25 * RATE_HZ)
        at = seconds(0.45)[: len(sound) - start]
        root_hz = (220.0, 174.6, 196.0)[beat // 4] * (1, 1.26, 1.5, 2)[beat % 4]
        note = sum((np.sin(2 * np.pi * root_hz * k * at) / k**1.5 for k in range(1, 6)), np.zeros(len(at)))
        sound[start : start + len(at)] += note * np.exp(-at * 5)
        drum = (
            (0.8 if beat % 2 else 0.3) * noise(0.1, 1_500 if beat % 2 else 50, 6_000, chance) * swell(0.1, 0.002, 0.03)
        )
        sound[start : start + len(drum)] += drum
    return sound * fade(len(sound), 0.05)


NOISES: dict[str, Callable[[Chance], Sound]] = {
    "keyboard": keyboard,
    "door": door,
    "ring": ring,
    "dog": dog,
    "horn": horn,
    "siren": siren,
    "music": music,
}
"""The noises that hold no voice; babble and television are made of synthesised speech."""
