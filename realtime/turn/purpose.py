"""Tell what words over a reply are for: the agent, no one, or someone beside.

No list of assents or remarks is complete, and rules about their form found a fifth of the assents and a tenth of the
remarks that they were not made from. So a linear model weighs the words: its weights are data (`purpose.tsv`), fitted
by `tools/fit_purpose.py` to utterances that many hands wrote (`fixtures/words/over_replies.tsv`). English; words of
other languages are unknown to it, and what it does not know is for the agent.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from realtime.turn.small_talk import is_hum, tokens_of

WEIGHTS = Path(__file__).with_name("purpose.tsv")
FEWEST_WORDS, MOST_WORDS = 2, 14
"""Of an assent or a remark. Single words are listed, or answers; what is longer is for the agent."""
KNOWN_SHARE, BEGUN_SHARE = 0.6, 0.5
"""The share of words that have to be known; while more may come, a name often stands first."""
_LENGTHS = 8
"""Longer utterances count as this long."""
_STEP = 0.05
"""The weights are stored as multiples of this."""


class Purpose(NamedTuple):
    """Probabilities of what an utterance is for; their sum is 1."""

    agent: float
    """It wants something of the agent: a question, an objection, an order, an answer."""
    assent: float
    """It asks for nothing: agreement, appraisal, surprise."""
    beside: float
    """It is said to someone else, or to no one."""


FOR_AGENT = Purpose(1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of the features of an utterance: assent and beside, against agent."""

    bias: tuple[float, float]
    weights: Mapping[str, tuple[float, float]]
    common: frozenset[str]
    """Words that occur in talk about anything."""

    def purpose_of(
        self, text: str, talk: Sequence[str] = (), names: Sequence[str] = (), *, is_over: bool = True
    ) -> Purpose:
        """Weigh an utterance, or its beginning where it is not over.

        `talk` are words of the conversation: a remark to someone beside has none but common ones. `names` are those
        that the agent is called by.
        """
        words = words_of(text)
        known = sum(word in self.weights and not _is_letter(word) for word in words) / max(1, len(words))
        called = {token for name in names for token in tokens_of(name)}
        if (
            not FEWEST_WORDS <= len(words) <= MOST_WORDS
            or known < (KNOWN_SHARE if is_over else BEGUN_SHARE)
            or called & {*words}
        ):
            return FOR_AGENT
        found = {*features_of(words, is_over=is_over, is_question=text.rstrip().endswith("?"))}
        assent, beside = self.bias
        scale = _STEP / math.sqrt(len(found))
        for feature in found:
            if (weight := self.weights.get(feature)) is not None:
                assent += weight[0] * scale
                beside += weight[1] * scale
        assent, beside = math.exp(assent), math.exp(beside)
        if {*words} & {*talk} - self.common:
            beside = 0.0
        total = 1.0 + assent + beside
        return Purpose(1.0 / total, assent / total, beside / total)


@functools.cache
def model() -> Model:
    """Return the model that comes with the package; it is read at the first call, in 10 ms."""
    bias, common = (0.0, 0.0), frozenset[str]()
    weights: dict[str, tuple[float, float]] = {}
    for line in WEIGHTS.read_text(encoding="utf-8").splitlines():
        feature, *values = line.split("\t")
        if feature == "=bias":
            bias = float(values[0]), float(values[1])
        elif feature == "=common":
            common = frozenset(values[0].split())
        else:
            weights[feature] = int(values[0]), int(values[1])
    return Model(bias, weights, common)


def words_of(text: str) -> list[str]:
    """Return the words behind hesitations."""
    words = tokens_of(text)
    start = next((at for at, word in enumerate(words) if not is_hum(word)), len(words))
    return words[start:]


def features_of(words: Sequence[str], *, is_over: bool, is_question: bool) -> Iterator[str]:
    """Yield what the model weighs: words, neighbours, the beginning, and the end where it is known."""
    for at, word in enumerate(words):
        yield word
        if at + 1 < len(words):
            yield f"{word} {words[at + 1]}"
        if at + 2 < len(words):
            yield f"{word} _ {words[at + 2]}"
    for count in range(1, min(3, len(words)) + 1):
        yield f"^{' '.join(words[:count])}"
    length = min(len(words), _LENGTHS)
    if not is_over:
        yield f"~{length}"
        return
    yield f"#{length}"
    for count in range(1, min(2, len(words)) + 1):
        yield f"{' '.join(words[-count:])}$"
    if is_question:
        yield "?"


def _is_letter(word: str) -> bool:
    """Return whether a word is a letter, as in something spelled."""
    return len(word) == 1 and word not in ("a", "i")
