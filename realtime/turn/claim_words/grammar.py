"""How a verb stands in its clause: who did it, when, and whether that is said at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from realtime.turn.claim_words.english import (
    ADVERBS,
    FAMILIES,
    GUARDS,
    HABITS,
    IRREGULAR,
    MONTHS,
    NUMBERS,
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
    is_elliptic: bool = False
    """Whether no verb carries its tense: "table booked"."""
    is_present: bool = False
    """Whether it does so in the present: things may have long been so ("the card is blocked")."""
    subject: tuple[str, ...] = ()


_DETERMINED = word_set("a an each every any some most many several few no all")
PLAIN = word_set(
    "i we you it that this the a an your my our his her their for to of in on at and is are was were be been has have "
    "had with now just done not all up down"
)
_RECENT = re.compile(
    r"\bjust\b|\b(?:moment|minute|second|moments|seconds) ago\b|\bthis (?:very )?(?:second|minute|moment|instant)\b|"
    r"\bsuccessfully\b|\bas you \w+ed\b"
)
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
_OUR_SIDE = frozenset({"our", "my"})
_FOR_ME = re.compile(r"\bfor (?:me|us|you)\b")
_PERSON = word_set(
    "mum mom dad mother father wife husband brother sister son daughter boss manager partner friend neighbour "
    "neighbor doctor dentist bank landlord employer colleague plumber"
)
"""Where no verb helps, they have done it: "your mum texted"."""
_IDIOMS = frozenset({"note", "get", "have"})
"""Their participles alone are no claims: "noted", "got you"."""
_NO_SUBJECTS = word_set(
    "them us everyone everybody somebody i we you he she they it that this who there and to get gets got be being "
    "stay stays"
)
"""With them a sentence is no headline: "he paid" is none, "table booked" is."""
_PERSONS = word_set("he she him her them yourself everyone everybody")
_OTHERS = word_set("them him her the my our someone")
"""They are had to do it: "I've had the bank freeze your card"."""
_ONES = word_set("one ones rest lot thing")
GENERIC = word_set("do take_care_of arrange sort_out sort handle complete finish confirm see_to deal_with square_away")
"""With a pronoun they claim whatever was asked for: "that's done", "I've taken care of it"."""
_ELLIPTIC_AFTER = word_set("for in to at on as under and with now successfully it that them you your the a an")
_ELLIPTIC_NP_AFTER = word_set("for in at to from under and with successfully")
_ELLIPTIC_OBJECTS = word_set("him her it them you your the both everyone everybody that those")
_TO_NAMES = word_set("text email message pay notify refund reimburse remind invite call tell")
_GIVEN = word_set("a an the one two three four five six your some in down both another")
_NO_ADDITIONS = ("added to that", "added to this", "added to the")
_SHOWN = (
    NUMBERS
    | _MONTH_OR_DAY
    | word_set("a an him her them yourself you your it everything that the those both these all")
)
_CONDITIONED = re.compile(r"\b(?:if|unless|when|whenever|once|as soon as|as long as|provided)\b")
"""Behind a state it makes that conditional: "it's cancelled if you miss two"."""
_ASKING = word_set("yourself or when who whom what which where how")
"""Where no verb is, they ask: "moved to when, exactly?"."""
_CLAIMING = (["they"], ["i"], ["you"], ["we"], ["he"], ["she"], ["people"], ["to"], ["who"], ["app"], ["site"])
_OF_YOURS = word_set("mentioned said told asked saw")
_BEFORE_MONTH = (["in"], ["from"], ["of"], ["for"], ["since"], ["last"], ["by"])
_LIKE = (["like", "you"], ["as", "you"], ["like", "i"], ["as", "i"])
SUBJECTS = word_set("i you we he she it they there the your my")
_OBJECT_WITHIN = 2


def without_openers(clause: Clause) -> Clause:
    """Return the clause without what only leads to it: "great", "I can confirm that". It may have no words left."""
    opener = _OPENER.match(f"{' '.join(clause.texts)} ")
    if opener is None:
        return clause
    n_words = len(opener.group().split())
    return replace(clause, words=clause.words[n_words:])


def acts(texts: Sequence[str]) -> bool:
    """Whether the speaker has done something: then the next clause may lack a subject."""
    for at, text in enumerate(texts[:-1]):
        if text in SELF and not GUARDS & {*texts[:at]}:
            after = next((one for one in texts[at + 1 :] if one not in ADVERBS), "")
            return after in _PASTS or after.endswith("ed")
    return False


_PASTS = {past for past, _ in IRREGULAR.values()} | word_set("double have did looked spoke rang")


def _back(texts: Sequence[str], at: int) -> int:
    """Return the place of the last word before `at`, but for adverbs; -1 without one."""
    at -= 1
    while at >= 0 and texts[at] in ADVERBS:
        at -= 1
    return at


def reading_of(clause: Clause, hit: Hit, *, carried: bool, dangles: bool = False) -> Reading | None:
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
    if slot == "past" and 0 < before < 4 and texts[0] in ("the", "our", "my") and "just" in texts[before:at]:
        is_ours = _is_for_us(texts, before, before) and _FOR_ME.search(tail) is not None
        return Reading(ClaimKind.DONE, True, subject=("we",)) if is_ours else None
    if slot == "past" and _is_self(texts, before):
        free = _is_free(texts, before) and _concerns(texts, before)
        return Reading(ClaimKind.DONE, True, subject=(word,)) if free else None
    if slot == "part":
        if word in ("have", "has"):
            subject = _back(texts, before)
            if _is_self(texts, subject) and _is_free(texts, subject):
                return Reading(ClaimKind.DONE, True, subject=(texts[subject],))
            is_ours = _is_for_us(texts, before, subject) or _has_placed(texts, at, before, subject)
            return Reading(ClaimKind.DONE, True, subject=("we",)) if is_ours else None
        if word in ("been", "being", "is", "are", "was", "were", "got"):
            return _passive(clause, before, word, tail)
        if _has_it_done(texts, at):
            return Reading(ClaimKind.DONE, True)
        if presented := _presented(texts, at, hit.lemma.count("_")):
            return Reading(ClaimKind.DONE, False, is_elliptic=True, subject=presented)
    if slot in ("past", "part"):
        if word == "and" and acts(texts[:before]) and not guards(texts[: before + 1]):
            return Reading(ClaimKind.DONE, True)
        if before < 0 and carried and not clause.begins:
            return Reading(ClaimKind.DONE, True)
        if slot == "part" or {*texts[at + 1 : at + 2]} & _ELLIPTIC_OBJECTS:
            return _elliptic(clause, hit, at, before, dangles=dangles)
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
        if word == "to" and before >= 2 and texts[before - 1] in _PERSONS and texts[before - 2] == "got":
            return before - 2, "past"
        had = next((place for place in range(max(0, at - 5), at - 1) if texts[place] == "had"), -1)
        if had > 0 and texts[had - 1] in ("have", *SELF) and texts[had + 1] in _OTHERS:
            return had, "part" if texts[had - 1] == "have" else "past"
        able = before >= 2 and texts[before - 1] == "able" and texts[before - 2] in ("was", "were", "been")
        if word == "to" and able:
            return before - 2, "part" if texts[before - 2] == "been" else "past"
        return at, None
    if slot == "ing" and word in ("finished", "completed"):
        return before, "past"
    if slot == "ing" and texts[max(0, at - 4) : at] in (
        ["took", "the", "liberty", "of"],
        ["taken", "the", "liberty", "of"],
    ):
        return at - 4, "past" if texts[at - 4] == "took" else "part"
    return at, slot


def _is_self(texts: Sequence[str], at: int) -> bool:
    """Whether the subject that ends here is the speaker."""
    return at >= 0 and (texts[at] in SELF or (at >= 1 and {texts[at - 1], texts[at]} in _SYSTEMS))


def _is_for_us(texts: Sequence[str], auxiliary: int, subject: int) -> bool:
    """Whether another has done it in the speaker's name: "our fraud desk has shut your card down"."""
    if not 0 < subject < 4 or not _is_free(texts, subject):
        return False
    tail = texts[auxiliary:]
    if _asked_by_us(texts, tail) and not SELF & {*texts}:
        return True
    if not {"you", "your", "it"} & {*tail} or {*texts[: subject + 1]} & (SELF | {"you", "and"}):
        return False
    is_ours = texts[0] in _OUR_SIDE and not _PERSON & {*texts[: subject + 1]} - {"colleague", "manager"}
    return is_ours or _asked_by_us(texts, tail)


