"""An utterance that is read value by value: which words are still free, and what they say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from realtime.model.local.keyless.utterance import BOUNDARIES, Span, Utterance
from realtime.model.local.keyless.words import each

ARTICLES = frozenset(each("the a an"))
CALLED = frozenset(each("called named titled entitled"))
_OWNED = frozenset(each("my our the a an"))
_DETERMINERS = _OWNED | {"this", "some", "new", "another"}
_LEADING = frozenset(each("to into onto in on from off for of"))
"""Prepositions before a tool's own object."""
_COURTESY = frozenset(each("please thanks thank you now again then for me us instead"))
_THANKS = frozenset(each("please thanks thank"))
_ENDS = frozenset(each("on at in for to from with by of and the a an until my please thanks into about around as"))
_UNNAMED = frozenset(
    each(
        "me us it them him her you that this everybody everyone somebody someone say the a an be see do go get make "
        "half all no sorry wait um uh whoever whomever whichever person people guy man woman lady"
    )
)
LONGEST_NAME = 4
_BEHIND = re.compile(r"(?<![\s,])[\s,]+(?:please|thanks|thank you|(?:right )?now|for me|here|there)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """Where a tool is named in an utterance.

    `verb_end` is the token behind the verb; `own` are stems of the words for the tool's object, `described` those of
    its description, `sets` is whether the verb gives something a new value. `is_answer`: the utterance
    answers a question for arguments.
    """

    verb_end: int = 0
    own: frozenset[str] = frozenset()
    described: frozenset[str] = frozenset()
    sets: bool = False
    is_answer: bool = False


class Reading:
    """The words of an utterance, of which a value uses up some."""

    def __init__(self, said: Utterance, command: Command) -> None:
        self.said = said
        self.command = command
        self.used: set[int] = set()
        """The tokens that are a value."""

    def use(self, start: int, end: int) -> None:
        self.used |= {*range(max(0, start), end)}

    def is_free(self, span: Span) -> bool:
        return not self.used & {*range(span.start, span.end)}

    def is_value(self, at: int) -> bool:
        spans = (
            *self.said.days,
            *self.said.times,
            *self.said.withdrawn,
            *(span for span in self.said.numbers if span.is_money),
            *(span for span in self.said.alternatives if span.kind != "number" or span.is_money),
        )
        return any(span.start <= at < span.end for span in spans)

    def names_own(self, at: int) -> bool:
        """Whether a preposition leads to the tool's own object."""
        return self._own_end(at) > at + 1

    def behind_own(self) -> int | None:
        """Return the token behind the last word for the tool's object."""
        places = [at for at, word in enumerate(self.said.stems) if word in self.command.own]
        return places[-1] + 1 if places and places[-1] + 1 < len(self.said) else None

    def last(self, token: str) -> int | None:
        places = range(len(self.said) - 1, self.command.verb_end - 1, -1)
        return next((at for at in places if self.said.tokens[at] == token and not self.names_own(at)), None)

    def phrase(self, at: int, *, before: int | None = None) -> str | None:
        """Read a name from a token on; `before` is the preposition that it uses up."""
        begin, tokens = at, self.said.tokens
        if at < len(tokens) and tokens[at] in _OWNED:
            at += 1
        end = at
        while end < len(tokens) and end - at < LONGEST_NAME and self._goes_on(at, end):
            end += 1
        if end == at or (end == at + 1 and tokens[at] in _UNNAMED) or self._is_left_open(end):
            return None
        self.use(begin if before is None else before, end)
        if (corrected := self._corrected(end, "" if before is None else tokens[before])) is not None:
            return corrected
        return self.said.text(at if tokens[begin] in ARTICLES else begin, end)

    def _is_left_open(self, at: int) -> bool:
        """Whether another name follows behind "or": "to Mike or Ann"."""
        said = self.said
        return at + 1 < len(said) and said.tokens[at] == "or" and said.tokens[at + 1] not in BOUNDARIES

    def _corrected(self, at: int, lead: str = "") -> str | None:
        """Return what is said instead of words before: "Imagine, no wait, Yesterday".

        `lead` is the preposition before those words, which may be said again: "to Rome, sorry, to Milan".
        """
        begin = at
        while (end := next((end for first, end in self.said.corrections if first == begin), None)) is not None:
            begin = end
        if begin == at:
            return None
        verb = self.said.tokens[self.command.verb_end - 1] if self.command.verb_end else ""
        again = ARTICLES | {"it's", "it", lead, verb}
        while begin < len(self.said) and (
            self.said.tokens[begin] in again or self.said.stems[begin] in self.command.own
        ):
            begin += 1
        end = begin + (begin < len(self.said) and self.said.tokens[begin] in _OWNED)
        while end < len(self.said) and self._goes_on(begin, end) and self.said.tokens[end] not in _COURTESY:
            end += 1
        if at < begin < end < len(self.said) and self.said.stems[end] == self.said.stems[at - 1]:
            end += 1  # "the apple tree, no, the pear tree"
        if end == begin or end - begin > LONGEST_NAME:
            return None
        self.use(at, end)
        return self._corrected(end, lead) or self.said.text(begin, end)

    def _goes_on(self, begin: int, at: int) -> bool:
        said = self.said
        if at in self.used or said.tokens[at] in _UNNAMED or self.is_value(at):
            return False
        if at > begin and said.stems[at] in self.command.own:
            return False
        if at > begin and (at in said.breaks or (said.is_capital(begin) and not said.is_capital(at))):
            return said.tokens[at] in ("of", "de", "van", "and") and at + 1 < len(said) and said.is_capital(at + 1)
        if said.tokens[at] == "of" and at > begin:
            return at + 1 < len(said) and said.tokens[at + 1] not in BOUNDARIES
        return said.tokens[at] not in BOUNDARIES

    def run(self, at: int) -> str:
        """Return the list that begins at a token."""
        end = at
        stops = BOUNDARIES - {"and", "or", "a", "the", "of"}
        while end < len(self.said) and not (self.said.tokens[end] in stops or end in self.used or self.is_value(end)):
            end += 1
        while end > at and self.said.tokens[end - 1] in _ENDS:
            end -= 1
        self.use(at - 1, end)
        return self.said.text(at, end)

    def until_value(self, at: int) -> str | None:
        """Return the words from a token to a value or punctuation."""
        end = at
        said = self.said
        while end < len(said) and end not in self.used and (end == at or end not in said.breaks):
            if said.tokens[end] in ("saying", "reading"):
                break
            end += 1
        while end > at and self.said.tokens[end - 1] in _ENDS | _COURTESY:
            end -= 1
        self.use(at, end)
        return self.said.text(at, end) or None

    def to_the_end(self, at: int) -> str | None:
        text = self.said.said[len(self.said.said) :] if at >= len(self.said) else self.said.text(at, len(self.said))
        self.use(at, len(self.said))
        return re.sub(r"(?<![\s,])[\s,]+(?:please|thanks|thank you)$", "", text, flags=re.I) or None

    def leftover(self, *, is_message: bool = False, corrects: bool = False) -> str | None:
        """Return the first free words behind the verb.

        They are no value, and do not name the tool's own object. `corrects`: words behind "no wait" take their place.
        """
        at = self.command.verb_end
        while at < len(self.said):
            if (skipped := self._skipped(at)) > at:
                at = skipped
                continue
            end = at + 1
            while (
                end < len(self.said)
                and end not in self.used
                and self._skipped(end, inside=True) == end
                and not (corrects and self._is_withdrawn(end))
            ):
                end += 1
            last = end
            while end > at and self._is_end(end - 1, is_message=is_message):
                end -= 1
            text = self.said.text(at, end)
            if text := text if is_message else trimmed(text):
                self.use(at, end)
                return (self._corrected(last) if corrects else None) or text
            at = max(end, at + 1)
        return None

    def _is_end(self, at: int, *, is_message: bool) -> bool:
        """Whether a word at the end is none of a value's; "again" is one of a message's."""
        token = self.said.tokens[at]
        if not is_message:
            return token in _ENDS | _COURTESY
        return token in _THANKS or (token == "you" and self.said.tokens[at - 1] == "thank")

    def _is_withdrawn(self, at: int) -> bool:
        spans = ((span.start, span.end) for span in self.said.withdrawn)
        return any(first <= at < end for first, end in (*spans, *self.said.corrections))

    def _skipped(self, at: int, *, inside: bool = False) -> int:
        """Return the token behind one that is no free word: used, a courtesy, or the tool's own object."""
        tokens = self.said.tokens
        if at in self.used:
            return at + 1
        if not inside and (
            tokens[at] in ("me", "us", "him", "her", "them", "please", "that", "know") or tokens[at] in CALLED
        ):
            return at + 1
        if not inside and tokens[at] in ("to", "about", "of", "for", "on", "at", "by") and not self.names_own(at):
            return at + 1
        if at in self.said.breaks and inside:
            return at + 1 if tokens[at] in ("please", "thanks") else at
        end = self._own_end(at)
        begins = tokens[at] in _LEADING
        is_whole = self.command.sets or end == len(tokens) or end in self.said.breaks or not self._is_noun(end)
        if end > at and (begins or not inside) and is_whole:
            return end
        return at

    def _is_noun(self, at: int) -> bool:
        return self.said.tokens[at] not in BOUNDARIES and at not in self.used and not self.is_value(at)

    def _own_end(self, at: int) -> int:
        """Return where "to my shopping cart" ends for a tool of carts; `at`: no such words."""
        end, tokens = at, self.said.tokens
        if end < len(tokens) and tokens[end] in _LEADING:
            end += 1
        stems = self.said.stems
        while end + 1 < len(tokens) and (
            tokens[end] in _DETERMINERS or (stems[end] in self.command.described and stems[end + 1] in self.command.own)
        ):
            end += 1
        begins = tokens[at : at + 1] and tokens[at] in _LEADING
        for count in (1, 2) if begins else (1,):
            last = end + count - 1
            if last < len(tokens) and self.said.stems[last] in self.command.own:
                while last + 1 < len(tokens) and self.said.stems[last + 1] in self.command.own:
                    last += 1
                return last + 1
        return at


def trimmed(text: str) -> str:
    """Return words without articles and courtesies around them."""
    before = ""
    while before != text:
        before = text
        text = re.sub(r"^(?:the|an?|my|our|be|to|about|that|of|for|some)\s+", "", text, flags=re.I)
        text = re.sub(
            r"(?<![\s,])[\s,]+(?:please|thanks|thank you|(?:right )?now|for me|here|there)$", "", text, flags=re.I
        )
    return text.strip(" ,")
