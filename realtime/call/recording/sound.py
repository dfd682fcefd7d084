"""Read a recording as one WAV of all speakers, in parts.

Nothing is kept of it: each part is mixed from the recording's own files when it is read. All methods block.
"""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr

from realtime.audio.pcm import SAMPLE_BYTES

RATE_HZ = 24_000
HEADER_BYTES = 44
BLOCK_S = 10
"""The sound is mixed in blocks of this length: each rate has a whole number of samples in a second."""
RECORDING_FILE = "recording.json"
"""What describes a recording, in its folder."""
TRACKS = ("input", "output")
_BLOCK_BYTES = BLOCK_S * RATE_HZ * SAMPLE_BYTES


class Sound:
    """The sound of a recorded call: 16 bits, mono.

    `folder` is the call's; sample 0 is at the beginning of the call. Raises OSError where there is no recording, or
    part of it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        parts = [*recorded_parts(folder)]
        if not parts:
            raise FileNotFoundError(f"nothing is recorded in {folder.name}")
        self.voice_from_ms: float | None = parts[0][1].get("input_from_ms")
        """When the client's audio began, in ms of the call; None where it sent none, or the server was killed."""
        self._files = [file for part, _ in parts for name in TRACKS if (file := part / f"{name}.flac").is_file()]
        try:
            lengths = [(one.frames, one.samplerate) for one in map(soundfile.info, self._files)]
        except soundfile.LibsndfileError as error:
            raise OSError(f"the recording {folder.name} cannot be read: {error.error_string}") from None
        self.n_samples = max((-(-frames * RATE_HZ // hz) for frames, hz in lengths), default=0)

    @property
    def n_bytes(self) -> int:
        """The size of the whole WAV."""
        return HEADER_BYTES + self.n_samples * SAMPLE_BYTES

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes of the WAV from `start` to before `stop`. Raises OSError."""
        stop = min(stop, self.n_bytes)
        first = max(0, start - HEADER_BYTES) // _BLOCK_BYTES
        behind = -(-max(0, stop - HEADER_BYTES) // _BLOCK_BYTES)
        # Whole blocks, mixed alike for every reader: the parts of two readers join.
        pcm = b"".join(self._mixed(block * BLOCK_S) for block in range(first, behind))
        pcm_at = HEADER_BYTES + first * _BLOCK_BYTES
        return _header(self.n_samples)[start:stop] + pcm[max(0, start - pcm_at) : max(0, stop - pcm_at)]

    def _mixed(self, first_s: int) -> bytes:
        total = np.zeros(BLOCK_S * RATE_HZ, np.int32)
        for path in self._files:
            try:
                with soundfile.SoundFile(path) as file:
                    hz = file.samplerate
                    # A second more on each side, for the resampler.
                    begin_s = max(0, first_s - 1)
                    if begin_s * hz >= file.frames:
                        continue
                    file.seek(begin_s * hz)
                    samples = file.read((first_s + BLOCK_S + 1 - begin_s) * hz, dtype="int16")
            except soundfile.LibsndfileError as error:
                raise OSError(f"{path.name} cannot be read: {error.error_string}") from None
            if hz != RATE_HZ:
                samples = soxr.resample(samples, hz, RATE_HZ, "HQ")
            samples = samples[(first_s - begin_s) * RATE_HZ :][: len(total)]
            total[: len(samples)] += samples
        return np.clip(total, -32_768, 32_767).astype("<i2").tobytes()


def recorded_parts(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the folders of a call's recording with what their `recording.json` says.

    There is one, and one more for each time that the call resumed after losing its server. All use the clock of the
    call. Raises OSError where one cannot be read.
    """
    for part in (folder, *(folder / str(number) for number in range(2, 1_000))):
        try:
            about = json.loads((part / RECORDING_FILE).read_text("utf-8"))
        except FileNotFoundError:
            return
        except ValueError as error:
            raise OSError(errno.EILSEQ, "this is no JSON", str(part / RECORDING_FILE)) from error
        yield part, about


def _header(n_samples: int) -> bytes:
    n_bytes = min(n_samples * SAMPLE_BYTES, 0xFFFF_FFFF - HEADER_BYTES)
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", n_bytes + HEADER_BYTES - 8, b"WAVE", b"fmt ", 16, 1, 1, RATE_HZ, RATE_HZ * SAMPLE_BYTES),
        *(SAMPLE_BYTES, 8 * SAMPLE_BYTES, b"data", n_bytes),
    )
