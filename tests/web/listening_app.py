"""The embedded model as an agent that decides about voices over its replies."""

import sys
import time
from collections.abc import Callable

from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import recognise_words
from realtime.event.config import TurnDetection
from realtime.model.local.model import LocalRealtimeModel

Words = Callable[[str | None], None]


def recognise(pcm: bytes, rate_hz: int, then: Words) -> None:
    """Recognise as usual, and print how long that took."""
    began_s = time.perf_counter()

    def done(words: str | None) -> None:
        sys.stdout.write(f"recognised in {round((time.perf_counter() - began_s) * 1000)} ms\n")
        then(words)

    recognise_words(pcm, rate_hz, done)


def make_counter() -> RealtimeAgent:
    """An agent that counts when it is asked to."""
    detection = TurnDetection(interruption="selective")
    return RealtimeAgent("Counter", "Count.", LocalRealtimeModel(), turn_detection=detection, recognise=recognise)
