"""The rules and the mode in force."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from realtime.message import PermissionRule
from realtime.options import check_fields

Rules = dict[str, list[PermissionRule]]
"""Rules by the name of their tool."""


class PermissionMode(StrEnum):
    """What happens to calls that no rule is about; each value equals its text.

    Rules that deny and ask hold in every mode. A tool that is declared without `confirm` runs without a question,
    except in `explore`.
    """

    DEFAULT = "default"
    """The user is asked."""
    ACCEPT_EDITS = "accept_edits"
    """As `default`; files in the working directories may be changed without a question (`PathPermissions`)."""
    EXPLORE = "explore"
    """What only reads runs, everything else is denied, whatever rules allow it."""
    BYPASS = "bypass"
    """Everything runs, also what a tool itself finds dangerous."""
    DONT_ASK = "dont_ask"
    """As `accept_edits`, for calls without anyone to ask: instead of a question there is a denial."""


@dataclass(frozen=True, slots=True)
class AdditionalWorkingDirectory:
    """A folder whose files may be changed without a question.

    That is in the modes `accept_edits` and `dont_ask`.
    """

    path: str
    source: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(slots=True)
class PermissionContext:
    """The mode and the rules in force.

    Working directories are by path, rules by the name of their tool.
    """

    mode: PermissionMode = PermissionMode.DEFAULT
    working_directories: dict[str, AdditionalWorkingDirectory] = field(default_factory=dict)
    allow_rules: Rules = field(default_factory=dict)
    deny_rules: Rules = field(default_factory=dict)
    ask_rules: Rules = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self)
        self.mode = PermissionMode(self.mode)
