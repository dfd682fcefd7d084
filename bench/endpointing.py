"""Cut turns against latency: the decision about the end of a turn beside the plain timer, on labelled pauses.

Offline and in the audio's own time, so the numbers are the same on each run: detector, recogniser and Smart Turn
are real, their results arrive `WORDS_MS` and `VOICE_MS` after the pause. The weights of a speaker's turns are those
that fit the other speakers best. Needs the extra `local` and Smart Turn (docs/listening.md says how to install it);
recordings of real speakers join where REALTIME_RECORDINGS is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np

from bench.labelled_turns import Turn, turns_of_fixtures, varied_turns
from bench.process import ROOT
from bench.report import Check, Section
from realtime.audio.endpoint import SILENCE_MS, Endpoint, EndpointConfig, TurnEnded
from realtime.audio.pcm import ms_of
from realtime.audio.vad import FRAME_BYTES, shared_silero
from realtime.event.config import TurnDetection
from realtime.model.local.ears import RATE_HZ, Ears, Ended, Paused, endpoint_config
from realtime.model.local.recognizer import Recognizer
from realtime.model.local.smart_turn import SmartTurn
from realtime.model.local.weights import smart_turn_file, whisper_folder
from realtime.turn.endpointing import FITTED, Endpointing, Weights

SILENCES_MS = (300, 400, 500, 600, 700, 900, 1_200, 1_600)
DEFAULT_MS = 500
WORDS_MS = 160
"""Recognition of a clip takes 120 to 190 ms."""
VOICE_MS = 60
"""Smart Turn takes 40 to 90 ms."""
CHUNK_BYTES = RATE_HZ // 50 * 2
EDGE_MS = 200
"""A turn that ends this close to its label is whole."""
FEW_CUTS = 3
"""From this many cut turns of the timer on, the goal is half of them."""
WILSON_Z = 1.96
WORDS_CANDIDATES = tuple(Weights(hanging=hanging, digits=digits) for hanging, digits in product((2, 3, 4), (1.5, 2, 3)))
# A longer wait, or one for a voice that sounds rather complete, delays short answers, too.
VOICE_CANDIDATES = tuple(
    Weights(digits=digits, incomplete=incomplete, likely=likely)
    for digits, incomplete, likely in product((2, 3), (1.5, 2, 2.5), (0.5, 0.7, 0.8))
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What becomes known of a pause, from its audio, and the weights to choose from."""

    candidates: tuple[Weights, ...]
    words_of: Callable[[bytes], str]
    completeness_of: Callable[[bytes], float] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a turn: whether it was cut, and how long after its end it was found to be over."""

    turn: Turn
    cut: bool
    latency_ms: int | None


class KnownVad:
    """Judges the frames of a turn as Silero did once."""

    def __init__(self, turn: Turn) -> None:
        self._left = iter(_probabilities(turn))

    def probability(self, frame: bytes) -> float:
        """See `Vad`."""
        return next(self._left)

    def reset(self) -> None:
        """Do nothing: a replay begins with the first frame."""


@cache
def _probabilities(turn: Turn) -> list[float]:
    vad = shared_silero().stream()
    starts = range(0, len(turn.pcm) - FRAME_BYTES + 1, FRAME_BYTES)
    return [vad.probability(turn.pcm[start : start + FRAME_BYTES]) for start in starts]


def replay(turn: Turn, silence_ms: int, evidence: Evidence | None, weights: Weights = FITTED) -> Outcome:
    """Replay a turn; without evidence its end is a plain timer's."""
    if evidence is None:
        return _replay_with_timer(turn, silence_ms)
    ears = Ears(KnownVad(turn), endpointing=Endpointing(SILENCE_MS, weights=weights))
    ears.configure(endpoint_config(TurnDetection(silence_duration_ms=silence_ms)))
    due: list[tuple[int, Callable[[], None]]] = []
    ends: list[tuple[int, int]] = []
    for start in range(0, len(turn.pcm), CHUNK_BYTES):
        while due and ears.position_ms >= due[0][0]:
            due.pop(0)[1]()
        for heard in ears.push(turn.pcm[start : start + CHUNK_BYTES]):
            if isinstance(heard, Paused):
                due = _due(ears, heard, evidence)
            elif isinstance(heard, Ended):
                ends.append((heard.end_ms, heard.at_ms))
    return _outcome(turn, ends)


