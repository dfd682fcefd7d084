"""Which part of a file a request asks for."""

import pytest

from realtime.server.byte_ranges import UnsatisfiableRangeError, byte_range

RANGES: dict[str | None, tuple[int, int] | None] = {
    "bytes=0-9": (0, 10),
    "bytes=90-": (90, 100),
    "bytes=90-500": (90, 100),
    "bytes=-10": (90, 100),
    "bytes=-500": (0, 50),
    "bytes=0-": (0, 50),
    "Bytes=20-20": (20, 21),
} | dict.fromkeys((None, "", "bytes=-", "bytes=5-2", "bytes=0-1,5-6", "items=0-5", "bytes=1e3-"))


def test_a_range_is_read_and_bounded_and_one_behind_the_end_cannot_be_had() -> None:
    assert {header: byte_range(header, 100, 50) for header in RANGES} == RANGES
    for header in ("bytes=100-", "bytes=100-200", "bytes=-0"):
        with pytest.raises(UnsatisfiableRangeError):
            byte_range(header, 100, 50)
