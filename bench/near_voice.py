"""When a turn ends while other voices go on behind its speaker.

Offline and in the audio's own time, so the numbers are the same on each run. Needs the extra `local`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bench import stimuli
from bench.endpointing import CHUNK_BYTES, DEFAULT_MS, EDGE_MS
from bench.labelled_turns import Turn, turns_of_fixtures
from bench.process import ROOT
from bench.report import Check, Section, median, share
from bench.stimuli import RATE_HZ, Sound
from realtime.audio.endpoint import Endpoint, EndpointConfig, SpeechStarted, TurnEnded
from realtime.audio.files import read_pcm16
from realtime.audio.vad import shared_silero

LEVELS_DB = (-8, -12, -16)
"""Of what goes on, below the speaker."""
GOES_ON_MS = 6_000
TALKERS = 7
LONGEST_MS = 14_000
ENDED_MS = 2_000
ENDED_SHARE = 14 / 15
DELAY_MS = 700
_GAP_S = (0.02, 0.25)
_SECOND_S = (0.8, 2.5)
_SECOND_AFTER_S = (0.05, 0.4)
Background = Callable[[Turn, int, np.random.Generator], Sound]


@dataclasses.dataclass(frozen=True, slots=True)
class Heard:
    """When a turn was found to be over, in ms after its labelled end, and how many others began until the end."""

    latency_ms: int | None
    others: int


async def measure_near_voice(levels_db: Sequence[int] = LEVELS_DB) -> Section:
    """Mix each labelled turn with voices that go on, and replay it with the server's detector."""
    turns = [turn for turn in turns_of_fixtures() if turn.end_ms <= LONGEST_MS]
    section = Section(
        "near-voice",
        "Measured: when a turn ends over other voices",
        f"{len(turns)} labelled turns of {len({turn.speaker for turn in turns})} speakers over voices that sound from "
        f"their first to {GOES_ON_MS // 1000} s after their last moment, and before a second speaker who begins up to "
        f"0.4 s later and talks for up to 2.5 s; plain timer of {DEFAULT_MS} ms. Delay: against the same turn alone.",
        ("behind", "level", "ended within 2 s", "delay median", "p90", "at most 700 ms", "other turns"),
        page=ROOT / "docs" / "listening.md",
    )
    alone = [heard(turn, turn.pcm) for turn in turns]
    for name, background in BACKGROUNDS.items():
        for level_db in levels_db:
            mixed = [heard(turn, _mixed(turn, background, level_db)) for turn in turns]
            ended = sum(one.latency_ms is not None and one.latency_ms <= ENDED_MS for one in mixed)
            delays = [
                one.latency_ms - other.latency_ms
                for one, other in zip(mixed, alone, strict=True)
                if one.latency_ms is not None and other.latency_ms is not None
            ]
            few = sum(delay <= DELAY_MS for delay in delays)
            others = sum(one.others for one in mixed)
            section.rows.append(
                (
                    name,
                    f"{level_db} dB",
                    f"{ended}/{len(turns)}",
                    f"{median(delays):.0f} ms",
                    f"{share(delays, 90):.0f} ms",
                    f"{few}/{len(turns)}",
                    str(others),
                )
            )
            section.data[f"{name} {level_db}"] = [dataclasses.asdict(one) for one in mixed]
            check = Check(f"{name}, {level_db} dB: ended within 2 s", ended / len(turns), ENDED_SHARE, at_least=True)
            section.checks.append(check)
    return section


def heard(turn: Turn, pcm: bytes) -> Heard:
    """Replay a turn with the server's detector."""
    endpoint = Endpoint(shared_silero().stream(), EndpointConfig(silence_ms=DEFAULT_MS, keep_audio=False))
    ended_ms: int | None = None
    others = 0
    for start in range(0, len(pcm), CHUNK_BYTES):
        for event in endpoint.push(pcm[start : start + CHUNK_BYTES]):
            if isinstance(event, TurnEnded) and ended_ms is None and endpoint.position_ms >= turn.end_ms - EDGE_MS:
                ended_ms = endpoint.position_ms
            elif isinstance(event, SpeechStarted) and ended_ms is not None:
                others += 1
    return Heard(None if ended_ms is None else ended_ms - turn.end_ms, others)


