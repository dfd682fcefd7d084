"""Canonical JSON: the examples of RFC 8785, what it refuses, and that it is JSON."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import canonical_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_printed_as_javascript_does(bits: str, text: str) -> None:
    """The samples of RFC 8785, appendix B."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value) == text.encode()


def test_a_document_is_written_as_in_the_rfc() -> None:
    """RFC 8785, 3.2.2 and 3.2.3."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert canonical_json(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_sorted_by_their_utf_16_units() -> None:
    """RFC 8785, 3.2.3: a sign beyond the basic plane stands before U+FB33."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = json.loads(
        canonical_json(dict.fromkeys(keys, 0)), object_pairs_hook=lambda pairs: [key for key, _ in pairs]
    )
    assert written == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_integers_beyond_the_exact_ones_are_those_of_javascript() -> None:
    assert canonical_json(2**53 + 1) == b"9007199254740992"
    assert canonical_json(10**21) == b"1e+21"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("-inf"), 10**400, "\ud83d", {"\ud83d": 1}, {1: 2}, {1, 2}, b"bytes", object()],
    ids=["nan", "infinity", "huge", "half-pair", "half-pair-key", "number-key", "set", "bytes", "object"],
)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        canonical_json(value)


def test_nesting_without_end_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        canonical_json(value)


@pytest.mark.long
@given(VALUES)
def test_what_is_written_reads_back_as_the_same(value: Any) -> None:
    written = canonical_json(value)
    # JavaScript has doubles only.
    assert json.loads(written, parse_int=float) == value
    assert canonical_json(json.loads(written)) == written
