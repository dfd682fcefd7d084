"""Amounts as people say and recognisers write them: with hundredths, as years, digit by digit. Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set
from decimal import Decimal

from realtime.tool.question_words import CURRENCIES, DEEDS
from realtime.tool.spoken_numbers import Language, number_at, plain

SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_UNITS = {
    plain(word.lower()): code
    for code, names in CURRENCIES.items()
    for one, many, _, _ in names.values()
    for word in (one, many)
}
_HUNDREDTHS = {
    plain(word.lower())
    for names in CURRENCIES.values()
    for _, _, one, many in names.values()
    for word in (one, many)
    if word
}


def currency_of(text: str) -> str | None:
    """Return the code of a currency by its sign, code or name; None for other texts."""
    text = text.strip()
    if text in SIGNS:
        return SIGNS[text]
    return text.upper() if text.upper() in CURRENCIES else _UNITS.get(plain(text.lower()))


def amount_at(tokens: Sequence[str], at: int, language: Language) -> tuple[Decimal, int] | None:
    """Return the amount that begins at a token, and its length; None without one.

    Years by halves ("twenty twenty-six") and hundredths of a currency ("five euros and fifty cents") are one number.
    """
    read = number_at(tokens, at, language)
    if read is None:
        return None
    value, end = read[0], at + read[1]
    behind = number_at(tokens, end, language)
    if behind is not None and value in (19, 20, 21) and 10 <= behind[0] < 100:
        return 100 * value + behind[0], end + behind[1] - at
    if end < len(tokens) and currency_of(tokens[end]) is not None:
        small = end + 1 + (list(tokens[end + 1 : end + 2]) == [DEEDS[language].and_.strip()])
        cents = number_at(tokens, small, language)
        unit = small + cents[1] if cents is not None and cents[0] < 100 else len(tokens)
        if cents is not None and unit < len(tokens) and plain(tokens[unit]) in _HUNDREDTHS:
            return value + cents[0] / 100, unit + 1 - at
    return value, end - at


def digits_at(tokens: Sequence[str], at: int, language: Language, apart: Set[int]) -> tuple[Decimal, int] | None:
    """Return digits said one by one from a token on, as one; None for fewer than two.

    Groups of written digits go together unless their place is in `apart`, behind a comma.
    """
    end, digits = at, ""
    while (digit := _digit_at(tokens, end, language)) and (len(digit) == 1 or end == at or end not in apart):
        digits, end = digits + digit, end + 1
    return (Decimal(digits), end - at) if end - at > 1 else None


def _digit_at(tokens: Sequence[str], at: int, language: Language) -> str:
    """Return the digits of a token, or of a word for one; "" for others."""
    if at < len(tokens) and tokens[at].isdecimal():
        return tokens[at]
    read = number_at(tokens, at, language)
    return str(read[0]) if read is not None and read[0] in range(10) and read[1] == 1 else ""
