"""The recording of a call: what the client sent and what it heard, as two FLAC files on the call's own clock.

Sample n of `input.flac` and of `output.flac` belongs to ts_ms n * 1000 / hz of the call. Between the event loop and the
disk stands a bounded queue; the loop only appends, one job at a time in the executor encodes and writes. A process that
is killed leaves files that read up to about the last second.
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
"""Of `recording.json`."""
TICK_S = 0.1
"""How often the play-out is looked at: an item that is shorter than this is placed that exactly."""
WRITE_EVERY_MS = 500


class RecordingError(RealtimeError):
    """A call is not recorded any further. The call goes on."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a recording has come to: its folder (None where there is none) and the duration of its two files in s."""

    folder: Path | None
    input_s: float
    output_s: float


class Recorder:
    """Records one call into *folder*: `input.flac`, `output.flac` (16 bits, mono) and `recording.json`.

    Each file has the rate of its first audio; audio of another rate is converted. If *folder* holds a recording already
    (the call was rebuilt after a restart), the first free of the folders `2`, `3`, ... in it is taken.

    - *started_at* is ISO 8601 and belongs to ts_ms 0; *now_ms* gives the ts_ms of the present (`Log.now_ms`).
    - *heard_ms(item_id)* is what of an item was heard by now (`Session.heard_ms`): the output holds just that, where it
      was heard.
    - *on_trouble* gets one RecordingError when the disk fails; the recording then stops, and nothing here ever raises.

    Needs a running event loop. Its timer runs until :meth:`close`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        call_id: str,
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
        self._disk = Disk(folder, {"version": VERSION, "call_id": call_id, "started_at": started_at})
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
        """The client's audio. *position* is where it begins in samples of the client's own count, None where the
        client does not count. What is known is dropped, a hole becomes silence.

        The first audio stands where it arrived. Later audio follows by its position; after a pause of more than
        `INPUT_PAUSE_MS` that the client did not count, it stands where it arrived again.
        """
        if self._taking:
            self._input.hear(pcm, position, rate_hz, self._now_ms())
            # What was heard comes with the client's audio, so this is when it is known best.
            self._output.follow(self._now_ms())
            if self._input.waiting_ms > MAX_INPUT_WAITING_MS // 2:
                self._write()

    def say(self, item_id: str, pcm: bytes, rate_hz: int) -> None:
        """Speech of an item was handed to the listeners. It is kept until it is heard or flushed."""
        if self._taking:
            self._output.say(item_id, pcm, rate_hz, self._now_ms())

    def flush(self) -> None:
        """The listeners were told to be silent: nothing more is heard of what was said so far."""
        if self._taking:
            self._output.flush(self._now_ms())

    def truncated(self, item_id: str, heard_ms: int) -> None:
        """The client says how much of an item it has played. What the file has beyond is taken back if it was heard
        less than `REVISION_MS` ago."""
        if self._taking:
            self._output.truncate(item_id, heard_ms, self._now_ms())

    def follow(self, event: s.ServerEvent) -> None:
        """A reader for the call's log: :meth:`say` and :meth:`flush` by its events. The listeners have to read
        before."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            self.say(event.item_id, event.delta, event.format.rate or DEFAULT_OUTPUT_RATE_HZ)
        elif type(event) is s.ServerAudioFlushEvent:
            self.flush()

    async def close(self) -> Recorded:
        """Write what waits and the end of the files. Idempotent. Cancelling it does not keep that from happening."""
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
