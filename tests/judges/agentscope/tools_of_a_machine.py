"""Upstream's tools for files and a shell, as far as their permissions go: none of them does anything.

They rest on the permissions of this project: `PathPermissions`, `PrefixPermissions`, the suggestions, the folders. What
is only known here is which commands of a shell read, remove, or cannot be judged from their text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from realtime.message import PermissionBehavior, PermissionRule
from realtime.permission import (
    Match,
    PathPermissions,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
    PrefixPermissions,
    ToolPermissions,
)
from realtime.permission.tools import is_inside, rules_of

ALLOW, ASK = PermissionBehavior.ALLOW, PermissionBehavior.ASK
READS = ("ls", "pwd", "cat", "git status", "git diff", "git log")
CHANGES_FILES = ("mkdir", "touch", "rm", "rmdir", "cp", "mv", "sed")


class ToolBase:
    """Upstream's protocol of a tool, on the permissions of this project."""

    name = ""
    is_read_only = False
    permissions = ToolPermissions()

    async def check_permissions(
        self, tool_input: Mapping[str, Any], context: PermissionContext
    ) -> PermissionDecision | None:
        return self.permissions.check_permissions(tool_input, context)

    async def check_read_only(self, tool_input: Mapping[str, Any]) -> bool:
        return self.is_read_only or self.permissions.check_read_only(tool_input)

    async def match_rule(self, rule_content: str | None, tool_input: Mapping[str, Any]) -> Match:
        return self.permissions.match_rule(rule_content, tool_input)

    async def generate_suggestions(self, tool_input: Mapping[str, Any]) -> list[PermissionRule]:
        return rules_of(self.name, self.permissions.suggest(tool_input))


class Write(ToolBase):
    name = "Write"
    permissions = PathPermissions("file_path")


class Edit(Write):
    name = "Edit"


class Read(ToolBase):
    name = "Read"
    permissions = PathPermissions("file_path", reads=True)


class Glob(Read):
    name = "Glob"


class Grep(Read):
    name = "Grep"


class Bash(ToolBase):
    name = "Bash"
    permissions = PrefixPermissions("command")
    paths = PathPermissions("path")

    async def check_read_only(self, tool_input: Mapping[str, Any]) -> bool:
        command = str(tool_input["command"])
        parts = [" ".join(part.split()) for part in re.split(r"&&|\|\||;|\|", command)]
        reads = all(any(part == one or part.startswith(f"{one} ") for one in READS) for part in parts)
        return reads and not re.search(r"[>`]|\$\(", command)

    async def check_permissions(
        self, tool_input: Mapping[str, Any], context: PermissionContext
    ) -> PermissionDecision | None:
        command = str(tool_input["command"])
        if re.search(r"`|\$\(", command):
            return _danger("command_substitution: what runs is not known before")
        words = shlex.split(command)
        if words[0] == "rm" and any(re.fullmatch(r"/[^/]*/?|~/?|\*", word) for word in words[1:]):
            return _danger("Dangerous removal operation")
        if any(self.paths.is_risky(word) for word in words):
            return _danger("a file that may run code or hold secrets")
        targets = [word for word in words[1:] if not word.startswith("-")][words[0] == "sed" :]
        may_edit = context.mode in (PermissionMode.ACCEPT_EDITS, PermissionMode.DONT_ASK)
        is_edit = may_edit and words[0] in CHANGES_FILES and bool(targets)
        if is_edit and all(is_inside(target, context) for target in targets):
            return PermissionDecision(ALLOW, "all files are in a working directory")
        return None


def _danger(what: str) -> PermissionDecision:
    return PermissionDecision(ASK, what, f"Safety check: {what}", bypass_immune=True)
