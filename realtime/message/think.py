"""Separates a model's thinking between `<think>` and `</think>` from its speech.

Pure and incremental: the result does not depend on how the text is cut into pieces.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

_OPEN = "<think>"
_CLOSE = "</think>"


class Piece(NamedTuple):
    """The next characters of a model's thinking or speech."""

    kind: Literal["thinking", "text"]
    text: str


class ThinkParser:
    """Takes a model's output piece by piece.

    A tag that is never closed holds to the end. Tags inside the thinking belong to it, each with its own end. An end
    without a beginning is dropped. `starts_inside`: for models whose prompt has already opened the tag.
    """

    def __init__(self, *, starts_inside: bool = False) -> None:
        self._depth = int(starts_inside)
        self._kept = ""

    def push(self, delta: str) -> list[Piece]:
        """Return what is certain after `delta`. Keeps back a possible tag, at most 7 characters."""
        return self._parse(self._kept + delta, is_whole=False)

    def finish(self) -> list[Piece]:
        """Return what was kept back: the output ends here."""
        return self._parse(self._kept, is_whole=True)

    def _parse(self, text: str, *, is_whole: bool) -> list[Piece]:
        pieces: list[Piece] = []
        place = 0
        while (at := text.find("<", place)) >= 0:
            tag = next((tag for tag in (_OPEN, _CLOSE) if text.startswith(tag, at)), None)
            if tag is None:
                if not is_whole and any(one.startswith(text[at:]) for one in (_OPEN, _CLOSE)):
                    break
                self._put(pieces, text[place : at + 1])
                place = at + 1
                continue
            self._put(pieces, text[place:at])
            place = at + len(tag)
            self._take_tag(pieces, tag)
        if at < 0:
            self._put(pieces, text[place:])
            self._kept = ""
        else:
            self._put(pieces, text[place:at])
            self._kept = text[at:]
        return pieces

    def _take_tag(self, pieces: list[Piece], tag: str) -> None:
        if tag == _OPEN:
            if self._depth:
                self._put(pieces, tag)
            self._depth += 1
        elif self._depth:
            self._depth -= 1
            if self._depth:
                self._put(pieces, tag)

    def _put(self, pieces: list[Piece], text: str) -> None:
        if not text:
            return
        kind: Literal["thinking", "text"] = "thinking" if self._depth else "text"
        if pieces and pieces[-1].kind == kind:
            pieces[-1] = Piece(kind, pieces[-1].text + text)
        else:
            pieces.append(Piece(kind, text))
