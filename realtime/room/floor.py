"""Who may speak next in a room: a policy is one function over what the room knows.

    def only_the_boss(state: FloorState) -> str | None:
        return "Ada" if state.last is not None and state.last.kind == "human" else None

It is asked when a turn is over and no human speaks. It returns the name or the id of an agent, one of `state.agents`,
or None for no agent; it may be async. Humans need no policy: a human who speaks has the floor. Whatever a policy
returns, no more than `ChatRoom(max_agent_turns=...)` agents speak one after another without a human.

Pure: nothing here waits, except for a moderator.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from realtime.message.speakers import spoken_by
from realtime.options import checked
from realtime.room.addressee import called_in

# Policies are written with these two: docs/rooms.md imports them from here.
from realtime.room.participant import Kind, folded
from realtime.room.participant import Participant as Participant
from realtime.room.participant import named_in as named_in

MAX_AGENT_TURNS = 4
"""How many agents may speak one after another without a human."""


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that is over: the words that were heard of it."""

    id: str
    name: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class FloorState:
    """What a policy chooses by.

    `said` are the latest turns in order; `agent_turns` counts those of agents since a human spoke; `addressed` is the
    id of the agent that was spoken to last.
    """

    participants: tuple[Participant, ...]
    said: tuple[Said, ...] = ()
    agent_turns: int = 0
    addressed: str | None = None

    @property
    def agents(self) -> tuple[Participant, ...]:
        """The agents that can speak, in the order of the room; a silent one only when it is called."""
        called = self.addressees
        return tuple(one for one in self.participants if _is_able(one) and (one in called or not one.silent))

    @property
    def called(self) -> Participant | None:
        """The silent agent that the last turn calls: "Friday, ...", "what do you think Friday"."""
        silent = (one for one in self.addressees if one.silent and _is_able(one))
        return next(silent, None)

    @property
    def addressees(self) -> tuple[Participant, ...]:
        """Whom the last turn calls by name, in that order; never its speaker."""
        last = self.last
        if last is None:
            return ()
        return tuple(one for one in called_in(last.text, self.participants) if one.id != last.id)

    @property
    def is_among_humans(self) -> bool:
        """Whether the last turn calls only humans: then no agent answers."""
        called = self.addressees
        is_human = self.last is not None and self.last.kind == "human"
        return is_human and bool(called) and all(one.kind == "human" for one in called)

    @property
    def last(self) -> Said | None:
        """The turn that is over now; None where nothing was said yet."""
        return self.said[-1] if self.said else None

    def find(self, speaker: str | None) -> Participant | None:
        """The agent of this id or name that can speak."""
        if speaker is None:
            return None
        wanted = folded(speaker)
        return next((one for one in self.agents if one.id == speaker or folded(one.name) == wanted), None)


Choice = str | Participant | None
"""A policy's choice: the name or the id of an agent, the agent itself, or None for no agent."""
Policy = Callable[[FloorState], Choice | Awaitable[Choice]]


def named_by(choice: object) -> str | None:
    """The name or id of a policy's choice. Raises TypeError for any other type."""
    if isinstance(choice, Participant):
        return choice.id
    if choice is None or isinstance(choice, str):
        return choice
    raise TypeError(f"a floor policy answers with a name, a participant or None, and not with {type(choice).__name__}")


def broadcast(state: FloorState) -> str | None:
    """All agents answer in turn, in the order of the room.

    Each has heard those before it; then they continue among themselves until the room's limit.

    A room with more agents than `ChatRoom(max_agent_turns=...)` (4) needs a higher limit, else the last of them never
    answer.
    """
    if state.is_among_humans:
        return None
    return state.called.id if state.called is not None else _next_after(state, state.last)


def round_robin(state: FloorState) -> str | None:
    """One agent answers each turn of a human, in turns."""
    if state.last is None or state.last.kind == "agent" or state.is_among_humans:
        return None
    if state.called is not None:
        return state.called.id
    silent = {one.id for one in state.participants if one.silent}
    before = next((one for one in reversed(state.said) if one.kind == "agent" and one.id not in silent), None)
    return _next_after(state, before)


def addressed(state: FloorState) -> str | None:
    """The agent that was called last answers; at first, the first of the room.

    An agent that calls or names another gives it the floor; one that names none gives it back.
    """
    last = state.last
    if last is None or state.is_among_humans:
        return None
    named = state.called or _spoken_to(state, last)
    if named is not None or last.kind == "agent":
        return named.id if named is not None else None
    sticky = state.find(state.addressed)
    if sticky is not None:
        return sticky.id
    return state.agents[0].id if state.agents else None


@checked()
def moderator(ask: Callable[[str], Awaitable[str]]) -> Policy:
    """A policy that asks a moderator in words.

    `ask` gets the talk and the names of the agents, and returns a text that names one of them, or none. docs/rooms.md
    shows an agent that does.

    One function over the state is a moderator as well, and needs no words: give it to the room as it is.
    """

    async def decide(state: FloorState) -> str | None:
        if not state.agents:
            return None
        answer = await ask(_question(state))
        named = named_in(answer, state.agents, besides=state.participants)
        return named.id if named is not None else None

    return decide


POLICIES: dict[str, Policy] = {"broadcast": broadcast, "addressed": addressed, "round_robin": round_robin}
"""By the names that templates and commands use."""


def with_turn(state: FloorState, said: Said, *, keep: int = 50) -> FloorState:
    """The state after a turn: counts agents' turns and remembers the agent that was spoken to.

    A silent agent is not remembered: it answers once.
    """
    named = _spoken_to(state, said)
    is_silent = any(one.silent and one.id == said.id for one in state.participants)
    spoken_to = said.id if said.kind == "agent" and not is_silent else state.addressed
    if named is not None:
        spoken_to = named.id
    return replace(
        state,
        said=(*state.said, said)[-keep:],
        agent_turns=state.agent_turns + 1 if said.kind == "agent" else 0,
        addressed=spoken_to,
    )


def _is_able(one: Participant) -> bool:
    return one.kind == "agent" and not (one.away or one.muted)


def _next_after(state: FloorState, before: Said | None) -> str | None:
    """The next agent in the order of the room; after a human, the first.

    The agent before it may be away or muted by now. No agent answers itself.
    """
    able = state.agents
    order = [one for one in state.participants if one.kind == "agent"]
    ids = [one.id for one in order]
    at = ids.index(before.id) + 1 if before is not None and before.id in ids else 0
    following = next((one for one in (*order[at:], *order[:at]) if one in able), None)
    if following is None or (state.last is not None and following.id == state.last.id):
        return None
    return following.id


def _spoken_to(state: FloorState, said: Said) -> Participant | None:
    """The agent that a turn is to, and that is not silent; an agent does not address itself.

    A human calls it; agents, which write whole sentences, may only name it.
    """
    others = tuple(one for one in state.agents if one.id != said.id and not one.silent)
    called = next((one for one in called_in(said.text, state.participants) if one in others), None)
    if called is not None or said.kind == "human":
        return called
    return named_in(said.text, others, besides=state.participants)


def _question(state: FloorState) -> str:
    talk = "\n".join(spoken_by(one.name, one.text) for one in state.said)
    names = ", ".join(one.name for one in state.agents)
    return f"{talk}\n\nWho of these should speak next: {names}? Answer with one name, or with: nobody."
