"""The rules by which model, program and user change a plan. Each returns a sentence about what was done."""

from __future__ import annotations

from realtime.plan.plan import Plan, SubTask, SubTaskDraft, subtask_of


class Refusal(Exception):
    """A change cannot be made, and nothing has changed: a sentence for the model, or for the user."""


def mark(plan: Plan, given: object, state: str) -> str:
    """Set the state of a subtask. Raises Refusal."""
    index = index_of(plan, given)
    if state not in ("todo", "in_progress", "abandoned"):
        raise Refusal(f"Invalid state '{state}'. Must be one of 'todo', 'in_progress', 'abandoned'.")
    subtask = plan.subtasks[index]
    if state == "in_progress":
        _check_earlier(plan, index)
        for place, other in enumerate(plan.subtasks):
            if other.state == "in_progress" and other is not subtask:
                raise Refusal(
                    f"Subtask (at index {place}) named '{other.name}' is already 'in_progress'. You should finish "
                    "it first before starting another subtask."
                )
    subtask.state = state  # type: ignore[assignment]  # checked above
    if subtask.is_open:
        subtask.outcome = subtask.finished_at = None
    refreshed = plan.refresh_plan_state()
    told = f"Subtask at index {index}, named '{subtask.name}' is marked as '{state}' successfully."
    return f"{told} {refreshed}".rstrip()


def finish(plan: Plan, given: object, outcome: str) -> str:
    """Mark a subtask as done; the next one that is open is then in progress. Raises Refusal."""
    index = index_of(plan, given)
    subtask = plan.subtasks[index]
    _check_earlier(plan, index, f"Cannot finish subtask at index {index} because the previous subtask (at index ")
    if not subtask.is_open:
        raise Refusal(
            f"Subtask (at index {index}) named '{subtask.name}' is '{subtask.state}' already. If it is to be done "
            "again, mark it as 'in_progress' first."
        )
    subtask.finish(outcome)
    told = f"Subtask (at index {index}) named '{subtask.name}' is marked as done successfully."
    is_running = any(one.state == "in_progress" for one in plan.subtasks)
    following = next((one for one in plan.subtasks[index + 1 :] if one.is_open), None)
    if following is not None and not is_running:
        following.state = "in_progress"
        told += f" The next subtask named '{following.name}' is activated."
        plan.refresh_plan_state()
    return told


def revise(plan: Plan, given: object, action: str, subtask: SubTaskDraft | str | None, max_subtasks: int | None) -> str:
    """Add a subtask, or revise or delete one. Raises Refusal, and BadOption for what is no subtask."""
    if action not in ("add", "revise", "delete"):
        raise Refusal(f"Error: Invalid action '{action}'. Must be one of 'add', 'revise', 'delete'.")
    if action != "delete" and subtask is None:
        raise Refusal(f"Error: The subtask must be provided when action is '{action}', but got None.")
    n_places = len(plan.subtasks) + (action == "add")
    index = index_of(plan, given, n_places, f" for action '{action}'", "Error: ")
    if action == "delete":
        told = f"Subtask (named '{plan.subtasks[index].name}') at index {index} is deleted successfully."
        del plan.subtasks[index]
    elif action == "add":
        check_number(n_places, max_subtasks)
        plan.subtasks.insert(index, subtask_of(subtask or ""))
        told = f"New subtask is added successfully at index {index}."
    else:
        plan.subtasks[index] = _revised(plan.subtasks[index], subtask or "")
        told = f"Subtask at index {index} is revised successfully."
    return told


def check_number(n_subtasks: int, max_subtasks: int | None) -> None:
    """Raise Refusal for a plan that would have too many subtasks."""
    if max_subtasks is not None and n_subtasks > max_subtasks:
        raise Refusal(
            f"Error: A plan may have {max_subtasks} subtasks at most, and this one would have {n_subtasks}. "
            "Make fewer and larger ones."
        )


def index_of(plan: Plan, given: object, n_places: int | None = None, action: str = "", error: str = "") -> int:
    """Return the index that is meant. Raises Refusal where there is no such place."""
    n_places = len(plan.subtasks) if n_places is None else n_places
    index = number(given, error)
    if not 0 <= index < n_places:
        raise Refusal(f"{error}{invalid(index, n_places, action)}")
    return index


def number(given: object, error: str = "") -> int:
    """Return an index; models write numbers as texts, too. Raises Refusal."""
    try:
        if isinstance(given, str) or (isinstance(given, float) and given.is_integer()):
            return int(given)
    except ValueError:
        pass
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise Refusal(f"{error}Invalid type for argument 'subtask_idx'. Expected 'int', but got {given!r:.80}.")


def invalid(index: int | list[int], n_places: int, action: str = "") -> str:
    """Return the sentence about an index that no subtask has."""
    valid = f"Must be between 0 and {n_places - 1}." if n_places else "The plan has no subtasks."
    return f"Invalid subtask_idx '{index}'{action}. {valid}"


def _check_earlier(plan: Plan, index: int, because: str = "Subtask (at index ") -> None:
    """Raise Refusal while an earlier subtask is open."""
    for place, earlier in enumerate(plan.subtasks[:index]):
        if earlier.is_open:
            raise Refusal(
                f"{because}{place}) named '{earlier.name}' is not done yet. You should finish the previous "
                "subtasks first."
            )


def _revised(subtask: SubTask, given: SubTaskDraft | str) -> SubTask:
    """Return a subtask with new words; one that the program made replaces it whole."""
    revised = subtask_of(given)
    if not isinstance(given, SubTask):
        revised.id, revised.state, revised.created_at = subtask.id, subtask.state, subtask.created_at
        revised.outcome, revised.finished_at = subtask.outcome, subtask.finished_at
    return revised
