"""Which sentences of an agent claim that a tool has done something, and whether what the tools did backs them.

"I've booked the table" is a claim; "shall I book it?", "I'll book it", "you booked it" are none. The rules generalise a
tool's few example sentences over tense, person, voice and wording, by families of verbs (`claim_words`). They read one
sentence at a time and know no more of the language than its words; what they do not find is listed in
`docs/claims.md`. English only: in other languages no sentence claims anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from realtime.turn.claim_words.english import (
    ADVERBS,
    FAMILIES,
    GUARDS,
    HABITS,
    LIGHT,
    MONTHS,
    OPENERS,
    PERFORMATIVES,
    PRONOUNS,
    SELF,
    SUBORDINATE,
)
from realtime.turn.claim_words.forms import Clause, Hit, Verbs, Word, clauses_of, inflected, known_verbs
from realtime.turn.claim_words.states import State, state_of


class ClaimKind(StrEnum):
    """What a sentence says of a deed."""

    DONE = "done"
    """It has happened: only a successful call backs that."""
    STARTED = "started"
    """It is under way ("it's on its way"): a call that runs backs it as well."""
    ANNOUNCED = "announced"
    """It happens now ("I'm booking that for you"): models say so before they call; the call has to follow."""


@dataclass(frozen=True, slots=True)
class DeedTool:
    """A tool as far as claims are concerned; `claims` are sentences ("I have booked the table") or verbs."""

    name: str
    description: str = ""
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A deed that a sentence claims: it is that of one of `tools`."""

    kind: ClaimKind
    tools: tuple[str, ...]
    evidence: frozenset[str] = frozenset()
    """Words in the result of another tool that back it: what was looked up may be told. Empty: none do."""


class DeedState(StrEnum):
    """What became of a call."""

    SUCCESS = "success"
    RUNNING = "running"
    FAILED = "failed"
    """It has failed, was refused or interrupted."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A call of a tool; `words` are those of its result."""

    tool: str
    state: DeedState
    words: str = ""


def unbacked(claims: Iterable[Claim], deeds: Collection[Deed]) -> tuple[Claim, ...]:
    """Return the claims that nothing in the log backs. An announced deed is backed by any call, also a later one."""
    return tuple(claim for claim in claims if not _is_backed(claim, deeds))


def _is_backed(claim: Claim, deeds: Collection[Deed]) -> bool:
    enough = {DeedState.SUCCESS} if claim.kind is ClaimKind.DONE else {DeedState.SUCCESS, DeedState.RUNNING}
    for deed in deeds:
        if deed.tool in claim.tools and (deed.state in enough or claim.kind is ClaimKind.ANNOUNCED):
            return True
        if deed.state is DeedState.SUCCESS and claim.evidence & {*re.findall(r"[^\W_]+", deed.words.lower())}:
            return True
    return False


@dataclass(slots=True)
class _Tool:
    """A tool, read for its words."""

    name: str
    families: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    """Those of its declared claims."""
    own_nouns: set[str] = field(default_factory=set)
    """Of its claims and its name."""
    deeds: set[str] = field(default_factory=set)
    """Nouns for the deed itself."""
    nouns: set[str] = field(default_factory=set)
    """All nouns: own ones, and those of its families."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a verb stands in its clause."""

    kind: ClaimKind
    by_self: bool
    """Whether the speaker is its subject: "I booked". Otherwise its subject is what it was done to."""
    is_state: bool = False
    """Whether it tells how things are ("is booked"), which may have been looked up."""
    is_present: bool = False
    """Whether it does so in the present, as of a thing that has long been so ("the door is locked")."""
    subject: tuple[str, ...] = ()


