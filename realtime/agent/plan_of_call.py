"""The plans of the agents that have one call: their tools, and what model and listeners learn of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from realtime.agent.settings import AgentSpec
from realtime.event.server import ServerCustomEvent
from realtime.message import HintBlock, system_reminder
from realtime.plan import Plan, PlanNotebook

logger = logging.getLogger(__name__)

PLAN_UPDATED = "plan_updated"
"""The name of the event about a changed plan; its `plan` is None where there is none any more."""
KEPT_S = 5.0
"""Seconds that the end of a call waits for its storages."""


class PlanOfCall:
    """The plan notebook of one agent in its call: a copy of its specification's, which other calls may have too."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self._is_begun = False
        # A program may have a hook called like the event.
        self._hook_name = f"{PLAN_UPDATED} {id(self)}"
        self._told: Callable[[str], None] | None = None
        if spec.plan_notebook is not None:
            spec.plan_notebook = spec.plan_notebook.for_call()

    def use(self, notebook: PlanNotebook | None) -> None:
        """Use this notebook itself, not a copy. Before `begin`."""
        self._spec.plan_notebook = notebook

    def begin(self) -> None:
        """Give the agent its tools."""
        if self._spec.plan_notebook is not None and not self._is_begun:
            self._spec.plan_notebook.equip(self._spec.toolkit)
        self._is_begun = True

    def follow(
        self,
        emit: Callable[[ServerCustomEvent], None],
        hint_changed: Callable[[], None],
        tell: Callable[[HintBlock], None],
    ) -> None:
        """Tell the listeners of the plan, now and after each change; the model gets its new hint.

        `tell` gets what the agent is to say of its own accord.
        """

        def changed(_: PlanNotebook, plan: Plan | None) -> None:
            value = {"plan": None if plan is None else plan.model_dump()}
            emit(ServerCustomEvent(name=PLAN_UPDATED, value=value))
            hint_changed()

        notebook = self._spec.plan_notebook
        if notebook is not None:
            if notebook.current_plan is not None:
                emit(ServerCustomEvent(name=PLAN_UPDATED, value={"plan": notebook.current_plan.model_dump()}))
            notebook.register_plan_change_hook(self._hook_name, changed)
            self._told = notebook.on_news = lambda news: tell(HintBlock(hint=system_reminder(news), source="plan"))

    def leave(self) -> None:
        """The agent has left the call: tell no one any more."""
        notebook = self._spec.plan_notebook
        if notebook is not None:
            notebook.remove_plan_change_hook(self._hook_name, missing_ok=True)
            if notebook.on_news is self._told:  # else another call has the notebook meanwhile
                notebook.on_news = None


async def keep_plans(notebooks: set[PlanNotebook]) -> None:
    """The call is over: keep the plans of its agents where their storages outlast it."""
    try:
        async with asyncio.timeout(KEPT_S):
            for notebook in notebooks:
                await notebook.end_call()
    except TimeoutError:
        logger.error("the plans of a call were not stored within %g s", KEPT_S)
