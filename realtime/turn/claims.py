"""Which sentences claim a tool's deed, and whether calls back them.

"I've booked the table" is a claim; "shall I book it?", "I'll book it", "you booked it" are none. The rules generalise a
tool's few example sentences over tense, person, voice and wording, by families of verbs (`claim_words`). They read one
sentence at a time and know no more of the language than its words; what they do not find is listed in
`docs/claims.md`. German, Spanish and Chinese are read more coarsely (`claim_words.languages`), other languages not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from realtime.tool.spoken_numbers import Language
from realtime.turn.claim_details import Detail, details_of, fits, known_of
from realtime.turn.claim_words.english import (
    FAMILIES,
    LIGHT,
    MONTHS,
    NUMBERS,
    PRONOUNS,
    SELF,
    SETTLED,
    singular,
    word_set,
)
from realtime.turn.claim_words.forms import Clause, Hit, Verbs, clauses_of, inflected
from realtime.turn.claim_words.frames import dangles, is_addition, is_tagged, is_verbless, plain, stated
from realtime.turn.claim_words.grammar import (
    GENERIC,
    SUBJECTS,
    ClaimKind,
    Reading,
    acts,
    gives,
    guards,
    is_definite,
    is_general,
    names_person,
    points_at,
    reading_of,
    tells,
    without_openers,
)
from realtime.turn.claim_words.languages import FOREIGN, claimed, families_in
from realtime.turn.claim_words.objects import has_object, is_whole, obtains, sets_level, unknown_deed
from realtime.turn.claim_words.results import Result, results_of
from realtime.turn.claim_words.states import State, is_fresh, states_of
from realtime.turn.claim_words.tool_words import ToolWords, nouns_of, read_tool, unknown_verbs

__all__ = ["Claim", "ClaimKind", "Claims", "Deed", "DeedState", "DeedTool", "denial_of", "unbacked"]


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
    details: tuple[Detail, ...] = field(default=(), compare=False)
    """What it tells of the deed, such as a day; a call with other details does not back it."""
    least: int = field(default=1, compare=False)
    """How many calls it needs: "a second table" needs two."""


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
    arguments: str = ""
    """A JSON object; empty: they are not known, and no detail contradicts them."""


def unbacked(claims: Iterable[Claim], deeds: Collection[Deed]) -> tuple[Claim, ...]:
    """Return the claims that nothing in the log backs. An announced deed is backed by any call, also a later one."""
    return tuple(claim for claim in claims if not _is_backed(claim, deeds))


def _is_backed(claim: Claim, deeds: Collection[Deed]) -> bool:
    if _is_done(claim, deeds):
        return True
    others = [deed for deed in deeds if deed.state is DeedState.SUCCESS and deed.tool not in claim.tools]
    return any(claim.evidence & {*re.findall(r"[^\W_]+", deed.words.lower())} for deed in others)


def _is_done(claim: Claim, deeds: Collection[Deed]) -> bool:
    """Whether calls of its tools did what a claim tells: so many, with such details."""
    own = [deed for deed in deeds if deed.tool in claim.tools]
    if claim.kind is ClaimKind.ANNOUNCED:
        return bool(own)
    enough = {DeedState.SUCCESS} if claim.kind is ClaimKind.DONE else {DeedState.SUCCESS, DeedState.RUNNING}
    own = [deed for deed in own if deed.state in enough]
    if len(own) < claim.least:
        return False
    return not all(deed.arguments for deed in own) or fits(
        claim.details, [known_of(deed.arguments, deed.words) for deed in own]
    )


_DENIALS = (
    (re.compile(r"^(i|we)(?:'ve| have) (.+)$", re.IGNORECASE), "{0} have not {1} yet."),
    (re.compile(r"^(.{1,200}?)(?:'s| has) been (.+)$", re.IGNORECASE), "{0} has not been {1} yet."),
    (re.compile(r"^(.{1,200}?) have been (.+)$", re.IGNORECASE), "{0} have not been {1} yet."),
    (re.compile(r"^(.{1,200}?) (is|are) (.+)$", re.IGNORECASE), "{0} {1} not {2} yet."),
)
NOT_DONE: dict[Language, str] = {
    "en": "That is not done yet.",
    "de": "Das ist noch nicht erledigt.",
    "es": "Eso todavía no está hecho.",
    "zh": "这还没有办好。",
}


def denial_of(tool: DeedTool, language: Language = "en") -> str:
    """Return the sentence that denies the deed; in English the tool's first claim, negated, where it has any."""
    if language != "en":
        return NOT_DONE[language]
    declared = next((claim for claim in tool.claims if " " in claim), "").replace("’", "'").strip().rstrip(".!")
    for pattern, denial in _DENIALS:
        if (found := pattern.match(declared)) is not None:
            words = denial.format(*found.groups())
            return words[0].upper() + words[1:]
    return NOT_DONE["en"]


