"""Plays agents' audio in real time. Pure: time and positions are arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from realtime.audio.pcm import SAMPLE_BYTES

OUTPUT_HZ = 24_000
"""The rate of the agents' speech at a client."""
OUTPUT_LATENCY_S = 0.08
"""Delay from audio thread to ear: what browsers report for a laptop's speakers."""
_KEPT_S = 2.0
"""How long sound that was heard stays readable by `audible`."""


@dataclass(slots=True)
class _Run:
    """Audio of one item played without a gap: from sample `offset` of the item, starting at `from_s`."""

    item_id: str
    offset: int
    from_s: float
    n_samples: int
    sound: bytearray

    def pcm(self) -> bytes:
        return bytes(self.sound[: self.n_samples * SAMPLE_BYTES])


class Speaker:
    """Plays its input in order and in real time. Sound is heard one output latency after it is played.

    Times are seconds of the caller's clock. Offsets are samples of an item. `forgets`: sound that was heard a while ago
    is dropped, so that a long call takes no memory; `runs` then lacks it.
    """

    def __init__(self, latency_s: float = OUTPUT_LATENCY_S, *, forgets: bool = False) -> None:
        self.latency_s = latency_s
        self._forgets = forgets
        self._runs: list[_Run] = []
        self._first_unheard = 0
        self._heard: dict[str, int] = {}
        """Samples of the runs before `_first_unheard`."""
        self._paused: list[_Run] | None = None

    def play(self, item_id: str, offset: int, pcm: bytes, now: float) -> None:
        """Queue audio after what already waits."""
        n_samples = len(pcm) // SAMPLE_BYTES
        if self._paused is not None:
            self._paused.append(_Run(item_id, offset, 0.0, n_samples, bytearray(pcm)))
            return
        last = self._runs[-1] if len(self._runs) > self._first_unheard else None
        ends_s = self._end_of(last) if last is not None else now
        if last is not None and ends_s >= now and last.item_id == item_id and last.offset + last.n_samples == offset:
            last.sound += pcm
            last.n_samples += n_samples
        else:
            self._runs.append(_Run(item_id, offset, max(now, ends_s), n_samples, bytearray(pcm)))

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
                    return run.from_s + left / OUTPUT_HZ + self.latency_s
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
                return self._end_of(run) + self.latency_s
        return 0.0

    def runs(self) -> list[tuple[str, int, float, bytes]]:
        """Return all played audio: (item, offset, time when it became audible, pcm)."""
        return [(run.item_id, run.offset, run.from_s + self.latency_s, run.pcm()) for run in self._runs]

    def audible(self, from_s: float, length_ms: int) -> bytes:
        """Return what was audible from then on, for this long."""
        sound = bytearray(OUTPUT_HZ * length_ms // 1000 * SAMPLE_BYTES)
        for run in reversed(self._runs):
            at = round((run.from_s + self.latency_s - from_s) * OUTPUT_HZ)
            if at + run.n_samples <= 0:
                break
            begin = max(0, at) * SAMPLE_BYTES
            skipped = max(0, -at) * SAMPLE_BYTES
            end = min(run.n_samples * SAMPLE_BYTES, skipped + max(0, len(sound) - begin))
            part = run.sound[skipped:end]
            sound[begin : begin + len(part)] = part
        return bytes(sound)

    def _end_of(self, run: _Run) -> float:
        return run.from_s + run.n_samples / OUTPUT_HZ

    def _heard_of(self, run: _Run, now: float) -> int:
        return min(run.n_samples, max(0, round((now - self.latency_s - run.from_s) * OUTPUT_HZ)))

    def _advance(self, now: float) -> None:
        runs = self._runs
        while self._first_unheard < len(runs):
            run = runs[self._first_unheard]
            if self._heard_of(run, now) < run.n_samples:
                return
            self._heard[run.item_id] = self._heard.get(run.item_id, 0) + run.n_samples
            self._first_unheard += 1
        if self._forgets:
            self._forget(now)

    def _forget(self, now: float) -> None:
        """Drop the runs that were heard a while ago; the last one stays, since it sounded last."""
        gone = 0
        while gone < self._first_unheard - 1 and self._end_of(self._runs[gone]) < now - _KEPT_S:
            gone += 1
        if gone:
            del self._runs[:gone]
            self._first_unheard -= gone

    def _take_back(self, now: float) -> list[_Run]:
        """Remove unplayed audio from the queue and return it in order."""
        taken: list[_Run] = []
        while len(self._runs) > self._first_unheard:
            run = self._runs[-1]
            played = min(run.n_samples, max(0, round((now - run.from_s) * OUTPUT_HZ)))
            if played == run.n_samples:
                break
            rest = run.sound[played * SAMPLE_BYTES : run.n_samples * SAMPLE_BYTES]
            taken.append(_Run(run.item_id, run.offset + played, 0.0, run.n_samples - played, rest))
            run.n_samples = played
            del run.sound[played * SAMPLE_BYTES :]
            if played:
                break
            self._runs.pop()
        return taken[::-1]