_READ_TOOLS = frozenset("get list find search check show look lookup read view status info history fetch query".split())
_DETERMINED = frozenset("a an each every any some most many several few no all".split())
_PLAIN = frozenset(
    "i we you it that this the a an your my our his her their for to of in on at and is are was were be been has have "
    "had with now just done not all up down".split()
)
_NEVERS = re.compile(
    r"\byesterday\b|\blast (?:week|month|year|night|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|"
    r"(?<!moment )(?<!second )(?<!minute )(?<!moments )(?<!seconds )\bago\b|\bpreviously\b|\bearlier\b|\bback in\b|"
    r"\bin (?:19|20)\d\d\b|\bin (?:just )?(?:a|one|two|no|under a) (?:minute|moment|second|time|few|sec|jiffy)|\bthis morning\b|\bthe other day\b|\boriginally\b|"
    rf"\b(?:in|on|since) (?:early |late )?(?:{MONTHS.replace(' ', '|')})\b|"
    r"\bsince (?:last|yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon)\b|\b(?:lately|recently)\b"
)
"""Times that tell of the past, before the call."""
_RECENT = re.compile(r"\bjust\b|\b(?:moment|minute|second|moments|seconds) ago\b|\bsuccessfully\b|\bas you \w+ed\b")
_NOW = re.compile(r"\bnow\b|\bright away\b|\bas we speak\b|\bfor you\b|\bat once\b|\bimmediately\b|\bthis (?:second|very)")
_FINITE = frozenset("is are was were would will can could may might has costs saves takes means isn't needs".split())
_BY_OTHERS = re.compile(
    r"\bby (?:the (?!window|door|bar|fire|terrace|pool|water|way|end|time)\w+|your|my|his|her|our|their|another|some\w*|"
    r"an? (?!hour|half|day|week|minute|third|quarter)\w+|many|people|legal|others?|default)\b"
)
_MONTH_OR_DAY = frozenset(f"{MONTHS} monday tuesday wednesday thursday friday saturday sunday".split())
_FULL = re.compile(
    r"\b(?:fully|completely|are all|were all) (?:booked|reserved)\b|\bbooked (?:up|out|solid)\b|\balready (?:booked|res)"
)
"""No table is left: that claims no deed."""
_SORTS = re.compile(r"\bfrom \w+ to \w+|\bby (?:price|date|name|size|rating|colou?r)")
_HEDGED = re.compile(
    r"\b(?:it seems|it looks like|as far as i|if you ask me|according to|i (?:believe|guess|suppose)|for example|"
    r"as an example|in (?:my|this|the) (?:draft|proposal|plan|example|story|poem)|says (?:the |your )?\w+[.!]?$)",
    re.IGNORECASE,
)
_SETTINGS = re.compile(r"\bin (?:the|your) (?:settings|profile|cloud|app)\b|\bto come\b|\bby default\b")
_COMMANDS = frozenset("say tell give press click call send just".split())
_CONFIRMS = re.compile(r"[,;] *(?:is that |am i |are you )?(?:right|correct|yes|no|true)\W*\?|isn't (?:it|that)\W*\?")
_OPENER = re.compile(rf"^(?:(?:{OPENERS}|{PERFORMATIVES})\b(?: that\b)? ?)+")
_SYSTEMS = ({"the", "system"}, {"our", "system"}, {"our", "team"}, {"the", "app"})
_NOTHING = (["nothing"], ["none"], ["no"], ["nobody"], ["neither"])
_IDIOMS = frozenset({"note", "get", "have"})
"""Their participles alone are no claims: "noted", "got you"."""
_PERSONS = frozenset("he she everyone everybody".split())
_TO_YOU = frozenset("tell write answer respond reply inform let_know".split())
"""Said of the user they are talk, no deed: "I told you"."""
_GENERIC = frozenset("do take_care_of arrange sort_out handle complete finish confirm".split())
"""With a pronoun they claim whatever was asked for: "that's done", "I've taken care of it"."""
_ELLIPTIC_AFTER = frozenset("for in to at on as under and with now successfully it that them you your the a an".split())
_ELLIPTIC_NP_AFTER = frozenset("for in at to under and with successfully".split())
_SUBJECTS = frozenset("i you we he she it they there the your my".split())
_OBJECT_WITHIN = 2


