"""Counting, spelling, and what chance decides."""

from __future__ import annotations

import re

from realtime.model.local.keyless.arithmetic import find_number, say_number
from realtime.model.local.keyless.situation import Rules, Situation, first_answer, rules
from realtime.model.local.keyless.words import each

HIGHEST_COUNT = 50
_ALPHABET = "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"
_LONGEST_SPELT = 30
_OPTIONS = re.compile(
    r"^.{0,200}?\b(?:between|should (?:i|we) (?:have|take|eat|drink|get|buy|wear|go to|choose|pick|do)|should i"
    r"|choose|pick|select|decide|rather"
    r"|better|one)(?: for me| one| between)?[,:]? (?!for me|one of|between)(.+)$",
    re.I,
)


def play(situation: Situation) -> str | None:
    """Count, spell or draw lots, where the user asks for that."""
    return first_answer(RULES, situation)


def _count(situation: Situation, match: re.Match[str]) -> str:
    text = situation.core
    numbers = [
        number for part in re.split(r"\b(?:to|until|till|by)\b", text) if (number := find_number(part)) is not None
    ]
    step = 1
    if re.search(r"\bby (?:twos|two|2s|2)\b", text):
        step = 2
    elif re.search(r"\bby (?:fives|five|5s|5)\b", text):
        step = 5
    elif re.search(r"\bby (?:tens|ten|10s|10)\b", text):
        step = 10
    bounds = [int(number) for number in numbers]
    if step > 1 and len(bounds) > 1 and bounds[-1] == step:
        bounds = bounds[:-1]
    is_down = re.search(r"\b(?:down|backwards?|countdown|reverse)\b", text) is not None
    if not bounds:
        bounds = [1, 10]
    elif len(bounds) == 1:
        bounds = [step if step > 1 else 1, bounds[0]]
    low, high = min(bounds), max(bounds)
    if low < 0 or not high >= 1 or (high - low) / step >= HIGHEST_COUNT:
        return f"I can count from one to {HIGHEST_COUNT}."
    counted = [*range(low, high + 1, step)]
    is_down = is_down or (len(numbers) > 1 and bounds[0] > bounds[1])
    return ", ".join(map(str, reversed(counted) if is_down else counted)) + "."


def _spell(situation: Situation, match: re.Match[str]) -> str | None:
    word = match["word"].strip()
    if re.fullmatch(r"(?:my|my own) name", word):
        if situation.name is None:
            return "Tell me your name first, and I'll spell it."
        word = situation.name
    elif re.fullmatch(r"your(?: own)? name", word):
        word = situation.me
    word = re.sub(r"^(?:the (?:word|name) |it )", "", word)
    if not re.fullmatch(r"[\w'-]+(?: [\w'-]+)?", word) or len(word) > _LONGEST_SPELT or word in ("that", "it", "this"):
        return "I can spell one word or two: which?"
    return f"{word}: {_letters(word)}."


def _letters(word: str) -> str:
    return ", ".join(letter.upper() for letter in word if letter.isalnum())


def _backwards(situation: Situation, match: re.Match[str]) -> str | None:
    word = match["word"].strip().removeprefix("the word ")
    return f"{word} backwards is {word[::-1]}: {_letters(word[::-1])}." if word.isalpha() and len(word) < 20 else None


def _letter_count(situation: Situation, match: re.Match[str]) -> str:
    word = match["word"].removeprefix("the word ").strip()
    count = sum(letter.isalnum() for letter in word)
    return f"{word} has {count} letter{'s' if count != 1 else ''}."


def _alphabet(situation: Situation, _: re.Match[str]) -> str:
    letters = _ALPHABET.split()
    if "backward" in situation.core or "reverse" in situation.core:
        letters.reverse()
    return ", ".join(letters) + "."


def _coin(situation: Situation, _: re.Match[str]) -> str:
    return f"It's {('heads', 'tails')[situation.chance(2, 'coin')]}."


def _dice(situation: Situation, match: re.Match[str]) -> str:
    sides = 6
    if found := re.search(r"\b(\w+)[ -]sided\b", situation.core):
        sides = int(find_number(found[1]) or 6)
    sides = sides if 2 <= sides <= 1000 else 6
    is_two = re.search(r"\b(?:two|2|pair of|both) (?:\w+[ -]sided )?(?:dice|die)\b", situation.core)
    first = situation.chance(sides, "die") + 1
    if not is_two:
        return f"You rolled a {first}." if first not in (8, 11, 18) else f"You rolled an {first}."
    second = situation.chance(sides, "second die") + 1
    return f"You rolled {first} and {second}, that makes {first + second}."


def _number(situation: Situation, match: re.Match[str]) -> str:
    found = re.search(r"(?:between|from) (.{1,40}?) (?:and|to) (.+)", situation.core)
    low, high = (find_number(found[1]), find_number(found[2])) if found else (1.0, 10.0)
    if low is None or high is None or not abs(high - low) < 1e9:
        low, high = 1.0, 10.0
    first, last = sorted((int(low), int(high)))
    return f"{say_number(first + situation.chance(last - first + 1, 'number'))}."


