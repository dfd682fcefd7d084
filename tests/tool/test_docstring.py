"""What a docstring tells about a tool, in the three forms people write."""

from dataclasses import dataclass
from typing import Any

import pytest

from realtime.tool import Toolkit
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


class Called:
    def __call__(self, city: str) -> None:
        """Tell the weather.

        Args:
            city: The town.
        """


class Both(Called):
    """A client of the weather service."""

    __call__ = Called.__call__


class OfClass:
    """Tell the weather.

    Args:
        city: The town.
    """

    def __call__(self, city: str) -> None: ...


@dataclass
class Data(Called):
    key: str = ""


class Made:
    """Tell the weather."""

    def __init__(self, city: str) -> None:
        """Look out.

        Args:
            city: The town.
        """


@pytest.mark.parametrize("tool", [Called(), Both(), OfClass(), Data(), Made], ids=lambda one: str(type(one).__name__))
def test_an_object_is_described_where_its_programmer_does_it(tool: Any) -> None:
    toolkit = Toolkit()
    toolkit.register(tool, name="weather")
    (schema,) = toolkit.json_schemas
    assert schema["function"]["description"] == "Tell the weather."
    assert schema["function"]["parameters"]["properties"] == {"city": {"type": "string", "description": "The town."}}


def test_a_dataclass_without_docstring_says_nothing() -> None:
    @dataclass
    class Quiet:
        key: str = ""

        def __call__(self) -> None: ...

    toolkit = Toolkit()
    toolkit.register(Quiet())
    assert "description" not in toolkit.json_schemas[0]["function"]
