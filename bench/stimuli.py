"""Stimuli of fixtures/audio/listening, varied: gain, pace, band, noise and distance. The same seed, the same sounds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import msgspec
import numpy as np
import soxr
from numpy.typing import NDArray

from bench.process import ROOT
from realtime.audio.files import read_pcm16

Sound = NDArray[np.float64]
StimulusClass = Literal["turn", "backchannel", "interruption", "side", "hold", "tic", "noise"]
Channel = Literal["clean", "telephone", "noise", "far", "backwards"]

FOLDER = ROOT / "fixtures" / "audio" / "listening"
RATE_HZ = 16_000
TELEPHONE_HZ = 8_000
MU = 255
GAIN_DB = 4.0
PACE = 0.1
SNR_DB = 15.0
FAR_DB = -10.0
"""Level of a voice from elsewhere; its gain does not vary, since 4 dB more would make it a near voice."""
REVERBERATION_S = 0.3
FAR_SHARE = 0.8
"""Side remarks that come from elsewhere; the others are spoken by the user, or as near."""
SHARES: dict[StimulusClass, float] = {
    "interruption": 0.22,
    "backchannel": 0.22,
    "tic": 0.18,
    "side": 0.18,
    "noise": 0.10,
    "hold": 0.10,
}
"""Of a thousand stimuli, each class has at least a hundred."""


class Stimulus(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the manifest. Times are ms of its file."""

    id: str
    kind: StimulusClass = msgspec.field(name="class")
    text: str
    voice: str
    file: str
    on_ms: int
    off_ms: int
    pauses_ms: tuple[tuple[int, int], ...]
    level_db: float
    held_out: bool


