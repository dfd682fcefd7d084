"""`DefaultPlanToHint`: what an agent reads of its plan before each step."""

from __future__ import annotations

from realtime.plan.plan import Plan

_PLAN = "The current plan:\n```\n{plan}\n```\n"
_OTHERWISE = (
    "- Ask the user for what you need to know.\n"
    "- Change the plan by calling 'revise_current_plan', if it does not fit any more.\n"
    "- If the user wants something that has nothing to do with the plan, do that first, then return to the plan."
)


class DefaultPlanToHint:
    """Says what an agent may do next about its plan.

    The texts are attributes, so that a subclass or an object may have others. `{plan}` in them is the plan in Markdown,
    `{index}` the place of its first subtask that is to be done; `{subtask_idx}`, `{subtask_name}` and `{subtask}` are
    those of the one in progress.
    """

    hint_prefix: str = "<system-hint>"
    hint_suffix: str = "</system-hint>"

    # The text of AgentScope: programs compare it.
    no_plan: str = (
        "If the user's query is complex (e.g. programming a website, game or app), or requires a long chain of steps "
        "to complete (e.g. conduct research on a certain topic from different sources), you NEED to create a plan "
        "first by calling 'create_plan'. Otherwise, you can directly execute the user's query without planning."
    )
    at_the_beginning: str = (
        f"{_PLAN}Nothing of it is done yet. You may:\n"
        "- Begin with the first subtask: call 'update_subtask_state' with subtask_idx=0 and state='in_progress', then "
        f"do it.\n{_OTHERWISE}\n"
        "- If the user does not want the plan any more, make sure of that and call 'finish_plan'."
    )
    when_a_subtask_in_progress: str = (
        f"{_PLAN}The subtask at index {{subtask_idx}}, '{{subtask_name}}', is 'in_progress':\n```\n{{subtask}}\n```\n"
        "You may:\n"
        "- Go on with it.\n"
        "- Once it is done, call 'finish_subtask' with what came of it.\n"
        f"{_OTHERWISE}"
    )
    when_no_subtask_in_progress: str = (
        f"{_PLAN}The first {{index}} subtasks are done or abandoned, and none is 'in_progress'. You may:\n"
        "- Begin with the next one: call 'update_subtask_state' with subtask_idx={index} and state='in_progress', then "
        f"do it.\n{_OTHERWISE}"
    )
    at_the_end: str = (
        f"{_PLAN}Nothing of it is left to do. You may:\n"
        "- Call 'finish_plan' with the outcome, and tell the user what was done and what came of it.\n"
        f"{_OTHERWISE}"
    )
    when_suspended: str = (
        "The user has interrupted the plan, and it is suspended. See first to what the user wants now; go on with the "
        "plan after that, unless the user wants something else. If the user asks where you were, say it, and go on "
        "with the first subtask that is open: mark it as 'in_progress' by calling 'update_subtask_state'.\n"
    )
    """Precedes the text for a plan that is suspended."""

    def __call__(self, plan: Plan | None) -> str | None:
        """Return the hint."""
        if plan is None:
            return f"{self.hint_prefix}{self.no_plan}{self.hint_suffix}"
        running = [place for place, one in enumerate(plan.subtasks) if one.state == "in_progress"]
        due = [place for place, one in enumerate(plan.subtasks) if one.state == "todo"]
        values: dict[str, object] = {"plan": _inert(plan.to_markdown()), "index": due[0] if due else len(plan.subtasks)}
        if running:
            subtask = plan.subtasks[running[-1]]
            values |= {"subtask_idx": running[-1], "subtask_name": _inert(subtask.name)}
            values["subtask"] = _inert(subtask.to_markdown(detailed=True))
            text = self.when_a_subtask_in_progress
        elif len(due) == len(plan.subtasks):
            text = self.at_the_beginning
        else:
            text = self.when_no_subtask_in_progress if due else self.at_the_end
        suspended = self.when_suspended if plan.state == "suspended" else ""
        return f"{self.hint_prefix}{suspended}{text.format(**values)}{self.hint_suffix}"


def _inert(quoted: str) -> str:
    """Return a text that ends no quotation: models write into plans what users, tools and web pages say."""
    return quoted.replace("<", "&lt;").replace("```", "'''")
