"""The words of a question for consent: what a tool will do, said so that a voice says it right. Pure.

A model wrote the arguments, and perhaps a foreign server the description: both are cleaned of markup and control
characters, shortened audibly and, where they are longer than a name, quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from realtime.tool.question_words import ASKING, CURRENCIES, DEEDS, NEGATIONS, Phrases
from realtime.tool.spoken_amounts import SIGNS, amount_at, currency_of, digits_at
from realtime.tool.spoken_numbers import (
    LANGUAGES,
    MOST,
    Language,
    digit_by_digit,
    folded,
    in_words,
    matches_of,
    numeral,
    plain,
    tokens_of,
)
from realtime.tool.spoken_times import day_at, ordinal_at, say_date, say_time, time_at

Value = TypeVar("Value")

MOST_CHARS = 160
"""Characters of a text argument that are spoken; the rest is counted."""
MOST_ARGUMENTS = 8
"""Arguments that are spoken without a template; the rest is counted."""
QUOTED_FROM_WORDS = 4
"""A text of so many words is quoted."""

_PLACE = re.compile(r"\{ *(\w+) *\}")
_BRACES = re.compile(r"\{[^{}]*\}?|\}")
_IDENTIFIER = re.compile(
    r"(?:^|_)(?:id|ids|phone|telephone|tel|mobile|cell|fax|iban|bic|account|card|pin|code|zip|zipcode|postcode|postal"
    r"|reference|ref|tracking|serial|passport|phonenumber|accountnumber|telefon|handy|konto|plz|telefono|movil|cuenta)"
    r"(?:_|$)"
)
_PHONE = re.compile(r"\+?\d[\d ()/.-]{6,30}\d")
_AMOUNT = re.compile(r"([A-Z]{3}|[$€£¥])?\s?(-?\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?)\s?([A-Z]{3}|[$€£¥])?")
_LINK = re.compile(r"https?://(?:www\.)?([\w.-]+)\S*", re.I)
_EMAIL = re.compile(r"(?<![\w.+-])([\w.+-]{1,64})@([\w-]+(?:\.[\w-]+)+)")
_TAG = re.compile(r"<[^<>]{0,200}>")
_MARKUP = re.compile(r"[*`~|\\^{}\[\]<>#=_\"“”„«»「」]+")
_SPACES = re.compile(r"\s+")
_MARK_WITHIN = re.compile(r"(?<![!?！？])[!?！？]++(?=\S)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SAME_WORDS = 0.5
"""Share of a question's words that a voice must have said."""


@dataclass(frozen=True, slots=True)
class ToolWords:
    """What a question can say of a tool; `template` has `{name}` for arguments."""

    name: str
    description: str = ""
    template: str | None = None


def named_in(template: str) -> list[str]:
    """Return the names of the arguments in a template."""
    return _PLACE.findall(template)


def not_places(template: str) -> list[str]:
    """Return what has braces and is no name alone: `{price:.2f}`."""
    return [found for found in _BRACES.findall(template) if not _PLACE.fullmatch(found)]


def question_of(tool: ToolWords, arguments: Mapping[str, object], language: str | None = None) -> str:
    """Return the question for consent to one call of a tool.

    `language` is a code such as "en" or "de-AT"; None or another one: that of the template or the description. A
    template that names an argument which the call lacks is not used, so that no question has a hole.
    """
    spoken = _language(language, tool.template or tool.description)
    template = tool.template
    if template and all(arguments.get(name) is not None for name in _PLACE.findall(template)):
        return _filled(template, arguments, spoken)
    phrases = DEEDS[spoken]
    first_line = clean(tool.description.strip().partition("\n")[0], spoken).rstrip(" .!?:;。！？")
    deed = first_line or words_of_name(tool.name)
    given = [(name, value) for name, value in arguments.items() if value is not None]
    details = [f"{words_of_name(name)}: {spoken_value(name, value, arguments, spoken)}" for name, value in given]
    if len(details) > MOST_ARGUMENTS:
        more = in_words(len(details) - MOST_ARGUMENTS, spoken)
        details = [*details[:MOST_ARGUMENTS], phrases.more_details.format(more)]
    said = phrases.comma.join([deed[:1].upper() + deed[1:], *details])
    return f"{said}{phrases.shall_i}"