_MOST_CHARS = 1_000
"""Of a longer sentence the rest is not read."""
_NEVERS = re.compile(
    r"\byesterday\b|\blast (?:week|month|year|night|time|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|"
    r"(?<!moment )(?<!second )(?<!minute )(?<!moments )(?<!seconds )\bago\b|\bpreviously\b|"
    r"(?<!the )(?<!an )\bearlier\b|\bback in\b|"
    r"\bin (?:19|20)\d\d\b|\bin (?:just )?(?:a|one|two|no|under a) (?:minute|moment|second|time|few|sec|jiffy)(?! ago)|"
    r"\bthis morning\b|\bthe other day\b|\boriginally\b|"
    rf"\b(?:in|on|since) (?:early |late )?(?:{MONTHS.replace(' ', '|')})\b|"
    r"\bsince (?:last|yesterday|monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon)\b|"
    r"\b(?:lately|recently)\b|\bfor (?:years|months|weeks)\b|\b(?:once|before)$|\bmy own\b|\bto what\b|"
    r"\bwritten to you\b|\bpaid .{0,40}\bvisit\b|"
    r"\bin the past\b|\bto (?:me|us)\b|\bon your (?:side|end|part)\b|\b(?:myself|ourselves)\b|\bmy (?!manager|"
    r"supervisor|colleague|boss|team|end|side|desk|part)|"
    r"\bthis (?:year|season|month)\b|\btimes$|\bin (?:the|your) (?:basket|cart|drafts?)\b"
)
"""Times that tell of the past, before the call."""
_FULL = re.compile(
    r"\b(?:fully|completely|(?<!you )are all|were all) (?:booked|reserved)\b|\bbooked (?:up|out|solid)\b|"
    r"(?<!i have )(?<!we have )\balready (?:booked|res)|(?<!card )(?<!account )\bon (?:hold|speaker)\b|"
    r"\bin front of me\b"
)
"""No table is left: that claims no deed."""
_SORTS = re.compile(r"\bfrom \w+ to \w+|\bby (?:price|date|name|size|rating|colou?r)")
_HEDGED = re.compile(
    r"\b(?:it seems|it looks like|it says|as far as i|if you ask me|according to|i (?:believe|guess|suppose)|"
    r"for example|as an example|in (?:my|this|the) (?:draft|proposal|plan|example|story|poem)|"
    r"says (?:the |your )?\w+[.!]?$)",
    re.IGNORECASE,
)
_FIXED = word_set("report_to buy_into kill_time strike_out pass_on drop_off pay_off play_with")
"""Verbs that mean something else with the next word."""
_CONTENTS = word_set("what how why where who whether")
_RECORDS = word_set("note note_down write_down jot_down put_down save record log mark add update change confirm")
_COMMANDS = word_set("say tell give press click call send just")
_CONFIRMS = re.compile(r"[,;] *(?:is that |am i |are you )?(?:right|correct|yes|no|true)\W*\?|isn't (?:it|that)\W*\?")
_NOTHING = (["not"], ["nothing"], ["none"], ["no"], ["nobody"], ["neither"], ["attention"], ["tribute"])
_NOT = word_set("nothing none nobody attention heed tribute")
"""Somewhere behind the verb they make it no deed: "I told him nothing", "I've paid close attention"."""
_TALK = word_set(
    "sentence word comma paragraph joke example thought mistake opinion judgement judgment expectation accent"
)
"""Things that are said or thought; with them a verb tells no deed, unless the tool is about them."""
_TO_YOU = word_set("tell answer respond reply inform invite let_know share")
"""Said of the user they are talk, no deed: "I told you"."""
_POINTING = word_set("the that this those these your both")
_NEED_NOUNS = word_set(
    "put make keep take settle write answer drop pop stick kill hit get_in get_out pull flip pass wipe zap swap nudge"
)
"""With a pronoun alone they claim nothing: "I put it badly"."""
_TO_PERSONS = word_set("tell reply inform contact respond answer write_to reach_out forward")
"""Of a person who is named they are a message: "I told Ann"."""


