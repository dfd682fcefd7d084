"""How things stand once a deed is done.

"The blinds are up", "your claim is with the insurer", "the oven is heating up": states that follow from a deed.

A class of deeds has few such states, and only those of its own direction: a tool that opens blinds is not meant by
"the blinds are closed".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from realtime.turn.claim_words.english import ADVERBS, HABITS, NUMBERS, SELF, singular, word_set
from realtime.turn.claim_words.forms import Clause
from realtime.turn.claim_words.grammar import guards


@dataclass(frozen=True, slots=True)
class Result:
    """What a clause says to be the case."""

    families: frozenset[str]
    """Those whose deed leads to it."""
    subject: frozenset[str]
    """Words of which one must be a thing of the tool; empty: none must."""
    nouns: Literal["all", "deeds", "own"] = "all"
    """Which things: all, those that name the deed, or the tool's own."""
    is_started: bool = False
    evidence: frozenset[str] = frozenset()
    """Words of a result that tell the same."""


def _by_word(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    made: dict[str, set[str]] = {}
    for families, words in table.items():
        for word in words.split():
            made.setdefault(word, set()).update(families.split())
    return {word: frozenset(families) for word, families in made.items()}


_DONE = _by_word(
    {
        "open": "open up raised lifted opened",
        "close": "closed shut down drawn lowered",
        "lock": "locked bolted secure secured",
        "unlock": "unlocked",
        "mute": "muted off quiet silent silenced",
        "pause": "paused",
        "record": "set recording",
        "play heat water clean wash charge": "on started",
        "print": "printed out",
        "post publish": "live up online posted public out published",
        "schedule": "out",
        "donate": "through made in given sent",
        "repair refill": "in logged requested",
        "park": "fed paid covered legal good",
        "book print": "waiting",
        "activate": "on active enabled live running started",
        "remind": "on armed",
        "call": "connected",
    }
)
"""Behind "is": what the deed has led to."""
_GOING = _by_word(
    {
        "remind": "running ticking",
        "activate": "running going",
        "play": "playing running",
        "heat": "heating warming preheating",
        "water": "running going watering sprinkling soaking",
        "clean": "running going cleaning vacuuming hoovering mopping",
        "wash": "running going washing",
        "print": "printing",
        "call": "ringing calling dialling dialing",
        "ride": "coming heading driving",
        "hire repair order refill ship": "coming",
        "locate": "tracking following",
        "open": "opening",
        "close": "closing",
    }
)
"""Behind "is": what the deed has set going."""
_WITH = word_set("apply request repair donate refill locate")
"""Families whose deed hands something over: someone has it, or it is with someone."""
_HAS = word_set("has have received got gotten")
_VERBS = word_set("is are has have went came")
_TELLING = _VERBS | word_set("can able know knows")
_SKIPPED = ADVERBS | word_set("wide safe safely nice good tight fully being getting")
_HOURS = word_set(
    "until till from every if by when unless that because since of enough without not "
    "late low behind short along well fine"
)
"""Behind a state they make it another: "open from nine", "out of paper"."""
_GUARDS = (HABITS - {"online"}) | word_set("still yet i already always another other someone")
_GENERAL = word_set("a an any each every some most many few no all") - {"all"}
_POSITIONS = word_set("open up closed shut down on out")
_COMMANDS = word_set("turn put keep leave with no not want is are")
_FINITES = word_set("is are was were takes costs needs has can will would must should means")
_ON_WHERE = word_set("for in now at with to upstairs downstairs outside everywhere")
_MAILS = word_set("email mail text letter number")
_PERSONS = word_set("he she they it")
_OF_IT = word_set("open close lock unlock mute play heat water clean wash print publish activate pause")
"""Families of which a state may be told of "it": "it's on"; of others that says too little: "it's good"."""
_PLACES = word_set("open closed shut up down out in")

_SEES = re.compile(
    r"^(?!i |we |you |if |so )(?:[\w']+ ){1,3}(?:(?:can|is able to) (?:now )?(?:see|follow|track) "
    r"(?:where you are|you\b|your (?:location|"
    r"position))|(?:now )?knows where you are)|^you are (?:now )?on (?:his|her|their|\w+'s) map\b"
)
_KNOWS = re.compile(r"^(?:they|the (?:[\w']+ ){1,2}) ?(?:now )?(?:know|knows) about (?:it$|the |your )")
_NIGHTS = re.compile(
    r"\bat (?:night|weekends?|the weekend)\b|\bon \w+days\b|\bin the (?:evenings?|mornings?|summer|winter)\b"
)


def results_of(clause: Clause) -> Iterator[Result]:
    """Yield the states that the words of a clause tell."""
    texts = clause.texts
    joined = " ".join(texts)
    if not _TELLING & {*texts}:
        yield from _headline(clause)
        return
    if _SEES.match(joined):
        yield Result(frozenset({"locate"}), frozenset(), evidence=frozenset({"shared"}))
        return
    if _KNOWS.match(joined):
        yield Result(word_set("report repair apply"), frozenset(singular(text) for text in texts))
        return
    if texts[:3] == ["you", "have", "got"] and texts[3:4] and texts[3] in ("a", "an", "the", "your", *NUMBERS):
        if not guards(texts) and not _GUARDS & {*texts[3:]}:
            things = frozenset(singular(text) for text in texts[3:8])
            yield Result(word_set("book rent ride hire"), things, "own", evidence=word_set("booked reserved"))
        return
    at = next((place for place, text in enumerate(texts[:9]) if place and text in _VERBS), 0)
    if not at or texts[0] == "here":
        yield from _headline(clause)
        return
    subject = texts[:at]
    if _GUARDS & {*subject} or guards(subject) or subject[0] in SELF:
        return
    behind = [text for text in texts[at + 1 :] if text not in _SKIPPED]
    told = [*_stated(texts[at + 1 :])]
    if not behind or _NIGHTS.search(joined) or _GUARDS & {*told} or guards(told):
        return
    words = frozenset(singular(text) for text in subject)
    if texts[at] in ("is", "are"):
        yield from _is(clause, subject, words, behind)
    elif texts[at] in ("has", "have"):
        yield from _has(subject, words, texts[at + 1 :])


def _stated(behind: Sequence[str]) -> Iterator[str]:
    """Yield the words behind the verb that may change what it says.

    Not: "in every room", and the end of what is paid for.
    """
    for place, text in enumerate(behind):
        is_end = text in ("until", "till") and {"good", "paid", "covered"} & {*behind[:place]}
        if not is_end and behind[max(0, place - 1) : place] != ["in"]:
            yield text


def _is(clause: Clause, subject: list[str], words: frozenset[str], behind: list[str]) -> Iterator[Result]:
    key, after = behind[0], behind[1:2]
    if ({*after} & _HOURS and key not in ("good", "paid", "covered")) or (subject[0] in _GENERAL and key not in _GOING):
        return
    is_pronoun = len(subject) == 1 and subject[0] in ("it", "they", "everything")
    if (families := _GOING.get(key)) is not None and (key != "going" or after not in (["to"], ["on"], ["wrong"])):
        is_person = subject[0] in ("he", "she")
        if key in ("coming", "heading", "driving"):
            is_person = is_person and bool({*behind[1:]} & word_set("over way now"))
        if is_pronoun:
            families &= _OF_IT | {"call", "remind"}
        named = frozenset[str]() if is_pronoun or is_person else words
        if key in ("tracking", "following") and behind[1:2] != ["you"]:
            return
        yield Result(families, named, is_started=True, evidence=frozenset({key}))
    if (families := _DONE.get(key)) is not None and (key not in ("on", "out") or not after or after[0] in _ON_WHERE):
        named = frozenset[str]() if is_pronoun else words
        if subject == ["you"]:
            families, named = families & {"park"}, frozenset()
        if is_pronoun:
            families &= _OF_IT
            if (key in _PLACES and subject == ["it"]) or (behind[1:] and behind[1] not in ("now", "for")):
                return
        yield Result(families, named, evidence=frozenset({key}))
    if "tray" in behind:
        yield Result(frozenset({"print"}), words)
    if key == "out" and len(behind) == 1:
        yield Result(frozenset({"message"}), words, "own")
    if key == "with" and after and subject[0] not in _PERSONS | {"you"} and after[0] not in ("a", "an"):
        yield Result(_WITH, words, "deeds", evidence=frozenset({"sent", "submitted", "received"}))
        if NUMBERS & {*subject} and subject[0] in ("your", "the", "his", "her"):
            yield Result(frozenset({"donate", "pay"}), frozenset())
    if key == "on" and after and after[0] in ("file", "record", "their", "its", "his", "her") and subject != ["you"]:
        yield Result(_WITH, words, evidence=frozenset({"filed", "submitted"}))


def _has(subject: list[str], words: frozenset[str], behind: Sequence[str]) -> Iterator[Result]:
    if subject[0] in SELF | {"you", "who"}:
        return
    rest = [text for text in behind if text not in ADVERBS]
    if rest[:1] == ["come"] and rest[1:2] in ([], ["out"]):
        yield Result(frozenset({"print"}), words)
    while rest and rest[0] in _HAS:
        rest = rest[1:]
    if rest[:3] in (["found", "its", "way"], ["made", "its", "way"]):
        yield Result(word_set("pay donate apply message"), words - NUMBERS if not NUMBERS & words else frozenset())
    if rest[:1] in (["his"], ["her"], ["their"]) and NUMBERS & {*rest}:
        yield Result(word_set("pay donate"), frozenset(singular(text) for text in rest))
    if rest[:1] in (["your"], ["the"], ["it"], ["that"]):
        things = frozenset(singular(text) for text in rest[1:6])
        yield Result(_WITH | {"order"}, things, "deeds")
        if things - _MAILS:
            yield Result(frozenset({"message"}), things - _MAILS, "own")


def _headline(clause: Clause) -> Iterator[Result]:
    """Yield the states that a clause without a verb tells: "now playing", "preheating to two hundred"."""
    texts = clause.texts
    if texts[:2] == ["here", "is"] and 2 < len(texts) < 7 and all(w.written[:1].isupper() for w in clause.words[2:]):
        yield Result(frozenset({"play"}), frozenset(), is_started=True)
    if (
        1 < len(texts) < 5
        and texts[0] not in _GENERAL | _COMMANDS
        and texts[-1] in _POSITIONS
        and not _GUARDS & {*texts}
        and not guards(texts)
    ):
        yield Result(_DONE[texts[-1]], frozenset(singular(text) for text in texts[:-1]))
    first = texts[1:2] if texts[0] in ("now", "currently") else texts[:1]
    if (
        clause.begins
        and first
        and not _FINITES & {*texts}
        and first[0].endswith("ing")
        and (families := _GOING.get(first[0])) is not None
    ):
        yield Result(families - {"ride", "hire", "repair", "order", "refill"}, frozenset(), is_started=True)
