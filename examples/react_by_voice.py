"""A thinking agent with two tools, spoken to through the embedded voice. Its chat model may be any endpoint:

export REALTIME_LLM_BASE_URL=http://localhost:11434/v1 REALTIME_LLM_MODEL=qwen3:4b
realtime serve examples/react_by_voice.py:make_agent
"""

import os

from realtime import RealtimeAgent, Toolkit
from realtime.agent import ReActAgent
from realtime.formatter import OpenAIChatFormatter
from realtime.model.chat import OpenAIChatModel
from realtime.model.local import LocalRealtimeModel

orders = {42: "was shipped yesterday", 43: "is waiting for stock"}


def find_order(number: int) -> str:
    """Look up how an order is going."""
    return f"Order {number} {orders.get(number, 'is unknown')}."


def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled." if orders.pop(number, None) else f"Order {number} is unknown."


def make_agent() -> RealtimeAgent:
    """Make an agent for one call: it remembers what was heard of it."""
    toolkit = Toolkit([cancel_order])
    toolkit.register(find_order, read_only=True)  # may run before it is sure that the caller has finished
    at = {"base_url": os.environ["REALTIME_LLM_BASE_URL"]}
    key = os.environ.get("REALTIME_LLM_API_KEY", "no-key")
    model = OpenAIChatModel(os.environ["REALTIME_LLM_MODEL"], key, client_kwargs=at, retries=0)
    prompt = "You work in a shop and are on the phone: answer in one or two short English sentences."
    friday = ReActAgent("Friday", prompt, model, OpenAIChatFormatter(), toolkit)
    friday.set_console_output_enabled(False)
    return RealtimeAgent("Friday", "", LocalRealtimeModel(language_model=friday))
