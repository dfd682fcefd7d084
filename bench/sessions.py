"""What remembering a caller costs: how long saving holds up the calls beside it, and how long loading takes."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.report import Check, Section, median
from realtime.agent import RealtimeAgent
from realtime.agent.heard import items_to_json
from realtime.call.listener import queue_listener
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.scripted import ScriptedModel, Speak, Step
from realtime.runtime import Runtime
from realtime.server.caller_sessions import AGENT, KEPT_ITEMS, CallerSessions
from realtime.state.open import open_session
from realtime.state.sessions import StoredSession

STORES = ("json", "sqlite")
SAVE_LIMIT_MS, LOAD_LIMIT_MS = 5.0, 50.0
TURNS = 1_000
"""Turns of the session that is loaded: each of a user and of the agent."""
TICK_S = 0.001
WINDOW = 10
"""Replies of which the longest stop counts."""
HOW = (
    "A call with {kept} items of conversation, whose user types and is answered, {replies} replies with a session in "
    "the store and as many without one, in turns. Held up is the longest time between a tick of 1 ms and the next one "
    "from the user's words until the reply is over and saved; the floor is the same without a session. What a save "
    "adds is the difference of the longest in {window} replies, median of all such windows. Loading is "
    "reading a session of {turns:,} turns into an agent; its floor is `json.loads` of the same bytes. The median of "
    "{loads} loads."
)


async def measure_sessions(replies: int = 200, loads: int = 30, turns: int = TURNS) -> Section:
    """Measure saving beside `replies` replies, and `loads` loads of a session of so many turns."""
    how = HOW.format(kept=KEPT_ITEMS, replies=replies, turns=turns, loads=loads, window=WINDOW)
    held_up = ("held up ms, p50", "p99", "floor ms, p50", "p99")
    header = ("store", *held_up, "saved after ms", "load ms", "floor ms", "kB")
    section = Section("sessions", "Remembering callers", how, header)
    for name in STORES:
        with tempfile.TemporaryDirectory() as folder:
            session = open_session(f"{name}:{folder}/sessions")
            held, floor, saved = await _saving(session, replies)
            load_ms, parse_ms, n_bytes = await _loading(session, loads, turns)
            await session.aclose()
        # The longest of each window, so that what else the machine does in one of them decides nothing.
        pairs = zip(_longest(held), _longest(floor), strict=True)
        added_ms = median([one - other for one, other in pairs])
        cells = (median(held), _p99(held), median(floor), _p99(floor), median(saved), load_ms, parse_ms, n_bytes / 1e3)
        section.rows.append((name, *(f"{cell:.2f}" for cell in cells)))
        section.checks += [
            Check(f"a save holds up a call beyond the floor, {name}", added_ms, SAVE_LIMIT_MS, " ms"),
            Check(f"load of {turns:,} turns, {name}", load_ms, LOAD_LIMIT_MS, " ms"),
        ]
        section.data[name] = {"held_ms": held, "floor_ms": floor, "saved_ms": saved}
    return section


def talk(turns: int) -> list[Item]:
    """Return a conversation of so many turns."""
    text = "This is one sentence of a conversation about the books of a small shop, and it has an end."
    return [
        Item(id=f"item_{number:032x}", role=role, content=(ContentPart(type="text", text=f"{number}. {text}"),))
        for number in range(2 * turns)
        for role in (("user", "assistant")[number % 2],)
    ]


# -- saving ------------------------------------------------------------------------------------------------------------


async def _saving(session: StoredSession, replies: int) -> tuple[list[float], list[float], list[float]]:
    """Return ms that each reply was held up with a session and without, and ms from its end until it was saved."""
    held, floor, saved = [], [], []
    callers = CallerSessions(session)
    async with _call(callers) as remembered, _call(None) as other:
        for number in range(replies):
            for call in (remembered, other)[:: 1 if number % 2 else -1]:
                stopped_ms, later_ms = await _reply(call, callers if call is remembered else None)
                (held if call is remembered else floor).append(stopped_ms)
                if call is remembered:
                    saved.append(later_ms)
    await callers.close()
    return held, floor, saved


@asynccontextmanager
async def _call(callers: CallerSessions | None) -> AsyncIterator[Session]:
    """A call that begins with a conversation, and is remembered by `callers`."""

    def answer(message: ModelInput) -> list[Step]:
        return [Speak("That is an answer.", 0.1, pace=10.0)] if isinstance(message, ResponseCreate) else []

    agent = RealtimeAgent("Friday", "Be brief.", ScriptedModel(answer, strict=False))
    one = None if callers is None else await callers.begin(agent, "ann")
    agent = agent if one is None else one.agent
    agent.conversation = talk(KEPT_ITEMS // 2)
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    call = Session(participant=agent.run(), runtime=runtime, session_id="s", private=True)
    if one is not None:
        one.follow(call)
    call.attach(queue_listener(lambda _: None, runtime))
    await call.start(SessionConfig())
    try:
        yield call
    finally:
        await call.end("over")


async def _reply(call: Session, callers: CallerSessions | None) -> tuple[float, float]:
    """Let the user type; return ms of the longest stop of the loop, and from the end of the reply until it is saved."""
    stops: list[float] = []
    done = asyncio.Event()
    unfollow = call.log.subscribe(
        lambda event: done.set() if isinstance(event, s.AgentResponseDoneEvent) else None, audio=False
    )
    ticking = asyncio.create_task(_tick(stops))
    call.receive(c.ClientTextAppendEvent(text="Go on."))
    await done.wait()
    unfollow()
    began = time.perf_counter()
    if callers is not None:
        await callers.close()  # waits for what is being saved
    later_s = time.perf_counter() - began
    await asyncio.sleep(5 * TICK_S)
    ticking.cancel()
    return max(stops) * 1_000, later_s * 1_000


async def _tick(stops: list[float]) -> None:
    before = time.perf_counter()
    while True:
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        stops.append(now - before - TICK_S)
        before = now


# -- loading -----------------------------------------------------------------------------------------------------------


async def _loading(session: StoredSession, loads: int, turns: int) -> tuple[float, float, int]:
    """Return the median ms to load a session, those to parse its bytes, and their number."""
    await session.save_session_state("long", user_id="ann", **{AGENT: _State(turns)})
    (data,) = [one for name, one in (await session.sessions_of("ann")).items() if name == "long"]
    load_ms, parse_ms = [], []
    for _ in range(loads):
        agent = RealtimeAgent("Friday", "Be brief.", ScriptedModel([]))
        began = time.perf_counter()
        await session.load_session_state("long", user_id="ann", **{AGENT: agent})
        load_ms.append((time.perf_counter() - began) * 1_000)
        if len(agent.history) != 2 * turns:
            raise ValueError(f"the agent knows {len(agent.history)} items, not {2 * turns}")
        parse_ms.append(_ms(lambda: json.loads(data)))
    return median(load_ms), median(parse_ms), len(data)


class _State:
    """The state of an agent that has talked for long."""

    def __init__(self, turns: int) -> None:
        agent = RealtimeAgent("Friday", "Be brief.", ScriptedModel([]))
        self._state = {**agent.state_dict(), "conversation": items_to_json(talk(turns))}

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        return self._state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Refuse: it is only saved."""
        raise NotImplementedError


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000


def _longest(found: Sequence[float]) -> list[float]:
    return [max(found[at : at + WINDOW]) for at in range(0, len(found), WINDOW)]


def _p99(found: Sequence[float]) -> float:
    return sorted(found)[max(0, len(found) * 99 // 100 - 1)]
