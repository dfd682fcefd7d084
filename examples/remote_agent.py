"""A voice that asks a remote agent, over Agent to Agent. Open the printed address, and ask for a room:

A2A_URL=http://localhost:9000 OPENAI_API_KEY=... realtime serve examples/remote_agent.py:make_agent
"""

import os

from realtime import Delegate, RealtimeAgent, Toolkit, open_model
from realtime.a2a import A2AAgent, WellKnownAgentCardResolver

voice = open_model("openai:gpt-realtime-2.1")


async def make_office() -> A2AAgent:
    """Called when the voice of a call first asks: each caller has a conversation of their own with the office."""
    card = await WellKnownAgentCardResolver(os.environ["A2A_URL"]).get_agent_card()
    office = A2AAgent(card)
    office.set_console_output_enabled(False)
    return office


def make_agent() -> RealtimeAgent:
    office = Delegate(make_office, "ask_the_office", "Finds and books rooms. Takes some seconds.")
    prompt = "You answer the phone of a hotel. What the office asks, ask the caller, and tell the office the answer."
    return RealtimeAgent("Robin", prompt, voice, toolkit=Toolkit([office]))
