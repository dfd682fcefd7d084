"""What a call told about consent and claims, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from realtime.event.server import ServerCustomEvent


class Deed(NamedTuple):
    """What was told, and the words for it."""

    what: str
    words: str


def deed_of(event: ServerCustomEvent) -> Deed | None:
    """Return a receipt, a permission or a claim in words; None for other events."""
    match event.name:
        case "consent_receipt":
            return Deed("consent", _receipt(event.value))
        case "permission_updated":
            return Deed("permissions", _permissions(event.value))
        case "claim_withheld":
            heard = "after it was heard" if event.value.get("heard") else "before it was heard"
            return Deed("claim corrected", f'"{event.value.get("sentence", "")}", {heard}')
        case _:
            return None


def _receipt(value: Mapping[str, object]) -> str:
    answer, by, words = (str(value.get(name) or "") for name in ("answer", "answered_by", "words"))
    given = f'{answer} by {by}: "{words}"' if words else f"{answer} by {by}"
    whole = "" if value.get("heard_whole") or by != "voice" else ", question not heard to its end"
    return f'{value.get("tool", "")}: "{value.get("question", "")}" {given}{whole}, then {value.get("done", "")}'


def _permissions(value: Mapping[str, object]) -> str:
    parts = [f"{what} {words}" for what in ("added", "removed") if (words := _rules(value.get(what)))]
    return f"{', '.join(parts) or 'changed'}, mode {value.get('mode', '')}, by {value.get('by', '')}"


def _rules(rules: object) -> str:
    told = [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []
    return ", ".join(
        f"{rule.get('behavior')} {rule.get('tool_name')}"
        + (f" ({rule['rule_content']})" if rule.get("rule_content") else "")
        for rule in told
    )
