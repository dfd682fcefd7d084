"""Text into passages: sentences, which are read aloud, and code between ``` fences, which is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from realtime.model.local.sentences import SentenceSplitter

CODE_ALOUD = "I have written the code down."
"""What is said in the place of code. Something is: the words around it would else make no sense, and each piece of a
transcript belongs to the sound that follows it."""

_FENCE = re.compile("`{3,}")
_FENCE_BEGINS = re.compile("`+$")
_BLANKS = " \t\r"
_LINE_ENDS = rf"(?=[{_BLANKS}]*(?:\n|\Z))"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an answer: its `text` is shown and kept, `aloud` is what is said for it."""

    text: str
    aloud: str


class PassageSplitter:
    """Cuts streamed text: any division into deltas gives the same passages as the whole text at once.

    Three backticks or more begin code. As many end it: in the same line, or at the end of a later one, since code may
    hold backticks of its own. Code that is never ended reaches to the end of the text.
    """

    def __init__(self) -> None:
        self._sentences = SentenceSplitter()
        self._rest = ""
        self._fence = ""
        self._code: list[str] = []
        """What is sure to be code, behind the fence."""
        self._ends: re.Pattern[str] | None = None
        """What ends it, once its first line tells."""

    def push(self, delta: str) -> list[Passage]:
        """Take more text and give the passages that are now complete."""
        self._rest += delta
        return [*self._cut(ended=False)]

    def finish(self) -> list[Passage]:
        """The text has ended: what is left is a passage. The splitter is as new afterwards."""
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
        """Where in the rest the code ends that has begun; None where that is not known yet."""
        if self._ends is None:
            line, newline, _ = self._rest.partition("\n")
            if not (newline or "`" in line):
                return None
            self._ends = re.compile(f"`{{{len(self._fence)},}}{'' if '`' in line else _LINE_ENDS}")
        found = self._ends.search(self._rest)
        if found is not None and (ended or self._rest[found.end() :].strip(_BLANKS)):
            return found.end()
        # Only backticks at the end may still end it. What stands before them is not searched again.
        sure = len(self._rest.rstrip(_BLANKS).rstrip("`"))
        self._code.append(self._rest[:sure])
        self._rest = self._rest[sure:]
        return None

    def _take_code(self, end: int) -> str:
        """The code with its fence, up to this place in the rest."""
        code = "".join((self._fence, *self._code, self._rest[:end]))
        self._fence, self._code, self._ends, self._rest = "", [], None, self._rest[end:]
        return code


def _said(sentence: str) -> Passage:
    return Passage(sentence, sentence)


def _shown(text: str) -> Passage:
    return Passage(text, CODE_ALOUD)