class Claims:
    """Finds claims of the deeds of `tools`. Costs some microseconds a word."""

    def __init__(self, tools: Iterable[DeedTool]) -> None:
        given = [*tools]
        unknown = {verb for tool in given for claim in tool.claims for verb in unknown_verbs(claim)}
        self._verbs = Verbs(unknown)
        self._unknown = unknown
        read = [read_tool(one.name, one.description, one.claims, self._verbs, unknown) for one in given]
        self._tools = [tool for tool in read if tool.families or tool.verbs]

    def __bool__(self) -> bool:
        """Whether any tool has a deed that can be claimed."""
        return bool(self._tools)

    def of(self, sentence: str, before: str = "") -> tuple[Claim, ...]:
        """Return what the first 1,000 characters of a sentence claim. `before` is what both sides said last.

        Sentences such as "all done" claim only what that speaks of; with nothing before them, a deed of any tool.
        """
        if not self._tools or len(sentence) < 3:
            return ()
        written = sentence = sentence[:_MOST_CHARS]
        if _HEDGED.search(sentence):
            return ()
        is_known = "now that" in sentence.lower()
        sentence = plain(sentence)
        if is_tagged(sentence):
            return ()
        clauses = clauses_of(sentence)
        own = stated(clauses)
        if sentence.rstrip().rstrip("\"'”’)").endswith("?"):
            if _CONFIRMS.search(sentence) or (clauses and clauses[-1].texts[0] == "or"):
                return ()
            if not (is_known and clauses and clauses[-1].joined_by == "because"):
                clauses = clauses[:-1]
        found: list[Claim] = []
        carried, begins, is_after_names = False, True, False
        commands = (
            bool(clauses) and clauses[0].texts[0] in _COMMANDS and len(clauses) > 1 and " and " in f" {sentence} "
        )
        dangling = [dangles(clause) for clause in clauses[1:]] + [False]
        for place, (whole, is_stated) in enumerate(zip(clauses, own, strict=False)):
            clause = Clause(without_openers(whole).words, begins, is_after_names=is_after_names)
            texts = clause.texts
            if not texts:
                continue
            if texts in (["on"], ["off"]) and is_after_names:
                clause = Clause((*clauses[place - 1].words, *clause.words), begins=True)
            is_after_names = (begins or is_after_names) and (is_verbless(texts) or whole.is_asked)
            begins = False
            if not is_stated or (commands and place < 2):
                carried = False
                continue
            claims = self._of_clause(clause, before, carried=carried, dangles=dangling[place])
            carried = bool(claims) or acts(texts)
            new = [claim for claim in dict.fromkeys(claims) if claim not in found]
            found += [self._detailed(claim, clauses, place, sentence) for claim in new]
        return tuple(found) or tuple(dict.fromkeys(self._in_other_languages(written, before)))

    def _in_other_languages(self, sentence: str, before: str) -> Iterator[Claim]:
        """Yield what a German, Spanish or Chinese sentence claims, without details."""
        for language in FOREIGN:
            for families in claimed(sentence, language):
                if not families and before:
                    families = families_in(before, language)
                    if not families:
                        continue
                names = tuple(tool.name for tool in self._tools if not families or families & tool.families)
                if names:
                    yield Claim(ClaimKind.DONE, names)

    def _detailed(self, claim: Claim, clauses: Sequence[Clause], place: int, sentence: str) -> Claim:
        """Return the claim with its details: those of its clause, and of half sentences beside it."""
        first, last = place, place + 1
        while first > 0 and is_addition(clauses[first - 1].texts):
            first -= 1
        while last < len(clauses) and is_addition(clauses[last].texts):
            last += 1
        end = clauses[last].words[0].begins if last < len(clauses) else len(sentence)
        begin = clauses[first].words[0].begins if first else 0
        begin -= sentence[begin - 1 : begin] in ("$", "€", "£", "¥")
        tools = [tool for tool in self._tools if tool.name in claim.tools]
        nouns = {noun for tool in tools for noun in tool.nouns}
        return replace(
            claim,
            details=details_of(sentence[begin:end], nouns),
            least=min(_least(clauses[place].texts, tool.nouns, tool.deeds) for tool in tools),
        )

    # -- reading a clause ------------------------------------------------------------------------------------------

    def _of_clause(self, clause: Clause, before: str, *, carried: bool, dangles: bool) -> list[Claim]:
        texts = clause.texts
        joined = " ".join(texts)
        if _NEVERS.search(joined) or _FULL.search(joined):
            return []
        found: list[Claim] = []
        taken = -1
        for hit in self._verbs.hits(texts):
            if hit.at == taken:
                continue
            reading = reading_of(clause, hit, carried=carried, dangles=dangles)
            if reading is None or texts[hit.at + 1 : hit.at + 2] in _NOTHING or _NOT & {*texts[hit.at + 1 :]}:
                continue
            claim = self._claim(clause, hit, reading, before)
            if claim is not None:
                taken = hit.at
                found.append(claim)
        if not found and (verb := unknown_deed(texts)):
            words = {singular(text) for text in texts[verb + 1 : verb + 6]}
            named = [tool for tool in self._tools if words & (tool.deeds | tool.own_nouns)]
            found += [claim] if (claim := _claim_of(named, words, ClaimKind.DONE, frozenset())) else []
        states = iter(()) if found else states_of(texts)
        found = found or next((claims for state in states if (claims := self._of_state(state, texts, before))), [])
        results = iter(()) if found else results_of(clause)
        return found or next((claims for result in results if (claims := self._of_result(result, texts))), [])

    def _claim(self, clause: Clause, hit: Hit, reading: Reading, before: str) -> Claim | None:
        texts = clause.texts
        words = {singular(text) for text in texts}
        points = points_at(texts, hit, reading) or (hit.lemma in _TO_PERSONS and names_person(clause, hit))
        following = texts[hit.at + 1 : hit.at + 2]
        if following and reading.by_self and f"{hit.lemma}_{following[0]}" in _FIXED:
            return None
        tells_that = following == ["that"] and {*texts[hit.at + 2 : hit.at + 3]} & SUBJECTS
        if (tells_that or {*following} & _CONTENTS) and reading.by_self and hit.lemma not in _RECORDS:
            return None  # "I've shared what I know."
        if hit.lemma == "start" and following and (following[0] in ("on", "with") or following[0].endswith("ing")):
            return None
        if hit.lemma in ("order", "sort") and _SORTS.search(" ".join(texts[hit.at :])):
            return None
        names_thing = any(tool.nouns & words for tool in self._tools)
        if hit.lemma in SETTLED and reading.subject == ("you",) and is_whole(texts, hit):
            return self._generic(reading.kind, before)  # "That's you sorted."
        if hit.lemma in GENERIC and points and is_whole(texts, hit) and not names_thing:
            return self._generic(reading.kind, before)
        matching = [tool for tool in self._tools if self._does(tool, hit, words, reading, clause, points=points)]
        return _claim_of(matching, words, reading.kind, _evidence(hit.lemma) if reading.is_state else frozenset())

    def _does(
        self, tool: ToolWords, hit: Hit, words: set[str], reading: Reading, clause: Clause, *, points: bool
    ) -> bool:
        texts = clause.texts
        lemma = hit.lemma
        if lemma not in tool.lemmas:
            return False
        families = [FAMILIES[name] for name in tool.families]
        if (words & _TALK) - tool.own_nouns:
            return False
        concerns = bool(words & tool.nouns) or bool({"you", "your", "it", "that", "them"} & {*texts})
        if reading.by_self and reading.subject == ("we",) and not concerns:
            return False  # "We've cancelled the summer sale."
        if reading.by_self and lemma in _TO_YOU and tells(texts, "you"):
            return False
        if lemma in self._unknown:
            told = points or "_" in lemma or bool(words & tool.own_nouns) or _has_thing(clause, hit, reading)
            return lemma in tool.verbs and told
        is_status = any(one.is_status and lemma in one.strong | one.weak for one in families)
        if lemma == "call" and (not reading.by_self or texts[hit.at + 1 : hit.at + 2] == ["it"]):
            return not reading.by_self and bool(words & tool.nouns)  # "It's called Luigi's", "I called it a day".
        if is_status and reading.is_present and "all" not in texts and not is_fresh(texts) and "_" not in lemma:
            own = (
                (lemma in tool.verbs or lemma == "freeze")
                and reading.subject[0] in ("the", "your")
                and words & tool.own_nouns
            )
            return bool(own) and hit.at == len(texts) - 1 and "is" in texts
        if any(lemma in family.strong for family in families):
            if reading.is_present and reading.subject[-1:] == ("one",) and "now" not in texts:
                return False  # "This one is ordered from Italy."
            persons = {"message", "pay"} & tool.families and not reading.is_present
            if reading.subject == ("you",) and "message" in tool.families:
                return False
            about_user = not reading.is_present and bool({"you", "your"} & {*texts})
            about_user |= reading.is_elliptic and (texts[0] in ("that", "consider") or "cancel" not in tool.families)
            behind = texts[hit.at + 1 : hit.at + 2]
            if lemma == "order" and reading.subject[:1] == ("the",) and behind in ([], ["for"], ["and"], ["now"]):
                return True
            about_user |= (
                bool({"order", "delete", "refund"} & tool.families)
                and not reading.is_present
                and bool({*reading.subject[:1]} & _POINTING)
            )
            about_user |= not _NEWS & tool.families and _is_of_call(reading, texts)
            about_user |= reading.is_present and _is_named(clause, hit)
            return reading.by_self or bool(persons) or about_user or is_definite(reading.subject, words & tool.nouns)
        if lemma in SETTLED and words & tool.nouns and is_whole(texts, hit):
            return "are" not in texts or bool({"now", "all"} & {*texts})
        named = words & (tool.deeds | tool.own_nouns if lemma == "confirm" else tool.deeds)
        if lemma in LIGHT and named and (lemma != "get" or gives(texts)):
            return True
        is_weak = lemma in tool.verbs or any(lemma in family.weak for family in families)
        if (
            not is_weak
            or (lemma == "get" and not obtains(texts))
            or (lemma == "take" and (not reading.by_self or "liberty" in texts))
        ):
            return False
        if reading.is_present and not is_fresh(texts):
            about_user = bool({"you", "your", *PRONOUNS} & {*texts}) or bool(words & tool.deeds) or lemma in tool.verbs
            is_many = "are" in texts and lemma != "confirm" and reading.subject != ("you",)
            if is_many or not about_user:
                return False  # "Your notes are saved in the cloud." "The room is arranged for forty."
        if "adjust" in tool.families and sets_level(texts):
            return True
        if has_object(tool.families, texts[hit.at + 1 :], reading):
            return True
        if "message" in tool.families and reading.by_self and lemma not in _NEED_NOUNS:
            behind = texts[hit.at + 1 + lemma.count("_") :]
            if names_person(clause, hit) or (lemma.startswith("send") and {*behind[:1]} & _POINTING):
                return True
        needs_noun = lemma in _NEED_NOUNS or (lemma == "set_up" and not reading.by_self)
        return (points and not needs_noun) or (bool(words & tool.nouns) and "every" not in texts)

    def _of_state(self, state: State, texts: list[str], before: str) -> list[Claim]:
        kind = ClaimKind.STARTED if state.is_started else ClaimKind.DONE
        words = {singular(text) for text in texts}
        if state.is_generic:
            claim = self._generic(kind, before)
            return [] if claim is None else [claim]
        verb = next((at for at, text in enumerate(texts) if text in ("is", "are", "has", "have", "went")), 0)
        subject = texts[:verb] or texts
        if guards([text for text in texts if text not in ("without", "had")]):
            return []
        if (
            texts[0] not in (*SELF, "lights", "they")
            and is_general(subject)
            and not (is_fresh(texts) or "gone" in texts)
        ):
            return []
        matching = [
            tool
            for tool in self._tools
            if (not state.families or state.families & tool.families)
            and (
                not state.nouns
                or words & nouns_of(tool, state.nouns)
                or (state.is_started and "order" in tool.families and texts[0] in ("your", "it", "the"))
                or ("pay" in state.families & tool.families and words & NUMBERS)
            )
        ]
        claim = _claim_of(matching, words, kind, state.evidence)
        return [] if claim is None else [claim]

    def _of_result(self, result: Result, texts: list[str]) -> list[Claim]:
        matching = [
            tool
            for tool in self._tools
            if result.families & tool.families and (not result.subject or result.subject & nouns_of(tool, result.nouns))
        ]
        kind = ClaimKind.STARTED if result.is_started else ClaimKind.DONE
        claim = _claim_of(matching, {singular(text) for text in texts}, kind, result.evidence)
        return [] if claim is None else [claim]

    def _generic(self, kind: ClaimKind, before: str) -> Claim | None:
        """Return the claim of "all done": that of the tools of which `before` speaks."""
        if not before:
            return Claim(kind, tuple(tool.name for tool in self._tools))
        texts = [text.lower() for text in re.findall(r"[^\W_]+(?:'\w+)?", before)]
        words = {singular(text) for text in texts}
        lemmas = {hit.lemma for hit in self._verbs.hits(texts)}
        named = tuple(
            tool.name
            for tool in self._tools
            if tool.own_nouns & words
            or tool.verbs & lemmas
            or any(FAMILIES[name].strong & lemmas or FAMILIES[name].deeds & words for name in tool.families)
        )
        return Claim(kind, named) if named else None


