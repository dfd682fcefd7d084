"""Two agents of one server, each with its own language model; recognition and synthesis stay in this process.

ollama pull qwen3:4b && ollama pull llama3.2
realtime serve examples/local_with_ollama.py:make_agent

For one model and no code, set REALTIME_LLM_BASE_URL and REALTIME_LLM_MODEL and run `realtime serve`.
"""

import os

from realtime import RealtimeAgent
from realtime.model.local import ChatLanguageModel, LocalRealtimeModel

OLLAMA = os.environ.get("OLLAMA_OPENAI_URL", "http://localhost:11434/v1")
STYLE = "You are on the phone: answer in one or two short English sentences, without lists, markup or emoji."

# Thinking before each answer would be silence on the line.
QUICK = ChatLanguageModel(OLLAMA, "qwen3:4b", extra_body={"reasoning_effort": "none"})
SMALL = ChatLanguageModel(OLLAMA, "llama3.2")


def make_agent(user: str) -> RealtimeAgent:
    """Whoever calls as /ws/desk/... reaches Mila, everybody else Robin."""
    if user == "desk":
        return RealtimeAgent("Mila", f"You are Mila. {STYLE}", LocalRealtimeModel("heart", language_model=SMALL))
    return RealtimeAgent("Robin", f"You are Robin. {STYLE}", LocalRealtimeModel("heart-low", language_model=QUICK))
