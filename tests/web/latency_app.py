"""Agents for the tests of latency: whoever sounds at the microphone is answered, some after a while."""

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from realtime.agent import RealtimeAgent
from realtime.model.base import AudioAppend, ModelInput
from realtime.model.scripted import PROFILE, ScriptedModel, Speak, SpeechEnd, SpeechStart, Step

LOUD = 1_000
"""A sample that is voice; the test's user is silent otherwise."""
SILENCE_MS = 200
"""This much silence ends a turn."""
AFTER_MS = (0.0, 120.0, 350.0, 700.0)
"""How long the model takes to speak, turn by turn."""
ANSWER_S = 0.4
ANSWER_PCM = np.full(int(ANSWER_S * PROFILE.output_rate_hz), 9_000, "<i2").tobytes()
"""Loud from the first sample on."""


def make_answerer() -> RealtimeAgent:
    """An agent that knows to the sample where a voice ends."""
    return RealtimeAgent("Echo", "Answer.", ScriptedModel(_Answerer().react))


class _Answerer:
    def __init__(self) -> None:
        self._position = 0
        self._last_loud: int | None = None
        self._after_ms: Iterator[float] = cycle(AFTER_MS)
        self._turns = 0

    def react(self, message: ModelInput) -> list[Step]:
        if not isinstance(message, AudioAppend):
            return []
        loud = np.flatnonzero(np.abs(np.frombuffer(message.pcm, "<i2").astype(int)) > LOUD)
        begin, self._position = self._position, self._position + len(message.pcm) // 2
        steps: list[Step] = []
        if loud.size:
            if self._last_loud is None:
                steps.append(SpeechStart(self._ms(begin + int(loud[0]))))
            self._last_loud = begin + int(loud[-1])
        elif self._last_loud is not None and self._ms(self._position - self._last_loud) >= SILENCE_MS:
            self._turns += 1
            steps += [
                SpeechEnd(self._ms(self._last_loud), f"Sound {self._turns}."),
                Speak(f"Answer {self._turns}.", ANSWER_PCM, after_ms=next(self._after_ms), wait=False),
            ]
            self._last_loud = None
        return steps

    def _ms(self, samples: int) -> int:
        return samples * 1000 // PROFILE.input_rate_hz