def _asked_by_us(texts: Sequence[str], tail: Sequence[str]) -> bool:
    joined = " ".join(tail)
    return texts[0] in ("the", "they", *_OUR_SIDE) and (
        " for me" in joined or " at my request" in joined or ("just" in tail and " for you" in joined)
    )


def _has_placed(texts: Sequence[str], at: int, auxiliary: int, subject: int) -> bool:
    """Whether another has given the user a place: "she has popped you in for eight"."""
    who = texts[: subject + 1]
    if not 0 < len(who) < 4 or not _is_free(texts, auxiliary) or {*who} & (SELF | _PERSON | {"you", "your"}):
        return False
    return " ".join(texts[at + 1 : at + 3]) in ("you in", "you down", "you into", "you onto")


def _is_free(texts: Sequence[str], subject: int) -> bool:
    """Whether nothing before the subject makes it another statement."""
    return not guards(texts[:subject])


def guards(texts: Sequence[str]) -> bool:
    """Whether one of the words makes what follows no statement; "the one you mentioned" does not."""
    for at, text in enumerate(texts):
        is_relative = text in _OF_YOURS and texts[max(0, at - 1) : at] == ["you"] and texts[at + 1 : at + 2] == ["and"]
        is_noun = text in ("claim", "claims") and texts[max(0, at - 1) : at] not in _CLAIMING
        is_wish = texts[max(0, at - 2) : at] in _LIKE
        is_month = text == "may" and texts[max(0, at - 1) : at] in _BEFORE_MONTH
        is_end = text == "no" and texts[at + 1 : at + 2] in (["longer"], ["more"])
        if text in GUARDS and not (is_relative or is_noun or is_wish or is_end or is_month):
            return True
    return False


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
    elif word == "got" and not _RECENT.search(" ".join(texts)):
        return None
    subject = tuple(texts[:auxiliary])
    if subject[-1:] == ("that",) and len(subject) > 1 and subject[0] in ("a", "an", "any", "every"):
        return None  # "A table that has been booked is kept."
    while subject[1:] and subject[-1] in ADVERBS:
        subject = subject[:-1]
    if not subject or guards(subject) or subject[0] in ("to", "there", "i") or "have" in subject:
        return None
    if word in ("was", "were", "got"):
        if " when " in tail:
            return None
        return Reading(kind, False, subject=subject) if _RECENT.search(" ".join(texts)) else None
    is_state = word in ("is", "are")
    if is_state and _PERSON & {*subject} and "now" not in texts:
        return None  # "Your mum is subscribed."
    if is_state and (is_general(subject) or _is_habit(texts) or _SETTINGS.search(tail) or _CONDITIONED.search(tail)):
        return None
    return Reading(kind, False, is_state=is_state or word == "been", is_present=is_state, subject=subject)


