"""Other projects' messages and events: `load` reads them, `dump` writes them.

Names are loaded on first use; the table of a dialect when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.interop.frame import dump as dump
    from realtime.interop.frame import load as load
    from realtime.interop.tables import DIALECTS as DIALECTS

_WHERE = {
    "DIALECTS": "realtime.interop.tables",
    "dump": "realtime.interop.frame",
    "load": "realtime.interop.frame",
}
__all__ = [*_WHERE]
__getattr__ = on_first_use(__name__, _WHERE)
