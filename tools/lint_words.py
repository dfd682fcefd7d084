"""Say where old words, stilted phrases and long beginnings of docstrings stand.

Replaced words (docs/glossary.md) remain in CHANGELOG.md, which is not read, and with another meaning ("in front of").
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from tools.sources import nodes_of

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
"""What stands for an old word, in names as well."""
IN_PAGES = {**INSTEAD, "whoever": "who, or name the person"}
IN_PROSE = {**IN_PAGES, "null": "None"}
"""Of Python: in comments and docstrings."""
STILTED = re.compile(r"\b(?:somebody|nobody|whoever|(?:is|are) told|gone on with)\b", re.I)
"""What docstrings, comments and docs do not say: they name who does what."""
MOST_FIRST_WORDS = 12
"""Words of a docstring up to its first full stop, colon, semicolon or blank line."""
_MAY_BE_WRONG = re.compile(rf"{'|'.join(IN_PROSE)}|whoever|{STILTED.pattern}", re.I)
"""What a text without it has neither: taking one apart is slow."""
_OTHER_MEANING = re.compile(r"\bin front\b|\bin mind\b|\bmembers? of (?:the|a) union\b")
_OLD_CLASS = re.compile(r"^\s*class \w*Unheard\w*", re.M)
_CODE = re.compile(r"^```.*?^```|`[^`]*`", re.M | re.S)
_FIRST_ENDS = re.compile(r"[.:;](?=\s|$)|\n[ ]*\n")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
Found = Iterator[tuple[int, str]]
"""The line, and what is wrong there."""


def old_words(source: str, *, is_python: bool) -> Found:
    """Yield the old words of a text, in the singular."""
    in_page = ((number, line, IN_PAGES) for number, line in _lines(source))
    texts: Iterable[tuple[int, str, dict[str, str]]] = _python_texts(source) if is_python else in_page
    for number, text, instead in texts:
        for word in _words(text):
            old = word if word in instead else word.removesuffix("s")
            if old in instead:
                yield number, f"{old} -> {instead[old]}"


def stilted_phrases(source: str, *, is_python: bool) -> Found:
    """Yield the stilted phrases of comments, docstrings and pages, without examples of code."""
    if is_python:
        texts = [(number, text) for number, text, instead in _python_texts(source) if instead is IN_PROSE]
    else:
        texts = [*_lines(_CODE.sub(lambda found: "\n" * found[0].count("\n"), source))]
    for number, text in texts:
        for found in STILTED.finditer(text):
            yield number, found[0]


def long_beginnings(nodes: Iterable[ast.AST], *, most: int = MOST_FIRST_WORDS) -> Found:
    """Yield the docstrings that begin with more words: of modules, classes, functions, and those behind assignments."""
    for node in nodes:
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        documents = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for before, statement in zip([None, *body], body, strict=False):
            if (before is None and documents) or isinstance(before, ast.Assign | ast.AnnAssign):
                match statement:
                    case ast.Expr(value=ast.Constant(value=str() as text)):
                        words = _FIRST_ENDS.split(text.strip(), maxsplit=1)[0].split()
                        if len(words) > most:
                            yield statement.lineno, f"{len(words)} words, not {most} at most: {' '.join(words)}"


def complaints() -> Iterator[str]:
    """Yield what is wrong in the product and the documents, each with its place."""
    files = [*ROOT.glob("realtime/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]
    for path in sorted(files):
        source, is_python = path.read_text("utf-8"), path.suffix == ".py"
        found = []
        if _MAY_BE_WRONG.search(source):
            found = [*old_words(source, is_python=is_python), *stilted_phrases(source, is_python=is_python)]
        if is_python:
            found += long_beginnings(nodes_of(path))
            found += ((source.count("\n", 0, one.start()) + 1, "an old name") for one in _OLD_CLASS.finditer(source))
        for number, what in sorted(found):
            yield f"{path.relative_to(ROOT).as_posix()}:{number}: {what}"


def _lines(source: str) -> Iterator[tuple[int, str]]:
    return enumerate(source.splitlines(), 1)


@cache
def _words(text: str) -> list[str]:
    """The words of a line or a name, in small letters; most names occur many times."""
    return [word.lower() for word in _WORD.findall(_OTHER_MEANING.sub("", text))]


@lru_cache(maxsize=1)
def _python_texts(source: str) -> list[tuple[int, str, dict[str, str]]]:
    """Lines with a text to read and its old words: names, comments and docstrings."""
    texts: list[tuple[int, str, dict[str, str]]] = []
    begins_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            texts.append((token.start[0], token.string, INSTEAD))
        elif token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins_statement):
            lines = enumerate(token.string.splitlines(), token.start[0])
            texts += ((number, line, IN_PROSE) for number, line in lines)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return texts