def _is_of_call(reading: Reading, texts: Sequence[str]) -> bool:
    """Whether a passive about an unknown thing tells of this call: "the cottage has been cancelled"; no news."""
    is_open = reading.is_present or reading.is_elliptic or reading.kind is not ClaimKind.DONE
    return not is_open and bool({*reading.subject[:1]} & _POINTING) and not _CAUSES & {*texts}


def _is_named(clause: Clause, hit: Hit) -> bool:
    """Whether the deed was done to what has a name: "FilmBox is cancelled"."""
    words = clause.words[: max(0, hit.at - 1)]
    if words and words[0].text in ("the", "your"):
        words = words[1:]
    is_name = bool(words) and all(word.written[:1].isupper() and word.text not in _NO_NAMES for word in words)
    behind = clause.texts[hit.at + 1 + hit.lemma.count("_") :]
    return is_name and len(words) < 4 and behind[:1] in ([], ["for"])


def _has_thing(clause: Clause, hit: Hit, reading: Reading) -> bool:
    """Whether a tool's own verb has an object: "I rented you a Golf", "the thread has been archived"."""
    if not reading.by_self:
        return _is_of_call(reading, clause.texts)
    behind = clause.words[hit.at + 1 : hit.at + 2]
    return any(word.text in _OBJECTS or word.written[:1].isupper() for word in behind)


