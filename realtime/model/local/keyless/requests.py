"""Several requests in one utterance."""

from __future__ import annotations

import re

from realtime.model.local.keyless.tool_words import CONDITION
from realtime.model.local.keyless.words import plain

_SENTENCE = re.compile(r"(?<=[.!?;]) ")
# A conjunction counts only before words that begin a request of their own: "two and two" stays whole.
_BEGINS = (
    r"(?:(?:can|could|would|will) you|(?:what|who|when|where|why|how|which)(?:'s|’s)?|(?:is|are|was|do|does|did|am) "
    r"(?:it|you|i|the|there|my|this|that|we)|tell|set|count|spell|say|give|flip|toss|roll|throw|sing"
    r"|remember|repeat|choose"
    r"|pick|calculate|convert|wake|remind|start|cancel|stop|recommend|explain|translate|turn|play"
    r"|please (?=[a-z])|my|i|i'm|i’m|i am"
    r"|we|our)"
)
_JOINED = re.compile(
    rf",? (?:and|but|then|plus|or)(?: (?:also|then|after that|please))?,? (?={_BEGINS}\b)"
    rf"|, (?:also |then )?(?={_BEGINS}\b)"
    rf"| also,? (?={_BEGINS}\b)",
    re.I,
)
# A question behind a statement, where a recogniser wrote no full stop: "I have a shop how do I add you".
_TURNS_TO_ASK = re.compile(
    r"(?<!\bknow)(?<!\bwonder)(?<!\bask)(?<!\bme)(?<!\bforgot)(?<!\bremember)(?<!\babout)(?<!\bsure)(?<!\bunderstand)(?<!\bsee)"
    r"(?<!\bis)(?<!\btell)(?<!\band)(?<!\bof)(?<!\bon)(?<!\bto),? (?=(?:(?:how|where|what|why|when"
    r"|who|which) (?:do|does|can|could|would|is|are|did"
    r"|should|am|was)|(?:what|where|who|how|when)(?:'s|’s)|(?:can|could|should|do|is|are|will"
    r"|would) (?:i|we|you|it|this|that|there))\b)",
    re.I,
)
_STATES = re.compile(r"^(?:(?:well|so|hi|hello|hey|okay),? )*(?:i|i'm|i’m|we|we're|my|our)\b", re.I)
_WHOLE = re.compile(
    r"^\W*(?:(?:please|can you|could you|now)\W+)*(?:say|repeat after me|spell)\b(?! (?:that|it))", re.I
)
_TELLS_OR_ASKS = re.compile(
    r"(?:my|our|i|i'm|i’m|we|what|who|when|where|why|how|which|is|are|was|do|does|did|am)\b", re.I
)
MOST = 3
"""Requests of one utterance that are answered."""


def split(said: str) -> list[str]:
    """Return the requests of an utterance, at most three; words to be repeated stay whole."""
    if _WHOLE.match(said):
        return [said]
    sentences = _SENTENCE.split(" ".join(said.split()))
    parts = [part.strip(" ,") for sentence in sentences for part in _joined(sentence)]
    parts = [
        piece for part in parts for piece in (_TURNS_TO_ASK.split(part, maxsplit=1) if _STATES.match(part) else [part])
    ]
    return [part for part in parts if re.search(r"\w", part)][:MOST] or [said]


def _joined(sentence: str) -> list[str]:
    """Return the requests of a sentence; an order stays with what it waits for: "if it rains, set a timer"."""
    parts = _JOINED.split(sentence)
    is_held = len(parts) > 1 and CONDITION.match(plain(parts[0])) and not _TELLS_OR_ASKS.match(parts[1])
    return [sentence] if is_held else parts
