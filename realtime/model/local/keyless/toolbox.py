"""Finds the tool that the user names: enough to try tools without a key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.arithmetic import find_numbers
from realtime.model.local.keyless.words import core, plain

# Users rarely say the verb that begins the name of a tool: they ask for "the weather", not for "get weather".
_VERB = re.compile(r"get|set|fetch|find|look|lookup|search|check|show|tell|make|create|do|run|call|list|read")
_LOOKS = re.compile(r"get|fetch|find|look|lookup|search|check|show|tell|list|read")
_ALIKE = (
    frozenset({"change", "set", "make", "turn", "switch", "update", "adjust", "put", "modify", "be"}),
    frozenset({"add", "put", "append", "insert"}),
    frozenset({"remove", "delete", "clear", "erase"}),
    frozenset({"start", "begin", "launch"}),
    frozenset({"stop", "end", "cancel"}),
)
"""Verbs that users say for each other."""
_ASKS = re.compile(r"(?:who|what|which|when|where|why|how|is|are|was|were|do|does|did|have|has)(?:'s)?\b")
_PREPOSITION = re.compile(r"\b(?:in|for|of|about|to|at|on|called|named)\s+", re.IGNORECASE)
_TO = re.compile(r"\bto\s+", re.IGNORECASE)
_PHRASE = re.compile(r"[^,.!?;]+")
_BEFORE = re.compile(r"(?:(?:the|an?|my|our|be)\s+)+", re.IGNORECASE)
_BEHIND = re.compile(
    r"(?:\s+|^)(?:please|thanks|thank you|(?:right )?now|again|today|for me|here|there)$", re.IGNORECASE
)
_SMALL = frozenset({"to", "on", "in", "of", "for", "by", "and", "the", "a"})


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A requested tool with the arguments found in the utterance."""

    name: str
    arguments: dict[str, Any]


def tool_call_for(text: str, said: str, tools: Sequence[ToolDeclaration]) -> ToolMatch | None:
    """Find the first named tool whose required arguments can be filled.

    `text` is the utterance in lower case without punctuation, `said` the original. Number arguments take the numbers in
    order, a string argument the words after "in", "for", "about" and the like; the only one of a tool, those after the
    last "to". Where a command has none, what stands before the preposition or behind the tool's name is taken.
    """
    for tool in tools:
        if _is_named(tool.name, text) and (arguments := _arguments(tool, said)) is not None:
            return ToolMatch(tool.name, arguments)
    return None


def missing_argument(text: str, said: str, tools: Sequence[ToolDeclaration]) -> str | None:
    """Name the first argument that a named tool lacks; None: none does."""
    for tool in tools:
        if not _is_named(tool.name, text) or (_ASKS.match(core(text)) and not _LOOKS.match(tool.name)):
            continue
        for name in _required(tool):
            if _can_be_said(tool, name) and _value(tool, name, said) is None:
                return " ".join(_words(name))
    return None


def _can_be_said(tool: ToolDeclaration, name: str) -> bool:
    schema = _properties(tool).get(name, {})
    return "enum" in schema or schema.get("type") in ("string", "integer", "number")


def _properties(tool: ToolDeclaration) -> dict[str, dict[str, Any]]:
    """Return the schemas of a tool's arguments; those that are none, as declarations of others may have them, as {}."""
    properties = tool.parameters.get("properties")
    found = properties.items() if isinstance(properties, dict) else ()
    return {name: schema if isinstance(schema, dict) else {} for name, schema in found}


def _required(tool: ToolDeclaration) -> list[str]:
    required = tool.parameters.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _words(name: str) -> list[str]:
    """Return a name's words, spelt as users' words: "setColor" is "set", "colour"."""
    return plain(" ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name))).split()


def _is_named(name: str, text: str) -> bool:
    parts, words = _words(name), text.split()
    telling = [part for part in parts if not _VERB.fullmatch(part)] or parts
    alike = {} if _ASKS.match(core(text)) else {part: _alike(part) for part in telling}
    return bool(telling) and all(
        any(word in (part, f"{part}s", f"{part}'s") or word in alike.get(part, ()) for word in words)
        for part in telling
    )


def _alike(verb: str) -> frozenset[str]:
    return frozenset().union(*(verbs for verbs in _ALIKE if verb in verbs))


def _arguments(tool: ToolDeclaration, said: str) -> dict[str, Any] | None:
    """Return the values that are required, or the only one; None: one is missing."""
    names, required = [*_properties(tool)], _required(tool)
    found = {name: _value(tool, name, said) for name in (names if len(names) == 1 else required)}
    if any(found[name] is None for name in required):
        return None
    return {name: value for name, value in found.items() if value is not None}


def _value(tool: ToolDeclaration, name: str, said: str) -> str | float | None:
    properties = _properties(tool)
    schema = properties.get(name, {})
    if "enum" in schema:
        choices = schema["enum"] if isinstance(schema["enum"], list) else ()
        for choice in choices:
            if isinstance(choice, str) and re.search(rf"\b{re.escape(choice)}\b", said, re.IGNORECASE):
                return choice
        return None
    match schema.get("type"):
        case "integer" | "number" as kind:
            numeric = [one for one in _required(tool) if properties.get(one, {}).get("type") in ("integer", "number")]
            number = dict(zip(numeric or [name], find_numbers(said), strict=False)).get(name)
            return int(number) if number is not None and kind == "integer" else number
        case "string":
            texts = [one for one in properties.values() if one.get("type") == "string" and "enum" not in one]
            return _text(tool.name, name, said, is_only=len(texts) == 1)
        case _:
            return None


def _text(tool: str, name: str, said: str, *, is_only: bool) -> str | None:
    """Find a text: not the tool's own words, and rather not the argument's."""
    words = _words(tool)
    own = _forms(words[1:] or words)
    after = [_phrase(said[found.end() :]) for found in _PREPOSITION.finditer(said)]
    if is_only:
        after = [_phrase(said[found.end() :]) for found in _TO.finditer(said)][-1:] + after
    after += _of_command(tool, own, said)
    fit = [phrase for phrase in after if phrase and not own & {*plain(phrase).split()}]
    argument = _forms(_words(name))
    return next((phrase for phrase in fit if not argument & {*plain(phrase).split()}), fit[0] if fit else None)


def _forms(words: Sequence[str]) -> set[str]:
    return {form for word in words if word not in _SMALL for form in (word, f"{word}s", f"{word}'s")}


def _of_command(tool: str, own: set[str], said: str) -> list[str]:
    """Return a command's words before a preposition, and behind the tool's words."""
    request = core(plain(said))
    verb = request.partition(" ")[0]
    if not (_VERB.fullmatch(verb) or any(verb == part or verb in _alike(part) for part in _words(tool))):
        return []
    words = said.split()
    plain_words = [plain(word) for word in words]
    if verb not in plain_words:
        return []
    rest = " ".join(words[plain_words.index(verb) + 1 :])
    last = max((at for at, word in enumerate(plain_words) if word in own), default=len(words))
    behind = _phrase(" ".join(words[last + 1 :]))
    found = re.search(r"\s(?:to|on|onto|in|into|from|off)\s", rest)
    return [*([_phrase(rest[: found.start()])] if found is not None else []), behind]


def _phrase(text: str) -> str:
    """Return the words before punctuation, without articles and courtesies around them."""
    found = _PHRASE.match(text)
    words = found[0].strip() if found is not None else ""
    if before := _BEFORE.match(words):
        words = words[before.end() :]
    while behind := _BEHIND.search(words):
        words = words[: behind.start()]
    return words
