"""One word for one thing: the words that this project has replaced stay out of code and docs (docs/glossary.md).

Old words remain in CHANGELOG.md, which is not checked, in `ALLOWED` names on the wire, and with another meaning (the
option `--front`, "in front of").
"""

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
_OTHER_MEANING = re.compile(r"--front\b|\bin front\b|\bin mind\b|\bmembers? of (?:the|a) union\b")
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