def _is_habit(texts: Sequence[str]) -> bool:
    """Whether it happens again and again; "the weekly one" does not say so."""
    return any(text in HABITS and texts[max(0, at - 1) : at] not in (["the"], ["our"]) for at, text in enumerate(texts))


def _is_by_name(words: Sequence[Word]) -> bool:
    """Whether a name follows "by": another person did it."""
    for one, after in pairwise(words):
        if one.text == "by" and after.written[:1].isupper() and after.text not in _MONTH_OR_DAY:
            return True
    return False


def is_general(subject: Sequence[str]) -> bool:
    """Whether a subject means no certain thing: "tables", "a table", "every call"."""
    first = subject[0]
    if first == "all" and len(subject) > 1 and not subject[1].endswith("s"):
        return False
    if first in _DETERMINED or first in ("our", "they", "these", "those"):
        return True
    bare = first.endswith("s") and first not in ("this", "his", "its", "yours")
    return bare and (len(subject) <= 2 or subject[1].endswith("ed") or subject[1] in ("sent", "made", "set", "paid"))


def is_definite(subject: Sequence[str], nouns: set[str]) -> bool:
    """Whether it is the user's matter: "you", "it", "your table", or a thing of the tool."""
    return (
        not subject
        or bool(nouns)
        or bool({"you", "your"} & {*subject})
        or subject[-1] in _PERSONS | PRONOUNS | _ONES
        or subject[0] == "everything"
    )


