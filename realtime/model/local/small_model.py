"""A small language model in this process: SmolLM2 135M Instruct, on llama.cpp. It is often wrong.

Both come from packages of which nothing else is used (`requirements/small-model.txt`): the weights are read by path and
trusted by checksum. It answers what the rules of the keyless model cannot, and knows no more than the last words of
the user: with a longer history it repeats itself.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from realtime.errors import ProviderError
from realtime.message.speakers import speaker_and_words
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.model.local.weights import SpeechPartMissing, small_model_file

NAME = "SmolLM2 135M (small model, may be wrong)"
MAX_TOKENS = 48
"""The longest answer. It is one sentence: a second one mostly added nothing, or something wrong."""
MAX_ASKED_CHARS = 600
CONTEXT_TOKENS = 512
PHRASE_WORDS = 4
"""So many words in a row that come again end the answer."""
NO_WORDS = "I do not know what to say to that."

_SENTENCE = re.compile(r"^(.+?[.!?])(?=\s)", re.S)
_MARKUP = re.compile(r"[*_`#]+|<\|[^|]*\|>")
_TURN_MARKS = re.compile(r"<\|[^|]*\|>")


class Writer(Protocol):
    """Continues a text; `LlamaCpp` is one. Blocks its thread."""

    def write(self, text: str, is_done: Callable[[str], bool]) -> str:
        """Return what follows `text`, at most `MAX_TOKENS`: up to where `is_done` of it holds."""
        ...


class SmallLanguageModel:
    """Rules first; where none fits, a sentence of the small model, written by one call off the loop.

    `write_with` is called in the thread that writes, at the first answer (1 s, 150 MB). Raises ProviderError where the
    model cannot be loaded. It follows no instructions and calls no tools; the rules do.
    """

    name = NAME
    takes_images = False

    def __init__(self, rules: Conversationalist, write_with: Callable[[], Writer] | None = None) -> None:
        self._rules = rules
        self._write_with = write_with or shared_llama
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="realtime-small-model")

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel`. Closing it early ends the writing at the next word."""
        if self._rules.can_answer(prompt):
            async for reply in self._rules.respond(prompt):
                yield reply
            return
        loop, unwanted = asyncio.get_running_loop(), threading.Event()
        try:
            sentence = await loop.run_in_executor(self._executor, self._answer, words_of_user(prompt), unwanted)
        except SpeechPartMissing as error:
            raise ProviderError(error.message, code="model_missing") from error
        finally:
            unwanted.set()
        yield ReplyText(sentence or NO_WORDS)

    def close(self) -> None:
        """End the thread: only for tests and the end of the process."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _answer(self, words: str, unwanted: threading.Event) -> str:
        if unwanted.is_set():
            return ""
        written = self._write_with().write(asked_of(words), lambda text: unwanted.is_set() or is_whole(text))
        return sentence_of(written)


def words_of_user(prompt: Prompt) -> str:
    """Return what the user said last, without a speaker's name before it."""
    said = [item.text for item in prompt.history if item.type == "message" and item.role == "user"]
    return speaker_and_words(said[-1])[1] if said else ""


def asked_of(words: str) -> str:
    """Return the text that the model continues with its answer."""
    plain = _TURN_MARKS.sub(" ", words)[:MAX_ASKED_CHARS].strip()
    while (cleaner := _TURN_MARKS.sub(" ", plain)) != plain:
        plain = cleaner
    return f"<|im_start|>user\n{plain}<|im_end|>\n<|im_start|>assistant\n"


def is_whole(written: str) -> bool:
    """Whether no more is needed: a sentence has ended, or begins to repeat itself."""
    return _SENTENCE.match(written) is not None or _repeats_at(written.split()) is not None


def sentence_of(written: str) -> str:
    """Return the first sentence, up to a phrase that it repeats; empty: nothing to say."""
    found = _SENTENCE.match(written)
    words = _MARKUP.sub("", found[1] if found is not None else written).split()
    at = _repeats_at(words)
    if at is not None:
        while at and not words[at - 1].endswith((",", ";", ":")):
            at -= 1
        words = words[: at if at > PHRASE_WORDS else 0]
    text = " ".join(words).rstrip(" ,;:-")
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _repeats_at(words: list[str]) -> int | None:
    """Return where a phrase begins that came before; None: nowhere."""
    plain = [word.lower().strip(".,!?;:") for word in words]
    seen: set[tuple[str, ...]] = set()
    for at in range(len(plain) - PHRASE_WORDS + 1):
        phrase = tuple(plain[at : at + PHRASE_WORDS])
        if phrase in seen:
            return at
        seen.add(phrase)
    return None


class LlamaCpp:
    """llama.cpp with these weights, on one thread: more wait for each other where the cores are busy.

    Its HTTP server, which cannot be left out, listens on a socket in a private folder that is removed at once: no port
    is open and nothing can connect.
    """

    def __init__(self, weights: Path) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise SpeechPartMissing("the package xllamacpp is not installed") from None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx, parameters.n_parallel, parameters.n_threads_http = CONTEXT_TOKENS, 1, 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
        parameters.warmup, parameters.ui, parameters.verbosity = False, False, -1
        # By default it keeps what it was asked, in up to 8 GB.
        parameters.cache_ram_mib, parameters.n_ctx_checkpoints = 0, 0
        folder = tempfile.mkdtemp(prefix="realtime-")
        try:
            parameters.hostnames = [os.path.join(folder, "unused.sock")]
            self._server: Any = xllamacpp.Server(parameters)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write(self, text: str, is_done: Callable[[str], bool]) -> str:
        """See `Writer`."""
        written: list[str] = []

        def take(chunk: Any) -> bool:
            pieces = chunk if isinstance(chunk, list) else [chunk]
            written.extend(choice.get("text") or "" for piece in pieces for choice in piece.get("choices", ()))
            return is_done("".join(written))

        self._server.handle_completions(
            {"prompt": text, "max_tokens": MAX_TOKENS, "temperature": 0, "stream": True, "cache_prompt": False}, take
        )
        return "".join(written)


_loading = threading.Lock()


def shared_llama() -> LlamaCpp:
    """Return this process's model, loaded at the first call. Raises SpeechPartMissing."""
    with _loading:
        return _llama()


@cache
def _llama() -> LlamaCpp:
    return LlamaCpp(small_model_file())
