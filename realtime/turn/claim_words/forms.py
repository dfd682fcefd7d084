"""English verbs in their forms, and sentences as lists of clauses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from realtime.turn.claim_words.english import ADVERBS, DOUBLED, FAMILIES, IRREGULAR, LIGHT, NUMBERS, PRONOUNS, word_set

Slot = Literal["base", "past", "part", "ing"]

PARTICLE_WINDOW = 6
"""How many words may stand between a verb and its particle."""
STRAY = word_set("up out off together aside away down back on over through along around ahead by")
"""Behind a verb they make another one, unless that is listed."""
_BEHIND_PARTICLE = (
    [],
    *(
        [word]
        for word in [
            "for",
            "before",
            "at",
            "on",
            "to",
            "in",
            "and",
            "as",
            "under",
            "with",
            "now",
            "already",
            "again",
            "too",
            "from",
            "just",
            "between",
            "today",
            "tonight",
            "tomorrow",
        ]
    ),
)
_APART = frozenset({"up", "out", "off", "together", "aside", "away", "down"})
"""They make another verb also behind a pronoun: "I added it up"."""
CONTIGUOUS = frozenset({"take_care_of", "get_rid_of"})

_CLITICS = {"'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'m": "am"}
_PARTICIPLES = frozenset(part for _, parts in IRREGULAR.values() for part in parts.split())
_UNMARKED = {"ive": "i've", "im": "i'm", "youre": "you're", "thats": "that's", "weve": "we've", "its": "its"}
_IS_AFTER = word_set("it that this he she there here what who where how everything all let")
_STATES = word_set(
    "being on off in at up down out over back away yours open active live history dead ready through with under safe "
    "running printing playing coming heating warming cleaning charging ringing going getting heading waiting good "
    "closed online free quiet ticking expecting"
)
"""Behind `'s` they make it "is"."""
_TOKEN = re.compile(r"(?<!\d)\d+(?:[:.]\d+)+|[^\W_]+(?:['’][^\W_]+)*|[,;:—–()!?]|\.(?=\s)|\s-\s")
_QUOTED = re.compile(r"[\"“„][^\"”“„]*[\"”“]|(?<!\w)'[^']*'(?!\w)")
_BREAKS = frozenset(",;:—–()!?.-")
_JOINS = frozenset({"but", "so", "because", "while", "though", "although"})
_MEANS = word_set("text email mail message phone post letter transfer card sms")
_A = word_set("a an another")
_UNITS = word_set("minute hour day week month year degree percent euro dollar pound")
_DETERMINERS = word_set("my our your the a an his her their")
_OBJECTS = word_set("you me him her us them the a an your my our his their two three some")
_SUBJECTS = word_set("i we you he she it they that this there the your my his her our their everything all")


@dataclass(frozen=True, slots=True)
class Word:
    """A word: as it is compared, and as it is written."""

    text: str
    written: str
    begins: int = 0
    """Its first character in the sentence."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A verb in a clause: where, which, in which form."""

    at: int
    lemma: str
    slot: Slot


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence between commas and conjunctions."""

    words: tuple[Word, ...]
    begins: bool
    """Whether it is the first of its sentence."""
    joined_by: str = ""
    """The conjunction that leads to it, such as "and"; empty: none."""
    is_asked: bool = False
    """Whether a question mark ends it."""
    is_after_names: bool = False
    """Whether only clauses without a verb are before it: "one pizza, two colas, all ordered"."""

    @property
    def texts(self) -> list[str]:
        """The words as they are compared."""
        return [word.text for word in self.words]


def inflected(lemma: str) -> Iterator[tuple[str, Slot]]:
    """Yield the forms of a verb of one word."""
    yield lemma, "base"
    if lemma in IRREGULAR:
        past, parts = IRREGULAR[lemma]
        yield past, "past"
        for part in parts.split():
            yield part, "part"
    else:
        stems = [f"{lemma}ed"]
        if lemma.endswith("e"):
            stems = [f"{lemma}d"]
        elif lemma.endswith("y") and lemma[-2:-1] not in "aeiou":
            stems = [f"{lemma[:-1]}ied"]
        elif lemma in DOUBLED:
            stems.append(f"{lemma}{lemma[-1]}ed")
        for stem in stems:
            yield stem, "past"
            yield stem, "part"
    root = lemma[:-1] if lemma.endswith("e") and not lemma.endswith("ee") else lemma
    yield f"{root}ing", "ing"
    if lemma in DOUBLED or (lemma in IRREGULAR and lemma[-1] in "tp" and lemma[-2] in "aeiou"):
        yield f"{lemma}{lemma[-1]}ing", "ing"


@cache
def known_verbs() -> frozenset[str]:
    """All verbs of the families."""
    verbs = {verb for family in FAMILIES.values() for verb in family.strong | family.weak}
    return frozenset(verbs | LIGHT)


class Verbs:
    """Finds verbs in clauses: those of the families, and `more`."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._forms: dict[str, list[tuple[str, tuple[str, ...], Slot]]] = defaultdict(list)
        for lemma in sorted(known_verbs() | {*more}):
            head, *particles = lemma.split("_")
            for form, slot in inflected(head):
                self._forms[form].append((lemma, tuple(particles), slot))

    def hits(self, texts: Sequence[str]) -> Iterator[Hit]:
        """Yield the verbs of a clause, once for each possible form."""
        for at, text in enumerate(texts):
            readings = self._forms.get(text)
            if readings is None:
                continue
            found = [reading for reading in readings if reading[1] and _has_particles(texts, at, reading)]
            following = texts[at + 1] if at + 1 < len(texts) else ""
            later = texts[at + 2] if at + 2 < len(texts) and following in PRONOUNS else ""
            stray = (following in STRAY and not _is_place(texts[at + 1 : at + 4])) or later in _APART
            if not stray and not any(following in reading[1] for reading in found):
                found += [reading for reading in readings if not reading[1]]
            for lemma, _, slot in found:
                yield Hit(at, lemma, slot)


