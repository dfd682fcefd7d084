"""Questions about time and date, answered from the results of the tools."""

from __future__ import annotations

import re
from calendar import isleap
from datetime import UTC, date, datetime, timedelta

from realtime.model.local.keyless.arithmetic import find_number
from realtime.model.local.keyless.dates import MONTHS, NamedDay, SaidDate, date_said, dates_said, tokens_of_dates
from realtime.model.local.keyless.words import each, rule_pattern
from realtime.tool.spoken_amounts import amount_at
from realtime.tool.spoken_times import WEEKDAYS, ordinal_at, year_at

_DAYS = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_KNOWN_WORDS = frozenset(
    each(
        "what what's which when when's how is isn't it it's its was were will would be are am we we're i you do "
        "does did don't have has had can could know tell give say show check me us today today's tonight tomorrow "
        "yesterday day days date dates month months year years week weeks weekday weekend weekends hour hours "
        "minute minutes second seconds time o'clock clock morning afternoon evening night noon midday midnight am "
        "pm late early the a an of in on at by to for from until till before after since left remain remaining ago "
        "away next last this that these coming current currently now right exact exactly precise local here there "
        "and or but so again please first many much long far leap half quarter actually really just like need want "
        "got get my your our server been called christmas eve halloween valentine valentines valentine's new "
        "year's dinner lunch breakfast correct computer's then also yet still already about around approximately "
        "roughly fall falls land lands happen happens st nd rd th"
    )
) | {*MONTHS, *_DAYS.split("|")}
ASKS_TIME = re.compile(
    r"\bwhat(?:'s| is)? (?:the )?(?:(?:current|exact|local|right) )?time\b(?! (?:complexity|machine"
    r"|zone|travel|(?:is|are|was) (?:my|the|our|his|her|your|dinner|lunch|breakfast)|do you|does|did"
    r"|will|do we|are you|do i))"
    r"|\btime is it\b|\btell me the time\b|\b(?:got|have|know|give me|check) the time\b"
    r"|^(?:the )?(?:current )?time$|\bhow late is it\b"
    r"|\bwhat time will it be in\b|\bwhat hour is it\b|\bthe time (?:in|now|right now|please|and)\b"
    r"|\bis it (?:morning|afternoon"
    r"|evening|night|noon|midnight|late|early)\b|\bwhat time it is\b|^the time\b"
    r"|\bhow (?:long|many (?:hours|minutes)) (?:until|till|to|before|is it (?:until|till"
    r"|to)) (?:midnight|noon|midday|lunch|\d)"
)
ASKS_DATE = rule_pattern(
    r"\bwhat (?:day|weekday|date|month|year)\b(?! (?:are you|were you|did|do you|does|do we|will you))"
    r"|\bthe date\b|\bwhat(?:'s| is) today\b(?!'s (?:weather|news|special))|\btoday's date\b"
    r"|\bdate is it\b"
    r"|\bwhich (?:day|weekday|date|month|year)\b(?! (?:did|do|were)).*\b(?:is|was|will|it|today|tomorrow|have|we)\b"
    r"|\bwhat(?:'s| is) the (?:day|month|year|date)\b|\bday of the week\b"
    rf"|\bis (?:it|today|tomorrow) (?:a )?(?:{_DAYS}|weekend|the weekend|christmas)\b|\b(?:current"
    r"|today's) (?:date|day|year|month)\b"
    r"|\bhow (?:many (?:days|weeks|months)|long|far)\b.*\b(?:until|till|to|before|away|left"
    rf"|since)\b.*\b(?:christmas|new year|halloween|valentine|weekend|{_DAYS}|{'|'.join(MONTHS)})"
    r"|\b(?:day|date)\b.*\b(?:tomorrow|yesterday)\b|^(?:what's|what is|what was|when is"
    r"|when's) (?:tomorrow|yesterday|christmas|halloween|new year'?s?)\b|\bleap year\b"
    r"|\bdays\b.*\b(?:left|remain|remaining)\b.*\byear\b"
    rf"|\bnext (?:{_DAYS})\b.*\bdate\b|\bdate\b.*\bnext (?:{_DAYS})\b"
    r"|^(?:the )?(?:date|day)$|\bhow many days (?:are )?(?:there )?(?:in|has|does) (?:this"
    rf"|the current) (?:month|year)\b|\bwhen is (?:the )?(?:next )?(?:{_DAYS}|christmas|halloween"
    r"|new year)"
)
_OTHER_DAY = re.compile(
    rf"\b(?:last|next|[12]\d{{3}}|{_DAYS}|{'|'.join(month for month in MONTHS if month != 'may')})\b"
)
_UNSURE = "I am not sure which day you mean: say the month by its name, and the year in full."
_NO_SUCH_DAY = "There is no such day."
_SUPPOSED = re.compile(r"\b(?:if|suppose|supposing|imagine|assuming|pretend)\b")
_COUNTED_FROM = re.compile(
    r"\b(?P<count>[a-z\d-]{1,20}(?: [a-z\d-]{1,20}){0,4}?) (?P<unit>day|week|month|year|fortnight)s? "
    r"(?P<way>after|before|from|past|prior to|later than|earlier than)(?: the)?$"
)
_BACK = frozenset(("before", "prior to", "earlier than"))
_IS = {-1: "It was", 0: "It is", 1: "It will be"}
_ELSEWHERE = rule_pattern(
    r"\b(?:time|it)\b.* in ((?!the (?:morning|afternoon|evening|server)|total|minutes|hours|here|my|your|this)"
    r"[a-z][a-z ]{1,40})$"
)


