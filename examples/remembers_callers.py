"""A voice that remembers its callers from one call to the next. Its chat model may be any endpoint:

export REALTIME_LLM_BASE_URL=http://localhost:11434/v1 REALTIME_LLM_MODEL=qwen3:4b
REALTIME_TOKEN=secret realtime serve examples/remembers_callers.py:make_agent
"""

import os

from realtime import LocalRealtimeModel, OpenAIChatFormatter, OpenAIChatModel, ReActAgent, RealtimeAgent
from realtime import SqliteLongTermMemory as LongTermMemory


def make_agent(known_user: str | None) -> RealtimeAgent:
    """Make an agent for one call. Only callers whose client token names them are remembered: an address may lie."""
    at = {"base_url": os.environ["REALTIME_LLM_BASE_URL"]}
    key = os.environ.get("REALTIME_LLM_API_KEY", "no-key")
    memories = os.environ.get("MEMORIES", "memories.db")
    friday = ReActAgent(
        "Friday",
        "You work in a shop and are on the phone: answer in one or two short English sentences.",
        OpenAIChatModel(os.environ["REALTIME_LLM_MODEL"], key, client_kwargs=at, retries=0),
        OpenAIChatFormatter(),
        long_term_memory=LongTermMemory(memories, known_user) if known_user else None,
        long_term_memory_mode="static_control",  # no tools: recalled before each answer, recorded after it
    )
    friday.set_console_output_enabled(False)
    return RealtimeAgent("Friday", "", LocalRealtimeModel(language_model=friday))