class Claims:
    """Finds claims of the deeds of `tools`. Costs some microseconds a word."""

    def __init__(self, tools: Iterable[DeedTool]) -> None:
        given = [*tools]
        unknown = {verb for tool in given for claim in tool.claims for verb in _unknown_verbs(claim)}
        self._verbs = Verbs(unknown)
        self._unknown = unknown
        read = [self._read(tool) for tool in given]
        self._tools = [tool for tool in read if tool.families or tool.verbs]

    def __bool__(self) -> bool:
        """Whether any tool has a deed that can be claimed."""
        return bool(self._tools)

    def of(self, sentence: str, before: str = "") -> tuple[Claim, ...]:
        """Return what the sentence claims. `before` is what was said last, by both sides.

        Sentences such as "all done" claim only what that speaks of; with nothing before them, a deed of any tool.
        """
        if not self._tools or len(sentence) < 4:
            return ()
        if _HEDGED.search(sentence):
            return ()
        clauses = clauses_of(sentence)
        asks = sentence.rstrip().rstrip("\"'”’)").endswith("?")
        if asks:
            clauses = clauses[:-1] if not _CONFIRMS.search(sentence) else []
        found: list[Claim] = []
        conditional, carried = False, False
        for place, clause in enumerate(clauses):
            clause = _without_openers(clause)
            texts = clause.texts
            if not texts:
                continue
            was_conditional, conditional = conditional, texts[0] in SUBORDINATE
            if place == 0 and texts[0] in _COMMANDS and len(clauses) > 1 and " and " in f" {sentence} ":
                was_conditional = conditional = True
            if conditional or was_conditional:
                carried = False
                continue
            claims = self._of_clause(clause, before, carried=carried)
            carried = bool(claims) or _acts(texts)
            found += [claim for claim in claims if claim not in found]
        return tuple(found)

    # -- reading the tools -----------------------------------------------------------------------------------------

    def _read(self, tool: DeedTool) -> _Tool:
        made = _Tool(tool.name)
        names = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|\d+", tool.name)]
        sources = [[word.text for clause in clauses_of(claim) for word in clause.words] for claim in tool.claims]
        if not tool.claims and names and not _READ_TOOLS & {*names}:
            first = re.findall(r"[^\W_]+", tool.description.lower().split(".")[0])
            sources = [names, [first[0].removesuffix("s"), *first[1:]]] if first else [names]
        for texts in sources:
            # "The booking" is no verb, unless it is the whole claim.
            hits = [hit for hit in self._verbs.hits(texts) if hit.at == 0 or hit.slot in ("past", "part")]
            if not hits:
                continue
            made.families |= _families_of(texts, {hit.lemma for hit in hits})
            if tool.claims:
                made.verbs |= {hit.lemma for hit in hits}
            verbs = {texts[hit.at] for hit in hits}
            made.own_nouns |= {_singular(text) for text in texts if text not in _PLAIN and text not in verbs}
        if made.families or made.verbs:
            made.own_nouns |= {_singular(name) for name in names[1:]}
        for family in made.families:
            made.deeds |= FAMILIES[family].deeds
            made.nouns |= FAMILIES[family].deeds | FAMILIES[family].things
        if made.verbs & LIGHT:
            made.deeds |= made.own_nouns
        made.nouns |= made.own_nouns
        return made

    # -- reading a clause ------------------------------------------------------------------------------------------

    def _of_clause(self, clause: Clause, before: str, *, carried: bool) -> list[Claim]:
        texts = clause.texts
        joined = " ".join(texts)
        if _NEVERS.search(joined) or _FULL.search(joined):
            return []
        found: list[Claim] = []
        taken = -1
        for hit in self._verbs.hits(texts):
            if hit.at == taken:
                continue
            reading = _reading_of(clause, hit, carried=carried)
            if reading is None or texts[hit.at + 1 : hit.at + 2] in _NOTHING:
                continue
            claim = self._claim(texts, hit, reading, before)
            if claim is not None:
                taken = hit.at
                found.append(claim)
        if not found and (state := state_of(texts)) is not None and not GUARDS & {*texts}:
            found += self._of_state(state, texts, before)
        return found

    def _claim(self, texts: list[str], hit: Hit, reading: _Reading, before: str) -> Claim | None:
        words = {_singular(text) for text in texts}
        points = _points(texts, hit, reading)
        if hit.lemma == "order" and _SORTS.search(" ".join(texts[hit.at :])):
            return None
        if hit.lemma in _GENERIC and points and not any(tool.nouns & words for tool in self._tools):
            return self._generic(reading.kind, before)
        matching = [tool for tool in self._tools if self._does(tool, hit.lemma, words, reading, texts, points=points)]
        return _claim_of(matching, words, reading.kind, _evidence(hit.lemma) if reading.is_state else frozenset())

    def _does(
        self, tool: _Tool, lemma: str, words: set[str], reading: _Reading, texts: list[str], *, points: bool
    ) -> bool:
        families = [FAMILIES[name] for name in tool.families]
        if reading.by_self and reading.subject == ("we",) and not ({"you", "your", *PRONOUNS} & {*texts}):
            if not words & tool.nouns:
                return False  # "We've cancelled the summer sale."
        if reading.by_self and lemma in _TO_YOU and _follows(texts, "you"):
            return False
        if lemma in self._unknown:
            return lemma in tool.verbs
        if reading.is_present and any(one.is_status and lemma in one.strong | one.weak for one in families):
            if not {"now", "all"} & {*texts} and "_" not in lemma:
                return False  # "The door is locked."
        if any(lemma in family.strong for family in families):
            return reading.by_self or "message" in tool.families or _is_definite(reading.subject, words & tool.nouns)
        if lemma in LIGHT and words & tool.deeds and (lemma != "get" or _gives(texts)):
            return True
        is_weak = lemma in tool.verbs or any(lemma in family.weak for family in families)
        if not is_weak or (lemma == "get" and not _gives(texts)):
            return False
        if reading.is_present and "now" not in texts:
            about_user = bool({"you", "your", *PRONOUNS} & {*texts}) or bool(words & tool.deeds) or lemma in tool.verbs
            if "are" in texts or not about_user:
                return False  # "Your notes are saved in the cloud." "The room is arranged for forty."
        return (points and lemma != "put") or bool(words & tool.nouns)

    def _of_state(self, state: State, texts: list[str], before: str) -> list[Claim]:
        kind = ClaimKind.STARTED if state.is_started else ClaimKind.DONE
        words = {_singular(text) for text in texts}
        if state.is_generic:
            claim = self._generic(kind, before)
            return [] if claim is None else [claim]
        verb = next((at for at, text in enumerate(texts) if text in ("is", "are", "has", "have", "went")), 0)
        if texts[0] not in SELF and _is_general(texts[:verb] or texts):
            return []
        matching = [
            tool
            for tool in self._tools
            if (not state.families or state.families & tool.families)
            and (
                not state.nouns
                or words & (tool.deeds if state.nouns == "deeds" else tool.own_nouns | tool.nouns)
                or (state.is_started and "order" in tool.families and texts[0] in ("your", "it"))
            )
        ]
        claim = _claim_of(matching, words, kind, state.evidence)
        return [] if claim is None else [claim]

    def _generic(self, kind: ClaimKind, before: str) -> Claim | None:
        """Return the claim of "all done": that of the tools of which `before` speaks."""
        if not before:
            return Claim(kind, tuple(tool.name for tool in self._tools))
        texts = [text.lower() for text in re.findall(r"[^\W_]+(?:'\w+)?", before)]
        words = {_singular(text) for text in texts}
        lemmas = {hit.lemma for hit in self._verbs.hits(texts)}
        named = tuple(
            tool.name
            for tool in self._tools
            if tool.own_nouns & words
            or tool.verbs & lemmas
            or any(FAMILIES[name].strong & lemmas or FAMILIES[name].deeds & words for name in tool.families)
        )
        return Claim(kind, named) if named else None


