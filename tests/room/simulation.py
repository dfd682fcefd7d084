"""Talk by chance: humans who speak when they like, to whom they like, also into each other and into the agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from pathlib import Path
from random import Random

from msgspec.structs import replace

from realtime.agent import RealtimeAgent
from realtime.event.base import Item
from realtime.event.model import ModelSessionEndedEvent
from realtime.model.base import (
    AudioCommit,
    Connection,
    History,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    Settings,
)
from realtime.runtime import Runtime
from realtime.testing.cases.hearing import HearingModel, Vocabulary
from realtime.testing.cases.stand_in import Say, StandIn
from realtime.testing.client.sound import load
from realtime.testing.client.steps import Send, Silence, Speak, Step, Type

HUMANS = ("Anna", "Ben", "Carla", "David", "Emma")
AGENTS = ("Alice", "Bob", "Cleo", "Dora")
EVERY_S = 20.0
"""How often each human says something, on average."""
TYPED = 0.1
"""So many of the turns of humans are typed."""
ANSWERS = 40
NAMES_APART = 1_000
GAIN_STEP_DB = 0.7
LONGEST_MS = 4_000
PAUSE_MS = 400
"""A longer pause ends the turn: what is said here has none."""


class Phrasebook:
    """What can be said: each stretch of speech of a folder of labelled recordings, to each of the agents or to nobody.

    The same recording is a little softer for each agent, so that its sound tells to whom it is said.
    """

    def __init__(self, folder: Path) -> None:
        self._phrases: dict[str | None, list[Speak]] = {}
        for entry in json.loads((folder / "manifest.json").read_text()):
            if entry["file"].startswith(("echo_", "mix_")) or "/" in entry["transcript"]:
                continue
            for number, (from_ms, to_ms) in enumerate(_stretches(entry["speech_ms"])):
                words = entry["transcript"] if len(_stretches(entry["speech_ms"])) == 1 else ""
                words = words or f"{Path(entry['file']).stem.replace('_', ' ')} part {number + 1}"
                for place, name in enumerate((None, *AGENTS)):
                    phrase = Speak(
                        audio=str(folder / entry["file"]),
                        text=words if name is None else f"{name}, {words}",
                        from_ms=max(0, from_ms - 200),
                        to_ms=to_ms + 200,
                        gain_db=-GAIN_STEP_DB * place,
                    )
                    self._phrases.setdefault(name, []).append(phrase)

    def say(self, chance: Random) -> Speak:
        return chance.choice(self._phrases[chance.choice((None, *AGENTS))])


def _stretches(speech_ms: list[list[int]]) -> list[tuple[int, int]]:
    """Stretches of speech with no pause inside that would end a turn, neither too short nor too long."""
    joined: list[tuple[int, int]] = []
    for from_ms, to_ms in speech_ms:
        if joined and from_ms - joined[-1][1] < PAUSE_MS:
            joined[-1] = (joined[-1][0], to_ms)
        else:
            joined.append((from_ms, to_ms))
    return [(from_ms, to_ms) for from_ms, to_ms in joined if 500 <= to_ms - from_ms <= LONGEST_MS]


def talk(folder: Path, *, minutes: float, seed: int) -> dict[str, list[Step]]:
    """The steps of each human."""
    book = Phrasebook(folder)
    steps: dict[str, list[Step]] = {}
    for name in HUMANS:
        chance = Random(f"{seed} {name}")
        mine = steps[name] = []
        at_s = 0.0
        while True:
            pause_s = chance.expovariate(1 / EVERY_S) + 1.5
            at_s += pause_s + 3.0
            if at_s > minutes * 60:
                break
            mine.append(Silence(round(pause_s * 1000)))
            if chance.random() < TYPED:
                mine.append(Type(f"{chance.choice(AGENTS)}, this is {name} at {round(at_s)}."))
            else:
                mine.append(book.say(chance))
        mine.append(Silence(20_000))
    return steps


def pressed(steps: list[Step]) -> list[Step]:
    """The same with a button: what is spoken is a turn once the button is let go."""
    made: list[Step] = [Send({"type": "client_session_update", "config": {"turn_detection": "none"}})]
    for step in steps:
        made.append(step)
        if isinstance(step, Speak):
            made += [Silence(100), Send({"type": "client_audio_commit"})]
    return made


def chooses(seed: int) -> Callable[[str], Awaitable[str]]:
    """A moderator by chance: one of the agents, or nobody."""
    chance = Random(f"{seed} moderator")

    async def ask(question: str) -> str:
        await asyncio.sleep(chance.random() / 2)
        return chance.choice((*AGENTS, "Nobody"))

    return ask


class Mortal(RealtimeModel):
    """Another model, which dies instead of writing down the words of these turns (from 1 on, over all connections)."""

    def __init__(self, model: RealtimeModel, dies_at: Container[int]) -> None:
        self.voice = model.voice
        self.deaths = 0
        self.turns = 0
        self._connections = 0
        self._model = model
        self._dies_at = dies_at

    @property
    def profile(self) -> Profile:
        return self._model.profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        # A scripted model counts its names from the length of the history; a provider gives none twice.
        before = [Item(id=f"before_{number}") for number in range(NAMES_APART * self._connections)]
        self._connections += 1
        link = await self._model.connect(
            settings=settings, on_event=on_event, history=lambda: [*history(), *before], runtime=runtime
        )
        return _MortalLink(self, link, on_event)

    def takes(self, message: ModelInput) -> bool:
        """Whether it lives on after this."""
        self.turns += isinstance(message, AudioCommit)
        dies = isinstance(message, AudioCommit) and self.turns in self._dies_at
        self.deaths += dies
        return not dies


class _MortalLink:
    def __init__(self, model: Mortal, link: Connection, on_event: OnEvent) -> None:
        self._model, self._link, self._on_event = model, link, on_event

    @property
    def profile(self) -> Profile:
        return self._link.profile

    def send(self, message: ModelInput) -> None:
        if self._model.takes(message):
            self._link.send(message)
        else:
            gone = ModelSessionEndedEvent(session_id="scripted", reason="provider_closed")
            asyncio.get_running_loop().call_later(0.1, self._on_event, gone)

    async def close(self) -> None:
        await self._link.close()


def hearing(stand_ins: Mapping[str, StandIn], users: Mapping[str, Sequence[Step]], folder: Path) -> list[RealtimeAgent]:
    """Agents as `voice_room` makes them of stand-ins, to be changed before it gets them."""
    vocabulary = Vocabulary()
    for steps in users.values():
        for number, step in enumerate(steps, 1):
            if isinstance(step, Speak):
                vocabulary.add(load(step, folder, seed=number), step.text or "")
    return [
        RealtimeAgent(name, "", HearingModel(name, replace(one, turns="none").model(folder), vocabulary))
        for name, one in stand_ins.items()
    ]


def agents(seed: int) -> dict[str, StandIn]:
    """Agents that answer at some length, each time with other words, and hand on to each other now and then."""
    made = {}
    for name in AGENTS:
        chance = Random(f"{seed} {name}")
        answers = []
        for number in range(ANSWERS):
            other = chance.choice([one for one in AGENTS if one != name])
            words = f"This is answer {number} of mine, and there is {chance.choice(('more', 'less', 'nothing'))} to say"
            text = f"{words}, {other}?" if chance.random() < 0.3 else f"{words}."
            answers.append(Say(text, after_ms=chance.randrange(200, 900), pace=chance.choice((1.5, 4.0, None))))
        made[name] = StandIn(answers=tuple(answers), otherwise=Say("I have said all that I had to say, I think."))
    return made
