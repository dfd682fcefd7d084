"""The words of an utterance and the values in them: numbers with what they count, money, days, times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from realtime.model.local.keyless.words import each, plain, stem
from realtime.tool.spoken_amounts import amount_at, currency_of
from realtime.tool.spoken_numbers import folded, matches_of
from realtime.tool.spoken_times import MONTHS, day_at, day_of_month_at, ordinal_at, time_at, year_at

LONGEST_CHARS = 1_000
MOST_WORDS = 250
"""Words that are read of so many characters: in prose there are fewer."""
_FAR = 8
"""Words between a value and its correction."""
_WORDS_OF_OR = 3
"""Most words between two values that are left open: "at six or maybe at seven"."""

Kind = Literal["number", "day", "time"]

_MONTHS = frozenset(
    (*(month.lower() for month in MONTHS["en"]), *each("jan feb mar apr jun jul aug sep sept oct nov dec"))
)
_MONTH = re.compile(rf"\b(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b", re.IGNORECASE)
_YEAR = re.compile(r"\b[12]\d{3}\b")
_SHORT_DAYS = frozenset(each("mon tue tues wed thu thur thurs fri sat sun"))
_WRITTEN_DATE = re.compile(r"\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})\b")
_HOUR, _HALF = r"(?:[01]?\d|2[0-3])", r"[ap]\.?m\b\.?"
_IN_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_WRITTEN_TIMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:(?:a )?quarter|half|(?:five|ten|twenty|twenty[- ]five)(?: minutes)?|\d{{1,2}} minutes)"
        rf" (?:past|after|before|to) (?:\d{{1,2}}(?![\d:])|(?:{_IN_WORDS})\b)"
        rf"(?: ?{_HALF}| in the (?:morning|afternoon|evening)\b| at night\b)?",
        rf"\b{_HOUR}(?:[.:]?[0-5]\d)? ?(?:{_HALF}|hrs?\b)",
        rf"\b{_HOUR}:[0-5]\d\b",
        rf"(?<=\bat ){_HOUR}\.[0-5]\d\b|^{_HOUR}\.[0-5]\d(?=\W*$)",
        rf"\b(?:midday|(?:{_HOUR}(?::\d\d)?|{_IN_WORDS})ish)\b",
    )
)
"""Longer ones first."""
_UNITS_OF_TIME = {"second": 1, stem("minute"): 60, "hour": 3600, "day": 86_400, "night": 86_400, "week": 604_800}
_PARTS_OF_DAY = frozenset(each("morning afternoon evening night lunchtime noon"))
_SPANS = frozenset(each("week weekend month"))
_FEASTS = (
    ("christmas", "eve"),
    ("christmas", "day"),
    ("christmas",),
    ("new", "year's", "eve"),
    ("new", "year's", "day"),
)
_SOUNDS_LIKE = {"to": "two", "too": "two", "for": "four", "fore": "four"}
_PEOPLE = frozenset(each("people persons guests adults"))
_COUNTED = frozenset(each("degrees degree percent people persons guests euros dollars pounds bucks minutes hours"))
_TITLES = frozenset(each("mr mrs ms miss mister missus dr doctor professor prof family name named"))
_UNITS_OF_DAYS = frozenset(each("day days week weeks fortnight month months year years"))
_WEEKS = frozenset(each("week weeks fortnight"))
_PAST = frozenset(each("last past previous"))
_SEVERAL_EACH = frozenset(map(stem, each("families family couples couple groups group pairs teams classes households")))
_NOT_ONE = frozenset(each("the this that no any which another every each some good"))
BOUNDARIES = frozenset(
    each(
        "in on at for from to into onto with without by about under until till of off via as than because and or so if "
        "when while where who that which saying says please thanks thank a an the i i'm i'll i've i'd he she it it's "
        "we we're we'll they you you're is are was were will would can could should has have had do does did named "
        "called titled then but my your our me us it's there there's starting beginning arriving leaving now again "
        "like some any more going today round know how what why whether"
    )
)
"""Words that no name and no place goes on with."""


@dataclass(frozen=True, slots=True)
class Span:
    """A value: the tokens from `start` to before `end`."""

    kind: Kind
    start: int
    end: int
    value: float = 0.0
    """Of a number."""
    counted: frozenset[str] = frozenset()
    """Stems of the words behind a number, until a preposition."""
    is_money: bool = False
    text: str = ""
    """Its words as an argument: "next Friday", "7 pm"."""


def stem_of(word: str) -> str:
    """Return the form by which words of tools are compared. A booking is a thing, to book is a deed."""
    return "booking" if word in ("booking", "bookings") else stem(word)


_CORRECTION = re.compile(
    r"\b(?:(?:u[hm]{1,5}|er|erm|oh|well) ){0,3}"
    r"(?:(?:no|wait|sorry|actually|rather|i mean|i meant|make (?:it|that)|hang on|hold on|scratch that|strike that"
    r"|correction|my mistake|my bad|oops) ){1,4}"
)
_HESITATION = frozenset(each("um umm uh uhh uhm er erm"))
_SO = re.compile(r"\bso (?:(?:that's|that makes|it's|it will be|it'll be|we're|we are|just|only|now|then) ){0,3}")
"""What leads to the number that counts in the end: "Ann is ill, so three"."""


class Utterance:
    """What was said: its words as written, in lower case, and the values in it."""

    def __init__(self, said: str) -> None:
        self.said = folded(said[:LONGEST_CHARS])
        matches = matches_of(self.said)
        self._matches = matches[:MOST_WORDS]
        if len(matches) > MOST_WORDS:
            self.said = self.said[: matches[MOST_WORDS].start()]
        self.tokens = _with_heard_numbers([match.group().lower() for match in self._matches])
        self.stems = [stem_of(plain(token) or token) for token in self.tokens]
        for at, token in enumerate(self.tokens[:-1]):
            if token == "booking" and self.tokens[at + 1] in ("a", "an", "the", "my", "us", "me"):
                self.stems[at] = "book"
        self.breaks = {at for at in range(len(self._matches) + 1) if at in (0, len(self._matches)) or self._breaks(at)}
        """Tokens that begin a clause."""
        self._bare = [re.sub(r"'s$", "", token) for token in self.tokens]
        self.has_case = any(match.group()[0].isupper() for match in self._matches[1:])
        self.days = [*self._days()]
        self.times = [*self._times()]
        self.numbers = [*self._numbers()]
        self.withdrawn: list[Span] = []
        """Values that the user corrected: "on Friday, no, Saturday"."""
        self.corrections: list[tuple[int, int]] = []
        """Where words that correct what stands before them begin and end: "no wait"."""
        self.alternatives: list[Span] = []
        """Values that the user left open: "fifty or sixty"."""
        self._correct()
        self._correct_unsaid()
        self._leave_open()

    def __len__(self) -> int:
        return len(self.tokens)

    def text(self, start: int, end: int) -> str:
        """Return words as they were said."""
        return self.said[self._matches[start].start() : self._matches[end - 1].end()] if start < end else ""

    def is_capital(self, at: int) -> bool:
        """Whether a word is written with a capital."""
        return self._matches[at].group()[0].isupper() and self.tokens[at] not in ("i", "i'm", "i'll", "i've", "i'd")

    def sentences(self) -> Iterator[tuple[int, int]]:
        """Yield where each sentence begins and ends."""
        begin = 0
        for at in sorted(self.breaks - {0}):
            between = self.said[self._matches[at - 1].end() : self._matches[at].start()] if at < len(self) else "."
            if re.search(r"[.;!?]", between):
                yield begin, at
                begin = at

    def place(self, char: int) -> int:
        """Return the token at or behind a character."""
        return next((at for at, match in enumerate(self._matches) if match.end() > char), len(self))

    def find(self, *phrase: str, start: int = 0) -> int | None:
        """Return where these words stand first; None: nowhere."""
        count = len(phrase)
        places = range(start, len(self) - count + 1)
        return next((at for at in places if tuple(self.tokens[at : at + count]) == phrase), None)

    def _breaks(self, at: int) -> bool:
        between = self.said[self._matches[at - 1].end() : self._matches[at].start()]
        return re.search(r"[,;:!?]|\.(?=\s)|\s-\s", between) is not None

    def _correct(self) -> None:
        for found in _CORRECTION.finditer(" ".join(self.tokens)):
            at = " ".join(self.tokens)[: found.start()].count(" ")
            end = at + found[0].count(" ")
            values = (*self.days, *self.times, *self.numbers)
            is_correction = found[0] != "no " or at in self.breaks or any(span.end == at for span in values)
            if at in self.breaks or end - at > 1:
                self.corrections.append((at, end))
            for spans in (self.days, self.times, self.numbers):
                new = next((span for span in spans if end <= span.start <= end + 1), None)
                old = next((span for span in reversed(spans) if at - _FAR <= span.end <= at), None)
                if is_correction and spans is self.days and new is None and old is not None and old.end == at:
                    new = self._corrected_day(old, end)
                    spans += [new] if new is not None else []
                if new is not None and old is not None and is_correction:
                    spans.remove(old)
                    self.withdrawn.append(old)
                    if spans is self.numbers and not new.counted:
                        spans[spans.index(new)] = replace(
                            new, counted=old.counted, is_money=old.is_money or new.is_money
                        )
                    break

    def _correct_unsaid(self) -> None:
        """Take back numbers that others replace without a word for it: "21 um 22", "for four, Ann is ill, so three"."""
        for old, new in [*pairwise(self.numbers)]:
            between = self.tokens[old.end : new.start]
            if between and {*between} <= _HESITATION:
                self._withdraw(old)
        text = " ".join(self.tokens) + " "
        for found in _SO.finditer(text):
            at = text[: found.end()].count(" ")
            last = next((span for span in self.numbers if span.start == at), None)
            if last is None or last.counted or last.is_money or last.end not in self.breaks:
                continue
            for old in [span for span in self.numbers if span.end < at and seconds_of(span) is None]:
                self._withdraw(old)

    def _withdraw(self, number: Span) -> None:
        self.numbers.remove(number)
        self.withdrawn.append(number)

    def _corrected_day(self, old: Span, at: int) -> Span | None:
        """Return a day with another month or year: "2 February, I mean March"; None: none is said."""
        begin = at
        while self._token(begin) in ("of", "in"):
            begin += 1
        for kind, pattern in (("month", _MONTH), ("year", _YEAR)):
            is_part = begin < len(self) and pattern.fullmatch(self.tokens[begin]) is not None
            if is_part and pattern.search(old.text.lower()) is not None:
                text = pattern.sub(self.text(begin, begin + 1).capitalize(), old.text, count=1)
                self.numbers[:] = [span for span in self.numbers if kind != "year" or span.start != begin]
                return Span("day", begin, begin + 1, text=text)
        return None

    def _leave_open(self) -> None:
        """Take out values that "or" joins: none of them is sure."""
        hours = sorted((*self.times, *self.numbers), key=lambda span: span.start)
        pairs = [pair for spans in (self.days, hours) for pair in pairwise(spans) if self._is_open(*pair)]
        self.alternatives = [*dict.fromkeys(span for pair in pairs for span in pair)]
        for spans in (self.days, self.times, self.numbers):
            spans[:] = [span for span in spans if span not in self.alternatives]

    def _is_open(self, one: Span, other: Span) -> bool:
        between = self.tokens[one.end : other.start]
        if between == ["and"]:
            return self._token(one.start - 1) == "between"
        return "or" in between[:2] and "so" not in between and len(between) <= _WORDS_OF_OR

    def _token(self, at: int) -> str:
        return self.tokens[at] if 0 <= at < len(self) else ""

    def _written(self, kind: Kind, *patterns: re.Pattern[str]) -> list[Span]:
        """Return values that are found by how they are written."""
        found = (found for pattern in patterns for found in pattern.finditer(self.said) if found[0].strip())
        return [
            Span(kind, self.place(one.start()), self.place(one.end() - 1) + 1, text=one[0].strip().removesuffix("."))
            for one in found
        ]

    def _days(self) -> Iterator[Span]:
        written = {span.start: span for span in self._written("day", _WRITTEN_DATE)}
        at = 0
        while at < len(self):
            is_day = not (self._is_name(at) or self._is_counted_from(at))
            end = written[at].end if at in written else self._day_end(at) if is_day else at
            # "Friday, 12/24/2027": the same day twice.
            if end > at and end in written:
                end = written[end].end
            if end > at:
                yield Span("day", at, end, text=_with_capitals(self.text(at, end)).removesuffix("'s"))
            at = max(end, at + 1)

    def _day_end(self, at: int) -> int:
        """Return where the day ends that begins at a token; the token itself: none does."""
        begin, first = at, self.tokens[at]
        if self.tokens[at : at + 4] == ["the", "day", "after", "tomorrow"]:
            return at + 4
        if first in ("next", "this", "coming", "the"):
            at += 1
            if self._token(at) in (_SPANS if first != "the" else {"weekend"}):
                return at + 1
            if first == "this" and self._token(at) in _PARTS_OF_DAY:
                return at + 1
        for feast in _FEASTS:
            if tuple(self.tokens[at : at + len(feast)]) == feast:
                return self._year_end(at + len(feast))
        if first in _PAST:
            return at + 1 + count if (count := self._weekday(at + 1)) else begin
        count = self._weekday(at) if first != "the" else 0
        if count:
            end = at + count
            if self._token(end) in _PARTS_OF_DAY and self._token(end) != "noon":
                return end + 1
            dated = self._date_end(end + (self._token(end) == "the"), is_sure=self._token(end) == "the")
            return dated if dated > end + 1 or (dated > end and self._token(end) != "the") else end
        if (end := self._distance_end(at)) > at:
            return end
        if first in ("next", "this", "coming"):
            return begin
        end = self._date_end(at)
        return end if end > at else begin

    def _weekday(self, at: int) -> int:
        if at >= len(self):
            return 0
        if self.tokens[at] in _SHORT_DAYS:
            is_dated = self._date_end(at + 1 + (self._token(at + 1) == "the")) > at + 1
            return 1 if is_dated or self._token(at - 1) in ("on", "next", "this", "coming") else 0
        found = day_at(self._bare, at, "en")
        return found[1] if found is not None else 0

    def _distance_end(self, at: int) -> int:
        """Return where "in three days" or "two weeks from now" ends."""
        begin = at + (self.tokens[at : at + 1] == ["in"])
        if begin >= len(self):
            return at
        read = (1, 1) if self.tokens[begin] in ("a", "an") else amount_at(self.tokens, begin, "en")
        if read is None or stem(self._token(begin + read[1])) not in ("day", "week", "month"):
            return at
        end = begin + read[1] + 1
        if self._token(end) == "from" and self._token(end + 1) in ("now", "today"):
            return end + 2
        return end if begin > at else at

    def _date_end(self, at: int, *, is_sure: bool = False) -> int:
        """Return where a day of a month ends: "june 5th", "12th of june 2027", "the 12th"."""
        if at >= len(self):
            return at
        if self.tokens[at] in _MONTHS:
            begin = at + 1 + (self._token(at + 1) == "the")
            count = self._day_of_month(begin)
            return self._year_end(begin + count) if count else at
        count = self._day_of_month(at)
        if not count:
            return at
        end = at + count
        month = end + (self._token(end) == "of")
        if self._token(month) in _MONTHS:
            return self._year_end(month + 1)
        is_ordinal = ordinal_at(self.tokens, at, "en") is not None
        return end if is_ordinal and (is_sure or self._token(at - 1) in ("the", "on", "for", "")) else at

    def _day_of_month(self, at: int) -> int:
        day = day_of_month_at(self.tokens, at)
        return day[1] if day is not None else 0

    def _year_end(self, at: int) -> int:
        if self.tokens[at : at + 2] in (["next", "year"], ["this", "year"], ["last", "year"]):
            return at + 2
        begin = at + (self.tokens[at : at + 1] in (["of"], ["in"]))
        year = year_at(self.tokens, begin)
        return begin + year[1] if year is not None else at

    def _times(self) -> Iterator[Span]:
        written: dict[int, Span] = {}
        for span in self._written("time", *_WRITTEN_TIMES):
            if not any(self._is_in_day(at) for at in range(span.start, span.end)):
                written.setdefault(span.start, span)
        at = 0
        while at < len(self):
            if at in written:
                yield written[at]
                at = written[at].end
                continue
            tokens = [*self.tokens]
            if tokens[at] in ("around", "about", "from", "until", "till", "before", "after"):
                tokens[at] = "at"
            found = None if self._is_in_day(at) or self._is_name(at) else time_at(tokens, at, "en")
            end = at + found[1] if found is not None else at
            is_written = any(place in written for place in range(at, end))
            if (
                found is None
                or is_written
                or self._token(end) in _COUNTED
                or currency_of(self._token(end))
                or self._is_in_day(end - 1)
            ):
                at += 1
                continue
            begin = at + (tokens[at] in ("at", "by"))
            yield Span("time", begin, end, text=self.text(begin, end))
            at = end

    def _is_in_day(self, at: int) -> bool:
        return any(day.start <= at < day.end for day in self.days)

    def _numbers(self) -> Iterator[Span]:
        at = 0
        while at < len(self):
            span = None if self._is_in_day(at) or self._is_in_time(at) else self._number_at(at)
            if span is not None:
                yield span
            at = span.end if span is not None else at + 1

    def _is_name(self, at: int) -> bool:
        """Whether a title stands before a word: "Mr Eight" is no number, and "Mrs May" no month."""
        if at in self.breaks and at and self.said[self._matches[at - 1].end()] != ".":
            return False
        return self._token(at - 1) in _TITLES or self.tokens[max(0, at - 2) : at] in (["name", "of"], ["name", "is"])

    def _is_counted_from(self, at: int) -> bool:
        """Whether another day is counted from this one: "a week from Friday", but not "for a week from Friday"."""
        is_count = self._token(at - 1) in ("from", "after", "before") and self._token(at - 2) in _UNITS_OF_DAYS
        # "A week on Friday" and "Friday week" are a week later.
        is_count |= self._token(at - 1) == "on" and self._token(at - 2) in _WEEKS
        if self._weekday(at) == 1 and self._token(at + 1) in _WEEKS:
            return True
        return is_count and self._token(at - 4) != "for"

    def _is_in_time(self, at: int) -> bool:
        return any(time.start <= at < time.end for time in self.times)

    def _number_at(self, at: int) -> Span | None:
        if self._is_name(at):
            return None
        before, begin = self._token(at - 1), at
        has_sign = currency_of(self.tokens[at]) is not None and not self.tokens[at].isalpha()
        if has_sign:
            at += 1
        if at >= len(self):
            return None
        if self.tokens[at : at + 2] in (["a", "dozen"], ["a", "couple"]):
            return self._counting(begin, at + 2, 12.0 if self.tokens[at + 1] == "dozen" else 2.0, is_money=False)
        if self.tokens[at] in ("a", "an", "half") and (unit := self._part_of_hour(at)) is not None:
            return unit
        read = amount_at(self.tokens, at, "en")
        if read is None or (self.tokens[at] == "one" and (before in _NOT_ONE or self._stands_for_a_thing(at))):
            return None
        value, end = float(read[0]), at + read[1]
        if before == "minus" or re.search(r"(?:^|\s)[-−]$", self.said[: self._matches[begin].start()][-2:]):
            value = -value
        if self.tokens[end : end + 3] == ["and", "a", "half"]:
            value, end = value + 0.5, end + 3
        if currency_of(self._token(end)) is not None and self._token(end) not in ("all", "try", "mad"):
            return self._counting(begin, end + 1, value, is_money=True)
        return self._counting(begin, end, value, is_money=has_sign or currency_of(self._token(end - 1)) is not None)

    def _stands_for_a_thing(self, at: int) -> bool:
        """Whether "one" is no number: "a large one"."""
        is_last = at + 1 in self.breaks or self._token(at + 1) in BOUNDARIES
        return is_last and self._token(at - 2) in ("a", "an", "the") and self._token(at - 1) not in BOUNDARIES

    def _part_of_hour(self, at: int) -> Span | None:
        """Read "an hour", "half an hour", "an hour and a half"."""
        words = tuple(self.tokens[at : at + 3])
        if words == ("half", "an", "hour"):
            return Span("number", at, at + 3, 0.5, frozenset({"hour"}))
        if words[:2] in (("an", "hour"), ("a", "minute"), ("a", "week"), ("a", "day"), ("a", "night")):
            half = self.tokens[at + 2 : at + 5] == ["and", "a", "half"]
            return Span("number", at, at + (5 if half else 2), 1.5 if half else 1.0, frozenset({stem(words[1])}))
        return None

    def _counting(self, start: int, end: int, value: float, *, is_money: bool) -> Span:
        counted = []
        if self._token(end) == "of" and self._token(end + 1) in ("us", "them"):
            counted.append("person")
        for at in range(end + (self._token(end) == "of"), min(end + 4, len(self))):
            if at in self.breaks or self._is_in_day(at) or self.tokens[at] in BOUNDARIES:
                break
            counted.append(self.stems[at])
        if self._token(end + 1) in ("each", "apiece") or self._token(end) in ("each", "apiece"):
            # Of how many is not known: "two families with three kids each".
            return Span("number", start, end, value, frozenset({"each"}), is_money)
        if not {*counted} & _SEVERAL_EACH and self.tokens[max(0, start - 2) : start] in (
            ["party", "of"],
            ["group", "of"],
            ["we", "are"],
            ["we'll", "be"],
        ):
            counted.append("person")
        return Span("number", start, end, value, frozenset(counted), is_money)


@lru_cache(maxsize=4)
def utterance_of(said: str) -> Utterance:
    """Return what was said; one sentence is read for each of its requests. It is not to be changed."""
    return Utterance(said)


def seconds_of(span: Span) -> float | None:
    """Return a length of time in seconds; None for other numbers."""
    unit = next((unit for unit in _UNITS_OF_TIME if unit in span.counted), None)
    return span.value * _UNITS_OF_TIME[unit] if unit else None


def _with_heard_numbers(tokens: Sequence[str]) -> list[str]:
    """Return the words with "table for to" as "table for two"."""
    meant = [*tokens]
    for at, token in enumerate(tokens):
        if token not in _SOUNDS_LIKE:
            continue
        behind = tokens[at + 1] if at + 1 < len(tokens) else ""
        is_last = behind in ("", "on", "at", "please", "tonight", "tomorrow", "people")
        if behind in _PEOPLE or (is_last and [*tokens[max(0, at - 2) : at]] == ["table", "for"]):
            meant[at] = _SOUNDS_LIKE[token]
    return meant


def _with_capitals(text: str) -> str:
    """Write the names of days and months with capitals."""
    names = "|".join(
        (*each("monday tuesday wednesday thursday friday saturday sunday christmas"), *_SHORT_DAYS, *_MONTHS)
    )
    return re.sub(rf"\b(?:{names})\b", lambda found: found[0].capitalize(), text)
