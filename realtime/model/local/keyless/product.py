"""What the keyless model may say of its server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from realtime.model.local.keyless.words import listed
from realtime.model.services import SERVICES

StoreKind = Literal["none", "memory", "disk"]

SIMPLE_RULES = "I work by simple rules."
FREE_MODEL = (
    "For free, run a language model on your computer, such as with Ollama: set REALTIME_LLM_BASE_URL "
    "to its address and "
    "REALTIME_LLM_MODEL to its name, and start the server again."
)
"""How the operator gets a better language model without a key."""
ASK_THE_OPERATOR = "The operator of this server can give me a language model that can talk about anything."
"""How callers get one."""


@dataclass(frozen=True, slots=True)
class Product:
    """Facts about a running server, from its settings.

    `store` is where calls are kept after their end, `keep_days` and `keep_gb` until when (None: unlimited), `records`
    whether the server keeps the sound of calls that ask for it, `lists_calls` whether the page lists a user's calls.
    `ready` are the titles of the providers that have a key.
    """

    store: StoreKind = "none"
    keep_days: float | None = None
    keep_gb: float | None = None
    records: bool = False
    lists_calls: bool = True
    ready: tuple[str, ...] = ()


def key_variables() -> str:
    """Name the variable of each provider's key: "OPENAI_API_KEY, GEMINI_API_KEY or DASHSCOPE_API_KEY"."""
    return listed([service.key_variables[0] for service in SERVICES.values()], "or")


def companies() -> str:
    """Name the providers' companies: "OpenAI, Google or Alibaba Cloud"."""
    return listed([service.company for service in SERVICES.values()], "or")


def titles() -> str:
    """Name the providers: "OpenAI, Gemini and DashScope"."""
    return listed([service.title for service in SERVICES.values()])
