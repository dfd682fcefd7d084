"""Recognise a voice while it lasts, with the embedded recogniser."""

from __future__ import annotations

from collections.abc import Callable

from realtime.audio.resample import Resampler
from realtime.model.local.ears import RATE_HZ
from realtime.model.local.engine import SpeechEngine, engine_of_loop

CONTEXT = "Mm-hmm. Uh-huh. Hmm. Yeah. Mm. Okay. Stop."
"""Makes Whisper write hums as hums: without it "mm-hmm" becomes "Mama." or "I make him"."""


def no_words(pcm: bytes, rate_hz: int, then: Callable[[str | None], None]) -> None:
    """Recognise nothing: the same with and without a loaded recogniser."""
    then(None)


def recognise_words(
    pcm: bytes, rate_hz: int, then: Callable[[str | None], None], *, engine: SpeechEngine | None = None
) -> None:
    """Recognise pcm16 with the engine; by default, that of the event loop.

    `then` gets the words, or None where no recogniser is loaded or it has too much to do.
    """
    engine = engine or engine_of_loop()
    recognizer = engine.parts.recognizer if engine.parts is not None else None
    if recognizer is None:
        then(None)
        return
    if rate_hz != RATE_HZ:
        resampler = Resampler(rate_hz, RATE_HZ)
        pcm = resampler.push(pcm) + resampler.flush()
    heard = engine.transcribe_part(recognizer, pcm, CONTEXT)
    if heard is None:
        then(None)
        return
    heard.add_done_callback(
        lambda done: then(None if done.cancelled() or done.exception() is not None else done.result().text)
    )
