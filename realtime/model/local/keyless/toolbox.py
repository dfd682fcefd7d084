"""Finds the tool that the user asks for, with its arguments: enough to try tools without a key."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from realtime.event.config import ToolDeclaration
from realtime.model.local.keyless.filling import Values, fill, left_out, nested
from realtime.model.local.keyless.parameters import (
    FORMED,
    NUMERIC,
    Parameter,
    Takes,
    parameters_of,
    question_for,
    words_of,
)
from realtime.model.local.keyless.reading import Command
from realtime.model.local.keyless.sure_values import takes_any
from realtime.model.local.keyless.tool_words import (
    ADDS_CONDITION,
    ALIKE,
    ALREADY,
    ASKS,
    CLAUSE,
    CONDITION,
    DETERMINED,
    ELSEWHERE,
    FINITE,
    FRAME,
    HOW_TO,
    IMPLIES,
    KNOWN_VERBS,
    LOOKING,
    LOOKS,
    MAY_ASK,
    NEVER,
    NO_SUBJECT,
    PARTICLES,
    SEARCHES,
    SMALL,
    TAKE_ANYTHING,
    UNDECIDED,
    VERBS,
    WANTS,
)
from realtime.model.local.keyless.utterance import BOUNDARIES, Utterance, utterance_of
from realtime.model.local.keyless.utterance import stem_of as stem
from realtime.model.local.keyless.words import is_question, plain

_SETS = frozenset({"set", "change", "turn", "make", "adjust", "update", "modify", "rename", "switch"})
_NOTHING = SMALL | BOUNDARIES | {"much", "many", "two", "between", "something", "somebody", "someone"}
_SAID_OF_ANYTHING = frozenset(("status", "info", "details", "information"))
_TELLING = frozenset(("status", "hours", "balance", "info", "details"))
"""Last words of names of tools that change nothing."""
_TOLD = _TELLING | {"times", "prices", "costs", "rates", "news", "scores", "departures", "arrivals", "levels"}
"""Things that are only told, several of them."""
_PRICES = frozenset(("price", "prices", "cost", "costs", "quote", "rate", "rates", "estimate"))
_NO_OBJECT = (BOUNDARIES | NO_SUBJECT) - DETERMINED | {"don't", "for", "what's", "who's", "where's", "how's", "when's"}
"""Words that do not stand before the object of a request."""
_HESITATES = re.compile(
    r"^(?:(?:h+m+|u+m+|u+h+|er+m?|well|so|oh) )?"
    r"(?:let me (?:think|see|check|look)|give me (?:a|one)|(?:just )?(?:a|one) (?:moment|second|sec|minute)|just a"
    r"|hold on|hang on|not sure|no idea|dunno|i (?:have no|can't|cannot|forgot|forget|need to)|you (?:choose|decide)"
    r"|surprise me|whatever|doesn't matter|any(?:thing|one)?$|good question|why)"
    r"|^(?:h+m+|u+m+|u+h+|er+m?|well|so|oh)$"
)
"""What begins no answer to a question for a value."""
_YES_NO = frozenset(("yes", "no", "true", "false", "none", "all", "other", "any"))
_AROUND_A_THING = frozenset(
    (
        "a",
        "an",
        "the",
        "some",
        "one",
        "of",
        "for",
        "with",
        "on",
        "at",
        "and",
        "please",
        "thanks",
        "thank",
        "you",
        "me",
        "us",
    )
) | {
    "plus",
    "then",
    "yes",
    "ok",
    "okay",
    "just",
    "maybe",
    "uh",
    "um",
    "hi",
    "hello",
    "only",
    "more",
    "another",
    "it",
    "to",
    "go",
}
"""Words around the name of a thing that is wanted."""
_BELOW_ZERO = frozenset(("degrees", "celsius", "points", "metres", "meters", "decibels", "steps", "levels"))
"""What may be less than none."""
_HOLDS = re.compile(r"(?:if|unless|once|as soon as|in case|should)\b")
_ASKED_OF = frozenset(("i", "you", "we", "they", "he", "she", "my", "our", "the", "your", "anyone", "anybody"))
"""Whose deed "have" asks about: "have you booked a table"."""
_SHORTEST_CONDITION = 2
"""Words of what an order waits for: "it rains"."""
_LETS_GO = frozenset(("no", "nope", "nothing", "nevermind", "never", "stop", "cancel", "forget", "hello", "hi", "wait"))


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool that the user asks for, and the arguments."""

    tool: ToolDeclaration
    values: Values
    missing: tuple[Parameter, ...]
    """The arguments that it needs and that were not said."""
    is_ordered: bool
    """Whether the user orders it, not only asks about its subject."""
    asks_ability: bool = False
    """Whether the user only asks whether it can be done."""
    weight: int = 0
    """How sure it is that this tool is meant."""
    waits: bool = False
    """Whether it is ordered for a case that may come: "if it rains"."""
    left_out: tuple[str, ...] = ()
    """What is ordered beside it, and fits no argument: "one rye and three spelt"."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call."""
        return nested(self.values)

    @property
    def question(self) -> str:
        """Ask for what is missing."""
        return question_for([*self.missing]) if self.missing else "What exactly?"


