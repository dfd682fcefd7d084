"""A tool that runs only when the user has agreed. It runs without a key:

python examples/ask_first.py
"""

import asyncio
from collections.abc import Callable
from typing import Any

from realtime import RealtimeAgent, ScriptedModel
from realtime.event import RequireUserConfirmEvent, UserConfirmResultEvent
from realtime.message import ConfirmResult, Msg, UserMsg
from realtime.model.base import ModelInput, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Speak, Step
from realtime.tool import Toolkit


def cancel_order(number: int) -> str:
    """Cancel an order.

    Args:
        number: The order number.
    """
    return f"Order {number} is cancelled."


class Shop:
    """The scripted model's behaviour; use `open_model("openai:gpt-realtime-2.1")` instead."""

    def __init__(self) -> None:
        self.told = ""

    def __call__(self, message: ModelInput) -> list[Step]:
        if isinstance(message, ToolResult):
            self.told = message.result.output_text()
        if not isinstance(message, ResponseCreate):
            return []
        return [Speak(self.told, 1.0)] if self.told else [CallTools((("cancel_order", {"number": 42}),))]


def ask_in_the_terminal(question: str) -> bool:
    """Return whether the user agrees. 60 s without an answer count as a refusal."""
    return input(f"{question} [y/n] ").strip().lower() == "y"


async def main(agrees: Callable[[str], bool] = ask_in_the_terminal) -> Msg:
    """Ask the agent, put its question to the user, and return the whole reply."""
    agent = RealtimeAgent(
        "Friday", "You work in a shop.", ScriptedModel(Shop()), toolkit=Toolkit(confirm=[cancel_order])
    )
    voice: asyncio.Queue[Any] = asyncio.Queue()
    await agent.start(voice)

    events = []
    async for event in agent.reply_stream(UserMsg("user", "Cancel order 42.")):
        events.append(event)
        if isinstance(event, RequireUserConfirmEvent):
            (call,) = event.tool_calls
            confirmed = await asyncio.to_thread(agrees, f"May {call.name} run with {call.input}?")
            answers = [ConfirmResult(confirmed=confirmed, tool_call=call)]
            await agent.send(UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=answers))

    reply = Msg.from_events(events)
    print(reply.name, "said:", reply.get_text_content())
    await agent.stop()
    return reply


if __name__ == "__main__":
    asyncio.run(main())
