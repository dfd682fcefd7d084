"""`ToolResponse`: a piece of a tool's result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from realtime.message import (
    DataBlock,
    TextBlock,
    ToolCallBlock,
    ToolOutput,
    ToolResultBlock,
    ToolResultState,
    read_block,
)
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
        if isinstance(self.content, list | tuple) and any(isinstance(block, Mapping) for block in self.content):
            # As AgentScope 1.x makes them.
            read = [read_block(one) if isinstance(one, Mapping) else one for one in self.content]
            self.content = [block for block in read if isinstance(block, TextBlock | DataBlock)]
            if len(self.content) < len(read):
                raise TypeError("the content of a ToolResponse is a list of text and data blocks")
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
