"""Fit `realtime/turn/purpose.tsv` to utterances over replies: `python tools/fit_purpose.py`.

`fixtures/words/over_replies.tsv` has one utterance a line: its purpose, a tab, the words as a recogniser writes them.
Several hands wrote them from imagination, each other scenes. `over_replies_heard.tsv` beside it has what the embedded
recogniser makes of some of them, spoken by synthetic voices over lines and in noise: of the whole, and of beginnings,
with a third column. How well the model does on utterances of a hand that it never saw is measured by leaving one hand
out: `python -m tools.fit_purpose --check`. Softmax regression with a little weight decay, by AdaGrad on all examples at
once; beginnings of utterances are examples as well, with less weight.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from realtime.turn.purpose import _STEP, WEIGHTS, Model, Purpose, features_of, words_of

WORDS = Path(__file__).resolve().parent.parent / "fixtures" / "words"
FILES = WORDS / "over_replies.tsv", WORDS / "over_replies_heard.tsv"
PURPOSES = Purpose._fields
LEAST = 3
"""A feature of fewer examples is chance."""
KEPT = 12_000
"""Features that are kept, by the size of their weights: further ones buy less than a hundredth."""
COMMON = 80
"""Utterances from which a word is a common one."""
DECAY = 1e-5
ROUNDS = 120
RATE = 0.5
BEGINNING = 0.5
"""The weight of all beginnings of an utterance, beside the utterance itself."""

Array = NDArray[np.float64]


class Utterance(NamedTuple):
    """One line of the file; `hand` is who wrote it."""

    hand: str
    purpose: int
    text: str
    is_over: bool = True


class Example(NamedTuple):
    """What the model is fitted to."""

    features: tuple[str, ...]
    purpose: int
    weight: float


def utterances(*files: Path) -> list[Utterance]:
    """Read the utterances; a line that begins with `#` names the hand of those that follow."""
    found, hand = [], ""
    for file in files or FILES:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                hand = line[1:].strip()
            else:
                purpose, text, *begun = line.split("\t")
                found.append(Utterance(hand, PURPOSES.index(purpose), text, is_over=not begun))
    return found


def examples(of: Iterable[Utterance]) -> list[Example]:
    """Return the utterances and their beginnings."""
    found = []
    for one in of:
        words = words_of(one.text)
        if not one.is_over:
            found.append(_example(one, words, BEGINNING / 4))
            continue
        found.append(_example(one, words, 1.0, is_over=True))
        for count in range(1, len(words) + 1):
            found.append(_example(one, words[:count], BEGINNING / len(words)))
    return [one for one in found if one.features]


def _example(of: Utterance, words: Sequence[str], weight: float, *, is_over: bool = False) -> Example:
    is_question = is_over and of.text.rstrip().endswith("?")
    features = features_of(words, is_over=is_over, is_question=is_question)
    return Example(tuple(dict.fromkeys(features)), of.purpose, weight)


def fit(of: Sequence[Utterance]) -> Model:
    """Return the model that fits these utterances."""
    given = examples(of)
    counts = Counter(feature for one in given for feature in one.features)
    names = sorted(feature for feature, count in counts.items() if count >= LEAST)
    numbers = {name: number for number, name in enumerate(names)}
    kept = [[numbers[feature] for feature in one.features if feature in numbers] for one in given]
    sizes = np.array([len(one) for one in kept])
    columns = np.array([number for one in kept for number in one])
    rows = np.repeat(np.arange(len(kept)), sizes)
    # As the model scales: by all features, known or not, each utterance weighs the same.
    scale = 1 / np.sqrt(np.array([len(one.features) for one in given]))
    wanted = np.eye(len(PURPOSES))[[one.purpose for one in given]]
    share = np.array([one.weight for one in given])
    share /= share.sum()
    weights, bias = np.zeros((len(names), len(PURPOSES))), np.zeros(len(PURPOSES))
    squares, bias_squares = np.full_like(weights, 1e-8), np.full_like(bias, 1e-8)
    for _ in range(ROUNDS):
        error = (_probabilities(weights, bias, columns, rows, scale) - wanted) * share[:, None]
        of_words = error * scale[:, None]
        slope = DECAY * weights + _sums(columns, of_words[rows], len(names))
        squares += slope * slope
        weights -= RATE * slope / np.sqrt(squares)
        bias_slope = error.sum(axis=0)
        bias_squares += bias_slope * bias_slope
        bias -= RATE * bias_slope / np.sqrt(bias_squares)
    return _model(names, weights, bias, of)


def _probabilities(
    weights: Array, bias: Array, columns: NDArray[np.int64], rows: NDArray[np.int64], scale: Array
) -> Array:
    scores = _sums(rows, weights[columns], len(scale)) * scale[:, None] + bias
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Array = powers / powers.sum(axis=1, keepdims=True)
    return found


def _sums(places: NDArray[np.int64], values: Array, count: int) -> Array:
    """Return the sums of the rows of `values` by place."""
    return np.stack([np.bincount(places, column, count) for column in values.T], axis=1)


def _model(names: Sequence[str], weights: Array, bias: Array, of: Sequence[Utterance]) -> Model:
    """Return what is kept of the weights, against those for the agent."""
    against = np.rint((weights[:, 1:] - weights[:, :1]) / _STEP).astype(int)
    seen = Counter(word for one in of for word in {*words_of(one.text)})
    size = np.abs(against).max(axis=1)
    # A word counts as known by its row, whatever it weighs.
    size[[name in seen and seen[name] > 1 for name in names]] += against.max()
    kept = sorted(np.argsort(-size, kind="stable")[:KEPT])
    return Model(
        (float(bias[1] - bias[0]), float(bias[2] - bias[0])),
        {names[number]: (int(against[number, 0]), int(against[number, 1])) for number in kept},
        frozenset(word for word, count in seen.items() if count >= COMMON),
    )


def write(model: Model, file: Path = WEIGHTS) -> None:
    """Write the model, a feature a line."""
    lines = [f"=bias\t{model.bias[0]:.4f}\t{model.bias[1]:.4f}", f"=common\t{' '.join(sorted(model.common))}"]
    lines += [f"{name}\t{assent:.0f}\t{beside:.0f}" for name, (assent, beside) in model.weights.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shares(model: Model, of: Sequence[Utterance], limit: float) -> dict[str, float]:
    """Return, by purpose, the share of utterances that are for the agent with less than `limit`."""
    return {
        name: float(
            np.mean([model.purpose_of(one.text).agent < limit for one in of if one.purpose == number and one.is_over])
        )
        for number, name in enumerate(PURPOSES)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="leave out one hand after the other and print the totals")
    every = utterances()
    if not parser.parse_args().check:
        write(fit(every))
        return
    for hand in dict.fromkeys(one.hand for one in every):
        model = fit([one for one in every if one.hand != hand])
        unseen = [one for one in every if one.hand == hand]
        for limit in (0.05, 0.1, 0.15, 0.2):
            told = ", ".join(f"{name} {share:.3f}" for name, share in shares(model, unseen, limit).items())
            print(f"{hand}, below {limit}: {told}", flush=True)


if __name__ == "__main__":
    main()
