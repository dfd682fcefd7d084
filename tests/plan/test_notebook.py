"""`PlanNotebook`: its tools as a program and as a model call them, its hooks, its state."""

import asyncio
import copy
import json
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.plan import InMemoryPlanStorage, Plan, PlanNotebook, PlanStorageBase, SubTask, SubTaskDraft
from realtime.plan.plan import State
from realtime.tool import Toolkit
from tests.plan.plans import called, make_plan, names, notebook_with, states, subtask, told

TOOLS = [
    *("view_subtasks", "update_subtask_state", "finish_subtask", "create_plan", "revise_current_plan", "finish_plan"),
    *("view_historical_plans", "recover_historical_plan"),
]


def test_there_are_eight_tools_in_order() -> None:
    """PLN-02, PLN-15, PLN-16, PLN-17"""
    notebook = PlanNotebook()
    assert [tool.__name__ for tool in notebook.list_tools()] == TOOLS
    assert isinstance(notebook.storage, InMemoryPlanStorage)
    assert callable(notebook.plan_to_hint)


def test_models_read_the_arguments_and_may_give_subtasks_as_texts() -> None:
    """For a voice, a list of texts is a smaller schema than one of objects; both are declared."""
    toolkit = Toolkit(PlanNotebook().list_tools())
    declared = {tool.name: tool.parameters for tool in toolkit.declarations()}
    assert {name: [*schema["properties"]] for name, schema in declared.items()} == {
        "view_subtasks": ["subtask_idx"],
        "update_subtask_state": ["subtask_idx", "state"],
        "finish_subtask": ["subtask_idx", "subtask_outcome"],
        "create_plan": ["name", "description", "expected_outcome", "subtasks"],
        "revise_current_plan": ["subtask_idx", "action", "subtask"],
        "finish_plan": ["state", "outcome"],
        "view_historical_plans": [],
        "recover_historical_plan": ["plan_id"],
    }
    text, words = declared["create_plan"]["properties"]["subtasks"]["items"]["anyOf"]
    assert text == {"type": "string"}
    assert words["required"] == [*words["properties"]] == ["name", "description", "expected_outcome"]


# -- making and changing a plan ----------------------------------------------------------------------------------------


async def test_a_plan_is_made_followed_and_finished() -> None:
    """PLN-05, PLN-14, PLN-19, PLN-23, PLN-24: None, a plan, None again; then it is stored."""
    notebook = PlanNotebook()
    assert notebook.current_plan is None
    assert told(await make_plan(notebook, [subtask("a"), subtask("b")])) == (
        *("success", "Plan 'Trip' created successfully."),
    )
    plan = notebook.current_plan
    assert plan is not None
    assert told(await notebook.update_subtask_state(0, "in_progress")) == (
        "success",
        "Subtask at index 0, named 'a' is marked as 'in_progress' successfully. The plan state has been updated to "
        "'in_progress'.",
    )
    assert told(await notebook.finish_subtask(0, "Found.")) == (
        "success",
        "Subtask (at index 0) named 'a' is marked as done successfully. The next subtask named 'b' is activated.",
    )
    assert states(notebook) == ["done", "in_progress"]
    last = "Subtask (at index 1) named 'b' is marked as done successfully."
    assert told(await notebook.finish_subtask(1, "Written.")) == ("success", last)
    assert [one.outcome for one in plan.subtasks] == ["Found.", "Written."]
    assert told(await notebook.finish_plan("done", "All is well.")) == (
        *("success", "The current plan is finished successfully as 'done'."),
    )
    assert notebook.current_plan is None
    (stored,) = await notebook.storage.get_plans()
    assert (stored.id, stored.state, stored.outcome) == (plan.id, "done", "All is well.")
    assert stored.finished_at is not None


async def test_a_replaced_plan_is_suspended_and_stored() -> None:
    notebook = await notebook_with("in_progress")
    first = notebook.current_plan
    assert first is not None
    response = await make_plan(notebook, [subtask("x")], "Party")
    assert told(response) == (
        *("success", "The current plan named 'Trip' is replaced by the newly created plan named 'Party'."),
    )
    (stored,) = await notebook.storage.get_plans()
    assert (stored.id, stored.state, stored.finished_at) == (first.id, "suspended", None)


