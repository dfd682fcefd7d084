"""What strangers say and do in a call: wordings of `strangers.json`, put together by chance."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from bench import stranger_sounds as sounds
from bench.listen_calls import LEAD_MS, REPLY_MS, Script
from bench.stimuli import RATE_HZ, Sound
from bench.stranger_sounds import book, louder
from realtime.testing.client.steps import BargeIn, Silence, Speak
from realtime.testing.record import CallRecord
from realtime.testing.score.labels import Label, LabelClass
from tools.stimulus_sounds import Chance, levelled

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
GROUP = 3
"""Digits are said in groups of three; the last has what is left."""
GAIN_DB, WAVER_DB = 3.0, 1.5
"""How much users differ in level, and one user from turn to turn."""
MICROPHONE_DB = (-12.0, 10.0)
"""What a gain control finds."""
SETTLE_S = (10.0, 45.0)
INTERRUPTS_MS = (12_000, 15_000)
"""When a user behind it interrupts, in ms of the call."""
PLACES_MS = (600, 6_000)
"""How much of a reply was heard when a sound comes over it."""
SHORT_ANSWER_MS = 4_000
"""Time for a short reply."""
RESUMED_MS = 5_000
"""Time that a reply which was stopped by mistake may lose."""
NOISE_RMS = 1e-4
SNR_DB = 10.0
_SLOT = re.compile(r"\{(\w+)\}")


def wording(kind: str, chance: Chance, **known: str) -> str:
    """Return a wording of a kind, with every slot filled; `known` are slots that are given."""
    text = f"{{{kind}}}"
    while (slot := _SLOT.search(text)) is not None:
        filler = known.get(slot[1]) or str(chance.choice(book()[slot[1]]))
        text = text[: slot.start()] + filler + text[slot.end() :]
    return text[0].upper() + text[1:]


def parts_of(text: str) -> list[str]:
    """Return the parts of a wording between its pauses; a part that goes on sounds so."""
    *before, last = (part.strip() for part in text.split("|"))
    return [*(part if part[-1] in ".,!?" else f"{part}," for part in before), last]


def said_digits(figures: Sequence[int]) -> str:
    """Return digits as they are dictated: "four one five, two two"."""
    groups = [figures[at : at + GROUP] for at in range(0, len(figures), GROUP)]
    return ", ".join(" ".join(DIGITS[one] for one in group) for group in groups) + "."


def figures_in(transcript: str) -> str:
    """Return the digits of a transcript, whether written as words or as figures."""
    words = re.findall(rf"\b(?:{'|'.join(DIGITS)})\b|\d", transcript.lower())
    return "".join(word if word.isdigit() else str(DIGITS.index(word)) for word in words)


@dataclass(frozen=True, slots=True)
class Said:
    """What a sound of the user is, in ms of the sound."""

    kind: LabelClass
    from_ms: float
    to_ms: float
    pauses_ms: tuple[tuple[float, float], ...] = ()
    figures: str = ""
    """The digits that it dictates."""
    voiced_ms: Sequence[int] = ()
    """Where it holds speech."""


@dataclass(slots=True)
class Talk:
    """A call as it is written down: what one user does, at one level on one line."""

    chance: Chance
    line: Callable[[Sound], Sound] = lambda sound: sound
    script: Script = field(default_factory=lambda: Script(steps=[Silence(LEAD_MS)]))
    said: list[Said] = field(default_factory=list)
    voice: str = ""
    gain_db: float = 0.0

    def __post_init__(self) -> None:
        self.voice = sounds.some_voice(self.chance)
        self.gain_db = float(self.chance.uniform(-GAIN_DB, GAIN_DB))

    def own(self, text: str) -> Sound:
        """Return a text as the user says it."""
        level_db = self.gain_db + float(self.chance.uniform(-WAVER_DB, WAVER_DB))
        return louder(sounds.speech(self.voice, text), level_db)

    def speak(self, sound: Sound, said: Said | None = None, *, over_ms: int | None = None) -> None:
        """Let a sound come, some time into the reply; unless told otherwise it is a turn."""
        self.said.append(said or Said("turn", 0, ms_of(sound)))
        step = Speak(pcm=(np.clip(self.line(sound), -1, 1) * 32767).astype("<i2").tobytes())
        self.script.steps.append(step if over_ms is None else BargeIn(speech=step, after_ms=over_ms, timeout_ms=10_000))

    def ask(self, kind: str = "opening", *, at_length: bool = False) -> Talk:
        """Ask for a reply; a short one is heard to its end."""
        self.speak(self.own(wording(kind, self.chance)))
        if at_length:
            self.script.asks.add(len(self.script.steps))
            return self
        return self.wait(SHORT_ANSWER_MS)

    def wait(self, ms: int) -> Talk:
        """Say nothing."""
        self.script.steps.append(Silence(ms))
        return self

    def over(self, kind: LabelClass, sound: Sound) -> Talk:
        """Ask, and let a sound come over the reply."""
        self.ask(at_length=True)
        after_ms = int(self.chance.integers(*PLACES_MS))
        self.speak(sound, Said(kind, 0, ms_of(sound)), over_ms=after_ms)
        return self.wait(REPLY_MS - after_ms + RESUMED_MS)

    def labels(self, record: CallRecord) -> Iterator[Label]:
        """Yield what sounded, of what was said."""
        for number, (said, spoken) in enumerate(zip(self.said, record.spoken, strict=False)):
            on_ms = spoken.from_ms
            yield Label(f"said-{number}", said.kind, on_ms + said.from_ms, on_ms + said.to_ms)
            for from_ms, to_ms in said.pauses_ms:
                yield Label(f"pause-{number}", "hold", on_ms + from_ms, on_ms + to_ms)


def over_reply(chance: Chance, kind: LabelClass, words: str, *, telephone: bool = False) -> Talk:
    """Say something over a reply."""
    talk = Talk(chance, partial(sounds.on_telephone, chance=chance)) if telephone else Talk(chance)
    return talk.over(kind, talk.own(wording(words, chance)))


def quieter(chance: Chance, by_db: float) -> Talk:
    """Interrupt, quieter than in two turns before."""
    talk = Talk(chance).ask()
    return talk.over("interruption", louder(talk.own(wording("interruption", chance)), -by_db))


def humming(chance: Chance) -> Talk:
    """Hum, cough or laugh over a reply, or let something be heard."""
    talk, makes = Talk(chance), (sounds.hum, sounds.of_body, sounds.of_body, sounds.noise)
    at = int(chance.integers(len(makes) + 1))
    sound = makes[at](chance) if at < len(makes) else sounds.speech(talk.voice, wording("hum", chance))
    return talk.over("tic", louder(sound, talk.gain_db))


def elsewhere(chance: Chance, level_db: float) -> Talk:
    """Let one talk across the room: another stranger, or one of the real people where they are at hand."""
    talk, real = Talk(chance), sounds.real_people()
    sound = sounds.speech(sounds.some_voice(chance, talk.voice), wording("chat", chance))
    if real and chance.random() < 0.5:
        sound = real[int(chance.integers(len(real)))]
    return talk.over("side", louder(levelled(sounds.in_room(sound, chance), 0.0), talk.gain_db + level_db))


def behind_gain(chance: Chance, words: str) -> Talk:
    """Speak to a gain control: two turns, and an interruption."""
    talk = Talk(chance)
    talk.gain_db = float(chance.uniform(*MICROPHONE_DB))
    first, second, third = (talk.own(wording(kind, chance)) for kind in ("opening", "opening", words))
    asking = np.concatenate([first, quiet(chance, 3_300)])
    until = quiet(chance, int(chance.integers(*INTERRUPTS_MS) - LEAD_MS - ms_of(asking) - ms_of(second)))
    heard = sounds.slow_gain(np.concatenate([asking, second, until, third]), float(chance.uniform(*SETTLE_S)))
    asking, second, third = np.split(heard, [len(asking), len(asking) + len(second)])
    talk.speak(asking, Said("turn", 0, ms_of(first)))
    talk.speak(second)
    talk.script.asks.add(len(talk.script.steps))
    talk.speak(third, Said("interruption", ms_of(until), ms_of(third)))
    return talk.wait(REPLY_MS + RESUMED_MS)


def pausing(chance: Chance, words: str, pause_ms: tuple[int, int]) -> Talk:
    """Speak a turn with a pause inside, after a short reply."""
    talk = Talk(chance).ask()
    before, after = map(talk.own, parts_of(wording(words, chance)))
    pause = quiet(chance, int(chance.integers(*pause_ms)))
    sound, edge_ms = np.concatenate([before, pause, after]), ms_of(before)
    talk.speak(sound, Said("turn", 0, ms_of(sound), ((edge_ms, edge_ms + ms_of(pause)),)))
    return talk.wait(SHORT_ANSWER_MS)


def lively(chance: Chance) -> Talk:
    """Begin a turn with loud words in a room."""
    talk = Talk(chance)
    loud, rest = map(talk.own, parts_of(wording("loud", chance)))
    dry = np.concatenate([louder(loud, float(chance.uniform(5, 10))), quiet(chance, 80), rest])
    voiced_ms = sounds.voiced_ms(loud) + _later(rest, len(dry) - len(rest))
    talk.speak(sounds.in_room(dry, chance, direct_db=3.0), Said("turn", 0, ms_of(dry), voiced_ms=voiced_ms))
    return talk.wait(SHORT_ANSWER_MS)


def noisy(chance: Chance) -> Talk:
    """Speak a turn in noise that sounds all the time."""
    talk = Talk(chance)
    dry, before, after = talk.own(wording("turn", chance)), quiet(chance, 2_000), quiet(chance, SHORT_ANSWER_MS)
    said = Said("turn", ms_of(before), ms_of(before) + ms_of(dry), voiced_ms=_later(dry, len(before)))
    talk.speak(sounds.in_noise(np.concatenate([before, dry, after]), chance, SNR_DB), said)
    return talk


def dictating(chance: Chance) -> Talk:
    """Answer with 4 to 8 digits over a telephone."""
    talk = Talk(chance, partial(sounds.on_telephone, chance=chance)).ask()
    figures = [int(one) for one in chance.integers(0, 10, int(chance.integers(4, 9)))]
    sound = talk.own(wording("answer", chance, digits=said_digits(figures)))
    talk.speak(sound, Said("turn", 0, ms_of(sound), figures="".join(map(str, figures))))
    return talk.wait(SHORT_ANSWER_MS)


def turning(chance: Chance) -> Talk:
    """Speak two turns, one after the other."""
    return Talk(chance).ask().ask("turn")


def ms_of(sound: Sound) -> float:
    """Return how long a sound lasts."""
    return len(sound) * 1000 / RATE_HZ


def quiet(chance: Chance, ms: int) -> Sound:
    """Return the silence of a microphone."""
    return chance.normal(0, NOISE_RMS, ms * RATE_HZ // 1000)


def _later(sound: Sound, by: int) -> list[int]:
    return [at_ms + by * 1000 // RATE_HZ for at_ms in sounds.voiced_ms(sound)]
