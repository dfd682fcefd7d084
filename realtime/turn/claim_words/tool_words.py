"""Reading a tool: the verbs and nouns that tell its deed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from realtime.turn.claim_words.english import DOUBLED, FAMILIES, IRREGULAR, LIGHT, SETTLED, singular, word_set
from realtime.turn.claim_words.forms import STRAY, Verbs, clauses_of, known_verbs
from realtime.turn.claim_words.grammar import PLAIN
from realtime.turn.claim_words.languages import FOREIGN, claimed


@dataclass(slots=True)
class ToolWords:
    """The words that tell a tool's deed."""

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
    lemmas: set[str] = field(default_factory=set)
    """All verbs that may tell its deed."""


_READ_TOOLS = word_set("get list find search check show look lookup read view status info history fetch query")


def read_tool(name: str, description: str, claims: Sequence[str], verbs: Verbs, unknown: AbstractSet[str]) -> ToolWords:
    """Return the words of a tool; `unknown` are the verbs of claims that no family has."""
    made = ToolWords(name)
    names = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|\d+", name)]
    sources = [[word.text for clause in clauses_of(claim) for word in clause.words] for claim in claims]
    if not claims and names and not _READ_TOOLS & {*names}:
        first = re.findall(r"[^\W_]+", description.lower().split(".")[0])
        sources = [names, [first[0].removesuffix("s"), *first[1:]]] if first else [names]
    for texts in sources:
        # "The booking" is no verb, unless it is the whole claim.
        hits = [hit for hit in verbs.hits(texts) if hit.at == 0 or hit.slot in ("past", "part")]
        if not hits:
            continue
        made.families |= _families_of(texts, {hit.lemma for hit in hits} - unknown)
        if claims:
            made.verbs |= {hit.lemma for hit in hits}
        written = {texts[hit.at] for hit in hits}
        made.own_nouns |= {singular(text) for text in texts if text not in PLAIN and text not in written}
    if "unlock" in made.families:
        made.families.discard("lock")
    if not made.families:
        foreign = (families for claim in claims for one in FOREIGN for families in claimed(claim, one))
        made.families = {family for families in foreign for family in families}
    if made.families or made.verbs:
        made.own_nouns |= {singular(name) for name in names[1:] if name not in PLAIN}
    for family in made.families:
        made.deeds |= FAMILIES[family].deeds
        made.lemmas |= FAMILIES[family].strong | FAMILIES[family].weak
        made.nouns |= FAMILIES[family].deeds | FAMILIES[family].things
    made.deeds |= {noun for verb in (made.verbs & unknown if made.families else made.verbs) for noun in _named_by(verb)}
    if made.verbs & LIGHT or not made.families:
        made.deeds |= made.own_nouns
    made.lemmas |= made.verbs | LIGHT | SETTLED
    made.nouns = {singular(noun) for noun in made.nouns | made.own_nouns}
    return made


def _families_of(texts: Sequence[str], lemmas: set[str]) -> set[str]:
    """Return the families that a declared claim speaks of."""
    words = {singular(text) for text in texts}
    scores: dict[str, int] = {}
    for name, family in FAMILIES.items():
        verbs = 3 * bool(lemmas & family.strong) or bool(lemmas & (family.weak | LIGHT & family.weak))
        if not verbs and not (lemmas & LIGHT and words & family.deeds):
            continue
        scores[name] = verbs + 2 * bool(words & family.deeds) + bool(words & family.things)
    best = max(scores.values(), default=0)
    return {
        name
        for name, score in scores.items()
        if score == best and (score > 1 or name in ("create", "activate", "request"))
    }


def unknown_verbs(claim: str) -> list[str]:
    """Return the verbs of a declared claim that no family has: "calibrate" of "I have calibrated the sensor"."""
    texts = [word.text for clause in clauses_of(claim) for word in clause.words]
    if len(texts) == 1:
        return [] if texts[0] in known_verbs() else texts
    if any(hit.slot in ("past", "part") for hit in Verbs().hits(texts)):
        return []
    irregular = {part: verb for verb, (_, parts) in IRREGULAR.items() for part in parts.split()}
    for at, text in enumerate(texts):
        if text in irregular and texts[max(0, at - 1) : at] in (["have"], ["been"], ["has"]):
            return [irregular[text]]
        if text.endswith("ed") and len(text) > 4:
            particle = next((one for one in texts[at + 1 : at + 3] if one in STRAY | {"in"}), "")
            return [f"{_stem(text)}_{particle}" if particle else _stem(text)]
    return []


def _stem(past: str) -> str:
    """Return a regular verb from its past, as `inflected` makes it."""
    stem = past[:-2]
    if stem[:-1] in DOUBLED and stem[-1:] == stem[-2:-1]:
        return stem[:-1]
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    silent = stem.endswith(
        ("at", "iz", "is", "ur", "in", "v", "c", "g", "u", "ut", "os", "as", "ir", "id", "od", "ar", "rad", "cad")
    )
    return past[:-1] if silent else stem


def _named_by(verb: str) -> Iterator[str]:
    """Yield the nouns that may name the deed of a verb: "rental", "shipment", "translation", "upgrade"."""
    head, _, _ = verb.partition("_")
    stem = head.removesuffix("e")
    yield from (head, f"{head}al", f"{head}ment", f"{stem}ion", f"{stem}ation", f"{stem}ing")


def nouns_of(tool: ToolWords, which: str) -> set[str]:
    if which == "own":
        return tool.own_nouns
    if which == "deeds":
        return tool.deeds | tool.own_nouns if "update" in tool.families else tool.deeds
    return tool.own_nouns | tool.nouns
