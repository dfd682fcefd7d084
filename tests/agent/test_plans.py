"""A ReActAgent with a plan notebook: its tools, its hints, its state, and what an interruption does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import ReActAgent
from realtime.errors import BadTool, UsageError
from realtime.message import UserMsg
from realtime.plan import Plan, PlanNotebook
from realtime.session import JSONSession
from realtime.tool import Toolkit
from tests.agent.thinking import HELLO, call, ends_in, react, remembered, requests_of, say, weather
from tests.plan.plans import make_plan, notebook_with, states

pytestmark = pytest.mark.virtual_time

CREATE = call("create_plan", "c1", name="Trip", description="Go.", expected_outcome="Gone.", subtasks=["Book", "Pack"])
REST = {"description": "As it says.", "expected_outcome": "Done."}
FINISH = call("finish_subtask", "c2", subtask_idx=0, subtask_outcome="Booked.")


def hints_of(agent: ReActAgent) -> list[list[str]]:
    """The hints in each prompt."""
    return [[text for text in one.texts if "<system-hint>" in text] for one in requests_of(agent)]


async def test_the_agent_makes_a_plan_and_follows_it() -> None:
    """PLN-01, PLN-03, PLN-33 and REA-36: each prompt ends with one hint, and none is remembered."""
    notebook = PlanNotebook()
    agent = react([CREATE], [FINISH], say("Booked."), plan_notebook=notebook)
    assert agent.plan_notebook is notebook
    await agent(HELLO)
    assert requests_of(agent)[0].tools == [tool.__name__ for tool in notebook.list_tools()]
    assert [len(hints) for hints in hints_of(agent)] == [1, 1, 1]
    says = ["create a plan first", "subtask_idx=0", "index 1, 'Pack', is 'in_progress'"]
    for request, words in zip(requests_of(agent), says, strict=True):
        assert words in request.texts[-1]
    assert states(notebook) == ["done", "in_progress"]
    assert all(b"<system-hint>" not in msg.to_json() for msg in await remembered(agent))


async def test_after_fifty_changes_the_context_still_has_one_hint() -> None:
    changes = [
        [call("revise_current_plan", f"c{n}", subtask_idx=0, action="add", subtask={"name": f"Step {n}", **REST})]
        for n in range(50)
    ]
    agent = react([CREATE], *changes, say("Planned."), plan_notebook=PlanNotebook(), max_iters=60)
    await agent(HELLO)
    await agent(UserMsg("Ada", "And now?"))
    assert [len(hints) for hints in hints_of(agent)] == [1] * 53
    assert "- [ ] Step 49" in hints_of(agent)[-1][0]
    assert all(b"<system-hint>" not in msg.to_json() for msg in await remembered(agent))


async def test_a_plan_made_by_the_program_is_followed() -> None:
    """PLN-32"""
    notebook = await notebook_with("todo", "todo")
    agent = react(say("I begin."), plan_notebook=notebook)
    await agent(HELLO)
    assert "subtask_idx=0" in requests_of(agent)[0].texts[-1]


async def test_the_tools_are_in_a_group_where_the_model_chooses_groups() -> None:
    notebook = PlanNotebook()
    activate = call("reset_equipped_tools", "c0", plan_related=True)
    agent = react([activate], [CREATE], say("Planned."), plan_notebook=notebook, enable_meta_tool=True)
    await agent(HELLO)
    first, second, _ = requests_of(agent)
    assert first.tools == ["reset_equipped_tools"]
    assert second.tools == ["reset_equipped_tools", *(tool.__name__ for tool in notebook.list_tools())]
    assert agent.toolkit.groups["plan_related"].description == notebook.description
    assert agent.state_dict()["toolkit"] == {"active_groups": ["plan_related"]}
    assert states(notebook) == ["todo", "todo"]


async def test_agents_that_share_a_toolkit_have_plans_of_their_own() -> None:
    """The toolkit itself stays as it was; what it gets later, they have too."""
    toolkit = weather()
    agents = [react([CREATE], say("Planned."), toolkit=toolkit, plan_notebook=PlanNotebook()) for _ in range(2)]
    await agents[0](HELLO)
    assert [agent.plan_notebook.current_plan is None for agent in agents if agent.plan_notebook] == [False, True]
    assert [*toolkit.tools] == ["get_weather"]

    @toolkit.register
    def opening_hours() -> str:
        """Tell when the shop is open."""
        return "always"

    await agents[1](HELLO)
    assert {"get_weather", "opening_hours", "create_plan"} <= {*requests_of(agents[1])[0].tools}


def test_a_tool_with_the_name_of_one_of_a_notebook_is_refused() -> None:
    def create_plan() -> str:
        """Make some plan."""
        return "made"

    with pytest.raises(BadTool, match="create_plan"):
        react(say("Hi."), toolkit=Toolkit([create_plan]), plan_notebook=PlanNotebook())
    with pytest.raises(UsageError, match="plan_notebook is a PlanNotebook"):
        react(say("Hi."), plan_notebook={"max_subtasks": 3})


async def test_the_hint_is_printed_where_hints_are(capsys: pytest.CaptureFixture[str]) -> None:
    for prints in (False, True):
        agent = react(say("Hi."), plan_notebook=PlanNotebook(), print_hint_msg=prints)
        agent.set_console_output_enabled(True)
        await agent(HELLO)
        assert ("create a plan first" in capsys.readouterr().out) is prints


async def test_without_a_hint_the_prompt_has_none() -> None:
    agent = react(say("Hi."), plan_notebook=PlanNotebook(plan_to_hint=lambda plan: None))
    await agent(HELLO)
    assert hints_of(agent) == [[]]


async def test_an_interruption_suspends_the_plan_and_the_next_reply_says_so() -> None:
    """PLN-07 and AMB-39: interrupt, new topic, the plan goes on."""
    notebook = await notebook_with("in_progress", "todo")
    heard: list[str | None] = []
    notebook.register_plan_change_hook("heard", lambda _, plan: heard.append(plan and plan.state))
    slow = [call("get_weather", "w", city="Oslo")]
    agent = react(slow, say("It is noon."), [FINISH], say("Done."), toolkit=weather(), plan_notebook=notebook)
    reply = asyncio.create_task(agent(HELLO))
    await asyncio.sleep(0.1)
    await agent.interrupt(UserMsg("user", "What time is it?"))
    await reply
    assert (notebook.is_suspended, heard) == (True, ["suspended"])
    await agent(UserMsg("user", "Well?"))
    assert "it is suspended" in requests_of(agent)[1].texts[-1]
    await agent(UserMsg("user", "Go on."))
    assert "it is suspended" not in requests_of(agent)[3].texts[-1]
    assert (notebook.is_suspended, states(notebook)) == (False, ["done", "in_progress"])


async def test_a_reply_that_does_not_count_leaves_the_plan_as_it_was() -> None:
    """A voice call may begin a reply and drop it."""
    for was_suspended in (False, True):
        notebook = await notebook_with("in_progress")
        if was_suspended:
            await notebook.suspend()
        agent = react([call("get_weather", "w", city="Oslo")], toolkit=weather(), plan_notebook=notebook)
        undo = await agent.checkpoint()
        reply = asyncio.create_task(agent(HELLO))
        await asyncio.sleep(0.1)
        await agent.interrupt()
        await reply
        await undo()
        assert notebook.is_suspended is was_suspended


async def test_a_session_keeps_the_plan_of_an_agent(tmp_path: Path) -> None:
    """PLN-13 and REA-37: memory, toolkit, plan and history are saved and loaded with the agent."""
    notebook = await notebook_with("todo")
    await make_plan(notebook, ["x"], "Party")
    agent = react(say("Hi."), plan_notebook=notebook)
    state: dict[str, Any] = agent.state_dict()
    assert [*state][:3] == ["toolkit", "memory", "plan_notebook"]
    assert state["plan_notebook"] == notebook.state_dict()
    session = JSONSession(tmp_path)
    await session.save_session_state("s", agent=agent)
    other = react(say("Hi."), plan_notebook=PlanNotebook())
    await session.load_session_state("s", agent=other)
    assert other.plan_notebook is not None
    assert other.plan_notebook.state_dict() == notebook.state_dict()
    assert (await ends_in(1, other(HELLO))).get_text_content() == "Hi."


async def test_a_hook_shows_the_plan_while_the_agent_works() -> None:
    """PLN-08, PLN-29: the dump is JSON, for a page."""
    notebook = PlanNotebook()
    agent = react([CREATE], say("Planned."), plan_notebook=notebook)

    def show(self: PlanNotebook, plan: Plan | None) -> None:
        agent.emit_custom("plan_updated", plan.model_dump() if plan else {})

    notebook.register_plan_change_hook(show)
    events = [event async for event in agent.reply_stream(HELLO)]
    (shown,) = [event for event in events if event.type == "CUSTOM"]
    assert shown.value["name"] == "Trip"  # type: ignore[union-attr]
