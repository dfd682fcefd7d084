"""An agent for the page's tests: the embedded voice, which books tables and asks before it does."""

from collections.abc import AsyncGenerator

from realtime.agent import RealtimeAgent
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.tool import Toolkit

BOOKING = '{"people": 5, "day": "Friday"}'


class Waiter:
    """A language model that books a table whenever it is told something, and says what came of it."""

    name = "waiter"
    takes_images = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        result = prompt.history[-1].tool_result
        if result is None:
            yield ReplyToolCall("book_table", BOOKING)
        else:
            yield ReplyText(f"I was told: {result.output_text()}.")


def book_table(people: int, day: str) -> str:
    """Book a table."""
    return f"booked for {people} on {day}"


def make_waiter() -> RealtimeAgent:
    toolkit = Toolkit()
    toolkit.register(book_table, consent="either", question="Shall I book a table for {people} people on {day}?")
    model = LocalRealtimeModel(language_model=Waiter())
    return RealtimeAgent("Robin", "You work in a restaurant.", model, toolkit=toolkit)
