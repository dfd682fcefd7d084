"""The program's own functions in a call: run beside it, so that none of them delays or ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from realtime.agent.settings import AgentSpec
from realtime.call.participant import OwnCall
from realtime.errors import ENDS_OF_TASKS, RealtimeError, UsageError
from realtime.event import server as s
from realtime.event.base import Item
from realtime.exits import Held, exits_held
from realtime.message import Msg, TextBlock
from realtime.tool.blocking import watched_callback

logger = logging.getLogger(__name__)


class Callbacks:
    """Runs `on_enter` and `on_turn` in one call, in tasks of their own.

    What one of them raises is logged and becomes an `agent_error` with the code `callback_failed`; one that blocks
    the event loop is `callback_blocks`.
    """

    def __init__(self, spec: AgentSpec, group: asyncio.TaskGroup, tell_error: Callable[[RealtimeError], None]) -> None:
        self._spec = spec
        self._group = group
        self._tell_error = tell_error
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: tuple[str, str] = ("", "")
        """Id and words of the turn that was told last."""
        self._unfollow: Callable[[], None] = lambda: None

    def begin(self, own: OwnCall) -> None:
        """The call has begun; a call that goes on after its server was lost does not begin again."""
        if own.is_new and self._spec.acts_on("on_enter"):
            self.spawn("on_enter", self._spec.on_enter())
        if self._spec.acts_on("on_turn"):
            self._unfollow = own.follow(self._follow)

    def spawn(self, name: str, run: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the call."""
        with exits_held():
            task = self._group.create_task(self._run(name, run), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self, *, cancels: bool = True) -> None:
        """Call nothing any more; by default, cancel what still runs."""
        self._unfollow()
        for task in [*self._tasks] if cancels else ():
            task.cancel()

    async def _run(self, name: str, run: Coroutine[Any, Any, None]) -> None:
        try:
            told_as = f"callback {name} of agent {self._spec.name}"
            is_programs = name in ("on_enter", "on_turn")
            function = self._spec.callback(name) if is_programs else self._run
            with watched_callback(told_as, function, self._tell_error):
                await Held(run)
        except ENDS_OF_TASKS:
            raise
        except BaseException as error:
            # The program's code: whatever it raises must not end the call.
            logger.exception("%s of agent %s failed", name, self._spec.name)
            told = f"{name} of the agent failed ({type(error).__name__}): the server's log says why"
            self._tell_error(UsageError(told, code="callback_failed"))

    def _follow(self, event: s.ServerEvent) -> None:
        match event:
            case s.AgentItemDoneEvent(item=Item(role="user") as item) if item.text:
                # The words of a turn that goes on after a pause come again, with those that follow.
                if (item.id, item.text) != self._told:
                    self._told = item.id, item.text
                    turn = Msg(item.name or "user", [TextBlock(text=item.text)], "user", id=item.id)
                    self.spawn("on_turn", self._spec.on_turn(turn))
            case _:
                pass