def _language(code: str | None, text: str) -> Language:
    short = (code or "").lower()[:2]
    return next((language for language in LANGUAGES if language == short), None) or language_of(text)


def language_of(text: str) -> Language:
    """Return the language of a text by its letters and commonest words; "en" where nothing shows."""
    tokens = tokens_of(folded(text))
    if any("\u3400" <= token <= "\u9fff" for token in tokens):
        return "zh"
    hits = {
        language: sum(token in DEEDS[language].common for token in tokens)
        + sum(char in DEEDS[language].signs for char in text.lower())
        for language in LANGUAGES
    }
    best = max(LANGUAGES, key=lambda language: hits[language])
    return best if hits[best] > hits["en"] else "en"


def _filled(template: str, arguments: Mapping[str, object], language: Language) -> str:
    """Return the template with its arguments; a currency behind an amount is said with it."""
    parts: list[str] = []
    end = 0
    for match in _PLACE.finditer(template):
        if match.start() < end:
            continue
        parts.append(template[end : match.start()])
        value, end = arguments[match[1]], match.end()
        behind = re.match(r"^\s*(?:\{(\w+)\}|([$€£¥]|\w+))", template[end:])
        if behind and (amount := _as_number(value)) is not None:
            code = currency_of(str(arguments.get(behind[1], "")) if behind[1] else behind[2])
            if code is not None:
                parts.append(say_money(amount, code, language))
                end += behind.end()
                continue
        before = template[max(0, match.start() - 1) : match.start()]
        if before in SIGNS and (amount := _as_number(value)) is not None:
            parts[-1] = parts[-1][:-1]
            parts.append(say_money(amount, SIGNS[before], language))
            continue
        parts.append(spoken_value(match[1], value, {}, language))
    return _SPACES.sub(" ", "".join([*parts, template[end:]])).strip()