@pytest.mark.parametrize(
    ("indices", "answer"),
    [
        ([3], ("error", "Invalid subtask_idx '[3]'. Must be between 0 and 2.")),
        ([-1, 9], ("error", "Invalid subtask_idx '[-1, 9]'. Must be between 0 and 2.")),
        ([], ("error", "Give the indices of the subtasks that you want to read.")),
    ],
)
async def test_there_is_nothing_to_read_of_other_indices(indices: list[int], answer: tuple[str, str]) -> None:
    notebook = await notebook_with("todo", "todo", "todo")
    assert told(await notebook.view_subtasks(indices)) == answer


async def test_subtasks_are_read_by_their_indices() -> None:
    """PLN-20"""
    notebook = await notebook_with("todo", "todo", "todo")
    assert notebook.current_plan is not None
    first, _, third = (one.to_markdown(detailed=True) for one in notebook.current_plan.subtasks)
    text = f"Subtask at index 0:\n```\n{first}\n```\n\nSubtask at index 2:\n```\n{third}\n```\n"
    assert told(await notebook.view_subtasks([0, 2])) == ("success", text)
    text += "\nInvalid subtask_idx '[7]'. Must be between 0 and 2."
    assert told(await notebook.view_subtasks(["0", 2.0, 7])) == ("success", text)  # type: ignore[list-item]


UPDATES: list[tuple[tuple[State, ...], Any, str, tuple[str, str], list[str]]] = [
    (("todo", "todo"), 0, "in_progress", ("success", "'a' is marked as 'in_progress'"), ["in_progress", "todo"]),
    (("todo", "todo"), "1", "abandoned", ("success", "'b' is marked as 'abandoned'"), ["todo", "abandoned"]),
    (("abandoned", "todo"), 1, "in_progress", ("success", "marked"), ["abandoned", "in_progress"]),
    (("done", "todo"), 0, "todo", ("success", "marked as 'todo'"), ["todo", "todo"]),
    (("in_progress", "todo"), 0, "in_progress", ("success", "marked"), ["in_progress", "todo"]),
    (("todo", "todo"), 1, "in_progress", ("error", "Subtask (at index 0) named 'a' is not done yet. You"), []),
    (("in_progress", "todo"), 1, "in_progress", ("error", "(at index 0) named 'a' is not done yet"), []),
    (("todo", "in_progress"), 0, "in_progress", ("error", "(at index 1) named 'b' is already 'in_progress'"), []),
    (("todo", "todo"), 0, "done", ("error", "Invalid state 'done'. Must be one of 'todo', 'in_progress',"), []),
    (("todo", "todo"), 2, "todo", ("error", "Invalid subtask_idx '2'. Must be between 0 and 1."), []),
    (("todo", "todo"), -1, "todo", ("error", "Invalid subtask_idx '-1'. Must be between 0 and 1."), []),
    (("todo", "todo"), "one", "todo", ("error", "Invalid type for argument 'subtask_idx'. Expected 'int'"), []),
    (("todo", "todo"), True, "todo", ("error", "Invalid type for argument 'subtask_idx'"), []),
    (("todo", "todo"), 0.5, "todo", ("error", "Invalid type for argument 'subtask_idx'"), []),
    ((), 0, "todo", ("error", "Invalid subtask_idx '0'. The plan has no subtasks."), []),
]


@pytest.mark.parametrize(("before", "index", "state", "answer", "after"), UPDATES)
async def test_the_state_of_a_subtask_is_set_in_their_order(
    before: tuple[State, ...], index: Any, state: Any, answer: tuple[str, str], after: list[str]
) -> None:
    """PLN-04, PLN-22: one after the other; what is refused changes nothing."""
    notebook = await notebook_with(*before)
    outcome, text = told(await notebook.update_subtask_state(index, state))
    assert (outcome, answer[1] in text) == (answer[0], True), text
    assert states(notebook) == (after or [*before])


