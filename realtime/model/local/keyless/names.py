"""Find names in speech: the user's and the agent's."""

from __future__ import annotations

import re
from collections.abc import Sequence

DEFAULT_OWN_NAME = "Heart"

_WORD = r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ'’-]*"
_CALLED = re.compile(rf"\b(?:my name(?:'s|’s| is)|call me|i am called|i'm called)\s+({_WORD})", re.IGNORECASE)
# After a bare "I'm", only a capital distinguishes a name from a state ("I'm fine"), and no adjective may follow.
_I_AM = re.compile(
    r"\b(?:I'm|I’m|I am|[Tt]his is)\s+([A-ZÀ-Ý][A-Za-zÀ-ÿ'’-]+)"
    r"(?=\s*(?:$|[.,!?;])|\s+(?:and|from|here|speaking|by)\b)"
)
# Recognisers without capitals: a greeting before it, and nothing behind.
_HELLO_I_AM = re.compile(
    rf"^(?:hello|hi|hey)(?: there)?,? (?:i'm|i’m|i am|im|this is|it's) ({_WORD})[.!]?$", re.IGNORECASE
)
_MAY_NAME = re.compile(r"name|call|I'm|I’m|I am|[Tt]his is|^\s*(?:hello|hi|hey)\b", re.IGNORECASE)
_LONGEST_NAME_CHARS = 40
_ASKS_NAME = re.compile(r"\byour name\b|\bAnd you\?$")
_NAME_ALONE = re.compile(rf"^(?:(?:it's|it is|i'm|i am|im|i’m|that's|just|my name) )?({_WORD})[.!]?$", re.IGNORECASE)
_NO_NAME = re.compile(
    r"a|an|the|not|so|very|just|really|back|later|when|if|in|on|at|it|you|me|what|whatever|again|maybe"
    r"|yes|yeah|no|nope|hello|hi|hey|thanks|thank|bye|goodbye|help|stop|nothing|none|why|who|how|where"
    r"|cool|nice|wow|well"
    r"|lost|bored|sad|tired|back|new|old|looking|trying|talking|testing|calling|afraid|curious|serious|joking|kidding"
    r"|fine|good|great|okay|ok|sorry|sure|here|there|ready|done|happy|hungry|tired|going|gonna"
    r"|american|british|english|german|french|spanish|italian|chinese|japanese|indian|russian",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(r"\b(?:your name is|you are called|you're called)\s+[\"'“]?(\w+)", re.IGNORECASE)
_OWN_YOU_ARE = re.compile(r"\b[Yy]ou are ([A-Z][a-z]+)\b(?=[,.]|\s+the\b)")


def learned_name(said: Sequence[str], after: Sequence[str] = ()) -> str | None:
    """Return the name that the user gave last, with a capital; None without one.

    `said` is oldest first; `after` is what the agent had said before each of it: a word alone is a name where the agent
    has asked for one.
    """
    asked = [*after] if after else [""] * len(said)
    for text, before in zip(reversed(said), reversed(asked), strict=True):
        is_short = len(text) <= _LONGEST_NAME_CHARS
        if not _MAY_NAME.search(text) and not (is_short and before and _ASKS_NAME.search(before)):
            continue
        found = [*_CALLED.finditer(text), *_I_AM.finditer(text)]
        if not found and (hello := _HELLO_I_AM.match(text.strip())):
            found = [hello]
        if (
            not found
            and is_short
            and before
            and _ASKS_NAME.search(before)
            and (alone := _NAME_ALONE.match(text.strip()))
        ):
            found = [alone]
        for match in found:
            if not _NO_NAME.fullmatch(match[1]):
                return match[1][0].upper() + match[1][1:]
    return None


def own_name(instructions: str, agent_name: str = "") -> str:
    """Return the agent's name from the instructions.

    They say "Your name is Friday" or "You are Friday, ...". Else the name that it has in the program, if that has a
    capital ("Friday", not "agent"), else the built-in one.
    """
    match = _OWN_NAME.search(instructions) or _OWN_YOU_ARE.search(instructions)
    if match and not _NO_NAME.fullmatch(match[1]):
        return match[1][0].upper() + match[1][1:]
    return agent_name if agent_name[:1].isupper() else DEFAULT_OWN_NAME
