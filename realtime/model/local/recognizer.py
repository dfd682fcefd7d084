"""Speech to text: Whisper, one finished utterance per call.

Whisper was trained on windows of exactly 30 s and pads every clip to that length, which makes a two-second command
cost as much as half a minute of dictation. Measurements show two safe windows: 15 s for clips up to 13 s, and 30 s
above. Shorter windows make it repeat itself without end (word error rate 37 % at 10 s), so there is no other length.

Plain CTranslate2 with our own log-mel features: both release the interpreter lock, so one `Recognizer` serves every
call from a worker thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

SAMPLE_RATE_HZ = 16_000
_BYTES_PER_SAMPLE = 2
_N_FFT = 400
_HOP = 160
_MELS = 80
_FRAMES_PER_S = SAMPLE_RATE_HZ // _HOP

_SHORT_WINDOW_S = 15
_LONG_WINDOW_S = 30
_SHORT_WINDOW_CLIP_S = 13.0
_LONG_WINDOW_CLIP_S = 29.5
# Speech this short is one word at most ("yes"); anything shorter is indistinguishable from a click.
_SHORTEST_CLIP_S = 0.05

NO_SPEECH_LIMIT = 0.6
# On music Whisper is less sure that there is no speech, but not sure of its words either: words of real speech had a
# mean log probability of -0.9 and more, invented ones of -1.2 and less.
_DOUBT_LIMIT = 0.3
_DOUBTFUL_LOGPROB = -1.1
# Whisper base is surer of both: music came to 0.23 with -1.3, speech in babble to at most 0.57 with at least -0.9.
_BETTER_DOUBT_LIMIT = 0.2
_BEAM_SIZE = 5
# In noise Whisper base mishears 14.4 % of words with 7 and 15.6 % with 5, in the same time; more adds nothing.
_BETTER_BEAM_SIZE = 7
# Full length normalisation (1.0) favours longer readings, which are wrong for clips of a few words.
_LENGTH_PENALTY = 0.6
# Fast talk has about 6 tokens a second; endless repeats have 20 and more.
_TOKENS_PER_S = 8
_TOKENS_BESIDE = 16
# Half of Whisper's text context: the most that it writes for one window of 30 s.
_TOKENS_PER_WINDOW = 224
# A Whisper of many languages needs the one to write, and that it should not translate.
_ENGLISH = ("<|en|>", "<|transcribe|>")


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of one utterance.

    `text` is "" for non-speech. `no_speech_prob` (0..1) is the highest of the parts kept or, if none is left, of those
    dropped as non-speech. `audio_ms` is the length of the audio. `doubted` are the words with those that were dropped:
    where a detector is sure of the voice, they are the better reading.
    """

    text: str
    no_speech_prob: float
    audio_ms: int
    doubted: str = ""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of one pass of the network over one window.

    The tokens in order, the probability that there is no speech (0..1), and the mean natural logarithm of the tokens'
    probability.
    """

    tokens: tuple[int, ...]
    no_speech_prob: float
    mean_logprob: float = 0.0

    def is_invented(self, doubt_limit: float) -> bool:
        """Return whether the words are more likely invented than recognised.

        Above `doubt_limit`, a probability that there is no speech, they must be sure.
        """
        if self.no_speech_prob > NO_SPEECH_LIMIT:
            return True
        return self.no_speech_prob > doubt_limit and self.mean_logprob < _DOUBTFUL_LOGPROB


class SpeechDecoder(Protocol):
    """Turns features into tokens and tokens into text: CTranslate2, or a table in tests."""

    def decode(self, features: Floats, max_tokens: int, context: str = "") -> Decoded:
        """Decode features to at most `max_tokens` tokens; `context` is the text before them.

        `features` has the shape (1, 80, frames), 100 frames a second.
        """
        ...

    def text(self, tokens: Iterable[int]) -> str:
        """Write tokens as text, without special tokens."""
        ...


class Recognizer:
    """Turns pcm16 at 16 kHz into text. Thread-safe; a call occupies its thread for about 35 ms per second of speech."""

    def __init__(self, decoder: SpeechDecoder, doubt_limit: float = _DOUBT_LIMIT) -> None:
        self._decoder = decoder
        self._doubt_limit = doubt_limit

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, workers: int = 1) -> Recognizer:
        """Load Whisper tiny.en, converted for CTranslate2, from `folder` (0.6 s, 70 MB).

        `workers` is the number of concurrent calls, one core each. Never touches the network. Raises what
        CTranslate2 raises on a damaged folder; `weights.whisper_folder` checks the files first.
        """
        files = {"tokenizer.json": Path(folder, "tokenizer.json").read_bytes()}
        return cls(_Whisper(_network(os.fspath(folder), workers), files))

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> Recognizer:
        """Load a multilingual Whisper, to write English, from its files by name."""
        return cls(_Whisper(_network("", 1, files), files, _ENGLISH, _BETTER_BEAM_SIZE), _BETTER_DOUBT_LIMIT)

    def warm_up(self) -> None:
        """Pay the first call's extra cost (memory, threads) in advance."""
        self._window(np.zeros(SAMPLE_RATE_HZ, np.float32), _SHORT_WINDOW_S, _TOKENS_BESIDE)

    def transcribe(self, pcm16_16k: bytes, context: str = "") -> Transcript:
        """Recognise one utterance: pcm16 little-endian mono at 16 kHz of any length (a trailing odd byte is ignored).

        `context` is text that could have come before: its words and spelling become likelier.
        Pass only audio in which a detector found speech: on noise and music Whisper invents sentences. Those with a
        low probability are dropped here, as the second line of defence.
        """
        samples = np.frombuffer(pcm16_16k, "<i2", len(pcm16_16k) // _BYTES_PER_SAMPLE).astype(np.float32) / 32768.0
        texts: list[str] = []
        doubted: list[str] = []
        kept: list[float] = []
        dropped: list[float] = [0.0]
        for part in split_at_pauses(samples):
            decoded = self._utterance(part, context)
            if decoded is None:
                continue
            text = self._decoder.text(decoded.tokens).strip()
            has_words = any(char.isalnum() for char in text)
            doubted += [text] if has_words else []
            if decoded.is_invented(self._doubt_limit):
                dropped.append(decoded.no_speech_prob)
            elif has_words:
                texts.append(text)
                kept.append(decoded.no_speech_prob)
        return Transcript(
            text=" ".join(texts),
            no_speech_prob=max(kept or dropped),
            audio_ms=round(len(samples) * 1000 / SAMPLE_RATE_HZ),
            doubted=" ".join(doubted),
        )

    def _utterance(self, samples: Floats, context: str) -> Decoded | None:
        seconds = len(samples) / SAMPLE_RATE_HZ
        if seconds < _SHORTEST_CLIP_S:
            return None
        max_tokens = min(_TOKENS_PER_WINDOW, int(seconds * _TOKENS_PER_S) + _TOKENS_BESIDE)
        if seconds <= _SHORT_WINDOW_CLIP_S:
            decoded = self._window(samples, _SHORT_WINDOW_S, max_tokens, context)
            if len(decoded.tokens) < max_tokens:
                return decoded
        return self._window(samples, _LONG_WINDOW_S, max_tokens, context)

    def _window(self, samples: Floats, window_s: int, max_tokens: int, context: str = "") -> Decoded:
        return self._decoder.decode(log_mel(samples, window_s)[np.newaxis], max_tokens, context)


def _network(folder: str, workers: int, files: Mapping[str, bytes] | None = None) -> Any:
    """Load the network, int8, one thread per call: from a folder, or from the content of files."""
    import ctranslate2

    return ctranslate2.models.Whisper(
        folder, device="cpu", compute_type="int8", inter_threads=workers, intra_threads=1, files=files
    )


class _Whisper:
    """The network on CTranslate2 and its tokens; `task` are those of the language and what to do with it."""

    def __init__(
        self, network: Any, files: Mapping[str, bytes], task: Sequence[str] = (), beam_size: int = _BEAM_SIZE
    ) -> None:
        import ctranslate2
        import tokenizers

        self._storage: Any = ctranslate2.StorageView
        self._model = network
        self._beam_size = beam_size
        self._tokenizer: Any = tokenizers.Tokenizer.from_buffer(files["tokenizer.json"])
        self._prompt = [self._id(token) for token in ("<|startoftranscript|>", *task, "<|notimestamps|>")]
        self._end = self._id("<|endoftext|>")

    def _id(self, token: str) -> int:
        number = self._tokenizer.token_to_id(token)
        if not isinstance(number, int):
            raise ValueError(f"tokenizer.json has no token {token}")
        return number

    def decode(self, features: Floats, max_tokens: int, context: str = "") -> Decoded:
        prompt = [*self._before(context), *self._prompt]
        [result] = self._model.generate(
            self._storage.from_array(np.ascontiguousarray(features)),
            [prompt],
            beam_size=self._beam_size,
            length_penalty=_LENGTH_PENALTY,
            max_length=max_tokens + len(prompt),
            return_no_speech_prob=True,
            return_scores=True,
        )
        tokens = tuple(result.sequences_ids[0])
        # The score is the sum over the tokens and the end, divided by their number to the power of the penalty.
        mean_logprob = result.scores[0] / (len(tokens) + 1) ** (1 - _LENGTH_PENALTY)
        return Decoded(tokens, float(result.no_speech_prob), float(mean_logprob))

    def _before(self, context: str) -> list[int]:
        if not context:
            return []
        return [self._id("<|startofprev|>"), *self._tokenizer.encode(f" {context}", add_special_tokens=False).ids]

    def text(self, tokens: Iterable[int]) -> str:
        # Everything from the end token upwards is a control token or a timestamp.
        return str(self._tokenizer.decode([token for token in tokens if token < self._end]))


def mel_filters() -> npt.NDArray[np.float64]:
    """The 80 triangular Whisper filters over 201 FFT bins: shape (80, 201).

    Slaney's mel scale (linear to 1 kHz, logarithmic above) with each triangle scaled to unit area: the formula behind
    `librosa.filters.mel(sr=16000, n_fft=400, n_mels=80)`, whose output Whisper was trained on.
    """
    step_hz, knee_hz = 200.0 / 3.0, 1000.0
    knee_mel, log_step = knee_hz / step_hz, np.log(6.4) / 27.0
    top_mel = knee_mel + np.log(SAMPLE_RATE_HZ / 2 / knee_hz) / log_step
    mels = np.linspace(0.0, top_mel, _MELS + 2)
    edges_hz = np.where(mels < knee_mel, mels * step_hz, knee_hz * np.exp(log_step * (mels - knee_mel)))
    bins_hz = np.fft.rfftfreq(_N_FFT, 1 / SAMPLE_RATE_HZ)
    lower, centre, upper = edges_hz[:-2, None], edges_hz[1:-1, None], edges_hz[2:, None]
    rising = (bins_hz - lower) / (centre - lower)
    falling = (upper - bins_hz) / (upper - centre)
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (upper - lower)))


