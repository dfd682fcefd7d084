"""The listener of a Gemini client: unpaced; the wall clock says what was played, and when a turn is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from realtime.audio.playback import WallClockPlayback
from realtime.call.listener import Dialect, Listener, Sink
from realtime.dialects.gemini.server import RATE_HZ
from realtime.event import server as s
from realtime.runtime import Runtime


class Follower(Dialect, Protocol):
    """A dialect that follows the call before its client does."""

    def follow(self, event: s.ServerEvent) -> None:
        """Note the event."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether an event has ended the session."""
        ...

    @property
    def resumes(self) -> bool:
        """Whether the client wants handles."""
        ...

    def farewell(self) -> tuple[int, str]:
        """The code and the reason to close the socket with."""
        ...


NOTICE_S = 50.0
"""Seconds from the notice to the session's end, as at the service."""
EXPIRING = "expiring"
"""The reason of the goodbye that gives notice, to this client alone."""


class GeminiListener(Listener):
    """Says the end of a response twice: as it comes, and again once the client has heard all of it.

    `life_s` is how long a call may last. Its end is announced `notice_s` before it.
    """

    def __init__(self, dialect: Follower, sink: Sink, runtime: Runtime, *, life_s: float) -> None:
        super().__init__(
            sink=sink,
            dialect=dialect,
            runtime=runtime,
            clock=WallClockPlayback(RATE_HZ),
            output_rate_hz=RATE_HZ,
            takes_unasked=False,
        )
        self._gemini = dialect
        self.by_handle = dialect.resumes
        self._timer: asyncio.TimerHandle | None = None
        self._life_s = life_s
        self._leaving: asyncio.TimerHandle | None = None

    @property
    def notice_s(self) -> float:
        """Seconds between the notice and the end of the call."""
        return min(NOTICE_S, self._life_s / 2)

    @property
    def resumable(self) -> bool:
        """See `Listener`."""
        return self.by_handle

    def suspend(self) -> None:
        """See `Listener`."""
        self._stop()
        super().suspend()

    def take_over(self, earlier: Listener | None, missed: Sequence[s.ServerEvent]) -> None:
        """See `Listener`. Speech that was running is lost, as at the service: the client gets nothing of what it
        missed."""
        super().take_over(earlier, ())

    def _count(self, event: s.AgentResponseAudioDeltaEvent) -> int | None:
        if self.away:
            self.unsent.add(event.item_id)
            return None
        return super()._count(event)

    def deliver(self, event: s.ServerEvent) -> None:
        """See `Listener`."""
        if type(event) is s.AgentResponseAudioDeltaEvent:
            super().deliver(event)  # nothing follows from it
            return
        self._gemini.follow(event)
        super().deliver(event)
        if self._gemini.is_over:
            self.close(*self._gemini.farewell())
        elif type(event) is s.AgentResponseDoneEvent and event.conversation != "none":
            self._when_heard(event)
        elif type(event) is s.ServerAudioFlushEvent:
            self._stop()
        elif isinstance(event, s.AgentReadyEvent | s.ServerSessionResumedEvent) and not self.closed:
            if self._leaving is not None:
                self._leaving.cancel()
            left_s = max(0.0, self._life_s - self.notice_s - event.ts_ms / 1000)
            goodbye = s.ServerGoodbyeEvent(reason=EXPIRING)
            self._leaving = asyncio.get_running_loop().call_later(left_s, self._send, goodbye)

    def _send_voice(self, event: s.ServerEvent) -> None:
        super()._send_voice(event)
        if type(event) is s.AgentResponseDoneEvent:
            super()._send_voice(event)  # it was played as it was said

    def release(self) -> None:
        """See `Listener`."""
        self._stop()
        if self._leaving is not None:
            self._leaving.cancel()
        super().release()

    def _when_heard(self, done: s.AgentResponseDoneEvent) -> None:
        self._stop()
        if self.closed:
            return
        left_ms = self.unplayed_ms(self._now())
        if left_ms <= 0:
            self._send(done)
        else:
            self._timer = asyncio.get_running_loop().call_later(left_ms / 1000, self._when_heard, done)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