async def test_a_subtask_that_is_to_be_done_again_has_no_outcome() -> None:
    notebook = await notebook_with("todo")
    await notebook.finish_subtask(0, "Wrong.")
    await notebook.update_subtask_state(0, "todo")
    assert notebook.current_plan is not None
    (again,) = notebook.current_plan.subtasks
    assert (again.outcome, again.finished_at) == (None, None)


FINISHES: list[tuple[tuple[State, ...], Any, tuple[str, str], list[str]]] = [
    (("todo", "todo"), 0, ("success", "The next subtask named 'b' is activated."), ["done", "in_progress"]),
    (("todo", "done", "todo"), "0", ("success", "named 'c' is activated."), ["done", "done", "in_progress"]),
    (("todo", "abandoned"), 0, ("success", "named 'a' is marked as done successfully."), ["done", "abandoned"]),
    (("todo", "todo", "in_progress"), 0, ("success", "done successfully."), ["done", "todo", "in_progress"]),
    (("todo", "todo"), 1, ("error", "Cannot finish subtask at index 1 because the previous subtask (at index 0)"), []),
    (("done", "todo"), 0, ("error", "Subtask (at index 0) named 'a' is 'done' already."), []),
    (("abandoned", "todo"), 0, ("error", "named 'a' is 'abandoned' already."), []),
    (("todo",), -1, ("error", "Invalid subtask_idx '-1'. Must be between 0 and 0."), []),
    (("todo",), [0], ("error", "Invalid type for argument 'subtask_idx'"), []),
]


@pytest.mark.parametrize(("before", "index", "answer", "after"), FINISHES)
async def test_a_finished_subtask_starts_the_next_one_that_is_open(
    before: tuple[State, ...], index: Any, answer: tuple[str, str], after: list[str]
) -> None:
    """PLN-23: none that is done or abandoned is taken up again."""
    notebook = await notebook_with(*before)
    outcome, text = told(await notebook.finish_subtask(index, "Found."))
    assert (outcome, answer[1] in text) == (answer[0], True), text
    assert states(notebook) == (after or [*before])


NEW = SubTask(name="new", description="Do it.", expected_outcome="It is done.")
REVISIONS: list[tuple[Any, Any, Any, tuple[str, str], list[str]]] = [
    (1, "add", NEW, ("success", "New subtask is added successfully at index 1."), ["a", "new", "b"]),
    (2, "add", "new", ("success", "New subtask is added successfully at index 2."), ["a", "b", "new"]),
    ("1", "revise", NEW, ("success", "Subtask at index 1 is revised successfully."), ["a", "new"]),
    (0, "delete", None, ("success", "Subtask (named 'a') at index 0 is deleted successfully."), ["b"]),
    (3, "add", NEW, ("error", "Error: Invalid subtask_idx '3' for action 'add'. Must be between 0 and 2."), []),
    (2, "revise", NEW, ("error", "Error: Invalid subtask_idx '2' for action 'revise'. Must be between 0 and 1."), []),
    (-1, "revise", NEW, ("error", "Error: Invalid subtask_idx '-1' for action 'revise'. Must be between"), []),
    (-1, "delete", None, ("error", "Error: Invalid subtask_idx '-1' for action 'delete'. Must be between"), []),
    ("x", "delete", None, ("error", "Error: Invalid type for argument 'subtask_idx'. Expected 'int'"), []),
    (0, "swap", None, ("error", "Error: Invalid action 'swap'. Must be one of 'add', 'revise', 'delete'."), []),
    (0, "add", None, ("error", "Error: The subtask must be provided when action is 'add', but got None."), []),
    (0, "revise", None, ("error", "Error: The subtask must be provided when action is 'revise'"), []),
]