_CORRECTION = re.compile(r"\b(?:no|sorry|wait|actually|i mean|rather)\b")


def is_known(asked: str) -> bool:
    """Whether a clock knows all that a question names; a birthday it does not."""
    asked = _ELSEWHERE.sub(lambda found: found[0][: found.start(1) - found.start()], asked)
    words = [word.strip(".,?!").removesuffix("'s") for word in asked.replace("-", " ").split()]
    return all(
        word in _KNOWN_WORDS
        or word[:1].isdigit()
        or amount_at([word], 0, "en") is not None
        or ordinal_at([word], 0, "en") is not None
        for word in words
        if word and word != "-"
    )


def time_answer(asked: str, now: str) -> str:
    """Answer a plain question about the time; `now` is the result of `get_time`, such as "3:45 PM"."""
    try:
        moment = datetime.strptime(now.strip(), "%I:%M %p").replace(tzinfo=UTC)
    except ValueError:
        return f"It is {now}."
    if found := re.search(r"\bin ([\w -]{1,40}?) (hour|minute)s?\b", asked):
        count = find_number(found[1]) or (0.5 if "half" in found[1] else 1)
        later = moment + timedelta(minutes=count * (60 if found[2] == "hour" else 1))
        return f"It will be {later.strftime('%I:%M %p').lstrip('0')}."
    if place := _ELSEWHERE.search(asked):
        meant = _CORRECTION.split(place[1])[-1].strip() or place[1]
        return f"I have only the clock of this server, not that of {meant.title()}: it is {now} here."
    if found := re.search(r"\b(?:until|till|to|before) (midnight|noon|midday)\b", asked):
        goal = 24 * 60 if found[1] == "midnight" else 12 * 60
        left = (goal - (moment.hour * 60 + moment.minute)) % (24 * 60)
        hours, minutes = divmod(left, 60)
        return f"It is {now}, so {hours} hours and {minutes} minutes are left until {found[1]}."
    return f"It is {now}."


