"""Claims without a verb of the deed: "you're all set", "your pizza is on its way", "it's on your calendar"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from realtime.turn.claim_words.english import word_set


@dataclass(frozen=True, slots=True)
class State:
    """What a sentence says of how things are now."""

    families: frozenset[str] = frozenset()
    """Those whose deed it may be; empty: any."""
    nouns: Literal["", "deeds", "all"] = ""
    """Which nouns of the tool must be in the words."""
    words: frozenset[str] = frozenset()
    """Words of which one must be there; empty: any will do."""
    is_started: bool = False
    is_generic: bool = False
    """Whether it may mean whatever was asked for."""
    evidence: frozenset[str] = frozenset()
    """Words of a result that tell the same."""


_TAIL = r"(?: (?:now|then|for|at|on|to|and|see|you|as)\b.*)?$"

_MAKING = word_set("book order remind schedule report note create subscribe reset connect hire")
"""Families whose deed leaves a thing behind."""

_STATES: tuple[tuple[re.Pattern[str], State], ...] = (
    (
        re.compile(
            r"^(?:(?:it|that|this|everything) is |everything has been )?(?:all )?"
            rf"(?:done|taken care of|sorted out|arranged|handled|good to go){_TAIL}"
        ),
        State(is_generic=True),
    ),
    (re.compile(rf"^(?:it is |that is |everything is )?all (?:sorted|settled){_TAIL}"), State(is_generic=True)),
    (re.compile(rf"^(?:you are |it is |that is |everything is )?(?:now )?all set{_TAIL}"), State(is_generic=True)),
    (re.compile(rf"^you are (?:now )?(?:set for|good to go)\b{_TAIL}"), State(is_generic=True)),
    (
        re.compile(r"^consider (?:it|that) (?:done|handled|sorted|settled)\b(?!.*\b(?:if|unless|when|once)\b)"),
        State(is_generic=True),
    ),
    (
        re.compile(
            r"^(?:you are|your name is) (?:now |all )*(?:in|down|confirmed|on the list) (?:for|on|at)\b"
            r"(?! an? (?:treat|surprise|shock|wait|ride))"
        ),
        State(word_set("book subscribe schedule"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?:i|we) (?:just |now )?(?:have|have got|got|have put|put) (?:you|your name) "
            r"(?:all )?(?:down|in|confirmed) (?:for|at|on)\b"
        ),
        State(word_set("book subscribe schedule"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?!you )(?:the|your|that|this|his|her|their)? ?(?:[\w']+ ){0,4}(?:is|are) (?:now |all |both )*"
            r"(?:complete|final|done|through|in place|in the system|on file|on record)\b(?! as\b)"
        ),
        State(nouns="deeds", evidence=frozenset({"complete", "completed", "confirmed", "done"})),
    ),
    (
        re.compile(r"^(?:your|the) (?:order|request|application|complaint) is (?:now )?in\b(?! (?:the|front|transit))"),
        State(nouns="deeds"),
    ),
    (
        re.compile(
            r"^(?!i |we )(?:the|your|that|this)? ?(?:[\w']+ ){0,4}(?:has |have )?(?:just |now )?"
            r"(?:gone|went) (?:through|out|in)\b"
        ),
        State(nouns="deeds", evidence=frozenset({"sent", "completed", "complete"})),
    ),
    (
        re.compile(
            r"^(?!i |we |you )(?:[\w']+ ){1,5}(?:has|have|is|are) (?:just |now )*"
            r"(?:gone|flown|winging|winged) "
            r"(?:\w+ )?to (?!spam|junk|waste|bed|work|the wrong|voicemail)"
        ),
        State(word_set("pay message refund"), nouns="all", evidence=frozenset({"sent"})),
    ),
    (
        re.compile(
            r"^(?:the|your|that) (?:\w+ )?(?:text|message|email|mail|reply|invite) is (?:just )?(?:away|off|gone)$"
        ),
        State(word_set("message"), evidence=frozenset({"sent"})),
    ),
    (
        re.compile(r"^(?!i |we |you )(?:[\w']+ ){1,4}(?:has |have )?just left your account\b"),
        State(word_set("pay"), evidence=frozenset({"sent", "paid"})),
    ),
    (
        re.compile(r"^(?:it|that|the [\w ]{1,20}|your [\w ]{1,20}) is now with (?:the|your|our|their)\b"),
        State(nouns="all", evidence=frozenset({"sent", "submitted"})),
    ),
    (
        re.compile(r"^(?:it|that|the \w+|your [\w ]{1,20}) is (?:now )?live(?: now)?$"),
        State(word_set("remind apply report schedule"), nouns="all", evidence=frozenset({"active", "live"})),
    ),
    (
        re.compile(
            r"^you are (?:now on the (?:\w+ )?list|on the (?:\w+ )?list now|(?:now )?on (?:the|our) newsletter)\b"
        ),
        State(word_set("subscribe"), evidence=frozenset({"subscribed"})),
    ),
    (
        re.compile(
            r"^(?!i |we |you )(?:[\w']+ ){1,4}is "
            r"(?:now in your (?:\w+ )?|in your (?:\w+ )?(?=\w+ now\b))(?:calendar|list|notes?|diary)\b"
        ),
        State(word_set("note remind schedule")),
    ),
    (re.compile(r"^(?:your |the )?(?:\w+ )?(?:\w+) (?:complete|confirmed)$"), State(nouns="deeds")),
    (
        re.compile(r"^(?!i |we )(?:[\w']+ ){1,5}(?:just )?(?:has gone|have gone|went) out\b"),
        State(word_set("pay message refund"), nouns="all", evidence=frozenset({"sent"})),
    ),
    (
        re.compile(r"^(?:the|your|that|this) (?:\w+ ){1,3}is (?:now )?(?:off|history|gone)$"),
        State(word_set("cancel"), nouns="all", words=word_set("order booking reservation subscription appointment")),
    ),
    (re.compile(r"^(?:your|the) (?:\w+ ){1,3}is (?:now )?guaranteed\b"), State(word_set("book order"), nouns="all")),
    (re.compile(r"^you have (?:now )?(?:got )?your money back\b"), State(word_set("refund"))),
    (
        re.compile(r"^(?:your|the) (?:\w+ ){1,3}is (?:now up to date|up to date now)\b"),
        State(word_set("update"), nouns="all"),
    ),
    (re.compile(r"^(?:it|the \w+|your \w+) is in (?:his|her|their) inbox\b"), State(word_set("message"))),
    (re.compile(r"^you (?:have|have got) (?:an?|your) (?:\w+ ){1,4}now$"), State(_MAKING, nouns="all")),
    (
        re.compile(r"^(?:it|that|this|everything) is (?:now )?(?:in|on) your (?:\w+ )?(?:calendar|list|notes|diary)\b"),
        State(word_set("note remind schedule")),
    ),
    (
        re.compile(
            r"^(?:there (?:is|are) now|(?:i|we) have now|you (?:now have|have now)(?: got)?) (?:an?|the|your)\b"
        ),
        State(_MAKING, nouns="all"),
    ),
    (
        re.compile(r"^(?:\w+ ){1,4}(?:is|are) (?:now |already )?on (?:its|their|the) way\b"),
        State(nouns="all", is_started=True, evidence=frozenset({"way", "shipped", "sent", "transit", "delivery"})),
    ),
    (
        re.compile(
            r"^(?:it|that|(?:the|your|those|these) [\w ]{1,30}) (?:is|are) "
            r"(?:now gone|gone now|gone for good|now empty|empty now)\b"
        ),
        State(word_set("delete")),
    ),
    (
        re.compile(
            r"^(?:the |your |all )?(?:[\w ]{0,30})"
            r"(?:is|are) (?:(?:now|all) (?:on|off|out)|(?:on|off|out) now)\b(?! your)"
        ),
        State(word_set("switch"), nouns="all"),
    ),
    (
        re.compile(r"^(?:that|the|this) (?:\w+ ){1,3}is (?:now |all )?yours\b"),
        State(word_set("book order"), nouns="all"),
    ),
)


def state_of(texts: Sequence[str]) -> State | None:
    """Return what the words of a clause say of how things are; None where they claim nothing."""
    joined = " ".join(texts)
    for pattern, state in _STATES:
        if pattern.search(joined) and (not state.words or state.words & {*texts}):
            return state
    return None
