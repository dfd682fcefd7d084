"""Tools that run in the background: started at once, answered later.

Those of a voice call are a state of its scope (`ToolScope.states`), so that agents in the call share them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from realtime.errors import ToolError
from realtime.event.base import Item
from realtime.event.server import ProgressKind
from realtime.exits import exits_held
from realtime.message import HintBlock, ToolCallBlock, ToolResultBlock, ToolResultState, system_reminder
from realtime.message.blocks import result_in, result_reminder
from realtime.tool.context import ToolScope
from realtime.tool.output import Output, failed, within_limits
from realtime.tool.response import Pieces, ToolResponse
from realtime.tool.running import CANCEL_S

Announce = Literal["spoken", "silently"]
"""Whether the agent speaks of the result, or only knows it."""

MAX_RUNNING = 16
"""Background tools of one call that may run at once."""
MAX_RESULTS = 100
"""Results that are kept for a program that asks; the oldest go first."""
BACKGROUND_TIMEOUT_S = 3_600.0
"""How long a tool may run in the background."""
MAX_REPORTS = 1_000
"""Reports of one background tool that are passed on."""


class TaskOwner(Protocol):
    """An agent whose tools run in the background."""

    def background_done(self, task: BackgroundTask, /) -> None:
        """Take the result of a tool of its that has ended."""
        ...


_OWNER: ContextVar[TaskOwner | None] = ContextVar("tool_owner", default=None)


def current_owner() -> TaskOwner | None:
    """Return the agent whose tools run here; None for those of a voice, and of a program."""
    return _OWNER.get()


def act_for(owner: TaskOwner | None) -> None:
    """From now on, the tools of this task are those of `owner`.

    So are those of tasks that it starts. None: they are those of no agent.
    """
    _OWNER.set(owner)


@dataclass(slots=True, eq=False)
class BackgroundTask:
    """A tool that runs in the background, or did."""

    id: str
    call: ToolCallBlock
    announce: Announce
    stops_with_reply: bool = False
    """Whether an interruption of the reply stops it."""
    owner: TaskOwner | None = None
    """The agent whose tool it is; None: that of a voice, or of a program."""
    is_shown: bool = True
    """Whether the call's listeners and its model know the tool call; they do not know one of an agent behind a tool."""
    call_id: str = ""
    """Id of the tool call as listeners know it: where that is not shown, that of the tool behind which it runs."""
    state: ToolResultState = ToolResultState.RUNNING
    latest: str = ""
    """What it reported last."""
    response: ToolResponse | None = None
    n_reports: int = 0

    def describe(self) -> dict[str, Any]:
        """Return what a page or a program shows of it."""
        return {"id": self.id, "tool": self.call.name, "state": str(self.state), "latest": self.latest}

    @property
    def result(self) -> ToolResultBlock:
        """What it gave so far."""
        return (self.response or failed("nothing")).result_of(self.call)


