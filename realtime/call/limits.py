"""How long a call may last."""

from __future__ import annotations

from dataclasses import dataclass

from realtime.options import check_fields


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a call may last. All in seconds."""

    grace_s: float = 30.0
    """How long a call waits for a client that may come back.

    It waits for no other client.
    """
    idle_s: float = 300.0
    """A call ends after this long without speech or text."""
    call_s: float = 3_600.0
    """No call lasts longer."""

    def __post_init__(self) -> None:
        check_fields(self)
