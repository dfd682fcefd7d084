"""What was decided about one tool call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from realtime.message import PermissionBehavior, PermissionRule, ToolCallBlock, ToolCallState

Consent = Literal["voice", "card", "either"]
"""How the user is asked: by voice, by a card on the page, or by both, of which the first answer counts."""

Match = bool | Literal["strictly"] | None
"""Whether a rule is about a call.

`strictly`: it is where it denies or asks, and it allows nothing. None: it cannot be read.
"""


@dataclass(slots=True)
class PermissionDecision:
    """Whether a call runs, is asked for or is denied, and why."""

    behavior: PermissionBehavior
    message: str
    """A sentence for people and models."""
    decision_reason: str | None = None
    suggested_rules: Sequence[PermissionRule] | None = None
    """Rules that the user may accept with this call, the narrowest first. Each of them would have allowed it."""
    bypass_immune: bool = False
    """Of a tool that asks because of a danger: no rule allows the call instead; only `bypass` does."""
    rule: PermissionRule | None = None
    """The rule that decided; None where the tool or the mode did."""
    consent: Consent | None = None
    """How the tool wants the user to be asked; None for one that does not ask by itself."""
    question: str | None = None
    """The tool's template of the question, with `{name}` for arguments; None: it has none."""
    description: str = ""
    """What the tool says that it does."""
    failure: str = ""
    """What the model reads instead of a result: such a call runs nothing, whatever changes later; "": it can run."""

    @property
    def allows(self) -> bool:
        """Whether the call runs without a question."""
        return self.behavior is PermissionBehavior.ALLOW

    @property
    def asks(self) -> bool:
        """Whether the user has to consent first."""
        return self.behavior is PermissionBehavior.ASK

    @property
    def denies(self) -> bool:
        """Whether the call does not run at all."""
        return self.behavior is PermissionBehavior.DENY

    def asking(self, call: ToolCallBlock) -> ToolCallBlock:
        """Return the call as the user is asked about it: with the rules that they may accept."""
        rules = list(self.suggested_rules or ())
        return msgspec.structs.replace(call, state=ToolCallState.ASKING, suggested_rules=rules)

    @property
    def is_consent(self) -> bool:
        """Whether a rule or the mode agreed in the user's place; False where no question was due."""
        return self.allows and (self.rule is not None or self.consent is not None)
