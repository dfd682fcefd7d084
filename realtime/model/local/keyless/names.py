"""Find names in speech: the user's and the agent's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from realtime.model.local.keyless.utterance import utterance_of

DEFAULT_OWN_NAME = "Heart"

_WORD = r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ'’-]{0,40}"
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
_CORRECTED = re.compile(
    r"\b(?P<lead>no|nope|wrong|sorry|wait|actually|rather|or better|better|i mean|i meant|make that"
    r"|correction|scratch that|(?:(?:is|was)(?:n't|n’t| not)|not) [\w'’-]{1,20})\b[\s,.;:!—–-]{0,4}"
    r"(?P<named>(?:(?:wait|no|sorry|actually|please|but|it's|it’s|it is|that's|that’s|i'm|i’m|i am|i mean|i meant"
    rf"|my name is|make it|call me)[\s,]{{1,2}}){{0,4}})(?P<name>{_WORD})(?=\s*(?:$|[.,!?;]))",
    re.IGNORECASE,
)
"""A name that takes another's place: "Bob. No wait, Robert", "not Bob, it's Robert"."""
_AROUND_A_CORRECTION = re.compile(
    r"\b(?:no|nope|oh|well|hey|h+m+|u[hm]+|er|or|but|and|please|sorry|wait|actually|i said|i mean"
    r"|(?:it|that)(?:'s|’s| is|)|(?:i am|i'm|i’m)(?: called)?|my name|the name|you got (?:it|that|me) wrong)(?!\w)",
    re.IGNORECASE,
)
_NOT_CALLED = re.compile(r"\W{0,4}my name (?=(?:is|was)(?:n't|n’t| not)\b)", re.IGNORECASE)
FORGETS_NAME = re.compile(
    r"(?:(?:actually|no|please|ok|okay|can you|could you)\W{1,3}){0,5}"
    r"(?:forget|erase|delete) (?:my name|me\b|everything|all\b)",
    re.IGNORECASE,
)
_MET = re.compile(r"\bNice to meet you\b")
_ASKS_NAME = re.compile(r"\byour name\b|\bAnd you\?$")
_NAME_ALONE = re.compile(rf"^(?:(?:it's|it is|i'm|i am|im|i’m|that's|just|my name) )?({_WORD})[.!]?$", re.IGNORECASE)
NO_NAME = re.compile(
    r"a|an|the|same|usual|not|so|soon|asap|anytime|whenever|immediately|first|before|after|by|around|once|every|very|just|really|back|later|when|if|in|on|at|it|you|me|what|whatever|again|maybe"
    r"|yes|yeah|no|nope|hello|hi|hey|thanks|thank|bye|goodbye|help|stop|nothing|none|why|who|how|where"
    r"|cool|nice|wow|well"
    r"|lost|bored|sad|tired|back|new|old|looking|trying|talking|testing|calling|afraid|curious|serious|joking|kidding"
    r"|fine|good|great|okay|ok|sorry|sure|here|there|ready|done|happy|hungry|tired|going|gonna"
    r"|upon|called|away|out|off|up|over|into|onto|to|for|from|home|forth|down|together|between|during|through|under|forward"
    r"|often|usually|always|all|many|various|several|something|anything|everything|names|old-\w+|crazy|lucky|stupid"
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
        if FORGETS_NAME.match(text):
            return None
        is_short = len(text) <= _LONGEST_NAME_CHARS
        if not (_MAY_NAME.search(text) or _MET.search(before)) and not (
            is_short and before and _ASKS_NAME.search(before)
        ):
            continue
        found = sorted((*_CALLED.finditer(text), *_I_AM.finditer(text)), key=lambda match: match.start())
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
        named = [(match.start(1), match.end(1), match[1]) for match in found if _is_name(match, text)]
        denied = _NOT_CALLED.match(text)
        if not named and (denied or _MET.search(before)):
            named = [(-1, denied.end() if denied else 0, "")]
        for match in _CORRECTED.finditer(text):
            if named and _corrects(match, text[max(end for _, end, _ in named) : match.start()]):
                named.append((match.start("name"), match.end("name"), match["name"]))
        if name := max(named, default=(0, 0, ""))[2]:
            return name[0].upper() + name[1:]
    return None


def _is_name(match: re.Match[str], text: str) -> bool:
    """Whether a word is a name: "call me tomorrow" has none."""
    if NO_NAME.fullmatch(match[1]):
        return False
    if not match[0].lower().startswith("call"):
        return True
    said = utterance_of(text)
    at = said.place(match.start(1))
    return not any(span.start <= at < span.end for span in (*said.days, *said.times))


def _corrects(match: re.Match[str], between: str) -> bool:
    """Whether a name corrects the one before it; after a bare "no" it needs its capital."""
    is_name = match["name"][0].isupper() or (match["named"] and not match["name"].endswith("ing"))
    is_next = not re.search(r"\w", _AROUND_A_CORRECTION.sub("", between))
    return bool(is_name) and is_next and not NO_NAME.fullmatch(match["name"])


def own_name(instructions: str, agent_name: str = "") -> str:
    """Return the agent's name from the instructions.

    They say "Your name is Friday" or "You are Friday, ...". Else the name that it has in the program, if that has a
    capital ("Friday", not "agent"), else the built-in one.
    """
    match = _OWN_NAME.search(instructions) or _OWN_YOU_ARE.search(instructions)
    if match and not NO_NAME.fullmatch(match[1]):
        return match[1][0].upper() + match[1][1:]
    return agent_name if agent_name[:1].isupper() else DEFAULT_OWN_NAME