def _choose(situation: Situation, _: re.Match[str]) -> str | None:
    found = _OPTIONS.search(situation.said.rstrip("?.! "))
    if found is None:
        return None
    options = [one.strip(" ,") for one in re.split(", ?(?:or )?| (?:or|and) ", " ".join(found[1].split()))]
    options = [re.sub(r"^(?:should (?:i|we)|(?:i|we) should) ", "", one, flags=re.I) for one in options if one]
    if len(options) < 2:
        return None
    chosen = options[situation.chance(len(options), "choice")]
    return situation.vary((f"I pick {chosen}.", f"Chance says {chosen}.", f"Take {chosen}."))


def _card(situation: Situation, _: re.Match[str]) -> str:
    ranks = each("ace two three four five six seven eight nine ten jack queen king")
    suits = ("clubs", "diamonds", "hearts", "spades")
    return f"The {ranks[situation.chance(13, 'rank')]} of {suits[situation.chance(4, 'suit')]}."


def _hand(situation: Situation, match: re.Match[str]) -> str:
    mine = ("rock", "paper", "scissors")[situation.chance(3, "hand")]
    return f"I took {mine}. What did you take?"


def _oracle(situation: Situation, _: re.Match[str]) -> str:
    return ("The coin says yes.", "The coin says no.")[situation.chance(2, "oracle")]


def _compare(situation: Situation, match: re.Match[str]) -> str | None:
    first, second = find_number(match["one"]), find_number(match["other"])
    if first is None or second is None:
        return None
    if first == second:
        return "They are the same."
    wants_more = re.search(r"\b(?:more|bigger|larger|greater|higher)\b", match[0]) is not None
    return f"{say_number(max(first, second) if wants_more else min(first, second))} is."


def _kind_of_number(situation: Situation, match: re.Match[str]) -> str | None:
    number = find_number(match["number"])
    if number is None or number != int(number) or not 0 <= number < 1_000_000:
        return None
    whole = int(number)
    if match["kind"] != "prime":
        return f"{whole:,} is {'odd' if whole % 2 else 'even'}."
    divisor = next((one for one in range(2, int(whole**0.5) + 1) if whole % one == 0), None)
    if whole < 2 or divisor is not None:
        return f"No, {whole:,} is not prime" + (f": it is {divisor} times {whole // divisor:,}." if divisor else ".")
    return f"Yes, {whole:,} is a prime number."


_WORD = r"(?P<word>[\w' -]{1,60}?)"
RULES: Rules = rules(
    (
        r"\bcount(?:ing|down)?\b(?!.*\b(?:letters|words|on me)\b)(?=.*\b(?:to|from|down|up|backwards?|by"
        r"|for me|numbers)\b)|^(?:can you )?count$",
        _count,
    ),
    (
        r"\b(?:recite |say |sing |tell me |know )(?:me )?(?:the |your )?(?:alphabet|abc'?s?|a b c)\b"
        r"|^(?:the )?alphabet(?: backwards?)?$",
        _alphabet,
    ),
    (
        r"\bhow many letters (?:are |does |do |has |are there )?(?:in "
        rf"|there in )?(?:the word )?{_WORD}(?: have)?$",
        _letter_count,
    ),
    (rf"\b(?:spell|say|what's|what is|write) {_WORD} backwards?$", _backwards),
    (
        rf"\b(?:spell|spelling of|how (?:do you spell|does one spell)) {_WORD}$(?<!for you)",
        _spell,
    ),
    (rf"\bhow (?:is|are|do you write) {_WORD} (?:spelled|spelt|written)$", _spell),
    (r"\b(?:flip|toss|throw|spin)\b.*\bcoin\b|\bheads or tails\b|\bcoin (?:flip|toss)\b", _coin),
    (r"\b(?:roll|throw|toss|cast)\b.*\b(?:dice|die|dies)\b|\bsided (?:die|dice)\b|^(?:a )?(?:dice|die) roll$", _dice),
    (r"\b(?:pick|choose|give|say|tell|think of|random|name)\b.*\bnumber\b(?! (?:is|of)\b)|\brandom number\b", _number),
    (r"\b(?:pick|draw|choose)\b.*\bcard\b", _card),
    (r"\brock paper scissors\b|\bpaper scissors\b", _hand),
    (
        r"^(?:choose|pick|decide|select|help me (?:choose|decide|pick)|should (?:i|we)|what should i|which (?:one"
        r"|should)|what is better"
        r"|what's better|would you rather)\b.* (?:or|between .* and) ",
        _choose,
    ),
    (r"\b(?:decide|choose) (?:for me|yes or no)\b|\byes or no\b|\bmagic (?:8|eight) ball\b", _oracle),
    (
        r"\b(?:which|what)(?:'s| is)? (?:is )?(?:the )?(?:more|bigger|larger|greater|higher|smaller"
        r"|less|lower)(?: number)?(?: is)?,? (?P<one>[\w. ]{1,40}?) or (?P<other>[\w. ]{1,40})$",
        _compare,
    ),
    (r"\bis (?:the number )?(?P<number>[\w ]{1,40}?) (?:a |an )?(?P<kind>prime|odd|even)\b", _kind_of_number),
)
