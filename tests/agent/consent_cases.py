"""What people do about an open question, step by step, and what comes of it: the same in a call and in a room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from realtime.audio.playback import AcknowledgedPlayback, PlaybackClock
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from tests.agent.consent_call import BOOK, Speaker, Table, Told, asked_call
from tests.room.asked_room import ROBIN, restaurant

FOUR, THREE = (4, "Friday"), (3, "Friday")
DONE = "Result: booked for 4 on Friday."
PUSH_TO_TALK = {"config": SessionConfig(turn_detection=TurnDetection(authority="client")), "microphone": False}
ONLY_THREE = "Shall I book a table for three people on Friday?"


@dataclass
class Scene:
    """A call or a room, and the people in it by their names: Anna is the user of the call, and who is asked."""

    told: Told
    people: Mapping[str, Any]
    table: Table
    order: str
    receipt: Mapping[str, Any] = field(default_factory=dict)
    """What each receipt holds if nothing else is said."""

    @property
    def anna(self) -> Any:
        return self.people["Anna"]


Step = Callable[[Scene], Awaitable[object]]
Place = Callable[..., AbstractAsyncContextManager[Scene]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is done, and what has come of it in the end."""

    steps: Sequence[Step]
    booked: Sequence[tuple[int, str]] = ()
    receipts: Sequence[Mapping[str, Any]] = ()
    """What each receipt holds, among others."""
    states: str | None = None
    """What became of the questions, in order; None: whatever."""
    said: Sequence[str] | None = None
    ignored: Sequence[str] = ()
    """Why words were no answer."""
    errors: Sequence[str] | None = None
    """What Anna's client was told to be wrong."""
    tool: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class after:
    """What was done. A method says how it ended; what else there is to say of that are fields of a `Case`."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps

    def ends(self, **end: Any) -> Case:
        return Case(steps=self.steps, **end)

    def left_open(self, **end: Any) -> Case:
        """Nothing is booked, and nobody has answered."""
        return self.ends(**end)

    def agreed(self, by: str = "voice", **end: Any) -> Case:
        """The table is booked, by a yes."""
        yes = {"answer": "yes", "answered_by": by, "done": "success"}
        return self.ends(**{"booked": [FOUR], "receipts": [yes]} | end)

    def withdrawn(self, **end: Any) -> Case:
        """Nobody is asked any more, and nothing is booked."""
        return self.ends(receipts=[{"answered_by": "interrupted", "done": "interrupted"}], **end)

    def refused(self, by: str = "voice", **end: Any) -> Case:
        return self.ends(receipts=[{"answer": "no", "answered_by": by, "done": "denied"}], **end)


@asynccontextmanager
async def in_call(table: Table, *, reports: bool = False, **options: Any) -> AsyncIterator[Scene]:
    """`reports`: only what Anna's client reports has been played."""
    clock = AcknowledgedPlayback(24_000) if reports else None
    async with asked_call(table.tools, clock=clock, **options) as made:
        yield Scene(made, {"Anna": made}, table, BOOK)


@asynccontextmanager
async def in_room(table: Table, *, reports: bool = False, **options: Any) -> AsyncIterator[Scene]:
    clocks: dict[str, PlaybackClock] = {"Anna": AcknowledgedPlayback(24_000)} if reports else {}
    async with restaurant(table, clocks=clocks, **options) as (home, guests):
        people = {guest.participant.name: guest for guest in guests}
        yield Scene(home, people, table, ROBIN, {"participant": "Anna"})


async def differences(case: Case, place: Place) -> dict[str, tuple[object, object]]:
    """Do what the case says; return what has come of it, and what should have, where they differ."""
    table = Table(**case.tool)
    async with place(table, **case.options) as scene:
        for step in case.steps:
            await step(scene)
        told = scene.told
        receipts = [{**scene.receipt, **receipt} for receipt in case.receipts]
        outcome = {
            "booked": (table.booked, case.booked),
            "receipts": ([part_of(one, like) for one, like in zip_longest(told.receipts, receipts)], receipts),
            "states": (told.states, told.states if case.states is None else case.states.split()),
            "said": (told.said, told.said if case.said is None else case.said),
            "ignored": ([reason for reason, _ in told.ignored], case.ignored),
            "errors": (scene.anna.errors(), scene.anna.errors() if case.errors is None else case.errors),
        }
    return {name: (got, wanted) for name, (got, wanted) in outcome.items() if got != [*wanted]}


