"""Who may speak next in a room: a policy is one function over what the room knows.

    def only_the_boss(state: FloorState) -> str | None:
        return "Ada" if state.last is not None and state.last.kind == "human" else None

It is asked whenever a turn is over and no human speaks. It answers with the name or the id of an agent, or None for
nobody; it may be async. Humans need no policy: whoever speaks has the floor. Whatever a policy answers, no more than
`ChatRoom(max_agent_turns=...)` agents speak one after another without a human.

Pure: nothing here waits, but for a moderator that is asked.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["human", "agent"]
MAX_AGENT_TURNS = 4
"""So many agents may speak one after another before a human has to."""


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody in a room. `away`: an agent whose model is lost, a human whose socket is; `muted`: not heard."""

    id: str
    name: str
    kind: Kind
    away: bool = False
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that is over: the words that were heard of it."""

    id: str
    name: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class FloorState:
    """What a room knows when somebody may speak. `said` are the latest turns in order; `agent_turns` counts those of
    agents since a human spoke; `addressed` is the id of the agent that was spoken to last."""

    participants: tuple[Participant, ...]
    said: tuple[Said, ...] = ()
    agent_turns: int = 0
    addressed: str | None = None

    @property
    def agents(self) -> tuple[Participant, ...]:
        """The agents that can speak, in the order of the room."""
        return tuple(one for one in self.participants if one.kind == "agent" and not (one.away or one.muted))

    @property
    def last(self) -> Said | None:
        """The turn that is over now; None where nothing was said yet."""
        return self.said[-1] if self.said else None

    def find(self, speaker: str | None) -> Participant | None:
        """The agent of this id or name that can speak."""
        if speaker is None:
            return None
        wanted = speaker.casefold()
        return next((one for one in self.agents if one.id == speaker or one.name.casefold() == wanted), None)


Policy = Callable[[FloorState], str | Awaitable[str | None] | None]


def broadcast(state: FloorState) -> str | None:
    """Everybody answers everybody, one after the other in the order of the room: a human is answered by all agents,
    each of whom has heard those before; then they go on among themselves until the room's limit."""
    return _next_after(state, state.last)


def round_robin(state: FloorState) -> str | None:
    """Each turn of a human is answered by one agent, in turns."""
    if state.last is None or state.last.kind == "agent":
        return None
    before = next((one for one in reversed(state.said) if one.kind == "agent"), None)
    return _next_after(state, before)


def addressed(state: FloorState) -> str | None:
    """The agent that is named answers, and goes on answering until another is named; at first, the first of the room.

    An agent that names another gives it the floor; one that names nobody gives it back.
    """
    last = state.last
    if last is None:
        return None
    named = named_in(last.text, state.agents)
    if last.kind == "agent":
        return named.id if named is not None and named.id != last.id else None
    if named is not None:
        return named.id
    sticky = state.find(state.addressed)
    if sticky is not None:
        return sticky.id
    return state.agents[0].id if state.agents else None


def moderator(ask: Callable[[str], Awaitable[str]]) -> Policy:
    """A policy in which somebody decides who is asked in words: `ask` gets the talk and the names of the agents, and
    answers with one of the names, or with anything else for nobody. docs/rooms.md shows an agent that does.

    One function over the state is a moderator as well, and needs no words: give it to the room as it is.
    """

    async def decide(state: FloorState) -> str | None:
        if not state.agents:
            return None
        answer = await ask(_question(state))
        named = named_in(answer, state.agents)
        return named.id if named is not None else None

    return decide


POLICIES: dict[str, Policy] = {"broadcast": broadcast, "addressed": addressed, "round_robin": round_robin}
"""By the names that templates and commands use."""


def named_in(text: str, participants: tuple[Participant, ...]) -> Participant | None:
    """Who is spoken to: the one that is named first in the text. Case does not count; longer names come first, so that
    `Anna Lee` is not taken for `Anna`."""
    found: list[tuple[int, int, Participant]] = []
    for one in participants:
        match = re.search(rf"(?<!\w){re.escape(one.name)}(?!\w)", text, re.IGNORECASE)
        if match is not None:
            found.append((match.start(), -len(one.name), one))
    return min(found, key=lambda entry: entry[:2])[2] if found else None


def with_turn(state: FloorState, said: Said, *, keep: int = 50) -> FloorState:
    """The state after a turn: agents' turns are counted, and who was spoken to is remembered."""
    named = named_in(said.text, tuple(one for one in state.agents if one.id != said.id))
    spoken_to = said.id if said.kind == "agent" else state.addressed
    if named is not None:
        spoken_to = named.id
    return replace(
        state,
        said=(*state.said, said)[-keep:],
        agent_turns=state.agent_turns + 1 if said.kind == "agent" else 0,
        addressed=spoken_to,
    )


def _next_after(state: FloorState, before: Said | None) -> str | None:
    """The agent that comes after this one in the order of the room; the first after a human. Nobody answers itself."""
    agents = state.agents
    ids = [one.id for one in agents]
    at = ids.index(before.id) + 1 if before is not None and before.id in ids else 0
    following = agents[at % len(agents)] if agents else None
    if following is None or (state.last is not None and following.id == state.last.id):
        return None
    return following.id


def _question(state: FloorState) -> str:
    talk = "\n".join(f"[{one.name}]: {one.text}" for one in state.said)
    names = ", ".join(one.name for one in state.agents)
    return f"{talk}\n\nWho of these should speak next: {names}? Answer with one name, or with: nobody."
