"""What a verb is about without a noun of the tool: an amount, a person, a day."""

from __future__ import annotations

import re
from collections.abc import Sequence

from realtime.turn.claim_words.english import ADVERBS, LOOKING, NUMBERS, PRONOUNS, word_set
from realtime.turn.claim_words.forms import Hit, inflected, known_verbs
from realtime.turn.claim_words.grammar import Reading, gives

_COUNT = rf"(?:\d[\d,.]*+|(?:a|and|{'|'.join(sorted(NUMBERS))})\b)"
_SUM = re.compile(
    rf"(?:^|(?<!at|to|or) )(?:{_COUNT} ?){{0,6}}(?<!a )(?<!and )(?:{_COUNT})(?: (?:to|into|in|over|across|back|he|she|"
    rf"they|you)\b|$)"
)
"""An amount without its currency: "I sent Rob his thirty"."""
_BACK = re.compile(r"\bback (?:to|on|onto|into) (?:you|your|the card)\b|\bback to you\b")
_TO_TIME = re.compile(
    r"\b(?:to|into|until) (?:the |next |this )?(?:\w+day\b|tomorrow|\d|half|quarter|noon|midday|morning|afternoon|"
    r"evening|week|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+th\b|\w+ (?:\w+ )?slot)"
)
_A_DAY = re.compile(
    r"(?:(?:off|out|in|down) )?(?:the |your |next |this )?(?:\w{3,6}day|tomorrow|morning|afternoon|evening)s?\b"
)
_SUBSCRIBES = re.compile(r"(?:(?:i|we) )?you(?: (?:to|on|onto|for|up|as|just|now|by me)\b|$)")
_TO_SOMEBODY = re.compile(
    r"\bto (?:him|her|them|everyone|everybody|(?:your|the) \w+|(?:mr|mrs|ms|dr|miss)\b)|"
    r"^(?:him|her|them|everyone|everybody|your \w+|the \w+) (?:the|your|his|her|a|an|all)\b"
)
_LEVEL = re.compile(
    r"\bto (?:\d\d|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty(?:-\w+)?|thirty)\b"
    r"(?! (?:people|past|to|euro|dollar|pound))"
)
"""The heating is meant: "I've set upstairs to eighteen"."""
_OBTAINS = re.compile(
    r"\bmanaged to get (?:it|them|one|you|the|a|an)\b"
    r"|(?<!have )\bgot (?:a|an|the) (?!.{0,80}\bwrong\b)"
)
_KNOWN = {
    form for verb in known_verbs() for form, slot in inflected(verb.partition("_")[0]) if slot in ("past", "part")
}
_ARTICLES = word_set("a an the your his her that this another")
_WHOLE = word_set("for now then at on and as already too by just this from")


def has_object(families: set[str], behind: list[str], reading: Reading) -> bool:
    """Whether the verb has an object of these families without their nouns."""
    tail = " ".join(behind)
    if families & {"pay", "refund"} and not reading.is_present and _SUM.search(tail):
        return True
    if "cancel" in families and behind[:2] == ["you", "off"]:
        return True
    if "subscribe" in families and not reading.is_present and _SUBSCRIBES.match(" ".join((*reading.subject, *behind))):
        return True
    if "schedule" in families and _A_DAY.match(tail if reading.by_self else " ".join(reading.subject)):
        return True
    if "refund" in families and _BACK.search(tail):
        return True
    if "move" in families and _TO_TIME.search(tail):
        return True
    return "message" in families and reading.by_self and _TO_SOMEBODY.search(tail) is not None


def sets_level(texts: Sequence[str]) -> bool:
    """Whether a level is set: "I've set upstairs to eighteen"."""
    return _LEVEL.search(" ".join(texts)) is not None


def obtains(texts: Sequence[str]) -> bool:
    """Whether "get" obtains something: "I got you a table", "I managed to get it"."""
    return gives(texts) or _OBTAINS.search(" ".join(texts)) is not None


def unknown_deed(texts: list[str]) -> int:
    """Return where a verb that no family has tells a deed: "I've programmed a reminder"; 0 for nowhere."""
    at = 1 if texts[:1] in (["i"], ["we"]) else 0
    if not at or texts[1:2] != ["have"]:
        return 0
    at += 1
    while at < len(texts) and texts[at] in ADVERBS:
        at += 1
    is_deed = texts[at : at + 1] and texts[at].endswith("ed") and texts[at] not in LOOKING and texts[at] not in _KNOWN
    objects = texts[at + 1 : at + 3]
    return at if is_deed and {*objects} & _ARTICLES and not {"to", "what", "how"} & {*objects} else 0


def is_whole(texts: Sequence[str], hit: Hit) -> bool:
    """Whether nothing but a time or a purpose follows: "it's arranged for six", not "arranged in groups"."""
    behind = texts[hit.at + 1 + hit.lemma.count("_") :]
    behind = [text for text in behind if text not in PRONOUNS]
    return not behind or behind[0] in _WHOLE
