"""Decides whether a tool call runs, is asked for or is denied.

The rules say that, and the tool says how to ask.
"""

from __future__ import annotations

import logging
from typing import Any

from realtime.errors import ENDS_OF_TASKS
from realtime.message import ToolCallBlock
from realtime.permission import PermissionBehavior, PermissionDecision, PermissionEngine
from realtime.tool.registered import RegisteredToolFunction

logger = logging.getLogger(__name__)


def decision_of(
    engine: PermissionEngine, tool: RegisteredToolFunction, arguments: dict[str, Any]
) -> PermissionDecision:
    """Return what an engine decides about a call with these arguments.

    Permissions of the program that fail deny the call.
    """
    try:
        decision = engine.decide(tool, tool.with_defaults(arguments))
    except ENDS_OF_TASKS:
        raise
    except BaseException as error:
        # The program's code: it must neither end the call nor let one run that it cannot judge.
        logger.error("the permissions of tool %s failed: %s", tool.name, type(error).__name__)
        failed_by = f"Its permissions failed: {type(error).__name__}"
        decision = PermissionDecision(PermissionBehavior.DENY, f"{tool.name} cannot be judged", failed_by)
    # A rule that is accepted with a call is of no use where the next call is asked for all the same.
    helps = decision.asks and decision.rule is None and not decision.bypass_immune
    decision.suggested_rules = decision.suggested_rules if helps else ()
    decision.consent, decision.question = tool.consent, tool.question
    decision.description = tool.json_schema["function"].get("description", "")
    return decision


def decision_of_failing(
    engine: PermissionEngine,
    call: ToolCallBlock,
    tool: RegisteredToolFunction | None,
    failure: str,
    arguments: dict[str, Any] | None = None,
) -> PermissionDecision:
    """Return what is decided about a call that cannot run; `arguments` are None where they are wrong.

    A rule denies it as any other; otherwise it fails. No one is asked about it.
    """
    arguments = (call.arguments or {}) if arguments is None else arguments
    fails = PermissionDecision(PermissionBehavior.ALLOW, f"this call of {call.name} fails by itself", failure=failure)
    try:
        if tool is None:
            decision = engine.decide_unasked(call.name, arguments)
        else:
            decision = engine.decide(tool, tool.with_defaults(arguments))
    except ENDS_OF_TASKS:
        raise
    except BaseException:
        # The program's code may expect other arguments; the call runs nothing in any case.
        return fails
    return decision if decision.denies and decision.rule is not None else fails
