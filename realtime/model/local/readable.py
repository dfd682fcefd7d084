"""What an English voice reads of a written text: words for signs, no markup, no foreign scripts. Pure."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^)]{0,500}\)")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINE_MARK = re.compile(r"^[^\S\n]*(?:#{1,6}|[-*+>])\s+", re.MULTILINE)
_MARKS = re.compile(r"[*`~|\\^{}\[\]<>]|(?<!\w)_+|(?<!_)_+(?!\w)")
# Between numbers a sign is a word; elsewhere it is markup.
_SIGN_WORDS = (("*", "times"), ("✕", "times"), ("✖", "times"))
_CARET = re.compile(
    r"(?<=[^\W_]|[)}\]])\s?\^\s?"
    r"(?:\{([^{}\n]{1,40})\}|\(([^()\n]{1,40})\)|([+-]?(?:\d+(?:\.\d+)?|[a-zA-Zα-ω](?!\w))))"
)
"""A power as keyboards and LaTeX write it."""
_TWO_STARS = re.compile(r"(?<=\w)\s?\*\*\s?([+-]?\d+(?:\.\d+)?)(?![\w*])")
_BOLD = re.compile(r"(?<![\w\s])\*\*(?=\S)|(?:^|\s)\*\*(?=[^\s*])", re.MULTILINE)
"""Where bold text may begin: two stars behind it are no power."""
_FORMULA = re.compile(r"\$\$([^$]{1,500})\$\$|(?<![\w$])\$([^$\n]{1,200})\$(?![\w$])")
_NAMED_TAG = re.compile(r"<(/?[a-z][\w-]{0,20})>", re.IGNORECASE)
"""A tag that is spoken of."""
_IN_ASCII = ((">=", "≥"), ("<=", "≤"), ("->", "→"), ("=>", "⇒"), ("<- ", "← "))
"""Signs as keyboards write them; `>=` before what it holds."""
_LESS_OR_MORE = re.compile(r"(?<=([\w%)]))(\s?)([<>])(\s?)(?=[-\w.($€£])|(?<![\w%)<>])([<>])\s?(?=[.\d$€£])")
_SQUARED_UNIT = re.compile("[\u3371-\u33df]")
"""Units that East Asian fonts set in the square of one character."""
_DATA = json.loads(Path(__file__).with_name("read_signs.json").read_text(encoding="utf-8"))
_SIGNS: dict[str, str] = _DATA["signs"]
_UNITS = re.compile(r"(?<=\d)(\s?)(" + "|".join(map(re.escape, _DATA["units"])) + r")(?!\w)")
_COINS = "[" + "".join(_DATA["currencies"]) + "]"
_NUMBER = r"\d(?:[\d.,]*\d)?"
_AMOUNT = rf"{_NUMBER}(?:[–-]{_NUMBER})?"
_COIN_BEHIND = re.compile(rf"(?<![\w.,$€£–-])(-?{_AMOUNT})( [mb]illion)?\s?([$€£])(?!\d)")
"""Amounts whose sign the voice reads only in front of them."""
_BELOW_0 = re.compile(r"(?<![\w–-])-(?=[$€£]\d)")
_PER = re.compile(rf"(?<=[$€£])({_AMOUNT})\s?/\s?(?=[a-zA-Z])")
_RANGE = re.compile(rf"([$€£])({_NUMBER})\s?[–-]\s?\1?({_NUMBER})(?![\w–-])")
"""Amounts from one to another: the voice reads their sign before a single one only."""
_MONEY = re.compile(rf"({_COINS})\s?({_NUMBER})|(?<=\d)\s?({_COINS})(?!\s?\d)")
_TYPED_PRIMES = re.compile(r"(?<=\d)['’](\s?\d{1,2}(?:\.\d{1,4})?)[\"”]")
_PRIME = re.compile(rf"(?<![\w.,])({_NUMBER})\s?([′″])(?=(\w?))")
_ANGLE = re.compile(r"°[\s\d.,′]*$")
_LONGEST_ANGLE = 20
_RAISED = re.compile("[\u2070\u2071\u00b9\u00b2\u00b3\u2074-\u207f\u02b8\u02e3\u1d4f]+")
"""Superscript digits, signs, and letters that stand for numbers."""
_ROMAN = re.compile("[\u2160-\u217f]+")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ABOUT = re.compile(r"(?<![\w~])~\s?(?=[\d$€£])")
_BOX = re.compile(r"^([^\S\n]*(?:[-*+]|\d+[.)])\s+)\[([ xX])\]\s+", re.MULTILINE)
_STARS = re.compile("[★☆⭐]\ufe0f?(?:\\s?[★☆⭐]\ufe0f?)+")
_FRACTION = re.compile(
    r"(?<![\d\u2044])(\d{0,3})(\s?)([\u2150-\u215e\u2189]"
    r"|(?:\d{1,3}|[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3})\u2044[\d\u2080-\u2089]{1,3})"
)
"""Fractions that the voice cannot read, and the number before."""
# Readable signs that are neither ASCII nor Latin letters.
_READ_SIGNS = frozenset("°£€×÷–—…’‘“”½¼¾")
_LETTER_NAME = re.compile(r"GREEK (?:(?:SMALL|CAPITAL) )?LETTER (?:FINAL |ARCHAIC |PAMPHYLIAN )?(\w+)(?: WITH |$)")


def readable_text(text: str) -> str:
    """Return what is read aloud; "" if no word is left.

    Signs that mean something become words. Markup, addresses, emoji and foreign scripts are dropped.
    """
    text = text.replace("\N{MINUS SIGN}", "-").replace("\N{NON-BREAKING HYPHEN}", "-")
    for sign, word in _SIGN_WORDS:
        text = re.sub(rf"(?<=\d)\s*{re.escape(sign)}\s*(?=\d)", f" {word} ", text)
    for fence in ("```", "~~~"):
        text = " ".join(text.split(fence)[::2])
    text = _BOX.sub(lambda match: f"{match[1]}{'open' if match[2] == ' ' else 'done'}: ", text)
    text = _STARS.sub(_stars, _ABOUT.sub("about ", text))
    text = _LINK.sub(r"\1", text)
    text = _URL.sub("a link", text)
    text = _TAG.sub(" ", text)
    text = _LINE_MARK.sub("", text)
    # Behind the tags: "&lt;b&gt;" is text.
    text = (
        _NAMED_TAG.sub(r" \1 ", html.unescape(text))
        .replace("\N{MICRO SIGN}", "µ")
        .replace("\N{GREEK SMALL LETTER MU}", "µ")
    )
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = _CARET.sub(_caret, _FORMULA.sub(_formula, text))
    if _BOLD.search(text) is None:
        text = _TWO_STARS.sub(_caret, text)
    for written, sign in _IN_ASCII:
        text = text.replace(written, sign)
    text = _LESS_OR_MORE.sub(_compared, text)
    text = _SQUARED_UNIT.sub(_unit, text)
    text = _UNITS.sub(lambda match: f" {_DATA['units'][match[2]]}", text)
    text = _BELOW_0.sub("minus ", _COIN_BEHIND.sub(_coin_first, text))
    text = _RANGE.sub(r"\1\2 to \1\3", text)
    text = _PER.sub(r"\1 per ", text)
    text = _MONEY.sub(_amount, text)
    text = _PRIME.sub(_prime, _TYPED_PRIMES.sub(r"′\1″", text))
    text = _ROMAN.sub(_roman, text)
    text = _FRACTION.sub(_fraction, text)
    text = _RAISED.sub(_power, text)
    text = "".join(map(_spelt, text))
    text = _MARKS.sub(" ", text)
    text = unicodedata.normalize("NFC", text)
    text = " ".join("".join(char if _is_read(char) else " " for char in text).split())
    text = re.sub(r" (?=[,.;:!?](?:\s|$))", "", text)
    return text if any(char.isalnum() for char in text) else ""


def _compared(match: re.Match[str]) -> str:
    """Read "age > 18" as a statement, "<5 km" as an amount."""
    words = "less than" if (match[3] or match[5]) == "<" else "greater than"
    is_amount = match[5] is not None or (match[2] and not match[4])
    return f" {words} " if is_amount else f" is {words} "


def _unit(match: re.Match[str]) -> str:
    written = unicodedata.normalize("NFKC", match[0]).replace("\N{GREEK SMALL LETTER MU}", "µ")
    return written.replace("2", "²").replace("3", "³")


def _amount(match: re.Match[str]) -> str:
    currency = _DATA["currencies"][match[1] or match[3]]
    return f"{match[2]} {currency}" if match[2] else f" {currency}"


def _coin_first(match: re.Match[str]) -> str:
    number = re.sub(r",(?=\d\d$)", ".", match[1])
    minus = "-" if number.startswith("-") else ""
    return f"{minus}{match[3]}{number.removeprefix('-')}{match[2] or ''}"


def _prime(match: re.Match[str]) -> str:
    """Read primes as feet and inches, behind degrees as minutes and seconds."""
    before = match.string[max(0, match.start() - _LONGEST_ANGLE) : match.start()]
    foot, feet, minute, minutes = _DATA["primes"][match[2]]
    one, more = (minute, minutes) if _ANGLE.search(before) else (foot, feet)
    return f" {match[1]} {one if match[1] == '1' else more}{' ' if match[3] else ''}"


def _stars(match: re.Match[str]) -> str:
    """Read a rating: "★★★☆☆" is three of five stars."""
    empty = match[0].count("☆")
    full = match[0].count("★") + match[0].count("⭐")
    return f" {full} of {full + empty} stars " if empty else f" {full} stars "


def _power(match: re.Match[str]) -> str:
    """Read a power behind a number or one letter; behind a word it is a note at the foot of a page."""
    power = unicodedata.normalize("NFKC", match[0]).replace("\N{MINUS SIGN}", "-").strip("()")
    before = re.search(r"(?<![^\W_])[^\W_]+$", match.string[: match.start()])
    known = _DATA["powers"].get(power)
    if before is None or not (known or before[0].isdigit() or len(before[0]) == 1):
        return " "
    return f" {known} " if known else f" to the power of {power} "


def _caret(match: re.Match[str]) -> str:
    """Read a typed power as a raised one."""
    power = next(filter(None, match.groups())).strip()
    before = match.string[: match.start()]
    known = None if before[-1].isdigit() else _DATA["powers"].get(power)
    return f" {known} " if known else f" to the power of {power} "


def _formula(match: re.Match[str]) -> str:
    """Take the signs of a formula from around it; one of money stays."""
    if match[1] is None and not re.search(r"[\\^_=]", match[2]):
        return match[0]
    return f" {match[1] or match[2]} "


def _fraction(match: re.Match[str]) -> str:
    over, under = unicodedata.normalize("NFKC", match[3]).split("\N{FRACTION SLASH}")
    named = _DATA["denominators"].get(under)
    words = (
        f"{over} {named if over == '1' else f'{named}s'.replace('halfs', 'halves')}"
        if named
        else f"{over} over {under}"
    )
    return f"{match[1]} and {words}" if match[1] else f"{match[2]}{words}"


def _roman(match: re.Match[str]) -> str:
    """Read Roman numerals of signs of their own as one number."""
    values = [_ROMAN_DIGITS[letter] for letter in unicodedata.normalize("NFKC", match[0]).upper()]
    smaller = [value < after for value, after in pairwise([*values, 0])]
    return str(sum(-value if is_smaller else value for value, is_smaller in zip(values, smaller, strict=True)))


def _spelt(char: str) -> str:
    """Return how the voice reads a character."""
    if char.isascii() or char in _READ_SIGNS:
        return char
    if (words := _SIGNS.get(char)) is not None:
        return words if words in ("", ",", "…") or not words[0].isalpha() else f" {words} "
    decomposition = unicodedata.decomposition(char)
    if (number := unicodedata.numeric(char, None)) is not None and decomposition.startswith(("<compat>", "<circle>")):
        return f"{number:g}"
    if decomposition.startswith("<"):
        return "".join(map(_spelt, unicodedata.normalize("NFKC", char)))
    category, name = unicodedata.category(char), unicodedata.name(char, "")
    if (letter := _LETTER_NAME.match(name)) is not None:
        return f" {letter[1].lower().replace('lamda', 'lambda')} "
    if category == "Sc" or (category == "Sm" and "ARROW" not in name):
        return f" {name.removesuffix(' SIGN').replace('-', ' ').lower()} "
    return char


def _is_read(char: str) -> bool:
    return char.isascii() or char in _READ_SIGNS or unicodedata.name(char, "").startswith("LATIN ")
