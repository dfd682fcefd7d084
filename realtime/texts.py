"""Texts as files and databases have them: those of people, whatever editor wrote them, and what UTF-8 can hold."""

from __future__ import annotations

import codecs
from contextlib import suppress

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The byte order marks, a longer one before what it begins with."""


def as_utf8(data: bytes) -> bytes:
    """Return a text file in UTF-8, without a byte order mark.

    Editors also write UTF-16, and Windows-1252 where a text is not UTF-8. Raises ValueError for what is no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and data != mark:
            data = data[len(mark) :]
            if mark != codecs.BOM_UTF8:
                return data.decode(encoding).encode("utf-8", "surrogatepass")
            break
    if b"\0" in data[:4]:
        return data.decode("utf-16-be" if data[:1] == b"\0" else "utf-16-le").encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise ValueError("it is no text")
    with suppress(UnicodeDecodeError):
        data.decode("utf-8", "surrogatepass")
        return data
    mended = data.decode("utf-8", "replace")
    if sum(not one.isascii() for one in mended) > 2 * mended.count("\N{REPLACEMENT CHARACTER}"):
        return mended.encode()  # mostly UTF-8, with a byte that is none: that byte alone is lost
    with suppress(UnicodeDecodeError):
        return data.decode("cp1252").encode()
    return data.decode("latin-1").encode()


def fits_utf8(text: str) -> bool:
    """Whether UTF-8 can hold a text: half a surrogate pair it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