@pytest.mark.parametrize(("index", "action", "given", "answer", "after"), REVISIONS)
async def test_a_plan_is_revised(
    index: Any, action: Any, given: Any, answer: tuple[str, str], after: list[str]
) -> None:
    """PLN-21: three actions; what is refused changes nothing."""
    notebook = await notebook_with("todo", "todo")
    outcome, text = told(await notebook.revise_current_plan(index, action, given))
    assert (outcome, answer[1] in text) == (answer[0], True), text
    assert names(notebook) == (after or ["a", "b"])


async def test_new_words_leave_a_subtask_as_far_as_it_is_and_a_whole_one_replaces_it() -> None:
    notebook = await notebook_with("todo", "todo")
    await notebook.finish_subtask(0, "Found.")
    draft = SubTaskDraft(name="better", description="d", expected_outcome="e")
    for index in range(2):
        await notebook.revise_current_plan(index, "revise", draft)
    assert notebook.current_plan is not None
    assert (states(notebook), notebook.current_plan.subtasks[0].outcome) == (["done", "in_progress"], "Found.")
    await notebook.revise_current_plan(1, "revise", NEW)
    assert (names(notebook), states(notebook)) == (["better", "new"], ["done", "todo"])


async def test_a_plan_has_no_more_subtasks_than_it_may() -> None:
    """PLN-09 and AMB-38: refused as a text when it is made and when it is revised."""
    notebook = PlanNotebook(max_subtasks=2)
    state, text = told(await make_plan(notebook, ["a", "b", "c"]))
    assert (state, notebook.current_plan) == ("error", None)
    assert "may have 2 subtasks at most, and this one would have 3" in text
    await make_plan(notebook, ["a", "b"])
    state, text = told(await notebook.revise_current_plan(0, "add", "c"))
    assert (state, names(notebook)) == ("error", ["a", "b"])
    assert "this one would have 3" in text
    assert told(await notebook.revise_current_plan(0, "revise", "c"))[0] == "success"


@pytest.mark.parametrize("wrong", [{"max_subtasks": 0}, {"max_subtasks": "3"}, {"plan_to_hint": 3}, {"storage": {}}])
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        PlanNotebook(**wrong)


async def test_a_plan_of_a_thousand_subtasks_is_followed() -> None:
    notebook = PlanNotebook()
    await make_plan(notebook, [f"step {number}" for number in range(1_000)])
    for number in range(20):
        assert told(await notebook.finish_subtask(number, "x"))[0] == "success"
    assert told(await notebook.view_subtasks([999]))[0] == "success"
    assert told(await notebook.view_subtasks([1_000]))[1].endswith("Must be between 0 and 999.")
    hint = await notebook.get_current_hint()
    assert hint is not None
    assert "index 20, 'step 20', is 'in_progress'" in (hint.get_text_content() or "")
    other = PlanNotebook()
    other.load_state_dict(json.loads(json.dumps(notebook.state_dict())))
    assert other.current_plan == notebook.current_plan


async def test_of_thousands_of_plans_the_latest_are_listed() -> None:
    storage = InMemoryPlanStorage()
    for number in range(10_000):
        await storage.add_plan(Plan(name=f"p{number}.", description="d", expected_outcome="e", subtasks=["a"]))  # type: ignore[list-item]
    text = (await PlanNotebook(storage=storage).view_historical_plans()).text
    assert text.startswith("The 9950 plans before these are not listed.\n\nPlan named 'p9950.'")
    assert text.count("Plan named") == 50
    other = InMemoryPlanStorage()
    other.load_state_dict(json.loads(json.dumps(storage.state_dict())))
    assert other.plans == storage.plans


# -- as models call them -----------------------------------------------------------------------------------------------


