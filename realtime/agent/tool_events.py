"""Passes what happens to tool calls on to a call's parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from realtime.agent.announcer import Announcer
from realtime.agent.background import ToldOfBackground
from realtime.agent.consent import Consents
from realtime.agent.controller import Controller
from realtime.agent.speaking_first import SpeakingFirst
from realtime.agent.told_of_settings import ToldOfSettings
from realtime.event.server import ProgressKind
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.tool.background import BackgroundTask


@dataclass(frozen=True, slots=True, eq=False)
class CallParts:
    """The parts of an agent's call that learn of its tool calls."""

    controller: Controller
    settings: ToldOfSettings
    consents: Consents
    announcer: Announcer
    background: ToldOfBackground
    initiative: SpeakingFirst | None
    """None in a room."""


class ToolEvents:
    """The `realtime.agent.tools.ToolFollower` of an agent's call: passes on nothing before `begin` and after `end`.

    Once `stopping` is set, results and reports are dropped; questions still learn how they have ended.
    """

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self._parts: CallParts | None = None

    def begin(self, parts: CallParts) -> None:
        """The agent is in the call."""
        self._parts = parts

    def end(self) -> None:
        """The agent has left the call."""
        self._parts = None

    @property
    def _running(self) -> CallParts | None:
        return None if self._stopping.is_set() else self._parts

    def tools_changed(self) -> None:
        """The agent may have other tools now."""
        if (parts := self._running) is not None:
            parts.settings.declare_tools()

    def tool_begins(self, call_id: str) -> None:
        """See `ToolFollower`."""
        if self._parts is not None and self._parts.initiative is not None:
            self._parts.initiative.tool_begins(call_id)

    def tool_done(self, result: ToolResultBlock) -> None:
        """See `ToolFollower`."""
        if self._parts is not None and self._parts.initiative is not None:
            self._parts.initiative.tool_ends(result.id)
        if (parts := self._running) is not None:
            # Before the model goes on with the result: the tool may have given it others.
            self.tools_changed()
            parts.controller.tool_done(result)
            parts.consents.result(result)
            parts.background.answered(result.id)

    def tool_asks(self, within: str, call: ToolCallBlock) -> None:
        """See `ToolFollower`."""
        if self._parts is not None:
            self._parts.controller.responses.tool_calls.ask_within(within, call)

    def asked_tool_done(self, result: ToolResultBlock) -> None:
        """See `ToolFollower`."""
        if self._parts is not None:
            self._parts.controller.responses.tool_calls.answered_within(result)
            self._parts.consents.result(result)

    def tool_reports(self, call_id: str, text: str, kind: ProgressKind) -> None:
        """See `ToolFollower`."""
        if (parts := self._running) is not None:
            parts.controller.responses.tool_calls.report(call_id, text, kind)

    def tool_says(self, text: str, holds: Callable[[], bool]) -> None:
        """See `ToolFollower`."""
        if (parts := self._running) is not None:
            parts.announcer.say(text, holds)

    def interrupts(self, task: BackgroundTask) -> None:
        """See `ToolFollower`."""
        if self._parts is not None:
            self._parts.background.stop(task, " because the user interrupted")
