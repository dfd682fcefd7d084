"""Finds the arguments of a call in an utterance. What was not said is no argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from realtime.model.local.keyless.clock import is_past, iso_date
from realtime.model.local.keyless.names import NO_NAME
from realtime.model.local.keyless.parameters import NUMERIC, PEOPLE, WORDED, Parameter, Takes
from realtime.model.local.keyless.reading import ARTICLES, CALLED, LONGEST_NAME, Command, Reading, trimmed
from realtime.model.local.keyless.sure_values import ASKING, UNNAMING, is_value, takes_any
from realtime.model.local.keyless.tool_words import CONDITION, FINITE, KNOWN_VERBS, LOOKS
from realtime.model.local.keyless.utterance import BOUNDARIES, Span, Utterance, seconds_of, stem_of
from realtime.model.local.keyless.words import each, plain, stem

Values = dict[tuple[str, ...], Any]

_SAYING = (
    ("saying", "that"), ("saying",), ("that", "says"), ("which", "says"), ("to", "say", "that"), ("to", "say"),
    ("reading",), ("with", "the", "message"), ("with", "the", "text"),
)  # fmt: skip
_TELLS = frozenset(each("tell inform notify let message text email mail remind"))
"""Verbs behind which "that" begins a message: "message the cook that"."""
_TO_WHOM = frozenset(each("to for"))
_AT_THE_END = frozenset(each("please thanks thank you now too again today"))
_LEADS_TO_TEXT = re.compile(
    r"^(?:(?:please )?(?:say|saying|tell (?:him|her|them)) (?:that )?|that )"
    r"|(?<![\s,])[\s,]+(?:please|thanks|thank you)$",
    re.IGNORECASE,
)
_FILLERS = frozenset(each("um uh er erm like"))
_SUBJECTS = frozenset(each("i we he she they you it i'm we're he's she's they're it's i'll we'll"))
_MOST_BEFORE_THAT = 8
"""Words between a verb and "that"."""
_NO_PLACE = frozenset(each("day outside here there moment time morning afternoon evening night home us go"))
_NO = frozenset(each("no without not non"))
_CODE = re.compile(
    r"(?<![\w#-])(?:(?:(?!I )[A-Z]{1,4} ){0,3}(?:#|[A-Za-z]{1,9}[-#]?)?\d[\w-]{0,40}(?![\w-])"
    r"(?: (?:\d[\w-]{1,20}|(?!I\b)[A-Z]{1,3})(?![\w-])){0,6}|[A-Z]{2,20}\w{0,20}(?![\w-]))"
)
"""A code, which may have gaps: "AB 123 456"."""
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.]+|(?<![\w.])[\w.]{1,64} at [\w-]+ dot \w+\b", re.IGNORECASE)
_PHONE = re.compile(r"\+?\d[\d /-]{4,30}\d")
_TWO_OF_US = re.compile(r"\b(?:(?:me|myself) and (?:my|a) \w+(?! and)|my \w+ and (?:me|i|myself)|both of us)\b")
_JUST_ME = re.compile(r"\b(?:just|only) (?:me|myself|one)\b|\b(?:by|for) myself\b|\balone\b")
_ALSO_ME = re.compile(r"\b(?:me|myself) and$|^(?:and|plus) (?:me|myself)\b")
_YES = re.compile(r"(?:yes|yeah|yep|sure|of course|yes please|please do|definitely)\b")
_REFUSES = re.compile(r"(?:no|nope|not|don't)\b")


def fill(
    said: Utterance,
    parameters: Sequence[Parameter],
    command: Command,
    *,
    user_name: str | None = None,
    today: date | None = None,
) -> Values:
    """Return the values that were said, by the paths of their arguments.

    `user_name` is how the user was introduced; without `today` no relative day becomes a date.
    """
    return _Filling(said, parameters, command, user_name, today).values


class _Filling:
    """One utterance for one tool. What has a form of its own is read first, free words last."""

    def __init__(
        self,
        said: Utterance,
        parameters: Sequence[Parameter],
        command: Command,
        user_name: str | None,
        today: date | None,
    ) -> None:
        self.values: Values = {}
        self._said = said
        self._reading = Reading(said, command)
        self._all = parameters
        self._command = command
        self._user_name = user_name
        self._today = today
        steps: tuple[tuple[Collection[Takes], Callable[[Parameter], Any]], ...] = (
            ({Takes.CHOICE}, self._choice),
            ({Takes.FLAG}, self._flag),
            ({Takes.ADDRESS}, self._address),
            (NUMERIC, self._number),
            ({Takes.DAY, Takes.TIME, Takes.WHEN}, self._when),
            ({Takes.IDENTIFIER}, self._identifier),
            ({Takes.ORIGIN}, lambda one: self._place(one, ("from",))),
            ({Takes.DESTINATION}, lambda one: self._place(one, ("to", "for", "into"))),
            ({Takes.PLACE}, self._somewhere),
            ({Takes.RECIPIENT, Takes.NAME}, self._person),
            ({Takes.LIST}, self._list),
            ({Takes.TITLE}, self._title),
            ({Takes.MESSAGE}, self._message),
            ({Takes.TEXT}, self._text),
        )
        for takes, read in steps:
            for one in sorted((one for one in parameters if one.takes in takes), key=lambda one: not one.required):
                if (value := read(one)) is not None:
                    self.values[one.path] = value

    # -- values with a form ----------------------------------------------------------------------------------------

    def _choice(self, one: Parameter) -> Any:
        found = [one for one in _choices(self._said, one.choices) if one[0] not in self._reading.used]
        if not found:
            return None
        longest = max(count for _, count, _ in found)
        at, count, value = self._chosen([one for one in found if one[1] == longest])
        self._reading.use(at, at + count)
        return value

    def _chosen(self, found: Sequence[tuple[int, int, Any]]) -> tuple[int, int, Any]:
        """Return the first of several choices, or the one that corrects it."""
        chosen, *others = sorted(found, key=lambda one: one[0])
        for other in others:
            if any(chosen[0] < first < other[0] for first, _ in self._said.corrections):
                chosen = other
        return chosen

    def _flag(self, one: Parameter) -> bool | None:
        names = {word for word in one.stems if word not in ("with", "be", "has", "have", "includ")}
        for at, word in enumerate(self._said.stems):
            if word in names:
                before = self._said.tokens[max(0, at - 2) : at]
                self._reading.use(at, at + 1)
                return not _NO & {*before}
        if {*one.words} & {"on", "enabled", "state", "active"}:
            return next((token == "on" for token in self._said.tokens if token in ("on", "off")), None)
        if self._command.is_answer and one.required:
            answer = plain(self._said.said)
            return True if _YES.match(answer) else False if _REFUSES.match(answer) else None
        return None

    def _address(self, one: Parameter) -> str | None:
        if (found := _MAIL.search(self._said.said)) is None:
            return None
        self._reading.use(self._said.place(found.start()), self._said.place(found.end() - 1) + 1)
        return found[0].replace(" at ", "@").replace(" dot ", ".")

    def _number(self, one: Parameter) -> float | int | None:
        free = [span for span in self._said.numbers if self._reading.is_free(span)]
        fits = [(self._fit(one, span), -span.start, span) for span in free]
        best = max(fits, key=lambda fit: fit[:2], default=None)
        if best is None or best[0] <= 0:
            return self._people(one)
        span = best[2]
        self._reading.use(span.start, span.end + self._is_unit(one, span.end))
        value = span.value
        if one.takes is Takes.COUNT and span.counted & PEOPLE and one.stems & PEOPLE:
            value += self._more_people(span)
        if one.takes is Takes.DURATION and (seconds := seconds_of(span)) is not None:
            value = seconds / one.unit_s
        return int(value) if value == int(value) else value if one.schema.get("type") == "number" else None

    def _more_people(self, span: Span) -> float:
        """Add up "two adults and three children" and "me and two others"."""
        said, more = self._said, 0.0
        if _ALSO_ME.search(" ".join(said.tokens[max(0, span.start - 2) : span.start])):
            more += 1
        for other in said.numbers:
            joined = said.tokens[other.start - 1] in ("and", "plus") and 0 < other.start - span.end <= 3
            if joined and other.counted & PEOPLE and self._reading.is_free(other):
                self._reading.use(other.start, other.end + 1)
                more += other.value
        return more

    def _is_unit(self, one: Parameter, at: int) -> bool:
        return at < len(self._said) and self._said.stems[at] in one.stems | PEOPLE

    def _people(self, one: Parameter) -> int | None:
        """Read people without a number, and one thing behind an article."""
        if not one.required or one.takes is not Takes.COUNT:
            return None
        if one.stems & (PEOPLE | {"party"}):
            text = " ".join(self._said.tokens)
            return 2 if _TWO_OF_US.search(text) else 1 if _JUST_ME.search(text) else None
        behind = self._said.tokens[self._command.verb_end : self._command.verb_end + 1]
        return 1 if behind in (["a"], ["an"]) else None

    def _fit(self, one: Parameter, span: Span) -> int:
        """Say how well a number fits an argument; 0: it does not.

        Within the request a good fit counts more than the best before it: "I have three kids, book a table for two".
        """
        fit = self._fit_by_words(one, span)
        return fit + 3 if fit >= 3 and not self._is_before(span) else fit

    def _fit_by_words(self, one: Parameter, span: Span) -> int:
        wanted = PEOPLE if one.takes is Takes.COUNT and one.stems & (PEOPLE | {"party", "size"}) else one.stems
        others = [other for other in self._all if other is not one and other.takes in NUMERIC]
        is_length = seconds_of(span) is not None
        if span.is_money:
            return 5 if one.takes is Takes.MONEY else 0
        if span.counted & wanted or self._is_labelled(one, span):
            return 5
        if self._is_before(span) and not span.counted & self._command.own:
            return 0
        if one.takes is Takes.DURATION:
            return 4 if is_length else 1 if self._command.is_answer else 0
        if is_length and "night" not in span.counted:
            return 0
        if any(span.counted & other.stems or (span.counted & PEOPLE and other.stems & PEOPLE) for other in others):
            return 0
        if wanted is PEOPLE:
            known = span.counted - self._command.own
            if span.start and self._said.tokens[span.start - 1] == "for":
                return 3
            return 0 if known and not self._command.is_answer else 2
        if span.counted & PEOPLE or self._is_in_name(span):
            return 0
        if one.takes is Takes.COUNT:
            return 3 if span.counted & self._command.own else 2
        return 1

    def _is_in_name(self, span: Span) -> bool:
        """Whether a name goes on behind a number: "22 Baker Street"."""
        at = span.end
        is_own = bool({*self._said.stems[at : at + 1]} & (self._command.own | self._command.described))
        return bool(span.counted) and not is_own and self._said.is_capital(at) and at not in self._reading.used

    def _is_before(self, span: Span) -> bool:
        """Whether a number stands in a clause before the request: "I saw Ocean's Eleven, book us a table"."""
        end = self._command.verb_end
        return span.end <= max((at for at in self._said.breaks if at < end), default=0)

    def _is_labelled(self, one: Parameter, span: Span) -> bool:
        """Whether the argument's name stands before the value: "room number 12"."""
        before = [*self._said.stems[max(0, span.start - 3) : span.start]]
        while before and before[-1] in ("be", "to", "of", "number") and before[-1] not in one.stems:
            before.pop()
        return bool(before) and before[-1] in one.stems - {"number", "amount"}

    def _when(self, one: Parameter) -> str | None:
        days = [span for span in self._said.days if self._reading.is_free(span)]
        times = [span for span in self._said.times if self._reading.is_free(span)]
        if one.takes is Takes.DAY:
            if one.schema.get("format") == "date":
                days = [span for span in days if not is_past(span.text)] or days
            return self._day(one, self._outside_text(days))
        if one.takes is Takes.TIME:
            return self._taken(self._outside_text(times)) or self._bare_hour(one)
        day, time = self._outside_text(days), self._outside_text(times)
        if day is not None and time is not None and abs(day.start - time.start) < 6:
            first, last = sorted((day, time), key=lambda span: span.start)
            self._reading.use(first.start - self._is_prefix(first.start), last.end)
            return (
                self._said.text(first.start, last.end) if last.start - first.end < 2 else f"{day.text} at {time.text}"
            )
        return self._taken(time or day) or self._bare_hour(one)

    def _bare_hour(self, one: Parameter) -> str | None:
        """Read the hour of an answer that is only a number."""
        if not (self._command.is_answer and one.required):
            return None
        hours = [
            span
            for span in self._said.numbers
            if self._reading.is_free(span) and not span.counted and 0 <= span.value <= 2359
        ]
        if len(hours) != 1:
            return None
        self._reading.use(hours[0].start, hours[0].end)
        return self._said.text(hours[0].start, hours[0].end)

    def _day(self, one: Parameter, span: Span | None) -> str | None:
        text = self._taken(span)
        if text is None or one.schema.get("format") != "date":
            return text
        return iso_date(text, self._today)

    def _outside_text(self, spans: Sequence[Span]) -> Span | None:
        """Return the first span; beside a text of the user's own, one before it or at its end."""
        worded = any(other.takes in WORDED and other.required for other in self._all)
        begin = self._text_start() if worded else None
        if begin is None:
            return spans[0] if spans else None
        before = [span for span in spans if span.end <= begin]
        return before[0] if before else next((span for span in spans if span.end in self._said.breaks), None)

    def _text_start(self) -> int | None:
        """Return where a text begins behind "remind me to" and the like."""
        for at in range(self._command.verb_end, len(self._said) - 1):
            if self._said.tokens[at] in ("to", "that") and not self._reading.names_own(at):
                return at + 1
        return None

    def _taken(self, span: Span | None) -> str | None:
        if span is None:
            return None
        self._reading.use(span.start - self._is_prefix(span.start), span.end)
        return span.text

    def _is_prefix(self, at: int) -> bool:
        return at > 0 and self._said.tokens[at - 1] in ("on", "at", "for", "by", "from", "in", "until", "of", "around")

    def _identifier(self, one: Parameter) -> str | None:
        if {*one.words} & {"phone", "telephone", "mobile"} and (phone := _PHONE.search(self._said.said)):
            self._reading.use(self._said.place(phone.start()), self._said.place(phone.end() - 1) + 1)
            return phone[0].strip()
        found: list[tuple[int, int, str]] = []
        for code in _CODE.finditer(self._said.said):
            at, end = self._said.place(code.start()), self._said.place(code.end() - 1) + 1
            is_word = code[0].isalpha() and (not self._said.has_case or self._said.tokens[at] in BOUNDARIES)
            if not is_word and not self._reading.used & {*range(at, end)}:
                found.append((at, end - at, code[0].lstrip("#")))
        has_letters = any(code[0].isalpha() and " " in code for _, _, code in found)
        if not has_letters and (digits := self._digits()) is not None:
            return digits
        if found:
            at, count, text = self._chosen(found)
            self._reading.use(at, at + count)
            return str(text)
        return next((self._as_digits(span) for span in self._said.numbers if self._reading.is_free(span)), None)

    def _digits(self) -> str | None:
        """Read digits that are said one by one: "four seven one one"."""
        spans = [span for span in self._said.numbers if self._reading.is_free(span)]
        for first in range(len(spans)):
            run = spans[first : first + 1]
            for span in spans[first + 1 :]:
                if span.start != run[-1].end or span.value >= 100:
                    break
                run.append(span)
            if len(run) > 1:
                self._reading.use(run[0].start, run[-1].end)
                return "".join(str(int(span.value)) for span in run)
        return None

    def _as_digits(self, span: Span) -> str:
        self._reading.use(span.start, span.end)
        return f"{span.value:g}" if span.value < 1e6 else str(int(span.value))

    # -- names -----------------------------------------------------------------------------------------------------

    def _somewhere(self, one: Parameter) -> str | None:
        is_language = "language" in one.words
        found = self._place(one, ("into", "to", "in") if is_language else ("in", "at", "for", "of", "near"))
        if found is None and not is_language:
            destinations = [other for other in self._all if other.takes is Takes.DESTINATION]
            found = self._place(one, ("to",)) if not destinations and not self._command.sets else None
        return found

    def _place(self, one: Parameter, prepositions: Sequence[str]) -> str | None:
        for preposition in prepositions:
            for at, token in enumerate(self._said.tokens):
                behind = {*self._said.tokens[at + 1 : at + 2]}
                is_free = token == preposition and at not in self._reading.used and not self._reading.names_own(at)
                if not is_free or behind & KNOWN_VERBS or self._is_others(one, at):
                    continue
                if {*self._said.tokens[at + 1 : at + 3]} - ARTICLES <= _NO_PLACE or self._is_period(at + 1):
                    continue
                if (found := self._reading.phrase(at + 1, before=at)) is not None:
                    return self._without_label(one, found)
        if self._command.is_answer and one.required:
            return self._bare(one)
        places = [other for other in self._all if other.takes is Takes.PLACE]
        # "Weather Paris."
        is_fragment = self._said.stems[0] in self._command.own or self._said.tokens[0] in ARTICLES
        end = self._reading.behind_own() if is_fragment and places == [one] and one.required else None
        if end is None or self._said.tokens[end] in _NO_PLACE:
            return None
        return self._reading.phrase(end)

    def _is_period(self, at: int) -> bool:
        """Whether a length of time stands there: "in the next two weeks"."""
        return bool({*self._said.stems[at : at + 4]} & {"week", "month", "year", "hour", "minut"})

    def _is_others(self, one: Parameter, at: int) -> bool:
        """Whether a preposition belongs to the name of another argument: "to the city of Paris" is no street."""
        tokens = self._said.tokens
        near = {next((token for token in tokens[at + 1 :] if token not in ARTICLES), "")}
        near |= {*tokens[max(0, at - 1) : at]} if tokens[at] == "of" else set()
        return not near & {*one.words} and any(near & {*other.words} for other in self._all)

    def _without_label(self, one: Parameter, found: str) -> str:
        """Return "Paris" for "city of Paris"."""
        return re.sub(rf"^(?:{'|'.join(map(re.escape, one.words))}) of ", "", found, flags=re.IGNORECASE)

    def _person(self, one: Parameter) -> str | None:
        tokens = self._said.tokens
        for at in range(len(tokens)):
            is_named = tokens[at] == "name" and tokens[at + 1 : at + 2] in (["is"], ["of"])
            if is_named or (tokens[at] == "name" and tokens[at - 1 : at] == ["the"]) or tokens[at] == "name's":
                found = self._reading.phrase(at + (2 if is_named else 1), before=at)
            elif (tokens[at] in CALLED and one.takes is Takes.NAME) or self._is_titled(at):
                found = self._reading.phrase(at + 1, before=at)
            else:
                continue
            if found is not None:
                return found
        if one.takes is Takes.RECIPIENT and (found := self._object()) is not None:
            return found
        for preposition in ("to",) if one.takes is Takes.RECIPIENT else ("for", "of", "with", "under"):
            for at, token in enumerate(tokens):
                is_free = token == preposition and at >= self._command.verb_end and at not in self._reading.used
                if not is_free or self._reading.names_own(at):
                    continue
                if (found := self._reading.phrase(at + 1, before=at)) is not None:
                    return found
        if self._command.is_answer and one.required:
            return self._bare(one)
        return self._user_name if one.takes is Takes.NAME and one.required else None

    def _is_titled(self, at: int) -> bool:
        """Whether the tool's object stands before its name: "the patient Maria Lopez"."""
        said = self._said
        is_own = said.stems[at] in self._command.own and not said.is_capital(at)
        return is_own and at + 1 < len(said) and at + 1 not in said.breaks and said.is_capital(at + 1)

    def _object(self) -> str | None:
        """Return whom a verb is about: "send Bob thirty dollars", "text Julia that"."""
        at = self._command.verb_end
        if at >= len(self._said) or self._said.tokens[at] in ARTICLES or self._said.stems[at] in self._command.own:
            return None
        return self._reading.phrase(at)

    def _bare(self, one: Parameter) -> str | None:
        """Return the words of an answer, without those around them."""
        text = self._said.said.strip(" .,!?;:")
        text = re.sub(
            r"^(?:(?:it's|it is|that's|in|to|for|at|from|under|the name is|my name is) )+", "", text, flags=re.I
        )
        text = re.sub(r"(?: please|,? thanks|,? thank you){1,4}$", "", text, flags=re.I).strip(" ,")
        text = re.sub(r"^(?:the|a|an) ", "", text, flags=re.I)
        first = text.partition(" ")[0]
        is_of_someone = one.takes in (Takes.NAME, Takes.RECIPIENT)
        is_phrase = first in BOUNDARIES or (is_of_someone and NO_NAME.fullmatch(first) is not None)
        if not text or len(text.split()) > LONGEST_NAME or self._reading.used:
            return None
        if (text.islower() and is_phrase) or not is_value(one, text, ()):
            return None
        self._reading.use(0, len(self._said))
        return text

    # -- lists and free words --------------------------------------------------------------------------------------

    def _list(self, one: Parameter) -> list[Any] | None:
        items = one.schema.get("items")
        kind = items.get("type") if isinstance(items, Mapping) else None
        if one.choices:
            free = (value for at, _, value in sorted(_choices(self._said, one.choices)) if at not in self._reading.used)
            return [*dict.fromkeys(free)] or None
        if kind in ("integer", "number"):
            values = [span.value for span in self._said.numbers if self._reading.is_free(span)]
            return [int(value) if kind == "integer" else value for value in values] or None
        if kind not in ("string", None):
            return None
        at = self._said.find("with") if not self._command.is_answer else 0
        if at is not None and self._said.tokens[at : at + 1] == ["with"]:
            return _items(self._reading.run(at + 1))
        if self._command.is_answer:
            return _items(self._said.said.strip(" .!")) if one.required else None
        text = self._reading.leftover() if one.required else None
        return _items(text) if text else None

    def _title(self, one: Parameter) -> str | None:
        at = next((at for at, token in enumerate(self._said.tokens) if token in CALLED), None)
        if at is not None and (text := self._reading.until_value(at + 1)):
            return text
        text = self._labelled(one) or self._free(one)
        if text is not None and text.startswith("with "):
            noun = next((word for word in self._said.tokens if stem_of(word) in self._command.own), "")
            return f"{noun} {text}".strip()
        return text

    def _message(self, one: Parameter) -> str | None:
        for words in _SAYING:
            at = self._said.find(*words, start=self._command.verb_end)
            if at is not None:
                return self._reading.to_the_end(at + len(words))
        if self._command.is_answer:
            return self._free(one)
        if ":" in self._said.said:
            at = self._said.place(self._said.said.index(":"))
            if at in self._said.breaks and self._command.verb_end <= at < len(self._said):
                return self._reading.to_the_end(at)
        begin = self._command.verb_end
        own = next((at for at in range(begin, len(self._said)) if self._said.stems[at] in self._command.own), None)
        if (at := self._told_that(own)) is not None:
            return self._reading.to_the_end(at)
        if own is not None and self._is_only_named(own):
            return None
        text = self._free(one)
        # "Leave a message if he is out": what it waits for is no message.
        return text if text is None or CONDITION.match(plain(text)) is None else None

    def _told_that(self, own: int | None) -> int | None:
        """Return where a text begins behind "the mechanic a message that"."""
        tokens, begin = self._said.tokens, self._command.verb_end
        first = begin if tokens[begin - 1 : begin] and tokens[begin - 1] in _TELLS else own
        if first is None:
            return None
        for at in range(first, min(first + _MOST_BEFORE_THAT, len(tokens))):
            if tokens[at] in _SUBJECTS or (at in self._said.breaks and at > begin and tokens[at] not in _FILLERS):
                return None
            if tokens[at] == "that" and tokens[at - 1] not in _TO_WHOM:
                while at < len(tokens) and tokens[at] in _FILLERS | {"that"}:
                    at += 1
                return at if at < len(tokens) else None
        return None

    def _is_only_named(self, own: int) -> bool:
        """Whether a message is only named: "send him a message", "a note to the cook"."""
        said, begin = self._said, self._command.verb_end
        if own - begin > _MOST_BEFORE_THAT or {*said.tokens[begin:own]} & (_SUBJECTS | {"that"}):
            return False
        end = own + 1
        if end < len(said) and said.tokens[end] in _TO_WHOM and end + 1 not in self._reading.used:
            behind = said.tokens[end + 1 :]
            is_whom = len(behind) <= _MOST_BEFORE_THAT and not {*behind} & _SUBJECTS
            return is_whom and FINITE.search(" ".join(behind)) is None
        while end < len(said) and (end in self._reading.used or said.tokens[end] in _AT_THE_END | _TO_WHOM):
            end += 1
        return end >= len(said)

    def _text(self, one: Parameter) -> str | None:
        if len(one.words) > 1 and one.words[0] in ("from", "to", "into"):
            at = self._said.find(one.words[0], start=self._command.verb_end)
            return self._reading.phrase(at + 1, before=at) if at is not None else None
        return self._labelled(one) or self._free(one)

    def _labelled(self, one: Parameter) -> str | None:
        """Read what follows the argument's name: "with the subject lunch", "the note by the window"."""
        if len(one.words) > 2 or one.stems & self._command.own or one.words[-1] in ("text", "query", "item"):
            return None
        at = self._said.find(*one.words, start=self._command.verb_end)
        if at is None:
            return None
        at += len(one.words)
        while at < len(self._said) and self._said.tokens[at] in ("is", "of", "to", "as", "should", "be"):
            at += 1
        return self._reading.until_value(at)

    def _free(self, one: Parameter) -> str | None:
        """Read the words that are left, for one argument that needs them."""
        if not one.required and sum(other.takes in WORDED for other in self._all) > 1:
            return None
        if self._command.is_answer:
            answer = self._said.said.strip(" .!,")
            answer = trimmed(answer) if one.takes is not Takes.MESSAGE else _LEADS_TO_TEXT.sub("", answer)
            if not (one.required and answer) or self._reading.used:
                return None
            self._reading.use(0, len(self._said))
            return answer
        if not one.required and len(self._all) > 1:
            return None
        if (
            self._command.sets
            and (at := self._reading.last("to")) is not None
            and (text := self._reading.until_value(at + 1))
        ):
            return trimmed(text)
        used = {*self._reading.used}
        is_message = one.takes is Takes.MESSAGE
        text = self._reading.leftover(is_message=is_message, corrects=not is_message and not takes_any(one))
        if text is not None and not self._is_sure(one, text, min(self._reading.used - used, default=0)):
            self._reading.used = used
            return self._described(one)
        first, _, rest = (text or "").partition(" ")
        # "The song Penny Lane", "products with wool".
        is_own = stem_of(first.lower()) in self._command.own or first.lower() == "with"
        return rest if one.takes is Takes.TEXT and rest and is_own else text

    def _is_sure(self, one: Parameter, text: str, at: int) -> bool:
        begins = self._said.tokens[self._command.verb_end : self._command.verb_end + 1]
        # "The hive that swarmed last week" names none.
        is_clause = self._said.stems[at - 2 : at - 1] != [] and self._said.stems[at - 2] in self._command.own
        if is_clause and self._said.tokens[at - 1] in ("that", "which", "who") and one.takes is not Takes.MESSAGE:
            return False
        return is_value(one, text, begins)

    def _described(self, one: Parameter) -> str | None:
        """Read "my tomato plant", or a name behind a preposition."""
        said = self._said
        for at, word in enumerate(said.stems):
            begin = at
            while begin > max(0, at - 3) and said.tokens[begin - 1] not in BOUNDARIES | UNNAMING | LOOKS | ASKING:
                begin -= 1
            determined = begin > 0 and said.tokens[begin - 1] in ("the", "my", "our", "a", "an", "your")
            if word in one.stems and begin < at and determined and not self._reading.used & {*range(begin, at + 1)}:
                self._reading.use(begin, at + 1)
                return said.text(begin, at + 1)
        for at, token in enumerate(said.tokens[:-1]):
            leads = token in ("from", "at", "for", "of", "in", "near", "about", "to") and said.is_capital(at + 1)
            if leads and at + 1 not in self._reading.used and (found := self._reading.phrase(at + 1, before=at)):
                return found
        return None