@dataclass(frozen=True, slots=True)
class Context:
    """What is known beside the words: how the user was introduced, and the day."""

    user_name: str | None = None
    today: date | None = None


def request_in(said: str, tools: Sequence[ToolDeclaration], context: Context = Context()) -> ToolRequest | None:
    """Return the tool that is asked for; None: none is. Of several that fit, the one that the words say most of."""
    utterance = utterance_of(said)
    chosen = _chosen_by_value(utterance, tools)
    found = [request for tool in tools if (request := _request(utterance, tool, context)) is not None]
    if not found and chosen is not None and _wants(utterance, chosen, said):
        subject = _subject_of(chosen.name, chosen.description)
        command = Command(0, subject.own, subject.described, sets=subject.is_setting)
        values = fill(utterance, parameters_of(chosen), command, user_name=context.user_name, today=context.today)
        return _standing(utterance, _made(chosen, values, is_ordered=True, weight=1), 0)
    return max(found, key=lambda request: request.weight + 2 * (request.tool is chosen), default=None)


def _standing(said: Utterance, request: ToolRequest, at: int) -> ToolRequest | None:
    """Return an order with what it waits for; None where later words take it back."""
    texts = [
        " ".join(Utterance(value).tokens)
        for one in parameters_of(request.tool)
        if takes_any(one) and isinstance(value := request.values.get(one.path), str)
    ]
    sentences = [(end, " ".join(said.tokens[start:end])) for start, end in said.sentences()]
    for text in filter(None, texts):
        sentences = [(end, sentence.replace(text, "")) for end, sentence in sentences]
    ordered = next((place for place, (end, _) in enumerate(sentences) if at < end), len(sentences) - 1)
    if any(UNDECIDED.search(sentence) for _, sentence in sentences[ordered:]):
        return None
    waits = CONDITION.search(sentences[ordered][1]) is not None or any(
        ADDS_CONDITION.match(sentence) for _, sentence in sentences[ordered + 1 : ordered + 2]
    )
    return replace(request, waits=waits, left_out=left_out(said, parameters_of(request.tool), request.values))


def _is_held(said: Utterance) -> bool:
    """Whether a sentence begins with what it waits for, and asks nothing."""
    sentences = (" ".join(said.tokens[start:end]) for start, end in said.sentences())
    return "?" not in said.said and any(_HOLDS.match(text) and CONDITION.match(text) for text in sentences)


def _chosen_by_value(said: Utterance, tools: Sequence[ToolDeclaration]) -> ToolDeclaration | None:
    """Return the one tool that takes a said value, such as "rye"."""
    stems = {*said.stems}
    own = [{stem(word) for words in _worded_choices(tool) for word in words} for tool in tools]
    named = [
        tool
        for at, tool in enumerate(tools)
        if any(
            {*words} <= stems and not any({*words} <= other for place, other in enumerate(own) if place != at)
            for words in _worded_choices(tool)
        )
    ]
    return named[0] if len(named) == 1 else None


def _worded_choices(tool: ToolDeclaration) -> list[list[str]]:
    """Return the stems of choices that name a thing: no order, no day."""
    choices = [str(one) for parameter in parameters_of(tool) for one in parameter.choices if isinstance(one, str)]
    read = [Utterance(one.replace("_", " ").replace("-", " ")) for one in choices]
    return [
        [*one.stems]
        for one in read
        if one.tokens
        and not (one.days or one.times or one.numbers)
        and not {*one.tokens} <= BOUNDARIES | KNOWN_VERBS | PARTICLES | _YES_NO
    ]


