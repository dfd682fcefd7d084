"""Who is in a room, and where a text has their names. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["human", "agent"]
JOINERS = frozenset("\u200c\u200d" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Seen only in what they do to their neighbours: zero-width (non-)joiners, as Persian writes them, and the selectors of
emoji. Part of a name, but nothing that tells two apart."""
_WITHOUT_JOINERS = dict.fromkeys(map(ord, JOINERS))


@dataclass(frozen=True, slots=True)
class Participant:
    """A human or an agent in a room.

    `away`: its model, or its socket, is lost; `muted`: not heard; `silent`: an agent that speaks only if it is called.
    """

    id: str
    name: str
    kind: Kind
    away: bool = False
    muted: bool = False
    silent: bool = False


def named_in(
    text: str, participants: tuple[Participant, ...], *, besides: tuple[Participant, ...] = ()
) -> Participant | None:
    """Which of `participants` is named first in the text.

    Case and the way in which letters are composed do not count, nor accents where no name has them: speech recognisers
    write few.

    A name is a word of its own; where a language is written without spaces, it may stand within others. Where two names
    begin at one place the longer one is meant: `Anna Lee` is not taken for `Anna`. `besides` are the others in the
    room, so that a call for `Anna 2`, who is none of `participants`, is none for `Anna`.
    """
    for written in (folded, without_accents):
        said = written(text)
        # Where two begin at one place, the longer comes first.
        found = sorted(
            (start, -length, place)
            for place, one in enumerate((*participants, *besides))
            for start, length in places(said, written(one.name))
        )
        taken = 0
        for start, minus_length, place in found:
            if start < taken:
                continue
            if place < len(participants):
                return participants[place]
            taken = start - minus_length
        if found:
            break
    return None


_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Korean: what follows a name is written together with it
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x9FFF),  # Chinese, Japanese
    (0xA000, 0xA4CF),  # Yi
    (0xAC00, 0xD7FF),  # Korean
    (0xF900, 0xFAFF),  # Chinese
    (0x20000, 0x3FFFF),  # Chinese
)
"""Scripts whose words end without a space or other sign."""


_ACCENTS = re.compile("[\u0300-\u036f]")


def folded(text: str) -> str:
    """The text as it is compared: one form of all those that a reader takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.translate(_WITHOUT_JOINERS)).casefold())


def without_accents(text: str) -> str:
    """The same without the marks on Latin, Greek and Cyrillic letters; elsewhere marks make other words."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded(text))))


def places(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Begin and length of the name as a separate word in `text`."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if _is_border(text, at) and _is_border(text, end):
            yield at, len(name)
        at = text.find(name, at + 1)


def _is_border(text: str, at: int) -> bool:
    """Whether a word may begin or end before this character."""
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M"):
        return False  # it belongs to the letter before it
    return not (is_word(before) and is_word(after)) or is_unspaced(before) or is_unspaced(after)


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def is_unspaced(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _WITHOUT_SPACES)