def _due(ears: Ears, paused: Paused, evidence: Evidence) -> list[tuple[int, Callable[[], None]]]:
    """Return when which evidence of a pause arrives."""
    now_ms, number = ears.position_ms, paused.number
    due: list[tuple[int, Callable[[], None]]] = []
    if evidence.completeness_of is not None:
        completeness = evidence.completeness_of(paused.newest)
        due.append((now_ms + VOICE_MS, partial(ears.take_completeness, number, completeness)))
    return [*due, (now_ms + WORDS_MS, partial(ears.take_words, number, evidence.words_of(paused.pcm)))]


def _replay_with_timer(turn: Turn, silence_ms: int) -> Outcome:
    endpoint = Endpoint(KnownVad(turn), EndpointConfig(silence_ms=silence_ms, keep_audio=False))
    ends: list[tuple[int, int]] = []
    for start in range(0, len(turn.pcm), CHUNK_BYTES):
        for event in endpoint.push(turn.pcm[start : start + CHUNK_BYTES]):
            if isinstance(event, TurnEnded):
                ends.append((event.end_ms, ms_of(start + CHUNK_BYTES, RATE_HZ)))
    return _outcome(turn, ends)


def _outcome(turn: Turn, ends: Sequence[tuple[int, int]]) -> Outcome:
    """Judge the (end, decision) positions of the turns that were found."""
    last = next((at_ms for end_ms, at_ms in ends if end_ms >= turn.end_ms - EDGE_MS), None)
    cut = any(end_ms < turn.end_ms - EDGE_MS for end_ms, _ in ends)
    return Outcome(turn, cut, None if last is None else last - turn.end_ms)


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    if not total:
        return 0.0, 1.0
    share, z2 = count / total, WILSON_Z**2
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = WILSON_Z * np.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    return max(0.0, centre - half), min(1.0, centre + half)


class Timer:
    """What a timer makes of the turns, at several silences."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.outcomes = {silence_ms: [replay(turn, silence_ms, None) for turn in turns] for silence_ms in SILENCES_MS}

    def cut(self, latency_ms: float, without: str | None = None) -> float:
        """Return how many turns a timer of this mean latency cuts, of all speakers or all but one."""
        points = sorted((_mean(arm), _cut(arm)) for arm in (_without(one, without) for one in self.outcomes.values()))
        return float(np.interp(latency_ms, *zip(*points, strict=True)))


class Arm:
    """What the decision makes of the turns of each speaker, with the weights that fit the other speakers best."""

    def __init__(self, timer: Timer, evidence: Evidence) -> None:
        self._timer = timer
        self._evidence = evidence
        fitting = {weights: self._decided(weights, DEFAULT_MS) for weights in evidence.candidates}
        self.chosen = {turn.speaker: self._chosen(turn.speaker, fitting) for turn in timer.turns}
        self.fitted = self._chosen(None, fitting)
        """The weights that fit all speakers best."""

    def held_out(self, silence_ms: int) -> list[Outcome]:
        """Return what becomes of each turn with the weights that other speakers' turns chose."""
        by_weights = {weights: self._decided(weights, silence_ms) for weights in set(self.chosen.values())}
        return [by_weights[self.chosen[turn.speaker]][at] for at, turn in enumerate(self._timer.turns)]

    def _decided(self, weights: Weights, silence_ms: int) -> list[Outcome]:
        return [replay(turn, silence_ms, self._evidence, weights) for turn in self._timer.turns]

    def _chosen(self, speaker: str | None, fitting: dict[Weights, list[Outcome]]) -> Weights:
        def gain(weights: Weights) -> float:
            others = _without(fitting[weights], speaker)
            return self._timer.cut(_mean(others), speaker) - _cut(others)

        return max(self._evidence.candidates, key=gain)


