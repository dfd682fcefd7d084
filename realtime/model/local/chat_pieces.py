"""Assemble streamed tool calls. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from realtime.model.local.language_model import ReplyToolCall


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str
    name: str = ""
    arguments: str = ""


class CallPieces:
    """Assembles streamed tool calls, as OpenAI and other servers send them.

    OpenAI sends id and name once and numbers the calls. Ollama sends each call whole, numbered 0 all of them
    (ollama/ollama#15457) or not at all (ollama/ollama#7881); other servers omit the ids.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def add(self, index: int | None, call_id: str, name: str, arguments: str | dict[str, Any]) -> None:
        """Add a piece; `call_id`, `name` and `arguments` are empty if it lacks them."""
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        call = self._find(index, call_id)
        if call is None or (name and not call_id and call.name and _is_over(call, index, arguments)):
            call = _Call(index, call_id)
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments

    def finish(self) -> list[ReplyToolCall]:
        """Return all calls in order, with `{}` for empty arguments.

        Arguments that are not JSON stay as they are: running the tool reports them to the model.
        """
        return [
            ReplyToolCall(call.name, "{}" if call.arguments.strip() in ("", "null") else call.arguments)
            for call in self._calls
            if call.name
        ]

    def _find(self, index: int | None, call_id: str) -> _Call | None:
        """Return the call that the piece belongs to; None if it begins one."""
        if call_id:
            for call in self._calls:
                if call.id == call_id:
                    return call
        for call in reversed(self._calls):
            if index is None or call.index == index:
                return None if call_id and call.id else call
        return None


def _is_over(call: _Call, index: int | None, arguments: str) -> bool:
    """Whether a named piece without an id begins another call."""
    if index is None:
        return True
    try:
        return bool(arguments) and isinstance(json.loads(call.arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False