def words_of_name(name: str) -> str:
    """Return the words of a name in code: "party_size", "partySize" are "party size"."""
    return clean(_CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").lower(), "en")


def spoken_value(name: str, value: object, arguments: Mapping[str, object], language: Language) -> str:
    """Return an argument as a voice says it; `arguments` may hold the currency of an amount."""
    phrases = DEEDS[language]
    if isinstance(value, bool):
        return phrases.yes if value else phrases.no
    if isinstance(value, int | float):
        if is_identifier(name):
            return digit_by_digit(str(value), language)
        code = currency_of(str(arguments.get("currency", "")))
        if code is not None and re.search(r"amount|price|sum|total|cost|betrag|preis|importe|precio", name):
            return say_money(Decimal(str(value)), code, language)
        return say_number(Decimal(str(value)), language)
    if isinstance(value, str):
        return _spoken_text(name, value, language)
    if isinstance(value, Mapping):
        pairs = [
            f"{words_of_name(str(key))}: {spoken_value(str(key), one, value, language)}" for key, one in value.items()
        ]
        return _listed(pairs, phrases)
    if isinstance(value, Sequence):
        return _listed([spoken_value(name, one, arguments, language) for one in value], phrases)
    return phrases.nothing if value is None else clean(str(value), language)


def _listed(parts: Sequence[str], phrases: Phrases) -> str:
    if not parts:
        return phrases.nothing
    shown = list(parts[:MOST_ARGUMENTS])
    if len(parts) > MOST_ARGUMENTS:
        shown.append(phrases.more_details.format(len(parts) - MOST_ARGUMENTS))
    return shown[0] if len(shown) == 1 else phrases.comma.join(shown[:-1]) + phrases.and_ + shown[-1]


def is_identifier(name: str) -> bool:
    """Whether an argument of this name holds digits that count nothing: a phone number, an account."""
    return bool(_IDENTIFIER.search(_CAMEL.sub("_", name).lower()))


def _spoken_text(name: str, text: str, language: Language) -> str:
    text = folded(text).strip()
    if (moment := _moment(text)) is not None:
        day, at = moment
        parts = [*([say_date(day, language)] if day else []), *([say_time(at, language)] if at else [])]
        return DEEDS[language].comma.join(parts)
    if re.search(r"\d", text):
        if is_identifier(name) or (_PHONE.fullmatch(text) and text.startswith(("+", "0"))):
            return spelled(text, language)
        if (match := _AMOUNT.fullmatch(text)) is not None:
            code, amount = currency_of(match[1] or match[3] or ""), _as_number(match[2])
            if amount is not None:
                return say_money(amount, code, language) if code else say_number(amount, language)
    said = clean(text, language)
    if len(said) > MOST_CHARS:
        cut = said[:MOST_CHARS].rsplit(" ", 1)[0].rstrip(" ,.;:")
        left = len(tokens_of(said[len(cut) :]))
        said = f"{cut}{DEEDS[language].more_words.format(in_words(left, language))}"
        return f"“{said}”"
    if len(tokens_of(said)) >= (QUOTED_FROM_WORDS if language != "zh" else 3 * QUOTED_FROM_WORDS):
        return f"“{said}”"
    return said or DEEDS[language].nothing


def clean(text: str, language: Language) -> str:
    """Return a text without control characters and markup, as one sentence.

    It is on one line. Addresses are said as words; a full stop inside becomes a comma, so that no value ends the
    question.
    """
    text = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in folded(text)[: 20 * MOST_CHARS])
    text = _TAG.sub(" ", text)
    phrases = DEEDS[language]
    text = _LINK.sub(lambda match: phrases.link.format(match[1].replace(".", phrases.dot)), text)
    text = _EMAIL.sub(lambda match: f"{match[1]}{phrases.at}{match[2]}".replace(".", phrases.dot), text)
    text = _SPACES.sub(" ", _MARKUP.sub(" ", _MARK_WITHIN.sub(" ", text))).strip()
    text = re.sub(r" ?(?<![.!?;…。！？；])[.!?;…。！？；]+(?=\s|$)", ",", text)
    return text.rstrip(" ,，").strip()


def spelled(text: str, language: Language) -> str:
    """Return a phone number or a code digit by digit.

    Short groups of letters are said letter by letter, too.
    """
    parts = []
    for match in re.finditer(r"\+|\d[\d ()/.-]*|[^\W\d_]+", text):
        piece = match[0]
        if piece == "+":
            parts.append(DEEDS[language].plus)
        elif piece[0].isdigit():
            parts.append(digit_by_digit(piece, language))
        else:
            parts.append(" ".join(piece.upper()) if len(piece) <= 4 else piece)
    return DEEDS[language].comma.join(parts).replace(f"{DEEDS[language].plus},", DEEDS[language].plus)


def say_number(value: Decimal, language: Language) -> str:
    """Return a number in words, its decimals one by one; a very large one in digits."""
    whole = int(abs(value))
    if whole >= MOST or not value.is_finite():
        return str(value)
    phrases = DEEDS[language]
    said = in_words(whole, language)
    decimals = format(abs(value) % 1, "f")[2:].rstrip("0")
    if decimals:
        between = "" if language == "zh" else " "
        digits = between.join(in_words(int(digit), language) for digit in decimals)
        said = f"{said}{between}{phrases.point}{between}{digits}"
    return f"{phrases.minus}{said}" if value < 0 else said


def say_money(amount: Decimal, code: str, language: Language) -> str:
    """Return an amount with its currency: "forty-five euros and fifty cents"."""
    one, many, cent, cents = CURRENCIES[code][language]
    phrases = DEEDS[language]
    whole, rest = divmod(abs(amount), 1)
    hundredths = rest * 100
    between = "" if language == "zh" else " "
    if not cents or hundredths != int(hundredths) or whole >= MOST:
        return f"{say_number(amount, language)}{between}{one if amount == 1 else many}"
    said = f"{_counted(int(whole), language)}{between}{one if whole == 1 else many}"
    if hundredths:
        small = f"{_counted(int(hundredths), language)}{between}{cent if hundredths == 1 else cents}"
        said = small if not whole else f"{said}{phrases.and_ if language != 'zh' else ''}{small}"
    return f"{phrases.minus}{said}" if amount < 0 else said