def _wants(said: Utterance, tool: ToolDeclaration, words: str) -> bool:
    """Whether a thing is asked for by its name: "a rye, please", "I'd like two rye loaves"."""
    text = " ".join(said.tokens)
    if (condition := CONDITION.search(text)) is not None and condition.start():
        text = text[: condition.start()]
    frame = FRAME.search(text)
    if NEVER.search(text) or "or" in said.tokens or (is_question(words, plain(words)) and frame is None):
        return False
    if frame is not None:
        return ASKS.search(text[: frame.start()]) is None
    subject = _subject_of(tool.name, tool.description)
    known = {stem for one in _worded_choices(tool) for stem in one} | subject.own | subject.described
    known |= {stem for parameter in parameters_of(tool) for stem in parameter.stems}
    spans = [(span.start, span.end) for span in (*said.numbers, *said.days, *said.times)]
    corrections = [(start, end) for start, end in said.corrections if start > 0]
    in_values = {at for start, end in (*spans, *corrections) for at in range(start, end)}
    return all(
        at in in_values or said.stems[at] in known or token in _AROUND_A_THING for at, token in enumerate(said.tokens)
    )


def answered(request: ToolRequest, said: str, context: Context = Context()) -> ToolRequest | None:
    """Return the request with what an answer adds to it; None: it is no answer.

    Words that add nothing leave it open, and no order.
    """
    whole = utterance_of(said)
    lead = next((end for at, end in whole.corrections if at == 0), 0)
    utterance = utterance_of(whole.text(lead, len(whole))) if lead else whole
    text = plain(utterance.said)
    if not utterance.tokens or utterance.tokens[0] in _LETS_GO or text.startswith(("i don't", "i do not", "i'm not")):
        return None
    if _HESITATES.match(text):
        return request
    is_message = bool(request.missing) and request.missing[0].takes is Takes.MESSAGE
    if is_question(said, text) and not is_message:
        return None
    parameters = parameters_of(request.tool)
    open_ones = [one for one in parameters if one.path not in request.values]
    formed = [one for one in open_ones if one.takes in FORMED]
    corrected = [one for one in parameters if one.path in request.values and one.takes in FORMED]
    # What corrects an earlier answer is none to this question: "actually, make it three".
    tries = [formed, corrected, *([open_ones] if whole.tokens[0] not in _LETS_GO else [])] if lead else [open_ones]
    answer = Command(is_answer=True)
    values = next(filter(None, (fill(utterance, ones, answer, today=context.today) for ones in tries)), {})
    if not any(one.path in values for one in (*request.missing, *corrected)):
        return None if whole.tokens[0] in _LETS_GO else replace(request, is_ordered=False)
    fits = [one.path for one in corrected if one.takes in NUMERIC and fill(utterance, [one], answer)]
    doubtful = fits if len(fits) > 1 and values.keys() & {*fits} else []
    kept = {path: value for path, value in {**request.values, **values}.items() if path not in doubtful}
    return _standing(utterance, _made(request.tool, kept, is_ordered=True), 0)


def _made(
    tool: ToolDeclaration, values: Values, *, is_ordered: bool, asks_ability: bool = False, weight: int = 0
) -> ToolRequest:
    parameters = parameters_of(tool)
    doubtful: list[Parameter] = []
    counts = [one for one in parameters if one.takes is Takes.COUNT]
    for one in (one for one in parameters if one.takes in NUMERIC):
        least = int(one.takes is Takes.COUNT and (one.required or counts == [one]))
        if one.takes is not Takes.COUNT:
            least = one.schema.get("minimum", _least(one))
        if one.path in values and values[one.path] < least:
            values = {path: value for path, value in values.items() if path != one.path}
            doubtful.append(one)
    missing = tuple(
        one
        for one in parameters
        if one in doubtful or (one.required and one.path not in values and one.takes is not Takes.OTHER)
    )
    return ToolRequest(tool, values, missing, is_ordered, asks_ability, weight)


def _least(one: Parameter) -> float:
    """Return the smallest number of things, of money or of time: there are no minus two bikes."""
    if one.takes in (Takes.MONEY, Takes.DURATION):
        return 0
    name = one.words[-1]
    is_counted = one.schema.get("type") == "integer" and name.endswith("s") and not name.endswith(("ss", "us", "is"))
    return int(one.required) if is_counted and name not in _BELOW_ZERO else -math.inf


