"""Questions about time and date, answered from the results of the tools."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from realtime.model.local.keyless.arithmetic import find_number
from realtime.model.local.keyless.words import each, rule_pattern

_DAYS = r"monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = each("january february march april may june july august september october november december")
_FEASTS = {
    "christmas": (12, 25),
    "christmas eve": (12, 24),
    "new year": (1, 1),
    "new years": (1, 1),
    "halloween": (10, 31),
    "valentine": (2, 14),
    "valentines": (2, 14),
    "new year's": (1, 1),
    "new year's eve": (12, 31),
    "valentine's": (2, 14),
}
_DATE_NAMED = re.compile(
    rf"\b(?:(?P<month>{'|'.join(_MONTHS)}) (?:the )?(?P<day>\d{{1,2}})|(?:the )?(?P<day2>\d{{1,2}})(?:st|nd"
    rf"|rd|th)? (?:of )?(?P<month2>{'|'.join(_MONTHS)}))"
)
_FEAST = re.compile(rf"\b({'|'.join(sorted(_FEASTS, key=len, reverse=True))})\b")

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
    r"\bwhat (?:day|date|month|year)\b(?! (?:are you|were you|did|do you|does|do we|will you))"
    r"|\bthe date\b|\bwhat(?:'s| is) today\b(?!'s (?:weather|news|special))|\btoday's date\b"
    r"|\bdate is it\b"
    r"|\bwhich (?:day|month|year)\b(?! (?:did|do|were)).*\b(?:is|it|today|tomorrow|have|we)\b"
    r"|\bwhat(?:'s| is) the (?:day|month|year|date)\b|\bday of the week\b"
    rf"|\bis (?:it|today|tomorrow) (?:a )?(?:{_DAYS}|weekend|the weekend|christmas)\b|\b(?:current"
    r"|today's) (?:date|day|year|month)\b"
    r"|\bhow (?:many (?:days|weeks|months)|long|far)\b.*\b(?:until|till|to|before|away|left"
    rf"|since)\b.*\b(?:christmas|new year|halloween|valentine|weekend|{_DAYS}|{'|'.join(_MONTHS)})"
    r"|\b(?:day|date)\b.*\b(?:tomorrow|yesterday)\b|^(?:what's|what is|what was|when is"
    r"|when's) (?:tomorrow|yesterday|christmas|halloween|new year'?s?)\b|\bleap year\b"
    r"|\bdays\b.*\b(?:left|remain|remaining)\b.*\byear\b"
    rf"|\bnext (?:{_DAYS})\b.*\bdate\b|\bdate\b.*\bnext (?:{_DAYS})\b"
    r"|^(?:the )?(?:date|day)$|\bhow many days (?:are )?(?:there )?(?:in|has|does) (?:this"
    rf"|the current) (?:month|year)\b|\bwhen is (?:the )?(?:next )?(?:{_DAYS}|christmas|halloween"
    r"|new year)"
)
_ELSEWHERE = rule_pattern(
    r"\b(?:time|it)\b.* in ((?!the (?:morning|afternoon|evening|server)|total|minutes|hours|here|my|your|this)"
    r"[a-z][a-z ]{1,40})$"
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
        return f"I have only the clock of this server, not that of {place[1].title()}: it is {now} here."
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
    if re.search(r"\bday after tomorrow\b", asked):
        return f"The day after tomorrow is {_said(today + timedelta(2))}."
    if re.search(r"\bday before yesterday\b", asked):
        return f"The day before yesterday was {_said(today - timedelta(2))}."
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
        leap = today.year % 4 == 0 and (today.year % 100 != 0 or today.year % 400 == 0)
        return f"{'Yes' if leap else 'No'}, {today.year} is {'a' if leap else 'no'} leap year."
    if (goal := _named_day(asked, today)) is not None:
        left = (goal - today).days
        if re.search(r"\bhow (?:many|long|far)\b", asked):
            distance = (
                f"{left // 7} weeks and {left % 7} days" if "week" in asked else f"{left} day{'s' if left != 1 else ''}"
            )
            return f"{distance} until {_said(goal)}." if left else "That is today."
        return _yes_no(asked, today) or f"It is on {_said(goal)}."
    if answer := _yes_no(asked, today):
        return answer
    if re.search(r"\b(?:what|which|the|current)\b.{0,80}\byear\b", asked):
        return f"It is {today.year}."
    if re.search(r"\b(?:what|which|the|current)\b.{0,80}\bmonth\b", asked):
        return f"It is {today:%B}."
    return f"Today is {today_said}."


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


_ORDINALS = {
    word: value
    for value, word in enumerate(
        each(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
}


def _with_digits(text: str) -> str:
    """Write the days of months as numbers: "march third" becomes "march 3"."""
    words, at = text.split(), 0
    found: list[str] = []
    while at < len(words):
        tens = {"twenty": 20, "thirty": 30}.get(words[at])
        if tens and at + 1 < len(words) and words[at + 1] in _ORDINALS:
            found.append(str(tens + _ORDINALS[words[at + 1]]))
            at += 1
        else:
            found.append("30" if words[at] == "thirtieth" else str(_ORDINALS.get(words[at], words[at])))
        at += 1
    return " ".join(found)


def day_named(words: str, today: date) -> date | None:
    """Return the next day of this name; None: it names none."""
    return _named_day(f"next {re.sub(r'^(?:next|this|coming) ', '', words)}", today)


def _named_day(asked: str, today: date) -> date | None:
    """Return the next day of this name: a feast, a date without a year, or a day of the week."""
    asked = _with_digits(asked)
    if found := _FEAST.search(asked):
        month, day = _FEASTS[found[1]]
    elif named := _DATE_NAMED.search(asked):
        month, day = _MONTHS.index(named["month"] or named["month2"]) + 1, int(named["day"] or named["day2"])
    elif (week := re.search(rf"\b({_DAYS}|weekend)\b", asked)) and re.search(
        r"\b(?:until|till|to|when|next|away)\b", asked
    ):
        wanted = 5 if week[1] == "weekend" else _DAYS.split("|").index(week[1])
        return today + timedelta((wanted - today.weekday() - 1) % 7 + 1)
    else:
        return None
    try:
        goal = date(today.year, month, day)
        return goal if goal >= today else date(today.year + 1, month, day)
    except ValueError:
        return None