@dataclass(frozen=True, slots=True)
class Varied:
    """A stimulus as it is played. Times are ms of `pcm`, which is pcm16 at 16 kHz."""

    stimulus: Stimulus
    channel: Channel
    number: int
    gain_db: float
    pace: float
    user_voice: str
    """The voice of the user of the call."""

    @property
    def far(self) -> bool:
        """Whether it comes from elsewhere."""
        return self.channel == "far"

    @property
    def line(self) -> Channel:
        """The channel of its call, over which the user talks too."""
        return self.channel if self.channel in ("telephone", "noise") else "clean"

    @property
    def on_ms(self) -> float:
        """Its onset."""
        return self.stimulus.on_ms / self.pace

    @property
    def off_ms(self) -> float:
        """Its end."""
        return self.stimulus.off_ms / self.pace

    @property
    def pauses_ms(self) -> list[tuple[float, float]]:
        """The silences inside."""
        return [(from_ms / self.pace, to_ms / self.pace) for from_ms, to_ms in self.stimulus.pauses_ms]

    @property
    def level_db(self) -> float:
        """Its level in dB, relative to a voice as recorded."""
        return self.stimulus.level_db + self.gain_db + (FAR_DB if self.far else 0.0)

    def pcm(self) -> bytes:
        """Return its sound."""
        chance = _chance("noise", self.number)
        sound = soxr.resample(_sound(self.stimulus.file), RATE_HZ * self.pace, RATE_HZ, "VHQ")
        sound = CHANNELS[self.channel](sound, chance) * 10 ** (self.gain_db / 20)
        return (np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes()


@cache
def manifest() -> tuple[Stimulus, ...]:
    """Return all stimuli."""
    return tuple(msgspec.json.decode((FOLDER / "manifest.json").read_bytes(), type=list[Stimulus]))


def question(voice: str) -> Stimulus:
    """Return the turn with which a user of this voice begins."""
    return next(one for one in manifest() if one.kind == "turn" and one.voice == voice)


def drawn(count: int) -> list[Varied]:
    """Return about `count` stimuli, of each class its share and at least one, each file as often as others."""
    return [
        _varied(stimulus, number)
        for at, (kind, share) in enumerate(SHARES.items())
        for number, stimulus in enumerate(
            _cycled([one for one in manifest() if one.kind == kind], round(count * share) or 1),
            start=at * 1_000_000,
        )
    ]


def backwards(count: int) -> list[Varied]:
    """Return this many interruptions that are played backwards: voices that say nothing."""
    interruptions = [one for one in manifest() if one.kind == "interruption"]
    return [
        replace(_varied(_backwards(stimulus), number), channel="backwards")
        for number, stimulus in enumerate(_cycled(interruptions, count), start=len(SHARES) * 1_000_000)
    ]


def _backwards(stimulus: Stimulus) -> Stimulus:
    length_ms = len(_sound(stimulus.file)) * 1000 // RATE_HZ
    return msgspec.structs.replace(
        stimulus, kind="noise", text="", on_ms=length_ms - stimulus.off_ms, off_ms=length_ms - stimulus.on_ms
    )


def _cycled(stimuli: Sequence[Stimulus], count: int) -> Iterator[Stimulus]:
    chance = _chance(stimuli[0].kind, 0)
    order: list[int] = []
    for _ in range(count):
        order = order or list(chance.permutation(len(stimuli)))
        yield stimuli[order.pop()]


def _varied(stimulus: Stimulus, number: int) -> Varied:
    chance = _chance(stimulus.id, number)
    channel: Channel = ("clean", "telephone", "noise")[int(chance.integers(3))]
    voices = sorted({one.voice for one in manifest() if one.kind == "turn" and one.held_out is stimulus.held_out})
    voice = stimulus.voice
    is_other = stimulus.kind == "side" and chance.random() < FAR_SHARE
    if is_other:
        channel = "far"
        voices.remove(voice)
    if is_other or not voice:
        voice = str(chance.choice(voices))
    gain_db = 0.0 if is_other else float(chance.uniform(-GAIN_DB, GAIN_DB))
    return Varied(stimulus, channel, number, gain_db, float(chance.uniform(1 - PACE, 1 + PACE)), voice)


def _chance(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{name} {number}".encode()).digest()[:8], "big"))


@cache
def _sound(file: str) -> Sound:
    return np.frombuffer(read_pcm16(FOLDER / file, RATE_HZ), "<i2").astype(np.float64) / 32768


def _clean(sound: Sound, chance: np.random.Generator) -> Sound:
    return sound


def _telephone(sound: Sound, chance: np.random.Generator) -> Sound:
    """300 to 3400 Hz, and the steps of G.711 mu-law."""
    narrow = soxr.resample(sound, RATE_HZ, TELEPHONE_HZ, "VHQ")
    spectrum = np.fft.rfft(narrow)
    hz = np.fft.rfftfreq(len(narrow), 1 / TELEPHONE_HZ)
    spectrum[(hz < 300) | (hz > 3_400)] = 0
    narrow = np.clip(np.fft.irfft(spectrum, len(narrow)), -1, 1)
    steps = np.round(np.sign(narrow) * np.log1p(MU * np.abs(narrow)) / np.log1p(MU) * 127) / 127
    coarse = np.sign(steps) * np.expm1(np.abs(steps) * np.log1p(MU)) / MU
    wide: Sound = soxr.resample(coarse, TELEPHONE_HZ, RATE_HZ, "VHQ")
    return wide


def _noise(sound: Sound, chance: np.random.Generator) -> Sound:
    """Pink noise below it, as loud as 15 dB under its mean."""
    behind = pink(len(sound), chance)
    noisy: Sound = sound + behind / behind.std() * sound.std() * 10 ** (-SNR_DB / 20)
    return noisy


def pink(length: int, chance: np.random.Generator) -> Sound:
    """Return pink noise."""
    spectrum = np.fft.rfft(chance.standard_normal(length))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 20))
    return np.asarray(np.fft.irfft(spectrum, length))


def _far(sound: Sound, chance: np.random.Generator) -> Sound:
    """10 dB quieter, with a room that falls by 60 dB in 300 ms and is as loud as the direct sound."""
    count = int(REVERBERATION_S * RATE_HZ)
    tail = chance.standard_normal(count) * 10 ** (-3 * np.arange(count) / count)
    tail /= np.sqrt(np.sum(tail**2))
    length = len(sound) + count - 1
    room = np.fft.irfft(np.fft.rfft(sound, length) * np.fft.rfft(tail, length), length)
    room[: len(sound)] += sound
    far: Sound = room * 10 ** (FAR_DB / 20) / np.sqrt(2)
    return far


def _reversed(sound: Sound, chance: np.random.Generator) -> Sound:
    return sound[::-1]


CHANNELS: dict[Channel, Callable[[Sound, np.random.Generator], Sound]] = {
    "clean": _clean,
    "telephone": _telephone,
    "noise": _noise,
    "far": _far,
    "backwards": _reversed,
}