def _claim_of(matching: list[_Tool], words: set[str], kind: ClaimKind, evidence: frozenset[str]) -> Claim | None:
    """Return the claim of these tools, or of those among them whose own things the words name."""
    if not matching:
        return None
    named = [tool for tool in matching if tool.own_nouns & words]
    return Claim(kind, tuple(tool.name for tool in named or matching), evidence)


def _families_of(texts: Sequence[str], lemmas: set[str]) -> set[str]:
    """Return the families that a declared claim speaks of."""
    words = {_singular(text) for text in texts}
    scores: dict[str, int] = {}
    for name, family in FAMILIES.items():
        verbs = 3 * bool(lemmas & family.strong) or bool(lemmas & (family.weak | LIGHT & family.weak))
        if not verbs and not (lemmas & LIGHT and words & family.deeds):
            continue
        scores[name] = verbs + 2 * bool(words & family.deeds) + bool(words & family.things)
    best = max(scores.values(), default=0)
    return {name for name, score in scores.items() if score == best and score > 1}


def _unknown_verbs(claim: str) -> list[str]:
    """Return the verbs of a declared claim that no family has: "calibrate" of "I have calibrated the sensor"."""
    texts = [word.text for clause in clauses_of(claim) for word in clause.words]
    if len(texts) == 1:
        return [] if texts[0] in known_verbs() else texts
    if any(hit.slot in ("past", "part") for hit in Verbs().hits(texts)):
        return []
    found = (text for text in texts if text.endswith("ed") and len(text) > 4)
    return [_stem(text) for text in found]


