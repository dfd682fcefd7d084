"""Reports to model and listeners what outlasts a reply: background tools of all agents, and late results."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from realtime.agent.announcer import Announcer
from realtime.agent.controller import Controller
from realtime.agent.responses import nothing_told
from realtime.agent.settings import RunSettings
from realtime.agent.tools import ToolRunner
from realtime.call.participant import Host
from realtime.event import server as s
from realtime.message import HintBlock, ToolResultBlock, ToolResultState
from realtime.tool import Toolkit
from realtime.tool.background import (
    BackgroundTask,
    begun_hint,
    count_begun,
    late_hint,
    left_open,
    lost_hint,
    progress_hint,
    result_hint,
    stopped_hint,
)

PROGRESS_HINT_S = 10.0
"""The shortest time between two hints about a tool's progress."""


@dataclass(slots=True, eq=False)
class ToldOfBackground:
    """Reports the background tools of one call until `close`.

    In a room the agent asks for the floor where it would speak.
    """

    toolkit: Toolkit
    settings: RunSettings
    host: Host
    tools: ToolRunner
    controller: Controller
    announcer: Announcer
    on_result: Callable[[ToolResultBlock], None] = lambda result: None
    """Gets the result of each task that has come to its end."""
    _progress_told: dict[str, float] = field(default_factory=dict)
    """When the latest hint about a task's progress was given."""
    _early: defaultdict[str, list[Callable[[], None]]] = field(default_factory=lambda: defaultdict(list))
    """Hints that wait for the result of a tool call: no model takes words between the two."""

    def __post_init__(self) -> None:
        background = self.toolkit.background
        background.n_started = count_begun(self.host.conversation.items())
        self.controller.responses.on_late_result = self._comes_late
        background.on_start, background.on_report, background.on_done = self._begins, self._reports, self._done

    def tell_what_was_lost(self) -> None:
        """The call goes on after its server was lost: tell the model which background tools went with it."""
        tools, may_speak = self.toolkit.tools, self.settings.may_speak_unasked
        for task_id, name in left_open(self.host.conversation.items()).items():
            announce = tools[name].announce if name in tools else "spoken"
            self.announcer.hint(lost_hint(name, task_id, announce), speaks=may_speak and announce == "spoken")

    def tell(self, hint: HintBlock) -> None:
        """Have the user told of something in the next silence; in a room, once the agent has the floor."""
        self.announcer.hint(hint, speaks=self.settings.may_speak_unasked)
        if self.host.own is None:
            self.host.ask_for_floor()

    def cancel(self, task_id: str) -> bool:
        """Stop a background tool and tell the model; False if none of this id runs."""
        task = self.toolkit.background.running.get(task_id)
        if task is not None:
            self.stop(task)
        return task is not None

    def stop(self, task: BackgroundTask, why: str = "") -> None:
        """Stop a background tool and tell the model; `why` may say the reason."""
        self.toolkit.background.cancel(task.id)
        self._progress_told.pop(task.id, None)
        self._hint(task, stopped_hint(task, why))

    def answered(self, call_id: str) -> None:
        """A tool call has its result: what waited for that follows."""
        for tell in self._early.pop(call_id, ()):
            tell()

    def hand_over(self) -> list[HintBlock]:
        """Another agent has the call: return what its model has to be told. What runs stops with this agent."""
        self._early.clear()
        self.controller.responses.on_late_result = nothing_told
        return [*self.announcer.hand_over(), *map(stopped_hint, self.toolkit.background.running.values())]

    def close(self) -> None:
        """The call is over: let its history have what waits, and that all tools stop now."""
        for call_id in [*self._early]:
            self.answered(call_id)
        for task in self.toolkit.background.running.values():
            self.announcer.hint(stopped_hint(task), speaks=False)
        self.controller.responses.on_late_result = nothing_told  # refers back to this
        self.announcer.close()

    # -- what happens to a task ------------------------------------------------------------------------------------

    def _begins(self, task: BackgroundTask) -> None:
        if not task.is_shown:
            self._hint(task, begun_hint(task))

    def _reports(self, task: BackgroundTask, text: str, kind: s.ProgressKind) -> None:
        if self.tools.knows(task.call_id):
            self.controller.responses.tool_calls.report(task.call_id, text, kind)
        now = asyncio.get_running_loop().time()
        if kind == "note" and now - self._progress_told.get(task.id, -PROGRESS_HINT_S) >= PROGRESS_HINT_S:
            self._progress_told[task.id] = now
            self._hint(task, progress_hint(task))

    def _done(self, task: BackgroundTask) -> None:
        self._progress_told.pop(task.id, None)
        self.on_result(task.result)
        is_spoken = task.announce == "spoken"
        self._hint(task, result_hint(task), speaks=is_spoken and self.settings.may_speak_unasked)
        if is_spoken and self.host.own is None:
            self._after_answer(task, self.host.ask_for_floor)

    def _comes_late(self, result: ToolResultBlock) -> None:
        """The user went on talking while a tool ran: its result is owed to them."""
        speaks = self.settings.may_speak_unasked
        self.announcer.hint(late_hint(result), speaks=speaks, holds=lambda: not self._was_asked_again(result.id))
        if self.host.own is None:
            self.host.ask_for_floor()

    def _was_asked_again(self, call_id: str) -> bool:
        """Whether an equal call after this one has its result."""
        items = self.host.conversation.items()
        calls = [item.tool_call for item in items if item.tool_call is not None]
        own = next((at for at, call in enumerate(calls) if call.id == call_id), len(calls))
        done = {
            item.tool_result.id
            for item in items
            if item.tool_result is not None and item.tool_result.state is ToolResultState.SUCCESS
        }
        return any(
            (call.name, call.input) == (calls[own].name, calls[own].input) and call.id in done
            for call in calls[own + 1 :]
        )

    def _hint(self, task: BackgroundTask, hint: HintBlock, *, speaks: bool = False) -> None:
        self._after_answer(task, partial(self.announcer.hint, hint, speaks=speaks))

    def _after_answer(self, task: BackgroundTask, tell: Callable[[], None]) -> None:
        if self.tools.is_open(task.call_id):
            self._early[task.call_id].append(tell)
        else:
            tell()
