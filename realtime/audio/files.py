"""Read and write pcm as WAV and FLAC files."""

import os

import numpy as np
import soundfile
import soxr

from realtime.audio.pcm import from_float32


def read_pcm16(path: str | os.PathLike[str], rate_hz: int) -> bytes:
    """Read a whole file as pcm at *rate_hz*: channels averaged, resampled at the highest quality.

    Reads the formats of libsndfile: WAV, FLAC, OGG, MP3. A 16-bit mono file of that rate is returned bit for bit.
    Raises OSError if the file cannot be opened and ValueError if it is not audio.
    """
    with open(path, "rb") as file:
        try:
            samples, file_hz = soundfile.read(file, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            raise ValueError(f"{os.fspath(path)} is not a readable audio file: {error.error_string}") from None
    mono = samples.mean(axis=1, dtype=np.float32)
    if file_hz != rate_hz:
        mono = soxr.resample(mono, file_hz, rate_hz, "VHQ")
    return from_float32(mono)


def write_wav(path: str | os.PathLike[str], pcm: bytes, rate_hz: int) -> None:
    """Write *pcm* as 16-bit mono WAV, replacing the file. Raises OSError.

    Only its owner can read a new file: it contains a person's voice.
    """
    _write(path, pcm, rate_hz, "WAV")


def write_flac(path: str | os.PathLike[str], pcm: bytes, rate_hz: int) -> None:
    """Write *pcm* as 16-bit mono FLAC: lossless, about half the size. Otherwise as :func:`write_wav`."""
    _write(path, pcm, rate_hz, "FLAC")


def _write(path: str | os.PathLike[str], pcm: bytes, rate_hz: int, kind: str) -> None:
    samples = np.frombuffer(pcm, "<i2")
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600), "wb"
    ) as file:
        soundfile.write(file, samples, rate_hz, subtype="PCM_16", format=kind)
