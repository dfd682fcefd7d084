"""Claims without a verb of the deed: "you're all set", "your pizza is on its way", "it's on your calendar"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from realtime.turn.claim_words.english import NUMBERS, word_set


@dataclass(frozen=True, slots=True)
class State:
    """What a sentence says of how things are now."""

    families: frozenset[str] = frozenset()
    """Those whose deed it may be; empty: any."""
    nouns: Literal["", "deeds", "all", "own"] = ""
    """Which nouns of the tool must be in the words."""
    words: frozenset[str] = frozenset()
    """Words of which one must be there; empty: any will do."""
    is_started: bool = False
    is_generic: bool = False
    """Whether it may mean whatever was asked for."""
    evidence: frozenset[str] = frozenset()
    """Words of a result that tell the same."""


_TAIL = (
    r"(?: (?:now|then|for|at|on(?! your (?:side|end|part))|to|and|see|you|as|until|tomorrow|tonight|today|from)\b.*)?$"
)
_FRESH = (
    r"(?=.*\b(?:now|instead|as of (?:now|today)|for you|from now on|from (?:me|us)|courtesy of me|just|"
    r"(?:like|as) (?:you )?(?:asked|wanted|wished|requested|promised|discussed))\b)"
)
"""What tells that it has just come about."""
_IS_FRESH = re.compile(f"^{_FRESH}")
_THING = r"(?!i |we |you |there |if )(?:[\w']+ ){1,6}"
_SENT = word_set("message pay refund apply order report upload")

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
    (
        re.compile(rf"^(?:you are |it is |that is |everything is )?(?:now )?all set(?: with .{0, 80})?{_TAIL}"),
        State(is_generic=True),
    ),
    (re.compile(rf"^you are (?:now )?(?:set for|good to go)\b{_TAIL}"), State(is_generic=True)),
    (
        re.compile(r"^consider (?:it|that) (?:done|handled|sorted|settled)\b(?!.*\b(?:if|unless|when|once)\b)"),
        State(is_generic=True),
    ),
    (
        re.compile(
            r"^(?:you (?:and \w+ )?are|your name is) (?:now |all )*(?:in|down|confirmed|on the (?:list|books)|"
            r"in the book) (?:for|on|at)\b"
            r"(?! an? (?:treat|surprise|shock|wait|ride))"
        ),
        State(word_set("book subscribe schedule"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?:i|we) (?:just |now )?(?:have|have got|got|have put|put) (?:you|your name) "
            r"(?:all )?(?:down|in|confirmed|on the list|on the books) (?:for|at|on)\b"
        ),
        State(word_set("book subscribe schedule"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?!you )(?:the|your|that|this|his|her|their)? ?(?:[\w']+ ){0,6}(?:is|are) (?:now |all |both )*"
            r"(?:complete|final|done(?! by\b)|through|in place|in the system|on file|on record)\b(?! as (?:usual|"
            r"always|before|ever)\b)"
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
        State(
            word_set("pay message refund apply donate repair print refill"), nouns="all", evidence=frozenset({"sent"})
        ),
    ),
    (
        re.compile(
            r"^(?:the|your|that) (?:\w+ )?(?:text|message|email|mail|reply|invite) is (?:just )?(?:away|off|gone)$"
        ),
        State(word_set("message"), evidence=frozenset({"sent"})),
    ),
    (
        re.compile(r"^(?!i |we |you )(?:[\w']+ ){1,4}(?:has |have )?(?:just )?left your account\b"),
        State(word_set("pay"), nouns="all", evidence=frozenset({"sent", "paid"})),
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
        re.compile(rf"^you are {_FRESH}(?:now )?on (?:the|our) (?:\w+ )?(?:list|newsletter|mailing)\b"),
        State(word_set("subscribe"), evidence=frozenset({"subscribed"})),
    ),
    (
        re.compile(
            r"^(?!i |we |you )(?:[\w']+ ){1,4}is "
            r"(?:now in your (?:\w+ )?|in your (?:\w+ )?(?=\w+ now\b))(?:calendar|list|notes?|diary)\b"
        ),
        State(word_set("note remind schedule")),
    ),
    (re.compile(r"^(?:your |the )?(?:\w+ ){0,2}(?:\w+) (?:complete|confirmed|successful)$"), State(nouns="deeds")),
    (
        re.compile(r"^(?!i |we )(?:[\w']+ ){1,5}(?:just )?(?:has gone|have gone|went) out\b"),
        State(word_set("pay message refund"), nouns="all", evidence=frozenset({"sent"})),
    ),
    (
        re.compile(r"^(?:the|your|that|this) (?:\w+ ){1,3}is (?:now )?(?:off|history|gone)$"),
        State(word_set("cancel"), nouns="all", words=word_set("order booking reservation subscription appointment")),
    ),
    (
        re.compile(r"^(?:your|the) (?:\w+ ){1,3}is (?:now )?(?:guaranteed|safe|secured)\b"),
        State(word_set("book order"), nouns="all"),
    ),
    (re.compile(r"^you have (?:now )?(?:got )?your money back\b"), State(word_set("refund"))),
    (
        re.compile(r"^(?:your|the) (?:\w+ ){1,3}is (?:now up to date|up to date now)\b"),
        State(word_set("update"), nouns="all"),
    ),
    (re.compile(r"^(?:it|the \w+|your \w+) is in (?:his|her|their) inbox\b"), State(word_set("message"))),
    (re.compile(r"^you (?:have|have got) (?:an?|your) (?:\w+ ){1,4}now$"), State(_MAKING, nouns="all")),
    (
        re.compile(
            r"^(?:it|that|this|everything) is (?:now )?(?:in|on) your (?:\w+ )?"
            r"(?:calendar|list|notes?|diary)\b(?!.* from\b)"
        ),
        State(word_set("note remind schedule")),
    ),
    (
        re.compile(
            r"^(?:there (?:is|are) now|(?:i|we) have now|you (?:now have|have now)(?: got)?) (?:an?|the|your)\b"
        ),
        State(_MAKING, nouns="all"),
    ),
    (
        re.compile(
            rf"^{_THING}(?:is|are) (?:now |already )?on (?:order|its way|their way|the way)\b(?! (?:home|out|down|"
            rf"up|here|to the (?:shop|office|restaurant)))"
        ),
        State(nouns="all", is_started=True, evidence=frozenset({"way", "shipped", "sent", "transit", "delivery"})),
    ),
    (
        re.compile(
            r"^(?:it|that|(?:the|your|those|these|both|all) [\w ]{1,30}) (?:is|are) "
            r"(?:now gone|gone now|gone for good|now empty|empty now)\b"
        ),
        State(word_set("delete")),
    ),
    (
        re.compile(rf"^{_FRESH}{_THING}(?:is|are) (?:now |all )*(?:on|off|out)\b(?! (?:the|your|me|us|a)\b)"),
        State(word_set("switch"), nouns="all"),
    ),
    (
        re.compile(rf"^{_THING}(?:is|are) (?:now |all )*yours\b"),
        State(word_set("book order refund schedule move"), nouns="all"),
    ),
    (
        re.compile(rf"^{_THING}(?:is|are) (?:now |all |both )*(?:gone|history|toast|no more|dead)(?: now| for good|$)"),
        State(word_set("delete"), nouns="all"),
    ),
    (
        re.compile(rf"^{_THING}(?:is|are) (?:now |all |both )*(?:gone|history|no more)(?: now| for good|$)"),
        State(
            word_set("cancel"),
            nouns="all",
            words=word_set("order booking reservation subscription appointment dinner class trip"),
        ),
    ),
    (re.compile(rf"^{_THING}(?:is|are) now (?:all )?yours\b"), State(word_set("book order schedule move"))),
    (re.compile(rf"^{_THING}(?:is|are) back (?:with you|on your|in your)\b"), State(word_set("refund"), nouns="all")),
    (
        re.compile(
            r"^(?:it|that|this) (?:is|has) (?:now |just )*(?:gone|off|away)(?: (?:off|out|over|through|across))?"
            r"(?: to (?!the wrong|spam|bed|work)\b.*)?$"
        ),
        State(_SENT),
    ),
    (re.compile(r"^(?:it|that) is (?:now )?(?:in|on) the (?:\w+ )?(?:calendar|diary)$"), State(word_set("schedule"))),
    (re.compile(rf"^{_THING}is (?:now )?on for\b"), State(word_set("remind"), nouns="deeds")),
    (re.compile(rf"^{_FRESH}{_THING}is (?:now )?with (?:them|the|our|him|her)\b"), State(_SENT, nouns="all")),
    (
        re.compile(rf"^{_THING}(?:has|have) gone (?:through|over|off|in) to the (?:kitchen|restaurant)\b"),
        State(word_set("order")),
    ),
    (
        re.compile(rf"^{_FRESH}{_THING}(?:is|are) (?:now )?off\b(?! (?:the (?!system|books|list)|your)\b)"),
        State(word_set("cancel"), nouns="all"),
    ),
    (re.compile(rf"^{_FRESH}{_THING}is (?:now )?(?:dead|useless)\b"), State(word_set("block"), nouns="all")),
    (re.compile(rf"^{_THING}no longer exists?\b"), State(word_set("cancel delete"), nouns="all")),
    (
        re.compile(r"^(?:it|that) is (?:all |now )*in(?: now)?$"),
        State(word_set("apply schedule remind order note report")),
    ),
    (re.compile(rf"^(?:the |your |that ){_THING}is (?:all |now )*in(?: now| with .*)?$"), State(nouns="deeds")),
    (
        re.compile(
            rf"^{_FRESH}(?:the |your |that |it |a |an )?{_THING}(?:is|are) (?:now )?"
            r"(?:open|active|live|in place|running|up and running|registered|set|saved|stored)\b"
        ),
        State(word_set("report remind subscribe apply schedule renew note"), nouns="all"),
    ),
    (
        re.compile(
            rf"^{_FRESH}{_THING}is (?:now )?(?:up|down|back)? ?(?:to|at|on) (?:\d|\w+teen\b|twenty|thirty|ten|eleven|"
            rf"twelve)"
        ),
        State(word_set("adjust"), nouns="all"),
    ),
    (
        re.compile(rf"^{_THING}is (?:now )?(?:up|down) to (?:\d|\w+teen\b|twenty)"),
        State(word_set("adjust"), nouns="all"),
    ),
    (re.compile(rf"^(?:the |your )?{_THING}(?:is|are) up and running\b"), State(nouns="deeds")),
    (
        re.compile(
            r"^your (?:\w+ ){1,3}is now (?:on|at) (?!.*\bfloor\b)(?:the )?(?:\w+day|tomorrow|noon|\d|half|quarter|"
            r"\w+th)\b"
        ),
        State(word_set("move")),
    ),
    (re.compile(rf"^your (?:\w+ ){{1,3}}is now at (?:{'|'.join(sorted(NUMBERS))})\b"), State(word_set("move"))),
    (re.compile(r"^your (?:\w+ ){1,3}is now\b"), State(word_set("update"), nouns="all")),
    (
        re.compile(rf"^{_THING}(?:now )?(?:has|have) (?:now )?your name on (?:it|them)\b"),
        State(word_set("book"), nouns="all"),
    ),
    (
        re.compile(
            rf"^{_FRESH}(?:i|we) have (?:got )?(?:an?|the|your) (?:\w+ ){{1,4}}(?:on|off|open|live|ready|up|in)\b"
        ),
        State(_MAKING | {"switch"}, nouns="all"),
    ),
    (
        re.compile(r"^your (?:\w+ ){1,3}is (?:now )?(?:on )?\w{3,6}day\b(?=.* (?:now|instead)\b)"),
        State(word_set("move")),
    ),
    (re.compile(rf"^{_THING}is now (?:on|at|for|with)\b"), State(word_set("move apply report"), nouns="all")),
    (
        re.compile(
            rf"^{_FRESH}{_THING}is (?:now |all |both )*(?:safely |down for .{1, 40} )?(?:in|on) (?:the|your|"
            rf"a) (?:\w+ )?(?:calendar|diary|notes?|list|agenda)\b"
        ),
        State(word_set("note remind schedule")),
    ),
    (re.compile(rf"^{_THING}(?:has|have) (?:both |all )?landed\b"), State(_SENT, nouns="all")),
    (
        re.compile(
            rf"^{_THING}(?:(?:has|have) )?(?:got|received|had|has|have) "
            r"(?:an?|the|your|his|her|their) .*\bfrom (?:me|us)\b"
        ),
        State(_SENT, nouns="all"),
    ),
    (
        re.compile(
            rf"^{_THING}(?:has|have|is) (?:just )?(?:gone|made it) (?:in|into|on|onto|down in) (?:the|"
            rf"your) (?:\w+ )?(?:calendar|diary|notes?|list)\b"
        ),
        State(word_set("note remind schedule")),
    ),
    (re.compile(rf"^{_THING}(?:just|now) went (?:straight |over |out |off )?(?:to|into)\b"), State(_SENT, nouns="all")),
    (
        re.compile(rf"^{_THING}went (?:out |off |in |over |through )?(?:just now|a (?:minute|moment|second) ago)\b"),
        State(_SENT, nouns="all"),
    ),
    (re.compile(rf"^{_THING}(?:is|are) (?:now |just )*off to\b"), State(_SENT, nouns="all")),
    (re.compile(r"^you no longer have\b"), State(word_set("cancel"), nouns="all")),
    (
        re.compile(
            r"^you are no longer (?:booked|expected|down|on|an? \w*member|an? subscriber|"
            r"subscribed|enrolled|signed up)\b"
        ),
        State(word_set("cancel")),
    ),
    (
        re.compile(rf"^(?:your|the) {_THING}now (?:has|have|shows?|says|reads|holds|lists)\b"),
        State(word_set("schedule note remind update"), nouns="all"),
    ),
    (
        re.compile(r"^(?:it|that|(?:the|your) (?:\w+ ){1,4})is now an? (?:\w+ )?\w+$"),
        State(word_set("note remind"), nouns="deeds"),
    ),
    (re.compile(r"^that is (?:the|your) (?:\w+ ){1,4}(?:done|sorted|dealt with|taken care of)$"), State(nouns="all")),
    (re.compile(r"^you are (?:now )?out of (?:the|your|that)\b"), State(word_set("cancel"), nouns="all")),
    (
        re.compile(
            r"^(?:i|we) (?:have )?(?:just )?(?:got|set|have) (?:the|your) (?:\w+ ){1,3}"
            r"(?:running|going|started|up and running)\b"
        ),
        State(word_set("play heat water clean wash activate switch remind"), nouns="all"),
    ),
    (re.compile(rf"^{_THING}(?:is|are) on (?:the|your) (?:\w+ )?list$"), State(word_set("note"))),
    (
        re.compile(
            r"^(?:(?:i|we) have (?:now )?(?:got )?(?:[\w']+ ){1,3}on|(?!some)(?:[\w']+ ){1,3}is (?:now )?on) the "
            r"(?:line|phone)(?: now| for you)?$|^you are (?:now )?through to\b"
        ),
        State(word_set("call connect")),
    ),
    (
        re.compile(
            rf"^{_FRESH}{_THING}(?:now )?(?:comes|arrives|is (?:now )?(?:coming|arriving|due)) (?:now )?(?:on |at )?"
            r"(?:the \w+|\w+day|tomorrow|\d|noon|half)\b"
        ),
        State(word_set("move"), nouns="all"),
    ),
    (
        re.compile(rf"^{_FRESH}your (?:post|mail|letters|parcels|bills|invoices) (?:now )?(?:goes|go|is going) to\b"),
        State(word_set("update")),
    ),
    (re.compile(r"^(?:and )?gone$"), State(word_set("delete cancel"))),
    (re.compile(rf"^{_FRESH}you are (?:now )?(?:on|in) (?:the|our)\b"), State(nouns="own")),
    (re.compile(r"^you are now an? (?:\w+ )?subscriber\b"), State(word_set("subscribe"))),
    (re.compile(r"^there is an? (?:\w+ ){1,5}on (?:its|the) way\b"), State(nouns="all", is_started=True)),
    (re.compile(rf"^{_FRESH}{_THING}(?:just )?came on\b"), State(word_set("switch"), nouns="all")),
    (re.compile(r"^you have (?:got )?(?:[\w']+ ){1,6}now$"), State(word_set("switch"), nouns="all")),
    (
        re.compile(rf"^{_FRESH}{_THING}(?:has|have) (?:all )?(?:now )?(?:got )?(?:your|his|her|their|its|the|that)\b"),
        State(_SENT | {"update"}, nouns="all", evidence=frozenset({"sent", "received"})),
    ),
    (re.compile(r"^the kitchen has (?:got )?(?:your|the)\b"), State(word_set("order"), nouns="all")),
    (
        re.compile(rf"^{_THING}(?:has|have) (?:got )?you (?:down|in|booked|confirmed|pencilled)\b"),
        State(word_set("book schedule move"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?:they|the \w+|[\w']+) (?:is|are) (?:now )?expecting (?:you|the \w+ of you)(?: (?:at|on|for)\b|$)"
        ),
        State(word_set("book"), evidence=frozenset({"booked", "reserved", "confirmed"})),
    ),
    (
        re.compile(
            r"^(?:as of now )?you (?:now (?:have|hold)|(?:have )?(?:just )?got (?=.*\bjust now\b)|"
            r"have (?:got )?(?=an? new\b)|hold (?=an?\b)|(?:have|hold) (?:got )?(?:yourself|now)|"
            r"have (?:just )?had (?=.* from (?:us|me)\b)|"
            r"(?:have|hold) (?:got )?(?=.*\b(?:now|as of now)\b))"
        ),
        State(_MAKING | {"refund"}, nouns="all"),
    ),
    (re.compile(rf"^{_FRESH}there (?:is|are) (?:now )?(?:an?|your|the)\b"), State(_MAKING | {"block"}, nouns="all")),
    (re.compile(rf"^{_FRESH}we have (?:now )?(?:got )?your new\b"), State(word_set("update"), nouns="all")),
    (
        re.compile(r"^(?:i|we|you) have (?:got )?(?:[\w']+ ){1,8}(?:coming|on order|on (?:its|their|the) way)\b"),
        State(word_set("order book hire"), nouns="all", is_started=True),
    ),
    (re.compile(r"^there (?:goes|went) (?:the|your|his|her)\b"), State(_SENT | {"cancel"}, nouns="all")),
    (re.compile(r"^there is your \w+$"), State(word_set("switch"), nouns="all")),
    (
        re.compile(
            r"^(?:off|out|in|into|away|over|through|back|on|onto|up|down) (?:(?:to|the|your) .*)?(?:it|they) "
            r"(?:went|goes|go)\b"
        ),
        State(_SENT | word_set("note delete cancel switch open close water clean wash print")),
    ),
    (
        re.compile(r"^(?:off|out|in|into|away|over|through|back|onto)\b.* went\b"),
        State(_SENT | word_set("schedule note remind delete"), nouns="all"),
    ),
    (re.compile(r"^that is (?:[\w']+ ){1,4}(?:off|over|across|away|back|gone) to\b"), State(_SENT, nouns="all")),
    (
        re.compile(
            r"^(?!leave |keep |turn |put |switch |want |a |an |any |no |with |by )(?:[\w']+ ){0,4}(?:lights?|lamp|"
            r"tv|radio|fan) (?:on|off)(?: (?:now|downstairs|upstairs|for you))?$"
        ),
        State(word_set("switch"), nouns="all"),
    ),
)


_LASTING = tuple((one, state) for one, state in _STATES if not one.pattern.startswith(f"^{_FRESH}"))
"""Those that need nothing that tells of a change."""


def states_of(texts: Sequence[str]) -> Iterator[State]:
    """Yield how things may be by the words of a clause."""
    joined = " ".join(texts)
    for pattern, state in _STATES if _IS_FRESH.match(joined) else _LASTING:
        if pattern.match(joined) and (not state.words or state.words & {*texts}):
            yield state


def is_fresh(texts: Sequence[str]) -> bool:
    """Whether the words tell that something has just come about."""
    return _IS_FRESH.match(" ".join(texts)) is not None