def _is_place(texts: Sequence[str]) -> bool:
    """Whether a preposition begins its own phrase: "blocked on my end", "booked on Friday"."""
    if texts[0] == "by" and len(texts) > 1 and texts[1] in _MEANS:
        return True
    if texts[0] == "by" and texts[2:] and texts[1] in NUMBERS | _A and texts[2].rstrip("s") in _UNITS:
        return True
    return texts[0] == "on" and len(texts) > 1 and (texts[1] in _DETERMINERS | {"to"} or texts[1].endswith("day"))


def _has_particles(texts: Sequence[str], at: int, reading: tuple[str, tuple[str, ...], Slot]) -> bool:
    lemma, particles, _ = reading
    if lemma in CONTIGUOUS:
        return tuple(texts[at + 1 : at + 1 + len(particles)]) == particles
    near = texts[at + 1 : at + 2 + PARTICLE_WINDOW]
    return all(particle in near and _ends_verb(near, near.index(particle)) for particle in particles)


def _ends_verb(near: Sequence[str], place: int) -> bool:
    """Whether a particle belongs to its verb: "checked you in for Monday", not "checked the weather in Rome"."""
    if place == 0 or near[place] not in ("in", "on", "over", "through"):
        return True
    return near[place + 1 : place + 2] in _BEHIND_PARTICLE


def clauses_of(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence, without what it quotes."""
    words = _expanded(_QUOTED.sub(lambda found: " " * len(found.group()), sentence.replace("’", "'")))
    clauses: list[Clause] = []
    current: list[Word] = []
    joined_by = ""

    def close(*, asks: bool = False) -> None:
        nonlocal joined_by
        if current:
            clauses.append(Clause(tuple(current), not clauses, joined_by, asks))
            current.clear()
            joined_by = ""

    for place, word in enumerate(words):
        after = words[place + 1].text if place + 1 < len(words) else ""
        if word.text.strip() in _BREAKS:
            close(asks=word.text == "?")
            continue
        if word.text in _JOINS or (word.text == "and" and after in _SUBJECTS):
            close()
            joined_by = word.text
            continue
        current.append(word)
    close()
    return clauses


def _expanded(text: str) -> list[Word]:
    """Return the words of a text, with contractions written out."""
    matches = [*_TOKEN.finditer(text)]
    raw = [match.group() for match in matches]
    words: list[Word] = []
    for place, (written, match) in enumerate(zip(raw, matches, strict=True)):
        at = match.start()
        lower = _UNMARKED.get(written.lower(), written.lower())
        head, mark, tail = lower.partition("'")
        if not mark:
            words.append(Word("can" if lower == "cannot" else lower, written, at))
            if lower == "cannot":
                words.append(Word("not", "", at))
        elif f"'{tail}" in _CLITICS:
            words += [Word(head, written, at), Word(_CLITICS[f"'{tail}"], "", at)]
        elif lower.endswith("n't"):
            stem = {"can't": "can", "won't": "will", "shan't": "shall"}.get(lower, lower[:-3])
            words += [Word(stem, written, at), Word("not", "", at)]
        elif tail == "s":
            verb = _of_clitic_s(head, [one.lower() for one in raw[place + 1 : place + 5]])
            words += [Word(head, written, at), Word(verb, "", at)] if verb else [Word(lower, written, at)]
        else:
            words.append(Word(lower, written, at))
    return words


def _of_clitic_s(head: str, after: list[str]) -> str:
    """Return what `'s` stands for behind this word: "is", "has", or "" for a possessive."""
    following = next((word for word in after if word not in ADVERBS and word != "not"), "")
    behind = after[after.index(following) + 1 : after.index(following) + 2] if following else []
    is_part = following in _PARTICIPLES or following.endswith("ed")
    if is_part and (head in ("he", "she", "who") or (behind and behind[0] in _OBJECTS)):
        return "has"
    if following in ("been", "got") or (following == "come" and behind[:1] == ["out"]):
        return "has"
    if head in _IS_AFTER or following in _STATES or following in _PARTICIPLES:
        return "is"
    return "is" if following.endswith("ed") and head not in ("today", "tonight", "tomorrow") else ""
