"""Whether details of a claim contradict a call: its numbers, amounts, times, days and names. Pure.

A call has slots: the kinds of what its arguments hold. A detail contradicts the call if the call has a slot of that
kind and neither an argument nor the result has the value. A detail without a slot, or one whose kind is in doubt,
contradicts nothing. English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache

from realtime.tool.question import is_identifier, words_of_name
from realtime.tool.spoken_amounts import amount_at, currency_of, digits_at
from realtime.tool.spoken_numbers import folded, matches_of
from realtime.tool.spoken_times import MONTHS, day_at, ordinal_at, time_at
from realtime.turn.claim_words.english import PRONOUNS, singular, word_set


class Kind(StrEnum):
    """What a detail tells."""

    COUNT = "count"
    AMOUNT = "amount"
    LEVEL = "level"
    CLOCK = "clock"
    WEEKDAY = "weekday"
    DATE = "date"
    RECIPIENT = "recipient"
    PLACE = "place"
    HOLDER = "holder"


_FOR = (Kind.COUNT, Kind.CLOCK)
"""What "for eight" may tell."""
Value = Decimal | tuple[int, int] | int | str


@dataclass(frozen=True, slots=True)
class Detail:
    """One detail of a claim; it is of one of `kinds`, all of which need a slot. `thing` is what a number counts."""

    kinds: tuple[Kind, ...]
    value: Value
    thing: str = ""


@dataclass(slots=True)
class Known:
    """What a call holds."""

    slots: set[Kind] = field(default_factory=set)
    numbers: set[Decimal] = field(default_factory=set)
    clocks: set[tuple[int, int]] = field(default_factory=set)
    weekdays: set[int] = field(default_factory=set)
    dates: set[int] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    is_cut: bool = False
    """Whether it holds more than was read."""
    heads: Decimal = Decimal(0)
    """Adults and children together."""
    counted: dict[str, set[Decimal]] = field(default_factory=dict)
    """Numbers by what they count: "2 pizzas", an argument `passengers`."""


_UNITS = word_set(
    "minute minutes min mins hour hours day days week weeks month months year years second seconds percent % mile "
    "miles "
    "km kilometre kilometres stop stops floor floors megabyte megabytes star stars course courses o'clock am pm times"
)
"""Behind a number they make it no detail: a duration, a distance."""
_LABELS = word_set(
    "number no reference ref code ticket case room row coach carriage seat platform gate table floor flat in "
    "version nr "
    "option step page line ending street road"
)
"""Before a number they make it a label."""
_PEOPLE = word_set("people person persons guest guests of adult adults diner diners heads seats places covers")
_SEATED = word_set("table party group booth room reservation booking dinner lunch brunch breakfast seats places")
_REJECTED = word_set("from not than last since before instead no until by every previous old")
"""Before a value they make it another's."""
_EXTRAS = word_set("fee charge tip postage balance discount deposit saving savings left surcharge leaves")
_AMOUNT_NAME = re.compile(r"amount|price|sum|total|cost|money|euros?|dollars?|pounds?|value")
_COUNT_NAME = re.compile(
    r"people|person|party|guest|cover|adult|child|seat|pax|diner|head|ticket|passenger|participant|attendee|spot|place|"
    r"quantity|qty|count|^(?:n|num|number|size)$|^(?:number|num|n) of "
)
_NO_CLOCK = re.compile(r"duration|length|timeout|offset|zone|interval")
_UTC = re.compile(r"\d:\d\d(?::\d\d(?:\.\d+)?)?Z\b")
"""A moment that is said in another zone."""
_MOST_CHARS = 2_000
"""Nothing contradicts a call with a longer argument or result: it is not read whole."""
_LENGTH = "n of "
_HEADS = re.compile(r"adult|child|kid|infant|senior")
_LEVEL_NAME = re.compile(r"temp|degree|level|volume|brightness|celsius|fahrenheit|target")
_ROLES = {
    Kind.RECIPIENT: re.compile(r"(?:^| )(?:to|recipient|receiver|contact|person|payee|whom|beneficiary|who)(?: |$)"),
    Kind.PLACE: re.compile(r"(?:^| )(?:restaurant|place|venue|hotel|shop|cinema|theatre|where)(?: |$)"),
    Kind.HOLDER: re.compile(r"^(?:name|surname|last name|guest name|customer name|under|booking name)$"),
}
_PREPOSITIONS = {"to": Kind.RECIPIENT, "at": Kind.PLACE, "under": Kind.HOLDER}
_TOLD = word_set("texted emailed messaged paid told called pinged refunded mailed")
_MONTHS = frozenset(month.lower() for month in MONTHS["en"])
_TITLES = word_set("mr mrs ms dr miss doctor professor the")
_PLACED = word_set("at on for to and with by under in tomorrow today tonight is are was has have been set now")


