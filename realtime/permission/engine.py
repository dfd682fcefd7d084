"""The engine: decides about calls by rules, the tool's own word and the mode. No event loop, no clock."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

from realtime.errors import UsageError
from realtime.message import PermissionBehavior, PermissionRule
from realtime.options import checked
from realtime.permission.context import PermissionContext, PermissionMode, Rules
from realtime.permission.decision import Match, PermissionDecision
from realtime.permission.pattern import check_operators, is_whole, matches_text
from realtime.permission.tools import ToolPermissions

logger = logging.getLogger(__name__)

ALLOW, DENY, ASK = PermissionBehavior.ALLOW, PermissionBehavior.DENY, PermissionBehavior.ASK
_DENYING = (PermissionMode.EXPLORE, PermissionMode.DONT_ASK)
"""Modes that deny, the stricter one first."""


class DecidedTool(Protocol):
    """A tool as the engine sees it. Each method may also be a coroutine function (see `check_permission`)."""

    @property
    def name(self) -> str:
        """The name that rules call it by."""
        ...

    def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> Any:
        """Return the tool's own decision; None leaves it to rules and mode."""
        ...

    def check_read_only(self, tool_input: dict[str, Any]) -> Any:
        """Return whether this call changes nothing."""
        ...

    def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> Any:
        """Return whether a rule is about this call (`Match`)."""
        ...

    def generate_suggestions(self, tool_input: dict[str, Any]) -> Any:
        """Return rules that would allow this call, the narrowest first."""
        ...


