"""Thinking agents for tests of delegates, and what a voice made of them."""

from __future__ import annotations

import asyncio
from typing import Any

from realtime.agent import AgentBase, Delegate
from realtime.message import AssistantMsg, Msg
from realtime.tool import Toolkit
from tests.agent.fakes import Call
from tests.agent.test_tools import results

NAME = "ask_the_office"
DESCRIPTION = "Answers hard questions about orders."
QUERY = '{"query": "Where is order 7?"}'
ASK = ("call_1", NAME, QUERY)


class Office(AgentBase):
    """Answers after `seconds`; notes what it is given, and when it is interrupted."""

    def __init__(self, seconds: float = 10.0, words: str = "Order 7 is on its way.") -> None:
        super().__init__("Office")
        self.seconds = seconds
        self.words = words
        self.asked: list[str] = []
        self.observed: list[Msg] = []
        self.interrupted_at: list[float] = []
        self.closed = False

    async def reply(self, msg: Msg) -> Msg:
        self.asked.append(f"{msg.name}: {msg.get_text_content()}")
        await asyncio.sleep(self.seconds)
        return AssistantMsg(self.name, self.words)

    async def observe(self, msg: Any) -> None:
        self.observed += msg

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        self.interrupted_at.append(asyncio.get_running_loop().time())
        return AssistantMsg(self.name, "Never mind, then.")

    async def aclose(self) -> None:
        self.closed = True


def desk(agent: Any, **options: Any) -> Toolkit:
    """A toolkit with a delegate."""
    return Toolkit([Delegate(agent, NAME, DESCRIPTION, **options)])


def states(made: Call) -> list[tuple[str, str]]:
    """(id, state) of the results that the model was sent."""
    return [(call_id, state) for call_id, state, _ in results(made)]


def left_over() -> list[str]:
    """The names of the tasks of delegates, their agents and their tools that still run."""
    words = ("delegate", "reply", "tool")
    return [task.get_name() for task in asyncio.all_tasks() if any(word in task.get_name() for word in words)]