def details_of(sentence: str, things: Set[str]) -> tuple[Detail, ...]:
    """Return the details of a claim; `things` are nouns that its tool counts, such as "room"."""
    made: list[Detail] = []
    for detail in _scan(sentence):
        if detail.thing in things:
            detail = replace(detail, kinds=(Kind.COUNT,))
        elif detail.kinds == _FOR and not things & _SEATED:
            detail = replace(detail, kinds=(Kind.CLOCK,))  # "A reminder for ten."
        made.append(detail)
    return tuple(made)


@lru_cache(maxsize=256)
def known_of(arguments: str, result: str) -> Known:
    """Return what a call holds: by its arguments, a JSON object, and by the words of its result."""
    known = Known()
    try:
        given = json.loads(arguments)
        for name, value in _leaves("", given if isinstance(given, dict) else {}):
            _learn_argument(known, name, value)
    except (ValueError, RecursionError):
        known = Known()  # no JSON, or one that no tool has read
    _learn_text(known, result, gives_slots=False)
    return known


def fits(details: Sequence[Detail], calls: Sequence[Known]) -> bool:
    """Whether the details contradict not all of these calls.

    Of a claim that has several values of one kind, each may be of another call: "four on Friday, six on Sunday".
    """
    if any(known.is_cut for known in calls):
        return True
    if any(all(_agrees(detail, known, len(calls)) for detail in details) for known in calls):
        return True
    kinds = [detail.kinds for detail in details if detail.kinds]
    is_list = len(calls) > 1 and len({*kinds}) < len({(one.kinds, one.value) for one in details if one.kinds})
    return is_list and all(any(_agrees(detail, known, len(calls)) for known in calls) for detail in details)


def _agrees(detail: Detail, known: Known, n_calls: int) -> bool:
    """Whether a detail does not contradict a call."""
    if detail.thing and isinstance(detail.value, Decimal) and detail.value <= n_calls:
        return True
    if detail.thing and isinstance(detail.value, Decimal) and detail.thing in known.counted:
        return detail.value in known.counted[detail.thing] | known.numbers
    is_open = any(kind not in known.slots for kind in detail.kinds) or not detail.kinds
    return is_open or any(_has(known, kind, detail) for kind in detail.kinds)


def _has(known: Known, kind: Kind, detail: Detail) -> bool:
    value = detail.value
    if isinstance(value, Decimal):
        is_hour = Kind.CLOCK in detail.kinds
        hours = {Decimal(hour + half) for hour, _ in known.clocks for half in (0, 12) if is_hour}
        return value in known.numbers | hours | ({known.heads} if kind is Kind.COUNT else set())
    if isinstance(value, tuple):
        return value in known.clocks
    if isinstance(value, int):
        return value in (known.weekdays if kind is Kind.WEEKDAY else known.dates)
    return value in known.words or any(word.startswith((value, value[:4])) for word in known.words)


# -- what a call holds -------------------------------------------------------------------------------------------------


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(str(key), inner)
    elif isinstance(value, list | tuple):
        if value:
            yield f"{_LENGTH}{name}", len(value)
        for inner in value:
            yield from _leaves(name, inner)
    else:
        yield name, value


def _learn_argument(known: Known, name: str, value: object) -> None:
    words = words_of_name(name)
    if isinstance(value, bool) or value is None:
        return
    text = str(value)
    is_number = isinstance(value, int | float) or re.fullmatch(r"\d{1,6}(?:\.\d+)?", text.strip())
    if is_number and not is_identifier(name):
        number = Decimal(text.strip())
        known.numbers.add(number.normalize())
        known.heads += number if _HEADS.search(words) else 0
        names = ((Kind.AMOUNT, _AMOUNT_NAME), (Kind.LEVEL, _LEVEL_NAME), (Kind.COUNT, _COUNT_NAME))
        known.slots |= {*[kind for kind, pattern in names if pattern.search(words)][:1]}
        if not name.startswith(_LENGTH):
            known.counted.setdefault(singular(words.split()[-1]), set()).add(number.normalize())
        return
    is_said = not (is_identifier(name) or _NO_CLOCK.search(words) or _UTC.search(text))
    _learn_text(known, text, gives_slots=is_said)
    role = next((kind for kind, pattern in _ROLES.items() if pattern.search(words)), None)
    if role is not None and re.match(r"^[A-ZÀ-Ý]\w*[a-zà-ÿ]", text.strip()):
        known.slots.add(role)


