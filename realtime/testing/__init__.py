"""Test kit for voice agents: recorded test cases, scripted users, virtual time, checks, reports.

Public names are loaded on first use: importing the package loads nothing else. The pytest plugin is
`realtime.testing.plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from realtime.lazy import on_first_use

if TYPE_CHECKING:
    from realtime.testing.call import play as play
    from realtime.testing.call import voice_call as voice_call
    from realtime.testing.cases.case import Case as Case
    from realtime.testing.cases.case import Person as Person
    from realtime.testing.cases.case import Returned as Returned
    from realtime.testing.cases.case import load_case as load_case
    from realtime.testing.cases.expected import Expected as Expected
    from realtime.testing.cases.stand_in import StandIn as StandIn
    from realtime.testing.cassettes.record import RecordingModel as RecordingModel
    from realtime.testing.cassettes.replay import recorded_model as recorded_model
    from realtime.testing.check.floor import RoomRun as RoomRun
    from realtime.testing.check.run import Run as Run
    from realtime.testing.client.steps import BargeIn as BargeIn
    from realtime.testing.client.steps import Drop as Drop
    from realtime.testing.client.steps import Leave as Leave
    from realtime.testing.client.steps import Loudspeaker as Loudspeaker
    from realtime.testing.client.steps import Network as Network
    from realtime.testing.client.steps import Send as Send
    from realtime.testing.client.steps import Silence as Silence
    from realtime.testing.client.steps import Speak as Speak
    from realtime.testing.client.steps import Type as Type
    from realtime.testing.client.steps import WaitFor as WaitFor
    from realtime.testing.client.steps import WaitUntilHeard as WaitUntilHeard
    from realtime.testing.clock import DeadlockError as DeadlockError
    from realtime.testing.clock import VirtualLoop as VirtualLoop
    from realtime.testing.clock import real_work as real_work
    from realtime.testing.declared_work import in_real_work as in_real_work
    from realtime.testing.errors import CaseError as CaseError
    from realtime.testing.errors import ScriptFailure as ScriptFailure
    from realtime.testing.guard import Guard as Guard
    from realtime.testing.guard import UndeclaredRealityError as UndeclaredRealityError
    from realtime.testing.record import CallRecord as CallRecord
    from realtime.testing.report import RunOutcome as RunOutcome
    from realtime.testing.report import write_report as write_report
    from realtime.testing.room import voice_room as voice_room

_NAMES = {
    "call": ("play", "voice_call"),
    "cases.case": ("Case", "Person", "Returned", "load_case"),
    "cases.expected": ("Expected",),
    "cassettes.record": ("RecordingModel",),
    "cassettes.replay": ("recorded_model",),
    "check.run": ("Run",),
    "clock": ("DeadlockError", "VirtualLoop", "real_work"),
    "declared_work": ("in_real_work",),
    "errors": ("CaseError", "ScriptFailure"),
    "check.floor": ("RoomRun",),
    "guard": ("Guard", "UndeclaredRealityError"),
    "record": ("CallRecord",),
    "report": ("RunOutcome", "write_report"),
    "room": ("voice_room",),
    "cases.stand_in": ("StandIn",),
    "client.steps": (
        "BargeIn",
        "Drop",
        "Leave",
        "Loudspeaker",
        "Network",
        "Send",
        "Silence",
        "Speak",
        "Type",
        "WaitFor",
        "WaitUntilHeard",
    ),
}
_WHERE = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = list(_WHERE)
__getattr__ = on_first_use(__name__, _WHERE)
