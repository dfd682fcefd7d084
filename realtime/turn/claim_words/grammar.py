"""How a verb stands in its clause: who did it, when, and whether that is said at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from realtime.turn.claim_words.english import (
    ADVERBS,
    GUARDS,
    HABITS,
    MONTHS,
    OPENERS,
    PERFORMATIVES,
    PRONOUNS,
    SELF,
    word_set,
)
from realtime.turn.claim_words.forms import Clause, Hit, Word


class ClaimKind(StrEnum):
    """What a sentence says of a deed."""

    DONE = "done"
    """It has happened: only a successful call backs that."""
    STARTED = "started"
    """It is under way ("it's on its way"): a call that runs backs it as well."""
    ANNOUNCED = "announced"
    """It happens now ("I'm booking that for you"): models say so before they call; the call has to follow."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a verb stands in its clause."""

    kind: ClaimKind
    by_self: bool
    """Whether the speaker is its subject: "I booked". Otherwise its subject is what it was done to."""
    is_state: bool = False
    """Whether it tells how things are ("is booked"): that may have been looked up."""
    is_present: bool = False
    """Whether it does so in the present: things may have long been so ("the card is blocked")."""
    subject: tuple[str, ...] = ()


_DETERMINED = word_set("a an each every any some most many several few no all")
PLAIN = word_set(
    "i we you it that this the a an your my our his her their for to of in on at and is are was were be been has have "
    "had with now just done not all up down"
)
_RECENT = re.compile(r"\bjust\b|\b(?:moment|minute|second|moments|seconds) ago\b|\bsuccessfully\b|\bas you \w+ed\b")
_NOW = re.compile(
    r"\bnow\b|\bright away\b|\bas we speak\b|\bfor you\b|\bat once\b|\bimmediately\b|\bthis (?:second|very)"
)
_FINITE = word_set("is are was were would will can could may might has costs saves takes means isn't needs")
_BY_OTHERS = re.compile(
    r"\bby (?:the (?!window|door|bar|fire|terrace|pool|water|way|end|time)\w+|your|my|his|her|our|their|another|"
    r"some\w*|an? (?!hour|half|day|week|minute|third|quarter)\w+|many|people|legal|others?|default)\b"
)
_MONTH_OR_DAY = word_set(f"{MONTHS} monday tuesday wednesday thursday friday saturday sunday")
_SETTINGS = re.compile(r"\bin (?:the|your) (?:settings|profile|cloud|app)\b|\bto come\b|\bby default\b")
_OPENER = re.compile(rf"^(?:(?:{OPENERS}|{PERFORMATIVES})\b(?: that\b)? ?)+")
_SYSTEMS = ({"the", "system"}, {"our", "system"}, {"our", "team"}, {"the", "app"})
_IDIOMS = frozenset({"note", "get", "have"})
"""Their participles alone are no claims: "noted", "got you"."""
_NO_SUBJECTS = word_set("i we you he she they it that this who there and to")
"""With them a sentence is no headline: "he paid" is none, "table booked" is."""
_PERSONS = word_set("he she everyone everybody")
GENERIC = word_set("do take_care_of arrange sort_out handle complete finish confirm")
"""With a pronoun they claim whatever was asked for: "that's done", "I've taken care of it"."""
_ELLIPTIC_AFTER = word_set("for in to at on as under and with now successfully it that them you your the a an")
_ELLIPTIC_NP_AFTER = word_set("for in at to under and with successfully")
_SUBJECTS = word_set("i you we he she it they there the your my")
_OBJECT_WITHIN = 2


def without_openers(clause: Clause) -> Clause:
    """Return the clause without what only leads to it: "great", "I can confirm that". It may have no words left."""
    opener = _OPENER.match(f"{' '.join(clause.texts)} ")
    if opener is None:
        return clause
    n_words = len(opener.group().split())
    return Clause(clause.words[n_words:], clause.begins)


def acts(texts: Sequence[str]) -> bool:
    """Whether the speaker has done something: then the next clause may lack a subject."""
    for at, text in enumerate(texts[:-1]):
        if text in SELF and not GUARDS & {*texts[:at]}:
            after = next((one for one in texts[at + 1 :] if one not in ADVERBS), "")
            return after in ("have", "did", "checked", "found", "looked", "went") or after.endswith("ed")
    return False


def _back(texts: Sequence[str], at: int) -> int:
    """Return the place of the last word before `at`, but for adverbs; -1 without one."""
    at -= 1
    while at >= 0 and texts[at] in ADVERBS:
        at -= 1
    return at


