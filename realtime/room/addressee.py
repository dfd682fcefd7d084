"""Whom a turn addresses by name. Pure.

A recogniser writes few signs and spells names by their sound, so a name calls by its place: "friday when do we meet",
"what do you think robbin", "so what does friday think". A name that a preposition, an article or a verb takes ("see you
on friday", "ask robin"), and one that does something itself ("robin was wrong"), calls no one. Where the words leave it
open, no one is called: an agent that talks into others' conversation is worse than one that is called twice. The words
that decide are data: `addressee_words.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from realtime.room.participant import Participant, folded, is_unspaced, is_word, places, without_accents
from realtime.turn.small_talk import BACKCHANNELS, DEFAULT_BACKCHANNELS, TAKES_FLOOR, phrases_of, rest_of, tokens_of

MAX_CHARACTERS = 500
"""How much of both ends of a long turn is read."""
_LIKE_ENOUGH = 0.5
"""Least share of equal letters of two spellings of one sound: "Phoebe" and "feebee" have half."""
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.?!…。？！]")
_DATA = json.loads(Path(__file__).with_name("addressee_words.json").read_text(encoding="utf-8"))
_MOST_NAMES = 10
_SPELLINGS = {name: names for names in _DATA.pop("one_name").split(", ") for name in names.split()}
"""Names that sound alike, by each of their spellings."""
_SOUNDS = [(re.compile(pattern), sound) for pattern, sound in _DATA.pop("sound")]


class _Language:
    """The words of one language that decide: single ones by `words`, those of several by `phrases`."""

    def __init__(self, lists: Mapping[str, str]) -> None:
        self._lists = lists
        self.all: frozenset[str] = frozenset(word for key in lists for word in self.words(key))
        """Words that tell the language, and that are no misheard name: "in what way" calls no Ann."""
        self.openers = self.phrases("openers") | DEFAULT_BACKCHANNELS

    @cache  # noqa: B019 - five of them live as long as the process
    def words(self, *keys: str) -> frozenset[str]:
        """The words of these lists, with accents and without."""
        words = {word for key in keys for word in self._lists.get(key, "").replace(",", " ").split()}
        return frozenset(words | set(map(without_accents, words)))

    @cache  # noqa: B019
    def phrases(self, key: str) -> frozenset[tuple[str, ...]]:
        """The phrases of a list, with accents and without."""
        text = self._lists.get(key, "")
        return phrases_of([text, without_accents(text)])


_LANGUAGES = [_Language(lists) for lists in _DATA.values()]
_ORDINARY = frozenset().union(*(one.all for one in _LANGUAGES)) - frozenset().union(
    *(one.words("calendar", "verbs_of_names", "ordinary_names") for one in _LANGUAGES)
) | frozenset(word for text in (*BACKCHANNELS.values(), *TAKES_FLOOR.values()) for word in tokens_of(text))


def _language_of(said: str) -> _Language:
    """The language with the most of these words; Chinese where there is a character of it; in doubt English."""
    if any(map(is_unspaced, said)):
        return _LANGUAGES[-1]
    words = tokens_of(said)
    return max(_LANGUAGES, key=lambda one: sum(word in one.all for word in words))


class _Place(NamedTuple):
    """Where a name stands in the text."""

    start: int
    end: int
    who: tuple[Participant, ...]


@lru_cache(maxsize=16)  # a policy asks several times about the turn that is over
def called_in(text: str, participants: tuple[Participant, ...]) -> tuple[Participant, ...]:
    """Whom of `participants` the text calls, in the order of their names.

    Case, composition and missing accents do not count; a name that is written in no other way is found by its sound,
    and in parts ("rob in"). `participants` are all who are present: a call for `Anna 2` is none for `Anna`.
    """
    said = folded(text)
    if len(said) > 2 * MAX_CHARACTERS:
        said = said[:MAX_CHARACTERS] + " … " + said[-MAX_CHARACTERS:]
    language = _language_of(said)
    called: list[_Place] = []
    for place in _groups(said, participants, language):
        between = said[called[-1].end : place.start] if called else ""
        if called and between.strip() and not rest_of(tokens_of(between), language.phrases("corrections"))[0]:
            called.pop()  # "Alexa, I mean Iris": the last name is meant, wherever it stands.
            called.append(place)
        elif _calls(said, place, language) and not (called and _is_told_of(said, called[-1], place, language)):
            called.append(place)
    return tuple(dict.fromkeys(one for place in called for one in place.who))


def _is_told_of(said: str, called: _Place, place: _Place, language: _Language) -> bool:
    """Whether a name behind a called one is talked about."""
    between, after = said[called.end : place.start].rstrip(), tokens_of(said[place.end :])
    last = ["", *tokens_of(between)][-1]
    if last in language.words("joiners") and after:
        return after[0] not in language.words("second_person")
    if _SENTENCE_END.search(between) or between.endswith(","):
        return False
    return last not in language.words("second_person")


def _groups(said: str, participants: Sequence[Participant], language: _Language) -> list[_Place]:
    """The places of names; names that a comma or "and" joins are one: they are called together."""
    joiners = language.words("joiners")
    joined = {",", *joiners, *(f", {one}" for one in joiners)}
    groups: list[_Place] = []
    for place in _names(said, participants):
        following = [*tokens_of(said[place.end :]), ""]
        is_verb = said[place.start : place.end] in language.words("verbs_of_names")
        if is_verb and following[0] in language.words("subjects"):
            continue  # "will you come", "may I ask"
        between = said[groups[-1].end : place.start].strip(" ") if groups else ""
        is_listed = bool(groups) and not between and groups[-1].start == 0 and place.who != groups[-1].who
        if is_listed or between in joined:
            groups[-1] = _Place(groups[-1].start, place.end, groups[-1].who + place.who)
        else:
            groups.append(place)
    return groups


def _names(said: str, participants: Sequence[Participant]) -> list[_Place]:
    """The names in the text, without overlaps: the longest where several begin, letters before sounds."""
    plain = without_accents(said)
    exact: list[_Place] = []
    unwritten: list[Participant] = []
    for one in participants:
        written = [_Place(at, at + length, (one,)) for at, length in places(said, folded(one.name))]
        if not written and len(plain) == len(said):
            written = [_Place(at, at + length, (one,)) for at, length in places(plain, without_accents(one.name))]
        exact += written
        if not written:
            unwritten.append(one)
    chosen = _apart(exact, [])
    return _apart(list(_by_sound(plain, unwritten)) if len(plain) == len(said) else [], chosen)


def _apart(places_: list[_Place], kept: list[_Place]) -> list[_Place]:
    """`kept` and those of `places_` that overlap none of them, in order."""
    kept = list(kept)
    places_ = sorted(places_, key=lambda one: (one.start, -one.end))
    if len(places_) > 2 * _MOST_NAMES:
        # Whom a turn calls, its beginning and its end say; a page of one name must not hold up the loop.
        places_ = [*places_[:_MOST_NAMES], *places_[-_MOST_NAMES:]]
    for place in places_:
        if all(place.end <= other.start or other.end <= place.start for other in kept):
            kept.append(place)
    return sorted(kept)


def _by_sound(said: str, participants: Sequence[Participant]) -> Iterator[_Place]:
    names = [(one, "".join(_LETTERS.findall(without_accents(one.name)))) for one in participants]
    words = [*_LETTERS.finditer(said)]
    for first, begin in enumerate(words):
        for count, last in enumerate(words[first : first + 3], start=1):
            if set(said[begin.end() : last.start()]) & set(",.;:!?…"):
                break
            heard = "".join(_LETTERS.findall(said[begin.start() : last.end()]))
            is_ordinary = all(word[0] in _ORDINARY for word in words[first : first + count])
            for one, name in names:
                is_it = heard == name and len(name) > 3
                if is_it or (not is_ordinary and (heard == name or sounds_like(heard, name))):
                    yield _Place(begin.start(), last.end(), (one,))


def sounds_like(heard: str, name: str) -> bool:
    """Whether a recogniser may have written `name` as `heard`.

    Both are letters in lower case, without accents. They have the same consonants and syllables; in a short name the
    vowel counts too: "ball" is not Bill. Spellings of one name are known: "john" is Jon.
    """
    if heard in _SPELLINGS and _SPELLINGS[heard] == _SPELLINGS.get(name):
        return True
    if len(name) < 3 or not name.isascii() or _sound(heard) != _sound(name):
        return False
    consonants = len(_sound(name).replace("A", ""))
    is_short = len(name) < 4 and consonants < 3  # "path" is not Pat, while "maks" is Max
    if _sound(name).count("A") < 2 and (is_short or _vowel(heard) != _vowel(name)):
        return False
    return SequenceMatcher(None, heard, name, autojunk=False).ratio() >= _LIKE_ENOUGH


@lru_cache(maxsize=4096)  # the words come from callers
def _sound(word: str) -> str:
    for pattern, sound in _SOUNDS:
        word = pattern.sub(sound, word)
    return word


def _vowel(word: str) -> str:
    return next((letter for letter in word if letter in "aeiouy"), "")


def _calls(said: str, place: _Place, language: _Language) -> bool:
    """Whether a name at this place calls: at the beginning, at the end, or between two clauses."""
    name = said[place.start : place.end]
    before, after = _SENTENCE_END.split(said[: place.start])[-1], said[place.end :]
    words_before, words_after = tokens_of(before), tokens_of(after)
    signed_before = before.rstrip() != "" and not is_word(before.rstrip()[-1])
    signed_after = after.lstrip() != "" and not is_word(after.lstrip()[0])
    is_last = not rest_of(tokens_of(_SENTENCE_END.split(after, maxsplit=1)[0]), language.phrases("trailers"))[0]
    if after[:1] in ("'", "’") and is_word(after[1:2] or " "):
        return False  # "Robin's idea"
    if not rest_of(words_before, language.openers)[0]:
        if signed_after or not words_after or _is_greeted(words_before, language):
            return True
        return _begins_clause(after, name, language, several=len(place.who) > 1)
    if _hands_over(words_before, words_after, language):
        return True
    is_date = name in language.words("calendar")
    if signed_before:
        is_apart = signed_after and [*words_after, ""][0] not in language.words("joiners", "relatives")
        return is_last or (is_apart and (not is_date or _begins_clause(after, name, language)))
    if _takes_a_name(before, language):
        return False
    last = words_before[-1]
    if is_last and name in language.words("ordinary_names"):
        # "I never understood modern art" is no call; a question or a request with the name behind it is.
        asking = rest_of(words_before, language.openers)[0][0]
        is_asked = asking in language.words("questions", "auxiliaries", "commands")
        is_handed_over = last in language.words("second_person", "calls_at_the_end")
        return is_asked or is_handed_over or _is_greeted(words_before, language)
    if is_last:
        return not is_date or last in language.words("calls_at_the_end")
    if not rest_of([last], language.phrases("trailers"))[0]:
        return True  # "quiet please friday the floor is yours"
    if words_after[0] in language.words("opinions") and last in language.words("asks_of"):
        leads = rest_of(words_before[:-1], language.openers)[0]
        return bool(leads) and all(word in language.words("questions") for word in leads)
    if last in language.words("auxiliaries", "questions"):
        return False  # The name is what the clause is about: "when will robin come".
    if name in language.words("verbs_of_names"):
        return words_after[0] in language.words("questions")
    if is_date and last not in language.words("calls_at_the_end", "calls_inside"):
        return False
    return _begins_clause(after, "", language)


def _is_greeted(words: Sequence[str], language: _Language) -> bool:
    """Whether the last of these words greet: what follows is called, whatever comes behind it."""
    greetings = language.phrases("greetings")
    return any(not rest_of(words[-count:], greetings)[0] for count in (1, 2) if len(words) >= count)


def _hands_over(before: Sequence[str], after: Sequence[str], language: _Language) -> bool:
    """Whether the speaker gives the named one the word: "let's hear from Nova", "I'd like Theo to ..."."""
    phrases = language.phrases("hands_over")
    if any(not rest_of(before[-count:], phrases)[0] for count in (2, 3) if len(before) >= count):
        return True
    wishes = language.phrases("wishes")
    return after[:1] == ["to"] and any(not rest_of(before[-count:], wishes)[0] for count in (2, 3))


def _takes_a_name(before: str, language: _Language) -> bool:
    """Whether the last word takes the name: "on Friday", "ask Robin", "my friend Robin", "not you Robin"."""
    takers = language.words("takes_a_name", "friends")
    if before and is_unspaced(before.rstrip()[-1:] or " "):
        return before.rstrip().endswith(tuple(takers))
    words = tokens_of(before)
    return bool(words) and (words[-1] in takers or words[-2:] == ["not", "you"])


def _begins_clause(after: str, name: str, language: _Language, *, several: bool = False) -> bool:
    """Whether these words begin a clause of their own.

    Others say what the named one is or does; of `several`, a verb in its plain form does.
    """
    start = after.lstrip(" ,，、")
    if start and is_unspaced(start[0]):
        return start.startswith(tuple(language.words("clause_starts", "questions")))
    words = [*tokens_of(after), "", ""]
    first, second = words[0], words[1]
    asks = first in language.words("questions") or first.partition("'")[0] in language.words("questions")
    if asks and (first not in language.words("conjunctions") or second in language.words("auxiliaries")):
        return True
    if first in language.words("commands") and not several:
        return True
    if first in language.words("auxiliaries"):
        own = language.words("be_or_have")
        if second in language.words("subjects") or (second in language.words("determiners") and first not in own):
            return True
    if name in language.words("calendar"):
        needs = first in language.words("subjects") and second in language.words("needs")
        return needs or first in language.words("calendar_starts")
    if any(word in language.words("announces") for word in words[1:4]):
        return True  # "now Robin the second question"
    return first in language.words("clause_starts", "second_person")
