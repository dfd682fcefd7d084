"""Whether a mistake in the turn table can change anything at all: every order of things around a turn is tried.

A turn and one with another table go through the same things side by side. Around them stands what the agent knows:
whether a response is asked for, running or waiting for its tools, whether sound waits to be heard and how much was. A
model is taken to run one response at a time and to announce it before it is heard.

What counts is what is done, as far as there is anything to do it to: `cancel` needs a running response, `drop` one
that is on its way, `truncate` an answer that is not heard to its end. Beside that the
agent looks at the state itself in one place: a provider that lost its line while the turn was thinking owes an answer.
(It looks once more when nothing is on its way and the client cancels, to tell a model that is silent to be silent.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from realtime.event.config import TurnAuthority
from realtime.turn.machine import Action, Signal, State, Turn
from tests.calls.mutants import Mutant, Row

SOON_S, LATE_S = 0.1, 10.0
"""After the end of the turn: within what counts as hasty, and not."""
PLAYED_MS = (0, 200, 2_000)


@dataclass(frozen=True)
class Around:
    """What is known around the turn."""

    authority: TurnAuthority
    interrupts: bool = True
    creates: bool = True
    speaking: bool = False
    awaited: bool = False
    active: bool = False
    tools: bool = False
    unheard: bool = False
    heard: int = 0
    cut: bool = False
    """A voice has cut a reply, and its words are unknown."""

    @property
    def responding(self) -> bool:
        return self.awaited or self.active or self.tools


@dataclass(frozen=True)
class Stand:
    """All of a turn that what comes can depend on. `fresh`: it ended just now, and can be withdrawn."""

    state: State = State.LISTENING
    fresh: bool = False


Happening = tuple[Signal | str, Around]
"""A signal, or what else happens, with what is known then."""
Outcome = tuple[tuple[str, ...], Around, Stand]


def happenings(around: Around) -> Iterator[Happening]:
    """Everything that can come next."""
    by_voice = around.authority != "client"
    if by_voice and not around.speaking:
        yield Signal.SPEECH_STARTED, replace(around, speaking=True)
    if by_voice and around.speaking:
        yield Signal.SPEECH_STOPPED, replace(around, speaking=False)
        yield Signal.CLEAR, replace(around, speaking=False)
    if around.cut and not around.speaking:
        yield Signal.MISTAKEN, around
    for signal in (Signal.COMMIT, Signal.TEXT, Signal.REQUEST, Signal.CANCEL):
        yield signal, around
    if not around.active and (around.awaited or around.authority == "provider"):
        yield Signal.RESPONSE_CREATED, replace(around, awaited=False, active=True)
    if around.active:
        yield Signal.RESPONSE_AUDIO, around
        yield "more sound", replace(around, unheard=True)
        yield Signal.RESPONSE_DONE, replace(around, active=False)
        yield "tools", replace(around, tools=True)
    if around.awaited:
        yield Signal.RESPONSE_DONE, replace(around, awaited=False)
    if around.tools and not around.active:
        yield "tools returned", replace(around, tools=False, awaited=True)
        yield Signal.RESPONSE_DONE, replace(around, tools=False)
    if around.unheard:
        yield "heard", replace(around, heard=min(2, around.heard + 1))
        yield "heard to its end", replace(around, unheard=False, heard=min(2, around.heard + 1))
    yield "link lost", around
    yield "settings", replace(around, interrupts=not around.interrupts)
    yield "settings", replace(around, creates=not around.creates)
    if around.authority != "server":
        yield "settings", replace(around, authority="client" if around.authority == "provider" else "provider")


def outcomes(around: Around, stand: Stand) -> Iterator[tuple[Signal | str, bool, Outcome]]:
    """What becomes of each of them, soon after the end of the turn and later."""
    for what, known in happenings(around):
        for late in (False, True):
            yield what, late, _outcome(what, known, stand, late)


def _outcome(what: Signal | str, around: Around, stand: Stand, late: bool) -> Outcome:
    seen: tuple[str, ...] = ()
    if what == "link lost":
        owed = stand.state is State.THINKING and not around.responding and around.authority == "provider"
        seen = ("owed",) if owed and around.creates else ()
        around = replace(around, active=False, tools=False, awaited=around.active or around.awaited or bool(seen))
        what = Signal.RESPONSE_DONE
    if not isinstance(what, Signal):
        return seen, around, replace(stand, fresh=stand.fresh and not late and what != "tools")
    turn = Turn(around.authority, stand.state, 0, 0.0 if stand.fresh else None, stand.fresh)
    turn.interrupts, turn.creates = around.interrupts, around.creates
    now = LATE_S if late else SOON_S
    actions: tuple[Action, ...] = ()
    # After a clear the turn is told at once where nothing is awaited; the rest of a cut reply begins at once.
    followed = {
        Signal.CLEAR: (Signal.RESPONSE_DONE,),
        Signal.MISTAKEN: (Signal.RESPONSE_CREATED, Signal.RESPONSE_AUDIO),
    }
    for signal in (what, *(followed.get(what, ()))):
        if signal is Signal.RESPONSE_CREATED and what is Signal.MISTAKEN and Action.RESUME not in actions:
            break
        actions += turn.receive(
            signal,
            now,
            responding=around.responding,
            played_ms=PLAYED_MS[around.heard],
            unplayed_ms=500 if around.unheard else 0,
        )
    effective = [action for action in actions if _matters(action, around)]
    return (*seen, *effective), _after(what, around, effective), Stand(turn.state, _is_fresh(turn, now))


def _matters(action: Action, around: Around) -> bool:
    match action:
        case Action.TRUNCATE:
            return around.unheard
        case Action.CANCEL:
            return around.active
        case Action.DROP:
            return around.responding
        case _:
            return True


def _after(signal: Signal, around: Around, actions: list[Action]) -> Around:
    if Action.FLUSH in actions:
        around = replace(around, unheard=False)
    if Action.DROP in actions:
        around = replace(around, awaited=False, active=False, tools=False)
    if signal is Signal.SPEECH_STARTED:
        around = replace(around, cut=around.cut or Action.TRUNCATE in actions)
    elif signal not in (Signal.SPEECH_STOPPED, Signal.RESPONSE_CREATED, Signal.RESPONSE_DONE, Signal.PLAYED_OUT):
        around = replace(around, cut=False)
    if Action.RESUME in actions:
        around = replace(around, unheard=True, heard=0)
    goes_on = not around.interrupts and (around.responding or around.unheard)
    if Action.FLUSH in actions or (not goes_on and (signal is Signal.SPEECH_STARTED or Action.CREATE in actions)):
        around = replace(around, heard=0)
    return replace(around, awaited=True) if Action.CREATE in actions else around


def _is_fresh(turn: Turn, now: float) -> bool:
    return turn.withdrawable and turn.turn_ended_at is not None and now - turn.turn_ended_at <= SOON_S


@cache
def reachable() -> frozenset[tuple[Around, Stand]]:
    """Everything that can be, with the table as it is."""
    new = [(Around(authority), Stand()) for authority in ("provider", "server", "client")]
    found = set(new)
    while new:
        around, stand = new.pop()
        for _, _, (_, then, after) in outcomes(around, stand):
            if (then, after) not in found:
                found.add((then, after))
                new.append((then, after))
    return frozenset(found)


@cache
def _right_outcomes(around: Around, stand: Stand) -> tuple[tuple[Signal | str, bool, Outcome], ...]:
    return tuple(outcomes(around, stand))


def _takes(row: Row, stand: Stand) -> bool:
    """Whether the row can be taken from here: an answer that was heard to its end is noticed with the next signal."""
    played_out = stand.state is State.AGENT_SPEAKING and row[0] is State.LISTENING
    return stand.state is row[0] or played_out


def difference(mutant: Mutant) -> tuple[str, ...] | None:
    """A shortest way to something that is done otherwise; null where there is none."""
    met: set[tuple[Around, Stand, Stand]] = set()
    ways: list[tuple[tuple[Around, Stand, Stand], tuple[str, ...]]] = [
        ((around, stand, stand), (f"{around}", f"{stand}"))
        for around, stand in reachable()
        if _takes(mutant.row, stand)
    ]
    while ways:
        further = []
        for (around, right, wrong), way in ways:
            rights = _right_outcomes(around, right)
            with mutant.in_place():
                wrongs = [*outcomes(around, wrong)]
            for (what, late, one), (_, _, other) in zip(rights, wrongs, strict=True):
                step = (*way, f"{what}{', late' if late else ''}")
                if one[:2] != other[:2]:
                    return (*step, f"{one}", f"{other}")
                pair = (one[1], one[2], other[2])
                if one[2] != other[2] and pair not in met:
                    met.add(pair)
                    further.append((pair, step))
        ways = further
    return None