def part_of(receipt: Mapping[str, Any] | None, like: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a receipt holds under the names of `like`; all where nothing is like it."""
    held = dict(receipt or {})
    return held if like is None else {name: held.get(name) for name in like}


# -- the steps ---------------------------------------------------------------------------------------------------------


def says(words: str, after_s: float = 0.0, *, ms: int = 900, far: bool = False, who: str = "Anna") -> Step:
    async def step(scene: Scene) -> None:
        await asyncio.sleep(after_s)
        speaker: Speaker = scene.people[who]
        await speaker.says(words, ms, far=far)

    return step


async def orders(scene: Scene) -> None:
    """Anna asks for a table."""
    await scene.anna.says(scene.order)


async def hangs_up(scene: Scene) -> None:
    await scene.anna.session.end("client_end")


def do(action: Callable[[Scene], object]) -> Step:
    async def step(scene: Scene) -> None:
        action(scene)

    return step


def sends(words: str, *, commits: bool = True) -> Step:
    """All at once, as push-to-talk does."""
    return do(lambda scene: scene.anna.sends(words, commits=commits))


def types(words: str, who: str = "Anna") -> Step:
    return do(lambda scene: scene.people[who].types(words))


def card(confirmed: bool = True, who: str = "Anna") -> Step:
    """The answer on the card."""
    return do(lambda scene: scene.people[who].answers(scene.told.call_of(), confirmed))


def plays(played_ms: int) -> Step:
    """Anna's client reports that so much of the newest sound was played."""

    async def step(scene: Scene) -> None:
        await scene.told.until(lambda: scene.told.of(s.AgentResponseAudioDeltaEvent))
        item_id = scene.told.of(s.AgentResponseAudioDeltaEvent)[-1].item_id
        scene.anna.receive(c.ClientPlaybackAckEvent(item_id=item_id, played_ms=played_ms))

    return step


def pause(seconds: float) -> Step:
    return lambda scene: asyncio.sleep(seconds)


def until(condition: Callable[[Scene], object]) -> Step:
    return lambda scene: scene.told.until(lambda: condition(scene))


def state(name: str, count: int = 1) -> Step:
    """Wait until a question has come to this state."""
    return lambda scene: scene.told.until_state(name, count)


def said(words: str) -> Step:
    """Wait until an agent has said this."""
    return lambda scene: scene.told.until_said(words)


def ignored(count: int = 1) -> Step:
    """Wait until so many words were no answer."""
    return until(lambda scene: len(scene.told.ignored) >= count)


def receipt(count: int = 1) -> Step:
    return lambda scene: scene.told.until_receipt(count)


def is_so(claim: Callable[[Scene], bool]) -> Step:
    """By now this is so."""

    async def step(scene: Scene) -> None:
        assert claim(scene), (scene.table.booked, scene.told.states, scene.told.said)

    return step


def agrees_after(seconds: float) -> Step:
    async def step(scene: Scene) -> None:
        await says("Yes.", seconds)(scene)
        await scene.told.until_receipt()

    return step


def begins(words: str, ms: int = 900, who: str = "Anna") -> Step:
    return do(lambda scene: scene.people[who].begins(words, ms))


def stops_the_reply(who: str = "Anna") -> Step:
    return do(lambda scene: scene.people[who].receive(c.ClientResponseCancelEvent()))


def away(is_away: bool) -> Step:
    """Anna's line is lost, or back."""
    return do(lambda scene: scene.anna.session.participant.set_away(is_away))


agrees = agrees_after(0.0)
asking, heard, heard_again = state("asking"), state("heard"), state("heard", 2)
not_booked = is_so(lambda scene: not scene.table.booked)
loses_the_line = do(lambda scene: scene.anna.session.detach(scene.anna.listener))
