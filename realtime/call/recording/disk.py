"""Write the files of a recording, one job at a time."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.call.recording.tracks import Batch

logger = logging.getLogger(__name__)


class Disk:
    """Writes the recording's folder. Methods run in the executor, one at a time, and raise OSError."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder: Path | None = None
        self._wanted = folder
        self._about = about
        self._files: dict[str, _FlacFile] = {}

    def seconds(self, name: str) -> float:
        """Return the duration of a file so far."""
        file = self._files.get(name)
        return file.n_samples / file.rate_hz if file is not None else 0.0

    def begin(self) -> None:
        """Make the folder, for the server's user alone, with the call's description."""
        self._wanted.mkdir(0o700, parents=True, exist_ok=True)
        folder, part = self._wanted, 1
        while (folder / "recording.json").exists():
            part += 1
            folder = self._wanted / str(part)
            folder.mkdir(0o700, exist_ok=True)
        self.folder = folder
        self._describe({"input_samples": None, "output_samples": None, "items": []})

    def write(self, batches: list[Batch]) -> None:
        """Append to the files."""
        for batch in batches:
            file = self._file(batch)
            for start, pcm in batch.pieces:
                file.fill(start)
                file.append(pcm)
            file.settle()

    def end(self, batches: list[Batch], about: dict[str, Any]) -> None:
        """Complete both files and write their summary."""
        self.write(batches)
        for batch in batches:
            file = self._file(batch)
            file.fill(max(batch.end, 1))  # libsndfile refuses a FLAC file without samples
            file.close()
            about |= {f"{batch.name}_hz": file.rate_hz, f"{batch.name}_samples": file.n_samples}
        self._describe(about)

    def abandon(self) -> None:
        """Close the files as they are."""
        for file in self._files.values():
            file.abandon()

    def _file(self, batch: Batch) -> _FlacFile:
        assert self.folder is not None
        file = self._files.get(batch.name)
        if file is None:
            file = self._files[batch.name] = _FlacFile(self.folder / f"{batch.name}.flac", batch.rate_hz)
        return file

    def _describe(self, about: dict[str, Any]) -> None:
        assert self.folder is not None
        unfinished = self.folder / "recording.json.new"
        with open(unfinished, "w", encoding="utf-8", opener=_private) as file:
            json.dump(self._about | about, file, indent=1)
        os.replace(unfinished, self.folder / "recording.json")


class _FlacFile:
    """A FLAC file that grows and can be read at any time.

    libsndfile writes the length into the header only at the end, and its reader refuses a file without it. So the
    length of the whole frames is written there after each append: bytes 22 to 25 are its lower 32 bits (RFC 9639,
    section 8.2).
    """

    def __init__(self, path: Path, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.n_samples = 0
        self._file = open(path, "xb+", buffering=0, opener=_private)  # noqa: SIM115 (closed by close and abandon)
        self._error: OSError | None = None
        self._n_frames = 0
        self._encoder = soundfile.SoundFile(self, "w", rate_hz, 1, "PCM_16", format="FLAC")

    def append(self, pcm: bytes) -> None:
        """Append samples."""
        try:
            self._encoder.write(np.frombuffer(pcm, "<i2"))
        except (soundfile.LibsndfileError, AssertionError) as error:  # it asserts that everything was written
            raise self._error or OSError(str(error)) from None
        if self._error is not None:
            raise self._error
        self.n_samples += len(pcm) // SAMPLE_BYTES

    def fill(self, end: int) -> None:
        """Append silence up to sample *end*."""
        while self.n_samples < end:
            self.append(bytes(min(end - self.n_samples, self.rate_hz) * SAMPLE_BYTES))

    def settle(self) -> None:
        """Make the file readable up to the last whole frame."""
        place = self._file.tell()
        self._file.seek(8)
        # Every frame but the last has this many samples.
        frame_samples = int.from_bytes(self._file.read(2), "big")
        self._file.seek(22)
        self._file.write((self._n_frames * frame_samples).to_bytes(4, "big"))
        self._file.seek(place)

    def close(self) -> None:
        """Write the last frame and the true header."""
        try:
            self._encoder.close()
        except soundfile.LibsndfileError as error:
            raise self._error or OSError(str(error)) from None
        self._file.close()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Close without writing."""
        self._error = self._error or OSError("abandoned")
        try:
            self._encoder.close()
        except soundfile.LibsndfileError:
            logger.debug("the encoder of an abandoned recording could not end its file")
        self._file.close()

    # The file methods that the encoder calls. An exception must not cross the library: it is raised afterwards.

    def write(self, data: bytes) -> int:
        """Write all of *data*; returns 0 from the first error on."""
        if self._error is not None:
            return 0
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._error = error
            return 0
        if data[:2] == _FRAME_SYNC:
            self._n_frames += 1
        return len(data)

    def read(self, n_bytes: int = -1) -> bytes:
        """See `io.RawIOBase`."""
        return self._file.read(n_bytes)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """See `io.RawIOBase`."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """See `io.RawIOBase`."""
        return self._file.tell()


_FRAME_SYNC = b"\xff\xf8"
"""The start of every fixed-size frame (RFC 9639, section 9.1). The encoder writes whole frames."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
