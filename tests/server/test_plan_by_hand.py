"""`client_plan_edit` over a real socket, and what is kept of it."""

from __future__ import annotations

from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.scripted import ScriptedModel
from realtime.plan import Plan, PlanNotebook
from tests.plan.plans import subtask
from tests.server.harness import serving


def trip() -> Plan:
    return Plan(name="Trip", description="", expected_outcome="", subtasks=[subtask("a", "in_progress"), subtask("b")])


def make_agent() -> RealtimeAgent:
    notebook = PlanNotebook()
    notebook.current_plan = trip()
    return RealtimeAgent("Friday", "", ScriptedModel(lambda _: []), plan_notebook=notebook)


WRONG: dict[str, tuple[Any, str]] = {
    "no change": (None, "Expected `object`"),
    "a text": ("remove", "Expected `object`"),
    "of no type": ({}, "missing required field `type`"),
    "of an unknown type": ({"type": "burn_plan"}, "burn_plan"),
    "without its subtask": ({"type": "remove_subtask"}, "missing required field `subtask_id`"),
    "a state that is none": ({"type": "mark_subtask", "subtask_id": "x", "state": "later"}, "later"),
    "a name that is a list": ({"type": "add_subtask", "name": ["x"]}, "Expected `str`"),
    "half a character": ({"type": "add_subtask", "name": "\ud83d"}, ""),
}


async def test_a_client_changes_the_plan_and_a_client_that_comes_back_is_told_who_changed_what() -> None:
    async with serving(make_agent) as place, place.client("/ws/ann/s1", subprotocols=["realtime.v1"]) as client:
        created = await client.make_call()
        begun = await client.until("server_custom")
        plan = begun["value"]["plan"]
        first = plan["subtasks"][0]["id"]
        assert begun["value"]["editable"] is True
        edit = {"type": "mark_subtask", "subtask_id": first, "state": "done", "outcome": "The 9:05."}
        await client.send({"type": "client_plan_edit", "plan_id": plan["id"], "edit": edit})
        told = await client.until("server_custom")
        assert told["value"]["edited"] == {"by": "", "edit": edit}
        assert [one["state"] for one in told["value"]["plan"]["subtasks"]] == ["done", "in_progress"]
        await client.send({"type": "client_plan_edit", "plan_id": "gone", "edit": edit, "event_id": "e1"})
        error = await client.until("agent_error")
        assert (error["code"], error["client_event_id"]) == ("plan_replaced", "e1")
        async with place.client("/ws/ann/s1", subprotocols=["realtime.v1"]) as again:
            await again.send({"type": "client_session_resume", "token": created["resume_token"], "last_seq": 0})
            assert [(await again.until("server_custom"))["value"] for _ in range(2)] == [begun["value"], told["value"]]


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG.keys())
async def test_a_change_of_another_form_is_one_error_and_the_call_goes_on(row: tuple[Any, str]) -> None:
    edit, why = row
    async with serving(make_agent) as place, place.client("/ws/ann/s1", subprotocols=["realtime.v1"]) as client:
        await client.make_call()
        plan = (await client.until("server_custom"))["value"]["plan"]
        await client.send({"type": "client_plan_edit", "plan_id": plan["id"], "edit": edit})
        if why:
            error = await client.until("agent_error")
            assert error["code"] == "invalid_event"
            assert why in error["message"]
        added = {"type": "add_subtask", "name": "z"}
        await client.send({"type": "client_plan_edit", "plan_id": plan["id"], "edit": added})
        now = (await client.until("server_custom"))["value"]["plan"]
        assert now["subtasks"][:2] == plan["subtasks"]
