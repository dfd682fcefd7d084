"""`ReActAgentBase`: the base of agents that reason and act in turn."""

from __future__ import annotations

from typing import Any, ClassVar

from realtime.agent.base import AgentBase


class ReActAgentBase(AgentBase):
    """An agent whose replies consist of reasoning and acting steps.

    Both have hooks. Subclasses implement `_reasoning` and `_acting` besides what AgentBase asks for.
    """

    supported_hook_types: ClassVar[list[str]] = [
        *AgentBase.supported_hook_types,
        "pre_reasoning",
        "post_reasoning",
        "pre_acting",
        "post_acting",
    ]

    async def _reasoning(self, *args: Any, **kwargs: Any) -> Any:
        """Decide what to say and which tools to call."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `_reasoning`")

    async def _acting(self, *args: Any, **kwargs: Any) -> Any:
        """Run a tool."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `_acting`")