@dataclass(frozen=True, slots=True)
class _Subject:
    """The words by which a tool is named."""

    verbs: frozenset[str]
    nouns: tuple[str, ...]
    """Stems of the other words of its name."""
    particles: frozenset[str]
    described: frozenset[str]
    """Stems of the words of its description."""
    looks: bool
    """Whether it only tells something."""
    named: str
    """The verb of its name."""
    is_odd: bool
    """Whether it is not known what its verb does."""
    alike: frozenset[str]
    """Its verbs, and those that users say for them."""
    own: frozenset[str]
    """Stems of the words for its object, and of others alike."""

    @property
    def is_setting(self) -> bool:
        """Whether it gives something a new value."""
        return bool(self.verbs & _SETS)


@lru_cache(maxsize=1_000)
def _subject_of(name: str, description: str) -> _Subject:
    words = words_of(name)
    described = plain(description.partition("\n")[0]).split()
    first = _base(described[0]) if described else ""
    is_deed = _is_deed(words, described)
    named = words[0] if is_deed else next((word for word in words[:2] if word in KNOWN_VERBS), "")
    looks = first in LOOKS if first in KNOWN_VERBS else not named or named in LOOKS or words[-1] in _TELLING
    verbs = {word for word in (named, first) if word in KNOWN_VERBS and not (looks and word not in LOOKS)}
    verbs |= {named} if is_deed else set()
    is_odd = not named and first not in KNOWN_VERBS
    nouns = [word for word in words if word not in SMALL | PARTICLES and (word not in verbs or len(words) == 1)]
    if not named and (is_odd or not looks):
        verbs |= {*words[:1]}
        nouns = nouns if is_odd else nouns[1:]
    telling = [word for word in nouns if word not in _SAID_OF_ANYTHING]
    stems = tuple(dict.fromkeys(map(stem, telling or nouns)))
    return _Subject(
        verbs=frozenset(verbs),
        alike=frozenset(verbs).union(*(alike for alike in VERBS if verbs & alike)),
        own=frozenset[str]().union(*map(_alike, stems)),
        nouns=stems,
        particles=frozenset(words) & {"on", "off"},
        described=frozenset(
            map(stem, (word for word in described if word not in _NOTHING and _base(word) not in verbs))
        ),
        named=named or next(iter(words), ""),
        looks=looks,
        is_odd=is_odd,
    )


def _is_deed(words: Sequence[str], described: Sequence[str]) -> bool:
    """Whether name and description begin with a verb that is unknown here.

    "Rent bikes for a day" and "water a plant" are deeds, "air quality in a city" is none.
    """
    begins = bool(words) and words[0] in {*described[:1], *map(_base, described[:1])}
    if not begins or words[0] in KNOWN_VERBS or not described[1:]:
        return False
    return described[1] in DETERMINED or (described[1].endswith("s") and described[1] not in _TOLD)


def _base(verb: str) -> str:
    """Return the verb of a description: "Returns" is "return"."""
    return verb if verb in KNOWN_VERBS else verb.removesuffix("s")


def _alike(noun: str) -> frozenset[str]:
    return ALIKE.get(noun, frozenset()) | {noun}


def _request(said: Utterance, tool: ToolDeclaration, context: Context) -> ToolRequest | None:
    subject = _subject_of(tool.name, tool.description)
    if not ((subject.own | subject.described) & {*said.stems} or subject.alike & {*said.tokens}):
        return None
    parameters = parameters_of(tool)
    ordered = _order(said, subject, parameters) if subject.is_odd or not subject.looks else None
    looked = _look(said, subject) if subject.looks and ordered is None else None
    place = ordered or looked or (_order(said, subject, parameters) if subject.looks else None)
    if place is None:
        return None
    is_ordered = looked is None
    verb_end, weight, is_capability = place
    command = Command(verb_end, subject.own, subject.described, sets=subject.is_setting)
    values = fill(said, parameters, command, user_name=context.user_name, today=context.today)
    said_values = {path for path, value in values.items() if value != context.user_name}
    weight += sum(one.path in said_values for one in parameters if one.required)
    asks = is_capability and bool(parameters) and not said_values
    request = _made(tool, values, is_ordered=is_ordered, asks_ability=asks, weight=weight)
    if subject.looks and not subject.is_odd:
        # "If it rains, get me a taxi" waits, whatever else the tool tells.
        return replace(request, waits=_is_held(said))
    return _standing(said, request, verb_end - 1)


