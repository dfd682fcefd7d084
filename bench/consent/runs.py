"""Generated calls without and with consent, among noise, echoes and bystanders; and six voices.

The same number gives the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from bench.consent.calls import (
    ASKED,
    Outcome,
    hear,
    manifest,
    request,
    said,
    seed_of,
    sound_of,
    speak,
    until,
    until_receipt,
    utter,
    voices,
)
from bench.listen import remembered
from bench.stimuli import FOLDER, Channel
from bench.stimuli import manifest as stimuli
from realtime.testing.client.steps import Drop, Loudspeaker, Silence, Step

AnswerKind = Literal["yes", "no", "change", "question", "silence", "echo", "bystander"]
KINDS: tuple[AnswerKind, ...] = ("yes", "no", "change", "question", "silence", "echo", "bystander")
QUESTION_MS = 3_500
"""No less than the question lasts."""
ECHO_SHARE = 0.3
ECHO_DB = (-40, -30, -20, -12, -6)
ECHO_MS = (40, 120, 250)
PAUSE_MS = (320, 3_040)
AFTER_MS = 14_000
"""Time in which the question is asked again, and heard, after the last words."""
COUNTS_MS = 4_000
"""Time in which a yes counts, if it does."""
STEP_MS = 160
"""Pauses are whole steps: then sounds that are heard again are known to the kept recognition."""
GAINS_DB = (-6.0, -3.0, 0.0)
CHANNELS: tuple[Channel, ...] = ("clean", "telephone", "noise")


@dataclass(frozen=True, slots=True)
class Case:
    """One call: its steps, and what has to become of it."""

    name: str
    steps: tuple[Step, ...]
    booked: tuple[tuple[int, str], ...]
    """What the tool has to do."""
    answer: str
    """What the receipt has to say; "" where only what is booked counts."""
    again: tuple[Step, ...] = ()
    """The steps of a user who says the answer again where the question is asked again; none: they do not."""

    def is_met_by(self, outcome: Outcome) -> bool:
        """Whether a call ended as it has to."""
        return outcome.booked == self.booked and self.answer in ("", outcome.answer) and not outcome.failure


@dataclass(frozen=True, slots=True)
class Played:
    """A case and its outcome."""

    name: str
    outcome: Outcome
    is_right: bool
    is_right_again: bool
    """Whether it is right at last: at once, or where the user says the answer again."""
    is_false_consent: bool
    """Whether the tool did something without consent."""


def play_case(case: Case, *, file: Path) -> Played:
    """Play a case with recognition kept in `file`."""
    outcome = hear(case.steps, remembered(file))
    booked = {*outcome.booked}
    is_right = is_right_again = case.is_met_by(outcome)
    if case.again and not is_right:
        second = hear(case.again, remembered(file))
        is_right_again = case.is_met_by(second)
        booked |= {*second.booked}
    return Played(case.name, outcome, is_right, is_right_again, bool(booked - {*case.booked}))


# -- six voices --------------------------------------------------------------------------------------------------------


def spoken_cases(kind: AnswerKind) -> Iterator[Case]:
    """Yield the calls in which each voice answers in this way; each wording once."""
    for voice in voices():
        for number in range(2 if kind in ("yes", "no", "change") else 1):
            yield _spoken_case(kind, voice, number)


def _spoken_case(kind: AnswerKind, voice: str, number: int) -> Case:
    steps: list[Step] = [*request(voice), until("heard"), Silence(600)]
    agreed = [utter(said("yes", voice, number)), until_receipt(), Silence(600)]
    once, nothing = (ASKED,), ()
    match kind:
        case "yes":
            return Case(kind, (*steps, *agreed), once, "yes")
        case "no":
            return Case(kind, (*steps, utter(said("no", voice, number)), until_receipt()), nothing, "no")
        case "change":
            changed = said("change", voice, number)
            people = 2 if "two" in changed.text else 5
            again = (utter(changed), until("heard"), Silence(600))
            return Case(kind, (*steps, *again, *agreed), ((people, ASKED[1]),), "yes")
        case "question":
            again = (utter(said("question", voice)), until("heard"), Silence(600))
            return Case(kind, (*steps, *again, *agreed), once, "yes")
        case "silence":
            return Case(kind, (*steps, until_receipt()), nothing, "silence")
        case "echo":
            return Case(kind, (Loudspeaker(-12, 120), *steps, until_receipt()), nothing, "silence")
        case "bystander":
            other = voices()[(voices().index(voice) + 3) % len(voices())]
            return Case(kind, (*steps, utter(said("yes", other), "far"), until_receipt()), nothing, "silence")


# -- generated calls ---------------------------------------------------------------------------------------------------


def generated_cases(count: int, *, consents: bool = False) -> Iterator[Case]:
    """Yield calls with one to three disturbances, an echo in most; in none, or in all, the user says yes at last."""
    for number in range(count):
        yield _generated(number, consents)


def _generated(number: int, consents: bool) -> Case:
    chance = np.random.default_rng(seed_of("consent", consents, number))
    voice = str(chance.choice(voices()))
    line = CHANNELS[int(chance.integers(len(CHANNELS)))]
    disturb = partial(_disturbance, chance, voice, line)
    steps: list[Step] = []
    if chance.random() < ECHO_SHARE:
        steps.append(Loudspeaker(int(chance.choice(ECHO_DB)), int(chance.choice(ECHO_MS))))
    steps += request(voice)
    names: list[str] = []
    if chance.random() < 0.5 and not consents:
        steps += [until("asking"), _pause(chance, 160, 2_240)]
        names += disturb(steps, during=True)
        steps.append(Silence(QUESTION_MS))
    else:
        steps.append(until("heard"))
    for _ in range(int(chance.integers(1, 3))):
        steps.append(_pause(chance, *PAUSE_MS))
        names += disturb(steps, during=False)
    if consents:
        agrees, counts = utter(said("yes", voice, number), line), Silence(COUNTS_MS)
        steps += [Silence(1_500), agrees]
        again = (*steps, until("heard"), Silence(600), agrees, counts)
        return Case(f"{'+'.join(names)}, yes", (*steps, counts), (ASKED,), "", again)
    last: Literal["", "no", "question"] = ("", "", "no", "question")[int(chance.integers(4))]
    if last:
        steps += [_pause(chance, *PAUSE_MS), utter(said(last, voice, number), line)]
    steps.append(Silence(AFTER_MS))
    return Case(f"{'+'.join(names)}, {last or 'nothing'}", tuple(steps), (), "")


def _pause(chance: np.random.Generator, from_ms: int, to_ms: int) -> Silence:
    return Silence(int(chance.integers(from_ms // STEP_MS, to_ms // STEP_MS)) * STEP_MS)


def _disturbance(
    chance: np.random.Generator, voice: str, line: Channel, steps: list[Step], *, during: bool
) -> list[str]:
    """Add one disturbance; return its name. A near yes comes only before the question is over."""
    kinds: dict[str, Callable[[], Step]] = {
        "bystander": lambda: _bystander(chance, voice),
        "noise": lambda: _listed(chance, ("noise", "tic")),
        "side talk": lambda: _side(chance, voice),
        "lost socket": lambda: Drop(away_ms=int(chance.integers(300, 1_500))),
    }
    shares = [0.5, 0.3, 0.15, 0.05]
    if during:
        kinds["early yes"] = lambda: utter(said("yes", voice, int(chance.integers(2))), line)
        kinds["backchannel"] = lambda: _listed(chance, ("backchannel",), voice)
        shares = [0.25, 0.15, 0.1, 0.1, 0.25, 0.15]
    name = str(chance.choice([*kinds], p=shares))
    steps.append(kinds[name]())
    return [name]


def _bystander(chance: np.random.Generator, voice: str) -> Step:
    """Somebody in the room says yes, 10 to 16 dB below the user, with 0.3 s of reverberation."""
    agreeing = [one for one in manifest() if one.kind == "yes" and one.voice != voice]
    one = agreeing[int(chance.integers(len(agreeing)))]
    return utter(one, "far", float(chance.choice(GAINS_DB)))


def _listed(chance: np.random.Generator, classes: tuple[str, ...], voice: str = "") -> Step:
    """A sound of the stimuli of listening."""
    found = [one for one in stimuli() if one.kind in classes and one.voice in ("", voice)]
    one = found[int(chance.integers(len(found)))]
    return speak(sound_of(FOLDER / one.file), one.text, "clean", float(chance.choice(GAINS_DB)) + 3)


def _side(chance: np.random.Generator, voice: str) -> Step:
    """The user speaks to somebody else, as near as to the agent."""
    return _listed(chance, ("side",), voice)
