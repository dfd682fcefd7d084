"""Numbers as people say and recognisers write them: English, German, Spanish and Chinese. Pure.

`number_at` reads a number from tokens, `in_words` and `digit_by_digit` write one for a voice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Literal, get_args

Language = Literal["en", "de", "es", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
MOST = 10**12
"""Numbers from here on are not written as words."""

_TOKEN = re.compile(r"[\u3400-\u9fff〇]|[$€£¥%]|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{1,2})?")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)?")


def tokens_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case; each Chinese character is one."""
    return [match.group().lower() for match in matches_of(text)]


def matches_of(text: str) -> list[re.Match[str]]:
    """Return where the tokens of a text are; case is kept. The text must be `folded`."""
    return list(_TOKEN.finditer(text))


def folded(text: str) -> str:
    """Return a text with plain apostrophes and full-width signs made narrow."""
    return unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")


@lru_cache(maxsize=4_096)
def plain(word: str) -> str:
    """Return a word without accents; `ß` is `ss`. Readers ask for the same few words over and over."""
    split = unicodedata.normalize("NFD", word.replace("ß", "ss"))
    return "".join(char for char in split if not unicodedata.combining(char))


def numeral(token: str, language: Language) -> Decimal | None:
    """Return the value of a token of digits: "1,250", "45.50", "1.250,5". None for times and words."""
    if not token[:1].isdecimal() or not token.isascii():
        return None
    point = "," if language in ("de", "es") else "."
    if _GROUPED.fullmatch(token):
        marks = [char for char in token if not char.isdigit()]
        last = marks[-1]
        is_cents = len(token.rsplit(last, 1)[1]) < 3
        if len({*marks}) == 2 or is_cents:
            whole, _, rest = token.rpartition(last)
            return Decimal(re.sub(r"[.,]", "", whole) + "." + rest)
        if len(marks) == 1 and last == point:
            return Decimal(token.replace(point, "."))
        return Decimal(re.sub(r"[.,]", "", token))
    return Decimal(token.replace(",", ".")) if _PLAIN.fullmatch(token) else None


def number_at(tokens: Sequence[str], at: int, language: Language) -> tuple[Decimal, int] | None:
    """Return the number that begins at a token, and its length.

    None without one.
    Articles ("a", "ein", "un") are no numbers. The longest reading wins: "two hundred and five" is one number.
    """
    if at >= len(tokens):
        return None
    value = numeral(tokens[at], language)
    if value is not None:
        return _scaled(value, tokens, at, language)
    match language:
        case "en":
            return _with_point(_english(tokens, at), tokens, at, _EN, "point")
        case "de":
            return _with_point(_german_at(tokens, at), tokens, at, _DE, "komma")
        case "es":
            return _with_point(_spanish(tokens, at), tokens, at, _ES, "coma")
        case "zh":
            return _chinese(tokens, at)


def _scaled(value: Decimal, tokens: Sequence[str], at: int, language: Language) -> tuple[Decimal, int]:
    scale = _SCALES[language].get(tokens[at + 1] if at + 1 < len(tokens) else "")
    return (value * scale, 2) if scale else (value, 1)


def _with_point(
    read: tuple[int, int] | None, tokens: Sequence[str], at: int, digits: dict[str, int], point: str
) -> tuple[Decimal, int] | None:
    """Return a number with the digits behind the word for its point."""
    if read is None:
        return None
    value, count = read
    end = at + count
    behind = ""
    if end < len(tokens) and tokens[end] == point:
        for token in tokens[end + 1 :]:
            if (digit := digits.get(plain(token))) is None or digit > 9:
                break
            behind += str(digit)
    return (Decimal(f"{value}.{behind}"), count + 1 + len(behind)) if behind else (Decimal(value), count)


def each(words: str) -> list[str]:
    """Return the words of a list that is written as a text."""
    return words.split()


def _numbered(text: str, first: int = 0) -> dict[str, int]:
    return {word: number for number, word in enumerate(text.split(), first)}


_EN = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_EN_TENS = {
    word: 10 * tens for word, tens in _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()
}
_DE = _numbered(
    "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
) | {"zwo": 2, "fuenf": 5, "zwoelf": 12, "fuenfzehn": 15}
_DE_TENS = {
    word: 10 * tens
    for word, tens in _numbered("zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig", 2).items()
} | {"fuenfzig": 50}
_EN_GREAT = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_ES = _numbered(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro veinticinco veintiseis veintisiete "
    "veintiocho veintinueve"
) | {"veintiun": 21}
_ES_TENS = {
    word: 10 * tens for word, tens in _numbered("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 3).items()
}
_ES_HUNDREDS = {
    word: 100 * hundreds
    for hundreds, stem in enumerate(each("dosc tresc cuatroc quin seisc setec ochoc novec"), 2)
    for word in (f"{stem}ientos", f"{stem}ientas")
} | {"cien": 100, "ciento": 100}
_ES_SHORT = {"un": 1, "una": 1}
"""How "uno" ends before a noun, within a number: "treinta y un mil"."""
_ZH = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1000}
_SCALES: dict[Language, dict[str, int]] = {
    "en": {"hundred": 100} | _EN_GREAT,
    "de": {"hundert": 100, "tausend": 1000, "millionen": 10**6},
    "es": {"cien": 100, "mil": 1000, "millones": 10**6},
    "zh": {"百": 100, "千": 1000, "万": 10**4},
}


