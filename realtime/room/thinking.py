"""Thinking agents as participants of a room: those that speak, and observers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from realtime.agent.base import AgentBase
from realtime.agent.react import ReActAgent
from realtime.agent.realtime import RealtimeAgent
from realtime.errors import UsageError
from realtime.model.base import RealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.local.voice import HIBARI_VOICES
from realtime.options import checked
from realtime.room.thinker import Thinker


class Observer:
    """A thinking agent that listens in a room in silence.

    It observes every turn, and speaks only where it is called by name. Raises UsageError for an agent that does not
    implement `observe`.
    """

    @checked()
    def __init__(self, agent: AgentBase) -> None:
        if getattr(type(agent), "observe", AgentBase.observe) is AgentBase.observe:
            raise UsageError(f"{type(agent).__name__} cannot observe: an observer is an AgentBase with `observe`")
        self.agent = agent

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.agent.name

    @name.setter
    def name(self, name: str) -> None:
        self.agent.name = name


RoomAgent = RealtimeAgent | AgentBase | Observer
"""What a room takes as an agent."""
MakeVoice = Callable[[Thinker], RealtimeModel]
"""Makes the model through which a thinking agent speaks; its language model is the argument."""


class ThinkingAgent(RealtimeAgent):
    """A thinking agent as a room has it: with a model that is its voice. Its state has that of the agent."""

    def __init__(self, agent: AgentBase, make_voice: MakeVoice, *, tool_timeout_s: float, is_silent: bool) -> None:
        thinker = Thinker(agent)
        super().__init__(agent.name, "", make_voice(thinker), tool_timeout_s=tool_timeout_s)
        self.thinker = thinker
        self.thinking = agent
        self.thinking_notebook = agent.plan_notebook if isinstance(agent, ReActAgent) else None
        self.is_silent = is_silent


def as_realtime(agent: RoomAgent, make_voice: MakeVoice, tool_timeout_s: float) -> RealtimeAgent:
    """Return an agent that a room can let speak. Raises UsageError for anything that is not an agent.

    `tool_timeout_s` is how long the tools of a thinking agent may run.
    """
    match agent:
        case RealtimeAgent():
            if agent.spec.long_term_memory is not None:
                raise UsageError(
                    f"{agent.name!r} has a long_term_memory, which is one of a user: in a room many speak, and it "
                    "would be told to all. Leave it out",
                    code="bad_agent",
                )
            return agent
        case Observer(agent=thinking):
            return ThinkingAgent(thinking, make_voice, tool_timeout_s=tool_timeout_s, is_silent=True)
        case AgentBase():
            return ThinkingAgent(agent, make_voice, tool_timeout_s=tool_timeout_s, is_silent=False)
    raise UsageError(f"a room takes agents, not {type(agent).__name__}", code="bad_agent")


def observing(agent: RealtimeAgent) -> dict[str, Any]:
    """Return what `ChatRoom.describe` says of a thinking agent besides its voice."""
    if not isinstance(agent, ThinkingAgent):
        return {}
    return {"observes": agent.is_silent, "lost_turns": agent.thinker.lost_turns}


def embedded_voices(engine: SpeechEngine | None = None) -> MakeVoice:
    """Return a `MakeVoice` that hands out the embedded voices in turn."""
    number = count()

    def make(thinker: Thinker) -> RealtimeModel:
        voices = [*HIBARI_VOICES]
        # A draft would be a reply, which the agent remembers.
        voice = voices[next(number) % len(voices)]
        return LocalRealtimeModel(voice, language_model=thinker, speculation="off", engine=engine)

    return make
