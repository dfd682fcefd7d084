"""An agent of your own, with a tool. Run it, open the printed address, and ask for your order:

realtime serve examples/my_agent.py:make_agent --reload
"""

from realtime import RealtimeAgent, SessionConfig, Toolkit, open_model

model = open_model("local")  # or "openai:gpt-realtime-2.1", with OPENAI_API_KEY


def find_order(number: int) -> str:
    """Look up an order of the shop.

    Args:
        number: The order number.
    """
    return f"Order {number} was shipped this morning and arrives on Friday."


def make_agent(user: str, config: SessionConfig, call_id: str) -> RealtimeAgent:
    """Called once per call; may be `async`, and need not take all of these. Each call gets an agent of its own."""
    name = config.user_name or user
    instructions = f"Your name is Robin. You answer the phone of a small bookshop. The caller is {name}."
    return RealtimeAgent("Robin", instructions, model, toolkit=Toolkit([find_order]))
