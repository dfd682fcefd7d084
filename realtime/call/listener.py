"""A listener: one client's view of a call. It reads the log, speaks the client's dialect and knows what was heard.

Nothing here waits: what the client cannot take now goes into a bounded buffer that one drainer task empties. A listener
that overflows is closed with a reason; the call and all other listeners live on.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from realtime.audio.far_end import FarEnd
from realtime.audio.playback import AHEAD_MS, EstimatedPlayback, PlaybackClock
from realtime.audio.resample import Resampler
from realtime.audio.unplayed import Chunk, UnplayedAudio
from realtime.call.pacer import MIXED_AHEAD_MS, Pacer
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, AudioFormat
from realtime.runtime import Runtime

logger = logging.getLogger(__name__)

MAX_WAITING_AUDIO_BYTES = 4_000_000
"""Speech that may wait for a client that does not read: 83 s at 24 kHz."""
MAX_CONTROL_EVENTS = 10_000
"""Events that may wait for such a client, speech included."""

Frame = Any
"""What a sink takes: text or bytes for a socket, events for a queue."""


class Sink(Protocol):
    """Where frames go."""

    def write(self, frame: Frame) -> bool:
        """Hand over one frame. False: it is taken, but nothing more may be written until `finish` has returned."""

    async def finish(self) -> None:
        """Wait until the frame in flight is out. Raises ConnectionError when the other side is gone."""

    def close(self, code: int, reason: str) -> None:
        """Close the other side: a WebSocket close code and a short reason."""


class Dialect(Protocol):
    """How server events look to this client. Pure."""

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """The frames that say it; empty where this client has no words for it."""


class ResumableDialect(Dialect, Protocol):
    """A dialect whose clients can come back to their call."""

    def encode_again(self, chunk: Chunk) -> list[Frame]:
        """Encode speech again that an earlier socket may have sent.

        It keeps its place in the item.
        """


class LaneDialect(Dialect, Protocol):
    """A dialect that delivers each human of a room as separate voices."""

    def encode_voice(self, chunk: Chunk) -> list[Frame]:
        """Encode what a human says now, with its place in their voice."""


class Listener:
    """One client of a call.

    `clock` is the truth about what it heard. `ahead_ms`, where given, paces speech to at most that far ahead of real
    time; else it is sent as it comes. `output_rate_hz` is the rate that the client plays. `resumes_with`, where given,
    is the dialect of a client that may come back: what it has not heard is kept for it. `lanes`, where given, is the
    dialect of a client that plays the humans of a room beside the agents; any other gets all as one stream.
    `takes_gain`: it plays quieter on request.
    `takes_unasked` is whether such clients expect an agent that speaks unasked, such as a greeting;
    `shows_questions`, whether they are sent the questions for consent.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        dialect: Dialect,
        runtime: Runtime,
        clock: PlaybackClock | None = None,
        ahead_ms: int | None = None,
        output_rate_hz: int = DEFAULT_OUTPUT_RATE_HZ,
        tells_received_audio: bool = False,
        resumes_with: ResumableDialect | None = None,
        lanes: LaneDialect | None = None,
        takes_gain: bool = False,
        takes_unasked: bool = True,
        shows_questions: bool = False,
    ) -> None:
        self._sink = sink
        self._dialect = dialect
        self._now = runtime.now
        self.clock = clock or EstimatedPlayback(output_rate_hz)
        self.rate_hz = output_rate_hz
        """What it plays at."""
        self._pacer = self._paced(ahead_ms) if ahead_ms is not None else None
        self._lanes = lanes
        self.takes_gain = takes_gain
        self._resampler: Resampler | None = None
        self._model_rate_hz = output_rate_hz
        self._resumes_with = resumes_with
        self._unplayed = UnplayedAudio(self.clock, runtime.now) if resumes_with is not None else None
        self.far_end: FarEnd | None = None
        """The audio that it plays; None where that is not kept."""
        self._begun_before: set[str] = set()
        """Items whose speech began on an earlier socket; not continued on this one."""
        self._waiting: list[s.ServerEvent | Chunk] = []
        self._waiting_audio_bytes = 0
        self._max_waiting = MAX_CONTROL_EVENTS
        self._in_flight: list[Frame] = []
        self._drainer: asyncio.Task[None] | None = None
        self.takes_unasked = takes_unasked
        self.shows_questions = shows_questions
        self.tells_received_audio = tells_received_audio
        self.told_received = 0
        """How many samples of its own audio it was last told of."""
        self.bytes_until_told = 0
        """Bytes of its audio until its next report of arrivals."""
        self.closed = False
        self.away = False
        """Whether its socket is lost and it may come back: it keeps the speech that it would have been sent."""
        self.by_handle = False
        """Its client comes back by a handle, even after closing its socket.

        Such a client does not get what was being said when it left.
        """
        self.unsent: set[str] = set()
        """Items whose speech came while the client of a handle was away: it will never hear them."""
        self.events_dropped = 0
        self.voices_dropped = 0
        """Chunks of humans' voices that the client could not take in time."""

    @property
    def hears_humans(self) -> bool:
        """Whether a human sounds in this client's single stream at this moment."""
        return self._pacer is not None and self._pacer.mixes

    @property
    def resumable(self) -> bool:
        """Whether this client may come back after its socket was lost."""
        return self._resumes_with is not None

    def keep_played_audio(self) -> None:
        """Keep the audio that it plays from now on. Idempotent."""
        if self.far_end is None:
            self.far_end = FarEnd(self.clock, self._now, self.rate_hz)

    def unplayed_ms(self, now: float) -> int:
        """Speech that this client will still hear: what it was sent, and what waits for it."""
        waiting_bytes = self._waiting_audio_bytes + (self._pacer.waiting_bytes if self._pacer is not None else 0)
        return self.clock.unplayed_ms(now) + waiting_bytes * 500 // self.rate_hz

    # -- reading the log -------------------------------------------------------------------------------------------

    def deliver(self, event: s.ServerEvent) -> None:
        """The next event of the call."""
        if self.closed:
            return
        if type(event) is s.AgentResponseAudioDeltaEvent:
            if event.format.rate != self.rate_hz:
                event = self._resampled(event)
                if not event.delta:
                    return
            if self._pacer is not None:
                self._pacer.push(event, self._now())
            else:
                self._send(event)
            return
        if type(event) is s.ServerAudioFlushEvent:
            closing = self._flush()
            self._send(event)
            for one in closing:
                self._send(one)
            return
        if type(event) is s.AgentResponseAudioDoneEvent and self._resampler is not None:
            self._finish_resampling(event)
        elif type(event) is s.AgentEndedEvent and self._pacer is not None:
            # Speech after the end would start a page playing again.
            for one in self._pacer.flush(self._now()):
                self._send(one)
        if self._pacer is not None and self._pacer.holds(event):
            return
        self._send(event)

    def deliver_voice(self, chunk: Chunk) -> None:
        """Deliver a room human's audio, at this client's rate: now or never.

        It is no part of the call: nothing of it is kept, acknowledged or resumed, and a flush leaves it alone.
        """
        if self.closed or not chunk.event.delta:
            return
        if self.away or self._drainer is not None:
            self.voices_dropped += 1
        elif self._lanes is not None:
            self._put(self._lanes.encode_voice(chunk))
        else:
            if self._pacer is None:
                self._pacer = self._paced(MIXED_AHEAD_MS)
            self._pacer.hear(chunk.event, self._now())

    def _paced(self, ahead_ms: int) -> Pacer:
        return Pacer(self.rate_hz, ahead_ms, self._send, self._send_voice, self._overflow)

    def _send_voice(self, event: s.ServerEvent) -> None:
        """Send humans' audio without agent speech, or its beginning or end."""
        if self.away or (self._drainer is not None and type(event) is s.AgentResponseAudioDeltaEvent):
            self.voices_dropped += 1
        elif self._drainer is not None:
            self._waiting.append(event)
        else:
            self._put(self._dialect.encode(event))

    def _resampled(self, event: s.AgentResponseAudioDeltaEvent) -> s.AgentResponseAudioDeltaEvent:
        rate_hz = event.format.rate or self.rate_hz
        if self._resampler is None or self._model_rate_hz != rate_hz:
            self._resampler = Resampler(rate_hz, self.rate_hz)
            self._model_rate_hz = rate_hz
        delta = self._resampler.push(event.delta)
        return msgspec.structs.replace(event, delta=delta, format=AudioFormat.pcm16(self.rate_hz))

    def _finish_resampling(self, done: s.AgentResponseAudioDoneEvent) -> None:
        """The filter's tail is the last sound of the item."""
        assert self._resampler is not None
        tail = self._resampler.flush()
        if tail:
            fields = {name: getattr(done, name) for name in done.__struct_fields__}
            event = s.AgentResponseAudioDeltaEvent(delta=tail, format=AudioFormat.pcm16(self.rate_hz), **fields)
            self.deliver(event)

    def _flush(self) -> list[s.ServerEvent]:
        """Drop all speech that was not sent. Returns what waited behind it and is to be sent all the same."""
        if self.far_end is not None:
            self.far_end.flush()
        self.clock.flush(self._now())
        if self._resampler is not None:
            self._resampler.clear()
        if self._waiting_audio_bytes:
            self._waiting = [
                one for one in self._waiting if not isinstance(one, s.AgentResponseAudioDeltaEvent | Chunk)
            ]
            self._waiting_audio_bytes = 0
        if self._unplayed is not None:
            self._unplayed.clear()
        return self._pacer.flush(self._now()) if self._pacer is not None else []

    # -- writing ---------------------------------------------------------------------------------------------------

    def _send(self, event: s.ServerEvent) -> None:
        """Out at once where the client takes it, else into the buffer."""
        if self._drainer is None:
            if not self.away:
                self._write(event)
            elif type(event) is s.AgentResponseAudioDeltaEvent:
                self._count(event)
            return
        self._waiting.append(event)
        if type(event) is s.AgentResponseAudioDeltaEvent:
            self._waiting_audio_bytes += len(event.delta)
        if self._waiting_audio_bytes > MAX_WAITING_AUDIO_BYTES or len(self._waiting) > self._max_waiting:
            self._overflow()

    def _count(self, event: s.AgentResponseAudioDeltaEvent) -> int | None:
        """The speech is the client's now. Returns where in its item it begins, in samples."""
        start = self.clock.sent(event.item_id, len(event.delta), self._now())
        if self._unplayed is not None and start is not None:
            self._unplayed.add(event, start)
        if self.far_end is not None and start is not None:
            self.far_end.sent(event.item_id, start, event.delta)
        return start

    def _write(self, event: s.ServerEvent | Chunk) -> bool:
        """Encode and write. False when the client takes no more for now; the drainer is then at work."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            start = self._count(event)
            if self._begun_before and start is not None and event.item_id in self._begun_before:
                return self._write(Chunk(event, start))
        elif isinstance(event, Chunk):
            self._begun_before.discard(event.event.item_id)
            return self._put(self._resumes_with.encode_again(event) if self._resumes_with is not None else [])
        return self._put(self._dialect.encode(event))

    def _put(self, frames: list[Frame]) -> bool:
        for place, frame in enumerate(frames):
            if not self._sink.write(frame):
                self._in_flight = frames[place + 1 :]
                if self._drainer is None:
                    self._drainer = asyncio.create_task(self._drain(), name="listener drainer")
                return False
        return True

    async def _drain(self) -> None:
        """Empty the buffer as the client takes it. Ends with an empty buffer or a client that is gone."""
        try:
            while True:
                await self._sink.finish()
                if self._in_flight:
                    frame = self._in_flight.pop(0)
                    if not self._sink.write(frame):
                        continue
                    if self._in_flight:
                        continue
                while self._waiting:
                    event = self._waiting.pop(0)
                    self._waiting_audio_bytes -= _speech_bytes(event)
                    try:
                        taken = self._write(event)
                    except ConnectionError:
                        raise
                    except Exception:
                        # As a reader of the log that fails: it costs this event and not those behind it.
                        logger.exception("an event that had waited could not be written")
                        continue
                    if not taken:
                        break
                else:
                    return
        except ConnectionError:
            self.closed = True
        finally:
            self._drainer = None

    def _overflow(self) -> None:
        self.events_dropped += len(self._waiting)
        code, reason = 1013, "the client does not read what it is sent"
        if self.resumable:
            # It may be in a tunnel: what it has not heard is kept as for a lost socket.
            self.suspend()
            self._sink.close(code, reason)
        else:
            self.close(code, reason)

    # -- coming back -----------------------------------------------------------------------------------------------

    def suspend(self) -> None:
        """The socket is gone, and the client may come back. Its speech is kept; the log has everything else."""
        self.away = True
        for event in self._waiting:
            if type(event) is s.AgentResponseAudioDeltaEvent:
                self._count(event)
        self._stop_writing()

    def _stop_writing(self) -> None:
        """Forget everything that waits."""
        self._waiting.clear()
        self._waiting_audio_bytes = 0
        if self._drainer is not None:
            self._drainer.cancel()
            self._drainer = None

    def take_over(self, earlier: Listener | None, missed: Sequence[s.ServerEvent]) -> None:
        """Go on where an earlier listener of the same client is: with what it missed, and in its place the speech that
        it has not heard. The earlier one is good for nothing afterwards."""
        if earlier is not None:
            if not earlier.away:
                earlier.suspend()
            self.clock, self.far_end = earlier.clock, earlier.far_end
            self._resampler, self._model_rate_hz = earlier._resampler, earlier._model_rate_hz
            self._unplayed, earlier._unplayed = earlier._unplayed, None
            self._begun_before = self.clock.begun()
        chunks = self._unplayed.rest() if self._unplayed is not None else []
        self._max_waiting = MAX_CONTROL_EVENTS + len(missed) + len(chunks)
        for one in heapq.merge(chunks, missed, key=_place):
            if self._drainer is not None:
                self._waiting.append(one)
                self._waiting_audio_bytes += _speech_bytes(one)
            else:
                self._write(one)

    # -- the end ---------------------------------------------------------------------------------------------------

    async def finish(self, timeout_s: float) -> None:
        """The call is over: let the client take what waits for it, for `timeout_s` at most, then stop writing."""
        if self._drainer is not None:
            await asyncio.wait([self._drainer], timeout=timeout_s)
        self.events_dropped += len(self._waiting)
        self.release()

    def close(self, code: int = 1000, reason: str = "") -> None:
        """End the events; the client gets the reason. Idempotent."""
        if self.closed:
            return
        self.release()
        self._sink.close(code, reason)

    def release(self) -> None:
        """Discard everything that waits and stop writing; the client gets no message. Idempotent."""
        self.closed = True
        if self._pacer is not None:
            self._pacer.stop()
            self._pacer = None
        self._stop_writing()


def _speech_bytes(event: s.ServerEvent | Chunk) -> int:
    if isinstance(event, Chunk):
        event = event.event
    return len(event.delta) if isinstance(event, s.AgentResponseAudioDeltaEvent) else 0


def _place(event: s.ServerEvent | Chunk) -> int:
    """Where in the log it stands."""
    return event.event.seq if isinstance(event, Chunk) else event.seq


class EventDialect:
    """For queues and callables: events as they are."""

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """The event itself. What concerns sockets and their calls is left out."""
        if isinstance(event, s.ServerSessionCreatedEvent | s.ServerSessionEndedEvent):
            return []
        return [event]

    def encode_voice(self, chunk: Chunk) -> list[Frame]:
        """See `LaneDialect`."""
        return [chunk.event]


class QueueSink:
    """Frames into an `asyncio.Queue` of any bound, or a callable."""

    def __init__(self, out: Callable[[Any], None] | asyncio.Queue[Any]) -> None:
        self._out = out
        self._blocked: Frame | None = None

    def write(self, frame: Frame) -> bool:
        """See `Sink`."""
        if not isinstance(self._out, asyncio.Queue):
            self._out(frame)
            return True
        try:
            self._out.put_nowait(frame)
        except asyncio.QueueFull:
            self._blocked = frame
            return False
        return True

    async def finish(self) -> None:
        """See `Sink`. Cancelling it keeps the frame for the next call."""
        if self._blocked is not None and isinstance(self._out, asyncio.Queue):
            await self._out.put(self._blocked)
            self._blocked = None

    def close(self, code: int, reason: str) -> None:
        """A queue has no way to say it."""
        logger.info("a queue listener was closed: %s", reason)


def queue_listener(out: Callable[[Any], None] | asyncio.Queue[Any], runtime: Runtime) -> Listener:
    """A listener for `agent.start(queue)`: events as objects, speech at most 350 ms ahead of real time."""
    dialect = EventDialect()
    return Listener(
        sink=QueueSink(out), dialect=dialect, runtime=runtime, ahead_ms=AHEAD_MS, lanes=dialect, takes_gain=True
    )
