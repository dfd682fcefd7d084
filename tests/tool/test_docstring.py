"""What a docstring tells about a tool, in the three forms people write."""

import pytest

from realtime.tool.docstring import parse_docstring

GOOGLE = """Look up the weather.

    Good for today and tomorrow.

    Args:
        city (`str`):
            The city's name,
            in English.
        days (int, *optional*): How many days: one or two.
        unit: The unit.

    Returns:
        str: not: for the model
    """

NUMPY = """Look up the weather.

    Good for today and tomorrow.

    Parameters
    ----------
    city : str
        The city's name,
        in English.
    days : int, default: 1
        How many days: one or two.
    unit
        The unit.

    Returns
    -------
    str
        Not for the model.
    """

REST = """Look up the weather.

    Good for today and tomorrow.

    :param city: The city's name,
        in English.
    :type city: str
    :param int days: How many days: one or two.
    :param unit: The unit.
    :returns: Not for the model.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_description_and_parameters_are_found(text: str) -> None:
    assert parse_docstring(text) == (
        "Look up the weather.\n\nGood for today and tomorrow.",
        {"city": "The city's name, in English.", "days": "How many days: one or two.", "unit": "The unit."},
    )


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("Say hello.\n\nNote: politely.", "Say hello.\n\nNote: politely."),
        ("Say hello.\n\nReturns:\n    The greeting.", "Say hello."),
        ("Say hello.\n\n:returns: the greeting", "Say hello."),
    ],
)
def test_without_parameters_there_is_only_the_description(text: str, description: str) -> None:
    assert parse_docstring(text) == (description, {})


def test_names_that_share_a_numpy_entry_share_its_text() -> None:
    text = "Add.\n\nParameters\n----------\na, b : float\n    A summand."
    assert parse_docstring(text)[1] == {"a": "A summand.", "b": "A summand."}


def test_a_section_of_examples_is_no_parameter() -> None:
    text = "Add.\n\nArgs:\n    a: A summand.\n\nExamples:\n    b: not one"
    assert parse_docstring(text) == ("Add.", {"a": "A summand."})
