"""A model that claims what it has not done: the sentence is not heard, and the deed done first. It runs without a key:

python examples/checked_claim.py
"""

import asyncio
from typing import Any

from realtime import RealtimeAgent, ScriptedModel, Toolkit, UserMsg
from realtime.message import Msg
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import CallTools, Speak, Step


def book_table(people: int) -> str:
    """Book a table.

    Args:
        people: How many people come.
    """
    return f"A table for {people}, at eight."


class Waiter:
    """The scripted model's behaviour; use `open_model("openai:gpt-realtime-2.1")` instead."""

    def __init__(self) -> None:
        self.says = iter(
            [
                Speak("I've reserved your table for six.", 2.0),  # it has called no tool
                CallTools((("book_table", {"people": 6}),)),  # asked for a correction, it does
                Speak("Now it's booked: a table for six, at eight.", 2.5),
            ]
        )

    def __call__(self, message: ModelInput) -> list[Step]:
        return [next(self.says)] if isinstance(message, ResponseCreate) else []


async def main() -> Msg:
    """Return what the caller heard."""
    toolkit = Toolkit()
    toolkit.register(book_table, claims=["I have booked the table"])
    agent = RealtimeAgent("Luigi", "You take bookings.", ScriptedModel(Waiter()), toolkit=toolkit, claims="checked")

    def show(event: Any) -> None:
        if event.type == "server_custom" and event.name == "claim_withheld":
            print("withheld:", event.value["sentence"])

    await agent.start(show)
    reply = await agent.reply(UserMsg("Ann", "A table for six, please."))
    print("heard:", (reply.get_text_content() or "").strip())
    await agent.stop()
    return reply


if __name__ == "__main__":
    asyncio.run(main())
