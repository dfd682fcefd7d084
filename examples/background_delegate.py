"""A voice that talks on while an agent behind it works. Open the printed address, and ask where your order is:

OPENAI_API_KEY=... realtime serve examples/background_delegate.py:make_agent
"""

import asyncio

from realtime import Delegate, RealtimeAgent, Toolkit, open_model
from realtime.agent import ReActAgent
from realtime.formatter import OpenAIChatFormatter
from realtime.model.chat import OpenAIChatModel

ARCHIVE_S = 5.0
voice = open_model("openai:gpt-realtime-2.1")
chat = OpenAIChatModel("gpt-5-mini")


async def find_order(number: int) -> str:
    """Look up an order in the archive, which takes its time."""
    await asyncio.sleep(ARCHIVE_S)
    return f"Order {number} was shipped this morning and arrives on Friday."


def make_office() -> ReActAgent:
    """Called when the voice of a call first asks: each caller has an office of their own, which remembers them."""
    office = ReActAgent(
        name="Office",
        sys_prompt="You work in the office of a bookshop. Answer the colleague at the phone in one or two sentences.",
        model=chat,
        formatter=OpenAIChatFormatter(),
        toolkit=Toolkit([find_order]),
    )
    office.set_console_output_enabled(False)
    return office


def make_agent() -> RealtimeAgent:
    office = Delegate(make_office, "ask_the_office", "Answers questions about orders. Takes some seconds.")
    return RealtimeAgent("Robin", "You answer the phone of a small bookshop.", voice, toolkit=Toolkit([office]))
