"""`client_plan_edit` in a call: what listeners and the model learn of it, and what is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent import plan_of_call as p
from realtime.event import client as c
from realtime.event import server as s
from realtime.model import base
from realtime.plan import Plan, PlanNotebook, PlanStorageBase
from tests.agent.fakes import Call, FakeModel, call
from tests.agent.test_background_tools import hints
from tests.agent.test_tools import ask_tools, results
from tests.plan.plans import names, notebook_with, states

pytestmark = pytest.mark.virtual_time


def notebook_of(made: Call) -> PlanNotebook:
    assert made.agent.spec.plan_notebook is not None
    return made.agent.spec.plan_notebook


def plan_of(made: Call) -> Plan:
    plan = notebook_of(made).current_plan
    assert plan is not None
    return plan


def edits(made: Call, *changes: c.PlanEdit) -> None:
    """The client changes the plan; the events are called e0, e1, ..."""
    plan_id = plan_of(made).id
    made.receive(*(c.ClientPlanEditEvent(plan_id=plan_id, edit=one, event_id=f"e{n}") for n, one in enumerate(changes)))


def told(made: Call) -> list[dict[str, Any]]:
    return [one.value for one in made.of(s.ServerCustomEvent) if one.name == p.PLAN_UPDATED]


def errors(made: Call) -> list[tuple[str, str | None]]:
    return [(one.code, one.client_event_id) for one in made.of(s.AgentErrorEvent)]


async def test_a_change_by_hand_reaches_listeners_and_model_and_is_announced_to_no_one() -> None:
    """Listeners are told who did what, and the hint is replaced."""
    async with call(plan_notebook=await notebook_with("in_progress", "todo", announce="all")) as made:
        first, second = (one.id for one in plan_of(made).subtasks)
        edits(
            made,
            c.MarkSubtask(subtask_id=first, state="done", outcome="The 9:05."),
            c.RenameSubtask(subtask_id=second, name="Pack light"),
            c.EndPlan(state="abandoned"),
        )
        await asyncio.sleep(5)
        begun, done, renamed, ended = told(made)
        assert "edited" not in begun
        who = {"agent_id": made.agent.agent_id, "agent_name": "Friday"}
        assert all(value.items() >= who.items() for value in (begun, done, renamed, ended))
        assert done["edited"] == {
            "by": "",
            "edit": {"type": "mark_subtask", "subtask_id": first, "state": "done", "outcome": "The 9:05."},
        }
        assert [one["state"] for one in done["plan"]["subtasks"]] == ["done", "in_progress"]
        assert [one["name"] for one in renamed["plan"]["subtasks"]] == ["a", "Pack light"]
        assert (ended["plan"], ended["edited"]["edit"]["type"]) == (None, "end_plan")
        given = [update.settings.instructions for update in made.link.got(base.SessionUpdate)]
        assert "index 1, 'Pack light', is 'in_progress'" in given[-2]
        assert "create a plan first" in given[-1]
        assert (hints(made), errors(made), made.link.got(base.ResponseCreate)) == ([], [], [])


@pytest.mark.parametrize(
    ("options", "edit", "code"),
    [
        ({}, c.RemoveSubtask(subtask_id="another"), "plan_edit_refused"),
        ({"max_subtasks": 2}, c.AddSubtask(name="One more"), "plan_edit_refused"),
        ({"editable": False}, c.AddSubtask(name="One more"), "plan_not_editable"),
        ({"storage": PlanStorageBase()}, c.EndPlan(state="done"), "plan_edit_refused"),
    ],
)
async def test_what_cannot_be_done_is_one_error_and_no_news(
    options: dict[str, Any], edit: c.PlanEdit, code: str
) -> None:
    async with call(plan_notebook=await notebook_with("todo", "todo", **options)) as made:
        edits(made, edit)
        await asyncio.sleep(1)
        assert (errors(made), len(told(made)), states(notebook_of(made))) == ([(code, "e0")], 1, ["todo", "todo"])
        assert made.link.got(base.SessionUpdate) == []


@pytest.mark.parametrize("notebook", [None, PlanNotebook()], ids=["no notebook", "no plan"])
async def test_without_a_plan_there_is_nothing_to_change(notebook: PlanNotebook | None) -> None:
    async with call(plan_notebook=notebook) as made:
        made.receive(c.ClientPlanEditEvent(plan_id="p", edit=c.AddSubtask(name="x"), event_id="e0"))
        await asyncio.sleep(1)
        assert errors(made) == [("no_plan", "e0")]


async def test_the_same_event_again_counts_once() -> None:
    async with call(plan_notebook=await notebook_with("todo")) as made:
        edits(made, c.AddSubtask(name="One"))
        made.session.intake.expect_repeats(from_start=False)
        edits(made, c.AddSubtask(name="One"))
        await asyncio.sleep(1)
        assert names(notebook_of(made)) == ["a", "One"]


async def test_changes_of_user_and_model_come_one_after_the_other() -> None:
    """The model finishes the second subtask, while the user has removed the first: it hits no other one."""
    async with call(plan_notebook=await notebook_with("done", "in_progress", "todo")) as made:
        finish = ("finish_subtask", json.dumps({"subtask_idx": 1, "subtask_outcome": "Booked."}))
        edits(made, c.RemoveSubtask(subtask_id=plan_of(made).subtasks[0].id))
        ask_tools(made, ("c1", *finish))
        await asyncio.sleep(1)
        ((_, state, said),) = results(made)
        assert (state, states(notebook_of(made))) == ("error", ["in_progress", "todo"])
        assert "The user has changed the plan" in said
        ask_tools(made, ("c2", finish[0], json.dumps({"subtask_idx": 0, "subtask_outcome": "Booked."})))
        edits(made, c.MarkSubtask(subtask_id=plan_of(made).subtasks[1].id, state="abandoned"))
        await asyncio.sleep(1)
        assert (results(made)[-1][1], states(notebook_of(made))) == ("success", ["done", "abandoned"])


async def test_a_change_of_the_program_in_a_hook_is_not_the_users() -> None:
    notebook = await notebook_with("todo")

    async def answers(one: PlanNotebook, plan: Plan | None) -> None:
        if plan is not None and len(plan.subtasks) == 2:
            await one.revise_current_plan(2, "add", "The program's")

    async with call(plan_notebook=notebook) as made:
        notebook_of(made).register_plan_change_hook(answers)
        edits(made, c.AddSubtask(name="The user's"))
        await asyncio.sleep(1)
        assert [("edited" in one, len(one["plan"]["subtasks"])) for one in told(made)] == [
            *((False, 1), (True, 2), (False, 3))
        ]


async def test_changes_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """More at once than a storage may delay, and more than the log is to hold."""
    async with call(plan_notebook=await notebook_with("todo", "todo")) as made:
        first = plan_of(made).subtasks[0].id
        rename = c.RenameSubtask(subtask_id=first, name="Other")
        edits(made, *[rename] * (p.MAX_EDITS_AT_ONCE + 1))
        await asyncio.sleep(1)
        ((code, event_id),) = errors(made)
        assert (code, event_id) == ("too_many_plan_edits", f"e{p.MAX_EDITS_AT_ONCE}")
        monkeypatch.setattr(p, "MAX_EDITED_BYTES", len(json.dumps(told(made)[-1])))
        edits(made, rename)
        await asyncio.sleep(1)
        assert errors(made)[1:] == [("too_many_plan_edits", "e0")]
        assert len(told(made)) == 1 + p.MAX_EDITS_AT_ONCE


async def test_what_the_user_does_after_the_end_of_the_call_changes_nothing() -> None:
    async with call(plan_notebook=await notebook_with("todo")) as made:
        plan_id, notebook = plan_of(made).id, notebook_of(made)
        await made.session.end("over")
        made.receive(c.ClientPlanEditEvent(plan_id=plan_id, edit=c.EndPlan(state="done")))
        await asyncio.sleep(1)
        assert notebook.current_plan is not None


async def test_the_next_agent_of_a_call_has_a_plan_of_its_own_to_change() -> None:
    """A change of the plan of the agent before misses it."""
    theirs = await notebook_with("todo")
    ben = RealtimeAgent("Ben", "You are Ben.", FakeModel(), plan_notebook=theirs)
    agent = RealtimeAgent("Friday", "", FakeModel(), plan_notebook=await notebook_with("todo"), transfers=[ben])
    out: list[Any] = []
    await agent.start(out.append)
    assert agent.plan_notebook is not None
    assert agent.plan_notebook.current_plan is not None
    before = agent.plan_notebook.current_plan.id
    now = (await agent.transfer_to("Ben")).plan_notebook
    assert now is not None
    assert now.current_plan is not None
    for n, plan_id in enumerate((before, now.current_plan.id)):
        await agent.handle_input(c.ClientPlanEditEvent(plan_id=plan_id, edit=c.AddSubtask(name="x"), event_id=f"e{n}"))
    await asyncio.sleep(1)
    assert [(one.code, one.client_event_id) for one in out if isinstance(one, s.AgentErrorEvent)] == [
        ("plan_replaced", "e0")
    ]
    assert names(now) == ["a", "x"]
    await agent.stop()
