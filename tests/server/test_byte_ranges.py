"""Which part of a file a request asks for."""

import pytest

from realtime.server.byte_ranges import UnsatisfiableRangeError, byte_range


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-9", (0, 10)),
        ("bytes=90-", (90, 100)),
        ("bytes=90-500", (90, 100)),
        ("bytes=-10", (90, 100)),
        ("bytes=-500", (0, 50)),
        ("bytes=0-", (0, 50)),
        ("Bytes=20-20", (20, 21)),
        (None, None),
        ("", None),
        ("bytes=-", None),
        ("bytes=5-2", None),
        ("bytes=0-1,5-6", None),
        ("items=0-5", None),
        ("bytes=1e3-", None),
    ],
)
def test_a_range_is_read_and_bounded(header: str | None, part: tuple[int, int] | None) -> None:
    assert byte_range(header, 100, 50) == part


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_a_range_behind_the_end_cannot_be_had(header: str) -> None:
    with pytest.raises(UnsatisfiableRangeError):
        byte_range(header, 100, 50)
