"""No regular expression of the package takes more than a constant time for each character."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from realtime.event.base import ContentPart, Item
from realtime.message.speakers import own_words
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.language_model import Prompt
from realtime.model.local.voice import readable_text
from realtime.tool.docstring import parse_docstring
from realtime.tool.question import clean
from realtime.turn.answers import read_answer
from realtime.turn.small_talk import is_hum, tokens_of
from tests.regular_expressions import faults


def patterns() -> list[tuple[str, str, int]]:
    """In a process of their own, where no module is imported yet."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.regular_expressions"], capture_output=True, text=True, check=True
    )
    return [tuple(json.loads(line)) for line in made.stdout.splitlines()]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+$",
        r"\w+@",
        r"\bask\b.*\bthe\b",
        r"(?:a+)+$",
        r"(?:m+h*)+(?:m+|n+)*$",
        r"^\w+\s*(?:\(.*?\))?\s*:$",
        r"^(?:\W*please\W+)*say",
        r"^say\s*:?\s+(.+?)\s*$",
        r"^:param(?:\s+[^:]+)?:$",
        r"(?:^|(?<!to) )(?:\d[\d,.]* ?)*(?:\d[\d,.]*) to",
        r"(?:(?:das|es) )*nicht",
        r"(?=.*\bnow\b)",
        r"\n\s*\n\s*say",
        r"[„“\"][^“”\"]*[“”\"]",
        r"(?m)^\s*[-*]\s+",
    ],
)
def test_what_is_worse_than_linear_is_found(pattern: str) -> None:
    assert faults(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+",
        r"(?<!\s)\s+$",
        r"^\w+@",
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.]+",
        r"\b\w+ing\b",
        r"\bask\b.{0,80}\bthe\b",
        r"[^\W_]+(?:['’][^\W_]+)*",
        r"^(?P<names>\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$",
        r"(?<!\d)\d+(?:[:.]\d+)+",
        r"[\"“„][^\"”“„]*[\"”“]",
        r"\btell\b(?: me| us){0,3} more",
        r"m[mh]*+[mn]*",
    ],
)
def test_what_is_linear_is_not_accused(pattern: str) -> None:
    assert faults(pattern) == []


def test_no_pattern_of_the_package_is_worse_than_linear() -> None:
    found = patterns()
    assert len(found) > 500
    assert not [(place, pattern, said) for place, pattern, flags in found if (said := faults(pattern, flags))]


FRAGMENTS = (
    *(
        "a",
        "a ",
        "1",
        "1 ",
        "1.",
        "-",
        " ",
        "\n",
        "i ",
        "do ",
        "what is ",
        "who ",
        "it ",
        "how many ",
        "mhm",
        "h",
        "please ",
    ),
    *(
        "say ",
        "and then ",
        ", ",
        "? ",
        "! ",
        '"',
        "„",
        "(",
        "[",
        "[a]: ",
        "book a table ",
        "five minutes ",
        "5 km in ",
        "好",
    ),
    *(
        "my name is ",
        "no wait ",
        "monday ",
        "june ",
        "12/12/",
        "a@",
        "a.a",
        "x:",
        "I am ",
        "You are ",
        "remember that ",
    ),
)


@pytest.mark.night
@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_long_text_of_one_fragment_is_read_at_once(fragment: str) -> None:
    text = (fragment * 6_000)[:6_000]
    turn = Item(id="turn", role="user", content=(ContentPart(type="text", text=text),))
    short = Item(id="short", role="user", content=(ContentPart(type="text", text="What is the time?"),))
    readers: tuple[Callable[[], object], ...] = (
        lambda: respond_to(Prompt(history=[turn])),
        lambda: respond_to(Prompt(instructions=text, history=[turn, short])),
        lambda: respond_to(Prompt(instructions=text)),
        lambda: read_answer(text, {"people": 2}, {}, "Shall I book a table for two?"),
        lambda: read_answer(text[:500], {"people": 2}, {}, "Shall I book a table for two?"),
        lambda: own_words(text),
        lambda: parse_docstring(f"Book.\n\nArgs:\n    {text}"),
        lambda: clean(text, "en"),
        lambda: readable_text(text),
        lambda: [is_hum(word) for word in tokens_of(text)],
    )
    for read in readers:
        began_s = time.process_time()
        read()
        assert time.process_time() - began_s < 0.5
