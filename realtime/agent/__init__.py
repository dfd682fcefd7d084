"""Agents: those that talk (`RealtimeAgent`) and those that think (`AgentBase`, `ReActAgent`).

Names are loaded on first use: a voice call without a thinking agent loads none of its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.agent.base import AgentBase as AgentBase
    from realtime.agent.delegate import Delegate as Delegate
    from realtime.agent.hooks import StopReply as StopReply
    from realtime.agent.react import ReActAgent as ReActAgent
    from realtime.agent.react_base import ReActAgentBase as ReActAgentBase
    from realtime.agent.realtime import RealtimeAgent as RealtimeAgent
    from realtime.agent.saying import SpokenWords as SpokenWords
    from realtime.agent.user import UserAgent as UserAgent
    from realtime.agent.user_input import TerminalUserInput as TerminalUserInput
    from realtime.agent.user_input import UserInputBase as UserInputBase
    from realtime.agent.user_input import UserInputData as UserInputData
    from realtime.agent.user_input import UserInputQueue as UserInputQueue

_WHERE = {
    "AgentBase": ".base",
    "Delegate": ".delegate",
    "ReActAgent": ".react",
    "ReActAgentBase": ".react_base",
    "RealtimeAgent": ".realtime",
    "SpokenWords": ".saying",
    "StopReply": ".hooks",
    "TerminalUserInput": ".user_input",
    "UserAgent": ".user",
    "UserInputBase": ".user_input",
    "UserInputData": ".user_input",
    "UserInputQueue": ".user_input",
}

__all__ = [*_WHERE]
# `A2AAgent` lies above this package: AgentScope's documents import it from here.
__getattr__ = on_first_use(__name__, {**_WHERE, "A2AAgent": "realtime.a2a.agent"})
