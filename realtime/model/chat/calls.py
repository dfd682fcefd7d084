"""Assemble streamed tool calls. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Call:
    """A tool call as far as it arrived. `id` and `name` are empty until they come."""

    index: int | None
    id: str
    name: str = ""
    arguments: str = ""

    @property
    def input(self) -> str:
        """The arguments as JSON, `{}` for none. Text that is not JSON stays: running the tool reports it."""
        return "{}" if self.arguments.strip() in ("", "null") else self.arguments


class CallPieces:
    """Assembles streamed tool calls, as OpenAI and other servers send them.

    OpenAI sends id and name once and numbers the calls. Ollama sends each call whole, numbered 0 all of them
    (ollama/ollama#15457) or not at all (ollama/ollama#7881); other servers omit the ids, or give two calls one id.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        """In the order of their first piece; one without a name is none."""

    def add(self, index: int | None, call_id: str, name: str, arguments: str) -> Call:
        """Add a piece and return its call; `call_id`, `name` and `arguments` are empty if it lacks them."""
        call = self._find(index, call_id)
        if call is None or (name and call.name and _is_over(call, index, call_id, arguments)):
            call = Call(index, call_id)
            self.calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments
        return call

    def _find(self, index: int | None, call_id: str) -> Call | None:
        """Return the call that the piece belongs to; None if it begins one."""
        if call_id:
            for call in reversed(self.calls):
                if call.id == call_id and (index is None or call.index in (None, index)):
                    return call
        for call in reversed(self.calls):
            if index is None or call.index == index:
                return None if call_id and call.id else call
        return None


def _is_over(call: Call, index: int | None, call_id: str, arguments: str) -> bool:
    """Whether a named piece for a named call begins another call."""
    if call_id and call_id == call.id:
        return index is None and bool(arguments) and _is_object(call.arguments)
    if index is None:
        return True
    return bool(arguments) and _is_object(call.arguments or "{}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
