"""The expectations of a case."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from realtime.options import check_fields


class ToolUse(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One expected tool call."""

    name: str
    arguments: dict[str, Any] = {}

    def __post_init__(self) -> None:
        check_fields(self)


class Expected(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The expected outcome of a call. None and empty expect nothing."""

    user_said: tuple[str, ...] = ()
    """The user turns in order, as the call knows them; small differences in spelling do not count."""
    agent_said: tuple[str, ...] = ()
    """Phrases that the user heard, in this order."""
    tools: tuple[ToolUse, ...] = ()
    """All tool calls in order; arguments not named may have any value."""
    turns: Annotated[int, msgspec.Meta(ge=0)] | None = None
    barge_ins: Annotated[int, msgspec.Meta(ge=0)] | None = None
    wer_below: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    response_p95_below_ms: float | None = None
    no_dead_air_ms: float | None = None
    score: dict[str, float] = {}
    """Figures of the scoreboard by name, as `Score.figures` has them: rates and EVA to 0.001, L_Y to 1 ms."""
    log: bool = False
    """Whether the log has to equal `log.jsonl`."""

    def __post_init__(self) -> None:
        check_fields(self)
