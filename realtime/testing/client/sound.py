"""A scripted user's speech as pcm: any file, cut, with gain and noise."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray

from realtime.audio.files import ChannelError, read_pcm16
from realtime.audio.pcm import SAMPLE_BYTES, bytes_of, from_float32, ms_of, to_float32
from realtime.testing.client.steps import INPUT_HZ, Speak
from realtime.testing.errors import CaseError

RAW_SUFFIXES = (".pcm", ".raw")
"""Files without a header: pcm16 mono at the rate of the step."""
MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 192_000
MAX_GAIN_DB = 60.0
_FORMATS = "Give a WAV or FLAC file, or pcm16 mono with the suffix .pcm or .raw"

Samples = NDArray[np.float32]


def load(source: str | Path | Speak, folder: str | Path | None = None, *, seed: int = 0) -> bytes:
    """Return pcm16 mono at 16 kHz of a file or a step: cut, then gain, then noise.

    Files are named relative to `folder`, or to the working directory. `seed` decides white and pink noise. Values that
    gain and noise lift beyond full scale are clamped, as by a microphone. Noise is `snr_db` below the rms of the whole
    cut, pauses included; a file of noise that is too short is repeated.

    The same input gives the same bytes. Raises CaseError, which names file, place and remedy, for audio that is
    missing, empty, unreadable, not whole samples, cut outside its length, or silent where a ratio to its level is
    needed.
    """
    step = source if isinstance(source, Speak) else Speak(audio=os.fspath(source))
    base = Path(folder) if folder is not None else Path()
    files = [base / name for name in (step.audio, step.noise) if name and name not in ("white", "pink")]
    return _load(step, base, tuple(_stamp(file) for file in files), seed)


@lru_cache(maxsize=64)
def _load(step: Speak, base: Path, _stamps: tuple[tuple[int, int], ...], seed: int) -> bytes:
    """Load files of these sizes and modification times, which key the cache."""
    file, pcm = _speech(step, base)
    pcm = _cut(file, pcm, step)
    if not (math.isfinite(step.gain_db) and abs(step.gain_db) <= MAX_GAIN_DB):
        problem = f"{step.gain_db} dB is no gain that can be applied"
        raise CaseError(file, problem, f"Give {-MAX_GAIN_DB:g} to {MAX_GAIN_DB:g}", place="gain_db")
    if not step.gain_db and step.noise is None:
        return pcm
    samples = to_float32(pcm) * np.float32(10 ** (step.gain_db / 20))
    if step.noise is not None:
        samples = samples + _noise(file, samples, step, base, seed)
    return from_float32(samples)


def _speech(step: Speak, base: Path) -> tuple[str, bytes]:
    """Return (a name for errors, the pcm at 16 kHz)."""
    if step.pcm is None and not step.audio:
        raise CaseError("speak", "there is nothing to say", "Name a file in `audio`, or give `pcm16`")
    if step.pcm is None:
        return str(base / step.audio), _read(base / step.audio, step.rate_hz, place="audio", channel=step.channel)
    if step.audio:
        raise CaseError(step.audio, "`pcm16` is given beside `audio`", "Give one of the two", place="pcm16")
    return "pcm16", _raw("pcm16", step.pcm, step.rate_hz)


def _read(path: Path, rate_hz: int, *, place: str, channel: int | None = None) -> bytes:
    try:
        if path.suffix.lower() in RAW_SUFFIXES:
            return _raw(path, path.read_bytes(), rate_hz)
        pcm = read_pcm16(path, INPUT_HZ, channel=channel)
    except FileNotFoundError:
        raise CaseError(path, "there is no such file", "Put it there, or correct its name", place=place) from None
    except OSError as error:
        problem = f"it cannot be opened ({error.strerror or type(error).__name__})"
        raise CaseError(path, problem, "Give a file that can be read", place=place) from None
    except CaseError:
        raise
    except ChannelError as error:
        remedy = "Give `channel`: the user's side; the other is the agent's"
        raise CaseError(path, error.problem, remedy, place="channel" if place == "audio" else place) from None
    except ValueError as error:
        why = str(error).rpartition(": ")[2].rstrip(". ")
        raise CaseError(path, f"it is not audio that can be read ({why})", _FORMATS, place=place) from None
    if not pcm:
        raise CaseError(path, "it holds no sound", "Record it again", place=place)
    return pcm


def _raw(file: str | Path, pcm: bytes, rate_hz: int) -> bytes:
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        problem = f"{rate_hz} Hz is no rate of speech"
        raise CaseError(file, problem, f"Give {MIN_RATE_HZ} to {MAX_RATE_HZ}", place="rate_hz")
    if not pcm:
        raise CaseError(file, "it holds no sound", "Record it again")
    if len(pcm) % SAMPLE_BYTES:
        problem = f"{len(pcm)} bytes are not whole samples of 16 bits"
        raise CaseError(file, problem, "Give pcm16 mono, or a file with a header")
    if rate_hz == INPUT_HZ:
        return pcm
    return from_float32(soxr.resample(to_float32(pcm), rate_hz, INPUT_HZ, "VHQ"))


def _cut(file: str, pcm: bytes, step: Speak) -> bytes:
    length_ms = ms_of(len(pcm), INPUT_HZ)
    if not 0 <= step.from_ms < max(length_ms, 1):
        problem = f"{step.from_ms} ms is outside of its {length_ms} ms"
        raise CaseError(file, problem, "Give a place inside", place="from_ms")
    if step.to_ms is None:
        return pcm[bytes_of(step.from_ms, INPUT_HZ) :]
    if step.to_ms > length_ms:
        problem = f"{step.to_ms} ms is behind its end at {length_ms} ms"
        raise CaseError(file, problem, "Give an earlier place, or none", place="to_ms")
    if step.to_ms <= step.from_ms:
        problem = f"{step.to_ms} ms is not behind from_ms, {step.from_ms} ms"
        raise CaseError(file, problem, "Give a later place, or none", place="to_ms")
    return pcm[bytes_of(step.from_ms, INPUT_HZ) : bytes_of(step.to_ms, INPUT_HZ)]


def _noise(file: str, speech: Samples, step: Speak, base: Path, seed: int) -> Samples:
    """Return noise as long as the speech and `snr_db` below it."""
    assert step.noise is not None
    if not (math.isfinite(step.snr_db) and abs(step.snr_db) <= 120):
        raise CaseError(file, f"{step.snr_db} dB is no ratio that can be mixed", "Give -120 to 120", place="snr_db")
    loudness = _rms(speech)
    if not loudness:
        raise CaseError(file, "it is silent: no noise is so much softer", "Leave `noise` out", place="noise")
    if step.noise in ("white", "pink"):
        chance = np.random.default_rng(seed)
        noise = chance.standard_normal(len(speech), np.float32)
        if step.noise == "pink":
            noise = _pink(noise)
    else:
        noise = to_float32(_read(base / step.noise, step.rate_hz, place="noise"))
        if not _rms(noise):
            raise CaseError(base / step.noise, "it is silent", "Give a file with sound", place="noise")
        noise = np.resize(noise, len(speech))
    level = _rms(noise)
    return noise * np.float32(loudness / level / 10 ** (step.snr_db / 20)) if level else noise


def _pink(white: Samples) -> Samples:
    """Return noise with the same power in every octave."""
    spectrum = np.fft.rfft(white)
    steps = np.arange(len(spectrum))
    spectrum[1:] /= np.sqrt(steps[1:])
    spectrum[:1] = 0
    return np.fft.irfft(spectrum, len(white)).astype(np.float32)


def _rms(samples: Samples) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


def _stamp(file: Path) -> tuple[int, int]:
    """Return a file's size and modification time; zeros where they are unknown."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
