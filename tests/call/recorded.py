"""A recorder beside one client, and what its files hold."""

import asyncio
import json
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.recording import Recorder, RecordingError

IN_HZ = 16_000
OUT_HZ = 24_000
CHUNK_MS = 20
MOST_S = 600
"""Longer than any recording here."""


def noise(n_samples: int, seed: int = 0) -> bytes:
    """Samples that are all different from silence."""
    return np.random.default_rng(seed).integers(1, 3_000, n_samples).astype("<i2").tobytes()


def spoken(ms: int, seed: int = 0) -> bytes:
    return noise(ms * OUT_HZ // 1000, seed)


def now_ms() -> int:
    return round(asyncio.get_running_loop().time() * 1000)


async def until_ms(ms: int) -> None:
    await asyncio.sleep(ms / 1000 - asyncio.get_running_loop().time())


def read(path: Path) -> tuple[bytes, int]:
    """The file as pcm, and its rate."""
    with soundfile.SoundFile(path) as file:
        # A killed writer leaves no length; `soundfile.read` then asks for an array of any size.
        samples = file.read(MOST_S * file.samplerate, dtype="int16")
        return samples.astype("<i2").tobytes(), file.samplerate


def between(pcm: bytes, start_ms: int, end_ms: int, rate_hz: int) -> bytes:
    return pcm[start_ms * rate_hz // 1000 * 2 : end_ms * rate_hz // 1000 * 2]


def place_ms(pcm: bytes, part: bytes, rate_hz: int) -> float:
    """Where *part* stands in *pcm*, in ms; -1 where it does not."""
    at = pcm.find(part)
    while at % 2 == 1:
        at = pcm.find(part, at + 1)
    return at / 2 * 1000 / rate_hz if at >= 0 else -1


def silent(pcm: bytes) -> bool:
    return not any(pcm)


def described(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / "recording.json").read_text())
    return about


class Call:
    """A recorder beside one client, whose clock says what was heard."""

    def __init__(
        self,
        folder: Path,
        clock: PlaybackClock | None = None,
        executor: Executor | None = None,
        call_id: str = "call_1",
    ) -> None:
        self.clock = clock or WallClockPlayback(OUT_HZ)
        self.troubles: list[RecordingError] = []
        began_ms = now_ms()
        self.recorder = Recorder(
            folder,
            call_id=call_id,
            started_at="2026-01-01T00:00:00.000Z",
            now_ms=lambda: now_ms() - began_ms,
            heard_ms=lambda item_id: self.clock.played_ms(item_id, self.now()),
            executor=executor,
            on_trouble=self.troubles.append,
        )

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def ended(self, side: str, at_ms: int = 0) -> bytes:
        """What the file of one side, `input` or `output`, holds when the call has ended at that time."""
        await until_ms(max(at_ms, now_ms()))
        recorded = await self.recorder.close()
        assert recorded.folder is not None
        return read(recorded.folder / f"{side}.flac")[0]

    def hear(self, pcm: bytes, position: int | None = None, rate_hz: int = IN_HZ) -> None:
        self.recorder.hear(pcm, position, rate_hz)

    def say(self, item_id: str, pcm: bytes) -> None:
        self.clock.sent(item_id, len(pcm), self.now())
        self.recorder.say(item_id, pcm, OUT_HZ)

    def flush(self) -> None:
        self.clock.flush(self.now())
        self.recorder.flush()

    async def speak(self, pcm: bytes, *, chunk_ms: int = CHUNK_MS, position: int | None = None) -> None:
        """Audio of the client in real time."""
        size = chunk_ms * IN_HZ // 1000 * 2
        for start in range(0, len(pcm), size):
            await asyncio.sleep(chunk_ms / 1000)
            self.hear(pcm[start : start + size], None if position is None else position + start // 2)
