"""The tables of all dialects, each loaded on first use."""

from __future__ import annotations

from importlib import import_module

from realtime.interop.table import Dialect

_WHERE = {
    "agentscope1": "realtime.interop.agentscope1",
    "java1": "realtime.interop.java1",
    "java2": "realtime.interop.java2",
    "agentflow": "realtime.interop.agentflow",
}
DIALECTS = tuple(_WHERE)
"""The names of the dialects, for `load` and `dump`."""


def table_of(dialect: str) -> Dialect:
    """Return the table of a dialect: the TABLE of its module. Raises ValueError for an unknown name."""
    if dialect not in _WHERE:
        raise ValueError(f"unknown dialect {str(dialect)[:64]!r}: one of {', '.join(DIALECTS)}")
    table: Dialect = import_module(_WHERE[dialect]).TABLE
    return table