def reading_of(clause: Clause, hit: Hit, *, carried: bool) -> Reading | None:
    """Return how the verb stands in the clause; None where it claims nothing."""
    texts = clause.texts
    at, slot = _head(texts, hit)
    if slot is None:
        return None
    before = _back(texts, at)
    word = texts[before] if before >= 0 else ""
    tail = " ".join(texts[at:])
    if slot == "ing":
        return _progressive(clause, at, before, word, tail)
    if slot == "past" and _is_self(texts, before):
        free = _is_free(texts, before) and _concerns(texts, before)
        return Reading(ClaimKind.DONE, True, subject=(word,)) if free else None
    if slot == "part":
        if word in ("have", "has"):
            subject = _back(texts, before)
            if _is_self(texts, subject) and _is_free(texts, subject):
                return Reading(ClaimKind.DONE, True, subject=(texts[subject],))
            return None
        if word in ("been", "being", "is", "are", "was", "were", "got"):
            return _passive(clause, before, word, tail)
        if _has_it_done(texts, at):
            return Reading(ClaimKind.DONE, True)
    if slot in ("past", "part"):
        if word == "and" and acts(texts[:before]) and not GUARDS & {*texts[:before]}:
            return Reading(ClaimKind.DONE, True)
        if before < 0 and carried and not clause.begins:
            return Reading(ClaimKind.DONE, True)
        if slot == "part":
            return _elliptic(clause, hit, at, before)
    return None


def _head(texts: Sequence[str], hit: Hit) -> tuple[int, str | None]:
    """Return the verb that carries the tense: of "went ahead and booked", "managed to book", "finished booking"."""
    at, slot = hit.at, hit.slot
    before = _back(texts, at)
    word = texts[before] if before >= 0 else ""
    if word == "and" and before >= 2 and texts[before - 1] == "ahead" and texts[before - 2] in ("went", "gone"):
        return before - 2, "past" if texts[before - 2] == "went" else "part"
    if slot == "base":
        if word == "did":
            return before, "past"
        if word == "to" and before >= 1 and texts[before - 1] == "managed":
            return before - 1, "part" if texts[_back(texts, before - 1)] == "have" else "past"
        able = before >= 2 and texts[before - 1] == "able" and texts[before - 2] in ("was", "were", "been")
        if word == "to" and able:
            return before - 2, "part" if texts[before - 2] == "been" else "past"
        return at, None
    if slot == "ing" and word in ("finished", "completed"):
        return before, "past"
    return at, slot


def _is_self(texts: Sequence[str], at: int) -> bool:
    """Whether the subject that ends here is the speaker."""
    return at >= 0 and (texts[at] in SELF or (at >= 1 and {texts[at - 1], texts[at]} in _SYSTEMS))


def _is_free(texts: Sequence[str], subject: int) -> bool:
    """Whether nothing before the subject makes it another statement."""
    return not GUARDS & {*texts[:subject]}


def _concerns(texts: Sequence[str], subject: int) -> bool:
    """Whether a plain past is about this call: "we moved to Main Street" is not."""
    return texts[subject] != "we" or bool({"you", "your", "it", "that", "them"} & {*texts[subject + 1 :]})


def _progressive(clause: Clause, at: int, before: int, word: str, tail: str) -> Reading | None:
    texts = clause.texts
    if word in ("am", "are") and before >= 1 and _is_self(texts, _back(texts, before)):
        free = _is_free(texts, _back(texts, before)) and texts[at + 1 : at + 2] != ["to"]
        return Reading(ClaimKind.ANNOUNCED, True) if free else None
    if before < 0 and clause.begins and _NOW.search(tail) and not _FINITE & {*texts[at:]}:
        return Reading(ClaimKind.ANNOUNCED, True)
    return None


def _passive(clause: Clause, before: int, word: str, tail: str) -> Reading | None:
    """Return the reading of a passive: "has been booked", "is booked", "was booked just now"."""
    texts = clause.texts
    if _BY_OTHERS.search(tail) or _is_by_name(clause.words[before:]):
        return None
    auxiliary, kind = before, ClaimKind.DONE
    if word in ("been", "being"):
        auxiliary = _back(texts, before)
        wanted = ("has", "have") if word == "been" else ("is", "are")
        if auxiliary < 0 or texts[auxiliary] not in wanted:
            return None
        kind = ClaimKind.DONE if word == "been" else ClaimKind.ANNOUNCED
    elif word == "got":
        return None
    subject = tuple(texts[:auxiliary])
    while subject and subject[-1] in ADVERBS:
        subject = subject[:-1]
    if not subject or GUARDS & {*subject} or subject[0] in ("to", "there", "i") or "have" in subject:
        return None
    if word in ("was", "were"):
        if " when " in tail:
            return None
        return Reading(kind, False, subject=subject) if _RECENT.search(" ".join(texts)) else None
    is_state = word in ("is", "are")
    if is_state and (is_general(subject) or HABITS & {*texts} or _SETTINGS.search(tail)):
        return None
    return Reading(kind, False, is_state=is_state or word == "been", is_present=is_state, subject=subject)


