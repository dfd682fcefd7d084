"""`ToolResponse`: a piece of a tool's result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from realtime.message import DataBlock, TextBlock, ToolCallBlock, ToolOutput, ToolResultBlock, ToolResultState
from realtime.runtime import unique_id


class Pieces:
    """Finds what is new in each response of a tool that runs."""

    def __init__(self) -> None:
        self._told = ""

    def of(self, response: ToolResponse) -> str:
        """Return the new text of a piece; "" for none, for a whole result, and for one that begins otherwise."""
        text = response.text
        is_piece = (response.stream or response.is_piece) and response.state is ToolResultState.SUCCESS
        if not is_piece or not text.startswith(self._told):
            return ""
        new, self._told = text[len(self._told) :], text
        return new


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
    state: ToolResultState = ToolResultState.SUCCESS
    """How the tool ended: `error` where it failed, `interrupted` where it was stopped."""
    is_text: bool = field(default=False, compare=False, repr=False)
    """The tool gave plain text or a value, and no blocks."""
    is_piece: bool = field(default=False, compare=False, repr=False)
    """A generator gave it."""

    def __post_init__(self) -> None:
        if self.is_interrupted and self.state is ToolResultState.SUCCESS:
            self.state = ToolResultState.INTERRUPTED

    @property
    def text(self) -> str:
        """The texts of the content, joined."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    def result_of(self, call: ToolCallBlock) -> ToolResultBlock:
        """Return the block that answers `call`: plain text as text, else a list of blocks."""
        output: ToolOutput = self.text if self.is_text and len(self.content) == 1 else [*self.content]
        return ToolResultBlock(id=call.id, name=call.name, output=output, state=self.state)
