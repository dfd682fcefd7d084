"""What a change of a plan is worth telling the user. Pure."""

from __future__ import annotations

from typing import Literal

from realtime.plan.plan import Plan

Announce = Literal["never", "milestones", "all"]
"""What the user learns of a plan: nothing, each subtask and plan that is done, or every change."""

_STATES = {"todo": "to be done again", "in_progress": "in progress", "done": "done", "abandoned": "given up"}
TELL = "Tell the user so in one short sentence."


def news_of(before: Plan | None, after: Plan | None, announce: Announce) -> str:
    """Return what one change has brought, in sentences for the model.

    It is "" for what the user does not learn. `after` is the plan as it is now, or as it was at its end.
    """
    if announce == "never" or after is None:
        return ""
    is_all = announce == "all"
    if before is None or before.id != after.id:
        return f"The plan '{after.name}' is begun." if is_all else ""
    told = []
    if len(before.subtasks) == len(after.subtasks):
        for old, new in zip(before.subtasks, after.subtasks, strict=True):
            if old.state != new.state and (is_all or new.state == "done"):
                outcome = f" Its outcome: {new.outcome}" if new.state == "done" else ""
                told.append(f"The subtask '{new.name}' is {_STATES[new.state]}.{outcome}")
    if before.state != after.state and (after.state == "done" or (is_all and after.state == "abandoned")):
        told.append(f"The plan '{after.name}' is {_STATES[after.state]}. Its outcome: {after.outcome}")
    if is_all and not told:
        told.append(f"The plan '{after.name}' was changed.")
    return " ".join(told)
