"""Split text into passages: sentences to read aloud, and code between fences to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from realtime.model.local.sentences import SentenceSplitter

CODE_ALOUD = "I have written the code down."
"""Spoken in place of code: else the words around it would make no sense, and each piece of a transcript needs the sound
that follows it."""

_FENCE = re.compile("`{3,}|~{3,}")
_FENCE_BEGINS = re.compile("(?:(?<!`)`+|(?<!~)~+)$")
_BLANKS = " \t\r"
_LINE_ENDS = rf"(?=[{_BLANKS}]*(?:\n|\Z))"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a response: `text` is shown and kept, `aloud` is spoken."""

    text: str
    aloud: str


class PassageSplitter:
    """Cuts streamed text into passages, the same for any division into deltas.

    Three backticks or tildes, or more, begin code. As many end it: in the same line, or at the end of a later one,
    since code may contain them. Unclosed code reaches to the end of the text.
    """

    def __init__(self) -> None:
        self._sentences = SentenceSplitter()
        self._rest = ""
        self._fence = ""
        self._code: list[str] = []
        """The known code behind the fence."""
        self._ends: re.Pattern[str] | None = None
        """Matches the end of the code; None before its first line is complete."""

    def push(self, delta: str) -> list[Passage]:
        """Add text; returns the passages that are now complete."""
        self._rest += delta
        return [*self._cut(ended=False)]

    def finish(self) -> list[Passage]:
        """End the text; returns the remaining passages and resets the splitter."""
        passages = [*self._cut(ended=True)]
        if self._fence:
            passages.append(_shown(self._take_code(len(self._rest)).rstrip()))
        self._rest = ""
        return [*passages, *map(_said, self._sentences.finish())]

    def _cut(self, *, ended: bool) -> Iterator[Passage]:
        while True:
            if self._fence:
                end = self._code_end(ended=ended)
                if end is None:
                    return
                yield _shown(self._take_code(end))
            found = _FENCE.search(self._rest)
            if found is None or (found.end() == len(self._rest) and not ended):
                # Backticks at the end may become a fence, or a longer one.
                begun = None if ended else _FENCE_BEGINS.search(self._rest)
                sure = len(self._rest) if begun is None else begun.start()
                yield from map(_said, self._sentences.push(self._rest[:sure]))
                self._rest = self._rest[sure:]
                return
            yield from map(_said, self._sentences.push(self._rest[: found.start()]))
            yield from map(_said, self._sentences.finish())
            self._fence, self._rest = found.group(), self._rest[found.end() :]

    def _code_end(self, *, ended: bool) -> int | None:
        """Return where the open code ends in the rest; None if that is not known yet."""
        if self._ends is None:
            line, newline, _ = self._rest.partition("\n")
            mark = self._fence[0]
            if not (newline or mark in line):
                return None
            self._ends = re.compile(f"{mark}{{{len(self._fence)},}}{'' if mark in line else _LINE_ENDS}")
        found = self._ends.search(self._rest)
        if found is not None and (ended or self._rest[found.end() :].strip(_BLANKS)):
            return found.end()
        # Only its marks at the end may still end it; the text before them is not searched again.
        sure = len(self._rest.rstrip(_BLANKS).rstrip(self._fence[0]))
        self._code.append(self._rest[:sure])
        self._rest = self._rest[sure:]
        return None

    def _take_code(self, end: int) -> str:
        """Return the code with its fence, up to this place in it."""
        code = "".join((self._fence, *self._code, self._rest[:end]))
        self._fence, self._code, self._ends, self._rest = "", [], None, self._rest[end:]
        return code


def _said(sentence: str) -> Passage:
    return Passage(sentence, sentence)


def _shown(text: str) -> Passage:
    return Passage(text, CODE_ALOUD)
