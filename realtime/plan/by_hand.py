"""Edits of a plan by its user's hand, under the model's rules. Pure."""

from __future__ import annotations

import unicodedata
from typing import assert_never

from realtime.event.client import AddSubtask, MarkSubtask, RemoveSubtask, RenameSubtask
from realtime.plan import rules
from realtime.plan.plan import Plan, SubTask
from realtime.plan.rules import Refusal

MAX_NAME_CHARS = 200
"""Length of a name: the hint holds all of them, and so does each prompt."""
MAX_OUTCOME_CHARS = 2_000
MAX_SUBTASKS = 100
"""Subtasks beyond which no user adds one: each edit tells the whole plan."""
DONE_BY_HAND = "The user has marked it as done."
ENDED_BY_HAND = "The user has ended it."

_BREAKS_OUT = ("```", "<system-", "</system-")
"""What would end the quoted plan in a hint: what follows would be read as the program's words."""

SubtaskEdit = MarkSubtask | RenameSubtask | AddSubtask | RemoveSubtask


def do_by_hand(plan: Plan, edit: SubtaskEdit, max_subtasks: int | None) -> None:
    """Change a subtask. Raises Refusal, with nothing changed."""
    match edit:
        case MarkSubtask(subtask_id=subtask_id, state="done"):
            outcome = DONE_BY_HAND if edit.outcome is None else one_line(edit.outcome, "An outcome", MAX_OUTCOME_CHARS)
            rules.finish(plan, _index(plan, subtask_id), outcome)
        case MarkSubtask(subtask_id=subtask_id, state=state):
            rules.mark(plan, _index(plan, subtask_id), state)
        case RenameSubtask(subtask_id=subtask_id, name=name):
            index = _index(plan, subtask_id)
            plan.subtasks[index].name = one_line(name, "A name", MAX_NAME_CHARS)
        case AddSubtask(name=name, before=before):
            index = len(plan.subtasks) if before is None else _index(plan, before)
            added = SubTask(name=one_line(name, "A name", MAX_NAME_CHARS), description="", expected_outcome="")
            most = MAX_SUBTASKS if max_subtasks is None else min(max_subtasks, MAX_SUBTASKS)
            rules.revise(plan, index, "add", added, most)
        case RemoveSubtask(subtask_id=subtask_id):
            rules.revise(plan, _index(plan, subtask_id), "delete", None, None)
        case _:
            assert_never(edit)


def one_line(text: str, what: str, max_chars: int) -> str:
    """Return the text in one line. Raises Refusal for an empty or too long one, and for one that ends a quotation."""
    line = " ".join("".join(" " if unicodedata.category(one) == "Cc" else one for one in text).split())
    if not line:
        raise Refusal(f"{what} needs at least one character.")
    if len(line) > max_chars:
        raise Refusal(f"{what} has {max_chars} characters at most, and this one has {len(line)}.")
    if any(mark in line.lower() for mark in _BREAKS_OUT):
        raise Refusal(f"{what} cannot hold ``` or <system-.")
    return line


def _index(plan: Plan, subtask_id: str) -> int:
    """Return the place of a subtask now. Raises Refusal where it is gone."""
    for index, subtask in enumerate(plan.subtasks):
        if subtask.id == subtask_id:
            return index
    raise Refusal("The subtask is not in the plan any more.")
