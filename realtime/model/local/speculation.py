"""Begin a response in a pause that may end the turn.

It is kept if the turn ends with the same words. A `Draft` asks the language model in advance and may synthesise the
first sentence. It is a buffer: it emits no event, adds no item and runs no tool. A response whose prompt asks the same
takes the buffered pieces as if the language model wrote them now, so nothing is seen or heard before the decision that
the turn is over.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from realtime.errors import UsageError
from realtime.event.base import Item
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import (
    CallLanguageModel,
    Prompt,
    Reply,
    ReplyText,
    ReplyToolCall,
    ReplyToolRun,
)
from realtime.model.local.passages import Passage, PassageSplitter
from realtime.model.local.prompt import asks_the_same
from realtime.model.local.voice import Voice

Mode = Literal["off", "words", "speech"]
"""What a draft makes: nothing, the language model's words, or also the sound of the first sentence."""
MODE = "REALTIME_SPECULATION"
DEFAULT_MODE: Mode = "speech"

MAX_TRIES = 3
"""Drafts of one turn."""
MAX_TURN_MS = 10_000
"""Longer turns have no drafts: their pauses are seldom the end."""
_MAX_PIECES = 1_000
"""Pieces that wait for the decision; the language model is read no further."""


def mode_from_environment(environment: Mapping[str, str] = os.environ) -> Mode:
    """Return what REALTIME_SPECULATION names, else the default. Raises UsageError for another word."""
    match environment.get(MODE, "").strip().lower():
        case "":
            return DEFAULT_MODE
        case "off" | "words" | "speech" as mode:
            return mode
        case other:
            raise UsageError(f"{MODE} is off, words or speech, not {other[:20]!r}", code="speculation")


@dataclass(slots=True)
class DraftCounts:
    """The drafts of all calls of a model. `dropped` is waste; a draft that waits is in neither count."""

    started: int = 0
    kept: int = 0
    dropped: int = 0
    saved_ms: float = 0.0
    """How much sooner the kept ones sounded, in sum."""


class Draft:
    """A response's pieces and its first sentence's sound, made in advance.

    `engine` None: no sound. With a `voice` of None the response is only written.
    """

    def __init__(
        self,
        prompt: Prompt,
        language_model: CallLanguageModel,
        voice: Voice | None,
        engine: SpeechEngine | None,
        now: Callable[[], float],
    ) -> None:
        self._kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.prompt = replace(prompt, kept=self._kept)
        self.failed = False
        """Whether the language model failed: a response asks it again."""
        self._language_model = language_model
        self._voice = voice
        self._engine = engine
        self._now = now
        self._pieces: asyncio.Queue[Reply | Exception | None] = asyncio.Queue(_MAX_PIECES)
        self._first: tuple[str, asyncio.Future[bytes]] | None = None
        """The first sentence and its sound."""
        self._started_s = now()
        self._ready_s: float | None = None
        self.task = asyncio.get_running_loop().create_task(self._write(), name="draft")

    @property
    def gained_s(self) -> float:
        """How much sooner a response that begins now has its first sentence."""
        return (self._now() if self._ready_s is None else self._ready_s) - self._started_s

    def keep(self) -> AsyncGenerator[Reply, None]:
        """Let the draft count; return its pieces."""
        self._kept.set_result(True)
        return self._replies()

    async def _replies(self) -> AsyncGenerator[Reply, None]:
        """Yield the pieces, then further ones as they come. Raises what the language model raised."""
        try:
            while (piece := await self._pieces.get()) is not None:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.task.cancel()

    def sound(self, voice: Voice, sentence: str) -> asyncio.Future[bytes] | None:
        """Return the sound of the first sentence; None for another sentence or voice."""
        if self._first is None or self._voice is not voice or self._first[0] != sentence:
            return None
        return self._first[1]

    def drop(self) -> None:
        """Stop the language model and the synthesis."""
        self._kept.set_result(False)
        self.task.cancel()
        if self._first is not None:
            self._first[1].cancel()

    async def _write(self) -> None:
        passages = PassageSplitter()
        try:
            async with aclosing(self._language_model.respond(self.prompt)) as replies:
                async for reply in replies:
                    match reply:
                        case ReplyText(text=text):
                            self._take(passages.push(text))
                        case ReplyToolCall() | ReplyToolRun():
                            self._take(passages.finish())
                        case _:
                            pass
                    await self._pieces.put(reply)
            self._take(passages.finish())
            if self._first is None:
                self._be_ready()
            await self._pieces.put(None)
        except Exception as error:
            self.failed = True
            await self._pieces.put(error)

    def _take(self, passages: Sequence[Passage]) -> None:
        """Begin the first sentence, once."""
        if not passages or self._first is not None or self._ready_s is not None:
            return
        sound = None
        if self._engine is not None and self._voice is not None:
            sound = self._engine.synthesize_ahead(self._voice, passages[0].aloud)
        if sound is None:
            self._be_ready()
        else:
            self._first = passages[0].aloud, sound
            sound.add_done_callback(lambda done: self._be_ready())

    def _be_ready(self) -> None:
        if self._ready_s is None:
            self._ready_s = self._now()


