"""The rules that the users of a call have accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from realtime.message import PermissionBehavior, PermissionRule

OF_USER = "user"
"""The source of an accepted rule."""
MAX_ACCEPTED = 200
"""Rules of one user; the oldest go."""

Rules = tuple[PermissionRule, ...]


def same(one: PermissionRule, other: PermissionRule) -> bool:
    """Whether two rules say the same, whatever their sources."""
    return (one.tool_name, one.rule_content, one.behavior) == (other.tool_name, other.rule_content, other.behavior)


class AcceptedRules:
    """Rules by the user who has accepted them; "" is the only user of a call.

    `save` is called with all rules of that one whenever they change and the client wants them kept.
    """

    def __init__(self, rules: Sequence[PermissionRule] = ()) -> None:
        self._by_user: dict[str, Rules] = {"": tuple(rules)} if rules else {}
        self.is_told = not rules
        """Whether listeners of the call know the rules."""
        self.save: Callable[[Rules], None] | None = None

    def of(self, user: str) -> Rules:
        """Return the rules of a user."""
        return self._by_user.get(user, ())

    @property
    def all(self) -> list[PermissionRule]:
        """The rules of all users, each once."""
        return [*dict.fromkeys(rule for rules in self._by_user.values() for rule in rules)]

    def add(self, user: str, rules: Sequence[PermissionRule]) -> list[PermissionRule]:
        """Add rules that a user has accepted; return those that are new."""
        before = self.of(user)
        added = [
            msgspec.structs.replace(rule, source=OF_USER)
            for rule in rules
            if rule.behavior is PermissionBehavior.ALLOW and not any(same(rule, one) for one in before)
        ]
        self._by_user[user] = (*before, *added)[-MAX_ACCEPTED:]
        return added

    def remove(self, rule: PermissionRule) -> bool:
        """Take a rule from all users; return whether any had it."""
        kept = {user: tuple(one for one in rules if not same(one, rule)) for user, rules in self._by_user.items()}
        is_there, self._by_user = kept != self._by_user, kept
        return is_there
