"""Parts for tests of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from realtime.message import ToolCallBlock
from realtime.plan import PlanNotebook, SubTask
from realtime.plan.plan import State
from realtime.tool import Toolkit, ToolResponse


def subtask(name: str, state: State = "todo") -> SubTask:
    return SubTask(name=name, description=f"Do {name}.", expected_outcome=f"{name} is there.", state=state)


async def notebook_with(*states: State, **options: Any) -> PlanNotebook:
    """A notebook whose plan has subtasks a, b, c, ... in these states."""
    notebook = PlanNotebook(**options)
    await make_plan(notebook, [subtask(name, state) for name, state in zip("abcdefgh", states, strict=False)])
    return notebook


async def make_plan(notebook: PlanNotebook, subtasks: Sequence[Any], name: str = "Trip") -> ToolResponse:
    return await notebook.create_plan(name, "Go to Oslo.", "We were in Oslo.", [*subtasks])


def states(notebook: PlanNotebook) -> list[str]:
    assert notebook.current_plan is not None
    return [one.state for one in notebook.current_plan.subtasks]


def names(notebook: PlanNotebook) -> list[str]:
    assert notebook.current_plan is not None
    return [one.name for one in notebook.current_plan.subtasks]


def told(response: ToolResponse) -> tuple[str, str]:
    """How a tool ended and what it says."""
    return response.state.value, response.text


async def called(notebook: PlanNotebook, tool: str, arguments: str) -> tuple[str, str]:
    """What a model gets for a call, with its arguments as JSON text."""
    result = await Toolkit(notebook.list_tools()).run(ToolCallBlock(id="call_1", name=tool, input=arguments))
    return result.state.value, result.output_text()
