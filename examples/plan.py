"""An agent that follows a plan; each change is an event for a page. Without a key: python examples/plan.py"""

import asyncio
from typing import Any

from realtime import PlanNotebook, RealtimeAgent, ScriptedModel, UserMsg
from realtime.model.base import ResponseCreate
from realtime.model.script import CallTools, Speak, Step

TRIP = {"name": "Oslo", "description": "Go.", "expected_outcome": "Booked.", "subtasks": ["Train", "Room"]}
STEPS: list[Step] = [
    CallTools((("create_plan", TRIP),)),
    *(CallTools((("finish_subtask", {"subtask_idx": one, "subtask_outcome": "Booked."}),)) for one in range(2)),
    CallTools((("finish_plan", {"state": "done", "outcome": "All is booked."}),)),
    Speak("You leave at five past nine, and your room is at the harbour.", 2.0),
]
"""What the scripted model does; use `open_model("openai:gpt-realtime-2.1")` instead."""


def show(event: Any) -> None:
    """Print the plan as a page would draw it."""
    if event.type == "server_custom" and event.name == "plan_updated":
        plan = event.value["plan"]
        print({one["name"]: one["state"] for one in plan["subtasks"]} if plan else "no plan any more")


async def main() -> None:
    """Ask for a trip."""
    steps = [*STEPS]
    model = ScriptedModel(lambda message: [steps.pop(0)] if isinstance(message, ResponseCreate) else [])
    agent = RealtimeAgent("Friday", "You plan trips.", model, plan_notebook=PlanNotebook())
    await agent.start(show)
    print("Friday said:", (await agent(UserMsg("user", "Take me to Oslo."))).get_text_content())
    await agent.stop()


if __name__ == "__main__":
    asyncio.run(main())
