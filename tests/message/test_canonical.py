"""Canonical JSON: the examples of RFC 8785, what it refuses, and that it is JSON."""

import json
import struct
from pathlib import Path
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


def test_numbers_are_printed_as_javascript_does() -> None:
    """The samples of RFC 8785, appendix B."""
    lines = Path(__file__).with_name("numbers.tsv").read_text(encoding="utf-8").splitlines()[1:]
    printed = dict(line.split("\t") for line in lines)
    assert len(printed) == 20
    values = {bits: struct.unpack(">d", bytes.fromhex(bits))[0] for bits in printed}
    assert {bits: canonical_json(value).decode() for bits, value in values.items()} == printed
    assert canonical_json(2**53 + 1) == b"9007199254740992", "integers beyond the exact ones are those of JavaScript"
    assert canonical_json(10**21) == b"1e+21"


def test_a_document_is_written_as_in_the_rfc_with_its_keys_sorted_by_their_utf_16_units() -> None:
    """RFC 8785, 3.2.2 and 3.2.3: a sign beyond the basic plane stands before U+FB33."""
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }
    assert canonical_json(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = json.loads(canonical_json(dict.fromkeys(keys, 0)))
    assert [*written] == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_what_has_no_canonical_form_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    others = (float("nan"), float("-inf"), 10**400, "\ud83d", {"\ud83d": 1}, {1: 2}, {1, 2}, b"bytes", object())
    for value in others:
        with pytest.raises(ValueError, match=r".+"):
            canonical_json(value)
    with pytest.raises(ValueError, match="nested too deeply"):
        canonical_json(endless)


@given(VALUES)
def test_what_is_written_reads_back_as_the_same(value: Any) -> None:
    written = canonical_json(value)
    # JavaScript has doubles only.
    assert json.loads(written, parse_int=float) == value
    assert canonical_json(json.loads(written)) == written
