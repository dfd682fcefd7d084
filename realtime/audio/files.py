"""Read and write pcm as WAV and FLAC files."""

import io
import os
import struct

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from realtime.audio.pcm import from_float32

_BLOCK = 1 << 16
"""Samples of each channel to read at once: a header may promise more than there is."""
_LOUDER = 4.0
"""How many times louder a side of a call is that speaks: 12 dB."""
_FRAME_S = 0.02
_FOREIGN = {
    b"\x1a\x45\xdf\xa3": "WebM, as browsers record it",
    b"ftyp": "MP4 or M4A, as telephones record it",
    b"#!AMR": "AMR",
    b"\x30\x26\xb2\x75": "WMA",
    b"\xff\xf1": "AAC",
    b"\xff\xf9": "AAC",
}
"""What is in other files, by their first bytes."""

Samples = NDArray[np.float32]


class ChannelError(ValueError):
    """A file has no such channel, or nothing says which is meant."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.problem = problem


def read_pcm16(path: str | os.PathLike[str], rate_hz: int, *, channel: int | None = None) -> bytes:
    """Read a whole file as pcm at *rate_hz*.

    Resamples at the highest quality. Reads the formats of libsndfile: WAV, FLAC, OGG, MP3; also a stream whose header
    does not know its length, and one that breaks off, to its end. A 16-bit mono file of that rate is returned bit for
    bit. Of several channels *channel* (from 0) is chosen; without it they are averaged, or the loudest is taken where
    they cancel each other.

    Raises OSError if the file cannot be opened, ValueError if it is not audio, and ChannelError if it has no such
    channel, or holds the two sides of a telephone call and *channel* is None.
    """
    with open(path, "rb") as file:
        data = file.read()
    name = os.fspath(path)
    try:
        samples, file_hz = _read(_with_length(data))
    except soundfile.LibsndfileError as error:
        kind = next((kind for begin, kind in _FOREIGN.items() if begin in (data[: len(begin)], data[4:8])), None)
        why = error.error_string if kind is None else f"it is {kind}; convert it with `ffmpeg -i FILE FILE.wav`"
        raise ValueError(f"{name} is not a readable audio file: {why if data else 'it is empty'}") from None
    n_channels = samples.shape[1]
    if channel not in (None, *range(n_channels)):
        has = "one channel, 0" if n_channels == 1 else f"the channels 0 to {n_channels - 1}"
        raise ChannelError(name, f"it has no channel {channel!r}, but {has}")
    if channel is None and _is_call(samples, file_hz):
        raise ChannelError(name, "each of its channels, 0 and 1, holds one side of a call: choose one")
    mono = _mixed(samples) if channel is None else samples[:, channel]
    if file_hz != rate_hz:
        mono = soxr.resample(mono, file_hz, rate_hz, "VHQ")
    return from_float32(np.nan_to_num(mono, posinf=0.0, neginf=0.0))


def _read(data: bytes) -> tuple[Samples, int]:
    """Return the samples that can be read, and their rate."""
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        blocks: list[Samples] = []
        try:
            while not blocks or len(blocks[-1]) == _BLOCK:
                # What is not overwritten was not read: an error at the end does not say how much came before.
                blocks.append(np.full((_BLOCK, file.channels), np.nan, np.float32))
                blocks[-1] = file.read(out=blocks[-1])
        except soundfile.LibsndfileError:
            blocks[-1] = blocks[-1][: int(np.sum(~np.isnan(blocks[-1][:, 0])))]
            if not any(map(len, blocks)):
                raise
        return np.concatenate(blocks), file.samplerate


def _with_length(data: bytes) -> bytes:
    """Return a recording whose header has the length of what is there.

    A program that writes into a pipe or is killed leaves another one, mostly 0.
    """
    if data[:4] == b".snd" and data[8:12] == bytes(4):
        return data[:8] + b"\xff" * 4 + data[12:]
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return data
    at = 12
    while at + 8 <= len(data):
        (size,) = struct.unpack_from("<I", data, at + 4)
        end = at + 8 + size + size % 2
        if data[at : at + 4] == b"data":
            if end < len(data) and not _is_chunk(data, end):
                size = len(data) - at - 8
                fixed = struct.pack("<I", len(data) - 8), struct.pack("<I", size)
                return data[:4] + fixed[0] + data[8 : at + 4] + fixed[1] + data[at + 8 :]
            return data
        at = end
    return data


def _is_chunk(data: bytes, at: int) -> bool:
    """Whether a part of the file begins there, and no sound."""
    name = data[at : at + 4]
    if at + 8 > len(data):
        return True  # padding
    (size,) = struct.unpack_from("<I", data, at + 4)
    return name.isascii() and name.decode().isprintable() and at + 8 + size <= len(data)


def _mixed(samples: Samples) -> Samples:
    """Return the average of the channels; the loudest one where they cancel each other."""
    mono: Samples = samples.mean(axis=1, dtype=np.float32)
    if samples.shape[1] > 1 and len(samples):
        levels = np.sqrt(np.mean(np.square(np.nan_to_num(samples), dtype=np.float64), axis=0))
        loudest = int(np.argmax(levels))
        if np.sqrt(np.mean(np.square(np.nan_to_num(mono), dtype=np.float64))) < levels[loudest] / _LOUDER:
            mono = samples[:, loudest]
    return mono


def _is_call(samples: Samples, rate_hz: int) -> bool:
    """Whether two channels speak by turns: the sides of a call."""
    length = max(1, int(rate_hz * _FRAME_S))
    n_frames = len(samples) // length
    if samples.shape[1] != 2 or not n_frames:
        return False
    frames = samples[: n_frames * length].reshape(n_frames, length, 2)
    levels = np.sqrt(np.mean(np.square(np.nan_to_num(frames), dtype=np.float32), axis=1))
    active = levels[levels.max(axis=1) > levels.max() / 30]
    alone = [float(np.mean(active[:, one] > active[:, 1 - one] * _LOUDER)) if len(active) else 0.0 for one in (0, 1)]
    return min(alone) > 0.1 and sum(alone) > 0.7


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
