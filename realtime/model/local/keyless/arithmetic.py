"""Arithmetic as people say it: "twelve times seven", "20 percent of 50", "3.5 + 2".

Two steps: `find_expression` extracts the sum from an utterance and writes it with signs ("12 * 7"), `evaluate` computes
it. No interpreter ever gets the text.
"""

from __future__ import annotations

import math
import re

_TO_TWELVE = "zero one two three four five six seven eight nine ten eleven twelve"
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS = {word: value for value, word in enumerate(f"{_TO_TWELVE} {_TEENS}".split())} | {
    word: 10 * value for value, word in enumerate(_TENS.split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}

# Longer phrases first: each is replaced in the text before the next search.
_PHRASES = (
    (r"to the power of|raised to", " ^ "),
    (r"the square root of|square root of", " sqrt "),
    (r"multiplied by", " * "),
    (r"divided by", " / "),
    (r"take away", " - "),
    (r"per ?cent (?:tip |tax |of )*(?:on|of)|% (?:tip |tax |of )*(?:on|of)", " % * "),
    (r"per ?cent", " % "),
    (r"half of", " 0.5 * "),
    (r"a dozen", " 12 "),
    (r"(?:a|one) third of", " ( 1 / 3 ) * "),
    (r"(?:a|one) quarter of", " 0.25 * "),
    (r"(?:three|3) quarters of", " 0.75 * "),
    (r"the sum of|sum of", " add "),
    (r"the product of|product of", " multiply "),
    (r"the difference between|difference between", " difference "),
    (r"twice|double", " 2 * "),
    (r"triple", " 3 * "),
    (r"squared", " ^ 2 "),
    (r"cubed", " ^ 3 "),
    (r"times", " * "),
    (r"plus", " + "),
    (r"minus|less", " - "),
    (r"over", " / "),
    (r"negative", " -"),
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\.\d+|sqrt|[a-z']+|[-+*/^%()]|\S")
_SIGNS = frozenset("+-*/^%()")
_INFIX = frozenset("+-*/^")
_GOES_INTO = re.compile(
    r"how (?:many times|often) (?:does|do|can|will) ([\w. -]{1,60}?) (?:go|goes|fit)s? in ?to ([\w. -]+)", re.I
)
_CURRENCY = re.compile(r"(?<=[\w.]) (?:dollars?|euros?|bucks?|cents?|apples?|oranges?)\b", re.I)
_HEARD_AS = {"to": "2", "too": "2", "for": "4", "fore": "4", "ate": "8", "won": "1"}
"""Numbers as recognisers write them, beside a sign."""
# Dates, telephone numbers, "24/7": signs between numbers without spaces are a sum only if the user asks for one.
_ASKS = re.compile(
    r"\b(?:what(?:'s|’s| is)|how much|calculate|compute|work out|add|subtract|multiply|divide|plus|minus|times)\b", re.I
)
_NO_SUM = re.compile(r"(?<!\d)\d+(?:[-/]\d+)+")
# "add 3 and 4", "subtract 3 from 10": the verb, the word between, the sign, and whether the operands change places.
_VERBS = {
    ("add", "and"): ("+", False),
    ("add", "to"): ("+", False),
    ("multiply", "by"): ("*", False),
    ("multiply", "and"): ("*", False),
    ("divide", "by"): ("/", False),
    ("subtract", "from"): ("-", True),
    ("difference", "and"): ("-", False),
    ("take", "from"): ("-", True),
}
_SAID_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by", "^": "to the power of", "%": "percent"}

_LARGEST = 1e15
_LARGEST_EXPONENT = 64
_DEEPEST = 50
_LONGEST_CHARS = 200
_ENDS = (")", "%")


def find_expression(text: str) -> str | None:
    """Find the first sum, root or square; write it with signs."""
    text = _CURRENCY.sub("", text[:_LONGEST_CHARS])
    if goes_into := _GOES_INTO.search(text):
        text = f"{goes_into[2]} divided by {goes_into[1]}"
    if not _ASKS.search(text):
        text = _NO_SUM.sub(" . ", text)
    tokens = _heard_numbers(_verbs_to_signs(_tokens(text)))
    start = 0
    while start < len(tokens):
        if not _is_arithmetic(tokens[start]):
            start += 1
            continue
        end = start
        while end < len(tokens) and _is_arithmetic(tokens[end]):
            end += 1
        if not any(map(_has_digit, tokens[start:end])):
            start = end  # brackets and signs alone
            continue
        for stop in range(end, start, -1):
            if not tokens[stop - 1][-1].isalnum() and tokens[stop - 1] not in _ENDS:
                continue  # nothing ends with a sign or an opening bracket
            expression = " ".join(tokens[start:stop])
            if _is_sum(tokens[start:stop]) and _parses(expression):
                return expression
        start += 1
    return None


def evaluate(expression: str) -> float:
    """Compute a sum written with signs or in words. Raises ValueError with a sentence for people."""
    if len(expression) > _LONGEST_CHARS:
        raise ValueError("That is too long to work out.")
    return _Parser(_verbs_to_signs(_tokens(expression))).value()


def say_number(value: float) -> str:
    """Write a number for reading aloud: "84", "3.5", "1,234,567".

    At most four decimals, or more if those are all 0.
    """
    rounded = round(value, 4)
    if rounded == 0 != value:
        return f"{value:.12f}".rstrip("0").rstrip(".")
    if rounded == int(rounded):
        return f"{int(rounded):,}"
    return f"{rounded:,.4f}".rstrip("0")


def say_expression(expression: str) -> str:
    """Write an expression in words: "12 * 7" becomes "12 times 7"."""
    words = [_SAID_SIGNS.get(token, token) for token in expression.split()]
    said = " ".join(words).replace("percent times", "percent of").replace("sqrt", "the square root of")
    said = re.sub(r"to the power of 2(?![\d.])", "squared", said)
    said = re.sub(r"to the power of 3(?![\d.])", "cubed", said)
    said = said.replace("( 1 divided by 3 ) times", "a third of")
    for number, part in (("0.5", "half of"), ("0.25", "a quarter of"), ("0.75", "three quarters of")):
        said = re.sub(rf"(?<![\d.]){re.escape(number)} times", part, said)
    return said


def find_number(text: str) -> float | None:
    """Find the first number in `text`, in digits or words; None without one."""
    return next(iter(find_numbers(text)), None)


def find_numbers(text: str) -> list[float]:
    """Find the numbers in `text`, in digits or words, in order."""
    return [float(token) for token in _tokens(text[:_LONGEST_CHARS]) if token[0].isdigit() or token[0] == "."]


def _tokens(text: str) -> list[str]:
    text = text.lower().replace("’", "'").replace("×", "*").replace("÷", "/").replace("−", "-").replace("**", "^")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text)
    text = re.sub(r"(?<=\d)\s*x\s*(?=\d)", " * ", text)
    text = re.sub(r"[$€£?!,;:\"]|\.(?!\d)", " ", text)
    for phrase, sign in _PHRASES:
        text = re.sub(rf"(?<![a-z])(?:{phrase})(?![a-z])", sign, text)
    return _join_numbers(_TOKEN.findall(text))


def _join_numbers(tokens: list[str]) -> list[str]:
    """Replace number words by digits: ["twenty", "three", "point", "five"] becomes ["23.5"]."""
    joined: list[str] = []
    at = 0
    while at < len(tokens):
        value, used = _spoken_number(tokens, at)
        if used:
            joined.append(value)
            at += used
        else:
            joined.append(tokens[at])
            at += 1
    return joined


def _spoken_number(tokens: list[str], at: int) -> tuple[str, int]:
    """Return the number at `at` in digits, and its tokens (0: no number)."""
    total, group, end = 0.0, 0.0, at
    last_unit = math.inf
    while end < len(tokens):
        token = tokens[end]
        if token in _NUMBER_WORDS or re.fullmatch(r"\d+(?:\.\d+)?", token):
            value = float(_NUMBER_WORDS.get(token, 0) if token in _NUMBER_WORDS else token)
            # "twenty three" is one number, "three twenty" and "2 2" are two.
            if end > at and not (
                value < last_unit and (100 <= last_unit < math.inf or (20 <= last_unit <= 90 and value < 10))
            ):
                break
            group += value
            last_unit = value if 20 <= value < 100 and value % 10 == 0 else 0
        elif token in _SCALES and (end > at or token == "hundred"):
            scale = _SCALES[token]
            if scale == 100:
                group = (group or 1) * 100
            else:
                total, group = total + (group or 1) * scale, 0.0
            last_unit = scale
        elif token == "a" and end == at and end + 1 < len(tokens) and tokens[end + 1] in _SCALES:
            group = 1
        elif not (token == "and" and 100 <= last_unit < math.inf and _starts_number(tokens, end + 1)):
            break
        end += 1
    if end == at:
        return "", 0
    number = f"{total + group:.10f}".rstrip("0").rstrip(".")
    if end + 1 < len(tokens) and tokens[end] == "point" and "." not in number:
        digits = ""
        while end + 1 < len(tokens) and (digit := _digits(tokens[end + 1])):
            digits += digit
            end += 1
        if digits:
            return f"{number}.{digits}", end + 1 - at
    return number, end - at


def _starts_number(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and (tokens[at] in _NUMBER_WORDS or tokens[at].isdigit())


def _digits(token: str) -> str:
    if token.isdigit():
        return token
    value = _NUMBER_WORDS.get(token)
    return "" if value is None else str(value)


def _verbs_to_signs(tokens: list[str]) -> list[str]:
    for at in range(len(tokens) - 3):
        verb, left, between, right = tokens[at : at + 4]
        sign = _VERBS.get((verb, between))
        if sign and left[0].isdigit() and right[0].isdigit():
            pair = [right, sign[0], left] if sign[1] else [left, sign[0], right]
            rest = tokens[at + 4 :]
            while len(rest) > 1 and rest[0] == "and" and rest[1][0].isdigit():
                pair, rest = [*pair, sign[0], rest[1]], rest[2:]
            return [*tokens[:at], *pair, *rest]
    return tokens


def _heard_numbers(tokens: list[str]) -> list[str]:
    """Replace words that sound like numbers where a sign misses one: "to plus to" becomes "2 + 2"."""
    heard = [*tokens]
    for at, token in enumerate(tokens):
        number = _HEARD_AS.get(token)
        before, behind = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
        if number and (before in _INFIX or (behind in _INFIX and not _is_arithmetic(before or "-"))):
            heard[at] = number
    return heard


def _is_arithmetic(token: str) -> bool:
    return token in _SIGNS or token == "sqrt" or token[0].isdigit() or token[0] == "."


def _is_sum(tokens: list[str]) -> bool:
    """Whether there is something to compute; a bare number or "-5" does not count."""
    return "sqrt" in tokens or any(token in _INFIX for token in tokens[1:])


def _has_digit(token: str) -> bool:
    return any(char.isdigit() for char in token)


def _parses(expression: str) -> bool:
    try:
        _Parser(expression.split()).value()
    except ValueError as error:
        return str(error) != _Parser.NO_SUM
    return True


class _Parser:
    """Recursive descent over: sum = product (+|- product)*, product = power (*|/ power)*, power = signed [^ power]."""

    NO_SUM = "That is not a sum I can read."

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def value(self) -> float:
        result = self._sum()
        if self._at != len(self._tokens):
            raise ValueError(self.NO_SUM)
        return result

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token in wanted:
            self._at += 1
            return token
        return ""

    def _sum(self) -> float:
        result = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            result = _checked(result + right if sign == "+" else result - right)
        return result

    def _product(self) -> float:
        result = self._signed()
        while sign := self._take("*", "/"):
            right = self._signed()
            if sign == "/" and right == 0:
                raise ValueError("Dividing by zero has no answer.")
            result = _checked(result * right if sign == "*" else result / right)
        return result

    def _signed(self) -> float:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("That is too long to work out.")
        result = -self._signed() if self._take("-") else self._power()
        self._depth -= 1
        return result

    def _power(self) -> float:
        base = self._atom()
        if not self._take("^"):
            return base
        exponent = self._signed()
        if (
            abs(exponent) > _LARGEST_EXPONENT
            or (base < 0 and exponent != int(exponent))
            or (base == 0 and exponent < 0)
        ):
            raise ValueError("That power is beyond me.")
        try:
            return _checked(base**exponent)
        except OverflowError:
            raise ValueError("That number is too big for me.") from None

    def _atom(self) -> float:
        if self._take("sqrt"):
            radicand = self._signed()
            if radicand < 0:
                raise ValueError("A negative number has no square root that I can say.")
            return math.sqrt(radicand)
        if self._take("("):
            result = self._sum()
            if not self._take(")"):
                raise ValueError(self.NO_SUM)
        else:
            token = self._peek()
            if not re.fullmatch(r"\d+(?:\.\d+)?|\.\d+", token):
                raise ValueError(self.NO_SUM)
            self._at += 1
            result = _checked(float(token))
        while self._take("%"):
            result /= 100
        return result


def _checked(value: float) -> float:
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError("That number is too big for me.")
    return value