def _is_by_name(words: Sequence[Word]) -> bool:
    """Whether a name follows "by": another person did it."""
    for one, after in pairwise(words):
        if one.text == "by" and after.written[:1].isupper() and after.text not in _MONTH_OR_DAY:
            return True
    return False


def is_general(subject: Sequence[str]) -> bool:
    """Whether a subject means no certain thing: "tables", "a table", "every call"."""
    first = subject[0]
    if first == "all" and len(subject) > 1 and subject[1] in ("the", "your", "of"):
        return False
    if first in _DETERMINED or first in ("our", "they", "these", "those"):
        return True
    bare = first.endswith("s") and first not in ("this", "his", "its", "yours")
    return bare and len(subject) <= 2


def is_definite(subject: Sequence[str], nouns: set[str]) -> bool:
    """Whether it is the user's matter: "you", "it", "your table", or a thing of the tool."""
    return not subject or bool(nouns) or bool({"you", "your"} & {*subject}) or subject[-1] in _PERSONS | PRONOUNS


def _has_it_done(texts: Sequence[str], at: int) -> bool:
    """Whether the words before have it done: "I have (got) you", "we got your table"."""
    for start in range(max(0, at - 8), at):
        if texts[start] not in SELF or not _is_free(texts, start):
            continue
        rest = [text for text in texts[start + 1 : at] if text not in ADVERBS]
        if rest[:2] == ["have", "got"]:
            between = rest[2:]
        elif rest[:1] in (["have"], ["got"], ["had"]):
            between = rest[1:]
        else:
            continue
        return 0 < len(between) <= 5 and not ({*between} & (GUARDS | {"and", "have", "am", "are", "is", "to", "i"}))
    return False


def _elliptic(clause: Clause, hit: Hit, at: int, before: int) -> Reading | None:
    """Return the reading of a sentence without a verb: "Booked!", "Table booked for six"."""
    texts = clause.texts
    after = texts[at + 1] if at + 1 < len(texts) else ""
    if not clause.begins or _FINITE & {*texts} or hit.lemma in _IDIOMS:
        return None
    if before < 0 or texts[:at] == ["all"]:
        if after and after not in _ELLIPTIC_AFTER and "_" not in hit.lemma:
            return None
        return None if hit.lemma in GENERIC and after else Reading(ClaimKind.DONE, False, subject=("it",))
    subject = tuple(texts[:at])
    if len(subject) > 3 or GUARDS & {*subject} or _NO_SUBJECTS & {*subject}:
        return None
    if (after and after not in _ELLIPTIC_NP_AFTER) or subject[0] in _DETERMINED - {"all"}:
        return None
    if subject[-1].endswith("s") and len(subject) == 1:
        return None
    return Reading(ClaimKind.DONE, False, subject=subject)


def points_at(texts: Sequence[str], hit: Hit, reading: Reading) -> bool:
    """Whether the verb is about a pronoun: "I moved it", "that's been moved"."""
    if not reading.by_self:
        return not reading.subject or (len(reading.subject) <= 2 and reading.subject[-1] in PRONOUNS)
    near = texts[hit.at + 1 : hit.at + 1 + _OBJECT_WITHIN + hit.lemma.count("_")]
    for place, text in enumerate(near):
        if text in PRONOUNS:
            following = texts[hit.at + 2 + place : hit.at + 3 + place]
            plain = following and (following[0] in PLAIN - SELF or following[0] in hit.lemma.split("_"))
            opens = text in ("that", "this", "those", "these") and following and not plain
            is_clause = text == "that" and following and following[0] in _SUBJECTS
            return not (opens or is_clause)
    return False


def names_person(clause: Clause, hit: Hit) -> bool:
    """Whether a person is named right behind the verb: "I told Ann", "I replied to him"."""
    for word in clause.words[hit.at + 1 : hit.at + 3]:
        is_name = word.written[:1].isupper() and word.text not in _MONTH_OR_DAY | SELF
        if is_name or word.text in ("him", "her", "them", "everyone", "everybody"):
            return True
    return False


def tells(texts: Sequence[str], word: str) -> bool:
    """Whether this word comes right behind a verb of telling."""
    told = ("told", "answered", "responded", "replied", "informed", "let", "invited", "shared")
    return any(text in told and after == word for text, after in pairwise(texts))


def gives(texts: Sequence[str]) -> bool:
    """Whether "get" gives: "I got you a table"."""
    return any(text in ("got", "get", "gotten") and after == "you" for text, after in pairwise(texts))