async def test_a_model_writes_numbers_as_text_and_arrays_too() -> None:
    notebook = PlanNotebook()
    words = {"name": "c", "description": "d", "expected_outcome": "e"}
    arguments = {"name": "Trip", "description": "d", "expected_outcome": "e"}
    for subtasks in (["a", "b", words], json.dumps(["a", "b", words]), ["a", "b", json.dumps(words)]):
        given = json.dumps({**arguments, "subtasks": subtasks})
        assert (await called(notebook, "create_plan", given))[0] == "success"
        assert names(notebook) == ["a", "b", "c"]
    assert (await called(notebook, "finish_subtask", '{"subtask_idx": "0", "subtask_outcome": "x"}'))[0] == "success"
    add = '{"subtask_idx": 3.0, "action": "add", "subtask": "last"}'
    assert (await called(notebook, "revise_current_plan", add))[0] == "success"
    delete = '{"subtask_idx": 0, "action": "delete", "subtask": null}'
    assert (await called(notebook, "revise_current_plan", delete))[0] == "success"
    assert names(notebook) == ["b", "c", "last"]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("view_subtasks", '{"subtask_idx": [9]}', "Invalid subtask_idx '[9]'"),
        ("update_subtask_state", '{"subtask_idx": 9, "state": "todo"}', "Invalid subtask_idx '9'"),
        ("update_subtask_state", '{"subtask_idx": 0, "state": "soon"}', "soon"),
        ("finish_subtask", '{"subtask_idx": 9, "subtask_outcome": "x"}', "Invalid subtask_idx '9'"),
        ("finish_plan", '{"state": "stopped", "outcome": "x"}', "stopped"),
        ("recover_historical_plan", '{"plan_id": "x"}', "Cannot find the plan with ID 'x'."),
        ("create_plan", '{"name": "x", "description": "d", "expected_outcome": "e", "subtasks": [""]}', "is empty"),
        ("revise_current_plan", '{"subtask_idx": 0, "action": "add", "subtask": {"name": "x"}}', "description"),
    ],
)
async def test_what_a_model_does_wrong_comes_back_as_text(tool: str, arguments: str, says: str) -> None:
    """PLN-34"""
    notebook = await notebook_with("todo")
    state, text = await called(notebook, tool, arguments)
    assert (state, says in text) == ("error", True), text
    assert states(notebook) == ["todo"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("view_subtasks", {"subtask_idx": [0]}),
        ("update_subtask_state", {"subtask_idx": 0, "state": "todo"}),
        ("finish_subtask", {"subtask_idx": 0, "subtask_outcome": "x"}),
        ("revise_current_plan", {"subtask_idx": 0, "action": "delete"}),
    ],
)
async def test_without_a_plan_a_program_gets_an_error_and_a_model_a_text(tool: str, arguments: dict[str, Any]) -> None:
    """PLN-34"""
    notebook = PlanNotebook()
    with pytest.raises(ValueError, match="no current plan"):
        await getattr(notebook, tool)(**arguments)
    state, text = await called(notebook, tool, json.dumps(arguments))
    assert (state, "Create one first by calling 'create_plan'" in text) == ("error", True)


async def test_the_end_of_a_plan_is_checked() -> None:
    notebook = PlanNotebook()
    assert told(await notebook.finish_plan("done", "x")) == ("error", "There is no plan to finish.")
    await make_plan(notebook, ["a"])
    state, text = told(await notebook.finish_plan("stopped", "x"))  # type: ignore[arg-type]
    assert (state, text) == ("error", "Invalid state 'stopped'. Must be one of 'done', 'abandoned'.")
    assert told(await notebook.finish_plan("abandoned", "No time."))[0] == "success"
    (stored,) = await notebook.storage.get_plans()
    assert (stored.state, stored.outcome) == ("abandoned", "No time.")


# -- several plans -----------------------------------------------------------------------------------------------------