def _choices(said: Utterance, choices: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield place, number of tokens and value of each said choice."""
    for value in choices:
        if isinstance(value, bool) or not isinstance(value, str | int):
            continue
        if isinstance(value, int):
            yield from ((span.start, span.end - span.start, value) for span in said.numbers if span.value == value)
            continue
        words = [stem(word) for word in Utterance(value.replace("_", " ").replace("-", " ")).tokens]
        for at in range(len(said) - len(words) + 1):
            if words and said.stems[at : at + len(words)] == words and not _is_refused(said, at):
                yield at, len(words), value


def _is_refused(said: Utterance, at: int) -> bool:
    """Whether a choice is not wanted: "no rye", "not the rye"."""
    while at > 0 and at not in said.breaks and said.tokens[at - 1] in ARTICLES | {"any", "more"}:
        at -= 1
    return at > 0 and at not in said.breaks and said.tokens[at - 1] in _NO


def left_out(said: Utterance, parameters: Sequence[Parameter], values: Values) -> tuple[str, ...]:
    """Return what is asked for beside a choice that is taken: "three wheat" of "one rye and three wheat"."""
    out: list[str] = []
    for one in parameters:
        if one.takes is not Takes.CHOICE or one.path not in values or said.corrections:
            continue
        found = sorted(_choices(said, one.choices))
        end = next((at + count for at, count, value in found if value == values[one.path]), len(said))
        others = [at for at, _, value in found if at >= end and value != values[one.path]]
        # "And three spelt" is left out as well where there is no such choice.
        others += [span.end for span in said.numbers if end <= span.start < span.end < len(said) and span.counted]
        for at in sorted(others):
            begin = next((span.start for span in said.numbers if span.end == at), at)
            begin -= bool(begin and said.tokens[begin - 1] in ARTICLES)
            is_listed = begin < at and begin in said.breaks and not any(start == begin for start, _ in said.sentences())
            is_joined = is_listed or (begin > 0 and said.tokens[begin - 1] in ("and", "plus", "also"))
            if is_joined and not _is_counted(said, at, values):
                out.append(said.text(begin, at + 1))
    return tuple(dict.fromkeys(out))


def _is_counted(said: Utterance, at: int, values: Values) -> bool:
    """Whether the words are a part of a value: of people, money, a length of time, or a text."""
    spans = [span for span in said.numbers if span.end == at]
    is_part = any(span.is_money or span.counted & PEOPLE or seconds_of(span) is not None for span in spans)
    return is_part or any(
        isinstance(value, str) and said.text(at, at + 1) in value.split() for value in values.values()
    )


def _items(text: str) -> list[str]:
    """Split a list: "mushrooms, onions and peppers"; where a recogniser left out the commas, behind plurals."""
    parts = re.split(", ?(?:and |or )?| (?:and|or|plus) ", " ".join(text.split()))
    split: list[str] = []
    for part in parts:
        words = part.split()
        if "," not in text and len(parts) > 1 and len(words) > 1 and all(word.endswith("s") for word in words):
            split += words
        else:
            split.append(part)
    return [item for item in map(trimmed, split) if item]


def nested(values: Values) -> dict[str, Any]:
    """Return arguments by name; fields of objects are in their objects."""
    arguments: dict[str, Any] = {}
    for path, value in values.items():
        place = arguments
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return arguments
