"""What the words of the asked person mean to an open question: a yes only where every word belongs to it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bench.consent.answers import Labelled, labelled_answers
from realtime.tool.spoken_numbers import in_words
from realtime.turn.answer_changes import fits
from realtime.turn.answer_phrases import PHRASES, Kind
from realtime.turn.answer_words import NEGATIONS
from realtime.turn.answers import Answer, Reading, read_answer

ARGUMENTS = {"people": 4, "day": "Friday"}
SCHEMA = {
    "type": "object",
    "properties": {
        "people": {"type": "integer", "minimum": 1, "maximum": 12},
        "day": {"type": "string"},
        "amount": {"type": "number"},
        "recipient": {"type": "string"},
    },
}
QUESTION = "Shall I book a table for four people on Friday?"
QUESTIONS = {
    "en": QUESTION,
    "de": "Soll ich einen Tisch für vier Personen am Freitag buchen?",
    "es": "¿Reservo una mesa para cuatro personas el viernes?",
    "zh": "要我订一张星期五四个人的桌子吗？",
}
MAY_I = (
    "Do you mind if I cancel the hotel in Rome?",
    "Haben Sie etwas dagegen, wenn ich das Hotel storniere?",
    "¿Le importa si cancelo el hotel de Roma?",
    "您介意我取消罗马的酒店吗?",
)
PLUMBER = "Would you like me to book the plumber for Wednesday at ten?"


def read(words: str, question: str = QUESTION, arguments: dict[str, Any] = ARGUMENTS) -> Reading:
    return read_answer(words, arguments, SCHEMA, question)


class Row(NamedTuple):
    """A line of `answers.tsv`: words in answer to a question about a call with these arguments.

    Expected is an answer ("change": one that is left to the model), "not yes", "yes always", or the arguments of the
    changed call.
    """

    question: str
    arguments: str
    expected: str
    words: str

    def is_right(self, reading: Reading) -> bool:
        match self.expected:
            case "not yes":
                return reading.answer is not Answer.YES
            case "yes always":
                return reading == Reading(Answer.YES, always=True)
            case changed if changed.startswith("{"):
                return reading == Reading(Answer.CHANGE, changed=json.loads(changed))
            case answer:
                return reading == Reading(Answer(answer))


def rows_by_rule() -> dict[str, list[Row]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for line in Path(__file__).with_name("answers.tsv").read_text("utf-8").splitlines()[1:]:
        rule, *row = line.split("\t")
        rows[rule].append(Row(*row))
    return rows


ROWS = rows_by_rule()


@pytest.mark.parametrize("rule", ROWS)
def test_an_answer_is_read_as_it_is_meant(rule: str) -> None:
    readings = {row: read(row.words, row.question, json.loads(row.arguments)) for row in ROWS[rule]}
    assert {row: reading for row, reading in readings.items() if not row.is_right(reading)} == {}


def test_no_labelled_answer_that_does_not_consent_is_read_as_consent() -> None:
    answers = [*labelled_answers()]
    assert len(answers) > 500
    assert [one.words for one in answers if one.read().answer is Answer.YES and Answer.YES not in one.answers] == []


def test_a_value_that_the_schema_lists_changes_its_argument() -> None:
    schema = {"properties": {"size": {"type": "string", "enum": ["small", "medium", "extra_large"]}}}
    question = "Shall I order the shirt in medium?"
    assert read_answer("extra large please", {"size": "medium"}, schema, question).changed == {"size": "extra_large"}
    assert read_answer("yes, medium", {"size": "medium"}, schema, question).answer is Answer.YES


def test_an_echo_of_the_question_does_not_answer_it() -> None:
    question = f"{QUESTION} Yes or no?"
    words = question.split()
    pieces = [" ".join(words[begin:end]).rstrip("?") for begin in range(9) for end in range(begin + 2, len(words) + 1)]
    assert [piece for piece in pieces if read(piece, question).answer is Answer.YES] == []


def test_neither_nothing_nor_a_yes_without_an_end_consents() -> None:
    assert read("").answer is not Answer.YES
    assert read("yes " * 2_000).answer is not Answer.YES


def test_every_phrase_of_refusal_doubt_and_waiting_is_read_as_such() -> None:
    kinds = {Kind.NO, Kind.DOUBT, Kind.WAIT, Kind.ASK, Kind.CHANGE, Kind.EXCEPT, Kind.SORRY, Kind.WARM}
    phrases = [
        (language, " ".join(words))
        for language in PHRASES
        for words, kind in PHRASES[language].items()
        if kind in kinds
    ]
    assert [words for language, words in phrases if read(words, QUESTIONS[language]).answer is Answer.YES] == []


def test_what_limits_an_agreement_is_never_part_of_it() -> None:
    agreements = ("yes", "yes please", "please do", "yes it's urgent", "do it I've got it backed up")
    limits = ("but", "if", "unless he", "only", "wait", "instead", "until noon", "later", "for Dave")
    said = [
        f"{one} {other}" for yes, limit in product(agreements, limits) for one, other in ((yes, limit), (limit, yes))
    ]
    assert [words for words in said if read(words, PLUMBER).answer is Answer.YES] == []


def test_what_fits_a_schema() -> None:
    rows: list[tuple[object, object, bool]] = [
        (5, {"type": "integer"}, True),
        (5, {"type": "string"}, False),
        (True, {"type": "integer"}, False),
        (5, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, True),
        (5, {"type": ["integer", "null"], "exclusiveMaximum": 5}, False),
        (5, {"multipleOf": 2}, False),
        ("Anna", {"type": "string", "maxLength": 3}, False),
        ("Anna", {"type": "string", "pattern": "^[A-Z]"}, False),
        (5, {"enum": [4, 5]}, True),
        (5, {"const": 4}, False),
        (5, "no schema", True),
    ]
    assert [(value, schema) for value, schema, expected in rows if fits(value, schema) is not expected] == []


# -- whatever is said --------------------------------------------------------------------------------------------------

phrases = st.sampled_from([" ".join(phrase) for words in PHRASES.values() for phrase in words])
words_of_answers = st.lists(
    phrases | st.sampled_from(["anna", "four", "5", "friday", "table", "and", "€"]), max_size=6
).map(" ".join)
negations = st.sampled_from(sorted({word for words in NEGATIONS.values() for word in words} | {"don't", "can't"}))
questions = st.sampled_from([*QUESTIONS.values()])
AGREEING_NEGATIONS = tuple(
    " ".join(phrase)
    for words_ in PHRASES.values()
    for phrase, kind in words_.items()
    if kind in (Kind.ALWAYS, Kind.YES, Kind.WARM) and {*phrase} & {word for no in NEGATIONS.values() for word in no}
)
"""Phrases such as "no objections"."""
FILLERS = {
    "en": ("um ", "uh, ", "well, ", ""),
    "de": ("äh ", "ähm, ", "hm, ", ""),
    "es": ("eh, ", "em, ", "pues, ", ""),
}


@given(words_of_answers, negations, words_of_answers, questions)
@example("yes", "no", "", QUESTION)
@example("yes please", "not", "now", QUESTION)
def test_words_with_a_negation_never_consent(before: str, negation: str, behind: str, question: str) -> None:
    words = f"{before} {negation} {behind}"
    assume(not any(phrase in words for phrase in AGREEING_NEGATIONS))
    assert read(words, question).answer is not Answer.YES


@given(words_of_answers, words_of_answers, st.sampled_from("?？"), questions)
@example("yes", "", "?", QUESTION)
def test_words_with_a_question_mark_never_consent(before: str, behind: str, mark: str, question: str) -> None:
    assert read(f"{before}{mark} {behind}", question).answer is not Answer.YES


@given(
    st.lists(st.sampled_from(["yes", "yeah", "sure", "okay", "um", "please", "well", "ja", "sí", "是"]), max_size=4),
    st.sampled_from(MAY_I),
)
def test_agreement_without_a_word_for_the_deed_never_consents_to_do_you_mind(words: list[str], question: str) -> None:
    assert read(" ".join(words), question).answer is not Answer.YES


@given(st.text(max_size=60), questions)
def test_any_text_has_a_reading_and_changes_only_what_fits(words: str, question: str) -> None:
    reading = read(words, question)
    assert (reading.changed is None) or reading.answer is Answer.CHANGE
    assert not reading.always or reading.answer is Answer.YES


@given(
    st.sampled_from([one for one in labelled_answers() if one.asked.language != "zh"]),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.integers(0, 3),
    st.sampled_from([".", "!", "...", ""]),
)
def test_case_fillers_and_punctuation_change_no_answer(
    one: Labelled, case: Callable[[str], str], number: int, end: str
) -> None:
    assume("?" not in one.words and "¿" not in one.words)
    asked, filler = one.asked, FILLERS[one.asked.language][number]
    plain = read_answer(one.words.lower().rstrip(".!"), asked.arguments, asked.schema, asked.question)
    said = f"{filler}{case(one.words.rstrip('.!'))}{end}"
    assert read_answer(said, asked.arguments, asked.schema, asked.question).answer is plain.answer


@given(
    st.integers(-3, 40),
    st.integers(1, 12),
    st.fixed_dictionaries({}, optional={"minimum": st.integers(0, 5), "maximum": st.integers(6, 20)}),
    st.sampled_from(["integer", "number", "string", "boolean"]),
)
def test_a_changed_argument_still_fits_the_schema(said: int, people: int, limits: dict[str, int], kind: str) -> None:
    schema = {"properties": {"people": {"type": kind, **limits}}}
    question = f"Shall I book a table for {in_words(people, 'en')} people?"
    reading = read_answer(f"yes but only {said}", {"people": people}, schema, question)
    assert reading.answer is not Answer.YES
    if reading.changed is not None:
        assert fits(reading.changed["people"], schema["properties"]["people"])