def date_answer(asked: str, today_said: str) -> str:
    """Answer a plain question about days and dates; `today_said` is the result of `get_date`."""
    today = _day_said(today_said)
    if today is None:
        return f"Today is {today_said}."
    if _SUPPOSED.search(asked):
        return "I can't count from a day that is only supposed."
    if re.search(r"\bday after tomorrow\b", asked):
        return f"The day after tomorrow is {_said(today + timedelta(2))}."
    if re.search(r"\bday before yesterday\b", asked):
        return f"The day before yesterday was {_said(today - timedelta(2))}."
    if (answer := _counted_answer(asked, today)) is not None:
        return answer
    if re.search(r"\btomorrow\b", asked):
        return _yes_no(asked, today + timedelta(1)) or f"Tomorrow is {_said(today + timedelta(1))}."
    if re.search(r"\byesterday\b", asked):
        return f"Yesterday was {_said(today - timedelta(1))}."
    if found := re.search(
        r"\bin ([\w -]{1,40}?) (day|week)s?\b|\b([\w -]{1,40}?) (day|week)s? from (?:now|today)\b", asked
    ):
        count = find_number(found[1] or found[3]) or 1
        return f"That is {_said(today + timedelta(int(count) * (7 if 'week' in (found[2] or found[4]) else 1)))}."
    if found := re.search(r"\b([\w-]{1,40}) (day|week)s? ago\b", asked):
        count = find_number(found[1]) or 1
        return f"That was {_said(today - timedelta(int(count) * (7 if found[2] == 'week' else 1)))}."
    if re.search(r"\bdays\b.{0,80}\b(?:left|remain|remaining)\b.{0,80}\byear\b", asked):
        left = (date(today.year, 12, 31) - today).days
        return f"{left} days of {today.year} are left after today."
    if "leap year" in asked:
        return _leap_year(asked, today)
    if (answer := _named_answer(asked, today)) is not None:
        return answer
    if answer := _yes_no(asked, today):
        return answer
    step = (
        -1 if re.search(r"\blast (?:month|year)\b", asked) else 1 if re.search(r"\bnext (?:month|year)\b", asked) else 0
    )
    if re.search(r"\b(?:what|which|the|current)\b.{0,80}\byear\b", asked):
        return f"{_IS[step]} {today.year + step}."
    if re.search(r"\b(?:what|which|the|current)\b.{0,80}\bmonth\b", asked):
        return f"{_IS[step]} {MONTHS[(today.month - 1 + step) % 12].capitalize()}."
    tokens = tokens_of_dates(asked)
    names_day = any(ordinal_at(tokens, at, "en") for at in range(len(tokens)))
    return _UNSURE if names_day or _OTHER_DAY.search(asked) else f"Today is {today_said}."


def _leap_year(asked: str, today: date) -> str:
    """Say whether a year is a leap year, or find one."""
    tokens = tokens_of_dates(asked)
    read = (year_at(tokens, at) for at in range(len(tokens)))
    years = [year[0] for year in read if year is not None]
    if found := re.search(r"\b(next|last|previous) leap year\b", asked):
        step = 1 if found[1] == "next" else -1
        leap = (years or [today.year])[0] + step
        while not isleap(leap):
            leap += step
        return f"The {found[1]} leap year {'is' if step > 0 else 'was'} {leap}."
    if len(years) > 1 or re.search(r"\b(?:how|why|days|hours)\b", asked):
        return "I only know whether a year is a leap year, and which one comes next."
    step = 1 if "next year" in asked else -1 if "last year" in asked else 0
    year = years[0] if years else today.year + step
    return f"{'Yes' if isleap(year) else 'No'}, {year} is {'a' if isleap(year) else 'no'} leap year."


def said_in_full(day: date) -> str:
    """Return a date as `get_date` does."""
    return f"{_said(day)}, {day.year}"


def _day_said(text: str) -> date | None:
    try:
        return datetime.strptime(text.strip(), "%A, %B %d, %Y").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def _said(day: date) -> str:
    return f"{day:%A}, {day:%B} {day.day}"


def _yes_no(asked: str, day: date) -> str | None:
    if found := re.match(rf"is (?:it|today|tomorrow) (?:a )?({_DAYS})\b", asked):
        return f"{'Yes' if f'{day:%A}'.lower() == found[1] else 'No'}, it is {_said(day)}."
    if re.match(r"is (?:it|today|tomorrow) (?:a |the )?weekend\b", asked):
        return f"{'Yes' if day.weekday() >= 5 else 'No'}, it is {day:%A}."
    return None


def day_named(words: str, today: date) -> date | None:
    """Return the day of this name, without a year the next one; None: it names none, or two."""
    if (said := date_said(words, today)) is not None:
        return said.on_or_after(today)
    return _weekday(f"next {re.sub(r'^(?:next|this|coming) ', '', words)}", today)


def _weekday(asked: str, today: date) -> date | None:
    """Return the day of the week that is asked for: the next one, or the last."""
    if last := re.search(rf"\blast ({_DAYS})\b", asked):
        return today - timedelta((today.weekday() - _DAYS.split("|").index(last[1]) - 1) % 7 + 1)
    week = re.search(rf"\b({_DAYS}|weekend)\b", asked)
    if week is None or not re.search(r"\b(?:until|till|to|when|next|away)\b", asked):
        return None
    wanted = 5 if week[1] == "weekend" else _DAYS.split("|").index(week[1])
    return today + timedelta((wanted - today.weekday() - 1) % 7 + 1)


