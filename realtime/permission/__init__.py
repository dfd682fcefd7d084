"""Permissions: rules and modes that decide whether a tool call runs, is asked for, or is denied.

Deny beats ask, ask beats allow. What the patterns of rules mean is in `realtime.permission.pattern`.
"""

from realtime.message import PermissionBehavior, PermissionRule
from realtime.permission.context import AdditionalWorkingDirectory, PermissionContext, PermissionMode
from realtime.permission.decision import Consent, Match, PermissionDecision
from realtime.permission.engine import PermissionEngine
from realtime.permission.tools import PathPermissions, PrefixPermissions, ToolPermissions

__all__ = [
    "AdditionalWorkingDirectory",
    "Consent",
    "Match",
    "PathPermissions",
    "PermissionBehavior",
    "PermissionContext",
    "PermissionDecision",
    "PermissionEngine",
    "PermissionMode",
    "PermissionRule",
    "PrefixPermissions",
    "ToolPermissions",
]
