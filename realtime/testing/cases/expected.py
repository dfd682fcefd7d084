"""What a case expects of its call."""

from __future__ import annotations

from typing import Any

import msgspec


class ToolUse(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One call of a tool."""

    name: str
    arguments: dict[str, Any] = {}


class Expected(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What has to come of the call. None and empty expect nothing."""

    user_said: tuple[str, ...] = ()
    """The user turns in order, as the call knows them; small differences of writing do not count."""
    agent_said: tuple[str, ...] = ()
    """Phrases that the user heard, in this order."""
    tools: tuple[ToolUse, ...] = ()
    """All calls of tools in order; arguments not named may be anything."""
    turns: int | None = None
    barge_ins: int | None = None
    wer_below: float | None = None
    response_p95_below_ms: float | None = None
    no_dead_air_ms: float | None = None
    log: bool = False
    """The log has to be that of `log.jsonl`."""
