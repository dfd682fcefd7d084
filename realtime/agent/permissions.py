"""The permissions of an agent in one call: the rules of the program, and those that its users accept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from realtime.event.server import ServerCustomEvent
from realtime.message import PermissionRule
from realtime.permission import PermissionContext, PermissionDecision, PermissionEngine, PermissionMode
from realtime.permission.accepted import FOR_HUMAN, PERMISSION_UPDATED, AcceptedRules

NOT_ALLOWED = "this call is not allowed"


def denial_of(decision: PermissionDecision) -> str:
    """Return what the model reads of a call that is denied."""
    why = f" ({decision.decision_reason})" if decision.decision_reason else ""
    return f"{NOT_ALLOWED}: {decision.message}{why}"


def _tells_nobody(event: ServerCustomEvent) -> None:
    pass


def _keeps_nothing() -> bool:
    return False


class CallPermissions(PermissionEngine):
    """The rules and the mode of one call.

    It begins with a copy of the agent's. The program may change them at any time, from any thread; listeners get
    `permission_updated`, with the rules that they have accepted and none of the program's. Rules that users accept are
    theirs: in a room, those of one human are of no use to another.
    """

    def __init__(self, agents: PermissionEngine) -> None:
        super().__init__(PermissionContext(agents.mode, {**agents.context.working_directories}))
        for rule in agents.rules:
            self._keep(rule)
        self._accepted = AcceptedRules()
        self._tell: Callable[[ServerCustomEvent], None] = _tells_nobody
        self._keeps: Callable[[], bool] = _keeps_nothing

    def begin(
        self,
        accepted: AcceptedRules,
        tell: Callable[[ServerCustomEvent], None],
        keeps: Callable[[], bool],
    ) -> None:
        """Take on what users have accepted before.

        `tell` gets an event of each change, on this event loop; `keeps`: whether accepted rules are kept.
        """
        loop = asyncio.get_running_loop()

        def tell_here(event: ServerCustomEvent) -> None:
            if asyncio._get_running_loop() is loop:
                tell(event)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(tell, event)

        self._accepted, self._tell, self._keeps = accepted, tell_here, keeps
        if not accepted.is_told:
            accepted.is_told = True
            self._changed("session", "", added=accepted.of(""))

    def end(self) -> None:
        """The call is over: later changes are of no interest, and nothing refers back to it."""
        self._tell, self._keeps = _tells_nobody, _keeps_nothing

    # -- what the program changes ----------------------------------------------------------------------------------

    @property
    def mode(self) -> PermissionMode:
        """The mode in force."""
        return self.context.mode

    @mode.setter
    def mode(self, mode: PermissionMode | str) -> None:
        before, self.context.mode = self.context.mode, PermissionMode(mode)
        if before is not self.context.mode:
            self._changed("program")

    @property
    def rules(self) -> list[PermissionRule]:
        """All rules, with those that users have accepted."""
        return [*super().rules, *self._accepted.all]

    def add_rule(self, rule: PermissionRule) -> None:
        """Add a rule, unless it is there. Raises UsageError for an operator that is none."""
        if rule not in super().rules:
            super().add_rule(rule)
            self._changed("program")

    def remove_rule(self, rule: PermissionRule) -> bool:
        """Remove a rule, whatever its source; returns whether it was there.

        The users who have accepted it lose it, too; also for later calls, whether or not this one keeps rules.
        """
        losers = self._accepted.remove(rule)
        if losers and self._accepted.save is not None:
            self._accepted.save((), (rule,))
        was_programs = super().remove_rule(rule)
        if was_programs:
            self._changed("program")
        for user in losers:
            self._changed("program", user, removed=[rule])
        return was_programs or bool(losers)

    # -- what users accept -----------------------------------------------------------------------------------------

    def accept(self, rules: Sequence[PermissionRule], user: str) -> None:
        """Add rules that a user has accepted."""
        if added := self._accepted.add(user, rules):
            if self._accepted.save is not None and self._keeps():
                self._accepted.save(added, ())
            self._changed("user", user, added=added)

    def of(self, user: str) -> PermissionEngine:
        """Return the permissions in force for calls that serve this user."""
        return self.with_allowed(self._accepted.of(user))

    def _changed(
        self,
        by: str,
        user: str | None = None,
        *,
        added: Sequence[PermissionRule] = (),
        removed: Sequence[PermissionRule] = (),
    ) -> None:
        """Tell a user what holds for them; None: everybody, and then those who have accepted rules."""
        for one in (user,) if user is not None else ("", *self._accepted.users):
            value: dict[str, Any] = {
                "mode": self.mode.value,
                "rules": msgspec.to_builtins(list(self._accepted.of(one))),
                "added": msgspec.to_builtins(list(added)),
                "removed": msgspec.to_builtins(list(removed)),
                "by": by,
            }
            if one:
                value[FOR_HUMAN] = one
            self._tell(ServerCustomEvent(name=PERMISSION_UPDATED, value=value))
