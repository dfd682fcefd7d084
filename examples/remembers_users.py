"""A server whose voice remembers each user whom a client token names, and forgets on request. Any model may speak:

OPENAI_API_KEY=... MODEL=openai REALTIME_TOKEN=secret uvicorn examples.remembers_users:app
"""

import os
from functools import partial

from realtime import RealtimeAgent, ServerSettings, SqliteLongTermMemory, create_app, open_model


def make_agent() -> RealtimeAgent:
    """Make an agent for one call; the server gives it the memory of its user."""
    return RealtimeAgent(
        "Friday",
        "You answer the phone of a small bookshop, in one or two short sentences. If callers ask what you remember of "
        "them, say it. Correct it, or forget it, if they ask for that.",
        open_model(os.environ.get("MODEL", "local")),
        long_term_memory_mode="both",
    )


app = create_app(
    make_agent,
    ServerSettings(token=os.environ.get("REALTIME_TOKEN")),
    memory=partial(SqliteLongTermMemory, os.environ.get("MEMORIES", "memories.db")),
)
