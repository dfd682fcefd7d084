"""Usage and outcome of a reply, with their names in AgentScope Java."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FinishedReason = Literal["completed", "interrupted", "exceed_max_iters", "error"]
GenerateReason = Literal[
    "MODEL_STOP",
    "TOOL_SUSPENDED",
    "REASONING_STOP_REQUESTED",
    "ACTING_STOP_REQUESTED",
    "INTERRUPTED",
    "MAX_ITERATIONS",
]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of all model calls of one reply."""

    input_tokens: int
    output_tokens: int
    cache_input_tokens: int = 0
    cache_creation_input_tokens: int = 0

    def plus(self, input_tokens: int, output_tokens: int) -> Usage:
        """Return the sum with one more call."""
        return msgspec.structs.replace(
            self, input_tokens=self.input_tokens + input_tokens, output_tokens=self.output_tokens + output_tokens
        )


_REASONS: dict[str, FinishedReason] = {
    "MODEL_STOP": "completed",
    "INTERRUPTED": "interrupted",
    "MAX_ITERATIONS": "exceed_max_iters",
    "REASONING_STOP_REQUESTED": "completed",
    "ACTING_STOP_REQUESTED": "completed",
}
_STOPS = {"REASONING_STOP_REQUESTED": "reasoning", "ACTING_STOP_REQUESTED": "acting"}


def from_generate_reason(reason: str) -> tuple[FinishedReason | None, dict[str, Any]]:
    """Return `finished_reason`, and metadata from which `to_generate_reason` restores the word.

    A reply that waits for a tool has no reason yet. An unknown word is kept unchanged.
    """
    if reason == "TOOL_SUSPENDED":
        return None, {}
    if reason not in _REASONS:
        return "completed", {"generate_reason": reason}
    return _REASONS[reason], {"stop_requested": _STOPS[reason]} if reason in _STOPS else {}


def to_generate_reason(finished_reason: FinishedReason | None, metadata: Mapping[str, Any]) -> str:
    """Return the Java word. It has none for `error`: that becomes MODEL_STOP, beside the message's `error`."""
    match finished_reason:
        case None:
            return "TOOL_SUSPENDED"
        case "interrupted":
            return "INTERRUPTED"
        case "exceed_max_iters":
            return "MAX_ITERATIONS"
        case "completed" | "error":
            if isinstance(kept := metadata.get("generate_reason"), str):
                return kept
            stop = metadata.get("stop_requested")
            return {"reasoning": "REASONING_STOP_REQUESTED", "acting": "ACTING_STOP_REQUESTED"}.get(
                str(stop), "MODEL_STOP"
            )
