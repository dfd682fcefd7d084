"""The rules that the users of a call have accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from realtime.message import PermissionBehavior, PermissionRule

PERMISSION_UPDATED = "permission_updated"
"""The custom event of a change: `{mode, rules, added, removed, by}`.

Rules are those that its reader has accepted; `by` is `user`, `program` or `session`.
"""
PERMISSIONS_KEY = "permissions_key"
"""The custom event that opens the rules in later calls: `{key}`.

Only its client gets it.
"""
FOR_HUMAN = "participant_id"
"""In its value: the only human of a room who gets it."""
OF_USER = "user"
"""The source of an accepted rule."""
MAX_ACCEPTED = 200
"""Rules of one user; the oldest go."""

Rules = tuple[PermissionRule, ...]


def same(one: PermissionRule, other: PermissionRule) -> bool:
    """Whether two rules say the same, whatever their sources."""
    return (one.tool_name, one.rule_content, one.behavior) == (other.tool_name, other.rule_content, other.behavior)


def merged(
    before: Sequence[PermissionRule], added: Sequence[PermissionRule], removed: Sequence[PermissionRule]
) -> Rules:
    """Return a user's rules after a change: each once, the latest `MAX_ACCEPTED`."""
    kept = [one for one in before if not any(same(one, other) for other in (*added, *removed))]
    return (*kept, *added)[-MAX_ACCEPTED:]


class AcceptedRules:
    """Rules by the user who has accepted them; "" is the only user of a call."""

    def __init__(self, rules: Sequence[PermissionRule] = ()) -> None:
        self._by_user: dict[str, Rules] = {"": tuple(rules)} if rules else {}
        self.is_told = not rules
        """Whether listeners of the call know the rules."""
        self.save: Callable[[Rules, Rules], None] | None = None
        """Takes the rules that came and those that went, to keep them."""

    def begin_with(self, rules: Rules) -> None:
        """Add what the only user has accepted in earlier calls; listeners will be told."""
        added = self.add("", rules)
        self.is_told = self.is_told and not added

    def of(self, user: str) -> Rules:
        """Return the rules of a user."""
        return self._by_user.get(user, ())

    @property
    def users(self) -> list[str]:
        """The humans of a room who have accepted any."""
        return [user for user, rules in self._by_user.items() if user and rules]

    @property
    def all(self) -> list[PermissionRule]:
        """The rules of all users, each once."""
        return [*dict.fromkeys(rule for rules in self._by_user.values() for rule in rules)]

    def add(self, user: str, rules: Iterable[PermissionRule]) -> Rules:
        """Add rules that a user has accepted; return those that are new. Only rules that allow are taken."""
        before = self.of(user)
        added = tuple(
            msgspec.structs.replace(rule, source=OF_USER)
            for rule in rules
            if rule.behavior is PermissionBehavior.ALLOW and not any(same(rule, one) for one in before)
        )
        self._by_user[user] = merged(before, added, ())
        return added

    def remove(self, rule: PermissionRule) -> list[str]:
        """Take a rule from all users; return those who had it."""
        before = self._by_user
        self._by_user = {user: merged(rules, (), (rule,)) for user, rules in before.items()}
        return [user for user, rules in self._by_user.items() if rules != before[user]]


def accepted_in(value: dict[str, Any]) -> Rules:
    """Return the accepted rules in the value of a `permission_updated` event; none for a damaged one."""
    return tuple(rule for rule in read_rules(value.get("rules")) if rule.source == OF_USER)


def read_rules(saved: Any) -> Rules:
    """Return the rules that allow of a list in JSON form; others, and damaged ones, are left out."""
    found = []
    for one in saved if isinstance(saved, list) else ():
        try:
            rule = msgspec.convert(one, PermissionRule)
        except msgspec.ValidationError:
            continue
        if rule.behavior is PermissionBehavior.ALLOW:
            found.append(rule)
    return tuple(found)