_FILTERS = mel_filters().astype(np.float32)
# OpenBLAS would split larger products over threads that then spin: a third more CPU for each call.
_MEL_BLOCK = 16
_WINDOW = np.hanning(_N_FFT + 1)[:-1].astype(np.float32)


def log_mel(samples: Floats, window_s: int) -> Floats:
    """Whisper's features: shape (80, 100 * window_s), from float samples (-1..1, 16 kHz).

    Silence fills the window; samples beyond it are ignored.
    """
    frames = window_s * _FRAMES_PER_S
    samples = samples[: window_s * SAMPLE_RATE_HZ]
    half = _N_FFT // 2
    # Only frames with audio are transformed; the frames of the padding have one known value, the floor.
    busy = min(frames, (len(samples) + half) // _HOP + 1)
    head = samples[1 : half + 1][::-1]
    padded = np.zeros((busy - 1) * _HOP + _N_FFT, np.float32)
    padded[half - len(head) : half] = head
    body = samples[: len(padded) - half]
    padded[half : half + len(body)] = body
    views = np.lib.stride_tricks.sliding_window_view(padded, _N_FFT)[::_HOP]
    power = np.abs(np.fft.rfft(views * _WINDOW, axis=1)).astype(np.float32) ** 2
    logs = np.full((_MELS, frames), -10.0, np.float32)
    for start in range(0, busy, _MEL_BLOCK):
        block = slice(start, min(start + _MEL_BLOCK, busy))
        logs[:, block] = _FILTERS @ power[block].T
    logs[:, :busy] = np.log10(np.maximum(logs[:, :busy], 1e-10))
    return np.asarray((np.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0, np.float32)


def split_at_pauses(samples: Floats) -> list[Floats]:
    """Cut samples (16 kHz) into parts for Whisper's long window: at the quietest 300 ms."""
    longest = int(_LONG_WINDOW_CLIP_S * SAMPLE_RATE_HZ)
    block, blocks_per_pause = SAMPLE_RATE_HZ // 50, 15
    parts: list[Floats] = []
    while len(samples) > longest:
        # A part is at least 13 s long, to avoid needless cuts in the text.
        start = int(_SHORT_WINDOW_CLIP_S * SAMPLE_RATE_HZ)
        region = samples[start:longest]
        region = region[: len(region) // block * block].reshape(-1, block)
        energy = np.convolve((region**2).sum(axis=1), np.ones(blocks_per_pause), "valid")
        cut = start + (int(energy.argmin()) + blocks_per_pause // 2) * block
        parts.append(samples[:cut])
        samples = samples[cut:]
    parts.append(samples)
    return parts
