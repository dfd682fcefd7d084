"""The table of the square: every dialect with every model in every scenario, and what cannot be, with its reason.

The tests of this folder run each cell; `python -m tests.square.page` writes docs/parity.md from it. Needs no SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LOCAL = "local"
DIALECTS = {
    "native": "our own protocol on a plain WebSocket",
    "openai": "the `openai` SDK at `/v1/realtime`",
    "gemini": "the `google-genai` SDK at `/ws/google.ai.generativelanguage...BidiGenerateContent`",
    "dashscope": "the `dashscope` SDK at `/api-ws/v1/realtime`",
}
"""By name: who is the client."""
MODELS = {
    "openai": "gpt-realtime-2.1",
    "gemini": "gemini-2.5-flash-native-audio-preview-09-2025",
    "dashscope": "qwen3.8-omni-flash-realtime",
}
"""By provider: the model that stands for it."""
BEHIND = (*MODELS, LOCAL)
SCENARIOS = {
    "text turn": "a typed turn is answered, in words and in sound",
    "voice turn": "a spoken turn is transcribed and answered, in words and in sound",
    "push-to-talk": "a spoken turn whose end the client reports is transcribed and answered",
    "tool round trip": "a function of the client is called once, and the answer uses its result",
    "interruption": "speech silences the answer; the log holds no more of it than was heard; the new turn is answered",
    "image": "an image that the client shows while the user speaks reaches the model",
    "error": "a frame that the protocol does not know is reported by name, and the client can go on (in the Gemini "
    "protocol, where every error is the reason of a close, in a new session)",
    "close": "a client that leaves in the middle of an answer leaves no call and no task on either server",
}


@dataclass(frozen=True, slots=True)
class Cannot:
    """A cell that cannot be equal, and why. `told` is the client's message, which the tests look for; `None`: none."""

    why: str
    told: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the square. `model` is by name."""

    dialect: str
    behind: str
    scenario: str
    model: str
    cannot: Cannot | None = None

    def __str__(self) -> str:
        return f"{self.dialect}-{self.model}-{self.scenario}".replace(" ", "_")


_BLIND_LOCAL = Cannot(
    "the built-in language model of the embedded model works by rules and sees nothing; with a chat endpoint that "
    "takes images as its language model, it does",
    "does not take image input",
)
_BLIND_PREVIEW = Cannot("the `gpt-4o` previews take text and speech only", "does not take image input")
_NO_TOOLS = "the `qwen3-omni-flash` models take no functions: the model is not offered them and answers without"

LOCAL_MODEL = "embedded"
CANNOT = {
    **{(dialect, LOCAL, "image"): _BLIND_LOCAL for dialect in DIALECTS},
}
"""By dialect, model and scenario."""
OLDER = {
    ("openai", "gpt-4o-realtime-preview", "image"): dict.fromkeys(DIALECTS, _BLIND_PREVIEW),
    ("dashscope", "qwen3-omni-flash-realtime", "tool round trip"): {
        "native": Cannot(_NO_TOOLS, "cannot use tools"),
        "openai": Cannot(_NO_TOOLS, "cannot use tools"),
        "gemini": Cannot(f"{_NO_TOOLS}; this protocol has no warning that leaves the session open", None),
        "dashscope": Cannot(_NO_TOOLS, "cannot use tools"),
    },
}
"""What only the newest models of a provider can do: by provider, model and scenario, then by dialect."""


def cells() -> Iterator[Cell]:
    """The whole square."""
    for dialect in DIALECTS:
        for behind in BEHIND:
            for scenario in SCENARIOS:
                cannot = CANNOT.get((dialect, behind, scenario))
                yield Cell(dialect, behind, scenario, MODELS.get(behind, LOCAL_MODEL), cannot)


def older_cells() -> Iterator[Cell]:
    """Beside the square: older models, in the scenarios where they differ."""
    for (behind, model, scenario), by_dialect in OLDER.items():
        for dialect, cannot in by_dialect.items():
            yield Cell(dialect, behind, scenario, model, cannot)
