"""What an agent does in its call without being asked: it greets, fills silences and calls the program back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from realtime.agent.callbacks import Callbacks
from realtime.agent.controller import Controller
from realtime.agent.phrases import FILLERS, in_language
from realtime.agent.saying import Saying
from realtime.agent.settings import AgentSpec, RunSettings
from realtime.agent.silences import IdleTalk, ToolFillers
from realtime.agent.transfer import TAKES_OVER, Takeover
from realtime.call.participant import Host, OwnCall
from realtime.errors import RealtimeError
from realtime.model.base import Connection


class SpeakingFirst:
    """One agent's initiative in one call that is its own. `begin` it once the agent is ready; `close` it at the end."""

    def __init__(
        self,
        spec: AgentSpec,
        settings: RunSettings,
        host: Host,
        own: OwnCall,
        connection: Connection,
        controller: Controller,
        group: asyncio.TaskGroup,
        tell_error: Callable[[RealtimeError], None],
    ) -> None:
        profile = connection.profile
        self.is_away = False
        """Whether no client listens, and the call waits for one."""
        self._spec = spec
        self._own = own
        self._controller = controller
        self._may_speak = settings.may_speak_unasked
        self._remembers = len(host.conversation) > 0 and not spec.is_redialled
        self.saying = Saying(host, own, controller, profile, lambda: settings.for_model(spec.name).instructions)
        self._callbacks = Callbacks(spec, group, tell_error)
        self._idle: IdleTalk | None = None
        if spec.idle_prompt_s is not None and own.takes_unasked:
            self._idle = IdleTalk(
                spec.idle_prompt_s, host, own, profile, self.saying, self._callbacks.spawn, lambda: self.is_away
            )
        self._fillers: ToolFillers | None = None
        speaks = "audio" in settings.for_model(spec.name).output_modalities
        lines = in_language(FILLERS, profile.languages) if spec.fillers is None else spec.fillers
        if own.takes_unasked and speaks and lines and profile.responds_beside_tools:
            self._fillers = ToolFillers(lines, host, own, controller, connection, self.saying)

    def begin(self, takeover: Takeover | None = None) -> None:
        """The agent is ready: greet, or go on with an owed answer; call the program back; watch the silence."""
        spec, own = self._spec, self._own
        greets = takeover.greets if takeover is not None else own.is_new and not self._remembers
        if spec.greeting and greets and own.takes_unasked:
            self.saying.begin(spec.greeting, "greeting", at_once=takeover is not None)
        elif takeover is not None and takeover.responds:
            self.saying.begin(TAKES_OVER.format(before=takeover.before), "transfer", at_once=True)
        elif own.owed is not None and takeover is None and self._may_speak:
            self._controller.go_on(own.owed)
        self._callbacks.begin(own)
        if self._idle is not None:
            self._idle.begin()

    def tool_begins(self, call_id: str) -> None:
        """A tool starts to run."""
        if self._fillers is not None:
            self._fillers.tool_begins(call_id)

    def tool_ends(self, call_id: str) -> None:
        """A tool has a result; the model does not know it yet."""
        if self._fillers is not None:
            self._fillers.tool_ends(call_id)

    def close(self, *, handed_over: bool = False) -> None:
        """The call is over, or another agent has it: then the program's functions come to their end."""
        for part in (self._fillers, self._idle):
            if part is not None:
                part.close()
        self._callbacks.close(cancels=not handed_over)
