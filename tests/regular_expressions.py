"""Finds regular expressions whose work grows faster than the text, without running them.

A search is worse than linear where a repeat without a bound runs over text in which the search may begin anew
(`\\bask .*\\bthe\\b` on "ask ask ask"), and where two such repeats may share one run (`\\s*,?\\s*x`), if what stands
behind them can fail. Both are read from the parsed pattern: the verdict takes no time and depends on nothing else.

`python -m tests.regular_expressions` prints the patterns of the package, one JSON list a line.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_BOUNDED = 2_000
"""A repeat with a lower bound does a constant amount of work for each character."""
_ALPHABET = "".join(map(chr, (9, 10, 13, *range(32, 127)))) + "éñüßÄÉ中好，。“”„’«»…–、"
_BITS = {char: 1 << at for at, char in enumerate(_ALPHABET)}
_ALL = (1 << len(_ALPHABET)) - 1
_MOST_WORDS = 3_000


def _mask(test: Any) -> int:
    return sum(bit for char, bit in _BITS.items() if test(char))


_WORD = _mask(lambda char: char.isalnum() or char == "_")
_LINE_END = _BITS["\n"]
_CATEGORIES = {sre.CATEGORY_DIGIT: _mask(str.isdigit), sre.CATEGORY_SPACE: _mask(str.isspace), sre.CATEGORY_WORD: _WORD}
_CATEGORIES |= {
    sre.CATEGORY_NOT_DIGIT: _ALL & ~_CATEGORIES[sre.CATEGORY_DIGIT],
    sre.CATEGORY_NOT_SPACE: _ALL & ~_CATEGORIES[sre.CATEGORY_SPACE],
    sre.CATEGORY_NOT_WORD: _ALL & ~_WORD,
}


@dataclass(frozen=True)
class One:
    """One of some characters."""

    mask: int


@dataclass(frozen=True)
class Row:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    low: int
    high: int
    body: Node
    gives_back: bool = True

    @property
    def is_unbounded(self) -> bool:
        return self.high > MOST_BOUNDED


@dataclass(frozen=True)
class Look:
    is_ahead: bool
    is_wanted: bool
    body: Row


@dataclass(frozen=True)
class Place:
    """A beginning, an end or the edge of a word."""

    where: Any
    is_each_line: bool


Node = One | Row | Choice | Repeat | Look | Place
Items = tuple[Node, ...]


def faults(pattern: str, flags: int = 0) -> list[str]:
    """Return what makes a search for a pattern worse than linear; nothing where it is not."""
    parsed = parser.parse(pattern, flags)
    found = []
    for repeat, before, behind in _unbounded(_row(parsed, parsed.state.flags).items, (), ()):
        if _can_fail(behind) and _repeats(before, repeat):
            found.append("begins anew inside its own run")
        for other, between, rest in _behind(behind, repeat) if repeat.gives_back else ():
            if _can_fail(rest) and _fits(between, _chars(repeat) & _chars(other)):
                found.append("two repeats share a run")
                break
    return [*dict.fromkeys(found)]


def _row(tree: Any, flags: int) -> Row:
    return Row(tuple(_node(kind, value, flags) for kind, value in tree))


def _node(kind: Any, value: Any, flags: int) -> Node:
    match kind:
        case sre.LITERAL:
            return One(_of_case(_BITS.get(chr(value), 0), flags))
        case sre.NOT_LITERAL:
            return One(_ALL & ~_of_case(_BITS.get(chr(value), 0), flags))
        case sre.ANY:
            return One(_ALL if flags & re.DOTALL else _ALL & ~_LINE_END)
        case sre.IN:
            return One(_of_set(value, flags))
        case sre.BRANCH:
            return Choice(tuple(_row(option, flags) for option in value[1]))
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            return Repeat(value[0], int(value[1]), _row(value[2], flags), kind is not sre.POSSESSIVE_REPEAT)
        case sre.SUBPATTERN:
            return _row(value[3], (flags | value[1]) & ~value[2])
        case sre.ATOMIC_GROUP:
            return _row(value, flags)
        case sre.ASSERT | sre.ASSERT_NOT:
            return Look(value[0] > 0, kind is sre.ASSERT, _row(value[1], flags))
        case sre.AT:
            return Place(value, bool(flags & re.MULTILINE))
        case sre.GROUPREF:
            return Repeat(0, MOST_BOUNDED, One(_ALL))
    raise NotImplementedError(str(kind))


def _of_set(members: Any, flags: int) -> int:
    mask, is_turned = 0, False
    for kind, value in members:
        match kind:
            case sre.NEGATE:
                is_turned = True
            case sre.LITERAL:
                mask |= _BITS.get(chr(value), 0)
            case sre.RANGE:
                mask |= sum(bit for char, bit in _BITS.items() if value[0] <= ord(char) <= value[1])
            case sre.CATEGORY:
                mask |= _CATEGORIES[value]
    mask = _of_case(mask, flags)
    return _ALL & ~mask if is_turned else mask


def _of_case(mask: int, flags: int) -> int:
    if flags & re.IGNORECASE:
        for char in [char for char, bit in _BITS.items() if mask & bit]:
            mask |= _BITS.get(char.lower(), 0) | _BITS.get(char.upper(), 0)
    return mask


def _chars(node: Node) -> int:
    """Return all characters that it may take."""
    match node:
        case One():
            return node.mask
        case Row(parts) | Choice(parts):
            mask = 0
            for part in parts:
                mask |= _chars(part)
            return mask
        case Repeat():
            return _chars(node.body)
    return 0


def _can_fail(items: Items) -> bool:
    """Whether these may not match, wherever they begin."""
    for node in items:
        match node:
            case Repeat() if not node.low or not _can_fail((node.body,)):
                continue
            case Row() if not _can_fail(node.items):
                continue
            case Choice() if any(not _can_fail((option,)) for option in node.options):
                continue
        return True
    return False


def _fits(items: Items, mask: int) -> bool:
    """Whether a text of these may stand inside a run of the characters."""
    return all(_one_fits(node, mask) for node in items)


def _one_fits(node: Node, mask: int) -> bool:
    match node:
        case One():
            return bool(node.mask & mask)
        case Row():
            return _fits(node.items, mask)
        case Choice():
            return any(_one_fits(option, mask) for option in node.options)
        case Repeat():
            return not node.low or _one_fits(node.body, mask)
        case Look():
            if node.is_ahead:
                return True
            if node.is_wanted:
                return _fits(node.body.items, mask)
            # Nothing begins inside a run behind `(?<![run])`.
            first = node.body.items
            return not (len(first) == 1 and isinstance(first[0], One) and not mask & ~first[0].mask)
        case Place(where):
            if where is sre.AT_BOUNDARY:
                return bool(mask & _WORD and mask & ~_WORD)
            if where in (sre.AT_BEGINNING, sre.AT_END):
                return node.is_each_line and bool(mask & _LINE_END)
            return where is sre.AT_NON_BOUNDARY


def _words(node: Node) -> set[str] | None:
    """Return all texts that match, None where there are too many."""
    match node:
        case One():
            chars = {char for char, bit in _BITS.items() if node.mask & bit}
            return chars if len(chars) <= 8 else None
        case Choice():
            every = [_words(option) for option in node.options]
            return set().union(*(one for one in every if one)) if None not in every else None
        case Row():
            return _joined([_words(one) for one in node.items])
        case Repeat(low, high) if high <= 3:
            body = _words(node.body)
            every = [_joined([body] * count) for count in range(low, high + 1)]
            return set().union(*(one for one in every if one)) if None not in every else None
        case Repeat():
            return None
    return {""}


def _joined(parts: Sequence[set[str] | None]) -> set[str] | None:
    made = {""}
    for part in parts:
        if part is None or len(made) * len(part) > _MOST_WORDS:
            return None
        made = {first + last for first in made for last in part}
    return made


def _repeats(before: Items, repeat: Repeat) -> bool:
    """Whether what stands before a repeat may stand inside its run as well."""
    if not _fits(before, _chars(repeat)):
        return False
    again, first = _words(repeat.body), _words(Row(before))
    if again is None or first is None or max(map(len, again), default=0) < 2:
        return True
    return any(_is_within(word, again) for word in first)


def _is_within(word: str, words: set[str]) -> bool:
    """Whether a text may stand inside some of the words in a row."""
    if any(word in one for one in words):
        return True
    return any(
        one.endswith(word[:count]) and _begins(word[count:], words) for one in words for count in range(len(word) + 1)
    )


def _begins(text: str, words: set[str]) -> bool:
    return not text or any(
        one.startswith(text) or (bool(one) and text.startswith(one) and _begins(text[len(one) :], words))
        for one in words
    )


def _unbounded(items: Items, before: Items, behind: Items) -> Iterator[tuple[Repeat, Items, Items]]:
    """Yield the repeats without a bound, with what stands before and behind each."""
    for at, node in enumerate(items):
        first, last = before + items[:at], items[at + 1 :] + behind
        match node:
            case Row():
                yield from _unbounded(node.items, first, last)
            case Choice():
                for option in node.options:
                    yield from _unbounded((option,), first, last)
            case Repeat():
                if node.is_unbounded:
                    yield node, first, last
                again: Items = (Repeat(0, 1, node.body),) if node.high > 1 else ()
                yield from _unbounded((node.body,), first, again + last)
            case Look(is_ahead=True):
                yield from _unbounded(node.body.items, first, ())


def _behind(items: Items, repeat: Repeat, between: Items = ()) -> Iterator[tuple[Repeat, Items, Items]]:
    """Yield repeats that may take over inside a repeat's run, with what stands between and behind."""
    mask = _chars(repeat)
    for at, node in enumerate(items):
        last = items[at + 1 :]
        match node:
            case Row():
                yield from _behind(node.items + last, repeat, between)
                return
            case Choice():
                for option in node.options:
                    yield from _behind((option, *last), repeat, between)
                return
            case Repeat():
                if node.is_unbounded and _overlap(repeat, node):
                    yield node, between, last
                if _holds_unbounded(node.body):
                    again: Items = (Repeat(0, 1, node.body),) if node.high > 1 else ()
                    yield from _behind((node.body, *again, *last), repeat, between)
                if node.low and not _one_fits(node.body, mask):
                    return
                between += (node.body,) if node.low else ()
            case _:
                if not _one_fits(node, mask):
                    return
                between += (node,)


