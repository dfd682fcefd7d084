"""The plans of the agents that have one call: their tools, and what model and listeners learn of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import msgspec

from realtime.agent.settings import AgentSpec
from realtime.errors import ClientError
from realtime.event.client import ClientPlanEditEvent
from realtime.event.server import ServerCustomEvent
from realtime.message import HintBlock, system_reminder
from realtime.plan import Plan, PlanNotebook

logger = logging.getLogger(__name__)

PLAN_UPDATED = "plan_updated"
"""The name of the event about a changed plan; its `plan` is None where there is none any more."""
MAX_EDITED_BYTES = 8_000_000
"""Bytes of plans that edits by hand may tell in a call.

Each edit tells the whole plan, which the log keeps and the model reads anew.
"""
MAX_EDITS_AT_ONCE = 16
"""Changes by hand that wait for each other: a storage may be slow."""
KEPT_S = 5.0
"""Seconds that the end of a call waits for its storages."""

_EDITED: ContextVar[dict[str, Any] | None] = ContextVar("edited", default=None)
"""The edit by hand that this task makes, as `plan_updated` tells it."""


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
        """Suspensions and changes by hand: a program's hook, or a storage, may take its time."""
        self._edited_bytes = 0
        self._who: dict[str, str] = {}
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
        who: dict[str, str],
        hint_changed: Callable[[], None],
        tell: Callable[[HintBlock], None],
    ) -> None:
        """Tell the listeners of the plan, now and after each change; the model gets its new hint.

        `who` names the agent: a room has several. `tell` gets what the agent is to say of its own accord.
        """

        self._who = who

        def changed(_: PlanNotebook, plan: Plan | None) -> None:
            value = self._value(plan)
            if (edited := _EDITED.get()) is not None:
                _EDITED.set(None)  # what a program's hook changes after it is the program's
                value["edited"] = edited
                self._edited_bytes += len(msgspec.json.encode(value))
            emit(ServerCustomEvent(name=PLAN_UPDATED, value=value))
            hint_changed()

        if (now := self.now()) is not None:
            emit(now)
        if self._shown is not None:
            self._shown.register_plan_change_hook(self._hook_name, changed)
        notebook = self._spec.plan_notebook
        if notebook is not None:
            self._told = notebook.on_news = lambda news: tell(HintBlock(hint=system_reminder(news), source="plan"))

    @property
    def _shown(self) -> PlanNotebook | None:
        """The notebook that listeners see; a thinking agent equips itself with its own, and follows it."""
        return self._spec.plan_notebook or self._spec.thinking_notebook

    def now(self) -> ServerCustomEvent | None:
        """Return the event about the plan as it is; None without a plan, and before `follow`."""
        plan = None if self._shown is None else self._shown.current_plan
        if plan is None or not self._who:
            return None
        return ServerCustomEvent(name=PLAN_UPDATED, value=self._value(plan))

    def _value(self, plan: Plan | None) -> dict[str, Any]:
        is_editable = self._shown is not None and self._shown.editable
        return {"plan": None if plan is None else plan.model_dump(), **self._who, "editable": is_editable}

    def cut(self, is_meant: bool) -> None:
        """The user has cut a reply: suspend the plan. Not `is_meant`: the reply goes on, and so does the plan."""
        notebook = self._spec.plan_notebook
        if notebook is None or not (is_meant or self._suspends):
            return
        self._suspends = is_meant and not notebook.is_suspended
        self._run(notebook.suspend() if is_meant else notebook.resume())

    def has(self, plan_id: str) -> bool:
        """Whether this is the plan that the agent follows now."""
        plan = None if self._shown is None else self._shown.current_plan
        return plan is not None and plan.id == plan_id

    def edit(self, event: ClientPlanEditEvent, by: str, refuse: Callable[[ClientError], None]) -> None:
        """Change the plan as a user does by hand; `by` is their name, "" where there is only one.

        Changes are made in their order. `refuse` is called with what cannot be done. Raises ClientError for an agent
        without plans, and where there were too many changes.
        """
        notebook = self._shown
        if notebook is None:
            raise ClientError("this agent makes no plans", code="no_plan")
        if self._edited_bytes >= MAX_EDITED_BYTES:
            raise ClientError("the plan was changed by hand too often in this call", code="too_many_plan_edits")
        if len(self._hooks_called) >= MAX_EDITS_AT_ONCE:
            raise ClientError("earlier changes are under way: try again", code="too_many_plan_edits", retryable=True)
        self._run(self._edit(notebook, event, by, refuse))

    async def _edit(
        self, notebook: PlanNotebook, event: ClientPlanEditEvent, by: str, refuse: Callable[[ClientError], None]
    ) -> None:
        _EDITED.set({"by": by, "edit": msgspec.to_builtins(event.edit)})
        try:
            await notebook.edit(event.plan_id, event.edit)
        except ClientError as error:
            error.client_event_id = event.event_id
            refuse(error)

    def _run(self, change: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(change, name="plan of call")
        self._hooks_called.add(task)
        task.add_done_callback(self._hooks_called.discard)

    def leave(self) -> None:
        """The agent has left the call: tell no one any more."""
        if self._shown is not None:
            self._shown.remove_plan_change_hook(self._hook_name, missing_ok=True)
        notebook = self._spec.plan_notebook
        if notebook is not None and notebook.on_news is self._told:  # else another call has the notebook meanwhile
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