def _stem(past: str) -> str:
    """Return a regular verb from its past, as `inflected` makes it."""
    stem = past[:-2]
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    silent = stem.endswith(("at", "iz", "is", "ur", "in", "v", "c", "g", "u", "ut", "os", "as", "ir", "id", "od", "ar"))
    return past[:-1] if silent else stem


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _evidence(lemma: str) -> frozenset[str]:
    head, _, _ = lemma.partition("_")
    return frozenset(form for form, slot in inflected(head) if slot in ("past", "part"))


def _without_openers(clause: Clause) -> Clause:
    """Return the clause without what only leads to it: "great", "I can confirm that"."""
    opener = _OPENER.match(f"{' '.join(clause.texts)} ")
    if opener is None:
        return clause
    n_words = len(opener.group().split())
    left = clause.words[n_words:]
    # "All done" begins with no opener, and "now" alone is none.
    return Clause(left, clause.begins) if left or n_words > 1 else Clause(left, clause.begins)


def _acts(texts: Sequence[str]) -> bool:
    """Whether the speaker has done something in this clause, so that the next may go on without a subject."""
    for at, text in enumerate(texts[:-1]):
        if text in SELF and not GUARDS & {*texts[:at]}:
            after = next((one for one in texts[at + 1 :] if one not in ADVERBS), "")
            return after in ("have", "did", "checked", "found", "looked", "went") or after.endswith("ed")
    return False


def _back(texts: Sequence[str], at: int) -> int:
    """Return the place of the last word before `at` that is no adverb; -1 without one."""
    at -= 1
    while at >= 0 and texts[at] in ADVERBS:
        at -= 1
    return at


def _reading_of(clause: Clause, hit: Hit, *, carried: bool) -> _Reading | None:
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
        return _Reading(ClaimKind.DONE, True, subject=(word,)) if free else None
    if slot == "part":
        if word in ("have", "has"):
            subject = _back(texts, before)
            if _is_self(texts, subject) and _is_free(texts, subject):
                return _Reading(ClaimKind.DONE, True, subject=(texts[subject],))
            return None
        if word in ("been", "being", "is", "are", "was", "were", "got"):
            return _passive(clause, before, word, tail)
        if _has_it_done(texts, at):
            return _Reading(ClaimKind.DONE, True)
    if slot in ("past", "part"):
        if word == "and" and _acts(texts[:before]) and not GUARDS & {*texts[:before]}:
            return _Reading(ClaimKind.DONE, True)
        if before < 0 and carried and not clause.begins:
            return _Reading(ClaimKind.DONE, True)
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
        if word == "to" and before >= 1 and texts[before - 1] == "managed":
            return before - 1, "part" if texts[_back(texts, before - 1)] == "have" else "past"
        if word == "to" and before >= 2 and texts[before - 1] == "able" and texts[before - 2] in ("was", "were", "been"):
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


def _progressive(clause: Clause, at: int, before: int, word: str, tail: str) -> _Reading | None:
    texts = clause.texts
    if word in ("am", "are") and before >= 1 and _is_self(texts, _back(texts, before)):
        free = _is_free(texts, _back(texts, before)) and texts[at + 1 : at + 2] != ["to"]
        return _Reading(ClaimKind.ANNOUNCED, True) if free else None
    if before < 0 and clause.begins and _NOW.search(tail) and not _FINITE & {*texts[at:]}:
        return _Reading(ClaimKind.ANNOUNCED, True)
    return None