def _evidence(said: Utterance, subject: _Subject, verb: str, parameters: Sequence[Parameter]) -> int:
    """Say how well the words name a tool's object; 0: they do not."""
    stems = {*said.stems}
    if not subject.nouns:
        return 3 if verb == subject.named else 2 if subject.described & stems else 0
    if subject.particles and {token for token in said.tokens if token in ("on", "off")} != subject.particles:
        return 0
    exact = [noun for noun in subject.nouns if noun in stems]
    others = [noun for noun in subject.nouns if noun not in exact and _alike(noun) & stems]
    if exact or others:
        return 3 * len(exact) + 2 * len(others) + len(subject.described & stems - {*exact})
    if IMPLIES.get(verb) in subject.nouns:
        return 3
    if any(one.takes is Takes.MONEY for one in parameters) and any(
        span.is_money for span in (*said.numbers, *said.alternatives)
    ):
        return 3
    choices = {stem(str(choice)) for one in parameters for choice in one.choices}
    if verb and verb == subject.named and choices & stems:
        return 2  # "Order a rye loaf" of a tool that orders bread.
    worded = any(one.takes in (Takes.TEXT, Takes.TITLE, Takes.NAME, Takes.RECIPIENT) for one in parameters)
    if {verb, subject.named} <= SEARCHES and any(one.takes is Takes.TEXT for one in parameters):
        return 1
    if verb == subject.named and worded and (verb in TAKE_ANYTHING or (verb and verb not in KNOWN_VERBS)):
        # "Add milk to my diary" is not about a cart.
        return 0 if verb in ("add", "put") and ELSEWHERE.search(" ".join(said.tokens)) else 1
    at = said.tokens.index(verb) if verb in said.tokens else 0
    if verb == subject.named and "anything" in said.tokens[at + 1 : at + 3]:
        return 1
    # "Book for two people tomorrow."
    return 1 if verb and verb == subject.named and said.tokens[at + 1 : at + 2] in (["for"], ["on"], ["at"]) else 0


def _order(said: Utterance, subject: _Subject, parameters: Sequence[Parameter]) -> tuple[int, int, bool] | None:
    """Find an order.

    Return the token behind its verb, how sure it is, and whether it may only ask for an ability."""
    text = " ".join(said.tokens)
    starts = [*_clauses(said, text), *_unmarked(said, subject)]
    for at, frame in starts:
        if at >= len(said):
            continue
        verb = said.tokens[at]
        before = _without_condition(said, at, frame)
        if NEVER.search(before) or ASKS.search(before) or (frame and ALREADY.search(before)):
            continue
        if frame.startswith("and ") and not {"i", "we", "i'm", "we're", "i've", "we've"} & {*before.split()}:
            continue
        fits = [2 if verb in subject.verbs else 1] if verb in subject.alike else []
        if verb == "let" and "know" not in said.tokens[at : at + 5]:
            fits = []
        if verb == "have" and not frame and said.tokens[at + 1 : at + 2] and said.tokens[at + 1] in _ASKED_OF:
            fits = []
        if (verb, *said.tokens[at + 1 : at + 2]) in (("make", "sure"), ("have", "to")):
            fits = []
        if verb in ("tell", "let") and said.tokens[at + 1 : at + 2] in (["me"], ["us"]):
            fits = []
        if fits:
            end = at + 1
            while end < len(said) and said.tokens[end] in PARTICLES and (subject.particles or end == at + 1):
                end += 1
            end = at + 1 if not subject.particles and said.tokens[at + 1 : at + 2] == ["in"] else end
            evidence = _evidence(said, subject, verb, parameters)
            if not evidence or {*said.tokens[at + 1 : at + 4]} & _PRICES:
                continue  # "Can I get a price for two bikes?"
            may_ask = bool(MAY_ASK.search(frame)) and not {*said.tokens[end:]} & DETERMINED
            return end, 2 * evidence + fits[0], may_ask
        if not subject.looks and _begins_with_object(said, at, subject, frame):
            # "I'd like a table", "a table for two, please".
            return at, 2 * _evidence(said, subject, "", parameters), False
    return None


def _without_condition(said: Utterance, at: int, frame: str) -> str:
    """Return the words before a verb, but for what it waits for.

    In "if it rains book a table" there are none.
    """
    before = " ".join(said.tokens[_clause_begin(said, at) : at])
    lead = before.removesuffix(frame.strip()).strip()
    found = CONDITION.match(lead)
    if found is None or len(lead[found.end() :].split()) < _SHORTEST_CONDITION or said.said.rstrip().endswith("?"):
        return before
    return frame.strip()


