"""The results of tools, told in sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from realtime.event.base import Item
from realtime.message import ToolResultBlock
from realtime.message.blocks import result_in
from realtime.model.local.keyless import clock
from realtime.model.local.keyless.arithmetic import say_expression, say_number
from realtime.model.local.keyless.words import capital

_FAILED = "That did not work, I'm afraid."
_BEGUN = "I'm on it."
"""A tool in the background has begun: its result comes by itself."""


def results_to_tell(history: Sequence[Item], asked: str) -> list[str]:
    """Return sentences for the tool results that end the history, in order; `asked` are the user's plain words."""
    at = len(history)
    while at and history[at - 1].role == "system":
        at -= 1
    late = [(item.text, told) for item in history[at:] if (told := result_in(item.text)) is not None]
    if late:
        # Of tools in the background, and of those that the talk has overtaken.
        # What the tool itself says may have these words, too.
        return [
            _FAILED if "has failed" in text.replace(told, "", 1) else _sentence(_spoken(told)) for text, told in late
        ]
    at = len(history)
    while at and history[at - 1].type == "tool_result":
        at -= 1
    inputs = {item.tool_call.id: item.tool_call.input for item in history[:at] if item.tool_call is not None}
    results = [item.tool_result for item in history[at:] if item.tool_result is not None]
    answers = [(one.name, inputs.get(one.id, ""), _told(one, inputs.get(one.id, ""), asked)) for one in results]
    # The same question asked twice has one answer.
    return [sentence for _, _, sentence in dict.fromkeys(answers)]


def _told(result: ToolResultBlock, arguments: str, asked: str) -> str:
    match result.state:
        case "success":
            return _tell(result.name, arguments, result.output_text(), asked)
        case "denied":
            return "I have not done it."
        case "running":
            return _BEGUN
        case _:
            return _FAILED


def _tell(tool: str, arguments: str, output: str, asked: str) -> str:
    said = _spoken(output)
    match tool:
        case "get_time":
            return clock.time_answer(asked, said)
        case "get_date":
            return clock.date_answer(asked, said)
        case "calculate" if re.fullmatch(r"-?[\d,.]+", said):
            expression = re.search(r'"expression":\s*"([^"]*)"', arguments)
            return capital(f"{say_expression(expression[1])} is {said}.") if expression else f"That makes {said}."
        case _:
            return _sentence(said)


def _sentence(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _spoken(output: str) -> str:
    """Write a tool's result in words: JSON objects as "key: value", lists with commas."""
    try:
        value = json.loads(output)
    except ValueError:
        return output.strip() or "Done"
    return _words_of(value) or "Done"


def _words_of(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')}: {_words_of(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(_words_of(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return say_number(value)
    return "nothing" if value is None else str(value).strip()