class PermissionEngine:
    """Decides whether a call runs, is asked for or is denied.

    In this order: a rule that denies; a rule that asks; a call that only reads runs; in `explore` all else is denied;
    the tool's own decision; a rule that allows; the mode: `default` and `accept_edits` ask, `bypass` allows, `dont_ask`
    denies. Where `dont_ask` would ask, it denies.

    A rule is about the tools of its `tool_name`, in which `*` stands for any characters. One that cannot be read allows
    nothing; where it denies or asks, it counts for every call of the tool, and a warning names the tool.

    Takes a context, or rules and a mode. Raises ValueError for an unknown mode, and UsageError for a rule whose pattern
    has an operator that is none (`amount=>10`).
    """

    @checked()
    def __init__(
        self, context: PermissionContext | Iterable[PermissionRule] = (), mode: PermissionMode | str | None = None
    ) -> None:
        rules = () if isinstance(context, PermissionContext) else [*context]
        self.context = context if isinstance(context, PermissionContext) else PermissionContext()
        if mode is not None:
            self.context.mode = PermissionMode(mode)
        self._unreadable: set[PermissionRule] = set()
        """Rules that were found unreadable."""
        self._made_of: PermissionEngine | None = None
        for rule in rules:
            check_operators(rule.rule_content)
            self._keep(rule)

    # -- rules -----------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> PermissionMode:
        """The mode in force."""
        return self.context.mode

    @mode.setter
    def mode(self, mode: PermissionMode | str) -> None:
        self.context.mode = PermissionMode(mode)

    @property
    def rules(self) -> list[PermissionRule]:
        """All rules: those that deny first, then those that ask, then those that allow."""
        context = self.context
        kinds = (context.deny_rules, context.ask_rules, context.allow_rules)
        return [rule for kind in kinds for rules in kind.values() for rule in rules]

    def add_rule(self, rule: PermissionRule) -> None:
        """Add a rule, unless it is there. Raises UsageError for an operator that is none."""
        check_operators(rule.rule_content)
        self._keep(rule)

    def _keep(self, rule: PermissionRule) -> None:
        kind = self._rules_of(rule.behavior)
        before = kind.get(rule.tool_name, [])
        if rule not in before:
            kind[rule.tool_name] = [*before, rule]  # A thread that reads the list keeps what it has.

    def remove_rule(self, rule: PermissionRule) -> bool:
        """Remove a rule, whatever its source; returns whether it was there."""
        kind = self._rules_of(rule.behavior)
        before = kind.get(rule.tool_name, [])
        after = [one for one in before if one.rule_content != rule.rule_content]
        if len(after) == len(before):
            return False
        if after:
            kind[rule.tool_name] = after
        else:
            del kind[rule.tool_name]
        return True

    def joined(self, other: PermissionEngine) -> PermissionEngine:
        """Return an engine with the rules of both.

        Its mode is `explore`, else `dont_ask`, if either has it; else that of this one, or of `other` for `default`.
        """
        if other is self or other is self._made_of:
            return self
        mode = other.mode if self.mode is PermissionMode.DEFAULT else self.mode
        mode = next((one for one in _DENYING if one in (self.mode, other.mode)), mode)
        folders = {**other.context.working_directories, **self.context.working_directories}
        engine = PermissionEngine(PermissionContext(mode, folders))
        for rule in (*self.rules, *other.rules):
            engine._keep(rule)
        engine._unreadable = self._unreadable
        return engine

    def with_allowed(self, rules: Iterable[PermissionRule]) -> PermissionEngine:
        """Return an engine with further rules that allow; it follows no later change of this one."""
        context = self.context
        mine = PermissionEngine(PermissionContext(context.mode, context.working_directories))
        mine.context.deny_rules, mine.context.ask_rules = context.deny_rules, context.ask_rules
        mine.context.allow_rules = {**context.allow_rules}
        mine._unreadable, mine._made_of = self._unreadable, self
        for rule in rules:
            if rule.behavior is ALLOW:
                mine._keep(rule)
        return mine

    # -- decisions -------------------------------------------------------------------------------------------------

    def decide(self, tool: DecidedTool, tool_input: dict[str, Any]) -> PermissionDecision:
        """Decide about a call at once. Raises UsageError for a tool whose methods wait for something."""
        deciding = self.check_permission(tool, tool_input)
        try:
            deciding.send(None)
        except StopIteration as end:
            decision: PermissionDecision = end.value
            return decision
        deciding.close()
        raise UsageError(
            f"the permissions of tool {tool.name!r} wait for something: make them plain functions",
            code="bad_permissions",
        )

    def decide_unasked(
        self, name: str, arguments: dict[str, Any] | None, schema: Mapping[str, Any] | None = None
    ) -> PermissionDecision:
        """Decide about a tool that is known by its name only.

        It asks for nothing itself. `schema` is that of its arguments. Where these are None, they cannot be read: rules
        that deny or ask count, whatever their patterns are.
        """
        known = [*(schema or {}).get("properties", ())] or None
        return self.decide(_Unasked(name, known if arguments is not None else []), arguments or {})

    async def check_permission(self, tool: DecidedTool, tool_input: dict[str, Any]) -> PermissionDecision:
        """Decide about a call; the tool's methods may be coroutine functions."""
        context, given = self.context, tool_input
        rule = await self._first(context.deny_rules, tool, given)
        if rule is not None:
            return PermissionDecision(DENY, f"A rule denies this call of {tool.name}", _reason(rule), rule=rule)
        rule = await self._first(context.ask_rules, tool, given)
        if rule is not None:
            return await self._asking(tool, given, _reason(rule), rule=rule)
        if await _result(tool.check_read_only(given)):
            return PermissionDecision(ALLOW, f"{tool.name} changes nothing", "Read-only calls run without a question")
        if context.mode is PermissionMode.EXPLORE:
            return PermissionDecision(DENY, f"{tool.name} may change something", "The mode explore allows only reading")
        own: PermissionDecision | None = await _result(tool.check_permissions(given, context))
        if own is not None and own.behavior in (ALLOW, DENY):
            return own
        if own is not None and own.bypass_immune and context.mode is not PermissionMode.BYPASS:
            return await self._asking(tool, given, own.decision_reason, own.message, bypass_immune=True)
        rule = await self._first(context.allow_rules, tool, given)
        if rule is not None:
            return PermissionDecision(ALLOW, f"A rule allows this call of {tool.name}", _reason(rule), rule=rule)
        if context.mode is PermissionMode.BYPASS:
            return PermissionDecision(ALLOW, f"{tool.name} runs without a question", "The mode bypass asks nothing")
        return await self._asking(tool, given, f"The mode is {context.mode}")

    async def _asking(
        self, tool: DecidedTool, given: dict[str, Any], reason: str | None, message: str = "", **fields: Any
    ) -> PermissionDecision:
        suggested = await _result(tool.generate_suggestions(given))
        behavior, message = ASK, message or f"The user has to agree to this call of {tool.name}"
        if self.mode is PermissionMode.DONT_ASK:
            behavior, message = DENY, f"The user would have to agree to this call of {tool.name}, and is not asked"
            reason = f"The mode dont_ask denies instead of asking: {reason}"
        return PermissionDecision(behavior, message, reason, suggested_rules=suggested, **fields)

    async def _first(self, kind: Rules, tool: DecidedTool, given: dict[str, Any]) -> PermissionRule | None:
        """Return the first rule of a kind that is about this call; None if there is none."""
        for rule in _about(kind, tool.name):
            if is_whole(rule.rule_content):
                return rule
            match = await _result(tool.match_rule(rule.rule_content, given))
            if match is None:
                self._report(rule)
            if match is True or (match in (None, "strictly") and rule.behavior is not ALLOW):
                return rule
        return None

    def _report(self, rule: PermissionRule) -> None:
        """Warn of a rule that cannot be read, once; its pattern may hold what people said, and stays out of the log."""
        if rule not in self._unreadable:
            self._unreadable.add(rule)
            logger.warning(
                "a rule for tool %s (source %s) cannot be read: %s",
                rule.tool_name,
                rule.source or "unknown",
                "it allows nothing" if rule.behavior is ALLOW else "it counts for every call of the tool",
            )

    def _rules_of(self, behavior: PermissionBehavior) -> Rules:
        match behavior:
            case PermissionBehavior.ALLOW:
                return self.context.allow_rules
            case PermissionBehavior.DENY:
                return self.context.deny_rules
            case PermissionBehavior.ASK:
                return self.context.ask_rules


class _Unasked:
    """A tool that asks for nothing itself."""

    def __init__(self, name: str, known: Collection[str] | None) -> None:
        self.name = name
        self._known = known
        self._permissions = ToolPermissions()

    def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(ALLOW, f"{self.name} runs without a question")

    def check_read_only(self, tool_input: dict[str, Any]) -> bool:
        return False

    def match_rule(self, rule_content: str | None, tool_input: dict[str, Any]) -> Match:
        return self._permissions.match_rule(rule_content, tool_input, self._known)

    def generate_suggestions(self, tool_input: dict[str, Any]) -> list[PermissionRule]:
        return []


def _about(kind: Mapping[str, list[PermissionRule]], name: str) -> Iterator[PermissionRule]:
    yield from kind.get(name, ())
    for pattern, rules in [*kind.items()]:
        if pattern != name and "*" in pattern and matches_text(pattern, name):
            yield from rules


def _reason(rule: PermissionRule) -> str:
    return f"Rule: {rule.rule_content or 'every call'}"


async def _result(returned: Any) -> Any:
    """Return what a tool's method returns, or what it awaits."""
    return await returned if inspect.isawaitable(returned) else returned
