"""What a docstring tells about a tool, in the three forms people write."""

from realtime.tool.docstring import parse_docstring
from tests.tables import WORDS


def test_description_and_parameters_are_found() -> None:
    for text in ("google", "numpy", "rest"):
        assert parse_docstring((WORDS / "docstrings" / f"{text}.txt").read_text(encoding="utf-8")) == (
            "Look up the weather.\n\nGood for today and tomorrow.",
            {"city": "The city's name, in English.", "days": "How many days: one or two.", "unit": "The unit."},
        )


def test_without_parameters_there_is_only_the_description() -> None:
    descriptions = {
        "": "",
        "One line.": "One line.",
        "Say hello.\n\nNote: politely.": "Say hello.\n\nNote: politely.",
        "Say hello.\n\nReturns:\n    The greeting.": "Say hello.",
        "Say hello.\n\n:returns: the greeting": "Say hello.",
    }
    assert {text: parse_docstring(text) for text in descriptions} == {
        text: (description, {}) for text, description in descriptions.items()
    }


def test_names_that_share_an_entry_share_its_text_and_a_section_of_examples_is_no_parameter() -> None:
    text = "Add.\n\nParameters\n----------\na, b : float\n    A summand."
    assert parse_docstring(text)[1] == {"a": "A summand.", "b": "A summand."}
    text = "Add.\n\nArgs:\n    a: A summand.\n\nExamples:\n    b: not one"
    assert parse_docstring(text) == ("Add.", {"a": "A summand."})
