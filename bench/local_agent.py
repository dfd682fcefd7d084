"""A server's agent: the embedded voice, behind it a thinking agent that asks a tool in each turn."""

from __future__ import annotations

from itertools import count
from typing import Any

from realtime.agent import ReActAgent, RealtimeAgent
from realtime.formatter import OpenAIChatFormatter
from realtime.message import TextBlock, ToolCallBlock
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.local import LocalRealtimeModel
from realtime.tool import Toolkit

ANSWER = "It is Tuesday in our shop. What else would you like to know?"


class Prompt(ChatModelBase):
    """A chat model that needs no time: it asks the tool, then answers."""

    def __init__(self) -> None:
        super().__init__("prompt", False)
        self._calls = count(1)

    async def __call__(self, messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> ChatResponse:
        """See `ChatModelBase`."""
        if messages[-1]["role"] == "tool":
            return ChatResponse([TextBlock(text=ANSWER)])
        return ChatResponse([ToolCallBlock(id=f"call_{next(self._calls)}", name="what_day", input="{}")])


async def what_day() -> str:
    """Tell the day of the week."""
    return "Tuesday"


def make_agent() -> RealtimeAgent:
    """Make the agent of one call; calls share the speech models."""
    robin = ReActAgent("Robin", "", Prompt(), OpenAIChatFormatter(), toolkit=Toolkit([what_day]))
    robin.set_console_output_enabled(False)
    return RealtimeAgent("Robin", "", LocalRealtimeModel(language_model=robin))
