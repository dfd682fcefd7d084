"""`tools/lint_words.py`: what it finds where."""

import ast

from tools.lint_words import long_beginnings, old_words, stilted_phrases


def test_old_words_are_found_in_names_comments_and_docstrings() -> None:
    source = '"""A door.\n\nNull: none."""\nseats = TicketMaker  # whoever asks\nlog("the front")\nin_door = None\n'
    found = [(number, said.split()[0]) for number, said in old_words(source, is_python=True)]
    assert found == [(1, "door"), (3, "null"), (4, "seat"), (4, "ticket"), (4, "whoever"), (6, "door")]


def test_the_beginning_of_a_docstring_ends_at_its_first_break() -> None:
    source = '"""One two: three."""\nx = 1\n"""Four (v1.2)\nfive. Six."""\ndef f():\n    """Seven\n\n    Eight."""\n'
    found = [(line, said.partition(": ")[2]) for line, said in long_beginnings(ast.walk(ast.parse(source)), most=0)]
    assert found == [(1, "One two"), (3, "Four (v1.2) five"), (6, "Seven")]


def test_stilted_phrases_are_found_in_prose_only() -> None:
    code = '"""A client is\ntold; nobody."""\nx = "whoever"  # Are told.\nnobody = x\n'
    assert [*stilted_phrases(code, is_python=True)] == [(2, "nobody"), (3, "Are told")]
    page = "Nobody or `nobody`.\n```\nwhoever\n```\nIt is told.\n"
    assert [*stilted_phrases(page, is_python=False)] == [(1, "Nobody"), (5, "is told")]