class Speculation:
    """One session's language model and voices, with at most one draft."""

    def __init__(
        self,
        mode: Mode,
        language_model: CallLanguageModel,
        engine: SpeechEngine,
        counts: DraftCounts,
        now: Callable[[], float],
    ) -> None:
        self._mode = mode
        self._language_model = language_model
        self._engine = engine
        self._counts = counts
        self._now = now
        self._tries = 0
        self._draft: Draft | None = None
        """The draft that waits for the decision."""
        self._kept: Draft | None = None
        """The draft that a response took, until its first sentence is spoken."""
        self._tasks: set[asyncio.Task[None]] = set()

    def begin_turn(self) -> None:
        """Drop the draft; the new turn has all its tries."""
        self.drop()
        self._tries = 0

    def begin(self, prompt: Prompt, voice: Voice | None, turn_ms: int) -> None:
        """Start a draft in a pause, within the limits; the turn lasts `turn_ms` so far."""
        self.drop()
        if self._mode == "off" or self._tries >= MAX_TRIES or turn_ms > MAX_TURN_MS:
            return
        if not self._language_model.may_draft:
            return
        self._tries += 1
        self._counts.started += 1
        engine = self._engine if self._mode == "speech" else None
        self._draft = draft = Draft(prompt, self._language_model, voice, engine, self._now)
        self._tasks.add(draft.task)
        draft.task.add_done_callback(self._tasks.discard)

    def begin_again(self, prompt: Prompt, voice: Voice | None, turn_ms: int) -> None:
        """Replace the draft that waits, if any: what precedes the same words has changed. This is no further try."""
        if self._draft is not None:
            self._tries -= 1
            self.begin(prompt, voice, turn_ms)

    def drop(self) -> None:
        """Drop the draft: the turn continues, or what was said changes."""
        draft, self._draft = self._draft, None
        if draft is not None:
            self._counts.dropped += 1
            draft.drop()

    def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """Return the response: the draft if it answers this prompt, else the language model's."""
        draft = self._draft
        if draft is None or draft.failed or not asks_the_same(draft.prompt, prompt):
            self.drop()
            return self._language_model.respond(prompt)
        self._draft, self._kept = None, draft
        self._counts.kept += 1
        self._counts.saved_ms += draft.gained_s * 1000
        return draft.keep()

    def synthesize(self, voice: Voice, sentence: str) -> asyncio.Future[bytes]:
        """Speak a sentence; the first one of a kept draft is spoken already. See `SpeechEngine.synthesize`."""
        kept, self._kept = self._kept, None
        made = None if kept is None else kept.sound(voice, sentence)
        return self._engine.synthesize(voice, sentence) if made is None else made

    def interrupt(self) -> None:
        """Stop what still runs of the last response after its end: the user has the floor."""
        self._language_model.interrupt()

    async def close(self, history: Sequence[Item]) -> None:
        """Drop the draft and wait for the end of every task.

        The language model ends with it; `history` is all of the conversation.
        """
        self.drop()
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            await self._language_model.close(history)
