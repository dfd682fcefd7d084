"""The built-in agent without its greeting, with the model that `BENCH_MODEL` names: here clients speak first."""

import os

from realtime.agent import RealtimeAgent
from realtime.model.open import open_model
from realtime.server.builtin import HouseAgent

model = open_model(os.environ.get("BENCH_MODEL", "local"))


def make_agent() -> RealtimeAgent:
    """Make the agent for `realtime serve`."""
    agent = HouseAgent(model)
    agent.greeting = ""
    return agent
