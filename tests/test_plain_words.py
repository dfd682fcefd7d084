"""Plain words: replaced words and stilted phrases stay out (docs/glossary.md); docstrings begin briefly.

Old words remain in CHANGELOG.md, which is not checked, in `ALLOWED` names on the wire, and with another meaning ("in
front of").
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
INSTEAD = {
    "conductor": "controller",
    "unsettled": "replay buffer",
    "ticket": "resume token",
    "seat": "human participant",
    "member": "agent participant",
    "door": "endpoint",
    "front": "endpoint",
    "mind": "language model",
}
IN_PROSE = {**INSTEAD, "whoever": "who, or name the person", "null": "None"}
ALLOWED: dict[str, tuple[str, ...]] = {}
"""Pieces of lines that may hold an old word, by path: names on the wire."""
_OTHER_MEANING = re.compile(r"\bin front\b|\bin mind\b|\bmembers? of (?:the|a) union\b")
STILTED = re.compile(r"\b(?:somebody|nobody|whoever|(?:is|are) told|gone on with)\b", re.I)
"""What docstrings, comments and docs do not say: they name who does what."""
MOST_FIRST_WORDS = 12
"""Words of a docstring up to its first full stop, colon, semicolon or blank line."""
_CODE = re.compile(r"^```.*?^```|`[^`]*`", re.M | re.S)
_FIRST_ENDS = re.compile(r"[.:;](?=\s|$)|\n[ ]*\n")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words_in(text: str, *, of: dict[str, str]) -> Iterator[str]:
    """Yield the old words in a text or a name, in the singular."""
    for word in map(str.lower, _WORD.findall(_OTHER_MEANING.sub("", text))):
        for old in (word, word.removesuffix("s")):
            if old in of:
                yield old
                break


def texts_of_python(source: str) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield lines with a text to check and its old words: names, comments and docstrings."""
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string, INSTEAD
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins_statement):
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                yield number, line, IN_PROSE
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def texts_of(path: Path) -> Iterator[tuple[int, str, dict[str, str]]]:
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from texts_of_python(source)
    else:
        for number, line in enumerate(source.splitlines(), 1):
            yield number, line, {**INSTEAD, "whoever": IN_PROSE["whoever"]}


def docstrings_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring: of modules, classes, functions, and those behind assignments."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        documents = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for before, statement in zip([None, *body], body, strict=False):
            if (before is None and documents) or isinstance(before, ast.Assign | ast.AnnAssign):
                match statement:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        yield statement.lineno, text.strip()


def first_words(docstring: str) -> list[str]:
    return _FIRST_ENDS.split(docstring, maxsplit=1)[0].split()


def stilted_phrases(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and words of each stilted phrase in a file, without examples of code in docs."""
    if path.suffix == ".py":
        texts = [(number, text) for number, text, of in texts_of_python(path.read_text("utf-8")) if of is IN_PROSE]
    else:
        prose = _CODE.sub(lambda found: "\n" * found[0].count("\n"), path.read_text("utf-8"))
        texts = list(enumerate(prose.splitlines(), 1))
    for number, text in texts:
        for found in STILTED.finditer(text):
            yield number, found[0]


def checked_files() -> list[str]:
    files = [*ROOT.glob("realtime/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]
    return sorted(file.relative_to(ROOT).as_posix() for file in files)


def test_old_words_are_found_in_names_comments_and_docstrings() -> None:
    source = '"""A door.\n\nNull: none."""\nseats = TicketMaker  # whoever asks\nlog("the front")\nin_door = None\n'
    found = [(number, old) for number, text, of in texts_of_python(source) for old in words_in(text, of=of)]
    assert found == [(1, "door"), (3, "null"), (4, "seat"), (4, "ticket"), (4, "whoever"), (6, "door")]


@pytest.mark.parametrize("name", checked_files())
def test_no_old_word_is_left(name: str) -> None:
    path = ROOT / name
    lines = path.read_text("utf-8").splitlines()
    found = [
        f"{name}:{number}: {old} -> {of[old]}: {lines[number - 1].strip()[:100]}"
        for number, text, of in texts_of(path)
        for old in words_in(text, of=of)
        if not any(piece in lines[number - 1] for piece in ALLOWED.get(name, ()))
    ]
    assert not found, "\n".join(found)


def test_no_class_of_unplayed_audio_has_its_old_name() -> None:
    pattern = re.compile(r"^\s*class \w*Unheard\w*", re.M)
    files = ROOT.glob("realtime/**/*.py")
    assert [file.name for file in files if pattern.search(file.read_text("utf-8"))] == []


def test_the_beginning_of_a_docstring_ends_at_its_first_break() -> None:
    source = '"""One two: three."""\nx = 1\n"""Four (v1.2)\nfive. Six."""\ndef f():\n    """Seven\n\n    Eight."""\n'
    assert [(line, first_words(text)) for line, text in docstrings_of(source)] == [
        (1, ["One", "two"]),
        (3, ["Four", "(v1.2)", "five"]),
        (6, ["Seven"]),
    ]


@pytest.mark.parametrize("name", [name for name in checked_files() if name.endswith(".py")])
def test_a_docstring_begins_with_twelve_words_at_most(name: str) -> None:
    docstrings = docstrings_of((ROOT / name).read_text("utf-8"))
    beginnings = [(line, first_words(text)) for line, text in docstrings]
    too_long = [
        f"{name}:{line}: {len(words)} words: {' '.join(words)}"
        for line, words in beginnings
        if len(words) > MOST_FIRST_WORDS
    ]
    assert not too_long, f"at most {MOST_FIRST_WORDS} words up to the first break:\n" + "\n".join(too_long)


def test_stilted_phrases_are_found_in_prose_only(tmp_path: Path) -> None:
    code = tmp_path / "a.py"
    code.write_text('"""A client is\ntold; nobody."""\nx = "whoever"  # Are told.\nnobody = x\n')
    assert list(stilted_phrases(code)) == [(2, "nobody"), (3, "Are told")]
    page = tmp_path / "a.md"
    page.write_text("Nobody or `nobody`.\n```\nwhoever\n```\nIt is told.\n")
    assert list(stilted_phrases(page)) == [(1, "Nobody"), (5, "is told")]


@pytest.mark.parametrize("name", checked_files())
def test_no_stilted_phrase_is_left(name: str) -> None:
    found = [f"{name}:{number}: {words}" for number, words in stilted_phrases(ROOT / name)]
    assert not found, "\n".join(found)
