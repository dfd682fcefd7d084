"""What somebody in a room may be called: a name is shown to people, spoken to, and written before lines of talk."""

from __future__ import annotations

import unicodedata

from realtime.errors import ClientError
from realtime.floor import JOINERS

MAX_NAME_CHARS = 64
_UNSEEN = frozenset(
    "\N{COMBINING GRAPHEME JOINER}\N{HANGUL CHOSEONG FILLER}\N{HANGUL JUNGSEONG FILLER}\N{BRAILLE PATTERN BLANK}"
    "\N{KHMER VOWEL INHERENT AQ}\N{KHMER VOWEL INHERENT AA}"
    # Selectors of scripts that are written without them too.
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xE0100, 0xE01F0))))
)
"""Characters that show nothing though they are letters, marks or symbols (after NFKC)."""


def settled_name(name: str) -> str:
    """The name as everybody sees it: NFKC, with single spaces.

    Raises ClientError (`invalid_name`) for one that is empty, too long, holds what cannot be seen, or could be taken
    for the beginning of a line of talk.
    """
    if len(name) <= MAX_NAME_CHARS * 4:
        settled = " ".join(unicodedata.normalize("NFKC", name).split())
        is_seen = all(one in JOINERS or one == " " or (one.isprintable() and one not in _UNSEEN) for one in settled)
        has_body = any(unicodedata.category(one)[0] in "LNPS" for one in settled)
        if len(settled) <= MAX_NAME_CHARS and is_seen and has_body and not set(settled) & set("[]"):
            return settled
    raise ClientError(
        f"a name has 1 to {MAX_NAME_CHARS} characters that can be seen, without [ and ]", code="invalid_name"
    )
