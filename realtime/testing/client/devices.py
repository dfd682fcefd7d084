"""Audio devices of a simulated page: speaker and microphone. Pure: time and positions are arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.steps import INPUT_HZ

OUTPUT_HZ = 24_000
FRAME_MS = 40
FRAME_SAMPLES = INPUT_HZ * FRAME_MS // 1000
OUTPUT_LATENCY_S = 0.08
"""Delay from audio thread to ear: what browsers report for a laptop's speakers."""


@dataclass(slots=True)
class _Run:
    """Audio of one item played without a gap: from sample `offset` of the item, starting at `from_s`."""

    item_id: str
    offset: int
    from_s: float
    n_samples: int
    chunks: list[bytes]

    def pcm(self) -> bytes:
        return b"".join(self.chunks)[: self.n_samples * SAMPLE_BYTES]


class Speaker:
    """Plays its input in order and in real time. Sound is heard one output latency after it is played.

    Times are seconds of the caller's clock. Offsets are samples of an item.
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._first_unheard = 0
        self._heard: dict[str, int] = {}
        """Samples of the runs before `_first_unheard`."""
        self._paused: list[_Run] | None = None

    def play(self, item_id: str, offset: int, pcm: bytes, now: float) -> None:
        """Queue audio after what already waits."""
        n_samples = len(pcm) // SAMPLE_BYTES
        if self._paused is not None:
            self._paused.append(_Run(item_id, offset, 0.0, n_samples, [pcm]))
            return
        last = self._runs[-1] if len(self._runs) > self._first_unheard else None
        ends_s = self._end_of(last) if last is not None else now
        if last is not None and ends_s >= now and last.item_id == item_id and last.offset + last.n_samples == offset:
            last.chunks.append(pcm)
            last.n_samples += n_samples
        else:
            self._runs.append(_Run(item_id, offset, max(now, ends_s), n_samples, [pcm]))

    def flush(self, items: Iterable[str], now: float) -> None:
        """Drop the unplayed audio of these items; later audio moves up."""
        dropped = set(items)
        rest = [run for run in self._take_back(now) if run.item_id not in dropped]
        if self._paused is None:
            for run in rest:
                self.play(run.item_id, run.offset, run.pcm(), now)
        else:
            self._paused = [run for run in self._paused if run.item_id not in dropped]

    def pause(self, now: float) -> None:
        """Stop playing; all audio waits for `resume`."""
        if self._paused is None:
            self._paused = self._take_back(now)

    def resume(self, now: float) -> None:
        """Continue where `pause` stopped."""
        if self._paused is not None:
            waiting, self._paused = self._paused, None
            for run in waiting:
                self.play(run.item_id, run.offset, run.pcm(), now)

    def heard(self, item_id: str, now: float) -> int:
        """Return how many samples of the item have been heard."""
        self._advance(now)
        return self._heard.get(item_id, 0) + sum(
            self._heard_of(run, now) for run in self._runs[self._first_unheard :] if run.item_id == item_id
        )

    def sounding(self, now: float) -> str | None:
        """Return the item that is audible now, or was last."""
        self._advance(now)
        for run in self._runs[self._first_unheard : self._first_unheard + 1]:
            if self._heard_of(run, now):
                return run.item_id
        return self._runs[self._first_unheard - 1].item_id if self._first_unheard else None

    def heard_at(self, items: Iterable[str], n_samples: int) -> float | None:
        """Return when `n_samples` of these items together are heard; None if never.

        Only queued audio counts.
        """
        counted, left = set(items), n_samples
        for run in self._runs:
            if run.item_id in counted:
                if run.n_samples >= left:
                    return run.from_s + left / OUTPUT_HZ + OUTPUT_LATENCY_S
                left -= run.n_samples
        return None

    def ends_at(self, items: Iterable[str] | None = None) -> float | None:
        """Return when the last queued audio of these items is heard.

        Without `items`, of all. 0.0 where nothing was played; None while the speaker is paused and audio waits.
        """
        counted = None if items is None else set(items)
        if any(counted is None or run.item_id in counted for run in self._paused or ()):
            return None
        for run in reversed(self._runs):
            if counted is None or run.item_id in counted:
                return self._end_of(run) + OUTPUT_LATENCY_S
        return 0.0

    def runs(self) -> list[tuple[str, int, float, bytes]]:
        """Return all played audio: (item, offset, time when it became audible, pcm)."""
        return [(run.item_id, run.offset, run.from_s + OUTPUT_LATENCY_S, run.pcm()) for run in self._runs]

    def audible(self, from_s: float, length_ms: int) -> bytes:
        """Return what was audible from then on, for this long."""
        sound = bytearray(OUTPUT_HZ * length_ms // 1000 * SAMPLE_BYTES)
        for run in reversed(self._runs):
            at = round((run.from_s + OUTPUT_LATENCY_S - from_s) * OUTPUT_HZ)
            if at + run.n_samples <= 0:
                break
            begin = max(0, at) * SAMPLE_BYTES
            part = run.pcm()[max(0, -at) * SAMPLE_BYTES :][: max(0, len(sound) - begin)]
            sound[begin : begin + len(part)] = part
        return bytes(sound)

    def _end_of(self, run: _Run) -> float:
        return run.from_s + run.n_samples / OUTPUT_HZ

    def _heard_of(self, run: _Run, now: float) -> int:
        return min(run.n_samples, max(0, round((now - OUTPUT_LATENCY_S - run.from_s) * OUTPUT_HZ)))

    def _advance(self, now: float) -> None:
        runs = self._runs
        while self._first_unheard < len(runs):
            run = runs[self._first_unheard]
            if self._heard_of(run, now) < run.n_samples:
                return
            self._heard[run.item_id] = self._heard.get(run.item_id, 0) + run.n_samples
            self._first_unheard += 1

    def _take_back(self, now: float) -> list[_Run]:
        """Remove unplayed audio from the queue and return it in order."""
        taken: list[_Run] = []
        while len(self._runs) > self._first_unheard:
            run = self._runs[-1]
            played = min(run.n_samples, max(0, round((now - run.from_s) * OUTPUT_HZ)))
            if played == run.n_samples:
                break
            rest = run.pcm()[played * SAMPLE_BYTES :]
            taken.append(_Run(run.item_id, run.offset + played, 0.0, run.n_samples - played, [rest]))
            run.n_samples = played
            if played:
                break
            self._runs.pop()
        return taken[::-1]


class Microphone:
    """Gives frames of 40 ms: the user's speech, otherwise the room.

    `background` is the rms of the room's noise in units of a sample, 0 for silence; `seed` decides it.
    """

    def __init__(self, background: float, seed: int) -> None:
        self._room = _noise(background, seed)
        self._to_say: deque[tuple[int, bytes]] = deque()
        self._frames: list[bytes] = []
        self.echo: EchoPath | None = None
        """The way from the loudspeaker to it; None: it does not hear it."""
        self.position = 0
        """Number of samples given so far."""

    def say(self, pcm: bytes, at: int) -> int:
        """Say pcm16 from sample `at` on, or after earlier speech; return where it begins."""
        at = max(at, self.position)
        if self._to_say:
            start, last = self._to_say[-1]
            at = max(at, start + len(last) // SAMPLE_BYTES)
        self._to_say.append((at, pcm))
        return at

    def pcm(self) -> bytes:
        """Return all audio given so far."""
        return b"".join(self._frames)

    def next_frame(self, played: bytes = b"") -> bytes:
        """Return the next 40 ms; `played` is what was audible in that time."""
        frame = self._made()
        if self.echo is not None:
            sound = np.frombuffer(frame, "<i2") + self.echo.next_frame(played, FRAME_SAMPLES)
            frame = np.clip(np.rint(sound), -32_768, 32_767).astype("<i2").tobytes()
        self.position += FRAME_SAMPLES
        self._frames.append(frame)
        return frame

    def _made(self) -> bytes:
        begin = self.position
        room = self._room[begin // FRAME_SAMPLES % len(self._room)]
        if not self._to_say or self._to_say[0][0] >= begin + FRAME_SAMPLES:
            return room
        start, pcm = self._to_say[0]
        if start <= begin and len(pcm) // SAMPLE_BYTES > begin - start + FRAME_SAMPLES:
            at = (begin - start) * SAMPLE_BYTES
            return pcm[at : at + FRAME_SAMPLES * SAMPLE_BYTES]
        frame = bytearray(room)
        while self._to_say and self._to_say[0][0] < begin + FRAME_SAMPLES:
            start, pcm = self._to_say[0]
            at = max(0, start - begin) * SAMPLE_BYTES
            spoken = pcm[max(0, begin - start) * SAMPLE_BYTES :][: len(frame) - at]
            frame[at : at + len(spoken)] = spoken
            if start + len(pcm) // SAMPLE_BYTES > begin + FRAME_SAMPLES:
                break
            self._to_say.popleft()
        return bytes(frame)


@lru_cache(maxsize=16)
def _noise(rms: float, seed: int) -> tuple[bytes, ...]:
    """Return two seconds of room noise as frames."""
    samples = np.random.default_rng(seed).normal(0, rms, 2 * INPUT_HZ).astype("<i2").tobytes()
    size = FRAME_SAMPLES * SAMPLE_BYTES
    return tuple(samples[at : at + size] for at in range(0, len(samples), size))
