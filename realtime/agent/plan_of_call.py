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
        self._suspends = False
        """Whether the latest interruption has suspended the plan."""
        self._hooks_called: set[asyncio.Task[None]] = set()
        """Those of suspensions: a program's hook may take its time."""
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

    def cut(self, is_meant: bool) -> None:
        """The user has cut a reply: suspend the plan. Not `is_meant`: the reply goes on, and so does the plan."""
        notebook = self._spec.plan_notebook
        if notebook is None or not (is_meant or self._suspends):
            return
        self._suspends = is_meant and not notebook.is_suspended
        task = asyncio.create_task(notebook.suspend() if is_meant else notebook.resume(), name="plan of call")
        self._hooks_called.add(task)
        task.add_done_callback(self._hooks_called.discard)

    def leave(self) -> None:
        """The agent has left the call: tell no one any more."""
        notebook = self._spec.plan_notebook
        if notebook is not None:
            notebook.remove_plan_change_hook(self._hook_name, missing_ok=True)
            if notebook.on_news is self._told:  # else another call has the notebook meanwhile
                notebook.on_news = None
        self._told = None  # refers back to the call
        for task in self._hooks_called:
            task.cancel()


async def keep_plans(notebooks: set[PlanNotebook]) -> None:
    """The call is over: keep the plans of its agents where their storages outlast it."""
    try:
        async with asyncio.timeout(KEPT_S):
            for notebook in notebooks:
                await notebook.end_call()
    except TimeoutError:
        logger.error("the plans of a call were not stored within %g s", KEPT_S)