def _learn_text(known: Known, text: str, *, gives_slots: bool) -> None:
    slots: set[Kind] = set()
    known.is_cut |= len(text) > _MOST_CHARS
    text = text[:_MOST_CHARS]
    for found in re.finditer(r"(\d{4})-(\d{2})-(\d{2})", text):
        try:
            day = date(int(found[1]), int(found[2]), int(found[3]))
        except ValueError:
            continue
        known.weekdays.add(day.weekday())
        known.dates.add(day.day)
        slots |= {Kind.WEEKDAY, Kind.DATE}
    for found in re.finditer(r"(?:T|\b)(\d{1,2}):(\d{2})\b", text):
        known.clocks.add((int(found[1]) % 12, int(found[2])))
        slots.add(Kind.CLOCK)
    text = re.sub(r"\d{4}-\d{2}-\d{2}", " ", text)
    tokens = [match.group().lower() for match in matches_of(folded(text))]
    known.words |= {token.removesuffix("'s") for token in tokens}
    at = 0
    while at < len(tokens):
        if (clock := time_at(tokens, at, "en")) is not None:
            known.clocks.add((clock[0].hour % 12, clock[0].minute))
            slots.add(Kind.CLOCK)
            at += clock[1]
        elif (day_read := day_at(tokens, at, "en")) is not None:
            if day_read[0].weekday is not None:
                known.weekdays.add(day_read[0].weekday)
                slots.add(Kind.WEEKDAY)
            at += day_read[1]
        elif (ordinal := ordinal_at(tokens, at, "en")) is not None:
            known.dates.add(ordinal[0])
            slots.add(Kind.DATE)
            at += ordinal[1]
        elif (amount := amount_at(tokens, at, "en")) is not None:
            known.numbers.add(amount[0].normalize())
            end = at + amount[1]
            thing = singular(tokens[end]) if end < len(tokens) else ""
            is_money = currency_of(thing) is not None or (at > 0 and currency_of(tokens[at - 1]) is not None)
            if is_money or (end < len(tokens) and currency_of(tokens[end]) is not None):
                slots.add(Kind.AMOUNT)
            elif gives_slots and thing and thing not in _UNITS | _PLACED:
                known.counted.setdefault(thing, set()).add(amount[0].normalize())
            at = end
        else:
            at += 1
    if gives_slots:
        known.slots |= slots


# -- what a claim tells ------------------------------------------------------------------------------------------------


def _scan(sentence: str) -> Iterator[Detail]:
    matches = matches_of(folded(sentence))
    written = [match.group() for match in matches]
    tokens = [one.lower() for one in written]
    at = 0
    while at < len(tokens):
        before = tokens[at - 1] if at else ""
        is_rejected = before in _REJECTED or tokens[max(0, at - 2) : at] in (["instead", "of"], ["rather", "than"])
        if (clock := _clock_at(tokens, at)) is not None:
            detail, count = clock
        elif (day := day_at(tokens, at, "en")) is not None:
            detail = Detail((Kind.WEEKDAY,), day[0].weekday) if day[0].weekday is not None else None
            count = day[1]
        elif (ordinal := ordinal_at(tokens, at, "en")) is not None:
            detail, count = _date(tokens, at, *ordinal), ordinal[1]
        elif (digits := digits_at(tokens, at, "en", frozenset())) is not None and digits[1] > 2:
            detail, count = None, digits[1]
        elif (amount := _with_cents(tokens, at)) is not None:
            detail, count = _number(tokens, at, *amount), amount[1]
        else:
            detail, count = _name(written, tokens, at), 1
        if detail is not None and not is_rejected:
            yield detail
        at += count