_OBJECTS = NUMBERS | word_set("the a an your his her their its that those these this all both every half you him them")
_NO_NAMES = SELF | PRONOUNS | word_set(f"{MONTHS} monday tuesday wednesday thursday friday saturday sunday you he she")
_NEWS = word_set("cancel update renew block lock")
"""Families of which passives are often news about others: "the concert has been called off"."""
_CAUSES = word_set("because due since until after owing again already often twice once by")


_NTH = {"second": 2, "another": 2, "extra": 2, "additional": 2, "third": 3, "fourth": 4}

_SEVERAL = {"two": 2, "both": 2, "three": 3, "four": 4}


def _least(texts: Sequence[str], nouns: Collection[str], deeds: Collection[str]) -> int:
    """Return how many deeds a clause needs: "another table", "a second one", "two reminders"."""
    for one, behind in pairwise(texts):
        if one in _NTH and (singular(behind) in nouns or behind == "one"):
            return _NTH[one]
        if one in _SEVERAL and behind.endswith("s") and singular(behind) in deeds:
            return _SEVERAL[one]
    return 1


def _claim_of(matching: list[ToolWords], words: set[str], kind: ClaimKind, evidence: frozenset[str]) -> Claim | None:
    """Return the claim of the tools whose own things are named; else of all."""
    if not matching:
        return None
    named = [tool for tool in matching if tool.own_nouns & words]
    return Claim(kind, tuple(tool.name for tool in named or matching), evidence)


def _evidence(lemma: str) -> frozenset[str]:
    head, _, _ = lemma.partition("_")
    return frozenset(form for form, slot in inflected(head) if slot in ("past", "part"))
