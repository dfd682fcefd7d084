"""Plans of the agents of a room: each human sees all of them, and may change them by hand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from realtime.agent import ReActAgent, RealtimeAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.formatter import OpenAIChatFormatter
from realtime.plan import Plan, PlanNotebook
from tests.agent.thinking import ScriptedChat
from tests.plan.plans import notebook_with
from tests.room.rooms import House, Human, TalkModel, house
from tests.room.thinking import salon

pytestmark = pytest.mark.virtual_time


async def planner(name: str, *states: Any) -> RealtimeAgent:
    notebook = await notebook_with(*states) if states else PlanNotebook()
    return RealtimeAgent(name, f"You are {name}.", TalkModel(), agent_id=name.lower(), plan_notebook=notebook)


def told(human: Human) -> list[tuple[str, list[str] | None, str | None]]:
    """The plans that a human was told of: whose, the names of the subtasks, and who has changed it by hand."""
    values = [one.value for one in human.of(s.ServerCustomEvent) if one.name == "plan_updated"]
    return [
        (
            value["agent_id"],
            value["plan"] and [one["name"] for one in value["plan"]["subtasks"]],
            value["edited"]["by"] if "edited" in value else None,
        )
        for value in values
    ]


def plan_of(home: House, agent_id: str) -> Plan:
    (agent,) = [one for one in home.room._people.agents if one.id == agent_id]
    notebook = agent.run.spec.plan_notebook or agent.run.spec.thinking_notebook
    assert notebook is not None
    assert notebook.current_plan is not None
    return notebook.current_plan


def edit(human: Human, plan_id: str, change: c.PlanEdit) -> None:
    human.call.receive(c.ClientPlanEditEvent(plan_id=plan_id, edit=change, event_id="e1"))


async def test_every_human_sees_the_plan_of_each_agent_and_who_has_changed_it() -> None:
    async with house(
        await planner("Alice", "todo", "todo"), await planner("Bob", "todo"), await planner("Eve")
    ) as home:
        anna = await home.come("Anna")
        assert told(anna) == [("alice", ["a", "b"], None), ("bob", ["a"], None)]
        edit(anna, plan_of(home, "bob").id, c.AddSubtask(name="Pack"))
        await asyncio.sleep(0.1)
        ben = await home.come("Ben")
        assert told(ben) == [("alice", ["a", "b"], None), ("bob", ["a", "Pack"], None)]
        edit(ben, plan_of(home, "alice").id, c.EndPlan(state="done"))
        await asyncio.sleep(0.1)
        last = [("bob", ["a", "Pack"], "Anna"), ("alice", None, "Ben")]
        assert told(anna)[2:] == last
        assert told(ben)[2:] == last[1:]


async def test_who_changes_what_is_gone_learns_it_alone() -> None:
    async with house(await planner("Alice", "todo"), await planner("Bob", "todo")) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        edit(anna, "another", c.AddSubtask(name="Pack"))
        edit(anna, plan_of(home, "bob").id, c.RemoveSubtask(subtask_id=plan_of(home, "alice").subtasks[0].id))
        await asyncio.sleep(0.1)
        errors = [(one.code, one.client_event_id) for one in anna.of(s.AgentErrorEvent)]
        assert errors == [("plan_replaced", "e1"), ("plan_edit_refused", "e1")]
        assert ben.of(s.AgentErrorEvent) == home.of(s.AgentErrorEvent) == []
        assert len(told(ben)) == 2


async def test_an_agent_that_is_lost_and_comes_back_has_its_plan_still() -> None:
    """While it is away its plan cannot be changed."""
    alice = await planner("Alice", "todo", "todo")
    async with house(alice) as home:
        anna = await home.come("Anna")
        plan = plan_of(home, "alice")
        edit(anna, plan.id, c.RemoveSubtask(subtask_id=plan.subtasks[0].id))
        await asyncio.sleep(0.1)
        assert isinstance(alice.model, TalkModel)
        alice.model.die(refusals=1)
        edit(anna, plan.id, c.AddSubtask(name="Pack"))
        await asyncio.sleep(0.1)
        assert [one.code for one in anna.of(s.AgentErrorEvent)] == ["plan_replaced"]
        await asyncio.sleep(5)
        assert told(anna)[1:] == [("alice", ["b"], "Anna"), ("alice", ["b"], None)]
        lines = alice.model.settings[-1].instructions.splitlines()
        assert [line for line in lines if line.startswith("- [ ]")] == ["- [ ] b"]
        edit(anna, plan.id, c.AddSubtask(name="Pack"))
        await asyncio.sleep(0.1)
        assert told(anna)[-1] == ("alice", ["b", "Pack"], "Anna")


async def test_a_thinking_agent_shows_its_own_plan() -> None:
    notebook = await notebook_with("in_progress", "todo")
    thinker = ReActAgent("Friday", "You plan.", ScriptedChat(), OpenAIChatFormatter(), plan_notebook=notebook)
    async with salon(thinker) as home:
        anna = await home.come("Anna")
        ((agent_id, subtasks, _),) = told(anna)
        assert subtasks == ["a", "b"]
        edit(anna, plan_of(home, agent_id).id, c.AddSubtask(name="Pack"))
        await asyncio.sleep(0.1)
        assert told(anna)[-1] == (agent_id, ["a", "b", "Pack"], "Anna")
        assert "Pack" in notebook.current_hint
