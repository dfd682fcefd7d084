"""The recognitions of one session: a speculative one, and those whose items wait for their words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from realtime.audio.pcm import ms_of
from realtime.errors import Overflow
from realtime.model.local.ears import RATE_HZ
from realtime.model.local.engine import SpeechEngine, Transcriber
from realtime.model.local.recognizer import Transcript

logger = logging.getLogger(__name__)

OnWords = Callable[[str, "asyncio.Future[Transcript] | None"], None]
"""Called with the item and its finished recognition; None if the server was overloaded."""


class Recognition:
    """Starts and tracks recognitions; calls `on_words` once for each item, perhaps at once.

    `better` recognises whole turns and items, unless too much waits for it. The words that help to end a turn, which
    must be there half a second after the voice, come from `recognizer`.
    """

    def __init__(
        self,
        engine: SpeechEngine,
        recognizer: Transcriber | None,
        on_words: OnWords,
        better: Transcriber | None = None,
    ) -> None:
        self._engine = engine
        self._recognizer = recognizer
        self._better = better
        self._on_words = on_words
        self.hint = ""
        """Text whose words and spelling are likelier than others: names of those who are present."""
        self._guess: asyncio.Future[Transcript] | None = None
        self._early: asyncio.Future[Transcript] | None = None
        """The recognition whose words help to end the turn."""
        self._waiting: dict[str, asyncio.Future[Transcript]] = {}

    @property
    def waiting(self) -> list[asyncio.Future[Transcript]]:
        """The recognitions that items wait for."""
        return [*self._waiting.values()]

    def guess(self, clip: bytes, then: Callable[[str], None]) -> None:
        """Recognise a clip in advance: the turn may be over. `then` gets its words, unless that fails or is dropped."""
        better = self._start_better(clip)
        self._early = early = self._start_fast(clip)
        self._guess = early if better is None else better
        if early is not None:
            early.add_done_callback(lambda done: _pass_words(done, then))

    def drop_guess(self) -> None:
        """Cancel the recognition in advance: the turn continues."""
        for heard in (self._guess, self._early):
            if heard is not None:
                heard.cancel()
        self._guess = self._early = None

    def take_turn(self, item_id: str, clip: bytes) -> None:
        """Recognise the clip of a turn's item; reuses the recognition in advance."""
        guess, self._guess = self._guess, None
        early, self._early = self._early, None
        if early is not None and early is not guess:
            early.cancel()
        self._wait(item_id, guess if guess is not None else self._start(clip))

    def take_item(self, item_id: str, clip: bytes) -> None:
        """Recognise the audio of an added item."""
        self._wait(item_id, self._start(clip))

    def forget(self, item_id: str) -> None:
        """Stop waiting for the words of an item, which was deleted."""
        self._waiting.pop(item_id, None)

    def close(self) -> None:
        """Cancel every recognition."""
        self.drop_guess()
        for heard in self._waiting.values():
            heard.cancel()
        self._waiting.clear()

    def _start(self, clip: bytes) -> asyncio.Future[Transcript] | None:
        """Start recognition with the best recogniser that has time; returns None if too much of it waits."""
        better = self._start_better(clip)
        return self._start_fast(clip) if better is None else better

    def _start_better(self, clip: bytes) -> asyncio.Future[Transcript] | None:
        return None if self._better is None else self._engine.transcribe_better(self._better, clip, self.hint)

    def _start_fast(self, clip: bytes) -> asyncio.Future[Transcript] | None:
        assert self._recognizer is not None
        try:
            return self._engine.transcribe(self._recognizer, clip, self.hint)
        except Overflow:
            logger.warning("recognition is overloaded, a turn of %d ms was dropped", ms_of(len(clip), RATE_HZ))
            return None

    def _wait(self, item_id: str, heard: asyncio.Future[Transcript] | None) -> None:
        if heard is None or heard.done():
            self._on_words(item_id, heard)
        else:
            self._waiting[item_id] = heard
            heard.add_done_callback(lambda done: self._finish(item_id, done))

    def _finish(self, item_id: str, heard: asyncio.Future[Transcript]) -> None:
        self._waiting.pop(item_id, None)
        self._on_words(item_id, heard)


def _pass_words(done: asyncio.Future[Transcript], then: Callable[[str], None]) -> None:
    if not done.cancelled() and done.exception() is None:
        then(done.result().text)