def _english(tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    total = group = 0
    end, begun, last = at, False, MOST
    while end < len(tokens):
        word = tokens[end]
        if word in ("a", "an") and not begun and tokens[end + 1 : end + 2] in (["hundred"], ["thousand"]):
            group, begun, last = 1, True, 1
        elif word in _EN and last >= (100 if _EN[word] > 9 else 20) and (last != 1 and last != 10):
            group, begun, last = group + _EN[word], True, 1 if _EN[word] < 10 else 10
            if _EN[word] == 0:
                end += 1
                break
        elif word in _EN_TENS and last >= 100:
            group, begun, last = group + _EN_TENS[word], True, 20
        elif word == "hundred" and begun and last < 100 and 0 < group < 100:
            group, last = group * 100, 100
        elif word in _EN_GREAT and begun and last <= 100 and group:
            scale = _EN_GREAT[word]
            if total and total % (scale * 1000):
                break
            total, group, last = total + group * scale, 0, 1000
        elif word == "and" and begun and last in (100, 1000) and _continues_english(tokens, end + 1):
            pass
        else:
            break
        end += 1
    return (total + group, end - at) if begun else None


def _continues_english(tokens: Sequence[str], at: int) -> bool:
    return at < len(tokens) and (tokens[at] in _EN or tokens[at] in _EN_TENS)


def _german(word: str) -> int | None:
    """Return the value of a compound: "dreitausendzweihundertfünfundvierzig"."""
    word = plain(word)
    if word in _DE:
        return _DE[word]
    if word in _DE_TENS:
        return _DE_TENS[word]
    for scale_word, scale in (("tausend", 1000), ("hundert", 100)):
        before, found, behind = word.partition(scale_word)
        if found:
            behind = behind.removeprefix("und") if behind != "und" else behind
            first = 1 if before in ("", "ein", "eine") else _german(before)
            rest = 0 if not behind else _german(behind)
            if first is None or rest is None or not 0 < first < 1000 or rest >= scale:
                return None
            return first * scale + rest
    ones, found, tens = word.partition("und")
    if found and tens in _DE_TENS:
        one = 1 if ones == "ein" else _DE.get(ones)
        if one is not None and 0 < one < 10:
            return _DE_TENS[tens] + one
    return None


def _german_at(tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    value = _german(tokens[at])
    if value is None:
        return None
    # Recognisers split long compounds: "zwei tausend", "drei hundert".
    for count in (4, 3, 2):
        if at + count <= len(tokens) and (joined := _german("".join(tokens[at : at + count]))) is not None:
            return joined, count
    return value, 1


def _spanish(tokens: Sequence[str], at: int) -> tuple[int, int] | None:
    total = group = 0
    end, begun, last = at, False, 1000
    while end < len(tokens):
        word, units = plain(tokens[end]), _ES | _ES_SHORT if begun else _ES
        if word in units and last >= (30 if units[word] < 10 else 100) and last != 29:
            group, begun, last = group + units[word], True, 1
        elif word in _ES_TENS and last >= 100:
            group, begun, last = group + _ES_TENS[word], True, 30
        elif word in _ES_HUNDREDS and last >= 1000:
            group, begun, last = group + _ES_HUNDREDS[word], True, 100
        elif word == "mil" and not total and (group or not begun):
            total, group, begun, last = (group or 1) * 1000, 0, True, 1000
        elif word == "y" and last == 30 and units.get(plain(tokens[end + 1]) if end + 1 < len(tokens) else "", 10) < 10:
            pass
        else:
            break
        end += 1
    return (total + group, end - at) if begun else None


def _chinese(tokens: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    end = at
    while end < len(tokens) and (tokens[end] in _ZH or tokens[end] in _ZH_SCALES or tokens[end] in "万点"):
        end += 1
    while end > at:
        if (value := _chinese_value("".join(tokens[at:end]))) is not None:
            return value, end - at
        end -= 1
    return None


def _chinese_value(text: str) -> Decimal | None:
    whole, point, behind = text.partition("点")
    if point:
        if not behind or any(char not in _ZH for char in behind):
            return None
        value = _chinese_value(whole)
        return None if value is None else value + Decimal("0." + "".join(str(_ZH[char]) for char in behind))
    thousands, found, rest = text.rpartition("万")
    if found:
        first = _chinese_value(thousands)
        tail = _chinese_value(rest) if rest else Decimal(0)
        return None if first is None or tail is None else first * 10_000 + tail
    if not text:
        return None
    if all(char in _ZH for char in text):
        return Decimal("".join(str(_ZH[char]) for char in text))
    total, digit, last = 0, None, 10**4
    for char in text:
        if char in _ZH:
            if digit:
                return None
            digit = _ZH[char]
        else:
            scale = _ZH_SCALES[char]
            if scale >= last:
                return None
            total, digit, last = total + (digit or 1) * scale, None, scale
    # "两百五" is 250.
    if digit and last >= 100 and "零" not in text:
        return Decimal(total + digit * last // 10)
    return Decimal(total + (digit or 0))


def in_words(value: int, language: Language) -> str:
    """Return a whole number below a trillion as a voice says it. Raises ValueError outside."""
    if not 0 <= value < MOST:
        raise ValueError(f"{value} is not written as words")
    writers = {"en": _write_english, "de": _write_german, "es": _write_spanish, "zh": _write_chinese}
    return writers[language](value)


_WORDS: dict[Language, dict[int, str]] = {
    "en": {number: word for word, number in (_EN | _EN_TENS).items()},
    "de": dict(
        enumerate(
            each(
                "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
                "sechzehn siebzehn achtzehn neunzehn"
            )
        )
    )
    | {
        10 * tens: word
        for tens, word in enumerate(each("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"), 2)
    },
    "es": dict(
        enumerate(
            each(
                "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
                "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro "
                "veinticinco veintiséis veintisiete veintiocho veintinueve"
            )
        )
    )
    | {number: word for word, number in _ES_TENS.items()}
    | {number: word for word, number in _ES_HUNDREDS.items() if word.endswith("os")},
    "zh": dict(enumerate("零一二三四五六七八九")),
}


def _write_english(value: int) -> str:
    words = _WORDS["en"]
    if value in words:
        return words[value]
    if value < 100:
        return f"{words[value - value % 10]}-{words[value % 10]}"
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= scale:
            first, rest = divmod(value, scale)
            head = f"{_write_english(first)} {name}"
            joint = " and " if rest < 100 else " "
            return f"{head}{joint}{_write_english(rest)}" if rest else head
    raise AssertionError


def _write_german(value: int, final: bool = True) -> str:
    words = _WORDS["de"]
    if value == 1 and not final:
        return "ein"
    if value in words:
        return words[value]
    if value < 100:
        return f"{_write_german(value % 10, False)}und{words[value - value % 10]}"
    for scale, name in ((1000, "tausend"), (100, "hundert")):
        if scale <= value < 10 * scale * (100 if scale == 1000 else 1):
            first, rest = divmod(value, scale)
            return _write_german(first, False) + name + (_write_german(rest) if rest else "")
    scale, one, many = (10**9, "Milliarde", "Milliarden") if value >= 10**9 else (10**6, "Million", "Millionen")
    first, rest = divmod(value, scale)
    head = f"eine {one}" if first == 1 else f"{_write_german(first)} {many}"
    return f"{head} {_write_german(rest)}" if rest else head


def _write_spanish(value: int) -> str:
    words = _WORDS["es"]
    if value == 100:
        return "cien"
    if value in words and value != 100:
        return words[value]
    if value < 100:
        return f"{words[value - value % 10]} y {words[value % 10]}"
    if value < 1000:
        hundreds = value - value % 100
        return f"{'ciento' if hundreds == 100 else words[hundreds]} {_write_spanish(value % 100)}"
    if value < 10**6:
        first, rest = divmod(value, 1000)
        head = "mil" if first == 1 else f"{_before_noun(_write_spanish(first))} mil"
    else:
        first, rest = divmod(value, 10**6)
        head = "un millón" if first == 1 else f"{_before_noun(_write_spanish(first))} millones"
    return f"{head} {_write_spanish(rest)}" if rest else head


def _before_noun(words: str) -> str:
    """Return Spanish number words as they stand before a noun: "veintiún", "treinta y un"."""
    if words.endswith("veintiuno"):
        return words.removesuffix("veintiuno") + "veintiún"
    return words.removesuffix("o") if words == "uno" or words.endswith(" uno") else words


def _write_chinese(value: int) -> str:
    for scale, name in ((10**8, "亿"), (10**4, "万")):
        if value >= scale:
            first, rest = divmod(value, scale)
            joint = "零" if 0 < rest < scale // 10 else ""
            joint += "一" if 10 <= rest < 20 else ""  # 零一十, while ten by itself is 十
            return _write_chinese(first) + name + joint + (_write_chinese(rest) if rest else "")
    if value < 10:
        return _WORDS["zh"][value]
    if value < 20:
        return "十" + (_WORDS["zh"][value % 10] if value % 10 else "")
    text = ""
    for scale, name in ((1000, "千"), (100, "百"), (10, "十")):
        digit, value = divmod(value, scale)
        if digit:
            text += _WORDS["zh"][digit] + name
        elif text and value and not text.endswith("零"):
            text += "零"
    return text + (_WORDS["zh"][value] if value else "")


def digit_by_digit(digits: str, language: Language) -> str:
    """Return the digits of a text as words, in groups of three; other signs are dropped."""
    words = _WORDS[language]
    said = [words[int(char)] for char in digits if char.isascii() and char.isdigit()]
    between, pause = ("", "，") if language == "zh" else (" ", ", ")
    groups = [said[at : at + 3] for at in range(0, len(said), 3)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return pause.join(between.join(group) for group in groups)
