"""`Plan` and `SubTask`: their fields, their states, their Markdown and their dumps."""

import re
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.plan import Plan, SubTask, SubTaskDraft
from realtime.plan.plan import PlanState, State, subtask_of
from tests.plan.plans import subtask

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}")


def plan_of(*states: State, state: PlanState = "todo") -> Plan:
    subtasks = [subtask(name, one) for name, one in zip("abcdefgh", states, strict=False)]
    return Plan(name="Trip", description="Go.", expected_outcome="Gone.", subtasks=subtasks, state=state)


def test_a_plan_is_dumped_whole_in_the_order_of_its_fields_and_read_again() -> None:
    """PLN-30, PLN-31: the fields, times local with milliseconds."""
    plan = plan_of("todo", "todo")
    plan.subtasks[0].finish("Found.")
    dumped = plan.model_dump()
    assert [*dumped] == [
        *("id", "name", "description", "expected_outcome", "subtasks", "created_at", "state", "finished_at", "outcome")
    ]
    done, todo = dumped["subtasks"]
    fields = ["name", "description", "expected_outcome", "outcome", "state", "created_at", "finished_at", "id"]
    assert [*done] == [*todo] == fields
    assert (done["state"], done["outcome"]) == ("done", "Found.")
    assert (todo["state"], todo["outcome"], todo["finished_at"]) == ("todo", None, None)
    assert all(TIME.fullmatch(time) for time in (dumped["created_at"], done["created_at"], done["finished_at"]))
    assert Plan.model_validate(dumped) == plan
    assert plan_of().id != plan_of().id


def test_a_plan_is_written_as_markdown() -> None:
    plan = plan_of("done", "in_progress", "abandoned", "todo")
    plan.subtasks[0].finish("Found.")
    assert plan.to_markdown().splitlines() == [
        "# Trip",
        "**Description**: Go.",
        "**Expected Outcome**: Gone.",
        "**State**: todo",
        f"**Created At**: {plan.created_at}",
        "## Subtasks",
        "- [x] a",
        "- [ ] [WIP]b",
        "- [ ] [Abandoned]c",
        "- [ ] d",
    ]
    done, running = plan.subtasks[:2]
    assert plan.to_markdown(detailed=True).splitlines()[6:17] == [
        "- [x] a",
        f"\t- Created At: {done.created_at}",
        "\t- Description: Do a.",
        "\t- Expected Outcome: a is there.",
        "\t- State: done",
        f"\t- Finished At: {done.finished_at}",
        "\t- Actual Outcome: Found.",
        "- [ ] [WIP]b",
        f"\t- Created At: {running.created_at}",
        "\t- Description: Do b.",
        "\t- Expected Outcome: b is there.",
    ]
    short = ["- [x] a", "- [][WIP] b", "- [][Abandoned] c", "- [] d"]
    assert [one.to_oneline_markdown() for one in plan.subtasks] == short


@pytest.mark.parametrize(
    ("before", "states", "after"),
    [
        ("todo", ("in_progress",), "in_progress"),
        ("in_progress", ("done", "todo"), "todo"),
        ("todo", ("todo",), "todo"),
        ("suspended", ("in_progress",), "in_progress"),
        ("suspended", ("todo",), "todo"),
        ("done", ("in_progress",), "done"),
        ("abandoned", ("in_progress",), "abandoned"),
    ],
)
def test_the_state_of_an_open_plan_follows_its_subtasks(
    before: PlanState, states: tuple[State, ...], after: PlanState
) -> None:
    plan = plan_of(*states, state=before)
    sentence = "" if before == after else f"The plan state has been updated to '{after}'."
    assert (plan.refresh_plan_state(), plan.state) == (sentence, after)


@pytest.mark.parametrize(
    ("before", "states", "suspended", "resumed"),
    [
        ("todo", ("todo",), "suspended", "todo"),
        ("in_progress", ("done", "in_progress"), "suspended", "in_progress"),
        ("in_progress", ("done", "todo"), "suspended", "in_progress"),
        ("suspended", ("todo",), "suspended", "todo"),
        ("abandoned", ("todo",), "abandoned", "todo"),
        ("done", ("done",), "done", "done"),
    ],
)
def test_an_open_plan_is_suspended_and_goes_on(
    before: PlanState, states: tuple[State, ...], suspended: PlanState, resumed: PlanState
) -> None:
    plan = plan_of(*states, state=before)
    assert plan.suspend() is (before in ("todo", "in_progress"))
    assert plan.state == suspended
    plan.resume()
    assert plan.state == resumed


WORDS = {"name": "Book", "description": "By rail.", "expected_outcome": "A ticket."}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (SubTaskDraft(**WORDS), ("Book", "By rail.", "A ticket.", "todo")),
        (WORDS, ("Book", "By rail.", "A ticket.", "todo")),
        ({**WORDS, "state": "done", "strange": 1}, ("Book", "By rail.", "A ticket.", "done")),
        (" Book a train \n", ("Book a train", "", "", "todo")),
        ('{"name": "Book", "description": "By rail.", "expected_outcome": "A ticket."}', (*WORDS.values(), "todo")),
        ("{name", ("{name", "", "", "todo")),
    ],
)
def test_a_subtask_is_what_a_model_means_by_it(given: Any, expected: tuple[str, ...]) -> None:
    made = subtask_of(given)
    assert (made.name, made.description, made.expected_outcome, made.state) == expected
    assert "Description: \n" not in made.to_markdown(detailed=True)


def test_a_subtask_of_the_program_stays_the_same_object() -> None:
    mine = subtask("a")
    assert subtask_of(mine) is mine


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ("  ", "is empty"),
        ({}, "missing required field `name`"),
        ({**WORDS, "state": "soon"}, "soon"),
        ('{"name": 3}', "name"),
        (7, "Expected `object`, got `int`"),
        (None, "Expected `object`"),
    ],
)
def test_what_is_no_subtask_is_refused(given: Any, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        subtask_of(given)


@pytest.mark.parametrize("wrong", [{"state": "soon"}, {"name": 3}, {"subtasks": "a, b"}, {"subtasks": None}])
def test_a_plan_checks_what_it_is_made_of(wrong: dict[str, Any]) -> None:
    options: dict[str, Any] = {**WORDS, "subtasks": [], **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Plan(**options)
    with pytest.raises(UsageError, match="no saved plan") as caught:
        Plan.model_validate({**WORDS, "subtasks": [], **wrong})
    assert caught.value.code == "bad_state"


def test_a_copy_changes_by_itself() -> None:
    plan = plan_of("todo")
    made = plan.copy()
    made.subtasks[0].finish("Found.")
    assert (made.id, plan.subtasks[0].state) == (plan.id, "todo")
    assert isinstance(made.subtasks[0], SubTask)