class BackgroundTasks:
    """The background tools of one call, or of a toolkit without one.

    Those of agents in the call are among them: an agent sees only its own, by the `owner` that each method takes; None
    sees all. `on_start` gets what begins, `on_report` what a running one reports, `on_done` one that has ended by
    itself.
    """

    def __init__(self) -> None:
        self.running: dict[str, BackgroundTask] = {}
        """By task id, in order of their start."""
        self.results: dict[str, BackgroundTask] = {}
        """Those whose result was not asked for yet, by task id."""
        self.on_start: Callable[[BackgroundTask], None] | None = None
        self.on_report: Callable[[BackgroundTask, str, ProgressKind], None] | None = None
        self.on_done: Callable[[BackgroundTask], None] | None = None
        self.n_started = 0
        """How many have begun so far: part of the next id, which may not come again in a call."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    def start(
        self,
        call: ToolCallBlock,
        announce: Announce,
        scope: ToolScope,
        run: Callable[[ToolScope], AsyncGenerator[ToolResponse, None]],
        *,
        stops_with_reply: bool = False,
    ) -> ToolResponse:
        """Start a tool; return what the model reads of that. `run` gives its responses, within the scope.

        It is a tool of the agent that acts here (`current_owner`).
        """
        if self._is_closed:
            return failed(f"{call.name} was not started: the call is over")
        if len(self.running) >= MAX_RUNNING:
            return failed(f"{call.name} was not started: {MAX_RUNNING} tools run in the background already")
        self.n_started += 1
        owner = current_owner()
        task = BackgroundTask(
            f"{call.name}_{self.n_started}",
            call,
            announce,
            stops_with_reply,
            owner=owner,
            is_shown=owner is None or (scope.speaker is owner and scope.states.get(BackgroundTasks) is self),
            call_id=scope.tool_call_id or call.id,
        )
        self.running[task.id] = task
        scope = replace(scope, progress=lambda text, kind: self._report(task, text, kind))
        with scope.in_force(), exits_held():
            self._tasks[task.id] = asyncio.create_task(
                self._work(task, run(scope)), name=f"background tool {task.id} {call.id}"
            )
        if self.on_start is not None:
            self.on_start(task)
        return started(task, announces=self.on_done is not None or owner is not None)

    def of(self, owner: TaskOwner | None) -> list[BackgroundTask]:
        """Return what runs, in order of its start."""
        return [task for task in self.running.values() if owner is None or task.owner is owner]

    def _find(self, task_id: str, owner: TaskOwner | None) -> BackgroundTask | None:
        """Return the task of this id that runs; None without one."""
        return next((task for task in self.of(owner) if task.id == task_id), None)

    def _has_result(self, task_id: str, owner: TaskOwner | None) -> bool:
        """Whether a task has a result that was not asked for yet."""
        task = self.results.get(task_id)
        return task is not None and (owner is None or task.owner is owner)

    def view(self, task_id: str, owner: TaskOwner | None) -> ToolResponse:
        """Return what a model reads of a task: its result, once, or that it still runs."""
        if self._find(task_id, owner) is not None:
            return Output().whole(f"Task {task_id} is still running.")
        response = self.results.pop(task_id).response if self._has_result(task_id, owner) else None
        return response or _unknown(task_id)

    async def wait(self, task_id: str, owner: TaskOwner | None, timeout_s: float) -> ToolResponse:
        """Wait until a task has ended, `timeout_s` at most; return what a model reads of it."""
        if self._find(task_id, owner) is not None and (running := self._tasks.get(task_id)) is not None:
            await asyncio.wait([running], timeout=timeout_s)
        if self._find(task_id, owner) is not None:
            return Output().whole(f"Task {task_id} is still running after waiting for {timeout_s:g} seconds.")
        return self.view(task_id, owner)

    def cancel_for(self, task_id: str, owner: TaskOwner | None) -> ToolResponse:
        """Stop a task as `cancel` does; return what a model reads of that."""
        if self._find(task_id, owner) is None:
            if self._has_result(task_id, owner):
                return failed(f"Task {task_id} has already completed and cannot be cancelled.")
            return _unknown(task_id)
        self.cancel(task_id)
        return Output().whole(f"Task {task_id} has been cancelled.")

    def cancel(self, task_id: str) -> bool:
        """Stop a task; False if none of this id runs. Nothing is reported of it any more."""
        task = self.running.pop(task_id, None)
        if task is None:
            return False
        task.state = ToolResultState.INTERRUPTED
        self._tasks[task_id].cancel()
        return True

    async def close(self) -> None:
        """Stop all tasks, report no more and start no more. Returns when they have ended, after 2 s at most."""
        self._is_closed = True
        self.on_start = self.on_report = self.on_done = None  # they refer back to a call
        await self.stop(None)

    async def stop(self, owner: TaskOwner | None) -> None:
        """Stop the tasks. Returns when they have ended, after 2 s at most."""
        ending = {task.id for task in self.of(owner)} if owner is not None else {*self._tasks}
        for task_id in ending:
            self.cancel(task_id)
        if tasks := [self._tasks[task_id] for task_id in ending]:
            await asyncio.wait(tasks, timeout=2 * CANCEL_S)

    async def _work(self, task: BackgroundTask, responses: AsyncGenerator[ToolResponse, None]) -> None:
        pieces = Pieces()
        try:
            async with aclosing(responses):
                async for response in responses:
                    task.response = within_limits(response)
                    if piece := pieces.of(task.response):
                        self._report(task, piece, "result")
        except ToolError as error:
            task.response = failed(error.message)
        finally:
            del self._tasks[task.id]
            if self.running.pop(task.id, None) is not None:
                self._done(task)

    def _done(self, task: BackgroundTask) -> None:
        response = task.response or failed(f"{task.call.name} gave no result")
        task.response, task.state = response, response.state
        self.results[task.id] = task
        while len(self.results) > MAX_RESULTS:
            del self.results[next(iter(self.results))]
        if task.owner is not None and not task.is_shown:
            task.owner.background_done(task)
        if self.on_done is not None:
            self.on_done(task)

    def _report(self, task: BackgroundTask, text: str, kind: ProgressKind) -> None:
        if task.id in self.running:
            task.latest = text
            task.n_reports += 1
            if self.on_report is not None and task.n_reports <= MAX_REPORTS:
                self.on_report(task, text, kind)


def _unknown(task_id: str) -> ToolResponse:
    return failed(f"InvalidTaskIdError: Cannot find async task with ID {task_id}.")


def started(task: BackgroundTask, *, announces: bool) -> ToolResponse:
    """Return what the model reads when a background tool has started.

    `announces`: its result will come by itself. Otherwise the model has to ask for it.
    """
    if announces:
        text = (
            f"{task.call.name} runs in the background (task {task.id}). Its result is not there yet and will be given "
            "to you later: say so briefly, go on with the conversation, and do not guess the result."
        )
    else:
        text = (
            f"<system-reminder>Tool '{task.call.name}' is executing asynchronously. Task ID: {task.id}. "
            f"Use view_task('{task.id}') to check status, wait_task('{task.id}') to wait for completion, "
            f"or cancel_task('{task.id}') to cancel the task.</system-reminder>"
        )
    return replace(failed(text), state=ToolResultState.RUNNING)


def _asks(announce: Announce) -> str:
    return " Tell the user now, in your own words." if announce == "spoken" else ""


def result_hint(task: BackgroundTask) -> HintBlock:
    """Return the hint that has the result of a background tool."""
    how = "has failed" if task.state is ToolResultState.ERROR else "is done"
    text = task.result.output_text(names_media=True)
    told = f"The background tool {task.call.name} (task {task.id}) {how}.{_asks(task.announce)}"
    return HintBlock(hint=result_reminder(told, text), source=task.call.name)


_LATE = "The tool "


def is_late_hint(text: str) -> bool:
    """Whether a text is that of a `late_hint`."""
    return text.startswith(system_reminder(_LATE).partition("\n</")[0]) and result_in(text) is not None


def late_hint(result: ToolResultBlock) -> HintBlock:
    """Return the hint about a tool that outlasted its reply."""
    how = "has failed" if result.state is ToolResultState.ERROR else "is done"
    text = result.output_text(names_media=True)
    told = (
        f"{_LATE}{result.name} (call {result.id}) {how}. The talk went on meanwhile, so the user does not know it."
        f"{_asks('spoken')}"
    )
    return HintBlock(hint=result_reminder(told, text), source=result.name)


def stopped_hint(task: BackgroundTask, why: str = "") -> HintBlock:
    """Return the hint that a background tool was stopped; `why` may say the reason."""
    told = f"The background tool {task.call.name} (task {task.id}) was stopped{why}: no result will come."
    return HintBlock(hint=system_reminder(told), source=task.call.name)


def lost_hint(name: str, task_id: str, announce: Announce) -> HintBlock:
    """Return the hint that a background tool was lost with its server."""
    told = (
        f"The background tool {name} (task {task_id}) was interrupted: the call was broken off while it ran. No result "
        f"will come.{_asks(announce)}"
    )
    return HintBlock(hint=system_reminder(told), source=name)


def begun_hint(task: BackgroundTask) -> HintBlock:
    """Return the hint that an agent behind a tool has started one."""
    told = f"The background tool {task.call.name} (task {task.id}) has been started. Its result will come later."
    return HintBlock(hint=system_reminder(told), source=task.call.name)


def left_open(items: Iterable[Item]) -> dict[str, str]:
    """Return the background tools that nothing in the conversation ends: their names, by task id.

    A conversation that goes on after its server was lost has no other trace of them. What ends one may stand before
    what says that it has begun: a short one ends before its call has its place.
    """
    names: dict[str, str] = {}
    ended: set[str] = set()
    for task_id, name in _told_of(items):
        if name is None:
            if names.pop(task_id, None) is None:
                ended.add(task_id)
        elif task_id in ended:
            ended.discard(task_id)
        else:
            names[task_id] = name
    return names


def count_begun(items: Iterable[Item]) -> int:
    """Return how many background tools have begun, as the conversation tells."""
    numbers = [int(number) for task_id, _ in _told_of(items) if (number := task_id.rpartition("_")[2]).isdecimal()]
    return max(numbers, default=0)


def _told_of(items: Iterable[Item]) -> Iterator[tuple[str, str | None]]:
    """Yield (id, name) where a tool begins, (id, None) where it ends."""
    for item in items:
        if (result := item.tool_result) is not None:
            text = result.output_text()
            if result.state is ToolResultState.RUNNING and (begun := _BEGUN.search(text)):
                yield begun[1], result.name
            elif cancelled := _CANCELLED.search(text):
                yield cancelled[1], None
        elif item.role == "system" and (told := _TOLD.search(item.text)):
            if told[3] == "has been started":
                yield told[2], told[1]
            else:
                yield told[2], None


_BEGUN = re.compile(r"runs in the background \(task (\S+)\)")
_CANCELLED = re.compile(r"^Task (\S+) has been cancelled\.$")
_TOLD = re.compile(
    r"^<system-reminder>\nThe background tool (\S+) \(task (\S+)\) (has been started|is done|has failed|was )"
)
"""The words of `started`, of the tool that cancels, and of hints."""


def progress_hint(task: BackgroundTask) -> HintBlock:
    """Return the hint that has the latest report of a background tool."""
    told = f"The background tool {task.call.name} (task {task.id}) still runs and reports: {task.latest}"
    return HintBlock(hint=system_reminder(told), source=task.call.name)