def _mixed(turn: Turn, background: Background, level_db: float) -> bytes:
    chance = np.random.default_rng(int.from_bytes(hashlib.sha256(turn.pcm).digest()[:8], "big"))
    speech = np.frombuffer(turn.pcm, "<i2").astype(np.float64)[: turn.end_ms * RATE_HZ // 1000]
    sound = np.concatenate([speech, chance.normal(0, 3, GOES_ON_MS * RATE_HZ // 1000)])
    behind = levelled(background(turn, len(sound), chance)) * rms(speech) * 10 ** (level_db / 20)
    return np.clip(sound + behind, -32768, 32767).astype("<i2").tobytes()


def rms(sound: Sound) -> float:
    """Return the level of the voice in it, without pauses."""
    power = (sound[: len(sound) // 320 * 320].reshape(-1, 320) ** 2).mean(1)
    return float(np.sqrt(power[power > power.max() / 1_000].mean()))


def levelled(sound: Sound) -> Sound:
    """Return the sound with a level of 1."""
    return sound / rms(sound)


@cache
def voices_of_stimuli() -> dict[str, list[Sound]]:
    """Return what each voice of the stimuli says."""
    voices: dict[str, list[Sound]] = {}
    for one in stimuli.manifest():
        if one.voice and one.kind in ("turn", "side", "interruption"):
            pcm = read_pcm16(stimuli.FOLDER / one.file, RATE_HZ)
            voices.setdefault(one.voice, []).append(np.frombuffer(pcm, "<i2").astype(np.float64))
    return voices


def _talking(voice: str, length: int, chance: np.random.Generator) -> Sound:
    parts: list[Sound] = []
    while sum(map(len, parts)) < length:
        parts += [
            voices_of_stimuli()[voice][chance.integers(len(voices_of_stimuli()[voice]))],
            np.zeros(int(chance.uniform(*_GAP_S) * RATE_HZ)),
        ]
    return np.concatenate(parts)[:length]


def _others(turn: Turn) -> list[str]:
    return [voice for voice in voices_of_stimuli() if voice != turn.speaker]


def babble(voices: Sequence[str], length: int, chance: np.random.Generator) -> Sound:
    """Return seven voices at once, each as loud as the others; fewer voices talk more than once."""
    talkers = (list(voices) * TALKERS)[:TALKERS]
    return np.sum(
        [levelled(np.roll(_talking(voice, length, chance), chance.integers(length))) for voice in talkers], axis=0
    )


def _babble(turn: Turn, length: int, chance: np.random.Generator) -> Sound:
    return babble(_others(turn), length, chance)


def _television(turn: Turn, length: int, chance: np.random.Generator) -> Sound:
    return _talking(str(chance.choice(_others(turn))), length, chance)


def _distant(turn: Turn, length: int, chance: np.random.Generator) -> Sound:
    return stimuli.CHANNELS["far"](_television(turn, length, chance), chance)[:length]


def _second(turn: Turn, length: int, chance: np.random.Generator) -> Sound:
    behind = np.zeros(length)
    begin = turn.end_ms * RATE_HZ // 1000 + int(chance.uniform(*_SECOND_AFTER_S) * RATE_HZ)
    voice = _distant(turn, int(chance.uniform(*_SECOND_S) * RATE_HZ), chance)
    behind[begin : begin + len(voice)] = voice
    return behind


BACKGROUNDS: dict[str, Background] = {
    "babble of seven": _babble,
    "television": _television,
    "distant voice": _distant,
    "distant second speaker": _second,
}