def _clauses(said: Utterance, text: str) -> list[tuple[int, str]]:
    """Return where a verb may stand, with the request before it."""
    chars = [0]
    for token in said.tokens:
        chars.append(chars[-1] + len(token) + 1)
    places: list[tuple[int, str]] = []
    for found in FRAME.finditer(text):
        places.append((chars.index(found.end()), found[0]))
    begins = {at for at in said.breaks if at < len(said)}
    begins |= {chars.index(found.end()) for found in CLAUSE.finditer(text)}
    places += [(at, "") for at in begins]
    return sorted(dict.fromkeys(places), key=lambda place: (place[0], not place[1]))


def _unmarked(said: Utterance, subject: _Subject) -> list[tuple[int, str]]:
    """Return where an order begins without punctuation before it: "it's cold set the heating to twenty"."""
    return [
        (at, "")
        for at in range(1, len(said) - 1)
        if said.tokens[at] in subject.alike
        and said.tokens[at - 1] not in NO_SUBJECT
        and said.tokens[at + 1] in DETERMINED
        and subject.own & {*said.stems[at + 2 : at + 5]}
    ]


def _clause_begin(said: Utterance, at: int) -> int:
    return max((begin for begin in said.breaks if begin <= at and begin < len(said)), default=0)


def _begins_with_object(said: Utterance, at: int, subject: _Subject, frame: str) -> bool:
    """Whether a tool's object stands where its verb would."""
    if subject.verbs & {"cancel", "delete", "remove", "drop", "stop"} or (frame and not WANTS.search(frame)):
        return False
    end = at
    if not frame and said.tokens[at] in KNOWN_VERBS and said.tokens[at + 1 : at + 2] not in (["for"], ["with"]):
        return False
    while end < len(said) and end - at < (5 if frame else 3):
        if said.stems[end] in (subject.own if frame else {*subject.nouns}):
            behind = " ".join(said.tokens[end + 1 :])
            return bool(frame) or (at == 0 and not FINITE.search(behind))
        if said.tokens[end] in _NO_OBJECT or {said.tokens[end], said.stems[end]} & KNOWN_VERBS:
            return False
        end += 1
    return False


def _look(said: Utterance, subject: _Subject) -> tuple[int, int, bool] | None:
    """Return the same as `_order` for a tool that only tells something."""
    text = " ".join(said.tokens)
    stems = {*said.stems}
    exact = [noun for noun in subject.nouns if noun in stems]
    others = [noun for noun in subject.nouns if noun not in exact and _alike(noun) & stems]
    described = subject.described & stems - {*exact}
    hits = len(exact) + len(others)
    is_named = hits == len(subject.nouns) or (hits and len((subject.own | subject.described) & stems) > 1)
    if not subject.nouns or not is_named:
        return None
    for begin in sorted(begin for begin in said.breaks if begin < len(said)):
        rest = " ".join(said.tokens[begin:])
        while (lead := CLAUSE.match(rest)) is not None:
            rest = rest[lead.end() :]
        behind = text.index(rest)
        at = text[:behind].count(" ")
        if NEVER.match(rest) and not rest.startswith(("who", "how", "what")):
            continue
        if HOW_TO.match(rest):
            continue
        is_fragment = at < len(said) and _is_fragment(said, at, subject.own)
        if not LOOKING.match(rest) and not is_fragment:
            continue
        if NEVER.search(rest.split(next(iter(exact), "\0"))[0].replace("how ", "").replace("who ", "")):
            continue
        verb_end = at + 1 if said.tokens[at] in LOOKS else at
        for place in range(at, min(at + 8, len(said))):
            if said.tokens[place] in LOOKS and said.stems[place] not in subject.own:
                verb_end = place + 1
                break
        return verb_end, 2 * (3 * len(exact) + 2 * len(others) + len(described)), False
    return None


def _is_fragment(said: Utterance, at: int, own: frozenset[str]) -> bool:
    end = at
    if said.tokens[at] in KNOWN_VERBS - LOOKS and said.tokens[at + 1 : at + 2] not in (["status"], ["number"]):
        return False
    while end < len(said) and end - at < 4:
        if said.stems[end] in own:
            return not FINITE.search(" ".join(said.tokens[end + 1 :]))
        if said.tokens[end] in ("i", "we", "you", "my", "it", "love", "like", "for", "in", "on"):
            return False
        end += 1
    return False
