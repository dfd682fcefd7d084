"""Changes an agent's settings in the middle of a call.

Its controller and its model learn of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from realtime.agent.client_servers import ServerConnections
from realtime.agent.controller import Controller
from realtime.agent.detector import silence_ms_of
from realtime.agent.settings import RunSettings
from realtime.errors import ClientError, RealtimeError, UsageError
from realtime.event.base import HostedTool
from realtime.event.config import SessionConfig, TurnAuthority
from realtime.model.base import Connection, SessionUpdate, Settings


class ToldOfSettings:
    """Tells controller and model of one call what has changed; `known` is what the model was connected with."""

    def __init__(
        self,
        settings: RunSettings,
        name: str,
        controller: Controller,
        connection: Connection,
        known: Settings,
        tell_error: Callable[[RealtimeError], None],
    ) -> None:
        self._settings = settings
        self._name = name
        self._controller = controller
        self._connection = connection
        self._declared = known.tools
        """The tools that the model knows of."""
        self._left_out: set[str] = set()
        """What the client knows to be left out: the next settings often name the same tools."""
        self._tell_error = tell_error
        self.servers: ServerConnections | None = None
        """Its connections to MCP servers of the client, if any."""

    def changed(self, change: SessionConfig, before: SessionConfig, authority: TurnAuthority) -> None:
        """The settings have taken on a change; `before` it, these were in force, and `authority` found the turns.

        Raises ClientError, with the settings as before, where the detector cannot change any more.
        """
        settings, controller = self._settings, self._controller
        if (authority == "server") != (settings.authority == "server"):
            try:
                controller.turns.detect_with(settings.new_detector())
            except UsageError as error:
                settings.config = before
                raise ClientError(error.message, code=error.code) from error
        elif authority == "server":
            wanted = settings.config.detection
            silence_ms = silence_ms_of(wanted)
            if (silence_ms, wanted.expect) != (silence_ms_of(before.detection), before.detection.expect):
                controller.input.wait_for(silence_ms, wanted.expect)
        controller.configure(settings.config, settings.authority, settings.interruption)
        if change != SessionConfig(audio=change.audio):  # the microphone is no matter of the model
            self._update_model(settings.for_model(self._name))
        if change.hosted_tools is not None and self.servers is not None:
            self.servers.follow(change.hosted_tools)
        if change.tools or change.hosted_tools:
            self.tell_what_is_left_out()

    def declare_tools(self) -> None:
        """Tell the model of its tools if they have changed."""
        wanted = self._settings.for_model(self._name)
        if wanted.tools != self._declared:
            self._update_model(wanted)

    def instructions_changed(self) -> None:
        """Tell the model of its instructions: they have changed of themselves."""
        self._update_model(self._settings.for_model(self._name))

    def tell_what_is_left_out(self) -> None:
        """Report what the agent goes on without; each thing once."""
        self._tell(self._settings.left_out())

    def tell_without(self, tools: Iterable[HostedTool]) -> None:
        """Report which of these tools a response goes without."""
        self._tell(self._settings.without(tools))

    def tell_left_out(self, tool: HostedTool, why: str) -> None:
        """Report that the agent goes on without this tool."""
        self._tell([self._settings.left_out_error(tool, why)])

    def _tell(self, errors: Iterable[RealtimeError]) -> None:
        for error in errors:
            if error.message not in self._left_out:
                self._left_out.add(error.message)
                self._tell_error(error)

    def _update_model(self, settings: Settings) -> None:
        self._declared = settings.tools
        self._connection.send(SessionUpdate(settings))