def _counted_answer(asked: str, today: date) -> str | None:
    """Count days from a named day, or between two; None: not asked."""
    days = dates_said(asked, today)
    if len(days) > 1:
        return _between(asked, days, today)
    near = re.search(r" (yesterday|tomorrow)\b", asked)
    if not days and near:
        day = today + timedelta(1 if near[1] == "tomorrow" else -1)
        days = [NamedDay(SaidDate(day.month, day.day, day.year), asked[: near.start()])]
    found = _COUNTED_FROM.search(days[0].before) if days else None
    if found is None:
        return None
    words = found["count"].split()
    count = find_number(" ".join(words)) or (1 if words[-1] in ("a", "an", "the", "one") else None)
    if count is None:
        return None
    begin = days[0].said.on_or_after(today)
    if begin is None:
        return _NO_SUCH_DAY if days[0].said.is_sure else _UNSURE
    if found["unit"] not in ("day", "week") or count != int(count):
        return "I can count days and weeks from a day, nothing else."
    step = int(count) * (7 if found["unit"] == "week" else 1) * (-1 if found["way"] in _BACK else 1)
    try:
        goal = begin + timedelta(step)
    except OverflowError:
        return _UNSURE
    return f"It {'was' if goal < today else 'is'} on {_said(goal)}, {goal.year}."


def _between(asked: str, days: list[NamedDay], today: date) -> str:
    years = {one.said.year is None for one in days}
    if len(days) > 2 or len(years) > 1 or not re.search(r"\bhow (?:many|long|far)\b", asked):
        return _UNSURE
    begin = days[0].said.on_or_after(today)
    end = days[1].said.on_or_after(begin or today) if days[1].said.year is None else days[1].said.on_or_after(today)
    if begin is None or end is None:
        return _NO_SUCH_DAY if all(one.said.is_sure for one in days) else _UNSURE
    count = abs((end - begin).days)
    plural = "s" if count != 1 else ""
    said = f"{count // 7} weeks and {count % 7} days" if "week" in asked else f"{count} day{plural}"
    return f"{said} from {_said(begin)}, {begin.year}, to {_said(end)}, {end.year}."


def _named_answer(asked: str, today: date) -> str | None:
    """Answer a question about a day that is named; None: none is."""
    said = date_said(asked, today)
    is_past = re.search(r"\b(?:was|were|did|since|ago)\b", asked) is not None
    if said is None:
        goal = _weekday(asked, today)
    else:
        goal = said.on_or_before(today) if is_past else said.on_or_after(today)
        if goal is None:
            return _NO_SUCH_DAY if said.is_sure else _UNSURE
    if goal is None:
        return None
    is_far = abs((goal - today).days) > 366 or (said is not None and said.year is not None)
    named = f"{_said(goal)}, {goal.year}" if is_far else _said(goal)
    if re.search(r"\bhow (?:many|long|far)\b", asked):
        days = abs((goal - today).days)
        distance = (
            f"{days // 7} weeks and {days % 7} days" if "week" in asked else f"{days} day{'s' if days != 1 else ''}"
        )
        return f"{distance} {'since' if goal < today else 'until'} {named}." if days else "That is today."
    if answer := _yes_no(asked, today):
        return answer
    return f"It {'was' if goal < today else 'is'} on {named}."


def is_past(text: str) -> bool:
    """Whether a day is named as one that was: "last Friday"."""
    return text.lower().startswith(("last ", "past ", "previous "))


def iso_date(text: str, today: date | None) -> str | None:
    """Write a day that was said as a date, such as "2026-11-27"; None where that is not certain."""
    said = date_said(text, today or date.min)
    if said is not None and (today is not None or (said.year is not None and "year" not in text)):
        day = said.on_or_after(today or date.min)
        weekdays = [name for name in WEEKDAYS["en"] if name.lower() in text.lower()]
        # "Monday the 3rd" where that is a Friday: one of both is wrong.
        return day.isoformat() if day is not None and weekdays in ([], [WEEKDAYS["en"][day.weekday()]]) else None
    if today is None or is_past(text):
        return None  # What is past, is asked for.
    near = {"today": 0, "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2}
    for words, days in sorted(near.items(), key=lambda one: -len(one[0])):
        if text.lower().startswith(words):
            return (today + timedelta(days)).isoformat()
    found = day_named(text.lower(), today)
    return found.isoformat() if found is not None else None
