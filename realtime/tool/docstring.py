"""Parses docstrings in Google, numpy or reST form: the description and a text per parameter."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

_PARAMETER_SECTIONS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"}
_OTHER_SECTIONS = {
    *("returns", "return", "yields", "yield", "raises", "attributes", "example", "examples", "note", "notes"),
    *("other parameters", "references", "see also", "todo", "warning", "warnings", "warns"),
}
_REST_FIELD = re.compile(
    r"^:(?P<kind>param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except|exception|yields?|ytype)"
    r"(?P<words>\s[^:]+)?:(?:\s(?P<text>.*)|$)"
)
_REST_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(?P<names>\w+)\s*(?:\(.*?\)\s*)?:(?:\s(?P<text>.*)|$)")
_NUMPY_ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def docstrings_of(function: Any) -> tuple[str, ...]:
    """Return the docstrings about a call of something, the nearest first."""
    is_class = isinstance(function, type)
    made_by = function if is_class else type(function)
    call = made_by.__init__ if is_class else made_by.__call__
    own = function.__doc__ or ""
    if dataclasses.is_dataclass(function) and own.startswith(f"{made_by.__name__}("):
        own = ""  # its signature, which Python wrote
    if inspect.isroutine(function) or not inspect.isfunction(call) or hasattr(function, "__wrapped__"):
        return (own,)
    return (own, call.__doc__ or "") if is_class else (call.__doc__ or "", own)


def parse_docstrings(texts: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """Return the first description, and each parameter's text. See `parse_docstring`."""
    description, described = "", dict[str, str]()
    for text in texts:
        said, of_parameters = parse_docstring(text)
        description, described = description or said, of_parameters | described
    return description, described


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description and each parameter's text, on one line each.

    The description is everything before the first section.
    """
    lines = inspect.cleandoc(text).splitlines()
    sections = [*_sections(lines)]
    first = min((start for start, *_ in sections), default=len(lines))
    described: dict[str, str] = {}
    for _, entry, body in sections:
        if entry is not None:
            described |= _entries(entry, body)
    return "\n".join(lines[:first]).strip(), described


def _sections(lines: list[str]) -> Iterator[tuple[int, re.Pattern[str] | None, list[str]]]:
    """Yield each section: first line, entry pattern (None: not parameters), body."""
    heads = [(index, head) for index in range(len(lines)) if (head := _head(lines, index)) is not None]
    ends = [*(start for start, _ in heads[1:]), len(lines)]
    for (start, (entry, body_start)), end in zip(heads, ends, strict=False):
        yield start, entry, lines[body_start:end]


def _head(lines: list[str], index: int) -> tuple[re.Pattern[str] | None, int] | None:
    """Return entry pattern and body start of a section; None if none begins at `index`."""
    line = lines[index]
    title = line.strip().lower().removesuffix(":")
    entry: re.Pattern[str] | None
    if (field := _REST_FIELD.match(line)) is not None:
        return (_REST_FIELD if field["kind"] in _REST_PARAMETERS else None), index
    if title not in _PARAMETER_SECTIONS | _OTHER_SECTIONS or line[:1].isspace():
        return None
    if line.rstrip().endswith(":"):
        entry, body_start = _GOOGLE_ENTRY, index + 1
    elif index + 1 < len(lines) and re.fullmatch("-{3,}", lines[index + 1].strip()):
        entry, body_start = _NUMPY_ENTRY, index + 2
    else:
        return None
    return (entry if title in _PARAMETER_SECTIONS else None), body_start


def _entries(entry: re.Pattern[str], body: list[str]) -> dict[str, str]:
    """Return the parameters of a section.

    An entry is at the section's own indentation, its text there and below.
    """
    indent = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in body:
        begins = entry.match(line[indent:]) if not line[indent : indent + 1].isspace() else None
        if begins is None:
            words = line
        elif entry is _REST_FIELD:
            names, words = begins["words"].split()[-1:] if begins["words"] else [], begins["text"] or ""
        else:
            names = [name.strip().lstrip("*") for name in begins["names"].split(",")]
            words = (begins["text"] or "") if entry is _GOOGLE_ENTRY else ""
        for name in names:
            texts.setdefault(name, []).append(words)
    return {name: " ".join(" ".join(parts).split()) for name, parts in texts.items()}