async def test_agents_switch_between_plans() -> None:
    """PLN-05, PLN-06, PLN-25, PLN-26 and AMB-39: the plan that is left is suspended, not abandoned."""
    notebook = await notebook_with("in_progress", "todo")
    trip = notebook.current_plan
    assert trip is not None
    assert told(await notebook.view_historical_plans()) == ("success", "There are no historical plans.")
    await make_plan(notebook, ["x"], "Party")
    party = notebook.current_plan
    assert party is not None
    assert told(await notebook.view_historical_plans()) == (
        "success",
        f"Plan named 'Trip':\n- ID: {trip.id}\n- Created at: {trip.created_at}\n- Description: Go to Oslo.\n"
        "- State: suspended\n",
    )
    text = f"The current plan named 'Party' is replaced by the historical plan named 'Trip' with ID '{trip.id}'."
    assert told(await notebook.recover_historical_plan(trip.id)) == ("success", text)
    assert (notebook.current_plan.id, notebook.current_plan.state) == (trip.id, "in_progress")
    assert (names(notebook), states(notebook)) == (["a", "b"], ["in_progress", "todo"])
    await notebook.finish_subtask(0, "Found.")
    await notebook.recover_historical_plan(party.id)
    assert names(notebook) == ["x"]
    await notebook.recover_historical_plan(trip.id)
    assert states(notebook) == ["done", "in_progress"]


async def test_an_abandoned_plan_is_taken_up_again_and_one_that_is_done_stays_done() -> None:
    notebook = await notebook_with("in_progress")
    await notebook.finish_plan("abandoned", "No time.")
    (stored,) = await notebook.storage.get_plans()
    text = f"Historical plan named 'Trip' with ID '{stored.id}' is recovered successfully."
    assert told(await notebook.recover_historical_plan(stored.id)) == ("success", text)
    assert notebook.current_plan is not None
    assert (notebook.current_plan.state, notebook.current_plan.outcome) == ("in_progress", None)
    await notebook.finish_plan("done", "All is well.")
    await notebook.recover_historical_plan(stored.id)
    await make_plan(notebook, ["x"], "Party")
    (kept,) = await notebook.storage.get_plans()
    assert (kept.state, kept.outcome) == ("done", "All is well.")


async def test_the_current_plan_is_not_replaced_by_what_it_was() -> None:
    notebook = await notebook_with("todo")
    await notebook.finish_plan("abandoned", "x")
    (stored,) = await notebook.storage.get_plans()
    await notebook.recover_historical_plan(stored.id)
    await notebook.finish_subtask(0, "Found.")
    state, text = told(await notebook.recover_historical_plan(stored.id))
    assert (state, text) == ("error", f"The plan with ID '{stored.id}' is the current plan already.")
    assert states(notebook) == ["done"]


async def test_an_interrupted_plan_is_suspended_until_a_tool_goes_on_with_it() -> None:
    """PLN-07 and AMB-39"""
    notebook = await notebook_with("in_progress", "todo")
    await notebook.suspend()
    assert notebook.is_suspended
    hint = await notebook.get_current_hint()
    assert hint is not None
    assert "is suspended. See first to what the user wants now" in (hint.get_text_content() or "")
    await notebook.finish_subtask(0, "Found.")
    assert notebook.current_plan is not None
    assert (notebook.is_suspended, notebook.current_plan.state) == (False, "in_progress")
    await notebook.suspend()
    await notebook.resume()
    assert notebook.current_plan.state == "in_progress"
    await notebook.finish_plan("done", "x")
    await notebook.suspend()
    await notebook.resume()
    assert notebook.current_plan is None


# -- storages that fail, and slow ones ---------------------------------------------------------------------------------


class Broken(PlanStorageBase):
    async def add_plan(self, plan: Plan) -> None:
        raise OSError(28, "No space left on device", "/secret/place")

    async def get_plans(self) -> list[Plan]:
        raise ValueError("no index")

    async def get_plan(self, plan_id: str) -> Plan | None:
        raise ValueError("no index")


async def test_what_a_storage_refuses_is_a_text_and_the_plan_stays() -> None:
    notebook = await notebook_with("in_progress", storage=Broken())
    plan = notebook.current_plan
    full = "and nothing has changed: OSError: No space left on device"
    no_index = "and nothing has changed: ValueError: no index"
    heard: list[object] = []
    notebook.register_plan_change_hook("heard", lambda _, plan: heard.append(plan))
    assert told(await make_plan(notebook, ["x"])) == ("error", f"The current plan could not be stored, {full}")
    assert told(await notebook.finish_plan("done", "x")) == ("error", f"The plan could not be stored, {full}")
    assert told(await notebook.view_historical_plans()) == ("error", f"The plans could not be read, {no_index}")
    assert told(await notebook.recover_historical_plan("x")) == ("error", f"The plan could not be read, {no_index}")
    assert notebook.current_plan is plan
    assert plan is not None
    assert (plan.state, plan.outcome, heard) == ("todo", None, [])