def _holds_unbounded(node: Node) -> bool:
    match node:
        case Repeat():
            return node.is_unbounded or _holds_unbounded(node.body)
        case Row(parts) | Choice(parts):
            return any(map(_holds_unbounded, parts))
    return False


def _overlap(one: Repeat, other: Repeat) -> bool:
    """Whether a text is a run of both."""
    mask = _chars(one) & _chars(other)
    if not (mask and _one_fits(one.body, mask) and _one_fits(other.body, mask)):
        return False
    words, others = _words(one.body), _words(other.body)
    return words is None or others is None or bool(words & others)


def patterns_of_the_package(package: str) -> dict[tuple[str, int], str]:
    """Import a package, and return its patterns and flags, with the place of each.

    Compiled while it is imported, or written in a function; what a function puts into one is a word.
    """
    found: dict[tuple[str, int], str] = {}
    compile_pattern = re.compile

    def noted(pattern: Any, flags: int = 0) -> Any:
        compiled = compile_pattern(pattern, flags)
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        name = caller.f_globals.get("__name__", "") if caller is not None else ""
        if caller is not None and name.startswith(f"{package}.") and isinstance(compiled.pattern, str):
            found.setdefault((compiled.pattern, int(compiled.flags)), f"{name}:{caller.f_lineno}")
        return compiled

    re.compile = noted  # type: ignore[assignment]
    try:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if module.name.endswith("__main__"):
                continue
            try:
                imported = importlib.import_module(module.name)
            except ImportError:
                continue
            for pattern, line in _written_in(imported):
                try:
                    compiled = compile_pattern(pattern)
                except re.error:
                    continue
                found.setdefault((compiled.pattern, int(compiled.flags)), f"{module.name}:{line}")
    finally:
        re.compile = compile_pattern
    return found


def _written_in(module: Any) -> Iterator[tuple[str, int]]:
    for call in ast.walk(ast.parse(inspect.getsource(module))):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            continue
        if isinstance(call.func.value, ast.Name) and call.func.value.id == "re":
            first = call.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, call.lineno
            elif isinstance(first, ast.JoinedStr):
                yield "".join(_piece(part, vars(module)) for part in first.values), call.lineno


def _piece(part: ast.expr, known: dict[str, Any]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    try:
        return str(eval(compile(ast.Expression(ast.JoinedStr([part])), "pattern", "eval"), known))
    except Exception:
        return "word"


if __name__ == "__main__":
    for (written, flagged), place in patterns_of_the_package("realtime").items():
        sys.stdout.write(json.dumps([place, written, flagged]) + "\n")
