"""Labelled answers to questions for consent, and how they are read.

`answers.tsv` has one answer a line. Settings and lists of words were chosen on the rows of the set `known`; those of
`heldout` were written before and only counted. `outsider.tsv` and `outsider_2.tsv` are the halves of what someone wrote
who had not seen the reader, `outsider_3.tsv` one half (by questions) of what another one wrote: all three were used to
improve it, one after the other. `unseen.tsv` is the other half, kept from those who did.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from realtime.turn.answers import Answer, Reading, read_answer

FOLDER = Path(__file__).parent
Set = Literal["known", "heldout", "outsider", "outsider_2", "outsider_3", "unseen"]
OF_OUTSIDER: tuple[Set, ...] = ("outsider", "outsider_2", "outsider_3", "unseen")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for consent."""

    language: str
    question: str
    arguments: Mapping[str, Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer with its label."""

    set: Set
    asked: Asked
    words: str
    answers: tuple[Answer, ...]
    """What it means; more than one where people would differ, or where all but a yes is right."""
    always: bool
    changed: Mapping[str, Any] | None

    def read(self) -> Reading:
        """Return how it is read."""
        return read_answer(self.words, self.asked.arguments, self.asked.schema, self.asked.question)


_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def labelled_answers() -> Iterator[Labelled]:
    """Yield all labelled answers."""
    yield from _own_answers()
    for set_ in OF_OUTSIDER:
        if not (path := FOLDER / f"{set_}.tsv").exists():
            continue
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                arguments = json.loads(row["arguments_json"])
                properties = {name: {"type": _TYPES.get(type(value), "string")} for name, value in arguments.items()}
                schema = {"type": "object", "properties": properties, "required": [*arguments]}
                yield Labelled(
                    set_,
                    Asked(row["language"], row["question"], arguments, schema),
                    row["words"],
                    (Answer(row["label"].lower()),),
                    False,
                    json.loads(row["changed_json"]) if row["changed_json"] else None,
                )


def _own_answers() -> Iterator[Labelled]:
    questions = {name: Asked(**asked) for name, asked in json.loads((FOLDER / "questions.json").read_text()).items()}
    with (FOLDER / "answers.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            answers = tuple(Answer(answer) for answer in row["answer"].split())
            detail = row["detail"]
            changed = json.loads(detail) if detail.startswith("{") else None
            yield Labelled(
                "known" if row["set"] == "known" else "heldout",
                questions[row["question"]],
                row["words"],
                answers,
                detail == "always",
                changed,
            )


@dataclass(frozen=True, slots=True)
class Tally:
    """How the answers of one class were read."""

    answers: int
    right: int
    false_yes: int
    """Of answers that do not consent: how many were read as consent."""
    sure: int
    """Of changes with one certain new argument: how many there are."""
    sure_right: int


def tally(answers: list[Labelled]) -> Tally:
    """Count how answers are read."""
    readings = [(one, one.read()) for one in answers]
    sure = [(one, reading) for one, reading in readings if one.changed is not None]
    return Tally(
        len(answers),
        sum(reading.answer in one.answers for one, reading in readings),
        sum(reading.answer is Answer.YES and Answer.YES not in one.answers for one, reading in readings),
        len(sure),
        sum(reading.changed == {**one.asked.arguments, **(one.changed or {})} for one, reading in sure),
    )


def wrong(set_: Set) -> Iterator[str]:
    """Yield the answers of a set that are read otherwise than labelled."""
    for one in labelled_answers():
        if one.set != set_:
            continue
        reading = one.read()
        expected = {**one.asked.arguments, **one.changed} if one.changed else None
        if reading.answer not in one.answers or reading.always != one.always or reading.changed != expected:
            yield f"{'|'.join(one.answers)} {one.changed or ''}: {reading.answer} {reading.changed or ''} {one.words!r}"
