"""`tool-calls`: which tools the keyless model calls for a sentence, and with what.

Reads every file `bench/tool_calls/*.tsv`: a head line, then one case a line with the columns `agent` (whose tools are
offered, in `tools.py`), `turns` (what the user says, ` | ` between two turns) and `expected`: the tool with its
arguments as JSON, `/` between two texts that are both right; `-` for no call. Capitals of texts do not count. The rules
were tuned with the sentences of `tuned.tsv`, not with those of other files.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import Check, Section
from bench.tool_calls.tools import AGENTS, EVERY_TOOL
from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.message import ToolCallBlock, ToolResultBlock, ToolResultState
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.language_model import Prompt, ReplyText, ReplyToolCall

FOLDER = Path(__file__).parent
PAGE = Path(__file__).parent.parent.parent / "docs" / "tools.md"
MIN_RIGHT_PERCENT = 80.0
MAX_WRONG_PERCENT = 5.0

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the files."""

    split: str
    agent: str
    turns: tuple[str, ...]
    expected: Call | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case: all calls, and what the agent said last."""

    case: Case
    calls: tuple[Call, ...]
    said: str

    @property
    def verdict(self) -> str:
        """`right`, `wrong` (a call that was not meant) or `none` (a missing call)."""
        if not self.calls:
            return "right" if self.case.expected is None else "none"
        expected = self.case.expected
        is_meant = expected is not None and len(self.calls) == 1 and _are_same(self.calls[0], expected)
        return "right" if is_meant else "wrong"


def cases(folder: Path = FOLDER) -> Iterator[Case]:
    """Yield the cases of all files."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                name, _, arguments = row["expected"].partition(" ")
                expected = None if name == "-" else (name, json.loads(arguments))
                yield Case(path.stem, row["agent"], tuple(row["turns"].split(" | ")), expected)


def heard(said: str) -> str:
    """Write a sentence as some recognisers do: in lower case, without punctuation."""
    return " ".join(re.sub(r"[^\w\s'$€£%:.-]|[.:](?!\d)", " ", said.lower()).split())


def outcome_of(case: Case, tools: Sequence[ToolDeclaration], *, is_heard: bool = False) -> Outcome:
    """Say the turns of a case to the keyless model with these tools."""
    history: list[Item] = []
    calls: list[Call] = []
    said = ""
    for number, turn in enumerate(case.turns):
        words = heard(turn) if is_heard else turn
        history.append(_message(f"u{number}", "user", words))
        replies = respond_to(Prompt(history=list(history), tools=tools))
        said = " ".join(reply.text for reply in replies if isinstance(reply, ReplyText))
        if said:
            history.append(_message(f"a{number}", "assistant", said))
        for reply in replies:
            if isinstance(reply, ReplyToolCall):
                calls.append((reply.name, json.loads(reply.arguments)))
                call_id = f"c{len(history)}"
                call = ToolCallBlock(id=call_id, name=reply.name, input=reply.arguments)
                result = ToolResultBlock(id=call_id, name=reply.name, output="Done.", state=ToolResultState.SUCCESS)
                history.append(Item(id=f"i{call_id}", type="tool_call", tool_call=call))
                history.append(Item(id=f"r{call_id}", type="tool_result", tool_result=result))
    return Outcome(case, tuple(calls), said)


async def measure_tool_calls() -> Section:
    """Print right calls, wrong calls and missing calls for each file."""
    section = Section(
        "tool-calls",
        "The keyless model's tool calls",
        "Each case is typed, with the tools of its agent or with all tools; as written, and as some recognisers write: "
        "in lower case without punctuation. Right: the tool with every argument, or no call where none is meant. "
        "Wrong: a call that was not meant, or with another value. Missing: no call, but a question or an apology.",
        ("cases", "tools", "written", "number", "right", "wrong", "missing"),
        page=PAGE,
    )
    every = [*cases()]
    for split in sorted({case.split for case in every}):
        shares: list[tuple[float, float]] = []
        for all_tools, is_heard in itertools.product((False, True), repeat=2):
            outcomes = [
                outcome_of(case, EVERY_TOOL if all_tools else AGENTS[case.agent], is_heard=is_heard)
                for case in every
                if case.split == split
            ]
            number, counts = len(outcomes), Counter(outcome.verdict for outcome in outcomes)
            how = ("all" if all_tools else "own", "as heard" if is_heard else "as written")
            row = [_share(counts[verdict], number) for verdict in ("right", "wrong", "none")]
            section.rows.append((split.replace("_", " "), *how, str(number), *row))
            shares.append((100 * counts["right"] / number, 100 * counts["wrong"] / number))
            section.data[f"{split}, {how[0]} tools, {how[1]}"] = [
                [" | ".join(one.case.turns), one.verdict, one.calls, one.said]
                for one in outcomes
                if one.verdict != "right"
            ]
        name = split.replace("_", " ")
        section.checks += [
            Check(f"{name}: right, least", min(right for right, _ in shares), MIN_RIGHT_PERCENT, " %", True),
            Check(f"{name}: wrong, most", max(wrong for _, wrong in shares), MAX_WRONG_PERCENT, " %"),
        ]
    return section


def _message(item_id: str, role: Any, text: str) -> Item:
    return Item(id=item_id, role=role, content=(ContentPart(type="text", text=text),))


def _are_same(call: Call, expected: Call) -> bool:
    return call[0] == expected[0] and _is_same(call[1], expected[1])


def _is_same(value: Any, expected: Any) -> bool:
    match expected:
        case dict():
            return (
                isinstance(value, dict)
                and value.keys() == expected.keys()
                and all(_is_same(value[key], one) for key, one in expected.items())
            )
        case list():
            return isinstance(value, list) and len(value) == len(expected) and all(map(_is_same, value, expected))
        case str():
            return isinstance(value, str) and value.lower() in expected.lower().split("/")
        case _:
            return bool(value == expected) and isinstance(value, bool) == isinstance(expected, bool)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(1, whole):.0f} %)"