class Slow(InMemoryPlanStorage):
    async def add_plan(self, plan: Plan, override: bool = True) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await super().add_plan(plan, override)


async def test_changes_at_the_same_time_lose_no_plan() -> None:
    """A chat model may call several tools at once."""
    notebook = await notebook_with("in_progress", storage=Slow())
    await asyncio.gather(*(make_plan(notebook, ["x"], name) for name in ("A", "B", "C")))
    kept = {plan.name for plan in await notebook.storage.get_plans()}
    assert notebook.current_plan is not None
    assert kept | {notebook.current_plan.name} == {"Trip", "A", "B", "C"}
    await asyncio.gather(make_plan(notebook, ["y"], "D"), notebook.update_subtask_state(0, "abandoned"))
    assert (names(notebook), states(notebook)) == (["y"], ["abandoned"])


# -- hints and hooks ---------------------------------------------------------------------------------------------------


async def test_the_hint_is_a_message_of_the_user() -> None:
    """PLN-18"""
    hint = await PlanNotebook().get_current_hint()
    assert hint is not None
    assert (hint.name, hint.role) == ("user", "user")
    assert (hint.get_text_content() or "").startswith("<system-hint>If the user's query is complex")


async def test_hints_are_written_by_a_function_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    """PLN-10, PLN-12: None gives no hint, and nor does a function that fails."""
    notebook = await notebook_with("todo", plan_to_hint=lambda plan: plan and f"Do {plan.name}.")
    hint = await notebook.get_current_hint()
    assert hint is not None
    assert hint.get_text_content() == "Do Trip."
    await notebook.finish_plan("done", "x")
    assert await notebook.get_current_hint() is None
    notebook.plan_to_hint = lambda plan: str(1 / 0)
    assert await notebook.get_current_hint() is None
    assert "the hint of a plan could not be written" in caplog.text


async def test_hooks_learn_of_each_change() -> None:
    """PLN-08, PLN-27, PLN-29: they get the notebook and its plan, None after its end; some are async."""
    notebook = PlanNotebook()
    heard: list[tuple[str, str | None]] = []

    def first(self: PlanNotebook, plan: Plan | None) -> None:
        assert self is notebook
        heard.append(("first", plan and plan.state))

    async def second(self: PlanNotebook, plan: Plan | None) -> None:
        await asyncio.sleep(0)
        heard.append(("second", plan and plan.state))

    notebook.register_plan_change_hook("one", first)
    notebook.register_plan_change_hook(second)
    changes: list[Any] = [
        (lambda: make_plan(notebook, ["a", "b"]), "todo"),
        (lambda: notebook.update_subtask_state(0, "in_progress"), "in_progress"),
        (lambda: notebook.finish_subtask(0, "x"), "in_progress"),
        (lambda: notebook.revise_current_plan(0, "delete"), "in_progress"),
        (notebook.suspend, "suspended"),
        (notebook.resume, "in_progress"),
        (lambda: notebook.finish_plan("done", "x"), None),
    ]
    for change, state in changes:
        await change()
        assert heard == [("first", state), ("second", state)]
        heard.clear()
    (stored,) = await notebook.storage.get_plans()
    await notebook.recover_historical_plan(stored.id)
    assert heard == [("first", "done"), ("second", "done")]
    heard.clear()
    for _ in range(2):
        await notebook.view_subtasks([0])
        await notebook.view_historical_plans()
        await notebook.update_subtask_state(9, "todo")
    assert heard == []