def _counted(value: int, language: Language) -> str:
    """Return a number as it stands before a noun."""
    if value == 1:
        return {"en": "one", "de": "ein", "es": "un", "zh": "一"}[language]
    said = in_words(value, language)
    return re.sub(r"\buno$", "un", said).replace("veintiuno", "veintiún") if language == "es" else said


def _as_number(value: object) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    try:
        text = str(value).strip() if isinstance(value, str) else ""
        return numeral(text, "en") if text[:1].isdigit() else None
    except InvalidOperation:
        return None


def _moment(text: str) -> tuple[date | None, time | None] | None:
    """Return an ISO date, time, or both."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return (_or_none(date.fromisoformat, text), None) if _or_none(date.fromisoformat, text) else None
    if re.fullmatch(r"\d{1,2}:\d{2}(?::\d{2})?", text):
        at = _or_none(time.fromisoformat, text.zfill(5) if len(text) < 6 else text.zfill(8))
        return (None, at) if at else None
    if re.match(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}", text):
        moment = _or_none(datetime.fromisoformat, text)
        return (moment.date(), moment.time()) if moment else None
    return None


def _or_none(read: Callable[[str], Value], text: str) -> Value | None:
    try:
        return read(text)
    except ValueError:
        return None


def says_all(transcript: str, question: str, arguments: Mapping[str, object]) -> bool:
    """Whether spoken words ask the question with all that matters: its numbers, times, days and texts.

    For a speech-to-speech model, which may say something else than it was asked to. Number words and digits are the
    same. A number that the question does not have, or a negation, or no sign of a question, is not the question.
    """
    language = language_of(question)
    (said, said_words), (asked, asked_words) = _facts(transcript, language), _facts(question, language)
    if asked - said or any(kind == "number" and value != 1 for kind, value in said - asked):
        return False
    if {*said_words} & NEGATIONS - {*asked_words}:
        return False
    if not re.search(r"[?？]", transcript) and not {*said_words} & ASKING:
        return False
    for value in _texts(arguments):
        _, words = _facts(clean(value, language), language)
        if words and _within(words, asked_words) and not _within(words, said_words):
            return False
    content = [word for word in asked_words if word not in DEEDS[language].common]
    return not content or sum(word in said_words for word in content) >= _SAME_WORDS * len(content)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for one in inner for text in _texts(one)]


def _within(words: Sequence[str], text: Sequence[str]) -> bool:
    return any(list(text[at : at + len(words)]) == list(words) for at in range(len(text) - len(words) + 1))


def _facts(text: str, language: Language) -> tuple[set[tuple[str, object]], list[str]]:
    """Return the numbers, times and days of a text, and other words.

    However they are written, the same values are the same.
    """
    text = folded(text)
    matches = matches_of(text)
    tokens = [match.group().lower() for match in matches]
    apart = {at for at in range(1, len(matches)) if "," in text[matches[at - 1].end() : matches[at].start()]}
    facts: set[tuple[str, object]] = set()
    words: list[str] = []
    at = 0
    while at < len(tokens):
        if (clock := time_at(tokens, at, language)) is not None:
            facts.add(("time", (clock[0].hour, clock[0].minute)))
            at += clock[1]
        elif (day := day_at(tokens, at, language)) is not None:
            facts.add(("day", day[0]))
            at += day[1]
        elif (ordinal := ordinal_at(tokens, at, language)) is not None:
            facts.add(("number", Decimal(ordinal[0])))
            at += ordinal[1]
        elif (amount := digits_at(tokens, at, language, apart) or amount_at(tokens, at, language)) is not None:
            facts.add(("number", amount[0].normalize()))
            at += amount[1]
        else:
            words.append(plain(tokens[at]))
            at += 1
    return facts, words
