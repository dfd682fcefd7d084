"""Names of participants: they are shown to people, spoken to, and written before lines of talk.

A reader cannot tell apart names that look alike, so they are compared by how they look.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable

from realtime.errors import ClientError
from realtime.room.participant import JOINERS

MAX_NAME_CHARS = 64
RESERVED = ("System",)
"""Names that no participant may have or seem to have: models and pages speak in them."""
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
"""Marks over, under and through letters. Those of other scripts are letters of their own."""
_ALIKE = {"rn": "m", "vv": "w", "\u2cb1": "w", "\u01ab": "t", "\u07cb": "o"}
"""What looks alike and has two keys in `disarm`: letters that run together, and some that its tables lack."""
_UNSEEN = frozenset(
    "\N{COMBINING GRAPHEME JOINER}\N{HANGUL CHOSEONG FILLER}\N{HANGUL JUNGSEONG FILLER}\N{BRAILLE PATTERN BLANK}"
    "\N{KHMER VOWEL INHERENT AQ}\N{KHMER VOWEL INHERENT AA}"
    # Selectors of scripts that are written without them too.
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xE0100, 0xE01F0))))
)
"""Invisible characters that are letters, marks or symbols (after NFKC)."""


def settled_name(name: str) -> str:
    """The name as everyone sees it: NFKC, with single spaces.

    Raises ClientError (`invalid_name`) for one that is empty, too long, holds what cannot be seen, or could be taken
    for the beginning of a line of talk, and for one that looks like a reserved one.
    """
    if len(name) <= MAX_NAME_CHARS * 4:
        settled = " ".join(unicodedata.normalize("NFKC", name).split())
        is_seen = all(one in JOINERS or one == " " or (one.isprintable() and one not in _UNSEEN) for one in settled)
        has_body = any(unicodedata.category(one)[0] in "LNPS" for one in settled)
        if len(settled) <= MAX_NAME_CHARS and is_seen and has_body and not set(settled) & set("[]"):
            for reserved in RESERVED:
                if look_alike(settled, reserved):
                    raise ClientError(f"nobody can be called {settled!r}: it reads as {reserved}", code="invalid_name")
            return settled
    raise ClientError(
        f"a name has 1 to {MAX_NAME_CHARS} characters that can be seen, without [ and ]", code="invalid_name"
    )


@functools.cache
def load_names() -> Callable[..., str]:
    """Load the tables of look-alikes: 40 ms and 7 MB, which a server without rooms is spared.

    A server calls it in a thread before a room needs them.
    """
    from disarm import skeleton_key

    return skeleton_key


def look_alike(name: str, other: str) -> bool:
    """Whether a reader may take one name for the other."""
    return not _looks(name).isdisjoint(_looks(other))


def _looks(name: str) -> set[str]:
    """How it looks as it is written, and in small letters: a capital I looks like an l, an i does not."""
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", name)))
    return {_look(bare), _look(bare.casefold())}


def _look(name: str) -> str:
    look = load_names()(name, digit_policy="tr39")
    # Dots and spaces do not make names different, unless there is nothing else.
    look = "".join(one for one in look if unicodedata.category(one)[0] not in "PZ") or look
    for seen, read in _ALIKE.items():
        look = look.replace(seen, read)
    return look