def _with_cents(tokens: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """Return the amount at a token, also "twenty pounds fifty", "thirty-nine ninety-nine"."""
    read = amount_at(tokens, at, "en")
    if read is None or read[0] != int(read[0]):
        return read
    value, count = read
    behind = at + count + (currency_of("".join(tokens[at + count : at + count + 1])) is not None)
    cents = amount_at(tokens, behind, "en")
    if cents is None or not 10 <= cents[0] < 100 or cents[0] != int(cents[0]):
        return read
    return value + cents[0] / 100, behind + cents[1] - at


def _clock_at(tokens: Sequence[str], at: int) -> tuple[Detail | None, int] | None:
    """Return the time that is said at a token; "at nine" alone may be a level, too."""
    read = time_at(tokens, at, "en")
    if read is None:
        return None
    clock, count = read
    is_bare = tokens[at] in ("at", "by") and count == 2 and clock.minute == 0 and ":" not in tokens[at + 1]
    following = tokens[at + count] if at + count < len(tokens) else ""
    if is_bare and tokens[at + 1] not in ("noon", "midnight"):
        if following in _UNITS or currency_of(following) or _is_unclear(following):
            return None, count
        return Detail((Kind.CLOCK,), Decimal(clock.hour)), count
    return Detail((Kind.CLOCK,), (clock.hour % 12, clock.minute)), count


def _is_unclear(following: str) -> bool:
    """Whether a number may count what follows it, or name a street."""
    return following != "" and following not in _PLACED and day_at([following], 0, "en") is None


def _date(tokens: Sequence[str], at: int, day: int, count: int) -> Detail | None:
    """Return the day of a month: "on the fourth", "May fourth"; not "the fourth row"."""
    before = tokens[at - 1] if at else ""
    behind = tokens[at + count] if at + count < len(tokens) else ""
    is_placed = before == "the" and (behind == "" or behind in _PLACED or behind == "of")
    return Detail((Kind.DATE,), day) if before in _MONTHS or behind in _MONTHS or is_placed else None


def _number(tokens: Sequence[str], at: int, value: Decimal, count: int) -> Detail | None:
    value = value.normalize()
    before = tokens[at - 1] if at else ""
    earlier = tokens[at - 2] if at > 1 else ""
    end = at + count
    behind = tokens[end] if end < len(tokens) else ""
    is_money = any(currency_of(token) is not None for token in (before, *tokens[at : end + 1])) or behind in _CASH
    if is_money:
        return None if _EXTRAS & {*tokens} else Detail((Kind.AMOUNT,), value)
    if before in _LABELS or behind in _UNITS or (value == 1 and behind in ("", "of", "is", "for", *PRONOUNS)):
        return None
    if behind in ("degrees", "degree"):
        return Detail((Kind.LEVEL,), value)
    if behind in _PEOPLE and (behind != "of" or tokens[end + 1 : end + 2] in (["you"], ["us"], ["them"])):
        return Detail((Kind.COUNT,), value)
    is_range = "to" in (before, behind) and (
        amount_at(tokens, end + 1, "en") is not None or (at > 1 and amount_at(tokens, at - 2, "en") is not None)
    )
    if is_range:
        return None
    is_last = behind in ("", *_PLACED) or behind.endswith("ed") or day_at([behind], 0, "en") is not None
    if before == "for" and is_last:
        seated = _SEATED & {earlier, singular(earlier)}
        return Detail((Kind.COUNT,) if seated else _FOR, value)
    if before == "of" and earlier in ("party", "group"):
        return Detail((Kind.COUNT,), value)
    if before in ("to", "until", "till") and is_last:
        return Detail((Kind.LEVEL,), value) if value > 12 else Detail((Kind.CLOCK,), value)
    if is_last and before not in ("by", "on"):
        return Detail((Kind.AMOUNT,), value)
    return Detail((), value, singular(behind)) if behind else None


_CASH = word_set("quid bucks grand euros dollars pounds cents pence")


def _name(written: Sequence[str], tokens: Sequence[str], at: int) -> Detail | None:
    """Return the name of whom or where: "to Ann", "texted Ann", "at Luigi's", "under Chen"."""
    if at == 0 or not written[at][:1].isupper() or tokens[at] in _TITLES | {"i"} or len(tokens[at]) < 3:
        return None
    first = at - 1
    while first > 0 and tokens[first] in _TITLES:
        first -= 1
    before = tokens[first]
    kind = Kind.RECIPIENT if before in _TOLD else _PREPOSITIONS.get(before)
    if kind is None or tokens[at] in _MONTHS or written[at].isupper():
        return None
    if kind is Kind.RECIPIENT and written[at].endswith("'s"):
        return None
    return Detail((kind,), tokens[at].removesuffix("'s"))
