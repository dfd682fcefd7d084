"""`ToolResponse`: a piece of a tool's result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from realtime.message import DataBlock, TextBlock
from realtime.runtime import unique_id


@dataclass(slots=True)
class ToolResponse:
    """The result of a tool, as far as the tool has it."""

    content: Sequence[TextBlock | DataBlock]
    metadata: dict[str, Any] | None = None
    """For the program that runs the agent; the model does not see it."""
    stream: bool = False
    """Whether further pieces follow."""
    is_last: bool = True
    is_interrupted: bool = False
    id: str = field(default_factory=unique_id)