def _has_it_done(texts: Sequence[str], at: int) -> bool:
    """Whether the words before have it done: "I have (got) you", "we got your table"."""
    for start in range(max(0, at - 8), at):
        if texts[start] not in SELF or not _is_free(texts, start):
            continue
        rest = [text for text in texts[start + 1 : at] if text not in ADVERBS]
        if rest[:2] in (["have", "got"], ["have", "had"]):
            between = rest[2:]
        elif rest[:1] in (["have"], ["got"], ["had"]):
            between = rest[1:]
        else:
            continue
        return 0 < len(between) <= 5 and not ({*between} & (GUARDS | {"and", "have", "am", "are", "is", "to", "i"}))
    return False


def _presented(texts: Sequence[str], at: int, n_particles: int) -> tuple[str, ...]:
    """Return what is shown or counted as done: in "that's your flight cancelled", "consider it done"."""
    start = 1 if texts[0] == "consider" else 2 if texts[0] in ("that", "there") and texts[1] == "is" else at
    shown = tuple(text for text in texts[start:at] if text not in ADVERBS)
    is_bare = start == 2 and len(shown) == 1
    if not shown or len(shown) > 5 or not (is_bare or shown[0] in _SHOWN):
        return ()
    if guards(shown) or (_FINITE | SELF | {"you", "they", "he", "she", "to"}) & {*shown[1:]}:
        return ()
    tail = texts[at + 1 + n_particles :]
    if tail and tail[0] in ("on", "off", "up", "down", "in"):
        tail = tail[1:]
    if _CONDITIONED.search(" ".join(tail)) or _BY_OTHERS.search(" ".join(tail)):
        return ()
    is_yours = shown[0] in ("him", "her", "them", "you", "your", "it", "everything", "that") or start == 1
    return shown if is_yours or not tail or tail[0] in ("now", "then", "too", "for") else ()


