"""Other projects' messages and events: `load` reads them, `dump` writes them.

Names are loaded on first use; the table of a dialect when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.interop.calls import items_of as items_of
    from realtime.interop.events import dump_events as dump_events
    from realtime.interop.events import load_events as load_events
    from realtime.interop.frame import dump as dump
    from realtime.interop.frame import load as load
    from realtime.interop.tables import DIALECTS as DIALECTS

_WHERE = {
    "DIALECTS": "realtime.interop.tables",
    "dump": "realtime.interop.frame",
    "dump_events": "realtime.interop.events",
    "items_of": "realtime.interop.calls",
    "load": "realtime.interop.frame",
    "load_events": "realtime.interop.events",
}
__all__ = [*_WHERE]
__getattr__ = on_first_use(__name__, _WHERE)
