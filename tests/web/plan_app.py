"""An agent that knows of its plan what its instructions say, and nothing else; its call leaves a record."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel

from realtime.agent import RealtimeAgent
from realtime.model.base import (
    Connection,
    History,
    ItemCreate,
    ModelInput,
    OnEvent,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.scripted import CallTools, ScriptedModel, Speak, Step
from realtime.plan import PlanNotebook
from realtime.runtime import Runtime
from tests.agent.thinking import call

WANTS = "I need a train to Oslo, a room at the harbour and a table for two."
BOOKED = "Booked: "
WHERE = "Where were we?"
DIGRESSION = "That is quite another matter, and it takes me a while to tell you all about it."
SPOKEN_S = 4.0
_STEP = re.compile(r"^- \[(?P<mark>[ x])\] ?\[?(?P<state>WIP|Abandoned)?\]?(?P<name>.*)$", re.MULTILINE)


class Booker(ScriptedModel):
    """Makes a plan of what the user needs, marks what is booked, and says where the plan stands."""

    def __init__(self) -> None:
        super().__init__(self._hear, strict=False)
        self._instructions = self._words = ""

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        self._instructions = settings.instructions
        return await super().connect(settings=settings, on_event=on_event, history=history, runtime=runtime)

    def _hear(self, message: ModelInput) -> list[Step]:
        match message:
            case SessionUpdate(settings=settings):
                self._instructions = settings.instructions
            case ItemCreate(item=item) if item.role == "user":
                self._words = item.text
            case ToolResult():
                self._words = ""
            case ResponseCreate():
                return [self._answer()]
            case _:
                pass
        return []

    def _answer(self) -> Step:
        steps = [*_STEP.finditer(self._instructions.partition("## Subtasks")[2].partition("```")[0])]
        is_suspended = "it is suspended" in self._instructions
        running = [place for place, one in enumerate(steps) if one["state"] == "WIP"]
        due = [place for place, one in enumerate(steps) if one["mark"] == " " and one["state"] is None]
        place = next(iter(running or due), None)
        if self._words == WANTS:
            subtasks = re.split(", | and ", WANTS.removeprefix("I need ").removesuffix("."))
            plan = {"name": "Oslo", "description": WANTS, "expected_outcome": "All is booked.", "subtasks": subtasks}
            return CallTools((("create_plan", plan),))
        if place is not None and self._words.startswith(BOOKED):
            outcome = {"subtask_idx": place, "subtask_outcome": self._words.removeprefix(BOOKED)}
            return CallTools((("finish_subtask", outcome),))
        begins = (self._words == WHERE and is_suspended) or (self._words == "" and not running)
        if place is not None and begins:
            return CallTools((("update_subtask_state", {"subtask_idx": place, "state": "in_progress"}),))
        if self._words in ("", WHERE):
            return Speak(f"Now it is {steps[place]['name']}." if place is not None else "Nothing is left.", SPOKEN_S)
        return Speak(DIGRESSION, SPOKEN_S)


class Notes(BaseModel):
    """The record of a call."""

    booked: list[str]
    asked: list[str]


class Writer(ChatModelBase):
    """Writes down what the user has said, as the prompt has it."""

    async def __call__(self, messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> ChatResponse:
        content = messages[-1]["content"]
        said = json.loads(content if isinstance(content, str) else content[0]["text"])
        words = [one["words"] for one in said if one["role"] == "user"]
        booked = [one.removeprefix(BOOKED) for one in words if one.startswith(BOOKED)]
        asked = [one for one in words if one.endswith("?")]
        return ChatResponse([call("generate_structured_output", booked=booked, asked=asked)])


def make_booker() -> RealtimeAgent:
    notebook = PlanNotebook(max_subtasks=4)
    return RealtimeAgent(
        *("Friday", "You book trips.", Booker()),
        plan_notebook=notebook,
        call_record=Notes,
        chat_model=Writer("scripted", False),
        greeting="",
    )