def _elliptic(clause: Clause, hit: Hit, at: int, before: int, *, dangles: bool) -> Reading | None:
    """Return the reading of a sentence without a verb or subject: "Booked!", "Table booked for six", "Texted him"."""
    texts = clause.texts
    after = texts[at + 1] if at + 1 < len(texts) else ""
    if (
        not (clause.begins or clause.is_after_names or (0 < at == len(texts) - 1 < 3))
        or _FINITE & {*(texts[: at + 5] if before < 0 else texts)}
        or _ASKING & {*texts}
        or (dangles and {after} - {"", *hit.lemma.split("_")})
    ):
        return None
    if _BY_OTHERS.search(" ".join(texts)) or _is_by_name(clause.words) or " ".join(texts[:3]) in _NO_ADDITIONS:
        return None
    if clause.is_after_names and after in ("at", "on", "in", "by") and texts[at + 2 : at + 3] != ["your"]:
        return None  # "Email from Tom, sent at nine."
    if after == "you" and hit.lemma in ("tell", "answer", "ask"):
        return None
    notes = hit.lemma == "note" and after in ("under", "in", "and")
    if (
        hit.lemma in _IDIOMS
        and not notes
        and not (after == "you" and texts[at + 2 : at + 3] != [] and texts[at + 2] in _GIVEN)
    ):
        return None
    if before < 0:
        if hit.lemma == "sort" and clause.begins:
            return None
        head, _, particle = hit.lemma.partition("_")
        behind = texts[at + 2 : at + 3] if after and after == particle else texts[at + 1 : at + 2]
        if IRREGULAR.get(head, ("",))[0] == head and behind and behind[0] not in _ELLIPTIC_NP_AFTER:
            return None  # "Set it for seven."
        is_person = hit.lemma in _TO_NAMES and names_person(clause, hit)
        if after and not is_person and after not in _ELLIPTIC_AFTER | _ELLIPTIC_OBJECTS and "_" not in hit.lemma:
            return None
        return None if hit.lemma in GENERIC and after else Reading(ClaimKind.DONE, False, subject=("it",))
    subject = tuple(texts[:at])
    if after and after == hit.lemma.partition("_")[2]:
        after = texts[at + 2] if at + 2 < len(texts) else ""
    is_last = not after and len(texts) > 1
    if len(subject) > 5 or guards(subject) or (_NO_SUBJECTS - {"to"} if is_last else _NO_SUBJECTS) & {*subject}:
        return None
    talks = hit.lemma in FAMILIES["message"].strong | FAMILIES["message"].weak
    if _PERSON & {*subject} and (talks or subject[0] in ("the", "your", "my", "our")):
        return None  # "Your mum texted."
    if (after and after not in _ELLIPTIC_NP_AFTER) or subject[0] in _DETERMINED - {"all"}:
        return None
    if subject[-1].endswith("s") and not subject[-1].endswith("ss") and len(subject) == 1 and not is_last:
        return None
    return Reading(ClaimKind.DONE, False, is_elliptic=True, subject=subject)


def points_at(texts: Sequence[str], hit: Hit, reading: Reading) -> bool:
    """Whether the verb is about a pronoun: "I moved it", "that's been moved"."""
    if not reading.by_self:
        return not reading.subject or (len(reading.subject) <= 3 and reading.subject[-1] in PRONOUNS | {"one"})
    near = texts[hit.at + 1 : hit.at + 1 + _OBJECT_WITHIN + hit.lemma.count("_")]
    for place, text in enumerate(near):
        if text in PRONOUNS:
            following = texts[hit.at + 2 + place : hit.at + 3 + place]
            plain = following and (following[0] in PLAIN - SELF or following[0] in hit.lemma.split("_"))
            opens = text in ("that", "this", "those", "these") and following and not plain
            is_clause = text == "that" and following and following[0] in SUBJECTS
            return not (opens or is_clause)
    behind = texts[hit.at + 1 + hit.lemma.count("_") : hit.at + 5 + hit.lemma.count("_")]
    if {*behind[:1]} & (_ONES | NUMBERS) and behind[1:2] in ([], ["for"], ["of"], ["at"]):
        return True  # "I set one for seven."
    return behind[:1] in (["the"], ["that"], ["your"], ["both"]) and bool({"one", "ones"} & {*behind})


def names_person(clause: Clause, hit: Hit) -> bool:
    """Whether a person is named right behind the verb: "I told Ann", "I replied to him"."""
    for word in clause.words[hit.at + 1 : hit.at + 3]:
        is_name = word.written[:1].isupper() and word.text not in _MONTH_OR_DAY | SELF
        if is_name or word.text in ("him", "her", "them", "everyone", "everybody", "all"):
            return True
    return False


def tells(texts: Sequence[str], word: str) -> bool:
    """Whether this word comes right behind a verb of telling."""
    told = ("told", "answered", "responded", "replied", "informed", "let", "invited", "shared")
    return any(text in told and after == word for text, after in pairwise(texts))


def gives(texts: Sequence[str]) -> bool:
    """Whether "get" gives: "I got you a table"."""
    return any(
        text in ("got", "get", "gotten") and after in ("you", "him", "her", "them") for text, after in pairwise(texts)
    )
