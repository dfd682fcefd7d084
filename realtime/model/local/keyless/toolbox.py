"""Finds the tool that the user names: enough to try tools without a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.arithmetic import find_number

# Users rarely say the verb that begins the name of a tool: they ask for "the weather", not for "get weather".
_VERB = re.compile(r"get|set|fetch|find|look|lookup|search|check|show|tell|make|create|do|run|call|list|read")
_AFTER_PREPOSITION = re.compile(r"\b(?:in|for|of|about|to|at|on|called|named)\s+(?:the\s+)?([^,.!?;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A requested tool with the arguments found in the utterance."""

    name: str
    arguments: dict[str, Any]


def tool_call_for(plain: str, said: str, tools: Sequence[ToolDeclaration]) -> ToolMatch | None:
    """Find the first named tool whose required arguments can be filled.

    `plain` is the utterance in lower case without punctuation, `said` the original. A string argument takes the words
    after "in", "for", "about" and the like, a number argument the first number.
    """
    words = plain.split()
    for tool in tools:
        if _is_named(tool.name, words) and (arguments := _arguments(tool.parameters, said)) is not None:
            return ToolMatch(tool.name, arguments)
    return None


def _is_named(name: str, words: Sequence[str]) -> bool:
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
    telling = [part for part in parts if not _VERB.fullmatch(part)] or parts
    return bool(telling) and all(any(word == part or word == f"{part}s" for word in words) for part in telling)


def _arguments(schema: dict[str, Any], said: str) -> dict[str, Any] | None:
    """Return values for the required properties; None if one cannot be filled."""
    properties = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    for name in schema.get("required", []):
        value = _value(properties.get(name, {}), said)
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _value(schema: dict[str, Any], said: str) -> str | float | None:
    for choice in schema.get("enum", []):
        if isinstance(choice, str) and re.search(rf"\b{re.escape(choice)}\b", said, re.IGNORECASE):
            return choice
    if "enum" in schema:
        return None
    match schema.get("type"):
        case "integer":
            number = find_number(said)
            return None if number is None else int(number)
        case "number":
            return find_number(said)
        case "string":
            heard = _AFTER_PREPOSITION.findall(said)
            return heard[-1].strip() if heard else None
        case _:
            return None
