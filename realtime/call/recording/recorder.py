"""Record a call: the audio that the client sent and played, as two FLAC files on the call's clock.

Sample n of `input.flac` and of `output.flac` is at ts_ms n * 1000 / hz of the call. A bounded queue separates the event
loop from the disk: the loop only appends, one job at a time in the executor encodes and writes. After a kill of the
process the files are readable up to about the last second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from realtime.call.recording.disk import Disk
from realtime.call.recording.tracks import MAX_INPUT_WAITING_MS, InputTrack, OutputTrack
from realtime.errors import RealtimeError
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, DEFAULT_OUTPUT_RATE_HZ

logger = logging.getLogger(__name__)

VERSION = 1
"""The version of `recording.json`."""
TICK_S = 0.1
"""The interval of checking the played positions: the precision at which a shorter item is placed."""
WRITE_EVERY_MS = 500


class RecordingError(RealtimeError):
    """The recording has stopped; the call continues."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A finished recording: its folder (None without one) and the durations of its two files in s."""

    folder: Path | None
    input_s: float
    output_s: float


class Recorder:
    """Records one call into *folder*: `input.flac`, `output.flac` (16 bits, mono) and `recording.json`.

    Each file has the rate of its first audio; audio of another rate is converted. If *folder* already has a recording
    (the call was rebuilt after a restart), the first free of its folders `2`, `3`, ... is used.

    - *owner* is the user whose call it is.
    - *started_at* is the time of ts_ms 0 in ISO 8601; *now_ms* returns the present ts_ms (`Log.now_ms`).
    - *heard_ms(item_id)* returns the played part of an item (`Audience.played_ms`): the output has exactly that, at the
      time when it was played.
    - *on_trouble* gets one RecordingError if the disk fails; the recording then stops. No method raises.

    Needs a running event loop. Its timer runs until :meth:`close`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        call_id: str,
        owner: str = "",
        started_at: str,
        now_ms: Callable[[], int],
        heard_ms: Callable[[str], int],
        executor: Executor | None = None,
        on_trouble: Callable[[RecordingError], None] | None = None,
    ) -> None:
        self._call_id = call_id
        self._now_ms = now_ms
        self._executor = executor
        self._on_trouble = on_trouble
        self._input = InputTrack("input", DEFAULT_INPUT_RATE_HZ)
        self._output = OutputTrack("output", DEFAULT_OUTPUT_RATE_HZ, heard_ms)
        self._disk = Disk(folder, {"version": VERSION, "call_id": call_id, "owner": owner, "started_at": started_at})
        self._loop = asyncio.get_running_loop()
        self._taking = True
        self._failed = False
        self._last_job = False
        self._over = False
        self._closed: asyncio.Future[None] | None = None
        self._job: asyncio.Future[None] | None = None
        self._wrote_at_ms = now_ms()
        self._timer = self._loop.call_later(TICK_S, self._tick)
        self._submit(self._disk.begin)

    def hear(self, pcm: bytes, position: int | None, rate_hz: int) -> None:
        """Record audio of the client. *position* is its start in the client's count of samples, if it counts.

        Repeated audio is dropped, a gap becomes silence. The first audio is placed at its arrival, later audio by its
        position; after a pause of more than `INPUT_PAUSE_MS` that the client did not count, at its arrival again.
        """
        if self._taking:
            self._input.hear(pcm, position, rate_hz, self._now_ms())
            # Acknowledgements come with the client's audio: the played positions are most exact now.
            self._output.follow(self._now_ms())
            if self._input.waiting_ms > MAX_INPUT_WAITING_MS // 2:
                self._write()

    def say(self, item_id: str, pcm: bytes, rate_hz: int) -> None:
        """Keep sent audio of an item until it is played or flushed."""
        if self._taking:
            self._output.say(item_id, pcm, rate_hz, self._now_ms())

    def flush(self) -> None:
        """Drop the unplayed audio: the listeners were flushed."""
        if self._taking:
            self._output.flush(self._now_ms())

    def truncated(self, item_id: str, heard_ms: int) -> None:
        """Take the client's played position; it corrects the last `REVISION_MS` of the file."""
        if self._taking:
            self._output.truncate(item_id, heard_ms, self._now_ms())

    def follow(self, event: s.ServerEvent) -> None:
        """Read the call's log, after its listeners: calls :meth:`say` and :meth:`flush`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            self.say(event.item_id, event.delta, event.format.rate or DEFAULT_OUTPUT_RATE_HZ)
        elif type(event) is s.ServerAudioFlushEvent:
            self.flush()

    async def close(self) -> Recorded:
        """Write the rest and complete the files, even if cancelled. Idempotent."""
        if self._closed is None:
            self._closed = self._loop.create_future()
            self._timer.cancel()
            if self._taking:
                self._taking = False
                self._output.follow(self._now_ms())
                self._input.settle()
            if self._over:
                self._closed.set_result(None)
            elif self._job is None:
                self._end()
        await asyncio.shield(self._closed)
        return Recorded(self._disk.folder, self._disk.seconds("input"), self._disk.seconds("output"))

    # -- to the disk -----------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK_S, self._tick)
        now_ms = self._now_ms()
        self._output.follow(now_ms)
        self._input.settle(now_ms)
        if now_ms - self._wrote_at_ms >= WRITE_EVERY_MS:
            self._write()

    def _write(self) -> None:
        if self._job is not None:
            return
        self._wrote_at_ms = now_ms = self._now_ms()
        batches = [batch for track in (self._input, self._output) if (batch := track.take_settled(now_ms)).pieces]
        if batches:
            self._submit(self._disk.write, batches)

    def _end(self) -> None:
        self._last_job = True
        tracks = (self._input, self._output)
        about: dict[str, Any] = {f"{track.name}_lost_samples": track.lost_samples for track in tracks}
        about |= {"input_from_ms": self._input.from_ms, "items": self._output.items()}
        self._submit(self._disk.end, [track.take() for track in tracks], about)

    def _submit(self, job: Callable[..., None], *arguments: Any) -> None:
        try:
            self._job = self._loop.run_in_executor(self._executor, job, *arguments)
        except RuntimeError as error:  # the executor was shut down
            if not self._failed:
                self._fail(error)
            self._disk.abandon()
            self._finish()
        else:
            self._job.add_done_callback(self._done)

    def _done(self, job: asyncio.Future[None]) -> None:
        self._job = None
        error = asyncio.CancelledError() if job.cancelled() else job.exception()
        if error is not None and not self._failed:
            self._fail(error)
            self._submit(self._disk.abandon)
        elif self._last_job:
            self._finish()
        elif self._closed is not None:
            self._end()

    def _fail(self, error: BaseException) -> None:
        self._failed = self._last_job = True
        self._taking = False
        self._timer.cancel()
        self._input.clear()
        self._output.clear()
        logger.warning("the recording of call %s stopped: %s", self._call_id, error)
        tell, self._on_trouble = self._on_trouble, None
        if tell is not None:
            problem = "the call cannot be recorded any further; the server's log says why"
            tell(RecordingError(problem, code="recording_failed"))

    def _finish(self) -> None:
        self._over = True
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)
