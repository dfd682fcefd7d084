"""The listener of a Gemini client: unpaced, with the wall clock as its ear; a turn is complete when it was heard."""

from __future__ import annotations

import asyncio
from typing import Protocol

from realtime.audio.playback import WallClockPlayback
from realtime.dialects._gemini_server import RATE_HZ
from realtime.event import server as s
from realtime.listener import Dialect, Listener, Sink
from realtime.runtime import Runtime


class Follower(Dialect, Protocol):
    """A dialect that has to know what happens before its client is told of it."""

    def follow(self, event: s.ServerEvent) -> None:
        """Take note of it."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether what happened ends the session."""
        ...

    def farewell(self) -> tuple[int, str]:
        """With which code and reason the socket is then closed."""
        ...


class GeminiListener(Listener):
    """Says the end of a response twice: as it comes, and again once the client has heard all of it."""

    def __init__(self, dialect: Follower, sink: Sink, runtime: Runtime) -> None:
        super().__init__(
            sink=sink,
            dialect=dialect,
            runtime=runtime,
            clock=WallClockPlayback(RATE_HZ),
            output_rate_hz=RATE_HZ,
        )
        self._gemini = dialect
        self._timer: asyncio.TimerHandle | None = None

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

    def release(self) -> None:
        """See `Listener`."""
        self._stop()
        super().release()

    def _when_heard(self, done: s.AgentResponseDoneEvent) -> None:
        self._stop()
        if self.closed:
            return
        left_ms = self.unheard_ms(self._now())
        if left_ms <= 0:
            self._send(done)
        else:
            self._timer = asyncio.get_running_loop().call_later(left_ms / 1000, self._when_heard, done)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