def _passive(clause: Clause, before: int, word: str, tail: str) -> _Reading | None:
    """Return the reading of "has been booked", "is booked", "was booked just now", "is being booked"."""
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
        return _Reading(kind, False, subject=subject) if _RECENT.search(" ".join(texts)) else None
    is_state = word in ("is", "are")
    if is_state and (_is_general(subject) or HABITS & {*texts} or _SETTINGS.search(tail)):
        return None
    return _Reading(kind, False, is_state=is_state or word == "been", is_present=is_state, subject=subject)


def _is_by_name(words: Sequence[Word]) -> bool:
    """Whether a name follows "by": somebody else did it."""
    for one, after in zip(words, words[1:], strict=False):
        if one.text == "by" and after.written[:1].isupper() and after.text not in _MONTH_OR_DAY:
            return True
    return False


def _is_general(subject: Sequence[str]) -> bool:
    """Whether a subject means no certain thing: "tables", "a ticket", "every call"."""
    first = subject[0]
    if first == "all" and len(subject) > 1 and subject[1] in ("the", "your", "of"):
        return False
    if first in _DETERMINED or first == "our":
        return True
    bare = first.endswith("s") and first not in ("this", "his", "its", "yours", "lights", "doors")
    return bare and len(subject) <= 2


def _is_definite(subject: Sequence[str], nouns: set[str]) -> bool:
    """Whether it is the user's matter: "you", "it", "your table", or a thing of the tool."""
    return not subject or bool(nouns) or bool({"you", "your"} & {*subject}) or subject[-1] in _PERSONS | PRONOUNS


def _has_it_done(texts: Sequence[str], at: int) -> bool:
    """Whether the words before are "I have (got) you", "we got your table", with nothing else between."""
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


def _elliptic(clause: Clause, hit: Hit, at: int, before: int) -> _Reading | None:
    """Return the reading of "Booked!", "All booked", "Table booked for six" at the beginning of a sentence."""
    texts = clause.texts
    after = texts[at + 1] if at + 1 < len(texts) else ""
    if not clause.begins or _FINITE & {*texts} or hit.lemma in _IDIOMS:
        return None
    if before < 0 or texts[:at] == ["all"]:
        if after and after not in _ELLIPTIC_AFTER and "_" not in hit.lemma:
            return None
        return None if hit.lemma in _GENERIC and after else _Reading(ClaimKind.DONE, False, subject=("it",))
    subject = tuple(texts[:at])
    if len(subject) > 3 or GUARDS & {*subject} or (SELF | {"you", "and", "to"}) & {*subject}:
        return None
    if (after and after not in _ELLIPTIC_NP_AFTER) or subject[0] in _DETERMINED - {"all"}:
        return None
    if subject[-1].endswith("s") and len(subject) == 1:
        return None
    return _Reading(ClaimKind.DONE, False, subject=subject)


def _points(texts: Sequence[str], hit: Hit, reading: _Reading) -> bool:
    """Whether the verb is about a pronoun: "I moved it", "that's been moved"."""
    if not reading.by_self:
        return not reading.subject or (len(reading.subject) <= 2 and reading.subject[-1] in PRONOUNS)
    near = texts[hit.at + 1 : hit.at + 1 + _OBJECT_WITHIN + hit.lemma.count("_")]
    for place, text in enumerate(near):
        if text in PRONOUNS:
            following = texts[hit.at + 2 + place : hit.at + 3 + place]
            opens = text in ("that", "this", "those", "these") and following and following[0] not in _PLAIN - SELF
            is_clause = text == "that" and following and following[0] in _SUBJECTS
            return not (opens or is_clause)
    return False


def _follows(texts: Sequence[str], word: str) -> bool:
    """Whether this word comes right behind a verb of telling."""
    told = ("told", "wrote", "written", "answered", "responded", "replied", "informed", "let")
    return any(text in told and after == word for text, after in zip(texts, texts[1:], strict=False))


def _gives(texts: Sequence[str]) -> bool:
    """Whether "get" gives: "I got you a table"."""
    for at, text in enumerate(texts[:-1]):
        if text in ("got", "get", "gotten") and texts[at + 1] == "you":
            return True
    return False