async def measure_endpointing(silences_ms: Sequence[int] = SILENCES_MS) -> Section:
    """Replay every labelled turn with a timer and with the decision, at each configured silence."""
    turns = [*turns_of_fixtures(), *varied_turns()]
    recognizer, judge = Recognizer.load(whisper_folder()), SmartTurn(smart_turn_file())
    words_of = cache(lambda pcm: recognizer.transcribe(pcm).text)
    timer = Timer(turns)
    words = Arm(timer, Evidence(WORDS_CANDIDATES, words_of))
    voice = Arm(timer, Evidence(VOICE_CANDIDATES, words_of, cache(judge.completeness)))
    section = Section(
        "endpointing",
        "Measured: cut turns against latency",
        f"{len(turns)} labelled turns of {len(voice.chosen)} speakers with {sum(turn.pauses for turn in turns)} "
        "pauses inside, replayed in the audio's own time. Cut: turns that were cut, with the 95 % interval of their "
        "share, and the mean latency from the labelled end of the voice to the decision. The weights of a decision "
        f"are chosen on the other speakers' turns (leave one speaker out); those that fit all best: {voice.fitted}. "
        "The last column is the timer of the same mean latency as words and voice, between two measured silences.",
        ("silence", "timer: cut", "mean", "words: cut", "mean", "words and voice: cut", "mean", "median", "timer: cut"),
        page=ROOT / "docs" / "listening.md",
    )
    for silence_ms in silences_ms:
        arms = [timer.outcomes[silence_ms], words.held_out(silence_ms), voice.held_out(silence_ms)]
        decision = arms[-1]
        same_mean = timer.cut(_mean(decision))
        cells = [cell for arm in arms for cell in _cells(arm)]
        section.rows.append((f"{silence_ms} ms", *cells, f"{_median(decision):.0f} ms", f"{same_mean:.1f}"))
        section.data[str(silence_ms)] = {
            "cut": [_cut(arm) for arm in arms],
            "mean_ms": [_mean(arm) for arm in arms],
            "latencies_ms": [[one.latency_ms for one in arm] for arm in arms],
        }
        limit = same_mean / 2 if same_mean >= FEW_CUTS else same_mean
        section.checks.append(Check(f"cut turns at {silence_ms} ms, of the timer's", _cut(decision), round(limit, 1)))
        if silence_ms == DEFAULT_MS:
            whole = [_median([one for one in arm if not one.turn.pauses]) for arm in (arms[0], decision)]
            section.checks.append(Check("median latency of turns without a pause", whole[1], whole[0], " ms"))
    section.data["chosen"] = [
        [str(weights), count] for arm in (words, voice) for weights, count in Counter(arm.chosen.values()).items()
    ]
    return section


def _without(outcomes: Sequence[Outcome], speaker: str | None) -> list[Outcome]:
    return [one for one in outcomes if one.turn.speaker != speaker]


def _cut(outcomes: Sequence[Outcome]) -> int:
    return sum(one.cut for one in outcomes)


def _mean(outcomes: Sequence[Outcome]) -> float:
    return float(np.mean([one.latency_ms for one in outcomes if one.latency_ms is not None]))


def _median(outcomes: Sequence[Outcome]) -> float:
    return float(np.median([one.latency_ms for one in outcomes if one.latency_ms is not None]))


def _cells(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    cut = _cut(outcomes)
    low, high = wilson(cut, len(outcomes))
    return f"{cut} ({low:.0%} to {high:.0%})", f"{_mean(outcomes):.0f} ms"
