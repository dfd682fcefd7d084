"""What words of the asked person mean to an open question. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """What an answer is."""

    YES = "yes"
    NO = "no"
    CHANGE = "change"
    QUESTION = "question"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Reading:
    """What words mean."""

    answer: Answer
    always: bool = False
    changed: Mapping[str, object] | None = None


_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def read_answer(
    words: str, arguments: Mapping[str, object], schema: Mapping[str, object], question: str
) -> Reading:
    """Return what the words mean."""
    tokens = re.findall(r"\w+", words.lower())
    numbers = [_NUMBERS.get(token) or (int(token) if token.isdigit() else None) for token in tokens]
    number = next((one for one in numbers if one is not None), None)
    names = [name for name, value in arguments.items() if isinstance(value, int)]
    if ("but" in tokens or "make" in tokens) and number is not None and len(names) == 1:
        return Reading(Answer.CHANGE, changed={**arguments, names[0]: number})
    if "instead" in tokens:
        return Reading(Answer.CHANGE)
    if "?" in words:
        return Reading(Answer.QUESTION)
    if tokens[:1] in (["no"], ["stop"]):
        return Reading(Answer.NO)
    if tokens[:1] in (["yes"], ["okay"]):
        return Reading(Answer.YES, always="always" in tokens)
    return Reading(Answer.OTHER)
