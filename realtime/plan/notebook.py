"""`PlanNotebook`: an agent's plan, the tools by which it makes and follows one, and its hints."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar

from realtime.errors import ClientError, UsageError
from realtime.event.client import EndPlan, PlanEdit
from realtime.message import Msg, TextBlock, ToolResultState, UserMsg
from realtime.module import StateModule
from realtime.options import PositiveInt, checked
from realtime.plan import rules
from realtime.plan.by_hand import ENDED_BY_HAND, MAX_OUTCOME_CHARS, do_by_hand, one_line
from realtime.plan.hint import DefaultPlanToHint
from realtime.plan.news import TELL, Announce, news_of
from realtime.plan.plan import Plan, SubTaskDraft
from realtime.plan.rules import Refusal
from realtime.plan.storage import InMemoryPlanStorage, PlanStorageBase
from realtime.tool import Toolkit, ToolResponse
from realtime.tool.output import said
from realtime.tool.registered import BASIC

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PlanToHint = Callable[[Plan | None], str | None]
Tool = Callable[..., Coroutine[Any, Any, ToolResponse]]
MOST_LISTED = 50
"""Historical plans that are listed, the latest: models read them all, and a user may have thousands."""
NO_PLAN = "There is no current plan. Create one first by calling 'create_plan'."


_BY_MODEL: ContextVar[bool] = ContextVar("by_model", default=False)
"""Whether the model calls the tool: its next words follow the result, which asks for what is to be told."""


Method = Callable[Concatenate["PlanNotebook", P], Awaitable[str]]
ToolMethod = Callable[Concatenate["PlanNotebook", P], Coroutine[Any, Any, ToolResponse]]


def _reads(tool: Method[P]) -> ToolMethod[P]:
    """Make a tool of a method that returns a sentence."""

    @wraps(tool)
    async def answer(self: PlanNotebook, /, *args: P.args, **kwargs: P.kwargs) -> ToolResponse:
        try:
            return ToolResponse([TextBlock(text=await tool(self, *args, **kwargs))])
        except Refusal as refusal:
            return ToolResponse([TextBlock(text=str(refusal))], state=ToolResultState.ERROR)

    return answer


def _changes(tool: Method[P]) -> ToolMethod[P]:
    """Make a tool of a method that changes the plan: one at a time, since a storage may take its time."""

    @wraps(tool)
    async def change(self: PlanNotebook, /, *args: P.args, **kwargs: P.kwargs) -> str:
        is_models = _BY_MODEL.get()
        _BY_MODEL.set(False)  # what a hook changes meanwhile is the program's
        async with self._changing:
            self._is_models = is_models
            plan = self.current_plan
            before = plan and plan.copy()
            told = await tool(self, *args, **kwargs)
            self._go_on()
            news = news_of(before, self.current_plan or plan, self.announce)
        await self._call_hooks()
        if news and is_models:
            return f"{told} {news} {TELL}"
        if news and self.on_news is not None:
            self.on_news(f"{news} {TELL}")
        return told

    return _reads(change)


def _called_by_model(tool: Tool) -> Tool:
    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> ToolResponse:
        token = _BY_MODEL.set(True)
        try:
            return await tool(*args, **kwargs)
        finally:
            _BY_MODEL.reset(token)

    return call


class PlanNotebook(StateModule):
    """Keeps the plan of an agent that has it as `plan_notebook=`.

    The subtasks of a plan follow each other: at most one is in progress, and those before it are done or abandoned. A
    plan that another one replaces is suspended and kept in `storage`, by default in memory. `max_subtasks` bounds a
    plan; None: any number. `plan_to_hint` writes the hint for the current plan; where it returns None, there is none.

    `editable`: whether users may change the plan by hand (`client_plan_edit`).

    `announce`: what the user is to be told: "never" anything, "milestones" (each subtask and plan that is done), or
    "all" changes. The result of a tool asks the model for it; what the program changes, a voice agent tells of its own
    accord in the next silence.

    The tools may be called by the program, too. They return what the model reads, and with the state `error` where they
    refuse. Without a plan, those that need one raise ValueError. The state is the current plan and that of the storage.
    """

    description = (
        "Tools to make a plan and to follow it. Activate them for a task of many steps, such as research, or a website "
        "that is to be built. From then on, hints in <system-hint></system-hint> guide you through the plan. If the "
        "user does not want the task any more, make sure of that and call 'finish_plan'."
    )
    """What a model reads of these tools where it may activate them."""

    @checked()
    def __init__(
        self,
        max_subtasks: PositiveInt | None = None,
        plan_to_hint: PlanToHint | None = None,
        storage: PlanStorageBase | None = None,
        announce: Announce = "never",
        editable: bool = True,
    ) -> None:
        super().__init__()
        self.max_subtasks = max_subtasks
        self.plan_to_hint: PlanToHint = plan_to_hint or DefaultPlanToHint()
        self.storage = InMemoryPlanStorage() if storage is None else storage
        self.announce: Announce = announce
        self.editable = editable
        self.on_news: Callable[[str], None] | None = None
        """Gets words for the model about each change by the program."""
        self.current_plan: Plan | None = None
        self._hooks: dict[str, PlanHook] = {}
        self._changing = asyncio.Lock()
        self._is_models = False
        """Whether the change under way is the model's."""
        self._seen_by_model: list[str] | None = None
        """Ids of the subtasks, in the places that the model knows; None: the present ones."""
        self._is_of_call = False
        self.register_state("current_plan", lambda plan: plan and plan.model_dump(), _read_plan)

    # -- the tools: their docstrings are what models read --------------------------------------------------------------

    def list_tools(self) -> list[Tool]:
        """Return the functions that an agent gets as tools."""
        return [
            self.view_subtasks,
            self.update_subtask_state,
            self.finish_subtask,
            self.create_plan,
            self.revise_current_plan,
            self.finish_plan,
            self.view_historical_plans,
            self.recover_historical_plan,
        ]

    @_changes
    async def create_plan(
        self, name: str, description: str, expected_outcome: str, subtasks: list[SubTaskDraft | str]
    ) -> str:
        """Create a plan for a task of several steps; it becomes the current plan.

        A plan that was the current one is suspended, and can be recovered later.

        Args:
            name: What the plan is called, in at most 10 words.
            description: What is to be reached, with all limits and conditions.
            expected_outcome: What there is in the end, so that one can check it.
            subtasks: The steps in their order. Each is an object, or a text that says what to do.
        """
        plan = Plan(name=name, description=description, expected_outcome=expected_outcome, subtasks=subtasks)  # type: ignore[arg-type]  # it makes subtasks of them
        rules.check_number(len(plan.subtasks), self.max_subtasks)
        before = await self._put_away()
        self.current_plan, self._seen_by_model = plan, None
        if before is None:
            return f"Plan '{plan.name}' created successfully."
        return f"The current plan named '{before.name}' is replaced by the newly created plan named '{plan.name}'."

    @_reads
    async def view_subtasks(self, subtask_idx: list[int]) -> str:
        """Read all about some subtasks of the current plan.

        Args:
            subtask_idx: Their indices, from 0.
        """
        plan = self._plan
        given: object = subtask_idx
        indices = [rules.number(one) for one in (given if isinstance(given, list | tuple) else [given])]
        valid = range(len(plan.subtasks))
        parts = [
            f"Subtask at index {index}:\n```\n{plan.subtasks[index].to_markdown(detailed=True)}\n```\n"
            for index in indices
            if index in valid
        ]
        if invalid := [index for index in indices if index not in valid]:
            parts.append(rules.invalid(invalid, len(plan.subtasks)))
        if len(invalid) == len(indices):
            raise Refusal("\n".join(parts) or "Give the indices of the subtasks that you want to read.")
        return "\n".join(parts)

    @_changes
    async def update_subtask_state(self, subtask_idx: int, state: Literal["todo", "in_progress", "abandoned"]) -> str:
        """Set the state of a subtask. To mark one as done, call 'finish_subtask' instead.

        Args:
            subtask_idx: Its index, from 0.
            state: The new state. A subtask may be in progress once those before it are done or abandoned.
        """
        return rules.mark(self._plan, self._named(subtask_idx), state)

    @_changes
    async def finish_subtask(self, subtask_idx: int, subtask_outcome: str) -> str:
        """Mark a subtask as done, with its outcome; the next one is then in progress.

        Args:
            subtask_idx: Its index, from 0.
            subtask_outcome: What came of it, in full: the facts that were found and the words that were written, not
                only that it was done.
        """
        return rules.finish(self._plan, self._named(subtask_idx), subtask_outcome)

    @_changes
    async def revise_current_plan(
        self, subtask_idx: int, action: Literal["add", "revise", "delete"], subtask: SubTaskDraft | str | None = None
    ) -> str:
        """Add a subtask to the current plan, or revise or delete one.

        Args:
            subtask_idx: The index of the subtask, from 0. A new one is put before it; at the end, give the number of
                subtasks.
            action: What to do.
            subtask: The new subtask, or the new words of the one to revise: an object, or a text that says what to do.
        """
        plan = self._plan
        place = self._named(subtask_idx)
        told = rules.revise(plan, place, action, subtask, self.max_subtasks)
        if (seen := self._seen_by_model) is not None:
            index = rules.number(place)
            if action == "add":
                seen.insert(index, plan.subtasks[index].id)
            elif action == "delete":
                del seen[index]
        return told

    @_changes
    async def finish_plan(self, state: Literal["done", "abandoned"], outcome: str) -> str:
        """Bring the current plan to its end.

        Args:
            state: Whether it is done, or abandoned.
            outcome: What came of it; of an abandoned plan, why.
        """
        if self.current_plan is None:
            raise Refusal("There is no plan to finish.")
        if state not in ("done", "abandoned"):
            raise Refusal(f"Invalid state '{state}'. Must be one of 'done', 'abandoned'.")
        await self._end(self.current_plan, state, outcome)
        return f"The current plan is finished successfully as '{state}'."

    @_reads
    async def view_historical_plans(self) -> str:
        """Read which plans there were before, with their IDs."""
        plans = await self._from_storage(self.storage.get_plans(), "The plans could not be read")
        told = [
            f"Plan named '{plan.name}':\n- ID: {plan.id}\n- Created at: {plan.created_at}\n"
            f"- Description: {plan.description}\n- State: {plan.state}\n"
            for plan in plans[-MOST_LISTED:]
        ]
        if n_older := len(plans) - len(told):
            told.insert(0, f"The {n_older} plans before these are not listed.\n")
        return "\n".join(told) or "There are no historical plans."

    @_changes
    async def recover_historical_plan(self, plan_id: str) -> str:
        """Go back to a historical plan; it becomes the current plan.

        A plan that was the current one is suspended, and can be recovered later.

        Args:
            plan_id: Its ID, as 'view_historical_plans' says it.
        """
        if self.current_plan is not None and self.current_plan.id == plan_id:
            raise Refusal(f"The plan with ID '{plan_id}' is the current plan already.")
        plan = await self._from_storage(self.storage.get_plan(plan_id), "The plan could not be read")
        if plan is None:
            raise Refusal(f"Cannot find the plan with ID '{plan_id}'.")
        before = await self._put_away()
        plan.resume()
        self.current_plan, self._seen_by_model = plan, None
        historical = f"istorical plan named '{plan.name}' with ID '{plan.id}'"
        if before is None:
            return f"H{historical} is recovered successfully."
        return f"The current plan named '{before.name}' is replaced by the h{historical}."

    # -- what an agent does --------------------------------------------------------------------------------------------

    async def get_current_hint(self) -> Msg | None:
        """Return the hint for the current plan as a message; None if there is none.

        A `plan_to_hint` that raises gives none either; the log says why. The model is taken to know the plan from now
        on as it is.
        """
        self._seen_by_model = None
        text = self.current_hint
        return UserMsg("user", text) if text else None

    async def edit(self, plan_id: str, edit: PlanEdit) -> None:
        """Change the current plan as its user does by hand; hooks are called, and nothing is announced.

        Raises ClientError, with nothing changed: where users may not, for another plan than the current one, for a
        subtask that is gone, for what no rule allows and for a text that is empty or too long.
        """
        async with self._changing:
            plan = self.current_plan
            if not self.editable:
                raise ClientError("this plan is not for users to change", code="plan_not_editable")
            if plan is None:
                raise ClientError("there is no plan to change", code="no_plan")
            if plan.id != plan_id:
                raise ClientError(f"another plan has replaced this one: {plan.name!r}", code="plan_replaced")
            places = [one.id for one in plan.subtasks]
            try:
                if isinstance(edit, EndPlan):
                    outcome = edit.outcome
                    told = ENDED_BY_HAND if outcome is None else one_line(outcome, "An outcome", MAX_OUTCOME_CHARS)
                    await self._end(plan, edit.state, told)
                else:
                    do_by_hand(plan, edit, self.max_subtasks)
            except Refusal as refusal:
                raise ClientError(str(refusal), code="plan_edit_refused") from refusal
            if self._seen_by_model is None and places != [one.id for one in plan.subtasks]:
                self._seen_by_model = places
            self._go_on()
        await self._call_hooks()

    @property
    def current_hint(self) -> str:
        """The text of the hint; "" if there is none."""
        try:
            return self.plan_to_hint(self.current_plan) or ""
        except Exception:
            logger.exception("the hint of a plan could not be written")
            return ""

    def equip(self, toolkit: Toolkit, group: str = BASIC) -> None:
        """Add the tools to a toolkit. Raises BadTool where it has one of these names."""
        if group != BASIC:
            toolkit.create_tool_group(group, self.description)
        for tool in self.list_tools():
            toolkit.register(_called_by_model(tool), group=group, read_only=tool.__name__.startswith("view_"))

    def for_call(self) -> Self:
        """Return a notebook for one call: with a copy of the plan, and with the hooks.

        A storage in memory is copied too, since calls may be those of different users; another one is shared.
        """
        made = copy.copy(self)
        made.current_plan = None if self.current_plan is None else self.current_plan.copy()
        if isinstance(self.storage, InMemoryPlanStorage):
            storage = copy.copy(self.storage)
            storage.plans = {**storage.plans}
            made.storage = storage
        made._hooks, made._changing, made._is_of_call = {**self._hooks}, asyncio.Lock(), True
        made._seen_by_model = None
        return made

    async def end_call(self) -> None:
        """Suspend and keep the plan in a storage that outlasts the call.

        Where the storage refuses, the log says why.
        """
        if self._is_of_call and not isinstance(self.storage, InMemoryPlanStorage):
            with suppress(Refusal):
                await self._put_away()

    @property
    def is_suspended(self) -> bool:
        """Whether the user has interrupted the current plan."""
        return self.current_plan is not None and self.current_plan.state == "suspended"

    async def suspend(self) -> None:
        """Note that the user has interrupted the current plan.

        It goes on with the next change that a tool makes. Nothing happens without an open plan.
        """
        if self.current_plan is not None and self.current_plan.suspend():
            await self._call_hooks()

    async def resume(self) -> None:
        """Note that a suspended plan goes on."""
        if self._go_on():
            await self._call_hooks()

    # -- hooks ---------------------------------------------------------------------------------------------------------

    def register_plan_change_hook(self, hook_name: str | PlanHook, hook: PlanHook | None = None) -> None:
        """Call a function after each change of the plan.

        It gets this notebook and its current plan, None after the end of that. Without a name, it has that of the
        function; one of the same name is replaced. It may be `async`. An error in it is logged and changes nothing
        else. Raises TypeError for what is no function.
        """
        function = hook if isinstance(hook_name, str) else hook_name
        if not callable(function):
            raise TypeError(f"a hook is a function of a notebook and its plan, not a {type(function).__name__}")
        self._hooks[hook_name if isinstance(hook_name, str) else _name_of(hook_name)] = function

    def remove_plan_change_hook(self, hook_name: str | PlanHook, *, missing_ok: bool = False) -> None:
        """Remove a hook, by its name or its function. Raises ValueError if there is none, unless `missing_ok`."""
        name = hook_name if isinstance(hook_name, str) else _name_of(hook_name)
        if name not in self._hooks and not missing_ok:
            raise ValueError(f"Hook '{name}' not found.")
        self._hooks.pop(name, None)

    # -- state ---------------------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """See `StateModule`. Raises UsageError for a damaged state; then nothing changes."""
        saved: object = state_dict
        if not isinstance(saved, Mapping) or not isinstance(saved.get("storage", {}), Mapping):
            raise UsageError("this is no saved plan notebook", code="bad_state")
        _read_plan(state_dict.get("current_plan"))
        super().load_state_dict(state_dict, strict)

    # -- inside --------------------------------------------------------------------------------------------------------

    @property
    def _plan(self) -> Plan:
        """The current plan. Raises ValueError without one."""
        if self.current_plan is None:
            raise ValueError(NO_PLAN)
        return self.current_plan

    def _named(self, given: object) -> object:
        """Return the index as it is given.

        Raises Refusal where the model may mean another subtask: the user has moved them since it read the plan.
        """
        seen, plan = self._seen_by_model, self._plan
        if seen is None or not self._is_models:
            return given
        try:
            index = rules.number(given)
        except Refusal:
            return given  # refused by the rules
        if seen[index : index + 1] == [one.id for one in plan.subtasks[index : index + 1]]:
            return given
        self._seen_by_model = None
        raise Refusal(
            "The user has changed the plan, and nothing was done: the subtasks have other indices now, from 0:\n"
            f"{plan.to_markdown()}\nCall the tool again, if it is still to be done."
        )

    async def _end(self, plan: Plan, state: Literal["done", "abandoned"], outcome: str) -> None:
        """End the plan and store it. Raises Refusal where it cannot be stored."""
        finished = plan.copy()
        finished.finish(state, outcome)
        await self._from_storage(self.storage.add_plan(finished), "The plan could not be stored")
        plan.finish(state, outcome)
        self.current_plan = None

    async def _put_away(self) -> Plan | None:
        """Keep the current plan, which is to be replaced; return it. Raises Refusal where it cannot be stored."""
        before = self.current_plan
        if before is not None:
            kept = before.copy()
            kept.suspend()
            await self._from_storage(self.storage.add_plan(kept), "The current plan could not be stored")
        return before

    async def _from_storage(self, work: Awaitable[T], failure: str) -> T:
        """Return what the storage returns. Raises Refusal where that fails."""
        try:
            return await work
        except Exception as error:
            logger.warning("a storage of plans failed", exc_info=error)
            raise Refusal(f"{failure}, and nothing has changed: {said(error)}") from error

    def _go_on(self) -> bool:
        """End the suspension of the current plan; return whether it was suspended."""
        if self.current_plan is None or not self.is_suspended:
            return False
        self.current_plan.resume()
        return True

    async def _call_hooks(self) -> None:
        for name, hook in [*self._hooks.items()]:
            try:
                returned = hook(self, self.current_plan)
                if inspect.isawaitable(returned):
                    await returned
            except (Exception, asyncio.CancelledError):
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise  # it is this tool that is cancelled
                logger.exception("the plan change hook %r failed", name)


PlanHook = Callable[[PlanNotebook, Plan | None], object]
"""Called after a change of a plan; what it returns is awaited where that is possible."""


def _read_plan(saved: Any) -> Plan | None:
    return None if saved is None else Plan.model_validate(saved)


def _name_of(hook: object) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
