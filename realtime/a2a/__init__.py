"""Agent to Agent: remote agents as agents of ours. Names are loaded on first use, the SDK when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.a2a.agent import A2AAgent as A2AAgent
    from realtime.a2a.card import AgentCapabilities as AgentCapabilities
    from realtime.a2a.card import AgentCard as AgentCard
    from realtime.a2a.card import AgentInterface as AgentInterface
    from realtime.a2a.card import AgentSkill as AgentSkill
    from realtime.a2a.card import BadCard as BadCard
    from realtime.a2a.card import read_card as read_card
    from realtime.a2a.formatter import A2AChatFormatter as A2AChatFormatter
    from realtime.a2a.resolvers import AgentCardResolverBase as AgentCardResolverBase
    from realtime.a2a.resolvers import FileAgentCardResolver as FileAgentCardResolver
    from realtime.a2a.resolvers import NacosAgentCardResolver as NacosAgentCardResolver
    from realtime.a2a.resolvers import WellKnownAgentCardResolver as WellKnownAgentCardResolver

_WHERE = {
    "A2AAgent": ".agent",
    "A2AChatFormatter": ".formatter",
    "AgentCapabilities": ".card",
    "AgentCard": ".card",
    "AgentCardResolverBase": ".resolvers",
    "AgentInterface": ".card",
    "AgentSkill": ".card",
    "BadCard": ".card",
    "FileAgentCardResolver": ".resolvers",
    "NacosAgentCardResolver": ".resolvers",
    "WellKnownAgentCardResolver": ".resolvers",
    "read_card": ".card",
}

__all__ = [*_WHERE]
__getattr__ = on_first_use(__name__, _WHERE)
