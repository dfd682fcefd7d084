"""Makes a call's agent, or a human participant, with the application's function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from realtime.agent import RealtimeAgent
from realtime.errors import BadOption
from realtime.room.human_participant import HumanParticipant

AGENT_PARAMETERS = ("user", "known_user", "config", "call_id", "greets")
MakeAgent = Callable[..., RealtimeAgent | HumanParticipant | Awaitable[RealtimeAgent | HumanParticipant]]
"""A function, plain or async, that makes an agent or human participant.

It is given those of `user` (str), `known_user` (str or None: the user, if the client's token names it; `user` may be a
name that the client has made up), `config` (SessionConfig), `call_id` (str) and `greets` (bool: whether clients of this
vocabulary expect an agent that speaks first) that it has parameters for, by name.
"""


def check_make_agent(make_agent: MakeAgent) -> None:
    """Raise BadOption for what cannot make the agent of each call."""
    given: Any = make_agent
    if isinstance(given, RealtimeAgent) or not callable(given):
        raise BadOption(f"make_agent is a function that makes a new agent for each call, not a {type(given).__name__}")
    for one in inspect.signature(make_agent).parameters.values():
        is_open = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if is_open and one.name not in AGENT_PARAMETERS:
            known = ", ".join(AGENT_PARAMETERS)
            raise BadOption(f"make_agent has a parameter {one.name!r} that no call fills: those of calls are {known}")


async def make_agent_of(make_agent: MakeAgent, **known: Any) -> RealtimeAgent | HumanParticipant:
    """Call `make_agent` with the `known` values that its parameters name.

    Raises what it raises, and TypeError where it returns something else.
    """
    parameters = inspect.signature(make_agent).parameters.values()
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    made = make_agent(**{name: value for name, value in known.items() if takes_all or name in names})
    agent = await made if inspect.isawaitable(made) else made
    if not isinstance(agent, RealtimeAgent | HumanParticipant):
        raise TypeError(f"make_agent returned {type(agent).__name__}, not a RealtimeAgent or a participant of a room")
    return agent
