"""Reads `Range` headers (RFC 9110, section 14). Pure."""

from __future__ import annotations

import re

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.IGNORECASE)


class UnsatisfiableRangeError(Exception):
    """The range begins behind the end of the file: the answer is 416."""


def byte_range(header: str | None, n_bytes: int, most_bytes: int) -> tuple[int, int] | None:
    """Return the first byte of a `Range` header, and its end.

    These are at most `most_bytes`. None: the whole file, as without the header, with one of another unit, and with
    several ranges. Raises UnsatisfiableRangeError.
    """
    found = _RANGE.fullmatch((header or "").strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, stop = max(0, n_bytes - int(found[2])), n_bytes
    else:
        start, stop = int(found[1]), int(found[2]) + 1 if found[2] else n_bytes
    if stop <= start and found[1] and start < n_bytes:
        return None  # such as bytes=5-2: not valid, so ignored
    stop = min(stop, n_bytes, start + most_bytes)
    if start >= stop:
        raise UnsatisfiableRangeError
    return start, stop