async def test_hooks_are_replaced_and_removed_by_their_names() -> None:
    """PLN-28 and AMB-37: without a name, a hook has that of its function."""
    notebook = PlanNotebook()
    heard: list[str] = []

    def on_plan_changed(self: PlanNotebook, plan: Plan | None) -> None:
        heard.append("function")

    class Hook:
        def __call__(self, notebook: PlanNotebook, plan: Plan | None) -> None:
            heard.append("object")

    hook = Hook()
    notebook.register_plan_change_hook(on_plan_changed)
    notebook.register_plan_change_hook(hook)
    await make_plan(notebook, ["a"])
    notebook.register_plan_change_hook("on_plan_changed", lambda *_: heard.append("other"))
    await notebook.suspend()
    assert heard == ["function", "object", "other", "object"]
    notebook.remove_plan_change_hook("on_plan_changed")
    notebook.remove_plan_change_hook(hook)
    await notebook.resume()
    assert len(heard) == 4
    with pytest.raises(ValueError, match="on_plan_changed"):
        notebook.remove_plan_change_hook(on_plan_changed)
    with pytest.raises(TypeError, match="a hook is a function"):
        notebook.register_plan_change_hook("name")


async def test_an_error_in_a_hook_is_logged_and_breaks_no_tool(caplog: pytest.LogCaptureFixture) -> None:
    notebook = PlanNotebook()
    heard: list[str] = []

    async def fails(self: PlanNotebook, plan: Plan | None) -> None:
        notebook.remove_plan_change_hook("fails")
        raise RuntimeError("no screen")

    notebook.register_plan_change_hook(fails)
    notebook.register_plan_change_hook("last", lambda *_: heard.append("last"))
    assert told(await make_plan(notebook, ["a"]))[0] == "success"
    assert heard == ["last"]
    assert "the plan change hook 'fails' failed" in caplog.text


async def test_a_hook_may_use_the_tools() -> None:
    notebook = PlanNotebook()

    async def begin(self: PlanNotebook, plan: Plan | None) -> None:
        self.remove_plan_change_hook("begin")
        await self.update_subtask_state(0, "in_progress")

    notebook.register_plan_change_hook(begin)
    await make_plan(notebook, ["a"])
    assert states(notebook) == ["in_progress"]


# -- state -------------------------------------------------------------------------------------------------------------


async def test_the_state_is_the_plan_and_its_history() -> None:
    """PLN-13: a new notebook goes on where the other one was."""
    notebook, other = await notebook_with("todo", "todo"), PlanNotebook()
    await make_plan(notebook, ["x"], "Party")
    await notebook.update_subtask_state(0, "in_progress")
    state = json.loads(json.dumps(notebook.state_dict()))
    assert [*state] == ["storage", "current_plan"]
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert (names(other), states(other)) == (["x"], ["in_progress"])
    await other.finish_plan("done", "x")
    other.load_state_dict({**state, "current_plan": None})
    assert other.current_plan is None


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda state: None, UsageError),
        (lambda state: [], UsageError),
        (lambda state: {}, KeyError),
        (lambda state: {"current_plan": None}, KeyError),
        (lambda state: {**state, "storage": None}, UsageError),
        (lambda state: {**state, "storage": {}}, KeyError),
        (lambda state: {**state, "storage": {"plans": []}}, UsageError),
        (lambda state: {**state, "current_plan": "Trip"}, UsageError),
        (lambda state: {**state, "current_plan": {**state["current_plan"], "state": "soon"}}, UsageError),
        (lambda state: {**state, "current_plan": {**state["current_plan"], "subtasks": [3]}}, UsageError),
    ],
)
async def test_a_damaged_state_is_refused_and_changes_nothing(damage: Any, error: type[Exception]) -> None:
    notebook = await notebook_with("todo")
    await make_plan(notebook, ["x"], "Party")
    before = notebook.state_dict()
    other = PlanNotebook()
    await make_plan(other, ["y"], "Other")
    damaged = damage(copy.deepcopy(before) | {"storage": other.state_dict()["storage"]})
    with pytest.raises(error):
        notebook.load_state_dict(damaged)
    assert notebook.state_dict() == before
